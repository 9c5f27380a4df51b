r"""Beliefs, plausibilities, probabilities and decisions about single clusters from mass functions.

Pure functions on a mass matrix of shape (n, f + 1): one row per object, column 0 the empty set, the other columns the
sets of a :class:`~softecm.belief.FocalSets`. Each is one matrix product, so a million objects take seconds.

With :math:`K = m(\emptyset)`, three ways to treat the mass of the empty set:

``"dempster"``
    divide by :math:`1 - K`, ignoring the empty set. Undefined at :math:`K = 1`, for outliers, which then count as
    *vacuous* (all mass on Ω: belief 0, plausibility 1, the uniform probability).
``"yager"``
    move K to Ω: "none of these" becomes "could be any".
``None``
    keep it; beliefs and probabilities of an object then sum to less than 1.
"""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._checks import check_choice, plain_array
from softecm._text import place
from softecm.belief.focal import FocalSets

__all__ = [
    "belief",
    "commonality",
    "decisions",
    "normalise",
    "pignistic",
    "plausibility",
    "plausibility_transform",
    "set_decisions",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Normalisation = Literal["dempster", "yager"] | None
LabelRule = Literal["pignistic", "plausibility", "mass"]
SetRule = Literal["mass", "interval"]

# Smaller mass outside ∅ is rounding; dividing by it would give noise.
SMALLEST_TOTAL = 1e-300
# Limit of entries of a set-by-set matrix (128 MiB).
BLOCK_ENTRIES = 2**24


def belief(masses: ArrayLike, focal: FocalSets, normalise: Normalisation = "dempster") -> FloatArray:
    r"""Return the belief in each cluster, :math:`\mathrm{Bel}(\omega_k) = m(\{\omega_k\})`: the evidence for it alone.

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set first.
    focal : FocalSets
        The sets of the other columns.
    normalise : {"dempster", "yager", None}, default "dempster"
        How to treat the mass of the empty set.

    Returns
    -------
    ndarray of shape (n, c)

    Examples
    --------
    >>> belief([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2))
    array([[0.5, 0. ]])
    """
    m = _matrix(masses, focal)
    return _normalised(m[:, 1 : focal.n_clusters + 1], m, normalise, omega_value=float(focal.n_clusters == 1))


def plausibility(masses: ArrayLike, focal: FocalSets, normalise: Normalisation = "dempster") -> FloatArray:
    r"""Return the plausibility of each cluster, :math:`\mathrm{Pl}(\omega_k) = \sum_{A \ni \omega_k} m(A)`.

    One minus the evidence against the cluster. Never below the belief or the pignistic probability.

    Parameters
    ----------
    masses, focal, normalise
        As in :func:`belief`.

    Returns
    -------
    ndarray of shape (n, c)

    Examples
    --------
    >>> plausibility([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2))
    array([[1. , 0.5]])
    """
    m = _matrix(masses, focal)
    return _normalised(m @ focal.with_empty, m, normalise, omega_value=1.0)  # (n, f+1) @ (f+1, c)


def pignistic(masses: ArrayLike, focal: FocalSets, normalise: Normalisation = "dempster") -> FloatArray:
    r"""Return pignistic probabilities: each set shares its mass equally among its clusters.

    .. math:: \mathrm{BetP}(\omega_k) = \sum_{A \ni \omega_k} \frac{m(A)}{|A|\,(1 - m(\emptyset))}

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set first.
    focal : FocalSets
        The sets of the other columns.
    normalise : {"dempster", "yager", None}, default "dempster"
        How to treat the mass of the empty set.

    Returns
    -------
    ndarray of shape (n, c)
        Rows sum to 1, or to 1 - m(∅) with ``normalise=None``.

    References
    ----------
    P. Smets and R. Kennes, "The transferable belief model", Artificial Intelligence 66, 1994.

    Examples
    --------
    >>> pignistic([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2))
    array([[0.75, 0.25]])
    """
    m = _matrix(masses, focal)
    return _normalised(m @ focal.shares_with_empty, m, normalise, omega_value=1 / focal.n_clusters)


def commonality(masses: ArrayLike, focal: FocalSets, normalise: Normalisation = "dempster") -> FloatArray:
    r"""Return the commonality of each focal set, :math:`q(A) = \sum_{B \supseteq A} m(B)`.

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set first.
    focal : FocalSets
        The sets of the other columns.
    normalise : {"dempster", "yager", None}, default "dempster"
        How to treat the mass of the empty set.

    Returns
    -------
    ndarray of shape (n, f + 1)
        Column 0, the empty set, is 1: every set contains it.

    Examples
    --------
    >>> commonality([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2))
    array([[1. , 1. , 0.5, 0.5]])
    """
    m = _matrix(masses, focal)
    member = focal.with_empty
    raw = np.empty_like(m)
    step = max(1, BLOCK_ENTRIES // len(member))
    for start in range(0, len(member), step):
        block = member[start : start + step]
        contains = member @ block.T == block.sum(1)  # B contains A if |A and B| = |A|
        raw[:, start : start + step] = m @ contains.astype(np.float64)
    common = _normalised(raw, m, normalise, omega_value=1.0)
    if normalise is not None:
        common[:, 0] = 1.0
    return common


def plausibility_transform(masses: ArrayLike, focal: FocalSets) -> FloatArray:
    r"""Return plausibilities as probabilities, :math:`\mathrm{Pl}(\omega_k) / \sum_l \mathrm{Pl}(\omega_l)`.

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set first.
    focal : FocalSets
        The sets of the other columns.

    Returns
    -------
    ndarray of shape (n, c)
        Rows sum to 1; uniform if all mass is on the empty set.

    Examples
    --------
    >>> plausibility_transform([[0.2, 0.4, 0.0, 0.4], [1, 0, 0, 0]], FocalSets.full(2)).round(3)
    array([[0.667, 0.333],
           [0.5  , 0.5  ]])
    """
    m = _matrix(masses, focal)
    values = m @ focal.with_empty
    return _divided(values, values.sum(1), 1 / focal.n_clusters)


def normalise(masses: ArrayLike, focal: FocalSets, how: Normalisation = "dempster") -> tuple[FloatArray, FocalSets]:
    """Return mass functions without mass on the empty set, with their focal sets.

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set first.
    focal : FocalSets
        The sets of the other columns.
    how : {"dempster", "yager", None}, default "dempster"
        Divide by 1 - m(∅); move m(∅) to Ω; or keep it.

    Returns
    -------
    masses : ndarray of shape (n, g + 1)
        New masses; column 0 remains, with zeros.
    focal : FocalSets
        The same sets, plus Ω if it gets mass: always for "yager", for "dempster" only if an object has all its mass on
        the empty set.

    Examples
    --------
    >>> m, sets = normalise([[0.2, 0.4, 0.4]], FocalSets.up_to(2, 1), "yager")
    >>> m
    array([[0. , 0.4, 0.4, 0.2]])
    >>> sets.labels()
    ('∅', 'ω1', 'ω2', 'Ω')
    """
    m = _matrix(masses, focal)
    _check_normalisation(how)
    if how is None:
        return m.copy(), focal
    nowhere = _total(m) <= SMALLEST_TOTAL
    if focal.omega is None and (how == "yager" or nowhere.any()):
        # Ω is the largest set, so its column is the last and the others don't move.
        focal = FocalSets(focal.n_clusters, (*focal.sets, tuple(range(focal.n_clusters))), focal.names)
        m = np.column_stack([m, np.zeros(len(m))])
    column = cast(int, focal.omega)
    if how == "yager":
        out = m.copy()
        out[:, column] += out[:, 0]
    else:
        out = _divided(m, _total(m), 0.0)
        out[nowhere, column] = 1.0
    out[:, 0] = 0.0
    return out, focal


def decisions(masses: ArrayLike, focal: FocalSets, rule: LabelRule = "pignistic") -> NDArray[np.intp]:
    """Return one cluster per object, including those with most mass on the empty set.

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set first.
    focal : FocalSets
        The sets of the other columns.
    rule : {"pignistic", "plausibility", "mass"}, default "pignistic"
        What to maximize: the pignistic probability, the plausibility, or the mass of the single cluster (the belief).
        Ties go to the first cluster.

    Returns
    -------
    ndarray of shape (n,)
        Clusters numbered from 0.

    Examples
    --------
    >>> decisions([[0.0, 0.1, 0.2, 0.7], [0.9, 0.1, 0.0, 0.0]], FocalSets.full(2))
    array([1, 0])
    """
    m = _matrix(masses, focal)
    check_choice("rule", rule, ("pignistic", "plausibility", "mass"))
    # Normalisation scales a row, without effect on its maximum.
    if rule == "mass":
        support = m[:, 1 : focal.n_clusters + 1]
    else:
        support = m @ (focal.shares_with_empty if rule == "pignistic" else focal.with_empty)
    return cast(NDArray[np.intp], support.argmax(1))


def set_decisions(masses: ArrayLike, focal: FocalSets, rule: SetRule = "mass") -> NDArray[np.bool_]:
    r"""Return a set of clusters for every object, as indicators.

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set first.
    focal : FocalSets
        The sets of the other columns.
    rule : {"mass", "interval"}, default "mass"
        "mass": the focal set with the largest mass (the first of ties), the empty set for outliers. "interval": the
        undominated clusters, :math:`\{k : \mathrm{Pl}_k \ge \max_l \mathrm{Bel}_l\}`; never empty, and all clusters if
        all mass is on the empty set.

    Returns
    -------
    ndarray of bool of shape (n, c)

    Examples
    --------
    >>> set_decisions([[0.0, 0.1, 0.2, 0.7], [0.9, 0.1, 0.0, 0.0]], FocalSets.full(2))
    array([[ True,  True],
           [False, False]])
    """
    m = _matrix(masses, focal)
    check_choice("rule", rule, ("mass", "interval"))
    if rule == "mass":
        return cast(NDArray[np.bool_], (focal.with_empty > 0)[m.argmax(1)])
    largest_belief = m[:, 1 : focal.n_clusters + 1].max(1)
    return cast(NDArray[np.bool_], m @ focal.with_empty >= largest_belief[:, None])


def _normalised(values: FloatArray, m: FloatArray, how: Normalisation, omega_value: float) -> FloatArray:
    """Normalise a linear function of the masses with value `omega_value` if all mass is on Ω."""
    _check_normalisation(how)
    if how == "dempster":
        return _divided(values, _total(m), omega_value)
    return values + m[:, :1] * omega_value if how == "yager" else values.copy()


def _divided(values: FloatArray, total: FloatArray, fallback: float) -> FloatArray:
    """Divide rows by their totals; return `fallback` for totals near 0."""
    nowhere = total <= SMALLEST_TOTAL
    out: FloatArray = values / np.where(nowhere, 1.0, total)[:, None]
    out[nowhere] = fallback
    return out


def _total(m: FloatArray) -> FloatArray:
    """Return the mass outside the empty set, more accurate than 1 - m(∅) near 0."""
    weights = np.ones(m.shape[1])
    weights[0] = 0.0
    return m @ weights


def _matrix(masses: ArrayLike, focal: FocalSets) -> FloatArray:
    m = plain_array(masses, "masses", np.float64)
    if m.ndim != 2 or m.shape[1] != len(focal) + 1:
        raise ValueError(
            f"masses must have one row per object and {len(focal) + 1} columns, the empty set and then the "
            f"{len(focal)} focal sets; got shape {m.shape}. Put the empty set's masses, or zeros, into column 0."
        )
    return m


def _check_normalisation(how: object) -> None:
    if how is not None:
        check_choice("normalise", how, ("dempster", "yager"), "Or None, to leave them as they are.")


SUM_TOLERANCE = 1e-6  # accuracy of float32 masses
NEGATIVE_TOLERANCE = 1e-12


def sound(masses: FloatArray) -> FloatArray:
    """Return the masses of a fit; raise an error after an overflow: the final check."""
    try:
        return valid(masses)
    except ValueError as error:
        raise ValueError(
            f"Masses can't be computed for these data: {error} Numbers overflowed: bring columns to "
            "a similar scale, and alpha, beta, delta and lam to usual values."
        ) from error


def valid(masses: FloatArray, name: str = "masses") -> FloatArray:
    """Return masses, without rounding errors below zero; raise an error for invalid mass functions."""
    with np.errstate(all="ignore"):
        sums = masses @ np.ones(masses.shape[1])
        wrong = ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)  # includes NaN
    lowest = masses.min(initial=0.0)
    if not wrong.any() and lowest >= -NEGATIVE_TOLERANCE:
        return np.maximum(masses, 0.0) if lowest < 0 else masses
    if not np.isfinite(masses).all():
        row, column = np.argwhere(~np.isfinite(masses))[0]
        raise ValueError(
            f"{name} must be finite; got {masses[row, column]} in {place('row', int(row), name)}, column {column + 1}. "
            f"Look for missing or infinite values in the data they come from."
        )
    if lowest < -NEGATIVE_TOLERANCE:
        row, column = np.unravel_index(masses.argmin(), masses.shape)
        raise ValueError(
            f"{name} must not be negative; got {lowest} in {place('row', int(row), name)}, column {column + 1}. "
            f"Clip rounding errors to 0 and divide rows by their sums."
        )
    row = int(wrong.argmax())
    raise ValueError(
        f"{name} must add up to 1 in every row; got {sums[row]:.9g} in {place('row', row, name)}. Divide each row by its "
        f"sum, or add what is missing to the empty set."
    )


def frozen(masses: FloatArray) -> FloatArray:
    """Return a read-only array that no one else can write to; a copy unless it is one already."""
    owner: object = masses
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        if owner.base is None:
            return masses
        owner = owner.base
    own = np.array(masses, order="C")
    own.flags.writeable = False
    return own


def hard_labels(labels: ArrayLike) -> IntArray:
    """Return labels as integers of at least -1, or raise an error."""
    values = plain_array(labels, "labels")
    if values.ndim != 1:
        raise ValueError(f"labels must be a flat list, one for each object; got shape {values.shape}.")
    remedy = "Turn names into numbers with np.unique(labels, return_inverse=True)[1]."
    if values.size and values.dtype.kind not in "biuf":
        raise ValueError(f"labels must be integers; got {values.dtype} values such as {values[0]!r}. {remedy}")
    odd = ~(np.isfinite(values) & (values == np.round(values))) if values.dtype.kind == "f" else values < -1
    if odd.any():
        raise ValueError(f"labels must be integers of at least -1; got {values[odd][0]}. {remedy}")
    whole = values.astype(np.intp)
    if whole.min(initial=0) < -1:
        raise ValueError(f"labels must be at least -1, which marks outliers; got {whole.min()}. {remedy}")
    return whole
