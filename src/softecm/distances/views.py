"""Several distances at once, for objects with several views."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_choice
from softecm.belief import FocalSets
from softecm.distances import base, weighted_parts
from softecm.distances.listing import SEMI_METRICS
from softecm.distances.squared_euclidean import ScaledPasses
from softecm.distances.view_statistics import (
    FOR_AGREEMENT,
    FOR_UNITS,
    WEIGHTS,
    ViewSample,
    ViewsSampled,
    relative,
    sampled,
    weights_by,
    without_constant,
)
from softecm.files.expected import POSITIVE, Misfit, listed, mapped, maybe, number, rules, text
from softecm.files.values import by_itself
from softecm.spaces.base import Described, Space
from softecm.spaces.views import EncodedViews, Views, joined, split_views

SCALINGS = ("spread", "none")
ViewWeights = str | Mapping[str, float] | Sequence[float]


@dataclass(frozen=True)
class Combined(weighted_parts.Weighed):
    r"""Several distances at once: a table, series and an embedding of the same objects, each with its own semi-metric.

    .. math:: d(x, v) = \sum_l \omega_l \frac{G}{T_l}\, d_l(x^{(l)}, v^{(l)}), \qquad \sum_l \omega_l = 1

    where :math:`T_l` is half the mean distance between two objects in view :math:`l` (for squared distances their mean
    distance to the barycentre) and :math:`G` the geometric mean of all :math:`T_l`: every view counts equally, whatever
    its unit, unless ``weights`` change this. A prototype has a point in every view, and barycentres are computed view
    by view.

    An object without a view is compared in those it has: their weights are divided by their sum, so that its distance
    is the mean over them. A constant view has no weight.

    Parameters
    ----------
    metrics : dict of names to SemiMetric, or to names of registered ones
        One for each view, at least one.
    weights : "equal", "agreement", or a dict of names or one number per view, default="equal"
        The weights :math:`\omega_l`, not negative; only their ratios count. "agreement": a view counts for its
        agreement with the others (the leading eigenvector of the bias-corrected distance correlations between views),
        so that noise, such as a random column, has no weight. Two views always count equally; copies of a view outvote
        the rest. "product" (or "learned"), "sum", "entropy": learned with the clusters, for SoftECM, in every iteration
        (:mod:`softecm.distances.weighted_parts`). These favour the view that is easiest to fit, right or wrong: random
        binary columns win. A dominating view raises a warning.
    scaling : {"spread", "none"}, default="spread"
        "none" omits the factors :math:`G / T_l`: distances keep their own units.
    weights_of : {"all", "cluster", "set"}, default="all"
        Whether weights learned with the clusters are common to all, one per cluster (a set has the mean of its
        clusters'), or one per set.
    exponent : float, default=2.0
        Of the rule "sum", greater than 1: near 1, one view takes all; larger values give more equal weights.
    temperature : float, default=0.1
        Of the rule "entropy", greater than 0: if small, one view takes all. Relative to the mean total spread of a
        view.
    shown : str, optional
        The name of one view whose objects give all views: ``X`` is then that view's data, and ``prototypes_`` and
        ``cluster_centers_`` are its prototypes alone. The default for series does this: they are compared by shape,
        slope and texture, and prototypes are series.

    Notes
    -----
    ``X`` is a dict from the views' names to their data, or a data frame in which a view is the column of its name
    (which may hold arrays) and one view has all other columns. If every metric compares series, ``X`` may also be one
    set of series, shared by all views: ``Combined({"shape": SoftDTW(), "slope": SoftDTW(of="slope"), "texture":
    "texture"})``. For an object without a view, use None or a row of NaN. ``prototypes_`` is also a dict of views,
    unless one is ``shown``; ``explain`` returns each view's contribution to each distance, (n, f, views). In blocks (a
    Dask array of series with one view shown, or delayed dicts of views), units are those of at most 512 objects,
    independent of their order.

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import SoftECM
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1, 2], 20)
    >>> views = {
    ...     "vitals": rng.normal(size=(60, 8, 1)) + 4 * (group == 0)[:, None, None],
    ...     "note": rng.normal(size=(60, 2)) + 6 * (group == 2)[:, None],
    ... }
    >>> metric = Combined({"vitals": "series-euclidean", "note": "sqeuclidean"})
    >>> model = SoftECM(3, metric=metric, random_state=0).fit(views)
    >>> np.bincount(model.labels_).tolist(), model.prototypes_["vitals"].shape[1:]
    ([20, 20, 20], (8, 1))
    """

    metrics: Mapping[str, base.SemiMetric]
    weights: ViewWeights = weighted_parts.EQUAL
    scaling: str = "spread"
    weights_of: str = weighted_parts.ALL
    exponent: float = 2.0
    temperature: float = 0.1
    shown: str | None = None
    shares: tuple[float, ...] = field(default=(), repr=False)  # the resolved weights; they add up to 1
    spreads: tuple[float, ...] = field(default=(), repr=False)  # half of each view's mean distance between objects
    bends: tuple[float, ...] = field(default=(), repr=False)  # approximate curvature of each view's distance
    common: tuple[float, ...] = field(default=(), repr=False)  # maximum agreement of each view with another, 0 to 1
    shapes: tuple[tuple[int, ...], ...] = field(default=(), repr=False)  # of a prototype in each view
    by_set: Tensor | None = field(default=None, repr=False)  # (f, views), if each set has its own weights
    name = "combined"
    space = Views
    SAVED = rules(
        weighted_parts.Weighed.SAVED,
        metrics=mapped(by_itself(base.metric_rule)),
        bends=listed(number(POSITIVE)),
        shown=maybe(text()),
    )

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Check each view."""
        super().check_fitted(space, focal)
        if not isinstance(space, Views) or tuple(self.metrics) != space.views or len(self.bends) != len(space.views):
            raise Misfit("the metric and model_.space have different views")
        self.check_parts(len(space.views), len(focal))
        if self.alone is None and self.shapes != tuple(part.shape for part in space.spaces):
            raise Misfit("the metric and model_.space have views of different shapes")
        for part, own_space in zip(self.parts, space.spaces, strict=True):
            part.check_fitted(own_space, focal)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", checked_metrics(self.metrics))
        object.__setattr__(self, "degree", max(part.degree for part in self.parts))
        object.__setattr__(self, "gpu", all(part.gpu for part in self.parts))
        object.__setattr__(self, "single", all(part.single for part in self.parts))
        check_choice("scaling", self.scaling, SCALINGS, "'spread' makes views of different units count alike.")
        self.check_rule(WEIGHTS)
        if self.rule is None:
            relative(self.weights, list(self.metrics))
        if self.shown is not None:
            check_choice("shown", self.shown, list(self.metrics), "It names the view that prototypes are shown in.")

    @property
    def names(self) -> tuple[str, ...]:
        """The views."""
        return tuple(self.metrics)

    @property
    def parts(self) -> tuple[base.SemiMetric, ...]:
        """The views' metrics, in their order."""
        return tuple(self.metrics.values())

    @property
    def alone(self) -> base.SemiMetric | None:
        """The only view's metric; None for several views."""
        return self.parts[0] if len(self.parts) == 1 else None

    @property
    def units(self) -> list[float]:
        """Divisors of each view's distances."""
        middle = weighted_parts.middle_of(self.spreads)
        return [size / middle if self.scaling == "spread" and size > 0 else 1.0 for size in self.spreads]

    @property
    def view_weights(self) -> dict[str, float | NDArray[np.float64]]:
        """The weight of each view, after scaling; they add up to 1. One per set if each set has its own."""
        return self.part_weights

    def make_space(self) -> Views:
        """Return the views' spaces, by name."""
        return Views(tuple(self.metrics), tuple(part.make_space() for part in self.parts), shown=self.shown)

    @property
    def closed_form(self) -> base.ClosedForm:
        """The views' closed forms, if all parts have one."""
        if self.alone is not None:
            return self.alone.closed_form
        return ViewMeans(self) if self.by_set is None else base.NO_CLOSED_FORM

    @property
    def compiled(self) -> base.CompiledPasses:
        """Derivatives between prototypes; all passes of a single view."""
        if self.alone is not None:
            return self.alone.compiled
        return ViewPasses(self) if self.by_set is None else base.NO_COMPILED_PASSES

    @property
    def learner(self) -> ViewLearner:
        """Learns units, and what the parts learn."""
        return ViewLearner(self)

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """Return the sum of the parts'."""
        shapes = self.shapes or (shape,) * len(self.parts)
        return sum(part.cost_of_distance(own) for part, own in zip(self.parts, shapes, strict=True))

    def step(self, space: Space) -> float:
        """Return the largest of the views'."""
        assert isinstance(space, Views)
        steps = [part.step(own) for part, own in zip(self.parts, space.spaces, strict=True)]
        return max(steps if self.alone is not None else [s * f for s, f in zip(steps, self.factors, strict=True)])

    def views_of(self, x: EncodedViews | Tensor) -> tuple[Sequence[Any], Tensor | None]:
        """Return objects or prototypes view by view, and which objects have each view."""
        return (split_views(x, self.shapes), None) if isinstance(x, Tensor) else (x.parts, x.present)

    def pairwise(self, x: Any, v: Tensor) -> Tensor:
        """Return weighted sums of the views' distances."""
        if self.alone is not None:
            return self.alone.pairwise(x, v)
        parts, present = self.views_of(x)
        each = [
            part.pairwise(own, at) for part, own, at in zip(self.parts, parts, split_views(v, self.shapes), strict=True)
        ]
        return self.summed(each, present)

    def summed(self, each: Sequence[Tensor], present: Tensor | None) -> Tensor:
        """Combine the distances (n, k) of all views an object has."""
        counts = self.counts(present, each[0])
        parts = [d * self._factor(j, d) for j, d in enumerate(each)]
        if counts is not None:
            parts = [part * counts[:, j : j + 1] for j, part in enumerate(parts)]
        return functools.reduce(torch.add, parts)

    def _factor(self, view: int, d: Tensor) -> float | Tensor:
        """Return the factor of a view's distances (n, k) to the prototypes of the first k sets."""
        if self.by_set is None:
            return self.factors[view]
        return self.by_set[: d.shape[1], view].to(d) / self.units[view]

    def each(self, x: Any, v: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the distances of each view."""
        parts, present = self.views_of(x)
        pairs = zip(self.parts, parts, split_views(v, self.shapes), strict=True)
        return self._in_units([part.pairwise(own, at) for part, own, at in pairs], present)

    def _in_units(self, tables: Sequence[Tensor], present: Tensor | None) -> tuple[Tensor, Tensor | None]:
        each = torch.stack(list(tables), -1) / tables[0].new_tensor(self.units)
        there = None if present is None else present.to(each)
        return (each, None) if there is None else (each * there[:, None], there)

    def part_distances(self, x: EncodedViews, v: Tensor, first: int) -> weighted_parts.PartDistances:
        """Return the distances of each view."""
        places = split_views(v, self.shapes)
        views = zip(self.parts, x.parts, places, self.bends, strict=True)
        views_measured = [weighted_parts.measured(part, own, at, bend) for part, own, at, bend in views]
        for distances, _ in views_measured:
            base.check_distances(self, distances, len(x), len(v), first)
        each, there = self._in_units([d.clamp_min(0.0) for d, _ in views_measured], x.present)

        def sums(weights: Tensor) -> base.Sums:
            joint = []
            for view, (part, at, (_, later)) in enumerate(zip(self.parts, places, views_measured, strict=True)):
                counts = 1.0 if there is None else there[:, view, None]
                own = later(weights * (counts / self.units[view]))
                moment = own.moment if part.closed_form.quadratic else weighted_parts.slope_of(part, own, at)
                joint.append((own.curvature.expand_as(at), moment))
            return base.Sums(joined([curvature for curvature, _ in joint]), joined([moment for _, moment in joint]))

        return weighted_parts.PartDistances(each, there, sums)

    def roots(self, like: Tensor) -> Tensor:
        """Return the root of each coordinate's factor (width,)."""
        pairs = zip(self.factors, self.shapes, strict=True)
        return torch.cat([like.new_full((math.prod(shape),), math.sqrt(factor)) for factor, shape in pairs])

    def separate(self, v: Tensor) -> Sequence[tuple[base.SemiMetric, Tensor]]:
        """Return each view's metric and prototypes."""
        return list(zip(self.parts, split_views(v, self.shapes), strict=True))

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return weighted sums of the views' distances between matching rows."""
        if self.alone is not None:
            return self.alone.paired(a, b)
        ends = zip(self.parts, split_views(a, self.shapes), split_views(b, self.shapes), strict=True)
        return self.summed([part.paired(p, q)[:, None] for part, p, q in ends], None)[:, 0]

    def terms(self, x: object, v: Tensor) -> Tensor | None:
        """Return each view's contribution; for a single view, each of its attributes'."""
        if self.alone is not None:
            return self.alone.terms(x, v)
        return super().terms(x, v)

    def doubts(self, x: object, clusters: Tensor) -> Sequence[str]:
        """Return doubts about several views; not for views of one set of objects, which should differ."""
        return super().doubts(x, clusters) if self.alone is None and self.shown is None else ()


def checked_metrics(metrics: object) -> dict[str, base.SemiMetric]:
    """Return the parts of a combined metric, by name."""
    if not isinstance(metrics, Mapping) or not metrics or not all(isinstance(name, str) and name for name in metrics):
        raise ValueError(
            f"metrics must be a dict with a metric for each view's name; got {metrics!r}. Write "
            "Combined({'vitals': SoftDTW(), 'patient': Mixed()})."
        )
    checked = {}
    for name, part in metrics.items():
        metric = SEMI_METRICS[part]() if isinstance(part, str) and part in SEMI_METRICS else part
        if not isinstance(metric, base.SemiMetric) or isinstance(metric, Combined):
            raise ValueError(
                f"view {name!r} must have a registered name or a SemiMetric that is not Combined; got {part!r}. A "
                "torch function becomes one with softecm.distances.FunctionMetric."
            )
        if metric.discrete:
            raise ValueError(
                f"view {name!r} must have prototypes of its own; got {metric.name!r}, whose prototypes are objects. "
                "Add up the matrices, each divided by its mean, and use metric='precomputed' on the sum."
            )
        checked[name] = metric
    return checked


@dataclass(frozen=True)
class ViewMeans(base.ClosedForm):
    """The closed forms of all views, side by side."""

    metric: Combined

    def __post_init__(self) -> None:
        object.__setattr__(self, "quadratic", all(part.closed_form.quadratic for part in self.metric.parts))

    def sums(self, x: EncodedViews | Tensor, v: Tensor, weights: Tensor) -> base.Sums:
        """Return the sums of all views in a row."""
        return self.with_sums(x, v)[1](weights)

    def with_sums(self, x: EncodedViews | Tensor, v: Tensor) -> tuple[Tensor, Callable[[Tensor], base.Sums]]:
        """Return distances of all views, and a function from weights to their sums."""
        parts, present = self.metric.views_of(x)
        views = zip(self.metric.parts, parts, split_views(v, self.metric.shapes), self.metric.bends, strict=True)
        views_measured = [weighted_parts.measured(part, own, at, bend) for part, own, at, bend in views]

        def sums(weights: Tensor) -> base.Sums:
            each = [
                later(counted)
                for (_, later), counted in zip(views_measured, self._weights(present, weights), strict=True)
            ]
            return self._joined(each, v, whole=present is None)

        return self.metric.summed([d for d, _ in views_measured], present), sums

    def _weights(self, present: Tensor | None, weights: Tensor) -> list[Tensor]:
        """Return weights (n, k) for each view."""
        counts = self.metric.counts(present, weights)
        if counts is None:
            return [weights] * len(self.metric.parts)
        return [weights * counts[:, j : j + 1] for j in range(counts.shape[1])]

    def _joined(self, parts: Sequence[base.Sums], v: Tensor, *, whole: bool) -> base.Sums:
        """Combine the quadratics of all views; if barycentres are means, ``tensor`` applies the factors."""
        factors = [1.0] * len(parts) if self.quadratic else self.metric.factors
        places = split_views(v, self.metric.shapes)
        moment = joined([factor * sums.moment for factor, sums in zip(factors, parts, strict=True)])
        if whole and self.quadratic and all(sums.curvature[0].numel() == 1 for sums in parts):
            curvature = parts[0].curvature.flatten(1)  # the sum of weights, the same in every view
        else:
            each = zip(factors, parts, places, strict=True)
            curvature = joined([(factor * sums.curvature).expand_as(at) for factor, sums, at in each])
        if all(sums.gradient is None for sums in parts):
            return base.Sums(curvature, moment)
        slopes = zip(self.metric.parts, self.metric.factors, parts, places, strict=True)
        return base.Sums(
            curvature,
            moment,
            joined([factor * weighted_parts.slope_of(part, sums, at) for part, factor, sums, at in slopes]),
        )

    def tensor(self, u: Tensor) -> Tensor:
        """Apply each view's own matrix."""
        parts = [part.closed_form.tensor(own) for part, own in zip(self.metric.parts, self._split(u), strict=True)]
        if self.quadratic:
            parts = [factor * part for factor, part in zip(self.metric.factors, parts, strict=True)]
        return self._rejoined(parts, u)

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor | None:
        """Return each view's own barycentres."""
        each = [
            part.closed_form.barycenters(own, weights)
            for part, own in zip(self.metric.parts, self._split(x), strict=True)
        ]
        known = [part for part in each if part is not None]
        return None if len(known) < len(each) else self._rejoined(known, x)

    def to_means(self, distances: Tensor, between: Tensor, weights: Tensor) -> Tensor | None:
        """If every view is squared, so is their sum."""
        forms = [part.closed_form for part in self.metric.parts]
        return forms[0].to_means(distances, between, weights) if self.quadratic and forms[0] is not None else None

    def _split(self, u: Tensor) -> list[Tensor]:
        return split_views(u, self.metric.shapes)

    @staticmethod
    def _rejoined(parts: Sequence[Tensor], like: Tensor) -> Tensor:
        """Concatenate views of tensors with any leading dimensions (..., *shape) in a row (..., width)."""
        lead = like.ndim - 1
        return torch.cat([part.flatten(lead) for part in parts], -1)


@dataclass(frozen=True)
class ViewPasses(ScaledPasses[EncodedViews | Tensor]):
    """The vectors' passes if all views are squared differences; otherwise sums of the views' own."""

    metric: Combined

    def rows(self, x: EncodedViews | Tensor, shape: Sequence[int]) -> Tensor | None:
        """Return all views as rows of numbers (n, width) whose squared differences are the distances; cached."""
        parts, present = self.metric.views_of(x)
        if present is not None or not min(self.metric.shares) > 0:
            return None
        key, known = ("rows of all views", tuple(self.metric.factors)), {} if isinstance(x, Tensor) else x.known
        if key in known:
            return known[key]
        columns = []
        for part, own, shape in zip(self.metric.parts, parts, self.metric.shapes, strict=True):
            rows = part.closed_form.points(own, shape)
            if rows is None:
                return None
            columns.append(rows.flatten(1))
        whole = torch.cat(columns, 1)
        known[key] = (whole * self.metric.roots(whole)).contiguous()
        return known[key]

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return distances of matching rows and their derivatives, view by view."""
        shapes, total, slopes = self.metric.shapes, a.new_zeros(len(a)), []
        ends = zip(self.metric.parts, self.metric.factors, split_views(a, shapes), split_views(b, shapes), strict=True)
        for part, factor, p, q in ends:
            d, in_p, in_q = part.compiled.paired_gradients(p, q) or weighted_parts.paired_slopes(part, p, q)
            total = total + factor * d
            slopes.append((factor * in_p, factor * in_q))
        return total, joined([in_p for in_p, _ in slopes]), joined([in_q for _, in_q in slopes])


@dataclass(frozen=True)
class ViewLearner(base.Learner):
    """Learns the views' units, and what their metrics learn."""

    metric: Combined

    def fitted(self, x: Any, weights: Tensor | None) -> Combined:
        """Fit every view to the objects that have it, then make the distances comparable."""
        metric = self.metric
        if metric.alone is not None:
            only = {name: part.fitted(x, weights) for name, part in metric.metrics.items()}
            return replace(
                metric, metrics=only, shares=(1.0,), spreads=(1.0,), bends=(1.0,), common=(1.0,), shapes=((),)
            )
        parts = [self._part(j, x, weights) for j in range(len(metric.parts))]
        known = bool(metric.shares) and metric.shapes == _shapes(x.space)
        effort = FOR_AGREEMENT if metric.shown is None or metric.weights == weighted_parts.AGREEMENT else FOR_UNITS
        return self._with(parts, x.space, None if known else sampled(parts, x, weights, effort))

    def describe(self, x: EncodedViews, weights: Tensor | None) -> ViewsSampled:
        """Return what the parts learn from a block, and a sample of its objects."""
        if self.metric.alone is not None:
            raise self._needs_all()
        return ViewsSampled.of([self._described(j, x, weights) for j in range(len(self.metric.parts))], x, weights)

    def _described(self, j: int, x: EncodedViews, weights: Tensor | None) -> Described | None:
        learner, own, rows = self.metric.parts[j].learner, x.parts[j], x.having(j)
        if learner is None or len(rows) == len(x):
            return None if learner is None else learner.describe(own, weights)
        return learner.describe(own[rows], None if weights is None else weights[rows]) if len(rows) else None

    def fitted_to(self, description: ViewsSampled) -> Combined:
        """Fit every view from all blocks, then make the distances comparable, from the sample."""
        pairs = zip(self.metric.parts, description.parts, strict=True)
        parts = [part if part.learner is None else part.learner.fitted_to(own) for part, own in pairs]
        known = bool(self.metric.shares) and self.metric.shapes == _shapes(description.space)
        return self._with(parts, description.space, None if known else description.sample(parts))

    def _with(self, parts: Sequence[base.SemiMetric], space: Views, sample: ViewSample | None) -> Combined:
        """Return the metric with fitted parts; with units, and weights if these are open, from a sample."""
        metric, names = self.metric, list(self.metric.metrics)
        fitted = replace(metric, metrics=dict(zip(names, parts, strict=True)), shapes=_shapes(space))
        if sample is None:
            return fitted
        common, spreads = sample.common, sample.spreads
        if metric.shares:  # the same objects in another form, such as fewer steps: units of their own
            return replace(fitted, spreads=tuple(spreads), bends=tuple(sample.bends))
        if metric.weights == weighted_parts.AGREEMENT:
            shares = weights_by(common).tolist()
            weighted_parts.say_unheard(names, shares, common)
        else:
            shares = relative(metric.weights, names) if metric.rule is None else [1.0 / len(parts)] * len(parts)
        shares = without_constant(names, spreads, shares, say=metric.shown is None)
        most = tuple(common.max(1).tolist())
        fitted = replace(fitted, spreads=tuple(spreads), bends=tuple(sample.bends), common=most)
        return replace(fitted, shares=tuple(shares))

    def _part(self, j: int, x: EncodedViews, weights: Tensor | None) -> base.SemiMetric:
        part, own, rows = self.metric.parts[j], x.parts[j], x.having(j)
        if len(rows) < len(x):
            part = part.fitted(own[rows], None if weights is None else weights[rows])
        return part.fitted(own, weights)


def _shapes(space: Views) -> tuple[tuple[int, ...], ...]:
    return tuple(part.shape for part in space.spaces)
