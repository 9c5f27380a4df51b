"""The nearest other objects, from vectors or from dissimilarities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PIECE = 1e9  # multiplications between two looks at whether the fit is to end


def nearest_others(x: Floats, k: int) -> tuple[Floats, Ints]:
    """Distances to the k nearest other objects and which these are, (n, k) each; in pieces, so that Ctrl-C is heard."""
    search = NearestNeighbors(n_neighbors=k + 1).fit(x)
    near, neighbours = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.int64)
    for rows in pieces(len(x), x.size):
        distances, found = search.kneighbors(x[rows])
        other = found != rows[:, None]
        other[other.all(1), -1] = False  # behind more copies than were asked for: the last is left out in its place
        near[rows], neighbours[rows] = distances[other].reshape(-1, k), found[other].reshape(-1, k)
    return near, neighbours


def nearest_in_matrix(d: Floats, k: int, *, others: bool) -> tuple[Floats, Ints]:
    """The same from dissimilarities (m, n), of equals the first; ``others`` leaves out each object itself (m = n)."""
    near, neighbours = np.empty((len(d), k)), np.empty((len(d), k), dtype=np.int64)
    for rows in pieces(len(d), 20 * d.shape[1]):
        block = np.array(d[rows])
        if others:
            block[np.arange(len(rows)), rows] = np.inf
        neighbours[rows] = np.argsort(block, axis=1, kind="stable")[:, :k]
        near[rows] = np.take_along_axis(block, neighbours[rows], 1)
    return near, neighbours


def pieces(n: int, cost: int) -> list[Ints]:
    """Rows that are looked at in one go, ``cost`` multiplications each."""
    size = max(1, int(PIECE / (cost + 1)))
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
