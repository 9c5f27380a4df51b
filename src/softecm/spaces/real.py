"""Real vectors: an object is a row of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._text import place
from softecm.spaces.base import ColumnKind, Space
from softecm.spaces.ranges import refuse_large, refuse_range

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class Extent(NamedTuple):
    """How many columns every block has, and between which numbers it lies."""

    columns: int
    low: float
    high: float

    @classmethod
    def of(cls, X: NDArray[np.floating]) -> Extent:
        """Of rows."""
        if not X.size:
            return cls(X.shape[1], 0.0, 0.0)
        return cls(X.shape[1], float(X.min()), float(X.max()))

    def merge(self, other: Extent) -> Extent:
        """Two blocks together; blocks of another width are refused before."""
        return Extent(self.columns, min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class RealVectors(Space):
    """Rows of numbers, encoded as they are."""

    n_features: int = 0
    names: tuple[str, ...] = ()
    dtype: torch.dtype = field(default=torch.float64)

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> NDArray[np.floating]:
        """A finite matrix of numbers, as scikit-learn checks it."""
        from sklearn.utils.validation import validate_data

        try:
            rows: NDArray[np.floating] = validate_data(
                estimator, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=False
            )
        except ValueError as error:
            if "contains NaN" in str(error):
                raise ValueError(
                    "Input X contains NaN: this metric can't work with gaps. SoftECM(metric='mixed') can; elsewhere fill "
                    "them in or leave the rows out."
                ) from error
            where = _where_infinite(X) if "contains infinity" in str(error) else ""
            if where:
                raise ValueError(f"Input X contains infinity: {where}") from error
            raise
        return rows

    @property
    def kinds(self) -> Sequence[ColumnKind]:
        """Numbers."""
        return ["number"] * self.n_features

    def fit(self, X: NDArray[np.floating], *, dtype: torch.dtype) -> RealVectors:
        """Remember the number of columns."""
        return self.fit_described(self.describe(X), dtype=dtype)

    def describe(self, X: NDArray[np.floating]) -> Extent:
        """The number of columns, and the range of the numbers."""
        found = Extent.of(X)
        refuse_large(max(-found.low, found.high))
        return found

    def fit_described(self, description: Extent, *, dtype: torch.dtype) -> RealVectors:
        """Remember the number of columns."""
        refuse_range(description.low, description.high, dtype)
        return replace(self, n_features=description.columns, dtype=dtype)

    def encode(self, X: NDArray[np.floating]) -> Tensor:
        """Rows as a tensor (n, p); shares memory with ``X`` where the type allows."""
        refuse_large(float(np.max(np.abs(X), initial=0.0)), self.dtype)
        return self.tensor(X)

    def tensor(self, X: NDArray[np.floating]) -> Tensor:
        """The same for rows whose size was checked before."""
        numpy_dtype = np.float32 if self.dtype == torch.float32 else np.float64
        rows = np.ascontiguousarray(X, dtype=numpy_dtype)
        # torch refuses to promise not to write into a read-only array; nothing here ever does.
        return torch.from_numpy(rows if rows.flags.writeable else rows.copy())

    def decode(self, prototypes: Tensor) -> NDArray[np.floating]:
        """Prototypes as an array (k, p)."""
        return prototypes.cpu().numpy()

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Prototypes given as (k, p) numbers."""
        rows = np.asarray(prototypes, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(
                f"init must have shape (n_clusters, {self.n_features}), one row a cluster; got shape {rows.shape}. "
                "Give as many columns as X has."
            )
        return torch.as_tensor(rows, dtype=self.dtype)

    def starts(self, x: Tensor, rows: Tensor) -> Tensor:
        """Copies of the chosen objects."""
        return x[rows].clone()

    @property
    def attributes(self) -> Sequence[str]:
        """Column names, or x0, x1, ... where the data had none."""
        return self.names or [f"x{j}" for j in range(self.n_features)]

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Gaussian rows in four dimensions."""
        return torch.randn((n, 4), generator=generator, dtype=torch.float64)


def _where_infinite(X: object) -> str:
    """The first infinite cell of a table, and what to do about it; empty where there is none."""
    rows = np.asarray(X, dtype=np.float64)
    for row, column in np.argwhere(np.isinf(rows))[:1].tolist():
        named = getattr(X, "columns", None)
        name = f"column {column + 1}" if named is None else f"column {list(named)[column]!r}"
        return (
            f"{rows[row, column]} in {place('row', row)}, {name}. Leave such rows out, or put a number there; "
            "SoftECM(metric='mixed') also takes NaN, a missing cell."
        )
    return ""
