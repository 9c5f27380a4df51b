"""Validation, description and encoding of a raw block."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from softecm.distances.base import SemiMetric
from softecm.distributed.sources import Data, Raw, naming
from softecm.fit.prepare import check_weights
from softecm.spaces.base import Described, Encoded, Space
from softecm.spaces.real import RealVectors
from softecm.spaces.scattered import Block


@dataclass(frozen=True)
class Facts:
    """What the first pass learns about the blocks."""

    first: str  # name of the first block
    look: tuple[tuple[str | int, str], ...]  # columns and types
    n_features: int
    names: tuple[str, ...] | None
    description: Described  # the space's
    lengths: tuple[int, ...]
    weight: float

    @property
    def firsts(self) -> list[int]:
        """Index of each block's first object."""
        return [0, *np.cumsum(self.lengths)[:-1].tolist()]

    def merge(self, other: Facts) -> Facts:
        """Merge neighbouring blocks; raise an error for different columns."""
        if self.look != other.look or self.n_features != other.n_features:
            raise ValueError(
                f"{other.first} must have the columns and types of {self.first}, {_listed(self)}; got {_listed(other)}. "
                "Convert all blocks to the same columns."
            )
        try:
            description = self.description.merge(other.description)
        except ValueError as error:
            raise ValueError(f"{other.first}: {error}") from error
        return replace(
            self,
            description=description,
            lengths=self.lengths + other.lengths,
            weight=self.weight + other.weight,
        )


def _listed(facts: Facts) -> str:
    columns = [f"{name} ({kind})" for name, kind in facts.look]
    return ", ".join(columns[:8]) + (" ..." if len(columns) > 8 else "") if columns else f"{facts.n_features} channels"


def describe(raw: Raw, *, space: Space, owner: str) -> Facts:
    """Return the facts of one block."""
    with naming(raw.name):
        probe = type(owner, (BaseEstimator,), {})()
        data = _filled(raw)
        checked = space.check(probe, data, reset=True)
        weights = None if raw.weights is None else check_weights_of(raw, len(checked))
        names = getattr(probe, "feature_names_in_", None)
        return Facts(
            raw.name,
            look(data),
            int(probe.n_features_in_),
            None if names is None else tuple(map(str, names)),
            space.weighted(weights).describe(checked),
            (len(checked),),
            float(len(checked)) if weights is None else float(weights.sum()),
        )


def check_weights_of(raw: Raw, n: int) -> NDArray[np.float64]:
    """Return a block's weights, which may all be zero in one block, not in all of them."""
    weights = np.asarray(raw.weights, dtype=np.float64)
    if len(weights) != n:
        raise ValueError(f"sample_weight must have one number per object, {n}; got {len(weights)}.")
    return weights if not weights.any() and not (weights < 0).any() else check_weights(weights, np.empty((n, 1)))


def _filled(raw: Raw) -> Data:
    if len(raw.data) == 0:
        raise ValueError("it is empty. Repartition X, or drop empty blocks.")
    return raw.data


def look(data: Data) -> tuple[tuple[str | int, str], ...]:
    """Return names and types of the columns; nothing for series, which are checked by their channels."""
    if hasattr(data, "column_names"):
        return tuple((str(name), str(kind)) for name, kind in zip(data.column_names, data.schema.types, strict=True))
    if hasattr(data, "dtypes") and hasattr(data, "columns"):
        return tuple((str(name), _kind(kind)) for name, kind in zip(data.columns, data.dtypes, strict=True))
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return tuple((j, str(data.dtype)) for j in range(data.shape[1]))
    return ()


def _kind(dtype: object) -> str:
    return "category" if type(dtype).__name__ == "CategoricalDtype" else str(dtype)


@dataclass(frozen=True)
class Encoder:
    """Encodes raw blocks; a function that is sent to workers."""

    space: Space
    metric: SemiMetric | None
    owner: str
    n_features: int
    names: tuple[str, ...] | None
    dtype: torch.dtype
    trusted: bool = False  # the same blocks were checked before

    def __call__(self, raw: Raw) -> Block:
        """Return the encoded block; the engine sets the index of its first object."""
        with naming(raw.name):
            if self.trusted and isinstance(self.space, RealVectors) and isinstance(raw.data, np.ndarray):
                x: Encoded = self.space.encode(raw.data)
            else:
                x = self.space.encode(self._checked(raw))
            weights = None if raw.weights is None else torch.as_tensor(raw.weights, dtype=self.dtype)
            if self.metric is not None:
                self.metric.fitted(x, weights)  # lets a metric cache what it needs of each object
            return Block(raw.name, 0, x, weights)

    def _checked(self, raw: Raw) -> Data:
        probe = type(self.owner, (BaseEstimator,), {})()
        probe.n_features_in_ = self.n_features
        if self.names is not None and hasattr(raw.data, "columns"):
            probe.feature_names_in_ = np.asarray(self.names, dtype=object)
        return self.space.check(probe, _filled(raw), reset=False)
