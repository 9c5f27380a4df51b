"""The sets of clusters that may receive mass."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations, filterfalse, repeat
from math import comb
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softecm._checks import check_list, is_several, is_whole, plain_array
from softecm._text import listed, meant, some_of
from softecm._wording import literal, option, worded

__all__ = ["FocalSets"]

ClusterSet = tuple[int, ...]
Names: TypeAlias = Sequence[str] | Mapping[int | str, str] | None

# With more sets, a mass matrix of a few thousand objects no longer fits into memory.
MOST_SETS = 2**16 - 1
MOST_NAMED = 3  # maximum number of clusters for which the set of all names each
GROUP = "group "  # before the number of a cluster without a name
GROUPS = "Use 2 or more to find groups."
PAIRS = "2 is usual: clusters and the pairs between them; {none} takes all sets."


@dataclass(frozen=True)
class FocalSets:
    r"""The non-empty sets of clusters that may receive mass, in a fixed order.

    A mass function on the frame :math:`\Omega = \{\omega_1, \dots, \omega_c\}` puts mass on its subsets. With all
    :math:`2^c` subsets a fit becomes slow and hard to read, so a few are usual: the clusters, the pairs, perhaps
    :math:`\Omega`. The empty set is always included and never listed; it is column 0 of every mass matrix, before the
    columns of the listed sets.

    The order is by cardinality, then lexicographic, whatever order the sets were given in. Every single cluster is a
    focal set, so columns 1 to c of a mass matrix are the clusters.

    Parameters
    ----------
    n_clusters : int
        Number of clusters c, at least 1.
    sets : iterable of tuples of int
        Sets of clusters, numbered from 0, including every single cluster; duplicates and the empty set are dropped.
    names : tuple of str, optional
        Names of the clusters in all output; by default ω1, ω2, …. Equality of two ``FocalSets`` ignores names.

    Examples
    --------
    >>> focal = FocalSets.up_to(3, max_cardinality=2)
    >>> focal.sets
    ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    >>> focal.labels()
    ('∅', 'ω1', 'ω2', 'ω3', 'ω1∪ω2', 'ω1∪ω3', 'ω2∪ω3')
    >>> focal.index((0, 2))
    5
    >>> FocalSets.of(2, [(1, 0), (1,), (0,)]) == FocalSets.full(2)
    True
    """

    n_clusters: int
    sets: tuple[ClusterSet, ...]
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        n_clusters = _positive("n_clusters", self.n_clusters, GROUPS)
        sets = plain_array(self.sets, "focal_sets").tolist() if hasattr(self.sets, "ndim") else self.sets
        if not is_several(sets):
            raise TypeError(
                f"focal_sets must be a list of tuples of cluster numbers; got {self.sets!r}. An example for two "
                f"clusters: [(0,), (1,), (0, 1)]."
            )
        distinct = set(map(_cluster_set, sets, repeat(n_clusters))) - {()}
        missing = next(filterfalse(distinct.__contains__, zip(range(n_clusters), strict=False)), None)
        if missing is not None:
            raise ValueError(
                f"focal_sets must contain every single cluster; {missing} is missing among the "
                f"{len(distinct)} sets received. Add {missing}."
            )
        object.__setattr__(self, "n_clusters", n_clusters)
        object.__setattr__(self, "sets", tuple(sorted(sorted(distinct), key=len)))
        object.__setattr__(self, "names", _checked_names(self.names, n_clusters) if self.names else ())

    # ------------------------------------------------------------------ constructors

    @classmethod
    def full(cls, n_clusters: int) -> FocalSets:
        """Return all subsets of the clusters.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, from 1 to 16.

        Examples
        --------
        >>> len(FocalSets.full(4))  # the empty set is not counted
        15
        """
        return cls.up_to(n_clusters, max_cardinality=None)

    @classmethod
    def up_to(cls, n_clusters: int, max_cardinality: int | None = 2, omega: bool = False) -> FocalSets:
        """Return all sets of at most `max_cardinality` clusters.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at least 1.
        max_cardinality : int or None, default 2
            Size of the largest set, at least 1; values above `n_clusters`, and None, mean all sets.
        omega : bool, default False
            Add the set of all clusters.

        Examples
        --------
        >>> FocalSets.up_to(3, max_cardinality=1, omega=True).sets
        ((0,), (1,), (2,), (0, 1, 2))
        """
        c = _positive("n_clusters", n_clusters, GROUPS)
        largest = c if max_cardinality is None else min(_positive("max_cardinality", max_cardinality, PAIRS), c)
        sizes = range(1, largest + 1)
        count = sum(map(comb, repeat(c), sizes))
        if count > MOST_SETS:
            wanted = "all subsets" if largest == c else f"all sets of up to {largest} clusters"
            raise ValueError(
                f"{option('max_cardinality')} must keep the number of focal sets at or below {MOST_SETS}; got {wanted} of "
                f"{c} clusters, {count} sets. Use {option('max_cardinality', 2)} or {option('focal_sets', 'simple')}."
            )
        sets = list(chain.from_iterable(map(combinations, repeat(range(c)), sizes)))
        return cls(c, tuple(sets + [tuple(range(c))] * omega))

    @classmethod
    def simple(cls, n_clusters: int) -> FocalSets:
        """Return the single clusters and the set of all of them: the cheapest choice for many clusters.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at least 1.

        Examples
        --------
        >>> FocalSets.simple(3).labels()
        ('∅', 'ω1', 'ω2', 'ω3', 'Ω')
        """
        return cls.up_to(n_clusters, max_cardinality=1, omega=True)

    @classmethod
    def pairs(cls, n_clusters: int, pairs: Iterable[Iterable[int]] | None = None, omega: bool = True) -> FocalSets:
        """Return the single clusters, all or selected pairs of them, and by default the set of all.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at least 1.
        pairs : iterable of pairs of int, optional
            The pairs to keep, clusters numbered from 0; all by default.
        omega : bool, default True
            Add the set of all clusters.

        Examples
        --------
        >>> FocalSets.pairs(4, [(0, 1), (3, 1)], omega=False).sets
        ((0,), (1,), (2,), (3,), (0, 1), (1, 3))
        """
        c = _positive("n_clusters", n_clusters, GROUPS)
        if pairs is None:
            return cls.up_to(c, max_cardinality=2, omega=omega)
        chosen = [_cluster_set(pair, c) for pair in pairs]
        for pair in chosen:
            if len(pair) != 2:
                raise ValueError(
                    f"pairs must hold two different clusters each; got {pair}. Use FocalSets.of for other sets."
                )
        singletons = [(k,) for k in range(c)]
        return cls(c, tuple(singletons + chosen + [tuple(range(c))] * omega))

    @classmethod
    def of(cls, n_clusters: int, sets: Iterable[Iterable[int]]) -> FocalSets:
        """Return any sets, in any order.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at least 1.
        sets : iterable of iterables of int
            The sets, clusters numbered from 0, including every single cluster. Duplicates and an explicit empty set are
            dropped.

        Examples
        --------
        >>> FocalSets.of(3, [(2, 0), (), (0,), (1,), (2,), (0, 2)]).sets
        ((0,), (1,), (2,), (0, 2))
        """
        return cls(n_clusters, sets)  # type: ignore[arg-type]  # __post_init__ makes them tuples

    @classmethod
    def make(
        cls,
        n_clusters: int,
        max_cardinality: int | None = 2,
        focal_sets: FocalSets | str | Iterable[Iterable[int]] | None = None,
    ) -> FocalSets:
        """Return the focal sets of an estimator's parameters.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at least 1.
        max_cardinality : int or None, default 2
            Size of the largest set (None: all sets); used when `focal_sets` is None.
        focal_sets : None, "simple", "full", "pairs", list of tuples, or FocalSets
            Overrides `max_cardinality`.

        Examples
        --------
        >>> FocalSets.make(3, 2, "simple") == FocalSets.simple(3)
        True
        >>> FocalSets.make(3, 2, None) == FocalSets.up_to(3, 2)
        True
        """
        if focal_sets is None:
            return cls.up_to(n_clusters, max_cardinality)
        if isinstance(focal_sets, FocalSets):
            if focal_sets.n_clusters != _positive("n_clusters", n_clusters, GROUPS):
                raise ValueError(
                    f"focal_sets must be made for the same number of clusters as n_clusters={n_clusters}; got focal "
                    f"sets of {focal_sets.n_clusters} clusters. Make n_clusters and focal_sets agree."
                )
            return focal_sets
        if isinstance(focal_sets, str):
            named = {"simple": cls.simple, "full": cls.full, "pairs": cls.pairs}
            if focal_sets not in named:
                listed = ", ".join(map(literal, named)) + worded(", a list of tuples or FocalSets")
                raise ValueError(
                    f"{option('focal_sets')} must be {listed}; got {literal(focal_sets)}.{meant(focal_sets, named)} Leave "
                    f"it {worded('None', 'out')} to take all sets of up to {option('max_cardinality')} clusters."
                )
            return named[focal_sets](n_clusters)
        return cls.of(n_clusters, focal_sets)

    # ------------------------------------------------------------------ as a sequence

    def __len__(self) -> int:
        return len(self.sets)

    def __iter__(self) -> Iterator[ClusterSet]:
        return iter(self.sets)

    @property
    def n_sets(self) -> int:
        """Number of non-empty focal sets, f; a mass matrix has f + 1 columns."""
        return len(self.sets)

    def index(self, clusters: Iterable[int]) -> int:
        """Return the column of a set in a mass matrix; the empty set has column 0.

        Parameters
        ----------
        clusters : iterable of int
            Clusters numbered from 0, in any order.

        Examples
        --------
        >>> focal = FocalSets.full(3)
        >>> focal.index(()), focal.index((0,)), focal.index((2, 1))
        (0, 1, 6)
        """
        wanted = _cluster_set(clusters, self.n_clusters)
        if wanted not in self._columns:
            raise ValueError(
                f"clusters must be one of the focal sets; got {wanted}, which the model does not consider. "
                f"Focal sets are listed in .sets; belief_of and plausibility_of take any set."
            )
        return self._columns[wanted]

    def renamed(self, names: Names) -> FocalSets:
        """Return the same sets with names for the clusters.

        Parameters
        ----------
        names : sequence of str, or mapping
            One name per cluster, in order; or a mapping of some clusters, by index or current name, to their new names.
            None or an empty list removes all names.

        Examples
        --------
        >>> FocalSets.full(2).renamed(["calm", "busy"]).labels()
        ('∅', 'calm', 'busy', 'Ω')
        >>> FocalSets.full(2).renamed({"ω2": "busy"}).cluster_names
        ('ω1', 'busy')
        """
        if isinstance(names, Mapping):
            names = self._with(names)
        if isinstance(names, str):
            raise TypeError(
                f"names must be a list with one name per cluster; got the text {names!r}. Write [{names!r}, …]."
            )
        return FocalSets(
            self.n_clusters,
            self.sets,
            () if names is None else tuple(check_list("names", names, "one name per cluster")),
        )

    def _with(self, names: Mapping[int | str, str]) -> list[str]:
        shown = list(self.cluster_names)
        place = {name: k for k, name in enumerate(self.cluster_names)}
        for old, new in names.items():
            is_name = isinstance(old, str)
            k = place.get(str(old), -1) if is_name else operator.index(old)  # type: ignore[arg-type]
            if not 0 <= k < self.n_clusters:
                known = f"called {some_of(self.cluster_names)}" if is_name else f"0 to {self.n_clusters - 1}"
                raise ValueError(f"names must be for clusters that are there; got {old!r}. They are {known}.")
            shown[k] = new
        return shown

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """Names of the clusters, (c,): their own names, or ω1, ω2, … counted from 1, as in the literature."""
        return self.names or tuple(f"ω{k + 1}" for k in range(self.n_clusters))

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names for sentences and figures, (c,): their own names, or group 1, group 2, …."""
        return self.names or tuple(f"{GROUP}{k + 1}" for k in range(self.n_clusters))

    def in_words(self, names: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the columns of a mass matrix in plain words, the empty set first.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the clusters; by default ``group_names``.

        Examples
        --------
        >>> FocalSets.full(2).in_words()
        ('no group', 'group 1', 'group 2', 'group 1 or 2')
        """
        known = self._called(self.group_names if names is None else names)
        return (
            "no group",
            *("any group" if self._holds_all(a) else listed(_brief([known[k] for k in a]), "or") for a in self.sets),
        )

    def _called(self, names: Sequence[str]) -> list[str]:
        if len(names) != self.n_clusters:
            raise ValueError(f"names must have one entry for each of the {self.n_clusters} clusters; got {len(names)}.")
        return [str(name) for name in names]

    def between(self, column: int) -> str:
        """Return the clusters of a column of a mass matrix, joined by "and"."""
        members = self.sets[column - 1]
        if self._holds_all(members):
            return "all groups"
        text = listed(_brief([self.group_names[k] for k in members]), "and")
        return text if self.names else f"groups {text.removeprefix(GROUP)}"

    def _holds_all(self, members: ClusterSet) -> bool:
        """Return whether a set has all clusters, and too many to name."""
        return len(members) == self.n_clusters > MOST_NAMED

    def labels(self, names: Sequence[str] | None = None, *, ascii: bool = False) -> tuple[str, ...]:
        """Return readable names of the columns of a mass matrix, the empty set first.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the clusters; by default ``cluster_names``.
        ascii : bool, default False
            Avoid Greek letters: "empty", "w1", "w1+w2", "Omega".

        Examples
        --------
        >>> FocalSets.full(2).labels()
        ('∅', 'ω1', 'ω2', 'Ω')
        >>> FocalSets.pairs(3, [(0, 2)], omega=False).labels(["cat", "dog", "owl"])
        ('∅', 'cat', 'dog', 'owl', 'cat∪owl')
        >>> FocalSets.full(2).labels(ascii=True)
        ('empty', 'w1', 'w2', 'Omega')
        """
        empty, letter, union, everything = ("empty", "w", "+", "Omega") if ascii else ("∅", "ω", "∪", "Ω")
        letters = self.names or [f"{letter}{k + 1}" for k in range(self.n_clusters)]
        known = self._called(letters if names is None else names)
        whole = self.n_clusters if self.n_clusters > 1 else 0  # a single cluster keeps its own name
        readable = (
            everything if len(members) == whole else union.join(known[k] for k in members) for members in self.sets
        )
        return (empty, *readable)

    # ------------------------------------------------------------------ as arrays (read-only)

    @cached_property
    def cardinalities(self) -> NDArray[np.int64]:
        """Number of clusters in each non-empty set, (f,)."""
        sizes = np.array(list(map(len, self.sets)), dtype=np.int64)
        sizes.setflags(write=False)
        return sizes

    @cached_property
    def with_empty(self) -> NDArray[np.float64]:
        """Membership of the clusters in the sets, ∅ first: 0/1 of shape (f + 1, c)."""
        member = np.zeros((len(self.sets) + 1, self.n_clusters))
        rows = np.repeat(np.arange(1, len(self.sets) + 1), self.cardinalities)
        member[rows, np.fromiter(chain.from_iterable(self.sets), dtype=np.intp)] = 1.0
        member.setflags(write=False)
        return member

    @property
    def membership(self) -> NDArray[np.float64]:
        """Membership of the clusters in the non-empty sets: the 0/1 matrix S of shape (f, c)."""
        return self.with_empty[1:]

    @cached_property
    def shares_with_empty(self) -> NDArray[np.float64]:
        """Share of a set's mass that each cluster gets, ∅ first, with no shares: (f + 1, c)."""
        parts: NDArray[np.float64] = self.with_empty / np.append(1, self.cardinalities)[:, None]
        parts.setflags(write=False)
        return parts

    @property
    def shares(self) -> NDArray[np.float64]:
        """Equal shares of the clusters in the non-empty sets, rows with sum 1: (f, c). ``shares @ x`` averages."""
        return self.shares_with_empty[1:]

    @cached_property
    def intersects(self) -> NDArray[np.bool_]:
        """Whether two sets share a cluster, ∅ first: (f + 1, f + 1)."""
        member = self.with_empty.astype(np.float32)
        shared: NDArray[np.bool_] = member @ member.T > 0
        shared.setflags(write=False)
        return shared

    @cached_property
    def singletons(self) -> NDArray[np.intp]:
        """Columns of the single clusters in a mass matrix, (c,)."""
        columns = np.arange(1, self.n_clusters + 1, dtype=np.intp)
        columns.setflags(write=False)
        return columns

    @property
    def omega(self) -> int | None:
        """Column of the set of all clusters in a mass matrix; None if it is not a focal set."""
        return len(self.sets) if len(self.sets[-1]) == self.n_clusters else None

    @cached_property
    def _columns(self) -> dict[ClusterSet, int]:
        return {members: column for column, members in enumerate(((), *self.sets))}

    def __getstate__(self) -> dict[str, Any]:
        # Unpickled arrays are writable, so derived ones are recomputed.
        return {"n_clusters": self.n_clusters, "sets": self.sets, "names": self.names}


def _brief(names: Sequence[str]) -> list[str]:
    """Return names that all start with the word group with it only once."""
    alike = all(name.startswith(GROUP) for name in names)
    return [names[0], *(name.removeprefix(GROUP) if alike else name for name in names[1:])]


def _checked_names(names: Iterable[str], n_clusters: int) -> tuple[str, ...]:
    """Return names of all clusters, checked to be unique and without another meaning."""
    called = tuple(str(name).strip() for name in names)
    if len(called) != n_clusters:
        some = worded("a dict for some of them", "name some of them with softecm rename DIR 2=calm")
        raise ValueError(
            f"names must have one entry for each of the {n_clusters} clusters; got {len(called)}: "
            f"{', '.join(called[:8])}. Use as many names as clusters, or {some}."
        )
    for k, name in enumerate(called):
        if not name or name in ("∅", "Ω") or name in called[:k]:
            raise ValueError(
                f"names must be different, not empty, and neither ∅ nor Ω; got {literal(name)} for cluster ω{k + 1}. Use "
                "another name."
            )
    return called


def _cluster_set(members: Iterable[int], n_clusters: int) -> ClusterSet:
    """Return a set as a sorted tuple of plain ints, each a cluster."""
    try:
        numbers = set(map(operator.index, members))
    except TypeError:
        raise TypeError(
            f"a focal set must be a tuple of cluster numbers; got {members!r}. Write (0,) for the first "
            f"cluster alone and (0, 1) for the first two."
        ) from None
    for k in sorted(numbers):
        if not 0 <= k < n_clusters:
            raise ValueError(
                f"a focal set must hold cluster numbers from 0 to {n_clusters - 1}; got {k} in "
                f"{tuple(sorted(numbers))}. Clusters are counted from 0."
            )
    return tuple(sorted(numbers))


def _positive(name: str, value: int, remedy: str) -> int:
    if not is_whole(value):
        raise TypeError(
            f"{option(name)} must be an integer of at least 1; got {value!r}. {remedy.format(none=literal(None))}"
        )
    if value < 1:
        raise ValueError(f"{option(name)} must be at least 1; got {value}. {remedy.format(none=literal(None))}")
    return int(value)
