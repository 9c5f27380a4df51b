r"""Soft-DTW and DTW between series, as torch functions: values, gradients, alignments.

.. math:: \mathrm{sdtw}_\gamma(x, y) = -\gamma \log \sum_{\pi} e^{-\sum_{(s,t) \in \pi} \|x_s - y_t\|^2 / \gamma}

over all alignments :math:`\pi` (monotone paths of single steps from corner to corner); for :math:`\gamma \to 0` it meets
DTW, the least cost, which here is a sum of squares without a root. It is symmetric, may be negative, and is not zero
between equal series.

Series are (n, L, d), steps before channels; with lengths, what lies beyond them is padding that is never read.
Numba kernels do the work on a CPU, CUDA kernels on a GPU; float32 and float64 are each computed as such. Gradients
recompute the alignment, so that memory does not grow with the number of pairs.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softecm.kernels import soft_dtw_reference

__all__ = ["alignment", "check_band", "dtw", "dtw_sums", "soft_dtw", "soft_dtw_paired", "soft_dtw_sums"]

Pairs = tuple[Tensor, Tensor] | None


class Rows(tuple[Tensor, Tensor]):
    """Pairs of series in the same row of two batches: indices that need no check and no sorting."""

    def __new__(cls, n: int, device: torch.device) -> Rows:
        """Pairs (0, 0) to (n - 1, n - 1)."""
        row = torch.arange(n, device=device)
        return super().__new__(cls, (row, row))


def soft_dtw(
    x: Tensor,
    y: Tensor,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
) -> Tensor:
    """Soft-DTW of every series with every prototype, differentiable in both.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, float32 or float64.
    y : Tensor (f, Ly, d)
        Prototypes, of the same type.
    gamma : float
        Smoothing, above 0; small: like DTW, large: like an average over all alignments.
    band : int or None
        How many steps of the shorter series an alignment may stray from the straight line between the corners:
        cells with ``|i (m-1) - j (n-1)| <= band (max(n, m) - 1)``, which for equal lengths is ``|i - j| <= band``.
        A band of 0 is refused for unequal lengths.
    x_lengths, y_lengths : Tensor of int64, or None
        Steps of each series; None: all of them.

    Returns
    -------
    Tensor (n, f)

    Examples
    --------
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]], dtype=torch.float64)
    >>> soft_dtw(x, x + 1, gamma=1e-3)  # one step late: two of three match
    tensor([[2.]], dtype=torch.float64)

    References
    ----------
    Cuturi, M. and Blondel, M. (2017). Soft-DTW: a differentiable loss function for time-series. ICML.
    """
    return _differentiable(x, y, x_lengths, y_lengths, None, gamma, band)


def soft_dtw_paired(
    x: Tensor,
    y: Tensor,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
) -> Tensor:
    """Soft-DTW of each series with the one in the same row of the other batch; (n,), differentiable in both."""
    if len(x) != len(y):
        raise ValueError(f"x and y must have one series for each other; got {len(x)} and {len(y)}.")
    return _differentiable(x, y, x_lengths, y_lengths, Rows(len(x), x.device), gamma, band)


def soft_dtw_self(x: Tensor, *, gamma: float = 1.0, band: int | None = None, lengths: Tensor | None = None) -> Tensor:
    """Soft-DTW of each series with itself; (n,), differentiable."""
    check(x, x, lengths, lengths, None, gamma, band)
    values: Tensor = _SelfSoftDTW.apply(x, lengths, float(gamma), band)
    return values


def soft_dtw_sums(
    x: Tensor,
    y: Tensor,
    weights: Tensor,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Values, and the weighted sums that gradients and barycentres of the prototypes are made of.

    With :math:`E^{ij}` the expected alignment of series i and prototype j,

    .. math:: W_{jt} = \sum_i w_{ij} \sum_s E^{ij}_{st}, \qquad Y_{jt} = \sum_i w_{ij} \sum_s E^{ij}_{st}\, x_{is}.

    The gradient of :math:`\sum_{ij} w_{ij}\,\mathrm{sdtw}(x_i, y_j)` in y is 2 (W y - Y), and Y / W lowers that sum
    whenever the weights are not negative: Soft-DTW is concave in the costs, so its linearisation lies above it.

    Parameters
    ----------
    x, y, gamma, band, x_lengths, y_lengths
        As in `soft_dtw`.
    weights : Tensor (n, f), or (P,) with ``pairs``
        Any sign; a zero saves the gradient's work.
    pairs : (Tensor, Tensor) or None
        Indices into x and y of the pairs wanted; None: all of them; ``Rows``: each series with the one in its own row.

    Returns
    -------
    values : Tensor (n, f) or (P,)
    W : Tensor (f, Ly)
        Zero beyond a prototype's length.
    Y : Tensor (f, Ly, d)
    """
    check(x, y, x_lengths, y_lengths, pairs, gamma, band)
    _check_weights(weights, x, y, pairs)
    return _sums(_backend(x), x, x_lengths, y, y_lengths, pairs, weights, gamma, band)


def dtw(
    x: Tensor,
    y: Tensor,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> Tensor:
    """DTW of every series with every prototype: least sum of squared differences over alignments, without a root.

    Parameters as in `soft_dtw_sums`; computed on the CPU; without a gradient (`dtw_sums` has what a barycentre needs).

    Examples
    --------
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]])
    >>> dtw(x, x + 1)
    tensor([[2.]])
    """
    from softecm.kernels import soft_dtw_cpu

    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    xc, lx, yc, ly, p = _to_cpu(x, x_lengths, y, y_lengths, pairs)
    return soft_dtw_cpu.forward(xc, lx, yc, ly, p, 1.0, band, hard=True).to(x.device)


def dtw_sums(
    x: Tensor,
    y: Tensor,
    weights: Tensor,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Values, and sums as in `soft_dtw_sums` with one optimal alignment in place of the expected one: DBA's step is Y / W.

    Of equally good alignments the one that, from the end, prefers the diagonal step, then a step in x.
    """
    from softecm.kernels import soft_dtw_cpu

    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    _check_weights(weights, x, y, pairs)
    xc, lx, yc, ly, p = _to_cpu(x, x_lengths, y, y_lengths, pairs)
    out = soft_dtw_cpu.forward_backward(xc, lx, yc, ly, p, weights.detach().cpu(), 1.0, band, hard=True)
    return out[0].to(x.device), out[1].to(x.device), out[2].to(x.device)


def alignment(x: Tensor, y: Tensor, gamma: float = 1.0, band: int | None = None) -> Tensor:
    """Expected alignment (Lx, Ly) of two series (Lx, d) and (Ly, d): how likely each two steps go together.

    Computed in float64 by the plain recursion: for one pair, to look at.

    Examples
    --------
    >>> x = torch.tensor([[0.0], [5.0]])
    >>> alignment(x, x).round(decimals=3)
    tensor([[1., 0.],
            [0., 1.]])
    """
    check(x[None], y[None], None, None, None, gamma, band)
    a, b = (t.detach().to("cpu", torch.float64).numpy() for t in (x, y))
    return torch.from_numpy(soft_dtw_reference.alignment(a, b, gamma, band)).to(x)


def check_band(n: int, m: int, band: int) -> None:
    """Raise ValueError unless some alignment of n with m steps stays inside the band: 0 asks for equal lengths."""
    if band == 0 and n != m and min(n, m) > 1:
        raise ValueError(
            f"band must be at least 1 for series of different lengths; got 0 for {n} and {m} steps, which leaves no "
            "alignment from corner to corner. Take a wider band, or None for no band."
        )


def check(
    x: Tensor,
    y: Tensor,
    x_lengths: Tensor | None,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
) -> None:
    """Raise TypeError or ValueError for arguments that the kernels must not see."""
    for name, t in (("x", x), ("y", y)):
        if t.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"{name} must be float32 or float64; got {t.dtype}. Convert it with .to(torch.float64).")
        if t.ndim != 3 or t.shape[1] < 1 or t.shape[2] < 1:
            raise ValueError(
                f"{name} must have shape (series, steps, channels) with at least one step and one channel; "
                f"got {tuple(t.shape)}."
            )
    if x.dtype != y.dtype or x.device != y.device or x.shape[2] != y.shape[2]:
        raise ValueError(
            f"x and y must agree in type, device and number of channels; got {x.dtype} and {y.dtype}, {x.device} and "
            f"{y.device}, {x.shape[2]} and {y.shape[2]} channels."
        )
    if not (math.isfinite(gamma) and gamma > 0):
        raise ValueError(f"gamma must be a finite number above 0; got {gamma}. For hard alignments use dtw.")
    for name, lengths, t in (("x_lengths", x_lengths, x), ("y_lengths", y_lengths, y)):
        _check_lengths(name, lengths, t)
    if pairs is not None and not isinstance(pairs, Rows):
        _check_pairs(pairs, x, y)
    if band is not None:
        _check_bands(band, x, y, x_lengths, y_lengths, pairs)


def _check_lengths(name: str, lengths: Tensor | None, series: Tensor) -> None:
    if lengths is None:
        return
    if lengths.dtype != torch.int64 or lengths.shape != series.shape[:1] or lengths.device != series.device:
        raise ValueError(
            f"{name} must be an int64 tensor of shape ({series.shape[0]},) on {series.device}; got {lengths.dtype} of "
            f"shape {tuple(lengths.shape)} on {lengths.device}."
        )
    if len(lengths) and not (int(lengths.min()) >= 1 and int(lengths.max()) <= series.shape[1]):
        raise ValueError(
            f"{name} must lie between 1 and {series.shape[1]}, the number of steps; got {int(lengths.min())} to "
            f"{int(lengths.max())}. Drop empty series first."
        )


def _check_pairs(pairs: tuple[Tensor, Tensor], x: Tensor, y: Tensor) -> None:
    for name, index, t in (("x", pairs[0], x), ("y", pairs[1], y)):
        if index.dtype != torch.int64 or index.ndim != 1 or index.shape != pairs[0].shape:
            raise ValueError(
                f"pairs must be two int64 tensors of one shape (P,); got {[tuple(p.shape) for p in pairs]}."
            )
        if len(index) and not (int(index.min()) >= 0 and int(index.max()) < len(t)):
            raise ValueError(
                f"pairs must index {name}, 0 to {len(t) - 1}; got {int(index.min())} to {int(index.max())}."
            )


def _check_weights(weights: Tensor, x: Tensor, y: Tensor, pairs: Pairs) -> None:
    shape = (len(x), len(y)) if pairs is None else tuple(pairs[0].shape)
    if tuple(weights.shape) != shape:
        raise ValueError(f"weights must have one number a pair, shape {shape}; got {tuple(weights.shape)}.")


def _check_bands(
    band: int, x: Tensor, y: Tensor, x_lengths: Tensor | None, y_lengths: Tensor | None, pairs: Pairs
) -> None:
    if isinstance(band, bool) or not isinstance(band, int | np.integer) or band < 0:
        raise ValueError(f"band must be None or a whole number from 0; got {band!r}.")
    if band > 0:
        return  # always wide enough
    lx, ly = (
        torch.full((len(t),), t.shape[1], device=t.device) if lengths is None else lengths
        for t, lengths in ((x, x_lengths), (y, y_lengths))
    )
    if pairs is None:
        sizes = torch.cartesian_prod(lx.unique(), ly.unique()).reshape(-1, 2)
    else:
        sizes = torch.stack([lx[pairs[0]], ly[pairs[1]]], 1).unique(dim=0)
    for n, m in sizes.tolist():
        check_band(n, m, int(band))


def _backend(x: Tensor) -> ModuleType:
    """The kernels for the device that x lives on; each is loaded when first needed."""
    if x.is_cuda:
        from softecm.kernels import soft_dtw_cuda

        return soft_dtw_cuda
    if x.device.type != "cpu":
        raise ValueError(f"x must be on a CPU or a CUDA device; got {x.device}. Move it with .cpu().")
    from softecm.kernels import soft_dtw_cpu

    return soft_dtw_cpu


def _sums(backend: Any, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
    values, w, y = backend.forward_backward(*args)
    return values, w, y


def _to_cpu(
    x: Tensor, x_lengths: Tensor | None, y: Tensor, y_lengths: Tensor | None, pairs: Pairs
) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None, Pairs]:
    return (
        x.detach().cpu(),
        None if x_lengths is None else x_lengths.cpu(),
        y.detach().cpu(),
        None if y_lengths is None else y_lengths.cpu(),
        None if pairs is None else (pairs[0].cpu(), pairs[1].cpu()),
    )


def _differentiable(
    x: Tensor,
    y: Tensor,
    x_lengths: Tensor | None,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
) -> Tensor:
    check(x, y, x_lengths, y_lengths, pairs, gamma, band)
    values: Tensor = _SoftDTW.apply(x, y, x_lengths, y_lengths, pairs, float(gamma), band)
    return values


class _SelfSoftDTW(torch.autograd.Function):
    """Values forward; backward, twice one side's gradient: the two sides are the same series."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, x: Tensor, lengths: Tensor | None, gamma: float, band: int | None
    ) -> Tensor:
        ctx.save_for_backward(x)
        ctx.rest = lengths, gamma, band
        rows = Rows(len(x), x.device)
        values: Tensor = _backend(x).forward(x.detach(), lengths, x.detach(), lengths, rows, gamma, band)
        return values

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        lengths, gamma, band = ctx.rest
        x = x - (x[0, 0] if len(x) else 0.0)
        rows = Rows(len(x), x.device)
        return 2.0 * _gradient(x, lengths, x, lengths, rows, weights.contiguous(), gamma, band), None, None, None


class _SoftDTW(torch.autograd.Function):
    """Values forward; backward, sums for the side that wants a gradient (for x: the same call with the roles swapped)."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        x: Tensor,
        y: Tensor,
        x_lengths: Tensor | None,
        y_lengths: Tensor | None,
        pairs: Pairs,
        gamma: float,
        band: int | None,
    ) -> Tensor:
        ctx.save_for_backward(x, y)
        ctx.rest = x_lengths, y_lengths, pairs, gamma, band
        values: Tensor = _backend(x).forward(x.detach(), x_lengths, y.detach(), y_lengths, pairs, gamma, band)
        return values

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        x_lengths, y_lengths, pairs, gamma, band = ctx.rest
        # Differences are all that counts: taking a common level off keeps float32 from losing them in W y - Y.
        level = y[0, 0] if len(y) else y.new_zeros(y.shape[2])
        x, y = x - level, y - level
        grad_x = grad_y = None
        if ctx.needs_input_grad[0]:
            back = None if pairs is None else (pairs[1], pairs[0])
            turned = weights.T if pairs is None else weights
            grad_x = _gradient(y, y_lengths, x, x_lengths, back, turned.contiguous(), gamma, band)
        if ctx.needs_input_grad[1]:
            grad_y = _gradient(x, x_lengths, y, y_lengths, pairs, weights.contiguous(), gamma, band)
        return grad_x, grad_y, None, None, None, None, None


def _gradient(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor,
    gamma: float,
    band: int | None,
) -> Tensor:
    _, w, sums = _sums(_backend(x), x, x_lengths, y, y_lengths, pairs, weights, gamma, band)
    grad = 2 * (w[..., None] * y - sums)
    if y_lengths is not None:  # padding may be NaN
        inside = torch.arange(y.shape[1], device=y.device) < y_lengths[:, None]
        grad = torch.where(inside[..., None], grad, grad.new_zeros(()))
    return grad
