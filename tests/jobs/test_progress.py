import io

from rich.console import Console

from heedful.jobs.job import Outcome
from heedful.jobs.progress import JobLines
from heedful.terminal import Terminal


class Clock:
    """Shows what it is set to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(is_terminal: bool, clock: Clock | None = None) -> JobLines:
    console = Terminal(io.StringIO(), is_terminal=is_terminal, width=110)
    return JobLines(console, clock or Clock())


def shown(watcher: JobLines) -> str:
    """What the live view looks like now."""
    console = Console(file=io.StringIO(), width=110, color_system=None)
    console.print(watcher.progress.get_renderable())
    return console.file.getvalue()


def play(watcher: JobLines) -> None:
    watcher.begin(["old", "base", "bad", "after", "next"], ["old"])
    watcher.begin_job("base")
    watcher.begin_job("bad")
    watcher.tell("base", 0.5, "epoch 4\n of at most 8")
    watcher.lose_job("bad", "its worker was killed by SIGKILL; the job is restarted")
    watcher.begin_job("bad")
    watcher.note("bad runs alone.")
    watcher.end_job(Outcome("bad", "failed", "the [loss]\x1b became\nnan.", 2.0))
    watcher.end_job(Outcome("after", "not run", "bad failed"))
    watcher.end_job(Outcome("base", "done", seconds=3.25))


def test_without_a_terminal_every_event_is_a_line():
    watcher = lines(is_terminal=False)
    with watcher:
        play(watcher)
    assert watcher.console.file.getvalue().splitlines() == [
        "1 of 5 jobs already done",
        "base started",
        "bad started",
        "bad: its worker was killed by SIGKILL; the job is restarted",
        "bad started",
        "bad runs alone.",
        "bad failed: the [loss]⟨U+001B⟩ became nan.",
        "after not run: bad failed",
        "base done (3.2 s)",
    ]


def test_on_a_terminal_what_runs_is_shown_and_only_trouble_leaves_a_line():
    clock = Clock()
    watcher = lines(is_terminal=True, clock=clock)
    watcher.begin(["old", "base", "other", "next"], ["old"])
    watcher.begin_job("base")
    watcher.begin_job("other")
    clock.now = 110.0
    watcher.tell("base", 0.5, "epoch 4 of [at most] 8")
    # half a job in 10 s, two and a half to go: 50 s
    summary, base, other = shown(watcher).splitlines()
    assert "1 of 4 done, 2 running, 1 waiting, about 50 s left" in summary
    assert "base" in base
    assert "epoch 4 of [at most] 8" in base
    assert "other" in other
    assert "started" in other
    watcher.end_job(Outcome("base", "done", seconds=10.0))
    watcher.end_job(Outcome("other", "failed", "no."))
    assert "2 of 4 done, 1 failed, 1 waiting" in shown(watcher)
    written = watcher.console.file.getvalue()
    assert "other failed: no." in written
    assert "base done" not in written


def test_without_a_terminal_a_line_with_all_jobs_comes_when_ten_seconds_were_silent():
    clock = Clock()
    watcher = lines(is_terminal=False, clock=clock)
    watcher.begin(["base", "next"], [])
    watcher.begin_job("base")
    for seconds in range(1, 25):
        clock.now = 100.0 + seconds
        watcher.tell("base", seconds / 40, "epoch 1 of at most 8")
    assert watcher.console.file.getvalue().splitlines() == [
        "base started",
        "0 of 2 done, 1 running, 1 waiting, about 70 s left",  # a quarter of a job in 10 s
        "0 of 2 done, 1 running, 1 waiting, about 60 s left",
    ]
