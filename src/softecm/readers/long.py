"""Long tables, one row a series and time, as series: from any data frame, and from any file that holds a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softecm.readers.base import Loaded, ReadError, ReadOptions, Sheet, existing, short
from softecm.readers.columns import FileContext, as_numbers, words
from softecm.readers.series import Series, loaded_series

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import pandas as pd
    from narwhals.typing import IntoDataFrame


def from_long(
    frame: IntoDataFrame, *, id: str, time: str, values: str | list[str]
) -> tuple[list[Series], list[Hashable]]:
    """Series from a long table: one row a series and time.

    Parameters
    ----------
    frame : data frame (pandas, polars, pyarrow)
    id, time : str
        Columns that say which series and when.
    values : str or list of str
        The channels' columns.

    Returns
    -------
    series : list of (steps, channels) arrays, in the order in which ids first appear
    ids : list

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"who": ["a", "b", "a", "b"], "t": [1, 0, 0, 1], "v": [2.0, 3.0, 1.0, 4.0]})
    >>> series, ids = from_long(frame, id="who", time="t", values="v")
    >>> ids, series[0][:, 0].tolist()
    (['a', 'b'], [1.0, 2.0])
    """
    import narwhals.stable.v1 as nw

    table = nw.from_native(frame, eager_only=True)
    channels = [values] if isinstance(values, str) else list(values)
    for name in (id, time, *channels):
        if name not in table.columns:
            raise ValueError(f"column {name!r} is not in the table; it has {', '.join(map(repr, table.columns))}.")
    if len(table) == 0:
        raise ValueError("frame must hold at least one row; got none. Give one row a series and time.")
    if table[id].is_null().any():
        raise ValueError(
            f"column {id!r} must name a series in every row; some cells are missing. Leave those rows out."
        )
    numbers = np.column_stack([_numbers(table[c], c) for c in channels])
    return cut(table[id].to_list(), order_of(table[time]), numbers)


def _numbers(column: nw.Series[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} must hold numbers; got {column.dtype}. Turn it into floats, or leave it out of values."
        ) from error


def order_of(times: nw.Series[Any]) -> NDArray[np.intp]:
    """The rows in the order of time; rows without a time come last."""
    frame = times.alias("time").to_frame().with_row_index("row")
    return np.asarray(frame.sort("time", nulls_last=True)["row"].to_numpy(), dtype=np.intp)


def cut(
    names: Sequence[Hashable], order: NDArray[np.intp], numbers: NDArray[np.float64]
) -> tuple[list[Series], list[Hashable]]:
    """Rows (n, channels) with a series' name each, put in order and cut into series, the first named first.

    Examples
    --------
    >>> series, ids = cut(["b", "a", "b"], np.array([2, 1, 0]), np.array([[1.0], [2.0], [3.0]]))
    >>> ids, [one[:, 0].tolist() for one in series]
    (['b', 'a'], [[3.0, 1.0], [2.0]])
    """
    number: dict[Hashable, int] = {}
    which = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.intp)
    rows = order[np.argsort(which[order], kind="stable")]
    ends = np.cumsum(np.bincount(which, minlength=len(number)))
    return np.split(numbers[rows], ends[:-1]), list(number)


def read_long(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """The series of a file that holds one time step of one series a row."""
    frame = sheet.frame
    options = checked_long(path, frame, options)
    context = FileContext.of(path, sheet, options)
    numbers = np.column_stack([as_numbers(context, name, frame[name]) for name in options.value])
    order = in_order(path, frame, options)
    series, names = cut(frame[options.series_id].tolist(), order, numbers)
    labels = None
    if options.label_column:
        labels = words(frame.groupby(options.series_id, sort=False)[options.label_column].first())
    ids = np.array([str(name) for name in names], dtype=object)
    how = sheet.how | {"time": f"{options.time}, {_span(frame[options.time].iloc[order])}"}
    return loaded_series(series, ids, labels, how, (*sheet.code, *_code(options)), options.value)


def _span(times: pd.Series) -> str:
    """From when to when, of times in order."""
    known = times.dropna()
    return f"{short(known.iloc[0])} to {short(known.iloc[-1])}" if len(known) else "unknown"


def in_order(path: Path, frame: pd.DataFrame, options: ReadOptions) -> NDArray[np.intp]:
    """The rows of a long table in the order of time."""
    import narwhals.stable.v1 as nw

    try:
        return order_of(nw.from_native(frame[options.time], series_only=True))
    except TypeError as error:  # numbers and words, or words and dates
        raise ReadError(f"column {options.time} of {path} must hold times of one kind, to be put in order.") from error


def checked_long(path: Path, frame: pd.DataFrame, options: ReadOptions) -> ReadOptions:
    """The options with their columns by name; refuse series without a name and two values at one time."""
    key = options.series_id or options.id_column
    if not (key and options.time and options.value):
        raise ReadError("a long table of series needs all of --id-column, --time and --value.")
    columns = list(frame.columns)
    options = replace(
        options,
        series_id=existing(path, columns, key),
        time=existing(path, columns, options.time),
        value=tuple(existing(path, columns, name) for name in options.value),
        label_column=existing(path, columns, options.label_column) if options.label_column else None,
    )
    if frame[options.series_id].isna().any():
        raise ReadError(
            f"column {options.series_id} of {path} must name a series in every row; some cells are missing."
        )
    twice = frame.duplicated([options.series_id, options.time])
    if twice.any():
        row = frame[twice].iloc[0]
        raise ReadError(
            f"{path} has two values for series {short(row[options.series_id])} at time {short(row[options.time])}: keep "
            "one."
        )
    return options


def _code(options: ReadOptions) -> tuple[str, ...]:
    values = f"part.sort_values({options.time!r})[{list(options.value)!r}].to_numpy(float)"
    return (f"X = [{values} for _, part in table.groupby({options.series_id!r}, sort=False)]",)
