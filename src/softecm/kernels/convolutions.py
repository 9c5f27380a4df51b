"""Short dilated convolutions of series, pooled over time: which patterns occur anywhere in a series.

The kernels are those of MiniRocket: nine taps, three of weight 2 and six of weight -1, in all 84 arrangements. They sum
to zero, so that the level of a series does not count (``native/convolutions.c``).

References
----------
A. Dempster, D. F. Schmidt and G. I. Webb, "MiniRocket: a very fast (almost) deterministic transform for time series
classification", KDD 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from softecm.kernels.types import Ints
from softecm.native.library import (
    FLOAT64,
    INDEX,
    Array,
    Int,
    Tasks,
    expect,
    expect_within,
    function,
    share_out,
    status,
)

TAPS, HEAVY = 9, 3
KERNELS = math.comb(TAPS, HEAVY)  # 84
THRESHOLDS = 4  # per kernel, dilation and channel
MOST_DILATIONS = 5
MOST_FEATURES = 8000  # limit; with many channels, fewer kernels are used
FEWEST_KERNELS = 6
STEPS = 1 << 9  # of all series together, used to find thresholds
CALL_CELLS = 1 << 28  # values of convolutions between two checks for interrupts
TIE = 1e-9  # of the range: offset of a threshold above a frequent value, so that rounding doesn't matter
GOLDEN = (math.sqrt(5.0) + 1.0) / 2.0  # multiples of it modulo 1 are evenly spread, for any number of them


_pool = function(
    "pool_convolutions", Tasks, Array, Array, *[Int] * 3, Array, Int, Array, Int, Array, Array, result=status
)


@cache
def heavy_taps(count: int) -> Ints:
    """Return the taps of weight 2 of ``count`` kernels (count, 3), evenly spread among all arrangements."""
    every = np.array(list(combinations(range(TAPS), HEAVY)), dtype=np.int64)
    return np.ascontiguousarray(every[np.linspace(0, KERNELS - 1, count).round().astype(np.int64)])


def dilations_for(length: int) -> tuple[int, ...]:
    """Return distances between taps, from neighbours to the whole series: at most five, in powers."""
    widest = max(1.0, (length - 1) / (TAPS - 1))
    return tuple(sorted({int(2.0**e) for e in np.linspace(0.0, math.log2(widest), MOST_DILATIONS)}))


def n_kernels(channels: int, dilations: int) -> int:
    """Return the number of kernels to use, so that the number of features doesn't grow with the channels."""
    return int(np.clip(MOST_FEATURES // (channels * dilations * (THRESHOLDS + 1)), FEWEST_KERNELS, KERNELS))


def convolutions(taps: Tensor, kernels: int) -> Tensor:
    """Return convolutions (kernels, steps) from the values at the taps of some steps (steps, 9)."""
    weights = torch.full((kernels, TAPS), -1.0, dtype=taps.dtype)
    weights.scatter_(1, torch.from_numpy(heavy_taps(kernels)), 2.0)
    return weights @ taps.T


def z_normalized(values: Tensor, lengths: Tensor) -> Tensor:
    """Return series (n, L, d) with mean 0 and deviation 1 in each channel; a constant channel is 0."""
    inside = _inside(values, lengths)[..., None]
    count = lengths.to(values)[:, None, None]
    centered = torch.where(inside, values - (values * inside).sum(1, keepdim=True) / count, 0.0)
    scale = (centered.square().sum(1, keepdim=True) / count).sqrt()
    largest = torch.where(inside, values.abs(), 0.0).amax(1, keepdim=True)
    return torch.where(scale > 1e-12 * largest, centered / scale, 0.0)


def thresholds_of(values: Tensor, lengths: Tensor, dilations: Sequence[int]) -> Tensor:
    """Return quantiles (dilations, d, kernels, 4) of the convolutions of some series (n, L, d)."""
    n, _, d = values.shape
    kernels, last = n_kernels(d, len(dilations)), lengths[:, None, None] - 1
    share = torch.linspace(0.0, 1.0, max(2, STEPS // n), dtype=torch.float64)
    at = (share * (lengths[:, None] - 1)).round().long()[..., None]  # (n, P, 1)
    thresholds = values.new_empty(len(dilations), d, kernels, THRESHOLDS)
    centered = values - values[:, :1]
    for i, dilation in enumerate(dilations):
        steps = (at + dilation * (torch.arange(TAPS) - TAPS // 2)).clamp_min(0).minimum(last)  # (n, P, 9)
        for channel in range(d):
            taps = centered[..., channel].gather(1, steps.flatten(1)).reshape(-1, TAPS)
            seen = torch.from_numpy(np.sort(convolutions(taps, kernels).numpy(), axis=1))  # (kernels, n P)
            rank = _ranks(i, kernels, seen.shape[1])
            thresholds[i, channel] = (seen.gather(1, rank) + seen.gather(1, rank + 1)) / 2.0
            thresholds[i, channel] += TIE * (seen[:, -1:] - seen[:, :1])
    return thresholds


def _ranks(dilation: int, kernels: int, count: int) -> Tensor:
    """Return the ranks (kernels, 4) of ``count`` sorted values after which the thresholds are placed."""
    number = torch.arange(1, kernels * THRESHOLDS + 1, dtype=torch.float64) + dilation * kernels * THRESHOLDS
    return ((number * GOLDEN % 1.0) * (count - 1)).long().reshape(kernels, THRESHOLDS)


def pooled(values: Tensor, lengths: Tensor, dilations: Sequence[int], thresholds: Tensor) -> Tensor:
    """Return features (n, w): of every convolution the share of steps above each threshold, and the maximum."""
    n, longest, d = values.shape
    kernels, spacing = thresholds.shape[2], np.array(dilations, dtype=np.int64)
    limits = expect("thresholds", thresholds.numpy(), FLOAT64, (len(spacing), d, kernels, THRESHOLDS))
    centered = (values - values[:, :1]).transpose(1, 2).contiguous().numpy()  # (n, d, L): equal values give exactly 0
    ends = expect("lengths", lengths.numpy(), INDEX, (n,)).repeat(d)
    expect_within("lengths", ends - 1, longest)
    out = np.empty((n, d, len(spacing), kernels, THRESHOLDS + 1))
    size = max(1, CALL_CELLS // (longest * d * kernels * len(spacing)))
    for first in range(0, n, size):
        rows = slice(first, first + size)
        part = centered[rows], ends[first * d : (first + size) * d], len(centered[rows]) * d, longest, d
        share_out(_pool, n > 1, *part, spacing, len(spacing), heavy_taps(kernels), kernels, limits, out[rows])
    return torch.from_numpy(out.reshape(n, -1))


def _inside(values: Tensor, lengths: Tensor) -> Tensor:
    """Return which steps (n, L) exist."""
    return torch.arange(values.shape[1], device=values.device) < lengths[:, None]
