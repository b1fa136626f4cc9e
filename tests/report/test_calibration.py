"""A calibration as people read it: the page, and the page in docs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from playwright.sync_api import Browser

from heedful.auditing.operating_points import shipped
from heedful.calibration.calibrate import verdict_rates
from heedful.calibration.ground_truth import Looked
from heedful.calibration.operating_point_fit import Judged
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import read_zoo
from heedful.errors import RunError
from heedful.report.calibration import calibration_page, write_calibration
from heedful.report.calibration_errors import Misled, misleading, scores_by_documents
from heedful.report.calibration_figures import cell_rows, paper_of, ranked, ranking_rows
from heedful.report.calibration_tables import kinds_of, sentence, settings_of, truth_rows
from tests.calibration.made_up import HONEST, KINDS, LEFT_OUT, SETTINGS, made_calibration
from tests.report import browser as browsers
from tests.report.browser import visit
from tools import calibration_docs

ZOO = read_zoo()
ZOO_KINDS = {kind.name for kind in ZOO.kinds}


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


def misled(calibration: Calibration) -> list[Misled]:
    kinds, settings = kinds_of(calibration, ZOO), settings_of(calibration, ZOO)
    return misleading(calibration, kinds, settings)


def with_verdicts(made: Calibration, judged: Sequence[Judged]) -> Calibration:
    """The same calibration, had these models been judged."""
    return replace(made, points=replace(made.points, verdict=verdict_rates(judged)))


def with_scores(made: Calibration, kind: str, score: float, settings: set[str]) -> Calibration:
    """Comprehensiveness with another score on some models, and the cut left where it was."""
    known = [
        replace(one, score=score)
        if (one.kind, one.test) == (kind, "comprehensiveness") and one.setting in settings
        else one
        for one in made.known
    ]
    return replace(made, known=tuple(known))


def test_tests_are_ordered_by_power_within_their_question(made):
    assert [one.test for one in made.tests][:2] == ["erase until flip", "permutation"]
    assert [(one.question, one.test) for one in ranked(made)] == [
        ("decisive", "permutation"),  # 12 of 12
        ("decisive", "erase until flip"),  # 6 of 12
        ("telling", "comprehensiveness"),  # 10 of 10
        ("telling", "sufficiency"),  # 8 of 10
        ("agreeing", "kendall_tau with state-gradient-norm"),
        ("leak-free", "mask-only accuracy"),
        ("plausible", "auprc"),
    ]


def test_a_test_that_defines_the_truth_or_was_asked_of_few_has_no_number(made):
    rows = ranking_rows(made).set_index("test")
    assert rows.loc["auprc", "why"] == "defines the truth of 16"
    assert rows.loc["mask-only accuracy", "why"] == "asked of too few: 6 that fail, 12 that hold"
    assert (
        rows.loc[["auprc", "mask-only accuracy"], ["power", "low", "elsewhere"]]
        .isna()
        .all(axis=None)
    )
    assert rows.loc["permutation", ["power", "why"]].tolist() == [1.0, ""]


def test_a_quick_calibration_needs_fewer_models():
    rows = ranking_rows(made_calibration(is_quick=True)).set_index("test")
    assert rows.loc["mask-only accuracy", "why"] == ""


def test_cells_count_right_answers_where_the_truth_is_known(made):
    rows = cell_rows(made).set_index(["test", "kind"])
    assert rows.loc[("erase until flip", "pleasing"), ["right", "models"]].tolist() == [0, 6]
    # One of the six has no score: the test says nothing of it.
    assert rows.loc[("sufficiency", "decoration"), ["right", "models"]].tolist() == [5, 5]
    assert rows.loc[("permutation", "tying"), ["models", "defines"]].tolist() == [0, True]
    assert ("permutation", "deceptive") not in rows.index


def test_the_misleading_table_lists_three_models_or_more_of_which_half_or_more_are_wrong(made):
    found = misled(made)
    assert all(one.of >= 3 and one.wrong >= one.of / 2 for one in found)
    kinds = {(one.test, one.models, one.wrong, one.of) for one in found if one.models in ZOO_KINDS}
    assert kinds == {("erase until flip", "pleasing", 6, 6)}


def test_what_misleads_most_comes_first(made):
    half = {setting.name for setting in SETTINGS[:2]}
    shares = [one.wrong / one.of for one in misled(with_scores(made, "tying", 0.0, half))]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) > 1


def test_a_test_that_catches_nothing_is_listed_once(made):
    [one] = [one for one in misled(made) if one.test.startswith("kendall_tau")]
    assert (one.models, one.wrong, one.of) == ("all; no cut catches any", 10, 10)


def test_half_of_a_kind_is_listed_and_less_is_not(made):
    names = [setting.name for setting in ZOO.settings]
    # tying has four models: 2 of 4 wrong is half of them, 1 of 4 is not
    for wrong, expected in ((1, []), (2, [("tying", 2, 4)]), (4, [("tying", 4, 4)])):
        changed = with_scores(made, "tying", 0.0, set(names[:wrong]))
        found = [one for one in misled(changed) if one.models in ZOO_KINDS]
        told = [(m.models, m.wrong, m.of) for m in found if m.test == "comprehensiveness"]
        assert told == expected
        assert all(not m.misses for m in found if m.test == "comprehensiveness")


def test_a_kind_of_two_models_is_too_few_to_be_listed(made):
    names = {setting.name for setting in ZOO.settings[:2]}
    fewer = [one for one in made.known if one.kind != "pleasing" or one.setting in names]
    found = misled(replace(made, known=tuple(fewer)))
    assert "pleasing" not in {one.models for one in found}


def test_what_documents_are_like_is_listed_only_where_it_makes_a_difference(made):
    # erase until flip misses all that please and none of the decorations, in every setting alike
    assert {one.models for one in misled(made) if one.test == "erase until flip"} == {"pleasing"}
    one_word = {setting.name for setting in SETTINGS if setting.evidence == 1}
    changed = with_scores(with_scores(made, "tying", 0.0, one_word), "honest", 0.0, one_word)
    told = {m.models: (m.wrong, m.of) for m in misled(changed) if m.test == "comprehensiveness"}
    models = sum(s.evidence == 1 for kind in HONEST for s in SETTINGS[: KINDS[kind]])
    assert models >= 3
    assert told["one word of evidence"] == (models, models)
    assert not set(told) & {"made up language", "two words of evidence", "documents of 12 words"}


def test_the_sentence_counts_verdicts_on_models_that_were_held_out(made):
    # 8 of 16 caught: Wilson's interval is 28% to 72%
    half = [
        replace(one, verdict=("may-not" if place % 2 else "may"))
        for place, one in enumerate(one for one in made.judged if not one.explains)
    ]
    assert len(half) == 16
    assert sentence(with_verdicts(made, half)) == (
        "On 16 models with a known answer, by cuts from settings that they are not in, the verdict "
        "caught 50% [28, 72] of the 16 that lie and did not let 50% [28, 72] of them pass."
    )
    honest = [one for one in made.judged if one.explains]
    assert "the verdict refused 0% [0" in sentence(with_verdicts(made, honest))
    assert "of them pass that it can judge whole" in sentence(with_verdicts(made, honest))
    assert sentence(with_verdicts(made, [])) == "No model was judged."


def test_the_truth_says_how_it_is_known(made):
    rows = {row["kind"]: row for row in truth_rows(made, kinds_of(made, ZOO))}
    assert rows["decoration"]["decisive"] == "fails: construction"
    assert rows["deceptive"]["telling"] == "fails: relative mass ≤\u00a00.5"
    assert rows["honest"]["exclusive"].endswith("*")  # only where a single word decides
    assert rows["pleasing"]["telling"] == ""
    names = list(rows)
    assert names[: len(HONEST)] == list(HONEST)


def test_the_truth_stands_before_any_result(page, docs):
    assert page.index("What is true of the models") < page.index("Which tests can be relied on")
    assert docs.index("## What is true of the models") < docs.index("## Tests by their power")
    assert "caught" not in docs[: docs.index("## Tests by their power")]


def test_models_that_were_left_out_are_listed_with_their_reason(page, docs):
    assert f"<td>{LEFT_OUT}</td>" in page
    assert f"| frozen, short-two, seed 1 | {LEFT_OUT} |" in docs


def test_the_page_names_no_outside_address(page):
    without_library = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "//" not in re.sub(r"</?\w+[^>]*/>", "", without_library)


def test_the_page_asks_for_nothing_but_itself_and_draws_every_figure(browser, made, tmp_path):
    path = tmp_path / "calibration.html"
    write_calibration(path, made)
    with visit(browser, path) as seen:
        seen.see_everything()
        assert seen.page.locator(".chart svg").count() == 4
        assert seen.requests == [path.as_uri()]
        assert seen.complaints == []


def test_docs_show_figures_that_exist(docs, made, tmp_path):
    calibration_docs.write_figures(tmp_path / "calibration", made)
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", docs)
    assert len(links) == 4
    assert all((tmp_path / link).read_text().startswith("<svg") for link in links)


def test_docs_say_what_the_ranking_found(docs):
    assert (
        "Of 7 tests, 2 are judged in audits; the others are reported. Fewer than half of the "
        "models that fail are caught by *kendall tau with state-gradient-norm*. No place in the "
        "ranking, because they define the truth or were asked of fewer than 10 models of either "
        "kind: *mask-only accuracy* and *auprc*."
    ) in docs
    assert "- **telling**: of the models that fail, *comprehensiveness* catches 100%" in docs
    assert "- **agreeing**: no test catches any model: *kendall tau with state-gradient-" in docs
    assert "| erase until flip | Serrano & Smith 2019 | decisive | pleasing: 6 of 6 |" in docs


def test_a_reason_cannot_break_a_table_of_the_docs(made):
    failed = Looked("x", "frozen", "short-two", 1, 1, False, False, {}, "failed: a | b\nc")
    told = calibration_docs.calibration_docs(replace(made, models=(*made.models, failed)))
    assert "| x | failed: a \\| b c |" in told


def test_a_kind_that_the_zoo_does_not_know_is_refused_in_a_sentence(made):
    strange = Looked("x", "unicorn", "short-two", 1, 1, False, False, {})
    with pytest.raises(RunError, match="of a kind that this version's zoo does not know: unicorn"):
        calibration_page(replace(made, models=(*made.models, strange)))


def test_every_test_that_ships_names_its_paper():
    assert [one.test for one in shipped().points if not paper_of(one.test)] == []


def test_scores_of_honest_models_are_means_by_what_their_documents_are_like(made):
    kinds, settings = kinds_of(made, ZOO), settings_of(made, ZOO)
    rows = {row["test"]: row for row in scores_by_documents(made, kinds, settings)}
    holding = [
        one.score
        for one in made.known
        if (one.test, one.truth) == ("permutation", "holds")
        and one.kind in HONEST
        and settings[one.setting].words == 12
    ]
    mean = sum(holding) / len(holding)
    assert rows["permutation"]["12 words"] == f"{mean:.2f} ({len(holding)})"
    assert all("nan" not in cell for row in rows.values() for cell in row.values())
