import json

import numpy as np
import pandas as pd
import pytest

from heedful import plots
from heedful.plots.audit_documents import LARGEST_JSD, _outline


def test_no_figure_carries_a_row_per_document(documents):
    many = pd.concat([documents] * 40)
    for draw in (plots.permutation_effect, plots.adversarial_distance, plots.influence):
        few, lots = (len(json.dumps(draw(rows).chart.to_dict())) for rows in (documents, many))
        assert lots < few * 1.1


def test_the_largest_possible_divergence_is_marked(documents):
    chart = plots.adversarial_distance(documents).chart.to_dict()
    marked = [row for rows in chart["datasets"].values() for row in rows if "what" in row]
    assert {"at": round(LARGEST_JSD, 4), "what": "ln 2"} in marked


def test_a_violin_is_widest_where_documents_are():
    places = dict(_outline(np.r_[np.full(90, 0.3), np.full(10, 0.8)]))
    widest = max(places, key=places.__getitem__)
    assert widest == pytest.approx(0.3, abs=0.02)
    assert min(places) < 0.3
    assert max(places) > 0.8
