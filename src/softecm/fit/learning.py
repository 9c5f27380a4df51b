r"""Incremental fitting, batch by batch: earlier batches are kept as sums.

If barycentres are means, the prototype step needs only each object's contribution to the sums of weights and of
weighted objects. The sums remain after the objects are gone, fade with every batch, and attract the prototypes of the
next (:mod:`softecm.objective.pull`): a batch is fitted to convergence, with the masses of its own objects minimized out
and those of earlier ones fixed. If delta and the sets of neighbours are "auto", they are measured over faded batches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief import CredalPartition, FocalSets
from softecm.distances.base import distances_of
from softecm.files.expected import NOT_NEGATIVE, Misfit, array, number, rules
from softecm.files.values import Savable
from softecm.fit.algorithm import Algorithm, Fit, Outcome
from softecm.fit.fitting import ReadyCell, add_sets, resolved
from softecm.fit.prepare import InMemory, Objects
from softecm.fit.settings import PrototypeModel, Settings
from softecm.fit.stages import CLOSE, ENOUGH, MAD, OUTLYING, Stage, beyond, clusters_alone, neighbours, outlying
from softecm.objective.equations import evaluate
from softecm.objective.pull import PrototypePull
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Scattered

FAR = 0.5  # spreads, or usual distances from its cluster: a cluster that moved further has drifted
ERRORS = 4.0  # standard errors in addition, because it is the largest of many columns
SEEN = 10  # minimum number of a cluster's objects in a batch to locate it
LEAST_SPREAD = 0.05  # of that of all objects in a column: no cluster has an infinitely certain position
CELLS = 1 << 24  # maximum number of cells of a batch to examine


@dataclass(frozen=True)
class Past(Savable):
    """Statistics of objects seen before."""

    curvature: Tensor  # (k, ...), sums of weights of the first k sets
    moment: Tensor  # (k, *shape), of weighted objects
    weight: float  # of the objects
    median: float  # of the roots of the distances to the nearest cluster
    mad: float  # of their absolute deviations from it
    held: Tensor  # (c, c), weight of objects between two clusters
    first: Tensor  # (c, *shape), the clusters of the first batch
    counts: Tensor  # (c,), their weights
    unit: float  # the usual root distance in the first batch
    SAVED = rules(
        weight=number(NOT_NEGATIVE),
        median=number(NOT_NEGATIVE),
        mad=number(NOT_NEGATIVE),
        held=array("c c", allowed=NOT_NEGATIVE),
        counts=array("c", allowed=NOT_NEGATIVE),
        unit=number(NOT_NEGATIVE),
    )

    def check_parts(self, model: PrototypeModel) -> None:
        """Raise an error if loaded statistics of earlier batches don't match the prototypes they attract."""
        c, shape = model.focal.n_clusters, tuple(model.prototypes.shape[1:])
        if self.first.shape != (c, *shape):
            raise Misfit("_past.first should have the shape of the clusters' prototypes")
        k = len(self.moment) if self.moment.ndim else 0
        if tuple(self.moment.shape[1:]) != shape or k not in (c, len(model.focal)):
            raise Misfit("_past.moment should have the shape of prototypes")
        wide = torch.Size([k, *(1,) * len(shape)])
        if self.curvature.shape not in (self.moment.shape, wide) or bool((self.curvature < 0).any()):
            raise Misfit("_past.curvature should hold weights of prototypes")

    def faded(self, keep: float) -> Past:
        """Return these statistics with less weight."""
        faded = {name: getattr(self, name) * keep for name in ("curvature", "moment", "weight", "held")}
        return replace(self, **faded)

    def plus(self, batch: Past) -> Past:
        """Return these statistics with another batch added."""
        total = self.weight + batch.weight
        share = batch.weight / total if total > 0 else 1.0
        return replace(
            self,
            curvature=self.curvature + batch.curvature,
            moment=self.moment + batch.moment,
            weight=total,
            median=(1.0 - share) * self.median + share * batch.median,
            mad=(1.0 - share) * self.mad + share * batch.mad,
            held=self.held + batch.held,
        )

    def pull(self) -> PrototypePull:
        """Return the pull on the next batch."""
        there = self.curvature > 0
        points = self.moment / torch.where(there, self.curvature, 1.0)
        return PrototypePull(points, torch.where(there, self.curvature, 0.0))

    def drift(self, model: PrototypeModel) -> NDArray[np.float64]:
        """Return the drift of each cluster since the first batch (c,), in usual distances to a cluster."""
        between = distances_of(model.metric, self.first, model.prototypes[: len(self.first)]).diagonal()
        gone = between.double().numpy() ** (1.0 / model.metric.degree)
        return np.asarray(gone / self.unit if self.unit > 0 else np.where(gone > 0, np.inf, 0.0))

    def unsure(self) -> NDArray[np.float64]:
        """Return the sampling error of each cluster of the first batch, in the same unit: two standard errors of a mean."""
        return np.asarray(2.0 / np.sqrt(np.maximum(self.counts.double().numpy(), 1.0)))


class Jump(NamedTuple):
    """Offset of a batch's objects of a cluster from the cluster's earlier position."""

    cluster: int
    coordinate: int
    spreads: float  # in standard deviations of these objects in this coordinate


def jump(objects: InMemory[Encoded], partition: CredalPartition, last: PrototypeModel, past: Past) -> Jump | None:
    """Return the largest jump of clusters with enough objects in the batch; None if it may be chance."""
    if objects.space.sparse:
        return None
    place = last.prototypes[: partition.n_clusters].flatten(1).double().numpy()
    known = past.curvature.flatten(1).amax(1).double().numpy()
    rows = np.linspace(0, len(objects) - 1, min(len(objects), CELLS // place.shape[1] + 1)).astype(np.int64)
    x = objects.space.numbers_of(objects.x, torch.from_numpy(rows).to(objects.device)).double().cpu().numpy()
    place = place[:, : x.shape[1]]
    own = partition.masses[rows].argmax(1) - 1
    jumps = [Jump(0, 0, 0.0)]
    for k in np.flatnonzero(np.bincount(own[own >= 0], minlength=len(place))[: len(place)] >= SEEN):
        mine = x[own == k]
        n = (~np.isnan(mine)).sum(0)
        seen = np.flatnonzero(n >= SEEN)
        shift = np.abs(np.nanmean(mine[:, seen], 0) - place[k, seen])
        spread = np.maximum(np.nanstd(mine[:, seen], 0), LEAST_SPREAD * np.nanstd(x[:, seen], 0))
        unsure = ERRORS * np.sqrt(1.0 / n[seen] + 1.0 / max(float(known[k]), 1.0))
        off = np.divide(shift, spread, out=np.zeros_like(shift), where=spread > 0)
        jumps += [Jump(int(k), int(seen[j]), float(off[j])) for j in np.flatnonzero(off > FAR + unsure)]
    furthest = max(jumps, key=lambda one: one.spreads)
    return furthest if furthest.spreads > 0 else None


def past_of(
    algorithm: Algorithm[object], objects: Objects[Encoded | Scattered], chosen: Settings, model: PrototypeModel
) -> Past:
    """Return the statistics of a batch that ended at a model."""
    c = chosen.n_clusters
    simple = FocalSets.up_to(c, 1)
    alone = replace(model, focal=simple, prototypes=model.prototypes[:c])
    learned = model
    if chosen.keeps_clusters and algorithm.adds_sets:
        learned = replace(alone, delta=model.delta if model.close is None else model.close)
    places = learned.whole()[None].to(objects.device)
    evaluation = evaluate(model.metric, objects.x, places, learned.cost(places, objects.weights))
    median, mad = objects.nearest_spread(alone)
    held = torch.from_numpy(objects.second_nearest(alone))
    curvature, moment = (part[0].cpu() for part in evaluation.sums)
    counts = curvature.flatten(1).amax(1)[:c]
    return Past(curvature, moment, objects.weight, median, mad, held, alone.prototypes, counts, median)


def past_of_fit(
    chosen: Settings, algorithm: Algorithm[object], model: PrototypeModel, partition: CredalPartition
) -> Past:
    """Approximate the statistics of a whole fit from its masses: each object counts once, sums lie on the prototypes."""
    c = chosen.n_clusters
    masses = partition.masses[:, 1:]
    sizes = model.focal.cardinalities.astype(np.float64)
    if chosen.keeps_clusters and algorithm.adds_sets:
        raised = partition.pignistic() ** model.beta * (1.0 - partition.masses[:, :1])
        places = model.prototypes[:c]
    else:
        raised, places = masses**model.beta * sizes**model.alpha, model.whole()
    weights = torch.from_numpy(raised.sum(0)).to(places)
    held = np.zeros((c, c))
    for j, members in enumerate(model.focal.sets):
        if len(members) == 2:
            held[members] = masses[:, j].sum() + 1e-9
    median, mad = _spread_of(model)
    tail = (1,) * (places.ndim - 1)
    curvature = weights.reshape(-1, *tail)
    total, first = float(len(masses)), model.prototypes[:c]
    between = torch.from_numpy(held)
    return Past(curvature, curvature * places, total, median, mad, between, first, weights[:c], median)


def _spread_of(model: PrototypeModel) -> tuple[float, float]:
    """Return median and deviation that give a fit's two deltas, since its objects are gone."""
    if model.delta is None:
        return 0.0, 0.0
    if model.close is None:
        return model.delta, 0.0
    # The median, if the deviations were less than a category.
    whole = model.delta - math.sqrt(model.metric.step(model.space))
    if 0.0 <= whole <= model.close < model.delta:
        return whole, (model.close - whole) / (CLOSE * MAD)
    mad = max(0.0, (model.delta - model.close) / ((OUTLYING - CLOSE) * MAD))
    return max(0.0, model.delta - OUTLYING * MAD * mad), mad


def next_batch(
    algorithm: Algorithm[object], objects: Objects[object], chosen: Settings, last: PrototypeModel, past: Past
) -> Outcome:
    """Fit another batch from where the last ended, attracted by the past."""
    fit = Fit(algorithm, objects, replace(chosen, pull=past.pull()), chosen.callback)
    if chosen.keeps_clusters and algorithm.adds_sets:
        return _clusters_first(fit, last, past)
    delta = last.delta if chosen.finds_delta else chosen.delta
    settings = resolved(objects, replace(fit.settings, focal=last.focal, delta=delta))
    return fit.solve((settings, last.whole().to(chosen.dtype)[None]))[0]


def _clusters_first(fit: Fit, last: PrototypeModel, past: Past) -> Outcome:
    settings, objects, c = fit.settings, fit.objects, fit.settings.n_clusters
    close = last.close if settings.finds_delta else settings.delta
    if settings.finds_delta and past.mad > 0 and past.weight >= ENOUGH * c:
        close = beyond(past.median, past.mad, CLOSE)
    single = clusters_alone(fit, last.prototypes[:c], close)
    here = fit.model_of(single)
    delta, focal = settings.delta, settings.focal
    if settings.finds_delta:
        median, mad = objects.nearest_spread(here)
        share = objects.weight / (past.weight + objects.weight)
        both = (1.0 - share) * past.median + share * median, (1.0 - share) * past.mad + share * mad
        delta = outlying(*both, here.metric, objects) or last.delta
    if settings.finds_sets:
        held = past.held.numpy() + objects.second_nearest(here)
        focal = neighbours(fit, single, held)
    fit = fit.using(delta=delta, focal=focal)
    ready = ReadyCell(fit.settings, fit.algorithm.from_clusters(fit, single), Stage(single, None, delta, focal), True)
    return add_sets(fit, [ready])[0]
