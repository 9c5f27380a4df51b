"""The interface of semi-metrics, and functions that compute distances block by block.

Besides ``pairwise``, a metric may offer three capabilities, which make fits faster or possible at all:

- :class:`ClosedForm`: the prototype step, or a quadratic bound of its cost;
- :class:`CompiledPasses`: whole passes over the objects, written as kernels;
- :class:`Learner`: what the metric learns from the data before a fit.

Each method may return None if it does not support the input; the caller then falls back to ``pairwise``.
``softecm.testing.check_semimetric`` compares each capability with ``pairwise``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypedDict, Unpack, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._text import place
from softecm.belief import FocalSets
from softecm.files.expected import Content, Misfit
from softecm.files.values import Savable, own
from softecm.spaces.base import Described, Encoded, Space
from softecm.spaces.real import RealVectors
from softecm.spaces.sparse import SparseRows, WholeRows

if TYPE_CHECKING:
    from softecm.distances.weighted_parts import Weighing


class Sums(NamedTuple):
    """The quadratic ``<curvature u - 2 moment, u>`` in the prototypes, up to a constant; see ``ClosedForm.tensor``."""

    curvature: Tensor  # (k, *shape), or broadcastable to it
    moment: Tensor  # (k, *shape)
    gradient: Tensor | None = None  # of the cost at v, if the quadratic approximates the cost without touching it


class FusedRound(NamedTuple):
    """Result of one pass over the objects for a batch of runs."""

    cost: Tensor  # (runs,)
    curvature: Tensor  # (runs, f, *shape), or broadcastable
    moment: Tensor  # (runs, f, *shape)
    change: Tensor  # (runs,)


class RoundCost(TypedDict):
    """Parameters of the cost of mass in a batch of runs; see ``softecm.objective.equations.MassCost``."""

    factors: Tensor
    beta: Tensor
    delta2: Tensor
    weights: Tensor | None
    tol: float


class RunCost(TypedDict):
    """Parameters of the cost of mass in one run."""

    factors: Tensor
    beta: float
    delta2: float


class ClosedForm(ABC):  # noqa: B024 -- all of it is optional; a subclass says what it knows
    """What is known of the prototype step (eq. 8) beyond derivatives."""

    #: Whether weighted barycentres are weighted means by coordinate, ``sums`` is the cost itself, and
    #: ``d(a, b) = <tensor(a - b), a - b>`` between prototypes.
    quadratic: bool = False

    def sums(self, x: Any, v: Tensor, weights: Tensor) -> Sums | None:
        """Return a quadratic that bounds ``u -> sum_i weights[i, k] d(x_i, u)`` from above and touches it at ``v[k]``."""
        return None

    def with_sums(self, x: Any, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Return distances (n, k) and a function from weights to ``sums``, from one pass; None if that takes two."""
        return None

    def stiffness(self, v: Tensor, curvature: Tensor, weights: Tensor) -> Tensor | None:
        """Approximate half the second derivative (k, L, L) of the cost along the first axis of v (k, L, ...).

        Must be positive definite. ``curvature`` comes from ``sums``, ``weights`` (k,) are each prototype's sum of
        weights. None if only the curvature is known.
        """
        return None

    def tensor(self, u: Tensor) -> Tensor:
        """Apply the matrix of the quadratic that ``sums`` describes; by default the identity."""
        return u

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor | None:
        """Return minimizers (..., k, *shape) of ``sum_i weights[k, i] d(x_i, u)`` for x (..., n, *shape), differentiable.

        None if there is no closed form. Leading dimensions of ``x`` are separate problems.
        """
        return None

    def points(self, x: Any, shape: Sequence[int]) -> Tensor | None:
        """Return objects as rows of a prototype's coordinates if distances are squared differences, else None."""
        return None

    def combined(self, x: Any) -> SemiMetric | None:
        """Return the metric to prototypes written as combinations of these objects if these are shorter, else None."""
        return None

    def to_means(self, distances: Tensor, between: Tensor, weights: Tensor) -> Tensor | None:
        """Return distances (n, k) to barycentres of points under ``weights`` (k, c), without computing the barycentres.

        ``distances`` (n, c) are those to the points, ``between`` (c, c) those among them. None if these don't suffice.
        """
        return None


NO_CLOSED_FORM = ClosedForm()  # every method returns None, the identity or False


class CompiledPasses(ABC):  # noqa: B024 -- as above
    """Passes over the objects that don't materialize a tensor of all distances."""

    def round(self, x: Any, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]) -> FusedRound | None:
        """Return one pass over the objects for a batch of runs ``v`` (runs, f, *shape); None if not supported."""
        return None

    def masses(self, x: Any, v: Tensor, **cost: Unpack[RunCost]) -> Tensor | None:
        """Return masses (n, f + 1) for one run's prototypes; None if not supported."""
        return None

    def nearest(self, x: Any, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the distance to the nearest prototype and its index, (n,) each; None if not supported."""
        return None

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        """Return ``paired``, clipped at 0, and its derivatives in ``a`` and ``b``, without a graph; None: use autograd."""
        return None

    def pulls(self, a: Tensor, which: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]] | None:
        """Return a function of ``b``: distances (n,) of each ``a`` to ``b[which]``, and the derivative of their sum."""
        if self.paired_gradients(a[:1], a[:1]) is None:
            return None

        def at(b: Tensor) -> tuple[Tensor, Tensor]:
            gradients = self.paired_gradients(a, b[which])
            assert gradients is not None
            return gradients[0], torch.zeros_like(b).index_add_(0, which, gradients[2])

        return at


NO_COMPILED_PASSES = CompiledPasses()  # supports none


class Learner:
    """How a metric learns from the data the parameters that its user left open.

    ``describe`` and ``fitted_to`` do this for data in blocks: each block is described, the descriptions are merged, and
    one metric is fitted to them.
    """

    def fitted(self, x: Any, weights: Tensor | None) -> SemiMetric:
        """Return the metric fitted to the objects."""
        return self.fitted_to(self.describe(x, weights))

    def describe(self, x: Any, weights: Tensor | None) -> Described | None:
        """Return what ``fitted_to`` needs to know of some objects, as a mergeable value; None if nothing."""
        raise self._needs_all()

    def suited(self, space: Any, describe: Callable[[], Any]) -> SemiMetric | None:
        """Return the metric with another space that suits the objects better, which are then encoded anew; usually None.

        ``describe`` returns the merged descriptions of all objects.
        """
        return None

    def fitted_to(self, description: Any) -> SemiMetric:
        """Return the metric fitted to the merged descriptions of all blocks."""
        raise self._needs_all()

    def _needs_all(self) -> TypeError:
        metric = getattr(self, "metric", self)
        return TypeError(
            f"metric {getattr(metric, 'name', '') or type(metric).__name__} learns from all objects at once and can't be "
            "fitted in blocks. Set its parameters, or give data in memory."
        )


class Moments(NamedTuple):
    """Weight, mean (p,) and scatter (p, p) of rows: sums of outer products of deviations; mergeable over blocks."""

    weight: float
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @staticmethod
    def of(rows: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Moments:
        """Return the moments of rows (n, p)."""
        w = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        total = float(w.sum())
        mean = (w @ rows) / (total if total > 0 else 1.0)
        deviations = rows - mean
        return Moments(total, mean, (deviations * w[:, None]).T @ deviations)

    def merge(self, other: Moments) -> Moments:
        """Merge the moments of two blocks (Chan, Golub and LeVeque)."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        difference, share = other.mean - self.mean, other.weight / weight
        scatter = self.scatter + other.scatter + np.outer(difference, difference) * self.weight * share
        return Moments(weight, self.mean + difference * share, scatter)


class SemiMetric(Savable, ABC):
    r"""A way to compare two objects: symmetric, never negative, zero between equal ones.

    A semi-metric must implement one method, ``pairwise``, differentiable in its second argument, and name the ``space``
    it measures. It need not satisfy the triangle inequality. Everything else has a default. Up to three capabilities
    make fits faster: a ``closed_form`` of barycentres or a quadratic bound, ``compiled`` passes, and a ``learner`` for
    what the metric takes from the data.

    Examples
    --------
    >>> import torch
    >>> class Chebyshev(SemiMetric):
    ...     degree = 1.0
    ...     def pairwise(self, x, v):
    ...         return (x[:, None] - v).abs().amax(-1)
    >>> Chebyshev().pairwise(torch.zeros(1, 2), torch.tensor([[3.0, -4.0]]))
    tensor([[4.]])
    """

    name: ClassVar[str] = ""
    space: ClassVar[type[Space]] = RealVectors
    #: Names of the columns in their order, if the metric compares rows of a fixed number of columns.
    column_names: ClassVar[tuple[str, ...]] = ()
    #: Whether ``pairwise`` runs on the device of its tensors; False if it only runs on the CPU.
    gpu: ClassVar[bool] = True
    #: The power of a length that ``d`` is proportional to: 2 for squared distances, 1 for a true metric.
    degree: ClassVar[float] = 2.0
    #: Whether objects may also be sparse rows (``softecm.spaces.sparse.SparseRows``), which stay sparse.
    sparse: ClassVar[bool] = False
    #: Whether fits may run mostly in single precision: its kernels support this with little loss.
    single: ClassVar[bool] = False
    #: Whether prototypes are objects, given by their indices, so that there is nothing to differentiate.
    discrete: ClassVar[bool] = False
    #: Whether ``doubts`` may return something; if so, some objects are sampled for it.
    has_doubts: ClassVar[bool] = False
    finding: str = ""  # what a fitted metric has learned about the columns, as a sentence

    @abstractmethod
    def pairwise(self, x: Any, v: Tensor) -> Tensor:
        """Return the distances of encoded objects (n) to prototypes (k, *shape), as (n, k)."""

    @property
    def closed_form(self) -> ClosedForm:
        """Barycentres in closed form, or a quadratic bound of the cost; by default only derivatives are used."""
        return NO_CLOSED_FORM

    @property
    def compiled(self) -> CompiledPasses:
        """Passes over the objects as kernels; by default ``pairwise`` is called block by block."""
        return NO_COMPILED_PASSES

    @property
    def learner(self) -> Learner | None:
        """How the metric learns from data; None if it learns nothing."""
        return None

    @property
    def weighing(self) -> Weighing | None:
        """How view weights are learned together with the clusters; None if there are none."""
        return None

    @final
    def fitted(self, x: Any, weights: Tensor | None) -> SemiMetric:
        """Return the metric fitted to encoded objects, or itself if it learns nothing."""
        return self if self.learner is None else self.learner.fitted(x, weights)

    def for_clusters(self, n_clusters: int) -> SemiMetric:
        """Return the metric with the number of clusters that its learner may use; most metrics ignore it."""
        return self

    def open_space(self, space: Space) -> Space:
        """Return the space for new objects, which may lack attributes that the fitted metric ignores."""
        return space

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return distances between rows of the same index: (k, *shape), (k, *shape) -> (k,)."""
        # Computing a few extra pairs costs less than one call per pair.
        parts = [self.pairwise(a[i : i + 16], b[i : i + 16]).diagonal() for i in range(0, len(a), 16)]
        return torch.cat(parts) if parts else a.new_zeros(0)

    def separate(self, v: Tensor) -> Sequence[tuple[SemiMetric, Tensor]]:
        """Split prototypes (..., *shape) into parts with independent barycentres, each with its metric."""
        return [(self, v)]

    def terms(self, x: Any, v: Tensor) -> Tensor | None:
        """Return each attribute's contribution to each distance (n, k, attributes); None if distances are no such sums."""
        return None

    def doubts(self, x: Any, clusters: Tensor) -> Sequence[str]:
        """Return warnings about clusters (c, *shape) fitted to objects; none by default."""
        return ()

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """Estimate the number of multiplications in one distance to a prototype of this shape."""
        return float(math.prod(shape))

    def scale_power(self, x: Any) -> float:
        """Return the power of these objects' distances in which typical deviations are measured; by default the root."""
        return 0.5

    def unrelated(self, x: Any) -> float:
        """Return the distance of unrelated objects, if there is an upper limit that many of these objects reach."""
        return math.inf

    def step(self, space: Space) -> float:
        """Return what differing in an all-or-nothing attribute adds to a distance; 0 if all attributes differ by degrees."""
        return space.step

    def make_space(self) -> Space:
        """Return the unfitted space with the options of this metric."""
        return RealVectors(expected=self.column_names) if self.column_names else self.space()

    def samples(self, generator: torch.Generator, n: int) -> Encoded:
        """Return random encoded objects for the contract tests: by default the space's, with the metric's columns."""
        x = self.space.samples(generator, n)
        return x[:, : len(self.column_names)] if isinstance(x, Tensor) and self.column_names else x

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` if a metric read from a file is not fitted, or does not match the space and sets."""
        if space.sparse and not self.sparse:
            raise Misfit(f"the metric {type(self).__name__} does not measure sparse rows")

    def parameters(self) -> dict[str, object]:
        """Return plain values from which ``type(self)(**parameters)`` rebuilds the metric."""
        return {f.name: getattr(self, f.name) for f in fields(self)} if is_dataclass(self) else {}


def metric_rule(content: Content, node: object, where: str) -> None:
    """Validate a metric in a model file: one of the library's, or a placeholder for one that the user must provide."""
    if not (isinstance(node, Mapping) and set(node) == {"metric"}):
        own(SemiMetric)(content, node, where)


def not_learned(metric: SemiMetric) -> Misfit:
    """Return the error for a metric from a file without its learned values."""
    return Misfit(f"the metric {type(metric).__name__} has not been fitted to data")


BLOCK_CELLS = 1 << 20  # numbers held at once while the CPU processes a block of objects: 8 MB
GPU_CELLS = 1 << 27  # the same for a GPU, which only large blocks keep busy


def blocks(x: Encoded, prototypes: Tensor) -> list[slice]:
    """Split objects so that a block's distances to all prototypes (k, *shape) fit in memory."""
    # A pair takes as many numbers as a prototype has: differences are broadcast, or alignments summed. Sparse rows are
    # multiplied instead.
    if isinstance(x, WholeRows):
        return [slice(0, len(x))]
    each = len(prototypes) if isinstance(x, SparseRows) else prototypes.numel()
    n, size = len(x), max(1, (GPU_CELLS if prototypes.is_cuda else BLOCK_CELLS) // max(1, each))
    starts = range(0, n, size)
    return list(map(slice, starts, [*starts[1:], n]))


def distances_of(metric: SemiMetric, x: Encoded, v: Tensor, *, first: int = 0) -> Tensor:
    """Compute distances (n, k) block by block and validate them; ``first`` is the index of the first object."""
    parts = [v.new_empty(0, len(v))]
    with torch.no_grad():
        for rows in blocks(x, v):
            block = x[rows]
            d = metric.pairwise(block, v)
            check_distances(metric, d, len(block), len(v), first + rows.start)
            parts.append(d.clamp_min(0.0))
    return torch.cat(parts)


def nearest_of(metric: SemiMetric, x: Encoded, v: Tensor, *, first: int = 0) -> tuple[Tensor, Tensor]:
    """Return distance and index (n,) of the nearest prototype, on the CPU; ``first`` is the first object's index."""
    compiled = metric.compiled.nearest(x, v)
    if compiled is not None:
        return compiled[0].double().cpu(), compiled[1].cpu()
    distances, which = [v.new_empty(0).double().cpu()], [torch.empty(0, dtype=torch.int64)]
    with torch.no_grad():
        for rows in blocks(x, v):
            block = x[rows]
            d = metric.pairwise(block, v)
            check_distances(metric, d, len(block), len(v), first + rows.start)
            least = d.clamp_min(0.0).min(1)
            distances.append(least.values.double().cpu())
            which.append(least.indices.cpu())
    return torch.cat(distances), torch.cat(which)


def check_kind(name: str, d: Tensor) -> None:
    """Raise ValueError for distances that are not dense floats, which gradients and compiled code need."""
    if not d.is_floating_point():
        raise ValueError(
            f"metric {name} must return distances as floating-point numbers; got {d.dtype}. Prototypes move along its "
            "gradient: return continuous distances, or give the matrix of distances: metric='precomputed'."
        )
    if d.dtype not in (torch.float32, torch.float64) or d.layout != torch.strided:
        raise ValueError(
            f"metric {name} must return a dense tensor of float32 or float64; got {d.dtype}, {d.layout}. Return "
            "d.to_dense().double()."
        )


def check_distances(metric: SemiMetric, d: Tensor, n: int, k: int, first: int = 0) -> None:
    """Raise ValueError for distances that no semi-metric may return, naming the object and prototype."""
    name = metric.name or type(metric).__name__
    check_kind(name, d)
    if d.shape != (n, k):
        raise ValueError(
            f"metric {name} must return distances of shape (n, f); got shape {tuple(d.shape)} for {n} objects and {k} "
            "prototypes. Broadcast x[:, None] against v and reduce the last axes."
        )
    values = d.detach()
    if not values.numel():
        return
    low, high = torch.stack(torch.aminmax(values)).tolist()  # one pass; NaN propagates
    if math.isfinite(low) and math.isfinite(high) and low >= -1e-6 * max(high, -low):
        return
    bad = ~torch.isfinite(values)
    if bool(bad.any()):
        i, j = (int(v) for v in bad.nonzero()[0])
        raise ValueError(
            f"metric {name} must return finite distances; got {float(values[i, j])} for {place('object', first + i)} and "
            f"{place('prototype', j, 'prototypes_')}. Look for a division by zero or a root of zero; "
            "softecm.testing.check_semimetric shows more."
        )
    i, j = (int(v) for v in (values == low).nonzero()[0])
    raise ValueError(
        f"metric {name} must never be negative; got {low} for {place('object', first + i)} and "
        f"{place('prototype', j, 'prototypes_')}. "
        "Subtract the distances of each object to itself (as the Soft-DTW divergence does), or square it."
    )
