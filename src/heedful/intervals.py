"""Intervals of shares, from counts alone."""

import math
from statistics import NormalDist


def wilson(count: int | float, of: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share, which stays inside 0 to 1 however small the numbers.

    (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n),  p = count / n

    0 to 1 where nothing was counted.
    """
    if not of:
        return (0.0, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, z2 = count / of, z * z
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = z * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    return (0.0 if count == 0 else middle - half, 1.0 if count == of else middle + half)
