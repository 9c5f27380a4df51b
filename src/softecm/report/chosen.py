"""Which objects a report shows: those in doubt, the typical, the far-off, and of many a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softecm.belief import CredalPartition

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

MOST_DRAWN = 20_000
MOST_EXPLAINED = 30  # of each kind: in doubt, typical, far out


def noteworthy(
    partition: CredalPartition, distances: FloatArray | None = None, most: int = MOST_EXPLAINED
) -> tuple[IntArray, IntArray, IntArray]:
    """The objects most in doubt, most typical (the best of each cluster in turn), and farthest out.

    Doubt is :meth:`CredalPartition.doubt`; what belongs nowhere comes last there, since it has a list of its own.

    Examples
    --------
    >>> from softecm import CredalPartition, FocalSets
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    >>> [int(rows[0]) for rows in noteworthy(p)]
    [2, 0, 3]
    """
    in_doubt = np.lexsort((-partition.doubt(), partition.masses.argmax(1) == 0))[:most]
    c = partition.n_clusters
    single = partition.masses[:, 1 : c + 1]
    second = np.zeros(len(partition)) if distances is None else distances
    each = [np.lexsort((second, -single[:, k]))[:most] for k in range(c)]
    turns = np.array([rows[i] for i in range(min(most, len(partition))) for rows in each], dtype=np.intp)
    typical = turns[np.sort(np.unique(turns, return_index=True)[1])][:most]
    far = np.lexsort((-second, -partition.masses[:, 0]))[:most]
    return in_doubt, typical, far


def choose_rows(partition: CredalPartition, keep: IntArray, most: int = MOST_DRAWN) -> IntArray:
    """The objects to draw: all, or those to keep and an even sample of the rest, in their order.

    Examples
    --------
    >>> choose_rows(CredalPartition.from_hard([0] * 100), np.array([3]), most=5).size
    5
    """
    n = len(partition)
    if n <= most:
        return np.arange(n)
    keep = np.unique(keep)[:most]
    others = np.setdiff1d(np.arange(n), keep)
    sample = np.random.default_rng(0).choice(others, most - len(keep), replace=False)
    return np.sort(np.concatenate([keep, sample]))
