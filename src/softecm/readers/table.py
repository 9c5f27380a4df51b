"""A table as objects: which columns to cluster by, which one names the rows, which one has the classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._text import counted, listed, some_of
from softecm._wording import option
from softecm.readers.answers import order_hints, stripped
from softecm.readers.base import (
    ATTRIBUTES,
    Column,
    Expected,
    Kind,
    Loaded,
    Names,
    ReadError,
    ReadOptions,
    Sheet,
    Written,
    as_names,
    check_names,
    existing,
    first_of,
    own_names,
    short,
    with_classes,
)
from softecm.readers.columns import (
    FileContext,
    Understood,
    expected_column,
    is_plain,
    known_groups,
    missing_in,
    repetitions,
    shown,
    understood_column,
    words,
)
from softecm.readers.hints import typo_hints
from softecm.readers.numbers import are_few_of
from softecm.readers.rows import without_total
from softecm.readers.steps import step_hint
from softecm.readers.units import Conversion, UnitChoice, as_in_fit, unit_in_name
from softecm.readers.wide import wide_hint

if TYPE_CHECKING:
    import pandas as pd

    from softecm.spaces.base import ColumnKind


def understood(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """Return the objects of a table.

    Parameters
    ----------
    path : Path
        For messages.
    sheet : Sheet
    options : ReadOptions
    """
    check_names(path, sheet.frame.columns)
    sheet = without_total(sheet)
    options = _by_name(path, list(sheet.frame.columns), options)
    table = _Table(notes=list(sheet.notes))
    context = FileContext.of(path, sheet, options)
    if options.expected is None:
        table.infer(sheet.frame, context)
    else:
        table.take_expected(sheet.frame, context, options.expected)
    if not table.data:
        remark = _only_texts(table.columns, sheet.frame)
        raise ReadError(f"{path}: {remark}" if remark else _nothing_left(path, table.columns))
    labels = sheet.labels if table.labels is None else words(table.labels)
    known = None if table.known is None else words(table.known)
    rows, frame = table.filled_rows(path), sheet.frame
    if len(rows) < len(frame):
        frame = frame.iloc[rows]
        labels, known = (None if part is None else part[rows] for part in (labels, known))
        table.keep(rows)
    ids = None
    if table.ids is not None:
        ids, remark = _ids(path, table.ids, options, context.copies)
        table.notes += [remark] if remark else []
        table.notes += _unnamed(table.ids)
    elif int(frame.index[-1]) >= len(frame):
        ids = as_names(frame.index + 1)  # as in the file, although some rows are left out
    # Without an index of their own, which pandas would compare for every column:
    plain = {name: part.to_numpy() if is_plain(part, "iuf") else part for name, part in table.data.items()}
    data = type(frame)(plain, index=frame.index)
    columns, notes = tuple(table.columns), tuple(table.notes)
    return Loaded(data, "table", ids, labels, columns, sheet.how, notes, table=frame, known=known)


OWN_UNIT = r"[%‰°$€£¥₹]|\d\s*[^\W\d_]"  # in a cell


@dataclass
class _Table:
    """The columns so far: kinds, data of those to cluster by, ids and labels."""

    columns: list[Column] = field(default_factory=list)
    data: dict[str, pd.Series] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ids: pd.Series | None = None
    labels: pd.Series | None = None
    known: pd.Series | None = None

    def infer(self, frame: pd.DataFrame, context: FileContext) -> None:
        """Infer the kind of each column."""
        options = context.options
        for name in frame.columns:
            column = frame[name]
            if name in (*options.classes, options.id_column):
                self._set_aside(column, context, options)
                continue
            may_be_id = options.id_column is None and self.ids is None
            self._add(column, understood_column(column, context, may_be_id=may_be_id))
        from softecm.spaces.column_roles import COUNTS

        is_named = any(c.kind == "id" and c.detail != COUNTS for c in self.columns)
        hint = "" if is_named else step_hint(self.columns, self.data)
        named = options.id_column is not None or options.label_column is not None
        hint = hint or wide_hint(frame, self.columns, self.data, named=named)
        self.notes += [*([hint] if hint else []), *order_hints(self.data), *typo_hints(self.data)]
        self.notes += [] if self.known is None else typo_hints({str(self.known.name): self.known})

    def take_expected(self, frame: pd.DataFrame, context: FileContext, expected: Expected) -> None:
        """Read the columns a model requires, with their kinds."""
        options = context.options
        if options.id_column is None:
            options = replace(options, id_column=_id_column(frame, context, expected))
        aside = [*options.classes, *([options.id_column] if options.id_column is not None else [])]
        frame, converted = _renamed_units(frame, context, expected)
        wanted = expected.among(context.path, [name for name in frame.columns if name not in aside])
        unused = [short(name) for name in expected.unused(list(frame.columns)) if name not in aside]
        if unused:
            self.notes.append(f"not used, since the fit did not have them: {some_of(unused, 5)}.")
        if absent := expected.absent(list(frame.columns)):
            relevant = [name for name in absent if name not in expected.optional]
            listed = some_of([short(name) for name in relevant or absent], 5)
            effect = "rows are compared in the other columns of the fit" if relevant else "they don't count in the fit"
            self.notes.append(f"not in the file: {listed}; {effect}.")
            frame = frame.reindex(columns=[*frame.columns, *absent])
        for name in aside:
            self._set_aside(frame[name], context, options)
        for name, kind in wanted.items():
            understood = _as_expected(context, frame[name], kind, expected)
            self._add(frame[name], converted[name](understood) if name in converted else understood)

    def _add(self, column: pd.Series, understood: Understood) -> None:
        is_id = understood.column.kind == "id"
        self.columns.append(replace(understood.column, gaps=missing_in(column)) if is_id else understood.column)
        self.notes += understood.remarks
        if is_id:
            self.ids = column
        elif understood.values is not None:
            self.data[str(column.name)] = understood.values

    def _set_aside(self, column: pd.Series, context: FileContext, options: ReadOptions) -> None:
        """Exclude a column with the classes, known groups or names of the objects."""
        if column.name == options.known:
            self.known, described, remarks = known_groups(column, context)
            self.columns.append(described)
            self.notes += remarks
            return
        kind: Kind = "label" if column.name == options.label_column else "id"
        self.columns.append(Column(str(column.name), kind, shown(column), missing_in(column), "as specified"))
        if kind == "label":
            self.labels = column
        else:
            self.ids = column

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Keep some rows of each column."""
        self.data = {name: values.iloc[rows] for name, values in self.data.items()}
        self.ids = None if self.ids is None else self.ids.iloc[rows]
        kept = {**self.data, **({} if self.ids is None else {str(self.ids.name): self.ids})}
        self.columns = [replace(c, gaps=missing_in(kept[c.name])) if c.name in kept else c for c in self.columns]

    def filled_rows(self, path: Path) -> NDArray[np.intp]:
        """Return the rows with a value to cluster by; a note lists the others."""
        columns = list(self.data.values())
        filled = np.zeros(len(columns[0]), dtype=bool)
        for values in columns:
            if not missing_in(values):
                return np.arange(len(values))
            filled |= values.notna().to_numpy()
        empty = np.flatnonzero(~filled)
        if len(empty) == len(filled):
            listed = ", ".join(short(name) for name in list(self.data)[:12])
            raise ReadError(
                f"{path} has no value in any row of the columns to cluster by, {listed}: check that it is the right file."
                f"{_text_left_out(self.columns)}"
            )
        if len(empty):
            many = len(empty) > 1
            rows = (
                f"{len(empty)} rows have no value to cluster by and are"
                if many
                else "1 row has no value to cluster by and is"
            )
            first = f"row {int(columns[0].index[empty[0]]) + 1}{f' and {len(empty) - 1} more' if many else ''}"
            self.notes.append(f"{rows} left out: {first}.{_text_left_out(self.columns)}")
        return np.flatnonzero(filled)


def check_not_texts(path: Path, loaded: Loaded) -> None:
    """Raise an error for a table whose texts are left out, so that hardly anything remains to cluster by."""
    if loaded.table is not None and loaded.shape == "table" and (remark := _only_texts(loaded.columns, loaded.table)):
        raise ReadError(f"{path}: {remark}")


def _only_texts(columns: Sequence[Column], frame: pd.DataFrame) -> str:
    from softecm.spaces.column_roles import FREE, are_texts, only_texts

    free = [c.name for c in columns if c.kind == "left out" and c.detail.startswith(FREE)]
    free += [c.name for c in columns if c.kind == "id" and not c.why]
    others = {c.name: c.kind == "date" for c in columns if c.kind in ATTRIBUTES}
    return only_texts([name for name in free if are_texts(frame[name])], others)


def _text_left_out(columns: Sequence[Column]) -> str:
    """Return which text columns were excluded, and how to keep them."""
    from softecm.spaces.column_roles import FREE

    away = [c for c in columns if c.kind == "left out" and c.detail.startswith(FREE)]
    if not away:
        return ""
    listed = some_of([f"{short(c.name)} ({c.detail})" for c in away], 3)
    return f" Left out as well: {listed}; name such a column in {option('categorical')} to keep it."


def _as_expected(context: FileContext, column: pd.Series, kind: ColumnKind, expected: Expected) -> Understood:
    """Read a column as the model requires; one without weight in the fit needs no remarks and may hold anything."""
    name = str(column.name)
    written = expected.written.get(name, Written())
    if name not in expected.optional:
        return expected_column(context, column, kind, written)
    try:
        understood = expected_column(context, column, kind, written)
    except ReadError:
        understood = expected_column(context, column.where(column.isna()), kind, written)
    return replace(understood, remarks=())


def _converted(understood: Understood, column: str, to: str, way: Conversion) -> Understood:
    """Convert the numbers of a column that has another unit than in the fit, and says so in its name."""
    assert understood.values is not None  # a required column
    values = understood.values.map(way)
    described = replace(understood.column, detail=shown(values))
    remark = (
        f"column {short(described.name)}: the numbers of {short(column, 40)} are converted to {to}"
        f"{way.example(unit_in_name(column), to)}."
    )
    return Understood(values, described, (remark, *understood.remarks))


def _renamed_units(
    frame: pd.DataFrame, context: FileContext, expected: Expected
) -> tuple[pd.DataFrame, dict[str, Callable[[Understood], Understood]]]:
    """Return the table with the fit's names for columns in another unit, and how to convert these.

    A column whose cells have a unit of their own is converted by that.
    """
    columns = [str(name) for name in frame.columns]
    converted: dict[str, Callable[[Understood], Understood]] = {}
    names: dict[str, str] = {}
    for name, kind in zip(expected.names or (), expected.kinds, strict=False):
        written = expected.written.get(name, Written()).unit or unit_in_name(name)
        choice = context.units.get(name) or UnitChoice(written)
        if name in columns or kind != "number" or not choice.unit:
            continue
        found = as_in_fit(name, choice, expected.unused(columns))
        if found is not None and found[0] not in names:
            column, way = found
            names[column] = name
            if is_plain(frame[column], "iuf") or not frame[column].astype(str).str.contains(OWN_UNIT).any():
                converted[name] = partial(_converted, column=column, to=choice.unit, way=way)
    return (frame.rename(columns=names) if names else frame), converted


def _id_column(frame: pd.DataFrame, context: FileContext, expected: Expected) -> str | None:
    """Return the column that names the objects: that of the fit, or, if the file lacks it, another that seems to."""
    name = expected.id_column
    if name is None or name in (expected.names or ()):
        return None
    if name in frame.columns:
        filled = frame[name].dropna()
        return name if are_few_of(len(frame) - len(filled), len(frame)) and filled.is_unique else None
    from softecm.spaces.column_roles import COUNTS

    others = (frame[one] for one in expected.unused(list(frame.columns)))
    looks = ((str(one.name), understood_column(one, context, may_be_id=True).column) for one in others)
    return next((one for one, described in looks if described.kind == "id" and described.detail != COUNTS), None)


def _nothing_left(path: Path, columns: Sequence[Column]) -> str:
    """Return why no column is left, in a sentence."""
    away = [f"{short(c.name)} ({c.detail if c.kind == 'left out' else c.kind})" for c in columns]
    return (
        f"{path} has no column left to cluster by; left out: {first_of(away, 12)}. Give it a column that varies, or see "
        f"{option('categorical')}, {option('numeric')}, {option('drop')} and {option('id_column')}."
    )


def _by_name(path: Path, columns: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Return the options with every column by its name."""
    known = set(columns)

    def one(name: str | None) -> str | None:
        return None if name is None else name if name in known else existing(path, columns, name)

    def several(names: Sequence[str]) -> tuple[str, ...]:
        return tuple("all" if name == "all" else str(one(name)) for name in names)

    return replace(
        with_classes(path, columns, options),
        id_column=one(options.id_column),
        drop=several(options.drop),
        categorical=several(options.categorical),
        numeric=several(options.numeric),
    )


def _unnamed(ids: pd.Series) -> list[str]:
    """Return a remark about rows without an id, which are called by their numbers."""
    rows = [f"row {int(row) + 1}" for row in ids.index[ids.isna()]]
    count = counted(len(rows), "row has", "rows have")
    called = f"is called {rows[0]}" if len(rows) == 1 else f"are called {some_of(rows, 3)}"
    return [f"{count} no {short(ids.name)} and {called}."] if rows else []


def _ids(path: Path, column: pd.Series, options: ReadOptions, copies: pd.Series | None) -> tuple[Names, str]:
    """Return unique names of the rows, and a remark about copies of rows; raise an error for ids that repeat otherwise."""
    id_column, empty = options.id_column, column.isna()
    if empty.any() and id_column is not None:
        row = int(column.index[empty][0]) + 1
        raise ReadError(f"column {id_column} of {path} names no object in row {row}: ids must not be missing.")
    names = words(stripped(column) if is_plain(column, "f") else column)
    names[empty] = "row " + as_names(column.index[empty] + 1)
    repeated = column.duplicated() & ~empty
    if not repeated.any():
        return names, ""
    copied = [str(int(row) + 1) for row in column.index[repeated] if copies is not None and copies[row]]
    only_copies = len(copied) == int(repeated.sum())
    remark = _remark_on_copies(copied, options) if copied else ""
    if only_copies and id_column is None:
        unique = own_names([str(name) for name in names])[0]
        called = next(new for new, old in zip(unique, names, strict=True) if new != str(old))
        return as_names(unique), f"{remark} Now they have names such as {called}."
    other = (
        f"Give another {option('id_column')}, or leave it out to count rows; if each row is one time of a series, add "
        f"{option('time')} and {option('value')}."
    )
    remedies = [*([f"R{remark[1:]}"] if remark else []), *([] if only_copies else [other])]
    raise ReadError(
        f"ids must be unique: column {short(column.name)} of {path} repeats {repetitions(column)}. {' '.join(remedies)}"
    )


def _remark_on_copies(rows: Sequence[str], options: ReadOptions) -> str:
    drop = option("drop_rows", ",".join([*options.drop_rows, *rows]))
    one = f"row {rows[0]} repeats an earlier row exactly; {drop} leaves it out."
    several = f"rows {listed(rows, 'and')} repeat earlier rows exactly; {drop} leaves them out."
    return one if len(rows) == 1 else several
