"""The minimised cost at given prototypes and its derivative: passes over the objects, in blocks or compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric, Sums
from softecm.distances.blocks import BLOCK_CELLS, GPU_CELLS, blocks, check_distances
from softecm.distances.optional import RoundCost, RunCost
from softecm.objective.equations import MassCost, Shares
from softecm.optim import Evaluation
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Block, Scattered

__all__ = [
    "BLOCK_CELLS",
    "GPU_CELLS",
    "KEPT_CELLS",
    "Evaluation",
    "Previous",
    "blocks",
    "check_distances",
    "evaluate",
    "evaluate_in_blocks",
    "masses_of",
    "with_masses",
]

SHARED_CELLS = 1 << 17  # masses found at once on a CPU: 1 MB
KEPT_CELLS = 1 << 23  # masses of the last round kept for comparison: 64 MB; beyond that they are computed again


class Previous(NamedTuple):
    """The last round, to measure how far the masses have moved."""

    prototypes: Tensor
    masses: Tensor | None


def evaluate(
    metric: SemiMetric,
    x: Encoded | Scattered,
    prototypes: Tensor,
    cost: MassCost,
    *,
    previous: Previous | None = None,
    tol: float = 0.0,
    slopes: bool = True,
    sums: bool = True,
) -> Evaluation:
    """Cost and derivative of a batch of runs at ``prototypes`` (runs, f, *shape), masses minimised out.

    Without ``slopes`` a metric whose sums say everything is spared the derivative, which may be as wide as the prototypes.
    Without ``sums`` distances alone are measured.
    """
    if isinstance(x, Scattered):
        of_block = partial(
            _evaluate_block, metric=metric, prototypes=prototypes, cost=cost, previous=previous, tol=tol, sums=sums
        )
        return x.total(of_block, Evaluation.plus)
    fused = None
    if cost.rule.is_power:
        before = None if previous is None else previous.prototypes
        prices: RoundCost = {
            "factors": cost.factors,
            "beta": cost.beta,
            "delta2": cost.delta2,
            "weights": cost.weights,
            "tol": tol,
        }
        fused = metric.compiled.round(x, prototypes, before, **prices)
    if fused is not None:
        gradient = 2.0 * metric.closed_form.tensor(fused.curvature * prototypes - fused.moment)
        return Evaluation(fused.cost, gradient, fused.curvature, fused.moment, fused.change, None)
    return evaluate_in_blocks(metric, x, prototypes, cost, previous, tol, slopes=slopes and sums, sums=sums)


def _evaluate_block(
    block: Block,
    *,
    metric: SemiMetric,
    prototypes: Tensor,
    cost: MassCost,
    previous: Previous | None,
    tol: float,
    sums: bool,
) -> Evaluation:
    """What one block of scattered objects adds."""
    to = block.device
    before = None if previous is None else Previous(previous.prototypes.to(to), None)
    there = cost.of_block(block)
    return evaluate(metric, block.objects, prototypes.to(to), there, previous=before, tol=tol, sums=sums).cpu()


def evaluate_in_blocks(
    metric: SemiMetric,
    x: Encoded,
    prototypes: Tensor,
    cost: MassCost,
    previous: Previous | None,
    tol: float,
    *,
    slopes: bool = True,
    sums: bool = True,
) -> Evaluation:
    """``evaluate`` from distances and, where the metric has them, its sums, block by block."""
    runs, f = prototypes.shape[:2]
    flat = prototypes.flatten(0, 1)
    totals = Totals.empty(prototypes, previous, slopes)
    keep = len(x) * runs * (f + 1) <= KEPT_CELLS
    for rows in blocks(x, flat):
        block = x[rows]
        distances, derivative = measured(metric, block, flat) if sums else (_values(metric, block, flat), None)
        check_distances(metric, distances, len(block), runs * f, rows.start)
        shares = _shares(distances, prototypes, cost)
        w = None if cost.weights is None else cost.weights[rows, None]
        totals.cost += (shares.cost if w is None else shares.cost * w).sum(0)
        if derivative is not None:
            totals.add(derivative((shares.weights if w is None else shares.weights * w[..., None]).flatten(1)))
        # Masses that are not kept are computed again only until each run is known to move: then it goes on anyway.
        if previous is not None and (previous.masses is not None or bool((totals.change <= tol).any())):
            before = _masses_before(metric, block, rows, previous, cost)
            totals.change = torch.maximum(totals.change, (shares.masses - before).abs().amax((0, 2)))
        if keep:
            totals.masses.append(shares.masses.transpose(0, 1))
    return totals.evaluation(metric, prototypes)


def measured(metric: SemiMetric, block: Encoded, flat: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums | Tensor]]:
    """Distances (n, k), and what follows from weights (n, k): the metric's sums, or else the gradient."""
    both = metric.closed_form.with_sums(block, flat)
    if both is not None:
        return both
    leaf = flat.detach().requires_grad_()
    with torch.enable_grad():
        distances = metric.pairwise(block, leaf)

    def derivative(weights: Tensor) -> Sums | Tensor:
        sums = metric.closed_form.sums(block, flat, weights)
        return _finite(metric, torch.autograd.grad(distances, leaf, weights)[0]) if sums is None else sums

    return distances, derivative


def _values(metric: SemiMetric, block: Encoded, flat: Tensor) -> Tensor:
    """Distances alone."""
    with torch.no_grad():
        return metric.pairwise(block, flat)


def _finite(metric: SemiMetric, gradient: Tensor) -> Tensor:
    """Refuse a gradient that is not a number: a fit would stand still and call that converged."""
    if bool(torch.isfinite(gradient).all()):
        return gradient
    k = int((~torch.isfinite(gradient)).flatten(1).any(1).nonzero()[0])
    name = metric.name or type(metric).__name__
    raise ValueError(
        f"metric {name} must have a finite gradient; got one that is not at prototype {k}, which may lie on an object: "
        "roots and arcs have none at 0. Add a small number under the root (as Euclidean does), or use "
        "softecm.testing.check_semimetric to see where."
    )


def _shares(distances: Tensor, prototypes: Tensor, cost: MassCost) -> Shares:
    """Masses for the distances (n, runs * f) of a block to prototypes (runs, f, *shape)."""
    seen = distances.detach().reshape(-1, *prototypes.shape[:2])
    runs, f = prototypes.shape[:2]
    size = max(1, SHARED_CELLS // max(1, runs * f))
    if seen.is_cuda or len(seen) <= size:
        return cost.shares(seen.clamp_min(0.0))
    n = len(seen)  # a few objects at a time: what is computed on the way is ten times as large as they are
    found = Shares(seen.new_empty(n, runs, f + 1), seen.new_empty(n, runs, f), seen.new_empty(n, runs))
    for first in range(0, n, size):
        rows = slice(first, first + size)
        part = cost.shares(seen[rows].clamp_min(0.0))
        for whole, some in zip(found, part, strict=True):
            whole[rows] = some
    return found


def _masses_before(metric: SemiMetric, block: Encoded, rows: slice, previous: Previous, cost: MassCost) -> Tensor:
    """The last round's masses (n, runs, f + 1) of a block: kept, or computed again."""
    if previous.masses is not None:
        return previous.masses[:, rows].transpose(0, 1)
    at = previous.prototypes
    return _shares(metric.pairwise(block, at.flatten(0, 1)), at, cost).masses


@dataclass
class Totals:
    """What adds up over the blocks of a round."""

    cost: Tensor  # (runs,)
    gradient: Tensor  # (runs * f, *shape)
    change: Tensor  # (runs,)
    curvature: Tensor | None = None
    moment: Tensor | None = None
    touches: bool = True  # whether the quadratic has the cost's own derivative
    masses: list[Tensor] = field(default_factory=list)

    @staticmethod
    def empty(prototypes: Tensor, previous: Previous | None, slopes: bool) -> Totals:
        """Before the first block."""
        runs = len(prototypes)
        change = prototypes.new_full((runs,), torch.inf if previous is None else 0.0)
        like = prototypes if slopes else prototypes[:, :0]
        return Totals(prototypes.new_zeros(runs), torch.zeros_like(like.flatten(0, 1)), change)

    def add(self, part: Sums | Tensor) -> None:
        """One block's sums, or its gradient."""
        if isinstance(part, Tensor):
            self.gradient += part
            return
        self.curvature = part.curvature if self.curvature is None else self.curvature + part.curvature
        self.moment = part.moment if self.moment is None else self.moment + part.moment
        if part.gradient is not None:
            self.gradient += part.gradient
            self.touches = False

    def evaluation(self, metric: SemiMetric, prototypes: Tensor) -> Evaluation:
        """After the last block."""
        masses = torch.cat(self.masses, 1) if self.masses else None
        asked = len(self.gradient) > 0
        gradient = self.gradient.reshape(prototypes.shape) if asked else prototypes[:, :0]
        if self.curvature is None or self.moment is None:
            return Evaluation(self.cost, gradient, None, None, self.change, masses)
        curvature = self.curvature.reshape(*prototypes.shape[:2], *self.curvature.shape[1:])
        moment = self.moment.reshape(prototypes.shape)
        if self.touches and asked:
            gradient = 2.0 * metric.closed_form.tensor(curvature * prototypes - moment)
        return Evaluation(self.cost, gradient, curvature, moment, self.change, masses)


def masses_of(metric: SemiMetric, x: Encoded, prototypes: Tensor, cost: MassCost) -> Tensor:
    """The masses (n, f + 1) of one run's prototypes (f, *shape), block by block."""
    one = cost.of_run(0)
    if cost.rule.is_power:
        prices: RunCost = {"factors": one.factors, "beta": float(one.beta), "delta2": float(one.delta2)}
        fused = metric.compiled.masses(x, prototypes, **prices)
        if fused is not None:
            return fused
    out = prototypes.new_empty((len(x), prototypes.shape[0] + 1), device="cpu")
    for rows in blocks(x, prototypes):
        block = x[rows]
        d = metric.pairwise(block, prototypes).detach()
        check_distances(metric, d, len(block), len(prototypes), rows.start)
        out[rows] = one.shares(d.clamp_min(0.0)).masses.cpu()
    return out


def with_masses(
    metric: SemiMetric, x: Encoded, cost: MassCost, at: Tensor
) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """Cost (runs,) and gradient as functions of the prototypes, with the masses that are optimal at ``at``."""
    runs, f = at.shape[:2]
    flat = at.flatten(0, 1)
    weights = []
    for rows in blocks(x, flat):
        d = metric.pairwise(x[rows], flat).detach().clamp_min(0.0).reshape(-1, runs, f)
        w = cost.shares(d).weights
        if cost.weights is not None:
            w = w * cost.weights[rows, None, None]
        weights.append(w.reshape(-1, runs * f))

    def of(v: Tensor) -> tuple[Tensor, Tensor]:
        leaf = v.detach().flatten(0, 1).requires_grad_()
        value = v.new_zeros(runs)
        gradient = torch.zeros_like(leaf)
        for rows, w in zip(blocks(x, leaf), weights, strict=True):
            with torch.enable_grad():
                d = metric.pairwise(x[rows], leaf)
                terms = d * w
            value += terms.detach().reshape(-1, runs, f).sum((0, 2))
            gradient += torch.autograd.grad(terms.sum(), leaf)[0]
        return value, gradient.reshape(v.shape)

    return of
