"""A table as objects: which columns to cluster by, which one names the rows, which one has the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._text import some_of
from softecm.readers.answers import told_orders
from softecm.readers.base import (
    Column,
    Expected,
    Loaded,
    Names,
    ReadError,
    ReadOptions,
    Sheet,
    Written,
    check_names,
    existing,
    option,
    short,
)
from softecm.readers.columns import FileContext, expected_column, missing_in, shown, understood_column, words
from softecm.readers.hints import step_hint, typo_hints
from softecm.readers.rows import without_total

if TYPE_CHECKING:
    import pandas as pd


def understood(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """The objects of a table.

    Parameters
    ----------
    path : Path
        For what is said about it.
    sheet : Sheet
    options : ReadOptions
    """
    check_names(path, sheet.frame.columns)
    sheet = without_total(sheet)
    frame = sheet.frame
    options = _by_name(path, list(frame.columns), options)
    context, found = FileContext.of(path, sheet, options), _Found(notes=list(sheet.notes))
    if options.expected is None:
        for name in frame.columns:
            found.take(frame[name], context)
        hint = step_hint(found.columns, found.kept) if found.ids is None else ""
        found.notes += [hint] if hint else []
        found.notes += told_orders(found.kept)
        found.notes += typo_hints(found.kept)
    else:
        found.take_expected(frame, context, options.expected)
    if not found.kept:
        raise ReadError(_nothing_left(path, found.columns))
    ids = None if found.ids is None else _ids(path, found.ids, options.id_column)
    labels = sheet.labels if found.labels is None else words(found.labels)
    filled = _filled(path, found)
    if ids is None and (options.drop_rows or not filled.all()):
        ids = _numbered(frame.index)
    if not filled.all():
        kept = np.flatnonzero(filled)
        ids = None if ids is None else ids[kept]
        labels = None if labels is None else labels[kept]
        found.kept = {name: values.iloc[kept] for name, values in found.kept.items()}
        frame = frame.iloc[kept]
        lost = len(filled) - len(kept)
        found.columns = [replace(c, gaps=c.gaps - lost) if c.name in found.kept else c for c in found.columns]
    columns, notes = tuple(found.columns), tuple(found.notes)
    code = _code(path, sheet, options, found)
    data = type(frame)({name: _plain(values) for name, values in found.kept.items()}, index=frame.index)
    return Loaded(data, "table", ids, labels, columns, sheet.how, notes, code, frame)


@dataclass
class _Found:
    """What the columns so far are for."""

    columns: list[Column] = field(default_factory=list)
    kept: dict[str, pd.Series] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ids: pd.Series | None = None
    labels: pd.Series | None = None

    def take(self, column: pd.Series, context: FileContext) -> None:
        """Look at one more column."""
        name, options = str(column.name), context.options
        if name in (options.label_column, options.id_column):
            self._set_aside(column, options)
            return
        may_be_id = options.id_column is None and self.ids is None
        found = understood_column(column, context, may_be_id=may_be_id)
        self.columns.append(found.column)
        self.notes += found.remarks
        if found.column.kind == "id":
            self.ids = column
        elif found.values is not None:
            self.kept[name] = found.values

    def take_expected(self, frame: pd.DataFrame, context: FileContext, expected: Expected) -> None:
        """Take the columns a model wants, as what it wants them."""
        path, options = context.path, context.options
        if options.id_column is None and _names_objects(frame, expected):
            options = replace(options, id_column=expected.id_column)
        aside = [name for name in (options.label_column, options.id_column) if name is not None]
        wanted = expected.among(path, [name for name in frame.columns if name not in aside])
        unused = [short(name) for name in expected.unused(list(frame.columns)) if name not in aside]
        if unused:
            self.notes.append(f"not used, for the fit did not have them: {some_of(unused, 5)}.")
        for name in aside:
            self._set_aside(frame[name], options)
        for name, kind in wanted.items():
            found = expected_column(context, frame[name], kind, expected.written.get(name, Written()))
            assert found.values is not None
            self.kept[name] = found.values
            self.columns.append(found.column)
            self.notes += found.remarks

    def _set_aside(self, column: pd.Series, options: ReadOptions) -> None:
        """A column that has the classes or the names of the objects."""
        name, gaps = str(column.name), missing_in(column)
        if name == options.label_column:
            self.labels = column
            self.columns.append(Column(name, "label", shown(column), gaps, "as asked"))
        else:
            self.ids = column
            self.columns.append(Column(name, "id", shown(column), gaps, "as asked"))


def _filled(path: Path, found: _Found) -> NDArray[np.bool_]:
    """Which rows have a value to cluster by; those without are said."""
    n = len(next(iter(found.kept.values())))
    if not all(missing_in(values) for values in found.kept.values()):
        return np.ones(n, dtype=bool)
    filled = np.zeros(n, dtype=bool)
    for values in found.kept.values():
        filled |= values.notna().to_numpy()
    empty = np.flatnonzero(~filled)
    if len(empty) == n:
        kept = ", ".join(short(name) for name in list(found.kept)[:12])
        raise ReadError(
            f"{path} has no value in any row of the columns to cluster by, {kept}: see whether it is the right file."
            f"{_words_away(found.columns)}"
        )
    if len(empty):
        one = len(empty) == 1
        first = int(next(iter(found.kept.values())).index[empty[0]])
        rows, more = ("1 row has", "") if one else (f"{len(empty)} rows have", f" and {len(empty) - 1} more")
        found.notes.append(
            f"{rows} no value to cluster by and {'is' if one else 'are'} left out: row {first + 1}{more}."
            f"{_words_away(found.columns)}"
        )
    return filled


def _words_away(columns: Sequence[Column]) -> str:
    """Which columns of text were left out, and how to keep them."""
    from softecm.spaces.column_roles import FREE

    away = [c for c in columns if c.kind == "left out" and c.detail.startswith(FREE)]
    if not away:
        return ""
    listed = some_of([f"{short(c.name)} ({c.detail})" for c in away], 3)
    return f" Left out as well: {listed}; name such a column in {option('categorical')} to keep it."


def _plain(values: pd.Series) -> pd.Series | NDArray[np.generic]:
    """Numbers without their index, which pandas would compare for every column."""
    plain = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuf"
    return values.to_numpy() if plain else values


def _names_objects(frame: pd.DataFrame, expected: Expected) -> bool:
    """Whether the column that named the objects of the fit does so here."""
    name = expected.id_column
    if name is None or name not in frame.columns or name in (expected.names or ()):
        return False
    return bool(frame[name].notna().all() and frame[name].is_unique)


def _nothing_left(path: Path, columns: Sequence[Column]) -> str:
    """Why no column is left, in a sentence."""
    away = [f"{short(c.name)} ({c.detail if c.kind == 'left out' else c.kind})" for c in columns]
    listed = ", ".join(away[:12]) + (f" and {len(away) - 12} more" if len(away) > 12 else "")
    return (
        f"{path} has no column left to cluster by; left out: {listed}. Give it a column that varies, or see "
        f"{option('categorical')}, {option('numeric')}, {option('drop')} and {option('id_column')}."
    )


def _code(path: Path, sheet: Sheet, options: ReadOptions, found: _Found) -> tuple[str, ...]:
    """The same in Python: with pandas alone where nothing had to be recognised, else with our reader."""
    plain = (None, Written(), Written(decimal=","))
    if all(c.written in plain for c in found.columns) and not found.notes and options.expected is None:
        away = [name for name in sheet.frame.columns if name not in found.kept]
        return (*sheet.code, f"X = table.drop(columns={away!r})" if away else "X = table")
    given = {f.name: getattr(options, f.name) for f in fields(options) if f.name != "expected"}
    said = ", ".join(f"{name}={value!r}" for name, value in given.items() if value not in (None, ()))
    return (
        "from pathlib import Path",
        "from softecm.readers import ReadOptions, read",
        f"X = read(Path({str(path)!r}), ReadOptions({said})).data",
    )


def _by_name(path: Path, columns: Sequence[str], options: ReadOptions) -> ReadOptions:
    """The options with every column by its name."""
    known = set(columns)

    def one(name: str | None) -> str | None:
        return None if name is None else name if name in known else existing(path, columns, name)

    def several(names: Sequence[str]) -> tuple[str, ...]:
        return tuple("all" if name == "all" else str(one(name)) for name in names)

    return replace(
        options,
        id_column=one(options.id_column),
        label_column=one(options.label_column),
        drop=several(options.drop),
        categorical=several(options.categorical),
        numeric=several(options.numeric),
    )


def _numbered(rows: pd.Index) -> Names:
    """Rows called by their numbers in the file."""
    return np.array([str(row + 1) for row in rows], dtype=object)


def _ids(path: Path, column: pd.Series, asked: str | None) -> Names:
    if column.isna().any():
        if asked is None:
            return _numbered(column.index)
        row = int(column.index[column.isna()][0]) + 1
        raise ReadError(f"column {asked} of {path} names no object in row {row}: ids must not be missing.")
    repeated = column[column.duplicated()]
    if len(repeated):
        raise ReadError(
            f"ids must be unique: {short(repeated.iloc[0])} comes more than once in column {asked} of {path}. Give another "
            f"{option('id_column')}, or leave it out to count rows; if each row is one time of a series, add "
            f"{option('time')} and {option('value')}."
        )
    return words(column)
