"""Short dilated convolutions of series, pooled over time: which patterns occur in a series, anywhere in it.

The kernels are those of MiniRocket: nine taps, three of weight 2 and six of weight -1, in all 84 arrangements. They add up
to zero, so that the level of a series does not count. Plain torch, on any device.

References
----------
A. Dempster, D. F. Schmidt and G. I. Webb, "MiniRocket: a very fast (almost) deterministic transform for time series
classification", KDD 2021.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

TAPS, HEAVY = 9, 3
KERNELS = math.comb(TAPS, HEAVY)  # 84
THRESHOLDS = 4  # for each kernel, dilation and channel
MOST_DILATIONS = 5
MOST_FEATURES = 8000  # with many channels, fewer of the kernels are used
FEWEST_KERNELS = 6
STEPS = 1 << 11  # steps of all series together from which thresholds are found
CELLS = 1 << 18  # values of convolutions that are held at once: 2 MB stay in the cache
TIE = 1e-9  # of the range: what a threshold lies above a value that occurs often, so that rounding decides nothing
GOLDEN = (math.sqrt(5.0) + 1.0) / 2.0  # multiples of it modulo 1 are evenly spread, however many are taken


@cache
def kernel_weights(count: int) -> Tensor:
    """So many of the kernels (count, 1, 9), evenly spread among all arrangements."""
    kernels = torch.full((KERNELS, 1, TAPS), -1.0, dtype=torch.float64)
    for row, heavy in zip(kernels, combinations(range(TAPS), HEAVY), strict=True):
        row[0, list(heavy)] = 2.0
    return kernels[torch.linspace(0, KERNELS - 1, count).round().long()]


def dilations_for(length: int) -> tuple[int, ...]:
    """Distances between taps, from neighbours to the whole series: at most five, in powers."""
    widest = max(1.0, (length - 1) / (TAPS - 1))
    return tuple(sorted({int(2.0**e) for e in np.linspace(0.0, math.log2(widest), MOST_DILATIONS)}))


def n_kernels(channels: int, dilations: int) -> int:
    """How many of the kernels to use so that features don't grow with the channels."""
    return int(np.clip(MOST_FEATURES // (channels * dilations * (THRESHOLDS + 1)), FEWEST_KERNELS, KERNELS))


def convolutions(x: Tensor, dilation: int, weights: Tensor) -> Tensor:
    """Series (m, L) with kernels (k, 1, 9) -> (m, k, L); beyond its ends a series stays at its first and last value."""
    margin = dilation * (TAPS // 2)
    padded = torch.nn.functional.pad(x[:, None], (margin, margin), mode="replicate")
    return torch.nn.functional.conv1d(padded, weights.to(x), dilation=dilation)


def z_normalized(values: Tensor, lengths: Tensor) -> Tensor:
    """Series (n, L, d) with mean 0 and deviation 1 in each channel; a constant channel is 0."""
    inside = _inside(values, lengths)[..., None]
    count = lengths.to(values)[:, None, None]
    centered = torch.where(inside, values - (values * inside).sum(1, keepdim=True) / count, 0.0)
    scale = (centered.square().sum(1, keepdim=True) / count).sqrt()
    largest = torch.where(inside, values.abs(), 0.0).amax(1, keepdim=True)
    return torch.where(scale > 1e-12 * largest, centered / scale, 0.0)


def thresholds_of(values: Tensor, lengths: Tensor, dilations: Sequence[int]) -> Tensor:
    """Quantiles of the convolutions of some series (n, L, d) -> (dilations, d, kernels, 4)."""
    n, _, d = values.shape
    kernels = n_kernels(d, len(dilations))
    steps = max(2, STEPS // n)
    share = torch.linspace(0.0, 1.0, steps, dtype=torch.float64, device=values.device)
    at = (share * (lengths[:, None] - 1)).round().long()  # (n, P)
    found = values.new_empty(len(dilations), d, kernels, THRESHOLDS)
    for i, dilation in enumerate(dilations):
        for channel in range(d):
            rows = _held(values[..., channel : channel + 1], lengths)
            seen = values.new_empty(kernels, n, steps)
            for own, part, x in _blocks(rows, kernels):
                block = convolutions(x, dilation, kernel_weights(kernels)[part])
                seen[part, own] = block.gather(2, at[own, None].expand(-1, block.shape[1], -1)).transpose(0, 1)
            seen = _sorted(seen.flatten(1))  # (kernels, n P)
            rank = _ranks(i, kernels, seen.shape[1]).to(seen.device)
            found[i, channel] = (seen.gather(1, rank) + seen.gather(1, rank + 1)) / 2.0
            found[i, channel] += TIE * (seen[:, -1:] - seen[:, :1])
    return found


def _sorted(rows: Tensor) -> Tensor:
    """Each row in ascending order; NumPy is several times as fast as torch on a CPU."""
    return rows.sort(1).values if rows.is_cuda else torch.from_numpy(np.sort(rows.numpy(), axis=1))


def _ranks(dilation: int, kernels: int, count: int) -> Tensor:
    """Between which of so many sorted values and the next the thresholds lie (kernels, 4)."""
    number = torch.arange(1, kernels * THRESHOLDS + 1, dtype=torch.float64) + dilation * kernels * THRESHOLDS
    return ((number * GOLDEN % 1.0) * (count - 1)).long().reshape(kernels, THRESHOLDS)


def pooled(values: Tensor, lengths: Tensor, dilations: Sequence[int], thresholds: Tensor) -> Tensor:
    """Features (n, w): of every convolution the share of steps above each threshold, and the maximum."""
    n, _, d = values.shape
    kernels = thresholds.shape[2]
    inside, rows = _inside(values, lengths).repeat_interleave(d, 0), _held(values, lengths)  # (n d, L) each
    out = values.new_empty(n * d, len(dilations), kernels, THRESHOLDS + 1)
    for i, dilation in enumerate(dilations):
        limits = thresholds[i].repeat(n, 1, 1)  # (n d, kernels, 4)
        for own, part, x in _blocks(rows, kernels):
            found, there = convolutions(x, dilation, kernel_weights(kernels)[part]), inside[own, None]
            for j in range(THRESHOLDS):
                above = (found > limits[own, part, j, None]) & there
                out[own, i, part, j] = above.sum(-1).to(out) / there.sum(-1)
            out[own, i, part, THRESHOLDS] = found.masked_fill(~there, -torch.inf).amax(-1)
    return out.reshape(n, -1)


def _inside(values: Tensor, lengths: Tensor) -> Tensor:
    """Which steps (n, L) exist."""
    return torch.arange(values.shape[1], device=values.device) < lengths[:, None]


def _held(values: Tensor, lengths: Tensor) -> Tensor:
    """Channels of series as rows (n d, L), beyond their ends at their last value."""
    n, longest, d = values.shape
    at = torch.minimum(torch.arange(longest, device=values.device), lengths[:, None] - 1)
    return values.gather(1, at[..., None].expand(n, longest, d)).transpose(1, 2).reshape(n * d, longest)


def _blocks(rows: Tensor, kernels: int) -> Iterator[tuple[slice, slice, Tensor]]:
    """Which rows and which kernels to take together, and the rows."""
    together = max(1, min(kernels, CELLS // rows.shape[1]))
    size = max(1, CELLS // (together * rows.shape[1]))
    for first in range(0, len(rows), size):
        own = slice(first, first + size)
        for kernel in range(0, kernels, together):
            yield own, slice(kernel, kernel + together), rows[own]
