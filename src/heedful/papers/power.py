"""What some seeds could have seen: power of Student's t at the spread that was observed."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import optimize, stats

from heedful.papers.rows import LEVEL, Mean

POWER = 0.8
GRID = 4000  # quantiles that an expectation is taken over
MOST_SEEDS = 1000  # a claim that needs more is not settled by seeds


def spread_of(found: Mean) -> float:
    """The standard deviation between seeds that an interval stands for; nan without one."""
    if math.isnan(found.low):
        return math.nan
    half = (found.high - found.low) / 2
    return half * math.sqrt(found.seeds) / _critical(found.seeds)


def smallest_visible(found: Mean) -> float:
    """The smallest true difference that as many seeds find in four of five repetitions.

    visible = size * spread / sqrt(seeds),  size from power_at(size, seeds) = 0.8
    """
    spread = spread_of(found)
    return math.nan if math.isnan(spread) else _in_errors(found.seeds) * _error(spread, found.seeds)


def seeds_to_settle(found: Mean, settles: Callable[[Mean], bool]) -> int | None:
    """The fewest seeds that settle it in four of five repetitions if mean and spread are as found.

    The interval has to settle it also where the mean comes out lower or higher than it is by what
    happens in one of five repetitions. None: there is no spread, or MOST_SEEDS are not enough.
    """
    spread = spread_of(found)
    if math.isnan(spread):
        return None
    shift = float(stats.norm.ppf(POWER))
    for count in range(found.seeds + 1, MOST_SEEDS + 1):
        error = _error(spread, count)
        means = (found.mean - shift * error, found.mean + shift * error)
        half = _critical(count) * error
        if all(settles(Mean(mean, mean - half, mean + half, count)) for mean in means):
            return count
    return None


def _error(spread: float, seeds: int) -> float:
    return spread / math.sqrt(seeds)


@cache
def _critical(seeds: int) -> float:
    return float(stats.t.ppf((1 + LEVEL) / 2, seeds - 1))


@cache
def _in_errors(seeds: int) -> float:
    """The smallest visible difference in standard errors of the mean."""
    return float(optimize.brentq(lambda size: power_at(size, seeds) - POWER, 0.01, 100.0))


def power_at(size: float, seeds: int) -> float:
    """How often a difference of so many standard errors is found by the t test of these seeds.

    power = E P(|Z + size| > critical * u),  u**2 a chi-square of seeds - 1 over its degrees
    """
    # Over quantiles of u: scipy's noncentral t gives nan for few degrees and large sizes.
    shares = (np.arange(GRID) + 0.5) / GRID
    degrees = seeds - 1
    cut = _critical(seeds) * np.sqrt(stats.chi2.ppf(shares, degrees) / degrees)
    return float(np.mean(stats.norm.sf(cut - size) + stats.norm.cdf(-cut - size)))
