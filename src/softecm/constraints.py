"""Constraints on pairs of objects: "these two belong together" (must-link), "these two do not" (cannot-link).

``SoftECM``, ``CECM``, ``CEVCLUS`` and ``NNEVCLUS`` take such pairs in ``fit(X, must_link=..., cannot_link=...)``. This
module validates them, samples them from known labels, completes them (if 1 is with 2 and 2 with 3, then 1 is with 3),
extends them to near neighbours, and learns coordinates in which they hold.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._checks import aligned, as_numbers, check_count, check_list, check_number, plain_array
from softecm._text import some_of
from softecm._warnings import warn
from softecm._wording import option, worded

__all__ = [
    "Constraints",
    "check_constraints",
    "close_constraints",
    "kept",
    "learn_components",
    "sample_constraints",
    "spread_constraints",
]

Pairs = NDArray[np.int64]
Floats = NDArray[np.float64]


class Constraints(NamedTuple):
    """Must-links and cannot-links as sorted pairs of objects, (m, 2) each, without repeats."""

    must_link: Pairs
    cannot_link: Pairs


def check_constraints(must_link: ArrayLike | None, cannot_link: ArrayLike | None, n_objects: int) -> Constraints:
    """Validate and sort pairs of objects; raises an error for numbers out of range and contradictory pairs.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (m, 2), or None
        Indices of objects, counted from 0.
    n_objects : int

    Examples
    --------
    >>> check_constraints([(2, 0), (0, 2)], None, 3).must_link
    array([[0, 2]])
    >>> check_constraints([(0, 1), (1, 2)], [(2, 0)], 3)
    Traceback (most recent call last):
        ...
    ValueError: cannot_link must not contradict must_link; got the pair (0, 2), and must_link joins 0 - 1 - 2. Remove the
    cannot-link or one of the must-links (0, 1), (1, 2).
    """
    must = _pairs("must_link", must_link, n_objects)
    cannot = _pairs("cannot_link", cannot_link, n_objects)
    must = must[must[:, 0] != must[:, 1]]  # an object is always together with itself
    same = cannot[:, 0] == cannot[:, 1]
    if same.any():
        i = int(cannot[same][0, 0])
        raise ValueError(
            f"cannot_link must join two different objects; got ({i}, {i}): an object can't be apart from itself. Remove it."
        )
    group = groups_of(must, n_objects)
    broken = cannot[group[cannot[:, 0]] == group[cannot[:, 1]]]
    if len(broken):
        i, j = (int(v) for v in broken[0])
        chain = _chain(must, i, j, n_objects)
        links = ", ".join(f"({min(a, b)}, {max(a, b)})" for a, b in pairwise(chain))
        raise ValueError(
            f"cannot_link must not contradict must_link; got the pair ({i}, {j}), and must_link joins "
            f"{' - '.join(map(str, chain))}. Remove the cannot-link or one of the must-links {links}."
        )
    return Constraints(must, cannot)


def close_constraints(must_link: ArrayLike | None, cannot_link: ArrayLike | None, n_objects: int) -> Constraints:
    """Add all pairs that follow from the given ones.

    Must-links are transitive; a cannot-link between two objects holds for all objects must-linked to either. The size of
    the result grows with the square of the sizes of must-linked groups.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (m, 2), or None
    n_objects : int

    Examples
    --------
    >>> closed = close_constraints([(0, 1), (1, 2)], [(2, 3)], 5)
    >>> closed.must_link.tolist()
    [[0, 1], [0, 2], [1, 2]]
    >>> closed.cannot_link.tolist()
    [[0, 3], [1, 3], [2, 3]]
    """
    import pandas as pd

    must, cannot = check_constraints(must_link, cannot_link, n_objects)
    group = groups_of(must, n_objects)
    members = pd.Series(group).groupby(group).indices
    together = [_all_pairs(rows) for rows in members.values() if len(rows) > 1]
    between = {(int(a), int(b)) for a, b in np.sort(group[cannot], axis=1)}
    new_cannot = [np.stack(np.meshgrid(members[a], members[b], indexing="ij"), -1).reshape(-1, 2) for a, b in between]
    return Constraints(_distinct(together), _distinct(new_cannot))


def spread_constraints(
    must_link: ArrayLike | None, cannot_link: ArrayLike | None, dissimilarities: ArrayLike, n_neighbors: int = 1
) -> Constraints:
    """Extend links to the near neighbours of linked objects.

    For a link between a and b, candidates are pairs of a or one of its neighbours with b or one of its neighbours; the
    ``n_neighbors`` nearest by d(a, a') + d(b, b') are added. Pairs of an object with itself and contradictory pairs are
    skipped: given links take precedence, then added must-links, nearest first, then added cannot-links.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (m, 2), or None
    dissimilarities : array-like of shape (n, n)
        Dissimilarities of all objects.
    n_neighbors : int, default=1
        From 1 to n - 1: number of neighbours of an object, and maximum number of new pairs per link.

    Returns
    -------
    constraints : Constraints
        The given pairs and the new ones.

    Examples
    --------
    >>> d = abs(np.subtract.outer([0.0, 1.0, 5.0, 5.5], [0.0, 1.0, 5.0, 5.5]))
    >>> spread_constraints(None, [(0, 2)], d).cannot_link.tolist()
    [[0, 2], [0, 3]]
    """
    d = as_numbers(aligned(dissimilarities, "dissimilarities"), "dissimilarities")
    if d.ndim != 2 or d.shape[0] != d.shape[1] or not np.isfinite(d).all():
        raise ValueError(
            f"dissimilarities must be a square matrix of finite numbers; got shape {d.shape}. Compute them with "
            "sklearn.metrics.pairwise_distances."
        )
    known = check_constraints(must_link, cannot_link, len(d))
    k = check_count("n_neighbors", n_neighbors, hint="1 is usual: as many new pairs per link.")
    if k >= len(d):
        raise ValueError(
            f"n_neighbors must be less than the number of objects; got {k} for {len(d)} objects. Use fewer."
        )
    near = [_handed_on(pairs, d, k) for pairs in known]
    must = _agreeing(known, near[0], len(d))
    group = groups_of(must, len(d))
    different = near[1][group[near[1][:, 0]] != group[near[1][:, 1]]]
    return Constraints(must, _distinct([known.cannot_link, different]))


def _handed_on(pairs: Pairs, d: Floats, k: int) -> Pairs:
    """Return for each pair the k nearest pairs of its objects' neighbours, nearest first."""
    handed: list[Pairs] = []
    costs: list[Floats] = []
    for a, b in pairs:
        ends = [np.r_[i, [j for j in np.argsort(d[i], kind="stable")[: k + 1] if j != i][:k]] for i in (a, b)]
        every = np.stack(np.meshgrid(*ends, indexing="ij"), -1).reshape(-1, 2)
        cost = d[a, every[:, 0]] + d[b, every[:, 1]]
        order = np.argsort(cost, kind="stable")
        every, cost = np.sort(every[order], axis=1), cost[order]
        once = np.sort(np.unique(every, axis=0, return_index=True)[1])
        new = once[(every[once, 0] != every[once, 1]) & (every[once] != (a, b)).any(1)][:k]
        handed.append(every[new])
        costs.append(cost[new])
    if not handed:
        return np.empty((0, 2), dtype=np.int64)
    return np.concatenate(handed)[np.argsort(np.concatenate(costs), kind="stable")]


def _agreeing(known: Constraints, near: Pairs, n: int) -> Pairs:
    """Add must-links one by one to the given ones, if all given cannot-links remain possible."""
    group = groups_of(known.must_link, n)
    taken = [known.must_link]
    cannot = group[known.cannot_link]  # updated as groups are merged
    for a, b in near:
        keep, gone = group[a], group[b]
        if ((cannot == (keep, gone)).all(1) | (cannot == (gone, keep)).all(1)).any():
            continue
        group[group == gone], cannot[cannot == gone] = keep, keep
        taken.append(np.array([[a, b]]))
    return _distinct(taken)


def learn_components(
    X: ArrayLike,
    must_link: ArrayLike | None,
    cannot_link: ArrayLike | None,
    n_components: int = 2,
    *,
    beta: float = 1.0,
    max_iter: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> Floats:
    r"""Learn a projection in which must-linked objects are close and cannot-linked objects far apart (PCCA).

    Minimizes :math:`\frac{1}{\beta} \sum_{ij} \ln(1 + \exp(\beta y_{ij} (\|L(x_i - x_j)\|^2 - 1)))` over L, with y = 1
    for
    must-links and -1 for cannot-links: must-linked objects should be closer than 1, cannot-linked ones farther. Pass the
    distances between the rows of ``X @ L.T`` to :class:`softecm.CEVCLUS`, or the rows themselves to any estimator.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Numbers, or a kernel matrix (n, n) for the kernel version: rows are then mapped by ``K @ L.T``.
    must_link, cannot_link : array-like of shape (m, 2), or None
    n_components : int, default=2
        Number of rows of L, from 1 to p.
    beta : float, default=1.0
        Above 0: sharpness of the boundary between satisfied and violated links.
    max_iter : int, default=1000
    random_state : int, RandomState or None
        For the initialization with small random numbers.

    Returns
    -------
    components : ndarray of shape (n_components, p)
        L.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0]])  # the second column says nothing
    >>> L = learn_components(X, [(0, 1), (2, 3)], [(0, 2), (1, 3)], 1, random_state=0)
    >>> bool(abs(L[0, 0]) > 100 * abs(L[0, 1]))
    True

    References
    ----------
    A. Mignon and F. Jurie, "PCCA: a new approach for distance learning from sparse pairwise constraints", CVPR, 2012.
    """
    from scipy.optimize import minimize
    from sklearn.utils import check_array, check_random_state

    x = check_array(X, dtype=np.float64)
    links = check_constraints(must_link, cannot_link, len(x))
    if not any(map(len, links)):
        raise ValueError("must_link or cannot_link must hold at least one pair; got none.")
    d = check_count("n_components", n_components, hint="2 is usual.")
    if d > x.shape[1]:
        raise ValueError(f"n_components must be at most the {x.shape[1]} columns of X; got {d}. Use fewer components.")
    sharpness = check_number("beta", beta, above=0, hint="1 is usual.")
    rounds = check_count("max_iter", max_iter, hint="1000 is usual.")
    start = check_random_state(random_state).normal(scale=1e-3, size=(d, x.shape[1]))
    optimum = minimize(
        lambda flat: component_loss(flat.reshape(start.shape), x, links, sharpness),
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": rounds},
    )
    components: Floats = optimum.x.reshape(start.shape)
    return components


def component_loss(components: Floats, x: Floats, links: Constraints, beta: float) -> tuple[float, Floats]:
    """Return the objective of :func:`learn_components`, and its gradient, flat."""
    from scipy.special import expit

    ends = np.concatenate(links)
    sign = np.repeat([1.0, -1.0], [len(links.must_link), len(links.cannot_link)])
    difference = x[ends[:, 0]] - x[ends[:, 1]]
    mapped = difference @ components.T
    excess = beta * sign * (np.square(mapped).sum(1) - 1.0)
    slope = 2.0 * (sign * expit(excess))[:, None] * mapped
    return float(np.logaddexp(0.0, excess).sum() / beta), (slope.T @ difference).ravel()


def sample_constraints(
    labels: ArrayLike, n_pairs: int, *, random_state: int | np.random.RandomState | None = None
) -> Constraints:
    """Draw random must-links and cannot-links between objects with known labels.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Known groups. Negative numbers mean "unknown"; such objects are not drawn.
    n_pairs : int
        Number of different pairs to draw; all pairs are equally likely.
    random_state : int, RandomState or None

    Returns
    -------
    constraints : Constraints

    Examples
    --------
    >>> pairs = sample_constraints([0, 0, 1, -1], 3, random_state=0)
    >>> pairs.must_link.tolist(), pairs.cannot_link.tolist()
    ([[0, 1]], [[0, 2], [1, 2]])
    """
    from sklearn.utils import check_random_state

    values = plain_array(labels, "labels")
    if values.ndim != 1:
        raise ValueError(f"labels must have one entry per object; got shape {values.shape}. Pass a list of labels.")
    known = np.flatnonzero(values >= 0) if values.dtype.kind in "iuf" else np.arange(len(values))
    count = check_count("n_pairs", n_pairs, least=0, hint="Pass the number of pairs to draw.")
    available = len(known) * (len(known) - 1) // 2
    if count > available:
        raise ValueError(
            f"n_pairs must be at most {available}, the number of pairs of objects with known labels; got {count}. "
            "Draw fewer pairs."
        )
    rng = check_random_state(random_state)
    chosen: set[tuple[int, int]] = set()
    if 2 * count > available:  # few pairs in total: number them and draw without replacement
        every = _all_pairs(known)
        chosen = {(int(a), int(b)) for a, b in every[rng.permutation(len(every))[:count]]}
    while len(chosen) < count:
        a, b = sorted(rng.choice(len(known), 2, replace=False))
        chosen.add((int(known[a]), int(known[b])))
    pairs = np.array(sorted(chosen), dtype=np.int64).reshape(-1, 2)
    agree = values[pairs[:, 0]] == values[pairs[:, 1]]
    return Constraints(pairs[agree], pairs[~agree])


UNKNOWN = ("", "-1", "-1.0", "nan")  # among words; numpy writes NaN as "nan"


def partial_labels(y: object, n_clusters: int) -> Pairs | None:
    """Return label indices (n,), in sorted order, -1 if unknown; None if ``y`` is ignored.

    Unknown are -1, "-1", blanks and missing values. ``y`` without any of them is ignored: scikit-learn passes complete
    labels to clusterers, which have to ignore them.

    Examples
    --------
    >>> partial_labels(["b", "", "a", "b"], 2).tolist()
    [1, -1, 0, 1]
    >>> partial_labels(["b", "a"], 2) is None
    True
    """
    if y is None:
        return None
    values, unknown = unknown_labels(y)
    if not unknown.any():
        return None
    if values.ndim != 1 or unknown.all():
        why = f"has shape {values.shape}" if values.ndim != 1 else "has no known label"
        warn(f"y is ignored because it {why}. Pass one label per object, some of them known.")
        return None
    known = values[~unknown]
    try:
        names, numbers = np.unique(known, return_inverse=True)
    except TypeError:  # numbers and words
        names, numbers = np.unique(_as_text(known), return_inverse=True)
    if len(names) > n_clusters:
        raise ValueError(
            f"{option('y')} must name at most {option('n_clusters', n_clusters)} different groups; got {len(names)}: "
            f"{some_of(names, 10)}. Use as many clusters, or {worded('-1', 'empty cells')} for unknown labels."
        )
    labels = np.full(len(values), -1, dtype=np.int64)
    labels[~unknown] = numbers
    return labels


def _as_text(values: NDArray[np.generic]) -> NDArray[np.str_]:
    """Values as text, lists among them, too."""
    return np.array([str(one) for one in values.ravel().tolist()], dtype=np.str_).reshape(values.shape)


def unknown_labels(y: object) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """Return labels as an array, and which are unknown."""
    import pandas as pd

    values = plain_array(y, "y", object if isinstance(y, list | tuple) else None)
    if values.ndim == 0 or values.dtype.kind == "V":
        return values, np.zeros(values.shape, dtype=np.bool_)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    marked = values == -1 if values.dtype.kind in "biuf" else np.isin(np.char.strip(_as_text(values)), UNKNOWN)
    return values, np.asarray(pd.isna(values)) | marked


def warn_of_labels(y: object, name: str) -> None:
    """Warn if an estimator ignores partial labels, which were probably meant to be used."""
    if y is None:
        return
    unknown = unknown_labels(y)[1]
    if unknown.any() and not unknown.all():
        warn(
            f"{name} ignores y, in which only some labels are known. SoftECM, ECM and FCM use such labels; CECM, CEVCLUS "
            "and NNEVCLUS take must_link and cannot_link instead."
        )


def groups_of_labels(labels: Pairs) -> list[Pairs]:
    """Return the objects of each label index of :func:`partial_labels`.

    Examples
    --------
    >>> [rows.tolist() for rows in groups_of_labels(np.array([1, -1, 0, 1]))]
    [[2], [0, 3]]
    """
    return [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]


def links_of_labels(labels: Pairs, must_link: ArrayLike | None, cannot_link: ArrayLike | None) -> tuple[Pairs, Pairs]:
    """Add the links of partial labels: each known object with the next of its label and one of every other.

    Examples
    --------
    >>> must, cannot = links_of_labels(np.array([0, -1, 0, 1]), None, None)
    >>> must.tolist(), cannot.tolist()
    ([[0, 2]], [[0, 3], [2, 3]])
    """
    groups = groups_of_labels(labels)
    together = [np.stack([rows, np.roll(rows, -1)], 1) for rows in groups if len(rows) > 1]
    different = [np.stack([a, np.resize(b, len(a))], 1) for a in groups for b in groups if a is not b]
    must = [_pairs("must_link", must_link, len(labels)), *together]
    cannot = [_pairs("cannot_link", cannot_link, len(labels)), *different]
    for name, given, alike in (("must_link", must[0], True), ("cannot_link", cannot[0], False)):
        known = given[(labels[given] >= 0).all(1)]
        wrong = known[(labels[known[:, 0]] == labels[known[:, 1]]) != alike]
        if len(wrong):
            i, j = wrong[0].tolist()
            label = "different labels" if alike else "the same label"
            raise ValueError(
                f"{name} must agree with y; got the pair ({i}, {j}), which has {label} in y. Remove the pair, or one label."
            )
    return _distinct(must), _distinct(cannot)


def kept(labels: ArrayLike, must_link: ArrayLike | None = None, cannot_link: ArrayLike | None = None) -> float:
    """Return the share of constraints that a hard labelling satisfies; 1 if there are none.

    Parameters
    ----------
    labels : array-like of shape (n,)
    must_link, cannot_link : array-like of shape (m, 2), or None

    Examples
    --------
    >>> kept([0, 0, 1], must_link=[(0, 1), (0, 2)], cannot_link=[(1, 2)])
    0.6666666666666666
    """
    values = plain_array(labels, "labels")
    must = _pairs("must_link", must_link, len(values))
    cannot = _pairs("cannot_link", cannot_link, len(values))
    good = (values[must[:, 0]] == values[must[:, 1]]).sum() + (values[cannot[:, 0]] != values[cannot[:, 1]]).sum()
    total = len(must) + len(cannot)
    return float(good / total) if total else 1.0


def _pairs(name: str, pairs: ArrayLike | None, n_objects: int) -> Pairs:
    """Return distinct pairs (m, 2) of object indices, the smaller first."""
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    if not hasattr(pairs, "__array__"):
        pairs = check_list(name, pairs, "pairs of objects")
    table = plain_array(pairs, name)
    if table.size == 0 and table.dtype.kind != "O":
        return np.empty((0, 2), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"{name} must be a list of pairs of objects; got shape {table.shape}. Write [(0, 5), (2, 3)], for example."
        )
    whole = table.dtype.kind in "iu" or (table.dtype.kind == "f" and bool((table == np.floor(table)).all()))
    if not whole:
        raise ValueError(f"{name} must hold whole numbers; got {table.dtype}. Count objects from 0.")
    numbers = table.astype(np.int64)
    outside = ((numbers < 0) | (numbers >= n_objects)).any(1)
    if outside.any():
        a, b = numbers[outside][0]
        raise ValueError(
            f"{name} must name objects from 0 to {n_objects - 1}; got the pair ({a}, {b}) for {n_objects} objects. "
            "Objects are rows of X, counted from 0."
        )
    return _distinct([np.sort(numbers, axis=1)])


def _distinct(parts: list[Pairs]) -> Pairs:
    """Concatenate and sort all pairs, without duplicates, the smaller index first."""
    if not parts:
        return np.empty((0, 2), dtype=np.int64)
    return np.unique(np.sort(np.concatenate(parts), axis=1), axis=0)


def groups_of(pairs: Pairs, n_objects: int) -> NDArray[np.int64]:
    """Return for each object the index of its group, as joined by pairs."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(_joined(pairs, n_objects), directed=False)[1], dtype=np.int64)


def _joined(pairs: Pairs, n_objects: int) -> object:
    from scipy.sparse import coo_array

    first, second = pairs.astype(np.int32).T  # required by older releases of SciPy
    return coo_array((np.ones(len(pairs)), (first, second)), shape=(n_objects, n_objects)).tocsr()


def _all_pairs(rows: NDArray[np.int64]) -> Pairs:
    first, second = np.triu_indices(len(rows), 1)
    return np.stack([rows[first], rows[second]], axis=1)


def _chain(must: Pairs, start: int, end: int, n_objects: int) -> list[int]:
    """Return the shortest path between two objects along must-links."""
    from scipy.sparse.csgraph import breadth_first_order

    before = breadth_first_order(_joined(must, n_objects), start, directed=False)[1]
    chain = [end]
    while chain[-1] != start:
        chain.append(int(before[chain[-1]]))
    return chain[::-1]
