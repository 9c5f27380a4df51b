"""What each group is: the columns that tell it from all others, and rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._precision import moment
from softecm.belief import CredalPartition
from softecm.explain import ExplanationTree, Profiles, profile
from softecm.report.columns import Attribute, missing
from softecm.report.data import ReportData
from softecm.report.groups import telling
from softecm.report.model_interface import FloatArray, IntArray
from softecm.report.objects import every

if TYPE_CHECKING:
    from softecm.report.columns import Attribute
    from softecm.report.data import ReportData

MOST_COMPARED, FEWEST_COMPARED = 4_000, 500  # objects by which groups are told apart
WORK = 6e5  # of objects, columns and groups together


def profiled(data: ReportData) -> Profiles | None:
    """What distinguishes the groups of the drawn objects, or of an even sample of them; None where nothing can tell."""
    drawn = data.partition[data.rows]
    if data.series is not None and len(data.series):
        rows = every(len(drawn), MOST_COMPARED)
        told = _of_series(drawn[rows], [data.series[i] for i in rows], data.channels)
        return None if told is None else _of_all(told, data.partition)
    known, rows = _compared(data)
    if not known:
        return None
    told = profile(drawn[rows], _cells(known, rows, _dated), columns=[attribute.name for attribute in known])
    units = {attribute.name: attribute.unit for attribute in known}
    return _of_all(replace(told, traits=tuple(replace(t, unit=units[t.column]) for t in told)), data.partition)


def _of_all(told: Profiles, partition: CredalPartition) -> Profiles:
    """What a sample tells, with the sizes that the groups have among all objects."""
    counts = np.bincount(partition.masses.argmax(1), minlength=partition.masses.shape[1]).tolist()
    sizes = dict(zip(partition.focal_sets.labels(), counts, strict=True))
    return replace(told, sizes={group: sizes[group] for group in told.sizes})


def ruled(data: ReportData) -> ExplanationTree | None:
    """Rules for the groups of the same objects; None for what has no columns, and where there is one group."""
    known, rows = _compared(data)
    some = data.partition[data.rows][rows]
    if not known or len(np.unique(some.masses.argmax(1))) < 2:
        return None
    names = [attribute.name for attribute in known]
    return ExplanationTree().fit(some, _cells(known, rows, _dated), columns=names)


def _compared(data: ReportData) -> tuple[list[Attribute], IntArray]:
    """The columns that groups are told by, without those that have no weight, and an even sample of the drawn objects."""
    chosen = telling(data.attributes, data.prototypes, data.partition.n_clusters)
    some = [data.attributes[j] for j in chosen if data.attributes[j].known]
    known = [attribute for attribute in some if attribute.name not in data.set_aside] or some
    groups = len(np.unique(data.partition.masses[data.rows].argmax(1)))
    most = int(np.clip(WORK / (max(len(known), 1) * groups), FEWEST_COMPARED, MOST_COMPARED))
    return known, every(len(data.rows), most)


def _cells(
    known: Sequence[Attribute], rows: IntArray, cell: Callable[[Attribute, object], object]
) -> NDArray[np.object_]:
    cells = np.empty((len(rows), len(known)), dtype=object)
    for j, attribute in enumerate(known):
        cells[:, j] = [cell(attribute, attribute.values[i]) for i in rows]
    return cells


def _dated(attribute: Attribute, value: object) -> object:
    """A cell with dates as dates."""
    if attribute.kind != "date" or missing(value):
        return _cell(attribute, value)
    return moment(value).item()


def _of_series(partition: CredalPartition, series: list[FloatArray], channels: Sequence[str]) -> Profiles | None:
    named = channels if len(channels) > 1 else None
    return profile(partition, series, columns=named) if len({one.shape[1] for one in series}) == 1 else None


def _cell(attribute: Attribute, value: object) -> object:
    """A cell as a number, or as a word; None where missing."""
    if attribute.kind == "category":
        return None if value is None else str(value)
    number = attribute.coordinate(value)
    return None if np.isnan(number) else number
