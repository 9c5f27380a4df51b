"""Measures of a partition without labels, from the objects' positions among the prototypes, and with labels.

Valleys (:mod:`softecm.scores.valleys`) detect too many clusters; the silhouette detects too few.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from softecm import scores
from softecm.belief import CredalPartition
from softecm.scores.valleys import Floats, Geometry, silhouette, standing_apart, valleys

#: Possible values of a table cell; a list holds the clusters' sizes.
Value: TypeAlias = bool | int | float | str | list[int] | None


class Measures(NamedTuple):
    """The columns of a sweep that depend only on the partition."""

    nonspecificity: float
    guarded_nonspecificity: float
    empty: float  # mean mass on the empty set
    found: int  # clusters with objects
    sizes: list[int]
    silhouette: float
    valleys: float
    apart: int  # separated clusters

    def row(self) -> dict[str, Value]:
        """Return the measures by name."""
        return self._asdict()


def measures(partition: CredalPartition, geometry: Geometry | None, counts: Floats | None = None) -> Measures:
    """Return measures of a partition without labels; NaN for those that need prototypes, without any."""
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
    """Return the agreement with known classes; empty without any."""
    if labels_true is None:
        return {}
    names = ("rand_index", "adjusted_rand_index", "accuracy", "purity")
    return {name: float(getattr(scores, name)(labels_true, partition.labels())) for name in names}
