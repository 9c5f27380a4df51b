r"""The shape of groups of numbers: select the suitable distance with a robust mixture.

Each shape is a mixture (:mod:`softecm.fit.shape_mixture`); equal spheres, as assumed by squared Euclidean distances,
are one of seven. BIC ranks them. Any other shape must also describe the groups, because skewed and discrete columns can
imitate shapes: the distances of its objects must have the assumed distribution (a Kolmogorov-Smirnov distance of at
most ``MISFIT``), and its groups must overlap no more than those of equal spheres (entropy). If it would move almost no
object (``SAME``), equal spheres remain: they are as good and simpler.

A default fit begins with equal spheres. :func:`suggested` checks its groups: usually their covariances need no other
shape, and nothing else happens. Otherwise the shapes are compared on a sample. A shape shared by all groups is a
metric, with which the fit is repeated; if each group has its own shape, the mixture's groups are the clusters, and
:func:`own_model` adds the sets. A fit continued from an earlier model keeps the model's metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from softecm.belief import CredalPartition, FocalSets
from softecm.distances.auto import ALIKE, UNITS, MetricChoice
from softecm.distances.column_relevance import log_names
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.distances.table_sample import ROWS
from softecm.fit import shape_mixture as mixture
from softecm.fit.algorithm import Outcome
from softecm.fit.prepare import InMemory, Objects
from softecm.fit.settings import PrototypeModel, Settings
from softecm.fit.shape_mixture import OWN, SPHERES, Floats, NumberSample, Shape, ShapeMixture
from softecm.fit.stages import PAIRS, outlying, sample_size
from softecm.objective.equations import evaluate
from softecm.objective.linked import linked_masses, with_linked
from softecm.objective.links import Links
from softecm.spaces.base import Encoded
from softecm.spaces.columns import Name
from softecm.spaces.scattered import Scattered

# Chosen with the labels of eight data sets and ten draws of each kind of group; judged on other draws.
MISFIT = 0.10
OVERLAP = 1.1  # times the entropy of equal spheres
SAME = 0.01  # share of objects that another shape must move
TRIED = 5  # iterations of every shape before the best continue
FINALISTS = 4


@dataclass(frozen=True)
class GroupShape:
    """A shape and its groups, in the units of the data."""

    shape: Shape
    tail: float | None  # degrees of freedom; None for normal groups
    centers: Floats  # (c, p)
    covariances: Floats  # (c, p, p)


def find_shape(
    x: Floats,
    labels: Iterable[NDArray[np.int64]],
    n_clusters: int,
    *,
    scaled: bool,
    own: bool = True,
    counts: Floats | None = None,
) -> GroupShape:
    """Return the best supported shape, from groups found with equal spheres: in units of spread or not (``scaled``).

    Parameters
    ----------
    x : (n, p), no column constant
    labels : initial groups, (n,) each; the first are kept if another shape changes nothing
    n_clusters : at least 2
    scaled : whether the first labels come from columns in units of their spread
    own : whether each group may have its own shape
    counts : (n,), weight of each object
    """
    starts, sample = list(labels), mixture.sample_of(x, counts)
    groups = _best(sample, starts, n_clusters, own=own)
    chosen = _trusted(sample, groups, starts[0], scaled=scaled)
    return _in_units_of(x, sample, chosen)


def _in_units_of(x: Floats, sample: NumberSample, groups: ShapeMixture) -> GroupShape:
    """Return the groups of a sample in the units of the original objects."""
    covariances, units = groups.covariances, x.std(0) / sample.units(groups.shape)
    if covariances.ndim == 2:
        covariances = covariances[:, :, None] * np.eye(x.shape[1])
    return GroupShape(
        groups.shape, groups.tail, x.mean(0) + groups.centers * units, covariances * units[:, None] * units[None, :]
    )


def refined(shape: GroupShape, x: Floats, counts: Floats, pull: float = 0.0) -> GroupShape:
    """Fit the same shape to other objects, from its groups, whose centres may attract the new ones."""
    squares, volume = mixture.squares_and_volumes(x, shape.centers, shape.covariances)
    sample, labels = mixture.sample_of(x, counts), (squares + volume).argmin(1)
    sample = replace(sample, known=(shape.centers - x.mean(0)) / x.std(0), pull=pull)
    groups = mixture.from_labels(sample, shape.shape, shape.tail, labels, len(shape.centers), mixture.ITERATIONS)
    return _in_units_of(x, sample, groups) if np.isfinite(groups.bic) else shape


def _best(sample: NumberSample, starts: list[NDArray[np.int64]], c: int, *, own: bool) -> list[ShapeMixture]:
    """Fit a mixture of every shape briefly, then the best of them and equal spheres to the end. Return the best first."""
    first: list[ShapeMixture] = []
    n, p = sample.x.shape
    for shape in mixture.shape_parameters(c, p, n):
        if shape in OWN and not own:
            continue
        for tail in (None, mixture.HEAVY):
            tried = [mixture.from_labels(sample, shape, tail, labels, c, TRIED) for labels in starts]
            first.append(max(tried, key=lambda groups: groups.bic))
    first.sort(key=lambda groups: -groups.bic)
    finalists = first[:FINALISTS] + [groups for groups in first[FINALISTS:] if groups.shape in SPHERES]
    ended = [mixture.iterated(sample, groups, mixture.ITERATIONS) for groups in finalists]
    return sorted(ended, key=lambda groups: -groups.bic)


def _trusted(
    sample: NumberSample, groups: list[ShapeMixture], labels: NDArray[np.int64], *, scaled: bool
) -> ShapeMixture:
    """Return the first that describes its groups; equal spheres always may."""
    spheres = next(candidate for candidate in groups if candidate.shape in SPHERES)
    overlap = OVERLAP * mixture.entropy(sample, spheres) + 0.005
    continuous = sample.continuous
    for candidate in groups:
        if candidate.shape in SPHERES:
            break
        if not np.isfinite(candidate.bic):
            continue
        if continuous and mixture.misfit(sample, candidate) <= MISFIT and mixture.entropy(sample, candidate) <= overlap:
            break
    own_units = "scaled" if scaled else "raw"
    return next(g for g in groups if g.shape == own_units) if _moved(sample, candidate, labels) <= SAME else candidate


def _moved(sample: NumberSample, groups: ShapeMixture, labels: NDArray[np.int64]) -> float:
    """Return the share of objects, outside the background, whose group differs from their label."""
    c = groups.shares.shape[1]
    inside = np.where(groups.shares.sum(1) > 0.5, sample.counts, 0.0)
    table = np.zeros((c, c))
    np.add.at(table, (labels, groups.shares.argmax(1)), inside)
    held = inside.sum()
    return 1.0 - float(table[linear_sum_assignment(-table)].sum() / held) if held else 0.0


def renumbered(labels: NDArray[np.int64], like: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Renumber labels like others, group by group, so that they agree for most objects."""
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, (labels, like), 1.0)
    number: NDArray[np.int64] = linear_sum_assignment(-table)[1].astype(np.int64)
    return number[labels]


def equal_spheres_suffice(
    x: Floats, labels: NDArray[np.int64], n_clusters: int, counts: Floats, *, scaled: bool
) -> bool:
    """Whether the groups of a fit need no shape but its equal spheres: by BIC, usually without an iteration.

    Labels truncate groups where they meet, so overlapping groups may look flat: then a few iterations decide.
    """
    sample, own = mixture.sample_of(x, counts), "scaled" if scaled else "raw"
    if _covariances_suffice(sample.x * (1.0 if scaled else sample.stretch), labels, n_clusters, counts):
        return True
    n, p = x.shape
    shapes = mixture.shape_parameters(n_clusters, p, n)
    tried = [mixture.from_labels(sample, shape, None, labels, n_clusters, TRIED) for shape in shapes]
    return max(tried, key=lambda groups: groups.bic).shape == own


def _covariances_suffice(x: Floats, labels: NDArray[np.int64], c: int, counts: Floats) -> bool:
    """The same from the groups given by labels, without small ones."""
    p = x.shape[1]
    one = np.eye(c)[labels] * counts[:, None]
    sizes = one.sum(0)
    one, sizes = one[:, sizes > p], sizes[sizes > p]
    if not len(sizes):
        return True
    centers = one.T @ x / sizes[:, None]
    weight, c = sizes.sum(), len(sizes)

    spheres = -np.inf
    n_parameters = mixture.shape_parameters(c, p, int(weight))
    for shape in list(n_parameters)[1:]:  # the first are also spheres
        covariances = mixture.covariances_of(shape, x, one, sizes, centers, x.var(0))
        volume = np.log(covariances).sum(1) if covariances.ndim == 2 else np.linalg.slogdet(covariances)[1]
        criterion = float(-(sizes @ volume) - n_parameters[shape] * np.log(weight))
        if shape in SPHERES:
            spheres = criterion
        elif not criterion <= spheres:
            return False
    return True


ROWS_A_CLUSTER = 20  # objects per cluster: fewer say nothing about shapes
MOST_COLUMNS = 50  # with more, distances within groups are all similar

LOGARITHMS = "the spread of the groups grows with their numbers"
EARLIER = "distances are measured as in the model that this fit continues"
#: The reason for each distance, for the user.
REASONS = {
    "raw": "the columns are used unscaled: the groups are about equally wide in all of them",
    "scaled": "each column is scaled to unit spread, which separates the groups more clearly",
    "columns": "each column is measured in units of its spread within the groups",
    "ellipse": "distances are measured in units of the spread within the groups, which are elongated in the same direction",
    "sizes": "each group is measured in units of its own width, because their widths differ",
    "axes": "each group is measured in units of its own spread in each column",
    "ellipses": "each group is measured in units of its own spread, because they are elongated in different directions",
}


@dataclass(frozen=True)
class Fitted:
    """A fit before the estimator stores it."""

    choice: MetricChoice
    objects: Any  # in memory or in blocks, like the partition
    outcome: Outcome
    model: PrototypeModel
    partition: Any


def may_be_shaped(chosen: Settings, choice: MetricChoice) -> bool:
    """Whether these are numbers with default settings for everything that concerns distances."""
    numbers = choice.reason in (ALIKE, UNITS)  # only set for inferred metrics
    by_default = chosen.init.staged and chosen.relaxation is None and chosen.lam is None
    own_delta = chosen.delta is not None  # in units of the current distances
    return numbers and by_default and not own_delta


def suggested(
    columns: Sequence[Floats],
    fitted: Fitted,
    chosen: Settings,
    labels_of: Callable[[Floats, Floats], NDArray[np.int64]],
) -> GroupShape | None:
    """Return the shape of the groups if it differs from that of the fit.

    Parameters
    ----------
    columns : (n,) each, unscaled
    fitted : by equal spheres, on columns in units of their spread or unscaled
    labels_of : clusters some objects by equal spheres, from columns and counts
    """
    c, scaled = chosen.n_clusters, fitted.choice.reason == UNITS
    if c < 2 or len(fitted.objects) < ROWS_A_CLUSTER * c or not 1 < len(columns) <= MOST_COLUMNS:
        return None
    every = _evidence(columns, fitted.partition, fitted.objects)
    x, counts, labels = every.x[every.sure], every.counts[every.sure], every.labels[every.sure]
    spread = x.std(0)
    if len(x) < ROWS_A_CLUSTER * c or not (spread > 0).all():
        return None
    if equal_spheres_suffice(x, labels, c, counts, scaled=scaled):
        return None
    others = renumbered(labels_of(x / (1.0 if scaled else spread), counts), labels, c)
    shape = find_shape(x, [labels, others], c, scaled=scaled, own=chosen.own_shapes, counts=counts)
    if shape.shape in OWN:
        shape = refined(shape, every.x, every.counts)
    return None if shape.shape == ("scaled" if scaled else "raw") else shape


def by_logarithms(columns: Mapping[Name, Floats], objects: InMemory[Encoded], n_clusters: int) -> list[Name]:
    """Return the columns (n,) whose spread within groups grows with their size."""
    if len(columns) > MOST_COLUMNS:
        return []
    rows, counts = (np.arange(len(objects)), objects.counts) if len(objects) <= ROWS else objects.sample_rows(ROWS)
    return log_names({name: column[rows] for name, column in columns.items()}, n_clusters, counts)


class _Evidence(NamedTuple):
    """Objects in or between groups; a sample if there are many."""

    x: Floats  # (n, p)
    counts: Floats  # (n,)
    labels: NDArray[np.int64]  # (n,)
    sure: NDArray[np.bool_]  # (n,): in a group; objects between groups or nowhere are no evidence of their shape


def _evidence(columns: Sequence[Floats], partition: CredalPartition, objects: InMemory[Encoded]) -> _Evidence:
    size = sample_size(partition.focal_sets.n_clusters)
    rows, counts = np.arange(len(objects)), objects.counts
    if len(rows) > 2 * size:
        rows, counts = objects.sample_rows(size)
        counts = counts * (len(rows) / counts.sum())  # a sum of counts equal to the number of objects
    x = np.stack(list(map(itemgetter(rows), columns)), 1).astype(np.float64)
    some = CredalPartition._trusted(partition.masses[rows], partition.focal_sets)
    sizes = np.append(0, partition.focal_sets.cardinalities)[some.masses.argmax(1)]  # of the set of largest mass
    inside = sizes > 0
    return _Evidence(x[inside], counts[inside], some.labels()[inside], sizes[inside] == 1)


def of_earlier(
    model: PrototypeModel,
    columns: Sequence[Floats],
    partition: CredalPartition,
    objects: InMemory[Encoded],
    pull: float,
) -> GroupShape | None:
    """Return an earlier model's groups with their own shapes, refined for these objects; None if it has no own shapes.

    Each of its centres has the weight ``pull`` times all objects.
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
    r"""Return the clusters of a mixture whose groups have their own covariances, with their sets.

    A cluster's distance is minus twice its log-likelihood up to a constant, :math:`d_k(x) = (x - v_k)^\top
    \Sigma_k^{-1} (x - v_k) + \log|\Sigma_k|`, shifted so that the least offset is 0. A set has the mean of its
    clusters' centres, of their covariances, and of their offsets. Unless their numbers are known (``numbered``),
    clusters are numbered by position, the first coordinate first.
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
        delta = outlying(*objects.nearest_spread(singles), singles.metric, objects)
    return _model(objects, shape, chosen, focal, delta)


def _neighbours(singles: PrototypeModel, held: Floats) -> FocalSets:
    """Return each cluster, and the pairs with no other cluster nearer to their middle; ``held``: weight in between."""
    c, centers = len(singles.prototypes), singles.prototypes
    middles = (centers[:, None] + centers) / 2
    d = singles.distances(middles.reshape(c * c, -1)).numpy().reshape(c, c, c)
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
    metric, centers = SetQuadratic(*tensors), torch.tensor(shares @ shape.centers)
    return PrototypeModel(metric, objects.space, focal, centers, chosen.alpha, chosen.beta, delta, 0.0)


def objective(objects: Objects[Encoded | Scattered], model: PrototypeModel) -> float:
    """Return the cost of all objects for a model's prototypes."""
    places = model.prototypes[None].to(objects.device)
    return float(evaluate(model.metric, objects.x, places, model.cost(places, objects.weights)).cost[0])


def own_partition(
    objects: Any, shape: GroupShape, model: PrototypeModel, chosen: Settings
) -> tuple[CredalPartition, Links | None]:
    """Return the partition of a model with own shapes, and its links; the prototypes don't change."""
    partition = model.partition(objects.x.cpu()) if objects.are_here else objects.partition(model)
    if chosen.pairs is None or not chosen.pairs.some:
        return partition, None
    x = objects.x.cpu().double().numpy()
    centred = x - np.average(x, axis=0, weights=objects.counts)
    squares = (centred @ np.linalg.inv(shape.covariances.mean(0)) * centred).sum(1)
    spread = float(np.average(squares, weights=objects.counts))
    links = chosen.pairs.links(model.focal, objects.counts, spread, torch.float64)
    if links is None:
        return partition, None
    distances = model.distances(objects.x.cpu()[links.rows]).double()
    cost = model.cost(weights=torch.as_tensor(objects.counts[links.rows.numpy()]))
    masses, _, _ = linked_masses(distances[:, None], cost, links, None, chosen.tol)
    return with_linked(partition, links, masses.transpose(0, 1), 0), links
