"""What can be said about a partition without labels, by where objects lie among the prototypes, and with them.

Between two groups there must be a valley, a place with few objects: a group that was cut in two has most of its objects
where the cut is. That tells a number of clusters that is too large; the silhouette tells one that is too small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from softecm import scores
from softecm.belief import CredalPartition
from softecm.scores.silhouettes import gains

Floats = NDArray[np.float64]
# Tuned on planted problems of two seeds and judged on others (docs/how_to_choose.md); neighbouring values do as well.
WINDOW = 0.5  # half width of a window, as a part of the way from the cut to a cluster's median
DEEP = 0.7  # a valley holds at most this part of the objects of the lower hill
FEW = 4.0  # objects added to every window, so that a handful is no evidence
A_GROUP = 0.05  # what a group that stands apart is worth, in units of the silhouette


@dataclass(frozen=True)
class Geometry:
    """Distances of the objects to the clusters' prototypes, and between these."""

    to_clusters: Floats  # (n, c)
    between: Floats  # (c, c)
    of_means: bool = False  # squared distances to means, each of which its own objects have drawn nearer

    def without_itself(self, labels: NDArray[np.intp], weights: Floats) -> Geometry:
        r"""Each object's distance to its own cluster as if the object had no part in its mean.

        Of m objects with the mean v, those other than x have a mean at :math:`\left(\frac m{m-1}\right)^2 \|x - v\|^2`. With
        few objects in many columns this is what tells a group from a heap that was cut in two.
        """
        if not self.of_means:
            return self
        held = np.maximum(np.bincount(labels, weights, minlength=self.to_clusters.shape[1]), 2.0)
        far = self.to_clusters.copy()
        far[np.arange(len(far)), labels] *= np.square(held / (held - 1.0))[labels]
        return replace(self, to_clusters=far)


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


def silhouette(labels: NDArray[np.intp], geometry: Geometry, counts: Floats | None = None) -> float:
    """How much nearer objects are to their own cluster's prototype than to the next, from -1 to 1; larger is better.

    The silhouette with distances to prototypes in the place of mean distances to objects: it costs nothing beyond what a
    fit has computed, for any semi-metric.
    """
    d = geometry.to_clusters
    if d.shape[1] < 2:
        return float("nan")
    gain = gains(d)[np.arange(len(d)), labels]
    return float(np.average(gain, weights=counts))


def valleys(labels: NDArray[np.intp], geometry: Geometry, inside: Floats, counts: Floats | None = None) -> float:
    r"""Silhouette plus what the groups that stand apart are worth; larger is better.

    .. math:: s + 0.05\,(g - (c - g))

    with s the silhouette of root distances to prototypes and g the number of groups that stand apart of c clusters. Means
    are those of the other objects: one's own part in them would make every cut look like a valley.

    Parameters
    ----------
    labels : ndarray of shape (n,), the cluster of each object
    geometry : Geometry
    inside : ndarray of shape (n,), what an object counts in a valley: 1 - m(∅), so that outliers fill none
    counts : ndarray of shape (n,), optional, sample weights
    """
    c = geometry.between.shape[0]
    if c < 2:
        return float("nan")
    weights = inside if counts is None else inside * counts
    geometry = geometry.without_itself(labels, weights)
    root = Geometry(np.sqrt(np.maximum(geometry.to_clusters, 0.0)), geometry.between)
    apart = groups_apart(labels, geometry, weights)
    return float(silhouette(labels, root, counts) + A_GROUP * (2 * apart - c))


def groups_apart(labels: NDArray[np.intp], geometry: Geometry, weights: Floats) -> int:
    """How many groups are left when clusters without a valley between them are taken as one."""
    c = geometry.between.shape[0]
    members = [np.flatnonzero(labels == k) for k in range(c)]
    joined = np.eye(c, dtype=bool)
    for a in range(c):
        for b in range(a):
            joined[a, b] = not _has_valley(a, b, members, geometry, weights)
    return int(connected_components(joined, directed=False)[0])


def _has_valley(a: int, b: int, members: list[NDArray[np.intp]], geometry: Geometry, weights: Floats) -> bool:
    """Whether few objects lie at the cut between two clusters, compared with where most of each are."""
    if not len(members[a]) or not len(members[b]):
        return False
    rows = np.concatenate([members[a], members[b]])
    far, held = geometry.to_clusters[rows], weights[rows]
    place = far[:, b] - far[:, a]  # 0 at the cut, above on the side of a
    first = np.arange(len(rows)) < len(members[a])
    hills = _median(place[first], held[first]), _median(place[~first], held[~first])
    width = WINDOW * min(abs(hill) for hill in hills)
    at_cut, *on_hills = (FEW + float(held[np.abs(place - at) < width].sum()) for at in (0.0, *hills))
    return bool(at_cut < DEEP * min(on_hills))


def _median(values: Floats, weights: Floats) -> float:
    """The weighted median, one of the values: a weight of 2 counts as two rows."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order[min(np.searchsorted(total, total[-1] / 2), len(order) - 1)]])


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
