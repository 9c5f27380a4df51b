r"""The shape of groups in numbers: which distance suits them, judged by a robust mixture.

Equal spheres, which squared Euclidean distances suppose, are one of seven shapes. Each is fitted as a mixture by EM, with
normal components and with Student components (4 degrees of freedom), so that heavy tails are not taken for sizes, and with
one wide background component for outliers:

========== ====================================================== ====================
shape      covariance of a group                                  mclust's name
========== ====================================================== ====================
raw        the same sphere for all, columns as they are           EII
scaled     the same sphere for all, columns in units of spread    EII of scaled columns
columns    the same for all, a variance for each column           EEI
ellipse    the same for all                                       EEE
sizes      a sphere of its own size                               VII
axes       a variance for each column, its own                    VVI
ellipses   its own                                                VVV
========== ====================================================== ====================

BIC ranks them. A shape other than equal spheres must also describe the groups, or skewed and discrete columns would pass
for shapes: the distances of its objects must be distributed as it says (a Kolmogorov-Smirnov distance of at most
``MISFIT``), and its groups must overlap no more than those of equal spheres (entropy). Where it would move next to no
object (``SAME``), equal spheres stay: they are as good and simpler.

A fit by default begins with equal spheres. :func:`suggested` looks at its groups: mostly their covariances need no other
shape, and nothing more happens. Else the shapes are compared on a sample. A shape that all groups share is a metric of its
own, with which the fit is done again; where each group has its own shape, the mixture's groups are the clusters, and
:func:`own_model` adds the sets. A fit that goes on from an earlier model measures as that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import betainc, gammainc, gammaln

from softecm.belief import CredalPartition, FocalSets
from softecm.distances.auto import ALIKE, UNITS, Choice, is_auto
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.fit.algorithm import Outcome, Prices
from softecm.fit.prepare import InMemory, Objects
from softecm.fit.settings import PrototypeModel, Settings
from softecm.fit.stages import PAIRS, outlying, sample_size
from softecm.objective import evaluate
from softecm.objective.linked import linked_masses, with_linked
from softecm.objective.links import Links
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Scattered

Floats: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = Literal["raw", "scaled", "columns", "ellipse", "sizes", "axes", "ellipses"]

SPHERES: tuple[Shape, ...] = ("raw", "scaled")
DIAGONAL: tuple[Shape, ...] = ("columns", "sizes", "axes")
FULL: tuple[Shape, ...] = ("ellipse", "ellipses")
OWN: tuple[Shape, ...] = ("sizes", "axes", "ellipses")  # every group has its own
HEAVY = 4.0  # degrees of freedom of the Student components
WIDE = 3.0  # standard deviations of the background, in those of all objects
# Chosen with the labels of eight data sets and ten draws of each kind of group in view; judged on other draws.
MISFIT = 0.10
OVERLAP = 1.1  # times the entropy of equal spheres
SAME = 0.01  # part of the objects that another shape must move
TIES = 0.3  # part of the objects with one value in a column: it is no measurement, and no shape is trusted
ROWS_EACH = 2.0  # objects for each parameter of the covariances
TRIED = 5  # iterations of every shape; the best of them go on
FINALISTS = 4
ITERATIONS, TOLERANCE = 60, 1e-5
RIDGE = 1e-6  # of a column's variance


@dataclass(frozen=True)
class GroupShape:
    """A shape and its groups, in the units of the data."""

    shape: Shape
    tail: float | None  # degrees of freedom of its groups; None where they are normal
    centers: Floats  # (c, p)
    covariances: Floats  # (c, p, p)


@dataclass(frozen=True)
class _Groups:
    """A mixture after an iteration: responsibilities without the background's column, and what they came from."""

    shape: Shape
    tail: float | None  # degrees of freedom; None for normal components
    shares: Floats  # (n, c)
    centers: Floats  # (c, p), in the columns of ``x``
    covariances: Floats  # (c, p) or (c, p, p)
    squares: Floats  # (n, c), squared distances in units of the covariance
    fit: float  # log-likelihood
    bic: float


@dataclass(frozen=True)
class _Sample:
    """Objects in columns of spread 1, what columns as they are look like beside them, and how often each counts."""

    x: Floats  # (n, p)
    stretch: Floats  # (p,): x * stretch are the columns as they are, times a number that leaves volumes as they are
    counts: Floats  # (n,)
    known: Floats | None = None  # (c, p), centres that pull at those of the groups
    pull: float = 0.0  # how many objects each of them counts for

    @cached_property
    def weight(self) -> float:
        return float(self.counts.sum())

    @cached_property
    def background(self) -> Floats:
        """Log-density of the wide component (n,); a far object is no farther than 40 of its squared deviations."""
        low, middle, high = np.quantile(self.x, [0.25, 0.5, 0.75], axis=0)
        spread = (high - low) / 1.349
        wide = WIDE * np.where(spread > 0, spread, 1.0)
        squares = np.minimum(((self.x - middle) / wide) ** 2, 40.0).sum(1)
        density: Floats = -0.5 * (squares + self.x.shape[1] * np.log(2 * np.pi)) - np.log(wide).sum()
        return density

    @property
    def continuous(self) -> bool:
        """Whether no column holds one value in many objects."""
        return all(np.unique(column, return_counts=True)[1].max() <= TIES * len(self.x) for column in self.x.T)

    def units(self, shape: Shape) -> Floats:
        """What the columns are multiplied by before spheres are fitted."""
        return self.stretch if shape in ("raw", "sizes") else np.ones_like(self.stretch)


def find_shape(
    x: Floats,
    labels: Iterable[NDArray[np.int64]],
    n_clusters: int,
    *,
    scaled: bool,
    own: bool = True,
    counts: Floats | None = None,
) -> GroupShape:
    """The shape the evidence supports, from groups found with equal spheres: in units of spread or not (``scaled``).

    Parameters
    ----------
    x : (n, p), no column constant
    labels : groups to begin with, (n,) each; the first are those that stay where another shape changes nothing
    n_clusters : at least 2
    scaled : whether the first labels come from columns in units of their spread
    own : whether each group may have a shape of its own
    counts : (n,), how often each object counts
    """
    starts, sample = list(labels), _sample(x, counts)
    groups = _best(sample, starts, n_clusters, own=own)
    chosen = _trusted(sample, groups, starts[0], scaled=scaled)
    return _in_units_of(x, sample, chosen)


def _in_units_of(x: Floats, sample: _Sample, groups: _Groups) -> GroupShape:
    """Groups of a sample in the units of the objects it was made from."""
    covariances, units = groups.covariances, x.std(0) / sample.units(groups.shape)
    if covariances.ndim == 2:
        covariances = covariances[:, :, None] * np.eye(x.shape[1])
    return GroupShape(
        groups.shape, groups.tail, x.mean(0) + groups.centers * units, covariances * units[:, None] * units[None, :]
    )


def refined(shape: GroupShape, x: Floats, counts: Floats, pull: float = 0.0) -> GroupShape:
    """The same shape fitted to other objects, from the groups that it has, whose centres may pull at the new ones."""
    squares, volume = _squares(x, shape.centers, shape.covariances)
    sample, labels = _sample(x, counts), (squares + volume).argmin(1)
    sample = replace(sample, known=(shape.centers - x.mean(0)) / x.std(0), pull=pull)
    groups = _iterated(sample, _begun(sample, shape.shape, shape.tail, labels, len(shape.centers)), ITERATIONS)
    return _in_units_of(x, sample, groups) if np.isfinite(groups.bic) else shape


def _sample(x: Floats, counts: Floats | None) -> _Sample:
    spread = x.std(0)
    typical = np.exp(np.log(spread).mean())
    return _Sample((x - x.mean(0)) / spread, spread / typical, np.ones(len(x)) if counts is None else counts)


def _best(sample: _Sample, starts: list[NDArray[np.int64]], c: int, *, own: bool) -> list[_Groups]:
    """A mixture of every shape after a few iterations; the best of them, and equal spheres, to the end. Best first."""
    first: list[_Groups] = []
    n, p = sample.x.shape
    for shape in _shapes(n, p, c):
        if shape in OWN and not own:
            continue
        for tail in (None, HEAVY):
            tried = [_iterated(sample, _begun(sample, shape, tail, labels, c), TRIED) for labels in starts]
            first.append(max(tried, key=lambda groups: groups.bic))
    first.sort(key=lambda groups: -groups.bic)
    finalists = first[:FINALISTS] + [groups for groups in first[FINALISTS:] if groups.shape in SPHERES]
    ended = [_iterated(sample, groups, ITERATIONS) for groups in finalists]
    return sorted(ended, key=lambda groups: -groups.bic)


def _shapes(n: int, p: int, c: int) -> list[Shape]:
    """Those whose parameters the objects can bear."""
    shapes = [*SPHERES, *DIAGONAL]
    for shape in FULL:
        if n >= ROWS_EACH * _parameters(shape, c, p):
            shapes.append(shape)
    return shapes


def _trusted(sample: _Sample, groups: list[_Groups], labels: NDArray[np.int64], *, scaled: bool) -> _Groups:
    """The first that describes its groups; equal spheres always may."""
    spheres = next(found for found in groups if found.shape in SPHERES)
    overlap = OVERLAP * _entropy(sample, spheres) + 0.005
    continuous = sample.continuous
    for found in groups:
        if found.shape in SPHERES:
            break
        if not np.isfinite(found.bic):
            continue
        if continuous and _misfit(sample, found) <= MISFIT and _entropy(sample, found) <= overlap:
            break
    own_units = "scaled" if scaled else "raw"
    return next(g for g in groups if g.shape == own_units) if _moved(sample, found, labels) <= SAME else found


def _begun(sample: _Sample, shape: Shape, tail: float | None, labels: NDArray[np.int64], c: int) -> _Groups:
    """Labels as responsibilities, with a little doubt."""
    n, p = sample.x.shape
    shares = 0.96 * np.eye(c)[labels] + 0.01 / c
    none = np.empty((0, p))
    return _Groups(shape, tail, shares, none, none, np.full((n, c), float(p)), -np.inf, -np.inf)


def _iterated(sample: _Sample, groups: _Groups, iterations: int) -> _Groups:
    """EM until the likelihood stands still."""
    for _ in range(iterations):
        before, groups = groups.fit, _iteration(sample, groups)
        if not np.isfinite(groups.fit) or abs(groups.fit - before) < TOLERANCE * abs(groups.fit):
            break
    return groups


def _iteration(sample: _Sample, groups: _Groups) -> _Groups:
    """Centres and covariances from the responsibilities, then these from those."""
    x = sample.x * sample.units(groups.shape)
    p = x.shape[1]
    c, tail, weight = groups.shares.shape[1], groups.tail, sample.weight
    held = groups.shares * sample.counts[:, None]
    pull = held if tail is None else held * ((tail + p) / (tail + groups.squares))  # far objects pull less
    sizes = held.sum(0) + 1e-9
    centers = pull.T @ x / (pull.sum(0) + 1e-9)[:, None]
    if sample.known is not None:
        part = (sample.pull / (pull.sum(0) + sample.pull + 1e-9))[:, None]
        centers = (1.0 - part) * centers + part * sample.known * sample.units(groups.shape)
    covariances = _covariances(groups.shape, x, pull, sizes, centers)
    try:
        squares, volume = _squares(x, centers, covariances)
    except np.linalg.LinAlgError:  # columns that follow from others: no such shape
        return replace(groups, fit=-np.inf, bic=-np.inf)
    if tail is None:
        density = -0.5 * (squares + volume + p * np.log(2 * np.pi))
    else:
        constant = gammaln((tail + p) / 2) - gammaln(tail / 2) - 0.5 * p * np.log(tail * np.pi)
        density = constant - 0.5 * (volume + (tail + p) * np.log1p(squares / tail))
    outside = max(weight - sizes.sum(), 0.5)
    joint = np.column_stack([density, sample.background]) + np.log(np.append(sizes, outside) / weight)
    top = joint.max(1)
    total = np.exp(joint - top[:, None])
    norm = total.sum(1)
    fit = float(sample.counts @ (top + np.log(norm)))
    bic = 2 * fit - (c * p + c + _parameters(groups.shape, c, p)) * np.log(weight)
    return replace(
        groups,
        shares=(total / norm[:, None])[:, :c],
        centers=centers,
        covariances=covariances,
        squares=squares,
        fit=fit,
        bic=bic,
    )


def _parameters(shape: Shape, c: int, p: int) -> int:
    pairs = p * (p + 1) // 2
    return {"raw": 1, "scaled": 1, "columns": p, "sizes": c, "axes": c * p, "ellipse": pairs, "ellipses": c * pairs}[
        shape
    ]


def _covariances(shape: Shape, x: Floats, pull: Floats, sizes: Floats, centers: Floats) -> Floats:
    """Of the groups: variances (c, p), or matrices (c, p, p). One object of the usual width is added to each own one."""
    c, p = centers.shape
    usual = x.var(0) * c ** (-2.0 / p)
    if shape in FULL:
        difference = x - centers[:, None]  # (c, n, p)
        scatter = (difference * pull.T[:, :, None]).transpose(0, 2, 1) @ difference
        ridge = RIDGE * np.diag(x.var(0))
        if shape == "ellipse":
            return np.broadcast_to(scatter.sum(0) / sizes.sum() + ridge, (c, p, p))
        own: Floats = (scatter + np.diag(usual)) / (sizes + 1.0)[:, None, None] + ridge
        return own
    squares = pull.T @ x**2 - 2 * centers * (pull.T @ x) + centers**2 * pull.sum(0)[:, None]
    if shape == "axes":
        variances = (squares + usual) / (sizes + 1.0)[:, None]
    elif shape == "columns":
        variances = np.broadcast_to(squares.sum(0) / sizes.sum(), (c, p))
    elif shape == "sizes":
        variances = np.broadcast_to(((squares + usual).sum(1) / ((sizes + 1.0) * p))[:, None], (c, p))
    else:
        variances = np.full((c, p), squares.sum() / (sizes.sum() * p))
    wide: Floats = np.maximum(variances, RIDGE * x.var(0))
    return wide


def _squares(x: Floats, centers: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """Squared distances (n, c) in units of the covariances, and the logarithm of their determinants (c,)."""
    if covariances.ndim == 2:
        inverse = 1.0 / covariances
        squares = x**2 @ inverse.T - 2 * x @ (centers * inverse).T + (centers**2 * inverse).sum(1)
        return np.maximum(squares, 0.0), np.log(covariances).sum(1)
    factor = np.linalg.cholesky(covariances)
    white = (x - centers[:, None]) @ np.linalg.inv(factor).transpose(0, 2, 1)  # (c, n, p)
    return (white**2).sum(2).T, 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(1)


def _entropy(sample: _Sample, groups: _Groups) -> float:
    """Mean entropy of the responsibilities, the background's included: how much groups overlap."""
    shares = np.column_stack([groups.shares, 1.0 - groups.shares.sum(1)]).clip(1e-12)
    return float(sample.counts @ -(shares * np.log(shares)).sum(1)) / sample.weight


def _misfit(sample: _Sample, groups: _Groups) -> float:
    """Largest difference between the distribution of distances to the own centre and the one the shape supposes."""
    n, p = sample.x.shape
    squares = groups.squares[np.arange(n), groups.shares.argmax(1)]
    supposed: Floats = gammainc(p / 2, squares / 2)
    if groups.tail is not None:
        supposed = betainc(p / 2, groups.tail / 2, squares / (squares + groups.tail))
    held = groups.shares.max(1) * sample.counts
    order = np.argsort(supposed)
    return float(np.abs(np.cumsum(held[order]) / held.sum() - supposed[order]).max())


def _moved(sample: _Sample, groups: _Groups, labels: NDArray[np.int64]) -> float:
    """Part of the objects, but for those in the background, that are in another group than the labels say."""
    c = groups.shares.shape[1]
    inside = np.where(groups.shares.sum(1) > 0.5, sample.counts, 0.0)
    table = np.zeros((c, c))
    np.add.at(table, (labels, groups.shares.argmax(1)), inside)
    held = inside.sum()
    return 1.0 - float(table[linear_sum_assignment(-table)].sum() / held) if held else 0.0


def renumbered(labels: NDArray[np.int64], like: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Labels with the numbers of others, group by group, so that most objects have the same in both."""
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, (labels, like), 1.0)
    number: NDArray[np.int64] = linear_sum_assignment(-table)[1].astype(np.int64)
    return number[labels]


def equal_spheres_suffice(
    x: Floats, labels: NDArray[np.int64], n_clusters: int, counts: Floats, *, scaled: bool
) -> bool:
    """Whether the groups of a fit need no other shape than its equal spheres: by BIC, mostly without an iteration.

    Labels cut groups off where they meet, so that those which overlap may look flat: then a few iterations decide.
    """
    sample, own = _sample(x, counts), "scaled" if scaled else "raw"
    if _covariances_suffice(sample.x * (1.0 if scaled else sample.stretch), labels, n_clusters, counts):
        return True
    n, p = x.shape
    shapes = _shapes(n, p, n_clusters)
    tried = [_iterated(sample, _begun(sample, shape, None, labels, n_clusters), TRIED) for shape in shapes]
    return max(tried, key=lambda groups: groups.bic).shape == own


def _covariances_suffice(x: Floats, labels: NDArray[np.int64], c: int, counts: Floats) -> bool:
    """The same from the groups as labels give them; small ones are left out."""
    p = x.shape[1]
    one = np.eye(c)[labels] * counts[:, None]
    sizes = one.sum(0)
    one, sizes = one[:, sizes > p], sizes[sizes > p]
    if not len(sizes):
        return True
    centers = one.T @ x / sizes[:, None]
    weight, c = sizes.sum(), len(sizes)

    spheres = -np.inf
    for shape in _shapes(int(weight), p, c)[1:]:  # the first is that of equal spheres, too
        covariances = _covariances(shape, x, one, sizes, centers)
        volume = np.log(covariances).sum(1) if covariances.ndim == 2 else np.linalg.slogdet(covariances)[1]
        criterion = float(-(sizes @ volume) - _parameters(shape, c, p) * np.log(weight))
        if shape in SPHERES:
            spheres = criterion
        elif not criterion <= spheres:
            return False
    return True


ROWS_A_CLUSTER = 20  # objects for each cluster: fewer say nothing about shapes
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
    if c < 2 or len(objects) < ROWS_A_CLUSTER * c or not 1 < len(columns) <= MOST_COLUMNS:
        return None
    every = _evidence(columns, partition, objects)
    x, counts, labels = every.x[every.sure], every.counts[every.sure], every.labels[every.sure]
    spread = x.std(0)
    if len(x) < ROWS_A_CLUSTER * c or not (spread > 0).all():
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
    partition = model.partition(objects.x.cpu())
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
