"""Imitates the optimiser: masses, then a new Adam in each iteration, in single precision, with its stopping rule.

In every iteration the masses follow from the prototypes (eq. 7), then Adam moves all prototypes. Its steps end when the
cost changes by less than a tenth, which is tested before a second step and nearly always true. Iterations end when the
value below changes by less than a threshold, *or is NaN*: the comparison for continuing is then false. The mass of the
empty set is one minus the rounded sum of the others, and in single precision often -6e-8; a fractional power of it is
NaN, and the first iteration is the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm_paper.as_coded.distances import Distance


@dataclass(frozen=True)
class Settings:
    """Settings common to all runs of a sweep; as in the experiment on real data."""

    alpha: float = 2.0
    delta: float = 10.0
    rate: float = 0.1
    steps: int = 10  # maximum per iteration
    step_tol: float = 0.1  # of the cost, relative
    rounds: int = 20
    round_tol: float = 1e-3  # absolute
    clipped: bool = False  # True: clip negative masses of the empty set caused by rounding


@dataclass(frozen=True)
class Sets:
    """The sets of clusters in the experiments' order: as binary numbers, with the first cluster as the leading digit."""

    n_clusters: int
    largest: int = 2

    @cached_property
    def members(self) -> NDArray[np.bool_]:
        """Return which clusters are in which set: (sets, clusters), without the empty set."""
        rows = np.array(list(product([False, True], repeat=self.n_clusters)))
        sizes = rows.sum(1)
        small: NDArray[np.bool_] = rows[(sizes > 0) & (sizes <= self.largest)]
        return small

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Return the number of clusters of each set."""
        sizes: NDArray[np.intp] = self.members.sum(1)
        return sizes

    @cached_property
    def singles(self) -> NDArray[np.intp]:
        """Return the position of each cluster's own set."""
        return np.array([np.flatnonzero(self.members[:, k] & (self.sizes == 1))[0] for k in range(self.n_clusters)])

    @cached_property
    def ties(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return all pairs of a set and the position of one of its clusters' own sets, including a cluster with itself."""
        of, cluster = np.nonzero(self.members)
        return of, self.singles[cluster]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The final state of the runs."""

    masses: Tensor  # (runs, objects, 1 + sets), the empty set first
    prototypes: Tensor  # (runs, sets, steps, channels)
    rounds: NDArray[np.intp]  # (runs,)


def starts(x: Tensor, sets: Sets, drawn: NDArray[np.intp]) -> Tensor:
    """Place prototypes at the drawn objects (runs, clusters), each set at the mean of its clusters'."""
    own = x[torch.as_tensor(drawn)]  # (runs, clusters, steps, channels)
    return torch.stack([own[:, torch.as_tensor(row)].mean(1) for row in sets.members], dim=1)


def optimise(
    distance: Distance,
    sets: Sets,
    v: Tensor,
    beta: Tensor,
    lam: Tensor,
    settings: Settings,
    report: Callable[[int], object] = lambda n: None,
) -> Outcome:
    """Run Algorithm 1 as it was coded, for many runs at once.

    Parameters
    ----------
    v : (runs, sets, steps, channels), initial prototypes
    beta, lam : (runs,), float64
    report : called with the number of active runs once per iteration
    """
    runs, dtype = len(v), v.dtype
    masses = torch.zeros((runs, len(distance.x), 1 + len(sets.sizes)), dtype=dtype)
    ends = v.clone()
    rounds = np.zeros(runs, dtype=np.intp)
    going, before = torch.arange(runs), torch.full((runs,), torch.inf, dtype=dtype)
    d = distance.values(v)
    for number in range(1, settings.rounds + 1):
        masses_now = masses_of(d, sets, beta[going], settings)
        v, d = _adam(distance, sets, v, d, masses_now, beta[going], lam[going], settings)
        value = _stopping_value(distance, sets, d, masses_now, beta[going], lam[going], settings, number)
        masses[going], ends[going], rounds[going.numpy()] = masses_now, v, number
        on = (value - before).abs() >= settings.round_tol
        going, v, d, before = going[on], v[on], d[on], value[on]
        report(len(going))
        if not len(going):
            break
    return Outcome(masses, ends, rounds)


def masses_of(d: Tensor, sets: Sets, beta: Tensor, settings: Settings) -> Tensor:
    """Compute eq. 7 in float64, returned in the distances' precision; sets at distance 0 share an object's mass."""
    power = (-1 / (beta - 1))[:, None, None]
    sizes = torch.as_tensor(sets.sizes, dtype=torch.float64)
    weights = sizes ** (settings.alpha * power) * d.double() ** power
    zero = d == 0
    weights = torch.where(zero.any(2, keepdim=True), zero.double(), weights)
    whole = weights.sum(2) + settings.delta ** (2 * power[:, :, 0])
    masses = torch.zeros((*d.shape[:2], d.shape[2] + 1), dtype=d.dtype)
    masses[:, :, 1:] = (weights / whole[:, :, None]).to(d.dtype)
    left = 1 - masses.sum(2)
    masses[:, :, 0] = left.clamp(min=0) if settings.clipped else left
    return masses


def _weights(sets: Sets, masses: Tensor, beta: Tensor, alpha: float) -> Tensor:
    """|A|^alpha m^beta: (runs, objects, sets)."""
    sizes = torch.as_tensor(sets.sizes, dtype=masses.dtype)
    return sizes**alpha * masses[:, :, 1:] ** beta.to(masses.dtype)[:, None, None]


def _adam(
    distance: Distance, sets: Sets, v: Tensor, d: Tensor, masses: Tensor, beta: Tensor, lam: Tensor, settings: Settings
) -> tuple[Tensor, Tensor]:
    """Run one iteration's steps: return the final prototypes, and their distances."""
    v, d = v.clone(), d.clone()
    weights, lam = _weights(sets, masses, beta, settings.alpha), lam.to(v.dtype)
    first, second = torch.zeros_like(v), torch.zeros_like(v)
    moving = torch.arange(len(v))
    tied, pulls = _ties(distance, sets, v)
    cost = (weights * d).sum((1, 2)) + lam * tied
    for step in range(1, settings.steps + 1):
        gradient = distance.gradient(v[moving], weights[moving]) + lam[moving, None, None, None] * pulls
        first[moving] = 0.9 * first[moving] + 0.1 * gradient
        second[moving] = 0.999 * second[moving] + 0.001 * gradient.square()
        length = (second[moving] / (1 - 0.999**step)).sqrt() + 1e-8
        v[moving] -= settings.rate * (first[moving] / (1 - 0.9**step)) / length
        d[moving] = distance.values(v[moving])
        tied, pulls = _ties(distance, sets, v[moving])
        now = (weights[moving] * d[moving]).sum((1, 2)) + lam[moving] * tied
        change = (cost - now).abs() / cost
        # A NaN cost stays NaN: further steps would have no visible effect.
        on = ~(change < settings.step_tol) & ~now.isnan()
        moving, cost, pulls = moving[on], now[on], pulls[on]
        if not len(moving):
            break
    return v, d


def _ties(distance: Distance, sets: Sets, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of distances between sets' and clusters' prototypes, a cluster's own included, and its gradient."""
    of, single = (torch.as_tensor(index) for index in sets.ties)
    values, from_single, from_set = distance.paired(v[:, single], v[:, of])
    gradient = torch.zeros_like(v).index_add_(1, single, from_single).index_add_(1, of, from_set)
    return values.sum(1), gradient


def _stopping_value(
    distance: Distance,
    sets: Sets,
    d: Tensor,
    masses: Tensor,
    beta: Tensor,
    lam: Tensor,
    settings: Settings,
    number: int,
) -> Tensor:
    """Return the value that must converge: lambda squared instead of delta squared, once per set, means as distances."""
    exponent, lam = beta.to(d.dtype)[:, None], lam.to(d.dtype)
    empty = len(sets.sizes) * lam**2 * (masses[:, :, 0] ** exponent).sum(1)
    weights, looked_at = _weights(sets, masses, beta, settings.alpha), distance.in_stopping_rule(d)
    if looked_at is None:
        return number + 0 * (weights.sum((1, 2)) + empty)  # changes in every iteration, unless it is NaN
    return (weights * looked_at).sum((1, 2)) + empty
