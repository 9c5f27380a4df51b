"""The paper's equations as pure functions of tensors.

Everything has a leading run dimension: restarts and grids of parameters are one batch, and a single fit is a batch of
one. Distances are (n, runs, f), prototypes (runs, f, *shape), parameters (runs,).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.blocks import blocks as blocks
from softecm.distances.blocks import check_distances as check_distances
from softecm.distances.capabilities import compiled_masses, compiled_round, sums_of, tensor_of, with_sums_of
from softecm.spaces.scattered import Block, Scattered

KEPT_CELLS = 1 << 23  # masses of the last round kept for comparison: 64 MB; beyond that they are computed again


@dataclass(frozen=True)
class MassCost:
    """What prices a mass: |A|^alpha, beta and delta^2 of each run, and the objects' weights.

    ``delta2`` is inf where the empty set is switched off.
    """

    factors: Tensor  # (runs, f)
    beta: Tensor  # (runs,)
    delta2: Tensor  # (runs,)
    weights: Tensor | None = None  # (n,)

    def select(self, runs: Tensor) -> MassCost:
        """The same for some of the runs."""
        return replace(self, factors=self.factors[runs], beta=self.beta[runs], delta2=self.delta2[runs])

    def of_block(self, block: Block) -> MassCost:
        """The same with a block's weights, on its device."""
        to = block.device
        return MassCost(self.factors.to(to), self.beta.to(to), self.delta2.to(to), block.weights)


class Shares(NamedTuple):
    """Masses that minimise an object's cost, with what follows from them."""

    masses: Tensor  # (..., f + 1), the empty set first
    weights: Tensor  # (..., f): |A|^alpha m^beta
    cost: Tensor  # (...)


def share(distances: Tensor, factors: Tensor, beta: Tensor, delta2: Tensor) -> Shares:
    r"""Masses that minimise :math:`\sum_A |A|^\alpha m_A^\beta d_A + \delta^2 m_\emptyset^\beta` (eq. 7).

    Every power is taken of a ratio to the object's smallest cost, so that neither the unit of ``d`` nor beta near 1
    overflows. Prototypes at distance 0 share all of the object's mass.
    """
    priced = distances * factors
    beta, delta2 = beta[..., None], delta2[..., None].expand((*priced.shape[:-1], 1))
    least = torch.minimum(priced.amin(-1, keepdim=True), delta2)
    exponent = 1.0 / (beta - 1.0)
    on_prototype = least == 0
    ratio = torch.where(on_prototype, 0.0, least / priced)
    # Where prototypes coincide with the object only they count, each with |A|^(-alpha/(beta-1)).
    lightest = torch.where(priced == 0, factors, torch.inf).amin(-1, keepdim=True)
    among = torch.where(priced == 0, lightest / factors, 0.0)
    power = torch.where(on_prototype, among, ratio) ** exponent
    empty = (least / delta2) ** exponent
    total = power.sum(-1, keepdim=True) + empty
    masses = torch.cat([empty, power], -1) / total
    scale = total ** (1.0 - beta)
    raised = torch.where(on_prototype, masses[..., 1:] ** (beta - 1.0), ratio * scale)
    return Shares(masses, factors * masses[..., 1:] * raised, (least * scale)[..., 0])


def update_masses(distances: Tensor, focal: FocalSets, alpha: float, beta: float, delta: float | None) -> Tensor:
    """The masses (n, f + 1) of eq. 7 for distances (n, f); ``delta`` None switches the empty set off.

    Examples
    --------
    >>> import torch
    >>> from softecm import FocalSets
    >>> update_masses(torch.tensor([[1.0, 1.0, 0.25]]), FocalSets.full(2), alpha=0.0, beta=2.0, delta=1.0)
    tensor([[0.1429, 0.1429, 0.1429, 0.5714]])
    """
    cost = mass_cost(focal, alpha, beta, delta, like=distances)
    return share(distances, cost.factors[0], cost.beta[0], cost.delta2[0]).masses


def mass_cost(
    focal: FocalSets,
    alpha: Any,
    beta: Any,
    delta: Any,
    *,
    like: Tensor,
    runs: int = 1,
    weights: Tensor | None = None,
) -> MassCost:
    """Build the prices of a batch of runs from numbers or one number a run."""
    options: dict[str, Any] = {"dtype": like.dtype, "device": like.device}

    def per_run(value: Any) -> Tensor:
        return torch.as_tensor(np.asarray(value, dtype=np.float64), **options).expand(runs).contiguous()

    sizes = torch.as_tensor(focal.cardinalities.astype(np.float64), **options)
    delta2 = per_run(np.inf) if delta is None else per_run(delta) ** 2
    return MassCost(sizes ** per_run(alpha)[:, None], per_run(beta), delta2, weights)


@dataclass(frozen=True)
class Evaluation:
    """The minimised cost of a batch of runs at given prototypes, and its derivative there.

    The masses are optimal, so the derivative with the masses held fixed is the derivative of the whole (envelope
    theorem).
    """

    cost: Tensor  # (runs,)
    gradient: Tensor  # (runs, f, *shape)
    curvature: Tensor | None  # (runs, f, *shape) or broadcastable: of a quadratic bound, where the metric has one
    moment: Tensor | None  # (runs, f, *shape)
    change: Tensor  # (runs,), largest change of a mass since the previous evaluation
    masses: Tensor | None  # (runs, n, f + 1), where few enough to keep

    def select(self, runs: Tensor) -> Evaluation:
        """The same for some of the runs."""
        return Evaluation(*(None if v is None else v[runs] for v in vars(self).values()))  # type: ignore[arg-type]

    def merged(self, other: Evaluation, take: Tensor) -> Evaluation:
        """This, with the runs ``take`` (a mask) replaced by the other's."""

        def pick(old: Tensor | None, new: Tensor | None) -> Tensor | None:
            if old is None or new is None:
                return None
            return torch.where(take.reshape(-1, *(1,) * (old.ndim - 1)), new, old)

        return Evaluation(*map(pick, vars(self).values(), vars(other).values()))  # type: ignore[arg-type]

    def plus(self, other: Evaluation) -> Evaluation:
        """The evaluation of two blocks of objects together; their masses are not kept."""

        def both(a: Tensor | None, b: Tensor | None) -> Tensor | None:
            return None if a is None or b is None else a + b

        return Evaluation(
            self.cost + other.cost,
            self.gradient + other.gradient,
            both(self.curvature, other.curvature),
            both(self.moment, other.moment),
            torch.maximum(self.change, other.change),
            None,
        )

    def cpu(self) -> Evaluation:
        """The same in main memory, without masses."""
        parts = {name: None if v is None else v.cpu() for name, v in vars(replace(self, masses=None)).items()}
        return Evaluation(**parts)  # type: ignore[arg-type]


class Previous(NamedTuple):
    """The last round, to measure how far the masses have moved."""

    prototypes: Tensor
    masses: Tensor | None


def evaluate(
    metric: SemiMetric,
    x: Any,
    prototypes: Tensor,
    cost: MassCost,
    *,
    previous: Previous | None = None,
    tol: float = 0.0,
) -> Evaluation:
    """Cost and derivative of a batch of runs at ``prototypes`` (runs, f, *shape), masses minimised out."""
    if isinstance(x, Scattered):
        of_block = partial(_evaluate_block, metric=metric, prototypes=prototypes, cost=cost, previous=previous, tol=tol)
        return x.total(of_block, Evaluation.plus)
    fused = compiled_round(
        metric,
        x,
        prototypes,
        None if previous is None else previous.prototypes,
        factors=cost.factors,
        beta=cost.beta,
        delta2=cost.delta2,
        weights=cost.weights,
        tol=tol,
    )
    if fused is not None:
        gradient = 2.0 * tensor_of(metric, fused.curvature * prototypes - fused.moment)
        return Evaluation(fused.cost, gradient, fused.curvature, fused.moment, fused.change, None)
    return _evaluate_in_blocks(metric, x, prototypes, cost, previous, tol)


def _evaluate_block(
    block: Block, *, metric: SemiMetric, prototypes: Tensor, cost: MassCost, previous: Previous | None, tol: float
) -> Evaluation:
    """What one block of scattered objects adds."""
    to = block.device
    before = None if previous is None else Previous(previous.prototypes.to(to), None)
    return evaluate(metric, block.objects, prototypes.to(to), cost.of_block(block), previous=before, tol=tol).cpu()


def _evaluate_in_blocks(
    metric: SemiMetric, x: Any, prototypes: Tensor, cost: MassCost, previous: Previous | None, tol: float
) -> Evaluation:
    runs, f = prototypes.shape[:2]
    n = len(x)
    flat = prototypes.reshape(runs * f, *prototypes.shape[2:])
    total = prototypes.new_zeros(runs)
    gradient = torch.zeros_like(flat)
    curvature: Tensor | None = None
    moment: Tensor | None = None
    change = prototypes.new_full((runs,), torch.inf if previous is None else 0.0)
    keep = n * runs * (f + 1) <= KEPT_CELLS
    apart = False
    kept: list[Tensor] = []
    for rows in blocks(n, flat):
        block = x[rows]
        leaf = flat.detach().requires_grad_()
        both = with_sums_of(metric, block, flat)
        if both is None:
            with torch.enable_grad():
                distances = metric.pairwise(block, leaf)
        else:
            distances = both[0]
        check_distances(metric, distances, len(block), runs * f, rows.start)
        seen = distances.detach().clamp_min(0.0).reshape(-1, runs, f)
        shares = share(seen, cost.factors, cost.beta, cost.delta2)
        w = None if cost.weights is None else cost.weights[rows, None]
        total += (shares.cost if w is None else shares.cost * w).sum(0)
        weights = (shares.weights if w is None else shares.weights * w[..., None]).reshape(-1, runs * f)
        sums = sums_of(metric, block, flat, weights) if both is None else both[1](weights)
        if sums is None:
            (part,) = torch.autograd.grad(distances, leaf, weights)
            gradient += part
        else:
            curvature = sums.curvature if curvature is None else curvature + sums.curvature
            moment = sums.moment if moment is None else moment + sums.moment
            if sums.gradient is not None:
                gradient += sums.gradient
                apart = True
        # Masses that are not kept are computed again only until each run is known to move: then it goes on anyway.
        if previous is not None and (previous.masses is not None or bool((change <= tol).any())):
            before = (
                share(
                    metric.pairwise(block, previous.prototypes.reshape(flat.shape))
                    .detach()
                    .clamp_min(0.0)
                    .reshape(-1, runs, f),
                    cost.factors,
                    cost.beta,
                    cost.delta2,
                ).masses
                if previous.masses is None
                else previous.masses[:, rows].transpose(0, 1)
            )
            change = torch.maximum(change, (shares.masses - before).abs().amax((0, 2)))
        if keep:
            kept.append(shares.masses.transpose(0, 1))
    masses = torch.cat(kept, 1) if kept else None
    if curvature is not None and moment is not None:
        shape = prototypes.shape[:2]
        curvature = curvature.reshape(*shape, *curvature.shape[1:])
        moment = moment.reshape(prototypes.shape)
        if not apart:
            gradient = 2.0 * tensor_of(metric, curvature * prototypes - moment)
        return Evaluation(total, gradient.reshape(prototypes.shape), curvature, moment, change, masses)
    return Evaluation(total, gradient.reshape(prototypes.shape), None, None, change, masses)


def masses_of(metric: SemiMetric, x: Any, prototypes: Tensor, cost: MassCost) -> Tensor:
    """The masses (n, f + 1) of one run's prototypes (f, *shape), block by block."""
    fused = compiled_masses(
        metric, x, prototypes, factors=cost.factors[0], beta=float(cost.beta[0]), delta2=float(cost.delta2[0])
    )
    if fused is not None:
        return fused
    out = prototypes.new_empty((len(x), prototypes.shape[0] + 1), device="cpu")
    for rows in blocks(len(x), prototypes):
        block = x[rows]
        d = metric.pairwise(block, prototypes).detach()
        check_distances(metric, d, len(block), len(prototypes), rows.start)
        out[rows] = share(d.clamp_min(0.0), cost.factors[0], cost.beta[0], cost.delta2[0]).masses.cpu()
    return out


@lru_cache(maxsize=128)
def links(focal: FocalSets, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """All (cluster, set) pairs that eq. 6 ties together, as positions among the prototypes; singletons' own left out."""
    pairs = [(k, a) for a, members in enumerate(focal.sets) if len(members) > 1 for k in members]
    table = torch.tensor(pairs, dtype=torch.int64, device=device).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def inertia(metric: SemiMetric, prototypes: Tensor, clusters: Tensor, sets: Tensor) -> Tensor:
    """The third term of eq. 6 before lambda: sum over sets and their clusters of d(v_k, v_A), one value a run."""
    runs = prototypes.shape[0]
    ends = prototypes[:, clusters].flatten(0, 1), prototypes[:, sets].flatten(0, 1)
    return metric.paired(*ends).clamp_min(0.0).reshape(runs, -1).sum(1)
