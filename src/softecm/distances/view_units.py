"""What makes distances of different views comparable, and what these have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._warnings import ViewWarning, warn
from softecm.distances.agreement import agreement
from softecm.distances.base import SemiMetric
from softecm.distances.blocks import distances_of
from softecm.spaces.encoded import EncodedTable
from softecm.spaces.sampling import systematic
from softecm.spaces.views import EncodedViews

FEWEST, MOST = 64, 512  # objects whose distances to each other are measured
CELLS = 8e6  # distances between objects in all columns of a table that are held at once
BUDGET = 2e9  # multiplications that this may cost a view
ABSURD = 100.0  # times what the others are apart, in the median: an object beyond does not say what is usual
WEIGHTS = "Give numbers of at least 0, not all of them 0; 'equal' lets every view count alike."

Floats = NDArray[np.float64]


class Sample(NamedTuple):
    """Distances (m, m) of some objects in each view, which of them have it, and what each counts for."""

    distances: list[Floats]
    present: NDArray[np.bool_]  # (m, views)
    counts: Floats  # (m,)
    variances: list[float]  # of the objects' places as prototypes, all coordinates together
    power: float = 1.0  # of the distances, by which it is said what views have in common

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
        return agreement([table**self.power for table in self.distances], there, self.counts)


def relative(weights: object, views: Sequence[str]) -> list[float]:
    """Weights of views as parts of 1."""
    if isinstance(weights, Mapping):
        strange = [name for name in weights if name not in views]
        absent = [name for name in views if name not in weights]
        if strange or absent:
            what = f"got {strange[0]!r}, which is no view" if strange else f"{absent[0]!r} is missing"
            raise ValueError(f"weights must name the views, {', '.join(map(repr, views))}; {what}.")
        weights = [weights[name] for name in views]
    try:
        numbers = [float(weight) for weight in weights]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"weights must be one number a view; got {weights!r}. {WEIGHTS}") from None
    if len(numbers) != len(views):
        raise ValueError(
            f"weights must be one number a view, {len(views)}; got {len(numbers)}. Or give a dict of views."
        )
    total = math.fsum(numbers)
    if not all(number >= 0 for number in numbers) or not 0 < total < math.inf:
        raise ValueError(f"weights must not be negative nor all zero; got {weights!r}. {WEIGHTS}")
    return [number / total for number in numbers]


def without_constant(
    names: Sequence[str], spreads: Sequence[float], shares: Sequence[float], part: str = "view"
) -> list[float]:
    """The weights without views, or columns, in which nothing differs, which is said."""
    useless = [name for name, size in zip(names, spreads, strict=True) if not size > 0]
    left = [share if size > 0 else 0.0 for share, size in zip(shares, spreads, strict=True)]
    total = math.fsum(left)
    if not useless or not total > 0:  # nothing differs in any view that counts: all is the same
        return list(shares)
    warn(
        f"every object is the same in {', '.join(map(repr, useless))}: such a {part} can't group them and gets no weight. "
        "Leave it out.",
        ViewWarning,
    )
    return [share / total for share in left]


def sampled(metrics: Sequence[SemiMetric], x: EncodedViews, weights: Tensor | None) -> Sample:
    """Distances between some of the objects: all of few, a sample of many, whatever their order."""
    counts = np.ones(len(x)) if weights is None else weights.double().numpy()
    dearest = max(part.cost_of_distance(space.shape) for part, space in zip(metrics, x.space.spaces, strict=True))
    size = int(np.clip(math.sqrt(BUDGET / dearest), FEWEST, MOST))
    if len(x) > size:
        rows, counts = _few(x.space.keys(x), counts, size)
        x = x[rows]
    tables, variances = [], []
    for part, space, own in zip(metrics, x.space.spaces, x.parts, strict=True):
        places = space.starts(own, torch.arange(len(x)))
        tables.append(distances_of(part, own, places).double().numpy())
        variances.append(float((places - places.mean(0)).double().square().flatten(1).sum(1).mean()))
    present = np.ones((len(x), len(metrics)), dtype=bool) if x.present is None else x.present.numpy()
    return Sample(tables, present, counts, variances)


def sampled_columns(x: EncodedTable, weights: Tensor | None) -> Sample:
    """Distances between some of the objects in each column of a table, numbers first."""
    counts = np.ones(len(x)) if weights is None else weights.double().numpy()
    columns = len(x.layout.number_weights) + len(x.layout.levels)
    size = int(np.clip(math.sqrt(CELLS / max(columns, 1)), FEWEST, MOST))
    if len(x) > size:
        rows, counts = _few(x.keys(), counts, size)
        x = x[rows]
    numbers = x.numbers.double().numpy()
    tables: list[Floats] = [(own[:, None] - own) ** 2 for own in numbers.T]
    for codes, weight in zip(x.codes.numpy().T, x.layout.category_weights, strict=True):
        tables.append(weight * (codes[:, None] != codes))
    there = x.there
    present = np.ones((len(x), columns), dtype=bool) if there is None else there.numpy()
    return Sample(tables, present, counts, [1.0] * columns, 0.5)


def _few(keys: NDArray[np.uint64], counts: Floats, size: int) -> tuple[Tensor, Floats]:
    """So many objects that stand for all, counting for no more than they are: chance is that of few."""
    rows, found = systematic(keys, counts, size)
    return torch.as_tensor(rows), found * (size / found.sum())


def spread(distances: Floats, counts: Floats) -> float:
    """Half the mean distance between two objects, without those that are absurdly far from the others."""
    kept = usual(distances, counts)
    total = float(kept.sum())
    return float(kept @ distances @ kept / (2.0 * total**2)) if total > 0 else 0.0


def usual(distances: Floats, counts: Floats) -> Floats:
    """What objects count for, 0 where one is absurdly far from the others."""
    kept = counts.copy()
    sums = distances @ kept
    while np.count_nonzero(kept) > 1:
        far = int(np.where(kept > 0, sums, -1.0).argmax())
        others, rest = kept.copy(), sums - distances[:, far] * kept[far]
        others[far] = 0.0
        # Measured without the far object: among few, its own distances would make it look usual.
        if not 0 < ABSURD * float(np.median(rest[others > 0])) < sums[far]:
            break
        kept, sums = others, rest
    return kept
