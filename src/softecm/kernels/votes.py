"""Label propagation: each object takes the label with the largest weight around it (``native/votes.c``)."""

from __future__ import annotations

import numpy as np

from softecm.kernels.types import Bools, Floats, Ints
from softecm.native.library import (
    FLOAT64,
    INDEX,
    TRUTH,
    Array,
    Float,
    Int,
    expect,
    expect_rows,
    expect_within,
    expect_writable,
    function,
)

_sweep = function("votes_sweep", Array, Array, Int, Array, Array, Array, Int, Array, Array, Array, result=Float)
_between = function("votes_between", Array, Array, Int, Int, Array, result=Float)
_tally = function("votes_tally", Array, Array, Int, Int, *[Array] * 6)


def backwards(neighbours: Ints) -> tuple[Ints, Ints]:
    """Return each object's positions in the flat array of others' neighbours, and their offsets."""
    n = len(neighbours)
    expect_within("neighbours", neighbours, n)
    flat = neighbours.ravel()
    return np.argsort(flat, kind="stable"), np.r_[0, np.cumsum(np.bincount(flat, minlength=n))]


def sweep(neighbours: Ints, weights: Floats, back: Ints, starts: Ints, order: Ints, labels: Ints, due: Bools) -> float:
    """Let every object that is due take the label with the most votes, the smallest of ties; in place.

    ``neighbours`` and ``weights`` are (n, k), ``back`` and ``starts`` the result of ``backwards``, ``order`` the
    sequence of objects, ``labels`` (n,) are below n. An object is due until its turn, and again after a neighbour's
    label changes. Returns the decrease of ``between``; labels still move while any object is due.
    """
    n, k = neighbours.shape
    neighbours = expect("neighbours", neighbours, INDEX, (n, k))
    order = expect("order", order, INDEX, order.shape[:1])
    expect_writable("labels", labels, INDEX, (n,))
    expect_writable("due", due, TRUTH, (n,))
    for name, index in (("neighbours", neighbours), ("order", order), ("labels", labels)):
        expect_within(name, index, n)
    back, starts = expect("back", back, INDEX, (n * k,)), expect_rows("starts", starts, n, n * k)
    expect_within("back", back, n * k)
    weights = expect("weights", weights, FLOAT64, (n, k))
    gained: float = _sweep(neighbours, weights, k, back, starts, order, len(order), labels, due, np.zeros(n))
    return gained


def between(neighbours: Ints, weights: Floats, labels: Ints) -> float:
    """Return half the weights of neighbours with different labels."""
    neighbours, weights, labels = _checked(neighbours, weights, labels)
    weight: float = _between(neighbours, weights, *neighbours.shape, labels)
    return weight


def tally(neighbours: Ints, weights: Floats, labels: Ints) -> tuple[Floats, Ints, Ints]:
    """Return the votes for each label around each object, as a sparse matrix: values, columns, row offsets."""
    neighbours, weights, labels = _checked(neighbours, weights, labels)
    n = len(neighbours)
    around = (neighbours, weights, *neighbours.shape, labels)
    starts = np.zeros(n + 1, dtype=np.int64)
    _tally(*around, np.zeros(n), np.full(n, -1), starts, None, None)
    columns, sums = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    _tally(*around, np.zeros(n), np.full(n, -1), starts, columns, sums)
    return sums, columns, starts


def _checked(neighbours: Ints, weights: Floats, labels: Ints) -> tuple[Ints, Floats, Ints]:
    n, k = neighbours.shape
    neighbours, labels = expect("neighbours", neighbours, INDEX, (n, k)), expect("labels", labels, INDEX, (n,))
    expect_within("neighbours", neighbours, n)
    expect_within("labels", labels, n)
    return neighbours, expect("weights", weights, FLOAT64, (n, k)), labels
