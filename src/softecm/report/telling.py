"""Which columns tell the groups apart, and in which order they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from softecm.report.data import Attribute, ReportData

MOST_ATTRIBUTES = 60


def telling(attributes: Sequence[Attribute], prototypes: Sequence[Sequence[object]], n_clusters: int) -> list[int]:
    """Columns in their order; where there are too many, those in which the clusters' prototypes differ most."""
    if len(attributes) <= MOST_ATTRIBUTES or not len(prototypes):
        return list(range(len(attributes)))
    clusters = prototypes[:n_clusters]
    spread = [_spread(attribute, [row[j] for row in clusters]) for j, attribute in enumerate(attributes)]
    return sorted(np.argsort(-np.nan_to_num(np.array(spread)), kind="stable")[:MOST_ATTRIBUTES].tolist())


def _spread(attribute: Attribute, values: Sequence[object]) -> float:
    """How far prototypes differ in one column, compared with its cells."""
    cells = attribute.coordinates()
    if cells is None:
        return float(len({str(value) for value in values}) - 1)
    own = float(np.nanstd(cells)) if np.isfinite(cells).any() else 0.0
    return float(np.ptp([attribute.coordinate(value) for value in values])) / max(own, 1e-12)


def ordered(data: ReportData) -> list[int]:
    """The columns to show, the ones that distinguish most groups most first."""
    chosen = telling(data.attributes, data.prototypes, data.partition.n_clusters)
    if data.profiles is None:
        return chosen
    groups = set(data.partition.focal_sets.labels()[1 : data.partition.n_clusters + 1])
    weight: dict[str, float] = {}
    for trait in data.profiles:
        if trait.group in groups and trait.distinguishes:
            weight[trait.column] = weight.get(trait.column, 0.0) + trait.effect
    return sorted(chosen, key=lambda j: -weight.get(data.attributes[j].name, 0.0))
