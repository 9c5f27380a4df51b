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
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import betainc, gammainc, gammaln

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
    return [
        shape
        for shape in (*SPHERES, *DIAGONAL, *FULL)
        if shape not in FULL or n >= ROWS_EACH * _parameters(shape, c, p)
    ]


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

    def criterion(shape: Shape) -> float:
        covariances = _covariances(shape, x, one, sizes, centers)
        volume = np.log(covariances).sum(1) if covariances.ndim == 2 else np.linalg.slogdet(covariances)[1]
        return float(-(sizes @ volume) - _parameters(shape, c, p) * np.log(weight))

    spheres = criterion("scaled")
    return all(criterion(shape) <= spheres for shape in _shapes(int(weight), p, c) if shape not in SPHERES)
