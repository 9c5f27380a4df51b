"""Products of sparse rows with dense points, without a dense copy of the rows (``native/sparse.c``).

Rows are compressed (CSR): ``starts`` holds their offsets in ``columns`` and ``values``.
"""

from __future__ import annotations

import numpy as np

from softecm.kernels.types import Codes, Floats, Ints, Reals
from softecm.native.library import (
    CODE,
    FLOAT64,
    REAL,
    Array,
    Int,
    Tasks,
    expect,
    expect_rows,
    expect_within,
    function,
    kind,
    share_out,
    status,
)

TOGETHER = 24  # points transposed at once, as in native/sparse.c
PARALLEL = 500_000  # multiplications below which one thread is faster than waking another

_ROWS = (Array, Array, Int, Array, Int)
_products = function("sparse_products", Tasks, *_ROWS, Int, Array, Int, Int, Int, Array)
_sums = function("sparse_sums", Tasks, *_ROWS, Int, Array, Int, Int, Array, result=status)
_keys = function("sparse_keys", Tasks, Array, Array, Int, Array, Int, Int, Array)


def products(starts: Ints, columns: Codes, values: Reals, points: Floats) -> Floats:
    """Return inner products (n, k) of sparse rows with dense points (k, p)."""
    n, (k, p) = len(starts) - 1, points.shape
    starts, columns, values = _checked(starts, columns, values, p)
    out = np.empty((n, k))
    for first in range(0, k, TOGETHER):
        turned = np.ascontiguousarray(points[first : first + TOGETHER].T, dtype=np.float64)
        rows = (starts, columns, kind(columns), values, kind(values), n)
        share_out(_products, len(values) * k > PARALLEL, *rows, turned, turned.shape[1], first, k, out)
    return out


def sums(starts: Ints, columns: Codes, values: Reals, weights: Floats, width: int) -> Floats:
    """Return sums (k, p) of sparse rows, weighted by the columns of ``weights`` (n, k)."""
    n, k = len(starts) - 1, weights.shape[1]
    starts, columns, values = _checked(starts, columns, values, width)
    weights = expect("weights", weights, FLOAT64, (n, k))
    out = np.empty((k, width))
    rows = (starts, columns, kind(columns), values, kind(values), n)
    share_out(_sums, len(values) * k > PARALLEL, *rows, weights, k, width, out)
    return out


def content_keys(starts: Ints, columns: Codes, values: Reals, width: int) -> np.ndarray:
    """Return a hash of each row's content, equal to that of the dense row (``spaces.base.content_keys``)."""
    starts, columns, values = _checked(starts, columns, values, width)
    n, bits = len(starts) - 1, (values.astype(np.float64) + 0.0).view(np.uint64)
    keys = np.empty(n, dtype=np.uint64)
    share_out(_keys, n * width > PARALLEL, starts, columns, kind(columns), bits, n, width, keys)
    return keys


def _checked(starts: Ints, columns: Codes, values: Reals, width: int) -> tuple[Ints, Codes, Reals]:
    entries = len(values)
    starts = expect_rows("starts", starts, len(starts) - 1, entries)
    columns = expect("columns", columns, CODE, (entries,))
    expect_within("columns", columns, width)
    return starts, columns, expect("values", values, REAL, (entries,))
