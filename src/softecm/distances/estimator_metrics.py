"""Metrics of specific fitted estimators, used to compute the masses of new objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances._tables import LayoutTensors, table_pairwise, table_terms
from softecm.distances.base import NO_COMPILED_PASSES, CompiledPasses, Learner, SemiMetric, metric_rule
from softecm.distances.squared_euclidean import fused_vector_masses
from softecm.files.expected import NOT_NEGATIVE, POSITIVE, Misfit, array, flag, listed, maybe, number, rules
from softecm.files.values import own
from softecm.spaces.base import SQUARABLE, Space
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.encoded import EncodedTable
from softecm.spaces.tables import Table, TableOptions

ROUNDING = 1e-4  # eigenvalues of at least minus this share of the largest count as rounding errors of single precision
FLOOR = 1e-12  # minimum squared distance to a weighted mean, relative to the largest squared dissimilarity


@dataclass(frozen=True)
class SetQuadratic(SemiMetric):
    r"""Distances to a fixed list of prototypes: :math:`d_A(x) = s_A (x - v_A)^\top S_A (x - v_A) + \sum_l o_{Al}`.

    The metric of fitted CCM, BCM, ECM+ and CECM. Not a semi-metric between arbitrary points: it depends on the index of
    the prototype.

    Attributes
    ----------
    scales : (f,)
    offsets : (f, p), cost of a set independent of the object, divided among the attributes
    matrices : (f, p, p) or None for unit matrices
    """

    scales: Tensor
    offsets: Tensor
    matrices: Tensor | None = None

    name = "set-quadratic"
    SAVED = rules(
        scales=array("f", allowed=POSITIVE),
        offsets=array("f p", allowed=SQUARABLE),
        matrices=maybe(array("f p p", allowed=SQUARABLE)),
    )

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` if distances can be negative."""
        super().check_fitted(space, focal)
        if bool((self.offsets.sum(1) < 0).any()):
            raise Misfit("the metric's offsets make distances negative")
        if self.matrices is not None:
            values = torch.linalg.eigvalsh(self.matrices.double())
            if not bool((values[:, 0] >= -ROUNDING * values[:, -1].abs()).all()):
                raise Misfit("the metric's matrices make distances negative")

    @property
    def compiled(self) -> CompiledPasses:
        """Masses, if there are no matrices."""
        return LiftedPasses(self) if self.matrices is None else NO_COMPILED_PASSES

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return distances (n, f) to all prototypes, in their order."""
        return self.terms(x, v).sum(-1)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """Return each attribute's contribution; with matrices, its difference times the matrix-vector product."""
        difference = x[:, None] - v  # (n, f, p)
        turned = difference
        if self.matrices is not None:
            turned = (difference.transpose(0, 1) @ self.matrices.to(difference)).transpose(0, 1)
        return self.scales[:, None].to(difference) * difference * turned + self.offsets.to(difference)


@dataclass(frozen=True)
class LiftedPasses(CompiledPasses):
    """Passes over vectors with one more coordinate: the cost of a set is the height of its prototype above the objects."""

    metric: SetQuadratic

    def masses(self, x: Tensor, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
        """Return the masses, on the CPU."""
        if x.is_cuda:
            return None
        scales, offsets = self.metric.scales, self.metric.offsets
        height = (offsets.sum(1, keepdim=True) / scales[:, None]).sqrt().to(v)
        lifted = torch.cat([x, x.new_zeros(len(x), 1)], 1)
        raised = torch.cat([v, height], 1)
        return fused_vector_masses(lifted, raised, factors=factors * scales, beta=beta, delta2=delta2)


@dataclass(frozen=True)
class Anchored(SemiMetric):
    r"""Distances to a fixed list of prototypes: :math:`d_A(x) = \|x - v_A\|^2 + w \|x - s_A\|^2`.

    The metric of fitted TECM with matched clusters. Not a semi-metric between arbitrary points: the anchor depends on
    the index of the prototype.

    Attributes
    ----------
    anchors : (f, p), the points :math:`s_A`
    weight : float, at least 0
    """

    anchors: Tensor
    weight: float

    name = "anchored"
    SAVED = rules(anchors=array("f p", allowed=SQUARABLE), weight=number(NOT_NEGATIVE))

    @property
    def compiled(self) -> AnchoredPasses:
        """Masses, from rows concatenated with scaled copies."""
        return AnchoredPasses(self)

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return distances (n, f) to all prototypes, in their order."""
        return self.terms(x, v).sum(-1)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """Return each attribute's contribution."""
        return (x[:, None] - v).square() + self.weight * (x[:, None] - self.anchors.to(v)).square()


@dataclass(frozen=True)
class AnchoredPasses(CompiledPasses):
    """Passes over rows of twice the length."""

    metric: Anchored

    def masses(self, x: Tensor, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
        """Return the masses, on the CPU."""
        weight = self.metric.weight
        rows = (twice(x, x, weight), twice(v, self.metric.anchors.to(v), weight))
        return fused_vector_masses(*rows, factors=factors, beta=beta, delta2=delta2)


def twice(rows: Tensor, others: Tensor, weight: float) -> Tensor:
    """Concatenate rows (..., p) with others, whose squared differences then have this weight: (..., 2p)."""
    return torch.cat([rows, weight**0.5 * others], -1).contiguous()


@dataclass(frozen=True)
class WeightedSquares(SemiMetric):
    r"""Squared differences with column weights: :math:`d(x, v) = \sum_q w_q u_q (x_q - v_q)^2`.

    The metric of one view in a fitted WMVEC with column weights.

    Attributes
    ----------
    weights : (p,), not negative
    units : (p,), not negative: additional factors of each column's squared differences
    """

    weights: Tensor
    units: Tensor

    name = "weighted-squares"
    SAVED = rules(weights=array("p", allowed=NOT_NEGATIVE), units=array("p", allowed=NOT_NEGATIVE))

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return weighted squared differences."""
        return (x[:, None] - v).square() @ (self.weights * self.units).to(v)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """Return each column's contribution."""
        return (x[:, None] - v).square() * (self.weights * self.units).to(v)


@dataclass(frozen=True)
class AffineDistance(SemiMetric):
    r"""Squared distance to a weighted mean of the training objects, from dissimilarities alone (Gower's formula).

    For a point :math:`v = \sum_j a_j x_j` with weights that add up to 1,

    .. math:: \|x - v\|^2 = \sum_j a_j \|x - x_j\|^2 - \tfrac12 \sum_{jl} a_j a_l \|x_j - x_l\|^2.

    Attributes
    ----------
    squared : whether the dissimilarities are squared already
    shift : constant added to every squared dissimilarity between different objects; None: to be learned
    floor : minimum squared distance; non-Euclidean dissimilarities can give smaller values
    """

    squared: bool = False
    shift: float | None = 0.0
    floor: float = 0.0
    name = "affine"
    space = Dissimilarities
    SAVED = rules(squared=flag, shift=number(NOT_NEGATIVE), floor=number(NOT_NEGATIVE))

    def squares(self, x: Tensor) -> Tensor:
        """Return squared dissimilarities, shifted except between an object and the training object it equals."""
        squares = x if self.squared else x.square()
        if not self.shift:
            return squares
        shifted = squares + self.shift
        first = squares.min(1)
        same = (first.values == 0).nonzero()[:, 0]
        shifted[same, first.indices[same]] = 0.0
        return shifted

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return squared distances (n, n_objects), (k, n_objects + 1) -> (n, k)."""
        return (self.squares(x) @ v[:, :-1].T - v[:, -1]).clamp_min(self.floor)

    @property
    def learner(self) -> AffineLearner:
        """Learn the floor, and the shift unless it is known."""
        return AffineLearner(self)


@dataclass(frozen=True)
class AffineLearner(Learner):
    """Learn the shift and the minimum of squared distances to weighted means."""

    metric: AffineDistance

    def fitted(self, x: Tensor, weights: Tensor | None) -> AffineDistance:
        """Learn from all dissimilarities."""
        squared = self.metric.squares(x)
        shift = additive_constant(squared) if self.metric.shift is None else self.metric.shift
        return replace(self.metric, shift=shift, floor=FLOOR * (float(squared.max()) + shift))


def additive_constant(squared: Tensor) -> float:
    r"""Return the smallest constant that makes squared dissimilarities between different objects Euclidean.

    It is twice the absolute smallest eigenvalue of :math:`W = -\frac12 Q \Delta Q`, Q the centring matrix; 0 if the
    dissimilarities are distances between points.
    """
    from scipy.linalg import eigh

    d = squared.numpy()
    rows = d.mean(1)
    w = -0.5 * (d - rows - rows[:, None] + rows.mean())
    (least,) = eigh(w, eigvals_only=True, subset_by_index=[0, 0])
    return 2.0 * max(0.0, -float(least)) if least < -1e-12 * np.abs(w).max() * len(w) else 0.0


@dataclass(frozen=True)
class ExpectedMismatches(SemiMetric):
    r"""The expected number of attributes in which an object differs from a prototype, :math:`\sum_l (1 - w_l(x_l))`.

    A prototype has a weight for every category of every attribute, adding up to 1. Missing cells are skipped and the
    other cells scaled up in proportion; a category not seen in the fit always differs.
    """

    name = "mismatches"
    degree = 1.0  # the total variation between a certain category and a distribution
    space = Table

    def make_space(self) -> Table:
        """Return a table space in which every column is categorical, with unscaled weights."""
        return Table(TableOptions(nominal=True, simplex=True))

    def pairwise(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """Return expected mismatches (n, k) with prototypes (k, categories); a tensor ``x`` holds weights."""
        if isinstance(x, Tensor):
            return x.sum(-1, keepdim=True) - x @ v.T  # each attribute's weights add up to 1
        return table_pairwise(x, v, _missed)

    def terms(self, x: EncodedTable, v: Tensor) -> Tensor:
        """Return each column's contribution."""
        return table_terms(x, v, _missed)


def _missed(weights: Tensor, at: LayoutTensors) -> Tensor:
    return 1.0 - weights


@dataclass(frozen=True)
class MedoidMiddles(SemiMetric):
    r"""Dissimilarities to clusters' medoids; for a set, distance to the middle of its clusters' medoids (Huygens).

    .. math:: d_{iA}^2 = \frac{1}{|A|} \sum_{k \in A} D_{ik}^2 - \frac{1}{2 |A|^2} \sum_{k, l \in A} D_{kl}^2

    No object need be in the middle. If an object represented the set instead, it would be at distance 0 and count as
    ambiguous wherever it is.

    Parameters
    ----------
    focal : the sets
    spreads : constant to subtract for each set of several clusters
    """

    focal: FocalSets
    spreads: tuple[float, ...]
    name = "precomputed"
    space = Dissimilarities
    degree = 1.0
    discrete = True
    SAVED = rules(focal=own(FocalSets), spreads=listed(number(NOT_NEGATIVE)))

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` unless the sets are those of the model."""
        super().check_fitted(space, focal)
        refuse_other_sets(self.focal, focal)
        if len(self.spreads) != len(focal) - focal.n_clusters:
            raise Misfit("the metric should have a spread for every set of several clusters")

    @staticmethod
    def of(d: Tensor, focal: FocalSets, clusters: Tensor) -> MedoidMiddles:
        """Return the metric for dissimilarities (n, n) and the indices of the clusters' medoids (c,)."""
        squares = d[clusters][:, clusters].double().square()
        shares = torch.tensor(focal.shares[focal.n_clusters :])
        return MedoidMiddles(focal, tuple((0.5 * ((shares @ squares) * shares).sum(1)).tolist()))

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return distances (n, f) to each set; ``v`` holds the medoids of the clusters only, or of all sets."""
        c = self.focal.n_clusters
        clusters = x[:, v[:c].long()]
        return clusters if len(v) <= c else torch.cat([clusters, self.to_sets(clusters)], 1)

    def to_sets(self, clusters: Tensor) -> Tensor:
        """Return distances to sets, from the dissimilarities to the clusters' medoids (n, c)."""
        shares = torch.tensor(self.focal.shares[self.focal.n_clusters :], dtype=clusters.dtype)
        squares = clusters.square() @ shares.T - clusters.new_tensor(self.spreads)
        return squares.clamp_min(0.0).sqrt()


@dataclass(frozen=True)
class MedoidMixture(SemiMetric):
    r"""ECMdd's dissimilarity to a set: to its own medoid, mixed with those to its clusters' medoids.

    .. math:: d_{iA} = \frac{\tau(i, \nu_A) + \frac{\gamma}{|A|} \sum_{k \in A} \tau(i, \nu_k)}{1 + \gamma}
    """

    base: SemiMetric
    focal: FocalSets
    gamma: float
    name = "ecmdd"
    SAVED = rules(base=metric_rule, focal=own(FocalSets), gamma=number(NOT_NEGATIVE))

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` unless the sets are those of the model."""
        self.base.check_fitted(space, focal)
        refuse_other_sets(self.focal, focal)

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", self.base.degree)
        object.__setattr__(self, "discrete", self.base.discrete)

    def scale_power(self, x: Any) -> float:
        """Return the power of the base metric."""
        return self.base.scale_power(x)

    def make_space(self) -> Space:
        """Return the space of the base metric."""
        return self.base.make_space()

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return dissimilarities to each set; ``v`` holds the medoids of all sets: (n), (f, *shape) -> (n, f)."""
        return mixed_with_clusters(self.base.pairwise(x, v), self.focal, self.gamma)


def mixed_with_clusters(to_medoids: Tensor, focal: FocalSets, gamma: float) -> Tensor:
    """Convert dissimilarities to sets' medoids into dissimilarities to sets, (..., f) -> (..., f)."""
    c = focal.n_clusters
    share_of = torch.tensor(focal.shares[c:], dtype=to_medoids.dtype)
    clusters, sets = to_medoids[..., :c], to_medoids[..., c:]
    return torch.cat([clusters, (sets + gamma * clusters @ share_of.T) / (1.0 + gamma)], -1)


def refuse_other_sets(own_sets: FocalSets, focal: FocalSets) -> None:
    """Raise ``Misfit`` if a metric from a file has other sets than its model."""
    if own_sets != focal:
        raise Misfit("the metric and model_ have different focal sets")
