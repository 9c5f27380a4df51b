"""What a semi-metric must implement, and where it says what it knows beyond that."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import torch
from torch import Tensor

from softecm.belief import FocalSets
from softecm.distances.moments import Moments
from softecm.distances.optional import (
    NO_CLOSED_FORM,
    NO_COMPILED_PASSES,
    ClosedForm,
    CompiledPasses,
    FusedRound,
    Learner,
    Sums,
)
from softecm.files.expected import Content, Misfit
from softecm.files.values import Savable, own
from softecm.spaces.base import Encoded, Space
from softecm.spaces.real import RealVectors

if TYPE_CHECKING:
    from softecm.distances.weighted_parts import Weighing

__all__ = ["ClosedForm", "CompiledPasses", "FusedRound", "Learner", "Moments", "SemiMetric", "Sums"]


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

    @property
    @final
    def is_quadratic(self) -> bool:
        """Whether weighted barycentres are weighted means, so that the prototype step is one linear system."""
        return self.closed_form.quadratic

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
        if space.wide and not self.sparse:
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
    return Misfit(f"the metric {type(metric).__name__} has learned nothing from data")
