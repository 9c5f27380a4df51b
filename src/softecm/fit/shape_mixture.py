r"""Robust mixtures of numbers, one for each shape of groups.

Equal spheres, as assumed by squared Euclidean distances, are one of seven shapes. Each is fitted as a mixture by EM,
with normal components and with Student components (4 degrees of freedom), so that heavy tails don't look like sizes,
and with one wide background component for outliers:

========== ====================================================== ====================
shape      covariance of a group                                  mclust's name
========== ====================================================== ====================
raw        the same sphere for all, columns unscaled             EII
scaled     the same sphere for all, columns in units of spread    EII of scaled columns
columns    the same for all, a variance for each column           EEI
ellipse    the same for all                                       EEE
sizes      a sphere of its own size                               VII
axes       a variance for each column, its own                    VVI
ellipses   its own                                                VVV
========== ====================================================== ====================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, gammaln

Floats: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = Literal["raw", "scaled", "columns", "ellipse", "sizes", "axes", "ellipses"]

SPHERES: tuple[Shape, ...] = ("raw", "scaled")
FULL: tuple[Shape, ...] = ("ellipse", "ellipses")
OWN: tuple[Shape, ...] = ("sizes", "axes", "ellipses")  # each group has its own
HEAVY = 4.0  # degrees of freedom of the Student components
WIDE = 3.0  # standard deviations of the background, relative to those of all objects
TIES = 0.3  # share of objects with one value in a column above which it is not continuous, and no shape is trusted
ROWS_EACH = 2.0  # objects per parameter of the covariances
ITERATIONS, TOLERANCE = 60, 1e-5
RIDGE = 1e-6  # of a column's variance


@dataclass(frozen=True)
class ShapeMixture:
    """A mixture after an iteration: responsibilities without the background's column, and their origin."""

    shape: Shape
    tail: float | None  # degrees of freedom; None for normal components
    shares: Floats  # (n, c)
    centers: Floats  # (c, p), in the columns of ``x``
    covariances: Floats  # (c, p) or (c, p, p)
    squares: Floats  # (n, c), squared distances in units of the covariance
    densities: Floats  # (n, c), log-densities
    fit: float  # log-likelihood
    bic: float


@dataclass(frozen=True)
class NumberSample:
    """Objects in columns of spread 1, the factors of unscaled columns, and weights."""

    x: Floats  # (n, p)
    stretch: Floats  # (p,): x * stretch are the unscaled columns, times a factor that preserves volumes
    counts: Floats  # (n,)
    known: Floats | None = None  # (c, p), centres that attract those of the groups
    pull: float = 0.0  # weight of each of them, in objects

    @cached_property
    def weight(self) -> float:
        """Total weight of the objects."""
        return float(self.counts.sum())

    @cached_property
    def background(self) -> Floats:
        """Log-density of the wide component (n,), with squared distances of outliers limited to 40 deviations."""
        low, middle, high = np.quantile(self.x, [0.25, 0.5, 0.75], axis=0)
        spread = (high - low) / 1.349
        wide = WIDE * np.where(spread > 0, spread, 1.0)
        squares = np.minimum(((self.x - middle) / wide) ** 2, 40.0).sum(1)
        density: Floats = -0.5 * (squares + self.x.shape[1] * np.log(2 * np.pi)) - np.log(wide).sum()
        return density

    @property
    def continuous(self) -> bool:
        """Whether no column has one value in many objects."""
        return all(np.unique(column, return_counts=True)[1].max() <= TIES * len(self.x) for column in self.x.T)

    def units(self, shape: Shape) -> Floats:
        """Return the factors of the columns before spheres are fitted."""
        return self.stretch if shape in ("raw", "sizes") else np.ones_like(self.stretch)


def sample_of(x: Floats, counts: Floats | None) -> NumberSample:
    """Return objects (n, p) in units of spread; no column may be constant."""
    spread = x.std(0)
    typical = np.exp(np.log(spread).mean())
    return NumberSample((x - x.mean(0)) / spread, spread / typical, np.ones(len(x)) if counts is None else counts)


def shape_parameters(c: int, p: int, n: float = np.inf) -> dict[Shape, int]:
    """Return the number of covariance parameters of c groups in p columns, for each shape n objects can support."""
    full = p * (p + 1) // 2
    counts: dict[Shape, int] = {"raw": 1, "scaled": 1, "columns": p, "sizes": c, "axes": c * p}
    for shape, count in zip(FULL, (full, c * full), strict=True):
        if n >= ROWS_EACH * count:
            counts[shape] = count
    return counts


def from_labels(
    sample: NumberSample, shape: Shape, tail: float | None, labels: NDArray[np.int64], c: int, iterations: int
) -> ShapeMixture:
    """Run EM from labels as slightly uncertain responsibilities; labels below 0 are background."""
    n, p = sample.x.shape
    shares = 0.96 * (labels[:, None] == np.arange(c)) + 0.01 / c
    none = np.empty((0, p))
    start = ShapeMixture(shape, tail, shares, none, none, np.full((n, c), float(p)), none, -np.inf, -np.inf)
    return iterated(sample, start, iterations)


def iterated(sample: NumberSample, groups: ShapeMixture, iterations: int) -> ShapeMixture:
    """Run EM until the likelihood converges."""
    for _ in range(iterations):
        before, groups = groups.fit, _iteration(sample, groups)
        if not np.isfinite(groups.fit) or abs(groups.fit - before) < TOLERANCE * abs(groups.fit):
            break
    return groups


def _iteration(sample: NumberSample, groups: ShapeMixture) -> ShapeMixture:
    """Update centres and covariances from the responsibilities, then the responsibilities."""
    x = sample.x * sample.units(groups.shape)
    p = x.shape[1]
    c, tail, weight = groups.shares.shape[1], groups.tail, sample.weight
    held = groups.shares * sample.counts[:, None]
    pull = held if tail is None else held * ((tail + p) / (tail + groups.squares))  # outliers count less
    sizes = held.sum(0) + 1e-9
    centers = pull.T @ x / (pull.sum(0) + 1e-9)[:, None]
    if sample.known is not None:
        part = (sample.pull / (pull.sum(0) + sample.pull + 1e-9))[:, None]
        centers = (1.0 - part) * centers + part * sample.known * sample.units(groups.shape)
    covariances = covariances_of(groups.shape, x, pull, sizes, centers, sample.units(groups.shape) ** 2)
    try:
        squares, volume = squares_and_volumes(x, centers, covariances)
    except np.linalg.LinAlgError:  # linearly dependent columns: no such shape
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
    norm = total @ np.ones(c + 1)  # faster than a sum over few columns
    fit = float(sample.counts @ (top + np.log(norm)))
    bic = 2 * fit - (c * p + c + shape_parameters(c, p)[groups.shape]) * np.log(weight)
    return replace(
        groups,
        shares=(total / norm[:, None])[:, :c],
        centers=centers,
        covariances=covariances,
        squares=squares,
        densities=density,
        fit=fit,
        bic=bic,
    )


def covariances_of(shape: Shape, x: Floats, pull: Floats, sizes: Floats, centers: Floats, variance: Floats) -> Floats:
    """Return variances (c, p) or matrices (c, p, p) of the groups; add one object of average width to each own one.

    ``variance`` is that of all objects (p,).
    """
    c, p = centers.shape
    usual = variance * c ** (-2.0 / p)
    if shape in FULL:
        difference = x - centers[:, None]  # (c, n, p)
        scatter = (difference * pull.T[:, :, None]).transpose(0, 2, 1) @ difference
        ridge = RIDGE * np.diag(variance)
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
    wide: Floats = np.maximum(variances, RIDGE * variance)
    return wide


def squares_and_volumes(x: Floats, centers: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """Squared distances (n, c) in units of the covariances, and the logarithm of their determinants (c,)."""
    if covariances.ndim == 2:
        inverse = 1.0 / covariances
        squares = x**2 @ inverse.T - 2 * x @ (centers * inverse).T + (centers**2 * inverse).sum(1)
        return np.maximum(squares, 0.0), np.log(covariances).sum(1)
    factor = np.linalg.cholesky(covariances)
    white = (x - centers[:, None]) @ np.linalg.inv(factor).transpose(0, 2, 1)  # (c, n, p)
    return (white**2).sum(2).T, 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(1)


def entropy(sample: NumberSample, groups: ShapeMixture) -> float:
    """Return the mean entropy of the responsibilities, including the background's: how much groups overlap."""
    shares = np.column_stack([groups.shares, 1.0 - groups.shares.sum(1)]).clip(1e-12)
    return float(sample.counts @ -(shares * np.log(shares)).sum(1)) / sample.weight


def misfit(sample: NumberSample, groups: ShapeMixture) -> float:
    """Return the largest difference between the distributions of distances to the own centre, observed and assumed."""
    n, p = sample.x.shape
    squares = groups.squares[np.arange(n), groups.shares.argmax(1)]
    return kolmogorov(squares, groups.shares.max(1) * sample.counts, p, groups.tail)


def kolmogorov(squares: Floats, weights: Floats, p: int, tail: float | None) -> float:
    """Return the largest difference between the distribution of squared distances (n,) and chi-square or F."""
    supposed: Floats = (
        gammainc(p / 2, squares / 2) if tail is None else betainc(p / 2, tail / 2, squares / (squares + tail))
    )
    order = np.argsort(supposed)
    total = max(float(weights.sum()), 1e-300)
    return float(np.abs(np.cumsum(weights[order]) / total - supposed[order]).max())
