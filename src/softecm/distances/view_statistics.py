"""Statistics of views or columns before a fit: their spreads and their agreement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._warnings import ViewWarning, warn
from softecm.distances.base import SemiMetric, distances_of
from softecm.spaces.base import systematic
from softecm.spaces.views import EncodedViews, Views

Floats = NDArray[np.float64]
NOTHING = 5.0  # over the number of objects: smaller correlations may be chance
LEAST_COMMON = 10  # minimum number of objects with both views


def agreement(distances: Sequence[Floats], present: NDArray[np.bool_], counts: Floats) -> Floats:
    """Return the agreement of each two views (views, views), from 0 to 1 with zeros on the diagonal.

    Parameters
    ----------
    distances : for each view (m, m), of the same objects
    present : (m, views), whether objects have each view
    counts : (m,), weights of the objects
    """
    if present.all() and counts.sum() >= LEAST_COMMON:
        common = correlations(distances, counts)
        return np.where(common > NOTHING / counts.sum(), common, 0.0)
    views = len(distances)
    common = np.zeros((views, views))
    for a in range(views):
        for b in range(a):
            both = present[:, a] & present[:, b] & (counts > 0)
            own = counts[both]
            if own.sum() >= LEAST_COMMON:
                pair = [distances[view][np.ix_(both, both)] for view in (a, b)]
                correlation = float(correlations(pair, own)[0, 1])
                common[a, b] = common[b, a] = correlation if correlation > NOTHING / own.sum() else 0.0
    return common


def correlations(distances: Sequence[Floats], counts: Floats) -> Floats:
    """Return bias-corrected distance correlations of tables of distances (m, m) between objects with these weights.

    Examples
    --------
    >>> x = np.arange(8.0)[:, None]
    >>> correlations([np.abs(x - x.T), 2.0 * np.abs(x - x.T)], np.ones(8)).round(12)
    array([[0., 1.],
           [1., 0.]])
    """
    pairs = np.outer(counts, counts)
    np.fill_diagonal(pairs, np.maximum(counts * (counts - 1.0), 0.0))  # an object with its own copies
    roots = np.sqrt(pairs)
    flat = np.stack([(roots * _centred(table, counts)).ravel() for table in distances])
    products = flat @ flat.T
    sizes = np.sqrt(products.diagonal())
    sizes = np.outer(sizes, sizes)
    correlated: Floats = np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)
    np.fill_diagonal(correlated, 0.0)
    return correlated


def _centred(distances: Floats, counts: Floats) -> Floats:
    """Return doubly centred distances, without bias."""
    n = float(counts.sum())
    rows = distances @ counts / (n - 2.0)
    return distances - rows[:, None] - rows + counts @ distances @ counts / ((n - 1.0) * (n - 2.0))


def weights_by(common: Floats) -> Floats:
    """Return the weights of the combination that agrees most with all views, adding up to 1; equal without agreement.

    The leading eigenvector, as in STATIS: a view counts for its agreement with views that count.

    Examples
    --------
    >>> weights_by(np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    array([0.5, 0.5, 0. ])
    """
    if not common.any():
        return np.full(len(common), 1.0 / len(common))
    leading = np.abs(np.linalg.eigh(common)[1][:, -1])
    leading[leading < 1e-9] = 0.0
    weights: Floats = leading / leading.sum()
    return weights


MOST = 512  # maximum number of objects with pairwise distances
ROWS = 16  # of a table of distances, at a time


class Effort(NamedTuple):
    """Minimum number of objects to compare, and maximum number of multiplications per view."""

    fewest: int
    budget: float


FOR_AGREEMENT, FOR_UNITS = Effort(64, 2e9), Effort(24, 2e8)  # units need fewer objects
ABSURD = 100.0  # times the median distance: objects beyond don't affect the usual distance
WEIGHTS = "Pass numbers of at least 0, not all of them 0; 'equal' gives every view the same weight."


class ViewSample(NamedTuple):
    """Distances (m, m) of a sample of objects in each view, which objects have it, and their weights."""

    distances: list[Floats]
    present: NDArray[np.bool_]  # (m, views)
    counts: Floats  # (m,)
    variances: list[float]  # of the objects' positions as prototypes, all coordinates together

    @property
    def bends(self) -> list[float]:
        """The curvature in each view of the squared difference with the same spread."""
        pairs = zip(self.spreads, self.variances, strict=True)
        return [size / variance if variance > 0 and size > 0 else 1.0 for size, variance in pairs]

    @property
    def spreads(self) -> list[float]:
        """Half the mean distance between two objects in each view."""
        pairs = zip(self.distances, self.present.T, strict=True)
        return [spread(table, self.counts * there) for table, there in pairs]

    @property
    def common(self) -> Floats:
        """The agreement of each two views, without extreme outliers."""
        pairs = zip(self.distances, self.present.T, strict=True)
        there = np.column_stack([usual(table, self.counts * own) > 0 for table, own in pairs])
        return agreement(self.distances, there, self.counts)


def relative(weights: str | Mapping[str, float] | Sequence[float], views: Sequence[str]) -> list[float]:
    """Return weights of views, normalized to sum 1."""
    if isinstance(weights, Mapping):
        strange = [name for name in weights if name not in views]
        absent = [name for name in views if name not in weights]
        if strange or absent:
            what = f"got {strange[0]!r}, which is no view" if strange else f"{absent[0]!r} is missing"
            raise ValueError(f"weights must name the views, {', '.join(map(repr, views))}; {what}.")
        weights = [weights[name] for name in views]
    try:
        numbers = [float(weight) for weight in weights]
    except (TypeError, ValueError):
        raise ValueError(f"weights must be one number per view; got {weights!r}. {WEIGHTS}") from None
    if len(numbers) != len(views):
        raise ValueError(
            f"weights must be one number per view, {len(views)}; got {len(numbers)}. Or give a dict of views."
        )
    total = math.fsum(numbers)
    if not all(number >= 0 for number in numbers) or not 0 < total < math.inf:
        raise ValueError(f"weights must not be negative nor all zero; got {weights!r}. {WEIGHTS}")
    return [number / total for number in numbers]


def without_constant(
    names: Sequence[str], spreads: Sequence[float], shares: Sequence[float], *, say: bool = True
) -> list[float]:
    """Set the weights of constant views to 0, with a warning if ``say``."""
    useless = [name for name, size in zip(names, spreads, strict=True) if not size > 0]
    left = [share if size > 0 else 0.0 for share, size in zip(shares, spreads, strict=True)]
    total = math.fsum(left)
    if not useless or not total > 0:  # no weighted view varies: leave all as they are
        return list(shares)
    if say:
        warn(
            f"every object is the same in {', '.join(map(repr, useless))}: such a view can't group them and gets no "
            "weight. Leave it out.",
            ViewWarning,
        )
    return [share / total for share in left]


def sampled(
    metrics: Sequence[SemiMetric], x: EncodedViews, weights: Tensor | None, effort: Effort = FOR_AGREEMENT
) -> ViewSample:
    """Return distances between some of the objects: all if few, a sample if many, independent of their order."""
    counts = np.ones(len(x)) if weights is None else weights.double().numpy()
    size = sample_size(metrics, [space.shape for space in x.space.spaces], effort)
    if len(x) > size:
        some, weights_of_some = systematic(x.space.keys(x), counts, size)
        # The weights sum to the size, so that chance is that of a few objects.
        x, counts = x[torch.as_tensor(some)], weights_of_some * (size / weights_of_some.sum())
    rows = torch.arange(len(x))
    places = [space.starts(own, rows) for space, own in zip(x.space.spaces, x.parts, strict=True)]
    present = np.ones((len(x), len(metrics)), dtype=bool) if x.present is None else x.present.numpy()
    return _measured(metrics, x.parts, places, present, counts)


def _measured(
    metrics: Sequence[SemiMetric],
    views: Sequence[Any],
    places: Sequence[Tensor],
    present: NDArray[np.bool_],
    counts: Floats,
) -> ViewSample:
    """Return all distances between objects and their positions as prototypes."""
    tables, variances = [], []
    for part, own, at in zip(metrics, views, places, strict=True):
        tables.append(table_of(part, own, at))
        variances.append(float((at - at.mean(0)).double().square().flatten(1).sum(1).mean()))
    return ViewSample(tables, present, counts, variances)


def table_of(metric: SemiMetric, x: Any, places: Tensor) -> Floats:
    """Return all distances (n, n) between objects and their positions as prototypes, each pair computed once."""
    out = np.zeros((len(places), len(places)))
    for first in range(0, len(places), ROWS):
        rows = slice(first, first + ROWS)
        out[rows, first:] = distances_of(metric, x[rows], places[first:], first=first).double().numpy()
    upper = np.triu(out, 1)
    return upper + upper.T


def sample_size(metrics: Sequence[SemiMetric], shapes: Sequence[Sequence[int]], effort: Effort = FOR_AGREEMENT) -> int:
    """Return how many objects to compare: the fewer, the more a distance costs."""
    dearest = max(part.cost_of_distance(shape) for part, shape in zip(metrics, shapes, strict=True))
    return int(np.clip(math.sqrt(effort.budget / dearest), effort.fewest, MOST))


@dataclass(frozen=True, eq=False)
class ViewsSampled:
    """What the metrics of views learn from blocks, and a sample of objects as prototypes."""

    parts: tuple[Any, ...]  # descriptions for the metric of each view; None: nothing
    keys: NDArray[np.uint64]  # (m,), in ascending order
    places: Tensor  # (m, width)
    counts: Tensor  # (m,)
    present: Tensor  # (m, views)
    space: Views

    @classmethod
    def of(cls, parts: Sequence[Any], x: EncodedViews, weights: Tensor | None) -> ViewsSampled:
        """Return the objects with the smallest keys, of those with weight."""
        counts = torch.ones(len(x), dtype=torch.float64) if weights is None else weights.double().cpu()
        keys, there = x.space.keys(x), np.flatnonzero(counts.numpy() > 0)
        rows = torch.as_tensor(there[np.argsort(keys[there], kind="stable")[:MOST]])
        places, whole = x.space.starts(x, rows).double().cpu(), torch.ones((len(x), len(x.parts)), dtype=torch.bool)
        present = (whole if x.present is None else x.present.cpu())[rows]
        return cls(tuple(parts), keys[rows.numpy()], places, counts[rows], present, x.space)

    def merge(self, other: ViewsSampled) -> ViewsSampled:
        """Merge two blocks."""
        keys = np.concatenate([self.keys, other.keys])
        first = np.argsort(keys, kind="stable")[:MOST]
        rows = torch.as_tensor(first)
        pairs = zip(self.parts, other.parts, strict=True)
        parts = tuple(a if b is None else b if a is None else a.merge(b) for a, b in pairs)
        pairs = zip(*((one.places, one.counts, one.present) for one in (self, other)), strict=True)
        places, counts, present = (torch.cat(both)[rows] for both in pairs)
        return replace(self, parts=parts, keys=keys[first], places=places, counts=counts, present=present)

    def sample(self, metrics: Sequence[SemiMetric]) -> ViewSample:
        """Return distances between as many objects as their metrics allow."""
        size = sample_size(metrics, [space.shape for space in self.space.spaces])
        places = self.space.split(self.places[:size])
        return _measured(metrics, places, places, self.present[:size].numpy(), self.counts[:size].numpy())


def spread(distances: Floats, counts: Floats) -> float:
    """Return half the mean distance between two objects, without extreme outliers."""
    weights = usual(distances, counts)
    total = float(weights.sum())
    return float(weights @ distances @ weights / (2.0 * total**2)) if total > 0 else 0.0


def usual(distances: Floats, counts: Floats) -> Floats:
    """Return the objects' weights, 0 for extreme outliers."""
    weights = counts.copy()
    sums = distances @ weights
    while np.count_nonzero(weights) > 1:
        far = int(np.where(weights > 0, sums, -1.0).argmax())
        others, rest = weights.copy(), sums - distances[:, far] * weights[far]
        others[far] = 0.0
        # Exclude the outlier first: among few objects, its own distances would make it look usual.
        if not 0 < ABSURD * float(np.median(rest[others > 0])) < sums[far]:
            break
        weights, sums = others, rest
    return weights
