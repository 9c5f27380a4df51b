"""What can be said about a partition without labels, and with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from softecm import scores
from softecm.belief import CredalPartition
from softecm.selection.geometry import Floats, Geometry, silhouette, xie_beni
from softecm.selection.valleys import valleys

__all__ = ["Geometry", "measures", "silhouette", "valleys", "xie_beni"]


def measures(
    partition: CredalPartition, geometry: Geometry | None, counts: Floats | None = None, labels_true: Any = None
) -> dict[str, Any]:
    """The columns of a sweep that depend on the partition alone."""
    labels = partition.labels()
    inside = 1.0 - partition.masses[:, 0]
    held = np.bincount(labels, minlength=partition.n_clusters)
    row: dict[str, Any] = {
        "nonspecificity": partition.nonspecificity(),
        "guarded_nonspecificity": partition.nonspecificity(empty=True),
        "empty": float(np.average(partition.masses[:, 0], weights=counts)),
        "found": int((held > 0).sum()),
        "sizes": held.tolist(),
        "xie_beni": float("nan") if geometry is None else xie_beni(partition.pignistic(), geometry, counts),
        "silhouette": float("nan") if geometry is None else silhouette(labels, geometry, counts),
        "valleys": float("nan") if geometry is None else valleys(labels, geometry, inside, counts),
    }
    if labels_true is not None:
        row["rand_index"] = scores.rand_index(labels_true, labels)
        row["adjusted_rand_index"] = scores.adjusted_rand_index(labels_true, labels)
        row["accuracy"] = scores.accuracy(labels_true, labels)
        row["purity"] = scores.purity(labels_true, labels)
    return row
