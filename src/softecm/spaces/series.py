"""Time series: steps before channels, of equal or unequal length, with missing values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_choice, check_count
from softecm._text import place
from softecm.files.expected import Misfit, count, either, numeric_type, rules, text
from softecm.spaces.base import LARGEST, ByRow, Space, content_keys, refuse_large, refuse_odd_numbers, refuse_range
from softecm.spaces.raw import raw_data

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


COARSEST = (8, 6, 5, 4, 3, 2)  # steps merged into one
SHORTEST = 16  # minimum number of remaining steps
TABLE_COLUMNS = 3  # rows with so few numbers are a table rather than series
KEY_BITS = 6  # of a single-precision value, used to order series
LEVEL = 1e3  # times the deviation of a series' steps: above, single precision loses the differences
SMALLEST = 1e-12  # smallest deviation of steps, and one over the largest value, with squares in single precision
DETAIL = 0.75  # share of the variance to keep


@dataclass(frozen=True, eq=False)
class SeriesBatch(ByRow):
    """Encoded series: padded values, lengths, observed cells, and cached results.

    ``known`` holds a metric's number for each series (such as its Soft-DTW with itself), ``recent`` its distances to a
    few prototypes, by metric and bytes of the prototype.
    """

    values: Tensor  # (n, L, d), zeros beyond the end
    lengths: Tensor | None = None  # (n,), None if all are L
    observed: Tensor | None = None  # (n, L, d) bool, None if all cells within the lengths are observed
    known: dict[Hashable, Tensor] = field(default_factory=dict)
    recent: dict[Hashable, Tensor] = field(default_factory=dict, init=False)

    @property
    def ends(self) -> Tensor:
        """Number of steps of each series (n,)."""
        n, longest = self.values.shape[:2]
        return torch.full((n,), longest, device=self.values.device) if self.lengths is None else self.lengths

    @property
    def inside(self) -> Tensor:
        """Which steps are within each series (n, L)."""
        return torch.arange(self.values.shape[1], device=self.values.device) < self.ends[:, None]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice | Tensor) -> Self:
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        return super().__getitem__(rows)

    def to(self, device: torch.device) -> Self:
        """Return a copy on another device."""
        return self if self.values.device == device else super().to(device)


EncodedSeries: TypeAlias = SeriesBatch | Tensor  # a plain tensor: equal lengths, nothing missing


def as_batch(x: EncodedSeries) -> SeriesBatch:
    """Return series or a plain tensor (n, L, d) as a batch."""
    return x if isinstance(x, SeriesBatch) else SeriesBatch(x)


def to_list(X: object, layout: str = "tslearn") -> list[NDArray[np.float64]]:
    """Return raw series in any usual form as a list of (steps, channels) arrays; trailing NaN steps are padding.

    Parameters
    ----------
    X : array (n, steps, channels), (n, steps), or a list of (steps, channels) or (steps,) arrays
    layout : {"tslearn", "aeon"}
        "aeon": channels before steps.
    """
    check_choice(
        "layout", layout, ("tslearn", "aeon"), "'tslearn' is (n, steps, channels), 'aeon' (n, channels, steps)."
    )
    raw = raw_data(X)
    if raw.frame is not None:
        raw.refuse_no_table(of_numbers=True)
    X = raw.value
    if not isinstance(X, list | tuple):
        X = X.to_numpy() if hasattr(X, "to_numpy") and not hasattr(X, "ndim") else X
        if not hasattr(X, "__array__"):
            raise ValueError(
                f"X must be an array (n, steps, channels) or a list of series; got {type(X).__name__}. Turn it into one "
                "first."
            )
        X = np.asarray(X)
    if getattr(X, "ndim", 1) == 0 or len(X) == 0:
        raise ValueError("X must hold at least one series; got none. Pass an array (n, steps, channels) or a list.")
    rows: list[NDArray[np.float64]] = []
    for i, one in enumerate(X):
        try:
            row = np.asarray(one)
        except ValueError as error:
            raise ValueError(
                "X must hold series with one value per channel at every step; got steps of unequal size in "
                f"{place('series', i)}. Mark missing values with NaN."
            ) from error
        if row.dtype.kind not in "fiub":
            raise ValueError(
                f"X must hold series of numbers; got {row.dtype} in {place('series', i)}. Turn it into floats first."
            )
        row = row.astype(np.float64)
        row = row[:, None] if row.ndim == 1 else row
        if row.ndim != 2:
            raise ValueError(
                f"X must hold series of shape (steps, channels); got {row.ndim} dimensions in {place('series', i)}. "
                "Pass one array a series."
            )
        rows.append(row.T if layout == "aeon" else row)
    channels = {row.shape[1] for row in rows}
    if len(channels) > 1:
        odd = next(i for i, row in enumerate(rows) if row.shape[1] != rows[0].shape[1])
        raise ValueError(
            f"X must hold series with the same channels; got {rows[0].shape[1]} in the first series and "
            f"{rows[odd].shape[1]} in {place('series', odd)}. If channels come first, use layout='aeon'."
        )
    if _are_plain(rows):
        return rows
    return [_trimmed(row, i) for i, row in enumerate(rows)]


def _are_plain(rows: Sequence[NDArray[np.float64]]) -> bool:
    """Whether nothing is missing, too short or too large: a fast check for the usual case."""
    if not rows[0].size or min(map(len, rows)) < 2:
        return False
    return bool(np.abs(np.concatenate(rows)).max() <= LARGEST)  # false for NaN


def _trimmed(row: NDArray[np.float64], i: int) -> NDArray[np.float64]:
    """Return the series without its padding."""
    if row.size == 0:
        raise ValueError(
            f"X must hold series with steps and channels; got shape {row.shape} in {place('series', i)}. Leave it out."
        )
    infinite = np.argwhere(np.isinf(row))
    if len(infinite):
        step, channel = infinite[0].tolist()
        raise ValueError(
            f"X must hold finite numbers; got infinity at step {step + 1}, channel {channel + 1} of "
            f"{place('series', i)}. Mark missing steps with NaN instead."
        )
    seen = np.flatnonzero(~np.isnan(row).all(1))
    if not len(seen):
        raise ValueError(f"X must hold series with values; got only NaN in {place('series', i)}. Leave it out.")
    row = row[: seen[-1] + 1]
    if len(row) < 2:
        raise ValueError(
            f"X must hold series of at least 2 steps; got {len(row)} in {place('series', i)}. Leave it out."
        )
    refuse_large(float(np.nanmax(np.abs(row))), what=place("series", i))
    if np.isnan(row).all(0).any():
        channel = int(np.flatnonzero(np.isnan(row).all(0))[0])
        raise ValueError(
            f"X must have values in every channel; got only NaN in channel {channel + 1} of {place('series', i)}. "
            "Leave it out."
        )
    return row


def filled(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate missing steps linearly; extend the nearest value at the ends."""
    missing = np.isnan(row)
    if not missing.any():
        return row
    steps = np.arange(len(row))
    out = row.copy()
    for channel in np.flatnonzero(missing.any(0)):
        gap = missing[:, channel]
        out[gap, channel] = np.interp(steps[gap], steps[~gap], row[~gap, channel])
    return out


def filled_each(rows: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Fill each series; fast if nothing is missing."""
    return list(map(filled, rows)) if np.isnan(np.concatenate(rows)).any() else list(rows)


def resampled(row: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Resample a series over its whole span to another number of steps."""
    if len(row) == length:
        return row
    old, new = np.linspace(0.0, 1.0, len(row)), np.linspace(0.0, 1.0, length)
    return np.column_stack([np.interp(new, old, channel) for channel in row.T])


def in_blocks(batch: SeriesBatch, steps: int) -> SeriesBatch:
    """Return means over blocks of ``steps`` steps; the last block of a series may be shorter."""
    n, longest, d = batch.values.shape
    blocks = -(-longest // steps)
    padded = SeriesBatch(torch.nn.functional.pad(batch.values, (0, 0, 0, blocks * steps - longest)), batch.ends)
    sums = (padded.values * padded.inside[..., None]).reshape(n, blocks, steps, d).sum(2)
    counts = padded.inside.reshape(n, blocks, steps).sum(2)[..., None].clamp_min(1)
    return SeriesBatch(sums / counts.to(sums), None if batch.lengths is None else -(-batch.lengths // steps))


def steps_variance(batch: SeriesBatch) -> float:
    """Return the mean variance of the series around their own means."""
    if batch.lengths is None:
        return float(batch.values.double().var(1, correction=0).sum(-1).mean())
    inside, values, counts = batch.inside[..., None], batch.values.double(), batch.lengths[:, None, None].double()
    means = (values * inside).sum(1, keepdim=True) / counts
    return float((((values - means).square() * inside).sum(1) / counts[:, 0]).sum(-1).mean())


@dataclass(frozen=True)
class Lengths:
    """The number of series of each length."""

    counts: dict[int, int]
    channels: int

    @classmethod
    def of(cls, rows: Sequence[Sized], channels: int) -> Lengths:
        """Count the lengths of some series."""
        lengths, counts = np.unique(list(map(len, rows)), return_counts=True)
        return cls(dict(zip(lengths.tolist(), counts.tolist(), strict=True)), channels)

    def merge(self, other: Lengths) -> Lengths:
        """Merge two blocks."""
        steps = sorted({*self.counts, *other.counts})
        return Lengths({s: self.counts.get(s, 0) + other.counts.get(s, 0) for s in steps}, self.channels)

    def median(self) -> int:
        """Return the median length, rounded down."""
        lengths = np.array(sorted(self.counts))
        ends = np.cumsum([self.counts[int(s)] for s in lengths])
        middle = [lengths[np.searchsorted(ends, place, side="right")] for place in ((ends[-1] - 1) // 2, ends[-1] // 2)]
        return int(np.mean(middle))


MOST_STEPS = 10**6  # of a series in a file
#: The serialized options that series metrics pass to their space.
OPTIONS = rules(length=either(text("median", "max"), count(least=2, most=MOST_STEPS)), layout=text("tslearn", "aeon"))


@dataclass(frozen=True)
class SeriesSpace(Space, savable=False):
    """The common part of all spaces of series: options, and prototypes shown as curves."""

    length: int | str = "median"
    layout: str = "tslearn"
    n_channels: int = 0
    dtype: torch.dtype = torch.float64
    of_series = True
    noun = "series"
    SAVED = rules(
        n_channels=count(size="p"),
        length=count(least=2, most=MOST_STEPS),
        layout=OPTIONS["layout"],
        dtype=numeric_type,
    )

    @property
    def steps(self) -> int:
        """The prototypes' length; 0 if it depends on data not yet seen."""
        return 0 if isinstance(self.length, str) else self.length

    def _length_of(self, lengths: Lengths) -> int:
        """Return the prototypes' length for these lengths of objects."""
        if self.steps:
            return self.steps
        check_choice("length", self.length, ("median", "max"), "Or give a number of steps.")
        return lengths.median() if self.length == "median" else max(lengths.counts)

    @abstractmethod
    def drawn(self, X: Any) -> list[NDArray[np.float64]]:
        """Return checked series as (L, d) arrays to draw."""

    @abstractmethod
    def curves(self, prototypes: Tensor) -> list[NDArray[np.float64]]:
        """Return prototypes as (L, d) arrays to draw."""

    @property
    def channels(self) -> Sequence[str]:
        """The names of the channels."""
        return [f"channel {k + 1}" for k in range(self.n_channels)]


@dataclass(frozen=True)
class SteppedSeries(SeriesSpace, savable=False):
    """Series encoded step by step without change, like their prototypes."""

    holds_series = True

    def check_prototypes(self, prototypes: Tensor) -> None:
        """Allow any length."""
        if prototypes.ndim != 3 or prototypes.shape[2] != self.n_channels:
            raise Misfit(f"model_.prototypes should be series of {self.n_channels} channels")
        refuse_odd_numbers(prototypes)

    def starts(self, x: EncodedSeries, rows: Tensor) -> Tensor:
        """Return the chosen series, resampled to the prototypes' length."""
        picked = as_batch(x)[rows]
        length = self.steps or picked.values.shape[1]
        if picked.lengths is None and picked.values.shape[1] == length:
            return picked.values.clone()
        values = picked.values.cpu().double().numpy()
        drawn = [resampled(row[:end], length) for row, end in zip(values, picked.ends.tolist(), strict=True)]
        return torch.as_tensor(np.stack(drawn), dtype=picked.values.dtype, device=picked.values.device)

    def coarser(self, x: EncodedSeries) -> tuple[Self, SeriesBatch] | None:
        """Return means over as many steps as keep most of the variance; None if even two keep too little."""
        batch, length = as_batch(x), self.steps
        curves = self.curves_behind(batch)
        wanted = DETAIL * steps_variance(curves)
        for steps in (k for k in COARSEST if length >= k * SHORTEST):
            if steps_variance(in_blocks(curves, steps)) >= wanted:
                return replace(self, length=-(-length // steps)), in_blocks(batch, steps)
        return None

    def curves_behind(self, batch: SeriesBatch) -> SeriesBatch:
        """Return the series whose detail limits the coarsening of encoded ones."""
        return batch

    def single(self, x: EncodedSeries) -> tuple[Self, SeriesBatch] | None:
        """Return series in single precision, unless variation is small relative to level or values are near the limits."""
        batch = as_batch(x)
        moves, top = steps_variance(batch) ** 0.5, float(batch.values.abs().max())
        if self.dtype != torch.float64 or not (moves > SMALLEST and top < min(LEVEL * moves, 1.0 / SMALLEST)):
            return None
        return replace(self, dtype=torch.float32), replace(batch, values=batch.values.float(), known={})

    def finer(self, prototypes: Tensor, coarse: Space) -> Tensor:
        """Resample to this space's length."""
        length, prototypes = self.shape[0], prototypes.to(self.dtype)
        flat = prototypes.reshape(-1, *prototypes.shape[-2:]).transpose(1, 2)
        drawn = torch.nn.functional.interpolate(flat, length, mode="linear", align_corners=False)
        return drawn.transpose(1, 2).reshape(*prototypes.shape[:-2], length, prototypes.shape[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Steps and channels."""
        return (self.steps, self.n_channels)

    @property
    def attributes(self) -> Sequence[str]:
        """The prototypes' steps."""
        return [f"step {t}" for t in range(self.steps)]

    def keys(self, x: EncodedSeries) -> NDArray[np.uint64]:
        """Return hashes of values and length."""
        batch = as_batch(x)
        values = batch.values.double()
        if self.dtype == torch.float32 and values.numel():  # the same draws despite rounding
            values = torch.round(values * 2.0 ** (KEY_BITS - math.frexp(float(values.abs().max()))[1]))
        flat = values.cpu().numpy().reshape(len(batch), -1)
        if batch.lengths is None:
            return content_keys(flat)
        return content_keys(np.column_stack([flat, batch.lengths.cpu().numpy()]))

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Return random walks of twelve steps in two channels."""
        return torch.randn((n, 12, 2), generator=generator, dtype=torch.float64).cumsum(1)

    def padded(self, rows: Sequence[NDArray[np.float64]]) -> SeriesBatch:
        """Pad series (L, d) to the longest, with missing steps interpolated."""
        lengths = np.array([len(row) for row in rows])
        longest = int(lengths.max())
        inside = np.arange(longest) < lengths[:, None]
        values = np.zeros((*inside.shape, rows[0].shape[1]))
        values[inside] = np.concatenate(rows)
        observed = inside[..., None] & ~np.isnan(values)
        for i in np.flatnonzero(np.isnan(values).any((1, 2))):
            values[i, : lengths[i]] = filled(rows[i])
        return SeriesBatch(
            torch.from_numpy(values).to(self.dtype),
            None if inside.all() else torch.from_numpy(lengths),
            None if observed.all() else torch.from_numpy(observed),
        )

    def stretched(self, rows: Sequence[NDArray[np.float64]]) -> Tensor:
        """Return series (L, d) as prototypes, each resampled to the longest; raise an error for other channels."""
        if rows[0].shape[1] != self.n_channels:
            raise ValueError(
                f"init must hold series of {self.n_channels} channels, as X does; got {rows[0].shape[1]}. Pass (c, L, d)."
            )
        length = max(map(len, rows))
        return torch.as_tensor(np.stack([resampled(filled(row), length) for row in rows]), dtype=self.dtype)


@dataclass(frozen=True)
class TimeSeries(SteppedSeries):
    """Series of equal or unequal length; all prototypes have one length, by default the median of the series'.

    Missing steps inside a series (NaN) are interpolated for metrics that align, and skipped by those that compare step
    by step.
    """

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> list[NDArray[np.float64]]:
        """Return series as a list of (steps, channels)."""
        X = raw_data(X).value
        rows = to_list(X, self.layout)
        self._check_table(X, reset=reset)
        if reset:
            estimator.n_features_in_ = rows[0].shape[1]
        elif rows[0].shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has series of {rows[0].shape[1]} channels, but {type(estimator).__name__} was fitted on "
                f"{estimator.n_features_in_}. Pass the same channels in the same order."
            )
        return rows

    def _check_table(self, X: object, *, reset: bool) -> None:
        """Raise an error for rows of a table that look like series of one channel: too short, or of another length."""
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) != 2:
            return
        n, steps = shape
        if steps > TABLE_COLUMNS if reset else steps == self.length:
            return
        known = "" if reset else f", and those of the fit have about {self.length}"
        raise ValueError(
            f"X must hold series; got a table of shape {(n, steps)}: its rows would be series of {steps} steps{known}. "
            "Pass X[:, :, None] or a list if that is what they are; a table is for a model of tables, such as "
            "metric='auto' makes."
        )

    def fit(self, X: list[NDArray[np.float64]], *, dtype: torch.dtype) -> Self:
        """Choose the prototypes' length."""
        steps = np.concatenate(X)
        refuse_range(float(np.nanmin(steps)), float(np.nanmax(steps)), dtype)
        return TimeSeries.fit_described(self, TimeSeries.describe(self, X), dtype=dtype)

    def describe(self, X: list[NDArray[np.float64]]) -> Lengths:
        """Count the lengths."""
        return Lengths.of(X, X[0].shape[1])

    def fit_described(self, description: Lengths, *, dtype: torch.dtype) -> Self:
        """Choose the prototypes' length."""
        length = check_count("length", self._length_of(description), least=2, hint="Or use 'median' or 'max'.")
        return replace(self, length=length, n_channels=description.channels, dtype=dtype)

    def encode(self, X: list[NDArray[np.float64]]) -> SeriesBatch:
        """Pad to the longest, with missing steps interpolated."""
        return self.padded(X)

    def decode(self, prototypes: Tensor) -> NDArray[np.floating]:
        """Return prototypes (k, L, d), or (k, d, L) in aeon's layout."""
        values = prototypes.cpu().numpy()
        return values.transpose(0, 2, 1) if self.layout == "aeon" else values

    def drawn(self, X: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Return checked series as (L, d) arrays to draw."""
        return X

    def curves(self, prototypes: Tensor) -> list[NDArray[np.float64]]:
        """Return prototypes as (L, d) arrays to draw."""
        return list(prototypes.detach().cpu().double().numpy())

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return prototypes from series, resampled to the longest."""
        return self.stretched(to_list(prototypes, self.layout))
