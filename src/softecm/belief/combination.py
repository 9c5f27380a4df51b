r"""Combination of two mass functions on the same clusters; discounting; merging and renumbering of clusters.

Pure functions on mass matrices of shape (n, f + 1), one row per object, column 0 the empty set. With two sources
:math:`m_1, m_2` of the same object:

``"conjunctive"``
    both are right: :math:`m(A) = \sum_{B \cap C = A} m_1(B) m_2(C)`. Their conflict goes to ∅.
``"dempster"``
    the same, divided by :math:`1 - m(\emptyset)`. Undefined for total conflict.
``"disjunctive"``
    at least one is right: :math:`m(A) = \sum_{B \cup C = A} m_1(B) m_2(C)`.
``"average"``
    the mean of both.
``"cautious"``
    both are right and may use the same evidence: repeating a source changes nothing. The minimum of the two weights of
    the canonical decomposition, :math:`\ln w(A) = -\sum_{B \supseteq A} (-1)^{|B| - |A|} \ln q(B)`; requires
    :math:`m(\Omega) > 0` on both sides.

The first four are those of Smets; the last is T. Denœux, "Conjunctive and disjunctive combination of belief functions
induced by nondistinct bodies of evidence", Artificial Intelligence 172, 2008.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._checks import as_numbers, check_choice
from softecm._text import place
from softecm.belief.focal import MOST_SETS, ClusterSet, FocalSets
from softecm.belief.transforms import BLOCK_ENTRIES, SMALLEST_TOTAL, FloatArray, _divided, _total

CombinationRule = Literal["conjunctive", "dempster", "disjunctive", "average", "cautious"]
RULES: tuple[CombinationRule, ...] = ("conjunctive", "dempster", "disjunctive", "average", "cautious")
MOST_CLUSTERS = 12  # of the cautious rule, which uses all subsets

Sourced = tuple[FloatArray, FocalSets]  # masses and their focal sets


def combined(one: Sourced, other: Sourced, rule: CombinationRule = "dempster") -> Sourced:
    """Combine two sources about the same objects.

    Parameters
    ----------
    one, other : (masses, focal)
        Of the same number of objects and clusters.
    rule : {"conjunctive", "dempster", "disjunctive", "average", "cautious"}, default "dempster"
        See the module.

    Returns
    -------
    masses, focal
        On the sets that the rule can produce.

    Examples
    --------
    >>> doctor = np.array([[0.0, 0.6, 0.0, 0.4]]), FocalSets.full(2)
    >>> nurse = np.array([[0.0, 0.5, 0.2, 0.3]]), FocalSets.full(2)
    >>> combined(doctor, nurse, "conjunctive")[0].round(2)
    array([[0.12, 0.68, 0.08, 0.12]])
    """
    check_choice("rule", rule, RULES)
    _check_alike(one, other)
    if rule == "average":
        return averaged([one, other])
    if rule == "cautious":
        return _cautious(one, other)
    masses, focal = _crossed(one, other, operator.or_ if rule == "disjunctive" else operator.and_)
    if rule == "dempster":
        total = _total(masses)
        conflict = np.flatnonzero(total <= SMALLEST_TOTAL)
        if len(conflict):
            raise ValueError(
                f"Dempster's rule must have sources that don't contradict each other completely; those of "
                f"{place('object', int(conflict[0]), 'masses')} do ({len(conflict)} such objects). "
                "Use rule='conjunctive', which keeps the conflict on ∅, rule='average', or discount() the sources first."
            )
        masses = _divided(masses, total, 0.0)
        masses[:, 0] = 0.0
    return masses, focal


def averaged(sources: Sequence[Sourced]) -> Sourced:
    """Return the mean of several sources about the same objects and clusters."""
    for other in sources[1:]:
        _check_alike(sources[0], other)
    focal = FocalSets(sources[0][1].n_clusters, tuple(clusters for _, sets in sources for clusters in sets.sets))
    total = sum(_placed(*source, focal) for source in sources)
    return np.asarray(total / len(sources)), focal


def discounted(source: Sourced, reliability: ArrayLike) -> Sourced:
    r"""Discount a source: :math:`r\,m(A)`, and :math:`1 - r` more on Ω.

    Parameters
    ----------
    source : (masses, focal)
    reliability : float, or array-like of shape (n,)
        r, from 0 (ignored) to 1 (unchanged).

    Examples
    --------
    >>> discounted((np.array([[0.1, 0.9, 0.0]]), FocalSets.up_to(2, 1)), 0.5)[0]
    array([[0.05, 0.45, 0.  , 0.5 ]])
    """
    masses, focal = source
    r = as_numbers(reliability, "reliability")
    if r.shape not in ((), (len(masses),)) or not np.all((r >= 0) & (r <= 1)):
        raise ValueError(
            f"reliability must be a number from 0 to 1, or one for each of the {len(masses)} objects; got {reliability!r}."
        )
    wider = FocalSets(focal.n_clusters, (*focal.sets, tuple(range(focal.n_clusters))))
    out = _placed(masses, focal, wider) * np.broadcast_to(r, len(masses))[:, None]
    out[:, wider.omega] += 1.0 - r
    return out, wider


def coarsened(source: Sourced, groups: Iterable[Iterable[int]]) -> Sourced:
    """Merge clusters: each group of them becomes one cluster, in the given order.

    Examples
    --------
    >>> masses, focal = coarsened((np.array([[0.1, 0.2, 0.3, 0.4]]), FocalSets.up_to(3, 1)), [(0, 2), (1,)])
    >>> masses.round(1)
    array([[0.1, 0.6, 0.3]])
    """
    masses, focal = source
    try:
        parts = [tuple(operator.index(k) for k in group) for group in groups]
    except TypeError as error:
        raise TypeError(f"groups must be lists of clusters, such as [(0, 2), (1,)]; got {groups!r}.") from error
    if sorted(k for group in parts for k in group) != list(range(focal.n_clusters)) or not all(parts):
        raise ValueError(
            f"groups must hold each of the clusters 0 to {focal.n_clusters - 1} once and none be empty; got {parts}."
        )
    into = {k: number for number, group in enumerate(parts) for k in group}
    return _mapped(masses, focal, into, len(parts))


def renumbered(source: Sourced, into: Sequence[int], n_clusters: int) -> Sourced:
    """Rename cluster k to ``into[k]``, among ``n_clusters``."""
    masses, focal = source
    return _mapped(masses, focal, dict(enumerate(into)), n_clusters)


def matching(one: FloatArray, other: FloatArray) -> NDArray[np.intp]:
    """Return the most similar cluster of the other for each: (n, c) and (n, d) probabilities -> (c,), all different.

    Agreement is the expected number of objects shared by two clusters. If there are more clusters than the other has,
    the rest are numbered after its own.

    Examples
    --------
    >>> matching(np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[2, 2, 0, 1]])
    array([2, 0, 1])
    """
    from scipy.optimize import linear_sum_assignment

    c, d = one.shape[1], other.shape[1]
    shared = np.zeros((c, max(c, d)))
    shared[:, :d] = one.T @ other
    into: NDArray[np.intp] = linear_sum_assignment(shared, maximize=True)[1]
    extra = np.flatnonzero(into >= d)
    into[extra] = d + np.arange(len(extra))
    return into


def check_matchable(one: FloatArray, other: FloatArray) -> None:
    """Raise an error for (n, c) and (n, d) probabilities for which all numberings agree equally well."""
    from scipy.optimize import linear_sum_assignment

    shared = one.T @ other
    best, worst = (shared[linear_sum_assignment(shared, maximize=most)].sum() for most in (True, False))
    if min(shared.shape) > 1 and best - worst <= 1e-9 * len(one):
        raise ValueError(
            "clusters must differ to be matched; every numbering of these agrees equally well with the other's. "
            "Combine them as they are numbered, or leave one out."
        )


def most_agreed(shares: Sequence[FloatArray]) -> int:
    """Return which of several partitions, as probabilities (n, c), agrees most with the others after matching."""
    total = np.zeros(len(shares))
    for i, one in enumerate(shares):
        for j, other in enumerate(shares[:i]):
            into = matching(one, other)
            inside = into < other.shape[1]
            total[[i, j]] += (one[:, inside] * other[:, into[inside]]).sum()
    return int(total.argmax())


# ---------------------------------------------------------------------------------------------------- helpers


def _check_alike(one: Sourced, other: Sourced) -> None:
    """Raise an error for different objects or clusters."""
    if len(one[0]) != len(other[0]):
        raise ValueError(
            f"partitions must be about the same objects to be combined; got {len(one[0])} and {len(other[0])} objects. "
            "Take the objects they have in common, in the same order."
        )
    if one[1].n_clusters != other[1].n_clusters:
        raise ValueError(
            f"partitions must have the same clusters to be combined; got {one[1].n_clusters} and {other[1].n_clusters}. "
            "Renumber one of them with match(), or merge clusters with coarsen()."
        )


def _placed(masses: FloatArray, focal: FocalSets, wider: FocalSets) -> FloatArray:
    """Return the masses in the columns of more sets."""
    out = np.zeros((len(masses), len(wider) + 1))
    out[:, [0, *(wider.index(sets) for sets in focal.sets)]] = masses
    return out


def _code(clusters: ClusterSet) -> int:
    """Return a set as the bits of a number."""
    return sum(1 << k for k in clusters)


def _clusters(code: int) -> ClusterSet:
    return tuple(k for k in range(code.bit_length()) if code >> k & 1)


def _columns(codes: Sequence[int], n_clusters: int) -> tuple[FocalSets, NDArray[np.int64]]:
    """Return the sets of some codes and every single cluster, and the column of each code."""
    distinct = set(codes) - {0}
    if len(distinct) > MOST_SETS:
        raise ValueError(
            f"combined partitions must have at most {MOST_SETS} focal sets; these would have {len(distinct)}. Merge "
            "clusters with coarsen(), or use rule='average'."
        )
    singles = [(k,) for k in range(n_clusters)]
    focal = FocalSets(n_clusters, (*singles, *map(_clusters, distinct)))
    places = {0: 0, **{_code(clusters): place for place, clusters in enumerate(focal.sets, 1)}}
    return focal, np.array([places[code] for code in codes], dtype=np.int64)


def _crossed(one: Sourced, other: Sourced, operation: Callable[[int, int], int]) -> Sourced:
    """Return products of masses, each on the operation's result for its two sets."""
    used = [np.flatnonzero(masses.any(0)) for masses, _ in (one, other)]
    codes = [
        [0 if column == 0 else _code(focal.sets[column - 1]) for column in columns]
        for (_, focal), columns in zip((one, other), used, strict=True)
    ]
    focal, into = _columns([operation(a, b) for a in codes[0] for b in codes[1]], one[1].n_clusters)
    left, right = one[0][:, used[0]], other[0][:, used[1]]
    out = np.zeros((len(left), len(focal) + 1))
    step = max(1, BLOCK_ENTRIES // max(1, len(into)))
    for begin in range(0, len(out), step):
        rows = slice(begin, begin + step)
        products = left[rows, :, None] * right[rows, None, :]
        out[rows] = _summed(products.reshape(len(products), -1), into, out.shape[1])
    return out, focal


def _summed(values: FloatArray, into: NDArray[np.int64], columns: int) -> FloatArray:
    """Sum columns by their targets."""
    from scipy import sparse

    places = sparse.csr_array((np.ones(len(into)), (into, np.arange(len(into)))), shape=(columns, len(into)))
    total: FloatArray = (places @ values.T).T
    return np.ascontiguousarray(total)


def _mapped(masses: FloatArray, focal: FocalSets, into: dict[int, int], n_clusters: int) -> Sourced:
    """Replace every set by the set of its clusters' images."""
    codes = [0, *(_code(tuple({into[k] for k in clusters})) for clusters in focal.sets)]
    wider, places = _columns(codes, n_clusters)
    return _summed(masses, places, len(wider) + 1), wider


def _cautious(one: Sourced, other: Sourced) -> Sourced:
    c = one[1].n_clusters
    if c > MOST_CLUSTERS:
        raise ValueError(
            f"rule='cautious' must have at most {MOST_CLUSTERS} clusters, since it enumerates all their subsets; got {c}. "
            "Merge clusters with coarsen(), or use another rule."
        )
    weights = np.minimum(_log_weights(one), _log_weights(other))
    # q(A) is the product of the weights of all sets that do not contain A.
    q = np.exp(weights.sum(1, keepdims=True) - _over_supersets(weights))
    lattice = np.maximum(_over_supersets(q, -1.0), 0.0)
    lattice /= lattice.sum(1, keepdims=True)
    focal, places = _columns(range(1 << c), c)
    return _summed(lattice, places, len(focal) + 1), focal


def _log_weights(source: Sourced) -> FloatArray:
    """Return logarithms of the weights of all subsets but Ω (0 there), by their bits, (n, 2^c)."""
    masses, focal = source
    lattice = np.zeros((len(masses), 1 << focal.n_clusters))
    lattice[:, [0, *map(_code, focal.sets)]] = masses
    sure = np.flatnonzero(lattice[:, -1] <= SMALLEST_TOTAL)
    if len(sure):
        raise ValueError(
            "rule='cautious' must have some mass on all clusters together, for every object; "
            f"{place('object', int(sure[0]), 'masses')}, {len(sure)} in all, has none: fits include that set only on "
            "request. Discount the sources first: p.discount(0.99).combine(q.discount(0.99), rule='cautious')."
        )
    q = _over_supersets(lattice)
    weights = -_over_supersets(np.log(q), -1.0)
    weights[:, -1] = 0.0
    return weights


def _over_supersets(values: FloatArray, sign: float = 1.0) -> FloatArray:
    """Return sums over all supersets (n, 2^c); with sign -1 each step up changes sign: the inverse."""
    out = values.copy()
    for bit in range(values.shape[1].bit_length() - 1):
        halves = out.reshape(len(out), -1, 2, 1 << bit)
        halves[:, :, 0] += sign * halves[:, :, 1]
    return out
