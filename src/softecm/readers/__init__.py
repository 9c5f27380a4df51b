"""Readers of files: one module per format, one list of formats.

A new format is a function from a path and the user's options to a ``Sheet`` (a table, whose columns are then
interpreted like those of any table) or to ``Loaded`` objects, and a line in ``READERS``, which the command line's help,
the choice of the reader and its contract tests use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from softecm._errors import ReadError as ReadError
from softecm._errors import check_there
from softecm._wording import option
from softecm.readers.arrays import read_arrays
from softecm.readers.base import Column as Column
from softecm.readers.base import Expected as Expected
from softecm.readers.base import Format as Format
from softecm.readers.base import Loaded as Loaded
from softecm.readers.base import ReadOptions as ReadOptions
from softecm.readers.base import Sheet as Sheet
from softecm.readers.base import Written as Written
from softecm.readers.base import own_names
from softecm.readers.delimited import read_delimited
from softecm.readers.frames import read_arff, read_excel, read_feather, read_json, read_parquet
from softecm.readers.matrices import symmetrized
from softecm.readers.rows import named_as_columns, without_blank, without_rows
from softecm.readers.series import read_columns, read_long, read_rows, read_ts
from softecm.readers.table import check_not_texts, understood
from softecm.readers.views import Beside as Beside
from softecm.readers.views import read_views

DELIMITED = Format("CSV", (".csv", ".tsv", ".txt", ".data", ".dat"), read_delimited)
PARQUET = Format("Parquet", (".parquet", ".pq"), read_parquet)

#: All formats; files with other suffixes are delimited text.
READERS: tuple[Format, ...] = (
    DELIMITED,
    PARQUET,
    Format("Feather", (".feather", ".arrow"), read_feather),
    Format("JSON", (".json", ".jsonl", ".ndjson"), read_json),
    Format("Excel, OpenDocument", (".xlsx", ".xlsm", ".xls", ".ods"), read_excel),
    Format("ARFF", (".arff",), read_arff),
    Format(".ts", (".ts",), read_ts),
    Format(".npy", (".npy",), read_arrays),
    Format(".npz", (".npz",), read_arrays),
)


#: Magic numbers of compressed files: gzip, bzip2, xz, zstandard, zip.
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zX", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")


def read(path: Path, options: ReadOptions, beside: Beside | None = None) -> Loaded:
    """Return the objects of a file, with their data from other files.

    Parameters
    ----------
    path : Path
    options : ReadOptions
    beside : Beside, optional
        Files with other views of the same objects.

    Raises
    ------
    ReadError
        For anything the user can fix: the message says how.
    """
    if beside:
        return read_views(path, beside, options, _read)
    loaded = _read(path, options)
    check_not_texts(path, loaded)
    return loaded


def _read(path: Path, options: ReadOptions) -> Loaded:
    check_file(path)
    content = format_of(path).reader(path, options)
    loaded = content if isinstance(content, Loaded) else objects_of(path, content, options)
    return replace(symmetrized(path, loaded, options), code=_code(path, options))


def _code(path: Path, options: ReadOptions) -> tuple[str, ...]:
    """Return the same in Python."""
    chosen = {part.name: getattr(options, part.name) for part in fields(options) if part.name != "expected"}
    arguments = "".join(f", {name}={value!r}" for name, value in chosen.items() if value not in (None, ()))
    call = f"read_table({str(path)!r}{arguments})"
    lines = [f"X = {call}.data"] if options.known is None else [f"table = {call}", "X, y = table.data, table.known"]
    return "from softecm import read_table", *lines


def objects_of(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """Return the objects of a table; ``path`` is for messages."""
    if not len(sheet.frame):
        raise ReadError(f"{path} has column names but no rows: there is nothing to cluster.")
    sheet = without_blank(without_rows(path, _renamed(path, sheet, options.names), options.drop_rows))
    if options.in_columns:
        return read_columns(path, sheet, options)
    if options.long:
        return read_long(path, sheet, options)
    if options.states or options.series:
        return read_rows(path, sheet, options)
    return understood(path, *named_as_columns(sheet, options))


def _renamed(path: Path, sheet: Sheet, names: Sequence[str]) -> Sheet:
    """Rename the columns of a table to the given names."""
    unique, notes = own_names(names)
    if not names or unique == list(sheet.frame.columns):
        return sheet
    if len(names) != sheet.frame.shape[1]:
        raise ReadError(
            f"{option('names')} must name each of the {sheet.frame.shape[1]} columns of {path}; got {len(names)}."
        )
    return replace(sheet, frame=sheet.frame.set_axis(unique, axis=1), notes=(*sheet.notes, *notes))


def format_of(path: Path) -> Format:
    """Return the format of a file by its suffix; delimited text for others."""
    return next((one for one in READERS if one.takes(path)), DELIMITED)


def check_file(path: Path) -> None:
    """Raise an error for a file that can't be opened or is empty."""
    check_there(path)
    try:
        with open(path, "rb") as file:
            start = file.read(4)
    except OSError as error:
        raise ReadError(f"{path} can't be read: {(error.strerror or str(error)).lower()}.") from error
    if not start:
        raise ReadError(f"{path} is empty: there is nothing to cluster.")
    if start.startswith(COMPRESSED) and format_of(path) is DELIMITED:
        raise ReadError(f"{path} is compressed: unpack it first.")
