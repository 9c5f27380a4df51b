"""Time series compared by slopes or after normalization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._text import place
from softecm.files.expected import Misfit, flag, rules, text
from softecm.spaces.base import Space
from softecm.spaces.series import Lengths, SeriesBatch, TimeSeries, filled_each, to_list

VALUES, SLOPE = "values", "slope"
FACES = (VALUES, SLOPE)
FLAT = 1e-12  # of the largest value: smaller deviations are rounding
Series = NDArray[np.float64]


def series_space(length: int | str, layout: str, of: str, znormalise: bool) -> TimeSeries:
    """Return a space of series, transformed if requested."""
    if of == VALUES and not znormalise:
        return TimeSeries(length, layout)
    return TransformedSeries(length, layout, of=of, znormalise=znormalise)


@dataclass(frozen=True)
class TransformedSeries(TimeSeries):
    """Series encoded as first differences (``of="slope"``), z-normalized (``znormalise``), or both.

    Prototypes of slopes are shown as the curves with these slopes. Their level is not compared and is 0 on average.
    """

    holds_series = False
    of: str = VALUES
    znormalise: bool = False
    SAVED = rules(TimeSeries.SAVED, of=text(*FACES), znormalise=flag)

    def check_options(self, expected: Self) -> None:
        """Check the transformation against the metric's."""
        if (expected.of, expected.znormalise) != (self.of, self.znormalise):
            raise Misfit("the metric compares something else of series than model_.space")

    def transformed(self, X: Sequence[Series]) -> list[Series]:
        """Return transformed series; missing values are interpolated first."""
        rows = filled_each(X)
        if self.znormalise:
            rows = normalized_each(rows)
        if self.of == VALUES:
            return rows
        short = next((i for i, row in enumerate(rows) if len(row) < 3), None)
        if short is not None:
            raise ValueError(
                f"X must hold series of at least 3 steps, so that slopes can be compared; got {len(rows[short])} in "
                f"{place('series', short)}. Leave it out, or compare values: of='values'."
            )
        slopes = [row[1:] - row[:-1] for row in rows]
        return normalized_each(slopes) if self.znormalise else slopes

    def fit(self, X: list[Series], *, dtype: torch.dtype) -> Self:
        """Choose the prototypes' length."""
        return super().fit(self.transformed(X), dtype=dtype)

    def describe(self, X: list[Series]) -> Lengths:
        """Count the lengths."""
        return super().describe(self.transformed(X))

    def encode(self, X: list[Series]) -> SeriesBatch:
        """Transform, and pad to the longest."""
        return super().encode(self.transformed(X))

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return prototypes from the user's series, transformed."""
        rows = self.transformed(to_list(prototypes, self.layout))
        return TimeSeries.encode_prototypes(replace(self, layout="tslearn"), rows)

    def decode(self, prototypes: Tensor) -> NDArray[np.floating]:
        """Return prototypes as series (k, L, d), or (k, d, L) in aeon's layout."""
        return super().decode(self._shown(prototypes.cpu()))

    def curves(self, prototypes: Tensor) -> list[Series]:
        """Return prototypes as (L, d) arrays to draw."""
        return super().curves(self._shown(prototypes))

    def drawn(self, X: list[Series]) -> list[Series]:
        """Return series drawn like their prototypes."""
        return [self._shown(torch.from_numpy(row)).numpy() for row in self.transformed(X)]

    def _shown(self, x: Tensor) -> Tensor:
        """Return curves (..., L + 1, d) with given slopes (..., L, d), around 0; values unchanged."""
        if self.of == VALUES:
            return x
        curves = torch.nn.functional.pad(x.cumsum(-2), (0, 0, 1, 0))
        return curves - curves.mean(-2, keepdim=True)

    def curves_behind(self, batch: SeriesBatch) -> SeriesBatch:
        """Return curves with these slopes: slopes vary between steps mostly by noise."""
        return batch if self.of == VALUES else replace(batch, values=batch.values.cumsum(1))

    def carried(self, other: Space, prototypes: Tensor, like: Tensor) -> Tensor | None:
        """Return prototypes of the same transformation unchanged: the shown curves have less information."""
        same = isinstance(other, TransformedSeries) and (other.of, other.znormalise) == (self.of, self.znormalise)
        return prototypes.to(self.dtype) if same and prototypes.shape[1:] == like.shape[1:] else None

    def _check_table(self, X: object, *, reset: bool) -> None:
        length = self.steps + 1 if self.steps and self.of == SLOPE else self.length
        TimeSeries(length, self.layout)._check_table(X, reset=reset)


def normalized(row: Series) -> Series:
    """Return a series (..., L, d) with mean 0 and deviation 1 in each channel; a constant channel is 0."""
    centered = row - row.mean(-2, keepdims=True)
    scale = centered.std(-2, keepdims=True)
    varies = scale > FLAT * np.abs(row).max(-2, keepdims=True)
    return np.where(varies, centered / np.where(varies, scale, 1.0), 0.0)


def normalized_each(rows: Sequence[Series]) -> list[Series]:
    """Normalize each series; all at once if of equal length."""
    if len({row.shape for row in rows}) == 1:
        return list(normalized(np.stack(rows)))
    return [normalized(row) for row in rows]
