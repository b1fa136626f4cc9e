"""Waves planned from made-up costs, by a clock that moves only when a document is measured."""

from collections.abc import Callable

import numpy as np
import pytest

from heedful.auditing.time_budget import Ending, TimeBudget, duration, elapsed


class Clock:
    """Shows what it is set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Outcome:
    """What came of a budget."""

    def __init__(self, budget: TimeBudget) -> None:
        self.seconds = budget.clock()  # with the ending
        self.documents = budget.done
        self.waves: list[int] = []
        self.notes: list[tuple[float, str]] = []  # when each was known

    def note(self, budget: TimeBudget) -> None:
        if budget.shortfall:
            self.notes.append((budget.clock(), budget.shortfall))


def spent(
    seconds: float,
    words: np.ndarray,
    cost: Callable[[int], float],
    *,
    least: int = 20,
    audits: int = 1,
    ending: float = 4.0,
) -> Outcome:
    """A budget used up on documents; `cost` says what the document at a place takes."""
    clock = Clock()
    budget = TimeBudget(seconds, words, least, Ending(audits), clock)
    outcome = Outcome(budget)
    while size := budget.next_wave():
        before = clock.now
        clock.now += sum(map(cost, range(budget.done, budget.done + size)))
        budget.add_wave(size, clock.now - before)
        outcome.waves.append(size)
        outcome.note(budget)
    outcome.documents = budget.done
    outcome.seconds = clock.now + ending * audits
    return outcome


EVEN = np.full(5000, 20)


def test_even_documents_fill_the_budget():
    outcome = spent(100.0, EVEN, lambda place: 0.1)
    assert 85 < outcome.seconds < 105
    assert outcome.notes == []
    assert outcome.waves[0] == 1
    assert len(outcome.waves) < 12


def test_all_documents_are_measured_where_time_is_ample():
    outcome = spent(1e6, EVEN[:700], lambda place: 0.1)
    assert outcome.documents == 700


def test_a_costly_sample_at_the_beginning_does_not_leave_time_unused():
    # 300 documents that cost five times as much as the others
    outcome = spent(180.0, EVEN, lambda place: 0.25 if place < 300 else 0.05)
    assert 0.8 * 180 < outcome.seconds < 1.05 * 180
    assert outcome.documents > 1200


def test_long_documents_at_the_beginning_do_not_mislead():
    words = np.concatenate([np.full(30, 900), np.full(3000, 30)])
    outcome = spent(120.0, words, lambda place: words[place] * 1e-3)
    assert 0.8 * 120 < outcome.seconds < 1.05 * 120


def test_documents_of_very_different_length_in_random_order_keep_the_budget():
    rng = np.random.default_rng(3)
    words = np.exp(rng.normal(4, 1.2, size=4000)).astype(int) + 1
    outcome = spent(300.0, words, lambda place: (words[place] * 4e-3) * rng.lognormal(0, 0.4))
    assert 0.8 * 300 < outcome.seconds < 1.2 * 300


def test_cost_that_grows_with_the_square_of_the_length_keeps_the_budget():
    rng = np.random.default_rng(5)
    words = np.exp(rng.normal(4, 0.8, size=4000)).astype(int) + 1
    outcome = spent(300.0, words, lambda place: words[place] ** 2 * 1e-4)
    assert 0.8 * 300 < outcome.seconds < 1.2 * 300


def test_a_slow_start_is_made_up_for():
    outcome = spent(60.0, EVEN, lambda place: 1.5 if place < 2 else 0.1)
    assert 0.8 * 60 < outcome.seconds < 1.05 * 60
    assert outcome.notes == []


def test_a_machine_that_becomes_slower_overruns_little():
    outcome = spent(120.0, EVEN, lambda place: 0.1 if place < 200 else 0.25)
    assert outcome.seconds < 1.2 * 120


def test_too_small_a_budget_is_reported_after_the_first_documents_and_a_verdict_is_reached():
    # 20 s a document, as much as three for heat maps, 3.5 s to conclude: (180 - 63.5) / 20 = 5.8
    outcome = spent(180.0, EVEN, lambda place: 20.0)
    assert outcome.documents == 20
    when, sentence = outcome.notes[0]
    assert when <= 40.0  # after one or two documents
    assert sentence == (
        "3m is enough for about 5 documents; a verdict needs at least 20: that takes about 8m"
    )


def test_long_documents_that_follow_short_ones_do_not_delay_the_sentence():
    # Two short documents at the beginning cost 4 s, and each of the others 10 s.
    words = np.array([40, 40, *([200] * 100)])
    outcome = spent(60.0, words, lambda place: words[place] * 0.05)
    when, sentence = outcome.notes[0]
    assert when == pytest.approx(14.0)  # with one long document
    assert sentence.startswith("60s is enough for about ")
    assert outcome.documents == 20


def test_a_budget_too_small_for_anything_is_reported_too():
    outcome = spent(0.001, EVEN, lambda place: 0.1)
    assert outcome.documents == 20
    assert outcome.notes[0][1] == (
        "0.001s is too short; a verdict needs at least 20: that takes about 6s"
    )


def test_no_sentence_where_there_are_too_few_documents_for_a_verdict():
    outcome = spent(10.0, EVEN[:12], lambda place: 5.0, least=0)
    assert outcome.notes == []
    assert outcome.documents == 1


def test_the_first_slow_documents_alone_do_not_call_a_budget_too_small():
    # The first two take a second each, which would make 20 in 30 s impossible.
    outcome = spent(30.0, EVEN, lambda place: 1.2 if place < 2 else 0.05)
    assert outcome.notes == []


def test_several_audits_leave_time_to_conclude_each():
    # Three readings, of which two cost three times as much as the first
    outcome = spent(180.0, EVEN, lambda place: 0.1 + 0.3 + 0.3, audits=3)
    assert 0.85 * 180 < outcome.seconds < 1.05 * 180


def test_what_follows_on_a_sample_is_part_of_the_plan():
    clock = Clock()
    budget = TimeBudget(100.0, EVEN, 0, Ending(), clock)
    clock.now = 0.4
    budget.add_wave(2, 0.2)  # 0.1 s a document
    without = budget.expected
    budget.add_later(2, 0.2, most=5000)  # 0.1 s more for each
    assert budget.expected == pytest.approx(without / 2, rel=0.05)


def test_a_model_that_cuts_long_documents_is_not_thought_slow_on_them():
    words = np.array([100, 100, *([5000] * 98)])
    budget = TimeBudget(100.0, words, 0, Ending(), Clock())
    budget.add_wave(2, 2.0)
    assert budget.expected < 5  # 50 s for each of the others
    budget = TimeBudget(100.0, words, 0, Ending(), Clock())
    budget.add_wave(2, 2.0, longest_read=120)
    assert budget.expected > 70


def test_a_slow_machine_is_given_more_time_to_conclude():
    usual, slow = (TimeBudget(60.0, EVEN, clock=Clock(), slowness=times) for times in (1.0, 4.0))
    for budget in (usual, slow):
        budget.add_wave(2, 0.2)
    # 0.1 s a document, so each second counts for ten of them: three times 3.5 s, and 0.018 s each
    assert slow.expected == pytest.approx(usual.expected - 3 * (35 + 0.06 * 350), rel=0.15)


def test_documents_kept_from_an_earlier_process_say_nothing_about_their_cost():
    budget = TimeBudget(100.0, EVEN, 20, Ending(), Clock())
    budget.add_wave(500, None)
    assert budget.next_wave() == 1
    budget.add_wave(2, 0.2)
    assert 1000 < budget.expected < 2000
    assert budget.shortfall == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(180.0, "3m"), (90.0, "90s"), (0.5, "0.5s"), (7.2, "8s"), (3600.0, "1h"), (9e3, "2.5h")],
)
def test_durations_are_written_as_people_type_them(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(45.9, "45s"), (125.0, "2m05s"), (3725.0, "1h02m05s")]
)
def test_the_time_that_was_used_is_shown_to_the_second(seconds, words):
    assert elapsed(seconds) == words
