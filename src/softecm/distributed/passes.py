"""Passes over distributed objects besides the iterations: selected rows, mean distance, an exact quantile."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.distances.base import SemiMetric, distances_of, nearest_of
from softecm.fit.checkpoints import content_number
from softecm.fit.prepare import two_nearest
from softecm.fit.settings import PrototypeModel
from softecm.spaces.base import Space
from softecm.spaces.scattered import Block, Scattered

Floats: TypeAlias = NDArray[np.float64]
Values: TypeAlias = Callable[[Block], Floats]
BITS = 16  # of a distance's pattern per counting pass
FEW = 1 << 16  # candidates for a quantile that are gathered and sorted


def picked(x: Scattered, space: Space, rows: NDArray[np.int64]) -> Tensor:
    """Return prototypes at the objects with these indices, in ascending order."""
    return torch.cat(x.total(partial(_picked, space=space, rows=rows), operator.add))


def _picked(block: Block, *, space: Space, rows: NDArray[np.int64]) -> list[Tensor]:
    here = rows[(rows >= block.first) & (rows < block.first + len(block.objects))] - block.first
    return [space.starts(block.objects, torch.from_numpy(here).to(block.device)).cpu()] if len(here) else []


# ------------------------------------------------------------------ distances to one point


def mean_distance(x: Scattered, metric: SemiMetric, point: Tensor) -> float:
    """Return the weighted mean of all distances to a point (1, *shape)."""
    return float(x.total(partial(_distance_sum, metric=metric, point=point), operator.add)) / x.weight


def _distance_sum(block: Block, *, metric: SemiMetric, point: Tensor) -> float:
    d, w = distances_of_block(block, metric=metric, point=point), weights_of(block)
    return float(d.sum() if w is None else d @ w)


def distances_of_block(block: Block, *, metric: SemiMetric, point: Tensor) -> NDArray[np.float64]:
    """Return distances (n,) of a block's objects to a point."""
    return distances_of(metric, block.objects, point.to(block.device))[:, 0].double().cpu().numpy()


def roots_to_nearest(block: Block, *, model: PrototypeModel, center: float | None = None) -> NDArray[np.float64]:
    """Return root distances (n,) of a block's objects to their nearest prototype, or their deviations from ``center``."""
    at = model.prototypes.to(block.device)
    roots: NDArray[np.float64] = np.sqrt(nearest_of(model.metric, block.objects, at, first=block.first)[0].numpy())
    return roots if center is None else np.abs(roots - center)


def two_nearest_of_block(block: Block, *, model: PrototypeModel) -> NDArray[np.float64]:
    """Return the weight of the objects whose two nearest prototypes are a and b, a < b: (c, c)."""
    return two_nearest(model.to(block.device), block.objects, weights_of(block))


def weights_of(block: Block) -> NDArray[np.float64] | None:
    """Return the weights (n,) of a block's objects, if any."""
    return None if block.weights is None else block.weights.double().cpu().numpy()


def quantile(x: Scattered, values: Values, q: float) -> float:
    """Return the smallest value at which the share of weight reaches ``q``: ``weighted_quantile`` without gathering.

    ``values`` returns those of a block's objects. They are not negative, so they have the order of their bit patterns.
    Each pass counts weight by the next sixteen bits among the values with the known leading bits; when few remain, they
    are gathered.
    """
    goal = q * x.weight * (1.0 - 1e-12)
    prefix, known, below = 0, 0, 0.0
    while known < 64:
        sums, counts = x.total(partial(_counted, values=values, prefix=prefix, known=known), _plus_each)
        filled = np.flatnonzero(counts)
        steps = below + np.cumsum(sums[filled])
        place = int(filled[min(int(np.searchsorted(steps, goal)), len(filled) - 1)])
        below += float(sums[:place].sum())
        prefix, known = (prefix << BITS) | place, known + BITS
        if counts[place] <= FEW:
            break
    candidates, weights = x.total(partial(_candidates, values=values, prefix=prefix, known=known), _join_each)
    order = np.argsort(candidates, kind="stable")
    steps = below + np.cumsum(weights[order])
    return float(candidates[order[min(int(np.searchsorted(steps, goal)), len(order) - 1)]])


def _with_prefix(d: NDArray[np.float64], prefix: int, known: int) -> NDArray[np.bool_]:
    patterns = (d + 0.0).view(np.uint64)
    return np.ones(len(d), dtype=bool) if known == 0 else (patterns >> np.uint64(64 - known)) == np.uint64(prefix)


def _counted(block: Block, *, values: Values, prefix: int, known: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    d, w = values(block), weights_of(block)
    inside = _with_prefix(d, prefix, known)
    bits = ((d[inside] + 0.0).view(np.uint64) >> np.uint64(64 - known - BITS)) & np.uint64((1 << BITS) - 1)
    places = bits.astype(np.int64)
    counts = np.bincount(places, minlength=1 << BITS).astype(np.int64)
    sums = counts if w is None else np.bincount(places, w[inside], 1 << BITS)
    return sums.astype(np.float64), counts


def _candidates(
    block: Block, *, values: Values, prefix: int, known: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    d, w = values(block), weights_of(block)
    inside = _with_prefix(d, prefix, known)
    some = d[inside][: FEW if known == 64 else None]  # all of them equal: some suffice
    return some, np.ones(len(some)) if w is None else w[inside][: len(some)]


def _plus_each(
    a: tuple[Floats, NDArray[np.int64]], b: tuple[Floats, NDArray[np.int64]]
) -> tuple[Floats, NDArray[np.int64]]:
    return a[0] + b[0], a[1] + b[1]


def _join_each(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


# ------------------------------------------------------------------ identity of the data in checkpoints


def content(x: Scattered, space: Space) -> int:
    """Return a digest of all objects and their weights that ignores their order."""
    return x.total(partial(_content, space=space), _wrapped)


def _content(block: Block, *, space: Space) -> int:
    return content_number(space, block.objects, weights_of(block))


def _wrapped(a: int, b: int) -> int:
    return (a + b) % (1 << 64)
