"""What adversaries pay for looking elsewhere: TVD of the answers over JSD of the weights.

Each adversary is a point (mean JSD, mean TVD). The frontier runs from the origin, where nothing is
changed and nothing paid, through the points that no other beats (more JSD for no more TVD).
"""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.integrate import trapezoid

from heedful.auditing.bootstrap import BootstrapSettings

Distances = Float[ndarray, "adversaries documents"]
LARGEST_JSD = float(np.log(2))
CELLS_AT_ONCE = 2**20


def frontier(
    jsd: Float[ndarray, " adversaries"], tvd: Float[ndarray, " adversaries"]
) -> Int[ndarray, " kept"]:
    """Which adversaries no other beats, by rising JSD; TVD rises with it."""
    kept: list[int] = []
    least = np.inf
    for place in np.lexsort((tvd, -jsd)).tolist():  # from the farthest
        if tvd[place] < least:
            kept.append(place)
            least = tvd[place]
    return np.array(kept[::-1], dtype=np.int64)


def tvd_terms(jsd: Distances, tvd: Distances, at: float) -> Float[ndarray, " documents"] | None:
    """A term per document whose mean is the frontier's TVD at a JSD; None if none came so far.

    Between two neighbours (J, T) and (J', T') of the frontier, u = (at - J) / (J' - J),
        TVD = (1 - u) T + u T'
    and the terms are its influence function, slope = (T' - T) / (J' - J):
        (1 - u) (t - slope (j - J)) + u (t' - slope (j' - J'))
    """
    is_asked = ~np.isnan(jsd + tvd).any(axis=0)
    if not is_asked.any():
        return None
    documents = jsd.shape[1]
    points_jsd, points_tvd = (
        np.vstack([np.zeros(documents), values]) for values in (jsd, tvd)
    )  # the origin
    far, paid = (values[:, is_asked].mean(axis=1) for values in (points_jsd, points_tvd))
    kept = frontier(far, paid)
    beyond = np.flatnonzero(far[kept] >= at)
    if not len(beyond):
        return None
    last = kept[beyond[0]]
    first = kept[beyond[0] - 1] if beyond[0] else 0
    width = far[last] - far[first]
    share = (at - far[first]) / width if width > 0 else 0.0
    slope = (paid[last] - paid[first]) / width if width > 0 else 0.0
    terms = np.zeros(documents)
    for place, part in ((first, 1 - share), (last, share)):
        terms += part * (points_tvd[place] - slope * (points_jsd[place] - far[place]))
    return np.where(is_asked, terms, np.nan)


def area(jsd: Float[ndarray, " adversaries"], tvd: Float[ndarray, " adversaries"]) -> float:
    """Area under the frontier from JSD 0 to ln 2; beyond its last point it stays level."""
    kept = frontier(jsd, tvd)
    far = np.concatenate([[0.0], np.minimum(jsd[kept], LARGEST_JSD), [LARGEST_JSD]])
    paid = np.concatenate([[0.0], tvd[kept], tvd[kept][-1:]])
    return float(trapezoid(paid, far))


def area_interval(
    jsd: Distances, tvd: Distances, rng: np.random.Generator, settings: BootstrapSettings
) -> tuple[float, float, float, int]:
    """The area, its bootstrap interval over documents, and how many there were."""
    is_asked = ~np.isnan(jsd + tvd).any(axis=0)
    both = np.stack([jsd[:, is_asked], tvd[:, is_asked]])
    documents = both.shape[2]
    if documents < 2:
        return np.nan, np.nan, np.nan, documents
    areas: list[float] = []
    at_once = max(1, CELLS_AT_ONCE // documents)
    while len(areas) < settings.resamples:
        count = min(at_once, settings.resamples - len(areas))
        drawn = rng.multinomial(documents, np.full(documents, 1 / documents), size=count)
        means = np.einsum("kad,rd->rka", both, drawn) / documents
        areas += [area(*pair) for pair in means]
    tail = (1 - settings.level) / 2
    low, high = np.quantile(areas, [tail, 1 - tail])
    return area(*both.mean(axis=2)), float(low), float(high), documents
