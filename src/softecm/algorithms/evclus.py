"""EVCLUS: masses whose conflicts mirror the dissimilarities (Denœux and Masson), in its fast form k-EVCLUS."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softecm._checks import HOW_MANY, check_choice, check_count, check_number
from softecm._engine import in_threads, threads
from softecm._interrupts import interruptible
from softecm.algorithms.base import EvidentialClusterer, refuse_blocks, sets_asked_for
from softecm.belief import CredalPartition, FocalSets
from softecm.kernels.simplex_qp import RIDGE, fit_rows, sweep_all, sweep_some
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.matrices import check_enough

Floats = NDArray[np.float64]
FAR = 0.95  # the conflict asked of objects at dissimilarity d0


@dataclass(frozen=True)
class Pairs:
    """Which pairs of objects are compared: those of object i are ``others[starts[i]:starts[i + 1]]``."""

    others: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def first(self) -> NDArray[np.int64]:
        """The other end of every pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @classmethod
    def random(cls, n: int, k: int, rng: np.random.RandomState) -> Pairs:
        """About k random others for each object, every pair known to both its ends.

        Rings through all objects in random order: two neighbours an object each.
        """
        rings = [rng.permutation(n) for _ in range((k + 1) // 2)]
        ends = np.concatenate([np.stack([ring, np.roll(ring, -1)]) for ring in rings], axis=1)
        both = np.concatenate([ends, ends[::-1]], axis=1)
        both = both[:, np.lexsort((both[1], both[0]))]
        return cls(both[1].copy(), np.searchsorted(both[0], np.arange(n + 1)))


class EvclusRun(NamedTuple):
    """Where one run ended."""

    masses: Floats  # (n, f + 1)
    history: Floats  # the stress after each sweep
    converged: bool


def degree_of_conflict(dissimilarities: Floats, d0: float) -> Floats:
    r"""The conflict asked for: :math:`\varphi(d) = 1 - \exp(-\eta d^2)`, 0.95 at ``d0``."""
    phi: Floats = -np.expm1(np.log(1.0 - FAR) * np.square(dissimilarities / d0))
    return phi


def evclus(
    phi: Floats,
    focal: FocalSets,
    init: Floats,
    *,
    pairs: Pairs | None = None,
    max_iter: int = 500,
    tol: float = 1e-5,
    stop: NDArray[np.bool_] | None = None,
) -> EvclusRun:
    r"""Fit masses to conflicts, object by object, from one start.

    With all other masses fixed, an object's misfit :math:`\sum_j (m_i^\top C m_j - \varphi_{ij})^2` is a least-squares
    problem in its masses on the simplex, solved exactly. The stress (all misfits over :math:`\sum \varphi^2`) falls with
    every sweep where each pair belongs to both its objects.

    Parameters
    ----------
    phi : array (n, n)
        Conflicts asked for, 0 on the diagonal.
    init : array (n, f + 1)
        Starting masses.
    pairs : Pairs, optional
        The pairs that count; all by default.
    tol : float
        Ends when the relative gain of a sweep, smoothed over the last few, is below this.
    stop : array (1,) of bool, optional
        Ends at once when another thread makes it true; the masses are then those of no whole sweep.
    """
    stop = np.zeros(1, dtype=np.bool_) if stop is None else stop
    conflict = (~focal.intersects).astype(np.float64)
    masses = np.array(init, dtype=np.float64)
    chosen = phi[pairs.first, pairs.others] if pairs is not None else phi
    size = float(np.square(chosen).sum()) or 1.0
    history = [_misfit(phi, conflict, masses, pairs) / size]
    smoothed = 1.0
    for _ in range(max_iter):
        if stop[0]:
            break
        if pairs is None:
            gained = sweep_all(phi, conflict, masses, stop)
        else:
            gained = sweep_some(chosen, pairs.others, pairs.starts, conflict, masses, stop)
        history.append(max(0.0, history[-1] - 2.0 * gained / size))
        smoothed = 0.5 * smoothed + 0.5 * (2.0 * gained / size) / max(history[-2], 1e-300)
        if smoothed < tol:
            break
    masses /= masses.sum(1, keepdims=True)
    return EvclusRun(masses, np.asarray(history), smoothed < tol)


def _misfit(phi: Floats, conflict: Floats, masses: Floats, pairs: Pairs | None) -> float:
    plain = masses @ conflict
    if pairs is not None:
        kappa = np.einsum("pa,pa->p", plain[pairs.first], masses[pairs.others])
        return float(np.square(kappa - phi[pairs.first, pairs.others]).sum())
    total = 0.0
    for start in range(0, len(phi), 256):
        rows = slice(start, start + 256)
        error = plain[rows] @ masses.T - phi[rows]
        error[np.arange(len(error)), np.arange(start, start + len(error))] = 0.0
        total += float(np.square(error).sum())
    return total


class Shepard(NamedTuple):
    """For pairs of objects, the conflict asked for and the conflict found: equal in a perfect fit."""

    phi: Floats
    kappa: Floats


class EVCLUS(EvidentialClusterer):
    r"""Masses whose conflicts mirror the dissimilarities: no prototypes, no shape of clusters assumed.

    Two objects that differ much should not belong to the same cluster: the mass their mass functions put on disjoint sets,
    :math:`\kappa_{ij} = \sum_{A \cap B = \emptyset} m_i(A) m_j(B)`, should be near
    :math:`\varphi(d_{ij}) = 1 - \exp(-\eta d_{ij}^2)`. Minimises the stress
    :math:`\sum_{ij} (\kappa_{ij} - \varphi_{ij})^2 / \sum_{ij} \varphi_{ij}^2`.

    Parameters
    ----------
    n_clusters : int, default=2
    d0 : "auto" or float, default="auto"
        Objects at this dissimilarity should conflict to 0.95. "auto": the 0.9 quantile of the dissimilarities.
    n_neighbors : int or None, default=None
        Compare each object to about so many random others instead of all: k-EVCLUS, for many objects.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c, of which a warning tells the number when there are many.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets themselves; overrides ``max_cardinality``.
    init : "random" or a CredalPartition, default="random"
    n_init : int, default=5
        Number of starts; the lowest stress is kept.
    max_iter : int, default=500
        Most sweeps through the objects.
    tol : float, default=1e-5
        A run has converged when the relative gain of a sweep, smoothed, is below this.
    n_jobs : int, optional
        Threads; runs are shared out among them.
    random_state : int, RandomState or None

    Attributes
    ----------
    partition_ : CredalPartition
    d0_ : float
    objective_ : float
        The stress.
    labels_, outlier_scores_, focal_sets_, history_, runs_, n_iter_, converged_, n_features_in_ : as for :class:`SoftECM`

    Notes
    -----
    ``predict_partition`` takes the n_new x n dissimilarities of new objects to the training objects and fits each new
    object's masses to its conflicts with all of these. Given a training object it compares it to itself too, so the answer
    is near ``partition_`` but not the same.

    A ridge of 1e-8 decides between masses that explain the conflicts equally well (there are such where a cluster or a set
    is in hardly any use).

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from softecm import EVCLUS
    >>> from softecm.datasets import load_diamond
    >>> D = pairwise_distances(load_diamond().data)
    >>> evclus = EVCLUS(2, random_state=0).fit(D)
    >>> [len(s) for s in evclus.partition_.sets()[[2, 5, 8, 11]]]  # a cluster, both, a cluster, none
    [1, 2, 1, 0]
    >>> evclus.shepard(D).kappa.shape
    (66,)

    References
    ----------
    T. Denœux and M.-H. Masson, "EVCLUS: evidential clustering of proximity data", IEEE SMC B 34, 2004.
    T. Denœux, S. Sriboonchitta and O. Kanjanatarakul, "Evidential clustering of large dissimilarity data",
    Knowledge-Based Systems 106, 2016.
    """

    d0_: float

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        d0: float | str = "auto",
        n_neighbors: int | None = None,
        max_cardinality: int | None = 2,
        focal_sets: Any = None,
        init: Any = "random",
        n_init: int = 5,
        max_iter: int = 500,
        tol: float = 1e-5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.d0 = d0
        self.n_neighbors = n_neighbors
        self.max_cardinality = max_cardinality
        self.focal_sets = focal_sets
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = True
        return tags

    @interruptible()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the masses.

        Parameters
        ----------
        X : array-like of shape (n, n), dissimilarities
        y : ignored

        Returns
        -------
        self
        """
        c = check_count("n_clusters", self.n_clusters, hint=HOW_MANY)
        focal = sets_asked_for(c, self.max_cardinality, self.focal_sets)
        n_init = check_count("n_init", self.n_init, hint="5 is usual: the best of several starts is kept.")
        max_iter = check_count("max_iter", self.max_iter, hint="500 is usual.")
        tol = check_number("tol", self.tol, least=0, hint="1e-5 is usual.")
        refuse_blocks(X, "EVCLUS")
        d = np.asarray(Dissimilarities().check(self, X, reset=True), dtype=np.float64)
        check_enough(c, len(d))
        self.d0_ = self._reference(d)
        rng = check_random_state(self.random_state)
        pairs = self._pairs(len(d), rng)
        starts = self._starts(len(d), len(focal), n_init, rng)
        phi = degree_of_conflict(d, self.d0_)
        with threads(self.n_jobs):
            runs = in_threads(partial(evclus, phi, focal, pairs=pairs, max_iter=max_iter, tol=tol), starts)
        best = int(np.argmin([run.history[-1] for run in runs]))
        self._store(CredalPartition(runs[best].masses, focal))
        self._store_runs(runs, best)
        if not self.converged_:
            warnings.warn(
                f"EVCLUS has not converged after {self.n_iter_} sweeps: the stress still falls by more than tol={tol:g} of "
                "itself. Raise max_iter, or tol if a rougher answer will do.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._warn_if_empty()
        return self

    def _reference(self, d: Floats) -> float:
        if not isinstance(self.d0, str):
            return check_number("d0", self.d0, above=0, hint="'auto' takes the 0.9 quantile of the dissimilarities.")
        check_choice("d0", self.d0, ("auto",), "Or give a positive number.")
        found = float(np.quantile(d[~np.eye(len(d), dtype=bool)], 0.9)) if len(d) > 1 else 0.0
        return found if found > 0 else float(d.max()) or 1.0

    def _pairs(self, n: int, rng: np.random.RandomState) -> Pairs | None:
        if self.n_neighbors is None:
            return None
        k = check_count("n_neighbors", self.n_neighbors, hint="100 is plenty; None compares all pairs.")
        return Pairs.random(n, k, rng) if k < n - 1 else None

    def _starts(self, n: int, f: int, n_init: int, rng: np.random.RandomState) -> Floats:
        """Starting masses (runs, n, f + 1)."""
        if isinstance(self.init, str):
            check_choice("init", self.init, ("random",), "Or give a CredalPartition.")
            return rng.dirichlet(np.ones(f + 1), size=(n_init, n))
        masses = np.asarray(self.init.masses if isinstance(self.init, CredalPartition) else self.init, dtype=np.float64)
        if masses.shape != (n, f + 1) or (masses < 0).any() or not np.allclose(masses.sum(1), 1.0):
            raise ValueError(
                f"init must hold masses of shape (n, f + 1), here ({n}, {f + 1}), not negative, rows adding up to 1; got "
                f"shape {masses.shape}. Give a CredalPartition of the same objects on the same focal sets."
            )
        return masses[None]

    def predict_partition(self, X: Any) -> CredalPartition:
        """The credal partition of other objects: each object's masses fitted to its conflicts with the training objects.

        Parameters
        ----------
        X : array-like of shape (n_new, n)
            Dissimilarities of the new objects to the training objects.

        Returns
        -------
        partition : CredalPartition
        """
        check_is_fitted(self)
        d = np.asarray(Dissimilarities().check(self, X, reset=False), dtype=np.float64)
        plain = self.partition_.masses @ (~self.focal_sets_.intersects).astype(np.float64)
        q = plain.T @ plain + RIDGE * np.eye(plain.shape[1])
        masses = fit_rows(q, degree_of_conflict(d, self.d0_) @ plain)
        return CredalPartition(masses / masses.sum(1, keepdims=True), self.focal_sets_)

    def shepard(self, X: Any) -> Shepard:
        """The Shepard diagram's data: for every pair i < j, the conflict asked for and the conflict found.

        Parameters
        ----------
        X : array-like of shape (n, n)
            The dissimilarities given to ``fit``.

        Returns
        -------
        phi, kappa : ndarrays of n (n - 1) / 2 numbers, in the order of ``scipy.spatial.distance.squareform``
        """
        check_is_fitted(self)
        d = np.asarray(Dissimilarities().check(self, X, reset=False), dtype=np.float64)
        masses = self.partition_.masses
        if len(d) != len(masses):
            raise ValueError(
                f"X must be the n x n dissimilarities given to fit, n = {len(masses)}; got shape {d.shape}. Give all rows."
            )
        i, j = np.triu_indices(len(d), 1)
        kappa = masses @ (~self.focal_sets_.intersects).astype(np.float64) @ masses.T
        return Shepard(degree_of_conflict(d[i, j], self.d0_), kappa[i, j])
