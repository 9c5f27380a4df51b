"""How many groups stand apart: between two of them there must be a valley, a place with few objects.

A group that was cut in two has most of its objects where the cut is; two groups have few between them. That tells a
number of clusters that is too large; the silhouette tells one that is too small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from softecm.selection.geometry import Floats, Geometry, silhouette

# Tuned on planted problems of two seeds and judged on others (docs/how_to_choose.md); neighbouring values do as well.
WINDOW = 0.5  # half width of a window, as a part of the way from the cut to a cluster's median
DEEP = 0.7  # a valley holds at most this part of the objects of the lower hill
FEW = 4.0  # objects added to every window, so that a handful is no evidence
A_GROUP = 0.05  # what a group that stands apart is worth, in units of the silhouette


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
