"""Whether a small group lies midway between two others: its objects may lie between these instead."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from softecm.selection.batch import prototypes_of
from softecm.selection.stability import part_of

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer

SMALL = 0.1  # of all objects
DETOUR = 1.15  # of the distance between two groups: the way from one to the other over the small one
OFF = 0.2  # of that distance: by how much it may be nearer to the one
MOST = 2000  # objects that are looked at


def small_between(model: EvidentialClusterer, X: object) -> str | None:
    """What to say of a small group that lies midway between two others; None where there is none.

    Parameters
    ----------
    model : fitted estimator
    X : the objects it was fitted to
    """
    names, c = model.partition_.focal_sets.cluster_names, model.partition_.n_clusters
    if c < 3 or (fitted := prototypes_of(model)) is None:
        return None
    labels, n = model.partition_.labels(outliers=-1), len(model.partition_)
    some = np.linspace(0, n - 1, min(n, MOST)).astype(np.int64)
    far = np.asarray(model.transform(part_of(X, some, None)), dtype=np.float64)[:, :c] ** (
        1 / (fitted.metric.degree or 1)
    )
    groups = [far[labels[some] == k] for k in range(c)]
    usual = np.array([np.median(one, axis=0) if len(one) else np.full(c, np.inf) for one in groups])  # (c, c)
    for k in np.flatnonzero(np.bincount(labels[labels >= 0], minlength=c) < SMALL * n):
        for a, b in combinations([j for j in range(c) if j != k], 2):
            distance = (usual[a, b] + usual[b, a]) / 2
            if usual[k, a] + usual[k, b] <= DETOUR * distance and abs(usual[k, a] - usual[k, b]) <= OFF * distance:
                return (
                    f"{names[k]} is small ({(labels == k).sum()} of {n} objects) and lies midway between {names[a]} and "
                    f"{names[b]}: its objects may lie between these two. Try {c - 1} groups."
                )
    return None
