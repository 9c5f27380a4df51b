r"""ECM in which every cluster measures with a matrix of its own (Gustafson and Kessel's metric).

Cluster k owns a symmetric positive definite matrix :math:`S_k` of determinant 1; a set measures with the mean of its
clusters' matrices, :math:`D_{iA} = (x_i - \bar v_A)^\top \bar S_A (x_i - \bar v_A)`. Its centre :math:`\bar v_A` is the
plain mean of its clusters' centres (CECM and BPEC), or the point of least inertia under their own matrices (ECM+),

.. math:: \bar v_A = \Big(\sum_{k \in A} S_k\Big)^{-1} \sum_{k \in A} S_k v_k.

One pass over the objects gives the masses and, about the present centres, the weighted sums up to the second order; the
centre step, the matrix step and the checks of the objective need no more than those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.algorithms.constrained import linked_masses
from softecm.algorithms.links import Links
from softecm.algorithms.rounds import RISE
from softecm.algorithms.set_metric import SetQuadratic
from softecm.algorithms.solution import Progress, Solution
from softecm.belief.focal import FocalSets
from softecm.objective import KEPT_CELLS, MassCost, blocks, mass_cost, share

FLATTEST = 1e-6  # a cluster's shortest axis over its longest, squared: thinner ones are filled up


class Adapted(NamedTuple):
    """Where the runs ended, and the clusters' matrices (runs, c, p, p)."""

    solution: Solution
    matrices: Tensor


class Sums(NamedTuple):
    """A round's mass step: objective, masses, and weighted sums about the sets' present centres."""

    objective: Tensor  # (runs,)
    masses: Tensor  # (n, runs, f + 1)
    base: Tensor  # (runs, f, p), the centres
    w: Tensor  # (runs, f), sums of |A|^alpha m^beta
    y: Tensor  # (runs, f, p), of these times x - base
    q: Tensor  # (runs, f, p, p), of these times (x - base)(x - base)'


@dataclass(frozen=True)
class AdaptiveProblem:
    """A batch of runs: clusters' centres (runs, c, p) and matrices (runs, c, p, p)."""

    x: Tensor
    focal: FocalSets
    cost: MassCost
    corrected: bool
    links: Links | None
    tol: float

    @cached_property
    def mean(self) -> Tensor:
        """Row A averages the clusters of A: (f, c)."""
        s = torch.as_tensor(self.focal.membership.copy(), dtype=self.x.dtype, device=self.x.device)
        return s / s.sum(1, keepdim=True)

    def shapes(self, matrices: Tensor) -> Tensor:
        """The sets' matrices (runs, f, p, p)."""
        return torch.einsum("ac,rcpq->rapq", self.mean, matrices)

    def levers(self, matrices: Tensor) -> Tensor:
        """How a cluster's centre moves its sets' centres: (runs, f, c, p, p)."""
        mean, p = self.mean, matrices.shape[-1]
        if not self.corrected:
            return mean[None, :, :, None, None] * torch.eye(p, dtype=mean.dtype, device=mean.device)
        share_of = mean[None, :, :, None, None] * matrices[:, None]
        levers: Tensor = torch.linalg.solve(self.shapes(matrices)[:, :, None], share_of)
        return levers

    def centers(self, clusters: Tensor, matrices: Tensor) -> Tensor:
        """The sets' centres (runs, f, p)."""
        if not self.corrected:
            return self.mean @ clusters
        return torch.einsum("racpq,rcq->rap", self.levers(matrices).expand(len(clusters), -1, -1, -1, -1), clusters)

    def masses(self, clusters: Tensor, matrices: Tensor, before: Sums | None) -> Sums:
        """Masses, objective and sums over all objects; linked objects start from their last masses."""
        runs, f, p = len(clusters), len(self.focal), self.x.shape[1]
        base, shapes = self.centers(clusters, matrices), self.shapes(matrices)
        flat, turned = base.flatten(0, 1), shapes.flatten(0, 1)
        out = self.x.new_empty(len(self.x), runs, f + 1)
        objective = self.x.new_zeros(runs)
        w, y = self.x.new_zeros(runs * f), self.x.new_zeros(runs * f, p)
        q = self.x.new_zeros(runs * f, p, p)
        for rows, links in self._rows():
            part = self.x[rows]
            difference = part - flat[:, None]  # (runs f, block, p)
            d = ((difference @ turned) * difference).sum(-1).clamp_min(0.0)
            d = d.T.reshape(-1, runs, f)
            counts = None if self.cost.weights is None else self.cost.weights[rows]
            if links is not None:
                last = None if before is None else before.masses[rows]
                found = linked_masses(d, replace(self.cost, weights=counts), links, last, self.tol)
                out[rows], weights, price = found
                objective += price
            else:
                shares = share(d, self.cost.factors, self.cost.beta, self.cost.delta2)
                out[rows], weights = shares.masses, shares.weights
                price = shares.cost
                if counts is not None:
                    weights, price = weights * counts[:, None, None], price * counts[:, None]
                objective += price.sum(0)
            heavy = weights.reshape(-1, runs * f).T[..., None] * difference
            w += weights.reshape(-1, runs * f).sum(0)
            y += heavy.sum(1)
            q += heavy.transpose(1, 2) @ difference
        shape = (runs, f, p)
        return Sums(objective, out, base, w.reshape(runs, f), y.reshape(shape), q.reshape(*shape, p))

    def _rows(self) -> list[tuple[Any, Links | None]]:
        """Blocks of objects without links, then the linked ones in one."""
        size = self.x.new_empty(len(self.cost.beta) * len(self.focal), self.x.shape[1])
        if self.links is None:
            return [(rows, None) for rows in blocks(len(self.x), size)]
        free = torch.ones(len(self.x), dtype=torch.bool, device=self.x.device)
        free[self.links.rows] = False
        others = free.nonzero()[:, 0]
        return [*((others[cut], None) for cut in blocks(len(others), size)), (self.links.rows, self.links)]

    def solve(self, sums: Sums, clusters: Tensor, matrices: Tensor) -> Tensor:
        """The centres that minimise the objective for these masses and matrices: a system of size c p."""
        shapes, levers = self.shapes(matrices), self.levers(matrices).expand(len(clusters), -1, -1, -1, -1)
        runs, c, p = clusters.shape
        pulled = torch.einsum("raclp,ralm->racpm", levers, shapes)  # T' S
        h = torch.einsum("ra,racpm,radmq->rcpdq", sums.w, pulled, levers).reshape(runs, c * p, c * p)
        b = torch.einsum("racpm,ram->rcp", pulled, sums.y).reshape(runs, c * p, 1)
        # A cluster without mass stays where it is.
        ridge = 1e-13 * h.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None] + 1e-280
        h = h + ridge * torch.eye(c * p, dtype=h.dtype, device=h.device)
        step: Tensor = torch.linalg.solve(h, b).reshape(runs, c, p)
        return clusters + step

    def scatter(self, sums: Sums, centers: Tensor) -> Tensor:
        """Weighted scatter (runs, f, p, p) of the objects about other centres of the sets."""
        u = centers - sums.base
        cross = sums.y[..., None] * u[..., None, :]
        return sums.q - cross - cross.transpose(-1, -2) + sums.w[..., None, None] * u[..., None] * u[..., None, :]

    def inertia(self, sums: Sums, clusters: Tensor, matrices: Tensor) -> Tensor:
        """The objects' part of the objective (runs,) for these masses; the empty set's and the links' are constant."""
        scatter = self.scatter(sums, self.centers(clusters, matrices))
        return (self.shapes(matrices) * scatter).sum((1, 2, 3))

    def adapt(self, sums: Sums, clusters: Tensor, matrices: Tensor) -> Tensor:
        """Matrices that fit the clusters' scatter, where they don't raise the objective."""
        scatter = self.scatter(sums, self.centers(clusters, matrices))
        own = torch.einsum("ac,rapq->rcpq", self.mean, scatter)
        new = unit_inverse(own, matrices)
        now, then = self.inertia(sums, clusters, matrices), self.inertia(sums, clusters, new)
        better = then <= now
        return torch.where(better[:, None, None, None], new, matrices)

    def select(self, runs: Tensor) -> AdaptiveProblem:
        """The same for some of the runs."""
        return replace(self, cost=self.cost.select(runs))


def unit_inverse(scatter: Tensor, otherwise: Tensor) -> Tensor:
    r""":math:`\det(\Sigma)^{1/p} \Sigma^{-1}`, the matrix of determinant 1 that makes a cluster's inertia least.

    Flat clusters are filled up to ``FLATTEST`` of their largest axis; one without any extent keeps ``otherwise``.
    """
    symmetric = 0.5 * (scatter + scatter.transpose(-1, -2))
    extent = symmetric.diagonal(dim1=-2, dim2=-1).sum(-1)
    some = torch.isfinite(extent) & (extent > torch.finfo(scatter.dtype).tiny ** 0.5)
    scaled = torch.where(some[..., None, None], symmetric / extent[..., None, None], otherwise)
    values, axes = torch.linalg.eigh(scaled)
    values = torch.maximum(values, FLATTEST * values.amax(-1, keepdim=True))
    logs = values.log()
    inverse = (logs.mean(-1, keepdim=True) - logs).exp()
    fitted = (axes * inverse[..., None, :]) @ axes.transpose(-1, -2)
    return torch.where(some[..., None, None], fitted, otherwise)


def adaptive_ecm(
    x: Tensor,
    focal: FocalSets,
    init: Tensor,
    *,
    alpha: float = 1.0,
    beta: float = 2.0,
    delta: float | None = None,
    corrected: bool = True,
    adaptive: bool = True,
    weights: Tensor | None = None,
    links: Links | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    callback: Callable[[Progress], Any] | None = None,
) -> Adapted:
    """Cluster vectors x (n, p) from starting centres (runs, c, p) and unit matrices.

    Parameters
    ----------
    corrected : bool, default=True
        Whether a set's centre is the point of least inertia under its clusters' matrices; False: the plain mean.
    adaptive : bool, default=True
        False keeps the unit matrices: ECM.
    links : Links, optional
        Must-links and cannot-links between objects.
    """
    cost = mass_cost(focal, alpha, beta, delta, like=init, runs=len(init), weights=weights)
    links = None if links is None else links.to(x.device)
    problem = AdaptiveProblem(x, focal, cost, corrected, links, tol)
    size = max(1, KEPT_CELLS // (len(x) * (len(focal) + 1)))  # runs whose masses are held at once
    groups = [
        _iterate(problem.select(runs), init[runs, : focal.n_clusters], adaptive, max_iter, callback)
        for runs in torch.split(torch.arange(len(init), device=x.device), size)  # type: ignore[no-untyped-call]
    ]
    return Adapted(_joined([g.solution for g in groups]), torch.cat([g.matrices for g in groups]))


def _iterate(
    problem: AdaptiveProblem,
    clusters: Tensor,
    adaptive: bool,
    max_iter: int,
    callback: Callable[[Progress], Any] | None,
) -> Adapted:
    """Alternate masses, centres and matrices until the masses stand still; runs leave the batch as they finish."""
    runs, c, p = clusters.shape
    matrices = torch.eye(p, dtype=clusters.dtype, device=clusters.device).expand(runs, c, p, p).clone()
    sums = problem.masses(clusters, matrices, None)
    active = torch.arange(runs)
    ended, ended_matrices = clusters.clone(), matrices.clone()
    objective = _numpy(sums.objective)
    history = [[float(v)] for v in objective]
    n_iter, converged = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=bool)
    links = problem.links
    kept = None if links is None else sums.masses[links.rows].transpose(0, 1).clone()
    for iteration in range(1, max_iter + 1):
        moved = problem.solve(sums, clusters, matrices)
        shaped = problem.adapt(sums, moved, matrices) if adaptive else matrices
        new = problem.masses(moved, shaped, sums)
        # Descent is checked, not hoped for: a round that would raise the objective beyond rounding is not taken.
        fine = new.objective <= sums.objective + RISE * sums.objective.abs()
        change = torch.where(fine, (new.masses - sums.masses).abs().amax((0, 2)), 0.0)
        clusters = torch.where(fine[:, None, None], moved, clusters)
        matrices = torch.where(fine[:, None, None, None], shaped, matrices)
        sums = new if bool(fine.all()) else problem.masses(clusters, matrices, sums)
        index = active.numpy()
        ended[active], ended_matrices[active] = clusters, matrices
        if kept is not None and links is not None:
            kept[active] = sums.masses[links.rows].transpose(0, 1)
        objective[index] = np.where(fine.cpu().numpy(), _numpy(sums.objective), objective[index])
        n_iter[index] = iteration
        for run in index:
            history[run].append(float(objective[run]))
        done = change.cpu() <= problem.tol
        converged[index] = done.numpy()
        stop = callback is not None and callback(
            Progress(iteration, max_iter, objective.copy(), int((~done).sum()), float(change.max()))
        )
        if stop or bool(done.all()):
            break
        if bool(done.any()):
            going = (~done).nonzero()[:, 0]
            active = active[going]
            going = going.to(clusters.device)
            clusters, matrices, problem = clusters[going], matrices[going], problem.select(going)
            sums = Sums(sums.objective[going], sums.masses[:, going], *(part[going] for part in sums[2:]))
    prototypes = problem.centers(ended, ended_matrices)
    tie = np.zeros(runs)
    histories = tuple(np.asarray(h) for h in history)
    return Adapted(Solution(prototypes, objective, tie, histories, n_iter, converged, masses=kept), ended_matrices)


def _joined(parts: list[Solution]) -> Solution:
    """Groups of runs in a row."""
    if len(parts) == 1:
        return parts[0]
    masses = [part.masses for part in parts if part.masses is not None]
    return Solution(
        torch.cat([part.prototypes for part in parts]),
        np.concatenate([part.objective for part in parts]),
        np.concatenate([part.tie for part in parts]),
        tuple(h for part in parts for h in part.history),
        np.concatenate([part.n_iter for part in parts]),
        np.concatenate([part.converged for part in parts]),
        masses=torch.cat(masses) if masses else None,
    )


def _numpy(values: Tensor) -> NDArray[np.float64]:
    return np.array(values.double().cpu().numpy())


def adaptive_metric(matrices: Tensor, focal: FocalSets) -> SetQuadratic:
    """How the sets of one run, whose clusters have matrices (c, p, p), measure."""
    mean = torch.as_tensor(focal.membership / focal.cardinalities[:, None], dtype=matrices.dtype)
    shapes = torch.einsum("ac,cpq->apq", mean, matrices.cpu())
    f, p = shapes.shape[:2]
    return SetQuadratic(shapes.new_ones(f), shapes.new_zeros(f, p), shapes)


def unit_of_data(x: Tensor, counts: NDArray[np.float64]) -> Tensor:
    """The matrix of determinant 1 of all objects taken as one cluster, (p, p)."""
    rows = x.double().cpu()
    w = torch.as_tensor(counts / counts.sum())
    centred = rows - w @ rows
    return unit_inverse((centred * w[:, None]).T @ centred, torch.eye(rows.shape[1], dtype=rows.dtype))
