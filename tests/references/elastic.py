r"""Readable reference recursions of the elastic distances of one pair of series, as in their articles.

.. math:: R_{ij} = \min{}^\gamma(R_{i-1,j-1} + \text{across}_{ij},\; R_{i-1,j} + \text{up}_{ij},\;
    R_{i,j-1} + \text{left}_{ij})

In torch and float64, so that autograd differentiates it; entirely in the log domain. With ``gamma`` above 0 every
length :math:`|u|` is smoothed, :math:`u^2 / 2\gamma` below gamma and :math:`|u| - \gamma/2` beyond.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from references.soft_dtw import band_mask

Cost = Callable[[int, int], Tensor]  # of a step into cell (i, j)


def length(u: Tensor, gamma: float) -> Tensor:
    """Euclidean length of a difference (d,), smoothed if gamma is above 0."""
    square = u.square().sum()
    n = torch.where(square > 0, square, 1.0).sqrt() * (square > 0)
    if gamma == 0:
        return n
    return torch.where(n < gamma, square / (2 * gamma), n - gamma / 2)


def recursion(
    n: int, m: int, start: Tensor, across: Cost, up: Cost, left: Cost, gamma: float, band: int | None
) -> Tensor:
    """The last cell."""
    inside = band_mask(n, m, band)
    r: dict[tuple[int, int], Tensor] = {(0, 0): start}
    for i in range(n):
        for j in range(m):
            if (i, j) == (0, 0) or not inside[i, j]:
                continue
            ways = [
                r[i - di, j - dj] + cost(i, j)
                for di, dj, cost in ((1, 1, across), (1, 0, up), (0, 1, left))
                if (i - di, j - dj) in r
            ]
            if ways:
                terms = torch.stack(ways)
                r[i, j] = terms.amin() if gamma == 0 else -gamma * torch.logsumexp(-terms / gamma, 0)
    return r[n - 1, m - 1]


def adtw(x: Tensor, y: Tensor, penalty: float = 1.0, gamma: float = 0.0, band: int | None = None) -> Tensor:
    """Squared differences, and ``penalty`` for every step off the diagonal."""

    def cell(i: int, j: int) -> Tensor:
        return (x[i] - y[j]).square().sum()

    def off(i: int, j: int) -> Tensor:
        return cell(i, j) + penalty

    return recursion(len(x), len(y), cell(0, 0), cell, off, off, gamma, band)


def wdtw(x: Tensor, y: Tensor, steepness: float = 0.05, gamma: float = 0.0, band: int | None = None) -> Tensor:
    """Squared differences times a logistic weight that grows with the distance from the diagonal."""
    middle = max(len(x), len(y)) / 2

    def cell(i: int, j: int) -> Tensor:
        weight = torch.sigmoid(torch.tensor(steepness * (abs(i - j) - middle), dtype=x.dtype))
        return weight * (x[i] - y[j]).square().sum()

    return recursion(len(x), len(y), cell(0, 0), cell, cell, cell, gamma, band)


def erp(x: Tensor, y: Tensor, reference: float = 0.0, gamma: float = 0.0, band: int | None = None) -> Tensor:
    """Lengths of differences; a skipped step costs its difference to a fixed value.

    The table has an extra first row and column, for steps skipped before the first match.
    """

    def across(i: int, j: int) -> Tensor:
        return length(x[i - 1] - y[j - 1], gamma)

    def up(i: int, j: int) -> Tensor:
        return length(x[i - 1] - reference, gamma)

    def left(i: int, j: int) -> Tensor:
        return length(y[j - 1] - reference, gamma)

    return recursion(len(x) + 1, len(y) + 1, x.new_zeros(()), across, up, left, gamma, band)


def twe(
    x: Tensor, y: Tensor, stiffness: float = 0.001, penalty: float = 1.0, gamma: float = 0.0, band: int | None = None
) -> Tensor:
    """Lengths at both ends of matched segments and ``stiffness`` for matching over time; deleted segments cost theirs."""

    def across(i: int, j: int) -> Tensor:
        return length(x[i] - y[j], gamma) + length(x[i - 1] - y[j - 1], gamma) + 2 * stiffness * abs(i - j)

    def up(i: int, j: int) -> Tensor:
        return length(x[i] - x[i - 1], gamma) + stiffness + penalty

    def left(i: int, j: int) -> Tensor:
        return length(y[j] - y[j - 1], gamma) + stiffness + penalty

    return recursion(len(x), len(y), length(x[0] - y[0], gamma), across, up, left, gamma, band)


def msm(x: Tensor, y: Tensor, cost: float = 1.0, gamma: float = 0.0, band: int | None = None) -> Tensor:
    """Moves cost their length; splits and merges ``cost`` plus the distance of the value from its neighbours' interval.

    Each channel is aligned by itself.
    """

    def outside(value: Tensor, one: Tensor, other: Tensor) -> Tensor:
        if gamma == 0:
            low, high = torch.minimum(one, other), torch.maximum(one, other)
            return torch.clamp(low - value, min=0.0).sum() + torch.clamp(value - high, min=0.0).sum()
        return (length(value - one, gamma) + length(value - other, gamma) - length(one - other, gamma)) / 2

    def of_channel(a: Tensor, b: Tensor) -> Tensor:
        def across(i: int, j: int) -> Tensor:
            return length(a[i] - b[j], gamma)

        def up(i: int, j: int) -> Tensor:
            return cost + outside(a[i], a[i - 1], b[j])

        def left(i: int, j: int) -> Tensor:
            return cost + outside(b[j], a[i], b[j - 1])

        return recursion(len(a), len(b), across(0, 0), across, up, left, gamma, band)

    return torch.stack([of_channel(x[:, c : c + 1], y[:, c : c + 1]) for c in range(x.shape[1])]).sum()
