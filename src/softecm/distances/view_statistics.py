"""What is measured of views or columns before a fit: their spreads, and what they have in common."""

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
NOTHING = 5.0  # over the number of objects: a correlation below is what chance alone brings
LEAST_COMMON = 10  # objects that have both views, below which nothing is said


def agreement(distances: Sequence[Floats], present: NDArray[np.bool_], counts: Floats) -> Floats:
    """What each two views have in common (views, views), from 0 to 1 with zeros on the diagonal.

    Parameters
    ----------
    distances : for each view (m, m), of the same objects
    present : (m, views), which of them have each view
    counts : (m,), how often each counts
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
    """The bias-corrected distance correlations of tables of distances (m, m) between objects that count so often.

    Examples
    --------
    >>> x = np.arange(8.0)[:, None]
    >>> correlations([np.abs(x - x.T), 2.0 * np.abs(x - x.T)], np.ones(8)).round(12)
    array([[0., 1.],
           [1., 0.]])
    """
    pairs = np.outer(counts, counts)
    np.fill_diagonal(pairs, np.maximum(counts * (counts - 1.0), 0.0))  # an object with itself, where it counts twice
    roots = np.sqrt(pairs)
    flat = np.stack([(roots * _centred(table, counts)).ravel() for table in distances])
    products = flat @ flat.T
    sizes = np.sqrt(products.diagonal())
    sizes = np.outer(sizes, sizes)
    correlated: Floats = np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)
    np.fill_diagonal(correlated, 0.0)
    return correlated


def _centred(distances: Floats, counts: Floats) -> Floats:
    """Distances less what their rows and columns say by themselves, without bias."""
    n = float(counts.sum())
    rows = distances @ counts / (n - 2.0)
    centred: Floats = distances - rows[:, None] - rows + counts @ distances @ counts / ((n - 1.0) * (n - 2.0))
    return centred


def weights_by(common: Floats) -> Floats:
    """Weights that add up to 1: those of the combination that all views have most in common with; equal without any.

    The leading eigenvector, as in STATIS: a view counts for what it shares with views that count.

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


MOST = 512  # objects whose distances to each other are measured
ROWS = 16  # of a table of distances at once


class Effort(NamedTuple):
    """At least how many objects are compared with each other, and how many multiplications that may cost a view."""

    fewest: int
    budget: float


FOR_AGREEMENT, FOR_UNITS = Effort(64, 2e9), Effort(24, 2e8)  # units alone need fewer objects
ABSURD = 100.0  # times what the others are apart, in the median: an object beyond does not say what is usual
WEIGHTS = "Give numbers of at least 0, not all of them 0; 'equal' lets every view count alike."


class ViewSample(NamedTuple):
    """Distances (m, m) of some objects in each view, which of them have it, and what each counts for."""

    distances: list[Floats]
    present: NDArray[np.bool_]  # (m, views)
    counts: Floats  # (m,)
    variances: list[float]  # of the objects' places as prototypes, all coordinates together

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
        """What each two views have in common, in objects that are not absurdly far from the others."""
        pairs = zip(self.distances, self.present.T, strict=True)
        there = np.column_stack([usual(table, self.counts * own) > 0 for table, own in pairs])
        return agreement(self.distances, there, self.counts)


def relative(weights: str | Mapping[str, float] | Sequence[float], views: Sequence[str]) -> list[float]:
    """Weights of views as parts of 1."""
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
    """The weights without views in which nothing differs, which is said where ``say``."""
    useless = [name for name, size in zip(names, spreads, strict=True) if not size > 0]
    left = [share if size > 0 else 0.0 for share, size in zip(shares, spreads, strict=True)]
    total = math.fsum(left)
    if not useless or not total > 0:  # nothing differs in any view that counts: all is the same
        return list(shares)
    if say:
        _warn_of_constant(useless)
    return [share / total for share in left]


def _warn_of_constant(useless: Sequence[str]) -> None:
    warn(
        f"every object is the same in {', '.join(map(repr, useless))}: such a view can't group them and gets no "
        "weight. Leave it out.",
        ViewWarning,
    )


def sampled(
    metrics: Sequence[SemiMetric], x: EncodedViews, weights: Tensor | None, effort: Effort = FOR_AGREEMENT
) -> ViewSample:
    """Distances between some of the objects: all of few, a sample of many, whatever their order."""
    counts = np.ones(len(x)) if weights is None else weights.double().numpy()
    size = sample_size(metrics, [space.shape for space in x.space.spaces], effort)
    if len(x) > size:
        rows, counts = _few(x.space.keys(x), counts, size)
        x = x[rows]
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
    """All distances between objects, to where each would lie as a prototype."""
    tables, variances = [], []
    for part, own, at in zip(metrics, views, places, strict=True):
        tables.append(table_of(part, own, at))
        variances.append(float((at - at.mean(0)).double().square().flatten(1).sum(1).mean()))
    return ViewSample(tables, present, counts, variances)


def table_of(metric: SemiMetric, x: Any, places: Tensor) -> Floats:
    """All distances (n, n) between objects, to where each would lie as a prototype; each pair is measured once."""
    out = np.zeros((len(places), len(places)))
    for first in range(0, len(places), ROWS):
        rows = slice(first, first + ROWS)
        out[rows, first:] = distances_of(metric, x[rows], places[first:], first=first).double().numpy()
    upper = np.triu(out, 1)
    both: Floats = upper + upper.T
    return both


def sample_size(metrics: Sequence[SemiMetric], shapes: Sequence[Sequence[int]], effort: Effort = FOR_AGREEMENT) -> int:
    """How many objects are compared with each other: the fewer, the more a distance costs."""
    dearest = max(part.cost_of_distance(shape) for part, shape in zip(metrics, shapes, strict=True))
    return int(np.clip(math.sqrt(effort.budget / dearest), effort.fewest, MOST))


@dataclass(frozen=True, eq=False)
class ViewsSampled:
    """What the metrics of views learn from blocks, and some objects, each as the prototype that would sit on it."""

    parts: tuple[Any, ...]  # what the metric of each view must know; None: nothing
    keys: NDArray[np.uint64]  # (m,), in ascending order
    places: Tensor  # (m, width)
    counts: Tensor  # (m,)
    present: Tensor  # (m, views)
    space: Views

    @classmethod
    def of(cls, parts: Sequence[Any], x: EncodedViews, weights: Tensor | None) -> ViewsSampled:
        """The objects with the smallest keys, of those that count."""
        counts = torch.ones(len(x), dtype=torch.float64) if weights is None else weights.double().cpu()
        keys, there = x.space.keys(x), np.flatnonzero(counts.numpy() > 0)
        rows = torch.as_tensor(there[np.argsort(keys[there], kind="stable")[:MOST]])
        places, whole = x.space.starts(x, rows).double().cpu(), torch.ones((len(x), len(x.parts)), dtype=torch.bool)
        present = (whole if x.present is None else x.present.cpu())[rows]
        return cls(tuple(parts), keys[rows.numpy()], places, counts[rows], present, x.space)

    def merge(self, other: ViewsSampled) -> ViewsSampled:
        """Two blocks together."""
        keys = np.concatenate([self.keys, other.keys])
        first = np.argsort(keys, kind="stable")[:MOST]
        rows = torch.as_tensor(first)
        pairs = zip(self.parts, other.parts, strict=True)
        parts = tuple(a if b is None else b if a is None else a.merge(b) for a, b in pairs)
        pairs = zip(*((one.places, one.counts, one.present) for one in (self, other)), strict=True)
        places, counts, present = (torch.cat(both)[rows] for both in pairs)
        return replace(self, parts=parts, keys=keys[first], places=places, counts=counts, present=present)

    def sample(self, metrics: Sequence[SemiMetric]) -> ViewSample:
        """Distances between as many of them as their metrics allow."""
        size = sample_size(metrics, [space.shape for space in self.space.spaces])
        places = self.space.split(self.places[:size])
        return _measured(metrics, places, places, self.present[:size].numpy(), self.counts[:size].numpy())


def _few(keys: NDArray[np.uint64], counts: Floats, size: int) -> tuple[Tensor, Floats]:
    """So many objects that stand for all, counting for no more than they are: chance is that of few."""
    rows, weights = systematic(keys, counts, size)
    return torch.as_tensor(rows), weights * (size / weights.sum())


def spread(distances: Floats, counts: Floats) -> float:
    """Half the mean distance between two objects, without those that are absurdly far from the others."""
    weights = usual(distances, counts)
    total = float(weights.sum())
    return float(weights @ distances @ weights / (2.0 * total**2)) if total > 0 else 0.0


def usual(distances: Floats, counts: Floats) -> Floats:
    """What objects count for, 0 where one is absurdly far from the others."""
    weights = counts.copy()
    sums = distances @ weights
    while np.count_nonzero(weights) > 1:
        far = int(np.where(weights > 0, sums, -1.0).argmax())
        others, rest = weights.copy(), sums - distances[:, far] * weights[far]
        others[far] = 0.0
        # Measured without the far object: among few, its own distances would make it look usual.
        if not 0 < ABSURD * float(np.median(rest[others > 0])) < sums[far]:
            break
        weights, sums = others, rest
    return weights
