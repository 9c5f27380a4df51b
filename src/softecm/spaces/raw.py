"""Raw input data, dispatched by type: array, sparse rows, data frame, list or several views."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import count
from numbers import Real
from os import PathLike, fspath
from typing import Any, ClassVar, Literal, ParamSpec, TypeAlias, TypeGuard, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
import torch
from narwhals.stable.v1 import selectors as cs
from numpy.typing import NDArray
from scipy.sparse import issparse

from softecm._checks import Array, frame_of, plain_array, refuse_huge, refuse_ragged
from softecm._checks import as_numbers as as_numbers
from softecm._text import place, visible
from softecm._wording import literal, option
from softecm.spaces.columns import ArrayCells, Cells, Name, SeriesCells, kind_of, refuse_unwritable
from softecm.spaces.sparse import sound_rows

Frame: TypeAlias = nw.DataFrame[Any]
Kind: TypeAlias = Literal["series", "categories", "numbers"]
Checked = TypeVar("Checked")
Arguments = ParamSpec("Arguments")
IN_BLOCKS = ("dask.", "dask_expr.", "distributed.", "softecm.distributed.")  # dask_expr: data frames until Dask 2025
VIEWS_IN_BLOCKS = (
    "views in blocks must come as one list of delayed dicts, each with every view of its objects; got others. Or fit "
    "a sample of them, .compute()d, and give the rest to predict_partition piece by piece."
)
OTHER_TYPES = {"date": "dates", "datetime": "dates", "duration": "durations"}  # types of columns that can't be numbers


@dataclass(frozen=True)
class RawData:
    """Raw data, with a subclass for each type; this class holds the rest, such as a path, a column or a lazy array."""

    value: Any  # arrays, frames, lists and validated sparse rows
    frame: Frame | None = None  # a data frame wrapped by narwhals
    views: Mapping[Any, RawData] | None = None  # several descriptions of the same objects, by name
    is_sparse: ClassVar[bool] = False

    @property
    def kind(self) -> Kind:
        """The kind of the objects from types and shapes alone; nothing is computed or loaded."""
        return "series" if getattr(self.value, "ndim", 2) == 3 else "numbers"

    @property
    def in_blocks(self) -> bool:
        """Whether data are a Dask value, a list of these, or a source of blocks; checks types only, nothing is loaded."""
        return type(self.value).__module__.startswith(IN_BLOCKS)

    def without(self, names: Collection[str] | None) -> RawData:
        """Return a data frame (in memory or Dask) or views without some columns; other data are unchanged."""
        if not names:
            return self
        frame = nw.from_native(self.value, pass_through=True)
        return raw_data(_dropped(frame, names).to_native()) if isinstance(frame, nw.LazyFrame) else self

    def ids(self, left_out: Mapping[str, str] | None = None) -> NDArray[np.object_] | None:
        """Return the names of a frame's objects: the column excluded as an id, else a non-default index."""
        return None

    def present(self, view: str) -> NDArray[np.bool_]:
        """Return a mask (n,) of objects that have this view: not None, all NaN, or an empty row of a table."""
        rows = np.asarray(self.value)
        if rows.ndim == 0:
            raise ValueError(f"view {view!r} must hold an entry for each object; got {type(self.value).__name__}.")
        if rows.dtype.kind == "O":
            return RawList(list(rows)).present(view)
        if rows.dtype.kind != "f":
            return np.ones(len(rows), dtype=bool)
        missing: NDArray[np.bool_] = np.isnan(rows).all(tuple(range(1, rows.ndim)))
        return ~missing

    def filled(self, present: NDArray[np.bool_]) -> RawData:
        """Replace the objects that are not present by the first that is."""
        if present.all() or not present.any():
            return self
        return self.rows(np.where(present, np.arange(len(present)), int(present.argmax())))

    def rows(self, index: NDArray[np.int64]) -> RawData:
        """Select objects by position, possibly repeated."""
        return RawArray(np.asarray(self.value)[index])

    def series(self) -> list[Array] | None:
        """Return series (steps, channels) if the data are an array or a list of series, else None."""
        return None

    def refuse_no_table(self, name: str = "X", *, of_numbers: bool = False) -> None:
        """Raise TypeError for data without rows, saying how to make a table; ``of_numbers`` also checks the columns' types.

        Anything that may be a table passes.
        """
        what = self._instead_of_table(name)
        if what:
            raise TypeError(f"{name} must be an array, a data frame or a list of rows; got {what}.")

    def _instead_of_table(self, name: str) -> str:
        X = self.value
        if isinstance(X, str | bytes | PathLike):
            return f"the text {fspath(X)[:60]!r}. softecm.read_table(path).data has the rows of a file"
        if not isinstance(X, Sequence) and not hasattr(X, "__array__"):
            if X is None:
                return "None"
            several = isinstance(X, Iterator | Sized)
            return f"a {type(X).__name__}. Pass list(X)" if several else f"a value of type {type(X).__name__}"
        column = nw.from_native(X, series_only=True, pass_through=True)
        if not isinstance(column, nw.Series):
            return ""
        cells = column.to_list()
        nested = bool(cells) and isinstance(cells[0], list | tuple | np.ndarray)
        return "a column whose cells are lists. Pass X.tolist()" if nested else _single_values(cells, name)

    def array(self) -> Array:
        """Convert to an array."""
        return np.asarray(self.value)

    def columns(self) -> tuple[Cells, ...]:
        """Return the columns of a table; empty if data are not two-dimensional."""
        array = self.array()
        return tuple(ArrayCells(j, array[:, j]) for j in range(array.shape[1])) if array.ndim == 2 else ()

    def numbers(self) -> dict[Name, Array] | None:
        """Return the columns of a numeric table, NaN for missing values; None for other data."""
        try:
            rows = np.asarray(self.value)
            if rows.dtype.kind in "Oiu":  # unsigned differences would wrap around
                rows = rows.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        return dict(zip(count(), rows.T, strict=False)) if rows.ndim == 2 and rows.dtype.kind == "f" else None

    def refuse_words(self, name: str = "X") -> None:
        """Raise an error naming a column of text, dates or other objects where numbers are needed."""
        for cells in self.columns():
            refuse_other_type(cells, OTHER_TYPES.get(cells.kind_by_type) or _first_word(cells, name), name)

    def checked_by(self, check: Callable[Arguments, Checked], *args: Arguments.args, **kw: Arguments.kwargs) -> Checked:
        """Return the result of a scikit-learn check; errors about non-numbers name their place."""
        try:
            return check(*args, **kw)
        except OverflowError:
            refuse_huge(self.value)
            raise
        except (TypeError, ValueError) as error:
            self.refuse_words()
            refuse_ragged(self.value, "X")
            if "NAType" in str(error):
                raise ValueError("Input X contains NaN: fill in missing cells, or leave their rows out.") from error
            if "Complex data" in str(error) or "'complex'" in str(error):
                raise ValueError(
                    "X must hold real numbers. Complex data not supported: make columns of their parts, "
                    "np.hstack([X.real, X.imag]), or take abs(X)."
                ) from error
            raise

    def table(self, name: str = "X") -> RawTable:
        """Return a data frame or 2-D array as columns."""
        self.refuse_no_table(name)
        columns = self.columns()
        dimensions = 2 if columns or self.frame is not None else self.array().ndim
        if dimensions != 2:
            raise ValueError(
                f"{name} must be a table of rows and columns; got {dimensions} dimension{'s' if dimensions != 1 else ''}. "
                "Expected 2D array. Reshape your data: X.reshape(-1, 1) makes one column."
            )
        if not columns:
            raise ValueError(f"{name} must have at least one column; got 0 feature(s). A minimum of 1 is required.")
        if len(columns[0]) == 0:
            raise ValueError(f"{name} must have at least one row; got 0 sample(s). A minimum of 1 is required.")
        return RawTable(columns, None if self.frame is None else self.frame.implementation.name.lower(), self)


@dataclass(frozen=True)
class RawArray(RawData):
    """An array, without mask or gradients."""

    value: Array
    in_blocks = False

    @property
    def kind(self) -> Kind:
        """Object arrays with text are categories; text arrays may hold converted numbers and are rejected elsewhere."""
        if self.value.ndim == 3:
            return "series"
        words = self.value.ndim == 2 and self.value.dtype.kind == "O" and _holds_words(self.value.ravel())
        return "categories" if words else "numbers"

    def series(self) -> list[Array] | None:
        """Return the series of a 3-D array."""
        return list(self.value) if self.value.ndim == 3 else None

    def refuse_no_table(self, name: str = "X", *, of_numbers: bool = False) -> None:
        """Raise TypeError for a 1-D array, or for dates if ``of_numbers``."""
        if self.value.ndim < 2:
            super().refuse_no_table(name)
        elif of_numbers and self.value.dtype.kind in "mM":
            self.refuse_words(name)

    def _instead_of_table(self, name: str) -> str:
        return _single_values(self.value, name) if self.value.ndim else f"the single value {literal(self.value.item())}"


@dataclass(frozen=True)
class RawSparse(RawData):
    """Validated sparse rows."""

    is_sparse: ClassVar[bool] = True

    def present(self, view: str) -> NDArray[np.bool_]:
        """Return True for all objects."""
        return np.ones(self.value.shape[0], dtype=np.bool_)

    def _instead_of_table(self, name: str) -> str:
        return ""

    def numbers(self) -> None:
        """Return None: sparse rows are never made dense."""


@dataclass(frozen=True)
class RawFrame(RawData):
    """A data frame of any library."""

    frame: Frame

    @property
    def kind(self) -> Kind:
        """Columns' types decide."""
        return "categories" if len(self.frame.select(~cs.numeric()).columns) else "numbers"

    def without(self, names: Collection[str] | None) -> RawData:
        """Drop columns."""
        if not names:
            return self
        frame = _dropped(self.frame, names)
        return RawFrame(frame.to_native(), frame)

    def ids(self, left_out: Mapping[str, str] | None = None) -> NDArray[np.object_] | None:
        """Return the column excluded as an id, else a pandas index other than the default."""
        for name, reason in (left_out or {}).items():
            if reason.startswith("an id") and name in self.frame.columns:
                return np.array([str(cell) for cell in self.frame.get_column(name).to_list()], dtype=object)
        index = getattr(self.value, "index", None)
        if index is None or callable(index) or getattr(index, "start", None) is not None:
            return None
        return np.array([str(name) for name in index], dtype=object)

    def present(self, view: str) -> NDArray[np.bool_]:
        """Return a mask of rows that are not empty."""
        columns = [column.to_list() for column in self.frame.iter_columns()]
        empty = [np.asarray([value is None or value != value for value in cells]) for cells in columns]
        return ~np.logical_and.reduce(empty) if empty else np.ones(len(self.frame), dtype=bool)

    def rows(self, index: NDArray[np.int64]) -> RawData:
        """Select rows."""
        frame = self.frame[index.tolist()]
        return RawFrame(frame.to_native(), frame)

    def refuse_no_table(self, name: str = "X", *, of_numbers: bool = False) -> None:
        """Raise an error for a frame without columns, or with dates if ``of_numbers``."""
        if not self.frame.columns:
            raise ValueError(
                f"{name} must have at least one column; got a data frame of {len(self.value)} rows without any."
            )
        for cells in self.columns() if of_numbers else ():
            other = "times of day" if cells.values.dtype == nw.Time else OTHER_TYPES.get(cells.kind_by_type, "")
            refuse_other_type(cells, other, name)

    def columns(self) -> tuple[Cells, ...]:
        """Return the frame's columns."""
        return tuple(SeriesCells(column.name, column) for column in self.frame.iter_columns())

    def numbers(self) -> dict[Name, Array]:
        """Return the columns by name."""
        columns = self.frame.iter_columns()
        return {c.name: np.asarray(c.cast(nw.Float64).to_numpy(), dtype=np.float64) for c in columns}


@dataclass(frozen=True)
class RawList(RawData):
    """A list or tuple of rows or series."""

    value: Sequence[Any]

    @property
    def kind(self) -> Kind:
        """Arrays of steps are series, and so are numeric rows of different lengths, which a table can't have."""
        rows = self.value
        if rows and (all(getattr(row, "ndim", 0) == 2 for row in rows) or self._is_ragged()):
            return "series"
        nested = bool(rows) and all(isinstance(row, list | tuple) for row in rows)
        return "categories" if nested and any(map(_holds_words, rows)) else "numbers"

    @property
    def in_blocks(self) -> bool:
        """Whether the first entry is in blocks."""
        return bool(self.value) and RawData(self.value[0]).in_blocks

    def present(self, view: str) -> NDArray[np.bool_]:
        """Return a mask of entries that are not empty."""
        return np.array([not _is_empty(one) for one in self.value], dtype=bool)

    def rows(self, index: NDArray[np.int64]) -> RawData:
        """Select entries."""
        return RawList([self.value[i] for i in index.tolist()])

    def _is_ragged(self) -> bool:
        flat = all(getattr(r, "ndim", 1) == 1 and hasattr(r, "__len__") and kind_of(r) != "text" for r in self.value)
        if not flat or len({len(row) for row in self.value}) == 1:
            return False
        return not any(kind_of(cell) == "text" for row in self.value for cell in row)

    def series(self) -> list[Array] | None:
        """Return the series if all entries are 1-D or 2-D arrays."""
        arrays = [row for row in self.value if isinstance(row, np.ndarray) and row.ndim in (1, 2)]
        alike = len(arrays) == len(self.value) > 0
        return [row.reshape(len(row), -1) for row in arrays] if alike else None

    def _instead_of_table(self, name: str) -> str:
        if self.value and isinstance(self.value[0], Mapping):
            return "a list of dicts. pandas.DataFrame(X) makes a table of them"
        return _single_values(self.value, name)

    def array(self) -> Array:
        """Convert to an object array if it holds text, else to floats if possible."""
        first = self.value[0] if self.value else None
        try:
            if kind_of(first) == "text" or not isinstance(first, Sequence):
                return np.asarray(self.value)
            cells = np.asarray(self.value, dtype=object)
        except ValueError:
            refuse_ragged(self.value, "X")
            raise
        if cells.ndim < 2:
            refuse_ragged(self.value, "X")
        try:
            return cells if _holds_words(cells.ravel()) else np.asarray(self.value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return cells


@dataclass(frozen=True)
class RawViews(RawData):
    """A dict of views of the same objects."""

    views: Mapping[Any, RawData] = field(default_factory=dict)
    in_blocks = False

    @staticmethod
    def of(views: Mapping[Any, RawData]) -> RawViews:
        """Combine several views."""
        return RawViews({name: part.value for name, part in views.items()}, views=views)

    def without(self, names: Collection[str] | None) -> RawData:
        """Drop columns of every view."""
        return RawViews.of({name: part.without(names) for name, part in self.views.items()}) if names else self

    def _instead_of_table(self, name: str) -> str:
        return "a dict. pandas.DataFrame(X) makes a table of its columns"


@dataclass(frozen=True)
class RawTable:
    """A table by column."""

    columns: tuple[Cells, ...]
    backend: str | None  # pandas, polars or pyarrow; None for an array
    source: RawData | None = None

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), len(self.columns)

    @property
    def names(self) -> list[str | int]:
        """Names of the columns; positions for an array."""
        return [c.name for c in self.columns]


def raw_data(X: Any, name: str = "X") -> RawData:
    """Dispatch input data by type; all data given by a user pass through here.

    Masked cells become missing values: NaN among numbers, None elsewhere. Tensors lose their gradients. Damaged sparse
    matrices and duplicate column names raise an error.
    """
    if isinstance(X, RawData):
        return X
    if isinstance(X, np.ndarray):
        if X.dtype.names:
            raise TypeError(
                f"{name} must be an array of plain cells; got records with the fields {', '.join(X.dtype.names)}. "
                f"pandas.DataFrame({name}) makes a table of them."
            )
        return RawArray(plain_array(X, name))
    if RawData(X).in_blocks:
        return RawData(X)
    if issparse(X):  # before the check for dicts: SciPy's DOK format is one
        return RawSparse(sound_rows(X, name))
    if isinstance(X, memoryview):
        return RawArray(np.asarray(X))
    if is_views(X):
        views = {key: raw_data(part, name) for key, part in X.items()}
        if any(part.in_blocks for part in views.values()):
            raise TypeError(VIEWS_IN_BLOCKS)
        return RawViews.of(views)
    if isinstance(X, list | tuple):
        if RawList(X).in_blocks:
            return RawList(X)
        _refuse_pair(X, name)
        special = any(isinstance(row, np.ma.MaskedArray | torch.Tensor) for row in X)
        return RawList([as_plain(row, name) for row in X] if special else X)
    if getattr(X, "columns", None) is not None:
        _refuse_names(getattr(X, "column_names", X.columns), name)
    frame = frame_of(X)
    if frame is not None:
        return RawFrame(X, frame)
    if hasattr(X, "__array__") and not isinstance(nw.from_native(X, series_only=True, pass_through=True), nw.Series):
        return RawArray(plain_array(X, name))
    return RawData(X)


def is_views(X: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether data are a dict of views, or of data sets; SciPy's DOK format is a dict, too."""
    return isinstance(X, Mapping) and not issparse(X)


def _refuse_pair(X: Sequence[Any], name: str) -> None:
    """Raise TypeError for a tuple of objects and their names or labels."""
    if len(X) != 2 or not all(isinstance(part, Sized) for part in X) or len(X[0]) != len(X[1]):
        return
    of_objects = [getattr(part, "ndim", 1) > 1 or (_is_list(part) and any(map(_is_list, part))) for part in X]
    if of_objects[0] and not of_objects[1] and np.asarray(X[1]).dtype.kind != "f":
        raise TypeError(
            f"{name} must be the objects alone; got a pair of {len(X[0])} objects and {len(X[1])} names or labels. Pass the "
            f"first part, fit({name}[0])."
        )


def _is_list(part: object) -> TypeGuard[Sequence[object]]:
    return isinstance(part, list | tuple | np.ndarray)


def as_plain(X: Any, name: str = "X") -> Any:
    """Return data of any type as arrays, frames, lists and validated sparse rows."""
    return raw_data(X, name).value


def read_table(X: object, name: str = "X") -> RawTable:
    """Return a data frame or 2-D array as columns."""
    return raw_data(X, name).table(name)


def without(X: object, names: Collection[str] | None) -> Any:
    """Return a data frame (in memory or Dask), or a dict of these, without some columns; other data are unchanged."""
    return raw_data(X).without(names).value if names else X


def ids_of(X: object, left_out: Mapping[str, str] | None = None) -> NDArray[np.object_] | None:
    """Return the names of a frame's objects: the column excluded as an id, else a non-default pandas index.

    Examples
    --------
    >>> import pandas as pd
    >>> ids_of(pd.DataFrame({"size": [1.0, 2.0]}, index=["Ann", "Bob"])).tolist()
    ['Ann', 'Bob']
    >>> ids_of(pd.DataFrame({"size": [1.0, 2.0]})) is None
    True
    """
    return raw_data(X).ids(left_out)


def _dropped(frame: Any, names: Collection[str]) -> Any:
    """Drop columns of a frame, in memory or lazy."""
    unwanted = {str(name) for name in names}  # model files store names as text
    return frame.drop([name for name in frame.collect_schema().names() if str(name) in unwanted])


def _is_empty(value: object) -> bool:
    """Whether a value is None, NaN, or contains only these."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return bool(np.isnan(value).all())
    return _is_list(value) and len(value) > 0 and all(map(_is_empty, value))


def _refuse_names(columns: Iterable[Hashable], name: str) -> None:
    for column, times in Counter(columns).items():
        if column is None or column != column:
            raise ValueError(f"{name} must have a name for every column; got {column}. Name them: X.columns = [...].")
        if times > 1:
            raise ValueError(
                f"{name} must have a name of its own for every column; got {str(column)!r} more than once. Rename one of "
                "them."
            )
        refuse_unwritable([column], f"the names of {name}'s columns")


def _holds_words(cells: Iterable[object]) -> bool:
    return any(isinstance(cell, str | bool) for cell in cells)


def _single_values(X: Sequence[Any] | Array, name: str) -> str:
    """Return what is wrong with values that can neither be rows nor numbers; empty if the first may be."""
    first = X[0] if len(X) else 0
    if kind_of(first) == "text":
        return (
            f"words, such as {str(first)[:40]!r}. Compare them with a distance of your own: "
            f"SoftECM(metric='precomputed').fit([[distance(a, b) for b in {name}] for a in {name}]); or give a list of "
            "rows, each a list of cells"
        )
    if isinstance(first, Real | Sized):
        return ""
    return f"a list of {type(first).__name__}, such as {repr(first)[:40]}. Pass a list of rows, each a list of cells"


def _is_column(part: object) -> bool:
    """Whether a value of a dict is a cell or a column rather than a table."""
    if kind_of(part) == "text" or not isinstance(part, Collection):
        return True
    return not hasattr(part, "columns") and len(part) > 0 and np.isscalar(next(iter(part)))


def refuse_columns(views: Mapping[Any, RawData]) -> None:
    """Raise TypeError for a dict of columns: values of a dict are views, each a table."""
    if views and all(_is_column(part.value) for part in views.values()):
        raise TypeError(
            "X must be an array, a data frame or a list of rows; got a dict of columns. pandas.DataFrame(X) makes a table "
            "of them; in a dict of views each is a table of its own."
        )


def refuse_other_type(cells: Cells, kind: str, name: str) -> None:
    """Raise ValueError for a column whose ``kind`` is not numeric; an empty ``kind`` passes."""
    if kind:
        raise ValueError(
            f"{name} must hold numbers only; {cells.label} holds {kind}. Use SoftECM, whose {option('metric', 'auto')} "
            "compares text and dates, too, turn the column into numbers, or leave it out."
        )


def _first_word(cells: Cells, name: str) -> str:
    """Describe the first cell of a column that is text or a date; empty if there is none, TypeError for other objects."""
    for start, part in cells.chunks():
        for row, cell in enumerate(part, start):
            if kind_of(cell) == "text":
                try:
                    float(cell)
                except ValueError:
                    return f"text ({visible(cell[:20])!r} in {place('row', row)})"
            elif hasattr(cell, "isoformat"):
                return f"dates ({cell} in {place('row', row)})"
            elif kind_of(cell) == "other" and cell is not None and not isinstance(cell, complex):
                raise TypeError(  # scikit-learn checks these words
                    f"{name} must hold numbers only: an argument must be a string or a number, and {cells.label} holds a "
                    f"value of type {type(cell).__name__} in {place('row', row)}. Turn the column into numbers, or leave it "
                    "out."
                )
    return ""
