"""A calibration as people read it: the page, and the page in docs."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser

from heedful.auditing.operating_points import shipped
from heedful.calibration.calibrate import verdict_rates
from heedful.calibration.ground_truth import Looked
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import read_zoo
from heedful.errors import RunError
from heedful.report import calibration_tables as tables
from heedful.report.calibration import calibration_page, marked, write_calibration
from heedful.report.calibration_figures import figures, paper_of, ranked, ranking_rows
from heedful.report.calibration_sections import sections
from tests.calibration.made_up import LEFT_OUT, made_calibration
from tests.report import browser as browsers
from tests.report.browser import visit
from tools import calibration_docs

ZOO = read_zoo()


@pytest.fixture(scope="module")
def made() -> Calibration:
    return made_calibration()


@pytest.fixture(scope="module")
def page(made: Calibration) -> str:
    return calibration_page(made)


@pytest.fixture(scope="module")
def docs(made: Calibration) -> str:
    return calibration_docs.calibration_docs(made)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsers.browser() as started:
        yield started


def with_verdict(made: Calibration, kind: str, verdict: str) -> Calibration:
    """The same calibration, had all models of a kind been given this verdict."""
    judged = tuple(
        replace(one, verdict=verdict) if one.kind == kind else one  # type: ignore[arg-type]
        for one in made.judged
    )
    points = replace(made.points, verdict=verdict_rates(judged))
    return replace(made, judged=judged, points=points)


def test_tests_are_ordered_by_power_within_their_question(made):
    assert [(one.question, one.test) for one in ranked(made)] == [
        ("decisive", "look away"),
        ("decisive", "erase until flip"),  # misses those that please
        ("telling", "true pictures"),
        ("telling", "sufficiency"),  # 8 of 10
        ("agreeing", "kendall_tau with state-gradient-norm"),
        ("leak-free", "mask-only accuracy"),
        ("plausible", "auprc"),
    ]


def test_a_test_that_defines_the_truth_or_was_asked_of_few_has_no_number(made):
    rows = ranking_rows(made).set_index("test")
    assert rows.loc["auprc", "why"] == "defines the truth of 16"
    assert rows.loc["mask-only accuracy", "why"] == "asked of too few: 0 that fail, 12 that hold"
    unranked = ["auprc", "mask-only accuracy"]
    assert rows.loc[unranked, ["power", "low", "elsewhere"]].isna().all(axis=None)
    assert rows.loc["look away", ["power", "why"]].tolist() == [1.0, ""]


def test_rates_of_the_verdict_stand_by_kind_of_model_with_intervals(made):
    rows = {row["kind of model"]: row for row in tables.rate_rows(made)}
    assert list(rows) == ["all", "classifier", "module"]
    # module: 2 kinds x 2 settings of each dose; Wilson's interval of 0 of 4
    assert rows["module"]["partial liars passed"] == "0% [0,\u00a049] of 4"
    assert rows["module"]["honest passed"] == "100% [51,\u00a0100] of 4"
    passed = with_verdict(made, "decoration", "may")
    assert tables.rate_rows(passed)[1]["liars passed"].startswith("30% [")  # 6 of 16 + 4


def test_the_sentence_counts_verdicts_on_kinds_that_were_left_out(made):
    said = tables.sentence(made).replace("\u00a0", " ")
    assert "judged by cuts that were fitted without their kind" in said
    assert "passed 0% [0, 14] of the 24 that lie" in said
    empty = replace(made, points=replace(made.points, verdict={}))
    assert tables.sentence(empty) == "No model was judged."


def test_every_judged_test_has_a_cut_for_each_kind_of_model(made):
    rows = [(row["test"], row["kind of model"], row["cut"]) for row in tables.cut_rows(made)]
    assert rows == [
        ("look away", "classifier", "0.550"),
        ("look away", "module", "0.550"),
        ("true pictures", "classifier", "0.850"),
        ("true pictures", "module", "0.850"),
    ]


def test_a_dose_curve_has_a_point_per_model_the_tolerated_dose_and_the_cuts(made):
    drawn = figures(made)
    assert list(drawn) == ["look-away", "true-pictures", "ranking"]
    datasets = list(drawn["true-pictures"].chart.to_dict()["datasets"].values())
    points = next(rows for rows in datasets if "score" in rows[0])
    assert len(points) == 40  # trained models have no dose
    assert [row["dose"] for rows in datasets for row in rows if len(row) == 1] == [0.15]
    assert {row["value"] for rows in datasets for row in rows if "value" in row} == {0.85}


def test_kinds_say_what_is_known_and_what_the_verdict_says_honest_ones_first(made):
    rows = tables.kind_rows(made, ZOO)
    pictures = [row["its pictures"] for row in rows]
    assert pictures == sorted(pictures, key=list(tables.PICTURES.values()).index)
    by_name = {(row["kind"], row["its pictures"]): row for row in rows}
    honest = by_name["honest", "honest"]
    assert honest["what is known"] == "accuracy at least 0.95; evidence mass at least 0.9"
    assert (honest["may be shown"], honest["may not be shown"]) == ("12", "0")
    between = by_name["false elsewhere", "between"]
    assert between["what is known"] == "false documents 10% to 20%; bypass 10% to 20%"
    assert "frozen" not in {row["kind"] for row in rows}  # its only model was left out


def test_a_test_names_the_kinds_that_it_is_wrong_on(made):
    rows = {row["test"]: row for row in tables.test_rows(made)}
    assert rows["erase until flip"]["wrong on most models of"] == "pleasing"
    assert rows["look away"]["wrong on most models of"] == "–"
    assert rows["look away"]["in audits"] == "judged"
    assert rows["auprc"]["wrong on most models of"].endswith("it defines the truth")


def test_mistakes_are_listed_and_models_between_are_none(made, docs):
    assert tables.mistake_rows(made) == []
    assert "No verdict on these models is wrong" in docs
    wrong = with_verdict(made, "deceptive", "may")
    assert [row["model"].split(",")[0] for row in tables.mistake_rows(wrong)] == ["deceptive"] * 4
    told = calibration_docs.calibration_docs(wrong)
    assert "4 verdicts are not what they should be." in told
    assert "No verdict" not in told


def test_the_page_says_what_no_mistake_does_not_mean(docs):
    for said in ("evidence is planted", "models are small", "one seed", "16 models are *between*"):
        assert said in docs


def test_the_page_and_the_docs_say_the_same_in_the_same_order(made, page, docs):
    for section in sections(made):
        assert f"## {section.title}\n" in docs
        assert f">{section.title}</h2>" in page
    titles = [section.title for section in sections(made)]
    assert titles == re.findall(r"^## (.+)$", docs, re.MULTILINE)
    assert titles == re.findall(r"<h2 id=[^>]*>([^<]+)</h2>", page)
    tables_there = [part for s in sections(made) for part in s.parts if part.form == "table"]
    shown = [part for part in tables_there if part.rows]
    assert page.count('<table class="small">') == len(shown) == docs.count("\n|---|")


def test_emphasis_and_code_are_elements_and_markup_is_not():
    assert marked("*a* `b` <i>") == "<em>a</em> <code>b</code> &lt;i&gt;"


def test_models_that_were_left_out_are_listed_with_their_reason(page, docs):
    assert f"<td>{LEFT_OUT}</td>" in page
    assert f"| frozen, short-two, seed 1 | {LEFT_OUT} |" in docs


def test_the_page_names_no_outside_address(page):
    without_library = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "//" not in re.sub(r"</?\w+[^>]*/>", "", without_library)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_page_asks_for_nothing_but_itself_and_draws_every_figure(
    browser, made, tmp_path, colours
):
    path = tmp_path / "calibration.html"
    write_calibration(path, made)
    with visit(browser, path, color_scheme=colours) as seen:
        seen.see_everything()
        assert seen.page.locator(".chart svg").count() == 3
        assert seen.requests == [path.as_uri()]
        assert seen.complaints == []


def test_docs_show_figures_that_exist(docs, made, tmp_path):
    calibration_docs.write_figures(tmp_path / "calibration", made)
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", docs)
    assert len(links) == 3
    assert all((tmp_path / link).read_text().startswith("<svg") for link in links)


def test_a_reason_cannot_break_a_table_of_the_docs(made):
    failed = Looked(
        "x", "frozen", "short-two", 1, 1, "fully", False, {}, left_out="failed: a | b\nc"
    )
    told = calibration_docs.calibration_docs(replace(made, models=(*made.models, failed)))
    assert "| x | failed: a \\| b c |" in told


def test_a_kind_that_the_zoo_does_not_know_is_refused_in_a_sentence(made):
    strange = Looked("x", "unicorn", "short-two", 1, 1, "fully", False, {})
    with pytest.raises(RunError, match="of a kind that this version's zoo does not know: unicorn"):
        calibration_page(replace(made, models=(*made.models, strange)))


def test_every_test_that_ships_names_its_paper():
    assert [one.test for one in shipped().points if not paper_of(one.test)] == []
