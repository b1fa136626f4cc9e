"""How well a score tells models that fail from models that do not: power, false alarms, AUC.

A test raises an alarm on a model if its score lies below a cut; a missing score raises none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.operating_points import Share
from heedful.intervals import wilson

Scores = Float[ndarray, " models"]
Failing = Float[ndarray, " failing"]
Holding = Float[ndarray, " holding"]
FALSE_ALARMS = 0.05  # that a cut may raise, as a share of the models that hold
RESAMPLES = 2000


@dataclass(frozen=True)
class Separation:
    """How one test does on models with a known answer.

    `power` is that at the cut. Its interval is the wider of two: Wilson's, and that of models drawn
    anew with the cut chosen anew, which has no width where every model was caught. That of `auc` is
    made likewise, Wilson's with as many models as the fewer of either kind.
    """

    cut: float  # NaN: no cut raises an alarm on any model that fails
    power: Share
    false_alarms: Share
    auc: Share


def separate(fails: Failing, holds: Holding, rng: np.random.Generator) -> Separation:
    """A test's scores on the models that fail and on those that hold."""
    cut = best_cut(fails, holds)
    powers, areas = np.empty(RESAMPLES), np.empty(RESAMPLES)
    for draw in range(RESAMPLES):
        some, others = (rng.choice(scores, len(scores)) for scores in (fails, holds))
        powers[draw] = alarms(some, best_cut(some, others))
        areas[draw] = auc(some, others)
    caught = share(int((fails < cut).sum()), len(fails))
    area = share(auc(fails, holds) * min(len(fails), len(holds)), min(len(fails), len(holds)))
    return Separation(
        cut,
        _widened(caught, powers),
        share(int((holds < cut).sum()), len(holds)),
        replace(_widened(area, areas), models=len(fails) + len(holds)),
    )


def best_cut(fails: Failing, holds: Holding, most: float = FALSE_ALARMS) -> float:
    """The cut of most power whose false alarms are at most that share, in the middle of its gap.

    NaN if such a cut catches nothing, or if too few models that hold have a score to cut by.
    """
    ranked = np.sort(holds[~np.isnan(holds)])
    allowed = math.floor(most * len(holds))
    if len(ranked) <= allowed:
        return math.nan
    caught = fails[fails < ranked[allowed]]
    return (float(caught.max()) + float(ranked[allowed])) / 2 if len(caught) else math.nan


def alarms(scores: Scores, cut: float) -> float:
    """The share of the scores that lie below the cut; a missing one does not."""
    return float((scores < cut).mean()) if len(scores) else math.nan


def auc(fails: Failing, holds: Holding) -> float:
    """The chance that a model that fails scores below one that holds; ties count half."""
    fails, holds = (np.where(np.isnan(scores), np.inf, scores) for scores in (fails, holds))
    below = fails[:, None] < holds[None, :]
    return float((below + (fails[:, None] == holds[None, :]) / 2).mean())


def share(count: int | float, of: int) -> Share:
    """A share with Wilson's 95% interval."""
    if not of:
        return Share(math.nan, math.nan, math.nan, 0)
    return Share(count / of, *wilson(count, of), of)


def _widened(found: Share, samples: Float[ndarray, " resamples"]) -> Share:
    """A share whose interval also holds the central 95% of the samples."""
    low, high = np.quantile(samples, [0.025, 0.975]).tolist()
    return replace(found, low=min(low, found.low), high=max(high, found.high))


def scores_of(values: Sequence[float]) -> Scores:
    """Scores as an array."""
    return np.array(values, dtype=np.float64)
