"""Ask a metric for what it may or may not have, so that no caller branches on it.

Each function gives the capability's answer, or what stands for "none": None, the identity, the metric itself. Only
:func:`nearest_of` computes the plain answer instead, since nothing cheaper is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import torch
from torch import Tensor

from softecm.distances.base import FusedRound, SemiMetric, Sums
from softecm.distances.blocks import blocks, check_distances
from softecm.distances.optional import RoundCost, RunCost
from softecm.spaces.base import Encoded


def sums_of(metric: SemiMetric, x: Encoded, v: Tensor, weights: Tensor) -> Sums | None:
    """A quadratic bound of the cost at prototypes v (k, *shape) for weights (n, k); None where there is none."""
    form = metric.closed_form
    return None if form is None else form.sums(x, v, weights)


def with_sums_of(metric: SemiMetric, x: Encoded, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
    """Distances (n, k) and the bound for weights known later, from one pass; None where two passes are due."""
    form = metric.closed_form
    return None if form is None else form.with_sums(x, v)


def stiffness_of(metric: SemiMetric, v: Tensor, curvature: Tensor, weights: Tensor) -> Tensor | None:
    """Half the second derivative (k, L, L) of the cost, about, for each prototype's sum of weights; None: not known."""
    form = metric.closed_form
    return None if form is None else form.stiffness(v, curvature, weights)


def tensor_of(metric: SemiMetric, u: Tensor) -> Tensor:
    """``u`` times the matrix of the metric's quadratic; ``u`` itself where coordinates are not mixed."""
    form = metric.closed_form
    return u if form is None else form.tensor(u)


def barycenters_of(metric: SemiMetric, x: Tensor, weights: Tensor) -> Tensor | None:
    """Weighted barycentres (..., k, *shape) of x (..., n, *shape); None where there is no closed form."""
    form = metric.closed_form
    return None if form is None else form.barycenters(x, weights)


def mixed_of(metric: SemiMetric, distances: Tensor, between: Tensor, weights: Tensor) -> Tensor | None:
    """Distances (n, k) to barycentres, from those to the points (n, c) and among them (c, c); None: unknown."""
    form = metric.closed_form
    return None if form is None else form.mixed(distances, between, weights)


def compiled_round(
    metric: SemiMetric, x: Encoded, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]
) -> FusedRound | None:
    """One compiled pass for a batch of runs v (runs, f, *shape); None where there is none for this input."""
    passes = metric.compiled
    return None if passes is None else passes.round(x, v, previous, **cost)


def compiled_masses(metric: SemiMetric, x: Encoded, v: Tensor, **cost: Unpack[RunCost]) -> Tensor | None:
    """Masses (n, f + 1) of one run's prototypes v (f, *shape) from a compiled pass; None where there is none."""
    passes = metric.compiled
    return None if passes is None else passes.masses(x, v, **cost)


def paired_gradients_of(metric: SemiMetric, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Distances of matching rows and their derivatives at both ends; None: differentiate ``paired``."""
    passes = metric.compiled
    return None if passes is None else passes.paired_gradients(a, b)


def fitted_metric(metric: SemiMetric, x: Encoded, weights: Tensor | None) -> SemiMetric:
    """The metric with what it learns from the objects filled in; itself where it learns nothing."""
    learner = metric.learner
    return metric if learner is None else learner.fitted(x, weights)


def nearest_of(metric: SemiMetric, x: Encoded, v: Tensor, *, first: int = 0) -> tuple[Tensor, Tensor]:
    """Distance to the nearest prototype and its number, (n,) each, on the CPU; ``first`` is the first object's number."""
    passes = metric.compiled
    found = None if passes is None else passes.nearest(x, v)
    if found is not None:
        return found[0].double().cpu(), found[1].cpu()
    distances, which = [v.new_empty(0).double().cpu()], [torch.empty(0, dtype=torch.int64)]
    with torch.no_grad():
        for rows in blocks(x, v):
            block = x[rows]
            d = metric.pairwise(block, v)
            check_distances(metric, d, len(block), len(v), first + rows.start)
            least = d.clamp_min(0.0).min(1)
            distances.append(least.values.double().cpu())
            which.append(least.indices.cpu())
    return torch.cat(distances), torch.cat(which)
