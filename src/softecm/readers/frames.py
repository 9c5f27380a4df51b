"""Formats read by a library into a pandas data frame: Parquet, Feather, JSON, workbooks, ARFF."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from softecm._text import some_of
from softecm._wording import option
from softecm.readers.base import ReadError, ReadOptions, Sheet, brief, check_unpacked, own_names, readable, short
from softecm.readers.rows import typed
from softecm.readers.sniff import MOST_ABOVE

if TYPE_CHECKING:
    import pandas as pd

ENGINE: Literal["calamine"] = "calamine"  # reads .xlsx, .xls and .ods


def sheet(path: Path, options: ReadOptions, load: Callable[[], pd.DataFrame]) -> Sheet:
    """Return the frame of ``load``, or raise a ``ReadError``.

    Parameters
    ----------
    path : Path
    options : ReadOptions
    load : callable
        Returns the data frame; may raise any exception.
    """
    kind = path.suffix.lower()[1:]
    with readable(path, f".{kind}"), warnings.catch_warnings(action="ignore"):
        frame = load()
    frame.columns = [str(name) for name in frame.columns]
    return Sheet(without_marks(frame, options), {"format": kind})


def without_marks(frame: pd.DataFrame, options: ReadOptions) -> pd.DataFrame:
    """Return the table with cells missing that hold one of the user's markers, as text or as numbers."""
    marks: list[object] = list(options.missing or ())
    for mark in options.missing or ():
        with suppress(ValueError):
            marks.append(float(mark))
    marked = {name: frame[name].isin(marks) for name in frame.columns} if marks else {}
    return frame.assign(**{name: frame[name].mask(cells) for name, cells in marked.items() if cells.any()})


def read_parquet(path: Path, options: ReadOptions) -> Sheet:
    """Return the whole table; larger files are read by blocks elsewhere."""

    def load() -> pd.DataFrame:
        import pandas as pd
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            _check_text(file.schema_arrow, file.read)
        return pd.read_parquet(path)

    return sheet(path, options, load)


def parquet_shape(path: Path) -> tuple[int, int]:
    """Return rows and columns, from the end of the file; (0, 0) for a damaged file, which reading reports."""
    try:
        from pyarrow import parquet

        about = parquet.read_metadata(path)
    except Exception:  # any exception of pyarrow
        return 0, 0
    return int(about.num_rows), int(about.num_columns)


def read_feather(path: Path, options: ReadOptions) -> Sheet:
    """Return the whole table."""

    def load() -> pd.DataFrame:
        import pandas as pd
        from pyarrow import feather

        _check_text(feather.read_table(path).schema, lambda columns: feather.read_table(path, columns))
        return pd.read_feather(path)

    return sheet(path, options, load)


def read_json(path: Path, options: ReadOptions) -> Sheet:
    """Return the records of a JSON list, of the only list in a JSON object, or of JSON lines; nested ones become columns."""
    return replace(sheet(path, options, lambda: _json_frame(path)), text=True)


def _json_frame(path: Path) -> pd.DataFrame:
    import pandas as pd

    text = path.read_text(encoding="utf-8-sig")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if error.msg != "Extra data" or len(lines) < 2:
            raise
        content = [json.loads(line) for line in lines]
    lists = {name: part for name, part in content.items() if _are_records(part)} if isinstance(content, dict) else {}
    if len(lists) == 1:
        content = next(iter(lists.values()))
    if not _are_records(content):
        several = f" it has {some_of(list(lists))}, so save one of them as a file;" if lists else ""
        raise ReadError(
            f'{path} must hold one list of records such as [{{"id": "a", "age": 3}}, …], an object for each row:{several} '
            "otherwise save it as CSV."
        )
    frame = pd.json_normalize(content)
    nested = next((name for name in frame.columns if frame[name].map(type).isin([list]).any()), None)
    if nested is not None:
        raise ReadError(
            f"{path} has lists in {short(str(nested))}, which are no cells: leave it out, or save it as CSV."
        )
    return typed(frame.astype(object).where(frame.notna(), None))


def _are_records(part: object) -> bool:
    return isinstance(part, list) and bool(part) and all(isinstance(one, dict) for one in part)


def _check_text(schema: Any, load: Callable[[list[str]], Any]) -> None:
    """Raise an error for duplicate column names, and for text that is not UTF-8 before pandas converts it."""
    import pyarrow as pa

    duplicate = next((name for name, count in Counter(schema.names).items() if count > 1), None)
    if duplicate is not None:
        raise ValueError(f"more than one column is called {short(duplicate)}")
    for field in schema:
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            try:
                load([field.name]).validate(full=True)
            except pa.ArrowInvalid as error:
                raise ValueError(f"the text of column {short(field.name)} is not UTF-8") from error


def read_arff(path: Path, options: ReadOptions) -> Sheet:
    """Return the table, with decoded text and ``?`` as missing value."""
    return sheet(path, options, lambda: _arff_frame(path))


def _arff_frame(path: Path) -> pd.DataFrame:
    import pandas as pd
    from scipy.io import arff

    try:
        data, _ = arff.loadarff(path)
    except NotImplementedError as error:
        raise ReadError(f"{path} has attributes that can't be read ({brief(error)}): save it as CSV.") from error
    except StopIteration as error:
        raise ReadError(f"{path} can't be read as .arff: it has no line @data.") from error
    except IndexError as error:
        raise ReadError(f"{path} has a row with fewer cells than there are attributes: fix it.") from error
    if not data.dtype.names:
        raise ReadError(f"{path} has no line @attribute, so its columns are unknown: save it as CSV.")
    frame = pd.DataFrame(data)
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = frame[name].str.decode("utf-8").replace("?", None)
    return frame


def read_excel(path: Path, options: ReadOptions) -> Sheet:
    """Return one sheet of an Excel or OpenDocument file: the first, unless the options name another."""
    notes: list[str] = []
    table = sheet(path, options, lambda: _excel_frame(path, options, notes))
    return replace(table, text=True, notes=tuple(notes))


def _excel_frame(path: Path, options: ReadOptions, notes: list[str]) -> pd.DataFrame:
    import pandas as pd

    check_unpacked(path)
    wanted: str | int = 0 if options.sheet is None else options.sheet
    with pd.ExcelFile(path, engine=ENGINE) as book:
        names = [short(str(name)) for name in book.sheet_names]
        if options.sheet is None and len(names) > 1:
            wanted = _first_sheet(path, book, names, notes)
        if options.sheet is not None and options.sheet not in book.sheet_names:
            raise ReadError(
                f"{path} has no sheet {options.sheet!r}: give one of {some_of(names)} with {option('sheet')}."
            )
        # Without a type, text such as 01067 would lose its zero.
        parse = partial(book.parse, wanted, na_values=["?"], dtype=object)
        if options.header is False:
            return typed(parse(header=None))
        first = book.parse(wanted, header=None, nrows=MOST_ABOVE)
        above = _rows_above(first)
        frame = typed(parse(header=above))
    if len(first):
        header = [str(name) if name == name else f"Unnamed: {j}" for j, name in enumerate(first.iloc[above])]
        frame.columns, duplicates = own_names(header)
        notes += duplicates
        notes += [f"the first {above} rows are above the table and skipped."] if above else []
    return frame


def _first_sheet(path: Path, book: pd.ExcelFile, names: Sequence[str], notes: list[str]) -> int:
    """Return the position of the first sheet, or of the only one with a table, with a note; raise an error for several."""
    if _has_table(book, 0):
        notes.append(
            f"the workbook's first sheet, {names[0]}, is read; for {some_of(names[1:])} give {option('sheet')}."
        )
        return 0
    filled = [k for k in range(1, len(names)) if _has_table(book, k)]
    if not filled:
        raise ReadError(f"{path} has no sheet with data: {some_of(names)} have no table.")
    if len(filled) > 1:
        listed = some_of([names[k] for k in filled])
        raise ReadError(
            f"{path}: the first sheet, {names[0]}, has no table: give {option('sheet')} with one of {listed}."
        )
    notes.append(f"the workbook's only sheet with data, {names[filled[0]]}, is read.")
    return filled[0]


def _has_table(book: pd.ExcelFile, sheet: int) -> bool:
    """Whether a sheet holds more than one row, which may be names of columns, and not just a column of text."""
    cells = book.parse(sheet, header=None, nrows=MOST_ABOVE).dropna(how="all").dropna(how="all", axis=1)
    return len(cells) > 1 and (cells.shape[1] > 1 or not cells.iloc[1:, 0].map(type).eq(str).all())


def _rows_above(first: pd.DataFrame) -> int:
    """Return the number of rows above the column names: with few cells, such as a title."""
    filled = first.notna().sum(axis=1).to_numpy()
    width = first.shape[1]
    table = (filled > max(1, width // 2)).nonzero()[0] if width > 2 else []
    if not len(table):
        return 0
    names = [cell for cell in first.iloc[table[0]] if cell == cell]
    return int(table[0]) if all(isinstance(name, str) for name in names) else 0
