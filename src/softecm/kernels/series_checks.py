"""Validation of Soft-DTW's arguments: pairs, lengths, weights, bands."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from softecm._checks import is_whole

Pairs = tuple[Tensor, Tensor] | None


class Rows(tuple[Tensor, Tensor]):
    """Pairs of equal rows of two batches: indices that need no check and no sorting."""

    def __new__(cls, n: int, device: torch.device) -> Rows:
        """Return pairs (0, 0) to (n - 1, n - 1)."""
        row = torch.arange(n, device=device)
        return super().__new__(cls, (row, row))


def check_band(n: int, m: int, band: int) -> None:
    """Raise ValueError unless some alignment of n with m steps is inside the band: 0 requires equal lengths."""
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
    """Raise TypeError or ValueError for arguments invalid for the kernels."""
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


def check_weights(weights: Tensor, x: Tensor, y: Tensor, pairs: Pairs) -> None:
    """Raise ValueError unless there is one weight for each pair."""
    shape = (len(x), len(y)) if pairs is None else tuple(pairs[0].shape)
    if tuple(weights.shape) != shape:
        raise ValueError(f"weights must have one number per pair, shape {shape}; got {tuple(weights.shape)}.")


def _check_bands(
    band: int, x: Tensor, y: Tensor, x_lengths: Tensor | None, y_lengths: Tensor | None, pairs: Pairs
) -> None:
    if not is_whole(band) or band < 0:
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
