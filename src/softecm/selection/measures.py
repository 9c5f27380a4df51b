"""What can be said about a partition without labels, by where objects lie among the prototypes, and with them.

Valleys (:mod:`softecm.scores.valleys`) tell a number of clusters that is too large; the silhouette one that is too small.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from softecm import scores
from softecm.belief import CredalPartition
from softecm.scores.valleys import Floats, Geometry, silhouette, standing_apart, valleys

#: What a table of results can hold in a cell; a list is that of the clusters' sizes.
Value: TypeAlias = bool | int | float | str | list[int] | None


class Measures(NamedTuple):
    """The columns of a sweep that depend on the partition alone."""

    nonspecificity: float
    guarded_nonspecificity: float
    empty: float  # mean mass on the empty set
    found: int  # clusters that hold objects
    sizes: list[int]
    silhouette: float
    valleys: float
    apart: int  # clusters that stand apart

    def row(self) -> dict[str, Value]:
        """Them by name."""
        return self._asdict()


def measures(partition: CredalPartition, geometry: Geometry | None, counts: Floats | None = None) -> Measures:
    """What a partition is worth, without labels; nan for what needs prototypes, where there are none."""
    labels = partition.labels()
    inside = 1.0 - partition.masses[:, 0]
    held = np.bincount(labels, minlength=partition.n_clusters)
    nan = float("nan")
    return Measures(
        partition.nonspecificity(),
        partition.nonspecificity(empty=True),
        float(np.average(partition.masses[:, 0], weights=counts)),
        int((held > 0).sum()),
        held.tolist(),
        nan if geometry is None else silhouette(labels, geometry, counts),
        nan if geometry is None else valleys(labels, geometry, inside, counts),
        0 if geometry is None else standing_apart(labels, geometry, inside, counts),
    )


def against_labels(partition: CredalPartition, labels_true: ArrayLike | None) -> dict[str, Value]:
    """How well the clusters meet known classes; empty without any."""
    if labels_true is None:
        return {}
    names = ("rand_index", "adjusted_rand_index", "accuracy", "purity")
    return {name: float(getattr(scores, name)(labels_true, partition.labels())) for name in names}
