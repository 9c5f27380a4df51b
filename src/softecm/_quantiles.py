"""Quantiles of weighted numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def weighted_quantile(values: NDArray[np.float64], q: float, weights: NDArray[np.float64]) -> float:
    """The smallest value at which the share of weight reaches ``q`` (inverted CDF): a weight of 2 counts as two rows."""
    order = np.argsort(values, kind="stable")
    steps = np.cumsum(weights[order])
    position = int(np.searchsorted(steps, q * steps[-1] * (1.0 - 1e-12)))
    return float(values[order[min(position, len(order) - 1)]])
