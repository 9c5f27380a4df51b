"""Selection of a cluster's medoid if every candidate costs a pass over the objects (``native/medoids.h``).

Candidates come with a lower bound of their cost, best first; the search ends at the first bound that can't win. The
result equals that of a search through all of them.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import DTypeLike

from softecm.kernels.types import Ints, Reals
from softecm.native.library import INDEX, REAL, Array, Float, Int, expect, expect_within, function

_BEST = ctypes.POINTER(Float)
_CANDIDATES = (Array, Int, Array, Array, Int)
_SIZES = {4: "f32", 8: "f64"}  # suffixes of a kernel's name, by bytes of a number
_gap_choice = {
    size: function(f"gap_choice_{end}", *_CANDIDATES, Array, Float, Array, Int, _BEST, result=Int)
    for size, end in _SIZES.items()
}
_exact_choice = {
    size: function(f"exact_choice_{end}", *_CANDIDATES, Array, Float, *[Array] * 3, Int, _BEST, result=Int)
    for size, end in _SIZES.items()
}
_barycenters = {
    size: function(f"medoid_barycenters_{end}", Array, Int, Array, Array, Int, Array, Int, Int, Array, Array)
    for size, end in _SIZES.items()
}


def gap_choice(
    d: Reals, candidates: Ints, bounds: Reals, base: Reals, lam: float, inertia: Reals, incumbent: float
) -> tuple[int, float]:
    """Return the best position of one cluster if the constraint cost is the gap.

    The cost of candidate z is ``base[z] - lam sum_A min_x (d[z, x] + inertia[A, x])``; ``incumbent`` is to be beaten.
    Returns -1 if none is better.
    """
    (d, candidates, bounds), best = _candidates(d, candidates, bounds), Float(incumbent)
    sets, n = len(inertia), len(d)
    base, inertia = _numbers("base", base, (n,)), _numbers("inertia", inertia, (sets, n), d.dtype)
    call = _gap_choice[d.itemsize]
    chosen = call(d, n, candidates, bounds, len(candidates), base, lam, inertia, sets, best)
    return chosen, best.value


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
    """Return the best position of one cluster if its sets are at the barycentres of their clusters.

    The cost of candidate z is ``own[z] + sum_A prices[A, x_A(z)]``; ``floor`` is a lower bound of the sum.
    """
    (d, candidates, bounds), best = _candidates(d, candidates, bounds), Float(incumbent)
    sets, n = len(inertia), len(d)
    own, prices = _numbers("own", own, (n,)), _numbers("prices", prices, (sets, n))
    around = [_numbers(name, a, (sets, n), d.dtype) for name, a in (("inertia", inertia), ("squares", squares))]
    call = _exact_choice[d.itemsize]
    chosen = call(d, n, candidates, bounds, len(candidates), own, floor, prices, *around, sets, best)
    return chosen, best.value


def barycenters(d: Reals, sets: list[tuple[int, ...]], medoids: Ints) -> Ints:
    """Return the object with the least sum of dissimilarities to a set's medoids: (runs, c) -> (runs, sets).

    Ties are broken by the sum of squares, then by index. If the triangle inequality holds, both ends of a pair are
    among the minimizers, and objects between them, if any, win by their squares.
    """
    out = np.empty((len(medoids), len(sets)), dtype=np.int64)
    members = np.array([k for s in sets for k in s], dtype=np.int64)
    starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    d = expect("dissimilarities", d, REAL, (len(d), len(d)))
    runs, c = medoids.shape
    medoids = expect("medoids", medoids, INDEX, (runs, c))
    expect_within("medoids", medoids, len(d))
    expect_within("clusters of sets", members, c)
    room = np.empty((2, len(d)), dtype=d.dtype)
    _barycenters[d.itemsize](d, len(d), members, starts, len(sets), medoids, runs, c, room, out)
    return out


def _candidates(d: Reals, candidates: Ints, bounds: Reals) -> tuple[Reals, Ints, Reals]:
    """Return a square matrix and some of its rows, each with a bound, validated."""
    d = expect("dissimilarities", d, REAL, (len(d), len(d)))
    candidates = expect("candidates", candidates, INDEX, candidates.shape[:1])
    expect_within("candidates", candidates, len(d))
    return d, candidates, _numbers("bounds", bounds, candidates.shape)


def _numbers(name: str, array: Reals, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Reals:
    """Return an array of this shape in the kernel's precision."""
    return expect(name, array, REAL, shape).astype(dtype, copy=False)
