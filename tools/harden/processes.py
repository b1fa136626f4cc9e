"""Commands in processes of their own that start at once: forked, with everything imported."""

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Before = Callable[[], None]
OUTPUT = "output"


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal that killed it."""

    code: int
    said: str

    @property
    def is_refused_or_done(self) -> bool:
        """Whether it ended as every command should: with a sentence, if it did not succeed."""
        return self.code in (0, 1, 2, 3) and "Traceback" not in self.said


@dataclass(frozen=True)
class Started:
    """A command under way."""

    process: int
    output: Path

    def end(self, kill_after: float | None = None) -> Ended:
        """Wait for it; or kill it after some seconds, if it has not ended by then."""
        deadline = None if kill_after is None else time.monotonic() + kill_after
        while True:
            done, status = os.waitpid(self.process, os.WNOHANG if deadline else 0)
            if done:
                said = self.output.read_text(errors="replace")
                return Ended(os.waitstatus_to_exitcode(status), said)
            if deadline is not None and time.monotonic() > deadline:
                os.kill(self.process, signal.SIGKILL)
                deadline = None
            time.sleep(0.002)


def start(*arguments: object, before: Before = lambda: None) -> Started:
    """Start `heedful ARGUMENTS` in a copy of this process; `before` is called there first."""
    output = Path(f"{OUTPUT}-{time.monotonic_ns()}")
    process = os.fork()
    if process:
        return Started(process, output)
    code = 99
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT)
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


def call(*arguments: object, before: Before = lambda: None) -> Ended:
    """The same, and wait for it."""
    return start(*arguments, before=before).end()


def _main() -> None:
    from heedful.cli import main

    main()


def at_flush(number: int, then: Callable[[], None]) -> Before:
    """Do something when a file or folder is flushed to disk for the n-th time."""

    def before() -> None:
        count, real = 0, os.fsync

        def fsync(descriptor: int) -> None:
            nonlocal count
            count += 1
            if count == number:
                then()
            real(descriptor)

        os.fsync = fsync  # type: ignore[assignment]

    return before


def die() -> None:
    """As kill -9 does."""
    os.kill(os.getpid(), signal.SIGKILL)
