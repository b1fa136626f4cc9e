"""Rules that hold for every figure."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import vl_convert

from heedful import plots
from tests.plots.analyses import analysis_figures

ADVERSARIES = pd.DataFrame(
    [
        {
            "model": model,
            "adversary_weight": weight,
            "jsd": jsd,
            "tvd": slope * jsd,
            "is_on_frontier": True,
        }
        for model, slope in (("this model", 0.1), ("words one by one", 0.6))
        for weight, jsd in ((0.01, 0.2), (0.1, 0.45), (1.0, 0.6))
    ]
)


SEEDS = pd.DataFrame(
    {"seed_jsd": np.linspace(0.05, 0.3, 50), "permuted_jsd": np.linspace(0.1, 0.6, 50)}
)

MEANS = pd.DataFrame({"over": [1, 2], "mean": [0.7, 0.5], "low": [0.6, 0.4], "high": [0.8, 0.6]})
CAPTION = (
    "Mean loss over documents by epoch. Bars are 95% intervals over documents: where they do not "
    "overlap, the loss fell."
)
BOXES = pd.DataFrame(
    [
        *(
            {"kind": kind, "occurrences": 9, "min": 0.01, "low": 0.01, "first": 0.02}
            | {"median": 0.03, "third": 0.04, "high": 0.06, "max": 0.5, "outliers": 1}
            for kind in ("positive", "neutral")
        ),
        {"kind": "positive", "weight": 0.5},
    ]
)


@pytest.fixture(scope="module")
def figures(documents, tables, scores) -> dict[str, plots.Figure]:
    return {
        "permutation_effect": plots.permutation_effect(documents),
        "adversarial_distance": plots.adversarial_distance(documents),
        "agreement": plots.agreement(documents, "leave-one-out"),
        "influence": plots.influence(documents),
        "deletion_curves": plots.deletion_curves(tables["curves"]),
        "keep_curves": plots.keep_curves(tables["curves"]),
        "measures_ranking": plots.measures_ranking(tables["measures"]),
        "word_scatter": plots.word_scatter(tables["words"]),
        "word_weights": plots.word_weights(tables["words"]),
        "weight_boxes": plots.weight_boxes(BOXES),
        "scores_forest": plots.scores_forest(scores),
        "pareto": plots.pareto(scores.drop_duplicates(["run", "question"])),
        "tvd_jsd_frontier": plots.tvd_jsd_frontier(ADVERSARIES),
        "seed_distance": plots.seed_distance(SEEDS),
        "picture": plots.picture(MEANS, "Loss by epoch", "epoch", "nats", CAPTION),
        **analysis_figures(),
    }


def test_every_figure_function_is_drawn_here(figures):
    assert {"Figure", *figures} == set(plots.__all__)


def test_every_figure_says_how_to_read_it(figures):
    for name, figure in figures.items():
        assert len(figure.caption) > 100, name
        assert figure.caption.endswith("."), name
        assert figure.title, name


def test_every_figure_draws_marks_without_a_warning(figures, capfd):
    for name, figure in figures.items():
        svg = vl_convert.vegalite_to_svg(figure.chart.to_dict(), show_warnings=True)
        assert svg.count("mark-") > 3, name
        assert "null" not in svg, name
        assert "NaN" not in svg, name
    assert "WARN" not in "".join(capfd.readouterr())


def test_plots_and_report_need_no_torch():
    code = (
        "import sys, heedful.plots, heedful.report, heedful.report.analyses; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
