"""What makes distances of different views comparable."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._warnings import ViewWarning
from softecm.distances.base import SemiMetric
from softecm.distances.blocks import distances_of
from softecm.spaces.sampling import systematic
from softecm.spaces.views import EncodedViews

FEWEST, MOST = 64, 512  # objects whose distances to each other are measured
BUDGET = 2e9  # multiplications that this may cost a view
ABSURD = 100.0  # times the median object's mean distance to the others: an object beyond does not say what is usual
WEIGHTS = "Give numbers of at least 0, not all of them 0; 'equal' lets every view count alike."


class Sample(NamedTuple):
    """Distances (m, m) of some objects in one view, the objects' numbers and what each counts for."""

    distances: NDArray[np.float64]
    rows: NDArray[np.int64]
    counts: NDArray[np.float64]


def relative(weights: object, views: Sequence[str]) -> list[float]:
    """Weights of views as parts of 1."""
    if isinstance(weights, str):
        if weights == "equal":
            return [1.0 / len(views)] * len(views)
        raise ValueError(f"weights must be 'equal' or numbers; got {weights!r}. {WEIGHTS}")
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


def units_of(
    metrics: Mapping[str, SemiMetric],
    x: EncodedViews,
    weights: Tensor | None,
    shares: Sequence[float],
    *,
    scaled: bool,
) -> tuple[list[float], list[float]]:
    """What each view's distances are divided by, and the views' weights without those that say nothing."""
    spreads = [spread(sampled(part, x, j, weights)) for j, part in enumerate(metrics.values())]
    useless = [name for name, size in zip(metrics, spreads, strict=True) if not size > 0]
    if useless and len(useless) < len(metrics):
        warnings.warn(
            f"every object is the same in {', '.join(map(repr, useless))}: such a view can't group them and gets no weight. "
            "Leave it out.",
            ViewWarning,
            stacklevel=2,
        )
    left = [share if size > 0 else 0.0 for share, size in zip(shares, spreads, strict=True)]
    total = sum(left)
    if not total > 0:  # nothing differs in any view that counts: any unit will do
        return [1.0] * len(shares), list(shares)
    counted = [size for size in spreads if size > 0]
    middle = math.exp(math.fsum(map(math.log, counted)) / len(counted))
    units = [size / middle if scaled and size > 0 else 1.0 for size in spreads]
    return units, [share / total for share in left]


def sampled(metric: SemiMetric, x: EncodedViews, view: int, weights: Tensor | None) -> Sample:
    """Distances between some of the objects that have a view: all of few, a sample of many, whatever their order."""
    space, rows = x.space.spaces[view], x.having(view)
    own = x.parts[view] if len(rows) == len(x) else x.parts[view][rows]
    counts = np.ones(len(rows)) if weights is None else weights[rows].double().numpy()
    size = int(np.clip(math.sqrt(BUDGET / metric.cost_of_distance(space.shape)), FEWEST, MOST))
    chosen, index = own, np.arange(len(rows))
    if len(rows) > size:
        index, counts = systematic(space.keys(own), counts, size)
        chosen = own[torch.as_tensor(index)]
    places = space.starts(chosen, torch.arange(len(index)))
    return Sample(distances_of(metric, chosen, places).double().numpy(), rows.numpy()[index], counts)


def spread(sample: Sample) -> float:
    """Half the mean distance between two objects, without those that are absurdly far from the others."""
    each = sample.distances @ sample.counts / sample.counts.sum()
    usual = float(np.median(each[sample.counts > 0]))
    kept = sample.counts * (each <= ABSURD * usual if usual > 0 else 1.0)
    return float(kept @ sample.distances @ kept / (2.0 * kept.sum() ** 2))
