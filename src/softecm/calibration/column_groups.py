r"""Nonparametric groups, column by column: smoothed counts instead of a formula.

If no Gaussian describes the groups (sharp borders, skewed columns), and for tables with categories, a group's density
is a product over columns, :math:`f_k(x) = \prod_l f_{kl}(x_l)`: for a number a histogram smoothed with an Epanechnikov
kernel, which ends where the group ends, for a category its share. Missing cells are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softecm.calibration.intervals import FloatArray, IntArray
from softecm.spaces.encoded import EncodedTable

ITERATIONS, TOLERANCE = 4, 1e-3
# Half the kernel's width in spreads, for one object: half of what suits a density, so that borders stay sharp.
HALF = 1.2
CELLS_EACH = 4  # grid cells per half kernel
MOST_CELLS = 128
REACH = 8.0  # spreads within groups beyond the quartiles: the last cell contains more extreme numbers
FLOOR = 1e-3  # share of a group spread over the whole column, so that nothing is impossible
LEAST = 1e-6  # of the largest weight of a column: columns with less were removed
DRAWN = 1.0  # prior weight, in objects of all groups together, for each group's shares of categories


@dataclass(frozen=True)
class GridColumn:
    """A column as cells of a grid, or as categories."""

    of: IntArray  # (n,), -1 where missing
    kernel: FloatArray | None  # (cells, cells), density of each cell from a count; None for categories
    n_cells: int


@dataclass(frozen=True)
class ColumnGroups:
    """The columns that distinguish groups."""

    columns: tuple[GridColumn, ...]
    form = "groups as they are in each column"

    @classmethod
    def of(cls, x: object, start: FloatArray, weights: FloatArray, *, smooth: bool = False) -> ColumnGroups | None:
        """Return the columns of encoded vectors or rows, with spreads in approximate groups (n, c); None for others.

        ``smooth`` doubles the width of kernels, for densities without borders.
        """
        if isinstance(x, EncodedTable):
            numbers, codes = _cells_of(x)
        elif isinstance(x, Tensor) and x.ndim == 2 and x.layout == torch.strided:
            numbers, codes = list(x.double().numpy().T), []
        else:
            return None
        own = [_grid(column, start, weights, HALF * (1 + smooth)) for column in numbers]
        own += [GridColumn(column, None, int(column.max(initial=0)) + 1) for column in codes]
        used = tuple(cells for cells in own if cells.n_cells > 1)
        return cls(used) if used else None

    def fitted(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Return probabilities (runs, n, c) of groups for object weights (runs, n), iterated from ``start``."""
        begin = start if start.ndim == 3 else np.repeat(start[None], len(weights), 0)
        shares = np.ascontiguousarray(begin.transpose(0, 2, 1))
        for _ in range(ITERATIONS):
            before, shares = shares, _normalised(self.log_joint(shares, weights))
            if np.abs(shares - before).max() <= TOLERANCE:
                break
        return np.ascontiguousarray(shares.transpose(0, 2, 1))

    def log_joint(self, shares: FloatArray, weights: FloatArray) -> FloatArray:
        """Return log-densities (runs, c, n) of all objects in groups of ``shares`` (runs, c, n), including group sizes."""
        held = shares * weights[:, None]
        total = held.sum(2)
        logs: FloatArray = np.repeat(
            np.log(np.maximum(total, 1e-300) / total.sum(1, keepdims=True))[..., None], held.shape[2], 2
        )
        for cells in self.columns:
            logs += _log_density(cells, held)
        return logs


def _log_density(cells: GridColumn, held: FloatArray) -> FloatArray:
    """Return the log-density of each object in each group (runs, c, n)."""
    runs, c, n = held.shape
    known = cells.of >= 0
    marks = np.zeros((n, cells.n_cells))
    marks[np.flatnonzero(known), cells.of[known]] = 1.0
    counts = (held.reshape(-1, n) @ marks).reshape(runs, c, -1)
    if cells.kernel is None:
        everyone = counts.sum(1, keepdims=True) + 0.5
        counts = counts + DRAWN * everyone / everyone.sum(2, keepdims=True)
        density = counts / counts.sum(2, keepdims=True)
    else:
        smooth = counts @ cells.kernel
        total = np.maximum(smooth.sum(2, keepdims=True), 1e-300)
        density = (1.0 - FLOOR) * smooth / total + FLOOR / cells.n_cells
    logs: FloatArray = np.log(density)[:, :, np.maximum(cells.of, 0)]
    logs[:, :, ~known] = 0.0
    return logs


def _normalised(logs: FloatArray) -> FloatArray:
    odds = np.exp(logs - logs.max(1, keepdims=True))
    shares: FloatArray = odds / odds.sum(1, keepdims=True)
    return shares


def _grid(column: FloatArray, start: FloatArray, weights: FloatArray, width: float) -> GridColumn:
    """Return a column of numbers, NaN if missing, on a grid with the resolution of its kernel."""
    known = np.isfinite(column)
    held, values = (start * weights[:, None])[known], column[known]
    total = np.maximum(held.sum(0), 1e-300)
    means = held.T @ values / total
    spread = np.sqrt((held * np.square(values[:, None] - means)).sum() / max(float(total.sum()), 1e-300))
    if not len(values) or not spread > 0:
        return GridColumn(np.zeros(len(column), dtype=np.int64), None, 1)
    half = width * spread * (max(float(total.sum()), 1.0) / start.shape[1]) ** -0.2
    low, high = np.quantile(values, [0.25, 0.75]) + np.array([-REACH, REACH]) * spread
    low, high = max(low, float(values.min())) - half, min(high, float(values.max())) + half
    n_cells = int(np.clip(CELLS_EACH * (high - low) / half, 8, MOST_CELLS))
    cell = (high - low) / n_cells
    of = np.full(len(column), -1, dtype=np.int64)
    of[known] = np.clip((values - low) / cell, 0, n_cells - 1).astype(np.int64)
    away = np.abs(np.subtract.outer(np.arange(n_cells), np.arange(n_cells))) * cell / half
    return GridColumn(of, np.maximum(1.0 - away**2, 0.0), n_cells)


def _cells_of(x: EncodedTable) -> tuple[list[FloatArray], list[IntArray]]:
    """Return numbers, NaN if missing, and codes, -1 if missing, of the columns that were not removed."""
    layout = x.layout
    largest = max([*layout.number_weights, *layout.category_weights], default=0.0)
    numbers: list[FloatArray] = []
    for j, weight in enumerate(layout.number_weights):
        if weight > LEAST * largest:
            values = x.numbers[:, j].double().numpy()
            numbers.append(values if x.observed is None else np.where(x.observed[:, j].numpy(), values, np.nan))
    codes: list[IntArray] = []
    for j, (weight, levels) in enumerate(zip(layout.category_weights, layout.levels, strict=True)):
        if weight > LEAST * largest:
            own = x.codes[:, j].numpy().astype(np.int64)
            codes.append(np.where(own < levels, own, -1))
    return numbers, codes
