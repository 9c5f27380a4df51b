"""A small decision tree that explains a credal partition and its uncertainty by any table of the same objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from softecm._checks import as_numbers, is_number, is_whole
from softecm._text import counted, number_of
from softecm.belief import CredalPartition, FocalSets
from softecm.explain.columns import Column, IntArray, measured
from softecm.explain.cuts import EQUAL, Cut, Material, utilities
from softecm.explain.effects import FloatArray
from softecm.explain.nodes import Branch, Leaf, Node, draw, leaf_numbers, n_leaves, sets_of
from softecm.scores.checks import as_partition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAMBDAS = (-math.inf, -1.0, 0.0, 1.0, math.inf)  # at which a tree is evaluated, bold to cautious
BOUNDED = 2.0  # with a larger lambda the best prediction is always Ω (or, bold, a single cluster)
FEWEST = 2  # minimum number of objects per fold
DIGITS = 6  # of masses, as in a saved partition, whose tree is then that of the fit


class ExplanationTree(BaseEstimator):
    r"""Rules that predict an object's set of clusters: a decision tree for a credal partition (IEMM).

    Each cut divides the objects, and the sets by the position of their centroids, so that as little of the partition's
    information as possible is lost. There are at most as many leaves as sets; a set may have several. The table need
    not be what was clustered: a table of patients can explain series or texts.

    The utility of a leaf that predicts A for an object in B depends on ``lam``: for a cautious tree (above 0) a set
    that contains B is partly right, :math:`(|B|/|A|)^{1/\lambda}`; for a bold one (below 0) a part of B is; at 0 only B
    itself. Its mean over objects and their masses is the representativeness R of the tree, from 0 to 1.

    Parameters
    ----------
    lam : float, default=1.0
        From ``-inf`` (bold: predicts single clusters) over 0 to ``inf`` (cautious: predicts sets).
    leaves : {"auto", "best", "own"}, default="auto"
        What a leaf predicts: "best", the set with the highest utility for its objects; "own", the set of its centroid,
        as published. With "best", cuts that lose no mass are preferred, so that groups that are boxes in the table are
        found exactly. "auto" is "best" if ``abs(lam)`` is at most 2: beyond, the best would always be Ω, or single
        clusters.
    min_gain : float, default=0.005
        Undo a last cut that raises R by less, and any cut that does not raise it. For "best" leaves.
    cv : int, default=5
        Number of folds for cross-validating R. 0 skips it.

    Attributes
    ----------
    tree_ : Branch or Leaf
    leaves_ : list of Leaf
    representativeness_ : dict
        R at several lambda, on the objects of the fit.
    honest_ : dict
        The same for held-out objects; empty without ``cv``.
    ceiling_ : dict
        The maximum over predictions of one set per object.
    mistakes_ : ndarray of int
        Objects for which the prediction has no utility given their own set (largest mass), except outliers.
    nowhere_ : int
        Number of outliers: no rule predicts that an object belongs nowhere.
    n_features_in_, feature_names_in_, focal_sets_

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import CredalPartition
    >>> from softecm.explain import ExplanationTree
    >>> ages, partition = np.array([[3.0], [5], [9], [41], [44], [52]]), CredalPartition.from_hard([0, 0, 0, 1, 1, 1])
    >>> print(ExplanationTree(cv=0).fit(partition, ages, columns=["age"]).export_text())
    age ≤ 25: group 1 (3 objects, 1.00)
    age > 25: group 2 (3 objects, 1.00)

    References
    ----------
    Lopes de Souza et al., arXiv 2507.12192, 2025 (IEMM).
    """

    tree_: Branch | Leaf
    focal_sets_: FocalSets
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    representativeness_: dict[float, float]
    honest_: dict[float, float]
    ceiling_: dict[float, float]
    mistakes_: IntArray
    nowhere_: int

    def __init__(self, lam: float = 1.0, *, leaves: str = "auto", min_gain: float = 0.005, cv: int = 5) -> None:
        self.lam = lam
        self.leaves = leaves
        self.min_gain = min_gain
        self.cv = cv

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        partition: CredalPartition,
        table: Any,
        sample_weight: ArrayLike | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Fit the rules.

        Parameters
        ----------
        partition : CredalPartition
        table : data frame, 2-D array, or series (described by segments of their time)
            Of the same objects, in the same order. Missing values are allowed and go with most of the others.
        sample_weight : array-like of shape (n,), optional
            Weight of each object.
        columns : sequence of str, optional
            Names for the columns of an array.
        """
        lam, best = self._checked()
        as_partition("partition", partition, at_least=0)
        cells = _columns_of(table, columns, len(partition))
        weights = _weights(sample_weight, len(partition))
        self.focal_sets_ = partition.focal_sets
        self._columns = tuple(column.of_rows(np.empty(0, dtype=np.intp)) for column in cells)
        self.n_features_in_ = len(cells)
        self.feature_names_in_ = np.array([column.name for column in cells], dtype=object)
        masses = partition.masses * weights[:, None]
        grown = partial(_grown, cells, masses, partition.focal_sets, lam, best, float(self.min_gain))
        self.tree_ = grown(np.flatnonzero(weights > 0))
        sets, own = sets_of(self.tree_, cells), masses[:, 1:]
        judged = sorted({*LAMBDAS, lam})
        self.representativeness_ = {at: _score(own, partition.focal_sets, sets, at) for at in judged}
        self.ceiling_ = {at: _score(own, partition.focal_sets, None, at) for at in judged}
        self.honest_ = self._honest(grown, cells, own) if self.cv else {}
        right = utilities(partition.focal_sets, lam)[sets - 1, partition.masses[:, 1:].argmax(1)]
        self.mistakes_ = np.flatnonzero((right == 0) & (partition.masses.argmax(1) > 0))
        self.nowhere_ = int((partition.masses.argmax(1) == 0).sum())
        return self

    def _honest(
        self, grown: Callable[[IntArray], Node], columns: Sequence[Column], own: FloatArray
    ) -> dict[float, float]:
        """Return R on held-out objects."""
        rows = np.flatnonzero(own.sum(1) > 0)
        parts = min(int(self.cv), len(rows) // FEWEST)
        if parts < 2:
            return {}
        fold = np.random.default_rng(0).permutation(len(rows)) % parts
        sets = np.ones(len(own), dtype=np.intp)
        for part in range(parts):
            tree = grown(rows[fold != part])
            sets[rows[fold == part]] = sets_of(tree, [column.of_rows(rows[fold == part]) for column in columns])
        return {at: _score(own, self.focal_sets_, sets, at) for at in self.representativeness_}

    def _checked(self) -> tuple[float, bool]:
        if not is_number(self.lam) or math.isnan(self.lam):
            raise ValueError(f"lam must be a number, from -inf (bold) to inf (cautious); got {self.lam!r}. 1 is usual.")
        if self.leaves not in ("auto", "best", "own"):
            raise ValueError(f'leaves must be "auto", "best" or "own"; got {self.leaves!r}.')
        if not is_number(self.min_gain) or not 0 <= self.min_gain < 1:
            raise ValueError(f"min_gain must be a share of R, at least 0 and below 1; got {self.min_gain!r}.")
        if not is_whole(self.cv) or self.cv < 0 or self.cv == 1:
            raise ValueError(f"cv must be a number of folds of at least 2, or 0 for none; got {self.cv!r}.")
        lam = float(self.lam)
        return lam, self.leaves == "best" or (self.leaves == "auto" and abs(lam) <= BOUNDED)

    # ------------------------------------------------------------------ prediction

    def predict(self, table: object) -> NDArray[np.object_]:
        """Return the set of clusters predicted for each object, as tuples, (n,)."""
        columns = self._as_in_fit(table)
        sets = np.empty(len(self.focal_sets_) + 1, dtype=object)
        sets[:] = [(), *self.focal_sets_.sets]
        return sets[sets_of(self.tree_, columns)]

    def predict_partition(self, table: Any) -> CredalPartition:
        """Return a credal partition in which each object has the mean masses of its leaf."""
        which = leaf_numbers(self.tree_, self._as_in_fit(table))
        masses = np.stack([leaf.masses for leaf in self.leaves_])[which]
        return CredalPartition(masses / masses.sum(1, keepdims=True), self.focal_sets_)

    def _as_in_fit(self, table: object) -> list[Column]:
        check_is_fitted(self)
        return _alike(_columns_of(table, None, None), self._columns)

    @property
    def leaves_(self) -> list[Leaf]:
        """The leaves from left to right."""
        check_is_fitted(self)
        return list(self.tree_.leaves())

    def rules(self) -> list[str]:
        """Return one line per leaf: the set, and its bounds in each column."""
        words = self.focal_sets_.in_words()
        return [f"{words[leaf.column]}: {rule}{leaf.counted()}" for leaf, rule in self.rules_by_leaf()]

    def rules_by_leaf(self) -> list[tuple[Leaf, str]]:
        """Return the leaves ordered by their sets, each with its bounds."""
        ordered = sorted(self.leaves_, key=lambda leaf: leaf.column)
        return [(leaf, " and ".join(leaf.conditions(self._columns)) or "always") for leaf in ordered]

    def export_text(self) -> str:
        """Return the tree as text, one line per cut, its consequences indented."""
        check_is_fitted(self)
        return "\n".join(self.tree_.lines(self._columns, self.focal_sets_.in_words()))

    def summary(self) -> str:
        """Return how well the rules represent the partition, in words."""
        check_is_fitted(self)
        lam, n, m = float(self.lam), len(self.leaves_), len(self.mistakes_)
        k, rules = self.nowhere_, number_of(n, "rule")
        new = f" ({self.honest_[lam]:.2f} for unseen objects)" if self.honest_ else ""
        wrong = f"{m or 'no'} object{'' if m == 1 else 's'} in the wrong group"
        nowhere = (
            f"; no rule covers the {counted(k, 'object that belongs', 'objects that belong')} nowhere" if k else ""
        )
        own, most = self.representativeness_[lam], self.ceiling_[lam]
        return f"{rules}: agreement with the groups {own:.2f} of at most {most:.2f}{new}; {wrong}{nowhere}."

    def to_dict(self) -> dict[str, Any]:
        """Return the tree and its quality for JSON."""
        check_is_fitted(self)
        table = {
            name: {str(at): value for at, value in values.items()}
            for name, values in (
                ("representativeness", self.representativeness_),
                ("honest", self.honest_),
                ("ceiling", self.ceiling_),
            )
        }
        tree = self.tree_.as_dict(self._columns, self.focal_sets_.labels())
        return {
            "lam": str(float(self.lam)),
            "rules": self.rules(),
            "tree": tree,
            **table,
            "mistakes": self.mistakes_.tolist(),
        }

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the tree: cuts as text, leaves in the colours of their sets.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; new ones by default.
        """
        check_is_fitted(self)
        return draw(self.tree_, self._columns, self.focal_sets_, ax)


# ---------------------------------------------------------------------------------------------------- growing


def _grown(
    columns: Sequence[Column],
    masses: FloatArray,
    focal: FocalSets,
    lam: float,
    best: bool,
    min_gain: float,
    rows: IntArray,
) -> Node:
    """Return the tree of some objects with weighted masses (n, f + 1), without the mass of the empty set."""
    masses = masses[rows].round(DIGITS) if best else masses[rows]
    own = [column.of_rows(rows) for column in columns]
    material = Material.of(own, masses[:, 1:], focal, lam, clean_first=best)
    sets = np.flatnonzero(masses[:, 1:].sum(0) > 0)
    if not len(sets):
        sets = np.arange(1)  # everything belongs nowhere: all predictions are equal
    least = min_gain * max(float(masses[:, 1:].sum()), 1e-300)
    return _Growing(material, masses, focal, best, least).node(np.arange(len(rows)), sets, ())


@dataclass(frozen=True)
class _Growing:
    material: Material
    masses: FloatArray
    focal: FocalSets
    best: bool
    least: float  # minimum utility gained by a cut

    def node(self, rows: IntArray, sets: IntArray, path: tuple[tuple[Cut, bool], ...]) -> Node:
        leaf = self._leaf(rows, sets, path)
        best = self.material.best(rows, sets) if len(sets) > 1 and len(rows) > 1 else None
        if best is None:
            return leaf
        cut, left_sets = best
        goes = cut.left(self.material.columns[cut.column].of_rows(rows))
        others = np.delete(np.arange(len(sets)), left_sets)
        left = self.node(rows[goes], sets[left_sets], (*path, (cut, True)))
        right = self.node(rows[~goes], sets[others], (*path, (cut, False)))
        whole = Branch(cut, left, right)
        if self.best:
            worth = self._worth(whole, rows)
            for simpler in sorted((leaf, self._moved(left, rows, path), self._moved(right, rows, path)), key=n_leaves):
                loss = worth - self._worth(simpler, rows)
                if loss <= EQUAL * worth or (n_leaves(whole) == 2 and loss < self.least):
                    return simpler
        return whole

    def _moved(self, tree: Node, rows: IntArray, path: tuple[tuple[Cut, bool], ...]) -> Node:
        """Return the same cuts for other objects, at another position of the tree."""
        if isinstance(tree, Leaf):
            return self._leaf_of(tree.column - 1, rows, path)
        goes = tree.cut.left(self.material.columns[tree.cut.column].of_rows(rows))
        left = self._moved(tree.left, rows[goes], (*path, (tree.cut, True)))
        return Branch(tree.cut, left, self._moved(tree.right, rows[~goes], (*path, (tree.cut, False))))

    def _union(self, sets: IntArray) -> IntArray:
        """Return the union of a leaf's sets if it is a focal set; otherwise the sets themselves."""
        whole = self.focal.membership[sets].any(0)
        union = np.flatnonzero((self.focal.membership == whole).all(1))
        return union if len(union) else sets

    def _worth(self, tree: Node, rows: IntArray) -> float:
        sets = sets_of(tree, [column.of_rows(rows) for column in self.material.columns])
        return float(self.material.gains[rows, sets - 1].sum())

    def _leaf(self, rows: IntArray, sets: IntArray, path: tuple[tuple[Cut, bool], ...]) -> Leaf:
        among = np.flatnonzero(self.material.masses.sum(0) > 0) if self.best else self._union(sets)
        among = among if len(among) else sets
        return self._leaf_of(int(among[np.argmax(self.material.gains[rows].sum(0)[among])]), rows, path)

    def _leaf_of(self, chosen: int, rows: IntArray, path: tuple[tuple[Cut, bool], ...]) -> Leaf:
        """Return a leaf that predicts this set."""
        held, weight = self.masses[rows].sum(0), float(self.masses[rows].sum())
        inside = float(held[1:].sum())
        utility = float(self.material.gains[rows, chosen].sum()) / inside if inside > 0 else 0.0
        return Leaf(chosen + 1, len(rows), held / weight if weight > 0 else held + 1 / len(held), utility, path)


# ---------------------------------------------------------------------------------------------------- reading


def _columns_of(table: object, names: Sequence[str] | None, count: int | None) -> list[Column]:
    if table is None:
        raise ValueError(
            "table must hold the columns to explain the groups by, one row per object; got None. Pass what was "
            "clustered, or any other table of the same objects."
        )
    columns = measured(table, names, count, "table")
    if not columns:
        raise ValueError("table must have at least one column to explain the groups by; got none.")
    return columns


def _weights(sample_weight: ArrayLike | None, count: int) -> FloatArray:
    weights = np.ones(count) if sample_weight is None else as_numbers(sample_weight, "sample_weight")
    if weights.shape != (count,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"sample_weight must be a number of at least 0 for each of the {count} objects, not all 0; got shape "
            f"{weights.shape}."
        )
    return weights


def _alike(columns: Sequence[Column], fitted: Sequence[Column]) -> list[Column]:
    """Return the columns of another table in the order of the fit, by name or else by position."""
    by_name = {column.name: column for column in columns}
    if all(column.name in by_name for column in fitted):
        chosen = [by_name[column.name] for column in fitted]
    elif len(columns) == len(fitted):
        chosen = list(columns)
    else:
        missing = [column.name for column in fitted if column.name not in by_name]
        raise ValueError(
            f"table must have the columns of the fit, {len(fitted)} of them; got {len(columns)}. "
            f"Add {', '.join(missing[:5])}."
        )
    return [like.recode(column) for column, like in zip(chosen, fitted, strict=True)]


# ---------------------------------------------------------------------------------------------------- scoring


def _score(masses: FloatArray, focal: FocalSets, sets: IntArray | None, lam: float) -> float:
    """Return the representativeness of sets predicted for objects with weighted masses (n, f), or the maximum for None."""
    gains = masses @ utilities(focal, lam).T
    total = gains.max(1).sum() if sets is None else gains[np.arange(len(gains)), sets - 1].sum()
    weight = masses.sum()
    return float(total / weight) if weight > 0 else 0.0
