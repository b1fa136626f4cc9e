"""Commands in processes of their own that start at once: forked, with everything imported."""

import codecs
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

Before = Callable[[], None]
numbers = count()


def nothing() -> None:
    """Before a command that needs nothing first."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal that killed it."""

    code: int
    said: str

    def __str__(self) -> str:
        return f"exit code {self.code}: {self.said[-300:]}"


@dataclass(frozen=True)
class Started:
    """A command under way, in a group of processes with its workers."""

    process: int
    output: Path

    def end(self, kill_after: float | None = None, is_all_killed: bool = False) -> Ended:
        """Wait for it; or kill it after some seconds, alone or with its workers."""
        deadline = None if kill_after is None else time.monotonic() + kill_after
        while True:
            done, status = os.waitpid(self.process, os.WNOHANG if deadline else 0)
            if done:
                said = self.output.read_text(errors="replace")
                self.output.unlink()
                return Ended(os.waitstatus_to_exitcode(status), said)
            if deadline is not None and time.monotonic() > deadline:
                with suppress(ProcessLookupError):
                    (os.killpg if is_all_killed else os.kill)(self.process, signal.SIGKILL)
                deadline = None
            time.sleep(0.002)


def start(*arguments: object, before: Before = nothing) -> Started:
    """Start `heedful ARGUMENTS` in a copy of this process; `before` is called there first."""
    output = Path(f"output-{os.getpid()}-{next(numbers)}").absolute()
    output.touch()
    process = os.fork()
    if process:
        with suppress(OSError):  # it did it itself, and may have ended
            os.setpgid(process, process)
        return Started(process, output)
    code = 99
    try:
        os.setpgid(0, 0)
        descriptor = os.open(output, os.O_WRONLY)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.argv = ["heedful", *map(str, arguments)]
        before()
        _main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1 if left.code else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def call(*arguments: object, before: Before = nothing) -> Ended:
    """The same, and wait for it."""
    return start(*arguments, before=before).end()


def _main() -> None:
    from heedful.cli import main

    main()


def in_order(*several: Before) -> Before:
    """One after the other."""

    def before() -> None:
        for one in several:
            one()

    return before


WATCHED = ("fsync", "replace", "rename")  # of the module `os`: what makes a write count


class Moments:
    """Counts the flushes and moves of a command, its workers included, and acts at one of them."""

    def __init__(self, number: int | None = None, then: Callable[[], None] = nothing) -> None:
        self.number, self.then = number, then
        self.counted: Any = multiprocessing.get_context("fork").Value("i", 0)

    @property
    def count(self) -> int:
        """How many there were."""
        found: int = self.counted.value
        return found

    def before(self) -> None:
        """Watch this process from now on."""
        for name in WATCHED:
            setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call_watched(*given: Any, **named: Any) -> Any:
            with self.counted.get_lock():
                self.counted.value += 1
                is_now = self.counted.value == self.number
            if is_now:
                self.then()
            return real(*given, **named)

        return call_watched


def die() -> None:
    """As kill -9 does."""
    os.kill(os.getpid(), signal.SIGKILL)


def failing(number: int) -> Callable[[], None]:
    """What the file system says by an error of that number."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


def import_everything() -> None:
    """What commands import when they run, so that their copies need not."""
    import importlib

    for name in (
        *("pandas", "pyarrow.parquet", "altair", "transformers", "sklearn", "scipy.stats"),
        *("heedful.report", "heedful.report.html", "heedful.report.calibration"),
        *("heedful.sweeps.sweep", "heedful.calibration.calibrate", "heedful.training.heal"),
        *("heedful.auditing.run_audit", "heedful.analysis.instruments", "heedful.papers"),
        *("heedful.cli.app", "heedful.cli.show", "heedful.cli.audit_hf", "heedful.web"),
        *("transformers.models.bert.modeling_bert", "heedful.counterfactual.adversarial"),
    ):
        importlib.import_module(name)
    for encoding in ("utf-8-sig", "utf-16", "latin-1", "ascii", "cp1252", "idna"):
        codecs.lookup(encoding)  # another user may not be allowed to read it later
    _keep_chart_library()


def _keep_chart_library() -> None:
    """Made once, in a process that ends: what makes it has threads, which no copy would have."""
    from markupsafe import Markup

    from heedful.report import html
    from heedful.web import static_files

    place = Path("charts.js").absolute()
    if not (process := os.fork()):
        place.write_text(html.chart_library())
        os._exit(0)
    os.waitpid(process, 0)
    library = Markup(place.read_text())
    for module in (html, static_files):
        setattr(module, "chart_library", lambda: library)  # noqa: B010
