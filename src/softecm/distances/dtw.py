"""Dynamic time warping between time series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from softecm.distances.base import ClosedForm, SemiMetric, Sums
from softecm.distances.soft_dtw import check_band, check_face, step_terms
from softecm.kernels.first_derivatives import first_only
from softecm.kernels.soft_dtw import dtw, dtw_sums
from softecm.spaces.series import OPTIONS, EncodedSeries, TimeSeries, as_batch
from softecm.spaces.transformed import VALUES, series_space

_Pairs: TypeAlias = tuple[Tensor, Tensor]


class _AlignmentContext(Protocol):
    """The attributes of torch's autograd context used here; ``rest`` is ours."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    rest: tuple[Tensor | None, _Pairs | None, int | None]

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _HardDTW(torch.autograd.Function):
    """DTW with the gradient of the cost along one best alignment."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: _AlignmentContext, x: Tensor, y: Tensor, x_lengths: Tensor | None, pairs: _Pairs | None, band: int | None
    ) -> Tensor:
        ctx.save_for_backward(x, y)
        ctx.rest = x_lengths, pairs, band
        return dtw(x, y, x_lengths=x_lengths, pairs=pairs, band=band)

    @staticmethod
    @first_only
    def backward(ctx: _AlignmentContext, weights: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        lengths, pairs, band = ctx.rest
        grad_x = grad_y = None
        if ctx.needs_input_grad[0]:
            back = None if pairs is None else (pairs[1], pairs[0])
            turned = weights.T.contiguous() if pairs is None else weights.contiguous()
            _, w, s = dtw_sums(y, x, turned, y_lengths=lengths, pairs=back, band=band)
            grad_x = 2.0 * (w[..., None] * x - s)
        if ctx.needs_input_grad[1]:
            _, w, s = dtw_sums(x, y, weights.contiguous(), x_lengths=lengths, pairs=pairs, band=band)
            grad_y = 2.0 * (w[..., None] * y - s)
        return grad_x, grad_y, None, None, None


@dataclass(frozen=True)
class DTW(SemiMetric):
    """Minimum sum of squared differences over all alignments of two series in time, without a root.

    One alignment determines the distance, so it is not smooth, but barycentre steps (DBA) never raise the objective. It
    is never negative, and zero between equal series.

    Parameters
    ----------
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    length : int, "median" or "max", default="median"
        Length of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"
    of : {"values", "slope"}, default="values"
        Compare the values, or their first differences, so that the level does not count. Prototypes of slopes are shown
        as the curves with these slopes, around 0.
    znormalise : bool, default=False
        Z-normalize every series in each channel first (and its slopes, if these are compared), so that level and
        amplitude don't count. Prototypes are shown in these units.

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]], dtype=torch.float64)
    >>> DTW().pairwise(x, x + 1)
    tensor([[2.]], dtype=torch.float64)
    """

    band: int | None = None
    length: int | str = "median"
    layout: str = "tslearn"
    of: str = VALUES
    znormalise: bool = False
    name = "dtw"
    space = TimeSeries
    SAVED = OPTIONS

    def __post_init__(self) -> None:
        check_band(self.band)
        object.__setattr__(self, "znormalise", check_face(self.of, self.znormalise))

    def make_space(self) -> TimeSeries:
        """Return a space of series, or of their slopes, with this metric's options."""
        return series_space(self.length, self.layout, self.of, self.znormalise)

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """All pairs of steps."""
        return 10.0 * shape[0] * math.prod(shape)

    @property
    def closed_form(self) -> BestAlignments:
        """A bound, which gives the steps of DBA."""
        return BestAlignments(self)

    def pairwise(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return costs of the best alignments of all pairs."""
        batch = as_batch(x)
        values: Tensor = _HardDTW.apply(  # type: ignore[no-untyped-call]
            batch.values, v, batch.lengths, None, self.band
        )
        return values

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return distances of matching rows."""
        rows = torch.arange(len(a), device=a.device)
        values: Tensor = _HardDTW.apply(a, b, None, (rows, rows), self.band)  # type: ignore[no-untyped-call]
        return values

    def terms(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return the contribution of each step of a prototype."""
        d = self.pairwise(x, v)
        sharp = 1e-6 * max(float(d.detach().max()), 1e-300)
        return step_terms(as_batch(x), v, sharp, self.band, d)


@dataclass(frozen=True)
class BestAlignments(ClosedForm):
    """The cost along the present best alignments bounds the next minimum: a DBA step."""

    metric: DTW

    def sums(self, x: EncodedSeries, v: Tensor, weights: Tensor) -> Sums:
        """Return weights and weighted values aligned with each step."""
        batch = as_batch(x)
        _, w, y = dtw_sums(batch.values, v, weights.contiguous(), x_lengths=batch.lengths, band=self.metric.band)
        return Sums(w[..., None], y)

    def with_sums(self, x: EncodedSeries, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Align every pair once, keep what is aligned with each step of each prototype, apply weights later."""
        if v.is_cuda or v.shape[1] < 2 * v.shape[2]:  # as for Soft-DTW
            return None
        batch = as_batch(x)
        n, k = len(batch), len(v)
        pairs = torch.arange(n).repeat_interleave(k), torch.arange(n * k)
        values, w, y = dtw_sums(
            batch.values,
            v.repeat(n, 1, 1),
            v.new_ones(n * k),
            x_lengths=batch.lengths,
            pairs=pairs,
            band=self.metric.band,
        )
        w, y = w.reshape(n, k, -1), y.reshape(n, k, *v.shape[1:])

        def later(weights: Tensor) -> Sums:
            curvature = torch.einsum("nk,nkl->kl", weights, w)[..., None]
            return Sums(curvature, torch.einsum("nk,nkld->kld", weights, y))

        return values.reshape(n, k), later
