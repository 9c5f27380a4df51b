"""Valleys between groups: positions of objects among the prototypes show whether two clusters are separated.

Between two groups there must be a valley, a region with few objects: a group cut in two has most of its objects at the
cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from softecm.scores.silhouettes import gains
from softecm.spaces.base import weighted_quantile

Floats = NDArray[np.float64]
# Tuned on planted problems, matrices and series of some seeds and judged on others; neighbouring values do as well.
WINDOW = 0.5  # half width of a window, relative to the distance from the cut to a cluster's median
DEEP = 0.7  # a valley holds at most this share of the objects of the lower hill
DEEPER = 0.5  # the same if prototypes are not means: their attraction by their own objects is known only roughly
FEW = 4.0  # objects added to every window, so that a handful is no evidence
SMALL = 0.05  # clusters with less than this part of an equal share, or FEW objects, are not groups but outliers
A_GROUP = 0.05  # value of a separated group, in units of the silhouette
A_CLEAR_GROUP = 0.15  # the same behind deeper valleys


@dataclass(frozen=True)
class Geometry:
    """Distances of the objects to the clusters' prototypes, and between prototypes."""

    to_clusters: Floats  # (n, c)
    between: Floats  # (c, c)
    degree: float = 0.0  # of the distances, if prototypes depend on their objects; otherwise 0
    deep: float = DEEP  # required depth of a valley
    worth: float = A_GROUP

    @staticmethod
    def of_prototypes(to_clusters: Floats, between: Floats, degree: float, *, are_means: bool) -> Geometry:
        """Return the geometry of prototypes that depend on their objects."""
        valley = (DEEP, A_GROUP) if are_means else (DEEPER, A_CLEAR_GROUP)
        return Geometry(to_clusters, between, degree, *valley)

    def root(self) -> Geometry:
        """Return a copy with the roots of distances to the clusters."""
        return replace(self, to_clusters=np.sqrt(np.maximum(self.to_clusters, 0.0)))

    def without_itself(self, labels: NDArray[np.intp], weights: Floats) -> Geometry:
        r"""Return each object's distance to its own cluster with the object removed from the prototype.

        For m objects with the mean v, the others have a mean at :math:`\left(\frac m{m-1}\right)^2 \|x - v\|^2`; other
        barycentres are assumed to behave alike. With few objects in many columns or steps, this distinguishes a group
        from one cut in two.
        """
        if not self.degree:
            return self
        held = np.maximum(np.bincount(labels, weights, minlength=self.to_clusters.shape[1]), 2.0)
        far = self.to_clusters.copy()
        far[np.arange(len(far)), labels] *= ((held / (held - 1.0)) ** self.degree)[labels]
        return replace(self, to_clusters=far)


def silhouette(labels: NDArray[np.intp], geometry: Geometry, counts: Floats | None = None) -> float:
    """Return how much nearer objects are to their own cluster's prototype than to the next, -1 to 1; larger is better.

    The silhouette with distances to prototypes instead of mean distances to objects: it uses only what a fit has
    computed, for any semi-metric.
    """
    if geometry.to_clusters.shape[1] < 2:
        return float("nan")
    return float(np.average(object_silhouettes(labels, geometry), weights=counts))


def object_silhouettes(labels: NDArray[np.intp], geometry: Geometry) -> Floats:
    """Return the silhouette of each object, (n,), among at least two clusters."""
    d = geometry.to_clusters
    own: Floats = gains(d)[np.arange(len(d)), labels]
    return own


def valleys(labels: NDArray[np.intp], geometry: Geometry, inside: Floats, counts: Floats | None = None) -> float:
    r"""Return the silhouette plus the value of separated groups; larger is better.

    .. math:: s + a\,(g - (c - g))

    with s the silhouette of root distances to prototypes, g the number of separated groups among c clusters, and a the
    worth of one. Means are those of the other objects: an object's own part would make every cut look like a valley.

    Parameters
    ----------
    labels : ndarray of shape (n,), the cluster of each object
    geometry : Geometry
    inside : ndarray of shape (n,), weight of an object in a valley: 1 - m(∅), so that outliers fill none
    counts : ndarray of shape (n,), optional, sample weights
    """
    c = geometry.between.shape[0]
    if c < 2:
        return float("nan")
    weights = inside if counts is None else inside * counts
    geometry = geometry.without_itself(labels, weights)
    groups = groups_apart(labels, geometry, weights)
    return float(silhouette(labels, geometry.root(), counts) + geometry.worth * (2 * groups - c))


def standing_apart(labels: NDArray[np.intp], geometry: Geometry, inside: Floats, counts: Floats | None = None) -> int:
    """Return the number of separated groups; parameters as for :func:`valleys`."""
    weights = inside if counts is None else inside * counts
    return groups_apart(labels, geometry.without_itself(labels, weights), weights)


def groups_apart(labels: NDArray[np.intp], geometry: Geometry, weights: Floats) -> int:
    """Return the number of groups after merging clusters without a valley between them and dropping tiny ones."""
    count, group = connected_components(joined_clusters(labels, geometry, weights), directed=False)
    held = np.bincount(group[labels], weights, minlength=count)
    share = float(held.sum()) / geometry.between.shape[0]
    return int((held >= max(SMALL * share, min(FEW, share / 3))).sum())


def joined_clusters(labels: NDArray[np.intp], geometry: Geometry, weights: Floats) -> NDArray[np.bool_]:
    """Return which clusters (c, c) have no valley between them, the larger index first."""
    c = geometry.between.shape[0]
    joined = np.eye(c, dtype=bool)
    for a, b in zip(*np.tril_indices(c, -1), strict=True):
        rows = np.flatnonzero((labels == a) | (labels == b))
        first = labels[rows] == a
        joined[a, b] = True
        if first.any() and not first.all():
            far = geometry.to_clusters[rows]
            joined[a, b] = not has_valley(far[:, b] - far[:, a], first, weights[rows], geometry.deep)
    return joined


def has_valley(place: Floats, first: NDArray[np.bool_], held: Floats, deep: float = DEEP) -> bool:
    """Whether few objects are at the cut between two clusters: at place 0, above on the side of the first."""
    above, below = place[first], place[~first]
    hills = np.array([0.0, weighted_quantile(above, 0.5, held[first]), weighted_quantile(below, 0.5, held[~first])])
    width = WINDOW * np.abs(hills[1:]).min()
    at_cut, *on_hills = FEW + (np.abs(place - hills[:, None]) < width) @ held
    return bool(at_cut < deep * min(on_hills))
