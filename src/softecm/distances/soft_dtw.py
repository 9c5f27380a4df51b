"""Soft-DTW between time series, as a divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypedDict, TypeVar

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

RAW = "False takes the raw value, which may be below 0."
T = TypeVar("T")
STIFF_CELLS = 1 << 22  # numbers in matrices of curvature, one a prototype: 32 MB
RECENT = 64  # prototypes whose distances a batch remembers
LEAST_STIFF = 0.05  # of the bound's curvature
AUTO, SMOOTH = "auto", "smooth"
GAMMAS = {AUTO: 0.02, SMOOTH: 0.4}  # of the variance of all steps


class KernelOptions(TypedDict):
    """What every kernel of Soft-DTW asks for."""

    gamma: float
    band: int | None


@dataclass(frozen=True)
class SoftDTW(SemiMetric):
    r"""Differentiable dynamic time warping: how far apart two series are when time may stretch.

    With :math:`\mathrm{s}_\gamma` the Soft-DTW of Cuturi and Blondel (squared differences, all alignments weighed), this
    is the divergence :math:`d(x, y) = \mathrm{s}(x, y) - \tfrac12 \mathrm{s}(x, x) - \tfrac12 \mathrm{s}(y, y)`, floored
    at 0. The raw value is negative for similar series and not zero between equal ones, so that masses are undefined; the
    divergence mends both.

    Parameters
    ----------
    gamma : float, "auto" or "smooth", default=1.0
        Smoothing, in units of squared differences. Small: one alignment decides, as in DTW. Large: all alignments count
        and detail in time is lost. "auto": a hundredth of the mean squared difference between steps of different series.
        "smooth": twenty times as much.
    divergence : bool, default=True
        False takes the raw value, shifted by nothing: it may be negative, and then the fit is refused.
    band : int, optional
        How many steps an alignment may stray from the diagonal (Sakoe-Chiba).
    length : int, "median" or "max", default="median"
        Steps of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"
        Whether raw series are (n, steps, channels) or (n, channels, steps).
    of : {"values", "slope"}, default="values"
        What is compared: the values, or their first differences, so that the level does not count. Prototypes of slopes are
        shown as the curves that have these slopes, around 0.
    znormalise : bool, default=False
        Bring every series to mean 0 and standard deviation 1 in each channel first (and its slopes, where these are
        compared), so that level and amplitude don't count. Prototypes are shown in these units.

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
        """With a number for gamma."""
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
        if is_number(self.gamma):  # a NumPy number would not go into a model file
            object.__setattr__(self, "gamma", float(self.gamma))

    def make_space(self) -> TimeSeries:
        """Series with this metric's layout and prototype length, or what of them is compared."""
        return series_space(self.length, self.layout, self.of, self.znormalise)

    def key(self) -> tuple[Hashable, ...]:
        """Under what a batch remembers each series' Soft-DTW with itself."""
        return ("soft-DTW with itself", self.gamma, self.band)

    def options(self) -> KernelOptions:
        """What the kernels ask for."""
        if isinstance(self.gamma, str):
            raise ValueError(
                f"metric SoftDTW(gamma={self.gamma!r}) needs data before use: fit an estimator, or give gamma."
            )
        return {"gamma": float(self.gamma), "band": self.band}

    def selves(self, x: SeriesBatch) -> Tensor:
        """Soft-DTW of each series with itself (n,)."""
        if self.key() in x.known:
            return x.known[self.key()]
        return soft_dtw_self(x.values, lengths=x.lengths, **self.options())

    def cost_of_distance(self, shape: Sequence[int]) -> float:
        """Every step meets every step, with exponentials."""
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
    def learner(self) -> GammaLearner:
        """The smoothing, and what each series has in common with itself."""
        return GammaLearner(self)

    def pairwise(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """Divergences of all pairs; those of a batch to recent prototypes are remembered."""
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
        """Divergences from raw values (n, k) and those of prototypes with themselves (k,)."""
        return torch.sub(raw, self.selves(batch)[:, None], alpha=0.5).sub_(own, alpha=0.5).clamp_min_(0.0)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Divergences of matching rows."""
        raw = soft_dtw_paired(a, b, **self.options())
        if not self.divergence:
            return raw
        return (raw - 0.5 * self.selves(as_batch(a)) - 0.5 * self.selves(as_batch(b))).clamp_min(0.0)

    def terms(self, x: EncodedSeries, v: Tensor) -> Tensor:
        """What each step of a prototype adds; what the smoothing and the self-terms take off is spread evenly."""
        return step_terms(as_batch(x), v, float(self.options()["gamma"]), self.band, self.pairwise(x, v))


@dataclass(frozen=True)
class GammaLearner(Learner):
    """Chooses gamma where it is no number; remembers each series' Soft-DTW with itself."""

    metric: SoftDTW

    def fitted(self, x: EncodedSeries, weights: Tensor | None) -> SoftDTW:
        """Choose gamma where it is no number; remember each series' Soft-DTW with itself."""
        chosen = self.fitted_to(self.describe(x, weights))
        if isinstance(x, SeriesBatch) and chosen.divergence:
            x.known[chosen.key()] = chosen.selves(x)
        return chosen

    def describe(self, x: EncodedSeries, weights: Tensor | None) -> Moments | None:
        """Where gamma is no number: the moments of a block's steps."""
        return Moments.of(steps_of(as_batch(x)).cpu().numpy(), None) if isinstance(self.metric.gamma, str) else None

    def fitted_to(self, description: Moments | None) -> SoftDTW:
        """Choose gamma where it is no number."""
        if description is None:
            return self.metric
        spread = float(np.trace(description.scatter)) / description.weight
        return replace(self.metric, gamma=gamma_of(spread, str(self.metric.gamma)))


@dataclass(frozen=True)
class PairPasses(CompiledPasses):
    """Derivatives of pairs without a graph."""

    metric: SoftDTW

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Divergences of matching rows, and their derivatives in either end."""
        ends, first = torch.cat([a, b]) - b.mean((0, 1)), torch.arange(len(a), device=a.device)
        ways = both_ways(first, first + len(a), divergence=self.metric.divergence)
        pairs = torch.cat([x for x, _ in ways]), torch.cat([y for _, y in ways])
        raw, sums = self._each(ends, pairs)
        slopes = 2.0 * (sums[..., :1] * ends[pairs[1]] - sums[..., 1:])
        parts = [slice(i * len(a), (i + 1) * len(a)) for i in range(len(ways))]
        return gradients_in_both([(raw[part], slopes[part]) for part in parts])

    def pulls(self, a: Tensor, which: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]] | None:
        """Each pair and each ``b`` with itself is aligned once; ``a`` with itself once for all."""
        if not self.metric.divergence:
            return super().pulls(a, which)
        n, own = len(a), 0.5 * self.metric.selves(as_batch(a))
        itself = torch.arange(n, n + int(which.max()) + 1, device=a.device)
        pairs = torch.arange(n + len(itself), device=a.device), torch.cat([n + which, itself])

        def at(b: Tensor) -> tuple[Tensor, Tensor]:
            ends = torch.cat([a, b]) - b.mean((0, 1))
            raw, sums = self._each(ends, pairs)
            d = raw[:n] - own - 0.5 * raw[n:][which]
            if bool((d <= 0).any()):  # below the floor a pair is flat
                values, _, slopes = self.paired_gradients(a, b[which])
                return values, torch.zeros_like(b).index_add_(0, which, slopes)
            rest = torch.zeros_like(sums[n:]).index_add_(0, which, sums[:n] - sums[n:][which])
            return d, 2.0 * (rest[..., :1] * ends[n:] - rest[..., 1:])

        return at

    def _each(self, ends: Tensor, pairs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Raw values of pairs of these series, and what each adds up to."""
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
        """Curvature and moment of the raw value's bound; the divergence's own gradient beside them."""
        batch = as_batch(x)
        level = v.mean((0, 1))  # differences are all that counts: near zero nothing cancels
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
        """Align every pair once, keep what each step of each prototype is aligned with, weigh it later."""
        if v.is_cuda or v.shape[1] < 2 * v.shape[2]:
            # On a GPU the pass is cheap and memory is not; for short series of many channels, what would be kept of a pair
            # is as much as its table.
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
        """The bound's curvature less what the self-terms take off where steps move against their neighbours.

        With alignments held fixed: w - (e - E), where E aligns a prototype with itself and e are its sums; no step keeps
        less than a part of w.
        """
        if not self.metric.divergence or v.shape[0] * v.shape[1] ** 2 > STIFF_CELLS or v.is_cuda:
            return None  # on a GPU the rounds that it saves cost less than it does
        aligned = self_alignments(v.double().cpu().numpy(), **self.metric.options())
        own = torch.from_numpy(aligned).to(v).mul_(weights[:, None, None])
        w = curvature[..., 0]
        own.diagonal(dim1=1, dim2=2).add_(torch.maximum(w - own.sum(1), LEAST_STIFF * w))
        return own

    def _sums(self, v: Tensor, level: Tensor, total: Tensor, own: Tensor) -> Sums:
        """From weighted alignments (k, L, 1 + d) of series with prototypes, and of these with themselves, less ``level``."""
        curvature = total[..., :1]
        moment = total[..., 1:] + level * curvature
        if not self.metric.divergence:
            return Sums(curvature, moment)
        rest = total - own
        return Sums(curvature, moment, (rest[..., :1] * (v - level)).sub_(rest[..., 1:]).mul_(2.0))


@lru_cache(maxsize=64)
def pairs_and_selves(n: int, k: int) -> tuple[Tensor, Tensor]:
    """Each of n series with each of k prototypes that lie behind them, and these with themselves."""
    ends = torch.cat([torch.arange(n).repeat_interleave(k), torch.arange(n, n + k)])
    return ends, torch.arange(k).repeat(n + 1)


def stacked(batch: SeriesBatch, v: Tensor) -> tuple[Tensor, Tensor | None]:
    """Series and prototypes one after the other (n + k, L, d), and their lengths where these differ."""
    (n, longest, _), (k, steps, _) = batch.values.shape, v.shape
    if batch.lengths is None and longest == steps:
        return torch.cat([batch.values, v]), None
    both = v.new_zeros((n + k, max(longest, steps), v.shape[2]))
    both[:n, :longest], both[n:, :steps] = batch.values, v
    return both, torch.cat([batch.ends, torch.full((k,), steps)])


def both_ways(a: T, b: T, *, divergence: bool) -> list[tuple[T, T]]:
    """What `gradients_in_both` must know: either end seen from the other, and from itself where that is taken off."""
    return [(a, b), (b, a), (a, a), (b, b)] if divergence else [(a, b), (b, a)]


def gradients_in_both(found: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Distances of matching rows, floored at 0, and their derivatives in either end.

    From raw values and their derivatives in the second end, for each of `both_ways`.
    """
    (values, in_b), (_, in_a) = found[:2]
    if len(found) > 2:
        (self_a, own_a), (self_b, own_b) = found[2:]
        values, in_a, in_b = values - 0.5 * self_a - 0.5 * self_b, in_a - own_a, in_b - own_b
    counts = (values > 0)[:, None, None]  # below the floor the distance is 0, and flat
    return values.clamp_min(0.0), torch.where(counts, in_a, 0.0), torch.where(counts, in_b, 0.0)


def step_terms(batch: SeriesBatch, v: Tensor, gamma: float, band: int | None, distances: Tensor) -> Tensor:
    """What each step of each prototype adds to given distances (n, k) -> (n, k, steps)."""
    from softecm.kernels.elastic.steps import shares_of_steps

    values, prototypes, each = (t.detach().double().cpu().numpy() for t in (batch.values, v, distances))
    return torch.from_numpy(shares_of_steps(values, batch.ends.cpu().numpy(), prototypes, gamma, band, each))


def check_face(of: object, znormalise: object) -> bool:
    """What is compared of series; the flag as Python has it."""
    check_choice("of", of, FACES, "'slope' compares first differences.")
    return check_flag("znormalise", znormalise, hint="True leaves out level and amplitude.")


def check_band(band: object) -> None:
    """A whole number from 0, or None."""
    if band is not None and (not is_whole(band) or band < 0):
        raise ValueError(
            f"band must be a whole number of steps from 0, or None; got {band!r}. A tenth of the length is usual."
        )


def gamma_of(variance: float, name: str = AUTO) -> float:
    """Gamma from the variance of all steps, half the mean squared difference between steps of different series."""
    return max(GAMMAS[name] * variance, 1e-12)


def steps_of(batch: SeriesBatch) -> Tensor:
    """All steps of all series (steps, channels), without padding."""
    return batch.values.double()[batch.inside]
