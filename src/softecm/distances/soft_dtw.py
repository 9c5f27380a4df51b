"""Soft-DTW between time series, as a divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict, TypeVar

import numpy as np
import torch
from torch import Tensor

from softecm._checks import as_float, check_choice, check_flag, is_number, is_whole
from softecm._wording import literal
from softecm.belief import FocalSets
from softecm.distances.base import ClosedForm, CompiledPasses, Learner, Moments, SemiMetric, Sums, not_learned
from softecm.kernels.soft_dtw import Rows, soft_dtw, soft_dtw_each, soft_dtw_paired, soft_dtw_self, soft_dtw_sums
from softecm.kernels.soft_dtw.self_alignments import self_alignments
from softecm.spaces.base import Space
from softecm.spaces.series import OPTIONS, EncodedSeries, SeriesBatch, TimeSeries, as_batch
from softecm.spaces.transformed import FACES, VALUES, series_space

if TYPE_CHECKING:
    from softecm.distances.elastic import SoftElastic

RAW = "False takes the raw value, which may be below 0."
T = TypeVar("T")
STIFF_CELLS = 1 << 22  # numbers in curvature matrices, one per prototype: 32 MB
RECENT = 64  # prototypes whose distances a batch caches
LEAST_STIFF = 0.05  # of the bound's curvature
AUTO, SMOOTH = "auto", "smooth"
GAMMAS = {AUTO: 0.02, SMOOTH: 0.4}  # of the variance of all steps


class KernelOptions(TypedDict):
    """The options of all Soft-DTW kernels."""

    gamma: float
    band: int | None


@dataclass(frozen=True)
class SoftDTW(SemiMetric):
    r"""Differentiable dynamic time warping: a distance between series with time warping.

    With :math:`\mathrm{s}_\gamma` the Soft-DTW of Cuturi and Blondel (squared differences, weighted over all
    alignments), this is the divergence :math:`d(x, y) = \mathrm{s}(x, y) - \tfrac12 \mathrm{s}(x, x) - \tfrac12
    \mathrm{s}(y, y)`, floored at 0. The raw value is negative for similar series and not zero between equal ones, so
    that masses are undefined; the divergence fixes both.

    Parameters
    ----------
    gamma : float, "auto" or "smooth", default=1.0
        Smoothing, in units of squared differences. Small: one alignment dominates, as in DTW. Large: all alignments
        count and detail in time is lost. "auto": a hundredth of the mean squared difference between steps of different
        series. "smooth": twenty times as much.
    divergence : bool, default=True
        False uses the raw value, unshifted: it may be negative, and then the fit raises an error.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    length : int, "median" or "max", default="median"
        Length of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"
        Whether raw series are (n, steps, channels) or (n, channels, steps).
    of : {"values", "slope"}, default="values"
        Compare the values, or their first differences, so that the level does not count. Prototypes of slopes are shown
        as the curves with these slopes, around 0.
    znormalise : bool, default=False
        Z-normalize every series in each channel first (and its slopes, if these are compared), so that level and
        amplitude don't count. Prototypes are shown in these units.

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[[0.0], [0.0], [1.0], [0.0]]], dtype=torch.float64)
    >>> late = torch.tensor([[[0.0], [0.0], [0.0], [1.0]]], dtype=torch.float64)
    >>> SoftDTW(gamma=0.1).pairwise(x, torch.cat([x, late])).round(decimals=2)
    tensor([[0.0000, 1.0200]], dtype=torch.float64)

    References
    ----------
    M. Cuturi and M. Blondel, "Soft-DTW: a differentiable loss function for time-series", ICML 2017. M. Blondel, A. Mensch
    and J.-P. Vert, "Differentiable divergences between time series", AISTATS 2021.
    """

    gamma: float | str = 1.0
    divergence: bool = True
    band: int | None = None
    length: int | str = "median"
    layout: str = "tslearn"
    of: str = VALUES
    znormalise: bool = False
    name = "softdtw"
    space = TimeSeries
    single = True
    SAVED = OPTIONS

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` unless gamma is a number."""
        super().check_fitted(space, focal)
        if isinstance(self.gamma, str):
            raise not_learned(self)

    def __post_init__(self) -> None:
        by_name = isinstance(self.gamma, str) and self.gamma in GAMMAS
        if not by_name and not (is_number(self.gamma) and 0 < as_float(self.gamma) < math.inf):
            raise ValueError(
                f"gamma must be a number greater than 0 or 'auto'; got {literal(self.gamma)}. 1 is usual for z-normalised "
                "series, 'smooth' suits noisy ones."
            )
        object.__setattr__(self, "divergence", check_flag("divergence", self.divergence, hint=RAW))
        check_band(self.band)
        object.__setattr__(self, "znormalise", check_face(self.of, self.znormalise))
        if is_number(self.gamma):  # model files have no NumPy numbers
            object.__setattr__(self, "gamma", float(self.gamma))

    def make_space(self) -> TimeSeries:
        """Return a space of series, or of their slopes, with this metric's options."""
        return series_space(self.length, self.layout, self.of, self.znormalise)

    def key(self) -> tuple[Hashable, ...]:
        """Cache key for each series' Soft-DTW with itself."""
        return ("soft-DTW with itself", self.gamma, self.band)

    def options(self) -> KernelOptions:
        """The options of the kernels."""
        if isinstance(self.gamma, str):
            raise ValueError(
                f"metric SoftDTW(gamma={self.gamma!r}) needs data before use: fit an estimator, or give gamma."
            )
        return {"gamma": float(self.gamma), "band": self.band}

    def selves(self, x: SeriesBatch) -> Tensor:
        """Return the Soft-DTW of each series with itself (n,)."""
        if self.key() in x.known:
            return x.known[self.key()]
        return soft_dtw_self(x.values, lengths=x.lengths, **self.options())

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """All pairs of steps, with exponentials."""
        return 30.0 * shape[0] * math.prod(shape)

    @property
    def closed_form(self) -> SoftAlignments:
        """A bound of the raw value."""
        return SoftAlignments(self)

    @property
    def compiled(self) -> PairPasses:
        """Derivatives of pairs of prototypes."""
        return PairPasses(self)

    @property
    def learner(self) -> SmoothingLearner:
        """Learns gamma, and caches each series' Soft-DTW with itself."""
        return SmoothingLearner(self)

    @property
    def diverges(self) -> bool:
        """Whether self-terms are subtracted."""
        return self.divergence

    def seen(self, batch: SeriesBatch) -> SeriesBatch:
        """Return series as they are compared."""
        return batch

    def gamma_for(self, variance: float) -> float:
        """Return gamma from the variance of all steps."""
        return gamma_of(variance, str(self.gamma))

    def pairwise(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return divergences of all pairs; those of a batch to recent prototypes are cached."""
        if not isinstance(x, SeriesBatch) or v.is_cuda or v.requires_grad or len(v) > RECENT:
            return self._pairwise(as_batch(x), v)
        keys = [(self, row.tobytes()) for row in v.detach().numpy()]
        new = [j for j, key in enumerate(keys) if key not in x.recent]
        if new:
            columns = self._pairwise(x, v[new] if len(new) < len(v) else v).T
            x.recent.update(zip([keys[j] for j in new], columns, strict=True))
        found = torch.stack([x.recent[key] for key in keys], 1)
        while len(x.recent) > RECENT:
            del x.recent[next(iter(x.recent))]
        return found

    def _pairwise(self, batch: SeriesBatch, v: Tensor) -> Tensor:
        raw = soft_dtw(batch.values, v, x_lengths=batch.lengths, **self.options())
        return self.corrected(raw, batch, self.selves(as_batch(v))) if self.divergence else raw

    def corrected(self, raw: Tensor, batch: SeriesBatch, own: Tensor) -> Tensor:
        """Return divergences from raw values (n, k) and those of prototypes with themselves (k,)."""
        return torch.sub(raw, self.selves(batch)[:, None], alpha=0.5).sub_(own, alpha=0.5).clamp_min_(0.0)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return divergences of matching rows."""
        raw = soft_dtw_paired(a, b, **self.options())
        if not self.divergence:
            return raw
        return (raw - 0.5 * self.selves(as_batch(a)) - 0.5 * self.selves(as_batch(b))).clamp_min(0.0)

    def terms(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Return each prototype step's contribution; smoothing and self-terms are subtracted evenly."""
        return step_terms(as_batch(x), v, float(self.options()["gamma"]), self.band, self.pairwise(x, v))


@dataclass(frozen=True)
class SmoothingLearner(Learner):
    """Learns gamma if it is no number, and caches each series' distance to itself."""

    metric: SoftDTW | SoftElastic

    def fitted(self, x: EncodedSeries, weights: Tensor | None) -> SoftDTW | SoftElastic:
        """Learn gamma if it is no number; cache each series' distance to itself."""
        chosen = self.fitted_to(self.describe(x, weights))
        if isinstance(x, SeriesBatch) and chosen.diverges:
            x.known[chosen.key()] = chosen.selves(x)
        return chosen

    def describe(self, x: EncodedSeries, weights: Tensor | None) -> Moments | None:
        """Return the moments of a block's steps as they are compared, if gamma is no number."""
        if not isinstance(self.metric.gamma, str):
            return None
        return Moments.of(steps_of(self.metric.seen(as_batch(x))).cpu().numpy(), None)

    def fitted_to(self, description: Moments | None) -> SoftDTW | SoftElastic:
        """Learn gamma if it is no number."""
        if description is None:
            return self.metric
        spread = float(np.trace(description.scatter)) / description.weight
        return replace(self.metric, gamma=self.metric.gamma_for(spread))


@dataclass(frozen=True)
class PairPasses(CompiledPasses):
    """Derivatives of pairs without a graph."""

    metric: SoftDTW

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return divergences of matching rows, and their derivatives with respect to both."""
        ends, first = torch.cat([a, b]) - b.mean((0, 1)), torch.arange(len(a), device=a.device)
        ways = both_ways(first, first + len(a), divergence=self.metric.divergence)
        pairs = torch.cat([x for x, _ in ways]), torch.cat([y for _, y in ways])
        raw, sums = self._each(ends, pairs)
        slopes = 2.0 * (sums[..., :1] * ends[pairs[1]] - sums[..., 1:])
        parts = [slice(i * len(a), (i + 1) * len(a)) for i in range(len(ways))]
        return gradients_in_both([(raw[part], slopes[part]) for part in parts])

    def pulls(self, a: Tensor, which: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]] | None:
        """Align each pair and each ``b`` with itself once per call, and ``a`` with itself once in total."""
        if not self.metric.divergence:
            return super().pulls(a, which)
        n, own = len(a), 0.5 * self.metric.selves(as_batch(a))
        itself = torch.arange(n, n + int(which.max()) + 1, device=a.device)
        pairs = torch.arange(n + len(itself), device=a.device), torch.cat([n + which, itself])

        def at(b: Tensor) -> tuple[Tensor, Tensor]:
            ends = torch.cat([a, b]) - b.mean((0, 1))
            raw, sums = self._each(ends, pairs)
            d = raw[:n] - own - 0.5 * raw[n:][which]
            if bool((d <= 0).any()):  # below the floor a pair is constant
                values, _, slopes = self.paired_gradients(a, b[which])
                return values, torch.zeros_like(b).index_add_(0, which, slopes)
            rest = torch.zeros_like(sums[n:]).index_add_(0, which, sums[:n] - sums[n:][which])
            return d, 2.0 * (rest[..., :1] * ends[n:] - rest[..., 1:])

        return at

    def _each(self, ends: Tensor, pairs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return raw values of pairs of these series, and the derivative sums."""
        options = self.metric.options()
        if not ends.is_cuda:
            return soft_dtw_each(ends, ends, pairs, **options)
        x, y = ends[pairs[0]], ends[pairs[1]]
        values, w, moved = soft_dtw_sums(x, y, x.new_ones(len(x)), pairs=Rows(len(x), x.device), **options)
        return values, torch.cat([w[..., None], moved], -1)


@dataclass(frozen=True)
class SoftAlignments(ClosedForm):
    """The raw value is concave in the costs of alignment: its tangent bounds it."""

    metric: SoftDTW

    def sums(self, x: EncodedSeries, v: Tensor, weights: Tensor) -> Sums:
        """Return curvature and moment of the raw value's bound, with the divergence's own gradient."""
        batch = as_batch(x)
        level = v.mean((0, 1))  # only differences count: centring avoids cancellation
        options, rows = self.metric.options(), Rows(len(v), v.device)
        _, w, y = soft_dtw_sums(
            batch.values - level, v - level, weights.contiguous(), x_lengths=batch.lengths, **options
        )
        total = torch.cat([w[..., None], y], -1)
        if not self.metric.divergence:
            return self._sums(v, level, total, total)
        _, w, y = soft_dtw_sums(v - level, v - level, weights.sum(0), pairs=rows, **options)
        return self._sums(v, level, total, torch.cat([w[..., None], y], -1))

    def with_sums(self, x: EncodedSeries, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """Align every pair once, keep what is aligned with each step of each prototype, apply weights later."""
        if v.is_cuda or v.shape[1] < 2 * v.shape[2]:
            # On a GPU the pass is cheap and memory is not; for short series of many channels, storing a pair takes as
            # much as its table.
            return None
        batch = as_batch(x)
        n, k, level = len(batch.values), len(v), v.mean((0, 1))
        ends, lengths = stacked(batch, v)
        pairs = pairs_and_selves(n, k)
        raw, sums = soft_dtw_each(ends - level, v - level, pairs, x_lengths=lengths, **self.metric.options())
        d, of_pairs, own = raw[: n * k].view(n, k), sums[: n * k].view(n, k, -1), sums[n * k :]
        if self.metric.divergence:
            d = self.metric.corrected(d, batch, raw[n * k :])

        def later(weights: Tensor) -> Sums:
            total = torch.bmm(weights.T[:, None], of_pairs.transpose(0, 1)).view(own.shape)
            return self._sums(v, level, total, own * weights.sum(0)[:, None, None])

        return d, later

    def stiffness(self, v: Tensor, curvature: Tensor, weights: Tensor) -> Tensor | None:
        """Return the bound's curvature minus that of the self-terms between neighbouring steps.

        With fixed alignments: w - (e - E), where E aligns a prototype with itself and e are its sums; every step keeps
        at least a share of w.
        """
        if not self.metric.divergence or v.shape[0] * v.shape[1] ** 2 > STIFF_CELLS or v.is_cuda:
            return None  # on a GPU it costs more than the iterations it saves
        aligned = self_alignments(v.double().cpu().numpy(), **self.metric.options())
        own = torch.from_numpy(aligned).to(v).mul_(weights[:, None, None])
        w = curvature[..., 0]
        own.diagonal(dim1=1, dim2=2).add_(torch.maximum(w - own.sum(1), LEAST_STIFF * w))
        return own

    def _sums(self, v: Tensor, level: Tensor, total: Tensor, own: Tensor) -> Sums:
        """Combine weighted alignments (k, L, 1 + d) of series with prototypes and of these with themselves."""
        curvature = total[..., :1]
        moment = total[..., 1:] + level * curvature
        if not self.metric.divergence:
            return Sums(curvature, moment)
        rest = total - own
        return Sums(curvature, moment, (rest[..., :1] * (v - level)).sub_(rest[..., 1:]).mul_(2.0))


@lru_cache(maxsize=64)
def pairs_and_selves(n: int, k: int) -> tuple[Tensor, Tensor]:
    """Return pairs of n series with the k prototypes after them, and of these with themselves."""
    ends = torch.cat([torch.arange(n).repeat_interleave(k), torch.arange(n, n + k)])
    return ends, torch.arange(k).repeat(n + 1)


def stacked(batch: SeriesBatch, v: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return series and prototypes concatenated (n + k, L, d), and their lengths if these differ."""
    (n, longest, _), (k, steps, _) = batch.values.shape, v.shape
    if batch.lengths is None and longest == steps:
        return torch.cat([batch.values, v]), None
    both = v.new_zeros((n + k, max(longest, steps), v.shape[2]))
    both[:n, :longest], both[n:, :steps] = batch.values, v
    return both, torch.cat([batch.ends, torch.full((k,), steps)])


def both_ways(a: T, b: T, *, divergence: bool) -> list[tuple[T, T]]:
    """Return the input of `gradients_in_both`: either end with the other, and with itself for the divergence."""
    return [(a, b), (b, a), (a, a), (b, b)] if divergence else [(a, b), (b, a)]


def gradients_in_both(found: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Return distances of matching rows, floored at 0, and their derivatives with respect to both.

    ``found`` holds raw values and their derivatives in the second end, for each of `both_ways`.
    """
    (values, in_b), (_, in_a) = found[:2]
    if len(found) > 2:
        (self_a, own_a), (self_b, own_b) = found[2:]
        values, in_a, in_b = values - 0.5 * self_a - 0.5 * self_b, in_a - own_a, in_b - own_b
    counts = (values > 0)[:, None, None]  # below the floor the distance is constant 0
    return values.clamp_min(0.0), torch.where(counts, in_a, 0.0), torch.where(counts, in_b, 0.0)


def step_terms(batch: SeriesBatch, v: Tensor, gamma: float, band: int | None, distances: Tensor) -> Tensor:
    """Return each prototype step's contribution to given distances (n, k) -> (n, k, steps)."""
    from softecm.kernels.elastic.steps import shares_of_steps

    values, prototypes, each = (t.detach().double().cpu().numpy() for t in (batch.values, v, distances))
    return torch.from_numpy(shares_of_steps(values, batch.ends.cpu().numpy(), prototypes, gamma, band, each))


def check_face(of: object, znormalise: object) -> bool:
    """Validate what is compared of series; return the flag as a Python bool."""
    check_choice("of", of, FACES, "'slope' compares first differences.")
    return check_flag("znormalise", znormalise, hint="True leaves out level and amplitude.")


def check_band(band: object) -> None:
    """Raise an error unless this is a non-negative integer or None."""
    if band is not None and (not is_whole(band) or band < 0):
        raise ValueError(
            f"band must be a whole number of steps from 0, or None; got {band!r}. A tenth of the length is usual."
        )


def gamma_of(variance: float, name: str = AUTO) -> float:
    """Return gamma from the variance of all steps, half the mean squared difference between steps of different series."""
    return max(GAMMAS[name] * variance, 1e-12)


def steps_of(batch: SeriesBatch) -> Tensor:
    """Return all steps of all series (steps, channels), without padding."""
    return batch.values.double()[batch.inside]
