r"""WMVEC: evidential c-means over several views, with view weights learned together with the clusters (Liu and others).

.. math::
    J = \sum_l r_l \Big[ \sum_{iA} |A|^\alpha m_i(A)^\beta \sum_q a_{lq} (x_{iq} - \bar v_{Aq})^2
      + \delta^2 \sum_i m_i(\emptyset)^\beta \Big] + \text{cost of the weights}

An iteration updates view weights, column weights, centres and masses, each optimal with the others fixed. All weights
multiply squared differences of one column, so they cancel in the system for the centres, which is ECM's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.parameters import choice, flag, number, parameters
from softecm.distances.base import SemiMetric, blocks
from softecm.distances.estimator_metrics import WeightedSquares
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.distances.views import SCALINGS, Combined
from softecm.distances.weighted_parts import ENTROPY, PRODUCT, Weighing
from softecm.fit.algorithm import Algorithm, RunBatch
from softecm.fit.loop import Solution
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings
from softecm.objective.equations import MassCost
from softecm.objective.problem import solved
from softecm.optim import Batch, PlainProblem, PlainState
from softecm.spaces.raw import is_views
from softecm.spaces.views import EncodedViews, joined, split_views

Views: TypeAlias = Tensor | EncodedViews
REGULAR = 1e-3  # share of a view's total spread, added to its dispersion: a perfect fit doesn't take all weight


@dataclass(frozen=True)
class WeighedState(PlainState):
    """A batch of runs after a mass step."""

    free: Tensor  # (runs, c, p), the clusters' centres
    prototypes: Tensor  # (runs, f, p)
    views: Tensor  # (runs, views), weights
    columns: Tensor  # (runs, p), weights
    masses: Tensor  # (runs, n, f + 1)
    held: Tensor  # (runs, f, 1), sums of |A|^alpha m^beta
    moment: Tensor  # (runs, f, p), sums of |A|^alpha m^beta x
    scatter: Tensor  # (runs, p), sums of |A|^alpha m^beta times squared differences, in the unit of the view
    empty: Tensor  # (runs,), raised masses of the empty set
    objective: Tensor  # (runs,)
    change: Tensor  # (runs,)
    SUFFICIENT: ClassVar[tuple[str, ...]] = ("free", "views", "columns")

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """The weights, repeated for all sets, because a run's results are indexed like its clusters."""
        f = self.prototypes.shape[1]
        each = {"views": self.views, "columns": self.columns}
        return {name: weights[:, None].expand(-1, f, -1) for name, weights in each.items()}


@dataclass(frozen=True)
class WeighedProblem(PlainProblem):
    """The problem of a batch of runs over rows of concatenated views."""

    x: Tensor  # (n, p)
    widths: tuple[int, ...]  # columns of each view
    units: Tensor  # (p,), factors of the squared differences of each column; 0 excludes a column
    cost: MassCost
    mean: Tensor  # (f, c), row A averages the clusters of A
    rule: str
    tol: float
    heat: float = 1.0  # temperature of the views' weights under the rule "entropy"
    column_heat: float | None = None  # of the columns' weights; None: columns are not weighted
    spreads: Tensor | None = None  # (p,), added to the scatter
    state_type: ClassVar[type[Batch]] = WeighedState

    @property
    def weighing(self) -> Weighing:
        """The rule for the weights."""
        return Weighing(self.rule)

    @property
    def parts(self) -> list[slice]:
        """The columns of each view."""
        ends = np.cumsum(self.widths).tolist()
        return [slice(end - width, end) for end, width in zip(ends, self.widths, strict=True)]

    @property
    def seen(self) -> Tensor:
        """Mask (views,) of views with columns that count."""
        return torch.stack([(self.units[part] > 0).any() for part in self.parts])

    def by_view(self, columns: Tensor) -> Tensor:
        """Sum over the columns of each view: (..., p) -> (..., views)."""
        return torch.stack([columns[..., part].sum(-1) for part in self.parts], -1)

    def per_column(self, views: Tensor) -> Tensor:
        """Repeat values of views for their columns: (..., views) -> (..., p)."""
        widths = torch.tensor(self.widths, device=views.device)
        return torch.repeat_interleave(views, widths, dim=-1)

    # ---------------------------------------------------------------- the loop

    def begin(self, start: Tensor) -> WeighedState:
        """Initialize from the clusters' centres (runs, c, p) with equal weights."""
        views = self._filled(start.new_zeros(len(start), len(self.widths)), self.seen, 1.0)
        columns = torch.ones_like(start[:, 0])
        if self.column_heat is not None:
            columns = self._columns(torch.zeros_like(columns), torch.ones_like(views))
        return self.at(start[:, : self.mean.shape[1]], views, columns, None)

    def step(self, state: WeighedState) -> WeighedState:
        """Update weights, centres and masses."""
        dispersions = self.by_view(state.columns * state.scatter) + self._paid(state.empty)[:, None]
        views = self._filled(dispersions, self.seen, self.heat)
        columns = state.columns
        if self.column_heat is not None:
            columns = self._columns(state.scatter, views)
        free = solved(state.held, state.moment, state.free, self.mean, None).to(state.free.dtype)
        return self.at(free, views, columns, state)

    # ---------------------------------------------------------------- weights

    def _filled(self, dispersions: Tensor, seen: Tensor, heat: float) -> Tensor:
        """Return the optimal weights for dispersions (..., k), 0 where ``seen`` is False."""
        weights = torch.zeros_like(dispersions)
        weights[..., seen] = self.weighing.best(dispersions[..., seen], heat)
        return weights

    def _columns(self, scatter: Tensor, views: Tensor) -> Tensor:
        """Return the optimal weights of the columns (runs, p) within each view."""
        assert self.column_heat is not None
        priced = scatter * self.per_column(views)
        columns = [self._filled(priced[:, part], self.units[part] > 0, self.column_heat) for part in self.parts]
        return torch.cat(columns, -1)

    def _paid(self, empty: Tensor) -> Tensor:
        """Return the cost (runs,) of the empty set in each view."""
        delta2 = self.cost.delta2
        return torch.where(torch.isfinite(delta2), delta2, 0.0) * empty

    def _price(self, views: Tensor, columns: Tensor) -> Tensor:
        """Return the cost of the weights (runs,)."""
        price = self.weighing.price(views[:, None], self.heat)
        if self.column_heat is not None:
            price = price + self.weighing.price(columns[:, None], self.column_heat)
        if self.spreads is not None:
            price = price + (self.per_column(views) * columns * self.spreads).sum(-1)
        return price

    # ---------------------------------------------------------------- masses

    def at(self, free: Tensor, views: Tensor, columns: Tensor, before: WeighedState | None) -> WeighedState:
        """Compute the optimal masses for centres and weights, and the sums that follow, block by block."""
        middle = self.mean @ free
        runs, f, p = middle.shape
        factors = (self.per_column(views) * columns * self.units)[:, :, None]  # (runs, p, 1)
        prices, flat = replace(self.cost, delta2=self.cost.delta2 * views.sum(-1)), middle.flatten(0, 1)
        masses, cost = free.new_empty(runs, len(self.x), f + 1), free.new_zeros(runs)
        held, moment, scatter = free.new_zeros(runs, f, 1), torch.zeros_like(middle), free.new_zeros(runs, p)
        empty = free.new_zeros(runs)
        for rows in blocks(self.x, flat):
            x = self.x[rows]
            squares = (x - flat[:, None]).square().reshape(runs, -1, p)  # (runs, f block, p)
            d = (squares @ factors).reshape(runs, f, -1).permute(2, 0, 1)
            shared = prices.counted(d, rows)
            weights = shared.weights.permute(1, 2, 0)  # (runs, f, block)
            masses[:, rows] = shared.masses.transpose(0, 1)
            cost += shared.cost.sum(0)
            gone = shared.masses[..., 0] ** self.cost.beta
            empty += gone.sum(0) if self.cost.weights is None else self.cost.weights[rows] @ gone
            held += weights.sum(-1, keepdim=True)
            moment += weights @ x
            scatter += (weights.reshape(runs, 1, -1) @ squares)[:, 0]
        scatter = scatter * self.units
        if self.spreads is not None:
            scatter = scatter + self.spreads
        change = torch.full_like(cost, torch.inf)
        if before is not None:
            change = (masses - before.masses).abs().amax((1, 2))
        objective = cost + self._price(views, columns)
        return WeighedState(free, middle, views, columns, masses, held, moment, scatter, empty, objective, change)


@dataclass(frozen=True)
class WMVECAlgorithm(Algorithm[Views]):
    """Views whose weights are learned together with the clusters."""

    rule: str = ENTROPY
    features: bool = False
    temperature: float = 0.5
    feature_temperature: float = 0.5
    scaled: bool = True

    def problem(self, batch: RunBatch[Views]) -> WeighedProblem:
        """Return the problem for objects in memory that have every view."""
        objects, cost = batch.objects, batch.cost()
        rows, widths = rows_of(objects.x)
        spreads = spreads_of(rows, objects.weights)
        units = rows.new_tensor(np.repeat(self._units(objects), widths))
        heat = float((units * spreads).sum()) / len(widths) or 1.0
        heats = self.temperature * heat, self.feature_temperature * heat / len(widths)
        units = units * self._column_units(spreads, widths)
        mean, tol = torch.tensor(batch.settings.focal.shares).to(batch.start), batch.settings.tol
        column_heat, regular = heats[1] if self.features else None, REGULAR * units * spreads
        return WeighedProblem(rows, widths, units, cost, mean, self.rule, tol, heats[0], column_heat, regular)

    @staticmethod
    def _units(objects: Objects[Views]) -> list[float]:
        """Return the factor of the distances in each view."""
        metric = objects.metric
        if not isinstance(metric, Combined) or metric.alone is not None:
            return [1.0]
        pairs = zip(metric.units, metric.shares, strict=True)
        return [1.0 / unit if counted > 0 else 0.0 for unit, counted in pairs]

    def metric_of(self, objects: Objects[Views], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """Return the metric with the weights of a run; those of views add up to 1."""
        metric, (rows, widths) = objects.metric, rows_of(objects.x)
        views = solution.extras["views"][run, 0].double().cpu()
        columns = solution.extras["columns"][run, 0].double().cpu()
        units = self._column_units(spreads_of(rows, objects.weights), widths).double().cpu()
        cut = [(width,) for width in widths]
        parts = [
            WeightedSquares(*pair) for pair in zip(split_views(columns, cut), split_views(units, cut), strict=True)
        ]
        if not isinstance(metric, Combined):
            return parts[0] if self.features else metric
        if self.features:
            metric = replace(metric, metrics=dict(zip(metric.metrics, parts, strict=True)))
        return replace(metric, weights=self.rule, shares=tuple((views / views.sum()).tolist()))

    def _column_units(self, spreads: Tensor, widths: Sequence[int]) -> Tensor:
        """Return factors of the squared differences of columns (p,) within their view; 0 for constant columns.

        Weighted columns are scaled to equal spread, and under the rule "entropy" so that equal weights keep the size of
        distances.
        """
        there = (spreads > 0).to(spreads)
        if not self.features:
            return there
        units = []
        for part in split_views(spreads, [(width,) for width in widths]):
            typical = part.sum() / max(1, int((part > 0).sum()))
            scale = typical / torch.where(part > 0, part, 1.0) if self.scaled else torch.ones_like(part)
            units.append(scale * (len(part) if self.rule == ENTROPY else 1.0))
        return there * torch.cat(units)


def spreads_of(rows: Tensor, weights: Tensor | None) -> Tensor:
    """Return the total squared differences of columns (p,) from their means."""
    counts = rows.new_ones(len(rows)) if weights is None else weights
    return counts @ (rows - counts @ rows / counts.sum()).square()


def rows_of(x: Views) -> tuple[Tensor, tuple[int, ...]]:
    """Concatenate all views (n, p) and return their widths; raises ValueError if an object lacks a view."""
    if not isinstance(x, EncodedViews):
        return x, (x.shape[1],)
    if x.present is not None:
        raise ValueError(
            "X must have every view of every object for WMVEC; some are missing. Leave such objects out, or use "
            "SoftECM(metric=Combined({...}, weights='entropy')), which compares objects in the views they have."
        )
    parts: Sequence[Any] = x.parts
    return joined(parts), tuple(int(part.shape[1]) for part in parts)


@parameters
class WMVEC(PrototypeFamily):
    r"""Weighted multi-view evidential clustering: the weights of the views are learned with the clusters.

    The objects are described by several tables of numbers, the *views*. Each has a weight :math:`r_l`, and the clusters
    have a centre in every view:

    .. math::
        \sum_l r_l \Big[ \sum_{iA} |A|^\alpha m_i(A)^\beta \|x_i^{(l)} - \bar v_A^{(l)}\|^2
        + \delta^2 \sum_i m_i(\emptyset)^\beta \Big] + \lambda \sum_l r_l \ln r_l, \qquad \sum_l r_l = 1

    A view in which the clusters are tight gets more weight: :math:`r_l \propto e^{-S_l / \lambda}`, with :math:`S_l` the
    bracket. With ``features=True`` each column of a view also has a weight :math:`a_{lq}`, learned in the same way. An
    iteration updates weights, centres and masses; the objective never rises. With one table and no column weights this
    is :class:`ECM`.

    Parameters
    ----------
    n_clusters : int, default=2
    rule : "entropy" or "product", default="entropy"
        Constraint on the weights: their sum is 1 and :math:`\lambda \sum r \ln r` is added, or their product is 1,
        :math:`r_l = (\prod_h S_h)^{1/L} / S_l`.
    features : bool, default=False
        Whether to learn column weights within each view: WMVEC-FP with "entropy", MVECM-VFL with "product".
    temperature : float, default=0.5
        With "entropy", greater than 0: :math:`\lambda` relative to the mean total spread of a view. With small values
        one view takes all; large values give equal weights.
    feature_temperature : float, default=0.5
        The same for the columns of a view; :math:`\gamma` is this times the mean total spread over the number of views.
    scaling : {"spread", "none"}, default="spread"
        "spread": distances are divided by the view's spread, so that units and numbers of columns don't matter; so are
        the columns of a view if they are weighted (the initialization uses unscaled columns: bring those of a view to
        one unit). "none": original units, as in the article, whose authors scale columns to the range from 0 to 1.
    beta : float, default=1.2
        Greater than 1. Larger values spread mass over more sets.
    delta : "auto", float or None, default="auto"
        Distance to the empty set in each view, in the unit of the weighted mean of the views; the objective has its square.
        "auto": median plus five deviations of the root distances to the nearest cluster, after a first stage (found value
        in ``delta_``). None: no outliers.
    init : "auto", "k-means++", "random", or a dict of arrays of shape (c, columns of the view), default="auto"
        "auto": outlier-robust initialization of single clusters (:mod:`softecm.fit.stages`). For one table an array.
    alpha, max_cardinality, focal_sets, n_init, max_iter, tol, device, dtype, n_jobs : as for :class:`SoftECM`
    warm_start, callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    view_weights_ : dict
        Weight of each view, after ``scaling``; they add up to 1.
    feature_weights_ : dict of arrays, or an array for one table
        With ``features=True``: weight of each column within its view; they add up to 1 in each view.
    prototypes_, cluster_centers_ : dict of arrays, or an array for one table
    labels_, outlier_scores_, focal_sets_, objective_, history_, runs_, n_iter_ : as for :class:`SoftECM`
    converged_, separation_, collapsed_, delta_, n_features_in_, feature_names_in_ : as for :class:`SoftECM`

    Notes
    -----
    Weights favour the view that is easiest to fit, not the right one: two clusters fit a column of coin tosses perfectly. A
    warning reports a view with more than nine tenths of the weight. For other views (series, tables with categories) or
    missing views use :class:`SoftECM` with ``metric=Combined({...}, weights="entropy")``, or ``weights="agreement"``, which
    is not misled by coin tosses.

    The updates are those of the authors' MATLAB programs and have not been compared with the article. In addition, a
    thousandth of its total spread is added to each dispersion, so that a perfectly fitted view does not take all the
    weight; constant columns have no weight.

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import WMVEC
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1, 2], 30)
    >>> views = {
    ...     "shape": rng.normal(size=(90, 2)) + 5 * np.c_[group == 1, group == 2],
    ...     "colour": rng.normal(size=(90, 1)) + 5 * group[:, None],
    ...     "noise": rng.normal(size=(90, 3)),
    ... }
    >>> wmvec = WMVEC(3, random_state=0).fit(views)
    >>> min(wmvec.view_weights_, key=wmvec.view_weights_.get)
    'noise'
    >>> wmvec.predict(views).shape, wmvec.prototypes_["noise"].shape[1]
    ((90,), 3)

    References
    ----------
    Z. Liu and others, "WMVEC", Knowledge-Based Systems 294, 2024 (with WMVEC-FP); "MVECM-VFL", Fuzzy Sets and Systems 498,
    2025.
    """

    suits = "numbers; several weighted views (in Python)"

    batches = False  # the metric between views depends on the data

    beta: float = 1.2
    rule: str = choice("entropy", (ENTROPY, PRODUCT), "'entropy' is WMVEC's, 'product' MVECM-VFL's.")
    features: bool = flag(False, "True weighs the columns of each view, too.")
    temperature: float = number(0.5, "0.5 is usual: smaller lets one view take all.", above=0)
    feature_temperature: float = number(0.5, "0.5 is usual: smaller lets one view take all.", above=0)
    scaling: str = choice("spread", SCALINGS, "'spread' makes views of different units count alike.")

    def _algorithm(self, metric: SemiMetric) -> WMVECAlgorithm:
        heats = float(self.temperature), float(self.feature_temperature)
        return WMVECAlgorithm(self.rule, bool(self.features), *heats, self.scaling == "spread")

    def _fit_to(self, chosen: Settings, X: object, sample_weight: object) -> Self:
        if is_views(X):
            chosen = replace(chosen, metric=Combined(dict.fromkeys(X, SquaredEuclidean()), scaling=str(self.scaling)))
        return super()._fit_to(chosen, X, sample_weight)

    @property
    def feature_weights_(self) -> dict[str, NDArray[np.float64]] | NDArray[np.float64]:
        """Weight of each column within its view; they add up to 1."""
        check_is_fitted(self)
        metric = self.model_.metric
        views = metric.metrics if isinstance(metric, Combined) else None
        parts = {"": metric} if views is None else views
        weights = {
            name: (part.weights / part.weights.sum()).numpy()
            for name, part in parts.items()
            if isinstance(part, WeightedSquares)
        }
        if not weights:
            raise AttributeError("feature_weights_ is for a fit with features=True: columns were not weighted.")
        return weights[""] if views is None else weights
