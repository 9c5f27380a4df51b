r"""Splits of a table that preserve a credal partition: the core of IEMM.

The utility of predicting A if the truth is B (both non-empty) is, for a number :math:`\lambda`,

.. math:: S(A, B) = \left(|B|/|A|\right)^{1/\lambda} [B \subseteq A] \;(\lambda > 0), \qquad
          S(A, B) = \left(|A|/|B|\right)^{1/|\lambda|} [A \subseteq B] \;(\lambda < 0), \qquad [A = B] \;(\lambda = 0),

and :math:`U_i(A) = \sum_B m_i(B)\, S(A, B)`: the belief of A at :math:`\lambda = \infty`, its mass at 0, its
commonality at
:math:`-\infty`. See Lopes de Souza et al., arXiv 2507.12192, 2025.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softecm.belief import FocalSets
from softecm.explain.columns import BoolArray, Column, Cuts, IntArray
from softecm.explain.effects import FloatArray

EQUAL = 1e-12  # smaller differences of costs are ties: take the first column and the lowest threshold


def utilities(focal: FocalSets, lam: float) -> FloatArray:
    """Return S (f, f): the utility of predicting the row's set if the truth is the column's set.

    Examples
    --------
    >>> utilities(FocalSets.full(2), 1.0)
    array([[1. , 0. , 0. ],
           [0. , 1. , 0. ],
           [0.5, 0.5, 1. ]])
    """
    member = focal.membership.astype(np.float64)  # (f, c)
    size = member.sum(1)
    common = member @ member.T
    if lam == 0:
        return np.eye(len(size))
    inside = common == (size[None, :] if lam > 0 else size[:, None])  # B ⊆ A, or A ⊆ B
    ratio = np.minimum(size[:, None], size) / np.maximum(size[:, None], size)
    return np.where(inside, ratio ** (0.0 if math.isinf(lam) else 1.0 / abs(lam)), 0.0)


@dataclass(frozen=True)
class Cut:
    """A split of a node: numbers up to a threshold, or one category, go left."""

    column: int
    threshold: float  # of numbers, or the code of a category
    cost: float
    missing_left: bool  # whether objects without a value go left, like most of the node
    clean: bool = False  # no mass is lost

    def left(self, column: Column) -> BoolArray:
        """Return which objects go left."""
        return column.goes_left(self.threshold, self.missing_left)


@dataclass(frozen=True)
class Material:
    """Data for evaluating cuts: the columns, utilities, and the position of each set in each column."""

    columns: Sequence[Column]
    masses: FloatArray  # (n, f), weighted, without the empty set
    gains: FloatArray  # (n, f): U_i(A)
    places: Sequence[FloatArray]  # of numbers (f,): means of the sets; of categories (f, categories): shares
    bold: bool
    clean_first: bool  # prefer a cut that loses no mass

    @classmethod
    def of(
        cls, columns: Sequence[Column], masses: FloatArray, focal: FocalSets, lam: float, *, clean_first: bool
    ) -> Material:
        """Build the material from weighted masses (n, f) without the empty set."""
        places = [column.places(masses) for column in columns]
        return cls(columns, masses, masses @ utilities(focal, lam).T, places, lam <= 0, clean_first)

    def best(self, rows: IntArray, sets: IntArray) -> tuple[Cut, IntArray] | None:
        """Return the cheapest cut of a node and the sets that go left; None if none separates the sets."""
        best: tuple[Cut, IntArray] | None = None
        masses, gains = self.masses[np.ix_(rows, sets)], self.gains[np.ix_(rows, sets)]
        weights = self.masses[rows].sum(1)
        node = _Node(gains, weights, self.bold, _Node(masses, weights, False) if self.clean_first else None)
        for j, column in enumerate(self.columns):
            cuts = column.cuts(rows, self.places[j][sets], weights)
            cheapest = None if cuts is None else node.cheapest(j, cuts)
            if cheapest is not None and (best is None or _better(cheapest[0], best[0])):
                best = cheapest
        return best


@dataclass(frozen=True)
class _Node:
    """Utilities of a node's objects for its sets, and the cost of their sums."""

    gains: FloatArray  # (objects, sets)
    weights: FloatArray  # (objects,)
    bold: bool
    plain: _Node | None = None  # the same with masses instead of utilities, for clean cuts

    def cheapest(self, j: int, cuts: Cuts) -> tuple[Cut, IntArray] | None:
        """Return the best cut of column j, and the sets that go left."""
        costs = self.costs(cuts)
        clean = np.zeros(len(costs), dtype=np.bool_) if self.plain is None else self.plain.costs(cuts) <= EQUAL
        among = np.flatnonzero(np.isfinite(costs) & (clean if clean.any() else True))
        if not len(among):
            return None
        k = int(among[np.flatnonzero(costs[among] <= costs[among].min() + EQUAL)[0]])
        cut = Cut(j, float(cuts.thresholds[k]), float(costs[k]), bool(cuts.most_left[k]), bool(clean[k]))
        return cut, np.flatnonzero(cuts.left_sets[k])

    def costs(self, cuts: Cuts) -> FloatArray:
        """Return the cost of each cut; infinite if it does not separate the sets."""
        left_sets, missing_left = cuts.left_sets, cuts.most_left[:, None]
        gains, weights = cuts.sums(self.gains, self.weights)
        gains = gains + missing_left * self.gains[cuts.missing].sum(0)
        weights = np.broadcast_to(weights[:, None], gains.shape) + missing_left * self.weights[cuts.missing].sum()
        here, there = left_sets.sum(1), (~left_sets).sum(1)
        total, whole = self.gains.sum(0), float(self.weights.sum())
        if self.bold:  # utility kept, and the mean error
            left = (left_sets * (weights - gains)).sum(1) / np.maximum(here, 1)
            right = (~left_sets * ((whole - weights) - (total - gains))).sum(1) / np.maximum(there, 1)
            cost = left + right
        else:  # utility lost
            cost = (~left_sets * gains + left_sets * (total - gains)).sum(1)
        return np.where((here > 0) & (there > 0), cost / max(whole, 1e-300), np.inf)


def _better(cut: Cut, other: Cut) -> bool:
    """Whether a cut of a later column is better: clean if the other is not, otherwise cheaper."""
    return cut.clean if cut.clean != other.clean else cut.cost < other.cost - EQUAL
