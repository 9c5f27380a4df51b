"""A metric with objects to test it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.spaces.base import Encoded


class NotTriedError(Exception):
    """A property that does not apply to this metric; the reason is listed, or the line omitted without one."""


@dataclass(frozen=True)
class Trial:
    """A metric, a few objects, and the same objects as prototypes."""

    original: SemiMetric  # the user's
    metric: SemiMetric  # with learned parameters
    x: Encoded  # (n)
    v: Tensor  # (n, *shape)
    tol: float

    @property
    def points(self) -> Encoded:
        """The prototypes as objects: for a table of dissimilarities, the table."""
        return self.x if self.metric.discrete else self.v

    def between(self, share: float, k: int) -> Tensor:
        """Return k points between neighbouring prototypes."""
        if self.metric.discrete:
            raise NotTriedError("prototypes are objects: there is nothing between them")
        return (share * self.v + (1.0 - share) * self.v.roll(-1, 0))[:k].detach()

    def weights(self, k: int) -> Tensor:
        """Return unequal weights (n, k)."""
        n = len(self.x)
        return torch.linspace(0.5, 1.5, n * k, dtype=self.v.dtype, device=self.v.device).reshape(n, k)

    def to(self, device: str) -> Trial:
        """Return a copy on another device."""
        return replace(self, x=self.x.to(torch.device(device)), v=self.v.to(device))


@dataclass(frozen=True)
class Plain(SemiMetric, savable=False):
    """A metric with nothing but its distances."""

    metric: SemiMetric
    name = "plain"

    def pairwise(self, x: Encoded, v: Tensor) -> Tensor:
        """Return the metric's distances."""
        return self.metric.pairwise(x, v)


def first(values: Tensor, bad: Callable[[Tensor], Tensor], text: str = "") -> str:
    """Return the position of the first bad entry, or nothing."""
    bad_places = bad(values).nonzero()
    if not len(bad_places):
        return ""
    i, j = (int(v) for v in bad_places[0])
    where = f"object {i + 1} and prototype {j + 1} ({len(bad_places)} of {values.numel()} pairs)"
    return f"{text}{float(values[i, j]):.6g} for {where}"


def difference(what: str, actual: Tensor, expected: Tensor, tol: float) -> str:
    """Return by how much two tensors differ, or nothing."""
    if actual.shape != expected.shape:
        return f"{what} has shape {tuple(actual.shape)}, not {tuple(expected.shape)}"
    off = (actual.detach().double().cpu() - expected.detach().double().cpu()).abs()
    scale = max(float(expected.detach().abs().max()), 1e-300) if expected.numel() else 1.0
    if not off.numel() or float(off.max()) <= tol * scale:  # NaN fails
        return ""
    return f"{what} is off by {float(off.max()):.3g}, where numbers go up to {scale:.3g}"
