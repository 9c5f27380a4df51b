"""Masses whose belief and plausibility of "these two belong together" are given intervals, object by object.

For each object in turn ``minimise over m_i  sum_j (m_i S m_j - low_ij)^2 + (m_i C m_j - (1 - high_ij))^2`` on the simplex, S
being 1 where both sets are the same single cluster, C where they are disjoint.
"""

from __future__ import annotations

import numpy as np

from softecm.kernels.simplex_qp import FLAG, RIDGE
from softecm.kernels.types import Bools, Floats, Ints
from softecm.native.library import (
    FLOAT64,
    INDEX,
    Array,
    Float,
    Int,
    expect,
    expect_rows,
    expect_within,
    expect_writable,
    function,
    status,
)

_sweep = function("pair_sweep", *[Array] * 7, Int, Int, Array, Array, Float, Array, Array, result=status)


def sweep_pairs(
    low: Floats, high: Floats, others: Ints, starts: Ints, same: Floats, disjoint: Floats, masses: Floats, stop: Bools
) -> float:
    """Fit every object's masses in turn, in place; returns by how much a mass moved at most.

    Those compared with object i are ``others[starts[i]:starts[i + 1]]``, with their ``low`` and ``high``.
    """
    n, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (n, f))
    others = expect("others", others, INDEX, others.shape[:1])
    starts = expect_rows("starts", starts, n, len(others))
    expect_within("others", others, n)
    low, high = expect("low", low, FLOAT64, others.shape), expect("high", high, FLOAT64, others.shape)
    same, disjoint = expect("same", same, FLOAT64, (f, f)), expect("apart", disjoint, FLOAT64, (f, f))
    expect_writable("stop", stop, FLAG, (1,))
    rows, moved = (masses @ same, masses @ disjoint), np.zeros(1)
    _sweep(low, high, others, starts, same, disjoint, masses, n, f, *rows, RIDGE, stop, moved)
    return float(moved[0])
