r"""What CCM and BCM share: a set is priced by the distance to its middle and by the spread of its clusters.

Both write the distance of an object to a set A as sums of squared distances to the clusters' centres, to their mean, or
among the centres. With :math:`\sum_{k \in A} \|x - v_k\|^2 = |A| \|x - \bar v_A\|^2 + s_A` and
:math:`s_A = \sum_{k \in A} \|v_k - \bar v_A\|^2` all of it becomes

.. math:: D_{iA} = \sigma_A \big( \|x_i - \bar v_A\|^2 + \rho_A s_A \big)

with two numbers a set. One more coordinate, 0 for objects and :math:`\sqrt{\rho_A s_A}` for sets, makes the bracket a
squared distance, so that a round is the compiled one of ECM.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from softecm._batch import from_tensors
from softecm.algorithms.vectors import VectorAlgorithm
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.fit.algorithm import Prices
from softecm.fit.outcome import Solution
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings
from softecm.objective import MassCost, Previous, evaluate
from softecm.objective.links import Links
from softecm.objective.problem import stationary
from softecm.optim import State


class SetPrices(NamedTuple):
    """Scale and price of spread of each set, (f,) each."""

    scale: Tensor
    spread: Tensor


@dataclass(frozen=True)
class SpreadProblem:
    """The clustering problem of a batch of runs; the clusters' centres (runs, c, p) are free."""

    x: Tensor  # (n, p + 1)
    cost: MassCost
    member: Tensor  # (f, c)
    spread: Tensor  # (f,)
    tol: float
    metric: ClassVar[SemiMetric] = SquaredEuclidean()
    patience: ClassVar[int] = 1
    rises: ClassVar[str] = "refused"
    races: ClassVar[bool] = False  # rounds cost next to nothing

    def begin(self, start: Tensor) -> State:
        """From the clusters' centres (runs, c, p)."""
        return self.at(start[:, : self.member.shape[1]])

    def step(self, state: State) -> State:
        """Centres, then masses."""
        return self.at(self.solve(state), state)

    def resumed(self, kept: Mapping[str, Tensor]) -> State:
        """As a checkpoint kept it."""
        return from_tensors(State, kept, "state")

    def at(self, free: Tensor, before: State | None = None) -> State:
        """Masses and objective at the given centres."""
        middle, spread = spreads(free, self.member)
        prototypes = torch.cat([middle, (self.spread * spread.sum(-1)).sqrt()[..., None]], -1)
        previous = None if before is None else Previous(before.prototypes, before.evaluation.masses)
        evaluation = evaluate(self.metric, self.x, prototypes, self.cost, previous=previous, tol=self.tol)
        return State(free, prototypes, evaluation, evaluation.cost, torch.zeros_like(free), None, None)

    def solve(self, state: State) -> Tensor:
        """The centres that minimise the objective for the state's masses: H V = B."""
        assert state.evaluation.curvature is not None and state.evaluation.moment is not None  # noqa: PT018
        w = state.evaluation.curvature[..., 0].double()  # (runs, f): scale times sum of m^beta
        y = state.evaluation.moment[..., :-1].double()  # (runs, f, p)
        member = self.member.double()
        size = member.sum(1)
        mean = member / size[:, None]
        within = torch.diag_embed(member) - member[:, :, None] * mean[:, None, :]  # s_A as a quadratic form (f, c, c)
        outer = mean[:, :, None] * mean[:, None, :]
        h = torch.einsum("ra,akl->rkl", w, outer + self.spread.double()[:, None, None] * within)
        return stationary(h, mean.T @ y, state.free.double()).to(state.free.dtype)

    def select(self, runs: Tensor) -> SpreadProblem:
        """The same for some of the runs."""
        return replace(self, cost=self.cost.select(runs))


def spreads(centers: Tensor, member: Tensor) -> tuple[Tensor, Tensor]:
    """Means of the clusters of each set (..., f, p) and squared deviations from them, coordinate by coordinate."""
    mean = member / member.sum(1, keepdim=True)
    middle = mean @ centers
    apart = (centers[..., None, :, :] - middle[..., :, None, :]).square()  # (..., f, c, p)
    return middle, (member[:, :, None] * apart).sum(-2)


@dataclass(frozen=True)
class SpreadMeans(VectorAlgorithm):
    """An algorithm of this kind: says what its sets cost."""

    gamma: float = 1.0

    @abstractmethod
    def set_prices(self, focal: FocalSets) -> SetPrices:
        """Scale and price of spread of each set."""

    def problem(
        self, objects: Objects[Tensor], chosen: Settings, prices: Prices, like: Tensor, links: Links | None
    ) -> SpreadProblem:
        """For objects in memory."""
        return spread_problem(
            objects.x, chosen.focal, like, prices, self.set_prices(chosen.focal), objects.weights, chosen.tol
        )

    def prototypes_of(self, objects: Objects[Tensor], solution: Solution, run: int) -> Tensor:
        """Without the coordinate that stands for spread."""
        return solution.prototypes[run, :, :-1].cpu()

    def metric_of(self, objects: Objects[Tensor], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """What a set costs, made part of its distance."""
        return spread_metric(self.prototypes_of(objects, solution, run), chosen.focal, self.set_prices(chosen.focal))


def spread_problem(
    x: Tensor,
    focal: FocalSets,
    like: Tensor,
    prices: Prices,
    of_sets: SetPrices,
    weights: Tensor | None = None,
    tol: float = 1e-4,
) -> SpreadProblem:
    """The problem of clustering vectors x (n, p) from starting centres like ``like`` (runs, c, p)."""
    plain = prices.cost(focal, like, weights)
    scale, spread = (price.to(like) for price in of_sets)
    member = torch.as_tensor(focal.membership.copy(), dtype=like.dtype, device=like.device)
    lifted = torch.cat([x, x.new_zeros(len(x), 1)], 1)
    return SpreadProblem(lifted, replace(plain, factors=plain.factors * scale), member, spread, tol)


def spread_metric(prototypes: Tensor, focal: FocalSets, prices: SetPrices) -> SetQuadratic:
    """How the sets of one run, prototypes (f, p), measure."""
    member = torch.as_tensor(focal.membership.copy(), dtype=prototypes.dtype, device=prototypes.device)
    _, spread = spreads(prototypes[: focal.n_clusters], member)
    scale, price = (value.to(prototypes) for value in prices)
    return SetQuadratic(scale, (scale * price)[:, None] * spread)
