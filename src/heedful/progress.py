"""How far a long task is, in lines: for a log file, CI or a pipe, where no bar can be drawn."""

import math
import threading
import time
from collections.abc import Callable

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_LOOKS = 0.5  # at the clock

Clock = Callable[[], float]


class RegularLines:
    """Prints a line whenever nothing was printed for ten seconds; nothing for shorter tasks.

    `line` says how far the task is; an empty line is not printed. The owner calls `look` often, or
    enters it as a context, in which a thread does: then lines come during a long step too.
    """

    def __init__(
        self,
        line: Callable[[], str],
        write: Callable[[str], None],
        *,
        seconds: float = SECONDS_BETWEEN_LINES,
        clock: Clock = time.monotonic,
    ) -> None:
        self._line, self._write, self._seconds, self._clock = line, write, seconds, clock
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.restart()

    def restart(self) -> None:
        """Something was printed, or a task begins: the next line is due ten seconds from now."""
        self._last = self._clock()

    def look(self) -> None:
        """Print a line if it is due."""
        if self._clock() - self._last < self._seconds:
            return
        self.restart()
        if text := self._line():
            self._write(text)

    def __enter__(self) -> "RegularLines":
        self.restart()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _keep_looking(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_LOOKS):
            self.look()


class Completed:
    """How many of a known number of things are done, and how long the others will take."""

    def __init__(self, total: int, clock: Clock = time.monotonic) -> None:
        self.total, self.done = total, 0
        self._clock, self._started = clock, clock()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        """Seconds for the others, at the speed so far; None as long as nothing is done."""
        if not self.done:
            return None
        return self.seconds * max(0, self.total - self.done) / self.done

    @property
    def words(self) -> str:
        """'34 of 120 documents (28%), about 40 s left'."""
        share = f" ({100 * self.done / self.total:.0f}%)" if self.total else ""
        left = self.seconds_left
        time_left = f"{about(self.seconds)} so far" if left is None else f"{about(left)} left"
        return f"{self.done:,} of {self.total:,} documents{share}, {time_left}"


def about(seconds: float) -> str:
    """A span of time to be read at a glance: 'about 40 s', 'about 4 min', 'about 3 h'."""
    if seconds < 90:
        return f"about {math.ceil(seconds)} s"
    if seconds < 90 * 60:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.0f} h"
