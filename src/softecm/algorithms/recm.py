"""RECM: evidential c-means from dissimilarities (Masson and Denœux)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm._checks import check_choice
from softecm.algorithms.base import check_weights, separation
from softecm.algorithms.fitting import Settings, SoftECMFamily, choose, outlier_distance, settings
from softecm.algorithms.model import PrototypeModel
from softecm.algorithms.relational import (
    RELATIONAL,
    AffineDistance,
    Dissimilarities,
    Precomputed,
    check_enough,
    check_indices,
)
from softecm.algorithms.seeding import seed
from softecm.algorithms.solution import Solution
from softecm.belief import CredalPartition, FocalSets
from softecm.distances.base import SemiMetric
from softecm.objective import mass_cost, share
from softecm.spaces.base import Space

FLOOR = 1e-12  # a squared distance may not fall below this part of the largest dissimilarity


def recm(
    squared: Tensor,
    focal: FocalSets,
    init: Tensor,
    *,
    alpha: float = 1.0,
    beta: float = 1.5,
    delta: float | None = None,
    weights: Tensor | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
) -> Solution:
    r"""Relational ECM from each of several starts at once.

    With the masses given, the clusters' centres of ECM are weighted means of the objects, :math:`V = G X` with
    :math:`G = H^{-1} U`, and Gower's formula measures the distance to a weighted mean from dissimilarities alone. So the
    points themselves are never needed.

    Parameters
    ----------
    squared : Tensor (n, n)
        Squared dissimilarities.
    init : Tensor (runs, n, f + 1)
        Starting masses; what they put on the empty set plays no role.
    weights : Tensor (n,), optional
        How much each object counts.

    Returns
    -------
    solution : Solution
        Its prototypes (runs, f, n + 1) are the sets' weights of the objects and the constant of Gower's formula. The
        objective falls in every round where the dissimilarities are distances between points; otherwise it may not.
    """
    runs, n, _ = init.shape
    cost = mass_cost(focal, alpha, beta, delta, like=squared, runs=runs, weights=weights)
    member = torch.as_tensor(focal.membership.copy(), dtype=squared.dtype)  # (f, c)
    mean = member / member.sum(1, keepdim=True)
    floor = FLOOR * float(squared.max())
    centers = squared.new_full((runs, focal.n_clusters, n), 1.0 / n)
    masses, prototypes = init.to(squared.dtype), squared.new_empty((runs, len(focal), n + 1))
    histories: list[list[float]] = [[] for _ in range(runs)]
    n_iter, converged = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=bool)
    active = torch.arange(runs)
    for iteration in range(1, max_iter + 1):
        raised = cost.factors[active][:, None] * masses[..., 1:] ** beta  # |A|^alpha m^beta: (runs, n, f)
        if weights is not None:
            raised = raised * weights[:, None]
        centers = _centers(raised, mean, centers)
        to_means, constants = _compare(squared, centers, mean)
        distances = (to_means - constants[:, None]).clamp_min(floor)
        shares = share(
            distances, cost.factors[active][:, None], cost.beta[active][:, None], cost.delta2[active][:, None]
        )
        change = (shares.masses - masses).abs().amax((1, 2))
        masses = shares.masses
        objective = (shares.cost if weights is None else shares.cost * weights).sum(1)
        prototypes[active] = torch.cat([mean @ centers, constants[..., None]], 2)
        done = change <= tol
        index = active.numpy()
        n_iter[index], converged[index] = iteration, done.numpy()
        for run, value in zip(index, objective.tolist(), strict=True):
            histories[run].append(value)
        if bool(done.all()):
            break
        active, masses, centers = active[~done], masses[~done], centers[~done]
    return Solution(
        prototypes,
        np.array([h[-1] for h in histories]),
        np.zeros(runs),
        tuple(np.asarray(h) for h in histories),
        n_iter,
        converged,
    )


def _centers(raised: Tensor, mean: Tensor, old: Tensor) -> Tensor:
    """The clusters' centres as weights of the objects: G = H^-1 U, (runs, n, f) -> (runs, c, n)."""
    u = torch.einsum("ac,rna->rcn", mean, raised)  # sum over A containing k of |A|^(alpha-1) m^beta
    h = torch.einsum("ac,ra,ad->rcd", mean, raised.sum(1), mean)
    # A proximal ridge: a cluster without mass stays where it is, and a fixed point stays fixed.
    ridge = 1e-13 * h.diagonal(dim1=1, dim2=2).mean(1)[:, None, None] + 1e-280
    centers: Tensor = torch.linalg.solve(h + ridge * torch.eye(h.shape[1], dtype=h.dtype), u + ridge * old)
    return centers


def _compare(squared: Tensor, centers: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Gower's formula: mean squared dissimilarity to each set (runs, n, f), and what to subtract from it (runs, f)."""
    runs, c, n = centers.shape
    to_clusters = (centers.reshape(runs * c, n) @ squared).reshape(runs, c, n)  # squared is symmetric
    among = torch.einsum("rcn,rdn->rcd", to_clusters, centers)
    return torch.einsum("ac,rcn->rna", mean, to_clusters), 0.5 * torch.einsum("ac,rcd,ad->ra", mean, among, mean)


def additive_constant(squared: Tensor) -> float:
    r"""The least number that, added to all squared dissimilarities between different objects, makes them Euclidean.

    Twice the size of the smallest eigenvalue of :math:`W = -\frac12 Q \Delta Q`, Q the centring matrix; 0 where
    the dissimilarities are distances between points already.
    """
    from scipy.linalg import eigh

    d = squared.numpy()
    rows = d.mean(1)
    w = -0.5 * (d - rows - rows[:, None] + rows.mean())
    (least,) = eigh(w, eigvals_only=True, subset_by_index=[0, 0])
    return 2.0 * max(0.0, -float(least)) if least < -1e-12 * np.abs(w).max() * len(w) else 0.0


class RECM(SoftECMFamily):
    r"""Evidential c-means for objects known only by their dissimilarities.

    Minimises ECM's objective

    .. math:: \sum_i \sum_A |A|^\alpha m_i(A)^\beta \|x_i - \bar v_A\|^2 + \delta^2 \sum_i m_i(\emptyset)^\beta

    without the points: a cluster's centre is a weighted mean of the objects, and its squared distance to an object
    follows from the objects' dissimilarities. On Euclidean distances the answer is that of :class:`ECM` on the points.

    Parameters
    ----------
    n_clusters : int, default=2
    dissimilarity : {"distance", "squared"}, default="distance"
        What ``X`` holds. "distance": dissimilarities, squared here. "squared": they are used as squares as they are,
        which is what R's ``recm`` does with its argument.
    non_euclidean : {"floor", "shift"}, default="floor"
        Dissimilarities that are no distances between points of any space can make a squared distance to a centre
        negative, and the objective rise. "floor" puts such a distance at almost 0. "shift" adds to all squared
        dissimilarities between different objects the least constant that makes them Euclidean (found value in
        ``shift_``; costs one eigenvalue of an n x n matrix): the objective then falls in every round, and groups stand
        out less.
    alpha : float, default=1.0
        At least 0. Larger keeps mass off large sets.
    beta : float, default=1.5
        Greater than 1. Larger spreads mass over more sets.
    delta : "auto", float or None, default="auto"
        Distance to the empty set (the objective has its square). "auto": its square is the 0.95 quantile of the squared
        distances to the mean of all objects. None: no outliers.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets themselves; overrides ``max_cardinality``.
    init : "k-means++", "random", c numbers of objects, or a CredalPartition, default="k-means++"
        Objects to start from, or starting masses.
    n_init : int, default=10
        Number of starts, computed as one batch; the lowest objective is kept.
    max_iter : int, default=200
    tol : float, default=1e-4
        A run has converged when no mass moves by more than this.
    n_jobs : int, optional
        Threads.
    random_state : int, RandomState or None

    Attributes
    ----------
    partition_ : CredalPartition
    prototypes_ : ndarray of shape (f, n)
        Each set's centre as weights of the training objects (they add up to 1 and may be negative).
    shift_ : float
        What was added to the squared dissimilarities between different objects.
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_, runs_, n_iter_, converged_,
    separation_, collapsed_, delta_, n_features_in_ : as for :class:`SoftECM`

    Notes
    -----
    ``predict_partition`` and the like take the n_new x n dissimilarities of new objects to the training objects.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from softecm import RECM
    >>> from softecm.datasets import load_diamond
    >>> D = pairwise_distances(load_diamond().data)
    >>> recm = RECM(2, beta=2.0, delta=5.0, random_state=0).fit(D)
    >>> recm.partition_.sets()[[1, 5, 7, 11]].tolist()
    [(0,), (0, 1), (1,), ()]
    >>> recm.predict(D[:3])  # the first three objects again
    array([0, 0, 0])

    References
    ----------
    M.-H. Masson and T. Denœux, "RECM: relational evidential c-means algorithm", Pattern Recognition Letters 30, 2009.
    """

    shift_: float

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        dissimilarity: str = "distance",
        non_euclidean: str = "floor",
        alpha: float = 1.0,
        beta: float = 1.5,
        delta: float | str | None = "auto",
        max_cardinality: int | None = 2,
        focal_sets: Any = None,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.dissimilarity = dissimilarity
        self.non_euclidean = non_euclidean
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
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

    def _settings(self) -> Settings:
        given = self.get_params(deep=False)
        kind = check_choice("dissimilarity", given.pop("dissimilarity"), ("distance", "squared"))
        check_choice("non_euclidean", given.pop("non_euclidean"), ("floor", "shift"), "'floor' is R's way.")
        return settings(**given, **RELATIONAL, metric=AffineDistance(squared=kind == "squared"), relaxation="exact")

    def _fit(self, chosen: Settings, metric: SemiMetric, space: Space, raw: Any, sample_weight: Any) -> None:
        assert isinstance(metric, AffineDistance)
        x = space.fit(raw, dtype=chosen.dtype).encode(raw)
        space = Dissimilarities(len(x))
        check_enough(chosen.n_clusters, len(x))
        counts = np.ones(len(x)) if sample_weight is None else check_weights(sample_weight, raw)
        weights = None if sample_weight is None else torch.as_tensor(counts)
        squared = metric.squares(x)
        self.shift_ = additive_constant(squared) if self.non_euclidean == "shift" else 0.0
        metric = AffineDistance(metric.squared, self.shift_, FLOOR * (float(squared.max()) + self.shift_))
        if self.shift_:
            squared = squared + self.shift_
            squared.fill_diagonal_(0.0)
        share_of_all = torch.as_tensor(counts / counts.sum())
        from_center = (squared @ share_of_all - 0.5 * share_of_all @ squared @ share_of_all).clamp_min(0.0).numpy()
        self.delta_ = outlier_distance(chosen.delta, from_center, counts)
        prices: dict[str, Any] = {"alpha": chosen.alpha, "beta": chosen.beta, "delta": self.delta_}
        start = self._masses_to_start(chosen, space, x, squared, counts)
        solution = recm(
            squared, chosen.focal, start, **prices, weights=weights, max_iter=chosen.max_iter, tol=chosen.tol
        )
        spread = float(np.average(from_center, weights=counts))
        apart = np.array([_apart(squared, v[: chosen.n_clusters], spread) for v in solution.prototypes])
        best = choose(solution.objective, apart)
        self.model_ = PrototypeModel(metric, space, chosen.focal, solution.prototypes[best].clone(), **prices, tie=0.0)
        self._store(self.model_.partition(x))
        self._store_runs(solution, best, apart)

    def _masses_to_start(
        self,
        chosen: Settings,
        space: Dissimilarities,
        x: Tensor,
        squared: Tensor,
        counts: NDArray[np.float64],
    ) -> Tensor:
        """Starting masses (runs, n, f + 1): given, or those of clusters that sit on chosen objects."""
        n, f = len(x), len(chosen.focal)
        given = chosen.init
        if isinstance(given, CredalPartition) or (not isinstance(given, str) and np.ndim(given) == 2):
            masses = np.asarray(given.masses if isinstance(given, CredalPartition) else given, dtype=np.float64)
            if masses.shape != (n, f + 1):
                raise ValueError(
                    f"init must have masses of shape (n, f + 1), here ({n}, {f + 1}); got shape {masses.shape}. Give a "
                    "partition of the same objects on the same focal sets, or the numbers of c objects."
                )
            return torch.tensor(masses)[None]
        if isinstance(given, str):
            rng = check_random_state(chosen.random_state)
            objects = seed(given, Precomputed(), space, x, counts, chosen.n_clusters, chosen.n_init, rng).long()
        else:
            objects = torch.as_tensor(check_indices("init", given, n, chosen.n_clusters))[None]
        mean = torch.as_tensor(chosen.focal.membership / chosen.focal.cardinalities[:, None])
        centers = torch.nn.functional.one_hot(objects, n).to(squared.dtype)
        to_means, constants = _compare(squared, centers, mean)
        cost = mass_cost(chosen.focal, chosen.alpha, chosen.beta, self.delta_, like=squared)
        distances = (to_means - constants[:, None]).clamp_min(0.0)
        return share(distances, cost.factors[0], cost.beta[0], cost.delta2[0]).masses


def _apart(squared: Tensor, clusters: Tensor, spread: float) -> float:
    """Least squared distance of two centres, relative to the data's spread."""
    weights, half = clusters[:, :-1], clusters[:, -1]
    among = weights @ squared @ weights.T - half - half[:, None]
    return separation(among.clamp_min(0.0).numpy(), spread)
