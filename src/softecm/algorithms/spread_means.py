r"""What CCM and BCM share: a set is priced by the distance to its middle and by the spread of its clusters.

Both write the distance of an object to a set A as sums of squared distances to the clusters' centres, to their mean, or
among the centres. With :math:`\sum_{k \in A} \|x - v_k\|^2 = |A| \|x - \bar v_A\|^2 + s_A` and
:math:`s_A = \sum_{k \in A} \|v_k - \bar v_A\|^2` all of it becomes

.. math:: D_{iA} = \sigma_A \big( \|x_i - \bar v_A\|^2 + \rho_A s_A \big)

with two numbers a set. One more coordinate, 0 for objects and :math:`\sqrt{\rho_A s_A}` for sets, makes the bracket a
squared distance, so that a round is the compiled one of ECM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from softecm.algorithms.set_metric import SetQuadratic
from softecm.algorithms.soft_ecm_core import iterate
from softecm.algorithms.solution import Progress, Solution
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.objective import MassCost, Previous, evaluate, mass_cost
from softecm.optim import Closed, State


class Prices(NamedTuple):
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
        # A proximal ridge: a cluster without mass stays where it is, and a fixed point stays fixed.
        ridge = 1e-13 * w.mean(-1)[:, None, None] + 1e-280
        b = mean.T @ y + ridge * state.free.double()
        h = h + ridge * torch.eye(h.shape[-1], dtype=h.dtype, device=h.device)
        solved: Tensor = torch.linalg.solve(h, b)
        return solved.to(state.free.dtype)

    def select(self, runs: Tensor) -> SpreadProblem:
        """The same for some of the runs."""
        return replace(self, cost=self.cost.select(runs))


def spreads(centers: Tensor, member: Tensor) -> tuple[Tensor, Tensor]:
    """Means of the clusters of each set (..., f, p) and squared deviations from them, coordinate by coordinate."""
    mean = member / member.sum(1, keepdim=True)
    middle = mean @ centers
    apart = (centers[..., None, :, :] - middle[..., :, None, :]).square()  # (..., f, c, p)
    return middle, (member[:, :, None] * apart).sum(-2)


def spread_means(
    x: Tensor,
    focal: FocalSets,
    init: Tensor,
    prices: Prices,
    *,
    beta: Any,
    delta: Any,
    weights: Tensor | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    callback: Callable[[Progress], Any] | None = None,
) -> Solution:
    """Cluster vectors x (n, p) from starting centres (runs, c, p); prototypes come back as (runs, f, p)."""
    plain = mass_cost(focal, 0.0, beta, delta, like=init, runs=len(init), weights=weights)
    scale, spread = (price.to(init) for price in prices)
    member = torch.as_tensor(focal.membership.copy(), dtype=init.dtype, device=init.device)
    problem = SpreadProblem(
        torch.cat([x, x.new_zeros(len(x), 1)], 1),
        replace(plain, factors=plain.factors * scale),
        member,
        spread,
        tol,
    )
    solution = iterate(problem, init[:, : focal.n_clusters], Closed(), max_iter, callback)
    return replace(solution, prototypes=solution.prototypes[..., :-1])


def spread_metric(prototypes: Tensor, focal: FocalSets, prices: Prices) -> SetQuadratic:
    """How the sets of one run, prototypes (f, p), measure."""
    member = torch.as_tensor(focal.membership.copy(), dtype=prototypes.dtype, device=prototypes.device)
    _, spread = spreads(prototypes[: focal.n_clusters], member)
    scale, price = (value.to(prototypes) for value in prices)
    return SetQuadratic(scale, (scale * price)[:, None] * spread)
