"""Scores of models whose dose is known -> the score at which the dose becomes intolerable.

A dose is a share: of documents with a false picture, of the decision that bypasses attention. The
curve is the decreasing step function nearest to the scores (isotonic regression), read between its
doses by straight lines. Models of one kind in one setting are alike, so the interval of the cut is
a bootstrap over kinds and settings, not over models.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heedful.auditing.operating_points import Cut, read_curve

RESAMPLES = 500
FEWEST_DOSES = 4  # different ones that a curve is drawn through
SEED = 0


@dataclass(frozen=True)
class Dosed:
    """The score of one model of known dose."""

    dose: float
    score: float
    cluster: str  # models that are alike


def dose_cut(found: Sequence[Dosed], tolerated: float, resamples: int = RESAMPLES) -> Cut | None:
    """The cut at a tolerated dose; None if the doses do not lie around it, or are too few."""
    doses = {round(one.dose, 3) for one in found}
    if len(doses) < FEWEST_DOSES or not min(doses) < tolerated < max(doses):
        return None
    curve = fitted(found)
    clusters = sorted({one.cluster for one in found})
    members = [[one for one in found if one.cluster == name] for name in clusters]
    rng = np.random.default_rng(SEED)
    cuts = []
    for _ in range(resamples):
        chosen = rng.integers(len(clusters), size=len(clusters))
        drawn = [one for number in chosen.tolist() for one in members[number]]
        if min(one.dose for one in drawn) < tolerated < max(one.dose for one in drawn):
            cuts.append(read_curve(fitted(drawn), tolerated))
    low, high = np.quantile(cuts, [0.025, 0.975]).tolist() if cuts else (np.nan, np.nan)
    return Cut(read_curve(curve, tolerated), low, high, len(found), curve)


def fitted(found: Sequence[Dosed]) -> tuple[tuple[float, float], ...]:
    """(dose, score) of the decreasing curve nearest to the scores, one point per dose."""
    from sklearn.isotonic import IsotonicRegression

    dose = np.array([one.dose for one in found])
    score = np.array([one.score for one in found])
    doses = np.unique(dose)
    curve = IsotonicRegression(increasing=False).fit(dose, score).predict(doses)
    return tuple(zip(doses.tolist(), curve.tolist(), strict=True))
