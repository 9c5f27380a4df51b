"""What can be said about a partition without labels, by where objects lie among the prototypes, and with them.

Valleys (:mod:`softecm.scores.valleys`) tell a number of clusters that is too large; the silhouette one that is too small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softecm import scores
from softecm.belief import CredalPartition
from softecm.scores.valleys import Floats, Geometry, silhouette, standing_apart, valleys


def xie_beni(probabilities: Floats, geometry: Geometry, counts: Floats | None = None) -> float:
    r"""Expected distance of an object to its cluster over the least distance between clusters; smaller is better.

    .. math:: \frac{\sum_i \sum_k \mathrm{BetP}_i(\omega_k)\, d(x_i, v_k)}{n \min_{k \ne l} d(v_k, v_l)}

    Pignistic probabilities stand in the place of fuzzy memberships: mass on a set counts for its clusters in equal parts,
    mass on the empty set for all, so that neither doubt nor outliers make a partition look compact. No power of
    the masses enters, so that values are comparable between all alpha, beta and delta.
    """
    c = geometry.between.shape[0]
    if c < 2:
        return float("nan")
    least = float(geometry.between[~np.eye(c, dtype=bool)].min())
    inside = float(np.average((probabilities * geometry.to_clusters).sum(1), weights=counts))
    return inside / least if least > 0 else float("inf")


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
        "apart": 0 if geometry is None else standing_apart(labels, geometry, inside, counts),
    }
    if labels_true is not None:
        row["rand_index"] = scores.rand_index(labels_true, labels)
        row["adjusted_rand_index"] = scores.adjusted_rand_index(labels_true, labels)
        row["accuracy"] = scores.accuracy(labels_true, labels)
        row["purity"] = scores.purity(labels_true, labels)
    return row
