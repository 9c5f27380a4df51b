"""Products of sparse rows with dense points, without a dense copy of the rows.

Rows are compressed (CSR): ``starts`` says where each begins among ``columns`` and ``values``. Points are turned a few at a
time, so that all that is asked of one column lies together; a few points are also what one thread sums up, so that sums
don't depend on the number of threads.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from softecm.kernels.compiling import RELAXED, compiled
from softecm.kernels.entry import CODE, FLOAT64, REAL, expect, expect_rows, expect_within
from softecm.kernels.types import Codes, Floats, Ints, Reals

TOGETHER = 24  # points that are turned at once
SUMMED = 8  # sums that one thread writes: 64 bytes a column
BLOCK = 64  # rows that are measured at once
PARALLEL = 500_000  # multiplications below which one thread is faster than waking a second

jit = compiled(fastmath=RELAXED)
jit_parallel = compiled(fastmath=RELAXED, parallel=True)
exact = compiled()
exact_parallel = compiled(parallel=True)


@jit
def _product_block(block: int, starts: Ints, columns: Codes, values: Reals, turned: Floats, out: Floats) -> None:
    k = turned.shape[1]
    for i in range(block * BLOCK, min((block + 1) * BLOCK, out.shape[0])):
        total = np.zeros(k)
        for entry in range(starts[i], starts[i + 1]):
            point = turned[columns[entry]]
            value = values[entry]
            for a in range(k):
                total[a] += value * point[a]
        out[i] = total


@jit
def _products(blocks: int, starts: Ints, columns: Codes, values: Reals, turned: Floats, out: Floats) -> None:
    for block in range(blocks):
        _product_block(block, starts, columns, values, turned, out)


@jit_parallel
def _products_parallel(blocks: int, starts: Ints, columns: Codes, values: Reals, turned: Floats, out: Floats) -> None:
    for block in nb.prange(blocks):
        _product_block(block, starts, columns, values, turned, out)


@jit
def _sum_group(group: int, starts: Ints, columns: Codes, values: Reals, weights: Floats, out: Floats) -> None:
    first = group * SUMMED
    k = min(SUMMED, out.shape[0] - first)
    turned = np.zeros((out.shape[1], k))
    for i in range(weights.shape[0]):
        weight = weights[i, first : first + k]
        for entry in range(starts[i], starts[i + 1]):
            point = turned[columns[entry]]
            value = values[entry]
            for a in range(k):
                point[a] += value * weight[a]
    for a in range(k):
        for j in range(out.shape[1]):
            out[first + a, j] = turned[j, a]


@jit
def _sums(groups: int, starts: Ints, columns: Codes, values: Reals, weights: Floats, out: Floats) -> None:
    for group in range(groups):
        _sum_group(group, starts, columns, values, weights, out)


@jit_parallel
def _sums_parallel(groups: int, starts: Ints, columns: Codes, values: Reals, weights: Floats, out: Floats) -> None:
    for group in nb.prange(groups):
        _sum_group(group, starts, columns, values, weights, out)


@exact
def _mixed(key: np.uint64, bits: np.uint64) -> np.uint64:
    key = (key ^ bits) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32))


@exact_parallel
def _keys(starts: Ints, columns: Codes, bits: np.ndarray, width: int, keys: np.ndarray) -> None:
    for i in nb.prange(keys.shape[0]):
        key, at = np.uint64(0x9E3779B97F4A7C15), 0
        for entry in range(starts[i], starts[i + 1]):
            for _ in range(at, columns[entry]):
                key = _mixed(key, np.uint64(0))
            key = _mixed(key, bits[entry])
            at = columns[entry] + 1
        for _ in range(at, width):
            key = _mixed(key, np.uint64(0))
        keys[i] = key


def products(starts: Ints, columns: Codes, values: Reals, points: Floats) -> Floats:
    """Inner products (n, k) of sparse rows with dense points (k, p)."""
    n, (k, p) = len(starts) - 1, points.shape
    starts, columns, values = _checked(starts, columns, values, p)
    out = np.empty((n, k))
    large = len(values) * k > PARALLEL
    for first in range(0, k, TOGETHER):
        part = slice(first, first + TOGETHER)
        turned = np.ascontiguousarray(points[part].T, dtype=np.float64)
        (_products_parallel if large else _products)(-(-n // BLOCK), starts, columns, values, turned, out[:, part])
    return out


def sums(starts: Ints, columns: Codes, values: Reals, weights: Floats, width: int) -> Floats:
    """Sums (k, p) of sparse rows, weighted by the columns of ``weights`` (n, k)."""
    n, k = len(starts) - 1, weights.shape[1]
    starts, columns, values = _checked(starts, columns, values, width)
    weights = expect("weights", weights, FLOAT64, (n, k))
    out = np.empty((k, width))
    large = len(values) * k > PARALLEL
    (_sums_parallel if large else _sums)(-(-k // SUMMED), starts, columns, values, weights, out)
    return out


def content_keys(starts: Ints, columns: Codes, values: Reals, width: int) -> np.ndarray:
    """One number a row that depends on its content alone: that of the dense row (``spaces.base.content_keys``)."""
    starts, columns, values = _checked(starts, columns, values, width)
    keys = np.empty(len(starts) - 1, dtype=np.uint64)
    _keys(starts, columns, (values.astype(np.float64) + 0.0).view(np.uint64), width, keys)
    return keys


def _checked(starts: Ints, columns: Codes, values: Reals, width: int) -> tuple[Ints, Codes, Reals]:
    entries = len(values)
    starts = expect_rows("starts", starts, len(starts) - 1, entries)
    columns = expect("columns", columns, CODE, (entries,))
    expect_within("columns", columns, width)
    return starts, columns, expect("values", values, REAL, (entries,))
