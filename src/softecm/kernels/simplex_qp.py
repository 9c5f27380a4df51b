"""Least squares on the simplex, exactly: small quadratic programs by an active-set method (``native/simplex.c``).

``minimize m'Qm / 2 - b'm  subject to  m >= 0, sum(m) = 1`` for a positive definite Q of a few dozen rows. The set of
positive entries starts from a given m, so that in an alternating scheme most programs take one or two small Cholesky
solves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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

FLAG = frozenset({np.dtype(np.bool_)})
RIDGE = 1e-8  # added to the diagonal of Q: selects the shortest of equally good masses

_PULL = (Array, Array, Array, Array)
_sweep = function("simplex_sweep", *[Array] * 5, Int, Int, Array, Array, *_PULL, Float, Array, Array, result=status)
_fit_rows = function("simplex_rows", Array, Array, Array, Int, Int, Array, result=status)
_sweep_pairs = function("pair_sweep", *[Array] * 7, Int, Int, Array, Array, Float, Array, Array, result=status)


class Pull(NamedTuple):
    """Contribution of other objects to an object's cost: ``2 weights[t] m_i' matrix m_j`` for j = ``others[t]``.

    Those of object i are ``others[starts[i]:starts[i + 1]]``.
    """

    starts: Ints  # (n + 1,)
    others: Ints
    weights: Floats
    matrix: Floats  # (f, f)


def _flag(stop: Bools) -> Bools:
    """Return the same array, which another thread may set."""
    expect_writable("stop", stop, FLAG, (1,))
    return stop


def _checked(pull: Pull | None, n: int, f: int) -> Pull | tuple[None, None, None, None]:
    """Return the pull, validated for the kernel."""
    if pull is None:
        return None, None, None, None
    others = expect("others", pull.others, INDEX, pull.others.shape[:1])
    expect_within("others", others, n)
    return Pull(
        expect_rows("starts", pull.starts, n, len(others)),
        others,
        expect("weights", pull.weights, FLOAT64, others.shape),
        expect("matrix", pull.matrix, FLOAT64, (f, f)),
    )


def sweep_all(
    phi: Floats, conflict: Floats, masses: Floats, stop: Bools, pull: Pull | None = None, ridge: float = RIDGE
) -> float:
    """Fit every object's masses in turn to its conflicts with all others; in place. Stops once ``stop[0]`` is set.

    ``phi`` (n, n) is zero on its diagonal. Returns the decrease of the sum of the objects' misfits, including the pull;
    as each pair belongs to two objects, the sum over pairs (i, j), i != j, decreases by twice that.
    """
    n, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (n, f))
    conflict = expect("conflict", conflict, FLOAT64, (f, f))
    phi = expect("phi", phi, FLOAT64, (n, n))
    plain, gained = masses @ conflict, np.zeros(1)
    gram, pulls = plain.T @ plain, _checked(pull, n, f)
    _sweep(phi, None, None, conflict, masses, n, f, plain, gram, *pulls, ridge, _flag(stop), gained)
    return float(gained[0])


def sweep_some(
    phi: Floats,
    others: Ints,
    starts: Ints,
    conflict: Floats,
    masses: Floats,
    stop: Bools,
    pull: Pull | None = None,
    ridge: float = RIDGE,
) -> float:
    """The same with a subset of others: those of object i are ``others[starts[i]:starts[i + 1]]``, with their ``phi``."""
    n, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (n, f))
    others = expect("others", others, INDEX, others.shape[:1])
    starts = expect_rows("starts", starts, n, len(others))
    expect_within("others", others, n)
    conflict = expect("conflict", conflict, FLOAT64, (f, f))
    phi, pulls = expect("phi", phi, FLOAT64, others.shape), _checked(pull, n, f)
    plain, gained = masses @ conflict, np.zeros(1)
    _sweep(phi, others, starts, conflict, masses, n, f, plain, None, *pulls, ridge, _flag(stop), gained)
    return float(gained[0])


def fit_rows(q: Floats, b: Floats, start: Floats | None = None, stop: Bools | None = None) -> Floats:
    """Return minimizers (n, f) for one Q (f, f) and many b (n, f); ``start`` holds initial points (n, f)."""
    n, f = b.shape
    masses = np.full((n, f), 1.0 / f) if start is None else expect("start", start, FLOAT64, (n, f)).copy()
    flag = _flag(np.zeros(1, dtype=np.bool_) if stop is None else stop)
    _fit_rows(expect("q", q, FLOAT64, (f, f)), expect("b", b, FLOAT64, (n, f)), masses, n, f, flag)
    return masses


def sweep_pairs(
    low: Floats, high: Floats, others: Ints, starts: Ints, same: Floats, disjoint: Floats, masses: Floats, stop: Bools
) -> float:
    """Fit every object's masses in turn, in place; return the largest change of a mass.

    For each object ``minimize over m_i  sum_j (m_i S m_j - low_ij)^2 + (m_i C m_j - (1 - high_ij))^2`` on the simplex,
    with S = 1 if both sets are the same single cluster (``same``), C = 1 if they are disjoint. The objects compared
    with i are ``others[starts[i]:starts[i + 1]]``, with their ``low`` and ``high``.
    """
    n, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (n, f))
    others = expect("others", others, INDEX, others.shape[:1])
    starts = expect_rows("starts", starts, n, len(others))
    expect_within("others", others, n)
    low, high = expect("low", low, FLOAT64, others.shape), expect("high", high, FLOAT64, others.shape)
    same, disjoint = expect("same", same, FLOAT64, (f, f)), expect("disjoint", disjoint, FLOAT64, (f, f))
    rows, moved = (masses @ same, masses @ disjoint), np.zeros(1)
    _sweep_pairs(low, high, others, starts, same, disjoint, masses, n, f, *rows, RIDGE, _flag(stop), moved)
    return float(moved[0])
