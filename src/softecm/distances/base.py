"""What a semi-metric owes, and what it may add."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.spaces.base import Space
from softecm.spaces.real import RealVectors


class Sums(NamedTuple):
    """A quadratic in the prototypes: ``<curvature u - 2 moment, u>`` plus a constant, in ``SemiMetric.tensor``'s product."""

    curvature: Tensor  # (k, *shape), or anything that broadcasts to it
    moment: Tensor  # (k, *shape)
    gradient: Tensor | None = None  # of the cost at v, where the quadratic is near the cost but does not touch it


class Moments(NamedTuple):
    """Weight, mean (p,) and sum of outer products of deviations (p, p) of some rows; adds up over blocks of rows."""

    weight: float
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @staticmethod
    def of(rows: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Moments:
        """Of rows (n, p)."""
        w = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        total = float(w.sum())
        mean = (w @ rows) / (total if total > 0 else 1.0)
        apart = rows - mean
        return Moments(total, mean, (apart * w[:, None]).T @ apart)

    def merge(self, other: Moments) -> Moments:
        """Two blocks together (Chan, Golub and LeVeque)."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        apart, share = other.mean - self.mean, other.weight / weight
        scatter = self.scatter + other.scatter + np.outer(apart, apart) * self.weight * share
        return Moments(weight, self.mean + apart * share, scatter)


class FusedRound(NamedTuple):
    """What one pass over the objects gives to a batch of runs."""

    cost: Tensor  # (runs,)
    curvature: Tensor  # (runs, f, *shape), or broadcastable
    moment: Tensor  # (runs, f, *shape)
    change: Tensor  # (runs,)


class SemiMetric(ABC):
    r"""A way to compare two objects: symmetric, never negative, zero between equal ones.

    A semi-metric owes one method, ``pairwise``, differentiable in its second argument, and the ``space`` it measures.
    The triangle inequality is not asked for. Everything else has a default: a metric that knows more (a closed form for
    its barycentres, a quadratic bound, a compiled pass) says so by overriding a method, and is then solved faster.

    Examples
    --------
    >>> import torch
    >>> class Chebyshev(SemiMetric):
    ...     def pairwise(self, x, v):
    ...         return (x[:, None] - v).abs().amax(-1)
    >>> Chebyshev().pairwise(torch.zeros(1, 2), torch.tensor([[3.0, -4.0]]))
    tensor([[4.]])
    """

    name: ClassVar[str] = ""
    space: ClassVar[type[Space]] = RealVectors
    #: Weighted barycentres are weighted means, coordinate by coordinate, and ``sums`` does not depend on ``v``.
    quadratic: ClassVar[bool] = False
    #: Whether ``pairwise`` runs where its tensors are; False for one that only has code for the CPU.
    gpu: ClassVar[bool] = True
    #: Prototypes are objects.
    discrete: ClassVar[bool] = False

    @abstractmethod
    def pairwise(self, x: Any, v: Tensor) -> Tensor:
        """Distances of every object to every prototype: encoded objects (n), (k, *shape) -> (n, k)."""

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Distances between rows of the same number: (k, *shape), (k, *shape) -> (k,)."""
        parts = [
            self.pairwise(a[i : i + 16], b[i : i + 16]).diagonal() for i in range(0, len(a), 16)
        ]  # a few needless pairs cost less than a call a pair
        return torch.cat(parts) if parts else a.new_zeros(0)

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        """``paired``, floored at 0, and its derivatives in ``a`` and ``b`` without a graph; None: differentiate it."""
        return None

    def work(self, shape: Sequence[int]) -> float:
        """Roughly how many multiplications one distance to a prototype of this shape costs."""
        return float(math.prod(shape))

    def fitted(self, x: Any, weights: Tensor | None) -> SemiMetric:
        """The metric with everything it learns from data filled in."""
        return self

    def describe(self, x: Any, weights: Tensor | None) -> Any:
        """What ``fitted`` must know of some of the objects, as a value with a method ``merge``; None: nothing."""
        if type(self).fitted is not SemiMetric.fitted:
            raise TypeError(
                f"metric {self.name or type(self).__name__} learns from all objects at once and can't be fitted in blocks. "
                "Give it what it would learn, or data in memory."
            )
        return None

    def fitted_to(self, description: Any) -> SemiMetric:
        """``fitted`` from the merged descriptions of all blocks."""
        return self

    def make_space(self) -> Space:
        """The space, not yet fitted, with whatever options of the metric concern it."""
        return self.space()

    def sums(self, x: Any, v: Tensor, weights: Tensor) -> Sums | None:
        """A quadratic that bounds ``u -> sum_i weights[i, k] d(x_i, u)`` from above and touches it at ``v[k]``."""
        return None

    def with_sums(self, x: Any, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Distances (n, k), and ``sums`` for weights that are known only later, from one pass; None: take two."""
        return None

    def tensor(self, u: Tensor) -> Tensor:
        """Apply the matrix of the quadratic that ``sums`` describes; the identity unless coordinates are mixed."""
        return u

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor | None:
        """Minimisers (..., k, *shape) of ``sum_i weights[k, i] d(x_i, u)`` for x (..., n, *shape), differentiable.

        None where there is no closed form. ``x`` may carry leading dimensions, one problem each.
        """
        return None

    def terms(self, x: Any, v: Tensor) -> Tensor | None:
        """What each attribute adds to each distance (n, k, attributes); None where distances don't add up so."""
        return None

    def fused(
        self,
        x: Any,
        v: Tensor,
        previous: Tensor | None,
        *,
        factors: Tensor,
        beta: Tensor,
        delta2: Tensor,
        weights: Tensor | None,
        tol: float,
    ) -> FusedRound | None:
        """One compiled pass for a batch of runs ``v`` (runs, f, *shape); None where there is none for this input."""
        return None

    def nearest(self, x: Any, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """Distance to the nearest prototype and its number, (n,) each, in one compiled pass; None where there is none."""
        return None

    def fused_masses(self, x: Any, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
        """Masses (n, f + 1) for one run's prototypes in one compiled pass; None where there is none for this input."""
        return None

    def parameters(self) -> dict[str, Any]:
        """Plain values from which ``type(self)(**parameters)`` builds the metric again."""
        return {f.name: getattr(self, f.name) for f in fields(self)} if is_dataclass(self) else {}
