"""What a semi-metric may add to ``pairwise``: three small objects, each of which makes fits faster or possible at all.

- :class:`ClosedForm`: the prototype step, or a quadratic bound of its cost;
- :class:`CompiledPasses`: whole passes over the objects, written as kernels;
- :class:`Learner`: what the metric takes from the data before a fit.

Every answer may be None, "not for this input": the caller then does with ``pairwise`` what the capability would have done.
``softecm.testing.check_semimetric`` compares each with ``pairwise``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from torch import Tensor

if TYPE_CHECKING:
    from softecm.distances.base import SemiMetric
    from softecm.spaces.base import Described


class Sums(NamedTuple):
    """A quadratic in the prototypes: ``<curvature u - 2 moment, u>`` plus a constant, in ``ClosedForm.tensor``'s product."""

    curvature: Tensor  # (k, *shape), or anything that broadcasts to it
    moment: Tensor  # (k, *shape)
    gradient: Tensor | None = None  # of the cost at v, where the quadratic is near the cost but does not touch it


class FusedRound(NamedTuple):
    """What one pass over the objects gives to a batch of runs."""

    cost: Tensor  # (runs,)
    curvature: Tensor  # (runs, f, *shape), or broadcastable
    moment: Tensor  # (runs, f, *shape)
    change: Tensor  # (runs,)


class RoundCost(TypedDict):
    """What masses cost in a batch of runs; see ``softecm.objective.equations.MassCost``."""

    factors: Tensor
    beta: Tensor
    delta2: Tensor
    weights: Tensor | None
    tol: float


class RunCost(TypedDict):
    """The same in one run."""

    factors: Tensor
    beta: float
    delta2: float


class ClosedForm(ABC):  # noqa: B024 -- all of it is optional; a subclass says what it knows
    """What is known of the prototype step (eq. 8) beyond derivatives."""

    #: Weighted barycentres are weighted means, coordinate by coordinate, ``sums`` is the cost itself, and between prototypes
    #: ``d(a, b) = <tensor(a - b), a - b>``.
    quadratic: bool = False

    def sums(self, x: Any, v: Tensor, weights: Tensor) -> Sums | None:
        """A quadratic that bounds ``u -> sum_i weights[i, k] d(x_i, u)`` from above and touches it at ``v[k]``."""
        return None

    def with_sums(self, x: Any, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Distances (n, k), and ``sums`` for weights that are known only later, from one pass; None: take two."""
        return None

    def stiffness(self, v: Tensor, curvature: Tensor, weights: Tensor) -> Tensor | None:
        """Half the second derivative (k, L, L) of the cost along the first axis of v (k, L, ...), about.

        Positive definite, from the ``sums``' curvature and each prototype's sum of weights (k,); None: the curvature is all
        that is known.
        """
        return None

    def tensor(self, u: Tensor) -> Tensor:
        """Apply the matrix of the quadratic that ``sums`` describes; the identity unless coordinates are mixed."""
        return u

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor | None:
        """Minimisers (..., k, *shape) of ``sum_i weights[k, i] d(x_i, u)`` for x (..., n, *shape), differentiable.

        None where there is no closed form. ``x`` may carry leading dimensions, one problem each.
        """
        return None

    def points(self, x: Any, shape: Sequence[int]) -> Tensor | None:
        """Objects as rows of a prototype's coordinates, where distances are squared differences; None: they are not."""
        return None

    def combined(self, x: Any) -> SemiMetric | None:
        """The metric to prototypes written as combinations of these objects, where these are shorter; None: they are not."""
        return None

    def mixed(self, distances: Tensor, between: Tensor, weights: Tensor) -> Tensor | None:
        """Distances (n, k) to the barycentres of some points under ``weights`` (k, c), without these barycentres.

        ``distances`` (n, c) are those to the points, ``between`` (c, c) those among them. None: they don't say enough.
        """
        return None


NO_CLOSED_FORM = ClosedForm()  # knows nothing: every answer is None, the identity, or no


class CompiledPasses(ABC):  # noqa: B024 -- as above
    """Passes over the objects without a tensor of all distances in between."""

    def round(
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
        """Masses minimised out, for a batch of runs ``v`` (runs, f, *shape); None where there is none for this input."""
        return None

    def masses(self, x: Any, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
        """Masses (n, f + 1) for one run's prototypes; None where there is none for this input."""
        return None

    def nearest(self, x: Any, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """Distance to the nearest prototype and its number, (n,) each; None where there is none for this input."""
        return None

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        """``paired``, floored at 0, and its derivatives in ``a`` and ``b`` without a graph; None: differentiate it."""
        return None


NO_COMPILED_PASSES = CompiledPasses()  # has none


class Learner(ABC):
    """How a metric fills in from the data what its user left open.

    ``describe`` and ``fitted_to`` do the same for data in blocks: a description of each, merged, then one metric.
    """

    @abstractmethod
    def fitted(self, x: Any, weights: Tensor | None) -> SemiMetric:
        """The metric with everything it learns from the objects filled in."""

    def describe(self, x: Any, weights: Tensor | None) -> Described | None:
        """What ``fitted_to`` must know of some of the objects, in a form that merges; None: nothing."""
        raise self._needs_all()

    def fitted_to(self, description: Any) -> SemiMetric:
        """``fitted`` from the merged descriptions of all blocks; comes with ``describe``."""
        raise self._needs_all()

    def _needs_all(self) -> TypeError:
        metric = getattr(self, "metric", self)
        return TypeError(
            f"metric {getattr(metric, 'name', '') or type(metric).__name__} learns from all objects at once and can't be "
            "fitted in blocks. Give it what it would learn, or data in memory."
        )
