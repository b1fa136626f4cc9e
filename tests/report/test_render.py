import html
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from heedful.auditing.comparison import compare
from heedful.auditing.operating_points import OperatingPoints
from heedful.auditing.results import Answer
from heedful.auditing.verdict import SENTENCES
from heedful.errors import DataError
from heedful.importance.explanation import Deletion, Explanation
from heedful.report import explanation_page, render
from heedful.report.figures import figures
from heedful.report.tables import number, questions, test_row, why
from tests.auditing.points import POINTS, a_point
from tests.report.audits import ASKS, HOSTILE, NOT_ASKED, hostile_audit, made_audit


@pytest.fixture(scope="module")
def page() -> str:
    return render({"bilstm": made_audit()})


def body(page: str) -> str:
    """The page as a reader sees it, without library, style and chart data."""
    kept = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", kept)))


def test_the_verdict_is_the_headline(page):
    (headline,) = re.findall(r"<h1.*?</h1>", page, flags=re.DOTALL)
    assert SENTENCES[made_audit().verdict] in headline


def test_all_ten_questions_are_there_with_their_answers(page):
    text = body(page)
    for question, asks in ASKS.items():
        assert question in text
        assert asks in text
    for reason in NOT_ASKED.values():
        assert reason in text


def test_every_test_stands_between_its_controls(page):
    text = body(page)
    for answer in made_audit().answers:
        for test in answer.tests:
            assert test.name.replace("_", " ") in text
            low, high = test.score.interval
            assert (
                f"{test.score.score:.2f} ( {low:.2f} to {high:.2f} )".replace("-", "−")
                .replace("( ", "(")
                .replace(" )", ")")
                in text
            )


def test_settings_cuts_and_rules_are_printed(page):
    text = body(page)
    assert "search · steps 500" in text
    assert "0.01, 0.05, 0.1, 0.2, 0.5" in text
    for point in POINTS.points:
        cut = "–" if point.cut is None else f"{point.cut:.3f}"
        assert f"{point.question} · {point.test} {cut}" in text
    assert "the whole interval of the score lies above the cut" in text


def test_every_test_says_how_often_it_is_right(page):
    text = body(page)
    rates = "Held out, known answers: catches 94% of 41 that fail, false alarms on 3% of 36"
    assert text.count(rates) == 3  # look away, false pictures and word choice
    weak = "catches 30% of 41 that fail, false alarms on 3% of 36 that hold. Not judged: too weak."
    assert weak in text
    assert "Not judged: it defines the truth." in text
    tests = [test.name for answer in made_audit().answers for test in answer.tests]
    without = [name for name in tests if POINTS.of(name) is None]
    assert text.count("Not calibrated.") == len(without)


def test_the_verdict_says_how_often_it_was_right(page):
    text = body(page)
    assert (
        "judged, by cuts measured on 77 models with a known answer (calibration by-hand-3)" in text
    )
    assert text.count("liars passed 2% (0% to 6%) of 30") == 1
    assert text.count("The rates are for small models with planted evidence") == 1


def test_what_all_runs_share_is_said_once():
    text = body(render({"one": made_audit(0.0), "other": made_audit(1.0)}))
    assert text.count("catches 94% of 41 that fail") == 3
    assert text.count("liars passed 2%") == 1


def test_runs_that_were_judged_by_other_cuts_each_show_their_own():
    moved = OperatingPoints((a_point("look away", 1.0),), {"version": "later"})
    audit = made_audit()
    audits = {"one": audit, "other": replace(audit, calibration=moved)}
    one, other = questions(audits)[0].tests[:2]
    assert (one.bar.cut, other.bar.cut) == (53.3, 83.3)  # 0.55 and 1 of -0.25 to 1.25
    assert one.rule == "supported if the whole interval lies above 0.55, contradicted if below"
    assert other.rule == "supported if the whole interval lies above 1.00, contradicted if below"
    cuts = figures(audits)["scores"][0].panels[0].chart["datasets"]
    drawn = {row["cut"] for rows in cuts.values() for row in rows if row.get("test") == "look away"}
    assert drawn == {0.55, 1.0}
    text = body(render(audits))
    assert "Calibration by-hand-3: On models with a known answer" in text
    assert "Calibration later: The rates are for small models" in text


def test_an_audit_by_cuts_that_nobody_measured_claims_no_record():
    old = OperatingPoints((a_point("permutation", 0.1, power=None),))
    text = body(render({"old": replace(made_audit(), calibration=old)}))
    assert "by cuts that were not measured" in text
    assert "liars passed" not in text
    assert "The rates are for small models" not in text


def test_what_was_audited_and_what_was_left_out_are_said(page):
    text = body(page)
    assert "400 of 1,725" in text
    assert "of one word, left out 3" in text
    assert "sst2_jw, test part" in text


def test_what_may_be_shown_instead_is_said(page):
    assert made_audit().instead in body(page)


def test_the_flip_table_has_its_four_cells(page):
    text = body(page)
    for count, share in ((9, "2.3%"), (81, "20.4%"), (4, "1.0%"), (303, "76.3%")):
        assert f"{share} {count} documents" in text


def test_means_without_controls_stand_beside_the_tests(page):
    assert "conicity of states: 0.412 (0.391 to –; 397 documents; Mohankumar et al.)" in body(page)
    asked = questions({"a": made_audit()})
    assert [question.name for question in asked if question.facts] == ["grounded"]


def test_zero_has_no_sign():
    assert number(-0.0004) == "0.000"
    assert number(-0.0006) == "−0.001"


def test_several_audits_stand_side_by_side():
    audits = {"liar": made_audit(0.0), "honest": made_audit(1.0, seed=1)}
    text = body(render(audits))
    assert SENTENCES["may-not"] in text
    assert SENTENCES["may"] in text
    assert "Accuracy against each answer" in text
    assert "Audit of liar and honest" in text


def test_paired_differences_stand_in_the_report_of_a_comparison():
    audits = {"liar": made_audit(0.0), "honest": made_audit(1.0)}
    found = compare(audits)
    text = body(render(audits, differences=found.differences))
    assert "Paired differences" in text
    assert text.count("liar − honest") == len(found.differences)
    assert "favours" in text
    assert "Paired differences" not in body(render(audits))


def test_of_many_audits_only_what_compares_them_is_drawn():
    audits = {f"run {n}": made_audit(n / 5) for n in range(5)}
    found = compare(audits)
    page = render(audits, differences=found.differences)
    text = body(page)
    assert "Audit of 5 models" in text
    assert "Accuracy against each answer" in text
    assert "How far another seed" not in text
    assert "run 0 − run 4" in text
    assert "run 1 − run 2" not in text
    assert len(page) < 2_500_000


def test_one_audit_has_no_accuracy_against_answers(page):
    assert "Accuracy against each answer" not in body(page)


def test_a_question_that_one_audit_lacks_is_not_asked_of_it():
    whole = made_audit()
    part = replace(whole, answers=whole.answers[:4])
    by_name = {question.name: question for question in questions({"whole": whole, "part": part})}
    assert [told.judgement for told in by_name["discerning"].told] == ["reported", "not asked"]


def test_evidence_that_is_missing_leaves_its_figures_out():
    bare = replace(made_audit(), evidence={}, columns={}, shown=())
    assert set(figures({"bare": bare})) == {"scores"}
    text = body(render({"bare": bare}))
    assert "needs other seeds" in text
    assert "Without the top words" not in text


def test_a_column_of_nothing_leaves_its_figure_out():
    audit = replace(made_audit(), evidence={}, shown=())
    column = {"epsilon_max_jsd": audit.columns["epsilon_max_jsd"]}
    assert "exclusive" in figures({"a": replace(audit, columns=column)})
    nothing = {"epsilon_max_jsd": np.full(audit.documents, np.nan)}
    assert "exclusive" not in figures({"a": replace(audit, columns=nothing)})


def test_an_audit_of_no_question_can_still_be_shown():
    audit = made_audit()
    silent = tuple(Answer(a.question, a.asks, None, (), "not today") for a in audit.answers)
    text = body(render({"silent": replace(audit, answers=silent, evidence={}, columns={})}))
    assert text.count("not today") == 2 * len(silent)


def test_no_audit_is_an_error():
    with pytest.raises(DataError, match="there is no audit to report on"):
        render({})


def test_numbers_that_do_not_exist_are_dashes():
    (test, *_) = made_audit().answers[0].tests
    nan = math.nan
    score = replace(test.score, score=nan, interval=(nan, nan), spread_interval=(-1.0, 1.0))
    row = test_row("a", replace(test, score=score, judgement="undecided"), made_audit())
    assert row.score == "–"
    assert row.bar is None
    assert row.rule == "no power on this data: floor and ceiling do not separate"


def test_a_bar_puts_floor_and_ceiling_where_zero_and_one_are():
    (test, *_) = made_audit().answers[0].tests
    score = replace(test.score, score=0.5, interval=(0.0, 1.0))
    bar = test_row("a", replace(test, score=score), made_audit()).bar
    # the bar runs from -0.25 to 1.25, so 0 is at a sixth and 1 at five sixths of it
    assert (bar.floor, bar.score, bar.ceiling) == (16.7, 50.0, 83.3)
    assert (bar.low, bar.high) == (bar.floor, bar.ceiling)
    assert not bar.is_beyond


def test_why_names_the_answers_that_the_verdict_rests_on():
    assert why(made_audit(0.0)) == (
        "Decisive is contradicted, telling is contradicted, leak-free is supported."
    )
    assert why(made_audit(0.3)) == (
        "Decisive is supported, telling is contradicted, leak-free is supported."
    )


class Tags(HTMLParser):
    """Every tag of a page with its attributes, as a browser would read them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.asks_for: set[str] = set()
        self.listens: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"src", "srcset", "href", "xlink:href", "action", "data", "poster"}:
                self.asks_for.add(value or "")
            if name.startswith("on"):
                self.listens.add(name)


@pytest.mark.parametrize("make", [made_audit, hostile_audit])
def test_a_report_names_no_outside_address(make):
    page = render({"a": make()})
    assert "https://" not in page
    assert set(re.findall(r"http://[\w.]*", page)) <= {"http://www.w3.org"}  # names, not addresses
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    assert not re.search(r"url\(|@import", style)
    asked = Tags(page).asks_for
    assert {address for address in asked if not address.startswith("#")} == {"data:,"}
    assert "$schema" not in charts_of(page)


def charts_of(page: str) -> str:
    (charts,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', page)
    return charts


def test_chart_data_cannot_end_its_script():
    charts = charts_of(render({"a": hostile_audit()}))
    assert not re.search(r"[<>\u2028\u2029]", charts)
    assert "<script>alert(1)</script>" in json.dumps(json.loads(charts))


def test_hostile_texts_leave_no_markup_behind():
    page = render({HOSTILE[0]: hostile_audit(), HOSTILE[1]: hostile_audit()}, title=HOSTILE[4])
    tags = Tags(page)
    assert [tags.tags.count(tag) for tag in ("script", "style", "img")] == [3, 1, 0]
    assert not tags.listens
    assert page.count("</script>") == 3
    assert page.count("</style>") == 1
    assert "\u202e" not in page
    page.encode("utf-8")


def test_a_report_of_many_documents_still_fits_in_a_mail():
    page = render({"many": made_audit(documents=25_000)})
    assert len(page.encode()) < 2_000_000


def test_an_explanation_is_a_page_of_its_own():
    text = "A very </script> funny movie"
    words = [match.span() for match in re.finditer(r"\S+", text)]
    explained = Explanation(
        text=text,
        offsets=np.array(words),
        classes=("negative", "positive"),
        probabilities=np.array([0.1, 0.9]),
        scores={"attention": np.array([0.1, 0.1, 0.1, 0.6, 0.1]), "zero": np.zeros(5)},
        deletions=(Deletion("attention", ("funny",), 0.31),),
    )
    page = explanation_page(explained)
    assert "positive , 90.0%" in body(page)
    assert "attention A very </script> funny movie" in body(page)
    assert 'class="unsigned strong" style="--s:1.0" title="0.600">funny</mark>' in page
    assert "attention funny 0.310" in body(page)
    assert len(page) < 40_000  # no chart, so no library
