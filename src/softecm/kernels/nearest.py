"""The nearest of several points to each vector, without the table of all distances (``native/nearest.c``)."""

from __future__ import annotations

import numpy as np

from softecm.kernels.entry import FLOAT64, REAL, expect, kind
from softecm.kernels.types import Floats, Ints, Reals
from softecm.native.library import Array, Int, Tasks, function, status
from softecm.native.threads import share_out

PARALLEL = 1_000_000  # operations below which one thread is faster than waking a second

_nearest = function("nearest", Tasks, Array, Int, Int, Int, Array, Int, Array, Array, result=status)


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
    share_out(_nearest, n * v.size > PARALLEL, x, kind(x), n, p, v, len(v), distances, which)
    return distances, which
