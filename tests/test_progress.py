import threading

import pytest

from heedful import progress
from heedful.progress import Completed, RegularLines, about


class Clock:
    """Shows what it is set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_comes_every_ten_seconds_and_none_for_what_takes_less():
    clock, written = Clock(), []
    lines = RegularLines(lambda: f"at {clock.now:.0f}", written.append, clock=clock)
    for clock.now in (1.0, 9.9):
        lines.look()
    assert written == []
    for clock.now in (10.0, 10.5, 19.9, 20.1, 30.0, 30.2):
        lines.look()
    assert written == ["at 10", "at 20", "at 30"]


def test_another_line_puts_the_next_one_off_and_an_empty_one_is_not_written():
    clock, written = Clock(), []
    lines = RegularLines(lambda: "" if clock.now > 30 else "here", written.append, clock=clock)
    clock.now = 9.0
    lines.restart()
    for clock.now in (11.0, 18.9, 19.0, 40.0):
        lines.look()
    assert written == ["here"]


def test_as_a_context_it_looks_by_itself_while_a_step_takes_long(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 1e-3)
    has_written = threading.Event()
    with RegularLines(lambda: "x", lambda line: has_written.set(), seconds=0.0):
        assert has_written.wait(60)


def test_time_left_follows_from_the_speed_so_far():
    clock = Clock()
    completed = Completed(120, clock)
    clock.now = 3.0
    assert completed.words == "0 of 120 documents (0%), about 3 s so far"
    completed.done, clock.now = 30, 20.0
    # 30 in 20 s, 90 more: 60 s
    assert completed.words == "30 of 120 documents (25%), about 60 s left"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "about 1 s"), (89.0, "about 89 s"), (130.0, "about 2 min"), (7e3, "about 2 h")],
)
def test_time_left_is_short(seconds, words):
    assert about(seconds) == words
