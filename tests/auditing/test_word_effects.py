"""What each word does to the decision of models that are written down."""

from dataclasses import replace

import numpy as np
import pytest

from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.auditing.word_effects import word_effects
from heedful.calibration.built import BuiltAdapter, BuiltModel, vote
from heedful.text.datasets.planted import word_form
from tests.auditing.doubles import a_subject

SILENT = "one two three four"


def by_strength(label):
    return sorted((word_form(label, n) for n in range(50)), key=lambda word: vote(word)[1])


WEAK, *_, STRONG = by_strength("positive")
AGAINST = by_strength("negative")[25]


def effects_of(text, subject=None):
    subject = subject or ModuleSubject(BuiltAdapter(BuiltModel(), 2))
    return word_effects(subject, subject.read([text]))


def words_where(marks, text):
    return [word for word, is_marked in zip(text.split(), marks[0], strict=True) if is_marked]


def test_the_words_of_the_other_label_are_opposing():
    text = f"{STRONG} {AGAINST} {WEAK} {SILENT}"
    assert words_where(effects_of(text).is_opposing, text) == [AGAINST]


def test_where_attention_averages_the_weaker_word_of_a_label_is_not_opposing():
    text = f"{STRONG} {WEAK} {SILENT}"
    effects = effects_of(text)
    # The mean of 1.5 and 0.5, each weighed by itself, is 1.25; without the weaker it is 1.5.
    assert effects.lost[0, 1] < -0.1 * effects.lost.max()
    assert not effects.is_opposing.any()


def test_a_word_whose_loss_costs_nothing_is_not_opposing_for_what_it_says_alone():
    """`but` speaks against the decision alone, and nothing is gained without it."""
    subject = a_subject({"good": 2.0, "but": -0.01, "bad": -1.0})
    text = "good but bad then"
    effects = effects_of(text, subject)
    assert words_where(effects.is_opposing, text) == ["bad"]
    lonely = replace(effects, lost=np.abs(effects.lost))
    assert not lonely.is_opposing.any()


def test_a_vote_that_changes_nothing_where_votes_are_counted_is_opposing_all_the_same():
    """Five votes to two: the majority stands without any one of them."""

    def majority(texts):
        for_it = [np.sign(text.split().count("good") - text.split().count("bad")) for text in texts]
        good = 0.5 + 0.45 * np.array(for_it)
        return np.column_stack([1 - good, good])

    text = "good bad good one good two good bad good three"
    effects = effects_of(text, a_subject({}, predict=majority))
    assert np.abs(effects.lost).max() == pytest.approx(0)
    assert words_where(effects.is_opposing, text) == ["bad", "bad"]


def test_where_no_text_at_all_is_odd_to_a_model_silent_words_are_not_opposing():
    """Sure of the second class from no words: every word alone speaks against that."""

    def predict(texts):
        odds = [3.0 if not text else 2.0 * text.split().count("good") for text in texts]
        good = 1 / (1 + np.exp(-np.array(odds)))
        return np.column_stack([1 - good, good])

    effects = effects_of("good one two three", a_subject({}, predict=predict))
    assert (effects.alone[0, 1:] < -0.5 * np.abs(effects.alone).max()).all()
    assert not effects.is_opposing.any()


def test_in_a_bag_of_words_both_effects_are_the_words_points():
    subject = a_subject({"good": 2.0, "fine": 0.5, "bad": -1.0})
    effects = effects_of("good fine bad then", subject)
    np.testing.assert_allclose(effects.whole, [1.5])
    np.testing.assert_allclose(effects.nothing, [0.0], atol=1e-12)
    np.testing.assert_allclose(effects.lost, [[2.0, 0.5, -1.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(effects.alone, [[2.0, 0.5, -1.0, 0.0]], atol=1e-12)


def test_effects_are_of_the_prediction_whichever_it_is():
    effects = effects_of("bad then", a_subject({"bad": -1.0}))
    np.testing.assert_allclose(effects.lost, [[1.0, 0.0]], atol=1e-12)


def test_a_quarter_of_the_words_those_that_do_least_are_neutral():
    text = f"{STRONG} {AGAINST} {WEAK} {SILENT} five"
    neutral = words_where(effects_of(text).is_neutral, text)
    assert len(neutral) == 2
    assert set(neutral) <= {*SILENT.split(), "five"}


def test_one_word_is_neutral_in_the_shortest_document():
    text = f"{STRONG} one"
    assert words_where(effects_of(text).is_neutral, text) == ["one"]


def test_words_of_more_than_a_little_effect_are_not_neutral_where_nearly_all_words_speak():
    points = {f"clue{n}": 1.0 + n / 100 for n in range(11)}
    text = " ".join(["one", *points])
    assert words_where(effects_of(text, a_subject(points)).is_neutral, text) == ["one"]
    assert words_where(effects_of(text[4:], a_subject(points)).is_neutral, text[4:]) == ["clue0"]


def test_padding_is_neither_opposing_nor_neutral():
    subject = ModuleSubject(BuiltAdapter(BuiltModel(), 2))
    effects = word_effects(subject, subject.read([f"{STRONG} one", f"{STRONG} {WEAK} {SILENT}"]))
    assert not (effects.is_neutral | effects.is_opposing)[0, 2:].any()


@pytest.mark.parametrize(("bias", "lost_at"), [(-1.5, -1.5), (0.0, 0.0), (1.0, 0.0)])
def test_a_decision_is_lost_at_even_odds_or_where_no_word_would_leave_it(bias, lost_at):
    effects = replace(effects_of("good then", a_subject({"good": 2.0})), nothing=np.array([bias]))
    assert effects.lost_at == pytest.approx([lost_at])


def test_moving_opposing_words_to_the_end_moves_no_other_word():
    subject = a_subject({"good": 2.0, "fine": 1.0, "bad": -1.0, "worse": -1.5})
    effects = effects_of("bad good worse fine then", subject)
    ranking = np.array([[0.4, 0.1, 0.3, 0.15, 0.05]])
    moved = effects.opposing_last(ranking)
    assert moved[0, [1, 3, 4]].tolist() == ranking[0, [1, 3, 4]].tolist()
    assert np.argsort(-moved[0]).tolist() == [3, 1, 4, 0, 2]


def test_a_ranking_without_opposing_words_stays_as_it_is():
    effects = effects_of("good fine then", a_subject({"good": 2.0, "fine": 1.0}))
    ranking = np.array([[0.4, 0.1, 0.5]])
    assert effects.opposing_last(ranking).tolist() == ranking.tolist()
