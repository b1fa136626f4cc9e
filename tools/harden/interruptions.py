"""Commands that are killed, cut off or meet another writer: nothing is lost or mixed."""

import io
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tools.harden.bench import Bench, Command, Found, commands
from tools.harden.in_process import in_process
from tools.harden.power_cut import flushed_to_disk
from tools.harden.processes import Moments, die, in_order, start
from tools.harden.workers import work_here

MOMENTS = {"train": 26, "audit": 10, "heal": 15, "sweep": 30, "calibrate": 6}  # at most
RANDOM_KILLS = {"train": 20, "audit": 8, "heal": 8, "sweep": 12, "calibrate": 4}
POWER_CUTS = {"train": 15, "audit": 6, "heal": 5, "sweep": 8, "calibrate": 3}
WRITERS = {"train": 6, "audit": 4, "heal": 2, "calibrate": 1}
LONGEST = {"train": 1.0, "audit": 2.0, "heal": 2.5, "sweep": 4.0, "calibrate": 5.0}  # seconds


def kills_at_moments(bench: Bench, name: str) -> Iterator[Found]:
    """Killed whenever something is flushed to disk or moved, then resumed to the same files."""
    command = commands()[name]
    found = Found(f"{name}: kill -9 at a flush or a move, then resumed")
    for number in _chosen(bench, command, MOMENTS[name]):
        killed = command.call("out", Moments(number, die).before)
        # Of a sweep it may be a worker that is killed: then the sweep itself resumes its job.
        is_killed = killed.code == -signal.SIGKILL or (
            name in ("sweep", "calibrate") and killed.code == 0
        )
        found.count("" if is_killed else f"moment {number}: {killed}")
        found.defects += filter(None, [command.resumed("out")])
    yield found


def _chosen(bench: Bench, command: Command, most: int, output: str = "out") -> list[int]:
    """Some of the moments at which a command flushes or moves something, or all."""
    moments = Moments()
    ended = command.call(output, moments.before)
    assert ended.code == 0, ended.said
    shutil.rmtree(output)
    every = range(1, moments.count + 1)
    return bench.rng.sample(every, min(len(every), bench.times(most)))


def kills_at_random(bench: Bench, name: str) -> Iterator[Found]:
    """Killed at a random moment, alone or with its workers, then resumed to the same files."""
    command = commands()[name]
    found = Found(f"{name}: kill -9 at a random moment, then resumed")
    for _ in range(bench.times(RANDOM_KILLS[name])):
        after, is_all_killed = bench.rng.uniform(0, LONGEST[name]), bench.rng.random() < 0.5
        start(*command.words("out"), before=command.before).end(after, is_all_killed)
        found.count(command.resumed("out"))
    yield found


def power_cuts(bench: Bench, name: str) -> Iterator[Found]:
    """The power is cut after success (all must be there) and at a flush (it must be resumable)."""
    command = commands()[name]
    found = Found(f"{name}: simulated power cut, then what was flushed is read or resumed")
    Path("cut").mkdir()
    for number in [*_chosen(bench, command, POWER_CUTS[name], "cut/out"), None]:
        Path("cut").mkdir(exist_ok=True)
        _run_until_power_cut(command, number)
        shutil.rmtree("cut")
        if not Path("left").is_dir():
            found.count(f"moment {number}: it ended before")
            continue
        is_whole = number is None
        found.count(command.difference("left/out") if is_whole else command.resumed("left/out"))
        shutil.rmtree("left")
    yield found


def _run_until_power_cut(command: Command, number: int | None) -> None:
    """Leave in `left` what of `cut` is on disk at a moment, or after the end."""
    if process := os.fork():
        os.waitpid(process, 0)
        return
    try:
        with flushed_to_disk(Path("cut")) as disk:

            def cut() -> None:
                disk.restore(Path("left"))
                die()

            in_order(command.before, work_here, Moments(number, cut).before)()
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                code = in_process(command.words("cut/out"))
            if number is None and code == 0:
                disk.restore(Path("left"))
    finally:
        os._exit(0)


def two_writers(bench: Bench, name: str) -> Iterator[Found]:
    """Two processes that write one folder: one is refused, and nothing is mixed."""
    command = commands()[name]
    found = Found(f"{name}: two writers of one folder")
    for _ in range(bench.times(WRITERS[name])):
        both = [start(*command.words("out"), before=command.before) for _ in range(2)]
        ended = [one.end() for one in both]
        codes = sorted(one.code for one in ended)
        found.count(command.difference("out") if codes == [0, 2] else " and ".join(map(str, ended)))
        shutil.rmtree("out", ignore_errors=True)
    yield found


def two_sweeps(bench: Bench) -> Iterator[Found]:
    """Two sweeps of one grid into one folder share the work; both end with all of it."""
    command, found = commands()["sweep"], Found("sweep: two at once share one folder")
    for _ in range(bench.times(5)):
        both = [start(*command.words("out"), before=command.before) for _ in range(2)]
        ended = [one.end() for one in both]
        wrong = [str(one) for one in ended if one.code != 0]
        found.count(wrong[0] if wrong else command.difference("out"))
        shutil.rmtree("out", ignore_errors=True)
    yield found
