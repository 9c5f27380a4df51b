"""``softecm report``: the report again, from a result folder, without a fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from softecm.cli.cluster import code
from softecm.cli.facts import prototype_rows, report_data
from softecm.cli.predict import load
from softecm.cli.problems import Problem, disk, mendable
from softecm.cli.results import read_partition, read_summary
from softecm.cli.screen import consoles
from softecm.readers import Loaded, ReadOptions, read
from softecm.report import Attribute, ReportData, choose_rows, landmark_mds, noteworthy, write

GONE = "The file these objects came from is not there any more, so places are guessed from masses and nothing is explained."


def run(folder: Path, output: Path | None, *, quiet: bool, machine: bool) -> None:
    """Redraw ``report.html`` (a drawing, so it is replaced)."""
    out, _ = consoles(quiet=quiet, machine=machine)
    summary = read_summary(folder)
    partition, ids = read_partition(folder, summary)
    model = load(folder)
    shown: dict[str, Any] = {
        "title": Path(summary.get("file", folder.name)).name,
        "parameters": summary.get("parameters", {}),
        "scores": summary.get("scores", {}),
        "warnings": summary.get("warnings", []),
        "reading": {k: v for k, v in summary.get("understood", {}).items() if isinstance(v, str)},
    }
    loaded = _source(summary, len(partition))
    if loaded is not None:
        with mendable(ValueError, TypeError):
            data = report_data(model, loaded, partition, **shown, code=code(model, loaded, folder))
    else:
        data = _from_masses(model, partition, ids, shown)
    target = output or folder / "report.html"
    with disk(f"writing {target}"):
        write(data, target)
    out.print(Text.assemble("Open ", (str(target), "bold")))
    if machine:
        print(json.dumps({"report": str(target), "source_read": loaded is not None}))


def _source(summary: dict[str, Any], count: int) -> Loaded | None:
    """The objects, read as they were, if their file is still there and still has as many."""
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in summary.get("reading", {}).items()}
    try:
        loaded = read(Path(summary["file"]), ReadOptions(**given))
    except (Problem, KeyError, TypeError):
        return None
    return loaded if len(loaded) == count else None


def _from_masses(model: Any, partition: Any, ids: list[str], shown: dict[str, Any]) -> ReportData:
    """What can be drawn without the objects: they lie at the mass-weighted mean of the sets' prototypes."""
    import torch

    rows = choose_rows(partition, np.concatenate(noteworthy(partition)))
    fitted = model.model_
    with torch.no_grad():
        between = fitted.metric.pairwise(fitted.prototypes, fitted.prototypes).double().clamp_min(0).numpy()
    stars = landmark_mds(between, between)
    masses = partition.masses[rows]
    points = masses[:, 1:] @ stars
    prototypes = model.prototypes_
    if isinstance(prototypes, list) or getattr(prototypes, "ndim", 2) == 3:
        fields: dict[str, Any] = {"prototype_series": [np.asarray(one, dtype=np.float64) for one in prototypes]}
    else:
        names = [str(name) for name in fitted.space.attributes]
        cells = prototype_rows(model, names)
        kinds = ["number" if isinstance(cells[0][j], int | float) else "category" for j in range(len(names))]
        fields = {
            "prototypes": cells,
            "attributes": [_unknown(n, k, len(rows)) for n, k in zip(names, kinds, strict=True)],
        }
    return ReportData(
        partition=partition,
        ids=ids,
        rows=rows,
        points=points,
        prototype_points=stars,
        map_note=GONE,
        merged=bool(model.collapsed_),
        history=[float(v) for v in model.history_],
        runs={name: list(values) for name, values in model._runs.items()},
        **fields,
        **shown,
    )


def _unknown(name: str, kind: str, count: int) -> Attribute:
    """An attribute whose objects are unknown: missing for each of them."""
    if kind == "number":
        return Attribute(name, "number", [np.nan] * count)
    return Attribute(name, "category", [None] * count)
