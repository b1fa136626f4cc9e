"""Readings of one model's attention ranked by what their top words tell, having looked at many.

Whoever looks at a hundred heads finds one that looks good by luck. So intervals hold together: the
bootstrap resamples documents for all readings at once, takes the largest deviation among them, in
standard errors, and widens every interval to what 95% of these largest deviations stay within.

    interval_j = mean_j -+ c * error_j
    c          = 95% quantile over resamples of  max over j of |resampled mean_j - mean_j| / error_j
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from heedful.auditing.bootstrap import BootstrapSettings
from heedful.auditing.metrics.erasure import comprehensiveness
from heedful.auditing.metrics.top import top_k
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Column, Table
from heedful.auditing.subjects.erasure import predict_sets, tops_of_size
from heedful.auditing.subjects.huggingface.subject import TransformerSubject
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch
from heedful.readouts import Attended

RESAMPLES_AT_ONCE = 100
DOCUMENTS_AT_ONCE = 32


def rank_readings(
    told: Mapping[str, Column],
    by_chance: Column,
    rng: np.random.Generator,
    settings: BootstrapSettings,
) -> Table:
    """Readings by comprehensiveness over that of random rankings, best first.

    Rows: reading, comprehensiveness, over_random with low and high that hold for all readings
    together, tells (whether low lies above 0), documents. Only documents with a number for every
    reading count.
    """
    values = np.stack([*told.values()], axis=1)
    is_asked = ~np.isnan(values).any(axis=1) & ~np.isnan(by_chance)
    values, gains = values[is_asked], (values - by_chance[:, None])[is_asked]
    low, high = joint_intervals(gains, rng, settings)
    rows = [
        {
            "reading": name, "comprehensiveness": float(values[:, place].mean()),
            "over_random": float(gains[:, place].mean()), "low": float(low[place]),
            "high": float(high[place]), "tells": bool(low[place] > 0), "documents": len(values),
        }
        for place, name in enumerate(told)
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda row: -round(row["over_random"], 6)))


def joint_intervals(
    values: Float[ndarray, "documents readings"],
    rng: np.random.Generator,
    settings: BootstrapSettings,
) -> tuple[Float[ndarray, " readings"], Float[ndarray, " readings"]]:
    """Intervals of the means of all columns that hold together; NaN with fewer than two rows."""
    count = len(values)
    if count < 2:
        nothing = np.full(values.shape[1], np.nan)
        return nothing, nothing
    even = np.full(count, 1 / count)
    parts = []
    for start in range(0, settings.resamples, RESAMPLES_AT_ONCE):
        size = min(RESAMPLES_AT_ONCE, settings.resamples - start)
        parts.append(rng.multinomial(count, even, size=size) @ values / count)
    means, mean = np.concatenate(parts), values.mean(axis=0)
    error = means.std(axis=0)
    off = np.divide(np.abs(means - mean), error, out=np.zeros_like(means), where=error > 0)
    width = np.quantile(off.max(axis=1), settings.level) * error
    return mean - width, mean + width


def told_by_heads(
    subject: TransformerSubject, texts: Sequence[str], settings: AuditSettings
) -> dict[str, Column]:
    """Comprehensiveness of every head of every layer, on each text."""
    model = subject.model
    names = [
        f"head:layer={layer}:head={head}"
        for layer in range(model.layers)
        for head in range(model.heads)
    ]
    parts = [
        _of_heads(subject, texts[start : start + DOCUMENTS_AT_ONCE], settings)
        for start in range(0, len(texts), DOCUMENTS_AT_ONCE)
    ]
    return dict(zip(names, np.concatenate(parts, axis=1), strict=True))


def _of_heads(
    subject: TransformerSubject, texts: Sequence[str], settings: AuditSettings
) -> Float[ndarray, "heads documents"]:
    reading = subject.read(texts)
    words = reading.weights.shape[1]

    def every_head(attended: Attended, batch: PieceBatch) -> Tensor:
        rows = [attended.row(layer)[:, head] for layer in attended.weights
                for head in range(layer.shape[1])]  # fmt: skip
        return torch.stack([batch.weights_of_words(row, words) for row in rows], dim=1)

    found, _ = subject.model.attend(reading.inner, every_head)
    weights = torch.stack(found).numpy()
    lengths = reading.is_token.sum(axis=1)
    sizes = np.stack([top_k(part, lengths) for part in settings.fractions], axis=1)
    left = [
        reading.is_token[:, None] & ~tops_of_size(reading, weights[:, head], sizes)
        for head in range(weights.shape[1])
    ]
    everyone = np.arange(len(texts))
    predicted = predict_sets(subject, reading, everyone, left)
    prediction = reading.prediction
    probability = reading.probabilities[everyone, prediction]
    return np.stack(
        [comprehensiveness(probability, share[everyone, :, prediction]) for share in predicted]
    )
