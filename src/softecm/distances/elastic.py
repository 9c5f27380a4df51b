"""What elastic distances between series have in common: a rule for what a step of an alignment costs does the rest."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from softecm._checks import check_flag, check_number
from softecm.belief import FocalSets
from softecm.distances.base import (
    NO_CLOSED_FORM,
    NO_COMPILED_PASSES,
    ClosedForm,
    CompiledPasses,
    Learner,
    Moments,
    SemiMetric,
    Sums,
    not_learned,
)
from softecm.distances.soft_dtw import RAW, both_ways, check_band, gamma_of, gradients_in_both, steps_of
from softecm.kernels.elastic import Rule, elastic, elastic_sums
from softecm.kernels.soft_dtw import Pairs, Rows
from softecm.spaces.base import Space
from softecm.spaces.series import OPTIONS, EncodedSeries, SeriesBatch, SteppedSeries, TimeSeries, as_batch


@dataclass(frozen=True, kw_only=True)
class Elastic(SemiMetric):
    """An elastic distance: the least cost of turning one series into another, step by step, time free to stretch.

    A subclass says what steps cost (``rule``); those with a ``gamma`` derive from `SoftElastic`.
    """

    band: int | None = None
    derivative: bool = False
    znormalise: bool = False
    length: int | str = "median"
    layout: str = "tslearn"
    space: ClassVar[type[Space]] = TimeSeries
    degree = 1.0
    SAVED = OPTIONS
    #: Whether every channel is aligned for itself.
    by_channel: ClassVar[bool] = False
    #: How many steps ``laid_out`` puts in front of a series.
    front: ClassVar[int] = 0
    #: Parameters that are numbers from 0, each with a hint.
    numbers: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __post_init__(self) -> None:
        check_band(self.band)
        for name in ("derivative", "znormalise"):
            object.__setattr__(self, name, check_flag(name, getattr(self, name), hint="The default is False."))
        for name, hint in self.numbers:
            object.__setattr__(self, name, check_number(name, getattr(self, name), least=0.0, hint=hint))

    @abstractmethod
    def rule(self) -> Rule:
        """What the steps of an alignment cost."""

    @property
    def diverges(self) -> bool:
        """Whether half of each series' distance to itself is taken off."""
        return False

    def make_space(self) -> SteppedSeries:
        """Series with this metric's layout and prototype length."""
        return TimeSeries(self.length, self.layout)

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """Every step meets every step."""
        return 4.0 * shape[0] * math.prod(shape)

    def laid_out(self, values: Tensor) -> Tensor:
        """Series as the kernel wants them; by default as they are."""
        return values

    def seen(self, batch: SeriesBatch) -> SeriesBatch:
        """Series as they are compared: z-normalised or their slopes, where asked for, and laid out."""
        values, lengths = batch.values, batch.lengths
        if self.znormalise:
            values = znormalised(values, lengths)
        if self.derivative:
            values, lengths = slopes(values, lengths)
        values = self.laid_out(values)
        return SeriesBatch(values, None if lengths is None else lengths + self.front)

    def raw(self, x: SeriesBatch, v: SeriesBatch, pairs: Pairs) -> Tensor:
        """Least (soft) costs of all pairs (n, k), or of chosen ones."""
        a, b = self.seen(x), self.seen(v)
        parts = [
            elastic(xc, vc, self.rule(), band=self.band, x_lengths=a.lengths, y_lengths=b.lengths, pairs=pairs)
            for xc, vc in self.parts(a.values, b.values)
        ]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)

    def parts(self, x: Tensor, v: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Series to be aligned: all channels together, or one after the other."""
        if not self.by_channel:
            return [(x, v)]
        return [(x[..., c : c + 1], v[..., c : c + 1]) for c in range(x.shape[2])]

    def key(self) -> tuple[Hashable, ...]:
        """Under what a batch remembers each series' distance to itself."""
        return ("elastic distance to itself", self)

    def selves(self, x: SeriesBatch) -> Tensor:
        """Raw distances of each series to itself (n,)."""
        if self.key() in x.known:
            return x.known[self.key()]
        still = SeriesBatch(x.values.detach(), x.lengths)
        values = self.raw(still, x, Rows(len(x), x.values.device))
        return 2.0 * values - values.detach()  # both sides move alike: twice one side's derivative

    def corrected(self, raw: Tensor, in_x: Tensor, in_v: Tensor) -> Tensor:
        """Divergences from raw values and those of either side with itself."""
        return (raw - 0.5 * in_x - 0.5 * in_v).clamp_min(0.0)

    def pairwise(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Distances of all pairs."""
        batch, prototypes = as_batch(x), SeriesBatch(v)
        raw = self.raw(batch, prototypes, None)
        return self.corrected(raw, self.selves(batch)[:, None], self.selves(prototypes)) if self.diverges else raw

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Distances of matching rows."""
        one, other = SeriesBatch(a), SeriesBatch(b)
        raw = self.raw(one, other, Rows(len(a), a.device))
        return self.corrected(raw, self.selves(one), self.selves(other)) if self.diverges else raw

    def terms(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """What each step of a prototype adds; what smoothing and self-terms take off is spread evenly."""
        from softecm.kernels.elastic.steps import step_costs

        a, b = self.seen(as_batch(x)), self.seen(SeriesBatch(v))
        lengths = a.ends.cpu().numpy()
        parts = [[t.detach().double().cpu().numpy() for t in part] for part in self.parts(a.values, b.values)]
        costs = sum(torch.from_numpy(step_costs(xc, lengths, vc, self.rule(), self.band)) for xc, vc in parts)
        out = self.by_step(torch.as_tensor(costs), v.shape[1])
        rest = self.pairwise(x, v).detach().double().cpu() - out.sum(-1)
        return out + (rest / v.shape[1])[..., None]

    def by_step(self, costs: Tensor, steps: int) -> Tensor:
        """Costs (n, k, seen steps) at the steps of the prototypes themselves."""
        begin, end = costs[..., : self.front].sum(-1), costs[..., self.front :].clone()
        end[..., 0] += begin
        skipped = (steps - end.shape[-1]) // 2
        return torch.nn.functional.pad(end, (skipped, skipped))

    @property
    def closed_form(self) -> ClosedForm:
        """A bound in the prototypes' values, where those are what is compared."""
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
        """With a number for gamma."""
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
        """Every step meets every step; with exponentials, if soft."""
        return (4.0 if self.gamma == 0 else 40.0) * shape[0] * math.prod(shape)

    @property
    def smoothing(self) -> float:
        """Gamma, once it is known."""
        if isinstance(self.gamma, str):
            name = type(self).__name__
            raise ValueError(f"metric {name}(gamma='auto') needs data before use: fit an estimator, or give gamma.")
        return self.gamma

    @property
    def diverges(self) -> bool:
        """A soft minimum over alignments of a series with itself is below zero."""
        return self.divergence and self.smoothing > 0

    @property
    def learner(self) -> SmoothingLearner:
        """The smoothing, and what each series has in common with itself."""
        return SmoothingLearner(self)

    def gamma_for(self, variance: float) -> float:
        """Gamma from the variance of all steps: in units of squares, or of lengths."""
        return gamma_of(variance) if self.degree == 2.0 else math.sqrt(gamma_of(variance))

    def with_gamma(self, gamma: float) -> Self:
        """The same with a number for gamma."""
        return replace(self, gamma=gamma)


@dataclass(frozen=True)
class SmoothingLearner(Learner):
    """Chooses gamma where it is "auto"; remembers each series' distance to itself."""

    metric: SoftElastic

    def fitted(self, x: EncodedSeries, weights: Tensor | None) -> SoftElastic:
        """Choose gamma where it is "auto"; remember each series' distance to itself."""
        chosen = self.fitted_to(self.describe(x, weights))
        if isinstance(x, SeriesBatch) and chosen.diverges:
            x.known[chosen.key()] = chosen.selves(x)
        return chosen

    def describe(self, x: EncodedSeries, weights: Tensor | None) -> Moments | None:
        """Where gamma is "auto": the moments of a block's steps, as they are compared."""
        if self.metric.gamma != "auto":
            return None
        return Moments.of(steps_of(self.metric.seen(as_batch(x))).cpu().numpy(), None)

    def fitted_to(self, description: Moments | None) -> SoftElastic:
        """Choose gamma where it is "auto"."""
        if description is None:
            return self.metric
        return self.metric.with_gamma(self.metric.gamma_for(float(np.trace(description.scatter)) / description.weight))


@dataclass(frozen=True)
class Bounds(ClosedForm):
    """Minima over alignments are concave in the costs of steps, and those lie below parabolas in the prototypes' values."""

    metric: Elastic

    def sums(self, x: EncodedSeries, v: Tensor, weights: Tensor) -> Sums:
        """Curvature and moment of the bound; the gradient itself where the bound does not touch."""
        _, curvature, gradient = aligned(self.metric, as_batch(x), v, weights.contiguous(), None)
        return self._sums(v, weights, curvature, gradient)

    def with_sums(self, x: EncodedSeries, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Align every pair once, keep each pair's bound, weigh it later."""
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
        """From weighted curvatures and gradients of raw values."""
        moment = curvature * v - 0.5 * gradient
        if self.metric.diverges:
            rows = Rows(len(v), v.device)
            own = aligned(self.metric, SeriesBatch(v), v, weights.sum(0), rows)[2]
            return Sums(curvature, moment, gradient - own)
        rule = self.metric.rule()
        # Lengths that are not rounded off bend at zero, where no parabola touches: the quadratic is merely near.
        return Sums(curvature, moment, None if rule.squared or rule.gamma > 0 else gradient)


@dataclass(frozen=True)
class ElasticPasses(CompiledPasses):
    """Derivatives of pairs without a graph."""

    metric: Elastic

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Distances of matching rows, and their derivatives in either end."""
        rows, ones = Rows(len(a), a.device), a.new_ones(len(a))

        def slopes_in_second(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            values, _, gradient = aligned(self.metric, SeriesBatch(x), y, ones, rows)
            return values, gradient

        return gradients_in_both([slopes_in_second(x, y) for x, y in both_ways(a, b, divergence=self.metric.diverges)])


def aligned(metric: Elastic, x: SeriesBatch, v: Tensor, weights: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
    """Raw values; curvature (k, L, 1 or d) and gradient (k, L, d) of their weighted sum in the prototypes."""
    a, b, rule = metric.seen(x), metric.seen(SeriesBatch(v)), metric.rule()
    floor = 0.1 * float((v - v.mean()).abs().mean()) if v.numel() else None  # a part of how far values are spread
    found = [
        elastic_sums(xc, vc, weights, rule, band=metric.band, x_lengths=a.lengths, pairs=pairs, floor=floor)
        for xc, vc in metric.parts(a.values, b.values)
    ]
    values = found[0].values if len(found) == 1 else torch.stack([one.values for one in found]).sum(0)
    curvature, gradient = (torch.cat(t, -1)[:, metric.front :] for t in zip(*(one[1:] for one in found), strict=True))
    return values, curvature, gradient


def znormalised(values: Tensor, lengths: Tensor | None) -> Tensor:
    """Every series with mean 0 and standard deviation 1 in each channel; a constant channel becomes zero."""
    inside = SeriesBatch(values, lengths).inside[..., None]
    count = inside.sum(1, keepdim=True)
    level = torch.where(inside, values, 0.0).sum(1, keepdim=True) / count
    centred = torch.where(inside, values - level, 0.0)
    variance = centred.square().sum(1, keepdim=True) / count
    flat = variance <= 1e-24
    return torch.where(flat, 0.0, centred / torch.where(flat, 1.0, variance).sqrt())


def slopes(values: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Keogh and Pazzani's slopes: the mean of the one to the left and the one across, two steps fewer."""
    shortest = values.shape[1] if lengths is None or not len(lengths) else int(lengths.min())
    if shortest < 3:
        raise ValueError(
            f"derivative=True must have series of at least 3 steps; got one of {shortest}. Leave it out, or compare values."
        )
    before, here, after = values[:, :-2], values[:, 1:-1], values[:, 2:]
    return 0.5 * ((here - before) + 0.5 * (after - before)), None if lengths is None else lengths - 2
