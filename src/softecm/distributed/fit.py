"""``fit`` and ``predict_partition`` on objects in blocks."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from softecm._engine import threads
from softecm.algorithms.base import separation
from softecm.algorithms.fitting import (
    OUTLIERS,
    Settings,
    SoftECMFamily,
    barycenter_from,
    check_init,
    check_size,
    choose,
    remedy,
    start_rows,
)
from softecm.algorithms.model import PrototypeModel
from softecm.algorithms.soft_ecm_core import soft_ecm
from softecm.checkpoints import Checkpoints, identity
from softecm.distances.base import Learner, SemiMetric
from softecm.distances.registry import resolve_metric
from softecm.distributed.cluster import Cluster
from softecm.distributed.encoding import Encoder, Facts, describe
from softecm.distributed.engines import Engine, Placement
from softecm.distributed.partition import ScatteredPartition, engine_for
from softecm.distributed.passes import content, mean_distance, picked, quantile
from softecm.distributed.seeding import seed_scattered
from softecm.distributed.sources import Raw, Source, block_weights, source_of
from softecm.spaces.base import Space
from softecm.spaces.real import RealVectors
from softecm.spaces.scattered import Scattered


@dataclass(frozen=True)
class Ready:
    """Blocks ready to be clustered."""

    metric: SemiMetric
    space: Space
    x: Scattered
    facts: Facts
    encoder: Encoder


def fit_scattered(estimator: Any, chosen: Settings, X: Any, sample_weight: Any) -> None:
    """Fit an estimator of the Soft-ECM family to objects in blocks; its partition stays where they are."""
    _refuse(estimator, chosen)
    source = source_of(X)
    engine = engine_for(source)
    try:
        with threads(None if isinstance(engine, Cluster) else chosen.n_jobs):
            _fit(estimator, chosen, source, engine, sample_weight)
            totals = estimator.partition_.totals()
    except Exception as error:
        if type(error).__module__.split(".")[0] in ("distributed", "concurrent", "asyncio") and chosen.plan is not None:
            raise RuntimeError(_lost(error, chosen.plan.path)) from error
        raise
    finally:
        engine.close()
    estimator._warn_if_unconverged()
    estimator._warn_if_merged(remedy(chosen, totals.n_objects))
    if not estimator.collapsed_:
        estimator._warn_if_empty(totals.held)


def _lost(error: Exception, path: Path) -> str:
    what = f"the Dask cluster was lost during the fit ({type(error).__name__})"
    if not path.exists():
        return f"{what} before its first round was over: begin anew."
    return f"{what}. The last whole round is in {path}: go on with fit(X, resume={str(path)!r})."


def _refuse(estimator: Any, chosen: Settings) -> None:
    name = type(estimator).__name__
    if type(estimator)._fit is not SoftECMFamily._fit:
        raise TypeError(
            f"{name} needs all objects in memory; got blocks. Use SoftECM or ECM, or X.compute() where the data fit."
        )
    pairs = chosen.pairs
    if pairs is not None and not (getattr(pairs, "must_link", 1) is None and getattr(pairs, "cannot_link", 1) is None):
        raise ValueError(
            "must_link and cannot_link must be left out for data in blocks: links need all objects in memory."
        )
    if isinstance(chosen.metric, str) and chosen.metric == "precomputed":
        raise ValueError(
            "metric must compare objects for data in blocks; got 'precomputed', whose matrix needs memory."
        )


def _fit(estimator: Any, chosen: Settings, source: Source, engine: Engine, sample_weight: Any) -> None:
    ready = prepare_scattered(estimator, chosen, source, engine, sample_weight)
    metric, space, x, facts = ready.metric, ready.space, ready.x, ready.facts
    checkpoints = None
    if chosen.plan is not None:
        who = identity(type(estimator).__name__, chosen, metric, len(x), content(x, space))
        checkpoints = Checkpoints.open(chosen.plan, who)
    if checkpoints is not None and "spread" in checkpoints.extras:
        delta, spread = checkpoints.extras["delta"], float(checkpoints.extras["spread"] or 0.0)
    else:
        delta, spread = _measure(chosen, metric, space, x)
    if checkpoints is not None and checkpoints.resumed:
        start = checkpoints.start
    else:
        start = _start(estimator, chosen, metric, space, x)
    if checkpoints is not None:
        checkpoints.extras.update(delta=delta, spread=spread)
    solution = soft_ecm(
        x,
        metric,
        chosen.focal,
        start,
        alpha=chosen.alpha,
        beta=chosen.beta,
        delta=delta,
        lam=chosen.lam,
        relaxation=chosen.relaxation,
        solver=chosen.solver,
        max_iter=chosen.max_iter,
        tol=chosen.tol,
        callback=chosen.callback,
        race=True,
        keeper=checkpoints,
    )
    clusters = solution.prototypes[:, : chosen.n_clusters]
    with torch.no_grad():
        tables = [metric.pairwise(v, v).clamp_min(0.0).double().numpy() for v in clusters]
    apart = np.array([separation(table, spread) for table in tables])
    best = choose(solution.objective, apart)
    estimator.delta_ = delta
    estimator.model_ = PrototypeModel(
        metric,
        space,
        chosen.focal,
        solution.prototypes[best],
        chosen.alpha,
        chosen.beta,
        delta,
        float(solution.tie[best] / x.weight),
    )
    partition = ScatteredPartition(source, replace(ready.encoder, metric=None), estimator.model_, len(x), facts.lengths)
    estimator.partition_ = partition
    estimator.focal_sets_ = chosen.focal
    if source.delayed is not None:
        estimator.labels_ = partition.labels()
        estimator.outlier_scores_ = partition.outlier_scores()
    else:  # nothing of the size of the data is kept: the partition goes block by block
        for name in ("labels_", "outlier_scores_"):
            vars(estimator).pop(name, None)
    estimator._store_runs(solution, best, apart)


def prepare_scattered(estimator: Any, chosen: Settings, source: Source, engine: Engine, sample_weight: Any) -> Ready:
    """Check every block, fit the space and the metric, encode."""
    if not len(source):
        raise ValueError("X must hold at least one block; got none.")
    metric = resolve_metric(chosen.metric, source.look)
    space = metric.make_space()
    owner = type(estimator).__name__
    lengths = _lengths(engine, sample_weight)
    weights = block_weights(sample_weight, lengths, len(source))
    facts: Facts = engine.over_raw(partial(describe, space=space, owner=owner), Facts.merge, weights)
    if facts.names is None and isinstance(space, RealVectors):
        facts = replace(facts, names=source.names)
    n = sum(facts.lengths)
    if n < chosen.n_clusters:
        raise ValueError(
            f"n_clusters must be at most the number of objects; got n_clusters={chosen.n_clusters} for n_samples={n}. "
            "Ask for fewer clusters or give more rows."
        )
    if not facts.weight > 0:
        raise ValueError("sample_weight must not be zero for every object; got only zeros. Leave it out to count all.")
    if metric.is_quadratic:
        check_size(chosen)
    _store_names(estimator, facts)
    space = _named(space.fit_described(facts.description, dtype=chosen.dtype), facts)
    encoder = Encoder(space, None, owner, facts.n_features, facts.names, chosen.dtype, trusted=True)
    if metric.learner is not None:
        described = engine.over_raw(partial(_describe_metric, encoder=encoder, learner=metric.learner), _merge, weights)
        metric = metric.learner.fitted_to(described)
    encoder = replace(encoder, metric=metric)
    placement = Placement(chosen.device, float(len(chosen.focal)) * chosen.n_init, chosen.n_jobs)
    x = engine.encoded(encoder, weights, facts.lengths, facts.weight, placement)
    return Ready(metric, space, x, facts, encoder)


def _lengths(engine: Engine, sample_weight: Any) -> tuple[int, ...] | None:
    """Rows of each block, counted only where weights in memory must be cut like them."""
    if sample_weight is None or hasattr(sample_weight, "to_delayed"):
        return None
    return engine.over_raw(_count, _joined, None)


def _count(raw: Raw) -> tuple[int, ...]:
    return (len(raw.data),)


def _joined(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return a + b


def _describe_metric(raw: Raw, *, encoder: Encoder, learner: Learner) -> Any:
    block = encoder(raw)
    return learner.describe(block.objects, block.weights)


def _merge(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a.merge(b)


def _store_names(estimator: Any, facts: Facts) -> None:
    estimator.n_features_in_ = facts.n_features
    if facts.names is not None:
        estimator.feature_names_in_ = np.asarray(facts.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _named(space: Space, facts: Facts) -> Space:
    if facts.names is not None and any(f.name == "names" for f in fields(space)):  # type: ignore[arg-type]
        return replace(space, names=facts.names)  # type: ignore[type-var]
    return space


def _measure(chosen: Settings, metric: SemiMetric, space: Space, x: Scattered) -> tuple[float | None, float]:
    """Delta, and the mean distance of objects to the barycentre of all."""
    start = picked(x, space, start_rows(len(x)).numpy()).mean(0)[None, None]
    center = barycenter_from(metric, x, start, None)
    spread = mean_distance(x, metric, center)
    if not isinstance(chosen.delta, str):
        return chosen.delta, spread
    squared = quantile(x, metric, center, OUTLIERS)
    return (float(np.sqrt(squared)) if squared > 0 else 1.0), spread


def _start(estimator: Any, chosen: Settings, metric: SemiMetric, space: Space, x: Scattered) -> Tensor:
    """Starting prototypes (runs, c or f, *shape)."""
    if chosen.warm_start and hasattr(estimator, "model_") and estimator.model_.focal == chosen.focal:
        last: Tensor = estimator.model_.prototypes.to(chosen.dtype)[None]
        return last
    if not isinstance(chosen.init, str):
        return check_init(chosen, space)
    rng = check_random_state(chosen.random_state)
    return seed_scattered(chosen.init, metric, space, x, chosen.n_clusters, chosen.n_init, rng)


def predict_scattered(estimator: Any, X: Any) -> ScatteredPartition:
    """The credal partition of other objects in blocks, computed when it is asked for."""
    names = getattr(estimator, "feature_names_in_", None)
    encoder = Encoder(
        estimator.model_.space,
        None,
        type(estimator).__name__,
        int(estimator.n_features_in_),
        None if names is None else tuple(map(str, names)),
        estimator.model_.prototypes.dtype,
    )
    return ScatteredPartition(source_of(X), encoder, estimator.model_)
