"""ECMdd: evidential c-medoids (Zhou, Martin, Pan and Liu)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state
from torch import Tensor

from softecm._checks import check_number
from softecm.algorithms.base import check_weights, fitted_space, separation
from softecm.algorithms.fitting import Settings, SoftECMFamily, choose, outlier_distance, settings
from softecm.algorithms.model import PrototypeModel
from softecm.algorithms.relational import (
    RELATIONAL,
    Dissimilarities,
    Precomputed,
    all_pairs,
    check_enough,
    check_indices,
    medoid,
)
from softecm.algorithms.seeding import seed
from softecm.algorithms.solution import Solution
from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.capabilities import fitted_metric
from softecm.distances.medoid_mixture import MedoidMixture, mixed
from softecm.objective import mass_cost, share
from softecm.spaces.base import Space

Indices = NDArray[np.int64]


def ecmdd(
    dissimilarities: Tensor,
    focal: FocalSets,
    init: Indices,
    *,
    alpha: float = 1.0,
    beta: float = 1.2,
    delta: float | None = None,
    gamma: float = 0.5,
    eta: float = 1.0,
    weights: Tensor | None = None,
    max_iter: int = 200,
) -> Solution:
    r"""Evidential c-medoids from each of several starts at once.

    A cluster's medoid minimises :math:`\sum_i m_i(\{\omega_k\})^\beta \tau(i, z)` over the objects, no two clusters sharing
    one; a set's medoid minimises the variance plus ``eta`` times the mean of its dissimilarities to the clusters' medoids.
    The medoids look at the single clusters' masses only, so the objective may rise: a run ends when its medoids stay or
    come back to where they have been, and its best round is kept.

    Parameters
    ----------
    dissimilarities : Tensor (n, n)
    init : array (runs, c)
        Numbers of the objects to start from.

    Returns
    -------
    solution : Solution
        Its prototypes (runs, f) are numbers of objects; the history has the objective of every round, kept or not.
    """
    d = dissimilarities.numpy()
    runs, n = len(init), len(d)
    cost = mass_cost(focal, alpha, beta, delta, like=dissimilarities, runs=1)
    clusters = np.asarray(init, dtype=np.int64)
    best = np.full(runs, np.inf)
    found = np.zeros((runs, len(focal)), dtype=np.int64)
    history: list[list[float]] = [[] for _ in range(runs)]
    seen = [{tuple(z)} for z in clusters.tolist()]
    n_iter, converged = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=bool)
    active = np.arange(runs)
    for iteration in range(max_iter + 1):
        medoids = np.concatenate([clusters, set_medoids(d, focal, clusters, eta)], 1)
        to_sets = mixed(torch.from_numpy(d[:, medoids]), focal, gamma)  # (n, runs, f)
        shares = share(to_sets, cost.factors[0], cost.beta[0], cost.delta2[0])
        objective = (shares.cost if weights is None else shares.cost * weights[:, None]).sum(0).numpy()
        for run, value, z in zip(active, objective, medoids, strict=True):
            history[run].append(float(value))
            if value < best[run]:
                best[run], found[run] = value, z
        if iteration == max_iter:
            break
        raised = shares.masses[..., 1 : focal.n_clusters + 1] ** beta  # (n, runs, c)
        if weights is not None:
            raised = raised * weights[:, None, None]
        prices = (raised.reshape(n, -1).T @ dissimilarities).reshape(len(active), -1, n).numpy()
        moved = np.stack([best_objects(price) for price in prices])
        n_iter[active] = iteration + 1
        done = np.array([tuple(z) in seen[run] for run, z in zip(active, moved.tolist(), strict=True)])
        for run, z in zip(active, moved.tolist(), strict=True):
            seen[run].add(tuple(z))
        converged[active] = done
        if done.all():
            break
        active, clusters = active[~done], moved[~done]
    histories = tuple(np.asarray(h) for h in history)
    return Solution(
        torch.as_tensor(found, dtype=dissimilarities.dtype), best, np.zeros(runs), histories, n_iter, converged
    )


def best_objects(prices: NDArray[np.floating[Any]]) -> Indices:
    """A different object for each cluster, the sum of their prices (c, n) the least possible."""
    chosen: Indices = prices.argmin(1)
    if len(np.unique(chosen)) == len(chosen):
        return chosen
    columns: Indices = linear_sum_assignment(prices)[1]
    return columns


def set_medoids(d: NDArray[np.floating[Any]], focal: FocalSets, clusters: Indices, eta: float) -> Indices:
    """Objects nearest to, and equally far from, a set's clusters' medoids: (runs, c) -> (runs, sets)."""
    larger = focal.sets[focal.n_clusters :]
    chosen = np.empty((len(clusters), len(larger)), dtype=np.int64)
    for run, z in enumerate(clusters):
        for a, members in enumerate(larger):
            rows = d[z[list(members)]]
            chosen[run, a] = (rows.var(0) + eta * rows.mean(0)).argmin()
    return chosen


class ECMdd(SoftECMFamily):
    r"""Evidential c-medoids: prototypes are objects, for any dissimilarity.

    Minimises :math:`\sum_i \sum_A |A|^\alpha m_i(A)^\beta d_{iA} + \delta^2 \sum_i m_i(\emptyset)^\beta`, where
    :math:`d_{iA}` is the dissimilarity to the cluster's medoid or, for a set of several clusters, that to the set's own
    medoid mixed with those to its clusters' medoids.

    This is the single-medoid form sECMdd, as its authors' group has published it in code; it has not been checked against
    the text of the article.

    Parameters
    ----------
    n_clusters : int, default=2
    metric : "precomputed", or what :class:`SoftECM` takes, default="precomputed"
        "precomputed": ``X`` is an n x n matrix of dissimilarities, used as they are (not squared). Otherwise ``X`` holds
        the objects, and the n x n dissimilarities are computed with the metric.
    alpha : float, default=1.0
        At least 0. Larger keeps mass off large sets.
    beta : float, default=1.2
        Greater than 1. Larger spreads mass over more sets.
    delta : "auto", float or None, default="auto"
        Distance to the empty set (the objective has its square). "auto": its square is the 0.95 quantile of the
        dissimilarities to the medoid of all objects. None: no outliers.
    gamma : float, default=0.5
        At least 0: how much the clusters' medoids count beside the set's own.
    eta : float, default=1.0
        At least 0. A set's medoid should be equally far from its clusters' medoids (small variance) and near to them;
        ``eta`` is the weight of the second.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets themselves; overrides ``max_cardinality``.
    init : "k-means++", "random" or the numbers of c objects, default="k-means++"
    n_init : int, default=10
        Number of starts; the lowest objective is kept.
    max_iter : int, default=200
    n_jobs : int, optional
        Threads.
    random_state : int, RandomState or None

    Attributes
    ----------
    partition_ : CredalPartition
    medoids_ : ndarray of shape (f,)
        Numbers of the training objects that are the sets' medoids.
    prototypes_ : the medoids as the data had them; with "precomputed" their numbers
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_, runs_, n_iter_, converged_,
    separation_, collapsed_, delta_, n_features_in_ : as for :class:`SoftECM`; the objective may rise between rounds,
    ``objective_`` is the least of ``history_``

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from softecm import ECMdd
    >>> from softecm.datasets import load_diamond
    >>> D = pairwise_distances(load_diamond().data)
    >>> ecmdd = ECMdd(2, random_state=0).fit(D)
    >>> sorted(ecmdd.cluster_centers_.tolist()), int(ecmdd.medoids_[2])
    ([2, 8], 5)

    References
    ----------
    K. Zhou, A. Martin, Q. Pan and Z. Liu, "ECMdd: evidential c-medoids clustering with multiple prototypes", Pattern
    Recognition 60, 2016.
    """

    medoids_: Indices
    tol = 0.0  # the medoids stand still, or they don't

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        metric: Any = "precomputed",
        alpha: float = 1.0,
        beta: float = 1.2,
        delta: float | str | None = "auto",
        gamma: float = 0.5,
        eta: float = 1.0,
        max_cardinality: int | None = 2,
        focal_sets: Any = None,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.gamma = gamma
        self.eta = eta
        self.max_cardinality = max_cardinality
        self.focal_sets = focal_sets
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _settings(self) -> Settings:
        given = self.get_params(deep=False)
        check_number("gamma", given.pop("gamma"), least=0, hint="0.5 is usual; 0 leaves a set's own medoid alone.")
        check_number("eta", given.pop("eta"), least=0, hint="1 is usual.")
        return settings(**given, **RELATIONAL, tol=0.0, relaxation="exact")

    def _fit(self, chosen: Settings, metric: SemiMetric, space: Space, raw: Any, sample_weight: Any) -> None:
        space = fitted_space(space, raw, getattr(self, "feature_names_in_", None), chosen.dtype)
        x = space.encode(raw)
        n, c = len(x), chosen.n_clusters
        check_enough(c, n)
        counts = np.ones(n) if sample_weight is None else check_weights(sample_weight, raw)
        weights = None if sample_weight is None else torch.as_tensor(counts)
        metric = fitted_metric(metric, x, weights)
        d = x if isinstance(metric, Precomputed) else all_pairs(metric, space, x)
        present = np.flatnonzero(counts > 0)  # an object that does not count can't be a medoid
        if len(present) < n:
            d, counts = d[present][:, present], counts[present]
            weights = torch.as_tensor(counts)
            check_enough(c, len(d))
        from_center = d[:, int(medoid(d, weights))].numpy()
        self.delta_ = outlier_distance(chosen.delta, from_center, counts)
        prices: dict[str, Any] = {"alpha": chosen.alpha, "beta": chosen.beta, "delta": self.delta_}
        options: dict[str, Any] = {
            "gamma": self.gamma,
            "eta": self.eta,
            "weights": weights,
            "max_iter": chosen.max_iter,
        }
        solution = ecmdd(d, chosen.focal, self._objects_to_start(chosen, d, counts, present), **prices, **options)
        spread = float(np.average(from_center, weights=counts))
        clusters = solution.prototypes[:, :c].long()
        apart = np.array([separation(d[z][:, z].numpy(), spread) for z in clusters])
        best = choose(solution.objective, apart)
        self.medoids_ = present[solution.prototypes[best].long().numpy()]
        rows = torch.as_tensor(self.medoids_)
        mixture = MedoidMixture(metric, chosen.focal, float(self.gamma))
        self.model_ = PrototypeModel(mixture, space, chosen.focal, space.starts(x, rows), **prices, tie=0.0)
        self._store(self.model_.partition(x))
        self._store_runs(solution, best, apart)

    @staticmethod
    def _objects_to_start(
        chosen: Settings, d: Tensor, counts: NDArray[np.float64], present: NDArray[np.intp]
    ) -> Indices:
        """Different objects for the clusters of each run (runs, c), counted among those present."""
        n, c = len(d), chosen.n_clusters
        if not isinstance(chosen.init, str):
            given = check_indices("init", chosen.init, int(present[-1]) + 1, c)
            if not np.isin(given, present).all():
                raise ValueError(
                    f"init must hold objects whose sample_weight is not 0; got {chosen.init!r}. Choose others."
                )
            return np.searchsorted(present, given)[None]
        rng = check_random_state(chosen.random_state)
        drawn = seed(chosen.init, Precomputed(), Dissimilarities(n), d, counts, c, chosen.n_init, rng)
        starts = drawn.numpy().astype(np.int64)
        for z in starts:  # fewer different objects than clusters: any others will do
            first = np.unique(z, return_index=True)[1]
            again = np.setdiff1d(np.arange(c), first)
            z[again] = np.setdiff1d(np.arange(n), z)[: len(again)]
        return starts
