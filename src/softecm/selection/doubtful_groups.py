"""Suspicious groups: twins that differ in one column only, and a small group midway between two others."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._wording import option, worded
from softecm.selection.batch import prototypes_of
from softecm.selection.stability import part_of

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer

FEWEST = 4  # minimum number of clusters: fewer may all be twins
ALONE = 0.8  # minimum share of one column in the difference from a twin
MOST_TERMS = 1 << 20  # maximum number of distance terms to examine
SMALL = 0.1  # of all objects
DETOUR = 1.15  # of the distance between two groups: maximum path from one to the other through the small one
OFF = 0.2  # of that distance: how much nearer to one of them it may be
MOST_OBJECTS = 2000  # maximum number of objects to examine


def twins(model: EvidentialClusterer, X: object) -> str | None:
    """Return the column in which alone every cluster differs from its most similar one, or None.

    A random binary column beside three groups makes six clusters: three pairs of twins.

    Parameters
    ----------
    model : fitted estimator
    X : the objects it was fitted to

    Examples
    --------
    >>> import pandas as pd
    >>> from softecm import SoftECM
    >>> from softecm.datasets import make_blobs
    >>> X = make_blobs(90, n_clusters=3, distance=12, random_state=0).data
    >>> table = pd.DataFrame(X, columns=["length", "width"]).assign(coin=["heads", "tails"] * 45)
    >>> from softecm.distances import Mixed
    >>> twins(SoftECM(6, metric=Mixed(weights=None), random_state=0).fit(table), table)
    'coin'
    """
    fitted, labels, c = prototypes_of(model), model.labels_, model.partition_.n_clusters
    names = [str(name) for name in fitted.space.attributes] if fitted is not None else []
    if c < FEWEST or len(names) < 2:
        return None
    most = max(c, MOST_TERMS // (len(model.focal_sets_) * len(names)))
    some = np.linspace(0, len(labels) - 1, min(len(labels), most)).astype(np.int64)
    try:
        terms = np.asarray(model.explain(part_of(X, some, None)), dtype=np.float64)[:, :c]
    except (AttributeError, TypeError, ValueError):  # distances are not sums over columns
        return None
    if terms.shape[2] != len(names):
        return None
    columns = {_alone(terms[labels[some] == k], k) for k in range(c)}
    column = columns.pop()
    return None if columns or column is None else names[column]


def twins_remark(column: str) -> str:
    """Return what this means, and what to do."""
    remedy = worded("leave that column out", f"leave it out with {option('drop', column)}")
    return (
        f"every cluster has a twin that differs from it only in {column}. If {column} should not distinguish groups, "
        f"{remedy}: there are fewer groups without it."
    )


def _alone(terms: NDArray[np.float64], own: int) -> int | None:
    """Return the column that makes up the difference between a cluster, by its objects' terms, and its most similar one."""
    if not len(terms):
        return None
    differences = (terms - terms[:, own : own + 1]).mean(0)  # (c, columns)
    total = differences.sum(1)
    total[own] = np.inf
    twin = int(total.argmin())
    column = int(differences[twin].argmax())
    return column if differences[twin, column] >= ALONE * total[twin] > 0 else None


def small_between(model: EvidentialClusterer, X: object) -> str | None:
    """Return a remark on a small group midway between two others, or None.

    Parameters
    ----------
    model : fitted estimator
    X : the objects it was fitted to
    """
    names, c = model.partition_.focal_sets.group_names, model.partition_.n_clusters
    if c < 3 or (fitted := prototypes_of(model)) is None:
        return None
    labels, n = model.partition_.labels(outliers=-1), len(model.partition_)
    some = np.linspace(0, n - 1, min(n, MOST_OBJECTS)).astype(np.int64)
    far = np.asarray(model.transform(part_of(X, some, None)), dtype=np.float64)[:, :c] ** (
        1 / (fitted.metric.degree or 1)
    )
    groups = [far[labels[some] == k] for k in range(c)]
    usual = np.array([np.median(one, axis=0) if len(one) else np.full(c, np.inf) for one in groups])  # (c, c)
    counts = np.bincount(model.partition_.masses.argmax(1), minlength=c + 1)[1 : c + 1]  # as every table shows them
    for k in np.flatnonzero(counts < SMALL * n):
        for a, b in combinations([j for j in range(c) if j != k], 2):
            distance = (usual[a, b] + usual[b, a]) / 2
            if usual[k, a] + usual[k, b] <= DETOUR * distance and abs(usual[k, a] - usual[k, b]) <= OFF * distance:
                return (
                    f"{names[k]} is small ({counts[k]} of {n} objects) and lies midway between {names[a]} and "
                    f"{names[b]}: its objects may lie between these two. Try {c - 1} groups."
                )
    return None
