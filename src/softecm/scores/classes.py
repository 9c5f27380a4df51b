"""Partitions and true classes: hard labels, or a credal partition without forcing a decision on ambiguous objects."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from softecm.belief import CredalPartition
from softecm.scores.checks import Labels, as_credal, label_array, same_length, two_labels


def rand_index(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of pairs of objects on which two hard partitions agree: together in both, or apart in both.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,) or CredalPartition
        Labels of any kind; -1 is an ordinary label. At least two objects.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> round(rand_index([0, 0, 1, 1], [1, 1, 0, 2]), 3)
    0.833
    """
    from sklearn.metrics import rand_score

    return float(rand_score(*two_labels(labels_true, labels_pred)))


def adjusted_rand_index(labels_true: Labels, labels_pred: Labels) -> float:
    r"""Rand index corrected for chance: about 0 for independent labels, 1 for equal partitions.

    .. math:: \frac{s - E}{\tfrac12 (a + b) - E}, \qquad E = ab / \tbinom n2

    with a and b the pairs together in either partition and s those together in both.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,) or CredalPartition
        Labels of any kind; -1 is an ordinary label. At least two objects.

    Returns
    -------
    float
        At most 1; equal to 1 if both have only one cluster, or only single objects.

    Examples
    --------
    >>> adjusted_rand_index(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*two_labels(labels_true, labels_pred)))


def accuracy(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of correctly labelled objects under the best one-to-one matching of clusters to classes.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,) or CredalPartition
        Labels of any kind. Clusters beyond the number of classes are not matched, and their objects count as wrong.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> accuracy(["x", "x", "y", "y"], [1, 1, 0, 2])
    0.75
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    truth, answer = two_labels(labels_true, labels_pred, at_least=1)
    table = contingency_matrix(truth, answer)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return int(table[rows, columns].sum()) / len(truth)


def purity(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of objects in the majority class of their cluster. Increases with the number of clusters.

    Parameters
    ----------
    labels_true : array-like of shape (n,) or CredalPartition
        The classes.
    labels_pred : array-like of shape (n,) or CredalPartition
        The clusters.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> purity(["x", "x", "y", "y"], [1, 1, 0, 2])
    1.0
    """
    from sklearn.metrics.cluster import contingency_matrix

    truth, answer = two_labels(labels_true, labels_pred, at_least=1)
    return int(contingency_matrix(truth, answer, sparse=True).max(axis=0).sum()) / len(truth)


def evidential_precision(labels_true: ArrayLike, partition: CredalPartition, *, undefined: float = math.nan) -> float:
    """Of the pairs that a credal partition puts into one cluster, the share that belong together.

    Each object is assigned to its set of largest mass. Two objects are together if that is the same *single* cluster;
    an object between clusters, or in none, is together with no other. High precision with low recall indicates a
    cautious partition.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        The classes. At least two objects.
    partition : CredalPartition
        The prediction; hard labels are a partition without uncertainty.
    undefined : float, default NaN
        Value to return if no two objects are together.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    Used for evidential c-medoids by K. Zhou, A. Martin, Q. Pan and Z. Liu (2016); defined here as in a public
    implementation, not verified against their text.

    Examples
    --------
    >>> from softecm import FocalSets
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], FocalSets.full(2))
    >>> evidential_precision([0, 0, 0, 1], p), round(evidential_recall([0, 0, 0, 1], p), 3)
    (1.0, 0.333)
    """
    (_, wrong), (_, right) = _pairs(labels_true, partition)
    return right / (right + wrong) if right + wrong else undefined


def evidential_recall(labels_true: ArrayLike, partition: CredalPartition, *, undefined: float = math.nan) -> float:
    """Of the pairs that belong together, the share that a credal partition puts into one single cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        The classes. At least two objects.
    partition : CredalPartition
        The prediction; see :func:`evidential_precision` for when two objects are together.
    undefined : float, default NaN
        Value to return if no two objects share a class.

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
    (_, _), (missed, right) = _pairs(labels_true, partition)
    return right / (right + missed) if right + missed else undefined


def evidential_rand_index(labels_true: ArrayLike, partition: CredalPartition) -> float:
    """Share of pairs of objects on which a credal partition and the truth agree: together or not.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        The classes. At least two objects.
    partition : CredalPartition
        The prediction; see :func:`evidential_precision` for when two objects are together.

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
    (separate, wrong), (missed, together) = _pairs(labels_true, partition)
    return (separate + together) / (separate + wrong + missed + together)


def _pairs(labels_true: ArrayLike, partition: CredalPartition) -> list[list[int]]:
    """Return twice the pairs of objects, by whether a class (rows) and a single cluster (columns) contain both."""
    from sklearn.metrics.cluster import pair_confusion_matrix

    truth = label_array("labels_true", labels_true)
    answer = as_credal("partition", partition)
    same_length("labels_true", len(truth), "partition", len(answer))
    sizes = np.concatenate([[0], answer.focal_sets.cardinalities])
    best = answer.masses.argmax(1)
    alone = -1 - np.arange(len(best))  # between clusters, or in none: together with no other
    counts: list[list[int]] = pair_confusion_matrix(truth, np.where(sizes[best] == 1, best, alone)).tolist()
    return counts
