"""Reading files and data frames from Python, like the command line."""

from __future__ import annotations

from dataclasses import fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import narwhals.stable.v1 as nw

from softecm._checks import check_flag, check_list, frame_of
from softecm._text import meant
from softecm._warnings import ReadingWarning, warn
from softecm._wording import literal
from softecm.readers import objects_of, read
from softecm.readers.base import ATTRIBUTES, Expected, Loaded, ReadError, ReadOptions, Sheet, Written, id_of
from softecm.readers.clock import read_times
from softecm.readers.columns import is_text
from softecm.readers.dates import TwoOrders, look_like_dates, read_dates
from softecm.readers.frames import without_marks
from softecm.readers.matrices import symmetrized
from softecm.readers.numbers import Ambiguous, MixedUnits, read_numbers
from softecm.readers.table import check_not_texts

if TYPE_CHECKING:
    import pandas as pd

    from softecm.spaces.base import ColumnKind

FRAME = Path("the data frame")  # its name in messages
SAMPLE = 500  # rows that determine whether text means numbers
OPTIONS = {f.name: str(f.type) for f in fields(ReadOptions) if f.name != "expected"}


def read_table(source: object, *, like: Loaded | None = None, id: str | None = None, **options: Any) -> Loaded:
    """Read the objects of a file or a data frame like ``softecm cluster``.

    Thousands separators, units, percent, decimal commas, dates, missing-value words, ids and free text are recognized,
    and a :class:`softecm.ReadingWarning` reports conversions.

    Parameters
    ----------
    source : path, or data frame of any kind supported by narwhals
    like : Loaded, optional
        An earlier result: the same columns are read in the same way, with the same ``missing``, ``names`` and ``unit``
        by default; for series also ``id_column``, ``time``, ``value``, ``channel`` and ``series``.
    id : str, optional
        The column with the names of the objects, like ``--id``; same as ``id_column``.
    **options
        The command line's options, with their names: ``decimal``, ``thousands``, ``dates``, ``missing``, ``numeric``,
        ``unit``, ``categorical``, ``ordinal``, ``drop``, ``drop_rows``, ``id_column``, ``label_column``, ``known`` (a column
        with the groups of some objects); for files also ``delimiter``, ``encoding``, ``header``, ``names``, ``sheet``,
        ``array``; for a matrix of dissimilarities that differ by direction ``symmetrize``, "mean" or "max"; for tables with
        one step of a series per row ``series_id``, ``time``, ``value``, ``channel``; ``time`` alone if each other column is
        a series, and ``series=True`` if each row is one. A list for options that take several columns or words.

    Returns
    -------
    loaded : Loaded
        ``data`` is the input of ``fit``, its rows labelled by the file's ids, with the columns' units for reports in
        ``data.attrs["units"]``; ``ids``, ``labels``, ``known`` (the ``y`` of ``fit``), ``columns`` (each
        with its kind and reason), ``notes``.

    Raises
    ------
    ReadError
        If an option is required, for example for ambiguous 1,273; a ``ValueError``.

    Examples
    --------
    >>> import pandas as pd
    >>> table = read_table(pd.DataFrame({"price": ["1 234,5", "980,0", "1 100,2"], "share": ["12 %", "5 %", "8 %"]}))
    >>> table.data
        price  share
    0  1234.5     12
    1   980.0      5
    2  1100.2      8
    """
    if id is not None:
        options.setdefault("id_column", id)
    chosen = _options(options) if like is None else _as_before(like, _options(options))
    loaded = _file(Path(fspath(source)), chosen) if isinstance(source, str | PathLike) else _frame(source, chosen)
    for note in loaded.notes:
        warn(note, ReadingWarning)
    if loaded.shape == "table" and hasattr(loaded.data, "attrs"):
        loaded.data.attrs["units"] = {c.name: c.written.unit for c in loaded.columns if c.written and c.written.unit}
    return replace(loaded, options=chosen)


def _file(path: Path, options: ReadOptions) -> Loaded:
    """Return the objects of a file; rows of a table are labelled by ids, so that results can be joined."""
    loaded = read(path, options)
    name = id_of(loaded.columns)
    if loaded.shape == "series" or loaded.ids is None or name is None:
        return loaded
    return replace(loaded, data=loaded.data.set_axis(loaded.ids, axis=0).rename_axis(name))


def _options(options: dict[str, Any]) -> ReadOptions:
    """Return the user's options, with a single word as a list of one for options that take several."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        known = sorted(OPTIONS)
        raise TypeError(
            f"read_table has no option {unknown[0]!r}; it has {', '.join(known)}.{meant(unknown[0], known)}"
        )
    chosen: dict[str, Any] = {name: _value(name, value) for name, value in options.items() if value is not None}
    return ReadOptions(**chosen)


def _value(name: str, value: object) -> object:
    """Return an option's value as its type; raise TypeError for another."""
    kind = OPTIONS[name]
    if kind.startswith("tuple"):
        return tuple(map(str, [value] if isinstance(value, str | int) else check_list(name, value, "texts")))
    if kind.startswith("bool"):
        return check_flag(name, value, "Leave it out to infer it from the file.")
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, such as the name of a column; got {literal(value)}.")
    return value


def _as_before(like: Loaded, options: ReadOptions) -> ReadOptions:
    """Return the user's options, with the columns and options of an earlier result as defaults."""
    if like.shape == "series":
        return options.like_series(like.options, like.columns)
    attributes = [c for c in like.columns if c.kind in ATTRIBUTES]
    kinds: dict[str, ColumnKind] = {c.name: cast("ColumnKind", c.kind) for c in attributes}
    kinds |= {name: "duration" for name in kinds if like.data[name].dtype.kind == "m"}
    unit = like.options.unit or (like.options.expected.unit if like.options.expected else ())
    gaps = bool(like.gaps) or like.categories
    expected = Expected(tuple(kinds.values()), tuple(kinds), gaps=gaps).as_in(like.columns, unit)
    said = {name: getattr(options, name) or getattr(like.options, name) for name in ("missing", "names")}
    return replace(options, **said, expected=expected)


def _frame(source: object, options: ReadOptions) -> Loaded:
    """Return the objects of a data frame of any kind."""
    given = frame_of(source)
    if given is None:
        raise TypeError(
            f"read_table takes a path or a data frame; got {type(source).__name__}. Arrays need no reading: give them "
            "to fit."
        )
    frame = given.to_pandas()  # the user's own is not changed
    if not len(frame.columns):
        raise ReadError(f"{FRAME} has no columns: there is nothing to cluster.")
    index, plain = frame.index, frame.reset_index(drop=True).set_axis([str(name) for name in frame.columns], axis=1)
    loaded = objects_of(FRAME, Sheet(without_marks(plain, options), {"format": "data frame"}, text=True), options)
    loaded = symmetrized(FRAME, loaded, options)
    check_not_texts(FRAME, loaded)
    if loaded.shape == "table":
        loaded.data.index = index.take(loaded.data.index)
    return loaded


def text_as_values(X: object) -> dict[str, str]:
    """Return text columns of a data frame that mean numbers or dates, with an example; checks the first rows.

    Integers as text are not included: they may be codes.
    """
    frame = frame_of(X)
    if frame is None:
        return {}
    texts = [c for c in frame.iter_columns() if c.dtype in (nw.String, nw.Object)]
    if not texts:
        return {}
    examples = {c.name: _example(c.head(SAMPLE).to_pandas()) for c in texts}
    return {name: example for name, example in examples.items() if example}


def _example(column: pd.Series) -> str:
    """Return a cell of a text column that means numbers or dates; "" otherwise."""
    cells = column.dropna()
    if not len(cells) or not is_text(cells) or not isinstance(cells.iloc[0], str):
        return ""
    try:
        numbers = read_numbers(cells, "")
        if numbers is None:
            are_dates = look_like_dates(cells) and read_dates(cells) is not None
            return str(cells.iloc[0]) if are_dates or read_times(cells) is not None else ""
        codes = numbers.values.dtype.kind == "i" and numbers.written == Written()
    except (Ambiguous, MixedUnits, TwoOrders):
        codes = False
    except UnicodeEncodeError:  # a lone surrogate: an error when categories are learned
        return ""
    return "" if codes else str(cells.iloc[0])
