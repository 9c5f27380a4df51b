"""Weight, mean and scatter of rows, added up over blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Moments(NamedTuple):
    """Weight, mean (p,) and sum of outer products of deviations (p, p) of some rows; adds up over blocks of rows."""

    weight: float
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @staticmethod
    def of(rows: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Moments:
        """Of rows (n, p)."""
        w = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        total = float(w.sum())
        mean = (w @ rows) / (total if total > 0 else 1.0)
        deviations = rows - mean
        return Moments(total, mean, (deviations * w[:, None]).T @ deviations)

    def merge(self, other: Moments) -> Moments:
        """Two blocks together (Chan, Golub and LeVeque)."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        difference, share = other.mean - self.mean, other.weight / weight
        scatter = self.scatter + other.scatter + np.outer(difference, difference) * self.weight * share
        return Moments(weight, self.mean + difference * share, scatter)
