"""From raw data to a fitted estimator, for every algorithm that is Soft-ECM with some of its choices made."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm._checks import check_choice, check_count, check_number
from softecm._engine import choose_device, choose_dtype, threads
from softecm.algorithms.base import (
    MERGED,
    PrototypeClusterer,
    check_weights,
    fitted_space,
    in_blocks,
    separation,
    weighted_quantile,
)
from softecm.algorithms.constrained import Pairs, with_linked
from softecm.algorithms.model import PrototypeModel
from softecm.algorithms.precomputed import soft_ecm_precomputed
from softecm.algorithms.relational import Dissimilarities, Precomputed, medoid, refuse_dissimilarities
from softecm.algorithms.seeding import seed
from softecm.algorithms.soft_ecm_core import RELAXATIONS, soft_ecm
from softecm.algorithms.solution import Progress, Solution
from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.capabilities import fitted_metric
from softecm.distances.registry import resolve_metric
from softecm.objective import blocks
from softecm.optim import Closed, Descent, GradientDescent
from softecm.spaces.base import Space

logger = logging.getLogger("softecm")
LARGEST_STEP = 300_000_000  # numbers in the matrices of one prototype step: 2.4 GB
OUTLIERS = 0.95  # delta="auto": this part of the objects lies nearer to the barycentre of all than delta


@dataclass(frozen=True)
class Settings:
    """A Soft-ECM problem with every choice made; what an estimator's parameters come down to."""

    n_clusters: int
    metric: Any
    alpha: float
    beta: float
    delta: float | str | None
    lam: float
    relaxation: str
    focal: FocalSets
    init: Any
    n_init: int
    max_iter: int
    tol: float
    solver: Any
    device: Any
    dtype: torch.dtype
    n_jobs: int | None
    warm_start: bool
    callback: Callable[[Progress], Any] | None
    random_state: Any
    pairs: Pairs | None = None  # must-links and cannot-links
    plan: Any = None  # where checkpoints go: a ``checkpoints.Plan``


def settings(
    *,
    n_clusters: Any,
    metric: Any = "sqeuclidean",
    alpha: Any,
    beta: Any,
    delta: Any,
    lam: Any = 0.0,
    relaxation: Any,
    max_cardinality: Any,
    focal_sets: Any,
    init: Any,
    n_init: Any,
    max_iter: Any,
    tol: Any,
    solver: Any = "auto",
    device: Any,
    dtype: Any,
    n_jobs: Any,
    warm_start: Any,
    callback: Any,
    random_state: Any,
    verbose: Any = 0,
) -> Settings:
    """Check every parameter; each message says what to change."""
    c = check_count("n_clusters", n_clusters, hint="Give the number of groups to look for.")
    if isinstance(delta, str):
        check_choice("delta", delta, ("auto",), "Or give a positive number, or None to do without outliers.")
    elif delta is not None:
        delta = check_number("delta", delta, above=0, hint="'auto' takes it from the data; None switches outliers off.")
    if isinstance(init, str):
        check_choice("init", init, ("k-means++", "random"), "Or give the starting prototypes, one row a cluster.")
    if isinstance(solver, str):
        check_choice("solver", solver, ("auto", "gradient", "descent"), "Or give a GradientDescent(...).")
    elif not isinstance(solver, GradientDescent | Descent | Closed):
        raise ValueError(f"solver must be 'auto', 'gradient', 'descent' or a GradientDescent; got {solver!r}.")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of one argument or None; got {callback!r}.")
    return Settings(
        n_clusters=c,
        metric=metric,
        alpha=check_number("alpha", alpha, least=0, hint="1 is usual: larger keeps mass off large sets."),
        beta=check_number(
            "beta", beta, above=1, hint="Values from 1.1 to 2 are usual: larger spreads mass over more sets."
        ),
        delta=delta,
        lam=check_number("lam", lam, least=0, hint="1 is usual; 0 lets the sets' prototypes go where they like."),
        relaxation=check_choice("relaxation", relaxation, RELAXATIONS, "'penalty' is the paper's, 'gap' never merges."),
        focal=FocalSets.make(c, max_cardinality, focal_sets),
        init=init,
        n_init=check_count("n_init", n_init, hint="10 is usual: the best of several starts is kept."),
        max_iter=check_count("max_iter", max_iter, hint="200 is usual."),
        tol=check_number("tol", tol, least=0, hint="1e-4 is usual: masses that move less stand still."),
        solver=solver,
        device=device,
        dtype=choose_dtype(dtype),
        n_jobs=n_jobs,
        warm_start=bool(warm_start),
        callback=logged(callback) if verbose else callback,
        random_state=random_state,
    )


def logged(callback: Callable[[Progress], Any] | None) -> Callable[[Progress], Any]:
    """The callback, with a line in the log before it."""

    def report(progress: Progress) -> Any:
        logger.info(
            "round %d of at most %d: objective %.10g, %d of %d runs moving, masses by %.2g",
            progress.iteration,
            progress.max_iter,
            progress.objective.min(),
            progress.n_active,
            len(progress.objective),
            progress.change,
        )
        return callback(progress) if callback is not None else None

    return report


@dataclass(frozen=True)
class Prepared:
    """Data ready to be clustered: encoded, on its device, with what every run on it shares."""

    metric: SemiMetric
    space: Space
    x: Any  # encoded, on the device
    counts: NDArray[np.float64]  # (n,), how much each object counts
    weights: Tensor | None  # the same on the device, where not all ones
    device: torch.device
    from_center: NDArray[np.float64]  # (n,), distances to the barycentre of all objects
    spread: float  # their mean

    @property
    def discrete(self) -> bool:
        """Prototypes are objects: another problem, another solver."""
        return isinstance(self.metric, Precomputed)

    def delta(self, wanted: float | str | None) -> float | None:
        """The distance of outliers: as given, or ("auto") such that most objects lie nearer to the barycentre."""
        return outlier_distance(wanted, self.from_center, self.counts)

    def separations(self, clusters: Tensor) -> NDArray[np.float64]:
        """Least distance between two clusters of each run (runs, c, *shape), relative to the spread."""
        as_objects = self.x[clusters.long()] if self.discrete else clusters
        with torch.no_grad():
            tables = [self.metric.pairwise(*ends).clamp_min(0.0) for ends in zip(as_objects, clusters, strict=True)]
        return np.array([separation(table.double().cpu().numpy(), self.spread) for table in tables])


def prepare(
    chosen: Settings, metric: SemiMetric, space: Space, raw: Any, sample_weight: Any, names: Any, runs: int
) -> Prepared:
    """Encode checked data for so many runs at once, and measure it."""
    given = None if sample_weight is None else check_weights(sample_weight, raw)
    space = fitted_space(space, raw, names, chosen.dtype, given)
    x = space.encode(raw)
    n = len(x)
    if n < chosen.n_clusters:
        raise ValueError(
            f"n_clusters must be at most the number of objects; got n_clusters={chosen.n_clusters} for n_samples={n}. "
            "Ask for fewer clusters or give more rows."
        )
    if metric.is_quadratic:
        check_size(chosen)
    cpu_only = "" if metric.gpu else f"metric {metric.name or type(metric).__name__}"
    each = metric.cost_of_distance(space.starts(x, torch.zeros(1, dtype=torch.int64)).shape[1:])
    device = choose_device(chosen.device, float(n) * len(chosen.focal) * runs * each, cpu_only)
    counts = np.ones(n) if given is None else given
    weights = None if given is None else torch.as_tensor(counts, dtype=chosen.dtype, device=device)
    metric = fitted_metric(metric, x, None if weights is None else weights.cpu())
    x = x.to(device)
    discrete = isinstance(metric, Precomputed)
    center = medoid(x, weights) if discrete else barycenter(metric, space, x, weights, device)
    from_center = distances_to(metric, x, center)
    spread = float(np.average(from_center, weights=counts))
    return Prepared(metric, space, x, counts, weights, device, from_center, spread)


def outlier_distance(
    wanted: float | str | None, from_center: NDArray[np.float64], counts: NDArray[np.float64]
) -> float | None:
    """Delta as given; "auto": most objects lie nearer to the barycentre of all."""
    if not isinstance(wanted, str):
        return wanted
    squared = weighted_quantile(from_center, OUTLIERS, counts)
    return float(np.sqrt(squared)) if squared > 0 else 1.0  # all objects equal: any distance will do


def choose(objective: NDArray[np.float64], apart: NDArray[np.float64]) -> int:
    """Lowest objective; a run whose clusters have merged wins only where all have."""
    merged = apart < MERGED
    candidates = np.flatnonzero(~merged) if (~merged).any() else np.arange(len(apart))
    return int(candidates[np.argmin(objective[candidates])])


class SoftECMFamily(PrototypeClusterer):
    """Estimators that are Soft-ECM with some choices made; a subclass says which in ``_settings``."""

    @abstractmethod
    def _settings(self) -> Settings:
        """The checked parameters."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the prototypes and the credal partition.

        Parameters
        ----------
        X : array-like of shape (n, p), or what the metric's space reads
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each object counts; 2 is the same as giving it twice.

        Returns
        -------
        self
        """
        return self._fit_to(self._settings(), X, sample_weight)

    def _fit_to(self, chosen: Settings, X: Any, sample_weight: Any) -> Self:
        if in_blocks(X):
            from softecm.distributed import fit_scattered

            fit_scattered(self, chosen, X, sample_weight)
            return self
        metric = Precomputed() if _is_precomputed(chosen.metric) else resolve_metric(chosen.metric, X)
        space = metric.make_space()
        raw = space.check(self, X, reset=True)
        if not isinstance(space, Dissimilarities):
            refuse_dissimilarities(raw)
        with threads(chosen.n_jobs):
            self._fit(chosen, metric, space, raw, sample_weight)
        self._warn_if_unconverged()
        self._warn_if_merged(remedy(chosen, len(self.partition_)))
        if not self.collapsed_:
            self._warn_if_empty()
        return self

    def _fit(self, chosen: Settings, metric: SemiMetric, space: Space, raw: Any, sample_weight: Any) -> None:
        ready = prepare(
            chosen, metric, space, raw, sample_weight, getattr(self, "feature_names_in_", None), chosen.n_init
        )
        metric, space, x, counts, weights = ready.metric, ready.space, ready.x, ready.counts, ready.weights
        checkpoints = self._checkpoints(chosen, ready)
        if checkpoints is not None and checkpoints.resumed:
            start = checkpoints.start
        else:
            start = self._start(chosen, metric, space, x.cpu(), counts)
        delta = ready.delta(chosen.delta)
        links = None if chosen.pairs is None else chosen.pairs.links(chosen.focal, counts, ready.spread, chosen.dtype)
        solve = soft_ecm_precomputed if ready.discrete else partial(soft_ecm, keeper=checkpoints)
        solution = solve(
            x,
            metric,
            chosen.focal,
            start.to(ready.device),
            alpha=chosen.alpha,
            beta=chosen.beta,
            delta=delta,
            lam=chosen.lam,
            relaxation=chosen.relaxation,
            solver=chosen.solver,
            weights=weights,
            links=links,
            max_iter=chosen.max_iter,
            tol=chosen.tol,
            callback=chosen.callback,
            race=True,
        )
        apart = ready.separations(solution.prototypes[:, : chosen.n_clusters])
        best = choose(solution.objective, apart)
        self.delta_ = delta
        self.model_ = PrototypeModel(
            metric,
            space,
            chosen.focal,
            solution.prototypes[best].cpu(),
            chosen.alpha,
            chosen.beta,
            delta,
            float(solution.tie[best] / counts.sum()),
        )
        self._store(with_linked(self.model_.partition(x.cpu()), links, solution.masses, best))
        self._store_runs(solution, best, apart)

    def _checkpoints(self, chosen: Settings, ready: Prepared) -> Any:
        """What writes checkpoints of this fit, and gives the one to go on from; None where none is wanted."""
        if chosen.plan is None:
            return None
        from softecm.checkpoints import Checkpoints, content_number, identity

        content = content_number(ready.space, ready.x, None if ready.weights is None else ready.counts)
        who = identity(type(self).__name__, chosen, ready.metric, len(ready.x), content)
        return Checkpoints.open(chosen.plan, who, ready.device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        pairwise = _is_precomputed(getattr(self, "metric", None))
        tags.input_tags.pairwise = tags.input_tags.positive_only = pairwise
        return tags

    def _start(self, chosen: Settings, metric: SemiMetric, space: Space, x: Any, counts: NDArray[np.float64]) -> Tensor:
        """Starting prototypes (runs, c or f, *shape)."""
        if chosen.warm_start and hasattr(self, "model_") and self.model_.focal == chosen.focal:
            return self.model_.prototypes.to(chosen.dtype)[None]
        if not isinstance(chosen.init, str):
            return check_init(chosen, space)
        rng = check_random_state(chosen.random_state)
        return seed(chosen.init, metric, space, x, counts, chosen.n_clusters, chosen.n_init, rng)

    def _store_runs(self, solution: Solution, best: int, apart: NDArray[np.float64]) -> None:
        self.objective_ = float(solution.objective[best])
        self.history_ = solution.history[best]
        self.n_iter_ = int(solution.n_iter[best])
        self.converged_ = bool(solution.converged[best])
        self.separation_ = float(apart[best])
        self.collapsed_ = bool(apart[best] < MERGED)
        self._runs = {
            "run": np.arange(len(apart)),
            "objective": solution.objective,
            "n_iter": solution.n_iter,
            "converged": solution.converged,
            "separation": apart,
            "collapsed": apart < MERGED,
            "best": np.arange(len(apart)) == best,
        }
        if solution.residual is not None:
            self.constraint_residual_ = float(solution.residual[best])
            self._runs["constraint_residual"] = solution.residual


def check_init(chosen: Settings, space: Space) -> Tensor:
    """The starting prototypes a user gave (1, c, *shape)."""
    given = space.encode_prototypes(chosen.init)
    if len(given) != chosen.n_clusters:
        raise ValueError(
            f"init must have one row a cluster, {chosen.n_clusters}; got {len(given)}. Sets start at the barycentre "
            "of their clusters and need no row."
        )
    return given[None]


def check_size(chosen: Settings) -> None:
    """Refuse so many sets that the matrices of the prototype step would not fit in memory."""
    f = len(chosen.focal)
    if chosen.n_init * f * f > LARGEST_STEP:
        largest = int(chosen.focal.cardinalities.max())
        raise ValueError(
            f"n_clusters must leave a number of sets that fits in memory; got n_clusters={chosen.n_clusters}, which "
            f"makes {f} sets of up to {largest} clusters. Use max_cardinality=1, fewer clusters or n_init=1."
        )


def _is_precomputed(metric: Any) -> bool:
    return isinstance(metric, str) and metric == "precomputed"


def remedy(chosen: Settings, n: int) -> str:
    """What to do about merged prototypes."""
    softer = f"a beta nearer to 1 (such as {max(1.05, 1 + (chosen.beta - 1) / 2):.3g}), fewer clusters or more restarts"
    if chosen.relaxation != "penalty" or chosen.lam == 0:
        return f"Try {softer}; if many rows are equal there may be fewer groups than n_clusters={chosen.n_clusters}."
    return (
        f"With relaxation='penalty' a large lam pulls all prototypes into one point, and lam={chosen.lam:g} is large for "
        f"{n} objects: use relaxation='gap', which never does, or lam={chosen.lam / 4:.3g}; or try {softer}."
    )


def barycenter(metric: SemiMetric, space: Space, x: Any, weights: Tensor | None, device: torch.device) -> Tensor:
    """The barycentre (1, *shape) of all objects."""
    start = space.starts(x, start_rows(len(x)).to(device)).mean(0)[None, None]
    return barycenter_from(metric, x, start, weights)


def start_rows(n: int) -> Tensor:
    """Up to 256 objects, evenly spread: the search for the barycentre of all starts at their mean."""
    # Single precision can't count to the last of many rows.
    return torch.linspace(0, n - 1, min(n, 256), dtype=torch.float64 if n > 1 << 22 else torch.float32).long()


def barycenter_from(metric: SemiMetric, x: Any, start: Tensor, weights: Tensor | None) -> Tensor:
    """The barycentre of all objects: Soft-ECM with one cluster and no empty set is just that."""
    alone = FocalSets.full(1)
    solution = soft_ecm(x, metric, alone, start, alpha=0.0, beta=2.0, delta=None, lam=0.0, weights=weights, tol=0.0, max_iter=1 if metric.is_quadratic else 50)  # fmt: skip  # noqa: E501
    return solution.prototypes[0]


def distances_to(metric: SemiMetric, x: Any, point: Tensor) -> NDArray[np.float64]:
    """Distances (n,) of all objects to one point (1, *shape)."""
    with torch.no_grad():
        parts = [metric.pairwise(x[rows], point)[:, 0].clamp_min(0.0) for rows in blocks(len(x), point)]
    return torch.cat(parts).double().cpu().numpy()
