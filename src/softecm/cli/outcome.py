"""What a clustering leaves behind: the summary, the files of its folder, the words on the screen."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rich.console import Console
from rich.text import Text

from softecm._text import capitalized
from softecm._version import __version__
from softecm.belief.totals import PartitionTotals
from softecm.cli.fitting import FittedFile
from softecm.cli.options import INVOCATION
from softecm.cli.result_folder import ResultFolder, Summary, write_json
from softecm.cli.screen import counts_table, lines, remarks
from softecm.cli.search import candidates_table
from softecm.cli.source import ObjectSource
from softecm.readers import ReadOptions
from softecm.report import ReportData
from softecm.report.fit import own_warnings, parameters, plain_parameters, scores
from softecm.report.reasons import columns_set_aside
from softecm.report.sections.base import finite
from softecm.report.sections.columns import without_details
from softecm.report.words import five_counts

if TYPE_CHECKING:
    from softecm import SoftECM

MOST_GROUPS = 14  # groups with a sentence on the screen


def summary(
    source: ObjectSource,
    options: ReadOptions,
    fitted: FittedFile,
    totals: PartitionTotals,
    *,
    values: bool = True,
) -> dict[str, Any]:
    """What summary.json holds; without ``values`` nothing from which a cell could be read."""
    model, loaded = fitted.model, source.loaded
    notes = {"notes": " ".join(loaded.notes)} if loaded.notes else {}
    understood = {**loaded.how, **notes, "columns": [asdict(c) for c in loaded.columns]}
    params, messages = parameters(model), [*source.remarks(), *fitted.warnings]
    if not values:
        understood = {"columns": [asdict(c) for c in without_details(loaded.columns)]}
        params, messages = plain_parameters(model, params), own_warnings(model, messages)
    return {
        "softecm": __version__,
        "file": str(source.file.absolute()),
        "reading": {k: v for k, v in asdict(options).items() if v not in (None, ())},
        "understood": understood,
        "values": values,
        "sentences": list(source.sentences(model, totals)),
        "n_objects": totals.n_objects,
        "n_clusters": totals.focal.n_clusters,
        "cluster_names": list(totals.focal.cluster_names),
        "focal_sets": [list(members) for members in totals.focal.sets],
        "objects_by_set": totals.by_set(),
        "decisions": totals.decisions(),
        "clear": totals.clear,
        "n_outliers": totals.decisions()["nowhere"],
        "nonspecificity": totals.nonspecificity,
        "nonspecificity_with_empty": totals.nonspecificity_empty,
        "objective": finite(model.objective_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "algorithm": type(model).__name__,
        "separation": finite(getattr(model, "separation_", np.nan)),
        "collapsed": bool(getattr(model, "collapsed_", False)),
        "delta": finite(np.nan if getattr(model, "delta_", None) is None else float(model.delta_ or np.nan)),
        **fitted.search,
        "parameters": params,
        "set_aside": sorted(columns_set_aside(model)),
        "scores": {} if loaded.labels is None else scores(source.shown(model), list(loaded.labels)),
        "warnings": messages,
        **({"links": fitted.links} if fitted.links else {}),
        "interrupted": fitted.interrupted,
        "command": _again(model, source.file) if values else "",
        "seconds": round(fitted.seconds, 3),
        **source.more(fitted),
    }


def _again(model: SoftECM, file: Path) -> str:
    """The command for another fit like this one, as many groups, to which a report's sliders add their values."""
    away = {"alpha", "beta", "clear", "output", "force", "checkpoint", "resume", "names_of_clusters"}
    away |= {"delta"} if getattr(model, "delta_", None) is not None else set()
    same = INVOCATION.get().line(away, clusters=str(model.partition_.n_clusters))
    return f"{same} -o {shlex.quote(f'{file.stem}-what-if')}"


def write(
    work: Path, folder: Path, source: ObjectSource, fitted: FittedFile, summary: Mapping[str, Any]
) -> dict[str, Any]:
    """The summary and the report; ``folder`` is where they and the model will lie in the end. Gives the whole summary."""
    model, loaded = fitted.model, source.loaded
    write_json(summary, work / "summary.json")  # before the report, which could fail
    result = ResultFolder(folder, cast(Summary, summary))
    page = result.holding(model, loaded, source.shown(model), loaded.names).page()
    page.write(work / "report.html")
    sentences = _sentences(page, summary["objects_by_set"])
    whole = {**summary, "profiles": page.facts["profiles"], "group_sentences": sentences}
    write_json(whole, work / "summary.json")
    return whole


def _sentences(page: ReportData, counts: Mapping[str, int]) -> dict[str, str]:
    """What each group is, with the counts of the whole file: the page of a streamed one has a sample."""
    profiles = page.profiles
    if profiles is None:
        return {}
    sizes = {name: counts.get(name, size) for name, size in profiles.sizes.items()}
    return replace(profiles, sizes=sizes).sentences(page.noun)


def say(out: Console, folder: Path, model: SoftECM, totals: PartitionTotals, summary: Mapping[str, Any]) -> None:
    """What to mind, what was found, and where to look."""
    out.print()
    remarks(out, summary["warnings"])
    lines(out, [summary["links"]] if "links" in summary else [])
    if summary["clusters_chosen"]:
        out.print(candidates_table(summary["candidates"], totals.focal.n_clusters, summary["rule"]))
        out.print(Text(summary["clusters_chosen"] + "."))
    lines(out, summary["sentences"])
    finding = str(getattr(getattr(getattr(model, "model_", None), "metric", None), "finding", ""))
    if finding:
        out.print(Text(f"{capitalized(finding)}.", style="dim"))
    out.print(counts_table(model.focal_sets_, totals.objects.tolist()))
    if totals.focal.n_clusters > 1:
        names, about = model.focal_sets_.cluster_names[:MOST_GROUPS], summary["group_sentences"]
        lines(out, [about[name] for name in names if name in about])
    out.print(Text(five_counts(totals.decisions(), totals.clear)))
    if summary["scores"]:
        out.print(Text("Compared with the labels: " + ", ".join(f"{k} {v:.3f}" for k, v in summary["scores"].items())))
    out.print()
    out.print(Text.assemble("Open ", (str(folder / "report.html"), "bold")))
    if summary.get("streamed"):
        out.print(Text(f"All masses: {folder / 'partition.parquet'}", style="dim"))
    name = shlex.quote(str(folder))
    out.print(Text(f"Assign new objects: softecm predict {name} FILE", style="dim"))
    can_calibrate = totals.focal.n_clusters > 1 and not summary["collapsed"] and not summary.get("streamed")
    if summary["clusters_chosen"] and can_calibrate:
        out.print(Text(f"Check how much another sample would change: softecm calibrate {name}", style="dim"))
