"""Masses of linked objects, one object after the other (``algorithms/links.py`` has the problem and plain-torch references).

An object's masses depend on its partners' only, so that after the first pass an object is solved again only when a
partner's masses have moved.
"""

from __future__ import annotations

from typing import TypeAlias

import numba as nb
import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.entry import FLOAT64, INDEX, TRUTH, expect, expect_rows, expect_within, expect_writable
from softecm.kernels.types import Bools, Floats, Ints

Prices: TypeAlias = tuple[float, float, float]

PART = 0.3  # of the way to their best masses that objects take when all move at once

_jit = compiled()
_jit_parallel = compiled(parallel=True)


@_jit
def _quadratic(a: Floats, b: Floats, out: Floats) -> None:
    """Minimise sum a m^2 + b m on the simplex: sets in order of b receive mass until the level is below the next b."""
    order = np.argsort(b)
    least = b[order[0]]
    weight, moment, tau = 0.0, 0.0, 0.0
    for position in order:
        level = b[position] - least
        if weight > 0.0 and tau <= level:
            break
        weight += 0.5 / a[position]
        moment += 0.5 / a[position] * level
        tau = (1.0 + moment) / weight  # inf as long as only a switched-off empty set has been met
    total = 0.0
    for k in range(len(b)):
        out[k] = max(0.0, tau - (b[k] - least)) * 0.5 / a[k] if a[k] < np.inf else 0.0
        total += out[k]
    for k in range(len(b)):
        out[k] /= total


@_jit
def _power(a: Floats, b: Floats, beta: float, out: Floats) -> None:
    """Minimise sum a m^beta + b m on the simplex: Newton on the norm of the masses, the level kept in its bracket."""
    n = len(b)
    power = 1.0 / (beta - 1.0)
    least = np.inf
    for k in range(n):
        if a[k] < np.inf:
            least = min(least, b[k])
    shrink = float(n) ** (1.0 - beta)
    low, high = np.inf, np.inf
    for k in range(n):
        low = min(low, b[k] - least + beta * a[k] * shrink)
        high = min(high, b[k] - least + beta * a[k])
    tau = high
    off = np.inf  # how far the norm was from 1
    for _ in range(200):
        total, steep = 0.0, 0.0
        for k in range(n):
            t = (tau - (b[k] - least)) / (beta * a[k])
            if t > 0.0:
                raised = t**power
                total += raised
                steep += raised / t / (beta * a[k])
        norm = total ** (beta - 1.0)
        if norm > 1.0:
            high = tau
        else:
            low = tau
        slow = abs(norm - 1.0) > 0.5 * off
        off = abs(norm - 1.0)
        if off <= 4e-16 or high - low <= 2e-16 * high:
            break
        new = tau - (norm - 1.0) * total / (norm * steep)
        # Above beta = 2 the norm is not convex: halve the bracket where Newton leaves it or does not converge.
        tau = new if low <= new <= high and not slow else 0.5 * (low + high)
    total = 0.0
    for k in range(n):
        t = (tau - (b[k] - least)) / (beta * a[k])
        out[k] = t**power if t > 0.0 else 0.0
        total += out[k]
    for k in range(n):
        out[k] /= total


@_jit
def _solve(a: Floats, b: Floats, beta: float, out: Floats) -> None:
    """Masses of one object, its partners fixed."""
    if beta == 2.0:
        _quadratic(a, b, out)
    else:
        _power(a, b, beta, out)


@_jit
def _slopes(
    masses: Floats,
    i: int,
    prices: Prices,
    starts: Ints,
    partners: Ints,
    together: Bools,
    c: int,
    meets: Bools,
    b: Floats,
) -> None:
    """What each mass of object i adds to the price of its links."""
    must, cannot, empty = prices
    b[:] = 0.0
    for e in range(starts[i], starts[i + 1]):
        other = masses[partners[e]]
        if together[e]:
            for k in range(1, c + 1):
                b[k] -= must * other[k]
            b[0] += -must * (1.0 - other[0]) if np.isnan(empty) else empty
        else:
            for s in range(1, len(b)):
                for t in range(1, len(b)):
                    if meets[s, t]:
                        b[s] += cannot * other[t]


@_jit_parallel
def _descend(
    a: Floats, beta: Floats, masses: Floats, prices: Prices, starts: Ints, partners: Ints, together: Bools,
    c: int, meets: Bools, tol: float, sweeps: int, joint: int,
) -> None:  # fmt: skip
    runs, m, f = masses.shape
    for run in nb.prange(runs):
        b, new = np.empty(f), np.empty(f)
        due = np.ones(m, dtype=np.bool_)
        aims = np.empty((m if joint else 0, f))
        for _ in range(joint):
            largest = 0.0
            for i in range(m):
                _slopes(masses[run], i, prices, starts, partners, together, c, meets, b)
                _solve(a[run, i], b, beta[run], aims[i])
            for i in range(m):
                for s in range(f):
                    step = PART * (aims[i, s] - masses[run, i, s])
                    masses[run, i, s] += step
                    largest = max(largest, abs(step))
            if largest <= tol:
                break
        for _ in range(sweeps):
            moved = False
            for i in range(m):
                if not due[i]:
                    continue
                due[i] = False
                _slopes(masses[run], i, prices, starts, partners, together, c, meets, b)
                _solve(a[run, i], b, beta[run], new)
                change = 0.0
                for s in range(f):
                    change = max(change, abs(new[s] - masses[run, i, s]))
                    masses[run, i, s] = new[s]
                if change > tol:
                    moved = True
                    for e in range(starts[i], starts[i + 1]):
                        due[partners[e]] = True
            if not moved:
                break


def descend(
    a: Floats,
    beta: Floats,
    masses: Floats,
    prices: Prices,
    starts: Ints,
    partners: Ints,
    together: Bools,
    c: int,
    meets: Bools,
    tol: float,
    sweeps: int,
    joint: int = 0,
) -> None:
    """Lower the objective of linked objects in place until no object alone can by more than ``tol`` in its masses.

    Parameters
    ----------
    a, masses : (runs, m, f + 1), the empty set first; ``a`` is inf where it is switched off
    beta : (runs,)
    prices : of a broken must-link, a broken cannot-link, and of a must-linked object's mass on the empty set (NaN: as the
        article has it)
    starts, partners, together : the links of object i are entries ``starts[i]`` to ``starts[i + 1]``: the other object, and
        whether it is a must-link
    joint : first so many steps in which all objects move part of the way at once, so that none has the advantage of being
        first
    """
    runs, m, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (runs, m, f))
    a = expect("prices", a, FLOAT64, (runs, m, f))
    beta = expect("beta", beta, FLOAT64, (runs,))
    meets = expect("meets", meets, TRUTH, (f, f))
    partners = expect("partners", partners, INDEX, partners.shape[:1])
    together = expect("together", together, TRUTH, partners.shape)
    starts = expect_rows("starts", starts, m, len(partners))
    expect_within("partners", partners, m)
    if not 0 <= c < f:
        raise ValueError(f"c must lie between 0 and {f - 1}, the number of sets; got {c}.")
    _descend(a, beta, masses, prices, starts, partners, together, c, meets, tol, sweeps, joint)
