"""The common part of elastic distances between series, which differ only in a rule for the cost of a step."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from softecm._checks import check_flag, check_number
from softecm.belief import FocalSets
from softecm.distances.base import (
    NO_CLOSED_FORM,
    NO_COMPILED_PASSES,
    ClosedForm,
    CompiledPasses,
    SemiMetric,
    Sums,
    not_learned,
)
from softecm.distances.soft_dtw import RAW, SmoothingLearner, both_ways, check_band, gamma_of, gradients_in_both
from softecm.kernels.elastic import Rule, elastic, elastic_sums
from softecm.kernels.soft_dtw import Pairs, Rows
from softecm.spaces.base import Space
from softecm.spaces.series import OPTIONS, EncodedSeries, SeriesBatch, SteppedSeries, TimeSeries, as_batch


@dataclass(frozen=True, kw_only=True)
class Elastic(SemiMetric):
    """An elastic distance: the minimum cost of transforming one series into another, with time warping.

    A subclass defines the cost of steps (``rule``); those with a ``gamma`` derive from `SoftElastic`.
    """

    band: int | None = None
    derivative: bool = False
    znormalise: bool = False
    length: int | str = "median"
    layout: str = "tslearn"
    space: ClassVar[type[Space]] = TimeSeries
    degree = 1.0
    SAVED = OPTIONS
    #: Whether every channel is aligned by itself.
    by_channel: ClassVar[bool] = False
    #: Number of steps of zeros before a series: what may be skipped before the first match.
    front: ClassVar[int] = 0
    #: Names of parameters that are numbers from 0, each with a hint.
    numbers: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __post_init__(self) -> None:
        check_band(self.band)
        for name in ("derivative", "znormalise"):
            object.__setattr__(self, name, check_flag(name, getattr(self, name), hint="The default is False."))
        for name, hint in self.numbers:
            object.__setattr__(self, name, check_number(name, getattr(self, name), least=0.0, hint=hint))

    @abstractmethod
    def rule(self) -> Rule:
        """The cost of the steps of an alignment."""

    @property
    def diverges(self) -> bool:
        """Whether half of each series' distance to itself is subtracted."""
        return False

    def make_space(self) -> SteppedSeries:
        """Return a space of series with this metric's options."""
        return TimeSeries(self.length, self.layout)

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """All pairs of steps."""
        return 4.0 * shape[0] * math.prod(shape)

    def laid_out(self, values: Tensor) -> Tensor:
        """Return series in the kernel's form."""
        return torch.nn.functional.pad(values, (0, 0, self.front, 0)) if self.front else values

    def seen(self, batch: SeriesBatch) -> SeriesBatch:
        """Return series as they are compared: z-normalized or their slopes, if requested, and laid out."""
        values, lengths = batch.values, batch.lengths
        if self.znormalise:
            values = znormalised(values, lengths)
        if self.derivative:
            values, lengths = slopes(values, lengths)
        values = self.laid_out(values)
        return SeriesBatch(values, None if lengths is None else lengths + self.front)

    def raw(self, x: SeriesBatch, v: SeriesBatch, pairs: Pairs) -> Tensor:
        """Return minimum (soft) costs of all pairs (n, k), or of selected ones."""
        a, b = self.seen(x), self.seen(v)
        parts = [
            elastic(xc, vc, self.rule(), band=self.band, x_lengths=a.lengths, y_lengths=b.lengths, pairs=pairs)
            for xc, vc in self.parts(a.values, b.values)
        ]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)

    def parts(self, x: Tensor, v: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return the series to align: all channels together, or one after another."""
        if not self.by_channel:
            return [(x, v)]
        return [(x[..., c : c + 1], v[..., c : c + 1]) for c in range(x.shape[2])]

    def key(self) -> tuple[Hashable, ...]:
        """Cache key for each series' distance to itself."""
        return ("elastic distance to itself", self)

    def selves(self, x: SeriesBatch) -> Tensor:
        """Return raw distances of each series to itself (n,)."""
        if self.key() in x.known:
            return x.known[self.key()]
        still = SeriesBatch(x.values.detach(), x.lengths)
        values = self.raw(still, x, Rows(len(x), x.values.device))
        return 2.0 * values - values.detach()  # both sides move together: twice one side's derivative

    def corrected(self, raw: Tensor, in_x: Tensor, in_v: Tensor) -> Tensor:
        """Return divergences from raw values and those of both sides with themselves."""
        return (raw - 0.5 * in_x - 0.5 * in_v).clamp_min(0.0)

    def pairwise(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return distances of all pairs."""
        batch, prototypes = as_batch(x), SeriesBatch(v)
        raw = self.raw(batch, prototypes, None)
        return self.corrected(raw, self.selves(batch)[:, None], self.selves(prototypes)) if self.diverges else raw

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return distances of matching rows."""
        one, other = SeriesBatch(a), SeriesBatch(b)
        raw = self.raw(one, other, Rows(len(a), a.device))
        return self.corrected(raw, self.selves(one), self.selves(other)) if self.diverges else raw

    def terms(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return each prototype step's contribution; smoothing and self-terms are subtracted evenly."""
        from softecm.kernels.elastic.steps import step_costs

        a, b = self.seen(as_batch(x)), self.seen(SeriesBatch(v))
        lengths = a.ends.cpu().numpy()
        parts = [[t.detach().double().cpu().numpy() for t in part] for part in self.parts(a.values, b.values)]
        costs = sum(torch.from_numpy(step_costs(xc, lengths, vc, self.rule(), self.band)) for xc, vc in parts)
        out = self.by_step(torch.as_tensor(costs), v.shape[1])
        rest = self.pairwise(x, v).detach().double().cpu() - out.sum(-1)
        return out + (rest / v.shape[1])[..., None]

    def by_step(self, costs: Tensor, steps: int) -> Tensor:
        """Return costs (n, k, seen steps) at the prototypes' own steps."""
        begin, end = costs[..., : self.front].sum(-1), costs[..., self.front :].clone()
        end[..., 0] += begin
        skipped = (steps - end.shape[-1]) // 2
        return torch.nn.functional.pad(end, (skipped, skipped))

    @property
    def closed_form(self) -> ClosedForm:
        """A bound in the prototypes' values, if values are compared."""
        return NO_CLOSED_FORM if self.derivative or self.znormalise else Bounds(self)

    @property
    def compiled(self) -> CompiledPasses:
        """Derivatives of pairs of prototypes."""
        return NO_COMPILED_PASSES if self.derivative or self.znormalise else ElasticPasses(self)


@dataclass(frozen=True, kw_only=True)
class SoftElastic(Elastic):
    """An elastic distance with a soft minimum (``gamma`` above 0), as a divergence."""

    gamma: float | str = 0.0
    divergence: bool = True
    #: Whether gamma may be 0, for the hard minimum.
    may_be_hard: ClassVar[bool] = True

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` unless gamma is a number."""
        super().check_fitted(space, focal)
        if self.gamma == "auto":
            raise not_learned(self)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "divergence", check_flag("divergence", self.divergence, hint=RAW))
        if self.gamma == "auto":
            return
        hint = "Or use 'auto'. Small: one alignment decides; large: all count."
        bounds = {"least": 0.0} if self.may_be_hard else {"above": 0.0}
        object.__setattr__(self, "gamma", check_number("gamma", self.gamma, **bounds, hint=hint))

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """All pairs of steps; with exponentials, if soft."""
        return (4.0 if self.gamma == 0 else 40.0) * shape[0] * math.prod(shape)

    @property
    def smoothing(self) -> float:
        """Gamma as a number."""
        if isinstance(self.gamma, str):
            name = type(self).__name__
            raise ValueError(f"metric {name}(gamma='auto') needs data before use: fit an estimator, or give gamma.")
        return self.gamma

    @property
    def diverges(self) -> bool:
        """Whether self-terms are subtracted: a soft minimum over alignments of a series with itself is below zero."""
        return self.divergence and self.smoothing > 0

    @property
    def learner(self) -> SmoothingLearner:
        """Learns gamma, and caches each series' distance to itself."""
        return SmoothingLearner(self)

    def gamma_for(self, variance: float) -> float:
        """Return gamma from the variance of all steps: in units of squares, or of lengths."""
        return gamma_of(variance) if self.degree == 2.0 else math.sqrt(gamma_of(variance))

    def with_gamma(self, gamma: float) -> Self:
        """Return a copy with a number for gamma."""
        return replace(self, gamma=gamma)


@dataclass(frozen=True)
class Bounds(ClosedForm):
    """Minima over alignments are concave in the costs of steps; parabolas in the prototypes' values bound these."""

    metric: Elastic

    def sums(self, x: EncodedSeries, v: Tensor, weights: Tensor) -> Sums:
        """Return curvature and moment of the bound, with the gradient if the bound is not tangent."""
        _, curvature, gradient = aligned(self.metric, as_batch(x), v, weights.contiguous(), None)
        return self._sums(v, weights, curvature, gradient)

    def with_sums(self, x: EncodedSeries, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Align every pair once, keep each pair's bound, apply weights later."""
        if v.is_cuda or v.shape[1] < 2 * v.shape[2]:  # as for Soft-DTW
            return None
        batch, metric = as_batch(x), self.metric
        n, k = len(batch), len(v)
        pairs = torch.arange(n).repeat_interleave(k), torch.arange(n * k)
        raw, curvature, gradient = aligned(metric, batch, v.repeat(n, 1, 1), v.new_ones(n * k), pairs)
        curvature, gradient = curvature.reshape(n, k, *curvature.shape[1:]), gradient.reshape(n, k, *v.shape[1:])
        d = raw.reshape(n, k)
        if metric.diverges:
            d = metric.corrected(d, metric.selves(batch)[:, None], metric.selves(SeriesBatch(v)))

        def later(weights: Tensor) -> Sums:
            total = (torch.einsum("nk,nkld->kld", weights, t) for t in (curvature, gradient))
            return self._sums(v, weights, *total)

        return d, later

    def _sums(self, v: Tensor, weights: Tensor, curvature: Tensor, gradient: Tensor) -> Sums:
        """Combine weighted curvatures and gradients of raw values."""
        moment = curvature * v - 0.5 * gradient
        if self.metric.diverges:
            rows = Rows(len(v), v.device)
            own = aligned(self.metric, SeriesBatch(v), v, weights.sum(0), rows)[2]
            return Sums(curvature, moment, gradient - own)
        rule = self.metric.rule()
        # Unsmoothed lengths have a kink at zero, where no parabola is tangent: the quadratic is only approximate.
        return Sums(curvature, moment, None if rule.squared or rule.gamma > 0 else gradient)


@dataclass(frozen=True)
class ElasticPasses(CompiledPasses):
    """Derivatives of pairs without a graph."""

    metric: Elastic

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return distances of matching rows, and their derivatives with respect to both."""
        rows, ones = Rows(len(a), a.device), a.new_ones(len(a))

        def slopes_in_second(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            values, _, gradient = aligned(self.metric, SeriesBatch(x), y, ones, rows)
            return values, gradient

        return gradients_in_both([slopes_in_second(x, y) for x, y in both_ways(a, b, divergence=self.metric.diverges)])


def aligned(metric: Elastic, x: SeriesBatch, v: Tensor, weights: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
    """Return raw values; curvature (k, L, 1 or d) and gradient (k, L, d) of their weighted sum in the prototypes."""
    a, b, rule = metric.seen(x), metric.seen(SeriesBatch(v)), metric.rule()
    floor = 0.1 * float((v - v.mean()).abs().mean()) if v.numel() else None  # relative to the spread of values
    found = [
        elastic_sums(xc, vc, weights, rule, band=metric.band, x_lengths=a.lengths, pairs=pairs, floor=floor)
        for xc, vc in metric.parts(a.values, b.values)
    ]
    values = found[0].values if len(found) == 1 else torch.stack([one.values for one in found]).sum(0)
    curvature, gradient = (torch.cat(t, -1)[:, metric.front :] for t in zip(*(one[1:] for one in found), strict=True))
    return values, curvature, gradient


def znormalised(values: Tensor, lengths: Tensor | None) -> Tensor:
    """Return every series with mean 0 and standard deviation 1 in each channel; a constant channel becomes zero."""
    inside = SeriesBatch(values, lengths).inside[..., None]
    count = inside.sum(1, keepdim=True)
    level = torch.where(inside, values, 0.0).sum(1, keepdim=True) / count
    centred = torch.where(inside, values - level, 0.0)
    variance = centred.square().sum(1, keepdim=True) / count
    flat = variance <= 1e-24
    return torch.where(flat, 0.0, centred / torch.where(flat, 1.0, variance).sqrt())


def slopes(values: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return Keogh and Pazzani's slopes: the mean of the left and the central difference, two steps fewer."""
    shortest = values.shape[1] if lengths is None or not len(lengths) else int(lengths.min())
    if shortest < 3:
        raise ValueError(
            f"derivative=True must have series of at least 3 steps; got one of {shortest}. Leave it out, or compare values."
        )
    before, here, after = values[:, :-2], values[:, 1:-1], values[:, 2:]
    return 0.5 * ((here - before) + 0.5 * (after - before)), None if lengths is None else lengths - 2
