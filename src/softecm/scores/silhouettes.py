r"""Silhouettes of credal partitions, with any distances.

How much nearer object i is to cluster k than to the nearest other cluster, from -1 to 1:

.. math:: s_{ik} = \frac{\min_{l \ne k} d_{il} - d_{ik}}{\max(d_{ik}, \min_{l \ne k} d_{il})},

where :math:`d_{ik}` is the mean distance to the cluster's other objects, weighted by their membership, or the distance
to its prototype. An object's silhouette is the mean of these by its pignistic probabilities; its interval, from the
worst to the best of the clusters in each of its sets, is a point without uncertainty. For hard partitions it is
Rousseeuw's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softecm._checks import aligned, as_numbers
from softecm.belief import CredalPartition
from softecm.scores.checks import FloatArray, as_partition


@dataclass(frozen=True)
class Silhouettes:
    """Silhouettes of objects and clusters; made by :func:`silhouettes`.

    Attributes
    ----------
    objects : ndarray of shape (n,)
        Of each object; NaN for those with all mass on the empty set.
    lower, upper : ndarrays of shape (n,)
        From the worst to the best cluster of the sets with its mass.
    clusters : ndarray of shape (c,)
        Means over the objects of each cluster, weighted by membership.
    mean : float
        Over all objects, weighted by mass outside the empty set.
    """

    objects: FloatArray
    lower: FloatArray
    upper: FloatArray
    clusters: FloatArray
    mean: float


def silhouettes(partition: CredalPartition, distances: ArrayLike) -> Silhouettes:
    """Silhouettes of each object and each cluster of a credal partition.

    Parameters
    ----------
    partition : CredalPartition
        At least two clusters.
    distances : array-like of shape (n, n) or (n, c)
        Between all objects; or from each object to each cluster's prototype, ``model.transform(X)[:, :c]``, already
        computed by a fit.

    Returns
    -------
    Silhouettes

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import CredalPartition
    >>> x = np.array([0.0, 1.0, 9.0, 10.0])
    >>> found = silhouettes(CredalPartition.from_hard([0, 0, 1, 1]), np.abs(x[:, None] - x))
    >>> found.objects.round(3), round(found.mean, 3)
    (array([0.895, 0.882, 0.882, 0.895]), 0.889)

    References
    ----------
    P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster analysis", Journal of
    Computational and Applied Mathematics 20, 1987.
    """
    partition = as_partition("partition", partition)
    n, c = len(partition), partition.n_clusters
    if c < 2:
        raise ValueError("partition must have at least two clusters for silhouettes; got 1.")
    d = as_numbers(aligned(distances, "distances"), "distances")
    if d.shape not in ((n, n), (n, c)) or not np.isfinite(d).all() or (d < 0).any():
        raise ValueError(
            f"distances must be numbers of at least 0 between the {n} objects ({n}, {n}), or from each to the {c} clusters' "
            f"prototypes ({n}, {c}); got shape {d.shape}."
        )
    inside = 1.0 - partition.masses[:, 0]
    belongs = partition.pignistic() * inside[:, None]
    square = d.shape == (n, n) and (n != c or not np.diagonal(d).any())
    each = gains(_to_clusters(d, belongs) if square else d)  # 0 for single objects in a cluster
    weights = np.where(inside > 1e-12, inside, 0.0)
    objects = (partition.pignistic() * each).sum(1)
    lower, upper = _ends(partition, each)
    clusters = (belongs * each).sum(0) / np.maximum(belongs.sum(0), 1e-300)
    mean = float(np.average(objects, weights=weights)) if weights.any() else float("nan")
    nowhere = weights == 0
    objects, lower, upper = (np.where(nowhere, np.nan, one) for one in (objects, lower, upper))
    return Silhouettes(objects, lower, upper, clusters, mean)


def credal_silhouette(partition: CredalPartition, distances: ArrayLike) -> float:
    """The mean silhouette of a credal partition, from -1 to 1.

    Parameters
    ----------
    partition : CredalPartition
    distances : array-like of shape (n, n) or (n, c)
        As for :func:`silhouettes`.

    Examples
    --------
    >>> credal_silhouette(CredalPartition.from_hard([0, 0, 1, 1]), [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    1.0
    """
    return silhouettes(partition, distances).mean


def gains(to_clusters: FloatArray) -> FloatArray:
    """Return how much nearer each object is to each cluster than to the nearest other, (n, c), from distances (n, c)."""
    nearest, second = np.partition(to_clusters, 1, axis=1)[:, :2].T
    others = np.where(to_clusters == nearest[:, None], second[:, None], nearest[:, None])
    larger = np.maximum(to_clusters, others)
    known = (larger > 0) & np.isfinite(larger)
    widths: FloatArray = np.divide(others - to_clusters, larger, out=np.zeros_like(larger), where=known)
    return widths


def _to_clusters(d: FloatArray, belongs: FloatArray) -> FloatArray:
    """Return mean distances (n, c) to the other objects of each cluster, weighted by membership; infinite without any."""
    others = belongs.sum(0) - belongs  # without the object itself, at distance 0
    mean: FloatArray = np.divide(d @ belongs, others, out=np.full_like(belongs, np.inf), where=others > 1e-12)
    return mean


def _ends(partition: CredalPartition, each: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means over sets of their worst and their best cluster."""
    held = partition.masses[:, 1:]
    low, high = np.zeros(len(each)), np.zeros(len(each))
    for column, members in enumerate(partition.focal_sets.sets):
        some = each[:, list(members)]
        low += held[:, column] * some.min(1)
        high += held[:, column] * some.max(1)
    total = np.maximum(held.sum(1), 1e-300)
    return low / total, high / total
