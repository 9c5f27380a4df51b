"""Numbers measured in units of their groups, where the evidence is for another shape than equal spheres.

A fit by default begins with equal spheres. :func:`suggested` looks at its groups: mostly their covariances need no other
shape, and nothing more happens. Else the shapes of :mod:`softecm.fit.group_shapes` are compared on a sample. A shape that
all groups share is a metric of its own, with which the fit is done again; where each group has its own shape, the mixture's
groups are the clusters, and :func:`own_model` adds the sets. A fit that goes on from an earlier model measures as that does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.belief import CredalPartition, FocalSets
from softecm.distances.auto import ALIKE, UNITS, Choice, is_auto
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.fit.algorithm import Outcome, Prices
from softecm.fit.group_shapes import (
    OWN,
    Floats,
    GroupShape,
    Shape,
    equal_spheres_suffice,
    find_shape,
    refined,
    renumbered,
)
from softecm.fit.model import PrototypeModel
from softecm.fit.prepare import InMemory, Objects
from softecm.fit.settings import Settings
from softecm.fit.stages import PAIRS, outlying, sample_size
from softecm.objective import evaluate
from softecm.objective.linked import linked_masses, with_linked
from softecm.objective.links import Links
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Scattered

ROWS_EACH = 20  # objects for each cluster: fewer say nothing about shapes
MOST_COLUMNS = 50  # in more, distances within groups are all alike

EARLIER = "distances are measured as in the model that this fit goes on from"
#: Why distances are measured so, for the user.
REASONS = {
    "raw": "the columns are taken as they are: the groups are about as wide in all of them",
    "scaled": "each column is scaled to unit spread: the groups stand out more clearly so",
    "columns": "each column is measured in units of its spread within the groups",
    "ellipse": "distances are measured in units of the spread within the groups, which are elongated alike",
    "sizes": "each group is measured in units of its own width, for their widths differ",
    "axes": "each group is measured in units of its own spread in each column",
    "ellipses": "each group is measured in units of its own spread, for they are elongated in different directions",
}


@dataclass(frozen=True)
class Fitted:
    """A fit in memory, before the estimator takes it over."""

    choice: Choice
    objects: InMemory[Any]
    outcome: Outcome
    model: PrototypeModel
    partition: CredalPartition

    @property
    def converged(self) -> bool:
        """Whether the fit was not stopped on its way."""
        return bool(self.outcome.solution.converged[self.outcome.best])


def may_be_shaped(chosen: Settings, choice: Choice) -> bool:
    """Whether these are numbers, measured by default in every respect that has to do with distances."""
    numbers = is_auto(chosen.metric) and choice.reason in (ALIKE, UNITS)
    by_default = chosen.init.staged and chosen.relaxation is None and chosen.lam is None
    own_delta = chosen.delta is not None  # in units of the distances as they are
    return numbers and by_default and not own_delta


def suggested(
    columns: Sequence[Floats],
    partition: CredalPartition,
    objects: InMemory[Encoded],
    *,
    scaled: bool,
    own: bool,
    labels_of: Callable[[Floats, Floats], NDArray[np.int64]],
) -> GroupShape | None:
    """The shape of the groups, where it is another than that of the fit which gave this partition.

    Parameters
    ----------
    columns : (n,) each, as they are
    partition, objects : by equal spheres, of columns in units of their spread (``scaled``) or as they are
    own : whether each group may have a shape of its own
    labels_of : clusters some objects by equal spheres, given columns and counts
    """
    c = partition.focal_sets.n_clusters
    if c < 2 or len(objects) < ROWS_EACH * c or not 1 < len(columns) <= MOST_COLUMNS:
        return None
    every = _evidence(columns, partition, objects)
    x, counts, labels = every.x[every.sure], every.counts[every.sure], every.labels[every.sure]
    spread = x.std(0)
    if len(x) < ROWS_EACH * c or not (spread > 0).all():
        return None
    if equal_spheres_suffice(x, labels, c, counts, scaled=scaled):
        return None
    others = renumbered(labels_of(x / (1.0 if scaled else spread), counts), labels, c)
    shape = find_shape(x, [labels, others], c, scaled=scaled, own=own, counts=counts)
    if shape.shape in OWN:
        shape = refined(shape, every.x, every.counts)
    return None if shape.shape == ("scaled" if scaled else "raw") else shape


class _Evidence(NamedTuple):
    """Objects that lie in or between groups; of many, a sample."""

    x: Floats  # (n, p)
    counts: Floats  # (n,)
    labels: NDArray[np.int64]  # (n,)
    sure: NDArray[np.bool_]  # (n,): in a group; what lies between groups or nowhere is no evidence of their shape


def _evidence(columns: Sequence[Floats], partition: CredalPartition, objects: InMemory[Encoded]) -> _Evidence:
    size = sample_size(partition.focal_sets.n_clusters)
    rows, counts = np.arange(len(objects)), objects.counts
    if len(rows) > 2 * size:
        rows, counts = objects.sample_rows(size)
        counts = counts * (len(rows) / counts.sum())  # they are no more evidence than they are
    x = np.column_stack([column[rows] for column in columns]).astype(np.float64)
    some = CredalPartition._trusted(partition.masses[rows], partition.focal_sets)
    sizes = np.append(0, partition.focal_sets.membership.sum(1))[some.masses.argmax(1)]  # of the set of largest mass
    inside = sizes > 0
    return _Evidence(x[inside], counts[inside], some.labels()[inside], sizes[inside] == 1)


def of_earlier(
    model: PrototypeModel,
    columns: Sequence[Floats],
    partition: CredalPartition,
    objects: InMemory[Encoded],
    pull: float,
) -> GroupShape | None:
    """The groups of an earlier model that have shapes of their own, as these objects have them; None where they have none.

    Each of its centres counts for ``pull`` of all objects.
    """
    metric, c = model.metric, model.focal.n_clusters
    if not isinstance(metric, SetQuadratic) or metric.matrices is None:
        return None
    own = (metric.matrices[:c] * metric.scales[:c, None, None]).double().numpy()
    covariances, centers = np.linalg.inv(own), model.prototypes[:c].double().numpy()
    axes = np.diagonal(covariances, axis1=1, axis2=2)
    flat = np.allclose(covariances, axes[:, :, None] * np.eye(axes.shape[1]))
    shape: Shape = "ellipses" if not flat else "sizes" if np.allclose(axes, axes[:, :1]) else "axes"
    every = _evidence(columns, partition, objects)
    return refined(GroupShape(shape, None, centers, covariances), every.x, every.counts, pull * every.counts.sum())


def own_model(objects: Objects[object], shape: GroupShape, chosen: Settings, *, numbered: bool) -> PrototypeModel:
    r"""The clusters of a mixture whose groups have their own covariances, with the sets they make.

    A cluster's distance is minus twice its log-likelihood up to a constant,
    :math:`d_k(x) = (x - v_k)^\top \Sigma_k^{-1} (x - v_k) + \log|\Sigma_k|`, shifted so that the least offset is 0. A set
    has the mean of its clusters' centres, of their covariances, and of their offsets. Unless their numbers are known
    (``numbered``), clusters are numbered by where they are, the first coordinate first.
    """
    c = chosen.n_clusters
    if not numbered:
        order = np.lexsort(shape.centers.T[::-1])
        shape = replace(shape, centers=shape.centers[order], covariances=shape.covariances[order])
    singles = _model(objects, shape, chosen, FocalSets.up_to(c, 1), None)
    focal, delta = chosen.focal, chosen.delta
    if chosen.finds_sets:
        focal = _neighbours(singles, objects.second_nearest(singles))
    if chosen.finds_delta:
        delta = outlying(*objects.nearest_spread(singles), singles.metric, objects.space)
    return _model(objects, shape, chosen, focal, delta)


def _neighbours(singles: PrototypeModel, held: Floats) -> FocalSets:
    """Each cluster, and the pairs whose middle is nearer to both than to any other cluster; ``held`` lie between two."""
    c, centers = len(singles.prototypes), singles.prototypes
    middles = (centers[:, None] + centers) / 2
    d = singles.distances(middles.reshape(c * c, -1)).reshape(c, c, c)
    pairs = [
        (a, b)
        for a in range(c)
        for b in range(a + 1, c)
        if held[a, b] > 0 and (np.delete(d[a, b], [a, b]) > d[a, b, [a, b]].max()).all()
    ]
    most = sorted(pairs, key=lambda pair: -held[pair])[: PAIRS * c]
    return FocalSets.of(c, [*((k,) for k in range(c)), *sorted(most)])


def _model(
    objects: Objects[object], shape: GroupShape, chosen: Settings, focal: FocalSets, delta: float | None
) -> PrototypeModel:
    shares = focal.shares  # (f, c)
    p = shape.centers.shape[1]
    covariances = np.einsum("fc,cpq->fpq", shares, shape.covariances)
    volumes = np.linalg.slogdet(shape.covariances)[1]
    offsets = np.repeat((shares @ (volumes - volumes.min()) / p)[:, None], p, axis=1)
    tensors = [torch.tensor(part) for part in (np.ones(len(focal)), offsets, np.linalg.inv(covariances))]
    return PrototypeModel(
        SetQuadratic(*tensors),
        objects.space,
        focal,
        torch.tensor(shares @ shape.centers),
        chosen.alpha,
        chosen.beta,
        delta,
        0.0,
    )


def objective(objects: Objects[Encoded | Scattered], model: PrototypeModel) -> float:
    """What all objects cost at a model's prototypes."""
    places = model.prototypes[None].to(objects.device)
    prices = Prices.same(1, alpha=model.alpha, beta=model.beta, delta=model.delta)
    return float(evaluate(model.metric, objects.x, places, prices.cost(model.focal, places, objects.weights)).cost[0])


def own_partition(
    objects: InMemory[torch.Tensor], shape: GroupShape, model: PrototypeModel, chosen: Settings
) -> tuple[CredalPartition, Links | None]:
    """The partition that a model of own shapes gives, and the links that it heeds; the prototypes stay where they are."""
    partition = objects.partition(model)
    if chosen.pairs is None or not chosen.pairs.some:
        return partition, None
    x = objects.x.cpu().double().numpy()
    apart = x - np.average(x, axis=0, weights=objects.counts)
    squares = (apart @ np.linalg.inv(shape.covariances.mean(0)) * apart).sum(1)
    spread = float(np.average(squares, weights=objects.counts))
    links = chosen.pairs.links(model.focal, objects.counts, spread, torch.float64)
    if links is None:
        return partition, None
    distances = torch.as_tensor(model.distances(objects.x.cpu()[links.rows]), dtype=torch.float64)
    cost = replace(model.cost(), weights=torch.as_tensor(objects.counts[links.rows.numpy()]))
    masses, _, _ = linked_masses(distances[:, None], cost, links, None, chosen.tol)
    return with_linked(partition, links, masses.transpose(0, 1), 0), links
