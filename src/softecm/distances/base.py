"""What a semi-metric must implement, and what it may add to ``pairwise``; objects go through it in blocks.

Three small objects, each of which makes fits faster or possible at all:

- :class:`ClosedForm`: the prototype step, or a quadratic bound of its cost;
- :class:`CompiledPasses`: whole passes over the objects, written as kernels;
- :class:`Learner`: what the metric takes from the data before a fit.

Every answer may be None, "not for this input": the caller then does with ``pairwise`` what the capability would have done.
``softecm.testing.check_semimetric`` compares each with ``pairwise``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypedDict, final

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

    def to_means(self, distances: Tensor, between: Tensor, weights: Tensor) -> Tensor | None:
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

    def pulls(self, a: Tensor, which: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]] | None:
        """A function of ``b``: distances (n,) of each ``a`` to the ``b`` of this number, and their sum's derivative."""
        if self.paired_gradients(a[:1], a[:1]) is None:
            return None

        def at(b: Tensor) -> tuple[Tensor, Tensor]:
            gradients = self.paired_gradients(a, b[which])
            assert gradients is not None
            return gradients[0], torch.zeros_like(b).index_add_(0, which, gradients[2])

        return at


NO_COMPILED_PASSES = CompiledPasses()  # has none


class Learner:
    """How a metric fills in from the data what its user left open.

    ``describe`` and ``fitted_to`` do the same for data in blocks: a description of each, merged, then one metric.
    """

    def fitted(self, x: Any, weights: Tensor | None) -> SemiMetric:
        """The metric with everything it learns from the objects filled in."""
        return self.fitted_to(self.describe(x, weights))

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
            "fitted in blocks. Set its parameters, or give data in memory."
        )


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
        deviations = rows - mean
        return Moments(total, mean, (deviations * w[:, None]).T @ deviations)

    def merge(self, other: Moments) -> Moments:
        """Two blocks together (Chan, Golub and LeVeque)."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        difference, share = other.mean - self.mean, other.weight / weight
        scatter = self.scatter + other.scatter + np.outer(difference, difference) * self.weight * share
        return Moments(weight, self.mean + difference * share, scatter)


class SemiMetric(Savable, ABC):
    r"""A way to compare two objects: symmetric, never negative, zero between equal ones.

    A semi-metric must implement one method, ``pairwise``, differentiable in its second argument, and name the ``space``
    it measures. The triangle inequality is not asked for. Everything else has a default. A metric that knows more says so
    with up to three objects, and is then solved faster: a ``closed_form`` of its barycentres or a quadratic bound,
    ``compiled`` passes, and a ``learner`` for what it takes from the data.

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
    #: What the columns are, in their order, where a metric compares rows of a fixed number of them.
    column_names: ClassVar[tuple[str, ...]] = ()
    #: Whether ``pairwise`` runs where its tensors are; False for one that only has code for the CPU.
    gpu: ClassVar[bool] = True
    #: The power of a length that ``d`` grows like: 2 where it is a square, 1 for a true metric.
    degree: ClassVar[float] = 2.0
    #: The distance of two objects that have nothing in common, where there is such a thing.
    unrelated: ClassVar[float] = math.inf
    #: Whether objects may also be sparse rows (``softecm.spaces.sparse.SparseRows``), which are never written out.
    sparse: ClassVar[bool] = False
    #: Whether fits may go most of their way in single precision: it has kernels for that, which lose little.
    single: ClassVar[bool] = False
    #: Whether prototypes are objects themselves, given by their numbers: there is then nothing to differentiate.
    discrete: ClassVar[bool] = False
    #: Whether ``doubts`` may have something to say, for which some objects are sampled.
    has_doubts: ClassVar[bool] = False
    finding: str = ""  # what a fitted metric has found about the columns, in a sentence

    @abstractmethod
    def pairwise(self, x: Any, v: Tensor) -> Tensor:
        """Distances of every object to every prototype: encoded objects (n), (k, *shape) -> (n, k)."""

    @property
    def closed_form(self) -> ClosedForm:
        """Barycentres in closed form, or a quadratic bound of the cost; by default derivatives are all there is."""
        return NO_CLOSED_FORM

    @property
    def compiled(self) -> CompiledPasses:
        """Whole passes over the objects as kernels; by default ``pairwise``, block by block."""
        return NO_COMPILED_PASSES

    @property
    def learner(self) -> Learner | None:
        """How the metric learns from data; None: it has nothing to learn."""
        return None

    @property
    def weighing(self) -> Weighing | None:
        """How weights of several views are found with the clusters; None: there is nothing to weigh."""
        return None

    @final
    def fitted(self, x: Any, weights: Tensor | None) -> SemiMetric:
        """The metric with what it learns from encoded objects filled in; itself where it learns nothing."""
        return self if self.learner is None else self.learner.fitted(x, weights)

    def for_clusters(self, n_clusters: int) -> SemiMetric:
        """The metric that learns from data knowing how many clusters are looked for; the same for most metrics."""
        return self

    def open_space(self, space: Space) -> Space:
        """The space for objects to come, which may lack what the fitted metric does not look at."""
        return space

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Distances between rows of the same number: (k, *shape), (k, *shape) -> (k,)."""
        parts = [
            self.pairwise(a[i : i + 16], b[i : i + 16]).diagonal() for i in range(0, len(a), 16)
        ]  # a few needless pairs cost less than a call a pair
        return torch.cat(parts) if parts else a.new_zeros(0)

    def separate(self, v: Tensor) -> Sequence[tuple[SemiMetric, Tensor]]:
        """Parts of prototypes (..., *shape) whose barycentres are found one by one, each with its metric."""
        return [(self, v)]

    def terms(self, x: Any, v: Tensor) -> Tensor | None:
        """What each attribute adds to each distance (n, k, attributes); None where distances don't add up so."""
        return None

    def doubts(self, x: Any, clusters: Tensor) -> Sequence[str]:
        """What the user should know about clusters (c, *shape) that were fitted to objects; nothing by default."""
        return ()

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """Roughly how many multiplications one distance to a prototype of this shape costs."""
        return float(math.prod(shape))

    def scale_power(self, x: Any) -> float:
        """The power of these objects' distances at which deviations from what is usual are meant: roots."""
        return 0.5

    def step(self, space: Space) -> float:
        """What differing in one attribute of a space adds where it adds all or nothing; 0 where all differ by degrees."""
        return space.step

    def make_space(self) -> Space:
        """The space, not yet fitted, with whatever options of the metric concern it."""
        return RealVectors(expected=self.column_names) if self.column_names else self.space()

    def samples(self, generator: torch.Generator, n: int) -> Encoded:
        """Random encoded objects for the contract tests: by default those of the space, with the metric's columns."""
        x = self.space.samples(generator, n)
        return x[:, : len(self.column_names)] if isinstance(x, Tensor) and self.column_names else x

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Refuse a metric out of a file that does not know what it learns in a fit, or that does not fit space and sets."""
        if space.sparse and not self.sparse:
            raise Misfit(f"the metric {type(self).__name__} does not measure sparse rows")

    def parameters(self) -> dict[str, object]:
        """Plain values from which ``type(self)(**parameters)`` builds the metric again."""
        return {f.name: getattr(self, f.name) for f in fields(self)} if is_dataclass(self) else {}


def metric_rule(content: Content, node: object, where: str) -> None:
    """What a file may hold for a metric: one of the library's, or one that its user must give again."""
    if not (isinstance(node, Mapping) and set(node) == {"metric"}):
        own(SemiMetric)(content, node, where)


def not_learned(metric: SemiMetric) -> Misfit:
    """For a metric out of a file that lacks what it would learn."""
    return Misfit(f"the metric {type(metric).__name__} has not been fitted to data")


BLOCK_CELLS = 1 << 20  # numbers held at once while objects stream through a CPU: 8 MB
GPU_CELLS = 1 << 27  # the same on a GPU, where a block must be large enough to fill it


def blocks(x: Encoded, prototypes: Tensor) -> list[slice]:
    """Cut objects so that a block's distances to all prototypes (k, *shape) fit in a block."""
    # A pair costs as many numbers as a prototype has: differences taken by broadcasting, or sums over alignments. Sparse
    # rows are multiplied as they are.
    if isinstance(x, WholeRows):
        return [slice(0, len(x))]
    each = len(prototypes) if isinstance(x, SparseRows) else prototypes.numel()
    n, size = len(x), max(1, (GPU_CELLS if prototypes.is_cuda else BLOCK_CELLS) // max(1, each))
    starts = range(0, n, size)
    return list(map(slice, starts, [*starts[1:], n]))


def distances_of(metric: SemiMetric, x: Encoded, v: Tensor, *, first: int = 0) -> Tensor:
    """Distances (n, k) of objects to prototypes, block by block, looked at; ``first`` is the first object's number."""
    parts = [v.new_empty(0, len(v))]
    with torch.no_grad():
        for rows in blocks(x, v):
            block = x[rows]
            d = metric.pairwise(block, v)
            check_distances(metric, d, len(block), len(v), first + rows.start)
            parts.append(d.clamp_min(0.0))
    return torch.cat(parts)


def nearest_of(metric: SemiMetric, x: Encoded, v: Tensor, *, first: int = 0) -> tuple[Tensor, Tensor]:
    """Distance to the nearest prototype and its number, (n,) each, on the CPU; ``first`` is the first object's number."""
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
    """Refuse distances that are no numbers compiled code reads, or that no prototype can move along."""
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
    """Refuse what no semi-metric may return, saying which object and prototype it was."""
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
    low, high = torch.stack(torch.aminmax(values)).tolist()  # one look: NaN comes through
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
