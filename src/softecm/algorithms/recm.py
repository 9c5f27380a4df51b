"""RECM: evidential c-means from dissimilarities (Masson and Denœux)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import plain_array
from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.parameters import checked, choice, is_given, parameters
from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.estimator_metrics import FLOOR, AffineDistance
from softecm.distances.precomputed import Precomputed
from softecm.files import expected
from softecm.fit.algorithm import Algorithm, Fit, Outcome, RunBatch
from softecm.fit.group_shapes import Fitted
from softecm.fit.loop import Solution
from softecm.fit.prepare import Draw, Objects, seed
from softecm.fit.settings import PrototypeModel, Settings, settings
from softecm.objective.equations import MassCost, mass_cost
from softecm.objective.problem import stationary
from softecm.optim import Batch, PlainProblem, PlainState
from softecm.spaces.base import check_indices
from softecm.spaces.raw import as_numbers


@dataclass(frozen=True)
class RelationalState(PlainState):
    """A batch of runs: masses, and the centres they were computed from."""

    masses: Tensor  # (runs, n, f + 1)
    centers: Tensor  # (runs, c, n), the clusters' centres as weights of the objects
    prototypes: Tensor  # (runs, f, n + 1), the sets' centres and the constant of Gower's formula
    objective: Tensor  # (runs,)
    change: Tensor  # (runs,)


@dataclass(frozen=True)
class RelationalProblem(PlainProblem):
    r"""Relational ECM for a batch of runs.

    Given the masses, ECM's cluster centres are weighted means of the objects, :math:`V = G X` with :math:`G = H^{-1}
    U`, and Gower's formula computes the distance to a weighted mean from dissimilarities alone, so the points
    themselves are not needed. The objective falls in every iteration if the dissimilarities are distances between
    points. Otherwise it may rise, and iterations are accepted anyway.
    """

    squared: Tensor  # (n, n), squared dissimilarities
    focal: FocalSets
    cost: MassCost
    tol: float
    rises: ClassVar[str] = "taken"
    state_type: ClassVar[type[Batch]] = RelationalState

    @property
    def mean(self) -> Tensor:
        """Row A averages the clusters of A: (f, c)."""
        return torch.tensor(self.focal.shares).to(self.squared)

    def begin(self, start: Tensor) -> RelationalState:
        """Initialize from masses (runs, n, f + 1); those of the empty set don't affect the first iteration."""
        masses = start.to(self.squared.dtype)
        runs, n, f = masses.shape[0], masses.shape[1], masses.shape[2] - 1
        centers = self.squared.new_full((runs, self.focal.n_clusters, n), 1.0 / n)
        nothing, endless = self.squared.new_zeros(runs), self.squared.new_full((runs,), torch.inf)
        places = self.squared.new_zeros(runs, f, n + 1)
        moved = self.step(RelationalState(masses, centers, places, nothing, endless))
        # The initial state: the given masses with the centres that follow from them.
        return replace(moved, masses=masses, objective=self._price(masses, moved), change=endless)

    def step(self, state: RelationalState) -> RelationalState:
        """Update centres from masses, distances by Gower's formula, masses from distances."""
        cost = self.cost
        raised = self._counted(cost.factors[:, None] * state.masses[..., 1:] ** cost.beta[:, None, None])
        centers = _centers(raised, self.mean, state.centers)
        to_means, constants = _compare(self.squared, centers, self.mean)
        distances = self._floored(to_means - constants[:, None])
        masses_step = cost.step(distances, state.masses)
        prototypes = torch.cat([self.mean @ centers, constants[..., None]], 2)
        return RelationalState(masses_step.masses, centers, prototypes, masses_step.objective, masses_step.change)

    def _counted(self, values: Tensor) -> Tensor:
        """Multiply values (runs, n, f) by the objects' weights."""
        return values if self.cost.weights is None else values * self.cost.weights[:, None]

    def _floored(self, distances: Tensor) -> Tensor:
        return distances.clamp_min(FLOOR * float(self.squared.max()))

    def _price(self, masses: Tensor, at: RelationalState) -> Tensor:
        """Return the objective (runs,) of masses at given centres."""
        cost, places = self.cost, at.prototypes
        distances = self._floored((places[..., :-1] @ self.squared).transpose(1, 2) - places[..., -1][:, None])
        priced = torch.cat(
            [cost.delta2[:, None, None].expand(*masses.shape[:2], 1), cost.factors[:, None] * distances], -1
        )
        paid = torch.where(masses > 0, priced * masses ** cost.beta[:, None, None], 0.0)
        return self._counted(paid).sum((1, 2))


def _centers(raised: Tensor, mean: Tensor, old: Tensor) -> Tensor:
    """Return the clusters' centres as weights of the objects: G = H^-1 U, (runs, n, f) -> (runs, c, n)."""
    u = torch.einsum("ac,rna->rcn", mean, raised)  # sum over A containing k of |A|^(alpha-1) m^beta
    h = torch.einsum("ac,ra,ad->rcd", mean, raised.sum(1), mean)
    return stationary(h, u, old)


def _compare(squared: Tensor, centers: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Apply Gower's formula: mean squared dissimilarity to each set (runs, n, f), and what to subtract (runs, f)."""
    runs, c, n = centers.shape
    to_clusters = (centers.reshape(runs * c, n) @ squared).reshape(runs, c, n)  # squared is symmetric
    among = torch.einsum("rcn,rdn->rcd", to_clusters, centers)
    return torch.einsum("ac,rcn->rna", mean, to_clusters), 0.5 * torch.einsum("ac,rcd,ad->ra", mean, among, mean)


@dataclass(frozen=True)
class RelationalECM(Algorithm[Tensor]):
    """RECM; what it learns from the dissimilarities is in its metric."""

    cpu_only: ClassVar[str] = "RECM"
    samples: ClassVar[bool] = False
    compares: ClassVar[bool] = True
    starts_at_masses: ClassVar[bool] = True

    def from_center(self, objects: Objects[Tensor]) -> NDArray[np.float64]:
        """Return squared distances (n,) to the mean of all objects."""
        squared, weights = _squares(objects), objects.weights
        counts = torch.ones(len(squared), dtype=squared.dtype) if weights is None else weights.double()
        share_of_all = counts / counts.sum()
        return (squared @ share_of_all - 0.5 * share_of_all @ squared @ share_of_all).clamp_min(0.0).numpy()

    def problem(self, batch: RunBatch[Tensor]) -> RelationalProblem:
        """Return the problem for the dissimilarities of all objects."""
        squared, focal = _squares(batch.objects), batch.settings.focal
        return RelationalProblem(squared, focal, batch.cost(squared), batch.settings.tol)

    def seeded(self, objects: Objects[Tensor], chosen: Settings, draw: Draw, rng: np.random.RandomState) -> Tensor:
        """Return masses (runs, n, f + 1) of clusters placed on drawn objects."""
        squares = draw._replace(cap=draw.cap if _affine(objects.metric).squared else math.sqrt(draw.cap))
        drawn = seed(squares, Precomputed(), objects.space, objects.x, objects.counts, chosen.n_clusters, rng)
        return self._masses_of(objects, chosen, drawn.long())

    def from_init(self, objects: Objects[Tensor], chosen: Settings) -> Tensor:
        """Return the given masses, or the masses of clusters placed on given objects."""
        n, f, init = len(objects), len(chosen.focal), chosen.init.value
        masses = plain_array(getattr(init, "masses", init), "init")
        if masses.ndim != 2:
            numbers = check_indices("init", init, n, chosen.n_clusters)
            return self._masses_of(objects, chosen, torch.as_tensor(numbers)[None])
        masses = as_numbers(masses, "init")
        if masses.shape != (n, f + 1):
            raise ValueError(
                f"init must have masses of shape (n, f + 1), here ({n}, {f + 1}); got shape {masses.shape}. Pass a "
                "partition of the same objects on the same focal sets, or the numbers of c objects."
            )
        return torch.tensor(masses)[None]

    def continued(self, objects: Objects[Tensor], chosen: Settings, last: PrototypeModel) -> Tensor:
        """Return the masses of these objects with the last fit's centres."""
        return torch.from_numpy(last.masses(objects.x))[None]

    def from_clusters(self, fit: Fit, outcome: Outcome) -> Tensor:
        """Return the masses (1, n, f + 1) of the best run's clusters with these sets."""
        centers = outcome.solution.prototypes[outcome.best, : fit.settings.n_clusters, :-1][None]
        return self._masses_at(fit.objects, fit.settings, centers)

    def _masses_of(self, objects: Objects[Tensor], chosen: Settings, clusters: Tensor) -> Tensor:
        """Return masses (runs, n, f + 1) of clusters placed on objects (runs, c)."""
        return self._masses_at(objects, chosen, torch.nn.functional.one_hot(clusters, len(objects)).double())

    @staticmethod
    def _masses_at(objects: Objects[Tensor], chosen: Settings, centers: Tensor) -> Tensor:
        """Return masses (runs, n, f + 1) of clusters that are weighted means of the objects (runs, c, n)."""
        squared = _squares(objects)
        mean = torch.tensor(chosen.focal.shares)
        to_means, constants = _compare(squared, centers, mean)
        cost = mass_cost(chosen.focal, chosen.alpha, chosen.beta, chosen.delta, like=squared)
        return cost.select(0).shares((to_means - constants[:, None]).clamp_min(0.0)).masses

    def between(self, objects: Objects[Tensor], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """Return squared distances between the centres, by Gower's formula."""
        squared = _squares(objects)
        tables = []
        for clusters in solution.prototypes[:, :n_clusters]:
            weights, half = clusters[:, :-1], clusters[:, -1]
            tables.append((weights @ squared @ weights.T - half - half[:, None]).clamp_min(0.0).numpy())
        return tables


def _affine(metric: SemiMetric) -> AffineDistance:
    """Cast to RECM's own metric, which its estimator sets."""
    return cast(AffineDistance, metric)


def _squares(objects: Objects[Tensor]) -> Tensor:
    """Return the squared dissimilarities of the training objects, with the shift of the fitted metric."""
    metric = _affine(objects.metric)
    squared = metric.squares(objects.x)
    if metric.shift:
        squared.fill_diagonal_(0.0)
    return squared


@parameters
class RECM(PrototypeFamily):
    r"""Evidential c-means for a matrix of dissimilarities.

    Minimises ECM's objective

    .. math:: \sum_i \sum_A |A|^\alpha m_i(A)^\beta \|x_i - \bar v_A\|^2 + \delta^2 \sum_i m_i(\emptyset)^\beta

    without the points: a cluster's centre is a weighted mean of the objects, and its squared distance to an object
    follows from the dissimilarities. For Euclidean distances the result is that of :class:`ECM` on the points.

    Parameters
    ----------
    n_clusters : int, default=2
    dissimilarity : {"distance", "squared"}, default="distance"
        What ``X`` holds. "distance": dissimilarities, which are squared. "squared": squared dissimilarities, used as they
        are, as in R's ``recm``.
    non_euclidean : {"floor", "shift"}, default="floor"
        If the dissimilarities are not Euclidean, the squared distance to a centre can be negative, and the objective can
        rise. "floor" replaces such distances by almost 0. "shift" adds the smallest constant that makes them Euclidean
        to all squared dissimilarities between different objects (the value is in ``shift_``; it takes one eigenvalue of
        an n x n matrix): the objective then never rises, but groups are less distinct.
    beta : float, default=1.5
        Greater than 1. Larger values spread mass over more sets.
    init : "auto", "k-means++", "random", c numbers of objects, or a CredalPartition, default="auto"
        "auto": outlier-robust initialization of single clusters (:mod:`softecm.fit.stages`). "k-means++" and "random"
        initialize all sets at once.
        Indices of c objects, or initial masses.
    alpha, delta, max_cardinality, focal_sets, n_init, max_iter, tol, n_jobs : as for :class:`SoftECM`
    warm_start, callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    prototypes_ : ndarray of shape (f, n)
        Each set's centre as weights of the training objects (they add up to 1 and may be negative).
    shift_ : float
        Constant added to the squared dissimilarities between different objects.
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_ : as for :class:`SoftECM`
    runs_, n_iter_, converged_, separation_, collapsed_, delta_, n_features_in_ : as for :class:`SoftECM`

    Notes
    -----
    ``predict_partition`` and similar methods take the n_new x n dissimilarities of new objects to the training objects.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from softecm import RECM
    >>> from softecm.datasets import load_diamond
    >>> D = pairwise_distances(load_diamond().data)
    >>> recm = RECM(2, beta=2.0, delta=5.0, random_state=0).fit(D)
    >>> recm.partition_.sets()[[5, 11]].tolist()
    [(0, 1), ()]
    >>> len(set(recm.predict(D[:3]).tolist()))  # the first three objects again: one cluster
    1

    References
    ----------
    M.-H. Masson and T. Denœux, "RECM: relational evidential c-means algorithm", Pattern Recognition Letters 30, 2009.
    """

    suits = "dissimilarities that are close to Euclidean distances"
    of_dissimilarities = True
    beta: float = 1.5
    dissimilarity: str = choice("distance", ("distance", "squared"))
    non_euclidean: str = choice("floor", ("floor", "shift"), "'floor' is R's way.")
    device: str = field(default="auto", init=False)
    dtype: str = field(default="float64", init=False)

    SAVED = expected.rules(
        PrototypeFamily.SAVED,
        shift_=expected.number(expected.NOT_NEGATIVE),
    )

    def _settings(self) -> Settings:
        values = checked(self)
        auto = not is_given(values["focal_sets"]) and values["focal_sets"] == "auto"
        if auto and values["max_cardinality"] is None and is_given(values["init"]):
            # Initial masses come with their sets; other initial clusters have no neighbours yet.
            sets = getattr(values["init"], "focal_sets", None)
            values["focal_sets"], values["max_cardinality"] = sets, 2 if sets is None else None
        shift = None if self.non_euclidean == "shift" else 0.0
        return settings(values, metric=AffineDistance(self.dissimilarity == "squared", shift))

    def _algorithm(self, metric: SemiMetric) -> RelationalECM:
        return RelationalECM()

    def _adopt(self, fitted: Fitted, ids: NDArray[np.object_] | None = None) -> None:
        super()._adopt(fitted, ids)
        self.shift_: float = _affine(fitted.model.metric).shift or 0.0
