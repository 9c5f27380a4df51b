r"""ECM with a matrix per cluster (the metric of Gustafson and Kessel).

Cluster k has a symmetric positive definite matrix :math:`S_k` of determinant 1; a set has the mean of its clusters'
matrices, :math:`D_{iA} = (x_i - \bar v_A)^\top \bar S_A (x_i - \bar v_A)`. Its centre :math:`\bar v_A` is the mean of
its clusters' centres (CECM and BPEC), or the point of least inertia under their matrices (ECM+),

.. math:: \bar v_A = \Big(\sum_{k \in A} S_k\Big)^{-1} \sum_{k \in A} S_k v_k.

One pass over the objects yields the masses and the weighted sums up to second order about the present centres, which
suffice for the centre step, the matrix step and the checks of the objective.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from softecm.algorithms.quadratic import VectorAlgorithm, means_of
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric, blocks
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.fit.algorithm import RunBatch
from softecm.fit.loop import Solution
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings
from softecm.objective.equations import KEPT_CELLS, MassCost
from softecm.objective.linked import linked_masses
from softecm.objective.links import Links
from softecm.objective.problem import stationary
from softecm.optim import Batch, PlainProblem, PlainState, named_tensors

FLATTEST = 1e-6  # minimum squared ratio of a cluster's shortest axis to its longest


@dataclass(frozen=True)
class AdaptiveState(PlainState):
    """A batch of runs after a mass step, with weighted sums about the sets' present centres."""

    clusters: Tensor  # (runs, c, p)
    matrices: Tensor  # (runs, c, p, p)
    prototypes: Tensor  # (runs, f, p), the sets' centres
    objective: Tensor  # (runs,)
    change: Tensor  # (runs,)
    w: Tensor  # (runs, f), sums of |A|^alpha m^beta
    y: Tensor  # (runs, f, p), sums of |A|^alpha m^beta (x - centre)
    q: Tensor  # (runs, f, p, p), sums of |A|^alpha m^beta (x - centre)(x - centre)'
    masses: Tensor | None  # (runs, n, f + 1), if they fit in memory
    linked: Tensor | None  # (runs, m, f + 1), of the linked objects

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """The clusters' matrices, and the masses of linked objects, which the prototypes don't determine."""
        return {"matrices": self.matrices} | ({} if self.linked is None else {"masses": self.linked})

    def checkpoint_tensors(self) -> dict[str, Tensor]:
        """Return all tensors except masses that can be recomputed."""
        return named_tensors(replace(self, masses=None), "state")


@dataclass(frozen=True)
class AdaptiveProblem(PlainProblem):
    """A batch of runs: clusters' centres (runs, c, p) and matrices (runs, c, p, p)."""

    x: Tensor
    focal: FocalSets
    cost: MassCost
    corrected: bool
    adaptive: bool
    links: Links | None
    tol: float
    moves: bool = True  # False: cluster centres are fixed, as in BPEC
    state_type: ClassVar[type[Batch]] = AdaptiveState

    @cached_property
    def mean(self) -> Tensor:
        """Row A averages the clusters of A: (f, c)."""
        return means_of(self.focal, self.x)

    def shapes(self, matrices: Tensor) -> Tensor:
        """Return the sets' matrices (runs, f, p, p)."""
        return torch.einsum("ac,rcpq->rapq", self.mean, matrices)

    def levers(self, matrices: Tensor) -> Tensor:
        """Return the derivative of the sets' centres in the clusters' centres: (runs, f, c, p, p)."""
        mean, p = self.mean, matrices.shape[-1]
        if not self.corrected:
            return mean[None, :, :, None, None] * torch.eye(p, dtype=mean.dtype, device=mean.device)
        share_of = mean[None, :, :, None, None] * matrices[:, None]
        levers: Tensor = torch.linalg.solve(self.shapes(matrices)[:, :, None], share_of)
        return levers

    def centers(self, clusters: Tensor, matrices: Tensor) -> Tensor:
        """Return the sets' centres (runs, f, p)."""
        if not self.corrected:
            return self.mean @ clusters
        return torch.einsum("racpq,rcq->rap", self.levers(matrices).expand(len(clusters), -1, -1, -1, -1), clusters)

    def begin(self, start: Tensor) -> AdaptiveState:
        """Initialize from the clusters' centres (runs, c, p) with unit matrices."""
        clusters = start[:, : self.focal.n_clusters]
        runs, c, p = clusters.shape
        return self.at(clusters, torch.eye(p, dtype=start.dtype, device=start.device).expand(runs, c, p, p), None)

    def step(self, state: AdaptiveState) -> AdaptiveState:
        """Update centres, matrices unless they raise the objective, then masses."""
        moved = self.solve(state) if self.moves else state.clusters
        shaped = self.adapt(state, moved) if self.adaptive else state.matrices
        return self.at(moved, shaped, state)

    def at(self, clusters: Tensor, matrices: Tensor, before: AdaptiveState | None) -> AdaptiveState:
        """Compute masses, objective and sums over all objects; linked objects begin with their last masses."""
        runs, f, p = len(clusters), len(self.focal), self.x.shape[1]
        base, shapes = self.centers(clusters, matrices), self.shapes(matrices)
        keep = len(self.x) * runs * (f + 1) <= KEPT_CELLS
        masses = self.x.new_empty(runs, len(self.x), f + 1) if keep else None
        linked: Tensor | None = None
        objective = self.x.new_zeros(runs)
        change = self.x.new_full((runs,), torch.inf if before is None else 0.0)
        w, y = self.x.new_zeros(runs * f), self.x.new_zeros(runs * f, p)
        q = self.x.new_zeros(runs * f, p, p)
        for rows, links in self._rows():
            difference = self.x[rows] - base.flatten(0, 1)[:, None]  # (runs f, block, p)
            d = self._measured(difference, shapes)
            if links is not None:
                counts = None if self.cost.weights is None else self.cost.weights[rows]
                last = None if before is None or before.linked is None else before.linked.transpose(0, 1)
                now, weights, price = linked_masses(d, replace(self.cost, weights=counts), links, last, self.tol)
                linked = now.transpose(0, 1)
            else:
                shared = self.cost.counted(d, rows)
                now, weights, price = shared.masses, shared.weights, shared.cost.sum(0)
                last = None if before is None else self._before(before, rows)
            objective += price
            if last is not None:
                change = torch.maximum(change, (now - last).abs().amax((0, 2)))
            if masses is not None:
                masses[:, rows] = now.transpose(0, 1)
            heavy = weights.reshape(-1, runs * f).T[..., None] * difference
            w += weights.reshape(-1, runs * f).sum(0)
            y += heavy.sum(1)
            q += heavy.transpose(1, 2) @ difference
        sums = w.reshape(runs, f), y.reshape(runs, f, p), q.reshape(runs, f, p, p)
        return AdaptiveState(clusters, matrices, base, objective, change, *sums, masses, linked)

    def _measured(self, difference: Tensor, shapes: Tensor) -> Tensor:
        """Return squared distances (block, runs, f) from differences (runs f, block, p)."""
        d = ((difference @ shapes.flatten(0, 1)) * difference).sum(-1).clamp_min(0.0)
        return d.T.reshape(-1, *shapes.shape[:2])

    def _before(self, before: AdaptiveState, rows: slice | Tensor) -> Tensor:
        """Return masses (block, runs, f + 1) of the previous iteration, stored or recomputed."""
        if before.masses is not None:
            return before.masses[:, rows].transpose(0, 1)
        difference = self.x[rows] - before.prototypes.flatten(0, 1)[:, None]
        d = self._measured(difference, self.shapes(before.matrices))
        return self.cost.shares(d).masses

    def _rows(self) -> list[tuple[slice | Tensor, Links | None]]:
        """Split objects into blocks without links and one block of all linked objects."""
        size = self.x.new_empty(len(self.cost.beta) * len(self.focal), self.x.shape[1])
        if self.links is None:
            return [(rows, None) for rows in blocks(self.x, size)]
        free = torch.ones(len(self.x), dtype=torch.bool, device=self.x.device)
        free[self.links.rows] = False
        others = free.nonzero()[:, 0]
        return [*((others[cut], None) for cut in blocks(others, size)), (self.links.rows, self.links)]

    def solve(self, sums: AdaptiveState) -> Tensor:
        """Return the centres that minimize the objective for these masses and matrices; solves a system of size c p."""
        clusters, matrices = sums.clusters, sums.matrices
        shapes, levers = self.shapes(matrices), self.levers(matrices).expand(len(clusters), -1, -1, -1, -1)
        runs, c, p = clusters.shape
        pulled = torch.einsum("raclp,ralm->racpm", levers, shapes)  # T' S
        h = torch.einsum("ra,racpm,radmq->rcpdq", sums.w, pulled, levers).reshape(runs, c * p, c * p)
        b = torch.einsum("racpm,ram->rcp", pulled, sums.y).reshape(runs, c * p, 1)
        return clusters + stationary(h, b, torch.zeros_like(b)).reshape(runs, c, p)

    def scatter(self, sums: AdaptiveState, centers: Tensor) -> Tensor:
        """Return the weighted scatter (runs, f, p, p) of the objects about other centres of the sets."""
        u = centers - sums.prototypes
        cross = sums.y[..., None] * u[..., None, :]
        return sums.q - cross - cross.transpose(-1, -2) + sums.w[..., None, None] * u[..., None] * u[..., None, :]

    def inertia(self, sums: AdaptiveState, clusters: Tensor, matrices: Tensor) -> Tensor:
        """Return the objects' part of the objective (runs,) for these masses; the other parts are constant."""
        scatter = self.scatter(sums, self.centers(clusters, matrices))
        return (self.shapes(matrices) * scatter).sum((1, 2, 3))

    def adapt(self, sums: AdaptiveState, clusters: Tensor) -> Tensor:
        """Return matrices that fit the clusters' scatter about new centres, or the present ones if these are better."""
        matrices = sums.matrices
        scatter = self.scatter(sums, self.centers(clusters, matrices))
        own = torch.einsum("ac,rapq->rcpq", self.mean, scatter)
        new = unit_inverse(own, matrices)
        now, then = self.inertia(sums, clusters, matrices), self.inertia(sums, clusters, new)
        better = then <= now
        return torch.where(better[:, None, None, None], new, matrices)


def unit_inverse(scatter: Tensor, otherwise: Tensor) -> Tensor:
    r"""Return :math:`\det(\Sigma)^{1/p} \Sigma^{-1}`, the matrix of determinant 1 that minimizes a cluster's inertia.

    Eigenvalues are raised to ``FLATTEST`` times the largest; a cluster without any extent keeps ``otherwise``.
    """
    symmetric = 0.5 * (scatter + scatter.transpose(-1, -2))
    extent = symmetric.diagonal(dim1=-2, dim2=-1).sum(-1)
    some = torch.isfinite(extent) & (extent > torch.finfo(scatter.dtype).tiny)
    scaled = torch.where(some[..., None, None], symmetric / extent[..., None, None], otherwise)
    values, axes = torch.linalg.eigh(scaled)
    values = torch.maximum(values, FLATTEST * values.amax(-1, keepdim=True))
    logs = values.log()
    inverse = (logs.mean(-1, keepdim=True) - logs).exp()
    fitted = (axes * inverse[..., None, :]) @ axes.transpose(-1, -2)
    return torch.where(some[..., None, None], fitted, otherwise)


@dataclass(frozen=True)
class AdaptiveECM(VectorAlgorithm):
    """ECM with an optional matrix per cluster.

    Parameters
    ----------
    corrected : bool, default=True
        Whether a set's centre is the point of least inertia under its clusters' matrices; False: the plain mean.
    adaptive : bool, default=True
        False keeps the unit matrices: ECM.
    """

    corrected: bool = True
    adaptive: bool = True

    def unit(self, x: Tensor, weights: Tensor | None) -> Tensor | None:
        """Return the matrix of all objects as one cluster."""
        if not self.adaptive:
            return None
        rows = x.double().cpu()
        counts = torch.ones(len(rows), dtype=rows.dtype) if weights is None else weights.double().cpu()
        w = counts / counts.sum()
        centred = rows - w @ rows
        return unit_inverse((centred * w[:, None]).T @ centred, torch.eye(rows.shape[1], dtype=rows.dtype))

    def problem(self, batch: RunBatch[Tensor]) -> AdaptiveProblem:
        """Return the problem for objects in memory, with or without links."""
        x, focal, tol = batch.objects.x, batch.settings.focal, batch.settings.tol
        links = None if batch.links is None else batch.links.to(batch.objects.device)
        return AdaptiveProblem(x, focal, batch.cost(), self.corrected, self.adaptive, links, tol)

    def metric_of(self, objects: Objects[Tensor], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """Return a metric with a matrix per set."""
        return adaptive_metric(solution.extras["matrices"][run], chosen.focal)


def adaptive_metric(matrices: Tensor, focal: FocalSets) -> SetQuadratic:
    """Return the metric of one run's sets, whose clusters have matrices (c, p, p)."""
    shapes = torch.einsum("ac,cpq->apq", means_of(focal, matrices.cpu()), matrices.cpu())
    f, p = shapes.shape[:2]
    return SetQuadratic(shapes.new_ones(f), shapes.new_zeros(f, p), shapes)
