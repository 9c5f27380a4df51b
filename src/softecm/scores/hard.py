"""Hard labels and true classes: scores that take a credal partition by its labels."""

from __future__ import annotations

import numpy as np

from softecm.scores.checks import Labels, two_labels


def rand_index(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of pairs of objects on which two hard partitions agree: together in both, or apart in both.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,) or CredalPartition
        Labels of any kind; -1 is a label like others. At least two objects.

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
        Labels of any kind; -1 is a label like others. At least two objects.

    Returns
    -------
    float
        At most 1; 1 when both have one cluster only, or only single objects.

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
    """Share of objects labelled right under the best one-to-one matching of clusters to classes.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,) or CredalPartition
        Labels of any kind. Clusters beyond the number of classes stay unmatched, their objects count as
        wrong.

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

    truth, answer = two_labels(labels_true, labels_pred, at_least=1)
    table = np.zeros((truth.max() + 1, answer.max() + 1), dtype=np.int64)
    np.add.at(table, (truth, answer), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return int(table[rows, columns].sum()) / len(truth)


def purity(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of objects in the majority class of their cluster. Rises with the number of clusters.

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
    truth, answer = two_labels(labels_true, labels_pred, at_least=1)
    cells, counts = np.unique(answer * (truth.max() + 1) + truth, return_counts=True)
    majority = np.zeros(answer.max() + 1, dtype=np.int64)
    np.maximum.at(majority, cells // (truth.max() + 1), counts)
    return int(majority.sum()) / len(truth)
