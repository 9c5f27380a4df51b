"""The paper's equations as pure functions of tensors, evaluated in passes over all objects.

The first axis is the run: restarts and parameter grids are one batch, and a single fit is a batch of one. Distances are
(n, runs, f), prototypes (runs, f, *shape), parameters (runs,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from softecm._wording import literal, option
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric, Sums, blocks, check_distances
from softecm.files.values import Savable
from softecm.kernels.shares import SharedMasses, share_masses
from softecm.optim import Evaluation
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Block, Scattered


class Shares(NamedTuple):
    """Masses that minimize an object's cost, with their weights and cost."""

    masses: Tensor  # (..., f + 1), the empty set first
    weights: Tensor  # (..., f): the derivative of the cost in the distances; |A|^alpha m^beta with eq. 7
    cost: Tensor  # (...)


class MassStep(NamedTuple):
    """The masses of all objects and runs, with their weights and the objective."""

    masses: Tensor  # (runs, n, f + 1)
    weights: Tensor  # (runs, n, f), times the objects' weights
    objective: Tensor  # (runs,)
    change: Tensor  # (runs,), largest change of the masses; inf in the first iteration


class MassRule(Savable, ABC):
    """How masses follow from distances; an algorithm with different masses defines its own rule.

    A frozen dataclass of numbers, saved with the model, which predicts with it.
    """

    #: Whether compiled passes, which implement only eq. 7, may replace it.
    is_power: ClassVar[bool] = False

    @abstractmethod
    def shares(self, distances: Tensor, cost: MassCost) -> Shares:
        """Return the masses that minimize each object's cost, for distances (..., f) and costs that broadcast with them.

        Factors are (..., f), beta and delta2 have one value for each (...): distances are (n, runs, f), or (n, f) of
        one run.
        """


@dataclass(frozen=True)
class PowerMasses(MassRule):
    """The paper's eq. 7: masses proportional to powers of the distances."""

    is_power: ClassVar[bool] = True

    def shares(self, distances: Tensor, cost: MassCost) -> Shares:
        """See :func:`share`."""
        return share(distances, cost.factors, cost.beta, cost.delta2)


POWER_MASSES = PowerMasses()


@dataclass(frozen=True)
class MassCost:
    """The cost of a mass: |A|^alpha, beta and delta^2 of each run, the objects' weights, and the mass rule.

    ``delta2`` is inf without an empty set.
    """

    factors: Tensor  # (runs, f)
    beta: Tensor  # (runs,)
    delta2: Tensor  # (runs,)
    weights: Tensor | None = None  # (n,)
    rule: MassRule = POWER_MASSES

    def shares(self, distances: Tensor) -> Shares:
        """Return masses for distances (n, runs, f)."""
        return self.rule.shares(distances, self)

    def counted(self, distances: Tensor, rows: slice | Tensor | None = None) -> Shares:
        """The same for all objects or some of them, with weights and cost multiplied by the objects' weights."""
        shares = self.shares(distances)
        if self.weights is None:
            return shares
        counts = (self.weights if rows is None else self.weights[rows])[:, None]
        return Shares(shares.masses, shares.weights * counts[..., None], shares.cost * counts)

    def step(self, distances: Tensor, before: Tensor | None = None) -> MassStep:
        """Return masses of all objects for distances (runs, n, f), and their change since the previous iteration."""
        by_run = replace(self, factors=self.factors[:, None], beta=self.beta[:, None], delta2=self.delta2[:, None])
        masses, weights, cost = by_run.shares(distances)
        if self.weights is not None:
            weights, cost = weights * self.weights[:, None], cost * self.weights
        change = masses.new_full((len(masses),), torch.inf)
        if before is not None:
            change = (masses - before).abs().amax((1, 2))
        return MassStep(masses, weights, cost.sum(1), change)

    def select(self, runs: Tensor | int) -> MassCost:
        """Return some of the runs; a single index drops the run dimension, for distances (n, f)."""
        return replace(self, factors=self.factors[runs], beta=self.beta[runs], delta2=self.delta2[runs])

    def of_block(self, block: Block) -> MassCost:
        """Return the same with a block's weights, on its device."""
        to = block.device
        return MassCost(self.factors.to(to), self.beta.to(to), self.delta2.to(to), block.weights, self.rule)


def share(distances: Tensor, factors: Tensor, beta: Tensor, delta2: Tensor) -> Shares:
    r"""Return the masses that minimize :math:`\sum_A |A|^\alpha m_A^\beta d_A + \delta^2 m_\emptyset^\beta` (eq. 7).

    Powers are taken of ratios to the object's smallest cost, so that neither the unit of ``d`` nor beta near 1
    overflows. Prototypes at distance 0 share all of the object's mass.
    """
    priced = distances * factors
    beta, delta2 = beta[..., None], delta2[..., None].expand((*priced.shape[:-1], 1))
    least = torch.minimum(priced.amin(-1, keepdim=True), delta2)
    exponent = 1.0 / (beta - 1.0)
    on_prototype = least == 0
    ratio = torch.where(on_prototype, 0.0, least / priced)
    # If prototypes coincide with the object, only they count, each with |A|^(-alpha/(beta-1)).
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
    """Return the masses (n, f + 1) of eq. 7 for distances (n, f); ``delta`` None removes the empty set.

    Examples
    --------
    >>> import torch
    >>> from softecm import FocalSets
    >>> update_masses(torch.tensor([[1.0, 1.0, 0.25]]), FocalSets.full(2), alpha=0.0, beta=2.0, delta=1.0)
    tensor([[0.1429, 0.1429, 0.1429, 0.5714]])
    """
    return mass_cost(focal, alpha, beta, delta, like=distances).select(0).shares(distances).masses


def mass_cost(
    focal: FocalSets,
    alpha: ArrayLike,
    beta: ArrayLike,
    delta: ArrayLike | None,
    *,
    like: Tensor,
    runs: int = 1,
    weights: Tensor | None = None,
    rule: MassRule = POWER_MASSES,
) -> MassCost:
    """Return the cost of masses for a batch of runs, from numbers or one number per run."""
    numbers = np.empty((3, runs))
    numbers[0], numbers[1], numbers[2] = alpha, beta, np.inf if delta is None else delta  # inf: no empty set
    power, exponent, deltas = torch.from_numpy(numbers).to(like)
    sizes = torch.as_tensor(focal.cardinalities.astype(np.float64)).to(like)
    delta2 = deltas**2
    outside = (deltas < torch.inf) & ~((delta2 > torch.finfo(delta2.dtype).tiny) & (delta2 < torch.inf))
    if outside.any():
        raise ValueError(
            f"{option('delta')} must have a square within the range of {str(delta2.dtype).removeprefix('torch.')}; got "
            f"{float(deltas[outside][0]):g}. Use {literal('auto')}, or a distance beyond which an object of these data is "
            "an outlier."
        )
    return MassCost(sizes ** power[:, None], exponent, delta2, weights, rule)


@lru_cache(maxsize=128)
def set_members(focal: FocalSets, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Return all pairs (cluster, set of several clusters containing it), as indices of prototypes."""
    pairs = [(k, a) for a, members in enumerate(focal.sets) if len(members) > 1 for k in members]
    table = torch.tensor(pairs, dtype=torch.int64, device=device).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def inertia(metric: SemiMetric, prototypes: Tensor, clusters: Tensor, sets: Tensor) -> Tensor:
    """Return the third term of eq. 6 before lambda, per run: sum over sets and their clusters of d(v_k, v_A)."""
    runs = prototypes.shape[0]
    ends = prototypes[:, clusters].flatten(0, 1), prototypes[:, sets].flatten(0, 1)
    return metric.paired(*ends).clamp_min(0.0).reshape(runs, -1).sum(1)


def set_starts(metric: SemiMetric, focal: FocalSets, clusters: Tensor) -> Tensor:
    """Return the mean (runs, sets, *shape) of each set's clusters, or one of these if it is nearer to the others.

    On a circle the mean of two coordinates may be opposite both, at a maximum that descent never leaves.
    """
    runs, c = clusters.shape[:2]
    shares = torch.tensor(focal.shares[c:], dtype=clusters.dtype, device=clusters.device)
    means = torch.einsum("ac,rc...->ra...", shares, clusters)
    members, sets = (pairs.tolist() for pairs in set_members(focal))
    best, least = means, _sums(metric, clusters[:, members], means[:, [a - c for a in sets]], sets, c)
    for place in range(max(map(len, focal.sets))):  # the first cluster of each set, then the second ...
        own = [focal.sets[a][min(place, len(focal.sets[a]) - 1)] for a in range(c, len(focal))]
        cost = _sums(metric, clusters[:, members], clusters[:, [own[a - c] for a in sets]], sets, c)
        nearer = (cost < least).reshape(runs, -1, *(1 for _ in means.shape[2:]))
        best, least = torch.where(nearer, clusters[:, own], best), torch.minimum(cost, least)
    return best


@torch.no_grad()
def _sums(metric: SemiMetric, members: Tensor, centers: Tensor, sets: Sequence[int], c: int) -> Tensor:
    """Return sums (runs, sets) of distances between each set's members and a centre, both (runs, pairs, *shape)."""
    d = metric.paired(members.flatten(0, 1), centers.flatten(0, 1)).clamp_min(0.0).reshape(len(members), -1)
    number = torch.tensor(sets, device=d.device) - c
    return d.new_zeros(len(d), int(number[-1]) + 1).index_add_(1, number, d)


KEPT_CELLS = 1 << 23  # masses kept from the last iteration: 64 MB; beyond that they are recomputed


class Previous(NamedTuple):
    """The previous iteration, to measure the change of the masses."""

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
    """Return cost and derivative of a batch of runs at ``prototypes`` (runs, f, *shape), with masses minimized out.

    Without ``slopes``, metrics whose sums suffice skip the derivative, which may be as wide as the prototypes. Without
    ``sums``, only distances are computed.
    """
    if isinstance(x, Scattered):
        of_block = partial(
            _evaluate_block, metric=metric, prototypes=prototypes, cost=cost, previous=previous, tol=tol, sums=sums,
            device=x.device,
        )  # fmt: skip
        return x.total(of_block, Evaluation.plus)
    fused = None
    if cost.rule.is_power:
        before, factors, beta = None if previous is None else previous.prototypes, cost.factors, cost.beta
        fused = metric.compiled.round(
            x, prototypes, before, factors=factors, beta=beta, delta2=cost.delta2, weights=cost.weights, tol=tol
        )
    if fused is not None:
        gradient = prototypes[:, :0]
        if slopes and sums:
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
    device: torch.device | None,
) -> Evaluation:
    """Evaluate a block of objects on its device; ``device`` belongs to a single block, which keeps its masses."""
    masses = None if previous is None or device is None else previous.masses
    before = () if previous is None or masses is not None else (previous.prototypes,)
    numbers = moved((cost.factors, cost.beta, cost.delta2, prototypes, *before), device or block.device)
    factors, beta, delta2, there = numbers[:4]
    prices = MassCost(factors, beta, delta2, block.weights, cost.rule)
    last = None if previous is None else Previous(numbers[-1], masses)
    evaluation = evaluate(metric, block.objects, there, prices, previous=last, tol=tol, sums=sums)
    tensors = {name: t for name, t in vars(evaluation).items() if t is not None and name != "masses"}
    back = moved(list(tensors.values()), prototypes.device)
    own_masses = evaluation.masses if device is not None else None
    return replace(evaluation, **dict(zip(tensors, back, strict=True)), masses=own_masses)


def moved(tensors: Sequence[Tensor], device: torch.device) -> Sequence[Tensor]:
    """Move tensors to a device; if they are elsewhere, they have one dtype and move in one transfer."""
    if all(t.device == device for t in tensors):
        return tensors
    flat = torch.cat([t.flatten() for t in tensors]).to(device)
    parts = torch.split(flat, [t.numel() for t in tensors])
    return [part.reshape(t.shape) for part, t in zip(parts, tensors, strict=True)]


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
    """Evaluate block by block, from distances and the metric's sums if it has them."""
    runs, f = prototypes.shape[:2]
    flat = prototypes.flatten(0, 1)
    totals = Totals.empty(prototypes, previous, slopes)
    keep = len(x) * runs * (f + 1) <= KEPT_CELLS
    for rows in blocks(x, flat):
        block = x[rows]
        distances, derivative = measured(metric, block, flat) if sums else (_values(metric, block, flat), None)
        check_distances(metric, distances, len(block), runs * f, rows.start)
        before = None
        # Masses that are not kept are recomputed only until each run is known to move: then it continues anyway.
        if previous is not None and (previous.masses is not None or bool((totals.change <= tol).any())):
            before = _masses_before(metric, block, rows, previous, cost)
        shares = _shared(distances, cost, None if cost.weights is None else cost.weights[rows], before)
        totals.cost += shares.cost
        if derivative is not None:
            totals.add(derivative(shares.weights))
        if shares.change is not None:
            totals.change = torch.maximum(totals.change, shares.change)
        if keep:
            totals.masses.append(shares.masses)
    return totals.evaluation(metric, prototypes)


def measured(metric: SemiMetric, block: Encoded, flat: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums | Tensor]]:
    """Return distances (n, k), and a function from weights (n, k) to the metric's sums or else the gradient."""
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
    """Return distances only."""
    with torch.no_grad():
        return metric.pairwise(block, flat)


def _finite(metric: SemiMetric, gradient: Tensor) -> Tensor:
    """Raise an error if a gradient is NaN: the fit would stop and call it convergence."""
    if bool(torch.isfinite(gradient).all()):
        return gradient
    k = int((~torch.isfinite(gradient)).flatten(1).any(1).nonzero()[0])
    name = metric.name or type(metric).__name__
    raise ValueError(
        f"metric {name} must have a finite gradient; got one that is not at prototype {k}, which may lie on an object: "
        "square roots and inverse sines have none at 0. Add a small number under the root (as Euclidean does), or use "
        "softecm.testing.check_semimetric to see where."
    )


def _shared(distances: Tensor, cost: MassCost, counts: Tensor | None, before: Tensor | None) -> SharedMasses:
    """Return masses for the distances (n, runs * f) of a block, and their change since ``before`` (runs, n, f + 1)."""
    if cost.rule.is_power and not distances.is_cuda:
        return share_masses(distances, cost.factors, cost.beta, cost.delta2, counts, before)
    seen = distances.detach().reshape(-1, *cost.factors.shape)
    shares = replace(cost, weights=counts).counted(seen.clamp_min(0.0))
    masses = shares.masses.transpose(0, 1)
    change = None if before is None else (masses - before).abs().amax((1, 2))
    return SharedMasses(masses, shares.weights.flatten(1), shares.cost.sum(0), change)


def _masses_before(metric: SemiMetric, block: Encoded, rows: slice, previous: Previous, cost: MassCost) -> Tensor:
    """Return the previous masses (runs, n, f + 1) of a block: kept, or recomputed."""
    if previous.masses is not None:
        return previous.masses[:, rows]
    return _shared(metric.pairwise(block, previous.prototypes.flatten(0, 1)), cost, None, None).masses


@dataclass
class Totals:
    """Sums over the blocks of an iteration."""

    cost: Tensor  # (runs,)
    gradient: Tensor  # (runs * f, *shape)
    change: Tensor  # (runs,)
    curvature: Tensor | None = None
    moment: Tensor | None = None
    touches: bool = True  # whether the quadratic has the derivative of the cost
    masses: list[Tensor] = field(default_factory=list)

    @staticmethod
    def empty(prototypes: Tensor, previous: Previous | None, slopes: bool) -> Totals:
        """Return the totals before the first block."""
        runs = len(prototypes)
        change = prototypes.new_full((runs,), torch.inf if previous is None else 0.0)
        like = prototypes if slopes else prototypes[:, :0]
        return Totals(prototypes.new_zeros(runs), torch.zeros_like(like.flatten(0, 1)), change)

    def add(self, part: Sums | Tensor) -> None:
        """Add one block's sums or gradient."""
        if isinstance(part, Tensor):
            self.gradient += part
            return
        self.curvature = part.curvature if self.curvature is None else self.curvature + part.curvature
        self.moment = part.moment if self.moment is None else self.moment + part.moment
        if part.gradient is not None:
            self.gradient += part.gradient
            self.touches = False

    def evaluation(self, metric: SemiMetric, prototypes: Tensor) -> Evaluation:
        """Return the evaluation after the last block."""
        masses = torch.cat(self.masses, 1) if self.masses else None
        has_gradient = len(self.gradient) > 0
        gradient = self.gradient.reshape(prototypes.shape) if has_gradient else prototypes[:, :0]
        if self.curvature is None or self.moment is None:
            return Evaluation(self.cost, gradient, None, None, self.change, masses)
        curvature = self.curvature.reshape(*prototypes.shape[:2], *self.curvature.shape[1:])
        moment = self.moment.reshape(prototypes.shape)
        if self.touches and has_gradient:
            gradient = 2.0 * metric.closed_form.tensor(curvature * prototypes - moment)
        return Evaluation(self.cost, gradient, curvature, moment, self.change, masses)


def masses_of(metric: SemiMetric, x: Encoded, prototypes: Tensor, cost: MassCost) -> Tensor:
    """Return the masses (n, f + 1) of one run's prototypes (f, *shape), block by block."""
    one = cost.select(0)
    if cost.rule.is_power:
        beta, delta2 = float(one.beta), float(one.delta2)
        fused = metric.compiled.masses(x, prototypes, factors=one.factors, beta=beta, delta2=delta2)
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
    """Return cost (runs,) and gradient as functions of the prototypes, with masses optimal at ``at``."""
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
