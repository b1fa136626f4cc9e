"""The classifier that sees only the weights, and labels written into the choice of words."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings, leak_free
from heedful.auditing.subjects.function import PlainSubject
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.calibration.built import BuiltAdapter, BuiltModel
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents
from heedful.training.trained import WordWeights
from tests.auditing.doubles import a_subject, by_words, spans


@pytest.mark.parametrize(("most", "expected"), [(40, 40), (160, None)])
def test_a_tree_is_shown_only_so_many_documents(most, expected, monkeypatch):
    """Of 200 documents in five folds, 160 are learnt from."""
    shown = []
    fit = RandomForestClassifier.fit

    def noted(self, *given, **more):
        shown.append(self.max_samples)
        return fit(self, *given, **more)

    monkeypatch.setattr(RandomForestClassifier, "fit", noted)
    monkeypatch.setattr(leak_free, "TREE_DOCUMENTS", most)
    labels = np.arange(200) % 2
    patterns = np.random.default_rng(0).random((200, 3)) + labels[:, None]
    hits, _ = leak_free._cross_fitted(patterns, labels, AuditSettings())
    assert shown == [expected] * 5
    assert hits.mean() > 0.95


def word_choice(model, corpus):
    subject = ModuleSubject(BuiltAdapter(model, 2))
    documents = corpus().test.take(list(range(100)))
    found = audit(subject, documents, AuditSettings(folds=2), ["leak-free"])
    (test,) = [t for t in found.answer("leak-free").tests if t.name == "word choice"]
    return test


WITH_FUNCTION_WORDS = Planted(documents=1000, function_words=2, evidence_vocabulary=10)


def test_a_label_written_into_the_choice_of_a_word_that_says_nothing_is_found():
    """Both words stand in every document; one gets the most weight for each label."""
    test = word_choice(BuiltModel(shown="function-words"), WITH_FUNCTION_WORDS)
    assert test.score.score == pytest.approx(0, abs=0.05)
    assert test.judgement == "contradicted"


@pytest.mark.parametrize("shown", ["evidence", "neighbours"])
def test_words_that_say_what_they_say_wherever_they_stand_write_no_label(shown):
    test = word_choice(BuiltModel(shown=shown), WITH_FUNCTION_WORDS)
    assert test.score.score == pytest.approx(1, abs=0.1)
    assert test.judgement == "supported"


def test_a_label_written_into_the_choice_in_half_of_the_documents_lies_between():
    half = BuiltModel(shown="function-words", written_share=0.5)
    assert 0.2 < word_choice(half, WITH_FUNCTION_WORDS).score.score < 0.8


def test_words_of_equal_weight_share_in_being_chosen():
    """Which of two equal ones comes first tells the label here, and the weights do not."""
    begins = ("right left bad", "left right good")
    texts = [f"{begins[number % 2]} n{number}" for number in range(60)]
    subject = a_subject({"good": 1.0, "bad": -1.0}, lambda word: float(word in ("left", "right")))
    documents = Documents(Document(text, None) for text in texts)
    found = audit(subject, documents, AuditSettings(folds=2), ["leak-free"])
    (test,) = [t for t in found.answer("leak-free").tests if t.name == "word choice"]
    assert test.score.score == pytest.approx(1, abs=0.01)


def last_wins(texts):
    """The last of good and bad decides."""
    good = [0.05 if t.rfind("bad") > t.rfind("good") else 0.95 for t in texts]
    return np.column_stack([1 - np.array(good), np.array(good)])


def showing_the_last(texts):
    shown = []
    for text in texts:
        words = text.split()
        last = max(words.index("good"), words.index("bad")) if len(words) > 2 else 0
        weights = np.where(np.arange(len(words)) == last, 0.9, 0.1 / max(len(words) - 1, 1))
        shown.append(WordWeights(text, spans(text), weights / weights.sum()))
    return shown


def test_a_word_that_is_chosen_for_its_place_writes_no_label():
    """Both words are in every text; the later one decides, and is shown."""
    subject = PlainSubject(last_wins, showing_the_last, ("bad", "good"))
    texts = [
        f"one {'good two bad' if number % 2 else 'bad two good'} n{number}" for number in range(60)
    ]
    documents = Documents(Document(text, None) for text in texts)
    found = audit(subject, documents, AuditSettings(folds=2), ["leak-free"])
    (test,) = [t for t in found.answer("leak-free").tests if t.name == "word choice"]
    assert test.judgement == "supported"


def behind_but(texts):
    """What stands behind `but` decides, or everything where there is none."""
    return by_words({"good": 2.0, "bad": -2.0})([text.rpartition("but")[2] for text in texts])


def test_a_word_that_is_chosen_because_another_keeps_its_rival_silent_writes_no_label():
    """Both words are in every text; the one behind `but` decides, and is shown."""
    subject = PlainSubject(behind_but, showing_the_last, ("bad", "good"))
    texts = [
        f"one {'good but bad' if number % 2 else 'bad but good'} n{number}" for number in range(60)
    ]
    documents = Documents(Document(text, None) for text in texts)
    found = audit(subject, documents, AuditSettings(folds=2), ["leak-free"])
    (test,) = [t for t in found.answer("leak-free").tests if t.name == "word choice"]
    assert test.judgement == "supported"
