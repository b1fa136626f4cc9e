"""One number per document -> means, scores between controls, and their intervals.

The only place where documents are averaged. Intervals are percentile bootstraps: documents are
drawn with replacement, each with its value and its controls, so what is common to the two cancels.
Documents that could not be asked are NaN: they are left out, and counted. The terms of a
corpus-level test (hits of a cross-fitted classifier, log likelihoods) are per-document numbers too.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful import config
from heedful.auditing.metrics.base import Better
from heedful.errors import DataError, counted
from heedful.intervals import wilson

PerDocument = Float[ndarray, " documents"]
Interval = tuple[float, float]

CELLS_AT_ONCE = 2**20  # of the resampling matrix
BEYOND = 1.1  # a score that surely lies above says that the ceiling failed as a control
NO_INTERVAL = (float("nan"), float("nan"))


@dataclass(frozen=True)
class BootstrapSettings:
    """How intervals are made."""

    resamples: int = 2000
    level: float = 0.95

    def __post_init__(self) -> None:
        config.at_least(1, resamples=self.resamples)
        config.above(0, level=self.level)
        config.within(0, 1, level=self.level)


DEFAULT_BOOTSTRAP = BootstrapSettings()


@dataclass(frozen=True)
class Estimate:
    """A mean over documents. With fewer than two documents the interval is NaN."""

    mean: float
    interval: Interval
    documents: int
    left_out: int


@dataclass(frozen=True)
class Score:
    """A mean read between two controls on the same documents.

    score = (value - floor) / (ceiling - floor)

    0: no better than what is known to be worthless. 1: as good as the best available. Where lower
    is better, ceiling < floor and the same formula holds. Read `separates` before the score.
    """

    value: float
    floor: float
    ceiling: float
    score: float
    interval: Interval
    spread_interval: Interval  # of ceiling - floor
    documents: int
    left_out: int

    def separates(self, better: Better) -> bool:
        """Whether the ceiling lies surely on the better side of the floor: else, no power."""
        low, high = self.spread_interval
        return high < 0 if better == "lower" else low > 0

    @property
    def is_beyond_ceiling(self) -> bool:
        """Whether the whole interval lies clearly above 1: what should be the best is not."""
        return self.interval[0] > BEYOND


def estimate(
    values: PerDocument,
    rng: np.random.Generator,
    settings: BootstrapSettings = DEFAULT_BOOTSTRAP,
) -> Estimate:
    """The mean over documents."""
    kept = _asked(values)
    means = _resampled_means(kept, rng, settings)[:, 0]
    mean = float(_means(kept)[0, 0])
    return Estimate(mean, _interval(means, settings), len(kept), len(values) - len(kept))


def over_seeds(
    values: Float[ndarray, "seeds documents"], rng: np.random.Generator, settings: BootstrapSettings
) -> Estimate:
    """The mean, with an interval from seeds and documents both drawn with replacement.

    With a few seeds their share in the interval is a rough guide; with one seed there is none.
    """
    left_out = values.shape[1]
    values = values[:, ~np.isnan(values).any(axis=0)]
    seeds, documents = values.shape
    left_out -= documents
    if documents < 2:
        mean = float(values.mean()) if documents else np.nan
        return Estimate(mean, NO_INTERVAL, documents, left_out)
    means = np.empty(settings.resamples)
    step = max(1, CELLS_AT_ONCE // documents)
    for start in range(0, settings.resamples, step):
        count = len(means[start : start + step])
        of_seeds = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=count) / seeds
        drawn = rng.integers(documents, size=(count, documents))
        drawn += documents * np.arange(count)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        means[start : start + step] = ((of_seeds @ values) * times).sum(axis=1) / documents
    tail = (1 - settings.level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Estimate(float(values.mean()), (float(low), float(high)), documents, left_out)


def paired_difference(
    first: PerDocument,
    second: PerDocument,
    rng: np.random.Generator,
    settings: BootstrapSettings = DEFAULT_BOOTSTRAP,
) -> Estimate:
    """Mean of first - second over the documents that have both."""
    return estimate(first - second, rng, settings)


def f1_of_means(
    precision: PerDocument,
    recall: PerDocument,
    rng: np.random.Generator,
    settings: BootstrapSettings = DEFAULT_BOOTSTRAP,
) -> Estimate:
    """F1 of mean precision and mean recall, as ERASER takes its IOU-F1 (arXiv:1911.03429).

    F1 = 2 P R / (P + R),  0 where both are 0
    """
    kept = _asked(precision, recall)
    f1 = _f1(_resampled_means(kept, rng, settings))
    mean = float(_f1(_means(kept))[0])
    return Estimate(mean, _interval(f1, settings), len(kept), len(precision) - len(kept))


def score(
    value: PerDocument,
    floor: PerDocument | float,
    ceiling: PerDocument | float,
    rng: np.random.Generator,
    settings: BootstrapSettings = DEFAULT_BOOTSTRAP,
) -> Score:
    """The mean value between the means of its controls: a ratio of means, never a mean of ratios.

    A control may be one number for all documents.
    """
    kept = _asked(value, *(np.broadcast_to(np.float64(c), value.shape) for c in (floor, ceiling)))
    # Taken per document: where value or ceiling is the floor, their difference is 0 to the bit.
    differences = kept[:, [0, 2]] - kept[:, [1, 1]]
    return _score(
        points=_means(kept)[0],
        difference=_means(differences),
        differences=_resampled_means(differences, rng, settings),
        settings=settings,
        documents=len(kept),
        left_out=len(value) - len(kept),
    )


def score_share(holds: PerDocument, settings: BootstrapSettings = DEFAULT_BOOTSTRAP) -> Score:
    """The share of documents that something holds of, between none and all of them.

    The interval is Wilson's: a bootstrap of a share of 0 or 1 has no width, whatever the number of
    documents.
    """
    kept = _asked(holds)[:, 0]
    share, interval = np.nan, NO_INTERVAL
    if len(kept):
        share = float(kept.mean())
        interval = wilson(float(kept.sum()), len(kept), settings.level)
    return Score(share, 0.0, 1.0, share, interval, (1.0, 1.0), len(kept), len(holds) - len(kept))


PrecisionRecall = tuple[PerDocument, PerDocument]


def score_f1(
    value: PrecisionRecall,
    floor: PrecisionRecall,
    ceiling: PrecisionRecall,
    rng: np.random.Generator,
    settings: BootstrapSettings = DEFAULT_BOOTSTRAP,
) -> Score:
    """`score` where value and controls are each an F1 of mean precision and mean recall."""
    kept = _asked(*value, *floor, *ceiling)

    def f1s(means: Float[ndarray, "rows 6"]) -> Float[ndarray, "rows 3"]:
        return np.stack([_f1(means[:, i : i + 2]) for i in (0, 2, 4)], axis=-1)

    points, resampled = f1s(_means(kept)), f1s(_resampled_means(kept, rng, settings))
    return _score(
        points=points[0],
        difference=points[:, [0, 2]] - points[:, [1, 1]],
        differences=resampled[:, [0, 2]] - resampled[:, [1, 1]],
        settings=settings,
        documents=len(kept),
        left_out=len(value[0]) - len(kept),
    )


def _score(
    points: Float[ndarray, "3"],
    difference: Float[ndarray, "1 2"],
    differences: Float[ndarray, "resamples 2"],
    settings: BootstrapSettings,
    documents: int,
    left_out: int,
) -> Score:
    """From value, floor, ceiling, and (value, ceiling) - floor as they are and resampled."""
    value, floor, ceiling = (float(point) for point in points)
    return Score(
        value=value,
        floor=floor,
        ceiling=ceiling,
        score=float(_ratio(difference)[0]),
        interval=_interval(_ratio(differences), settings),
        spread_interval=_interval(differences[:, 1], settings),
        documents=documents,
        left_out=left_out,
    )


def _ratio(differences: Float[ndarray, "rows 2"]) -> Float[ndarray, " rows"]:
    """(value - floor) / (ceiling - floor); NaN where the controls coincide."""
    gain, spread = differences.T
    is_apart = np.abs(spread) > np.finfo(np.float64).tiny  # dividing by less would overflow
    return np.divide(gain, spread, out=np.full(len(gain), np.nan), where=is_apart)


def _f1(means: Float[ndarray, "rows 2"]) -> Float[ndarray, " rows"]:
    precision, recall = means.T
    total = precision + recall
    return 2 * precision * recall / np.where(total == 0, 1, total)


def _asked(*columns: PerDocument) -> Float[ndarray, "asked columns"]:
    """The columns side by side, without the documents that lack a number in any of them."""
    table = np.stack(columns, axis=-1).astype(np.float64)
    table = table[~np.isnan(table).any(axis=-1)]
    if infinite := int(np.isinf(table).any(axis=-1).sum()):
        raise DataError(
            f"{counted(infinite, 'document')} of {len(table):,} with infinite values: their "
            "mean says nothing. Use a bounded metric (js_divergence for kl_divergence)."
        )
    return table


def _means(columns: Float[ndarray, "documents columns"]) -> Float[ndarray, "1 columns"]:
    """The means as they are, shaped like those of one resample."""
    if not len(columns):
        return np.full((1, columns.shape[1]), np.nan)
    return columns.mean(axis=0, keepdims=True)


def _resampled_means(
    columns: Float[ndarray, "documents columns"],
    rng: np.random.Generator,
    settings: BootstrapSettings,
) -> Float[ndarray, "resamples columns"]:
    """Means of documents drawn with replacement; NaN with fewer than two documents.

    A resample is a row of counts, how often each document was drawn, so a chunk of resamples is
    one product of matrices.
    """
    documents = len(columns)
    means = np.full((settings.resamples, columns.shape[1]), np.nan)
    if documents < 2:
        return means
    step = max(1, CELLS_AT_ONCE // documents)
    for start in range(0, settings.resamples, step):
        chunk = means[start : start + step]
        # Counts of uniform draws are multinomial too, and faster than multinomial draws.
        drawn = rng.integers(documents, size=(len(chunk), documents))
        drawn += documents * np.arange(len(chunk))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        chunk[:] = counts @ columns / documents
    return means


def _interval(samples: Float[ndarray, " resamples"], settings: BootstrapSettings) -> Interval:
    """The central share of the samples, NaN left out; NaN if there are none."""
    samples = samples[~np.isnan(samples)]
    if not len(samples):
        return NO_INTERVAL
    tail = (1 - settings.level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return (float(low), float(high))
