"""A report for machines: what the page says, as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from softecm.report.calibration import facts_of
from softecm.report.columns import DAY
from softecm.report.words import three_sentences

if TYPE_CHECKING:
    from softecm.explain import Profiles, Trait
    from softecm.report.data import ReportData


def facts(data: ReportData) -> dict[str, object]:
    """What was found, what each group is, how it was computed; numbers as numbers, None where there are none."""
    partition, focal = data.partition, data.partition.focal_sets
    labels = focal.labels()
    counts = np.bincount(partition.masses.argmax(1), minlength=len(labels)).tolist()
    sentences = three_sentences(partition, data.ids, merged=data.merged, noun=data.noun, clear=data.clear)
    return {
        "softecm": data.made_by.removeprefix("softecm "),
        "title": data.title,
        "sentences": list(sentences),
        "n_objects": len(partition),
        "n_clusters": partition.n_clusters,
        "cluster_names": list(focal.cluster_names),
        "objects_by_set": dict(zip(labels, counts, strict=True)),
        "decisions": partition.decisions(data.clear).counts(),
        "clear": data.clear,
        "profiles": {} if data.profiles is None else told_profiles(data.profiles),
        "group_sentences": {} if data.profiles is None else data.profiles.sentences(data.noun),
        "rules": [] if data.rules is None else data.rules.rules(),
        "calibration": None if data.calibration is None else facts_of(data.calibration, data.ids),
        "prototypes": _prototypes(data),
        "columns": [{"name": c.name, "kind": c.kind, "values": c.detail, "missing": c.gaps} for c in data.columns],
        "candidates": {str(c): value for c, value in data.candidates.items()},
        "scores": dict(data.scores),
        "parameters": dict(data.parameters),
        "warnings": list(data.warnings),
        "objective": _finite(data.history[-1]) if data.history else None,
    }


def told_profiles(profiles: Profiles) -> dict[str, list[dict[str, object]]]:
    """What distinguishes each group, the strongest first."""
    return {group: [_trait(trait) for trait in profiles.of(group)] for group in profiles.sizes}


def _trait(trait: Trait) -> dict[str, object]:
    unit = DAY if trait.precision.moment else 1  # dates are days here
    told: dict[str, object] = {
        "column": trait.column,
        "how": trait.how,
        "effect": round(trait.effect, 4),
        "interval": [round(trait.low, 4), round(trait.high, 4)],
        "here": _finite(trait.here / unit),
        "elsewhere": _finite(trait.elsewhere / unit),
    }
    return told if trait.category is None else {**told, "category": str(trait.category)}


def _prototypes(data: ReportData) -> dict[str, dict[str, object]]:
    """Cells of each set's prototype by column; dates and words as text."""
    labels, names = data.partition.focal_sets.labels()[1:], [a.name for a in data.attributes]
    rows = zip(labels, data.prototypes, strict=True) if len(data.prototypes) else ()
    return {label: {name: _json(cell) for name, cell in zip(names, row, strict=True)} for label, row in rows}


def _json(cell: object) -> object:
    return _finite(float(cell)) if isinstance(cell, int | float) and not isinstance(cell, bool) else str(cell)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
