"""How the constraint of eq. 4 is kept: "a set's prototype is the barycentre of its clusters' prototypes".

A relaxation says which prototypes are free, what the constraint costs, and, for metrics whose barycentres are means, the
matrix of that cost, with which the prototype step is one linear system.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric, distances_of
from softecm.objective.equations import inertia, set_members
from softecm.optim import differentiated, minimise_small


class ConstraintCost(NamedTuple):
    """What the constraint costs at given prototypes, and the derivative of that."""

    cost: Tensor  # (runs,)
    gradient: Tensor  # (runs, f, *shape)
    inner: Tensor | None  # (runs, sets, *shape): barycentres found on the way, a start for the next round


@dataclass(frozen=True)
class Relaxation(ABC):
    """One way to keep the constraint. ``lam`` is (runs,)."""

    metric: SemiMetric
    focal: FocalSets
    lam: Tensor
    name: ClassVar[str]

    @property
    def n_free(self) -> int:
        """How many prototypes are free: all of them, or the clusters' alone."""
        return len(self.focal)

    def expand(self, free: Tensor) -> Tensor:
        """All prototypes (runs, f, *shape) from the free ones."""
        return free

    def constraint(self, prototypes: Tensor, inner: Tensor | None = None) -> ConstraintCost:
        """Price and derivative of the constraint."""
        return self._quadratic(prototypes) if self.metric.is_quadratic else self._general(prototypes, inner)

    @abstractmethod
    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """Price and derivative from the metric's values alone."""

    def _quadratic(self, prototypes: Tensor) -> ConstraintCost:
        """The same for metrics whose barycentres are means, from differences, so that nothing cancels."""
        arms, prices = arms_of(type(self), self.focal, self.lam.dtype, self.lam.device)
        apart = torch.einsum("af,rf...->ra...", arms, prototypes)
        tail = (1,) * (prototypes.ndim - 2)
        pull = self.metric.closed_form.tensor(apart * (self.lam[:, None] * prices).reshape(len(self.lam), -1, *tail))
        cost = (pull * apart).flatten(1).sum(1)
        return ConstraintCost(cost, 2.0 * torch.einsum("af,ra...->rf...", arms, pull), None)

    def matrix(self) -> Tensor:
        """Price of the constraint as a quadratic form (runs, f, f), for metrics whose barycentres are means."""
        arms, prices = arms_of(type(self), self.focal, self.lam.dtype, self.lam.device)
        return self.lam[:, None, None] * (arms.T * prices @ arms)

    @staticmethod
    @abstractmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """For those metrics, the differences (rows over all prototypes) whose squares are paid, and their prices."""

    def select(self, runs: Tensor) -> Relaxation:
        """The same for some of the runs."""
        return type(self)(self.metric, self.focal, self.lam[runs])

    def means(self) -> Tensor:
        """Row A averages the clusters of A: (f, c)."""
        return torch.tensor(self.focal.shares, dtype=self.lam.dtype, device=self.lam.device)


class Penalty(Relaxation):
    """The paper's eq. 6: lambda times the inertia of the clusters' prototypes about their set's.

    It pulls the clusters together as well: a large lambda merges all prototypes into one point.
    """

    name = "penalty"

    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """Inertia and its gradient."""
        direct = self._direct(prototypes.detach())
        if direct is not None:
            return direct
        leaf = prototypes.detach().requires_grad_()
        with torch.enable_grad():
            cost = self.lam * inertia(self.metric, leaf, *set_members(self.focal, leaf.device))
        return ConstraintCost(cost.detach(), _gradient(cost, leaf), None)

    def _direct(self, prototypes: Tensor) -> ConstraintCost | None:
        """The same from the metric's own derivatives, where it has them."""
        clusters, sets = set_members(self.focal, prototypes.device)
        if len(sets) == 0:
            return None
        found = self.metric.compiled.paired_gradients(
            prototypes[:, clusters].flatten(0, 1), prototypes[:, sets].flatten(0, 1)
        )
        if found is None:
            return None
        values, at_clusters, at_sets = found
        shape = (len(prototypes), len(sets), *prototypes.shape[2:])
        price = self.lam.reshape(-1, *(1,) * (prototypes.ndim - 1))
        gradient = torch.zeros_like(prototypes)
        gradient.index_add_(1, clusters, price * at_clusters.reshape(shape))
        gradient.index_add_(1, sets, price * at_sets.reshape(shape))
        return ConstraintCost(self.lam * values.reshape(shape[:2]).sum(1), gradient, None)

    @staticmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """v_k - v_A for every cluster k of every set A."""
        clusters, sets = set_members(focal)
        arms = torch.zeros(len(clusters), len(focal), dtype=torch.float64)
        rows = torch.arange(len(clusters))
        arms[rows, clusters] = 1.0
        arms[rows, sets] = -1.0
        return arms, torch.ones(len(clusters), dtype=torch.float64)


class Gap(Relaxation):
    """Lambda times what the inertia exceeds its own minimum by: zero exactly where the constraint holds.

    Merging the clusters gains nothing, and lambda -> inf is the hard constraint.
    """

    name = "gap"

    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """The gap, and its gradient with the inner minimiser held fixed (envelope theorem)."""
        clusters, sets = set_members(self.focal, prototypes.device)
        if len(sets) == 0:
            return ConstraintCost(prototypes.new_zeros(len(prototypes)), torch.zeros_like(prototypes), None)
        best = self._inner(prototypes.detach(), inner)
        leaf = prototypes.detach().requires_grad_()
        with torch.enable_grad():
            arms = leaf[:, clusters].flatten(0, 1)
            least = self.metric.paired(arms, best[:, sets - self.focal.n_clusters].flatten(0, 1))
            gap = inertia(self.metric, leaf, clusters, sets) - least.reshape(len(leaf), -1).sum(1)
            cost = self.lam * gap
        return ConstraintCost(cost.detach().clamp_min(0.0), _gradient(cost, leaf), best)

    def _inner(self, prototypes: Tensor, start: Tensor | None) -> Tensor:
        """Barycentres (runs, sets, *shape) of the clusters of each larger set."""
        return set_barycenters(self.metric, self.focal, prototypes[:, : self.focal.n_clusters], start)

    @staticmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """v_A minus the mean of its clusters', |A| times."""
        c = focal.n_clusters
        members = torch.as_tensor(focal.membership[c:].copy(), dtype=torch.float64)
        sizes = members.sum(1)
        return torch.cat([-members / sizes[:, None], torch.eye(len(focal) - c, dtype=torch.float64)], 1), sizes


class Exact(Relaxation):
    """The hard constraint: only the clusters' prototypes are free, the sets' follow from them."""

    name = "exact"

    @property
    def n_free(self) -> int:
        """The clusters'."""
        return self.focal.n_clusters

    def expand(self, free: Tensor) -> Tensor:
        """Append the sets' barycentres; differentiable."""
        if len(self.focal) == self.n_free:
            return free
        return torch.cat([free, set_barycenters(self.metric, self.focal, free, None)], 1)

    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """Nothing to pay: the constraint holds."""
        return ConstraintCost(prototypes.new_zeros(len(prototypes)), torch.zeros_like(prototypes), None)

    @staticmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """Nothing to pay."""
        return torch.zeros(0, len(focal), dtype=torch.float64), torch.zeros(0, dtype=torch.float64)


@lru_cache(maxsize=128)
def arms_of(
    kind: type[Relaxation], focal: FocalSets, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """A relaxation's differences and prices as tensors of this kind, made once."""
    arms, prices = kind.arms(focal)
    return arms.to(dtype=dtype, device=device), prices.to(dtype=dtype, device=device)


def _gradient(cost: Tensor, leaf: Tensor) -> Tensor:
    if not cost.requires_grad:
        return torch.zeros_like(leaf)
    (gradient,) = torch.autograd.grad(cost.sum(), leaf)
    return gradient


def has_barycenters(metric: SemiMetric, like: Tensor) -> bool:
    """Whether the metric has a closed form for barycentres, tried on prototypes of its own shape (1, *shape)."""
    return metric.closed_form.barycenters(like, like.new_ones(1, len(like))) is not None


def distances_to_sets(metric: SemiMetric, focal: FocalSets, clusters: Tensor, distances: Tensor) -> Tensor:
    """Distances (n, f) to the prototypes of all sets from those (n, c) to the clusters' (c, *shape), one run's.

    A set's prototype is the barycentre of its clusters'; it is not written down where the metric knows the distance to it.
    """
    members = torch.as_tensor(focal.membership[focal.n_clusters :].copy()).to(distances)
    if not len(members):
        return distances
    found = metric.closed_form.mixed(distances, distances_of(metric, clusters, clusters).to(distances), members)
    if found is None:
        name = metric.name or type(metric).__name__
        raise TypeError(f"metric {name} can't measure to sets from its clusters: its closed form needs mixed(...).")
    return torch.cat([distances, found], 1)


def set_barycenters(
    metric: SemiMetric, focal: FocalSets, clusters: Tensor, start: Tensor | None, tol: float = 1e-14
) -> Tensor:
    """Barycentres of the clusters of each set with several, (runs, c, *shape) -> (runs, f - c, *shape)."""
    runs, c = clusters.shape[:2]
    s = torch.as_tensor(focal.membership[c:].copy(), dtype=clusters.dtype, device=clusters.device)
    closed = metric.closed_form.barycenters(clusters, s)
    if closed is not None:
        return closed
    from_clusters, sets = set_members(focal, clusters.device)
    arms = clusters[:, from_clusters].flatten(0, 1)
    if start is None:
        means = s / s.sum(1, keepdim=True)
        start = torch.einsum("ac,rc...->ra...", means, clusters)

    def cost(candidates: Tensor) -> Tensor:
        ends = candidates[:, sets - c].flatten(0, 1)
        d = metric.paired(arms, ends).reshape(runs, -1)
        return d.sum(1)

    def compiled(candidates: Tensor) -> tuple[Tensor, Tensor]:
        found = metric.compiled.paired_gradients(arms, candidates[:, sets - c].flatten(0, 1))
        assert found is not None
        d, _, in_ends = found
        gradient = torch.zeros_like(candidates).index_add_(1, sets - c, in_ends.reshape(runs, -1, *in_ends.shape[1:]))
        return d.reshape(runs, -1).sum(1), gradient

    has_compiled = metric.compiled.paired_gradients(arms[:1], arms[:1]) is not None
    return minimise_small(compiled if has_compiled else differentiated(cost), start, tol=tol)
