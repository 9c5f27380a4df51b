"""The page: what needs no script is in ``templates/report.html``, the rest is drawn by ``assets``, a script a section."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING

import numpy as np

from softecm._atomic import write_text
from softecm.report.calibration import calibration_values, facts_of
from softecm.report.column_summary import columns_table
from softecm.report.columns import DAY
from softecm.report.groups import ON_PAPER, group_values, set_names
from softecm.report.payload import beyond, payload, to_script
from softecm.report.run import candidates_figure, runs_table
from softecm.report.templating import TERMS, render_page, script
from softecm.report.words import grouped, plural, three_sentences

if TYPE_CHECKING:
    from softecm.explain import Profiles, Trait
    from softecm.report.data import ReportData

GLOSSARY = ("belief", "plausibility", "typical", "confidence", "doubt", "prototype", "distance", "metric")

SECTIONS = {
    "found": "Findings",
    "try": "What if",
    "map": "Map",
    "masses": "Masses",
    "sets": "Groups",
    "objects": "Objects",
    "sure": "Certainty",
    "taken": "Columns",
    "run": "The fit",
}


def write(data: ReportData, path: str | os.PathLike[str]) -> None:
    """Write the report, or with a name that ends in ``.json`` its facts; the file appears whole or not at all.

    Parameters
    ----------
    data : ReportData
    path : str or path
        Where to write; an existing file is replaced.
    """
    write_text(path, text_for(data, path))


def text_for(data: ReportData, path: str | os.PathLike[str]) -> str:
    """What a file of this name holds: the page, or its facts as JSON."""
    if os.fspath(path).lower().endswith(".json"):
        return json.dumps(data.facts, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    return render(data)


def render(data: ReportData) -> str:
    """The report as one self-contained page.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import CredalPartition
    >>> from softecm.report import ReportData
    >>> p = CredalPartition.from_hard([0, 1, -1])
    >>> page = render(ReportData("three", p, ["a", "<b>", "c"], np.arange(3), np.zeros((3, 2))))
    >>> "<b>" in page
    False
    """
    left_out = {
        "taken": not data.columns and not data.reading,
        "sure": data.calibration is None,
        "try": data.live is None,
    }
    sets = set_names(data.partition)
    return render_page(
        "report.html",
        script(),
        data=data,
        made_by=data.made_by or "softecm",
        plural=plural(data.noun),
        links=[(key, name) for key, name in SECTIONS.items() if not left_out.get(key)],
        sets=sets,
        sentences=three_sentences(data.partition, data.ids, merged=data.merged, noun=data.noun, clear=data.clear),
        decisions=data.partition.decisions(data.clear).counts(),
        map_notes=_map_notes(data),
        **group_values(data, sets),
        on_paper=ON_PAPER,
        sure=None if data.calibration is None else calibration_values(data.calibration, data.noun, data.ids),
        columns=columns_table(data.columns),
        candidates_figure=candidates_figure,
        runs=runs_table(data.runs, data.history) if data.runs else None,
        glossary=_glossary(data),
        payload=to_script(payload(data)),
    )


def _map_notes(data: ReportData) -> list[str]:
    """What to know of the map."""
    many, article = plural(data.noun), "an" if data.noun[0] in "aeiou" else "a"
    note = [
        f"Close together means similar. Colours mix the groups {article} {data.noun} may belong to; larger dots are more "
        "certain."
    ]
    if len(data.rows) < len(data.partition):
        note.append(f"Drawn: a sample of {grouped(len(data.rows))} of {grouped(len(data.partition))} {many}.")
    outside = len(beyond(data))
    if outside:
        drawn = f"{data.noun} lies" if outside == 1 else f"{many} lie"
        note.append(f"{grouped(outside)} {drawn} beyond the edge, marked by arrows.")
    if len(np.unique(data.points, axis=0)) < len(data.points):
        note.append(f"Identical {many} overlap.")
    return [*note, *([data.map_note] if data.map_note else [])]


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


# ------------------------------------------------------------------ the same for machines


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
        "profiles": {} if data.profiles is None else profile_facts(data.profiles),
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


def profile_facts(profiles: Profiles) -> dict[str, list[dict[str, object]]]:
    """What distinguishes each group, the strongest first."""
    return {group: [_trait(trait) for trait in profiles.of(group)] for group in profiles.sizes}


def _trait(trait: Trait) -> dict[str, object]:
    unit = DAY if trait.precision.moment else 1  # dates are days here
    entry: dict[str, object] = {
        "column": trait.column,
        "how": trait.how,
        "effect": round(trait.effect, 4),
        "interval": [round(trait.low, 4), round(trait.high, 4)],
        "here": _finite(trait.here / unit),
        "elsewhere": _finite(trait.elsewhere / unit),
    }
    return entry if trait.category is None else {**entry, "category": str(trait.category)}


def _prototypes(data: ReportData) -> dict[str, dict[str, object]]:
    """Cells of each set's prototype by column; dates and words as text."""
    labels, names = data.partition.focal_sets.labels()[1:], [a.name for a in data.attributes]
    rows = zip(labels, data.prototypes, strict=True) if len(data.prototypes) else ()
    return {label: {name: _json(cell) for name, cell in zip(names, row, strict=True)} for label, row in rows}


def _json(cell: object) -> object:
    return _finite(float(cell)) if isinstance(cell, int | float) and not isinstance(cell, bool) else str(cell)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
