"""The paper's equations as pure functions of tensors.

Everything has a leading run dimension: restarts and grids of parameters are one batch, and a single fit is a batch of
one. Distances are (n, runs, f), prototypes (runs, f, *shape), parameters (runs,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.files.values import Savable
from softecm.spaces.scattered import Block


class Shares(NamedTuple):
    """Masses that minimise an object's cost, with what follows from them."""

    masses: Tensor  # (..., f + 1), the empty set first
    weights: Tensor  # (..., f): the derivative of the cost in the distances; |A|^alpha m^beta with eq. 7
    cost: Tensor  # (...)


class MassStep(NamedTuple):
    """The masses of all objects, run by run, with what follows from them."""

    masses: Tensor  # (runs, n, f + 1)
    weights: Tensor  # (runs, n, f), times how often each object counts
    objective: Tensor  # (runs,)
    change: Tensor  # (runs,), of the masses; inf in the first round


class MassRule(Savable, ABC):
    """How masses follow from distances; an algorithm with masses of its own has a rule of its own.

    A frozen dataclass of numbers: it is saved with the model, which predicts with it.
    """

    #: Whether compiled passes, which know eq. 7 alone, may take its place.
    is_power: ClassVar[bool] = False

    @abstractmethod
    def shares(self, distances: Tensor, cost: MassCost) -> Shares:
        """The masses that minimise each object's cost, for distances (..., f) and prices that broadcast with them.

        Factors are (..., f), beta and delta2 one value for each (...): distances are (n, runs, f), or (n, f) of one run.
        """


@dataclass(frozen=True)
class PowerMasses(MassRule):
    """The paper's eq. 7: masses in proportion to powers of the distances."""

    is_power: ClassVar[bool] = True

    def shares(self, distances: Tensor, cost: MassCost) -> Shares:
        """See :func:`share`."""
        return share(distances, cost.factors, cost.beta, cost.delta2)


POWER_MASSES = PowerMasses()


@dataclass(frozen=True)
class MassCost:
    """What prices a mass: |A|^alpha, beta and delta^2 of each run, the objects' weights, and the rule that makes masses.

    ``delta2`` is inf where the empty set is switched off.
    """

    factors: Tensor  # (runs, f)
    beta: Tensor  # (runs,)
    delta2: Tensor  # (runs,)
    weights: Tensor | None = None  # (n,)
    rule: MassRule = POWER_MASSES

    def shares(self, distances: Tensor) -> Shares:
        """Masses for distances (n, runs, f)."""
        return self.rule.shares(distances, self)

    def counted(self, distances: Tensor, rows: slice | Tensor | None = None) -> Shares:
        """The same for all objects, or for some of them, with weights and cost times how often each object counts."""
        found = self.shares(distances)
        if self.weights is None:
            return found
        counts = (self.weights if rows is None else self.weights[rows])[:, None]
        return Shares(found.masses, found.weights * counts[..., None], found.cost * counts)

    def step(self, distances: Tensor, before: Tensor | None = None) -> MassStep:
        """Masses of all objects for distances (runs, n, f), and how far they are from those of the round before."""
        by_run = replace(self, factors=self.factors[:, None], beta=self.beta[:, None], delta2=self.delta2[:, None])
        masses, weights, cost = by_run.shares(distances)
        if self.weights is not None:
            weights, cost = weights * self.weights[:, None], cost * self.weights
        change = masses.new_full((len(masses),), torch.inf)
        if before is not None:
            change = (masses - before).abs().amax((1, 2))
        return MassStep(masses, weights, cost.sum(1), change)

    def of_run(self, run: int) -> MassCost:
        """That of one run, without its dimension: for distances (n, f)."""
        return replace(self, factors=self.factors[run], beta=self.beta[run], delta2=self.delta2[run])

    def select(self, runs: Tensor) -> MassCost:
        """The same for some of the runs."""
        return replace(self, factors=self.factors[runs], beta=self.beta[runs], delta2=self.delta2[runs])

    def of_block(self, block: Block) -> MassCost:
        """The same with a block's weights, on its device."""
        to = block.device
        return MassCost(self.factors.to(to), self.beta.to(to), self.delta2.to(to), block.weights, self.rule)


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
    return mass_cost(focal, alpha, beta, delta, like=distances).of_run(0).shares(distances).masses


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
    """Build the prices of a batch of runs from numbers or one number a run."""

    def per_run(value: ArrayLike) -> Tensor:
        return torch.as_tensor(np.asarray(value, dtype=np.float64)).to(like).expand(runs).contiguous()

    sizes = torch.as_tensor(focal.cardinalities.astype(np.float64)).to(like)
    given = per_run(np.inf if delta is None else delta)  # inf: no empty set
    delta2 = given**2
    outside = (given < torch.inf) & ~((delta2 > torch.finfo(delta2.dtype).tiny) & (delta2 < torch.inf))
    if outside.any():
        raise ValueError(
            f"delta must have a square within the range of {str(delta2.dtype).removeprefix('torch.')}; got "
            f"{float(given[outside][0]):g}. Use 'auto', or a distance beyond which an object of these data is an outlier."
        )
    return MassCost(sizes ** per_run(alpha)[:, None], per_run(beta), delta2, weights, rule)


@lru_cache(maxsize=128)
def set_members(focal: FocalSets, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """All pairs (cluster, set with several clusters) with the cluster in the set, as positions among the prototypes."""
    pairs = [(k, a) for a, members in enumerate(focal.sets) if len(members) > 1 for k in members]
    table = torch.tensor(pairs, dtype=torch.int64, device=device).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def inertia(metric: SemiMetric, prototypes: Tensor, clusters: Tensor, sets: Tensor) -> Tensor:
    """The third term of eq. 6 before lambda: sum over sets and their clusters of d(v_k, v_A), one value a run."""
    runs = prototypes.shape[0]
    ends = prototypes[:, clusters].flatten(0, 1), prototypes[:, sets].flatten(0, 1)
    return metric.paired(*ends).clamp_min(0.0).reshape(runs, -1).sum(1)
