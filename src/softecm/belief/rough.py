"""A cluster from below and from above: who surely belongs to it, who may, and who is in between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softecm.belief import assignments
from softecm.belief.checks import IntArray
from softecm.belief.focal import FocalSets
from softecm.belief.transforms import FloatArray, SetRule


class RoughSets:
    """Lower and upper approximations of clusters, for whoever has masses on focal sets."""

    masses: FloatArray
    focal_sets: FocalSets

    def lower(self, k: int, rule: SetRule = "mass") -> IntArray:
        """Objects that belong to cluster k and no other.

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
        """Objects that may belong to cluster k: it is in their set.

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
        """Objects that may belong to cluster k and to another: the upper without the lower approximation.

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
        return assignments.rough(self.masses, self.focal_sets, k, rule)
