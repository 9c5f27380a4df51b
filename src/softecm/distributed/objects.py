"""Objects in blocks, on disk or on a cluster, prepared for clustering; predictions for such objects."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from softecm._engine import threads
from softecm.distances.auto import AUTO, REQUESTED, SERIES_AUTO, Look, MetricChoice, kind_of, resolve_metric
from softecm.distances.base import Learner, SemiMetric, distances_of
from softecm.distances.series_auto import choose_series
from softecm.distributed import passes
from softecm.distributed.cluster import Cluster
from softecm.distributed.encoding import Encoder, Facts, describe
from softecm.distributed.engines import Engine, Placement
from softecm.distributed.partition import ScatteredPartition, engine_for
from softecm.distributed.seeding import arrivals, seed_scattered
from softecm.distributed.sources import Raw, Source, block_weights, source_of
from softecm.distributed.waiting import ClusterLost
from softecm.fit.algorithm import Algorithm, barycenter_from
from softecm.fit.prepare import Columns, Draw, InMemory, Objects, start_rows
from softecm.fit.settings import CheckpointRequest, PrototypeModel, Settings, check_size
from softecm.spaces.base import Described, check_enough
from softecm.spaces.real import RealVectors
from softecm.spaces.scattered import Scattered

if TYPE_CHECKING:
    from dask.array import Array as DaskArray

D = TypeVar("D", bound=Described)


@dataclass(frozen=True)
class InBlocks(Objects[Scattered]):
    """Objects that are never gathered."""

    center: Tensor  # (1, *shape), the barycentre of all
    source: Source
    encoder: Encoder
    lengths: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.x)

    def from_center(self, q: float) -> float:
        """Return the weighted quantile of the distances to the barycentre of all, without gathering them."""
        return passes.quantile(self.x, partial(passes.distances_of_block, metric=self.metric, point=self.center), q)

    def seeded(self, n_clusters: int, draw: Draw, rng: np.random.RandomState) -> Tensor:
        """Initialize by k-means|| with the metric itself."""
        return seed_scattered(draw.kind, self.metric, self.space, self.x, n_clusters, draw.runs, rng)

    def like(self) -> Tensor:
        """Return the barycentre."""
        return self.center

    def sample(self, size: int) -> InMemory[Tensor]:
        """Sample objects in proportion to their weights, each as the prototype at its position."""
        places = arrivals(self.x, self.metric, self.space, size)
        counts = np.full(len(places), self.weight / len(places))
        cpu, distances = torch.device("cpu"), distances_of(self.metric, places, self.center)[:, 0].double().numpy()
        return InMemory(
            self.metric, self.space, places, cpu, self.weight, self.spread, self.columns, counts,
            torch.as_tensor(counts, dtype=places.dtype), distances,
        )  # fmt: skip

    def nearest_spread(self, model: PrototypeModel) -> tuple[float, float]:
        """Return two exact quantiles, without gathering the distances."""
        median = passes.quantile(self.x, partial(passes.roots_to_nearest, model=model), 0.5)
        return median, passes.quantile(self.x, partial(passes.roots_to_nearest, model=model, center=median), 0.5)

    def second_nearest(self, model: PrototypeModel) -> NDArray[np.float64]:
        """Compute it in one pass."""
        return self.x.total(partial(passes.two_nearest_of_block, model=model), operator.add)

    def content(self) -> int:
        """Return the sum of the blocks' digests."""
        return passes.content(self.x, self.space)

    def partition(self, model: PrototypeModel) -> ScatteredPartition:
        """Return a model's credal partition of these objects, computed block by block."""
        encoder = replace(self.encoder, metric=None)
        return ScatteredPartition(self.source, encoder, model, len(self.x), self.lengths)


@contextmanager
def opened(
    algorithm_for: Callable[[SemiMetric], Algorithm[object]],
    chosen: Settings,
    owner: str,
    X: object,
    sample_weight: ArrayLike | DaskArray | None,
) -> Iterator[tuple[Algorithm[Any], InBlocks]]:
    """Return blocks prepared for clustering, and the algorithm for their metric, for the duration of a fit."""
    source = source_of(X)
    metric = resolve_metric(chosen.metric, source.look)
    algorithm = algorithm_for(metric)
    _refuse(algorithm, metric, chosen, owner)
    engine = engine_for(source)
    try:
        with threads(None if isinstance(engine, Cluster) else chosen.n_jobs):
            yield algorithm, _prepared(algorithm, metric, chosen, owner, source, engine, sample_weight)
    except ClusterLost as error:
        raise ClusterLost(f"{error} {_remedy(chosen.checkpoint_request)}") from error
    finally:
        engine.close()


def _remedy(request: CheckpointRequest | None) -> str:
    if request is None:
        return "The fit is lost; with fit(X, checkpoint='fit.checkpoint') its last complete iteration is kept."
    if not request.path.exists():
        return "Start over: the first iteration had not finished."
    return f"The last complete iteration is in {request.path}: continue with fit(X, resume={str(request.path)!r})."


def _refuse(algorithm: Algorithm[object], metric: SemiMetric, chosen: Settings, owner: str) -> None:
    if metric.discrete:
        raise ValueError(
            "metric must compare objects for data in blocks; got 'precomputed', whose matrix needs memory."
        )
    if not algorithm.streams:
        raise TypeError(needs_memory(owner))
    if chosen.pairs is not None and chosen.pairs.some:
        raise ValueError(
            "must_link and cannot_link must be left out for data in blocks: links need all objects in memory."
        )


def needs_memory(owner: str) -> str:
    """Return the error message of an algorithm without support for blocks."""
    return f"{owner} needs all objects in memory; got blocks. Use SoftECM or ECM, or X.compute() if the data fit."


def _prepared(
    algorithm: Algorithm[object],
    metric: SemiMetric,
    chosen: Settings,
    owner: str,
    source: Source,
    engine: Engine,
    sample_weight: ArrayLike | DaskArray | None,
) -> InBlocks:
    """Check every block, fit the space and the metric, encode, measure."""
    if not len(source):
        raise ValueError("X must hold at least one block; got none.")
    space = metric.make_space()
    weights = block_weights(sample_weight, _lengths(engine, sample_weight), len(source))
    facts: Facts = engine.over_raw(partial(describe, space=space, owner=owner), Facts.merge, weights)
    if facts.names is None and isinstance(space, RealVectors):
        facts = replace(facts, names=source.names)
    check_enough(chosen.n_clusters, sum(facts.lengths))
    if not facts.weight > 0:
        raise ValueError("sample_weight must not be zero for every object; got only zeros. Leave it out to count all.")
    compares = metric.discrete or algorithm.compares
    check_size(chosen, 0, quadratic=metric.closed_form.quadratic, compares=compares)  # masses stay with the blocks
    space = space.fit_described(facts.description, dtype=chosen.dtype).named(facts.names or ())
    encoder = Encoder(space, None, owner, facts.n_features, facts.names, chosen.dtype, trusted=True)
    metric = metric.for_clusters(chosen.n_clusters)
    learner = metric.learner
    if learner is not None:
        merge: Callable[[Described | None, Described | None], Described | None] = _merge

        def described(encoder: Encoder, learner: Learner) -> Described | None:
            return engine.over_raw(partial(_describe_metric, encoder=encoder, learner=learner), merge, weights)

        suited = learner.suited(space, partial(described, encoder, learner))
        if suited is not None:
            learner, space = suited.learner or learner, suited.make_space()
            facts = engine.over_raw(partial(describe, space=space, owner=owner), Facts.merge, weights)
            space = space.fit_described(facts.description, dtype=chosen.dtype).named(facts.names or ())
            encoder = replace(encoder, space=space)
        metric = learner.fitted_to(described(encoder, learner))
        space = metric.open_space(space)
    encoder = replace(encoder, metric=metric)
    placement = Placement(chosen.device, float(chosen.n_sets) * chosen.n_init, chosen.n_jobs)
    x = engine.encoded(encoder, weights, facts, placement)
    center = barycenter_from(metric, x, passes.picked(x, space, start_rows(len(x)).numpy()).mean(0)[None, None], None)
    spread = passes.mean_distance(x, metric, center)
    names = None if facts.names is None else np.asarray(facts.names, dtype=object)
    columns = Columns(facts.n_features, names)
    cpu = torch.device("cpu")  # of the prototypes; every block has its own device
    return InBlocks(
        metric, space, x, cpu, x.weight, spread, columns, np.empty(0), None, center, source, encoder, facts.lengths
    )


def _lengths(engine: Engine, sample_weight: ArrayLike | DaskArray | None) -> tuple[int, ...] | None:
    """Return the number of rows per block, counted only if weights in memory must be split likewise."""
    if sample_weight is None or hasattr(sample_weight, "to_delayed"):
        return None
    lengths: tuple[int, ...] = engine.over_raw(_count, operator.add, None)
    return lengths


def _count(raw: Raw) -> tuple[int, ...]:
    return (len(raw.data),)


def _describe_metric(raw: Raw, *, encoder: Encoder, learner: Learner) -> Described | None:
    block = encoder(raw)
    return learner.describe(block.objects, block.weights)


def _merge(a: D | None, b: D | None) -> D | None:
    return b if a is None else a if b is None else a.merge(b)


def predict_scattered(model: PrototypeModel, owner: str, columns: Columns, X: object) -> ScatteredPartition:
    """Return the credal partition of other objects in blocks, computed on request."""
    names = None if columns.names is None else tuple(map(str, columns.names))
    encoder = Encoder(model.space, None, owner, columns.n_features, names, model.prototypes.dtype)
    return ScatteredPartition(source_of(X), encoder, model)


def choose_for_blocks(metric: object, source: Source, n_clusters: int | None) -> MetricChoice:
    """Resolve ``metric="auto"``, with a log line; return any other metric unchanged.

    Types alone identify series and categories; missing values and units of numbers need a pass, which naming the metric
    avoids. Columns are not examined: an id is recognizable only from all rows together. The weights of series' views
    are learned from the first block.
    """
    if metric not in (AUTO, SERIES_AUTO):
        return MetricChoice(metric, REQUESTED)
    kind = kind_of(source.look)
    if (kind == "series" or metric == SERIES_AUTO) and len(source):
        best = choose_series(next(source.read()), n_clusters, " of the first block")
        return MetricChoice(best.metric, best.reason, requested=str(metric), tried=best.tried).tell()
    if kind != "numbers" or not len(source):
        return Look(kind).choice().tell()
    engine = engine_for(source)
    try:
        return engine.over_raw(_look, Look.merge, None).choice().tell()
    finally:
        engine.close()


def _look(raw: Raw) -> Look:
    return Look.of(raw.data)
