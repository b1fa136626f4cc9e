"""Pictures of models whose evidence is known, document by document."""

from zlib import crc32

import numpy as np
import pytest

from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.scope import exceptions, scope
from heedful.auditing.subjects.function import PlainSubject
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.calibration.built import BuiltAdapter, BuiltModel
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents
from heedful.training.trained import WordWeights
from tests.auditing.doubles import a_subject, by_words, spans

FEW = AuditSettings(sampled_documents=15, folds=2)
MIXED = Planted(documents=1000, evidence_words=3, opposing_words=2, neutral_words=7)
POINTS = {"great": 2.0, "good": 1.0, "fine": 0.5, "bad": -1.0, "awful": -2.0}


@pytest.fixture(scope="module")
def mixed() -> Documents:
    return MIXED().test.take(list(range(60)))


def built(model, documents, settings=FEW, asked=("telling",)):
    return audit(ModuleSubject(BuiltAdapter(model, 2)), documents, settings, asked)


def true_pictures(found):
    return found.answer("telling").tests[0]


def pictures(subject, texts):
    documents = Documents(Document(text, None) for text in texts)
    return audit(subject, documents, FEW, ["telling"]).columns


def pictures_of(subject, texts):
    return pictures(subject, texts)["picture"]


def test_pictures_of_an_honest_model_of_mixed_evidence_are_true(mixed):
    """Attention has no sign: it shows the words of both labels, and deleting both would cancel."""
    found = built(BuiltModel(), mixed)
    assert (found.columns["picture"] >= 0.95).all()
    assert true_pictures(found).score.score == 1
    assert true_pictures(found).score.interval[0] > 0.85


def test_pictures_of_the_neighbours_of_the_evidence_are_false(mixed):
    found = built(BuiltModel(shown="neighbours"), mixed)
    assert true_pictures(found).score.value < 0.3
    assert true_pictures(found).judgement == "contradicted"


@pytest.mark.parametrize(
    ("shown", "verdict"), [("evidence", "may"), ("half", "may-not"), ("neighbours", "may-not")]
)
def test_how_sure_a_model_is_changes_no_picture_and_no_verdict(mixed, shown, verdict):
    asked = ("decisive", "telling", "leak-free")
    once, *others = [
        built(BuiltModel(shown=shown, gain=gain), mixed, asked=asked) for gain in (4.0, 2.0, 12.0)
    ]
    assert once.verdict == verdict
    for other in others:
        np.testing.assert_allclose(other.columns["picture"], once.columns["picture"], atol=1e-6)
        assert other.verdict == verdict


def showing_falsely(share):
    """A bag of words that shows its evidence, but in a share of documents all other words."""

    def attend(texts):
        shown = []
        for text in texts:
            is_false = crc32(text.encode()) / 2**32 < share
            raw = np.array([1.0 if (word in POINTS) != is_false else 0.01 for word in text.split()])
            shown.append(WordWeights(text, spans(text), raw / raw.sum()))
        return shown

    return PlainSubject(by_words(POINTS), attend, ("bad", "good"))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_documents_with_a_false_picture_is_measured(share):
    fillers = "one two three four five six seven eight"
    texts = [f"{'great' if n % 2 else 'awful'} {fillers} number{n}" for n in range(120)]
    documents = Documents(Document(text, None) for text in texts)
    found = audit(showing_falsely(share), documents, FEW, ["telling"])
    made = np.mean([crc32(text.encode()) / 2**32 < share for text in texts])
    score = true_pictures(found).score
    assert score.value == score.score == pytest.approx(1 - made)
    assert score.documents == 120
    low, high = score.interval
    assert low <= score.score <= high


def test_classes_have_their_own_shares_of_false_pictures():
    subject = a_subject(POINTS, lambda word: {"great": 5.0, "awful": 0.01}.get(word, 1.0))
    fillers = "one two three four five six seven"
    documents = Documents(
        Document(f"{'awful' if n % 3 else 'great'} {fillers} number{n}", None) for n in range(30)
    )
    rows = audit(subject, documents, FEW, ["telling"]).evidence["classes"]
    assert [(row["class"], row["false_pictures"], row["documents"]) for row in rows] == [
        ("bad", 1.0, 20),
        ("good", 0.0, 10),
    ]
    for row in rows:
        assert row["low"] <= row["false_pictures"] <= row["high"]


def test_documents_whose_words_carry_no_decision_are_silent():
    """The second is decided by a bias. In the third every word says the same: no ranking is better
    than another, and its words carry the decision all the same."""

    def predict(texts):
        sums = np.array([0.5 + sum(POINTS.get(word, 0) for word in t.split()) for t in texts])
        good = 1 / (1 + np.exp(-sums))
        return np.column_stack([1 - good, good])

    def attend(texts):
        counts = [len(text.split()) for text in texts]
        return [
            WordWeights(text, spans(text), np.full(count, 1 / count))
            for text, count in zip(texts, counts, strict=True)
        ]

    subject = PlainSubject(predict, attend, ("bad", "good"))
    texts = ["great one two three four", "one two three four five", "fine fine fine fine fine"]
    documents = Documents(Document(text, None) for text in texts)
    found = audit(subject, documents, FEW, ["telling"])
    assert np.isnan(found.columns["picture"]).tolist() == [False, True, True]
    np.testing.assert_equal(found.columns["is_true_picture"], [0.0, np.nan, 1.0])
    test = true_pictures(found)
    assert test.score.documents == 2
    assert test.note == (
        "best ranking: attention on 50% of the documents, words alone on 50%; "
        "1 silent document: no words carry the decision there"
    )


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_texts_without_any_evidence_are_silent_whatever_they_show(classes, noise):
    """There is nothing to lose in them, so it is not lost with the words that are shown either."""

    def predict(texts):
        rng = np.random.default_rng(len(texts))
        logits = rng.normal(0, noise, (len(texts), classes))
        logits[:, 1] += [sum(POINTS.get(word, 0.0) for word in text.split()) for text in texts]
        odds = np.exp(logits)
        return odds / odds.sum(axis=1, keepdims=True)

    plain = showing({"great": 1.0}, predict)
    subject = PlainSubject(predict, plain.attend, [str(number) for number in range(classes)])
    found = pictures(subject, ["great one two three", "one two three four"])
    assert found["is_silent"].tolist() == [0.0, 1.0]
    np.testing.assert_equal(found["is_true_picture"], [1.0, np.nan])


@pytest.mark.parametrize(("shown", "truth"), [(5, 1.0), (4, 1.0), (3, 1.0), (2, 0.0), (1, 0.0)])
def test_where_all_words_matter_alike_a_picture_may_not_hide_what_carries_the_decision(
    shown, truth
):
    """Any order of the words is as good as another, so no ranking is better than chance."""
    alike = [f"clue{number}" for number in range(5)]
    weights = dict.fromkeys(alike[:shown], 1.0)
    subject = a_subject(dict.fromkeys(alike, 1.0), lambda word: weights.get(word, 0.001))
    found = pictures(subject, [" ".join(alike)])
    assert np.isnan(found["picture"]).tolist() == [True]
    assert found["is_true_picture"].tolist() == [truth]


def decided_by_the_class_itself(share):
    """Good without any word; on a share of the texts `awful` turns it."""
    texts = [
        f"{'awful' if n < 100 * share else 'plain'} one two three four number{n}"
        for n in range(100)
    ]

    def predict(given):
        sums = np.array([1.0 + sum(POINTS.get(word, 0) for word in t.split()) for t in given])
        good = 1 / (1 + np.exp(-2 * sums))
        return np.column_stack([1 - good, good])

    documents = Documents(Document(text, None) for text in texts)
    return audit(showing({"awful": 1.0}, predict), documents, FEW, ["telling"])


def test_no_picture_is_safe_where_most_decisions_are_carried_by_no_words():
    often, rarely = decided_by_the_class_itself(0.7), decided_by_the_class_itself(0.3)
    assert true_pictures(often).score.value == true_pictures(rarely).score.value == 1.0
    assert true_pictures(often).judgement == "supported"
    assert true_pictures(rarely).judgement == "undecided"
    usually = "so a heat map of this model usually shows nothing"
    assert usually not in scope(often)
    assert usually in scope(rarely)
    assert "On 70 of 100 texts no words carry the decision" in rarely.in_plain_words.found
    assert "too close" not in rarely.in_plain_words.found


def test_sparse_attention_is_not_read_beyond_the_words_that_have_weight():
    """Of the words without weight it says nothing, so their places in the text do not count."""
    strongest = a_subject(POINTS, lambda word: float(word == "great"))
    weaker = a_subject(POINTS, lambda word: float(word == "fine"))
    text = "one two three four great good fine five six seven"
    assert pictures_of(strongest, [text]) == pytest.approx([1.0])
    assert pictures_of(weaker, [text])[0] < 0.5


LONG = " ".join(f"filler{number}" for number in range(77))
MANY = {f"clue{number}": 2.0**-number for number in range(4)}


def showing(points, predict=None):
    """A bag of words (or `predict`) whose picture gives words the weights of `points`."""
    return a_subject(POINTS | MANY, lambda word: points.get(word, 0.001), predict)


@pytest.mark.parametrize(
    ("above", "truth"), [((), 1.0), (("filler0", "filler9"), 0.0), (tuple(LONG.split()[:5]), 0.0)]
)
def test_words_above_those_that_count_make_the_picture_of_a_long_document_false(above, truth):
    """The top 5% of 81 words hold the clue wherever it stands among the first five."""
    shown = {"great": 1.0} | {word: 2.0 + number for number, word in enumerate(above)}
    found = pictures(showing(shown), [f"great one two three {LONG}"])
    assert found["is_true_picture"].tolist() == [truth]


def test_right_words_in_the_wrong_order_make_the_picture_of_a_long_document_false():
    in_order = {word: 1 + points for word, points in MANY.items()}
    reversed_order = {word: 1 - points / 2 for word, points in MANY.items()}
    text = f"{' '.join(MANY)} {LONG}"
    assert pictures_of(showing(in_order), [text]) == pytest.approx([1.0])
    assert pictures_of(showing(reversed_order), [text])[0] < 0.4


def undone(texts):
    """Good if exactly one of two words is there: without both it is as with both."""
    found = [("great" in text.split()) != ("good" in text.split()) for text in texts]
    good = np.where(found, 0.95, 0.05)
    return np.column_stack([1 - good, good])


def test_of_two_words_that_undo_each_other_both_may_be_shown():
    subject = showing({"great": 1.0, "good": 1.0}, undone)
    found = pictures(subject, [f"great good one two three four number{n}" for n in range(4)])
    assert found["is_true_picture"].tolist() == [1.0] * 4


def test_a_picture_of_words_against_the_decision_is_false():
    text = "great great good awful one two three four"
    honest = showing({"great": 1.0, "good": 0.5, "awful": 1.0})
    other_side = showing({"great": 0.1, "good": 0.05, "awful": 1.0})
    assert pictures(honest, [text])["is_true_picture"].tolist() == [1.0]
    assert pictures(other_side, [text])["is_true_picture"].tolist() == [0.0]


def choosing(texts):
    """Decides by `great` or `awful`, through "the" or "of": without either of them by nothing."""
    rows = []
    for text in texts:
        words = set(text.split())
        chosen = "the" if "great" in words else "of" if "awful" in words else ""
        rows.append(0.5 if chosen not in words else {"the": 0.95, "of": 0.05}[chosen])
    good = np.array(rows)
    return np.column_stack([1 - good, good])


def test_a_picture_that_hides_a_word_as_important_as_any_is_false():
    text = "great the of one two three four five"
    assert pictures(showing({"great": 1, "the": 1}, choosing), [text])["is_true_picture"] == [1.0]
    assert pictures(showing({"the": 1}, choosing), [text])["is_true_picture"] == [0.0]


@pytest.mark.parametrize(("shown", "truth"), [(4, 1.0), (3, 1.0), (2, 0.0), (1, 0.0)])
def test_a_picture_that_hides_half_of_the_words_that_decide_alike_is_false(shown, truth):
    """Each adds the same, so the order of those that are shown is as good as any."""
    alike = [f"clue{number}" for number in range(4)]
    weights = dict.fromkeys(alike[:shown], 1.0)
    subject = a_subject(dict.fromkeys(alike, 1.0), lambda word: weights.get(word, 0.001))
    found = pictures(subject, [f"{' '.join(alike)} one two three four five six"])
    assert found["is_true_picture"].tolist() == [truth]


def behind_but(texts):
    """What stands behind `but` decides, or everything where there is none."""
    return by_words(POINTS)([text.rpartition("but")[2] for text in texts])


def turned(texts):
    """A bag of words, turned into its opposite by `sure`."""
    found = by_words(POINTS)(texts)
    return np.where([["sure" in text.split()] for text in texts], found[:, ::-1], found)


def test_a_word_that_only_keeps_others_from_being_heard_may_be_hidden():
    """Without `but` the decision is lost, and yet what is shown carries it."""
    text = "awful one two but three great four"
    evidence, other_clause = showing({"great": 1.0}, behind_but), showing({"awful": 1}, behind_but)
    assert pictures(evidence, [text])["is_true_picture"].tolist() == [1.0]
    assert pictures(other_clause, [text])["is_true_picture"].tolist() == [0.0]


def test_a_word_that_turns_the_shown_ones_may_not_be_hidden():
    text = "sure one two three great four"
    both, hidden = showing({"great": 1.0, "sure": 1.0}, turned), showing({"great": 1.0}, turned)
    assert pictures(both, [text])["is_true_picture"].tolist() == [1.0]
    assert pictures(hidden, [text])["is_true_picture"].tolist() == [0.0]


def test_pictures_of_a_model_that_counts_votes_are_true_if_they_show_all_votes():
    def majority(texts):
        for_it = [
            np.sign(text.split().count("great") - text.split().count("bad")) for text in texts
        ]
        good = 0.5 + 0.45 * np.array(for_it)
        return np.column_stack([1 - good, good])

    votes = "great " * 4 + "bad " * 3
    texts = [f"{votes} {' '.join(LONG.split()[n : n + 20])}" for n in range(20)]
    honest = showing({"great": 1.0, "bad": 1.0}, majority)
    against = showing({"bad": 1.0}, majority)
    assert pictures(honest, texts)["is_true_picture"].mean() == 1.0
    assert pictures(against, texts)["is_true_picture"].mean() == 0.0


def saying_it_often(texts):
    """Good if any of its words says so."""
    good = np.array([0.95 if "great" in text.split() else 0.05 for text in texts])
    return np.column_stack([1 - good, good])


def test_where_no_deletion_moves_the_decision_a_picture_must_show_what_does():
    text = "great " * 16 + "one two three four"
    shows_it, hides_it = (
        pictures(showing(points, saying_it_often), [text])
        for points in ({"great": 1.0}, {"one": 1.0, "two": 1.0})
    )
    assert shows_it["is_silent"].tolist() == [1.0]
    assert np.isnan(shows_it["is_true_picture"]).all()
    assert hides_it["is_silent"].tolist() == [0.0]
    assert hides_it["is_true_picture"].tolist() == [0.0]


def test_words_of_equal_weight_are_not_ranked_by_their_place_in_the_text():
    """Even weights say nothing, though the word that counts comes first in every text."""
    documents = [f"great one two three four five six seven eight number{n}" for n in range(40)]
    even = pictures(showing({}), documents)["is_true_picture"]
    assert even.mean() < 0.6


def test_lengths_whose_pictures_are_false_are_named_as_exceptions():
    """It shows what counts in short texts and something else in long ones."""
    fillers = [f"word{number}" for number in range(30)]
    texts = [
        " ".join(["great" if n % 2 else "awful", *fillers[: 5 + 20 * (n % 3 == 0)], f"number{n}"])
        for n in range(120)
    ]

    def attend(given):
        found = []
        for text in given:
            is_long = len(text.split()) > 12
            raw = np.array([1.0 if (w in POINTS) != is_long else 0.01 for w in text.split()])
            found.append(WordWeights(text, spans(text), raw / raw.sum()))
        return found

    subject = PlainSubject(by_words(POINTS), attend, ("bad", "good"))
    documents = Documents(Document(text, None) for text in texts)
    found = audit(subject, documents, FEW, ["telling"])
    (named,) = [one for one in exceptions(found) if one.startswith("texts")]
    assert named == "texts of 27 words (false on 100% of 40)"
