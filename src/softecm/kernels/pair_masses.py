"""Masses whose belief and plausibility of "these two belong together" are given intervals, object by object.

For each object in turn ``minimise over m_i  sum_j (m_i S m_j - low_ij)^2 + (m_i C m_j - (1 - high_ij))^2`` on the simplex, S
being 1 where both sets are the same single cluster, C where they are disjoint.
"""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.entry import FLOAT64, INDEX, expect, expect_rows, expect_within, expect_writable
from softecm.kernels.simplex_qp import RIDGE, _add_outer, solve
from softecm.kernels.types import Bools, Floats, Ints

_jit = compiled()


@_jit
def _sweep(
    low: Floats, high: Floats, others: Ints, starts: Ints, same: Floats, apart: Floats, masses: Floats, stop: Bools
) -> float:
    n, f = masses.shape
    together, separate = masses @ same, masses @ apart  # rows of m_j S and m_j C, kept up to date
    q, b = np.empty((f, f)), np.empty(f)
    moved = 0.0
    for i in range(n):
        if stop[0]:
            break
        q[:] = 0.0
        b[:] = 0.0
        for e in range(starts[i], starts[i + 1]):
            j = others[e]
            _add_outer(q, together[j], 1.0)
            _add_outer(q, separate[j], 1.0)
            for a in range(f):
                b[a] += low[e] * together[j, a] + (1.0 - high[e]) * separate[j, a]
        before = masses[i].copy()
        for a in range(f):
            q[a, a] += RIDGE
        solve(q, b, masses[i], stop)
        for a in range(f):
            moved = max(moved, abs(masses[i, a] - before[a]))
            together[i, a] = 0.0
            separate[i, a] = 0.0
            for k in range(f):
                together[i, a] += masses[i, k] * same[k, a]
                separate[i, a] += masses[i, k] * apart[k, a]
    return moved


def sweep_pairs(
    low: Floats, high: Floats, others: Ints, starts: Ints, same: Floats, apart: Floats, masses: Floats, stop: Bools
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
    same, apart = expect("same", same, FLOAT64, (f, f)), expect("apart", apart, FLOAT64, (f, f))
    return _sweep(low, high, others, starts, same, apart, masses, stop)
