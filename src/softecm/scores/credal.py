"""Scores of credal partitions: certainty, masses of pairs of objects, similarity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import numpy as np

from softecm._checks import check_choice
from softecm.belief import CredalPartition, FocalSets
from softecm.scores.checks import FloatArray, IntArray, Labels, as_credal, as_partition, same_length

CredalKind: TypeAlias = Literal["consistency", "jousselme", "belief"]

# Pairs of objects per block: 512 x 512 doubles are 2 MiB, a few of which fit in the cache.
BLOCK = 512


def nonspecificity(partition: CredalPartition, empty: bool = False) -> float:
    """Mass on large sets, from 0 (single clusters) to 1 (total ignorance).

    Parameters
    ----------
    partition : CredalPartition
        At least one object.
    empty : bool, default False
        Count the empty set as the set of all clusters; eq. 9 of the Soft-ECM paper, the default, ignores it.

    Returns
    -------
    float
        As :meth:`CredalPartition.nonspecificity <softecm.belief.CredalPartition.nonspecificity>`.

    Examples
    --------
    >>> nonspecificity(CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1]], FocalSets.full(2)))
    0.5
    """
    return as_partition("partition", partition, at_least=1).nonspecificity(empty=empty)


def credal_rand_index(p: Labels, q: Labels, kind: CredalKind = "consistency") -> float:
    r"""Agreement of two credal partitions about pairs of objects.

    The Rand index between hard partitions, extended by comparing the masses of each pair in p and q
    (:func:`pairwise_masses`). The partitions may have different numbers of clusters.

    Parameters
    ----------
    p, q : CredalPartition or array-like of shape (n,)
        Labels of any kind are a hard partition (for outliers, use ``CredalPartition.from_hard``). At least two objects.
    kind : {"consistency", "jousselme", "belief"}, default "consistency"
        One minus the mean over pairs of: "consistency": the conflict
        :math:`e + e' - ee' + s\,n' + n\,s'`; "jousselme": the Jousselme distance; "belief":
        :math:`\tfrac12(|s - s'| + |n - n'| + |e - e'|)`, where e, s and n are the masses of ∅, {s} and {¬s}.

    Returns
    -------
    float
        From 0 to 1. All three equal the Rand index for two hard partitions. A partition compared with itself has 1 for
        "jousselme" and "belief"; for "consistency" only if nothing is uncertain.

    Notes
    -----
    "consistency" takes time proportional to n, the other two to n² (in blocks, with little memory), except for
    partitions with all mass of each object on one set, where equal objects are counted instead.

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
    check_choice("kind", kind, ("consistency", "jousselme", "belief"))
    first, second = as_credal("p", p), as_credal("q", q)
    same_length("p", len(first), "q", len(second))
    if kind == "consistency":
        return _consistency(Relational.of(first), Relational.of(second))
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
        return pair_jousselme(*pair_differences(p, q))
    p, q = as_partition("p", p, at_least=1), as_partition("q", q, at_least=1)
    same_length("p", len(p), "q", len(q))
    if p.n_clusters != q.n_clusters:
        raise ValueError(
            f"p and q must have the same number of clusters; got {p.n_clusters} and {q.n_clusters}. "
            f"credal_rand_index compares partitions with different clusters."
        )
    focal = FocalSets.of(p.n_clusters, p.focal_sets.sets + q.focal_sets.sets)
    difference = _on(p, focal) - _on(q, focal)
    squares = np.einsum("ij,ij->i", difference @ _jaccard(focal), difference)
    return cast(FloatArray, np.sqrt(np.maximum(squares, 0.0) / 2))


def _consistency(p: Relational, q: Relational) -> float:
    """Return one minus the mean conflict; the sums over pairs factor into sums over objects.

    The conflict of a pair is 1 - (1 - e)(1 - e') + s n' + n s', and each term is a product of a function of i and one
    of j, or a sum of these: sum_ij (a_i . b_j)(c_i . d_j) = <A'C, B'D>, minus the terms i = j.
    """
    n = len(p.inside)
    outside = p.inside * q.inside
    agreed = outside.sum() ** 2 - outside @ outside
    conflict = 0.0
    for x, y in ((p, q), (q, p)):
        conflict += np.sum((x.single.T @ y.disjoint) * (x.single.T @ y.sets))
        conflict -= np.einsum("ij,ij->i", x.single, x.single) @ np.einsum("ij,ij->i", y.disjoint, y.sets)
    return float((agreed - conflict) / (n * (n - 1)))


def _similarity(p: CredalPartition, q: CredalPartition, kind: CredalKind) -> float:
    """Return one minus the mean distance over pairs, block by block."""
    n = len(p)
    rows, copies = _like_objects(p, q)
    x, y = Relational.of(p[rows]), Relational.of(q[rows])
    distance = pair_jousselme if kind == "jousselme" else pair_belief
    # e - e', s - s' and n - n' of all pairs are one matrix product each.
    factors = [
        (np.column_stack([x.inside, y.inside]), np.column_stack([-x.inside, y.inside])),
        (np.hstack([x.single, y.single]), np.hstack([x.single, -y.single])),
        (np.hstack([x.disjoint, y.disjoint]), np.hstack([x.sets, -y.sets])),
    ]
    total = 0.0
    for i, j in _blocks(len(rows)):
        values = distance(*(left[i] @ right[j].T for left, right in factors))
        block = float(copies[i] @ values @ copies[j])
        # On the diagonal, each pair counts twice, and an object with itself must be subtracted.
        total += (block - float(copies[i] @ values.diagonal())) / 2 if i == j else block
    return float(1 - total / (n * (n - 1) / 2))


def _like_objects(p: CredalPartition, q: CredalPartition) -> tuple[IntArray, FloatArray]:
    """Return representative objects, and how many objects each represents.

    With all mass on one set in both partitions, as in hard ones, there are few distinct objects.
    """
    if (p.masses.max(1) == 1).all() and (q.masses.max(1) == 1).all():
        cell = p.masses.argmax(1) * q.masses.shape[1] + q.masses.argmax(1)
        _, rows, copies = np.unique(cell, return_index=True, return_counts=True)
        return rows, copies.astype(np.float64)
    return np.arange(len(p)), np.ones(len(p))


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Yield blocks that cover the pairs i <= j."""
    for i in range(0, n, BLOCK):
        for j in range(i, n, BLOCK):
            yield slice(i, min(i + BLOCK, n)), slice(j, min(j + BLOCK, n))


def _on(partition: CredalPartition, focal: FocalSets) -> FloatArray:
    """Return the masses with columns for the sets of `focal`, a superset of the partition's."""
    masses = np.zeros((len(partition), len(focal) + 1))
    masses[:, [0, *(focal.index(members) for members in partition.focal_sets)]] = partition.masses
    return masses


def _jaccard(focal: FocalSets) -> FloatArray:
    """Return |A and B| / |A or B| between all sets, 1 for two empty ones."""
    shared = focal.with_empty @ focal.with_empty.T
    sizes = shared.diagonal()
    union = sizes[:, None] + sizes - shared
    union[0, 0] = 1.0
    shared[0, 0] = 1.0
    return shared / union


# ------------------------------------------------------------------ pairs of objects


@dataclass(frozen=True)
class PairwiseMasses:
    r"""The masses of a credal partition for each pair of objects: a mass function on :math:`\{s, \neg s\}`.

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
        At least two objects. Takes 16 n² bytes; :func:`credal_rand_index` needs less memory to compare partitions.

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
    r"""Mean over pairs of objects of the uncertainty about "same cluster or not".

    .. math:: \binom n2^{-1} \sum_{i<j} m_{ij}(\emptyset) + m_{ij}(\Theta)

    The sum over pairs has a closed form; time grows linearly with n.

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
    r"""Belief distance between the masses of two partitions for each pair of objects.

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
    """The parts of a partition that define its pairs: all relational scores are bilinear in these."""

    inside: FloatArray  # (n,) mass outside ∅
    single: FloatArray  # (n, c) masses of single clusters
    sets: FloatArray  # (n, f) masses of non-empty sets
    disjoint: FloatArray  # (n, f) mass of the sets disjoint with each set

    @classmethod
    def of(cls, partition: CredalPartition) -> Relational:
        """Return the parts of a partition."""
        focal = partition.focal_sets
        sets = np.ascontiguousarray(partition.masses[:, 1:])
        disjoint = (~focal.intersects[1:, 1:]).astype(np.float64)
        return cls(1 - partition.masses[:, 0], sets[:, : focal.n_clusters], sets, sets @ disjoint)


def pair_jousselme(empty: FloatArray, same: FloatArray, different: FloatArray) -> FloatArray:
    """Return the Jousselme distance on {s, not s} from differences of masses.

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
    """Return the belief distance on {s, not s}; Bel of the whole frame is one minus the mass of the empty set."""
    total: FloatArray = np.abs(same)
    total += np.abs(different)
    total += np.abs(empty)
    total *= 0.5
    return total


def pair_differences(p: PairwiseMasses, q: PairwiseMasses) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return differences of the masses of ∅, {s} and {¬s}."""
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, PairwiseMasses):
            raise TypeError(
                f"{name} must be PairwiseMasses; got {type(value).__name__}. Make them with pairwise_masses."
            )
    same_length("p", len(p), "q", len(q))
    return p.empty - q.empty, p.same - q.same, p.different - q.different
