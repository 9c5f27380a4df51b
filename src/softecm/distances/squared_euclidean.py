"""Squared Euclidean distance between real vectors, and to combinations of sparse rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, Unpack

import torch
from torch import Tensor

from softecm.distances.base import ClosedForm, CompiledPasses, FusedRound, RoundCost, RunCost, SemiMetric, Sums
from softecm.spaces.sparse import Combinations, SparseRows, WholeRows, in_full

if TYPE_CHECKING:
    from softecm.distances.mixed import Mixed
    from softecm.distances.views import Combined
    from softecm.kernels.rounds import RoundPrices

X = TypeVar("X")
Rows = Tensor | SparseRows
WIDE = 1 << 19  # numbers in all points together, above which differences are computed point by point
ROUNDING = 1e-14  # relative to the squared lengths: smaller distances are rounded to 0


def squared_differences(x: Rows, v: Tensor) -> Tensor:
    """Return ``||x_i - v_k||^2`` (n, k) for (n, p), (k, p): from differences, so that nothing cancels, if ``x`` is dense."""
    if not isinstance(x, SparseRows):
        if v.numel() > WIDE:  # one point at a time fits in the cache
            return torch.stack([(x - point).square().sum(-1) for point in v], 1)
        return (x[:, None] - v).square().sum(-1)
    lengths = x.squares.to(v.dtype)[:, None] + v.square().sum(-1)
    squares = lengths - 2.0 * x.products(v)
    return torch.where(squares > ROUNDING * lengths, squares, 0.0)


def weighted_sums(x: Rows, weights: Tensor) -> Sums:
    """Return sums of weights (k, 1) and of weighted objects (k, p), for weights (n, k)."""
    return Sums(weights.sum(0)[:, None], x.sums(weights) if isinstance(x, SparseRows) else weights.T @ x)


def weighted_means(x: Tensor, weights: Tensor) -> Tensor:
    """Return means of ``x`` (n, p) under each row of ``weights`` (k, n)."""
    return weights @ x / weights.sum(1, keepdim=True)


def matrix_of(x: Rows) -> Tensor | None:
    """Return rows for the compiled passes; None for sparse rows and for objects other than vectors."""
    return None if isinstance(x, SparseRows) or x.ndim != 2 else x


def fused_vectors(x: Rows, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]) -> FusedRound | None:
    """Run the compiled pass for x (n, p), v (runs, f, p)."""
    rows = matrix_of(x)
    if rows is None:
        return None
    if rows.is_cuda:
        return _fused_on_gpu(rows, v, previous, **cost)
    from softecm.kernels.rounds import sum_over_objects, vectors

    objects, before = vectors(rows.numpy(), v.shape[-1]), None if previous is None else previous.double().numpy()
    sums = sum_over_objects(objects, v.double().numpy(), None, before, None, prices_of(cost))
    total, mass, moment, _, change = map(torch.from_numpy, sums)
    return FusedRound(total, mass.to(v.dtype), moment.to(v.dtype), change)


def prices_of(cost: RoundCost) -> RoundPrices:
    """Convert the cost of mass to the kernels' arguments."""
    from softecm.kernels.rounds import RoundPrices

    weights = None if cost["weights"] is None else cost["weights"].double().numpy()
    factors, beta, delta2 = cost["factors"].double(), cost["beta"].double(), cost["delta2"].double()
    return RoundPrices(weights, factors.numpy(), beta.numpy(), delta2.numpy(), cost["tol"])


def _fused_on_gpu(x: Tensor, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]) -> FusedRound | None:
    from softecm.kernels import quadratic_cuda

    if not quadratic_cuda.fits(x, v.shape[1]):
        return None
    prices = cost["factors"], cost["beta"], cost["delta2"]
    total, mass, moment, change = quadratic_cuda.run_round(x, cost["weights"], v, previous, *prices)
    return FusedRound(total.to(v.dtype), mass[..., None].to(v.dtype), moment.to(v.dtype), change.to(v.dtype))


def fused_vector_masses(x: Rows, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
    """Return masses of CPU tensors x (n, p) for prototypes v (f, p) from the compiled pass."""
    rows = matrix_of(x)
    if rows is None or rows.is_cuda:
        return None
    from softecm.kernels.rounds import masses_of_objects, vectors

    objects = vectors(rows.numpy(), v.shape[-1])
    values = masses_of_objects(objects, v.double().numpy(), None, factors.double().numpy(), beta, delta2)
    return torch.from_numpy(values)


@dataclass(frozen=True)
class VectorMeans(ClosedForm):
    """Closed form of squared differences: barycentres are means."""

    quadratic = True

    def sums(self, x: Rows, v: Tensor, weights: Tensor) -> Sums:
        """Return the sums; the quadratic is the cost itself."""
        return weighted_sums(x, weights)

    def with_sums(self, x: Rows, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Return distances and sums of sparse rows, without preparing derivatives."""
        return (squared_differences(x, v), partial(weighted_sums, x)) if isinstance(x, SparseRows) else None

    def points(self, x: Rows, shape: Sequence[int]) -> Tensor | None:
        """Return dense rows as they are."""
        return None if isinstance(x, SparseRows) else x

    def combined(self, x: Rows) -> SemiMetric | None:
        """Return the metric for sparse rows that are fewer than their columns."""
        return CombinedSquares(x) if isinstance(x, SparseRows) and len(x) < x.width else None

    def to_means(self, distances: Tensor, between: Tensor, weights: Tensor) -> Tensor:
        """Apply Huygens' theorem: the mean squared distance to the points, less the points' spread about their mean."""
        shares = weights / weights.sum(1, keepdim=True)
        return (distances @ shares.T - 0.5 * ((shares @ between) * shares).sum(1)).clamp_min(0.0)

    barycenters = staticmethod(weighted_means)


@dataclass(frozen=True)
class VectorPasses(CompiledPasses):
    """Compiled passes over rows of numbers."""

    round = staticmethod(fused_vectors)  # on the CPU, and on the GPU if the input fits
    masses = staticmethod(fused_vector_masses)  # on the CPU

    def nearest(self, x: Rows, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the nearest prototypes, on the CPU."""
        rows = matrix_of(x)
        if rows is None or rows.is_cuda:
            return None
        from softecm.kernels.rounds import nearest

        distances, which = nearest(rows.numpy(), v.double().numpy())
        return torch.from_numpy(distances), torch.from_numpy(which)


class RowPasses(CompiledPasses, Generic[X]):
    """Passes over vectors, for objects that can be written as rows whose squared differences are the distances."""

    passes: ClassVar[CompiledPasses] = VectorPasses()

    @abstractmethod
    def rows(self, x: X, shape: Sequence[int]) -> object:
        """Return objects as rows for prototypes of this shape; None if not possible."""

    @abstractmethod
    def points(self, v: Tensor) -> Tensor:
        """Return prototypes (..., f, *shape) as rows of the same kind."""

    @abstractmethod
    def back(self, fused: FusedRound, v: Tensor) -> FusedRound:
        """Convert sums over rows back to prototypes' coordinates."""

    def round(self, x: X, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]) -> FusedRound | None:
        """Run the pass over rows and convert the sums back."""
        rows = self.rows(x, v.shape[2:])
        before = None if previous is None else self.points(previous)
        fused = None if rows is None else self.passes.round(rows, self.points(v), before, **cost)
        return None if fused is None else self.back(fused, v)

    def masses(self, x: X, v: Tensor, **cost: Unpack[RunCost]) -> Tensor | None:
        """Return the masses of rows."""
        rows = self.rows(x, v.shape[1:])
        return None if rows is None else self.passes.masses(rows, self.points(v), **cost)


class ScaledPasses(RowPasses[X]):
    """Passes over rows, with prototypes scaled by the roots of their coordinates' factors."""

    metric: Combined | Mixed

    def points(self, v: Tensor) -> Tensor:
        """Multiply each coordinate by its root."""
        return v * self.metric.roots(v)

    def back(self, fused: FusedRound, v: Tensor) -> FusedRound:
        """Divide by the roots."""
        return fused._replace(moment=fused.moment / self.metric.roots(v))

    def nearest(self, x: X, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the nearest prototypes of rows."""
        rows = self.rows(x, v.shape[1:])
        return None if rows is None else self.passes.nearest(rows, self.points(v))


@dataclass(frozen=True)
class SquaredEuclidean(SemiMetric):
    r"""Squared length of the difference, :math:`d(x, y) = \|x - y\|^2`.

    With it, ``relaxation="exact"`` is the evidential c-means of Masson and Denœux. Columns in large units dominate:
    scale them first, or use :class:`Mahalanobis` or :class:`Mixed`.

    Examples
    --------
    >>> import torch
    >>> SquaredEuclidean().pairwise(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[25.,  0.]])
    """

    name = "sqeuclidean"
    sparse = True
    closed_form = VectorMeans()
    compiled = VectorPasses()

    pairwise = staticmethod(squared_differences)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return squared differences of rows of the same index."""
        return (a - b).square().sum(-1)

    def terms(self, x: Rows, v: Tensor) -> Tensor:
        """Return squared differences by column."""
        return (in_full(x, len(v))[:, None] - v).square()


TOGETHER = 16  # combinations that are computed in dense form at once


@dataclass(frozen=True, eq=False)
class CombinedMeans(ClosedForm):
    """Closed form for combinations: their means are combinations, too, with the objects' own weights."""

    metric: CombinedSquares
    quadratic = True

    def with_sums(self, x: WholeRows, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]]:
        """Return distances, and sums given the weights."""
        return self.metric.pairwise(x, v), partial(self.sums, x, v)

    def sums(self, x: WholeRows, v: Tensor, weights: Tensor) -> Sums:
        """Return the sums, which are the weights."""
        return Sums(weights.sum(0)[:, None], weights.T)

    barycenters = staticmethod(weighted_means)


@dataclass(frozen=True, eq=False)
class CombinedSquares(SemiMetric, savable=False):
    r"""Squared Euclidean distance to :math:`\sum_j a_j x_j`, given the weights :math:`a` of all rows.

    Initializations of wide sparse rows are compared with it on a sample: a prototype is then only as long as the sample
    has rows.
    """

    rows: SparseRows
    name = "sqeuclidean"

    @property
    def closed_form(self) -> CombinedMeans:
        """Barycentres are means."""
        return CombinedMeans(self)

    def make_space(self) -> Combinations:
        """Return the space of combinations of the rows."""
        return Combinations(self.rows)

    def pairwise(self, x: WholeRows | Tensor, v: Tensor) -> Tensor:
        """Return distances of the rows, or of combinations, to combinations (k, n), a few at a time in dense form."""
        if isinstance(x, Tensor):
            x = WholeRows(SparseRows.of_dense(self.rows.sums(x.T)))
        out = v.new_empty(len(x), len(v))
        for first in range(0, len(v), TOGETHER):
            part = slice(first, first + TOGETHER)
            points = self.rows.sums(v[part].T)
            lengths = x.rows.squares.to(v.dtype)[:, None] + torch.einsum("kp,kp->k", points, points)
            squares = lengths - 2.0 * x.rows.products(points)
            out[:, part] = torch.where(squares > ROUNDING * lengths, squares, 0.0)
        return out
