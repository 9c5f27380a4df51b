"""Files and data frames as the command line reads them, from Python."""

from __future__ import annotations

from dataclasses import fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import narwhals.stable.v1 as nw

from softecm._checks import frame_of
from softecm._text import meant
from softecm._warnings import ReadingWarning, warn
from softecm.readers import objects_of, read
from softecm.readers.base import ATTRIBUTES, Expected, Loaded, ReadError, ReadOptions, Sheet, Written
from softecm.readers.columns import is_text
from softecm.readers.dates import TwoOrders, look_like_dates, read_dates
from softecm.readers.frames import without_marks
from softecm.readers.numbers import Ambiguous, MixedUnits, read_numbers

if TYPE_CHECKING:
    import pandas as pd

    from softecm.spaces.base import ColumnKind

FRAME = Path("the data frame")  # what messages call it
SAMPLE = 500  # rows that say whether text means numbers
OPTIONS = {f.name: str(f.type) for f in fields(ReadOptions) if f.name != "expected"}


def read_table(source: object, *, like: Loaded | None = None, id: str | None = None, **options: Any) -> Loaded:
    """Objects of a file or a data frame, read as ``softecm cluster`` reads them.

    Numbers with thousands, units, percent or a decimal comma, dates, gaps in words, ids and free text are recognised, and
    a :class:`softecm.ReadingWarning` tells what was not taken as it stands.

    Parameters
    ----------
    source : path, or data frame of any kind narwhals knows
    like : Loaded, optional
        What another file was read as: the same columns are then taken, each as it was there, with the same ``missing``,
        ``names`` and ``unit`` unless others are given; for series also ``id_column``, ``time`` and ``value``.
    id : str, optional
        The column that names the objects, as ``--id``; ``id_column`` says the same.
    **options
        As the command line's, with their names: ``decimal``, ``thousands``, ``dates``, ``missing``, ``numeric``,
        ``unit``, ``categorical``, ``ordinal``, ``drop``, ``drop_rows``, ``id_column``, ``label_column``; for files also
        ``delimiter``, ``encoding``, ``header``, ``names``, ``sheet``, ``array``;
        for tables with a step of a series a row ``series_id``, ``time``, ``value``. Where
        several columns or words may be given, a list.

    Returns
    -------
    loaded : Loaded
        ``data`` is what ``fit`` takes, its rows called by the file's ids; ``ids``, ``labels``, ``columns`` (each with what
        it was taken as and why), ``notes``.

    Raises
    ------
    ReadError
        Where something must be said, such as whether 1,273 has decimals; a ``ValueError``.

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
    return replace(loaded, options=chosen)


def _file(path: Path, options: ReadOptions) -> Loaded:
    """The objects of a file; rows of a table go by their ids, so that results can be joined to them."""
    loaded = read(path, options)
    name = next((c.name for c in loaded.columns if c.kind == "id"), None)
    if loaded.shape == "series" or loaded.ids is None or name is None:
        return loaded
    return replace(loaded, data=loaded.data.set_axis(loaded.ids, axis=0).rename_axis(name))


def _options(options: dict[str, Any]) -> ReadOptions:
    """The user's options, one word where several may be given being a list of one."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        known = sorted(OPTIONS)
        raise TypeError(
            f"read_table has no option {unknown[0]!r}; it has {', '.join(known)}.{meant(unknown[0], known)}"
        )
    several = {name for name, kind in OPTIONS.items() if kind.startswith("tuple")}
    listed = {
        name: tuple(map(str, [value] if isinstance(value, str | int) else value))
        for name, value in options.items()
        if name in several and value is not None
    }
    return ReadOptions(**{**options, **listed})


def _as_before(like: Loaded, options: ReadOptions) -> ReadOptions:
    """What the user says now, with the columns of an earlier reading and what was said of their file."""
    if like.shape == "series":
        return options.like_series(like.options, like.columns)
    attributes = [c for c in like.columns if c.kind in ATTRIBUTES]
    kinds: dict[str, ColumnKind] = {c.name: cast("ColumnKind", c.kind) for c in attributes}
    kinds |= {name: "duration" for name in kinds if like.data[name].dtype.kind == "m"}
    ids = next((c.name for c in like.columns if c.kind == "id"), None)
    written = {c.name: c.written or Written() for c in attributes}
    known, gaps = tuple(c.name for c in like.columns), bool(like.gaps) or like.categories
    expected = Expected(tuple(kinds.values()), tuple(kinds), ids, written, gaps, known)
    said = {name: getattr(options, name) or getattr(like.options, name) for name in ("missing", "names", "unit")}
    return replace(options, **said, expected=expected)


def _frame(source: object, options: ReadOptions) -> Loaded:
    frame = as_pandas(source)
    if not len(frame.columns):
        raise ReadError(f"{FRAME} has no columns: there is nothing to cluster.")
    index, plain = frame.index, frame.reset_index(drop=True).set_axis([str(name) for name in frame.columns], axis=1)
    loaded = objects_of(FRAME, Sheet(without_marks(plain, options), {"format": "data frame"}, text=True), options)
    if loaded.shape == "table":
        loaded.data.index = index.take(loaded.data.index)
    return loaded


def as_pandas(source: object) -> pd.DataFrame:
    """A data frame of any kind as one of pandas; the user's own is not touched."""
    frame = frame_of(source)
    if frame is None:
        raise TypeError(
            f"read_table takes a path or a data frame; got {type(source).__name__}. Arrays need no reading: give them "
            "to fit."
        )
    return frame.to_pandas()


def text_as_values(X: object) -> dict[str, str]:
    """Columns of a data frame whose text means numbers or dates, each with an example; looks at the first rows.

    Whole numbers as text are not among them: they may well be codes.
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
    """A cell of a column of text that means numbers or dates; empty where it means neither."""
    cells = column.dropna()
    if not len(cells) or not is_text(cells) or not isinstance(cells.iloc[0], str):
        return ""
    try:
        numbers = read_numbers(cells, "")
        if numbers is None:
            return str(cells.iloc[0]) if look_like_dates(cells) and read_dates(cells) is not None else ""
        codes = numbers.values.dtype.kind == "i" and numbers.written == Written()
    except (Ambiguous, MixedUnits, TwoOrders):
        codes = False
    except UnicodeEncodeError:  # half a character: refused where categories are learned
        return ""
    return "" if codes else str(cells.iloc[0])
