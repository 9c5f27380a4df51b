"""A credal partition and true classes, without forcing a decision on doubtful objects."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.belief import CredalPartition
from softecm.scores.checks import IntArray, as_credal, label_array, same_length


def evidential_precision(labels_true: ArrayLike, partition: CredalPartition, *, undefined: float = math.nan) -> float:
    """Of the pairs a credal partition puts into one cluster, the share that belongs together.

    Each object goes to its set of largest mass. Two objects are together when that is the same *single*
    cluster; an object between clusters, or in none, is together with nobody. High precision with low recall
    is a cautious partition.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        The classes. At least two objects.
    partition : CredalPartition
        The answer; hard labels are taken as a partition without doubt.
    undefined : float, default NaN
        What to return when no two objects are together.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    Used for evidential c-medoids by K. Zhou, A. Martin, Q. Pan and Z. Liu (2016); defined here as in a public
    implementation, which was not checked against their text.

    Examples
    --------
    >>> from softecm import FocalSets
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], FocalSets.full(2))
    >>> evidential_precision([0, 0, 0, 1], p), round(evidential_recall([0, 0, 0, 1], p), 3)
    (1.0, 0.333)
    """
    pairs = _evidential_counts(labels_true, partition)
    return pairs.both / pairs.second if pairs.second else undefined


def evidential_recall(labels_true: ArrayLike, partition: CredalPartition, *, undefined: float = math.nan) -> float:
    """Of the pairs that belong together, the share a credal partition puts into one single cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        The classes. At least two objects.
    partition : CredalPartition
        The answer; see :func:`evidential_precision` for when two objects are together.
    undefined : float, default NaN
        What to return when no two objects share a class.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from softecm import FocalSets
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], FocalSets.full(2))
    >>> evidential_recall([0, 0, 1], p)
    0.0
    """
    pairs = _evidential_counts(labels_true, partition)
    return pairs.both / pairs.first if pairs.first else undefined


def evidential_rand_index(labels_true: ArrayLike, partition: CredalPartition) -> float:
    """Share of pairs of objects on which a credal partition and the truth agree: together or not.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        The classes. At least two objects.
    partition : CredalPartition
        The answer; see :func:`evidential_precision` for when two objects are together.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from softecm import FocalSets
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], FocalSets.full(2))
    >>> round(evidential_rand_index([0, 0, 1], p), 3)
    0.667
    """
    pairs = _evidential_counts(labels_true, partition)
    return (pairs.total - pairs.first - pairs.second + 2 * pairs.both) / pairs.total


def _evidential_counts(labels_true: ArrayLike, partition: CredalPartition) -> PairCounts:
    truth = label_array("labels_true", labels_true)
    answer = as_credal("partition", partition)
    same_length("labels_true", len(truth), "partition", len(answer))
    sizes = np.concatenate([[0], answer.focal_sets.cardinalities])
    best = answer.masses.argmax(1)
    return pair_counts(truth, best, alone=sizes[best] != 1)


@dataclass(frozen=True)
class PairCounts:
    """Pairs of objects together in the first partition, in the second, in both; and all pairs."""

    first: int
    second: int
    both: int
    total: int


def pair_counts(first: IntArray, second: IntArray, alone: NDArray[np.bool_] | None = None) -> PairCounts:
    """Count pairs; objects `alone` are together with nobody in the second partition."""
    rows = slice(None) if alone is None else ~alone
    cell = (second * (first.max() + 1) + first)[rows]
    n = len(first)
    return PairCounts(_pairs_in(first), _pairs_in(second[rows]), _pairs_in(cell), n * (n - 1) // 2)


def _pairs_in(labels: IntArray) -> int:
    counts = np.unique(labels, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())
