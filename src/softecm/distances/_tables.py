"""Distances between rows of a table: numbers, categories, missing cells, column weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from softecm.distances.base import ClosedForm, CompiledPasses, FusedRound, RoundCost, RunCost, Sums
from softecm.distances.squared_euclidean import ScaledPasses, VectorPasses, prices_of, weighted_means, weighted_sums
from softecm.distances.weighted_parts import made_up
from softecm.spaces.encoded import EncodedTable, Layout

if TYPE_CHECKING:
    from softecm.distances.mixed import Mixed
    from softecm.kernels.rounds import TableData


#: Maps probabilities (k, levels) and the columns' layout to each level's contribution to the distance, before weights.
Deviation = Callable[[Tensor, "LayoutTensors"], Tensor]


class LayoutTensors(NamedTuple):
    """A layout as tensors on one device."""

    p: int
    column: Tensor  # (levels,)
    heights: Tensor  # (levels,)
    weights: Tensor  # (levels,)
    unseen: Tensor  # (q,)
    slots: Tensor  # (q,)
    order: Tensor  # (slots,): row of a lookup table -> position among levels, unseen categories, one missing value
    attributes: Tensor  # (p + q,)


@lru_cache(maxsize=64)
def layout_tensors(layout: Layout, dtype: torch.dtype, device: torch.device) -> LayoutTensors:
    """Return the layout's arrays as tensors."""
    width, q = sum(layout.levels), len(layout.levels)
    order = np.full(layout.n_slots, width + q)
    order[layout.level_slots] = np.arange(width)
    order[layout.slots + np.asarray(layout.levels, dtype=np.int64)] = width + np.arange(q)

    def number(values: ArrayLike) -> Tensor:
        return torch.as_tensor(np.asarray(values, dtype=np.float64), dtype=dtype, device=device)

    def index(values: ArrayLike) -> Tensor:
        return torch.as_tensor(np.asarray(values, dtype=np.int64), device=device)

    return LayoutTensors(
        len(layout.number_weights),
        index(layout.column),
        number(layout.by_level(layout.heights)),
        number(layout.by_level(layout.category_weights)),
        number(layout.category_weights),
        index(layout.slots),
        index(order),
        index(layout.order),
    )


def squared_deviation(shares: Tensor, at: LayoutTensors) -> Tensor:
    """Return half the squared difference of a certain category and a distribution."""
    squares = shares.square()
    others = column_sums(squares, at)[:, at.column] - squares
    return 0.5 * ((1.0 - shares).square() + others.clamp_min(0.0))


def column_sums(values: Tensor, at: LayoutTensors) -> Tensor:
    """Return sums (k, q) of values (k, levels) over each column's levels."""
    return values.new_zeros(len(values), len(at.unseen)).index_add(1, at.column, values)


def lookup(v: Tensor, at: LayoutTensors, deviation: Deviation) -> Tensor:
    """Return each level's contribution to the distances (slots, k). An unseen category adds its full weight."""
    # Dividing by the exact number that encodes certainty gives a certain category probability 1 to the last bit.
    adds = at.weights * deviation(v[:, at.p :] / at.heights, at)
    rows = torch.cat([adds, at.unseen.expand(len(v), -1), v.new_zeros(len(v), 1)], 1)
    return rows[:, at.order].T


def table_pairwise(x: EncodedTable, v: Tensor, deviation: Deviation = squared_deviation) -> Tensor:
    """Return distances (n, k) of encoded objects to prototypes."""
    at = layout_tensors(x.layout, v.dtype, v.device)
    if not x.is_cuda and not (torch.is_grad_enabled() and v.requires_grad):
        from softecm.kernels import rounds

        now = v.detach().double()
        table = lookup(now, layout_tensors(x.layout, now.dtype, now.device), deviation).contiguous().numpy()
        return torch.from_numpy(rounds.table_distances(table_data(x), now[:, : at.p].numpy(), table)).to(v.dtype)
    squares = (x.numbers[:, None] - v[:, : at.p]).square()  # (n, k, p)
    d = squares.sum(-1) if x.observed is None else (squares * x.observed[:, None]).sum(-1)
    if len(at.slots):
        rows = x.codes.long() + at.slots
        d = d + torch.nn.functional.embedding_bag(rows, lookup(v, at, deviation).contiguous(), mode="sum")
    return d if x.scale is None else d * x.scale[:, None]


def table_terms(x: EncodedTable, v: Tensor, deviation: Deviation = squared_deviation) -> Tensor:
    """Return the contribution of each user column to each distance: (n, k, columns)."""
    at = layout_tensors(x.layout, v.dtype, v.device)
    terms = table_cells(x, v, deviation)[..., at.attributes]
    return terms if x.scale is None else terms * x.scale[:, None, None]


def table_cells(x: EncodedTable, v: Tensor, deviation: Deviation = squared_deviation) -> Tensor:
    """Return the contributions of the observed cells (n, k, columns), numbers first."""
    at = layout_tensors(x.layout, v.dtype, v.device)
    squares = (x.numbers[:, None] - v[:, : at.p]).square()
    if x.observed is not None:
        squares = squares * x.observed[:, None]
    adds = lookup(v, at, deviation)[x.codes.long() + at.slots].transpose(1, 2)  # (n, q, k) -> (n, k, q)
    return torch.cat([squares, adds], 2)


def level_sums(x: EncodedTable, weights: Tensor) -> Tensor:
    """Return sums of weights (n, k) over the objects with each level: (slots, k)."""
    counts = weights.new_zeros(x.layout.n_slots, weights.shape[1])
    at = layout_tensors(x.layout, weights.dtype, weights.device)
    for j in range(len(at.slots)):
        counts.index_add_(0, x.codes[:, j].long() + at.slots[j], weights)
    return counts


def table_sums(x: EncodedTable, weights: Tensor) -> Sums:
    """Return the quadratic of the squared distances to prototypes, for weights (n, k)."""
    scaled = weights if x.scale is None else weights * x.scale[:, None].to(weights.dtype)
    moment = scaled.T @ x.numbers.to(weights.dtype)  # missing cells are 0
    mass = weights.sum(0)[:, None] if x.observed is None else scaled.T @ x.observed.to(weights.dtype)
    return assemble(x.layout, mass, moment, level_sums(x, scaled).T, gaps=x.observed is not None)


def assemble(layout: Layout, mass: Tensor, moment: Tensor, counts: Tensor, *, gaps: bool) -> Sums:
    """Return sums of numbers (..., p) and categories (..., slots) as a quadratic in the prototypes (..., width)."""
    at = layout_tensors(layout, moment.dtype, moment.device)
    shown = counts[..., torch.as_tensor(layout.level_slots, device=counts.device)]  # (..., levels)
    whole = torch.cat([moment, shown * at.heights], -1)
    if not gaps:
        return Sums(mass, whole)
    present = shown.new_zeros(*shown.shape[:-1], len(at.unseen)).index_add(shown.ndim - 1, at.column, shown)
    return Sums(torch.cat([mass, present[..., at.column]], -1), whole)


def fused_table(x: EncodedTable, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]) -> FusedRound | None:
    """Run the compiled pass over a table in main memory: v (runs, f, width)."""
    if x.is_cuda:
        return None
    from softecm.kernels import rounds

    p = len(x.layout.number_weights)
    now, before = v.double(), None if previous is None else previous.double()
    sums_of_rows = rounds.table_round(
        table_data(x),
        now[..., :p].numpy(),
        lookup_arrays(now, x.layout),
        None if before is None else before[..., :p].numpy(),
        None if before is None else lookup_arrays(before, x.layout),
        prices_of(cost),
    )
    costs, mass, moment, counts, changes = (torch.from_numpy(np.ascontiguousarray(part)) for part in sums_of_rows)
    sums = assemble(x.layout, mass, moment, counts.transpose(1, 2), gaps=x.scale is not None)
    return FusedRound(costs, sums.curvature.to(v.dtype), sums.moment.to(v.dtype), changes)


def fused_table_masses(x: EncodedTable, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
    """Return masses (n, f + 1) of a table in main memory, compiled."""
    if x.is_cuda:
        return None
    from softecm.kernels import rounds

    now = v.double()
    p = len(x.layout.number_weights)
    table = lookup_arrays(now[None], x.layout)[0]
    return torch.from_numpy(
        rounds.table_masses(table_data(x), now[:, :p].numpy(), table, factors.double().numpy(), beta, delta2)
    )


def table_data(x: EncodedTable) -> TableData:
    """Return the table in the kernels' format."""
    from softecm.kernels.rounds import TableData

    if not x.codes_are_known:
        raise ValueError(
            "the table's codes must belong to categories of its columns; some do not. Encode the data again."
        )
    return TableData(
        x.numbers.contiguous().numpy(),
        x.codes.contiguous().numpy(),
        np.empty((0, x.numbers.shape[1]), dtype=bool) if x.observed is None else x.observed.contiguous().numpy(),
        np.empty(0, dtype=x.numbers.numpy().dtype) if x.scale is None else x.scale.contiguous().numpy(),
        x.layout.slots,
        x.layout.n_slots,
    )


def lookup_arrays(v: Tensor, layout: Layout) -> NDArray[np.float64]:
    """Return lookup tables (runs, slots, f) of a batch of prototypes (runs, f, width)."""
    runs, f = v.shape[:2]
    table = lookup(v.flatten(0, 1), layout_tensors(layout, v.dtype, v.device), squared_deviation)
    return np.ascontiguousarray(table.numpy().reshape(-1, runs, f).transpose(1, 0, 2))


@dataclass(frozen=True)
class TableMeans(ClosedForm):
    """The closed form of squared differences in tables: barycentres are means and frequencies."""

    quadratic = True

    def sums(self, x: EncodedTable | Tensor, v: Tensor, weights: Tensor) -> Sums:
        """Exact: the cost is a quadratic."""
        return weighted_sums(x, weights) if isinstance(x, Tensor) else table_sums(x, weights)

    def points(self, x: EncodedTable | Tensor, shape: Sequence[int]) -> Tensor | None:
        """Return the rows of a numeric table without missing cells."""
        return rows_of(x)

    barycenters = staticmethod(weighted_means)


class _CodedPasses(CompiledPasses):
    """Compiled passes over tables with categories or missing cells."""

    round = staticmethod(fused_table)
    masses = staticmethod(fused_table_masses)


@dataclass(frozen=True)
class TablePasses(CompiledPasses):
    """Compiled passes of squared differences, over tables and prototypes."""

    def round(
        self, x: EncodedTable | Tensor, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]
    ) -> FusedRound | None:
        """Use the table's or the vectors' pass."""
        objects, passes = _with_passes(x)
        return passes.round(objects, v, previous, **cost)

    def masses(self, x: EncodedTable | Tensor, v: Tensor, **cost: Unpack[RunCost]) -> Tensor | None:
        """Use the table's or the vectors' pass."""
        objects, passes = _with_passes(x)
        return passes.masses(objects, v, **cost)

    def nearest(self, x: EncodedTable | Tensor, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """Use the vectors' pass; None for other tables."""
        objects, passes = _with_passes(x)
        return passes.nearest(objects, v)


def rows_of(x: EncodedTable | Tensor) -> Tensor | None:
    """Return rows of numbers, which have faster passes, also on GPUs; None for other tables."""
    if isinstance(x, EncodedTable):
        return None if x.layout.levels or x.observed is not None else x.numbers
    return x


def _with_passes(x: EncodedTable | Tensor) -> tuple[EncodedTable | Tensor, CompiledPasses]:
    rows = rows_of(x)
    return (x, _CodedPasses()) if rows is None else (rows, VectorPasses())


def weighed_table(x: EncodedTable, factors: Sequence[float], shares: Sequence[float], least: float) -> EncodedTable:
    """Multiply every column's distances by a factor; cached.

    A row with missing cells is scaled by the shares of its observed columns; below ``least``, all its distances are 0.
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
    x.known[key] = replace(x, numbers=numbers, scale=gap_scale(x, shares, least), layout=layout, known={})
    return x.known[key]


def gap_scale(x: EncodedTable, shares: Sequence[float], least: float) -> Tensor | None:
    """Return the factors for missing cells (n,): one over the shares of a row's observed columns; None if complete."""
    there = x.there
    if there is None:
        return None
    return made_up(there.to(x.numbers) @ x.numbers.new_tensor(shares), least)


@dataclass(frozen=True)
class WeighedMeans(ClosedForm):
    """Means and frequencies, independent of column weights, which the product handles."""

    metric: Mixed
    quadratic = True

    def sums(self, x: EncodedTable | Tensor, v: Tensor, weights: Tensor) -> Sums:
        """Exact: the cost is a quadratic."""
        if isinstance(x, Tensor):
            return weighted_sums(x, weights)
        return table_sums(replace(x, scale=gap_scale(x, self.metric.shares, self.metric.least_held)), weights)

    def tensor(self, u: Tensor) -> Tensor:
        """Multiply each coordinate by its column's factor."""
        return u * self.metric.roots(u).square()

    barycenters = staticmethod(weighted_means)


@dataclass(frozen=True)
class WeighedPasses(ScaledPasses[EncodedTable | Tensor]):
    """The passes of tables, over columns multiplied by the roots of their factors."""

    metric: Mixed
    passes: ClassVar[CompiledPasses] = TablePasses()

    def rows(self, x: EncodedTable | Tensor, shape: Sequence[int]) -> EncodedTable | Tensor:
        """Return the scaled columns."""
        if isinstance(x, Tensor):
            return x * self.metric.roots(x)
        return weighed_table(x, self.metric.factors, self.metric.shares, self.metric.least_held)
