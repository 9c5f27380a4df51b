"""A table as objects: which columns to cluster by, which one names the rows, which one has the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softecm.readers.base import ATTRIBUTES, Column, Loaded, Names, ReadError, ReadOptions, Sheet, existing, short
from softecm.readers.columns import shown, understood_column, words

if TYPE_CHECKING:
    import pandas as pd


def understood(path: Path, sheet: Sheet, options: ReadOptions, only: Sequence[str] | None = None) -> Loaded:
    """The objects of a table.

    Parameters
    ----------
    path : Path
        For what is said about it.
    sheet : Sheet
    options : ReadOptions
    only : sequence of str, optional
        The attributes a fitted model wants, in its order.
    """
    frame = sheet.frame
    options = _by_name(path, list(frame.columns), options)
    found = _Found()
    for name in frame.columns:
        found.take(path, frame[name], options, only)
    kept = found.kept if only is None else {name: found.kept[name] for name in _wanted(path, found.kept, only)}
    if not kept:
        raise ReadError(f"{path} has no column left to cluster by: see --drop, --id-column and --label-column.")
    ids = None if found.ids is None else _ids(path, found.ids, options.id_column)
    labels = sheet.labels if found.labels is None else words(found.labels)
    columns, notes = tuple(found.columns), tuple(found.notes)
    code = (*sheet.code, _code(columns))
    return Loaded(type(frame)(kept), "table", ids, labels, columns, sheet.how, notes, code)


@dataclass
class _Found:
    """What the columns so far are for."""

    columns: list[Column] = field(default_factory=list)
    kept: dict[str, pd.Series] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ids: pd.Series | None = None
    labels: pd.Series | None = None

    def take(self, path: Path, column: pd.Series, options: ReadOptions, only: Sequence[str] | None) -> None:
        """Look at one more column."""
        name, gaps = str(column.name), int(column.isna().sum())
        if name == options.label_column:
            self.labels = column
            self.columns.append(Column(name, "label", shown(column), gaps))
            return
        if name == options.id_column:
            self.ids = column
            self.columns.append(Column(name, "id", shown(column), gaps))
            return
        may_be_id = only is None and options.id_column is None and self.ids is None
        forced = only is not None and name in only
        values, described, remark = understood_column(path, column, options, may_be_id=may_be_id, forced=forced)
        self.columns.append(described)
        self.notes += [remark] if remark else []
        if described.kind == "id":
            self.ids = column
        elif values is not None:
            self.kept[name] = values


def _code(columns: Sequence[Column]) -> str:
    away = [c.name for c in columns if c.kind not in ATTRIBUTES]
    return f"X = table.drop(columns={away!r})" if away else "X = table"


def _wanted(path: Path, kept: dict[str, pd.Series], only: Sequence[str]) -> Sequence[str]:
    absent = [name for name in only if name not in kept]
    if absent:
        listed = ", ".join(absent[:5]) + (" …" if len(absent) > 5 else "")
        raise ReadError(
            f"{path} must have the columns the model was fitted with; {listed} not found among its columns."
        )
    return only


def _by_name(path: Path, columns: Sequence[str], options: ReadOptions) -> ReadOptions:
    """The options with every column by its name."""

    def one(name: str | None) -> str | None:
        return None if name is None else existing(path, columns, name)

    def several(names: Sequence[str]) -> tuple[str, ...]:
        return tuple("all" if name == "all" else existing(path, columns, name) for name in names)

    return replace(
        options,
        id_column=one(options.id_column),
        label_column=one(options.label_column),
        drop=several(options.drop),
        categorical=several(options.categorical),
        numeric=several(options.numeric),
    )


def _ids(path: Path, column: pd.Series, asked: str | None) -> Names:
    if column.isna().any():
        if asked is None:
            return np.array([str(i + 1) for i in range(len(column))], dtype=object)
        row = int(np.flatnonzero(column.isna())[0]) + 1
        raise ReadError(f"column {asked} of {path} names no object in row {row}: ids must not be missing.")
    repeated = column[column.duplicated()]
    if len(repeated):
        raise ReadError(
            f"ids must be unique: {short(repeated.iloc[0])} comes more than once in column {asked} of {path}. Give another "
            "--id-column, or leave it out to count rows."
        )
    return words(column)
