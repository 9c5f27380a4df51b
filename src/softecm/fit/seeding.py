"""Where runs start.

Draws walk through the objects in an order that depends on their content alone (``Space.keys``), so that a start depends
on the objects and their weights, not on the order of rows, nor on whether an object stands twice or has weight 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.objective import blocks, check_distances
from softecm.spaces.base import Space

GROUP_CELLS = 1 << 22  # distances to the nearest start held at once


def seed(
    kind: str,
    metric: SemiMetric,
    space: Space,
    x: Any,
    weights: NDArray[np.float64],
    n_clusters: int,
    runs: int,
    rng: np.random.RandomState,
) -> Tensor:
    """Starting prototypes (runs, c, *shape): "k-means++" with the metric itself, or "random" objects."""
    order = np.argsort(space.keys(x), kind="stable")
    draws = rng.random_sample((runs, n_clusters))
    size = max(1, GROUP_CELLS // len(order)) if kind == "k-means++" else runs
    chosen = [
        _draw(kind == "k-means++", metric, space, x, weights, order, draws[start : start + size])
        for start in range(0, runs, size)
    ]
    rows = torch.as_tensor(np.concatenate(chosen))
    return space.starts(x, rows.reshape(-1)).reshape(runs, n_clusters, *_shape(space, x))


def _shape(space: Space, x: Any) -> tuple[int, ...]:
    return tuple(space.starts(x, torch.zeros(1, dtype=torch.int64)).shape[1:])


def _draw(
    spread: bool,
    metric: SemiMetric,
    space: Space,
    x: Any,
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    draws: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Indices (runs, c); each draw in proportion to weight, times distance to the nearest start where ``spread``."""
    runs, c = draws.shape
    chosen = np.empty((runs, c), dtype=np.int64)
    nearest = np.ones((len(order), runs))
    for k in range(c):
        for run in range(runs):
            chance = (weights * nearest[:, run])[order]
            if not chance.any():  # every object lies on a start already
                chance = weights[order]
            chosen[run, k] = order[pick(chance, draws[run, k])]
        if k + 1 == c:
            break
        if spread:
            d = _distances(metric, x, space.starts(x, torch.as_tensor(chosen[:, k])))
            nearest = d if k == 0 else np.minimum(nearest, d)
        else:
            nearest[chosen[:, k], np.arange(runs)] = 0.0  # no object twice
    return chosen


def pick(chance: NDArray[np.float64], draw: float) -> int:
    """The position at which the running sum of ``chance`` passes ``draw`` of its total."""
    steps = np.cumsum(chance)
    position = int(np.searchsorted(steps, draw * steps[-1], side="right"))
    return min(position, int(np.flatnonzero(chance)[-1]))


def _distances(metric: SemiMetric, x: Any, starts: Tensor) -> NDArray[np.float64]:
    parts = []
    with torch.no_grad():
        for rows in blocks(len(x), starts):
            block = x[rows]
            d = metric.pairwise(block, starts)
            check_distances(metric, d, len(block), len(starts), rows.start)
            parts.append(d.clamp_min(0.0))
    return torch.cat(parts).double().cpu().numpy()
