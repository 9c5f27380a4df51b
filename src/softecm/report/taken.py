"""The section on what was taken how: every column, what it was read as, how it is compared, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from softecm.readers.base import Column, short
from softecm.report.asked import Model, comparing
from softecm.report.markup import as_number, pairs, section, table

if TYPE_CHECKING:
    from softecm.report.data import Attribute, ReportData

DAY = 86_400e6  # in microseconds
MANY = 60  # columns, beyond which neighbours of one kind share a line
HEADS = ("Column", "Taken as", "Values", "Why", "Missing")
SHOWN = 4  # categories that are named
HELD = {"number": "numbers", "date": "dates", "category": "categories"}


def taken(model: Model, attributes: Sequence[Attribute], given: Sequence[Column] | None) -> list[Column]:
    """The columns as the reader of a file understood them, or as the model took them."""
    columns = _understood(model, attributes) if given is None else list(given)
    ways = _ways(model) if len(columns) <= MANY else {}
    return [replace(one, why="; ".join(filter(None, (one.why, ways.get(one.name, ""))))) for one in columns]


def _understood(model: Model, attributes: Sequence[Attribute]) -> list[Column]:
    away: Mapping[str, object] = getattr(model, "left_out_", None) or {}
    own = [Column(a.name, a.kind, _values(a), _gaps(a), HELD[a.kind]) for a in attributes if a.known]
    return own + [Column(str(name), "left out", str(reason)) for name, reason in away.items()]


def _gaps(attribute: Attribute) -> int:
    return sum(word is None for word in attribute.words())


def _values(attribute: Attribute) -> str:
    """The range of numbers and dates, or the most frequent categories."""
    cells = attribute.coordinates()
    if cells is not None:
        return " to ".join(attribute.at(float(end), between=False) for end in (np.nanmin(cells), np.nanmax(cells)))
    counts = Counter(word for word in attribute.words() if word is not None)
    named = ", ".join(short(word) for word, _ in counts.most_common(SHOWN))
    return named + (f" … ({len(counts)} values)" if len(counts) > SHOWN else "")


def _ways(model: Model) -> dict[str, str]:
    """How the cells of each column are compared, where the space says."""
    fitted = comparing(model)
    found = {}
    for column in () if fitted is None else getattr(fitted.model_.space, "columns", ()):
        scale = getattr(column, "scale", None)
        found[str(column.name)] = "compared by equality" if scale is None else _scaled(column.kind, float(scale))
    return found


def _scaled(kind: str, scale: float) -> str:
    if kind == "ordinal":
        return "compared by rank"
    unit = f"{as_number(scale / DAY)} days" if kind in ("date", "datetime", "duration") else as_number(scale)
    return "compared by difference" if scale == 1.0 else f"a difference of {unit} counts as 1"


def section_taken(data: ReportData) -> str:
    """The section; empty where there is nothing to say."""
    if not data.columns and not data.reading:
        return ""
    body = ""
    if data.columns:
        body += _columns(columns_shown(data.columns))
    if data.reading:
        body += "<h3>How the file was read</h3>" + pairs(data.reading, "How the file was read")
    reason = data.parameters.get("metric_reason", "")
    lead = f"Metric: {escape(data.parameters['metric'])} ({escape(reason)})." if reason else ""
    return section("taken", "What was taken how", body, lead)


def _columns(shown: Sequence[Sequence[str]]) -> str:
    """A line a column; what is empty for all of them is left out."""
    kept = [j for j in range(1, len(HEADS)) if any(line[j] for line in shown)]
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(line[0])}</th>'
        + "".join(f'<td dir="auto">{escape(line[j])}</td>' for j in kept)
        + "</tr>"
        for line in shown
    )
    head = "".join(f'<th scope="col">{HEADS[j]}</th>' for j in (0, *kept))
    return table(rows, f"<tr>{head}</tr>", "Columns and what each was taken as", "taken")


def columns_shown(columns: Sequence[Column]) -> list[tuple[str, str, str, str, str]]:
    """Name, kind, values, reason and gaps of each column; of very many, neighbours of one kind in one line."""
    many = len(columns) > MANY
    found: list[tuple[str, str, str, str, str]] = []
    for _, alike in groupby(columns, key=lambda c: (c.kind, c.why, bool(c.gaps)) if many else id(c)):
        group = list(alike)
        first, last = group[0], group[-1]
        aside = first.kind == "left out" or not first.why
        values, why = ("", first.detail) if aside else (first.detail, first.why)
        gaps = sum(c.gaps for c in group)
        name = first.name if len(group) == 1 else f"{first.name} … {last.name} ({len(group)} columns)"
        found.append((name, first.kind, values if len(group) == 1 else "", why, str(gaps) if gaps else ""))
    return found
