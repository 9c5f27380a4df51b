"""Where runs start.

Draws walk through the objects in an order that depends on their content alone (``Space.keys``), so that a start depends
on the objects and their weights, not on the order of rows, nor on whether an object stands twice or has weight 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.distances.blocks import distances_of
from softecm.spaces.base import Encoded, Space

GROUP_CELLS = 1 << 22  # distances to the nearest start held at once


class Draw(NamedTuple):
    """How starts are drawn.

    Attributes
    ----------
    kind : "k-means++", with the metric itself, or "random" objects
    runs : how many starts
    cap : distances count at most so much, so that far objects are not drawn for being far
    greedy : so many candidates are drawn for each cluster, and the one that brings most is taken
    """

    kind: str
    runs: int
    cap: float = np.inf
    greedy: int = 1


def seed(
    draw: Draw,
    metric: SemiMetric,
    space: Space,
    x: Encoded,
    weights: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.RandomState,
) -> Tensor:
    """Starting prototypes (runs, c, *shape)."""
    order = np.argsort(space.keys(x), kind="stable")
    shape = (draw.runs, n_clusters) if draw.greedy == 1 else (draw.runs, n_clusters, draw.greedy)
    draws = rng.random_sample(shape).reshape(draw.runs, n_clusters, draw.greedy)
    spread = draw.kind == "k-means++"
    size = max(1, GROUP_CELLS // (len(order) * draw.greedy)) if spread else draw.runs
    pool = _Pool(metric, space, x, weights, order, draw.cap, {})
    chosen = [(_spread if spread else _apart)(pool, draws[first : first + size]) for first in range(0, draw.runs, size)]
    rows = torch.as_tensor(np.concatenate(chosen))
    starts = space.starts(x, rows.reshape(-1))
    return starts.reshape(draw.runs, n_clusters, *starts.shape[1:])


class _Pool(NamedTuple):
    metric: SemiMetric
    space: Space
    x: Encoded
    weights: NDArray[np.float64]
    order: NDArray[np.int64]
    cap: float
    known: dict[int, NDArray[np.float64]]  # distances of all objects to some, where all would fit

    def drawn(self, nearest: NDArray[np.float64] | None, draw: float) -> int:
        """An object, in proportion to weight, times distance to the nearest start where there is one."""
        chance = (self.weights if nearest is None else self.weights * nearest)[self.order]
        if not chance.any():  # every object lies on a start already
            chance = self.weights[self.order]
        return int(self.order[pick(chance, draw)])

    def distances(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of all objects to some of them (n, k), at most ``cap``."""
        new = [row for row in np.unique(rows).tolist() if row not in self.known]
        if new:
            places = self.space.starts(self.x, torch.as_tensor(new))
            found: NDArray[np.float64] = distances_of(self.metric, self.x, places).double().cpu().numpy()
            self.known.update(zip(new, np.minimum(found, self.cap).T, strict=True))
        picked = np.stack([self.known[row] for row in rows.tolist()], 1)
        if len(self.order) ** 2 > GROUP_CELLS:
            self.known.clear()
        return picked


def _spread(pool: _Pool, draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """k-means++: indices (runs, c); with several candidates a cluster, the one that leaves least distance."""
    runs, c, greedy = draws.shape
    chosen = np.empty((runs, c), dtype=np.int64)
    nearest: NDArray[np.float64] | None = None  # (n, runs)
    for k in range(c):
        few = 1 if k == 0 else greedy  # the first is drawn by weight alone
        rows = np.array(
            [
                [pool.drawn(None if nearest is None else nearest[:, run], draws[run, k, j]) for j in range(few)]
                for run in range(runs)
            ]
        )
        if few == 1 and k + 1 == c:
            return np.concatenate([chosen[:, :k], rows], 1)
        left = pool.distances(rows.reshape(-1)).reshape(-1, runs, few)
        if nearest is not None:
            left = np.minimum(left, nearest[..., None])
        best = np.zeros(runs, dtype=np.int64) if few == 1 else np.einsum("n,nrj->rj", pool.weights, left).argmin(1)
        chosen[:, k] = rows[np.arange(runs), best]
        nearest = left[:, np.arange(runs), best]
    return chosen


def _apart(pool: _Pool, draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Objects at random: indices (runs, c), no object twice in a run where there are enough."""
    runs, c, _ = draws.shape
    chosen = np.empty((runs, c), dtype=np.int64)
    for run in range(runs):
        free = np.ones(len(pool.order))
        for k in range(c):
            chosen[run, k] = pool.drawn(free, draws[run, k, 0])
            free[chosen[run, k]] = 0.0
    return chosen


def pick(chance: NDArray[np.float64], draw: float) -> int:
    """The position at which the running sum of ``chance`` passes ``draw`` of its total."""
    steps = np.cumsum(chance)
    position = int(np.searchsorted(steps, draw * steps[-1], side="right"))
    return min(position, int(np.flatnonzero(chance)[-1]))
