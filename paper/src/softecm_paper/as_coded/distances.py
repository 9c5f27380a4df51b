"""Imitates the three distances: sums of squares, a sigmoid of codes under the name Hamming, raw Soft-DTW with gamma 0.1.

All take objects and prototypes as (steps, channels), with a table's columns as steps, for many runs at once: prototypes
are (runs, sets, steps, channels), distances (runs, objects, sets).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

SHARE = 1e-6  # added by the sigmoid distance for every column
GAMMA = 0.1


@dataclass(frozen=True, eq=False)
class Distance(ABC):
    """A distance from fixed objects to prototypes, with its gradient for the prototypes."""

    x: Tensor  # (objects, steps, channels)

    @abstractmethod
    def values(self, v: Tensor) -> Tensor:
        """Return distances of all objects to all prototypes: (runs, objects, sets)."""

    @abstractmethod
    def gradient(self, v: Tensor, weights: Tensor) -> Tensor:
        """Return the gradient for ``v`` of the weighted sum of distances."""

    @abstractmethod
    def paired(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return distances of matching prototypes (runs, pairs) and their gradients for both."""

    def in_stopping_rule(self, values: Tensor) -> Tensor | None:
        """Return the distance for the stopping rule: a mean over steps; None if unused."""
        return values / self.x.shape[1]


class SumOfSquares(Distance):
    """The experiments' Euclidean distance: the squared difference, summed over steps and channels."""

    def values(self, v: Tensor) -> Tensor:
        """Return squared differences, computed directly so that equal values are at 0."""
        x = self.x.flatten(1)
        return torch.cdist(x, v.flatten(2), compute_mode="donot_use_mm_for_euclid_dist").square()

    def gradient(self, v: Tensor, weights: Tensor) -> Tensor:
        """Return twice the weighted difference."""
        pull = weights.transpose(1, 2) @ self.x.flatten(1)  # (runs, sets, steps * channels)
        return 2 * (weights.sum(1)[:, :, None] * v.flatten(2) - pull).reshape(v.shape)

    def paired(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return squared differences."""
        away = a - b
        return away.square().sum((-1, -2)), 2 * away, -2 * away


class SigmoidOfCodes(Distance):
    """The experiments' Hamming distance: the difference of the codes' logistic functions, plus a constant per column."""

    def values(self, v: Tensor) -> Tensor:
        """Return sums over columns."""
        columns = self.x.shape[1] * self.x.shape[2]
        x, v = torch.sigmoid(self.x.flatten(1)), torch.sigmoid(v.flatten(2))
        return torch.cdist(x, v, p=1.0) + columns * SHARE

    def gradient(self, v: Tensor, weights: Tensor) -> Tensor:
        """Return signs of the differences, times the slope of the logistic function."""
        x, at = torch.sigmoid(self.x.flatten(1)), torch.sigmoid(v.flatten(2))
        signs = torch.stack(
            [(w.T[:, :, None] * torch.sign(a[:, None] - x)).sum(1) for a, w in zip(at, weights, strict=True)]
        )
        return (signs * at * (1 - at)).reshape(v.shape)

    def paired(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return sums over columns."""
        at, other = torch.sigmoid(a), torch.sigmoid(b)
        sign = torch.sign(at - other)
        values = ((at - other).abs() + SHARE).sum((-1, -2))
        return values, sign * at * (1 - at), -sign * other * (1 - other)


class RawSoftDTW(Distance):
    """Raw Soft-DTW instead of the divergence: it can be negative, and is then raised to a power."""

    def values(self, v: Tensor) -> Tensor:
        """Return the last cell of every table."""
        costs = self._costs(v)
        return soft_tables(costs)[-1][-1].to(v.dtype)

    def gradient(self, v: Tensor, weights: Tensor) -> Tensor:
        """Return the weights of pairs of steps in the alignments, times twice their difference."""
        costs = self._costs(v)
        share = (
            alignments(costs, soft_tables(costs)).to(v.dtype) * weights[..., None, None]
        )  # (runs, n, sets, steps, steps)
        pull = torch.einsum("rnsij,nid->rsjd", share, self.x)
        return 2 * (share.sum((1, 3))[..., None] * v - pull)

    def paired(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the last cell of the pairs' tables, and the alignments from both sides."""
        costs = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square()
        tables = soft_tables(costs)
        share = alignments(costs, tables).to(a.dtype)
        of_a = 2 * (share.sum(-1)[..., None] * a - share @ b)
        of_b = 2 * (share.sum(-2)[..., None] * b - share.transpose(-1, -2) @ a)
        return tables[-1][-1].to(a.dtype), of_a, of_b

    def in_stopping_rule(self, values: Tensor) -> None:
        """Do nothing: with every coordinate changing by 0.1 per iteration, the value never converges."""
        return None

    def _costs(self, v: Tensor) -> Tensor:
        """Return squared differences of an object's and a prototype's steps: (runs, objects, sets, steps, steps)."""
        n, steps, channels = self.x.shape
        flat = torch.cdist(
            self.x.reshape(-1, channels), v.flatten(1, 2), compute_mode="donot_use_mm_for_euclid_dist"
        ).square()
        return flat.reshape(len(v), n, steps, v.shape[1], steps).transpose(2, 3)


class RawSoftDTWOfLongSeries(Distance):
    """The same by the library's own function, for larger tables.

    The function raises an error for NaN; here a NaN prototype has a NaN distance, as in the original.
    """

    def values(self, v: Tensor) -> Tensor:
        """Return distances of all objects to all prototypes."""
        from softecm import soft_dtw

        d = soft_dtw(self.x, _numbers(v).flatten(0, 1), gamma=GAMMA)
        return d.reshape(len(self.x), *v.shape[:2]).transpose(0, 1) + _lost(v)[:, None]

    def gradient(self, v: Tensor, weights: Tensor) -> Tensor:
        """Return the function's own gradient."""
        from softecm import soft_dtw

        at = _numbers(v).flatten(0, 1).clone().requires_grad_()
        total = soft_dtw(self.x, at, gamma=GAMMA) * weights.permute(1, 0, 2).flatten(1)
        (slope,) = torch.autograd.grad(total.sum(), at)
        return slope.reshape(v.shape) + _lost(v)[..., None, None]

    def paired(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return distances of matching rows and both gradients."""
        from softecm import soft_dtw

        first, second = (_numbers(t).flatten(0, 1).clone().requires_grad_() for t in (a, b))
        values = soft_dtw(first, second, gamma=GAMMA, paired=True)
        gradients = torch.autograd.grad(values.sum(), (first, second))
        lost = _lost(a) + _lost(b)
        of_a, of_b = (slope.reshape(a.shape) + lost[..., None, None] for slope in gradients)
        return values.detach().reshape(a.shape[:2]) + lost, of_a, of_b

    def in_stopping_rule(self, values: Tensor) -> None:
        """Do nothing, as above."""
        return None


def _lost(v: Tensor) -> Tensor:
    """Return 0 for finite prototypes, NaN for the others."""
    return torch.where(v.isfinite().flatten(2).all(2), 0.0, torch.nan).to(v.dtype)


def _numbers(v: Tensor) -> Tensor:
    """Return the prototypes, with zeros instead of NaN."""
    return torch.where(_lost(v).isnan()[..., None, None], torch.zeros_like(v), v)


def soft_tables(costs: Tensor) -> list[list[Tensor]]:
    """Return the cells of the Soft-DTW recursion in float64, row by row."""
    costs = costs.double()
    last = costs.shape[-1]
    rows: list[list[Tensor]] = []
    for i in range(costs.shape[-2]):
        row: list[Tensor] = []
        for j in range(last):
            before = (
                ([rows[i - 1][j]] if i else [])
                + ([row[j - 1]] if j else [])
                + ([rows[i - 1][j - 1]] if i and j else [])
            )
            row.append(costs[..., i, j] + (_soft_minimum(before) if before else 0.0))
        rows.append(row)
    return rows


def _soft_minimum(values: list[Tensor]) -> Tensor:
    least = values[0]
    for value in values[1:]:
        least = torch.minimum(least, value)
    total = torch.zeros_like(least)
    for value in values:
        total += torch.exp((least - value) / GAMMA)
    return least - GAMMA * torch.log(total)


def alignments(costs: Tensor, tables: list[list[Tensor]]) -> Tensor:
    """Return the gradient of the last cell with respect to every cost."""
    costs = costs.double()
    m, n = len(tables), len(tables[0])
    share = torch.zeros_like(costs)
    share[..., -1, -1] = 1.0
    for i in reversed(range(m)):
        for j in reversed(range(n)):
            for k, l in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
                if k < m and l < n:
                    passed = torch.exp((tables[k][l] - costs[..., k, l] - tables[i][j]) / GAMMA)
                    share[..., i, j] += share[..., k, l] * passed
    return share
