"""Tables as they came: a data frame of any library, an array or nested lists, column by column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from numbers import Real
from os import PathLike, fspath
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from softecm._checks import frame_of
from softecm._text import place, visible
from softecm.spaces.base import LARGEST
from softecm.spaces.columns import Cells, refuse_unwritable
from softecm.spaces.sparse import sound_rows


@dataclass(frozen=True)
class RawTable:
    """A table as it came, column by column."""

    columns: tuple[Cells, ...]
    backend: str | None  # pandas, polars, pyarrow; None for an array

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.columns)

    @property
    def names(self) -> list[str | int]:
        """Names of the columns; positions for an array."""
        return [c.name for c in self.columns]


def as_plain(X: Any, name: str = "X") -> Any:
    """Data of any kind as arrays, frames, lists and sound sparse rows: the one gate that whatever is given passes first.

    A masked cell is a missing cell: NaN among numbers, None elsewhere. Tensors leave their gradients behind. A damaged
    sparse matrix and columns of the same name are refused.
    """
    if type(X) is np.ndarray or isinstance(X, RawTable):
        return X
    if issparse(X):
        return sound_rows(X, name)
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X)
    if isinstance(X, torch.Tensor):
        return _detached(X, name)
    if isinstance(X, Mapping):
        return {key: as_plain(part, name) for key, part in X.items()}
    if isinstance(X, list | tuple):
        special = any(isinstance(row, np.ma.MaskedArray | torch.Tensor) for row in X)
        return [as_plain(row, name) for row in X] if special else X
    if getattr(X, "columns", None) is not None and not isinstance(X, nw.DataFrame):
        _refuse_names(getattr(X, "column_names", X.columns), name)
    return X


def _refuse_names(columns: Iterable[Any], name: str) -> None:
    for column, times in Counter(columns).items():
        if times > 1:
            raise ValueError(
                f"{name} must have a name of its own for every column; got {str(column)!r} more than once. Rename one of "
                "them."
            )
        refuse_unwritable([column], f"the names of {name}'s columns")


def _unmasked(X: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    plain, masked = np.asarray(X.data), np.asarray(X.mask)  # type: ignore[no-untyped-call]
    if not masked.any():
        return plain
    numbers = plain.dtype.kind in "iuf"
    plain = plain.astype(np.result_type(plain, np.float32) if numbers else object)
    plain[masked] = np.nan if numbers else None
    return plain


def _detached(X: torch.Tensor, name: str) -> NDArray[Any]:
    if X.layout != torch.strided or X.is_quantized:
        raise TypeError(
            f"{name} must be a dense tensor; got layout {X.layout}. Use X.to_dense(), or a SciPy sparse array."
        )
    dense = X.detach().cpu()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).resolve_conj().resolve_neg().numpy()


def read_table(X: object, name: str = "X") -> RawTable:
    """A data frame or a 2-D array as columns."""
    if isinstance(X, RawTable):
        return X
    X = as_plain(X, name)
    refuse_no_table(X, name)
    frame = frame_of(X)
    if frame is not None:
        cells = tuple(Cells(column.name, column) for column in frame.iter_columns())
        backend: str | None = frame.implementation.name.lower()
    else:
        array = X if isinstance(X, np.ndarray) else _to_array(X)
        if array.ndim != 2:
            raise ValueError(
                f"{name} must be a table of rows and columns; got {array.ndim} dimension{'s' if array.ndim != 1 else ''}. "
                "Expected 2D array. Reshape your data: X.reshape(-1, 1) makes one column."
            )
        cells = tuple(Cells(j, array[:, j]) for j in range(array.shape[1]))
        backend = None
    if not cells:
        raise ValueError(f"{name} must have at least one column; got 0 feature(s). A minimum of 1 is required.")
    if len(cells[0]) == 0:
        raise ValueError(f"{name} must have at least one row; got 0 sample(s). A minimum of 1 is required.")
    return RawTable(cells, backend)


def refuse_no_table(X: object, name: str = "X") -> None:
    """Refuse what holds no rows, with what makes a table of it; anything that may be one passes."""
    what = ""
    if issparse(X):
        return  # SciPy has one that is a dict, too
    if isinstance(X, Mapping):
        what = "a dict. pandas.DataFrame(X) makes a table of its columns"
    elif isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        what = "a list of dicts. pandas.DataFrame(X) makes a table of them"
    elif isinstance(X, str | PathLike):
        what = f"the text {fspath(X)[:60]!r}. softecm.read_table(path).data has the rows of a file"
    elif isinstance(X, Iterator | Set):
        what = f"a {type(X).__name__}. Give list(X)"
    elif X is None:
        what = "None"
    elif (found := _loose(X)) is not None and isinstance(found, str):
        what = (
            f"words, such as {str(found)[:40]!r}. Compare them by a distance of yours: "
            f"SoftECM(metric='precomputed').fit([[distance(a, b) for b in {name}] for a in {name}]); or give a list of "
            "rows, each a list of cells"
        )
    elif found is not None:
        what = (
            f"a list of {type(found).__name__}, such as {repr(found)[:40]}. Give a list of rows, each a list of cells"
        )
    if what:
        raise TypeError(f"{name} must be an array, a data frame or a list of rows; got {what}.")
    if not len(getattr(X, "columns", (1,))):
        raise ValueError(f"{name} must have at least one column; got a data frame of {len(X)} rows without any.")  # type: ignore[arg-type]


def _loose(X: object) -> object:
    """The first of some values in a row that can neither be rows nor numbers; None where there is none."""
    series = nw.from_native(X, series_only=True, pass_through=True)  # type: ignore[call-overload]
    X = series.to_list() if isinstance(series, nw.Series) else X
    if not isinstance(X, list | tuple | np.ndarray) or (isinstance(X, np.ndarray) and X.ndim != 1) or not len(X):
        return None
    first = X[0]
    return None if isinstance(first, Real) or (isinstance(first, Sized) and not isinstance(first, str)) else first


def refuse_huge(X: object, name: str = "X") -> None:
    """Refuse a whole number beyond the range of floats, by its place."""
    cells = np.asarray(X, dtype=object)
    for at, cell in zip(np.ndindex(cells.shape), cells.ravel(), strict=True):
        if isinstance(cell, int) and abs(cell) > LARGEST:
            where, digits = "".join(f"[{i}]" for i in at), cell.bit_length() * math.log10(2)
            raise ValueError(
                f"{name} must hold numbers of at most {LARGEST:g} in size; got one of about {digits:.0f} digits in "
                f"{name}{where}. Divide by a constant first, or leave it out."
            )


def refuse_words(X: object, name: str = "X", *, dates_only: bool = False) -> None:
    """Refuse a column of text or dates where numbers are needed, by its name; ``dates_only`` reads no cells."""
    frame = frame_of(X)
    columns: Iterable[tuple[str, Any]]
    if frame is not None:
        columns = ((f"column {column.name!r}", column) for column in frame.iter_columns())
    else:
        array = X if isinstance(X, np.ndarray) or not dates_only else np.zeros((0, 0))
        rows = np.asarray(array, dtype=None if isinstance(array, np.ndarray) else object)
        columns = ((f"column {j + 1}", rows[:, j]) for j in range(rows.shape[1] if rows.ndim == 2 else 0))
    for where, cells in columns:
        kind = _kind_by_type(cells) or ("" if dates_only else _kind_by_cells(cells))
        if kind:
            raise ValueError(
                f"{name} must hold numbers only; {where} holds {kind}. Use SoftECM, whose metric='auto' compares text and "
                "dates, too, turn the column into numbers, or leave it out."
            )


def _kind_by_type(cells: Any) -> str:
    """What a column holds that is neither numbers nor text, as its type says; empty for these."""
    dtype = cells.dtype
    if isinstance(cells, np.ndarray):
        return {"M": "dates", "m": "durations"}.get(dtype.kind, "")
    return "dates" if dtype in (nw.Date, nw.Datetime) else "durations" if dtype == nw.Duration else ""


def _kind_by_cells(cells: Any) -> str:
    """What the first cell of a column is that is no number; empty where all are."""
    for row, cell in enumerate(cells.to_list() if isinstance(cells, nw.Series) else cells.tolist()):
        if isinstance(cell, str):
            try:
                float(cell)
            except ValueError:
                return f"text ({visible(cell[:20])!r} in {place('row', row)})"
        elif hasattr(cell, "isoformat"):
            return f"dates ({cell} in {place('row', row)})"
    return ""


def refuse_other_order(parts: Mapping[str, Any]) -> None:
    """Refuse views whose data frames have the same labels in another order: rows go together by their place."""
    known: dict[str, list[Any]] = {}
    for name, part in parts.items():
        index = getattr(part, "index", None)
        if index is None or callable(index):
            continue
        labels = list(index)
        for other, before in known.items():
            if labels != before and len(labels) == len(before) and set(labels) == set(before):
                at = next(i for i, (a, b) in enumerate(zip(before, labels, strict=True)) if a != b)
                raise ValueError(
                    f"X must have its objects in the same order in every view; {place('row', at, 'its index')} is "
                    f"{before[at]!r} in {other!r} and {labels[at]!r} in {name!r}. Put them in one order, such as "
                    f"X[{name!r}].loc[X[{other!r}].index]; if rows go together as they stand, use reset_index(drop=True)."
                )
        known[name] = labels


def refuse_columns(X: Mapping[object, object], name: str = "X") -> None:
    """Refuse a dict of columns: the values of a dict are views, tables of their own."""
    if X and all(_is_column(part) for part in X.values()):
        raise TypeError(
            f"{name} must be an array, a data frame or a list of rows; got a dict of columns. pandas.DataFrame({name}) "
            "makes a table of them; in a dict of views each is a table of its own."
        )


def _is_column(part: object) -> bool:
    """Whether a value of a dict is a cell or a column of cells, no table."""
    if not isinstance(part, Sized) or isinstance(part, str):
        return True
    return not hasattr(part, "columns") and len(part) > 0 and np.isscalar(next(iter(part)))  # type: ignore[call-overload]


def _to_array(X: object) -> NDArray[np.generic]:
    """Nested lists as an array that keeps each cell as it is."""
    if isinstance(X, Sequence) and X and isinstance(X[0], Sequence) and not isinstance(X[0], str):
        array = np.asarray(X, dtype=object)
        try:  # numbers alone are better off as numbers
            return np.asarray(X, dtype=np.float64) if not _holds_text(array) else array
        except (TypeError, ValueError, OverflowError):
            return array
    return np.asarray(X)


def _holds_text(array: NDArray[np.generic]) -> bool:
    return any(isinstance(v, str | bool) for v in array.ravel())


def numbers_of(X: object) -> list[NDArray[Any]] | None:
    """The columns of a table of numbers, NaN where one is missing; None for what is no such table."""
    X = as_plain(X)
    frame = frame_of(X)
    if frame is not None:
        return [np.asarray(c.cast(nw.Float64).to_numpy(), dtype=np.float64) for c in frame.iter_columns()]
    if hasattr(X, "toarray"):  # sparse: refused elsewhere
        return None
    try:
        rows = np.asarray(X)
        rows = rows.astype(np.float64) if rows.dtype.kind in "Oiu" else rows  # differences of unsigned ones would wrap
    except (TypeError, ValueError, OverflowError):
        return None
    return list(rows.T) if rows.ndim == 2 and rows.dtype.kind == "f" else None


def in_blocks(X: object) -> bool:
    """Whether ``X`` is a Dask value, a list of them, or a source of blocks; looks at types only, loads nothing."""
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    homes = ("dask.", "dask_expr.", "distributed.", "softecm.distributed.")  # dask_expr: frames until Dask 2025
    return type(first).__module__.startswith(homes)
