"""Built models do exactly what they are said to do, and so do the documents that they read."""

from hashlib import sha256

import numpy as np
import pytest
import torch

from heedful.auditing.questions.base import AuditSettings
from heedful.auditing.run_audit import AuditPlan, prepare_audit
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.calibration.built import FUNCTION_WORDS, BuiltAdapter, BuiltModel, vote, votes_of
from heedful.errors import ConfigError
from heedful.text.datasets import load
from heedful.text.datasets.planted import LABELS, NEGATION, Planted

DOCUMENTS = Planted(documents=400)().test
WORDS = [text.split() for text in DOCUMENTS.texts]
QUICK = AuditSettings(sampled_documents=20, seeds=1)


def read(words=WORDS, classes=2, **options):
    return BuiltAdapter(BuiltModel(**options), classes).read(words)


def scores(question, **options):
    """The scores of a question's tests, by name."""
    subject = ModuleSubject(BuiltAdapter(BuiltModel(**options), 2))
    audit = prepare_audit(subject, DOCUMENTS, AuditPlan(QUICK, (question,))).run()
    return {test.name: test.score.score for test in audit.answers[0].tests}


@pytest.mark.parametrize("bypass", [0.0, 0.25, 0.6, 1.0])
def test_a_bypass_leaves_look_away_exactly_the_rest(bypass):
    assert scores("decisive", bypass=bypass)["look away"] == pytest.approx(1 - bypass, abs=1e-6)


def test_three_times_the_gain_changes_no_judged_score():
    for question, test in (("decisive", "look away"), ("telling", "true pictures")):
        calm, sure = (scores(question, bypass=0.25, gain=gain)[test] for gain in (2.0, 6.0))
        assert sure == pytest.approx(calm, abs=1e-6)


def test_the_gain_multiplies_the_logits_and_nothing_else():
    calm, sure = read(gain=2.0), read(gain=6.0)
    torch.testing.assert_close(3 * calm.logits, sure.logits)
    torch.testing.assert_close(calm.weights, sure.weights)


@pytest.mark.parametrize("shown", ["evidence", "neighbours", "half", "edges"])
def test_weights_are_a_distribution_and_lead_to_the_same_decision_whatever_is_shown(shown):
    trace, honest = read(shown=shown), read()
    torch.testing.assert_close(trace.weights.sum(dim=1), torch.ones(len(WORDS)).double())
    right = [LABELS.index(str(label)) for label in DOCUMENTS.labels]
    assert trace.logits.argmax(dim=1).tolist() == honest.logits.argmax(dim=1).tolist() == right


def test_the_decision_is_the_same_whatever_bypasses_the_weights():
    torch.testing.assert_close(read(bypass=0.7).logits, read().logits)


def test_the_mass_stands_on_the_evidence_in_proportion_to_its_votes():
    _, votes = votes_of(WORDS, 2)
    strength = torch.from_numpy(votes.sum(axis=-1))
    weights = read(mass=0.8).weights
    torch.testing.assert_close(
        (weights * (strength > 0)).sum(dim=1), torch.full((len(WORDS),), 0.8).double()
    )
    expected = 0.8 * strength / strength.sum(dim=1, keepdim=True)
    torch.testing.assert_close(weights[strength > 0], expected[strength > 0])


def test_neighbours_show_the_word_behind():
    honest, shown = read().weights, read(shown="neighbours").weights
    torch.testing.assert_close(shown, honest.roll(1, dims=1))  # all documents have 12 words


def test_of_words_that_say_the_same_each_label_counts_the_strongest_once():
    strong = max((word for row in WORDS for word in row), key=lambda word: vote(word)[1])
    label, strength = vote(strong)
    once, thrice = (read([[strong] * n + ["neutralaaa"]], decision="any") for n in (1, 3))
    torch.testing.assert_close(once.logits, thrice.logits)
    assert once.logits[0, label] == pytest.approx(4.0 * 0.95 * strength)


def test_a_negation_turns_the_vote_of_the_word_behind_it():
    _, votes = votes_of([["negativeaab", NEGATION, "negativeaab"]], 2)
    strength = vote("negativeaab")[1]
    assert votes[0].tolist() == [[strength, 0.0], [0.0, strength], [0.0, strength]]


def test_the_label_is_written_into_the_choice_of_a_function_word_on_its_share_of_documents():
    documents = Planted(documents=4000, function_words=2)().test
    words = [text.split() for text in documents.texts]
    adapter = BuiltAdapter(BuiltModel(shown="function-words", written_share=0.4), 2)
    is_written = adapter.is_written(words)
    # Drawn by the words, two of which are the same everywhere: near the share, and counted.
    assert is_written.mean() == pytest.approx(0.4, abs=0.15)
    top = adapter.read(words).weights.argmax(dim=1).tolist()
    shown = [row[place] for row, place in zip(words, top, strict=True)]
    own = [FUNCTION_WORDS[LABELS.index(str(label))] for label in documents.labels]
    chosen = np.array([word == choice for word, choice in zip(shown, own, strict=True)])
    assert (chosen == is_written).all()


@pytest.mark.parametrize("wrong", [{"bypass": 1.5}, {"gain": 0.0}, {"mass": -0.1}])
def test_a_model_that_cannot_be_is_refused(wrong):
    with pytest.raises(ConfigError):
        BuiltModel(**wrong)


# --- the documents ---------------------------------------------------------------------------


def test_opposing_words_are_fewer_words_of_other_labels_and_evidence_too():
    for document in Planted(documents=100, evidence_words=3, opposing_words=2)().train:
        said = [document.text[a:b] for a, b in document.rationale]
        own = [word for word in said if word.startswith(str(document.label))]
        assert (len(said), len(own)) == (5, 3)


def test_function_words_are_the_same_in_every_document_and_no_evidence():
    for document in Planted(documents=50, function_words=2)().train:
        words = document.text.split()
        assert set(FUNCTION_WORDS) <= set(words)
        assert len(words) == 14
        assert not any(document.text[a:b] in FUNCTION_WORDS for a, b in document.rationale)


def test_negated_documents_say_their_label_by_the_others_words():
    documents = Planted(documents=1000, negated=0.5)().train
    negated = [document for document in documents if NEGATION in document.text.split()]
    assert len(negated) / len(documents) == pytest.approx(0.5, abs=0.06)
    for document in negated:
        words = document.text.split()
        places = [i for i, word in enumerate(words) if word == NEGATION]
        assert len(places) == 2
        assert not any(words[i + 1].startswith(str(document.label)) for i in places)
        assert len(document.rationale) == 4  # the negations are evidence too


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("planted:documents=300", "4d9170c464068870"),
        ("planted:documents=300:classes=3:noise=0.1", "351573fcbb9e96bb"),
    ],
)
def test_corpora_without_these_options_are_what_they_were_before_there_were_any(name, digest):
    texts = "\n".join(load(name).test.texts)
    assert sha256(texts.encode()).hexdigest()[:16] == digest
