"""How long an audit takes on a cluster: its scheduler, simulated with task times.

An audit is measured in shares, each a list of groups of documents. Workers take the shares in their
order, one after the other. Of each share they first load the model and the documents and prepare
the whole plan, then they measure its groups, and what was measured is kept. A worker that dies
loses the group in hand; its share goes back to its place in the queue, and another worker starts.
One process then puts everything together.

    wall time = driver + (start, load, groups: simulated) + merge

What is left out: network and disk (parts are a few kB per document), waiting for machines, and
groups that need more memory than there is.
"""

import heapq
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.jobs.job import Tell


@dataclass(frozen=True)
class Costs:
    """Seconds, and seconds for each document of the audit."""

    start: float = 0.0  # of a worker, until it takes its first share
    load: float = 0.0  # of a share, before its first group
    load_each: float = 0.0  # likewise: every share is given the plan of all documents
    merge: float = 0.0  # at the end, in one process
    merge_each: float = 0.0

    def loading(self, documents: int) -> float:
        """Seconds before the first group of a share."""
        return self.load + self.load_each * documents

    def merging(self, documents: int) -> float:
        """Seconds after the last group."""
        return self.merge + self.merge_each * documents


@dataclass(frozen=True)
class Simulated:
    """What became of the shares."""

    seconds: float  # until the last group is measured
    worked: float  # of all workers together, loading and lost groups included
    deaths: int
    most_deaths: int  # of one share: heedful gives a share up after two


def shares_of(groups: Sequence[float], shares: int) -> list[list[float]]:
    """Every n-th group belongs to the same share, as in `heedful.auditing.measuring`."""
    return [list(groups[share::shares]) for share in range(shares)]


def simulate(
    shares: Sequence[Sequence[float]],
    workers: int,
    start: float = 0.0,
    load: float = 0.0,
    *,
    deaths: Mapping[int, Sequence[float]] | None = None,
    slowness: Mapping[int, float] | None = None,
) -> Simulated:
    """The shares' groups, in seconds, measured with this number of workers.

    `deaths` are the times at which each worker dies, `slowness` by how much one takes longer.
    """
    waiting = [(0.0, number) for number in range(len(shares))]  # ready from when, which
    left = [list(groups) for groups in shares]
    lost = [0] * len(shares)
    ending = {worker: sorted(times) for worker, times in (deaths or {}).items()}
    free = [(start, worker) for worker in range(min(workers, len(shares)))]
    heapq.heapify(free)
    last = worked = 0.0
    while waiting:
        now, worker = heapq.heappop(free)
        now = max(now, min(ready for ready, _ in waiting))
        chosen = min(number for ready, number in waiting if ready <= now)
        waiting = [(ready, number) for ready, number in waiting if number != chosen]
        began, pace = now, (slowness or {}).get(worker, 1.0)
        dies = next((at for at in ending.get(worker, ()) if at > now), float("inf"))
        now += load * pace
        while left[chosen] and now + left[chosen][0] * pace <= dies:
            now += left[chosen].pop(0) * pace
        if left[chosen]:  # the group in hand is lost, and another worker starts
            now = dies
            lost[chosen] += 1
            waiting.append((dies, chosen))
        worked += now - began
        last = max(last, now)
        heapq.heappush(free, (now + (start if left[chosen] else 0.0), worker))
    return Simulated(last, worked, sum(lost), max(lost, default=0))


def replayed(folder: Path, tell: Tell, *, load: float, groups: Sequence[float]) -> None:
    """A share that sleeps as long as its groups take; like an audit it keeps what it has done."""
    time.sleep(load)
    for number, seconds in enumerate(groups, start=1):
        kept = folder / f"group-{number}"
        if not kept.exists():
            time.sleep(seconds)
            kept.touch()
        tell(number / len(groups), f"group {number}")
