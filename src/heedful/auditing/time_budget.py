"""How many documents fit into a time budget, planned from what the first ones cost.

Documents are measured in waves. After each wave the seconds per word so far say how many more fit,
beside the time that concluding and writing will take. A wave is much smaller than what fits as long
as little is known, and it is planned again after every wave: the first documents cost more (costly
measures are taken of them), and other programs may take their share of the machine.
"""

import time
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.errors import counted
from heedful.progress import Clock

AIM = 0.95  # of the budget: half of all audits would overrun if all of it were planned for
TOLERATED = 1.1  # times the budget: nothing is said about a verdict that takes so little longer
FIRST_WAVE = 1  # document: its cost is known early, however slow the model is
GROWTH = 4  # a wave has at most so many times the documents measured before it
LARGEST_WAVE = 512
RECENT = 0.5  # what a wave's cost counts, relative to that of the wave after it
SOLID_DOCUMENTS, SOLID_SHARE = 8, 0.2  # measured documents, or share of the budget: enough to judge
LAST_WAVE = 0.3  # of the documents measured: so few more are measured in one wave
SMALL_REST = 0.04  # of the documents measured: so few more are not worth a wave

# Seconds on two idle cores, where `_known_work` takes STANDARD. They matter for short budgets.
STANDARD = 0.021
CONCLUDING, CONCLUDING_EACH = 3.5, 0.006  # per audit, and per document of it
WRITING, WRITING_EACH = 5.0, 2.0  # the report: with one audit, and with each further one
# Six documents are drawn as heat maps. That costs as much as auditing so many of them, and less
# where auditing takes many passes through a large model.
SHOWN, SHOWN_OF_SLOW = 3.0, 1.0
LONGEST_SHOWN = 400  # words of a heat map


@dataclass(frozen=True)
class Ending:
    """What is done after the last document is measured."""

    audits: int = 1
    is_written: bool = False  # a report follows
    shown: float = SHOWN

    def seconds(self, documents: int) -> float:
        """Seconds that it takes, beside heat maps."""
        writing = WRITING + WRITING_EACH * (self.audits - 1) if self.is_written else 0.0
        return self.audits * (CONCLUDING + CONCLUDING_EACH * documents) + writing


@dataclass(frozen=True)
class Wave:
    """Documents that were measured together: those from `start` to `end` in their order."""

    start: int
    end: int
    seconds: float


@dataclass
class TimeBudget:
    """Chooses the number of documents of each wave: `next_wave`, measure them, `add_wave`.

    `words` has the length of each document, in the order in which they are drawn. At least `least`
    of them are measured, whatever it takes.
    """

    seconds: float
    words: Int[ndarray, " documents"]
    least: int = 0
    ending: Ending = field(default_factory=Ending)
    clock: Clock = time.monotonic
    done: int = 0  # documents
    longest: float = np.inf  # words that the model reads of a document
    waves: list[Wave] = field(default_factory=list)
    slowness: float = 1.0  # of this machine now, relative to the one of the constants above
    later: float = 0.0  # seconds per word of what is done after the audits, on `later_documents`
    later_documents: int = 0

    def __post_init__(self) -> None:
        self.started = self.clock()

    def next_wave(self) -> int:
        """The number of documents to measure next; 0: the audit should conclude."""
        left = len(self.words) - self.done
        if not self.waves:
            return min(FIRST_WAVE, left)
        size = fitting = self._fitting()
        if fitting > self.done:
            size = max(self.done, min(fitting // 2, GROWTH * self.done))
        elif fitting > LAST_WAVE * self.done:
            size = ceil(2 * fitting / 3)
        elif fitting <= SMALL_REST * self.done:
            size = 0
        missing = max(0, self.least - self.done)
        if size < missing:
            size = missing if self.shortfall else min(missing, self._cautious())
        return min(size, left, LARGEST_WAVE)

    def add_wave(self, documents: int, seconds: float | None, longest_read: int = 0) -> None:
        """So many documents were measured; None: earlier, which says nothing about their cost.

        `longest_read`: the most words that the model read of a longer document, if it met one.
        """
        if seconds is not None:
            self.waves.append(Wave(self.done, self.done + documents, seconds))
        self.done += documents
        self.longest = longest_read or np.inf

    def add_later(self, documents: int, seconds: float, most: int) -> None:
        """What follows on at most `most` documents took so long when tried on the first ones."""
        self.later = seconds / float(self._cumulative()[documents])
        self.later_documents = most

    @property
    def expected(self) -> int:
        """Documents that will have been measured in the end, as far as can be said now."""
        return max(self.done + self._fitting(), min(self.least, len(self.words)))

    @property
    def shortfall(self) -> str:
        """A sentence if the budget is too small for a verdict; nothing as long as it is not known
        to be."""
        used = self.clock() - self.started
        is_known = self.done >= SOLID_DOCUMENTS or used >= SOLID_SHARE * self.seconds
        if not self.waves or not is_known or self.done >= self.least:
            return ""
        needed = used + float(self._total(self.done)[self.least - self.done])
        if needed <= TOLERATED * self.seconds:
            return ""
        enough = int(np.searchsorted(self._total(0), self.seconds, side="right")) - 1
        fits = f"enough for about {counted(enough, 'document')}" if enough > 0 else "too short"
        return (
            f"{duration(self.seconds)} is {fits}; a verdict needs at least {self.least}: "
            f"that takes about {duration(needed)}"
        )

    def _cautious(self) -> int:
        """Documents that settle soon whether the budget is too small for a verdict."""
        words = self._cumulative()[self.done :]
        soon = SOLID_SHARE * self.seconds / self._per_word()
        fitting = int(np.searchsorted(words - words[0], soon, side="right")) - 1
        return max(1, min(fitting, GROWTH * self.done))

    def _fitting(self) -> int:
        """The number of further documents that can be measured in the time left."""
        if not self.waves:
            return 0
        left = AIM * self.seconds - (self.clock() - self.started)
        return max(0, int(np.searchsorted(self._total(self.done), left, side="right")) - 1)

    def _total(self, done: int) -> Float[ndarray, " further"]:
        """Seconds until the end, by the number of documents that are measured after `done`."""
        words = self._cumulative()
        counts = np.arange(done, len(words))
        measuring = self._per_word() * (words[done:] - words[done])
        shown = (
            self.ending.shown * self._per_word() * np.minimum(self._read(), LONGEST_SHOWN).mean()
        )
        later = self.later * words[np.minimum(counts, self.later_documents)]
        fixed = self.slowness * np.array([self.ending.seconds(0), self.ending.seconds(1)])
        return measuring + later + shown + fixed[0] + (fixed[1] - fixed[0]) * counts

    def _per_word(self) -> float:
        """Seconds per word; recent waves count more."""
        cumulative, seconds, words = self._cumulative(), 0.0, 0.0
        for wave in self.waves:
            seconds = RECENT * seconds + wave.seconds
            words = RECENT * words + float(cumulative[wave.end] - cumulative[wave.start])
        return seconds / words

    def _read(self) -> Float[ndarray, " documents"]:
        """Words that are read of each document."""
        return np.clip(self.words.astype(np.float64), 1.0, self.longest)

    def _cumulative(self) -> Float[ndarray, " documents_and_one"]:
        return np.concatenate([[0.0], np.cumsum(self._read())])


def measured_slowness(clock: Clock = time.monotonic) -> float:
    """How many times as long as it should a known piece of work takes: this machine, as busy as
    it is now."""
    started = clock()
    _known_work()
    return (clock() - started) / STANDARD


def _known_work() -> None:
    """A little of everything that concluding and writing do."""
    sum(number * number for number in range(200_000))
    np.sort(np.random.default_rng(0).random((200, 2000)), axis=1).sum()


def duration(seconds: float) -> str:
    """A time span as people type it: 90s, 5m, 1h."""
    if seconds < 100:
        return f"{ceil(seconds):.0f}s" if seconds >= 1 else f"{seconds:g}s"
    if seconds < 3600:
        return f"{seconds / 60:.0f}m"
    return f"{seconds / 3600:.1f}h".replace(".0h", "h")


def elapsed(seconds: float) -> str:
    """A time span to the second: 45s, 2m05s, 1h02m05s."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m{rest:02}s"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
