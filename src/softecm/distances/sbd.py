"""Shape-based distance between time series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.distances.elastic import znormalised
from softecm.spaces.series import OPTIONS, EncodedSeries, SeriesBatch, TimeSeries, as_batch


@dataclass(frozen=True)
class SBD(SemiMetric):
    r"""One minus the maximum cross-correlation of two series over all shifts (k-shape's distance).

    .. math:: d(x, y) = 1 - \max_s \frac{\sum_t x_{t+s}\, y_t}{\|x\| \|y\|}

    for series with mean 0 and standard deviation 1, so that level, scale and position in time don't count; nothing is
    stretched. Between 0 and 2; a semi-metric between shapes: 0 between equal series and between multiples of each
    other. Not a soft minimum, but differentiable wherever one shift is best. Each channel is shifted by itself and the
    distances are averaged, as in aeon; a constant channel is at distance 0 from a constant one and 1 from any other.

    Parameters
    ----------
    length : int, "median" or "max", default="median"
        Length of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[[0.0], [0.0], [1.0], [0.0], [0.0], [0.0]]], dtype=torch.float64)
    >>> SBD().pairwise(x, torch.cat([5 * x, x.roll(1, 1), -x])).round(decimals=2)
    tensor([[0.0000, 0.0300, 0.7300]], dtype=torch.float64)

    References
    ----------
    J. Paparrizos and L. Gravano, "k-Shape: efficient and accurate clustering of time series", SIGMOD 2015.
    """

    length: int | str = "median"
    layout: str = "tslearn"
    name = "sbd"
    space = TimeSeries
    SAVED = OPTIONS

    def make_space(self) -> TimeSeries:
        """Return a space of series with this metric's options."""
        return TimeSeries(self.length, self.layout)

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """The cost of a fast Fourier transform."""
        return 20.0 * math.prod(shape) * math.log2(2 * shape[0] + 1)

    def pairwise(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return one minus the maximum cross-correlations of all pairs."""
        a, b = unit(as_batch(x)), unit(SeriesBatch(v))
        flat = (a.detach() == 0).all(1)[:, None] & (b.detach() == 0).all(1)
        return (1.0 - torch.where(flat, 1.0, correlations(a, b).amax(2))).mean(-1).clamp_min(0.0)

    def terms(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Subtract each prototype step's contribution at the best shift of each channel; spread the rest evenly."""
        a, b = unit(as_batch(x)).detach(), unit(SeriesBatch(v)).detach()
        (n, long, d), (k, steps, _) = a.shape, b.shape
        shift, size = correlations(a, b).argmax(2), long + steps - 1  # (n, k, d), modulo size
        at = (torch.arange(steps, device=v.device)[:, None] + shift[:, :, None]) % size  # (n, k, steps, d)
        padded = torch.cat([a, a.new_zeros(n, steps - 1, d)], 1)[:, None].expand(n, k, size, d)
        products = (padded.gather(2, at) * b).mean(-1)
        rest = self.pairwise(x, v).detach() + products.sum(-1)
        return rest[..., None] / steps - products


def correlations(a: Tensor, b: Tensor) -> Tensor:
    """Return the cross-correlations of all pairs by shift, in each channel (n, k, shifts, d)."""
    size = a.shape[1] + b.shape[1] - 1
    spectra = torch.fft.rfft(a, size, dim=1)[:, None] * torch.fft.rfft(b, size, dim=1).conj()
    correlated: Tensor = torch.fft.irfft(spectra, size, dim=2)
    return correlated


def unit(batch: SeriesBatch) -> Tensor:
    """Return z-normalized series of length 1 in each channel, zeros beyond their ends; zeros for constant channels."""
    shapes = znormalised(batch.values, batch.lengths)
    square = shapes.square().sum(1, keepdim=True)
    return shapes / torch.where(square > 0, square, 1.0).sqrt()
