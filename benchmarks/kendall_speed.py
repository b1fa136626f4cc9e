"""Kendall's tau-b of many documents: our rows at once against scipy's axis form and a loop.

    python benchmarks/kendall_speed.py [--repeats 5]

All three give tau and p-values of the same padded documents, in one process and in turn; times are
the best of the repeats. Ratios above 1 mean that we are faster.
"""

import argparse
import time
from collections.abc import Callable

import machine
import numpy as np
from numpy import ndarray
from scipy import stats

from heedful.auditing.metrics.ranking import kendall_test, weighted_tau


def best_times(ways: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Seconds of the fastest run of each way; ways take turns, so a busy moment hits them all."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    return {name: min(seconds) for name, seconds in times.items()}


def documents(
    examples: int, longest: int, has_ties: bool, rng: np.random.Generator
) -> tuple[ndarray, ndarray, ndarray]:
    """Two related rows of importance per document and the mask; lengths from a quarter upwards."""
    first = rng.random((examples, longest))
    second = first + rng.random((examples, longest))
    if has_ties:  # as sparse attention has
        first = np.maximum(first - 0.7, 0)
        second = second.round(1)
    lengths = rng.integers(max(2, longest // 4), longest + 1, examples)
    return first, second, np.arange(longest) < lengths[:, None]


def main() -> None:
    """Print one line per shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    print(machine.describe())
    print(f"numpy {np.__version__}, one thread; milliseconds, best of {repeats}")
    print(
        f"{'documents':>14} {'ties':>5} {'ours':>8} {'axis':>8} {'loop':>8}   axis/ours loop/ours"
    )
    for shape in [(256, 200), (1725, 20), (64, 1000)]:
        for has_ties in (False, True):
            first, second, is_token = documents(*shape, has_ties, rng)
            padded = [np.where(is_token, values, np.nan) for values in (first, second)]
            rows = [(a[keep], b[keep]) for a, b, keep in zip(first, second, is_token, strict=True)]
            times = best_times(
                {
                    "ours": lambda a=first, b=second, m=is_token: kendall_test(a, b, m),
                    "axis": lambda p=padded: stats.kendalltau(*p, axis=-1, nan_policy="omit"),
                    "loop": lambda r=rows: [stats.kendalltau(a, b) for a, b in r],
                    "weighted": lambda a=first, b=second, m=is_token: weighted_tau(a, b, m),
                    "weighted loop": lambda r=rows: [stats.weightedtau(a, b) for a, b in r],
                },
                repeats,
            )
            ours, axis, loop = (times[name] for name in ("ours", "axis", "loop"))
            print(
                f"{shape!s:>14} {'yes' if has_ties else 'no':>5} {ours * 1e3:8.1f} "
                f"{axis * 1e3:8.1f} {loop * 1e3:8.1f}   {axis / ours:9.1f} {loop / ours:9.1f}"
                f"   weighted tau: loop/ours {times['weighted loop'] / times['weighted']:.1f}"
            )


if __name__ == "__main__":
    main()
