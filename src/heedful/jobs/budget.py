"""How much of the machine jobs may take: cores, and GiB of memory."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.config import above, at_least

GIB = 2**30
# Version 2 and version 1 of Linux control groups: limit, use, and cache that would be given up.
GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@dataclass(frozen=True)
class Budget:
    """What all jobs together may take; None stands for all that this process may have."""

    cores: int | None = None  # jobs at once, one thread each
    memory: float | None = None  # GiB

    def __post_init__(self) -> None:
        at_least(1, cores=self.cores)
        above(0, memory=self.memory)

    def resolved(self) -> tuple[int, float]:
        """Cores and GiB in numbers."""
        return self.cores or available_cores(), self.memory or available_memory()


def available_cores() -> int:
    """Cores this process may use: affinity and control groups respected."""
    from joblib import cpu_count  # comes with scikit-learn

    return int(cpu_count())


def available_memory(root: Path = Path("/")) -> float:
    """GiB that can still be had: what the machine has left, or a control group if that is less."""
    return min([_left_on_the_machine(root), *_left_in_groups(root)]) / GIB


def _left_on_the_machine(root: Path) -> int:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration):  # not Linux
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _left_in_groups(root: Path) -> Iterator[int]:
    """What each control group that this process is in, and each group around it, has left."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        place = top / group.lstrip("/")
        for folder in (place, *place.parents):
            if not folder.is_relative_to(top):
                break
            yield from _left_in(folder)


def _left_in(folder: Path) -> Iterator[int]:
    for limit, used, cache in GROUP_FILES:
        try:
            most = int((folder / limit).read_text())
            now = int((folder / used).read_text())
            rows = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            yield max(most - now + int(rows.get(cache, 0)), 0)
        except (OSError, ValueError):  # not there, or "max"
            continue
