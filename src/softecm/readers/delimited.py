"""Delimited text: CSV, tabs, blanks; ``sniff`` infers the dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from softecm._text import counted
from softecm._wording import option
from softecm.readers.base import ReadError, ReadOptions, Sheet, brief, existing
from softecm.readers.sniff import BLANKS, Dialect, check_rows, repeated_names, sniff


def read_delimited(path: Path, options: ReadOptions) -> Sheet:
    """Return the table, with columns called "column 1" ... if the file does not name them."""
    import pandas as pd

    dialect = sniff(path, options)
    if again := repeated_names(path, dialect):
        count = counted(len(again), "line names", "lines name")
        note = f"{count} the columns again and {'is' if len(again) == 1 else 'are'} skipped, with page titles above."
        lines = [line for one in again for line in one]
        dialect = replace(dialect, skipped=(*dialect.skipped, *lines), notes=(*dialect.notes, note))
    below = check_rows(path, dialect)
    if below:
        last = f"{len(below)} lines have too few cells and are" if len(below) > 1 else "line has too few cells and is"
        note = f"the last {last} skipped."
        dialect = replace(dialect, skipped=(*dialect.skipped, *below), notes=(*dialect.notes, note))
    if dialect.n_fields == 1 and options.delimiter is None:
        raise ReadError(
            f"{path} seems to have only one column: give the delimiter with {option('delimiter')} "
            f"({option('delimiter', 'none')} if it has only one column)."
        )
    wanted = dialect.names if dialect.decimal == "," else _categories(path, dialect, options)
    reads_exactly = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)  # always; the option is deprecated
    read = partial(
        pd.read_csv,
        path,
        sep=r"\s+" if dialect.delimiter == BLANKS else dialect.delimiter or "\x1f",
        float_precision=None if reads_exactly else "round_trip",  # seeds depend on the last bit
        compression=None,
        encoding=dialect.encoding,
        header=0 if dialect.header else None,
        names=list(dialect.names),
        skiprows=list(dialect.skipped),
        na_values=[m for m in dialect.missing if m],
        skipinitialspace=True,
        low_memory=False,
        index_col=False,
    )
    try:
        try:
            frame = read(dtype=dict.fromkeys((*wanted, *dialect.codes), str))
        except OverflowError:  # an integer beyond all floats
            frame = read(dtype=str)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, ValueError) as error:
        raise ReadError(
            f"{path} can't be read as a table: {brief(error)}. Give {option('delimiter')} or {option('encoding')}."
        ) from error
    decimal = dialect.decimal if dialect.proved else ""
    return Sheet(frame, {"format": "text", **dialect.words()}, text=True, decimal=decimal, notes=dialect.notes)


def _categories(path: Path, dialect: Dialect, options: ReadOptions) -> Sequence[str]:
    """Return the columns that are categories regardless of content, by the user's options or a model's needs."""
    expected, names = options.expected, dialect.names
    if expected is not None:
        wanted = zip(expected.names or (), expected.kinds, strict=False)
        return [name for name, kind in wanted if kind == "category" and name in names]
    if "all" in options.categorical:
        return names
    return [existing(path, names, name) for name in options.categorical]
