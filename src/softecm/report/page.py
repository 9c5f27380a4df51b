"""The content of a report, the page, and the same as data, section by section."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from softecm._atomic import write_text
from softecm._text import plural, to_json
from softecm.belief import CredalPartition
from softecm.belief.assignments import CLEAR
from softecm.explain import ExplanationTree, Profiles
from softecm.plots.style import set_colors
from softecm.readers.base import Column
from softecm.report.columns import Attribute
from softecm.report.inputs import FloatArray, IntArray
from softecm.report.reasons import Explanation
from softecm.report.sections import SECTIONS
from softecm.report.sections.base import LARGEST, packed, to_script
from softecm.report.sections.what_if import Live
from softecm.report.templating import TERMS, asset, render_page

if TYPE_CHECKING:
    from softecm.calibration import Calibration
    from softecm.report.inputs import FittedModel
    from softecm.report.sections.base import Json

GLOSSARY = ("belief", "plausibility", "typical", "confidence", "doubt", "prototype", "distance", "metric")
#: Terms used by the script.
HEADINGS = ("set", "decision", "mass", "doubt", "typical", "no group", "distance", "prototype")
MOST_CELLS = 600_000  # values included for tooltips; above, columns are omitted


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    Parameters
    ----------
    title : str
        The title, such as a file's name.
    partition : CredalPartition
        Of all n objects.
    ids : sequence of str of length n
    rows : ndarray of int
        The objects drawn one by one (all, or a sample of many), with one entry each in the arrays below.
    points : ndarray of shape (len(rows), 2)
        Their positions on the map.
    distances : ndarray of shape (len(rows),), optional
        Distance of each to its nearest cluster's prototype.
    attributes : sequence of Attribute
        Their values; empty for series.
    set_aside : frozenset of str
        Attributes without a weight in the distance, not used by sentences and rules.
    prototypes : sequence of rows
        For tables: the cells of each set's prototype, in the order of the focal sets.
    prototype_points : ndarray of shape (f, 2), optional
    series, prototype_series : sequences of (L, d) arrays, optional
        For series instead of attributes and prototypes.
    channels : sequence of str
        Names of their channels.
    medoids : sequence of str
        For dissimilarities instead of prototypes: the representative object of each set.
    explanations : mapping from object to Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import CredalPartition
    >>> from softecm.report import ReportData
    >>> p = CredalPartition.from_hard([0, 1, -1])
    >>> "<b>" in ReportData("three", p, ["a", "<b>", "c"], np.arange(3), np.zeros((3, 2))).html
    False
    """

    title: str
    partition: CredalPartition
    ids: Sequence[str]
    rows: IntArray
    points: FloatArray
    distances: FloatArray | None = None
    attributes: Sequence[Attribute] = ()
    set_aside: frozenset[str] = frozenset()
    prototypes: Sequence[Sequence[object]] = ()
    prototype_points: FloatArray | None = None
    series: Sequence[FloatArray] | None = None
    prototype_series: Sequence[FloatArray] | None = None
    channels: Sequence[str] = ()
    medoids: Sequence[str] = ()
    explanations: Mapping[int, Explanation] = field(default_factory=dict)
    axis_names: tuple[str, str] = ("", "")
    axis_units: tuple[float, float] = (1.0, 1.0)  # length of a step along each axis; zeros: automatic
    map_note: str = ""
    merged: bool = False
    noun: str = "object"
    clear: float = CLEAR  # minimum belief for "clearly"
    candidates: Mapping[int, float | None] = field(default_factory=dict)  # numbers of groups that were tried
    candidates_note: str = ""  # how one of them was selected
    history: Sequence[float] = ()
    runs: Mapping[str, Sequence[object]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[Column] = ()  # the kind of each column
    profiles: Profiles | None = None  # what distinguishes the groups
    rules: ExplanationTree | None = None  # rules for the sets in terms of columns
    calibration: Calibration | None = None  # the result of refits
    live: Live | None = None  # data for recomputing masses by sliders; None: no sliders
    values: bool = True  # whether cells, names and prototypes are shown
    scores: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    code: str = ""
    made_by: str = ""

    @property
    def html(self) -> str:
        """The report as one self-contained page."""
        return render_page(
            "report.html",
            script(),
            data=self,
            made_by=self.made_by or "softecm",
            plural=plural(self.noun),
            sections=[section for kind in SECTIONS if (section := kind(self)).is_shown],
            glossary=_glossary(self),
            payload=to_script(payload(self)),
        )

    @property
    def facts(self) -> dict[str, object]:
        """Findings, groups and computation as data; numbers as numbers, None if undefined."""
        entries: Json = {"softecm": self.made_by.removeprefix("softecm "), "title": self.title}
        for section in SECTIONS:
            entries |= section(self).facts()
        return entries

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page, or its data if the name ends in ``.json``; atomically.

        Parameters
        ----------
        path : str or path
            Target file, replaced if it exists.
        """
        write_text(path, text_for(self, path))

    def _repr_html_(self) -> str:
        """Show the page in a frame, for notebooks."""
        page = escape(self.html)
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.title)}" style="width:100%;height:720px;border:0"></iframe>'
        )


def text_for(data: ReportData, path: str | os.PathLike[str]) -> str:
    """Return the content of a file with this name: the page, or its data as JSON."""
    if os.fspath(path).lower().endswith(".json"):
        return to_json(data.facts, indent=1) + "\n"
    return data.html


@cache
def script() -> str:
    """Return the page's script: the common part, then the sections in separate scopes."""
    names = ["base", *(kind.__module__.rpartition(".")[2] for kind in SECTIONS)]
    return '(() => {\n"use strict";\n' + "\n".join(filter(None, (asset(f"{name}.js") for name in names))) + "})();\n"


def hidden_fields(data: ReportData, model: FittedModel) -> Json:
    """Return the fields of the same report without anything that reveals a cell.

    It keeps masses and what follows from them, the names of columns and of groups, which columns distinguish a group or
    pull an object where, and the course of the fit.
    """
    fields: Json = {name: getattr(data, name) for name in ("title", "partition", "rows", "noun", "clear", "made_by")}
    for section in SECTIONS:
        fields |= section(data).without_values(model)
    return fields | {"ids": [str(i + 1) for i in range(len(data.partition))], "values": False}


def _glossary(data: ReportData) -> dict[str, str]:
    decided = (
        "Nowhere: the largest mass is on no group. Between: it is on a set of several groups. Otherwise the belief in the "
        f"group decides: clearly from {data.clear:g}, rather if it exceeds the next by 0.1, else undecided."
    )
    return {
        "Mass": TERMS["mass"],
        "Set": TERMS["set"],
        "No group": TERMS["no group"],
        "Clearly, rather, between, undecided, nowhere": decided,
        **{word.capitalize(): TERMS[word] for word in GLOSSARY},
    }


# ------------------------------------------------------------------ data for the script


def payload(data: ReportData) -> Json:
    """Return everything the script needs: the common data, and each section's own."""
    rows, focal = data.rows, data.partition.focal_sets
    drawn = data.partition[rows]
    decisions = drawn.decisions(data.clear)
    shared: Json = {
        "n": len(data.partition),
        "c": data.partition.n_clusters,
        "noun": data.noun,
        "labels": focal.in_words(),
        "between": [focal.between(j) if j else "" for j in range(len(focal) + 1)],
        "terms": {word: TERMS[word] for word in HEADINGS},
        "sets": [[], *focal.sets],
        "colors": set_colors(focal),
        "decision": packed(decisions.codes, "u1"),
        "confidence": packed(decisions.confidence, "<f4"),
        "ids": [str(data.ids[int(row)]) for row in rows],
        "numbers": None if len(rows) == len(data.partition) else packed(rows + 1, "<u4"),
        "masses": packed(np.rint(drawn.masses * 65535), "<u2"),
        "doubt": packed(drawn.doubt(), "<f4"),
        "columns": [_column(one) for one in data.attributes[: max(1, MOST_CELLS // max(len(rows), 1))]],
    }
    for section in SECTIONS:
        shared |= section(data).payload()
    return shared


def _column(attribute: Attribute) -> Json:
    if attribute.kind == "number":
        numbers = np.asarray(attribute.values, dtype=np.float64)
        decimals = 6 if attribute.precision is None else attribute.precision.decimals
        name, kind = ("numbers", "<f4") if _fits(numbers, decimals) else ("wide", "<f8")
        return {"name": attribute.name, "decimals": decimals, "unit": attribute.unit, name: packed(numbers, kind)}
    words = attribute.words()
    levels = sorted({word for word in words if word is not None})
    code = {level: i for i, level in enumerate(levels)}
    codes = [65535 if word is None else min(code[word], 65534) for word in words]
    return {"name": attribute.name, "levels": levels[:65535], "codes": packed(codes, "<u2")}


def _fits(numbers: FloatArray, decimals: int) -> bool:
    """Whether single precision suffices: a number read back and rounded is the cell."""
    if np.nanmax(np.abs(numbers), initial=0.0) > LARGEST:
        return False
    lost = np.abs(numbers.astype(np.float32) - numbers)
    return bool(np.nanmax(lost, initial=0.0) * 10.0**decimals < 0.4)
