"""The head of a report: the answer first, one page that can be sent on."""

import re
from dataclasses import replace

import pytest

from heedful.auditing.next_step import COMMANDS
from heedful.heatmap import Piece, heat_map, scales_of
from heedful.report import render
from heedful.report.html import without_folders
from heedful.report.tables import test_row
from tests.report.audits import made_audit

COMMAND = "heedful train reviews --like runs/a --recipe faithful -o runs/a-faithful"


@pytest.fixture(scope="module")
def page() -> str:
    audit = made_audit(0.3)
    first, second = audit.shown
    about = {**audit.about, "data": "/home/somebody/reviews.csv", COMMANDS: [COMMAND]}
    marked = replace(first, marked=((2, 6),))
    far = replace(audit.answers[1].tests[0].score, score=7.5)
    far_test = replace(audit.answers[1].tests[0], score=far)
    answers = list(audit.answers)
    answers[1] = replace(answers[1], tests=(far_test,))
    return render(
        {"bilstm": replace(audit, about=about, shown=(marked, second), answers=tuple(answers))}
    )


def test_the_answer_the_reason_and_the_next_command_come_before_anything_else(page):
    audit = made_audit(0.3)
    order = [
        audit.sentence,
        audit.in_plain_words.found,
        "Show leave-one-out instead",
        COMMAND,
        'id="answers"',
        'id="documents"',
        'id="evidence"',
        'id="settings"',
        "search · steps",
    ]
    places = [page.index(part) for part in order]
    assert places == sorted(places)


def test_long_evidence_is_folded(page):
    evidence = page[page.index('id="evidence"') : page.index('id="settings"')]
    assert evidence.count('<details class="question">') > 5
    assert "<details open" not in evidence
    outside = re.sub(r"<details.*?</details>", "", evidence, flags=re.DOTALL)
    assert "<table" not in outside
    assert "<figure" not in outside


def test_no_folder_of_somebodys_machine_is_named(page):
    assert "somebody" not in page
    assert "reviews.csv" in page


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("/home/me/data/x.csv", "x.csv"),
        ("Audit of /tmp/run: 5 ways", "Audit of run: 5 ways"),
        ("~/models/bert/", "bert"),
        (r"C:\Users\me\x.csv", "x.csv"),
        ("reviews-short", "reviews-short"),
        ("org/model and 3/4 of it", "org/model and 3/4 of it"),
        ("https://example.org/a", "https://example.org/a"),
    ],
)
def test_absolute_paths_lose_their_folders(text, kept):
    assert without_folders(text) == kept


def test_attention_has_the_colour_without_a_sign(page):
    lines = re.findall(r'<p class="measure">(.*?)</p>\s*<p class="text".*?>(.*?)</p>', page, re.S)
    assert lines
    for measure, text in lines:
        marks = re.findall(r"<mark([^>]*)>", text)
        assert all(
            ("unsigned" in mark) == (measure == "attention")
            for mark in marks
            if '--s:0"' not in mark
        )


def test_one_number_has_one_depth_of_colour_in_the_whole_report():
    offsets = [(0, 4), (5, 9)]
    documents = [{"attention": [0.2, 0.8]}, {"attention": [0.4, 0.1]}]
    scales = scales_of(documents)
    assert scales == {"attention": 0.8}
    strengths = [
        heat_map("good evil", offsets, one, scales=scales).lines[0].pieces for one in documents
    ]
    found = {piece.score: piece.strength for pieces in strengths for piece in pieces if piece.score}
    assert found == {0.2: 0.25, 0.8: 1.0, 0.4: 0.5, 0.1: pytest.approx(0.12, abs=0.01)}


def test_words_that_people_marked_are_framed(page):
    texts = re.findall(r'<p class="text".*?</p>', page, re.DOTALL)
    framed = [re.findall(r'<mark class="[^"]*by-people[^>]*>(.*?)</mark>', one) for one in texts]
    assert [words for words in framed if words] == [["film"]] * 3  # once per measure
    assert "marked by people as the reason" in page
    (line,) = heat_map("good evil", [(0, 4), (5, 9)], {"x": [0.0, 1.0]}, marked=[(0, 4)]).lines
    assert line.pieces[0] == Piece("good", is_marked=True)
    assert not line.pieces[-1].is_marked
    assert "marked by people as the reason" not in render({"a": made_audit()})


def test_a_score_far_outside_of_the_scale_is_marked(page):
    assert "outside −1 to 2" in page
    audit = made_audit()
    assert test_row("a", audit.answers[0].tests[0], audit).outside == ""


def test_readings_of_one_model_have_one_headline():
    audits = {"last-cls": made_audit(0.3), "rollout": made_audit(0.95)}
    page = render(audits, title="m", together=("Read by rollout.", "In plain `words`."))
    (headline,) = re.findall(r"<h1.*?</h1>", page, flags=re.DOTALL)
    assert "Read by rollout." in headline
    assert "In plain <code>words</code>." in page
