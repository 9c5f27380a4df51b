"""Textures of series: which short patterns and frequencies occur anywhere in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.files.expected import Misfit, array, count, flag, listed, rules, text
from softecm.kernels.convolutions import KERNELS, THRESHOLDS, dilations_for, pooled, thresholds_of, z_normalized
from softecm.spaces.base import SQUARABLE, Space, content_keys
from softecm.spaces.series import MOST_STEPS, Lengths, SeriesSpace, TimeSeries, filled, resampled, to_list

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MOST_SERIES, MOST_CELLS = 512, 1 << 22  # limits of the sample that features are learned from
THRESHOLD_SERIES = 64  # of these, for thresholds
SHOWN_CELLS = 1 << 18  # of the series shown as prototypes: 2 MB in a model
PATTERNS, FREQUENCIES, EVERYTHING = "short patterns", "frequencies", "both"
TEXTURES = (EVERYTHING, PATTERNS, FREQUENCIES)
N_FREQUENCIES = 32  # cycles per series, from 1, whose amplitudes are features
FLAT = 1e-9  # deviation below which a feature is constant
Series = NDArray[np.float64]


@dataclass(frozen=True)
class SeriesSample:
    """A sample of distinct series, independent of their order and of blocks."""

    lengths: Lengths  # of all series
    rows: dict[int, Series]  # by a hash of their values, smallest first

    @classmethod
    def of(cls, X: Sequence[Series], lengths: Lengths) -> SeriesSample:
        """Return the series with the smallest hashes."""
        keys = [int.from_bytes(blake2b((row + 0.0).tobytes(), digest_size=8).digest(), "big") for row in X]
        return cls(lengths, _first(dict(zip(keys, X, strict=True))))

    def merge(self, other: SeriesSample) -> SeriesSample:
        """Merge two blocks."""
        return SeriesSample(self.lengths.merge(other.lengths), _first(self.rows | other.rows))


def _first(rows: dict[int, Series]) -> dict[int, Series]:
    keys = sorted(rows)[:MOST_SERIES]
    cells = np.cumsum([rows[key].size for key in keys])
    return {key: rows[key] for key, total in zip(keys, cells, strict=True) if total <= MOST_CELLS or key == keys[0]}


@dataclass(frozen=True, eq=False)
class Texture(SeriesSpace):
    """Series encoded as a few principal components of their convolution features and spectra; shown as series.

    Prototypes are points among the components. Each is shown as the nearest series of the fit, among a stored sample.
    """

    n_components: int = 10
    znormalise: bool = True
    dilations: tuple[int, ...] = ()
    thresholds: Tensor | None = None  # (dilations, channels, kernels, 4)
    center: Tensor | None = None  # (w,): mean of each feature
    axes: Tensor | None = None  # (w, q): from features to components, each feature in units of its deviation
    examples: Tensor | None = None  # (m, length, channels): the series shown as prototypes
    places: Tensor | None = None  # (m, q): their components
    of: str = EVERYTHING
    SAVED = rules(
        SeriesSpace.SAVED,
        length=count(size="steps", least=2, most=MOST_STEPS),
        dilations=listed(count(most=MOST_STEPS), size="dilations"),
        thresholds=array("dilations p kernels four", allowed=SQUARABLE),
        center=array("w", allowed=SQUARABLE),
        axes=array("w q", allowed=SQUARABLE),
        examples=array("m steps p", allowed=SQUARABLE),
        places=array("m q", allowed=SQUARABLE),
        n_components=count(),
        znormalise=flag,
        of=text(*TEXTURES),
    )

    def check_kind(self, expected: Space) -> None:
        """Check the unit of every feature."""
        super().check_kind(expected)
        if any(value is None for value in (self.thresholds, self.center, self.axes, self.examples, self.places)):
            raise Misfit("model_.space has not been fitted to data")
        assert self.thresholds is not None
        assert self.center is not None
        kernels, each = self.thresholds.shape[2:]
        waves, every = len(self.center) - self._convolutions, N_FREQUENCIES * self.n_channels
        # Older models have no frequencies.
        known = {PATTERNS: (0,), FREQUENCIES: (every,), EVERYTHING: (0, every)}[self.of]
        right = waves in known and bool(self.dilations) == (self.of != FREQUENCIES)
        if not (1 <= kernels <= KERNELS and each == THRESHOLDS and right):
            raise Misfit("model_.space should have a unit for every feature")

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> list[Series]:
        """Return series as a list of (steps, channels)."""
        return self._plain().check(estimator, X, reset=reset)

    def fit(self, X: list[Series], *, dtype: torch.dtype) -> Self:
        """Learn thresholds, units and components from a sample of the series."""
        self._plain().fit(X, dtype=dtype)  # raises an error for too large values
        return self.fit_described(self.describe(X), dtype=dtype)

    def describe(self, X: list[Series]) -> SeriesSample:
        """Return a sample of the series, and the lengths of all."""
        return SeriesSample.of(X, self._plain().describe(X))

    def fit_described(self, description: SeriesSample, *, dtype: torch.dtype) -> Self:
        """Learn from the samples of all blocks."""
        sized = self._plain().fit_described(description.lengths, dtype=torch.float64)
        length, channels = sized.shape
        rows = list(description.rows.values())
        known = replace(self, length=length, n_channels=channels)
        ready = replace(known, thresholds=torch.zeros(0, channels, KERNELS, THRESHOLDS, dtype=torch.float64))
        if self.of != FREQUENCIES:
            dilations = dilations_for(length)
            thresholds = thresholds_of(*known._batch(rows[:THRESHOLD_SERIES]), dilations)
            ready = replace(known, dilations=dilations, thresholds=thresholds)
        features = ready._features(rows)
        center, axes = principal_axes(features, ready._convolutions, self.n_components)
        shown = rows[: max(1, SHOWN_CELLS // (length * channels))]
        drawn = torch.from_numpy(np.stack([resampled(filled(row), length) for row in shown]))
        places = (features[: len(shown)] - center) @ axes
        return replace(ready, center=center, axes=axes, examples=drawn, places=places, dtype=dtype)

    def _batch(self, X: Sequence[Series]) -> tuple[Tensor, Tensor]:
        """Return values (n, L, d) in double precision, normalized if requested, and lengths (n,)."""
        batch = replace(self._plain(), dtype=torch.float64).encode(list(X))
        return (z_normalized(batch.values, batch.ends) if self.znormalise else batch.values), batch.ends

    def _plain(self) -> TimeSeries:
        return TimeSeries(self.length, self.layout, self.n_channels, self.dtype)

    @property
    def _convolutions(self) -> int:
        """Number of features from convolutions."""
        assert self.thresholds is not None
        return self.thresholds.numel() // THRESHOLDS * (THRESHOLDS + 1)

    def _features(self, X: Sequence[Series]) -> Tensor:
        """Return convolution features and amplitudes (n, w)."""
        assert self.thresholds is not None
        batch = self._batch(X)
        found = [pooled(*batch, self.dilations, self.thresholds)] if self.dilations else []
        older = self.center is not None and len(self.center) == self._convolutions  # a model without frequencies
        if self.of != PATTERNS and not older:
            found.append(amplitudes(*batch))
        return torch.cat(found, 1)

    def encode(self, X: list[Series]) -> Tensor:
        """Return components (n, q)."""
        assert self.center is not None
        assert self.axes is not None
        parts = (self._features(X[first : first + MOST_SERIES]) for first in range(0, len(X), MOST_SERIES))
        return torch.cat([((features - self.center) @ self.axes).to(self.dtype) for features in parts])

    def drawn(self, X: list[Series]) -> list[Series]:
        """Return the series."""
        return X

    def decode(self, prototypes: Tensor) -> NDArray[np.floating]:
        """Return the nearest stored series (k, L, d), or (k, d, L) in aeon's layout."""
        shown = np.stack(self.curves(prototypes))
        return shown.transpose(0, 2, 1) if self.layout == "aeon" else shown

    def curves(self, prototypes: Tensor) -> list[NDArray[np.float64]]:
        """Return the nearest stored series, as (L, d) arrays to draw."""
        assert self.examples is not None
        assert self.places is not None
        nearest = torch.cdist(prototypes.detach().cpu().double(), self.places).argmin(1)
        return list(self.examples[nearest].numpy())

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return the components of given series."""
        rows = to_list(prototypes, self.layout)
        if rows[0].shape[1] != self.n_channels:
            raise ValueError(
                f"init must hold series of {self.n_channels} channels, as X does; got {rows[0].shape[1]}. Pass (c, L, d)."
            )
        return self.encode(rows)

    def carried(self, other: Space, prototypes: Tensor, like: Tensor) -> Tensor | None:
        """Encode series with the same number of channels."""
        alike = isinstance(other, Texture) and other.n_channels == self.n_channels
        return self.encode_prototypes(other.decode(prototypes)) if alike else None

    def starts(self, x: Tensor, rows: Tensor) -> Tensor:
        """Return the chosen series' components."""
        return x[rows].clone()

    def single(self, x: Tensor) -> tuple[Texture, Tensor] | None:
        """Return single precision: components have similar magnitudes."""
        return None if self.dtype != torch.float64 else (replace(self, dtype=torch.float32), x.float())

    def finer(self, prototypes: Tensor, coarse: Space) -> Tensor:
        """Return the same points."""
        return prototypes.to(self.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The components."""
        assert self.axes is not None
        return (self.axes.shape[1],)

    @property
    def attributes(self) -> Sequence[str]:
        """The components."""
        return [f"component {j + 1}" for j in range(self.shape[0])]

    def keys(self, x: Tensor) -> NDArray[np.uint64]:
        """Return hashes of the components."""
        return content_keys(x.cpu().double().numpy())

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Return Gaussian components."""
        return torch.randn((n, 4), generator=generator, dtype=torch.float64)


def amplitudes(values: Tensor, lengths: Tensor) -> Tensor:
    """Return the strength of each frequency, without phase: series (n, L, d) to (n, N_FREQUENCIES * d)."""
    found = values.new_zeros(len(values), N_FREQUENCIES, values.shape[2])
    for length in set(lengths.tolist()):
        rows = lengths == length
        waves = torch.fft.rfft(values[rows, :length], dim=1).abs()[:, 1 : N_FREQUENCIES + 1] / math.sqrt(length)
        found[rows, : waves.shape[1]] = waves
    return found.flatten(1)


def principal_axes(features: Tensor, convolutions: int, most: int) -> tuple[Tensor, Tensor]:
    """Return mean (w,) and axes (w, q) of features (m, w), without constant features.

    Convolution features, the first ones, are standardized. Amplitudes keep their proportions within a channel; channels
    have equal variance, and all amplitudes together that of all convolution features.
    """
    center = features.mean(0)
    scale = features.std(0, correction=0)
    unit = torch.where(scale > FLAT, 1.0 / scale.clamp_min(FLAT), 0.0)
    if features.shape[1] > convolutions:
        spreads = scale[convolutions:].reshape(N_FREQUENCIES, -1).norm(dim=0)  # of each channel
        varied = (unit[:convolutions] > 0).sum().clamp_min(1) / (spreads > FLAT).sum().clamp_min(1)
        sizes = torch.where(spreads > FLAT, varied.sqrt() / spreads.clamp_min(FLAT), 0.0)
        unit[convolutions:] = sizes.repeat(N_FREQUENCIES)
    z = (features - center) * unit
    values, vectors = torch.linalg.eigh(z @ z.T)  # (m, m): fewer than the features
    q = max(1, min(most, len(z) - 1, int((values > 1e-10 * values[-1].clamp_min(1e-300)).sum())))
    top, values = vectors[:, -q:].flip(1), values[-q:].flip(0).clamp_min(1e-300)
    axes = z.T @ top / values.sqrt()
    largest = axes.gather(0, axes.abs().argmax(0, keepdim=True))
    signs = torch.where(largest < 0, -1.0, 1.0)  # the same signs on every machine
    return center, torch.where(values > 1e-290, axes * signs, 0.0) * unit[:, None]
