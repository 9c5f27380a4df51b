"""How good, how sure and how alike partitions are.

Three families, by what they compare:

- hard labels with true classes: :func:`rand_index`, :func:`adjusted_rand_index`, :func:`accuracy`,
  :func:`purity`. A credal partition is taken by its labels of largest pignistic probability;
- a credal partition with true classes, without forcing a decision on doubtful objects:
  :func:`evidential_precision`, :func:`evidential_recall`, :func:`evidential_rand_index`;
- two credal partitions: :func:`credal_rand_index`, through what each says of every pair of objects
  (:func:`pairwise_masses`), and :func:`jousselme_distance`.

:func:`nonspecificity` and :func:`relational_nonspecificity` need one partition only. In all of them the order
of two partitions is (truth, answer), as in scikit-learn; most are symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.belief import CredalPartition, FocalSets
from softecm.belief.transforms import _check_choice

__all__ = [
    "PairwiseMasses",
    "accuracy",
    "adjusted_rand_index",
    "belief_distance",
    "credal_rand_index",
    "evidential_precision",
    "evidential_rand_index",
    "evidential_recall",
    "jousselme_distance",
    "nonspecificity",
    "pairwise_masses",
    "purity",
    "rand_index",
    "relational_nonspecificity",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Labels = ArrayLike | CredalPartition
CredalKind = Literal["consistency", "jousselme", "belief"]

# Pairs of objects treated at once: 512 x 512 doubles are 2 MiB, a few of which stay in the cache.
BLOCK = 512


# ---------------------------------------------------------------------- hard labels


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
    together = _pair_counts(*_two_labels(labels_true, labels_pred))
    return (together.total - together.first - together.second + 2 * together.both) / together.total


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
    together = _pair_counts(*_two_labels(labels_true, labels_pred))
    a, b, both, total = together.first, together.second, together.both, together.total
    # Times the total, in whole numbers: exact however many pairs there are.
    spread = (a + b) * total - 2 * a * b
    return 1.0 if spread == 0 else 2 * (both * total - a * b) / spread


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

    truth, answer = _two_labels(labels_true, labels_pred, at_least=1)
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
    truth, answer = _two_labels(labels_true, labels_pred, at_least=1)
    cells, counts = np.unique(answer * (truth.max() + 1) + truth, return_counts=True)
    majority = np.zeros(answer.max() + 1, dtype=np.int64)
    np.maximum.at(majority, cells // (truth.max() + 1), counts)
    return int(majority.sum()) / len(truth)


# ---------------------------------------------------------------------- a credal partition and the truth


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
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], FocalSets.full(2))
    >>> round(evidential_rand_index([0, 0, 1], p), 3)
    0.667
    """
    pairs = _evidential_counts(labels_true, partition)
    return (pairs.total - pairs.first - pairs.second + 2 * pairs.both) / pairs.total


# ---------------------------------------------------------------------- one credal partition


def nonspecificity(partition: CredalPartition, empty: bool = False) -> float:
    """How far masses lie on large sets, from 0 (single clusters) to 1 (nothing known).

    Parameters
    ----------
    partition : CredalPartition
        At least one object.
    empty : bool, default False
        Count the empty set as the set of all clusters; eq. 9 of the Soft-ECM paper, the default, leaves it
        out.

    Returns
    -------
    float
        As :meth:`CredalPartition.nonspecificity <softecm.belief.CredalPartition.nonspecificity>`.

    Examples
    --------
    >>> nonspecificity(CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1]], FocalSets.full(2)))
    0.5
    """
    return _partition("partition", partition, at_least=1).nonspecificity(empty=empty)


def relational_nonspecificity(partition: CredalPartition) -> float:
    r"""Mean over pairs of objects of what is left open about "same cluster or not".

    .. math:: \binom n2^{-1} \sum_{i<j} m_{ij}(\emptyset) + m_{ij}(\Theta)

    The sum over pairs is worked out in closed form; time grows with n, not with its square.

    Parameters
    ----------
    partition : CredalPartition
        At least two objects.

    Returns
    -------
    float
        From 0 (hard) to 1 (vacuous).

    Examples
    --------
    >>> relational_nonspecificity(CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1]], FocalSets.full(2)))
    1.0

    References
    ----------
    T. Denœux, S. Li and S. Sriboonchitta, "Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory", IEEE Transactions on Fuzzy Systems 26, 2018.
    """
    pairs = _Relational.of(_partition("partition", partition))
    known = 0.0
    for left, right in ((pairs.single, pairs.single), (pairs.apart, pairs.sets)):
        known += left.sum(0) @ right.sum(0) - np.einsum("ij,ij->", left, right)  # all ordered pairs, i != j
    n = len(partition)
    return float(1 - known / (n * (n - 1)))


@dataclass(frozen=True)
class PairwiseMasses:
    r"""What a credal partition says of each pair of objects: a mass function on :math:`\{s, \neg s\}`.

    s stands for "both in the same cluster". Arrays have n(n-1)/2 entries, pairs ordered (0, 1), (0, 2), …,
    (1, 2), … as in :func:`scipy.spatial.distance.squareform`.

    Attributes
    ----------
    empty : ndarray
        One of the two belongs to no cluster, :math:`m_{ij}(\emptyset)`.
    same : ndarray
        In the same cluster, :math:`m_{ij}(\{s\})`.
    different : ndarray
        In different clusters, :math:`m_{ij}(\{\neg s\})`.
    unknown : ndarray
        Either, :math:`m_{ij}(\Theta)`.

    Examples
    --------
    >>> pairwise_masses(CredalPartition.from_hard([0, 0, 1])).different
    array([0., 1., 1.])
    """

    empty: FloatArray
    same: FloatArray
    different: FloatArray
    unknown: FloatArray

    def __len__(self) -> int:
        return len(self.empty)


def pairwise_masses(partition: CredalPartition) -> PairwiseMasses:
    r"""The relational representation: for each pair of objects, whether they share a cluster.

    .. math::

        m_{ij}(\emptyset) &= m_i(\emptyset) + m_j(\emptyset) - m_i(\emptyset) m_j(\emptyset) \\
        m_{ij}(\{s\}) &= \sum_k m_i(\{\omega_k\}) m_j(\{\omega_k\}) \\
        m_{ij}(\{\neg s\}) &= \sum_{A \cap B = \emptyset;\ A, B \ne \emptyset} m_i(A) m_j(B) \\
        m_{ij}(\Theta) &= 1 - \text{the three others}

    Parameters
    ----------
    partition : CredalPartition
        At least two objects. Takes 16 n² bytes; :func:`credal_rand_index` compares partitions without that.

    Returns
    -------
    PairwiseMasses

    References
    ----------
    T. Denœux, S. Li and S. Sriboonchitta, "Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory", IEEE Transactions on Fuzzy Systems 26, 2018.

    Examples
    --------
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0.5, 0, 0.5]], FocalSets.full(2))
    >>> pairs = pairwise_masses(p)
    >>> pairs.same, pairs.different, pairs.unknown
    (array([0. , 0.5, 0. ]), array([1. , 0. , 0.5]), array([0. , 0.5, 0.5]))
    """
    pairs = _Relational.of(_partition("partition", partition))
    n = len(partition)
    empty, same, different = (np.empty(n * (n - 1) // 2) for _ in range(3))
    filled = 0
    for i in range(n - 1):
        span = slice(filled, filled + n - 1 - i)
        empty[span] = 1 - pairs.inside[i] * pairs.inside[i + 1 :]
        same[span] = pairs.single[i + 1 :] @ pairs.single[i]
        different[span] = pairs.sets[i + 1 :] @ pairs.apart[i]
        filled = span.stop
    unknown = np.maximum(1 - empty - same - different, 0.0)
    return PairwiseMasses(empty, same, different, unknown)


# ---------------------------------------------------------------------- two credal partitions


def credal_rand_index(p: Labels, q: Labels, kind: CredalKind = "consistency") -> float:
    r"""How much two credal partitions agree about pairs of objects.

    The Rand index between hard partitions, extended by comparing what p and q say of each pair
    (:func:`pairwise_masses`). The partitions may have different numbers of clusters.

    Parameters
    ----------
    p, q : CredalPartition or array-like of shape (n,)
        Labels of any kind count as a hard partition (for outliers, use ``CredalPartition.from_hard``). At
        least two objects.
    kind : {"consistency", "jousselme", "belief"}, default "consistency"
        One minus the mean over pairs of: "consistency": the conflict
        :math:`e + e' - ee' + s\,n' + n\,s'`; "jousselme": the Jousselme distance; "belief":
        :math:`\tfrac12(|s - s'| + |n - n'| + |e - e'|)`, where e, s and n are the masses of ∅, {s} and {¬s}.

    Returns
    -------
    float
        From 0 to 1. All three equal the Rand index for two hard partitions. A partition compared with itself
        has 1 for "jousselme" and "belief"; for "consistency" that holds only where nothing is in doubt.

    Notes
    -----
    "consistency" takes time proportional to n, the other two to n² (in blocks, with little memory), except
    for partitions with all mass of each object on one set, where like objects are counted instead.

    References
    ----------
    T. Denœux, S. Li and S. Sriboonchitta, "Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory", IEEE Transactions on Fuzzy Systems 26, 2018.

    Examples
    --------
    >>> truth = ["a", "a", "b", "b"]
    >>> round(credal_rand_index(truth, [1, 1, 0, 2], kind="belief"), 3)
    0.833
    >>> masses = [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    >>> doubtful = CredalPartition(masses, FocalSets.full(2))
    >>> [round(credal_rand_index(truth, doubtful, k), 3) for k in ("consistency", "jousselme", "belief")]
    [1.0, 0.646, 0.75]
    """
    _check_choice("kind", kind, ("consistency", "jousselme", "belief"))
    first, second = _credal("p", p), _credal("q", q)
    _same_length("p", len(first), "q", len(second))
    if kind == "consistency":
        return _consistency(_Relational.of(first), _Relational.of(second))
    return _similarity(first, second, kind)


def jousselme_distance(p: CredalPartition | PairwiseMasses, q: CredalPartition | PairwiseMasses) -> FloatArray:
    r"""Jousselme distance between mass functions, object by object (or pair by pair).

    .. math:: d_J(m, m') = \sqrt{\tfrac12 (m - m')^\top J (m - m')}, \qquad J_{AB} = |A \cap B| / |A \cup B|

    with :math:`J_{\emptyset\emptyset} = 1`.

    Parameters
    ----------
    p, q : both CredalPartition, or both PairwiseMasses
        Two partitions must have the same clusters in the same order; focal sets may differ.

    Returns
    -------
    ndarray of shape (n,)
        From 0 to 1.

    References
    ----------
    A.-L. Jousselme, D. Grenier and É. Bossé, "A new distance between two bodies of evidence", Information
    Fusion 2, 2001.

    Examples
    --------
    >>> sure = CredalPartition([[0, 1, 0, 0], [0, 1, 0, 0]], FocalSets.full(2))
    >>> other = CredalPartition([[0, 0, 1, 0], [0, 0, 0, 1]], FocalSets.full(2))
    >>> jousselme_distance(sure, other).round(3)
    array([1.   , 0.707])
    """
    if isinstance(p, PairwiseMasses) and isinstance(q, PairwiseMasses):
        return _jousselme(*_pair_differences(p, q))
    p, q = _partition("p", p, at_least=1), _partition("q", q, at_least=1)
    _same_length("p", len(p), "q", len(q))
    if p.n_clusters != q.n_clusters:
        raise ValueError(
            f"p and q must have the same number of clusters; got {p.n_clusters} and {q.n_clusters}. "
            f"credal_rand_index compares partitions with different clusters."
        )
    focal = FocalSets.of(p.n_clusters, p.focal_sets.sets + q.focal_sets.sets)
    difference = _on(p, focal) - _on(q, focal)
    squares = np.einsum("ij,ij->i", difference @ _jaccard(focal), difference)
    return cast(FloatArray, np.sqrt(np.maximum(squares, 0.0) / 2))


def belief_distance(p: PairwiseMasses, q: PairwiseMasses) -> FloatArray:
    r"""Belief distance between what two partitions say of each pair of objects.

    .. math:: d_B = \tfrac12 \sum_{A \subseteq \{s, \neg s\}} |\mathrm{Bel}(A) - \mathrm{Bel}'(A)|

    Parameters
    ----------
    p, q : PairwiseMasses
        From :func:`pairwise_masses`.

    Returns
    -------
    ndarray of shape (n(n-1)/2,)

    Examples
    --------
    >>> hard = pairwise_masses(CredalPartition.from_hard([0, 0, 1]))
    >>> fuzzy = pairwise_masses(CredalPartition.from_fuzzy([[1, 0], [0.5, 0.5], [0, 1]]))
    >>> belief_distance(hard, fuzzy)
    array([0.5, 0. , 0.5])
    """
    return _belief(*_pair_differences(p, q))


# ---------------------------------------------------------------------- pairs of objects


@dataclass(frozen=True)
class _Relational:
    """A partition by what products of its rows say of pairs: everything relational is bilinear in these."""

    inside: FloatArray  # (n,) mass outside ∅
    single: FloatArray  # (n, c) masses of single clusters
    sets: FloatArray  # (n, f) masses of non-empty sets
    apart: FloatArray  # (n, f) mass of the sets disjoint with each set

    @classmethod
    def of(cls, partition: CredalPartition) -> _Relational:
        focal = partition.focal_sets
        sets = np.ascontiguousarray(partition.masses[:, 1:])
        disjoint = (~focal.intersects[1:, 1:]).astype(np.float64)
        return cls(1 - partition.masses[:, 0], sets[:, : focal.n_clusters], sets, sets @ disjoint)


def _consistency(p: _Relational, q: _Relational) -> float:
    """One minus the mean conflict; the sums over pairs factor into sums over objects.

    The conflict of a pair is 1 - (1 - e)(1 - e') + s n' + n s', and each term is a product of a function of i
    and one of j, or a sum of such: sum_ij (a_i . b_j)(c_i . d_j) = <A'C, B'D>, from which the terms i = j are
    taken.
    """
    n = len(p.inside)
    outside = p.inside * q.inside
    agreed = outside.sum() ** 2 - outside @ outside
    conflict = 0.0
    for x, y in ((p, q), (q, p)):
        conflict += np.sum((x.single.T @ y.apart) * (x.single.T @ y.sets))
        conflict -= np.einsum("ij,ij->i", x.single, x.single) @ np.einsum("ij,ij->i", y.apart, y.sets)
    return float((agreed - conflict) / (n * (n - 1)))


def _similarity(p: CredalPartition, q: CredalPartition, kind: CredalKind) -> float:
    """One minus the mean distance over pairs, block by block."""
    n = len(p)
    rows, copies = _like_objects(p, q)
    x, y = _Relational.of(p[rows]), _Relational.of(q[rows])
    distance = _jousselme if kind == "jousselme" else _belief
    # e - e', s - s' and n - n' of all pairs are one matrix product each.
    factors = [
        (np.column_stack([x.inside, y.inside]), np.column_stack([-x.inside, y.inside])),
        (np.hstack([x.single, y.single]), np.hstack([x.single, -y.single])),
        (np.hstack([x.apart, y.apart]), np.hstack([x.sets, -y.sets])),
    ]
    total = 0.0
    for i, j in _blocks(len(rows)):
        values = distance(*(left[i] @ right[j].T for left, right in factors))
        block = float(copies[i] @ values @ copies[j])
        # On the diagonal: each pair counts twice, and an object with itself once too often.
        total += (block - float(copies[i] @ values.diagonal())) / 2 if i == j else block
    return float(1 - total / (n * (n - 1) / 2))


def _like_objects(p: CredalPartition, q: CredalPartition) -> tuple[IntArray, FloatArray]:
    """Objects that stand for all, and how many each stands for.

    With all mass on one set in both partitions, as in hard ones, there are few different objects.
    """
    if (p.masses.max(1) == 1).all() and (q.masses.max(1) == 1).all():
        cell = p.masses.argmax(1) * q.masses.shape[1] + q.masses.argmax(1)
        _, rows, copies = np.unique(cell, return_index=True, return_counts=True)
        return rows, copies.astype(np.float64)
    return np.arange(len(p)), np.ones(len(p))


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Blocks that cover the pairs i <= j."""
    for i in range(0, n, BLOCK):
        for j in range(i, n, BLOCK):
            yield slice(i, min(i + BLOCK, n)), slice(j, min(j + BLOCK, n))


def _jousselme(empty: FloatArray, same: FloatArray, different: FloatArray) -> FloatArray:
    """Jousselme distance on {s, not s} from differences of masses.

    The difference on the whole frame is minus the sum of the others, which turns the quadratic form with
    J(s, frame) = J(not s, frame) = 1/2 into 2 e² + e (s + n) + s² + n².
    """
    squares = same + different
    squares += 2 * empty
    squares *= empty
    squares += same * same
    squares += different * different
    squares *= 0.5
    np.maximum(squares, 0.0, out=squares)
    return np.sqrt(squares, out=squares)


def _belief(empty: FloatArray, same: FloatArray, different: FloatArray) -> FloatArray:
    """Belief distance on {s, not s}; Bel of the whole frame is one minus the mass of the empty set."""
    total: FloatArray = np.abs(same)
    total += np.abs(different)
    total += np.abs(empty)
    total *= 0.5
    return total


def _pair_differences(p: PairwiseMasses, q: PairwiseMasses) -> tuple[FloatArray, FloatArray, FloatArray]:
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, PairwiseMasses):
            raise TypeError(
                f"{name} must be PairwiseMasses; got {type(value).__name__}. Make them with pairwise_masses."
            )
    _same_length("p", len(p), "q", len(q))
    return p.empty - q.empty, p.same - q.same, p.different - q.different


def _on(partition: CredalPartition, focal: FocalSets) -> FloatArray:
    """The masses with columns for the sets of `focal`, a superset of the partition's."""
    masses = np.zeros((len(partition), len(focal) + 1))
    masses[:, [0, *(focal.index(members) for members in partition.focal_sets)]] = partition.masses
    return masses


def _jaccard(focal: FocalSets) -> FloatArray:
    """|A and B| / |A or B| between all sets, 1 for two empty ones."""
    shared = focal.with_empty @ focal.with_empty.T
    sizes = shared.diagonal()
    union = sizes[:, None] + sizes - shared
    union[0, 0] = 1.0
    shared[0, 0] = 1.0
    return shared / union


# ---------------------------------------------------------------------- counting pairs, checking input


@dataclass(frozen=True)
class _PairCounts:
    """Pairs of objects together in the first partition, in the second, in both; and all pairs."""

    first: int
    second: int
    both: int
    total: int


def _pair_counts(first: IntArray, second: IntArray, alone: NDArray[np.bool_] | None = None) -> _PairCounts:
    """Count pairs; objects `alone` are together with nobody in the second partition."""
    kept = slice(None) if alone is None else ~alone
    cell = (second * (first.max() + 1) + first)[kept]
    n = len(first)
    return _PairCounts(_pairs_in(first), _pairs_in(second[kept]), _pairs_in(cell), n * (n - 1) // 2)


def _pairs_in(labels: IntArray) -> int:
    counts = np.unique(labels, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _evidential_counts(labels_true: ArrayLike, partition: CredalPartition) -> _PairCounts:
    truth = _label_array("labels_true", labels_true)
    answer = _credal("partition", partition)
    _same_length("labels_true", len(truth), "partition", len(answer))
    sizes = np.concatenate([[0], answer.focal_sets.cardinalities])
    best = answer.masses.argmax(1)
    return _pair_counts(truth, best, alone=sizes[best] != 1)


def _two_labels(labels_true: Labels, labels_pred: Labels, at_least: int = 2) -> tuple[IntArray, IntArray]:
    truth = _label_array("labels_true", labels_true, at_least)
    answer = _label_array("labels_pred", labels_pred, at_least)
    _same_length("labels_true", len(truth), "labels_pred", len(answer))
    return truth, answer


def _label_array(name: str, labels: Labels, at_least: int = 2) -> IntArray:
    """Labels as numbers from 0 without gaps."""
    values: NDArray[Any] = labels.labels() if isinstance(labels, CredalPartition) else np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"{name} must be a flat list, one label for each object; got shape {values.shape}.")
    _enough(name, len(values), at_least)
    try:
        distinct, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"{name} must hold labels of one kind, all numbers or all text; got a mixture. "
            f"Turn them into text with [str(label) for label in {name}]."
        ) from None
    if any(value != value for value in distinct[-1:]):  # NaN sorts last
        raise ValueError(f"{name} must not hold NaN; got some. Drop those objects or give them a label.")
    return cast(IntArray, numbers.astype(np.intp))


def _credal(name: str, labels: Labels) -> CredalPartition:
    if isinstance(labels, CredalPartition):
        return _partition(name, labels)
    return CredalPartition.from_hard(_label_array(name, labels))


def _partition(name: str, partition: object, at_least: int = 2) -> CredalPartition:
    if not isinstance(partition, CredalPartition):
        raise TypeError(
            f"{name} must be a CredalPartition; got {type(partition).__name__}. "
            f"Estimators have one in partition_; CredalPartition.from_hard makes one of labels."
        )
    _enough(name, len(partition), at_least)
    return partition


def _enough(name: str, n: int, at_least: int) -> None:
    if n < at_least:
        why = "There is nothing to score." if n == 0 else "Scores compare pairs, and one object makes none."
        raise ValueError(f"{name} must have at least {_objects(at_least)}; got {n}. {why}")


def _same_length(name: str, n: int, other: str, m: int) -> None:
    if n != m:
        raise ValueError(f"{name} and {other} must describe the same objects; got {n} and {m} of them.")


def _objects(n: int) -> str:
    return "one object" if n == 1 else "two objects"
