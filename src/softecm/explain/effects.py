r"""How two groups of numbers differ: one effect size for numbers, ranks and shares.

Cliff's :math:`\delta = P(x > y) - P(x < y)` for x of one group and y of the other: 1 if all of the first are above all
of the second, 0 if neither is above. For binary values it is the difference of the shares. It is independent of
distributions and units. The standard error is that of DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two
or more correlated receiver operating characteristic curves", Biometrics 44, 1988.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

FloatArray = NDArray[np.float64]


class Effect(NamedTuple):
    """Cliff's delta and its interval."""

    size: float
    low: float
    high: float

    @property
    def sure(self) -> float:
        """The end of the interval nearer to 0, without its sign; 0 if the interval contains 0."""
        return max(self.low, -self.high, 0.0)

    def turned(self) -> Effect:
        """Return the effect with reversed sign."""
        return Effect(-self.size, -self.high, -self.low)


def quantile(level: float, tests: int) -> float:
    """Return the number of standard errors for intervals that jointly hold with this probability, however dependent."""
    return float(ndtri(1.0 - (1.0 - level) / (2.0 * max(tests, 1))))


def cliffs_delta(here: FloatArray, elsewhere: FloatArray, errors: float) -> Effect:
    """Return Cliff's delta of the numbers here over those elsewhere, with an interval of this many standard errors.

    Examples
    --------
    >>> cliffs_delta(np.array([3.0, 4.0, 5.0]), np.array([1.0, 2.0, 3.0]), 0.0).size.__round__(3)
    0.889
    """
    n, m = len(here), len(elsewhere)
    ranks = rankdata(np.concatenate([here, elsewhere]))
    above = (ranks[:n] - rankdata(here)) / m  # share of the others below each
    below = 1.0 - (ranks[n:] - rankdata(elsewhere)) / n
    area = float(above.mean())
    variance = sum(float(part.var(ddof=1)) / len(part) if len(part) > 1 else 0.25 for part in (above, below))
    # Separated groups would have no standard error: smooth as if one more pair were half reversed.
    smoothed = (area * n * m + 0.5) / (n * m + 1)
    error = 2.0 * np.sqrt(max(variance, smoothed * (1.0 - smoothed) / (3 * min(n, m))))
    size = 2.0 * area - 1.0
    return Effect(size, max(-1.0, size - errors * error), min(1.0, size + errors * error))
