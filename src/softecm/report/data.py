"""What a report is drawn from: plain values, no estimator."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softecm._precision import Precision, moment
from softecm.belief import CredalPartition
from softecm.belief.assignments import CLEAR
from softecm.explain import ExplanationTree, Profiles
from softecm.readers.base import Column
from softecm.report.chosen import FloatArray, IntArray
from softecm.report.facts import facts
from softecm.report.page import render, write
from softecm.report.sure import Calibrated

EPOCH, DAY = np.datetime64(0, "us"), 86_400e6  # in microseconds


@dataclass(frozen=True)
class Attribute:
    """A column of the table, for the objects that are drawn."""

    name: str
    kind: Literal["number", "date", "category"]
    values: Sequence[object] | NDArray[np.generic]  # numbers (nan: missing), moments (NaT), or words (None)
    precision: Precision | None = None  # how its numbers, or dates, are shown; None for words
    unit: str = ""  # of its numbers

    def shown(self, value: object, *, between: bool = False) -> str:
        """A cell for reading, or with ``between`` a prototype's, which lies between cells."""
        if missing(value):
            return "missing"
        if self.precision is None or isinstance(value, str):
            return f"{value:.4g}" if isinstance(value, float) else str(value)
        text = self.precision.mean(value) if between else self.precision.cell(value)
        return f"{text} {self.unit}" if self.unit else text

    def words(self) -> list[str | None]:
        """All cells for reading, None where missing."""
        return [None if missing(value) else self.shown(value) for value in self.values]

    def at(self, coordinate: float, *, between: bool = True) -> str:
        """What lies at such a number, for reading."""
        if self.precision is None:
            return f"{coordinate:.4g}"
        if self.kind == "date":
            return self.shown(EPOCH + np.timedelta64(round(coordinate * DAY), "us"))
        between = between and round(coordinate, self.precision.decimals) != coordinate
        return self.shown(coordinate, between=between)

    def coordinates(self) -> FloatArray | None:
        """Its cells as numbers, nan where missing; None for words."""
        if self.kind == "category":
            return None
        if self.kind == "number":
            return np.asarray(self.values, dtype=np.float64)
        moments = np.asarray(self.values, dtype="M8[us]")
        return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / DAY)

    def coordinate(self, value: object) -> float:
        """A cell, or a prototype's, as a number: of a date its days; nan where there is none."""
        if missing(value) or isinstance(value, str):
            return math.nan
        if self.kind == "date":
            return float(moment(value).astype(np.int64) / DAY)
        return float(value)  # type: ignore[arg-type]

    @property
    def known(self) -> bool:
        """Whether any cell holds something."""
        cells = self.coordinates()
        return any(value is not None for value in self.values) if cells is None else bool(np.isfinite(cells).any())


def missing(value: object) -> bool:
    """Whether a cell is a gap: None, NaN, NaT, or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or value != value


@dataclass(frozen=True)
class Part:
    """What one attribute, or one stretch of a series, says about an object between two clusters."""

    name: str
    value: str
    at_first: str
    at_second: str
    pull: float  # above 0: nearer to the first; below: nearer to the second


@dataclass(frozen=True)
class Explanation:
    """Why an object is where it is: the two clusters nearest to it, and what pulls it to which."""

    first: int  # columns of the mass matrix
    second: int
    distance_first: float
    distance_second: float
    parts: tuple[Part, ...] = ()
    distance_set: float | None = None  # to the prototype of its set of several clusters, where that is nearest
    to_set: tuple[str, ...] = ()  # what speaks most for that prototype
    far: tuple[
        tuple[str, float], ...
    ] = ()  # of an outlier: what makes most of its distance to the first, and its share


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    Parameters
    ----------
    title : str
        What was clustered, such as a file's name.
    partition : CredalPartition
        Of all n objects.
    ids : sequence of str of length n
    rows : ndarray of int
        The objects drawn one by one (all, or a sample of many); the arrays below have one entry for each.
    points : ndarray of shape (len(rows), 2)
        Their places on the map.
    distances : ndarray of shape (len(rows),), optional
        Distance of each to its nearest cluster's prototype.
    attributes : sequence of Attribute
        Their values; empty for series.
    prototypes : sequence of rows
        For tables: the cells of each set's prototype, in the order of the focal sets.
    prototype_points : ndarray of shape (f, 2), optional
    series, prototype_series : sequences of (L, d) arrays, optional
        For series instead of attributes and prototypes.
    channels : sequence of str
        What their channels are called.
    medoids : sequence of str
        For dissimilarities instead of prototypes: the object that stands for each set.
    explanations : mapping from object to Explanation
    """

    title: str
    partition: CredalPartition
    ids: Sequence[str]
    rows: IntArray
    points: FloatArray
    distances: FloatArray | None = None
    attributes: Sequence[Attribute] = ()
    prototypes: Sequence[Sequence[object]] = ()
    prototype_points: FloatArray | None = None
    series: Sequence[FloatArray] | None = None
    prototype_series: Sequence[FloatArray] | None = None
    channels: Sequence[str] = ()
    medoids: Sequence[str] = ()
    explanations: Mapping[int, Explanation] = field(default_factory=dict)
    axis_names: tuple[str, str] = ("", "")
    axis_units: tuple[float, float] = (1.0, 1.0)  # how long a step along each axis is; zeros: as fits
    map_note: str = ""
    merged: bool = False
    noun: str = "object"
    clear: float = CLEAR  # belief from which an object is said to belong clearly
    candidates: Mapping[int, float | None] = field(default_factory=dict)  # numbers of groups that were tried
    candidates_note: str = ""  # how one of them was chosen
    history: Sequence[float] = ()
    runs: Mapping[str, Sequence[object]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[Column] = ()  # what each was taken as
    profiles: Profiles | None = None  # what distinguishes the groups
    rules: ExplanationTree | None = None  # which columns lead to which set
    calibration: Calibrated | None = None  # what refits to other samples say
    values: bool = True  # whether cells, names and prototypes are shown
    scores: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    code: str = ""
    made_by: str = ""

    @property
    def html(self) -> str:
        """The report as one self-contained page."""
        return render(self)

    @property
    def facts(self) -> dict[str, object]:
        """What the page says, for machines."""
        return facts(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page, or with a name that ends in ``.json`` its facts; the file appears whole or not at all.

        Parameters
        ----------
        path : str or path
            Where to write; an existing file is replaced.
        """
        write(self, path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        page = escape(self.html)
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.title)}" style="width:100%;height:720px;border:0"></iframe>'
        )
