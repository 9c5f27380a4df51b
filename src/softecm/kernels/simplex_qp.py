"""Least squares on the simplex, exactly: small quadratic programmes by an active-set method.

``minimise m'Qm / 2 - b'm  over  m >= 0, sum(m) = 1`` for a positive definite Q of a few dozen rows. The set of positive
entries starts from a given m, so that in an alternating scheme most programmes take one or two small Cholesky solves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.entry import FLOAT64, INDEX, expect, expect_rows, expect_within, expect_writable
from softecm.kernels.types import Bools, Floats, Ints

_jit = compiled()

FLAG = frozenset({np.dtype(np.bool_)})
RIDGE = 1e-8  # added to the diagonal of Q: of equally good masses the shortest
GAIN = 1e-12  # an entry is let in only if the slope towards it falls by more than this part of the largest coefficient


class Pull(NamedTuple):
    """What other objects' masses add to an object's price: ``2 weights[t] m_i' matrix m_j`` for j = ``others[t]``.

    Those of object i are ``others[starts[i]:starts[i + 1]]``.
    """

    starts: Ints  # (n + 1,)
    others: Ints
    weights: Floats
    matrix: Floats  # (f, f)


@_jit
def _solve_on(
    q: Floats, b: Floats, m: Floats, free: Ints, size: int, factor: Floats, first: Floats, second: Floats
) -> None:
    """The minimiser on the entries ``free[:size]`` with sum 1 and no sign, into ``first``.

    Found as a step from ``m``: where Q hardly holds an entry, the minimiser from nothing is the difference of huge numbers.
    """
    for i in range(size):
        for j in range(i + 1):
            s = q[free[i], free[j]]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(s, 1e-300))
            else:
                factor[i, j] = s / factor[j, j]
    for i in range(size):  # L y = b - Q m and L y = 1
        s, t = b[free[i]], 1.0
        for k in range(size):
            s -= q[free[i], free[k]] * m[free[k]]
        for k in range(i):
            s -= factor[i, k] * first[k]
            t -= factor[i, k] * second[k]
        first[i], second[i] = s / factor[i, i], t / factor[i, i]
    for i in range(size - 1, -1, -1):
        s, t = first[i], second[i]
        for k in range(i + 1, size):
            s -= factor[k, i] * first[k]
            t -= factor[k, i] * second[k]
        first[i], second[i] = s / factor[i, i], t / factor[i, i]
    total, unit = 0.0, 0.0
    for i in range(size):
        total += first[i]
        unit += second[i]
    level = -total / unit
    for i in range(size):
        first[i] += m[free[i]] + level * second[i]


@_jit
def solve(q: Floats, b: Floats, m: Floats, stop: Bools) -> None:
    """Move ``m``, a point of the simplex, to the minimiser; in place. Part of the way only once ``stop[0]`` is set."""
    f = len(b)
    free = np.empty(f, np.int64)
    inside = np.empty(f, np.bool_)
    factor = np.empty((f, f))
    target, second = np.empty(f), np.empty(f)
    scale = 0.0
    for i in range(f):
        inside[i] = m[i] > 0.0
        scale = max(scale, q[i, i], abs(b[i]))
    for _ in range(50 * f):
        if stop[0]:
            break
        size = 0
        for i in range(f):
            if inside[i]:
                free[size] = i
                size += 1
        _solve_on(q, b, m, free, size, factor, target, second)
        step, blocking = 1.0, -1
        for i in range(size):
            if target[i] < 0.0:
                now = m[free[i]]
                part = now / (now - target[i])
                if part < step:
                    step, blocking = part, i
        for i in range(size):
            m[free[i]] += step * (target[i] - m[free[i]])
        if blocking >= 0:  # an entry reached 0 on the way: go on without it
            m[free[blocking]] = 0.0
            inside[free[blocking]] = False
        total = 0.0
        for i in range(size):
            total += m[free[i]]
        for i in range(size):  # long steps leave the sum by their rounding
            m[free[i]] /= total
        if blocking >= 0:
            continue
        level = 0.0  # the slope, equal for all free entries
        for i in range(size):
            s = -b[free[i]]
            for j in range(size):
                s += q[free[i], free[j]] * m[free[j]]
            level += s / size
        entering, steepest = -1, -GAIN * scale
        for i in range(f):
            if not inside[i]:
                s = -b[i] - level
                for j in range(size):
                    s += q[i, free[j]] * m[free[j]]
                if s < steepest:
                    entering, steepest = i, s
        if entering < 0:
            break
        inside[entering] = True


@_jit
def _add_outer(total: Floats, row: Floats, sign: float) -> None:
    for i in range(len(row)):
        for j in range(len(row)):
            total[i, j] += sign * row[i] * row[j]


@_jit
def _cost(q: Floats, b: Floats, m: Floats) -> float:
    """The squared misfit but for a constant, ``m'Qm - 2 b'm``."""
    value = 0.0
    for i in range(len(m)):
        s = -2.0 * b[i]
        for j in range(len(m)):
            s += q[i, j] * m[j]
        value += m[i] * s
    return value


@_jit
def _place(
    q: Floats, b: Floats, conflict: Floats, masses: Floats, plain: Floats, i: int, stop: Bools, ridge: float
) -> float:
    """Fit one object's masses; returns by how much its misfit fell."""
    f = len(b)
    for a in range(f):
        q[a, a] += ridge
    before = _cost(q, b, masses[i])
    solve(q, b, masses[i], stop)
    for a in range(f):
        plain[i, a] = 0.0
        for k in range(f):
            plain[i, a] += masses[i, k] * conflict[k, a]
    fallen: float = before - _cost(q, b, masses[i])
    return fallen


@_jit
def _pulled(b: Floats, pull: Pull, masses: Floats, i: int) -> None:
    """Take what pulls at object i off its linear term."""
    for t in range(pull.starts[i], pull.starts[i + 1]):
        for k in range(len(b)):
            part = pull.weights[t] * masses[pull.others[t], k]
            for a in range(len(b)):
                b[a] -= part * pull.matrix[k, a]


@_jit
def _sweep_all(phi: Floats, conflict: Floats, masses: Floats, stop: Bools, pull: Pull, ridge: float) -> float:
    n, f = masses.shape
    plain = masses @ conflict  # rows of m_j' C, kept up to date
    gram = plain.T @ plain
    q, b = np.empty((f, f)), np.empty(f)
    gained = 0.0
    for i in range(n):
        if stop[0]:
            break
        b[:] = phi[i] @ plain
        _pulled(b, pull, masses, i)
        _add_outer(gram, plain[i], -1.0)
        q[:] = gram
        gained += _place(q, b, conflict, masses, plain, i, stop, ridge)
        _add_outer(gram, plain[i], 1.0)
    return gained


@_jit
def _sweep_some(
    phi: Floats, others: Ints, starts: Ints, conflict: Floats, masses: Floats, stop: Bools, pull: Pull, ridge: float
) -> float:
    n, f = masses.shape
    plain = masses @ conflict
    q, b = np.empty((f, f)), np.empty(f)
    gained = 0.0
    for i in range(n):
        if stop[0]:
            break
        q[:] = 0.0
        b[:] = 0.0
        for j in range(starts[i], starts[i + 1]):
            row = plain[others[j]]
            _add_outer(q, row, 1.0)
            for a in range(f):
                b[a] += phi[j] * row[a]
        _pulled(b, pull, masses, i)
        gained += _place(q, b, conflict, masses, plain, i, stop, ridge)
    return gained


def _flag(stop: Bools) -> Bools:
    """The very array, which another thread may set."""
    expect_writable("stop", stop, FLAG, (1,))
    return stop


def _checked(pull: Pull | None, n: int, f: int) -> Pull:
    """What pulls, as the kernel may index it; nothing for None."""
    if pull is None:
        return Pull(np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((f, f)))
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
    """Fit every object's masses in turn to its conflicts with all others; in place. Ends early once ``stop[0]`` is set.

    ``phi`` (n, n) is zero on its diagonal. Returns by how much the sum of the objects' misfits fell, with what pulls at
    them; as each pair belongs to two objects, the sum over pairs (i, j), i != j, falls by twice that.
    """
    n, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (n, f))
    conflict = expect("conflict", conflict, FLOAT64, (f, f))
    phi = expect("phi", phi, FLOAT64, (n, n))
    return _sweep_all(phi, conflict, masses, _flag(stop), _checked(pull, n, f), ridge)


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
    """The same with some others each: those of object i are ``others[starts[i]:starts[i + 1]]``, with their ``phi``."""
    n, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (n, f))
    others = expect("others", others, INDEX, others.shape[:1])
    starts = expect_rows("starts", starts, n, len(others))
    expect_within("others", others, n)
    conflict = expect("conflict", conflict, FLOAT64, (f, f))
    phi, pull = expect("phi", phi, FLOAT64, others.shape), _checked(pull, n, f)
    return _sweep_some(phi, others, starts, conflict, masses, _flag(stop), pull, ridge)


@_jit
def _fit_rows(q: Floats, b: Floats, masses: Floats, stop: Bools) -> None:
    for i in range(len(b)):
        solve(q, b[i], masses[i], stop)


def fit_rows(q: Floats, b: Floats) -> Floats:
    """Minimisers (n, f) for one Q (f, f) and many b (n, f)."""
    n, f = b.shape
    masses, stop = np.full((n, f), 1.0 / f), np.zeros(1, dtype=np.bool_)
    _fit_rows(expect("q", q, FLOAT64, (f, f)), expect("b", b, FLOAT64, (n, f)), masses, stop)
    return masses
