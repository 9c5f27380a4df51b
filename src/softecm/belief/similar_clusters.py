"""Pairs of clusters worth a focal set: those with objects in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softecm._checks import check_count
from softecm.belief.partition import CredalPartition


def cluster_similarity(partition: CredalPartition) -> NDArray[np.float64]:
    r"""Return similarities (c, c): :math:`\sum_i \mathrm{pl}_{ik}\,\mathrm{pl}_{il}`, with normalised plausibilities.

    Objects with all of their mass on the empty set don't count.

    Examples
    --------
    >>> cluster_similarity(CredalPartition.from_fuzzy([[0.5, 0.5], [1.0, 0.0]]))
    array([[1.25, 0.25],
           [0.25, 0.25]])
    """
    inside = partition.masses[:, 0] < 1.0
    plausible = partition.plausibility()[inside]
    return plausible.T @ plausible


def similar_pairs(partition: CredalPartition, k: int = 1) -> list[tuple[int, int]]:
    """Return pairs of clusters that are mutually among the k most similar: sets for a second fit.

    With many clusters, most of the many pairs are useful for no object. First fit single clusters and the set of all
    (``focal_sets="simple"``), then fit again with these pairs.

    Parameters
    ----------
    partition : CredalPartition
    k : int, default 1
        Number of neighbours of a cluster; the number of clusters minus one gives all pairs.

    Returns
    -------
    pairs : list of (int, int), smaller number first, in order

    Examples
    --------
    >>> from softecm import ECM, FocalSets
    >>> from softecm.datasets import make_blobs
    >>> X = make_blobs(300, n_clusters=6, distance=4.0, random_state=0).data  # on a circle
    >>> first = ECM(6, focal_sets="simple", delta=None, random_state=0).fit(X)
    >>> pairs = similar_pairs(first.partition_, 2)
    >>> len(pairs)  # neighbours on the circle, of 15 pairs
    6
    >>> second = ECM(6, focal_sets=FocalSets.pairs(6, pairs), delta=None, random_state=0).fit(X)
    """
    near = check_count("k", k, hint="1 or 2 are usual.")
    similarity = cluster_similarity(partition)
    np.fill_diagonal(similarity, -np.inf)
    c = len(similarity)
    ranked = np.argsort(-similarity, axis=1, kind="stable")[:, : min(near, c - 1)]
    chosen = np.zeros((c, c), dtype=bool)
    chosen[np.arange(c)[:, None], ranked] = True
    return [(int(a), int(b)) for a, b in np.argwhere(np.triu(chosen & chosen.T))]
