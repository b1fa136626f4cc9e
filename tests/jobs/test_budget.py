import os
from pathlib import Path

import pytest

from heedful.errors import ConfigError
from heedful.jobs.budget import Budget, available_memory

GIB = 2**30


def machine(root: Path, available: int, groups: str, files: dict[str, str]) -> Path:
    files = {
        "proc/meminfo": f"MemTotal: 99 kB\nMemAvailable: {available * GIB // 1024} kB\n",
        "proc/self/cgroup": groups,
        **files,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_without_a_limit_all_that_the_machine_has_left_counts(tmp_path: Path):
    files = {
        "sys/fs/cgroup/memory.max": "max\n",
        "sys/fs/cgroup/memory.current": "1",
        "sys/fs/cgroup/memory.stat": "",
    }
    assert available_memory(machine(tmp_path, 8, "0::/\n", files)) == 8.0


def test_a_limit_on_a_group_around_ours_counts_less_what_is_used(tmp_path: Path):
    # limit 6, used 3, of which 1 is cache that would be given up: 6 - 3 + 1 = 4
    files = {
        "sys/fs/cgroup/user/memory.max": f"{6 * GIB}\n",
        "sys/fs/cgroup/user/memory.current": f"{3 * GIB}\n",
        "sys/fs/cgroup/user/memory.stat": f"anon 5\ninactive_file {GIB}\n",
    }
    assert available_memory(machine(tmp_path, 8, "0::/user/session\n", files)) == 4.0


def test_the_first_version_of_control_groups_counts_too(tmp_path: Path):
    files = {
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": f"{2 * GIB}\n",
        "sys/fs/cgroup/memory/box/memory.usage_in_bytes": f"{GIB}\n",
        "sys/fs/cgroup/memory/box/memory.stat": f"total_inactive_file {GIB // 2}\n",
    }
    groups = "5:cpu,cpuacct:/box\n4:memory:/box\n"
    assert available_memory(machine(tmp_path, 8, groups, files)) == 1.5


def test_on_a_machine_that_says_nothing_all_its_memory_counts(tmp_path: Path):
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB
    assert available_memory(tmp_path) == whole


def test_a_budget_of_nothing_is_refused_and_none_stands_for_all():
    with pytest.raises(ConfigError, match="cores should be at least 1, not 0"):
        Budget(cores=0)
    with pytest.raises(ConfigError, match="memory should be greater than 0"):
        Budget(memory=0.0)
    cores, memory = Budget().resolved()
    assert 1 <= cores <= len(os.sched_getaffinity(0))
    assert memory > 0
    assert Budget(3, 2.5).resolved() == (3, 2.5)
