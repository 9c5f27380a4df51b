"""Real vectors: an object is a row of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._text import place
from softecm._wording import option, worded
from softecm.files.expected import count, flag, listed, maybe, numeric_type, rules, text
from softecm.files.values import own
from softecm.spaces.base import ColumnKind, Space, content_keys, refuse_large, refuse_range
from softecm.spaces.magnitudes import WIDE, Magnitude, SizeChange
from softecm.spaces.raw import RawData, as_numbers, raw_data
from softecm.spaces.sparse import SparseRows, canonical

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class Extent(NamedTuple):
    """The number of columns of every block, and the range of its numbers."""

    columns: int
    low: float
    high: float

    @classmethod
    def of_sparse(cls, X: Any) -> Extent:
        """Return the extent of sparse rows, including zeros if there are any."""
        n, columns = X.shape
        low, high = float(np.min(X.data, initial=np.inf)), float(np.max(X.data, initial=-np.inf))
        zeros = X.nnz < n * columns or not X.nnz
        return cls(int(columns), min(low, 0.0), max(high, 0.0)) if zeros else cls(int(columns), low, high)

    def merge(self, other: Extent) -> Extent:
        """Merge two blocks, already checked for equal width."""
        return Extent(self.columns, min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class RealVectors(Space):
    """Rows of numbers, unscaled: dense, or sparse if the fit had sparse rows."""

    n_features: int = 0
    names: tuple[str, ...] = ()
    dtype: torch.dtype = field(default=torch.float64)
    sparse: bool = False
    expected: tuple[str, ...] = ()  # required columns, if the metric compares certain ones
    sizes: tuple[Magnitude | None, ...] = ()  # of the numbers in each column, if the fit was in memory
    SAVED = rules(
        n_features=count(size="p"),
        names=listed(text()),
        dtype=numeric_type,
        sparse=flag,
        expected=listed(text()),
        sizes=listed(maybe(own(Magnitude))),
    )

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> Any:
        """Return a finite numeric matrix, checked by scikit-learn; a sparse space also takes dense rows."""
        from sklearn.utils.validation import validate_data

        raw = raw_data(X)
        raw.refuse_no_table(of_numbers=True)
        kinds: dict[str, Any] = {"dtype": [np.float64, np.float32], "accept_sparse": ("csr",) if self.sparse else False}
        try:
            rows = raw.checked_by(validate_data, estimator, raw.value, reset=reset, **kinds)
        except ValueError as error:
            if "contains NaN" in str(error):
                raise ValueError(
                    f"Input X contains NaN: this metric can't handle missing values. {mixed_metric()} can; "
                    "for other metrics, impute them or leave the rows out."
                ) from error
            where = _where_infinite(raw) if "contains infinity" in str(error) else ""
            if where:
                raise ValueError(f"Input X contains infinity: {where}") from error
            raise
        if self.expected:
            self._refuse_other_columns(rows.shape[1], getattr(estimator, "feature_names_in_", ()))
        rows = canonical(rows) if self.sparse else rows
        if not reset:  # a fit checks the range
            refuse_large(float(np.max(np.abs(rows.data if self.sparse else rows), initial=0.0)), self.dtype)
        return rows

    def _refuse_other_columns(self, n_columns: int, columns: Sequence[str]) -> None:
        """Raise an error unless columns are those of the metric, in order."""
        if n_columns != len(self.expected):
            raise ValueError(
                f"X must have {len(self.expected)} columns for this metric, {' and '.join(self.expected)}; got "
                f"{n_columns}. Leave the others out, or combine it with a metric for them: softecm.distances.Combined."
            )
        names = [str(name).lower() for name in columns]
        if sorted(names) == sorted(self.expected) and names != list(self.expected):
            ordered = [str(columns[names.index(name)]) for name in self.expected]
            raise ValueError(
                f"X must have the columns {' and '.join(self.expected)} in this order; got {' and '.join(names)}. "
                f"Reorder them: X[{ordered}]."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """One coordinate per column."""
        return (self.n_features,)

    @property
    def kinds(self) -> Sequence[ColumnKind]:
        """Numbers."""
        return ["number"] * self.n_features

    def fit(self, X: Any, *, dtype: torch.dtype) -> Self:
        """Remember how large the numbers of dense rows are, too; wide rows don't differ in units."""
        fitted = self.fit_described(self.describe(X), dtype=dtype)
        is_table = not self.sparse and X.shape[1] <= WIDE
        return replace(fitted, sizes=tuple(map(Magnitude.of, X.T))) if is_table else fitted

    def size_changes(self, X: Any) -> Mapping[str, SizeChange | None]:
        """Column by column, of dense rows."""
        columns = () if self.sparse else zip(self.attributes, self.sizes, X.T, strict=False)
        return {name: SizeChange.of(size, numbers) for name, size, numbers in columns}

    def describe(self, X: Any) -> Extent:
        """Return the number of columns, and the range of the numbers."""
        if self.sparse:
            extent = Extent.of_sparse(X)
        else:
            extent = Extent(X.shape[1], float(X.min()), float(X.max())) if X.size else Extent(X.shape[1], 0.0, 0.0)
        refuse_large(max(-extent.low, extent.high))
        return extent

    def fit_described(self, description: Extent, *, dtype: torch.dtype) -> Self:
        """Store the number of columns."""
        refuse_range(description.low, description.high, dtype)
        return replace(self, n_features=description.columns, dtype=dtype)

    def named(self, names: Sequence[str]) -> Self:
        """Return a copy with the names of the columns."""
        return replace(self, names=tuple(map(str, names)))

    def encode(self, X: Any) -> Tensor | SparseRows:
        """Return rows as a tensor (n, p), or unchanged if sparse; shares memory with ``X`` if the type allows."""
        if self.sparse:
            return SparseRows.of(X, self.dtype)
        rows = np.ascontiguousarray(X, dtype=np.float32 if self.dtype == torch.float32 else np.float64)
        # torch warns about read-only arrays; nothing writes here.
        return torch.from_numpy(rows if rows.flags.writeable else rows.copy())

    def decode(self, prototypes: Tensor) -> NDArray[np.floating]:
        """Return prototypes as an array (k, p)."""
        return prototypes.cpu().numpy()

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return prototypes from (k, p) numbers."""
        rows = as_numbers(prototypes, "init")
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(
                f"init must have shape (n_clusters, {self.n_features}), one row per cluster; got shape {rows.shape}. "
                "Pass as many columns as X has."
            )
        return torch.as_tensor(rows, dtype=self.dtype)

    def starts(self, x: Tensor | SparseRows, rows: Tensor) -> Tensor:
        """Return dense copies of the chosen objects."""
        chosen = x[rows]
        return chosen.dense() if isinstance(chosen, SparseRows) else chosen.clone()

    def middle(self, x: Tensor | SparseRows, rows: Tensor) -> Tensor:
        """Return the mean of the chosen objects."""
        chosen = x[rows]
        return chosen.mean()[None] if isinstance(chosen, SparseRows) else chosen.mean(0)[None]

    def keys(self, x: Tensor | SparseRows) -> NDArray[np.uint64]:
        """Return hashes, equal for sparse and dense rows."""
        return x.keys if isinstance(x, SparseRows) else content_keys(x.numpy())

    @property
    def number_names(self) -> Sequence[str]:
        """The columns."""
        return self.attributes

    @property
    def attributes(self) -> Sequence[str]:
        """Column names, or x0, x1, ... if the data have none."""
        return self.names or self.expected or [f"x{j}" for j in range(self.n_features)]

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Return Gaussian rows in four dimensions."""
        return torch.randn((n, 4), generator=generator, dtype=torch.float64)


def mixed_metric() -> str:
    """Return the metric that takes missing cells, for a message."""
    return worded("SoftECM(metric='mixed')", option("metric", "mixed"))


def _where_infinite(raw: RawData) -> str:
    """Return the first infinite cell of a table with a remedy, or ""."""
    if raw.is_sparse:
        return "in a sparse matrix. Leave such rows out, or put numbers there: X.data[~np.isfinite(X.data)] = 0."
    rows = np.asarray(raw.value, dtype=np.float64)
    for row, column in np.argwhere(np.isinf(rows))[:1].tolist():
        name = f"column {column + 1}" if raw.frame is None else f"column {raw.frame.columns[column]!r}"
        return (
            f"{rows[row, column]} in {place('row', row)}, {name}. Leave such rows out, or put a number there; "
            f"{mixed_metric()} also takes NaN, a missing cell."
        )
    return ""
