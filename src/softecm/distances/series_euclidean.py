"""Squared Euclidean distance between time series, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import ClosedForm, FusedRound, SemiMetric, Sums
from softecm.distances.squared_euclidean import (
    RowPasses,
    squared_differences,
    weighted_means,
)
from softecm.files.expected import rules
from softecm.spaces.series import OPTIONS, EncodedSeries, SeriesBatch, TimeSeries, as_batch


def observed_steps(batch: SeriesBatch, steps: int) -> tuple[Tensor, Tensor | None]:
    """Return values at the prototypes' steps, and their weights (None if all are equal)."""
    n, longest, channels = batch.values.shape
    if longest < steps:
        values = torch.cat([batch.values, batch.values.new_zeros(n, steps - longest, channels)], 1)
    else:
        values = batch.values[:, :steps]
    if batch.lengths is None and batch.observed is None and longest >= steps:
        return values, None
    seen = SeriesBatch(values, batch.ends).inside[..., None].expand(n, steps, channels)
    if batch.observed is not None:
        seen = seen.clone()
        seen[:, : min(longest, steps)] &= batch.observed[:, :steps]
    weights = seen.to(values.dtype)
    share = weights.flatten(1).mean(1).clamp_min(torch.finfo(values.dtype).tiny)
    return values, weights / share[:, None, None]


@dataclass(frozen=True)
class StepMeans(ClosedForm):
    """The closed form of squared differences of each step."""

    quadratic = True

    def sums(self, x: EncodedSeries, v: Tensor, weights: Tensor) -> Sums:
        """Exact: the cost is a quadratic in each step."""
        values, observed = observed_steps(as_batch(x), v.shape[1])
        if observed is None:
            return Sums(weights.sum(0)[:, None, None], (weights.T @ values.flatten(1)).reshape(v.shape))
        curvature = weights.T @ observed.flatten(1)
        moment = weights.T @ (observed * values).flatten(1)
        return Sums(curvature.reshape(v.shape), moment.reshape(v.shape))

    def points(self, x: EncodedSeries, shape: Sequence[int]) -> Tensor | None:
        """Return the steps of complete series."""
        values, observed = observed_steps(as_batch(x), shape[0])
        return values.flatten(1) if observed is None else None

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor:
        """Return means of each step."""
        lead = x.ndim - 2
        flat = x.flatten(lead)
        return weighted_means(flat, weights).reshape(*x.shape[: lead - 1], len(weights), *x.shape[lead:])


class GaplessPasses(RowPasses[EncodedSeries]):
    """The compiled passes, for complete series."""

    def rows(self, x: EncodedSeries, shape: Sequence[int]) -> Tensor | None:
        """Return the steps in a row."""
        values, observed = observed_steps(as_batch(x), shape[0])
        return None if observed is not None else values.flatten(1).contiguous()

    def points(self, v: Tensor) -> Tensor:
        """Return the steps in a row."""
        return v.flatten(-2)

    def back(self, fused: FusedRound, v: Tensor) -> FusedRound:
        """Restore the shape of series."""
        return fused._replace(curvature=fused.curvature[..., None], moment=fused.moment.reshape(v.shape))


@dataclass(frozen=True)
class SeriesEuclidean(SemiMetric):
    r"""Sum of squared differences at equal times: the L2 distance, squared.

    Missing and padded steps are skipped and the rest is scaled up to the whole length, so that an incomplete or shorter
    series is compared by its observed steps. Prototypes are as long as the longest series.

    Parameters
    ----------
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import torch
    >>> SeriesEuclidean().pairwise(torch.zeros(1, 3, 1), torch.ones(1, 3, 1))
    tensor([[3.]])
    """

    layout: str = "tslearn"
    name = "series-euclidean"
    space = TimeSeries
    closed_form = StepMeans()
    compiled = GaplessPasses()
    SAVED = rules(layout=OPTIONS["layout"])

    def make_space(self) -> TimeSeries:
        """Return a space of series with prototypes as long as the longest."""
        return TimeSeries("max", self.layout)

    def pairwise(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return squared differences over the observed steps of all pairs."""
        values, weights = observed_steps(as_batch(x), v.shape[1])
        if weights is None:
            return squared_differences(values.flatten(1), v.flatten(1))
        w, flat, u = weights.flatten(1), values.flatten(1), v.flatten(1)
        return (w[:, None] * (flat[:, None] - u).square()).sum(-1)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return squared differences of matching prototypes."""
        return (a - b).square().flatten(1).sum(1)

    def terms(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return each step's contribution."""
        values, observed = observed_steps(as_batch(x), v.shape[1])
        squares = (values[:, None] - v).square()
        return (squares if observed is None else squares * observed[:, None]).sum(-1)
