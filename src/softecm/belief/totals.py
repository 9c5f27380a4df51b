"""Summary of a partition without its masses, additive over blocks of objects."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softecm.belief.assignments import CLEAR, counts_of, nearly_between
from softecm.belief.focal import FocalSets
from softecm.belief.partition import CredalPartition


@dataclass(frozen=True)
class PartitionTotals:
    """Counts of objects and measures of uncertainty."""

    n_objects: int
    masses: NDArray[np.float64]  # (f + 1,), sums over the objects
    decided: NDArray[np.int64]  # (5, f + 1), objects by decision and set
    focal: FocalSets
    clear: float = CLEAR  # minimum belief for "clearly"
    nearly_between: int = 0  # objects between clusters, or nearly so

    @staticmethod
    def of(partition: CredalPartition, clear: float = CLEAR) -> PartitionTotals:
        """Return the totals of some of the objects."""
        decided = partition.decisions(clear).table()
        near = nearly_between(partition.masses, partition.n_clusters)
        return PartitionTotals(len(partition), partition.masses.sum(0), decided, partition.focal_sets, clear, near)

    def merge(self, other: PartitionTotals) -> PartitionTotals:
        """Merge two blocks."""
        objects, masses = self.n_objects + other.n_objects, self.masses + other.masses
        near, decided = self.nearly_between + other.nearly_between, self.decided + other.decided
        return replace(self, n_objects=objects, masses=masses, decided=decided, nearly_between=near)

    @property
    def objects(self) -> NDArray[np.int64]:
        """Objects with their largest mass on each set, (f + 1,), the empty set first."""
        objects: NDArray[np.int64] = self.decided.sum(0)
        return objects

    def by_set(self) -> dict[str, int]:
        """Return the number of objects by name of their set."""
        return dict(zip(self.focal.labels(), self.objects.tolist(), strict=True))

    def decisions(self) -> dict[str, int]:
        """Return how many objects are clearly, rather, between, undecided and nowhere."""
        return counts_of(self.decided)

    @property
    def _mean(self) -> CredalPartition:
        """One object with the mean masses, sufficient for quantities linear in masses."""
        return CredalPartition((self.masses / self.masses.sum())[None], self.focal)

    @property
    def held(self) -> NDArray[np.float64]:
        """Sums of plausibilities (c,)."""
        held: NDArray[np.float64] = self.n_objects * self._mean.plausibility(normalise=None)[0]
        return held

    @property
    def nonspecificity(self) -> float:
        """Mean over the objects."""
        return self._mean.nonspecificity()

    @property
    def nonspecificity_empty(self) -> float:
        """The same with the empty set counted as ignorance."""
        return self._mean.nonspecificity(empty=True)

    @property
    def outliers(self) -> int:
        """Objects with their largest mass on the empty set."""
        return int(self.objects[0])
