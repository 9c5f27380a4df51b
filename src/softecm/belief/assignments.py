"""The clusters an object is assigned to: as a set, as lower and upper approximations, and in words."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from softecm._checks import is_number, make_frame
from softecm._wording import option
from softecm.belief import transforms
from softecm.belief.focal import ClusterSet, FocalSets
from softecm.belief.transforms import FloatArray, SetRule

IntArray = NDArray[np.intp]


def assigned(masses: FloatArray, focal: FocalSets, rule: SetRule) -> NDArray[np.object_]:
    """Return the set of each object as a tuple, (n,)."""
    if rule == "mass":
        return _pick([(), *focal.sets], masses.argmax(1))
    distinct, position = _distinct_rows(transforms.set_decisions(masses, focal, rule))
    return _pick([tuple(np.flatnonzero(row).tolist()) for row in distinct], position)


def rough(masses: FloatArray, focal: FocalSets, k: int, rule: SetRule) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether k is in each object's set, and whether that set is a single cluster."""
    try:
        cluster = operator.index(k)
    except TypeError:
        cluster = -1
    if not 0 <= cluster < focal.n_clusters:
        raise ValueError(f"k must be a cluster from 0 to {focal.n_clusters - 1}; got {k!r}.")
    if rule == "mass":
        best = masses.argmax(1)
        member = focal.with_empty
        return (member[:, cluster] > 0)[best], (member.sum(1) == 1)[best]
    indicators = transforms.set_decisions(masses, focal, rule)
    return indicators[:, cluster], indicators.sum(1) == 1


def _distinct_rows(indicators: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], IntArray]:
    """Return distinct rows, and the index of each row among them."""
    packed = np.packbits(indicators, axis=1)
    if packed.shape[1] <= 8:  # sorting one number per row is much faster than sorting rows
        bytes_of_row = np.zeros((len(packed), 8), dtype=np.uint8)
        bytes_of_row[:, : packed.shape[1]] = packed
        _, first, position = np.unique(bytes_of_row.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, position = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return indicators[first], position.reshape(-1)


def _pick(sets: Sequence[ClusterSet], position: IntArray) -> NDArray[np.object_]:
    table = np.empty(len(sets), dtype=object)
    for row, members in enumerate(sets):  # one by one: NumPy would make a second axis of equal lengths
        table[row] = members
    return table[position]


WORDS = ("clearly", "rather", "between", "undecided", "nowhere")  # in decreasing certainty
CLEAR = 0.75  # minimum belief for "clearly"
LEAD = 0.1  # minimum lead of a belief over the next for "rather"
NEARLY = 0.5  # share of the largest mass on a set of several clusters from which an object is nearly between them
ROUNDING = 1e-9  # 0.5 leads 0.4 by 0.1, despite floating point
_CLEARLY, _RATHER, _BETWEEN, _UNDECIDED, _NOWHERE = range(len(WORDS))


def checked_clear(clear: Any) -> float:
    """Return the minimum belief for "clearly"; raise an error if two clusters could reach it."""
    if not is_number(clear) or not 0.5 < clear <= 1:
        raise ValueError(
            f"{option('clear')} must be a belief above 0.5 and at most 1; got {clear!r}. With 0.5 or less two "
            f"clusters could both be clear; {CLEAR} is usual, 1 keeps the word for objects without any doubt."
        )
    return float(clear)


class Decision(NamedTuple):
    """The decision about one object."""

    word: str
    set: str  # the name of the set of largest mass
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """One word per object, with details; made by :meth:`CredalPartition.decisions`.

    Attributes
    ----------
    codes : ndarray of int8 of shape (n,), positions in ``WORDS``
    columns : ndarray of int of shape (n,), columns of the mass matrix with the largest mass (0: the empty set)
    confidence : ndarray of shape (n,)
        From 0 to 1: the normalised belief in the assigned cluster, or in the set for "between"; for "nowhere" the mass
        on the empty set.
    focal_sets : FocalSets
    clear : float, the minimum belief for "clearly"
    ids : ndarray of shape (n,), names of the objects, or None
    """

    codes: NDArray[np.int8]
    columns: IntArray
    confidence: FloatArray
    focal_sets: FocalSets
    clear: float = CLEAR
    ids: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int | str) -> Decision: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any]) -> Decisions: ...

    def __getitem__(self, index: int | str | slice | Sequence[int] | NDArray[Any]) -> Decision | Decisions:
        """Return the decision about one object, by its index or name; about several by slice, indices or mask."""
        if isinstance(index, str):
            return self[self._called(index)]
        if not isinstance(index, Integral):
            some = None if self.ids is None else self.ids[index]
            return replace(
                self, codes=self.codes[index], columns=self.columns[index], confidence=self.confidence[index], ids=some
            )
        i = int(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"there are {len(self)} objects, numbered from 0; got {i}.")
        named = self.focal_sets.labels()[int(self.columns[i])]
        return Decision(WORDS[int(self.codes[i])], named, float(self.confidence[i]))

    def _called(self, name: str) -> int:
        """Return the index of the object with this name."""
        if self.ids is None:
            raise KeyError(f"these objects have no names; got {name!r}. Pass an object's number, counted from 0.")
        rows = np.flatnonzero(self.ids == name)
        if len(rows) != 1:
            many = "no object is" if not len(rows) else f"{len(rows)} objects are"
            raise KeyError(f"{many} called {name!r}. Pass a name that one object has, or its number, counted from 0.")
        return int(rows[0])

    def __iter__(self) -> Iterator[Decision]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {word}" for word, count in self.counts().items())
        return f"Decisions({counts}; clearly from a belief of {self.clear:g})"

    @cached_property
    def words(self) -> NDArray[np.object_]:
        """The words, (n,)."""
        return np.array(WORDS, dtype=object)[self.codes]

    @cached_property
    def clusters(self) -> IntArray:
        """The cluster of largest belief, numbered from 0; -1 for "between" and "nowhere"."""
        return np.where((self.codes == _BETWEEN) | (self.codes == _NOWHERE), -1, self.columns - 1)

    @cached_property
    def sets(self) -> NDArray[np.object_]:
        """The sets of largest mass as tuples, ``()`` for "nowhere"."""
        return _pick([(), *self.focal_sets.sets], self.columns)

    def counts(self) -> dict[str, int]:
        """Return the number of objects with each word, always in the same order."""
        return counts_of(self.table())

    def table(self) -> NDArray[np.int64]:
        """Return objects by word and by set, (5, f + 1): additive over blocks of objects."""
        width = len(self.focal_sets) + 1
        flat = np.bincount(self.codes.astype(np.int64) * width + self.columns, minlength=len(WORDS) * width)
        return flat.reshape(len(WORDS), width).astype(np.int64)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with the columns ``decision``, ``set`` and ``confidence``, after ``id`` for named objects.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow", None}, default None
            None uses whichever is installed, pandas first.
        """
        named = np.array(self.focal_sets.labels(), dtype=object)[self.columns]
        columns = {"decision": self.words.tolist(), "set": named.tolist(), "confidence": self.confidence}
        leading = {} if self.ids is None else {"id": self.ids.tolist()}
        return make_frame({**leading, **columns}, backend)


def counts_of(table: NDArray[np.int64]) -> dict[str, int]:
    """Return the number of objects with each word, from a table by word and set."""
    return dict(zip(WORDS, table.sum(1).tolist(), strict=True))


def decide(masses: FloatArray, focal: FocalSets, clear: float = CLEAR) -> Decisions:
    """Return words for mass functions (n, f + 1); ties go to the first set, the empty set first."""
    clear, columns, c = checked_clear(clear), masses.argmax(1), focal.n_clusters
    belief = transforms.belief(masses, focal, "dempster")
    first, second = _two_largest(belief)
    codes = np.full(len(masses), _UNDECIDED, dtype=np.int8)
    codes[first - second >= LEAD - ROUNDING] = _RATHER
    codes[first >= clear - ROUNDING] = _CLEARLY
    codes[columns > c] = _BETWEEN
    codes[columns == 0] = _NOWHERE
    confidence = np.where(codes == _NOWHERE, masses[:, 0], first)
    _believe_sets(confidence, masses, focal, columns)
    return Decisions(codes, columns, np.clip(confidence, 0.0, 1.0), focal, clear)


def belonging(masses: FloatArray) -> FloatArray:
    """Return each object's membership in each set (n, f + 1): its masses; outliers belong only to the empty set.

    Statistics of groups use these weights, so that a few outliers don't shift the means and spreads of a group.

    Examples
    --------
    >>> belonging(np.array([[0.1, 0.7, 0.2], [0.8, 0.1, 0.1]]))
    array([[0. , 0.7, 0.2],
           [1. , 0. , 0. ]])
    """
    nowhere = masses.argmax(1) == 0
    weights = np.where(nowhere[:, None], 0.0, masses)
    weights[:, 0] = nowhere
    return weights


def nearly_between(masses: FloatArray, n_clusters: int) -> int:
    """Return how many objects have at least half of their largest mass on a set of several clusters."""
    sets = masses[:, n_clusters + 1 :]
    return int((sets.max(1) >= NEARLY * masses.max(1)).sum()) if sets.size else 0


def doubt(masses: FloatArray, focal: FocalSets) -> FloatArray:
    """Return one minus the largest pignistic probability, (n,)."""
    left: FloatArray = 1.0 - transforms.pignistic(masses, focal, "dempster").max(1)
    return np.clip(left, 0.0, 1.0)


def _two_largest(belief: FloatArray) -> tuple[FloatArray, FloatArray]:
    if belief.shape[1] == 1:
        return belief[:, 0], np.zeros(len(belief))
    ordered = np.partition(belief, -2, axis=1)
    return ordered[:, -1], ordered[:, -2]


def _believe_sets(confidence: FloatArray, masses: FloatArray, focal: FocalSets, columns: IntArray) -> None:
    """Set the confidence of objects between clusters: the normalised mass inside the assigned set."""
    members = focal.with_empty
    for column in np.unique(columns[columns > focal.n_clusters]):
        rows = np.flatnonzero(columns == column)
        inside = members @ (1 - members[column]) == 0  # no cluster outside the set
        inside[0] = False
        confidence[rows] = masses[rows][:, inside].sum(1) / masses[rows, 1:].sum(1)


class RoughSets:
    """Lower and upper approximations of clusters, for classes with masses on focal sets."""

    masses: FloatArray
    focal_sets: FocalSets

    def lower(self, k: int, rule: SetRule = "mass") -> IntArray:
        """Return objects that belong to cluster k and no other.

        Parameters
        ----------
        k : int
            Cluster, numbered from 0.
        rule : {"mass", "interval"}, default "mass"
            As for :meth:`sets`.

        Examples
        --------
        >>> from softecm import CredalPartition, FocalSets
        >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
        >>> p.lower(0), p.upper(0), p.boundary(0)
        (array([0]), array([0, 1]), array([1]))
        """
        inside, alone = self._rough(k, rule)
        return np.flatnonzero(inside & alone)

    def upper(self, k: int, rule: SetRule = "mass") -> IntArray:
        """Return objects that may belong to cluster k: their set contains it.

        Parameters
        ----------
        k : int
            Cluster, numbered from 0.
        rule : {"mass", "interval"}, default "mass"
            As for :meth:`sets`.

        Examples
        --------
        >>> from softecm import CredalPartition, FocalSets
        >>> CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1]], FocalSets.full(2)).upper(1)
        array([1])
        """
        return np.flatnonzero(self._rough(k, rule)[0])

    def boundary(self, k: int, rule: SetRule = "mass") -> IntArray:
        """Return objects that may belong to cluster k and to another: the upper without the lower approximation.

        Parameters
        ----------
        k : int
            Cluster, numbered from 0.
        rule : {"mass", "interval"}, default "mass"
            As for :meth:`sets`.

        Examples
        --------
        >>> from softecm import CredalPartition, FocalSets
        >>> CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1]], FocalSets.full(2)).boundary(0)
        array([1])
        """
        inside, alone = self._rough(k, rule)
        return np.flatnonzero(inside & ~alone)

    def _rough(self, k: int, rule: SetRule) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return rough(self.masses, self.focal_sets, k, rule)
