"""What each group of a report is, by the columns that tell it from all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softecm.belief import CredalPartition
from softecm.explain import Profiles, profile
from softecm.report.chosen import FloatArray
from softecm.report.data import Attribute, ReportData
from softecm.report.objects import every
from softecm.report.telling import telling

MOST_COMPARED, FEWEST_COMPARED = 4_000, 500  # objects by which groups are told apart
WORK = 6e5  # of objects, columns and groups together


def profiled(data: ReportData) -> Profiles | None:
    """What distinguishes the groups of the drawn objects, or of an even sample of them; None where nothing can tell."""
    drawn = data.partition[data.rows]
    if data.series is not None and len(data.series):
        rows = every(len(drawn), MOST_COMPARED)
        return _of_series(drawn[rows], [data.series[i] for i in rows], data.channels)
    chosen = telling(data.attributes, data.prototypes, drawn.n_clusters)
    known = [data.attributes[j] for j in chosen if data.attributes[j].known]
    if not known:
        return None
    groups = len(np.unique(drawn.masses.argmax(1)))
    most = int(np.clip(WORK / (len(known) * groups), FEWEST_COMPARED, MOST_COMPARED))
    rows = every(len(drawn), most)
    cells = np.empty((len(rows), len(known)), dtype=object)
    for j, attribute in enumerate(known):
        cells[:, j] = [_cell(attribute, attribute.values[i]) for i in rows]
    return profile(drawn[rows], cells, columns=[attribute.name for attribute in known])


def _of_series(partition: CredalPartition, series: list[FloatArray], channels: Sequence[str]) -> Profiles | None:
    named = channels if len(channels) > 1 else None
    return profile(partition, series, columns=named) if len({one.shape[1] for one in series}) == 1 else None


def _cell(attribute: Attribute, value: object) -> object:
    """A cell as a number, or as a word; None where missing."""
    if attribute.kind == "category":
        return None if value is None else str(value)
    number = attribute.coordinate(value)
    return None if np.isnan(number) else number
