"""A few objects that stand for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def systematic(
    keys: NDArray[np.uint64], weights: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """So many objects, evenly over the running sum of weights in the order of their keys, and what each then counts.

    Keys are as good as random, so that the sample is; and they depend on content alone, so that neither the order of rows
    nor copies in the place of weights change it.
    """
    order = np.argsort(keys, kind="stable")
    steps = np.cumsum(weights[order])
    places = (np.arange(size) + 0.5) / size * steps[-1]
    hit = np.minimum(np.searchsorted(steps, places, side="right"), len(order) - 1)
    rows, counts = np.unique(hit, return_counts=True)
    return order[rows], counts.astype(np.float64) * (float(steps[-1]) / size)
