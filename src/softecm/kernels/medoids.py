"""Choose a cluster's medoid where every candidate costs a pass over the objects.

Candidates come with a lower bound of their cost, best first; the search ends at the first bound that can't win. So the
choice is that of a search through all of them.
"""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.entry import INDEX, REAL, expect, expect_within
from softecm.kernels.types import Ints, Reals

SAME = 1e-12  # sums that differ by less than this part of themselves are equal but for rounding

_jit = compiled()
_jit_loose = compiled(fastmath=True)


@_jit_loose
def _least_sum(a: Reals, b: Reals) -> float:
    """The smallest entry of a + b; ``fastmath`` lets it use vector registers, and no entry is NaN."""
    least: float = a[0] + b[0]
    for x in range(1, len(a)):
        least = min(least, a[x] + b[x])
    return least


@_jit
def _barycenter(row: Reals, inertia: Reals, squares: Reals) -> int:
    """Position of the least of row + inertia; among equals the one with the least row^2 + squares."""
    least = _least_sum(row, inertia)
    limit = least + SAME * least
    best, chosen = np.inf, -1
    for x in range(len(row)):
        if row[x] + inertia[x] <= limit:
            second = row[x] * row[x] + squares[x]
            if second < best - SAME * best or chosen < 0:
                best, chosen = second, x
    return chosen


@_jit
def _gap_choice(
    d: Reals, candidates: Ints, bounds: Reals, base: Reals, lam: float, inertia: Reals, incumbent: float
) -> tuple[int, float]:
    best, chosen = incumbent, -1
    for i in range(len(candidates)):
        if bounds[i] >= best:
            break
        z = candidates[i]
        cost = base[z]
        for a in range(len(inertia)):
            cost -= lam * _least_sum(d[z], inertia[a])
        if cost < best:
            best, chosen = cost, z
    return chosen, best


@_jit
def _exact_choice(
    d: Reals,
    candidates: Ints,
    bounds: Reals,
    own: Reals,
    floor: float,
    prices: Reals,
    inertia: Reals,
    squares: Reals,
    incumbent: float,
) -> tuple[int, float]:
    best, chosen = incumbent, -1
    for i in range(len(candidates)):
        if bounds[i] >= best:
            break
        z = candidates[i]
        cost = own[z] + floor
        for a in range(len(inertia)):
            if cost >= best:
                break
            cost += prices[a, _barycenter(d[z], inertia[a], squares[a])]  # prices are above their minimum
        if cost < best:
            best, chosen = cost, z
    return chosen, best


def gap_choice(
    d: Reals, candidates: Ints, bounds: Reals, base: Reals, lam: float, inertia: Reals, incumbent: float
) -> tuple[int, float]:
    """Where to put one cluster when the constraint cost is the gap.

    The cost of candidate z is ``base[z] - lam sum_A min_x (d[z, x] + inertia[A, x])``; ``incumbent`` is to be beaten.
    Returns -1 where nothing does.
    """
    d, candidates, bounds = _candidates(d, candidates, bounds)
    n = len(d)
    base = expect("base", base, REAL, (n,))
    inertia = expect("inertia", inertia, REAL, (len(inertia), n))
    return _gap_choice(d, candidates, bounds, base, lam, inertia, incumbent)


def exact_choice(
    d: Reals,
    candidates: Ints,
    bounds: Reals,
    own: Reals,
    floor: float,
    prices: Reals,
    inertia: Reals,
    squares: Reals,
    incumbent: float,
) -> tuple[int, float]:
    """Where to put one cluster when its sets sit on the barycentres of their clusters.

    The cost of candidate z is ``own[z] + sum_A prices[A, x_A(z)]``; ``floor`` is the least the sum can be.
    """
    d, candidates, bounds = _candidates(d, candidates, bounds)
    sets, n = len(inertia), len(d)
    own = expect("own", own, REAL, (n,))
    prices = expect("prices", prices, REAL, (sets, n))
    inertia, squares = expect("inertia", inertia, REAL, (sets, n)), expect("squares", squares, REAL, (sets, n))
    return _exact_choice(d, candidates, bounds, own, floor, prices, inertia, squares, incumbent)


def _candidates(d: Reals, candidates: Ints, bounds: Reals) -> tuple[Reals, Ints, Reals]:
    """A square matrix and some of its rows, each with a bound."""
    d = expect("dissimilarities", d, REAL, (len(d), len(d)))
    candidates = expect("candidates", candidates, INDEX, candidates.shape[:1])
    expect_within("candidates", candidates, len(d))
    return d, candidates, expect("bounds", bounds, REAL, candidates.shape)


@_jit
def _barycenters(d: Reals, members: Ints, starts: Ints, medoids: Ints, out: Ints) -> None:
    n = d.shape[1]
    inertia, squares = np.empty(n, d.dtype), np.empty(n, d.dtype)
    for run in range(len(medoids)):
        for a in range(len(starts) - 1):
            first = d[medoids[run, members[starts[a]]]]
            inertia[:] = 0.0
            squares[:] = 0.0
            for j in range(starts[a] + 1, starts[a + 1]):
                row = d[medoids[run, members[j]]]
                for x in range(n):
                    inertia[x] += row[x]
                    squares[x] += row[x] * row[x]
            out[run, a] = _barycenter(first, inertia, squares)


def barycenters(d: Reals, sets: list[tuple[int, ...]], medoids: Ints) -> Ints:
    """The object with the least sum of dissimilarities to a set's medoids: (runs, c) -> (runs, sets).

    Among equals, the one with the least sum of squares, then the first. Where the triangle inequality holds, both ends of
    a pair are among the minimisers, and objects on the way between them, if there are any, win by their squares.
    """
    out = np.empty((len(medoids), len(sets)), dtype=np.int64)
    members = np.array([k for s in sets for k in s], dtype=np.int64)
    starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    d = expect("dissimilarities", d, REAL, (len(d), len(d)))
    runs, c = medoids.shape
    medoids = expect("medoids", medoids, INDEX, (runs, c))
    expect_within("medoids", medoids, len(d))
    expect_within("clusters of sets", members, c)
    _barycenters(d, members, starts, medoids, out)
    return out
