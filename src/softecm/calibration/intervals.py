r"""From memberships of refits to intervals, and from intervals to masses.

In refit b, objects i and j belong together with probability :math:`R^b_{ij} = \sum_k P^b_{ik} P^b_{jk}`. The masses
shall give the interval of these: its lower end is the belief :math:`m_{ij}(\{s\})`, its upper end the plausibility
:math:`1 - m_{ij}(\{\neg s\})`.

T. Denœux, "Calibrated model-based evidential clustering using bootstrapping", Information Sciences 528, 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softecm.belief import FocalSets
from softecm.kernels.simplex_qp import RIDGE, fit_rows, sweep_pairs

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
AT_ONCE = 1 << 17  # number of probabilities that fit in the cache
MOST_SWEEPS, STILL = 200, 1e-6
RULE_OF_THREE = 3.0  # an event without occurrence in n cases has, with 95 % confidence, a rate below 3 / n


@dataclass(frozen=True)
class ComparedPairs:
    """The objects compared with each object: those of i are ``others[starts[i]:starts[i + 1]]``; symmetric."""

    others: IntArray
    starts: IntArray

    @property
    def owners(self) -> IntArray:
        """The object of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @staticmethod
    def all_of(n: int) -> ComparedPairs:
        """Return every pair."""
        others = np.tile(np.arange(n), (n, 1))[~np.eye(n, dtype=bool)]
        return ComparedPairs(others.astype(np.int64), np.arange(n + 1, dtype=np.int64) * (n - 1))

    @staticmethod
    def some_of(n: int, each: int, rng: np.random.Generator) -> ComparedPairs:
        """Return ``each`` random partners of each object, symmetrized."""
        drawn = rng.integers(0, n - 1, (n, each))
        drawn += drawn >= np.arange(n)[:, None]  # never itself
        i, j = np.repeat(np.arange(n), each), drawn.ravel()
        both = np.unique(np.concatenate([i * n + j, j * n + i]))
        counts = np.bincount(both // n, minlength=n)
        return ComparedPairs((both % n).astype(np.int64), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


def bounds(
    memberships: FloatArray, i: IntArray, j: IntArray, level: float, *, method: Literal["weibull", "linear"] = "weibull"
) -> tuple[FloatArray, FloatArray]:
    """Return the interval over refits of "i and j belong together", for pairs of objects.

    Parameters
    ----------
    memberships : ndarray of shape (B, n, c)
        Of all objects in each refit; NaN for objects left out.
    i, j : ndarrays of int
        The pairs.
    level : float
        Share of the refits inside.
    method : {"weibull", "linear"}
        How quantiles interpolate between refits. With "weibull", another refit is inside with probability ``level``;
        "linear", the default of R and NumPy, is slightly narrower.
    """
    low, high = np.empty(len(i)), np.empty(len(i))
    ends, step = ((1 - level) / 2, (1 + level) / 2), max(1, AT_ONCE // len(memberships))
    quantile = np.nanquantile if np.isnan(memberships).any() else np.quantile
    for a in range(0, len(i), step):
        rows, columns = i[a : a + step], j[a : a + step]
        together = np.einsum("bik,bik->bi", memberships[:, rows], memberships[:, columns])
        low[a : a + step], high[a : a + step] = quantile(together, ends, axis=0, method=method)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def resolved(low: FloatArray, high: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Extend intervals to 0 or 1 within the resolution of n objects: by the rule of three, less than 3 / n.

    Examples
    --------
    >>> [ends.tolist() for ends in resolved(np.array([0.004, 0.5]), np.array([0.6, 0.995]), 300)]
    [[0.0, 0.5], [0.6, 1.0]]
    """
    least = RULE_OF_THREE / n
    return np.where(low < least, 0.0, low), np.where(high > 1.0 - least, 1.0, high)


def compared_bounds(memberships: FloatArray, compared: ComparedPairs, level: float) -> tuple[FloatArray, FloatArray]:
    """The same for all entries of ``compared``; a pair and its mirror image are computed once."""
    i, j, n = compared.owners, compared.others, len(compared.starts) - 1
    once, keys = i < j, np.minimum(i, j) * n + np.maximum(i, j)
    low, high = bounds(memberships, i[once], j[once], level)
    place = np.searchsorted(keys[once], keys)
    return low[place], high[place]


def relations(focal: FocalSets) -> tuple[FloatArray, FloatArray]:
    """Return the matrices S and C over the non-empty sets: the same single cluster; disjoint sets."""
    same = np.diag((focal.cardinalities == 1).astype(np.float64))
    return same, (~focal.intersects[1:, 1:]).astype(np.float64)


def misfit(masses: FloatArray, focal: FocalSets, i: IntArray, j: IntArray, low: FloatArray, high: FloatArray) -> float:
    """Return the sum over pairs of (belief - low)² + (plausibility - high)²."""
    belief, plausibility = believed(masses, focal, i, j)
    return float(np.square(belief - low).sum() + np.square(plausibility - high).sum())


def believed(masses: FloatArray, focal: FocalSets, i: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return belief and plausibility of "i and j belong together" for masses (n, f) without the empty set."""
    same, disjoint = relations(focal)
    belief = np.einsum("ia,ia->i", masses[i] @ same, masses[j])
    against = np.einsum("ia,ia->i", masses[i] @ disjoint, masses[j])
    return belief, 1.0 - against


def pair_masses(
    start: FloatArray,
    focal: FocalSets,
    compared: ComparedPairs,
    low: FloatArray,
    high: FloatArray,
    *,
    still: float = STILL,
    most: int = MOST_SWEEPS,
) -> FloatArray:
    """Return masses (n, f) without the empty set that best fit beliefs and plausibilities of pairs to intervals.

    Rows are solved exactly in turn, from ``start``, until no mass changes by more than ``still``; the misfit never
    rises.
    """
    masses = np.ascontiguousarray(start, dtype=np.float64).copy()
    same, disjoint = relations(focal)
    stop = np.zeros(1, dtype=np.bool_)
    for _ in range(most):
        if sweep_pairs(low, high, compared.others, compared.starts, same, disjoint, masses, stop) <= still:
            break
    masses /= masses.sum(1, keepdims=True)
    return masses


def object_masses(low: FloatArray, high: FloatArray, focal: FocalSets) -> FloatArray:
    """Return masses (n, f) that best fit belief and plausibility of each cluster to intervals (n, c).

    The same as for pairs of each object with c others that are certainly in one cluster each: its prototypes.
    """
    single = np.eye(len(focal))[:, : focal.n_clusters]  # (f, c)
    outside = 1.0 - focal.membership.astype(np.float64)
    q = single @ single.T + outside @ outside.T + RIDGE * np.eye(len(focal))
    masses: FloatArray = fit_rows(q, np.ascontiguousarray(low @ single.T + (1.0 - high) @ outside.T))
    masses /= masses.sum(1, keepdims=True)
    return masses
