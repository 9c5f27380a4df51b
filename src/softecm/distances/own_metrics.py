"""A metric of the user's own, tried on a few objects before a fit: what can't work is refused, what is odd is said."""

from __future__ import annotations

import torch
from torch import Tensor

from softecm._text import place
from softecm._warnings import warn
from softecm.distances.auto import FunctionMetric
from softecm.distances.base import SemiMetric
from softecm.spaces.base import Space

LOOKED_AT = 12  # objects
FLAT = (
    "is flat: it has no slope along which prototypes could move, so that they stay where they start. Leave out rounding and "
    "thresholds, or give the matrix of distances: metric='precomputed'."
)
ROUNDING = 1e-5  # differences below this part of the largest distance are rounding


def try_metric(metric: SemiMetric, space: Space, x: object) -> None:
    """Refuse or warn about a metric that is not the library's, by what it says of a few encoded objects."""
    inside = type(metric).__module__.split(".")[0] == "softecm" and not isinstance(metric, FunctionMetric)
    if inside or not isinstance(x, Tensor) or len(x) < 3 or metric.discrete:
        return
    rows = torch.linspace(0, len(x) - 1, min(LOOKED_AT, len(x))).long()
    objects, prototypes = x[rows].cpu(), space.starts(x, rows).cpu()
    name = _name(metric)
    given, placed = objects.clone(), prototypes.clone()
    with torch.no_grad():
        d = metric.pairwise(given, placed)
    if not (torch.equal(given, objects) and torch.equal(placed, prototypes)):
        raise ValueError(
            f"metric {name} must not change its arguments, which are your data; it has. Write x = x - 1 for x -= 1."
        )
    if not d.is_floating_point():
        raise ValueError(
            f"metric {name} must return distances as floating-point numbers; got {d.dtype}. Prototypes move along its "
            "slope: return a distance that grows by degrees, or give the matrix of distances: metric='precomputed'."
        )
    if d.shape != (len(rows), len(rows)) or not bool(torch.isfinite(d).all()):
        return  # refused by what it is asked next, with the place
    with torch.no_grad():
        again = metric.pairwise(objects.clone(), prototypes.clone())
    doubt = _doubt(d, again, objects, rows.tolist())
    if not metric.is_quadratic and not has_slope(metric, objects, prototypes):
        doubt = doubt or FLAT
    if doubt:
        warn(f"metric {name} {doubt}")


def has_slope(metric: SemiMetric, objects: Tensor, prototypes: Tensor) -> bool:
    """Whether distances change with the prototypes; refused where torch can't follow them at all."""
    moved = (prototypes + 0.01 * (prototypes - prototypes.mean(0)).abs().mean()).requires_grad_()
    with torch.enable_grad():
        total = metric.pairwise(objects, moved).sum()
    if not total.requires_grad:
        raise ValueError(
            f"metric {_name(metric)} must be differentiable in its second argument; torch can't follow it there. Write it "
            "with torch operations on v, or give the matrix of distances: metric='precomputed'."
        )
    (slope,) = torch.autograd.grad(total, moved, allow_unused=True)
    return slope is not None and bool((slope != 0).any())


def _name(metric: SemiMetric) -> str:
    function = getattr(metric, "function", None)
    return getattr(function, "__name__", None) or metric.name or type(metric).__name__


def _doubt(d: Tensor, again: Tensor, objects: Tensor, numbers: list[int]) -> str:
    """What is odd about distances (k, k) of objects to themselves, said for a user; empty where nothing is."""
    largest = float(d.abs().max()) or 1.0
    if not torch.allclose(d, again, rtol=0, atol=ROUNDING * largest):
        return (
            "gives other distances when it is asked again, so that a fit means nothing: let it depend on x and v alone."
        )
    differ = (objects[:, None] != objects).flatten(2).any(-1)
    between = d[differ]
    if len(between) > 2 and float(between.max() - between.min()) <= ROUNDING * largest:
        return f"says {float(between[0]):g} of every pair of the objects looked at: there are no groups to be found with it."
    gap = (d - d.T).abs()
    if float(gap.max()) > ROUNDING * largest:
        i, j = divmod(int(gap.argmax()), len(d))
        a, b = place("object", numbers[i]), place("object", numbers[j])
        return (
            f"is not symmetric: {float(d[i, j]):g} from {a} to {b} and {float(d[j, i]):g} back. Prototypes are then drawn "
            "to one side; take the mean or the larger of both."
        )
    return ""
