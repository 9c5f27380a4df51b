"""ECMdd: evidential c-medoids (Zhou, Martin, Pan and Liu)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.parameters import Metric, number, parameters
from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.estimator_metrics import MedoidMixture, mixed_with_clusters
from softecm.distances.precomputed import Precomputed, all_pairs
from softecm.files import expected
from softecm.fit.algorithm import Algorithm, Fit, Outcome, RunBatch
from softecm.fit.group_shapes import Fitted
from softecm.fit.loop import Solution
from softecm.fit.prepare import Draw, Objects, seed
from softecm.fit.settings import PrototypeModel, Settings
from softecm.objective.equations import MassCost
from softecm.optim import Batch, PlainProblem, PlainState
from softecm.spaces.base import BLOCK_ROWS, Encoded, check_enough, check_indices
from softecm.spaces.dissimilarities import HASHES, Dissimilarities

Indices = NDArray[np.int64]
TELLING_APART = 8  # maximum iterations of hashing; two or three usually suffice
SAME = 1e-12  # relative difference below which costs count as equal
AT_ONCE = 1_000_000_000  # multiplications between two checks for Ctrl-C


@dataclass(frozen=True)
class Ranking:
    """Tie-breaking order of objects, from their dissimilarities (n, n) and weights (n,).

    Objects are ordered by the sum of dissimilarities to all, then by the distance to the first cluster's medoid, to the
    second's and so on, then by a hash of all their dissimilarities and of the objects at the other end. Objects that
    are equal in all of these are symmetric: choosing either gives the same masses up to their names.
    """

    dissimilarities: NDArray[np.floating]
    weights: NDArray[np.floating] | None = None

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        """Sums of dissimilarities to about ten digits, as rounding depends on the order of rows."""
        d = self.dissimilarities
        sums = (d.sum(1) if self.weights is None else d @ self.weights).astype(np.float64)
        return np.round(sums / (sums.max() or 1.0), 10)

    @cached_property
    def _prints(self) -> NDArray[np.uint64]:
        """A hash of each object's dissimilarities and the other ends' hashes, iterated until no more objects differ."""
        prints = Dissimilarities().keys(torch.from_numpy(self.dissimilarities))
        for _ in range(TELLING_APART):
            told_apart = len(np.unique(prints))
            if told_apart == len(prints):
                break
            prints = self._mixed(prints)
            if len(np.unique(prints)) == told_apart:
                break
        return prints

    def _mixed(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Combine each object's hash with all pairs of dissimilarity and hash, independently of their order."""
        mixed_in = keys.copy()
        for start in range(0, len(keys), BLOCK_ROWS):
            rows = np.ascontiguousarray(self.dissimilarities[start : start + BLOCK_ROWS], dtype=np.float64)
            bits = ((rows + 0.0).view(np.uint64) * np.uint64(HASHES[2]) ^ keys) * np.uint64(HASHES[0])
            bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(HASHES[1])
            mixed_in[start : start + BLOCK_ROWS] += (bits ^ (bits >> np.uint64(32))).sum(1, dtype=np.uint64)
        return mixed_in

    def ordered(self, objects: Indices, medoids: Indices) -> Indices:
        """Sort some of the objects; ``medoids`` (c,) are the clusters' present medoids."""
        near = [self.dissimilarities[z, objects] for z in medoids[::-1]]
        ordered: Indices = objects[np.lexsort((self._prints[objects], *near, self._sums[objects]))]
        return ordered

    def cheapest(self, prices: NDArray[np.floating], medoids: Indices) -> int:
        """Return the object with the lowest price (n,)."""
        least = prices.min()
        equal = np.flatnonzero(prices <= least + SAME * least)
        return int(equal[0] if len(equal) == 1 else self.ordered(equal, medoids)[0])


@dataclass(frozen=True)
class MedoidState(PlainState):
    """A batch of runs: the clusters' medoids with their masses."""

    clusters: Tensor  # (runs, c), positions of the medoids
    prototypes: Tensor  # (runs, f), positions of the medoids of all sets
    masses: Tensor  # (runs, n, f + 1)
    weights: Tensor  # (runs, n, f)
    objective: Tensor  # (runs,)
    change: Tensor  # (runs,), 0 if the medoids repeat earlier ones
    seen: Tensor  # (runs, iterations, c), all medoids so far


@dataclass(frozen=True)
class MedoidProblem(PlainProblem):
    r"""Evidential c-medoids for a batch of runs.

    A cluster's medoid minimizes :math:`\sum_i m_i(\{\omega_k\})^\beta \tau(i, z)` over the objects, with different
    medoids for all clusters; a set's medoid minimizes the variance plus ``eta`` times the mean of its dissimilarities
    to the clusters' medoids. Medoids depend only on the masses of single clusters, so the objective may rise: a run
    ends when its medoids repeat earlier ones, and its best iteration is returned. ``ranking`` breaks ties.
    """

    dissimilarities: Tensor  # (n, n)
    focal: FocalSets
    cost: MassCost
    gamma: float
    eta: float
    ranking: Ranking
    tol: ClassVar[float] = 0.0
    rises: ClassVar[str] = "taken, best kept"
    state_type: ClassVar[type[Batch]] = MedoidState

    def begin(self, start: Tensor) -> MedoidState:
        """Initialize from positions of objects (runs, c)."""
        clusters = start.long()
        return self._at(clusters, clusters[:, None], torch.inf)

    def step(self, state: MedoidState) -> MedoidState:
        """Update the medoids for the clusters' masses, then the masses."""
        c, n = self.focal.n_clusters, len(self.dissimilarities)
        rows, size = state.weights[..., :c].transpose(1, 2).reshape(-1, n), max(1, AT_ONCE // n**2)
        parts = [rows[i : i + size] @ self.dissimilarities for i in range(0, len(rows), size)]
        prices = torch.cat(parts).reshape(-1, c, n).numpy()
        before = state.clusters.numpy()
        best = [best_objects(price, self.ranking, z) for price, z in zip(prices, before, strict=True)]
        moved = torch.from_numpy(np.stack(best))
        back = (state.seen == moved[:, None]).all(2).any(1)
        seen = torch.cat([state.seen, moved[:, None]], 1)
        return self._at(moved, seen, torch.where(back, 0.0, torch.inf))

    def _at(self, clusters: Tensor, seen: Tensor, change: Tensor | float) -> MedoidState:
        d = self.dissimilarities
        others = torch.from_numpy(set_medoids(self.ranking, self.focal, clusters.numpy(), self.eta))
        medoids = torch.cat([clusters, others], 1)
        to_sets = mixed_with_clusters(d[:, medoids].transpose(0, 1), self.focal, self.gamma)  # (runs, n, f)
        masses_step = self.cost.step(to_sets)
        still = torch.as_tensor(change, dtype=d.dtype).expand(len(clusters))
        return MedoidState(
            clusters, medoids.to(d.dtype), masses_step.masses, masses_step.weights, masses_step.objective, still, seen
        )


def best_objects(prices: NDArray[np.floating], ranking: Ranking, medoids: Indices) -> Indices:
    """Choose a different object for each cluster, minimizing the sum of prices (c, n)."""
    chosen = np.array([ranking.cheapest(price, medoids) for price in prices], dtype=np.int64)
    if len(np.unique(chosen)) == len(chosen):
        return chosen
    order = ranking.ordered(np.arange(prices.shape[1]), medoids)
    scale = float(prices.max()) or 1.0
    columns = linear_sum_assignment(np.round(prices[:, order] / scale, 12))[1]
    assigned: Indices = order[columns]
    return assigned


def distinct_starts(starts: Indices, n: int) -> Indices:
    """Replace duplicates within each row of ``starts`` (runs, c) by unused objects of the n."""
    for z in starts:
        first = np.unique(z, return_index=True)[1]
        again = np.setdiff1d(np.arange(len(z)), first)
        z[again] = np.setdiff1d(np.arange(n), z)[: len(again)]
    return starts


def set_medoids(ranking: Ranking, focal: FocalSets, clusters: Indices, eta: float) -> Indices:
    """Return the objects nearest to, and equally far from, the medoids of a set's clusters: (runs, c) -> (runs, sets)."""
    larger = focal.sets[focal.n_clusters :]
    chosen = np.empty((len(clusters), len(larger)), dtype=np.int64)
    for run, z in enumerate(clusters):
        for a, members in enumerate(larger):
            rows = ranking.dissimilarities[z[list(members)]]
            chosen[run, a] = ranking.cheapest(rows.var(0) + eta * rows.mean(0), z)
    return chosen


@dataclass
class AllPairs:
    """Cache of the dissimilarities between all objects, for the last objects passed."""

    x: Encoded | None = None
    dissimilarities: Tensor = field(default_factory=lambda: torch.empty(0, 0))

    def of(self, objects: Objects[Encoded]) -> Tensor:
        """Return dissimilarities (n, n), given or computed once."""
        x = objects.x
        if x is not self.x:
            self.x = x
            d = x if objects.metric.discrete else all_pairs(objects.metric, objects.space, x)
            self.dissimilarities = cast(Tensor, d)
        return self.dissimilarities


@dataclass(frozen=True)
class EvidentialMedoids(Algorithm[Encoded]):
    """ECMdd, with the weights of a set's own medoid and its clusters' medoids.

    An object of weight 0 can't be a medoid: the problem only includes the others.
    """

    gamma: float = 0.5
    eta: float = 1.0
    pairs: AllPairs = field(default_factory=AllPairs, repr=False, compare=False)
    cpu_only: ClassVar[str] = "ECMdd"
    samples: ClassVar[bool] = False
    compares: ClassVar[bool] = True

    def from_center(self, objects: Objects[Encoded]) -> NDArray[np.float64]:
        """Return dissimilarities (n,) to the medoid of all objects of positive weight."""
        d, weights = self.pairs.of(objects), objects.weights
        places = torch.arange(len(d)) if weights is None else weights.nonzero()[:, 0]
        inside = d[places][:, places]
        counts = torch.ones(len(places), dtype=d.dtype) if weights is None else weights[places].to(d.dtype)
        ranking = _ranking(inside, counts)
        center = ranking.cheapest((counts @ inside).numpy(), np.empty(0, dtype=np.int64))
        return d[:, int(places[center])].numpy()

    def problem(self, batch: RunBatch[Encoded]) -> MedoidProblem:
        """Return the problem for the objects of positive weight."""
        objects, focal = batch.objects, batch.settings.focal
        present = _present(objects)
        check_enough(focal.n_clusters, len(present))
        d, weights = self.pairs.of(objects), objects.weights
        if len(present) < len(d):
            d, weights = d[present][:, present], None if weights is None else weights[present]
        return MedoidProblem(d, focal, batch.cost(d, weights), self.gamma, self.eta, _ranking(d, weights))

    def seeded(self, objects: Objects[Encoded], chosen: Settings, draw: Draw, rng: np.random.RandomState) -> Tensor:
        """Return different objects for the clusters of each run (runs, c), as positions among those of positive weight."""
        present, c = _present(objects), chosen.n_clusters
        check_enough(c, len(present))
        d = self.pairs.of(objects)[present][:, present]
        n, counts = len(d), objects.counts[present.numpy()]
        drawn = seed(draw, Precomputed(), Dissimilarities(n), d, counts, c, rng)
        return torch.from_numpy(distinct_starts(drawn.numpy().astype(np.int64), n))

    def from_init(self, objects: Objects[Encoded], chosen: Settings) -> Tensor:
        """Return the objects given by the user (1, c)."""
        return self._among(objects, check_indices("init", chosen.init.value, len(objects), chosen.n_clusters))

    def continued(self, objects: Objects[Encoded], chosen: Settings, last: PrototypeModel) -> Tensor:
        """Return the objects nearest to the last fit's medoids."""
        nearest = last.distances(objects.x)[:, : chosen.n_clusters].numpy().argmin(0)
        return self._among(objects, nearest.astype(np.int64))

    def from_clusters(self, fit: Fit, outcome: Outcome) -> Tensor:
        """Return the clusters' medoids (1, c), as positions among the objects of positive weight."""
        return outcome.solution.prototypes[outcome.best, : fit.settings.n_clusters][None]

    @staticmethod
    def _among(objects: Objects[Encoded], numbers: Indices) -> Tensor:
        present = _present(objects).numpy()
        if not np.isin(numbers, present).all():
            raise ValueError(
                f"init must hold objects whose sample_weight is not 0; got {numbers.tolist()!r}. Choose others."
            )
        return torch.from_numpy(np.searchsorted(present, numbers))[None]

    def between(self, objects: Objects[Encoded], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """Return the dissimilarities between medoids."""
        d = self.pairs.of(objects)
        clusters = _present(objects)[solution.prototypes[:, :n_clusters].long()]
        return [d[z][:, z].numpy() for z in clusters]

    def prototypes_of(self, objects: Objects[Encoded], solution: Solution, run: int) -> Tensor:
        """Return the medoids as prototypes of the space."""
        return objects.space.starts(objects.x, _present(objects)[solution.prototypes[run].long()])

    def metric_of(self, objects: Objects[Encoded], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """Return the metric that mixes dissimilarities to medoids."""
        return MedoidMixture(objects.metric, chosen.focal, self.gamma)


def _ranking(d: Tensor, weights: Tensor | None) -> Ranking:
    return Ranking(d.numpy(), None if weights is None else weights.numpy())


def _present(objects: Objects[Encoded]) -> Tensor:
    """Return the indices of the objects of positive weight."""
    return torch.from_numpy(np.flatnonzero(objects.counts > 0))


@parameters
class ECMdd(PrototypeFamily):
    r"""Evidential c-medoids: prototypes are objects, for any dissimilarity.

    Minimises :math:`\sum_i \sum_A |A|^\alpha m_i(A)^\beta d_{iA} + \delta^2 \sum_i m_i(\emptyset)^\beta`, where
    :math:`d_{iA}` is the dissimilarity to the cluster's medoid or, for a set of several clusters, that to the set's own
    medoid mixed with those to its clusters' medoids.

    This is the single-medoid form sECMdd, as in the code published by its authors' group; it has not been checked against
    the article.

    Parameters
    ----------
    n_clusters : int, default=2
    metric : "precomputed", or what :class:`SoftECM` takes, default="precomputed"
        "precomputed": ``X`` is an n x n matrix of dissimilarities, used as they are (not squared). Otherwise ``X`` holds
        the objects, and the n x n dissimilarities are computed with the metric.
    beta : float, default=1.2
        Greater than 1. Larger values spread mass over more sets.
    delta : "auto", float or None, default="auto"
        Distance to the empty set; dissimilarities are compared with its square. "auto":
        median plus five deviations of the root distances (in a matrix, of its values) to the nearest cluster, after a first
        stage (found value in ``delta_``). None: no outliers.
    gamma : float, default=0.5
        At least 0: weight of the clusters' medoids relative to the set's own.
    eta : float, default=1.0
        At least 0. A set's medoid should be equally far from its clusters' medoids (small variance) and near to them;
        ``eta`` is the weight of nearness.
    init : "auto", "k-means++", "random" or the numbers of c objects, default="auto"
        "auto": outlier-robust initialization of single clusters (:mod:`softecm.fit.stages`). "k-means++" and "random"
        initialize all sets at once.
    warm_start : bool, default=False
        Start from the objects nearest to the last fit's medoids.
    alpha, max_cardinality, focal_sets, n_init, max_iter, n_jobs : as for :class:`SoftECM`
    callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    medoids_ : ndarray of shape (f,)
        Indices of the training objects that are the sets' medoids.
    prototypes_ : the medoids as the data had them; with "precomputed" their numbers
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_ : as for :class:`SoftECM`
    runs_, n_iter_, converged_, separation_, collapsed_, delta_, n_features_in_ : as for :class:`SoftECM`

    Notes
    -----
    The objective may rise between iterations; ``objective_`` is the smallest value in ``history_``.

    The result does not depend on the order of rows. If several objects are equally good medoids, the one with the smallest
    sum of dissimilarities to all objects is chosen, then the one nearest to the clusters' medoids in their order
    (:class:`~softecm.algorithms.ecmdd.Ranking`). Only objects that are mirror images of each other remain tied.

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

    suits = "dissimilarities of any kind; prototypes are objects"

    metric: Metric = "precomputed"
    beta: float = 1.2
    gamma: float = number(0.5, "0.5 is usual; 0 leaves a set's own medoid alone.", least=0)
    eta: float = number(1.0, "1 is usual.", least=0)
    tol: float = field(default=0.0, init=False)  # medoids change or they don't
    device: str = field(default="auto", init=False)
    dtype: str = field(default="float64", init=False)

    SAVED = expected.rules(
        PrototypeFamily.SAVED,
        medoids_=expected.array("f", "iu", expected.Range(least=0, below="n")),
    )

    def _algorithm(self, metric: SemiMetric) -> EvidentialMedoids:
        return EvidentialMedoids(float(self.gamma), float(self.eta))

    def _adopt(self, fitted: Fitted, ids: NDArray[np.object_] | None = None) -> None:
        super()._adopt(fitted, ids)
        medoids = fitted.outcome.solution.prototypes[fitted.outcome.best].long()
        self.medoids_: Indices = _present(fitted.objects)[medoids].numpy()
