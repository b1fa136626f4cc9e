"""Orders of deletion: greedy ones, and what a beam finds beyond them."""

from itertools import permutations

import numpy as np
import pytest

from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.subjects.order_search import OrderSearch, search_orders
from tests.auditing.doubles import a_subject

ONE = np.array([0])
NEVER = np.array([-np.inf])  # no log-odds at which a decision counts as lost


def saying(strength):
    """A subject whose log-odds are a function of the set of its words."""
    subject = a_subject({})

    def predict(texts):
        good = np.array([1 / (1 + np.exp(-strength(set(text.split())))) for text in texts])
        return np.column_stack([1 - good, good])

    subject.predict = predict
    return subject


def order_of(subject, text, lost_at=NEVER, **how):
    reading = subject.read([text])
    importance = subject.importance(reading, "leave-one-out")
    found = search_orders(subject, reading, ONE, importance, lost_at, OrderSearch(**how))
    return [text.split()[place] for place in np.argsort(-found[0])]


def falls(subject, order):
    """Falls of the log-odds as words go one by one, all but the last."""
    texts = [" ".join(order[number:]) for number in range(len(order))]
    found = log_odds(subject.predict(texts), np.ones(len(order), dtype=np.int64))
    return found[0] - found[1:]


def test_greedy_erasure_sees_that_two_words_say_the_same():
    # Either of the twins alone holds the decision up, so leave-one-out gives both next to nothing
    # and calls `solo` most important.
    subject = saying(lambda has: 4.0 * bool(has & {"twin", "double"}) + 0.5 * ("solo" in has) - 2)
    order = order_of(subject, "solo twin filler double other", words=4, candidates=10)
    assert {"twin", "double"} <= set(order[:3])


def test_words_that_were_not_deleted_keep_their_order_of_importance():
    points = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5}
    subject = a_subject(points)
    assert order_of(subject, "d c b a", words=1, candidates=2) == ["a", "b", "c", "d"]
    slowest = order_of(subject, "c d b a", words=1, candidates=2, is_slowest=True)
    assert slowest == ["d", "c", "b", "a"]


def trap(has):
    """The word that loses most at once leads away from the pair that loses all."""
    pair = 5.0 * bool(has & {"left", "right"})
    return 1.0 + pair + 0.6 * ("bait" in has) + 0.5 * ("bait" in has and "left" not in has)


def test_a_beam_finds_orders_that_greedy_erasure_misses():
    subject, text = saying(trap), "bait left right one two"
    greedy = order_of(subject, text, words=2, candidates=5)
    beam = order_of(subject, text, words=2, candidates=5, width=5)
    assert greedy[0] == "bait"
    assert set(beam[:2]) == {"left", "right"}
    assert falls(subject, beam)[:2].sum() > falls(subject, greedy)[:2].sum() + 1


@pytest.mark.parametrize("is_slowest", [False, True])
def test_a_wide_beam_finds_the_best_and_the_worst_of_all_orders(is_slowest):
    rng = np.random.default_rng(3)
    words = list("abcde")
    of_set = {frozenset(): 0.0}

    def strength(has):
        return of_set.setdefault(frozenset(has), float(rng.normal()))

    strength(set(words))
    of_set[frozenset(words)] = 3.0
    subject = saying(strength)
    order = order_of(
        subject, " ".join(words), words=4, candidates=5, width=99, is_slowest=is_slowest
    )
    totals = [falls(subject, list(each)).sum() for each in permutations(words)]
    expected = min(totals) if is_slowest else max(totals)
    assert falls(subject, order).sum() == pytest.approx(expected)


def test_no_more_words_are_tried_once_the_decision_is_lost():
    subject = a_subject({"great": 3.0, "good": 1.0})
    reading = subject.read(["great good one two three"])
    importance = subject.importance(reading, "leave-one-out")
    asked = []
    plain = subject.predict
    subject.predict = lambda texts: asked.extend(texts) or plain(texts)
    for until_lost, most in ((True, 9), (False, 15)):
        asked.clear()
        search = OrderSearch(words=4, candidates=5, until_lost=until_lost)
        found = search_orders(subject, reading, ONE, importance, np.zeros(1), search)
        assert np.argsort(-found[0])[:2].tolist() == [0, 1]
        assert len(asked) <= most
    assert len(asked) > 9
