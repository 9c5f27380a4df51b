r"""The number of groups in numeric columns, by robust mixtures with any shape of groups.

For each number of groups and each shape (:mod:`softecm.fit.shape_mixture`), a mixture is fitted to a sample, from two
Ward trees whose small branches are background. The criterion is ICL, BIC with the entropy of the groups; one group is a
candidate like any other. A mixture counts only if each of its groups has valleys around it
(:mod:`softecm.scores.valleys`) and none is tiny: several components that describe one skewed or uniform group are no
groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import xlogy

from softecm.fit.shape_mixture import (
    HEAVY,
    ITERATIONS,
    OWN,
    Floats,
    NumberSample,
    Shape,
    ShapeMixture,
    from_labels,
    iterated,
    sample_of,
    shape_parameters,
)
from softecm.scores.valleys import FEW, SMALL, has_valley
from softecm.selection.mixtures import MixtureEvidence, searched

ROWS = 1000  # maximum number of objects used
FEWEST_ROWS = 50
MOST_COLUMNS = 50  # with more, distances within groups are all similar
# Chosen on draws 100 to 107 of each kind of benchmarks/honest.py.
FIRST = 5  # EM iterations of every shape before the best continue
FINALISTS = 3
SMALLER, MIDWAY = 0.25, 0.1  # than two groups, and distance from the middle between them: objects between the two
ROWS_A_COLUMN = 3  # objects per column: with fewer there is no covariance
MORE_BRANCHES = 3  # times the number of groups: branches of a tree to search for large ones


def number_evidence(sample: NumberSample, numbers: Iterable[int], most: int) -> MixtureEvidence:
    """Return ICL of mixtures with these numbers of groups, and on to twice the best."""
    values, best = searched(NumberTrees.of(sample).criterion, numbers, most)
    return MixtureEvidence(values, best == 1)


def sample_of_numbers(columns: Sequence[Floats]) -> NumberSample | None:
    """Sample objects from columns (n,); return None for too few objects, too many columns, or a discrete column."""
    x = np.stack([column for column in columns if column.min() < column.max()] or [np.empty(0)], 1)
    if len(x) < FEWEST_ROWS or x.shape[1] > MOST_COLUMNS:
        return None
    if len(x) > ROWS:
        x = x[np.sort(np.random.RandomState(0).permutation(len(x))[:ROWS])]
    sample = sample_of(x, None) if (x.std(0) > 0).all() else None
    return sample if sample is not None and sample.continuous else None


@dataclass(frozen=True)
class NumberTrees:
    """A sample of numbers, with Ward trees of its objects in units of spread and unscaled."""

    sample: NumberSample
    trees: tuple[Floats, ...]

    @staticmethod
    def of(sample: NumberSample) -> NumberTrees:
        """Return the trees of a sample."""
        alike = np.allclose(sample.stretch, 1.0)
        scales = [np.ones_like(sample.stretch)] if alike else [np.ones_like(sample.stretch), sample.stretch]
        return NumberTrees(sample, tuple(linkage(sample.x * scale, "ward") for scale in scales))

    def starts(self, c: int) -> list[NDArray[np.int64]]:
        """Return labels of c groups from each tree; -1 for objects in small branches."""
        if c == 1:
            return [np.zeros(len(self.sample.x), dtype=np.int64)]
        return [_large_branches(tree, c) for tree in self.trees]

    def criterion(self, c: int) -> tuple[float, bool]:
        """Return the least ICL of mixtures with c groups, and whether these are separated.

        If no mixture's groups are, return the least ICL of all.
        """
        n, p = self.sample.x.shape
        starts, tried = self.starts(c), list[ShapeMixture]()
        shapes = list(shape_parameters(c, p, n))
        if "ellipse" not in shapes and n >= ROWS_A_COLUMN * p:  # otherwise correlated columns would look like groups
            shapes.append("ellipse")
        for shape in shapes:
            if c == 1 and shape in OWN:
                continue
            normal = [self._first(shape, None, labels, c) for labels in starts]
            best = min(range(len(starts)), key=lambda i: _icl(normal[i]))
            tried += [normal[best], self._first(shape, HEAVY, starts[best], c)]
        ended = [iterated(self.sample, groups, ITERATIONS) for groups in sorted(tried, key=_icl)[:FINALISTS]]
        sound = [_icl(groups) for groups in ended if _are_groups(self.sample, groups)]
        return min(sound or map(_icl, ended)), bool(sound)

    def _first(self, shape: Shape, tail: float | None, labels: NDArray[np.int64], c: int) -> ShapeMixture:
        return from_labels(self.sample, shape, tail, labels, c, FIRST)


def _icl(groups: ShapeMixture) -> float:
    """Return BIC with the entropy of the groups, smaller is better; inf if the shape is not possible."""
    return float(-groups.bic - 2.0 * xlogy(groups.shares, groups.shares).sum())


def _are_groups(sample: NumberSample, groups: ShapeMixture) -> bool:
    """Whether none of the groups is tiny, and all are separated."""
    n, c = len(groups.shares), len(groups.centers)
    if c == 1 or not np.isfinite(groups.bic):
        return c == 1
    if groups.shares.sum(0).min() < max(FEW, SMALL * n / c):
        return False
    if any(_lie_between(groups, k) for k in range(c)):
        return False
    return all(_have_valley(sample, groups, a, b) for a, b in combinations(range(c), 2))


def _have_valley(sample: NumberSample, groups: ShapeMixture, a: int, b: int) -> bool:
    """Whether few objects are between two groups, by density and on the line that separates the two best.

    The line is cut at an equal number of deviations from both groups.
    """
    labels, pair = groups.shares.argmax(1), [a, b]
    rows = np.flatnonzero((labels == a) | (labels == b))
    first, held = labels[rows] == a, groups.shares[rows].sum(1)
    if not first.any() or first.all():
        return False
    difference, own = groups.centers[a] - groups.centers[b], groups.covariances[pair]
    axis = difference / own.mean(0) if own.ndim == 2 else np.linalg.solve(own.mean(0), difference)
    at_a, at_b = groups.centers[pair] @ axis
    wide_a, wide_b = np.sqrt(own @ axis**2 if own.ndim == 2 else (own @ axis) @ axis)
    cut = (at_a * wide_b + at_b * wide_a) / (wide_a + wide_b)
    place = sample.x[rows] * sample.units(groups.shape) @ axis - cut
    by_density = 2.0 * (groups.densities[rows, a] - groups.densities[rows, b])
    return has_valley(place, first, held) and has_valley(by_density, first, held)


def _lie_between(groups: ShapeMixture, k: int) -> bool:
    """Whether a small group is midway between two others, so that its objects are between these."""
    sizes, centers = groups.shares.sum(0), groups.centers
    large = np.flatnonzero(sizes * SMALLER > sizes[k])
    for a, b in combinations(large, 2):
        away = np.linalg.norm(centers[k] - (centers[a] + centers[b]) / 2)
        if away < MIDWAY * np.linalg.norm(centers[a] - centers[b]):
            return True
    return False


def _large_branches(tree: Floats, c: int) -> NDArray[np.int64]:
    """Cut a tree just until c branches are not tiny; number the c largest from 0, -1 for objects in others."""
    n = len(tree) + 1
    least = max(FEW, SMALL * n / c)
    for branches in range(c, min(MORE_BRANCHES * c, n) + 1):
        labels = fcluster(tree, branches, "maxclust") - 1
        held = np.bincount(labels, minlength=branches)
        if np.sort(held)[-c] >= least:
            break
    number = np.full(branches, -1)
    number[np.argsort(-held, kind="stable")[:c]] = np.arange(c)
    labels_of_objects: NDArray[np.int64] = number[labels]
    return labels_of_objects
