"""Sparse rows, and prototypes as combinations of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from torch import Tensor

from softecm.spaces.base import Encoded, Space

SQUARED = 1 << 10  # rows squared at a time
EXPLAINED = 1 << 25  # dense cells for explanations: 256 MB


def canonical(X: Any) -> Any:
    """Return CSR rows with sorted, unique columns; convert anything else to such a matrix."""
    rows = X if issparse(X) else scipy.sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def sound_rows(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix of any format as CSR rows; raise an error for inconsistent parts before SciPy reads them."""
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be a table of rows and columns; got a sparse array of {X.ndim} dimension. Pass X.reshape(-1, 1)."
        )
    if X.dtype.kind not in "biufc":
        raise ValueError(f"{name} must hold numbers only; got a sparse matrix of {X.dtype}. Pass X.astype(float).")
    if not _PARTS_FIT[X.format](X):
        raise ValueError(
            f"{name} must be a valid sparse matrix; got one of format {X.format!r} whose indices lie outside "
            f"its shape {X.shape} or don't match its data. Rebuild it from values, rows and columns: "
            "scipy.sparse.coo_array((values, (rows, columns)), shape)."
        )
    return X.tocsr()


def _compressed_fits(X: Any) -> bool:
    """CSR, CSC and BSR: pointers that increase from 0 to the number of cells."""
    block = X.blocksize if X.format == "bsr" else (1, 1)
    lines, places = X.shape[0] // block[0], X.shape[1] // block[1]
    if X.format == "csc":
        lines, places = places, lines
    starts, indices = X.indptr, X.indices
    whole = starts.ndim == indices.ndim == 1 and starts.dtype.kind == indices.dtype.kind == "i"
    if not whole or len(starts) != lines + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        return False
    stored = int(starts[-1])
    return stored <= min(len(indices), len(X.data)) and _inside(indices[:stored], places)


def _inside(places: Any, size: int) -> bool:
    return len(places) == 0 or bool(places.min() >= 0 and places.max() < size)


def _coordinates_fit(X: Any) -> bool:
    rows, columns = X.row, X.col
    return len(rows) == len(columns) == len(X.data) and _inside(rows, X.shape[0]) and _inside(columns, X.shape[1])


def _lists_fit(X: Any) -> bool:
    if not len(X.rows) == len(X.data) == X.shape[0]:
        return False
    places = [place for line in X.rows for place in line]
    alike = all(len(line) == len(cells) for line, cells in zip(X.rows, X.data, strict=True))
    return alike and _inside(np.array(places, dtype=np.int64), X.shape[1])


def _keys_fit(X: Any) -> bool:
    return all(0 <= row < X.shape[0] and 0 <= column < X.shape[1] for row, column in X.keys())  # noqa: SIM118


def _diagonals_fit(X: Any) -> bool:
    return X.data.ndim == 2 and X.offsets.shape == X.data.shape[:1] and len(np.unique(X.offsets)) == len(X.offsets)


_PARTS_FIT: dict[str, Callable[[Any], bool]] = {
    "csr": _compressed_fits,
    "csc": _compressed_fits,
    "bsr": _compressed_fits,
    "coo": _coordinates_fit,
    "lil": _lists_fit,
    "dok": _keys_fit,
    "dia": _diagonals_fit,
}


class InMainMemory:
    """Encoded objects that stay in main memory."""

    def to(self, device: torch.device) -> Self:
        """Return self."""
        return self

    def cpu(self) -> Self:
        """Return self."""
        return self


@dataclass(frozen=True, eq=False)
class SparseRows(InMainMemory):
    """Sparse rows in encoded form (CSR), on the CPU: columns sorted and unique."""

    starts: NDArray[np.int64]  # (n + 1,)
    columns: NDArray[np.integer[Any]]
    values: NDArray[np.floating[Any]]
    width: int

    @staticmethod
    def of(X: Any, dtype: torch.dtype) -> SparseRows:
        """Return the rows of a CSR matrix; shares its memory if types allow."""
        kind = np.float32 if dtype == torch.float32 else np.float64
        return SparseRows(X.indptr.astype(np.int64), X.indices, X.data.astype(kind, copy=False), int(X.shape[1]))

    @staticmethod
    def of_dense(points: Tensor) -> SparseRows:
        """Return a few dense points (k, p) as sparse rows."""
        return SparseRows.of(scipy.sparse.csr_array(points.numpy()), points.dtype)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: slice | Tensor) -> SparseRows:
        if isinstance(rows, slice):
            first, last, step = rows.indices(len(self))
            if step == 1:
                starts = self.starts[first : max(first, last) + 1]
                entries = slice(int(starts[0]), int(starts[-1]))
                return SparseRows(starts - starts[0], self.columns[entries], self.values[entries], self.width)
        part = self.matrix()[np.arange(len(self))[rows if isinstance(rows, slice) else rows.cpu().numpy()]]
        return SparseRows(part.indptr.astype(np.int64), part.indices, part.data, self.width)

    def matrix(self) -> Any:
        """Return a SciPy matrix; shares memory, so row pointers must have the columns' type."""
        kind = self.columns.dtype if len(self.values) <= np.iinfo(self.columns.dtype).max else self.starts.dtype
        starts = self.starts.astype(kind, copy=False)
        return scipy.sparse.csr_array((self.values, self.columns, starts), shape=(len(self), self.width))

    def dense(self) -> Tensor:
        """Return dense rows (n, p)."""
        return torch.from_numpy(self.matrix().toarray())

    @cached_property
    def squares(self) -> Tensor:
        """Squared lengths (n,)."""
        total = np.zeros(len(self))
        for first in range(0, len(self), SQUARED):
            starts = self.starts[first : first + SQUARED + 1]
            squared = np.append(np.square(self.values[starts[0] : starts[-1]], dtype=np.float64), 0.0)
            total[first : first + SQUARED] = np.add.reduceat(squared, starts[:-1] - starts[0])
        total[np.diff(self.starts) == 0] = 0.0
        return torch.from_numpy(total)

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """A hash of each row's content, equal to that of the dense row."""
        from softecm.kernels.sparse import content_keys

        return content_keys(self.starts, self.columns, self.values, self.width)

    def products(self, points: Tensor) -> Tensor:
        """Return inner products (n, k) with dense points (k, p), differentiable in these."""
        products: Tensor = _Products.apply(points, self)  # type: ignore[no-untyped-call]
        return products

    def sums(self, weights: Tensor) -> Tensor:
        """Return sums (k, p) of the rows, weighted by the columns of ``weights`` (n, k)."""
        from softecm.kernels.sparse import sums

        factors = np.ascontiguousarray(weights.detach().double().numpy())
        totals = sums(self.starts, self.columns, self.values, factors, self.width)
        return torch.from_numpy(totals).to(weights.dtype)

    def mean(self) -> Tensor:
        """Return the mean of all rows (p,)."""
        kind = torch.float32 if self.values.dtype == np.float32 else torch.float64
        return self.sums(torch.full((len(self), 1), 1.0 / max(1, len(self)), dtype=kind))[0]


def in_full(x: Tensor | SparseRows, k: int) -> Tensor:
    """Return dense rows for explanations, if k points fit in memory."""
    if not isinstance(x, SparseRows):
        return x
    if len(x) * k * x.width > EXPLAINED:
        most = max(1, EXPLAINED // max(1, k * x.width))
        raise ValueError(
            "X must have few rows for explain, which writes down every column of sparse rows for every set; got "
            f"{len(x)} of {x.width} columns. Pass at most {most} rows at a time."
        )
    return x.dense()


class _Products(torch.autograd.Function):
    """Inner products of sparse rows with points, and their gradient."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, rows: SparseRows) -> Tensor:
        from softecm.kernels.sparse import products

        ctx.rows = rows
        dense = points.detach().double().numpy()
        return torch.from_numpy(products(rows.starts, rows.columns, rows.values, dense)).to(points.dtype)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        return ctx.rows.sums(slopes[0]), None


@dataclass(frozen=True, eq=False)
class WholeRows(InMainMemory):
    """Sparse rows that are not sliced: prototypes are combinations of all of them."""

    rows: SparseRows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice | Tensor) -> WholeRows:
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        raise TypeError("rows that prototypes are made of can't be cut")


@dataclass(frozen=True, eq=False)
class Combinations(Space, savable=False):
    """A prototype is a row of one weight per object, with sum 1; only used within a fit."""

    rows: SparseRows

    def _refuse(self, *data: object, **options: object) -> NoReturn:
        raise TypeError("combinations of objects are made inside a fit, of objects that are encoded already")

    fit = encode = encode_prototypes = _refuse
    attributes = ()  # these prototypes are internal

    def decode(self, prototypes: Tensor) -> NDArray[np.floating]:
        """Return dense prototypes (k, p)."""
        return self.finer(prototypes, self).numpy()

    def finer(self, prototypes: Tensor, coarse: Space) -> Tensor:
        """Return combinations (k, n) as dense prototypes (k, p)."""
        return self.rows.sums(prototypes.T)

    def starts(self, x: WholeRows, rows: Tensor) -> Tensor:
        """Return the chosen objects: all weight on one each."""
        dtype = torch.float32 if self.rows.values.dtype == np.float32 else torch.float64
        places = torch.zeros(len(rows), len(self.rows), dtype=dtype)
        places[torch.arange(len(rows)), rows] = 1.0
        return places

    def keys(self, x: WholeRows) -> NDArray[np.uint64]:
        """Return the rows' hashes."""
        return x.rows.keys

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Encoded:
        """Raise an error: combinations need their rows."""
        raise TypeError("combinations of objects are made inside a fit")
