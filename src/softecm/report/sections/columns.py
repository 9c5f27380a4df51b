"""The section on columns: the kind of each column, how it is compared, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from softecm.readers.base import Column, short
from softecm.report.inputs import FittedModel, comparing
from softecm.report.reasons import columns_set_aside
from softecm.report.sections.base import Json, Section
from softecm.report.templating import as_number

if TYPE_CHECKING:
    from softecm.report.columns import Attribute

DAY = 86_400e6  # in microseconds
MANY = 60  # columns above which neighbours of one kind share a line
HEADS = ("Column", "Read as", "Values", "Why", "Missing")
SHOWN = 4  # number of categories named
HELD = {"number": "numbers", "date": "dates", "category": "categories"}


def taken(model: FittedModel, attributes: Sequence[Attribute], read_columns: Sequence[Column] | None) -> list[Column]:
    """Return the columns as the reader of a file or the model understood them."""
    columns = _understood(model, attributes) if read_columns is None else list(read_columns)
    ways = _ways(model) if len(columns) <= MANY else {}
    return [replace(one, why="; ".join(filter(None, (one.why, ways.get(one.name, ""))))) for one in columns]


def _understood(model: FittedModel, attributes: Sequence[Attribute]) -> list[Column]:
    away: Mapping[str, object] = getattr(model, "left_out_", None) or {}
    own = [Column(a.name, a.kind, _values(a), _gaps(a), HELD[a.kind]) for a in attributes if a.known]
    return own + [Column(str(name), "left out", str(reason)) for name, reason in away.items()]


def _gaps(attribute: Attribute) -> int:
    return sum(word is None for word in attribute.words())


def _values(attribute: Attribute) -> str:
    """Return the range of numbers and dates, or the most frequent categories."""
    cells = attribute.coordinates()
    if cells is not None:
        return " to ".join(attribute.at(float(end)) for end in (np.nanmin(cells), np.nanmax(cells)))
    counts = Counter(word for word in attribute.words() if word is not None)
    named = ", ".join(short(word) for word, _ in counts.most_common(SHOWN))
    return named + (f" … ({len(counts)} values)" if len(counts) > SHOWN else "")


def _ways(model: FittedModel) -> dict[str, str]:
    """Return how the cells of each column are compared, if the space knows."""
    fitted = comparing(model)
    ways = {}
    for column in () if fitted is None else getattr(fitted.model_.space, "columns", ()):
        scale = getattr(column, "scale", None)
        ways[str(column.name)] = "compared by equality" if scale is None else _scaled(column.kind, float(scale))
    return ways | dict.fromkeys(columns_set_aside(model), "no weight: it does not distinguish the groups")


def _scaled(kind: str, scale: float) -> str:
    if kind == "ordinal":
        return "compared by rank"
    unit = f"{as_number(scale / DAY)} days" if kind in ("date", "datetime", "duration") else as_number(scale)
    return "compared by difference" if scale == 1.0 else f"a difference of {unit} counts as 1"


def columns_shown(columns: Sequence[Column]) -> list[tuple[str, str, str, str, str]]:
    """Return name, kind, values, reason and missing cells of each column; many neighbours of one kind share a line."""
    many = len(columns) > MANY
    rows: list[tuple[str, str, str, str, str]] = []
    for _, alike in groupby(columns, key=lambda c: (c.kind, c.why, bool(c.gaps)) if many else id(c)):
        group = list(alike)
        first, last = group[0], group[-1]
        aside = first.kind == "left out" or not first.why
        values, why = ("", first.detail) if aside else (first.detail, first.why)
        gaps = sum(c.gaps for c in group)
        name = first.name if len(group) == 1 else f"{first.name} … {last.name} ({len(group)} columns)"
        rows.append((name, first.kind, values if len(group) == 1 else "", why, str(gaps) if gaps else ""))
    return rows


def without_details(columns: Sequence[Column]) -> list[Column]:
    """Return the kind of each column, and its number of missing cells."""
    return [Column(column.name, column.kind, "", column.gaps) for column in columns]


class ColumnsRead(Section):
    """The kinds of columns, and how the file was read."""

    key, link = "taken", "Columns"

    @property
    def is_shown(self) -> bool:
        """Whether anything is known."""
        return bool(self.data.columns or self.data.reading)

    @property
    def table(self) -> list[list[str]]:
        """The headers, and a line per column; entirely empty ones are omitted."""
        shown = columns_shown(self.data.columns)
        indices = [0, *(j for j in range(1, len(HEADS)) if any(line[j] for line in shown))]
        return [[line[j] for j in indices] for line in (HEADS, *shown)] if shown else []

    def facts(self) -> Json:
        """The columns."""
        names = {"name": "name", "kind": "kind", "values": "detail", "missing": "gaps"}
        return {"columns": [{key: getattr(c, own) for key, own in names.items()} for c in self.data.columns]}

    def without_values(self, model: FittedModel) -> Json:
        """Names and kinds."""
        return {"columns": without_details(self.data.columns)}
