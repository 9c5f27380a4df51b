"""``softecm report``: the report again, from a result folder, without a fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text

from softecm.belief import CredalPartition
from softecm.belief.assignments import CLEAR
from softecm.cli.predict import load
from softecm.cli.problems import Problem, mendable
from softecm.cli.results import read_partition, read_summary
from softecm.cli.screen import consoles, print_json
from softecm.files import check_file, check_replaced, to_file
from softecm.readers import Beside, Column, Loaded, ReadOptions, Written, read
from softecm.report import ReportData, build
from softecm.report.fit import code
from softecm.report.page import text_for
from softecm.report.sure import Calibrated

GONE = "The file these objects came from is not there any more, so places are guessed from masses and nothing is explained."


def run(
    folder: Path,
    output: Path | None,
    *,
    names: tuple[str, ...] | None = None,
    values: bool = True,
    quiet: bool,
    machine: bool,
) -> None:
    """Redraw ``report.html`` (a drawing, so it is replaced)."""
    out, _ = consoles(quiet=quiet, machine=machine)
    summary = read_summary(folder)
    target = output or folder / "report.html"
    check_file(target)
    kind = "summary" if target.suffix.lower() == ".json" else "report"
    check_replaced([target], kind=kind, inputs=[Path(str(summary.get("file", ""))), folder / "summary.json"])
    partition, ids = read_partition(folder, summary)
    if names is not None:
        with mendable(ValueError):
            partition = partition.rename(list(names))
    values = values and bool(summary.get("values", True))
    model = load(folder)
    loaded = source_of(summary, len(partition))
    page = page_of(model, partition, ids, summary, loaded, folder, values=values)
    text = text_for(page, target)
    to_file(target, lambda path: path.write_text(text, encoding="utf-8", newline=""))
    out.print(Text.assemble("Open ", (str(target), "bold")))
    if machine:
        print_json({"report": str(target), "source_read": loaded is not None})


def page_of(
    model: Any,
    partition: CredalPartition,
    ids: list[str],
    summary: dict[str, Any],
    loaded: Loaded | None,
    folder: Path,
    *,
    values: bool,
    calibration: Calibrated | None = None,
) -> ReportData:
    """The report of what a result folder holds."""
    saved = str(folder / "model.safetensors")
    with mendable(ValueError, TypeError):
        page = build(
            model,
            None if loaded is None else model.as_shown(loaded.data),
            names=ids if loaded is None else loaded.names,
            title=Path(summary.get("file", folder.name)).name,
            partition=partition,
            parameters=summary.get("parameters", {}),
            scores=summary.get("scores", {}),
            warnings=summary.get("warnings", []),
            reading={k: v for k, v in summary.get("understood", {}).items() if isinstance(v, str)},
            columns=_columns(summary) if loaded is None else loaded.columns or None,
            values=values,
            calibration=calibration,
            clear=float(summary.get("clear", CLEAR)),
            candidates={int(c): v for c, v in summary.get("candidates", {}).items()},
            candidates_note=summary.get("clusters_chosen") or "",
            code="" if loaded is None else code(model, loaded.code, saved),
        )
    return page if loaded is not None or not values else replace(page, map_note=GONE)


def _columns(summary: dict[str, Any]) -> list[Column] | None:
    """The columns as they were understood then; None where the summary has none."""
    understood = summary.get("understood", {}).get("columns", [])
    try:
        return [
            Column(**{**one, "written": one["written"] and Written(**one["written"])}) for one in understood
        ] or None
    except (TypeError, KeyError):  # of another version
        return None


def source_of(summary: dict[str, Any], count: int) -> Loaded | None:
    """The objects, read as they were, if their file is still there and still has as many."""
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in summary.get("reading", {}).items()}
    try:
        loaded = read(Path(summary["file"]), ReadOptions(**given), Beside.of(summary.get("beside", {})))
    except (Problem, KeyError, TypeError, AttributeError):
        return None
    return loaded if len(loaded) == count else None


def objects_of(folder: Path, summary: dict[str, Any], count: int, why: str) -> Loaded:
    """The same, or a problem that says why they are needed."""
    loaded = source_of(summary, count)
    if loaded is None:
        raise Problem(
            f"{summary.get('file', 'the file')}, from which {folder} was made, is not there any more or has changed, and "
            f"{why}: put it back, or run softecm cluster again."
        )
    return loaded
