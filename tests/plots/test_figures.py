import json
import subprocess
import sys
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
import vl_convert

from heedful import plots
from heedful.auditing.document_filter import Within
from heedful.plots.audit_documents import LARGEST_JSD, _outline
from heedful.plots.audit_scores import _front
from heedful.plots.style import GREY, ORANGE, by_prediction, shares
from heedful.plots.training import whole_numbers
from tests.plots.analyses import analysis_figures
from tests.report.audits import made_audit


@pytest.fixture(scope="module")
def documents() -> pd.DataFrame:
    audit = made_audit()
    frame = pd.DataFrame(audit.columns).assign(prediction=list(audit.predictions))
    return frame.dropna()


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    tables = {
        name: pd.DataFrame([dict(row) for row in rows if row.get("word") != "\ud83d"])
        for name, rows in made_audit().evidence.items()
    }
    return tables


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    rows = [
        {
            "run": run,
            "question": test.question,
            "test": test.name,
            "score": test.score.score,
            "low": test.score.interval[0],
            "high": test.score.interval[1],
            "cut": 0.5 if test.name == "comprehensiveness" else np.nan,
            "judgement": test.judgement,
            "accuracy": accuracy,
        }
        for run, honesty, accuracy in (("one", 0.1, 0.9), ("two", 0.9, 0.8))
        for answer in made_audit(honesty).answers
        for test in answer.tests
    ]
    return pd.DataFrame(rows)


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
        "scores_forest": plots.scores_forest(scores),
        "pareto": plots.pareto(scores.drop_duplicates(["run", "question"])),
        "tvd_jsd_frontier": plots.tvd_jsd_frontier(ADVERSARIES),
        "seed_distance": plots.seed_distance(SEEDS),
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


def test_no_figure_carries_a_row_per_document(documents):
    many = pd.concat([documents] * 40)
    for draw in (plots.permutation_effect, plots.adversarial_distance, plots.influence):
        few, lots = (len(json.dumps(draw(rows).chart.to_dict())) for rows in (documents, many))
        assert lots < few * 1.1


def test_a_histogram_counts_every_document_once():
    documents = pd.DataFrame({"moved": [0.0, 0.1, 0.99, 1.0, 7.0, np.nan]})
    counted = shares(documents, "moved", 0.0, 1.0, bins=10)
    assert counted["documents"].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 3]
    assert counted["share"].sum() == pytest.approx(1.0)
    bars = [Within.parse(parse_qs(query)["where"][0]) for query in counted["behind"]]
    behind = [int(bar.holds(documents["moved"].to_numpy()).sum()) for bar in bars]
    assert behind == counted["documents"].tolist()


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


def test_rare_labels_share_a_panel():
    frame = pd.DataFrame({"prediction": [*"aaaabbbbccccdde"], "moved": np.arange(15)})
    panels = {panel.title: panel for panel in by_prediction(frame)}
    counts = {title: len(panel.documents) for title, panel in panels.items()}
    assert counts == {"predicted a": 4, "predicted b": 4, "predicted c": 4, "other labels": 3}
    assert panels["predicted a"].predictions == ("a",)
    assert panels["other labels"].predictions == ("d", "e")


def test_few_labels_have_a_panel_each():
    frame = pd.DataFrame({"prediction": [*"dbca"]})
    titles = [panel.title for panel in by_prediction(frame)]
    assert titles == [f"predicted {name}" for name in "abcd"]


def test_attention_is_orange_and_chance_is_grey(tables):
    chart = json.dumps(plots.deletion_curves(tables["curves"]).chart.to_dict())
    scale = json.loads(
        chart[chart.index('"scale": {"domain": ["attention"') + 9 :].split("}")[0] + "}"
    )
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["attention"] == ORANGE
    assert colours["random"] == GREY
    assert len(set(colours.values())) == len(colours)


def test_a_curve_without_numbers_is_left_out(tables):
    """`kept_gold` is None throughout: one panel instead of two."""
    chart = plots.keep_curves(tables["curves"]).chart.to_dict()
    assert len(chart["concat"]) == 1
    assert len(plots.deletion_curves(tables["curves"]).chart.to_dict()["concat"]) == 2


def test_the_front_holds_the_models_that_no_other_beats():
    points = pd.DataFrame({"score": [0.1, 0.5, 0.4, 0.9], "accuracy": [0.9, 0.8, 0.7, 0.6]})
    assert _front(points)["score"].tolist() == [0.1, 0.5, 0.9]


def test_scores_far_beyond_the_controls_keep_their_number(scores):
    wild = scores.assign(score=40.0, low=-50.0, high=60.0)
    chart = plots.scores_forest(wild).chart.to_dict()
    row = next(row for rows in chart["datasets"].values() for row in rows if "score_at" in row)
    assert row["score_at"] == 2.0
    assert row["score"] == 40.0


def test_a_score_that_is_no_number_is_drawn_nowhere(scores):
    missing = scores.assign(score=np.nan, low=np.nan, high=np.nan)
    assert vl_convert.vegalite_to_svg(plots.scores_forest(missing).chart.to_dict())


@pytest.mark.parametrize(
    ("last", "marks"),
    [(3, [0, 1, 2, 3]), (24, [0, 5, 10, 15, 20]), (40, [0, 10, 20, 30, 40])],
)
def test_epochs_are_marked_at_whole_numbers(last, marks):
    assert whole_numbers(pd.Series(range(last + 1))).to_dict()["values"] == marks


def test_plots_and_report_need_no_torch():
    code = (
        "import sys, heedful.plots, heedful.report, heedful.report.analyses; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
