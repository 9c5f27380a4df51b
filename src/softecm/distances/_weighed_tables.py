"""Tables whose columns have weights of their own beside those that the encoding knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import torch
from torch import Tensor

from softecm.distances._tables import TablePasses, table_sums
from softecm.distances.base import ClosedForm, CompiledPasses, FusedRound, Sums
from softecm.distances.optional import RoundCost, RunCost
from softecm.distances.squared_euclidean import weighted_means, weighted_sums
from softecm.spaces.encoded import EncodedTable

if TYPE_CHECKING:
    from softecm.distances.mixed import Mixed


def weighed_table(x: EncodedTable, factors: Sequence[float], shares: Sequence[float]) -> EncodedTable:
    """The table with every column's distances multiplied by a factor; made once.

    A row with gaps counts as much as the shares of the columns it has.
    """
    key = tuple(factors)
    if key in x.known:
        return x.known[key]
    p, roots = len(x.layout.number_weights), [factor**0.5 for factor in factors]
    layout = replace(
        x.layout,
        number_weights=tuple(w * f for w, f in zip(x.layout.number_weights, factors[:p], strict=True)),
        category_weights=tuple(w * f for w, f in zip(x.layout.category_weights, factors[p:], strict=True)),
        heights=tuple(h * r for h, r in zip(x.layout.heights, roots[p:], strict=True)),
    )
    numbers = x.numbers * x.numbers.new_tensor(roots[:p])
    found = replace(x, numbers=numbers, scale=gap_scale(x, shares), layout=layout, known={})
    x.known[key] = found
    return found


def gap_scale(x: EncodedTable, shares: Sequence[float]) -> Tensor | None:
    """What makes up for a row's gaps (n,): one over the shares of the columns it has; None without gaps."""
    there = x.there
    if there is None:
        return None
    held = there.to(x.numbers) @ x.numbers.new_tensor(shares)
    return 1.0 / held.clamp_min(torch.finfo(held.dtype).tiny)


@dataclass(frozen=True)
class WeighedMeans(ClosedForm):
    """Means and frequencies, whatever the columns' weights: these are the affair of the product."""

    metric: Mixed
    quadratic = True

    def sums(self, x: EncodedTable | Tensor, v: Tensor, weights: Tensor) -> Sums:
        """Exact: the cost is itself a quadratic."""
        if isinstance(x, Tensor):
            return weighted_sums(x, weights)
        return table_sums(replace(x, scale=gap_scale(x, self.metric.shares)), weights)

    def tensor(self, u: Tensor) -> Tensor:
        """Each coordinate times its column's factor."""
        return u * self.metric.roots(u).square()

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor:
        """Weighted means."""
        return weighted_means(x, weights)


@dataclass(frozen=True)
class WeighedPasses(CompiledPasses):
    """The passes of tables, over columns that have been multiplied by the roots of their factors."""

    metric: Mixed

    def round(
        self, x: EncodedTable | Tensor, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]
    ) -> FusedRound | None:
        """The table's or the vectors' pass."""
        by = self.metric.roots(v)
        found = TablePasses().round(self._rows(x), v * by, None if previous is None else previous * by, **cost)
        return None if found is None else found._replace(moment=found.moment / by)

    def masses(self, x: EncodedTable | Tensor, v: Tensor, **cost: Unpack[RunCost]) -> Tensor | None:
        """The table's or the vectors' pass."""
        return TablePasses().masses(self._rows(x), v * self.metric.roots(v), **cost)

    def nearest(self, x: EncodedTable | Tensor, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """The vectors' pass; None for other tables."""
        return TablePasses().nearest(self._rows(x), v * self.metric.roots(v))

    def _rows(self, x: EncodedTable | Tensor) -> EncodedTable | Tensor:
        if isinstance(x, Tensor):
            return x * self.metric.roots(x)
        return weighed_table(x, self.metric.factors, self.metric.shares)
