"""What a credal partition says of each pair of objects: same cluster, different clusters, neither known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softecm.belief import CredalPartition
from softecm.scores.checks import FloatArray, as_partition, same_length


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
    >>> from softecm import FocalSets
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0.5, 0, 0.5]], FocalSets.full(2))
    >>> pairs = pairwise_masses(p)
    >>> pairs.same, pairs.different, pairs.unknown
    (array([0. , 0.5, 0. ]), array([1. , 0. , 0.5]), array([0. , 0.5, 0.5]))
    """
    pairs = Relational.of(as_partition("partition", partition))
    n = len(partition)
    from softecm._engine import check_memory  # which loads torch

    check_memory(
        16.0 * n**2,
        f"masses for all pairs of {n} objects",
        "credal_rand_index compares partitions without them; or take some of the objects: partition[rows].",
    )
    empty, same, different = (np.empty(n * (n - 1) // 2) for _ in range(3))
    filled = 0
    for i in range(n - 1):
        span = slice(filled, filled + n - 1 - i)
        empty[span] = 1 - pairs.inside[i] * pairs.inside[i + 1 :]
        same[span] = pairs.single[i + 1 :] @ pairs.single[i]
        different[span] = pairs.sets[i + 1 :] @ pairs.disjoint[i]
        filled = span.stop
    unknown = np.maximum(1 - empty - same - different, 0.0)
    return PairwiseMasses(empty, same, different, unknown)


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
    >>> from softecm import FocalSets
    >>> relational_nonspecificity(CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1]], FocalSets.full(2)))
    1.0

    References
    ----------
    T. Denœux, S. Li and S. Sriboonchitta, "Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory", IEEE Transactions on Fuzzy Systems 26, 2018.
    """
    pairs = Relational.of(as_partition("partition", partition))
    known = 0.0
    for left, right in ((pairs.single, pairs.single), (pairs.disjoint, pairs.sets)):
        known += left.sum(0) @ right.sum(0) - np.einsum("ij,ij->", left, right)  # all ordered pairs, i != j
    n = len(partition)
    return float(1 - known / (n * (n - 1)))


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
    return pair_belief(*pair_differences(p, q))


@dataclass(frozen=True)
class Relational:
    """A partition by what products of its rows say of pairs: everything relational is bilinear in these."""

    inside: FloatArray  # (n,) mass outside ∅
    single: FloatArray  # (n, c) masses of single clusters
    sets: FloatArray  # (n, f) masses of non-empty sets
    disjoint: FloatArray  # (n, f) mass of the sets disjoint with each set

    @classmethod
    def of(cls, partition: CredalPartition) -> Relational:
        """These four, of a partition."""
        focal = partition.focal_sets
        sets = np.ascontiguousarray(partition.masses[:, 1:])
        disjoint = (~focal.intersects[1:, 1:]).astype(np.float64)
        return cls(1 - partition.masses[:, 0], sets[:, : focal.n_clusters], sets, sets @ disjoint)


def pair_jousselme(empty: FloatArray, same: FloatArray, different: FloatArray) -> FloatArray:
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


def pair_belief(empty: FloatArray, same: FloatArray, different: FloatArray) -> FloatArray:
    """Belief distance on {s, not s}; Bel of the whole frame is one minus the mass of the empty set."""
    total: FloatArray = np.abs(same)
    total += np.abs(different)
    total += np.abs(empty)
    total *= 0.5
    return total


def pair_differences(p: PairwiseMasses, q: PairwiseMasses) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Differences of the masses of ∅, {s} and {¬s}."""
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, PairwiseMasses):
            raise TypeError(
                f"{name} must be PairwiseMasses; got {type(value).__name__}. Make them with pairwise_masses."
            )
    same_length("p", len(p), "q", len(q))
    return p.empty - q.empty, p.same - q.same, p.different - q.different
