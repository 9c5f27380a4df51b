"""Operations on partitions: combine, match, discount, merge."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import reduce
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._checks import check_list
from softecm.belief import combination, transforms
from softecm.belief.combination import CombinationRule, Sourced
from softecm.belief.focal import FocalSets
from softecm.belief.transforms import FloatArray

P = TypeVar("P", bound="Combining")


class Combining:
    """Combination, discounting, merging and matching, for classes with masses on focal sets."""

    masses: FloatArray
    focal_sets: FocalSets
    ids: NDArray[np.object_] | None = None  # names of the objects, if known

    @classmethod
    @abstractmethod
    def _trusted(cls, masses: FloatArray, focal_sets: FocalSets, ids: NDArray[np.object_] | None = None) -> Self:
        """Return a partition from a valid array, without a copy."""

    def combine(self, *others: Self, rule: CombinationRule = "dempster") -> Self:
        r"""Combine several partitions of the same objects and clusters: experts, views, or runs.

        Parameters
        ----------
        *others : CredalPartition
            With the same numbering of clusters: see :meth:`match`.
        rule : {"dempster", "conjunctive", "disjunctive", "average", "cautious"}, default "dempster"
            "conjunctive": all are right, conflict goes to ∅; "dempster": the same without ∅; "disjunctive": at least
            one is right; "average": the mean; "cautious": all are right, but may repeat each other. See
            :mod:`softecm.belief.combination`.

        Examples
        --------
        >>> from softecm import CredalPartition, FocalSets
        >>> doctor = CredalPartition([[0.0, 0.6, 0.0, 0.4]], FocalSets.full(2))
        >>> nurse = CredalPartition([[0.0, 0.5, 0.2, 0.3]], FocalSets.full(2))
        >>> doctor.combine(nurse).masses.round(2)
        array([[0.  , 0.77, 0.09, 0.14]])
        >>> doctor.combine(nurse, rule="average").masses.round(2)
        array([[0.  , 0.55, 0.1 , 0.35]])
        """
        for other in others:
            _check_kind(other)
        sources = [(one.masses, one.focal_sets) for one in (self, *others)]
        if rule == "average":
            return self._named(combination.averaged(sources), self.focal_sets)
        return self._named(reduce(lambda a, b: combination.combined(a, b, rule), sources), self.focal_sets)

    def discount(self, reliability: ArrayLike) -> Self:
        """Discount the partition: move the rest of each object's mass to Ω, "could be any".

        Parameters
        ----------
        reliability : float, or array-like of shape (n,)
            From 0 (ignored) to 1 (unchanged).

        Examples
        --------
        >>> from softecm import CredalPartition
        >>> CredalPartition.from_hard([0, 1]).discount(0.8).masses
        array([[0. , 0.8, 0. , 0.2],
               [0. , 0. , 0.8, 0.2]])
        """
        return self._named(combination.discounted((self.masses, self.focal_sets), reliability), self.focal_sets)

    def coarsen(self, groups: Iterable[Iterable[int]]) -> Self:
        """Merge clusters: each group becomes one cluster, in the given order.

        Parameters
        ----------
        groups : lists of int
            Each cluster in one of them. An object between merged clusters is in their union.

        Examples
        --------
        >>> from softecm import CredalPartition
        >>> CredalPartition.from_fuzzy([[0.2, 0.3, 0.5]]).coarsen([(0, 2), (1,)]).masses
        array([[0. , 0.7, 0.3]])
        """
        return self._trusted(*combination.coarsened((self.masses, self.focal_sets), groups))

    def match(self, other: Self) -> Self:
        """Renumber the clusters like the most similar ones of another partition of the same objects.

        Clusters without a counterpart are numbered after the other's; if it has more, their columns are zero.

        Parameters
        ----------
        other : CredalPartition

        Examples
        --------
        >>> from softecm import CredalPartition
        >>> again = CredalPartition.from_hard([1, 1, 0, 2]).match(CredalPartition.from_hard([0, 0, 1, 2]))
        >>> again.labels()
        array([0, 0, 1, 2])
        """
        _check_kind(other)
        if len(self.masses) != len(other.masses):
            raise ValueError(
                f"partitions must be about the same objects to be matched; got {len(self.masses)} and {len(other.masses)} "
                "objects. Take the objects they have in common, in the same order."
            )
        one, reference = (transforms.pignistic(p.masses, p.focal_sets) for p in (self, other))
        combination.check_matchable(one, reference)
        return self._matched(other)

    def _matched(self, other: Self) -> Self:
        one, reference = (transforms.pignistic(p.masses, p.focal_sets) for p in (self, other))
        into = combination.matching(one, reference)
        n_clusters = max(one.shape[1], reference.shape[1])
        matched = combination.renumbered((self.masses, self.focal_sets), into.tolist(), n_clusters)
        return self._named(matched, other.focal_sets)

    def _named(self, source: Sourced, like: FocalSets) -> Self:
        """Return a partition with the names of other focal sets, if the clusters are the same."""
        masses, focal = source
        return self._trusted(masses, focal.renamed(like.names) if focal.n_clusters == like.n_clusters else focal)

    def _among(self, n_clusters: int) -> Self:
        """Return the partition with more clusters, without mass."""
        own = self.focal_sets.n_clusters
        return self._trusted(*combination.renumbered((self.masses, self.focal_sets), range(own), n_clusters))


def _check_kind(other: object) -> None:
    if not isinstance(other, Combining):
        raise TypeError(
            f"the other must be a CredalPartition; got {type(other).__name__}. "
            "Make one with CredalPartition.from_hard or from_fuzzy."
        )


def consensus(partitions: Iterable[P], rule: CombinationRule = "average") -> P:
    """Return the consensus of many partitions of the same objects, whatever their numbering of clusters.

    All are matched to the one that agrees most with the others, then combined.

    Parameters
    ----------
    partitions : iterable of CredalPartition
        At least one.
    rule : {"average", "dempster", "conjunctive", "disjunctive", "cautious"}, default "average"
        As for :meth:`CredalPartition.combine`.

    Returns
    -------
    CredalPartition
        With as many clusters as the largest partition.

    Examples
    --------
    >>> from softecm import CredalPartition, consensus
    >>> runs = [CredalPartition.from_hard(labels) for labels in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1])]
    >>> consensus(runs).pignistic().round(2)
    array([[1.  , 0.  ],
           [1.  , 0.  ],
           [0.33, 0.67],
           [0.  , 1.  ]])
    """
    each: list[P] = check_list("partitions", partitions, "CredalPartitions")
    if not each:
        raise ValueError("consensus must have at least one partition; got none.")
    first = each[0]
    for other in each:
        _check_kind(other)
        if len(other.masses) != len(first.masses):
            raise ValueError(
                f"partitions must be about the same objects; got {len(first.masses)} and {len(other.masses)} objects."
            )
    middle = each[combination.most_agreed([transforms.pignistic(p.masses, p.focal_sets) for p in each])]
    widest = max(p.focal_sets.n_clusters for p in each)
    alike = [p._matched(middle)._among(widest) for p in each]  # a vacuous partition fits any numbering
    return alike[0].combine(*alike[1:], rule=rule)
