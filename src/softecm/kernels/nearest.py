"""The nearest of several points to each vector, without the table of all distances."""

from __future__ import annotations

import numba as nb
import numpy as np

from softecm.kernels.entry import FLOAT64, REAL, expect
from softecm.kernels.quadratic import BLOCK, PARALLEL, jit, jit_parallel, load
from softecm.kernels.quadratic import distances as block_distances
from softecm.kernels.types import Floats, Ints, Reals


@jit
def _block(block: int, x: Reals, v: Floats, distances: Floats, which: Ints) -> None:
    """One block of objects."""
    n, p = x.shape
    start = block * BLOCK
    size = min(BLOCK, n - start)
    xt = np.empty((p, BLOCK))
    d = np.empty((1, BLOCK))
    least = np.empty(BLOCK)
    best = np.empty(BLOCK, dtype=np.int64)
    load(x, start, size, xt)
    for a in range(v.shape[0]):
        block_distances(xt, v[a : a + 1], size, d)
        for b in range(size):
            if a == 0 or d[0, b] < least[b]:
                least[b] = d[0, b]
                best[b] = a
    distances[start : start + size] = least[:size]
    which[start : start + size] = best[:size]


@jit
def _all(n_blocks: int, x: Reals, v: Floats, distances: Floats, which: Ints) -> None:
    for block in range(n_blocks):
        _block(block, x, v, distances, which)


@jit_parallel
def _all_parallel(n_blocks: int, x: Reals, v: Floats, distances: Floats, which: Ints) -> None:
    for block in nb.prange(n_blocks):
        _block(block, x, v, distances, which)


def nearest(x: Reals, v: Floats) -> tuple[Floats, Ints]:
    """Squared distances of rows ``x`` (n, p) to the nearest of ``v`` (k, p), and which that is: the first of equals.

    Examples
    --------
    >>> import numpy as np
    >>> nearest(np.array([[0.0], [3.0]]), np.array([[1.0], [2.0], [3.0]]))
    (array([1., 0.]), array([0, 2]))
    """
    n, p = x.shape
    x = expect("objects", x, REAL, (n, p))
    v = expect("points", v, FLOAT64, (max(1, len(v)), p))
    distances, which = np.empty(n), np.empty(n, dtype=np.int64)
    large = n * v.size > PARALLEL
    (_all_parallel if large else _all)(-(-n // BLOCK), x, v, distances, which)
    return distances, which
