r"""Cuts of a table that keep what a credal partition says together: the core of IEMM.

The utility of saying A where the truth is B (both non-empty) is, for a number :math:`\lambda`,

.. math:: S(A, B) = \left(|B|/|A|\right)^{1/\lambda} [B \subseteq A] \;(\lambda > 0), \qquad
          S(A, B) = \left(|A|/|B|\right)^{1/|\lambda|} [A \subseteq B] \;(\lambda < 0), \qquad [A = B] \;(\lambda = 0),

and :math:`U_i(A) = \sum_B m_i(B)\, S(A, B)`: the belief of A at :math:`\lambda = \infty`, its mass at 0, its commonality at
:math:`-\infty`. See Lopes de Souza et al., arXiv 2507.12192, 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softecm.belief import FocalSets
from softecm.explain.columns import Column, Numbers
from softecm.explain.effects import FloatArray

IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
EQUAL = 1e-12  # costs that differ by less are equal: then the first column and the lowest threshold are taken


def utilities(focal: FocalSets, lam: float) -> FloatArray:
    """S (f, f): how right it is to say the row's set where the column's set is meant.

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
    worth: FloatArray = np.where(inside, ratio ** (0.0 if math.isinf(lam) else 1.0 / abs(lam)), 0.0)
    return worth


@dataclass(frozen=True)
class Cut:
    """Where a node is divided: numbers up to a threshold, or one category, go left."""

    column: int
    threshold: float  # of numbers; the code of a category
    cost: float
    missing_left: bool  # where objects without a value go: with most of the node
    clean: bool = False  # no mass is cut off

    def left(self, column: Column) -> BoolArray:
        """Which objects go left."""
        if isinstance(column, Numbers):
            known, here = np.isfinite(column.values), column.values <= self.threshold
        else:
            known, here = column.codes >= 0, column.codes == self.threshold
        return np.where(known, here, self.missing_left)


@dataclass(frozen=True)
class Material:
    """What cuts are judged by: the columns, utilities, and where each set lies in each column."""

    columns: Sequence[Column]
    masses: FloatArray  # (n, f), weighted, without the empty set
    gains: FloatArray  # (n, f): U_i(A)
    places: Sequence[FloatArray]  # of numbers (f,): means of the sets; of categories (f, categories): shares
    bold: bool
    clean_first: bool  # a cut that cuts off no mass is taken before any other

    @classmethod
    def of(
        cls, columns: Sequence[Column], masses: FloatArray, focal: FocalSets, lam: float, *, clean_first: bool
    ) -> Material:
        """From masses (n, f) without the empty set; weights are in them."""
        places = [_places(column, masses) for column in columns]
        return cls(columns, masses, masses @ utilities(focal, lam).T, places, lam <= 0, clean_first)

    def best(self, rows: IntArray, sets: IntArray) -> tuple[Cut, IntArray] | None:
        """The cheapest cut of a node and the sets that go left; None where none parts the sets."""
        found: tuple[Cut, IntArray] | None = None
        own, lost = self.masses[np.ix_(rows, sets)], self.gains[np.ix_(rows, sets)]
        weights = self.masses[rows].sum(1)
        node = _Node(lost, weights, self.bold, _Node(own, weights, False) if self.clean_first else None)
        for j, column in enumerate(self.columns):
            cut = self._number_cut if isinstance(column, Numbers) else self._word_cut
            tried = cut(j, rows, sets, node)
            if tried is not None and (found is None or _better(tried[0], found[0])):
                found = tried
        return found

    def _number_cut(self, j: int, rows: IntArray, sets: IntArray, node: _Node) -> tuple[Cut, IntArray] | None:
        column, place = self.columns[j], self.places[j][sets]
        assert isinstance(column, Numbers)
        values = column.values[rows]
        known = np.isfinite(values)
        order = np.flatnonzero(known)[np.argsort(values[known], kind="stable")]
        ordered = values[order]
        ends = np.flatnonzero(ordered[1:] > ordered[:-1])  # the last object on the left
        middle = ordered[ends] / 2 + ordered[ends + 1] / 2
        thresholds = np.where(middle < ordered[ends + 1], middle, ordered[ends])  # neighbouring floats have no middle
        if not len(thresholds) or not np.isfinite(place).any():
            return None
        left_sets = place <= thresholds[:, None]  # (cuts, sets); a set that lies nowhere goes right
        most_left = 2 * (ends + 1) >= len(order)

        def sums(part: _Node) -> tuple[FloatArray, FloatArray]:
            return part.sums(order, ends)

        return node.cheapest(j, thresholds, left_sets, most_left, np.flatnonzero(~known), sums)

    def _word_cut(self, j: int, rows: IntArray, sets: IntArray, node: _Node) -> tuple[Cut, IntArray] | None:
        column, shares = self.columns[j], self.places[j][sets]  # (sets, categories)
        assert not isinstance(column, Numbers)
        codes = column.codes[rows]
        known = codes >= 0
        weight = np.bincount(codes[known], node.weights[known], len(column.categories))
        counts = np.bincount(codes[known], minlength=len(column.categories))
        there = np.flatnonzero((counts > 0) & (counts < known.sum()))
        if not len(there):
            return None
        left_sets = (shares[:, there] > weight[there] / max(weight.sum(), 1e-300)).T
        most_left = 2 * counts[there] >= known.sum()

        def sums(part: _Node) -> tuple[FloatArray, FloatArray]:
            gains = np.stack([part.gains[codes == code].sum(0) for code in there])
            return gains, np.broadcast_to(weight[there][:, None], gains.shape)

        return node.cheapest(j, there.astype(np.float64), left_sets, most_left, np.flatnonzero(~known), sums)


def _places(column: Column, masses: FloatArray) -> FloatArray:
    """Where each set lies: the mean of numbers, the shares of categories; NaN where it holds no mass there."""
    if isinstance(column, Numbers):
        known = np.isfinite(column.values)
        held = masses[known].sum(0)
        total = column.values[known] @ masses[known]
        place: FloatArray = np.divide(total, held, out=np.full(len(held), np.nan), where=held > 0)
        return place
    shares = np.stack([masses[column.codes == code].sum(0) for code in range(len(column.categories))], axis=1)
    held = shares.sum(1, keepdims=True)
    parts: FloatArray = np.divide(shares, held, out=np.zeros_like(shares), where=held > 0)
    return parts


@dataclass(frozen=True)
class _Node:
    """Utilities of a node's objects for its sets, and what their sums cost."""

    gains: FloatArray  # (objects, sets)
    weights: FloatArray  # (objects,)
    bold: bool
    plain: _Node | None = None  # the same with masses instead of utilities, where clean cuts are wanted

    def sums(self, order: IntArray, ends: IntArray) -> tuple[FloatArray, FloatArray]:
        """Gains and weights (cuts, sets) of the objects up to each end."""
        gains = self.gains[order].cumsum(0)[ends]
        weights = self.weights[order].cumsum()[ends]
        return gains, np.broadcast_to(weights[:, None], gains.shape)

    def cheapest(
        self,
        j: int,
        thresholds: FloatArray,
        left_sets: BoolArray,
        most_left: BoolArray,
        missing: IntArray,
        sums: Callable[[_Node], tuple[FloatArray, FloatArray]],
    ) -> tuple[Cut, IntArray] | None:
        """The best of some cuts of one column; ``sums`` are gains and weights of the objects that go left."""
        costs = self._costs(left_sets, most_left, missing, sums)
        clean = np.zeros(len(costs), dtype=np.bool_)
        if self.plain is not None:
            clean = self.plain._costs(left_sets, most_left, missing, sums) <= EQUAL
        among = np.flatnonzero(np.isfinite(costs) & (clean if clean.any() else True))
        if not len(among):
            return None
        k = int(among[np.flatnonzero(costs[among] <= costs[among].min() + EQUAL)[0]])
        cut = Cut(j, float(thresholds[k]), float(costs[k]), bool(most_left[k]), bool(clean[k]))
        return cut, np.flatnonzero(left_sets[k])

    def _costs(
        self,
        left_sets: BoolArray,
        most_left: BoolArray,
        missing: IntArray,
        sums: Callable[[_Node], tuple[FloatArray, FloatArray]],
    ) -> FloatArray:
        there, (gains, weights) = most_left[:, None], sums(self)
        gains = gains + there * self.gains[missing].sum(0)
        return self.costs(left_sets, gains, weights + there * self.weights[missing].sum())

    def costs(self, left_sets: BoolArray, gains: FloatArray, weights: FloatArray) -> FloatArray:
        """What each cut costs; infinite where it does not part the sets."""
        here, there = left_sets.sum(1), (~left_sets).sum(1)
        total, whole = self.gains.sum(0), float(self.weights.sum())
        if self.bold:  # what is kept, and how wrong it is on average
            left = (left_sets * (weights - gains)).sum(1) / np.maximum(here, 1)
            right = (~left_sets * ((whole - weights) - (total - gains))).sum(1) / np.maximum(there, 1)
            cost = left + right
        else:  # utility that is cut off
            cost = (~left_sets * gains + left_sets * (total - gains)).sum(1)
        return np.where((here > 0) & (there > 0), cost / max(whole, 1e-300), np.inf)


def _better(cut: Cut, other: Cut) -> bool:
    """Whether a cut of a later column is better: clean where the other is not, else cheaper."""
    return cut.clean if cut.clean != other.clean else cut.cost < other.cost - EQUAL
