"""What a report is drawn from: plain values, no estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from softecm.belief import CredalPartition
from softecm.belief.assignments import CLEAR
from softecm.explain import ExplanationTree, Profiles
from softecm.readers.base import Column
from softecm.report.columns import Attribute
from softecm.report.inputs import FloatArray, IntArray
from softecm.report.page import facts, render, write
from softecm.report.reasons import Explanation
from softecm.report.sections.what_if import Live

if TYPE_CHECKING:
    from softecm.calibration import Calibration


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
    set_aside : frozenset of str
        Attributes without a weight in the distance: neither sentences nor rules tell groups by them.
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
    set_aside: frozenset[str] = frozenset()
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
    calibration: Calibration | None = None  # what refits to other samples say
    live: Live | None = None  # what sliders recompute masses from; None: no sliders
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
