"""Scores that were computed elsewhere are judged as if they had been computed here."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import heedful
from heedful.auditing.given_scores import GivenScores, scored_texts
from heedful.auditing.questions import AuditSettings
from heedful.auditing.run_audit import AuditPlan, prepare_audit
from heedful.errors import ConfigError, DataError, DataWarning, RunError, UsageError
from heedful.importance import Importance, Need, Seen
from heedful.importance.attributions import write_attributions
from heedful.importance.attributions.formats import formats
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject
from tests.readouts.tiny import fine_tuned, planted_documents

POINTS = {"good": 2.0, "fine": 1.0, "bad": -2.0, "dull": -1.0}
SETTINGS = AuditSettings(sampled_documents=40)
SAME = (
    "false_pictures",
    "false_low",
    "false_high",
    "judgement",
    "comprehensiveness",
    "sufficiency",
)


def documents(count: int = 40) -> Documents:
    rng = np.random.default_rng(5)
    words = ["good", "fine", "bad", "dull", "the", "film", "is", "here"]
    return Documents(
        Document(" ".join(rng.choice(words, size=6)) + f" n{n}", None) for n in range(count)
    )


def row_of(audit: heedful.Audit, measure: str) -> dict:
    return next(row for row in audit.evidence["measures"] if row["measure"] == measure)


@pytest.fixture(scope="module")
def subject():
    return a_subject(POINTS)


@pytest.mark.parametrize("name", formats)
def test_a_reading_that_is_exported_and_read_back_gives_the_numbers_of_the_reading(subject, name):
    texts = documents().texts
    path = f"scores{formats.make(name).endings[0]}"
    write_attributions(list(scored_texts(subject, texts, ["leave-one-out"])), path, name)
    audit = heedful.audit(subject, documents(), SETTINGS, ["telling"], attributions=path)
    inside, given = (row_of(audit, m) for m in ("leave-one-out", "given leave-one-out"))
    for column in SAME:
        assert given[column] == pytest.approx(inside[column], abs=1e-9), column
    assert [row["measure"] for row in audit.given] == ["given leave-one-out"]


@pytest.fixture(scope="module")
def transformer():
    return fine_tuned()


@pytest.mark.parametrize("measure", ["gradient-x-input", "gradient-norm"])
def test_readings_of_a_transformer_give_equal_numbers_when_they_come_back_from_a_file(
    transformer, measure
):
    from heedful.auditing.explanation import subject_of_any

    documents = planted_documents(24, seed=7)
    found = scored_texts(subject_of_any(transformer), documents.texts, [measure])
    write_attributions(list(found), "scores.parquet", "table")
    audit = heedful.audit(transformer, documents, asked=["telling"], attributions="scores.parquet")
    inside, given = (row_of(audit, m) for m in (measure, f"given {measure}"))
    for column in SAME:
        assert given[column] == pytest.approx(inside[column], abs=1e-9), column


def row(text: str, score) -> dict:
    return {"text": text, "words": text.split(), "scores": [score(word) for word in text.split()]}


def test_true_scores_may_be_shown_and_scores_of_the_other_words_may_not(subject):
    texts = documents().texts
    sign = {text: 1 if good else -1 for text, good in zip(texts, _is_good(texts), strict=True)}
    true = [row(text, lambda w, s=sign[text]: s * POINTS.get(w, 0.0)) for text in texts]
    wrong = [row(text, lambda w: float(w not in POINTS)) for text in texts]
    for given, verdict, said in (
        (true, "may", "may be shown as an explanation"),
        (wrong, "may-not", "may not be shown as an explanation"),
    ):
        audit = heedful.audit(subject, documents(), SETTINGS, ["telling"], attributions=given)
        assert audit.given_verdict == verdict
        (sentence,) = audit.given_sentences
        assert sentence.startswith(
            f"The scores of given attributions {said}: their picture is false"
        )
        assert sentence.endswith("at most 15% are tolerated.")


def _is_good(texts: list[str]) -> list[bool]:
    return [sum(POINTS.get(word, 0.0) for word in text.split()) > 0 for text in texts]


def test_documents_without_scores_are_left_out_and_counted(subject):
    texts = documents().texts
    given = [row(text, lambda w: 1.0) for text in texts[:30]]
    with pytest.warns(DataWarning, match="10 documents left out: no given scores"):
        audit = heedful.audit(subject, documents(), SETTINGS, ["telling"], attributions=given)
    assert audit.documents == 30
    assert audit.about["left_out_unscored"] == 10
    with pytest.raises(DataError, match="none of 40 documents matches a text with given"):
        heedful.audit(subject, documents(), attributions=[row("another text", lambda w: 1.0)])


def test_scores_of_one_document_are_not_taken_for_another_that_is_like_it():
    given = GivenScores.read([row("Great movie", lambda w: 1.0)])
    both = Documents(map(Document, ("Great movie", "great movie", "GREAT  movie")))
    left, unscored = given.on(both)
    assert (left.texts, unscored) == (["Great movie"], 2)
    left, unscored = given.on(both.take([1]))
    assert (left.texts, unscored) == (["great movie"], 0)


def test_a_list_of_paths_is_read():
    for name in ("one", "two"):
        scores = list(scored_texts(a_subject(POINTS), ["a good film"], ["leave-one-out"]))
        write_attributions([replace(s, method=name) for s in scores], f"{name}.jsonl", "table")
    given = GivenScores.read([Path("one.jsonl"), Path("two.jsonl")])
    assert given.names == ["given one", "given two"]


def test_the_attention_of_an_audit_is_judged_as_without_given_scores(subject):
    texts = documents().texts
    given = [row(text, lambda w: 1.0) for text in texts]
    plain = heedful.audit(subject, documents(), SETTINGS, ["telling"])
    beside = heedful.audit(subject, documents(), SETTINGS, ["telling"], attributions=given)
    assert plain.verdict == beside.verdict
    assert plain.answer("telling").tests == beside.answer("telling").tests


def test_the_picture_of_attention_is_judged_by_one_rule_in_the_table_and_in_the_verdict():
    # All weight on a word that does nothing, beside a word that alone decides: false in both.
    subject = a_subject(POINTS, weigh=lambda word: 1.0 if word in ("good", "bad") else 0.3)
    audit = heedful.audit(subject, documents(), SETTINGS, ["telling"])
    is_true = audit.columns["is_true_picture"]
    np.testing.assert_array_equal(audit.columns["is_true_attention"], is_true)
    assert row_of(audit, "attention")["false_pictures"] == pytest.approx(1 - np.nanmean(is_true))


@dataclass(frozen=True)
class Lengths(Importance):
    """The letters of each word."""

    needs = frozenset({Need.TEXTS})
    name: str = "lengths"

    def of(self, seen: Seen) -> torch.Tensor:
        return seen.is_token.double()


def test_further_measures_are_ranked_beside_given_scores(subject):
    with_more = subject.with_measures([Lengths()])
    given = GivenScores.read([row(text, lambda w: 1.0) for text in documents().texts])
    prepared = prepare_audit(with_more, documents(), given=given)
    assert prepared.subject.measures[-2:] == ("lengths", "given attributions")
    with pytest.raises(ConfigError, match="every audit already ranks lengths"):
        with_more.with_measures([Lengths()])


def test_given_scores_are_refused_where_telling_is_not_asked(subject):
    given = [row(text, lambda w: 1.0) for text in documents().texts]
    with pytest.raises(
        UsageError, match="attributions are judged by the question telling: ask telling too"
    ):
        heedful.audit(subject, documents(), asked=["decisive"], attributions=given)


def test_a_request_says_which_version_measured(subject, tmp_path):
    prepared = prepare_audit(subject, documents())
    prepared.kept_in(tmp_path).parts.put(0, {})
    known = json.loads((tmp_path / "request.json").read_text())
    (tmp_path / "request.json").write_text(
        json.dumps({name: value for name, value in known.items() if name != "measurements"})
    )
    with pytest.raises(RunError, match="started with measurements = None, not version"):
        prepared.kept_in(tmp_path)


def test_leave_one_out_is_the_subjects_own_also_where_another_model_judges(subject):
    judge = a_subject({"here": 2.0, "film": -2.0, "good": 0.5, "the": 1.0})
    own = list(scored_texts(subject, documents().texts, ["leave-one-out"]))
    audit = heedful.audit(
        subject, documents(), SETTINGS, ["telling"], judge=judge, attributions=own
    )
    for column in ("fall", "is_true"):
        inside, given = (audit.columns[f"{column}_{m}leave-one-out"] for m in ("", "given "))
        np.testing.assert_allclose(inside, given, err_msg=column)
    best, judges = (audit.columns[f"fall_{m}"] for m in ("best", "leave-one-out of the judge"))
    assert (best >= judges - 1e-9)[~np.isnan(best)].all()
    assert (judges > audit.columns["fall_leave-one-out"] + 1e-9).any()


def test_notes_on_words_without_a_score_are_those_of_the_audit_also_when_it_is_resumed(
    subject, tmp_path
):
    texts = documents(20).texts
    rows = [row(text, lambda w: 1.0) for text in texts]
    rows[3] = {"text": texts[3], "words": texts[3].split()[:4], "scores": [1.0] * 4}
    given = GivenScores.read(rows)
    said = "given attributions: 3 words of 1 document without a score, counted as 0"
    plan = AuditPlan(SETTINGS, ["telling"])
    for one in (given, GivenScores.read(rows)):
        prepared = prepare_audit(subject, documents(20), plan, given=one)
        assert said in prepared.kept_in(tmp_path).run().about["notes"]
    # An audit of other documents with the same scores has notes of its own.
    without = prepare_audit(subject, documents(20).take([0, 1, 2]), plan, given=given)
    assert said not in without.run().about.get("notes", ())
