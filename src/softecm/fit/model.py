"""A fitted prototype model: what prediction needs, and nothing of how it was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_number
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.combining import sound
from softecm.distances.base import SemiMetric, distances_of, metric_rule
from softecm.files.expected import NOT_NEGATIVE, POSITIVE, Misfit, Range, maybe, number, rules
from softecm.files.values import Savable, own
from softecm.objective import POWER_MASSES, MassCost, MassRule, mass_cost, masses_of
from softecm.objective.problem import distances_to_sets, set_barycenters
from softecm.spaces.base import Space

DELTA_HINT = "Give a distance, None for no outliers, or 'fitted'."
ROWS = 1 << 11  # objects that are given masses at once


@dataclass(frozen=True)
class PrototypeModel(Savable):
    """Prototypes in a space, the metric that measures there, and the prices of a mass (CPU tensors)."""

    metric: SemiMetric
    space: Space
    focal: FocalSets
    prototypes: Tensor  # (f, *shape); where they are wide, (c, *shape): sets then follow from their clusters
    alpha: float
    beta: float
    delta: float | None
    tie: float  # the price of the constraint on the sets' prototypes, per training object
    close: float | None = None  # the delta the clusters were found with, where it is not that of the masses
    rule: MassRule = POWER_MASSES  # how masses follow from distances
    SAVED = rules(
        focal=own(FocalSets),
        space=own(Space),
        metric=metric_rule,
        alpha=number(NOT_NEGATIVE),
        beta=number(Range(above=1)),
        delta=maybe(number(POSITIVE)),
        tie=number(),
        close=maybe(number(POSITIVE)),
        rule=own(MassRule),
    )

    def check_parts(self) -> None:
        """Refuse parts out of a file that have nothing to do with each other."""
        sets, clusters = len(self.focal), self.focal.n_clusters
        if len(self.prototypes) not in ((clusters, sets) if self.space.wide else (sets,)):
            raise Misfit(f"model_.prototypes are {len(self.prototypes)}, for {sets} focal sets")
        if (self.prototypes.ndim == 1) != self.metric.discrete:
            raise Misfit("model_.prototypes are not what the metric measures to")
        self.space.check_kind(self.metric.make_space())
        self.space.check_prototypes(self.prototypes)
        self.metric.check_fitted(self.space, self.focal)

    def cost(self) -> MassCost:
        """Prices of a batch of one run."""
        return mass_cost(self.focal, self.alpha, self.beta, self.delta, like=self.prototypes, rule=self.rule)

    def repriced(self, alpha: float | None, beta: float | None, delta: float | str | None) -> PrototypeModel:
        """The same prototypes with other prices; None keeps alpha and beta, "fitted" delta."""
        given = self.delta if isinstance(delta, str) and delta == "fitted" else delta
        return replace(
            self,
            alpha=self.alpha if alpha is None else check_number("alpha", alpha, hint="1 is usual.", least=0),
            beta=self.beta if beta is None else check_number("beta", beta, hint="1.2 is usual.", above=1),
            delta=None if given is None else check_number("delta", given, hint=DELTA_HINT, above=0),
        )

    def masses(self, x: Any) -> NDArray[np.float64]:
        """Masses (n, f + 1) of encoded objects: one mass update (eq. 7, or the algorithm's own rule)."""
        if not torch.isfinite(self.prototypes).all():
            raise ValueError("the model's prototypes must be finite numbers; some are not. Fit it again.")
        if self.follows:
            return self.measured(x)[0].masses
        with torch.no_grad():
            return masses_of(self.metric, x, self.prototypes, self.cost()).double().numpy()

    @property
    def follows(self) -> bool:
        """Whether the sets' prototypes are not there: they are the barycentres of their clusters'."""
        return self.prototypes.ndim > 1 and len(self.prototypes) < len(self.focal)

    def whole(self) -> Tensor:
        """The prototypes (f, *shape) of all sets, written down."""
        if not self.follows:
            return self.prototypes
        return torch.cat([self.prototypes, set_barycenters(self.metric, self.focal, self.prototypes[None], None)[0]])

    def to(self, device: torch.device) -> PrototypeModel:
        """The same with its prototypes on a device; its metric is taken to follow them."""
        return replace(self, prototypes=self.prototypes.to(device))

    def measured(self, x: Any) -> tuple[CredalPartition, NDArray[np.float64]]:
        """The partition of encoded objects and their distances (n, f), from one pass where the prototypes are."""
        cost, d = self.cost().of_run(0), self._distances(x)
        cuts = range(0, max(1, len(x)), ROWS)
        masses = [cost.shares(d[i : i + ROWS]).masses.cpu() for i in cuts]
        table = torch.cat(masses).double().numpy()
        return CredalPartition._trusted(sound(table), self.focal), d.double().cpu().numpy()

    def partition(self, x: object) -> CredalPartition:
        """The credal partition of encoded objects."""
        return CredalPartition._trusted(sound(self.masses(x)), self.focal)  # ours to keep: no copy

    def distances(self, x: object) -> NDArray[np.floating[Any]]:
        """Distances (n, f) of encoded objects to the prototypes."""
        return self._distances(x).numpy()

    def _distances(self, x: Any) -> Tensor:
        d = distances_of(self.metric, x, self.prototypes)
        return distances_to_sets(self.metric, self.focal, self.prototypes, d) if self.follows else d

    def mean_cost(self, x: Any, weights: NDArray[np.float64] | None) -> float:
        """The objective per object at these prototypes."""
        d = torch.from_numpy(np.asarray(self.distances(x), dtype=np.float64))
        cost = self.cost().of_run(0)
        cost = replace(cost, factors=cost.factors.double(), beta=cost.beta.double(), delta2=cost.delta2.double())
        values = cost.shares(d).cost.numpy()
        return float(np.average(values, weights=weights)) + self.tie

    def terms(self, x: Any) -> NDArray[np.floating[Any]]:
        """What each attribute adds to each distance: (n, f, attributes)."""
        with torch.no_grad():
            terms = self.metric.terms(x, self.whole())
        if terms is None:
            name = self.metric.name or type(self.metric).__name__
            raise ValueError(
                f"metric must add up over attributes for explain; got {name}, which does not. Use transform for its "
                "distances, or a metric such as 'sqeuclidean', 'manhattan', 'hamming', 'mixed' or 'softdtw'."
            )
        return terms.numpy()
