"""``softecm cluster``: from a file to a folder with the partition, the model and the report."""

from __future__ import annotations

import json
import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from softecm._version import __version__
from softecm.cli.facts import report_data
from softecm.cli.fitting import Fitted, check_metric, choose_metric, fit_auto, fit_kept
from softecm.cli.memory import limit, must_stream
from softecm.cli.problems import Problem, mendable
from softecm.cli.results import partition_table, summary_facts, write_csv, write_json
from softecm.cli.screen import consoles, counts_table, lines
from softecm.files.folders import check_free, whole_folder
from softecm.readers import Loaded, ReadOptions, read
from softecm.report import three_sentences, write

SHOWN_COLUMNS = 16
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def run(
    file: Path,
    clusters: str,
    output: Path | None,
    options: ReadOptions,
    given: Mapping[str, Any],
    *,
    parquet: bool,
    force: bool,
    quiet: bool,
    machine: bool,
    memory: str | None = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
) -> None:
    """Read, show what was understood, fit, write, say what was found."""
    out, err = consoles(quiet=quiet, machine=machine)
    count = _count(clusters)
    safety: dict[str, Any] = {k: v for k, v in (("checkpoint", checkpoint), ("resume", resume)) if v is not None}
    if checkpoint is not None and checkpoint.exists() and resume is None and not force:
        raise Problem(
            f"{checkpoint} is there already. Go on from it with --resume {checkpoint}, replace it with --force, or give "
            "another name."
        )
    if must_stream(file, memory, _n_sets(count, given)):
        _stream(file, count, output, options, given, memory, safety, force=force, quiet=quiet, machine=machine)
        return
    if safety and count is None:
        raise Problem("--checkpoint and --resume need a number of clusters: give -c a number.")
    folder = output or Path(f"{file.stem}-softecm")
    check_free(folder, force=force)
    loaded = read(file, options)
    metric, why = _metric(str(given["metric"]), loaded)
    say_understood(out, file, loaded, metric, why, len(loaded))
    _check_size(file, loaded, count)
    params: dict[str, Any] = {**given, "metric": metric}
    if count is None:
        fitted, chosen = fit_auto(loaded, params, err)
    else:
        fitted, chosen = fit_kept(loaded.data, {**params, "n_clusters": count}, err, safety), ""
    summary = _summary(file, loaded, options, fitted, chosen)
    with whole_folder(folder, force=force) as work, err.status("writing the report"):
        _write(work, folder, file, loaded, fitted, summary, parquet=parquet)
    summary["folder"] = str(folder)
    _say(out, folder, loaded, fitted, summary)
    if machine:
        print(json.dumps(summary, ensure_ascii=False, allow_nan=False))


def _n_sets(count: int | None, given: Mapping[str, Any]) -> int:
    """How many sets have a mass; enough of them where the number of clusters is not known."""
    from softecm.belief import FocalSets

    with mendable(ValueError, TypeError):
        return len(FocalSets.make(count or 10, given["max_cardinality"], given["focal_sets"]))


def _stream(
    file: Path,
    count: int | None,
    output: Path | None,
    options: ReadOptions,
    given: Mapping[str, Any],
    memory: str | None,
    safety: Mapping[str, Any],
    **how: bool,
) -> None:
    """A file that does not fit in memory."""
    from softecm.cli.stream import run as stream

    if count is None:
        raise Problem(
            f"{file} does not fit in memory, so --clusters auto can't try one number after the other: give -c."
        )
    if options.long or options.label_column or options.missing:
        raise Problem(
            f"{file} does not fit in memory, and --id, --time, --label-column and --missing need all of it: leave them "
            "out, or allow more with --memory."
        )
    stream(file, count, output, options, given, memory=limit(memory), safety=safety, **how)


def _count(clusters: str) -> int | None:
    if clusters == "auto":
        return None
    if not clusters.isdecimal() or int(clusters) < 1:
        raise Problem(f"--clusters must be a whole number of at least 1, or auto; got {clusters}.")
    return int(clusters)


def _metric(asked: str, loaded: Loaded) -> tuple[str, str]:
    metric, why = (asked, "as asked") if asked != "auto" else choose_metric(loaded)
    check_metric(metric)
    return metric, why


def _check_size(file: Path, loaded: Loaded, count: int | None) -> None:
    least = 3 if count is None else count
    if len(loaded) < least:
        objects = "1 object" if len(loaded) == 1 else f"{len(loaded)} objects"
        wanted = "--clusters auto" if count is None else f"{count} clusters"
        raise Problem(f"{file} has {objects}, too few for {wanted}: give more rows or ask for fewer clusters.")


# ------------------------------------------------------------------ what was understood


def say_understood(out: Console, file: Path, loaded: Loaded, metric: str, why: str, n: int) -> None:
    """The file's ``n`` objects, its columns, the metric."""
    what = "series" if loaded.shape == "series" else "objects"
    out.print(Text.assemble((str(file), "bold"), f"  {n:,} {what}".replace(",", " ")))
    if loaded.how:
        out.print(Text("  " + " · ".join(f"{k}: {v}" for k, v in loaded.how.items()), style="dim"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for name in ("column", "taken as", "values", "missing"):
        table.add_column(name, style="" if name == "column" else "dim", overflow="ellipsis", no_wrap=True)
    for column in loaded.columns[:SHOWN_COLUMNS]:
        gaps = str(column.gaps) if column.gaps else ""
        style = "dim" if column.kind == "left out" else ""
        table.add_row(*(Text(_visible(t), style=style) for t in (column.name, column.kind, column.detail, gaps)))
    out.print(table)
    more = len(loaded.columns) - SHOWN_COLUMNS
    if more > 0:
        out.print(Text(f"  … and {more} more columns", style="dim"))
    out.print(Text(f"  metric: {metric} ({why})", style="dim"))
    for note in loaded.notes:
        out.print(Text(f"  note: {note}", style="yellow"))


def _visible(text: str) -> str:
    """Text without control characters, which could move the terminal's cursor or turn its text around."""
    return "".join("�" if unicodedata.category(c) == "Cc" or c in TURNING else c for c in text)


# ------------------------------------------------------------------ what is written


def _summary(file: Path, loaded: Loaded, options: ReadOptions, fitted: Fitted, chosen: str) -> dict[str, Any]:
    model = fitted.model
    partition = model.partition_
    noun = "series" if loaded.shape == "series" else "object"
    sentences = three_sentences(partition, loaded.names, merged=bool(model.collapsed_), noun=noun)
    return {
        "softecm": __version__,
        "file": str(file.absolute()),
        "reading": {k: v for k, v in asdict(options).items() if v not in (None, ())},
        "understood": {**loaded.how, "columns": [asdict(c) for c in loaded.columns]},
        **summary_facts(model, partition, sentences),
        "clusters_chosen": chosen or None,
        "parameters": parameters(model),
        "scores": scores(loaded, partition),
        "warnings": list(fitted.warnings),
        "interrupted": fitted.interrupted,
        "seconds": round(fitted.seconds, 3),
    }


def parameters(model: Any) -> dict[str, str]:
    """Parameters of the fit as text, for the report; what says nothing is left out."""
    params = model.get_params(deep=False)
    shown = {k: _told(v) for k, v in params.items() if k not in ("callback", "verbose", "warm_start") and v is not None}
    shown["metric"] = model.model_.metric.name or shown.get("metric", "")
    if params.get("delta") == "auto" and model.delta_ is not None:
        shown["delta"] = f"auto: {model.delta_:.6g}"
    return shown


def _told(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def scores(loaded: Loaded, partition: Any) -> dict[str, float]:
    """How well the clusters meet the given labels; empty without labels."""
    if loaded.labels is None:
        return {}
    import numpy as np

    from softecm import scores as measure

    known = np.array([v is not None for v in loaded.labels])
    if known.sum() < 2:
        return {}
    truth, some = [str(v) for v in loaded.labels[known]], partition[known]
    found = some.labels()
    return {
        "adjusted Rand index": float(measure.adjusted_rand_index(truth, found)),
        "Rand index": float(measure.rand_index(truth, found)),
        "accuracy": float(measure.accuracy(truth, found)),
        "purity": float(measure.purity(truth, found)),
    }


def _write(
    work: Path, folder: Path, file: Path, loaded: Loaded, fitted: Fitted, summary: Mapping[str, Any], *, parquet: bool
) -> None:
    model = fitted.model
    model.save(work / "model.safetensors")
    table = partition_table(model.partition_, loaded.names)
    write_csv(table, work / "partition.csv")
    if parquet:
        try:
            table.to_parquet(work / "partition.parquet", index=False)
        except ImportError as error:
            raise Problem("--parquet needs pyarrow: pip install pyarrow.") from error
    del table
    write_json(summary, work / "summary.json")
    data = report_data(
        model,
        loaded,
        model.partition_,
        title=file.name,
        parameters=summary["parameters"],
        reading=loaded.how,
        scores=summary["scores"],
        warnings=summary["warnings"],
        code=code(model, loaded, folder),
    )
    write(data, work / "report.html")


def code(model: Any, loaded: Loaded, folder: Path, *, streamed: bool = False) -> str:
    """The same fit in Python."""
    usual = type(model)().get_params(deep=False)
    told = {k: v for k, v in model.get_params(deep=False).items() if v != usual.get(k) and k != "callback"}
    arguments = ", ".join(f"{k}={v!r}" for k, v in told.items())
    return "\n".join(
        [
            *[line for line in loaded.code if line.startswith(("import", "from"))],
            "from softecm import SoftECM, load_model",
            "",
            *[line for line in loaded.code if not line.startswith(("import", "from"))],
            f"model = SoftECM({arguments}).fit(X)",
            'model.partition_.to_parquet("partition.parquet")' if streamed else "model.partition_.to_frame()",
            "",
            "# or, without fitting again:",
            f"model = load_model({str(folder / 'model.safetensors')!r})",
        ]
    )


# ------------------------------------------------------------------ what was found


def _say(out: Console, folder: Path, loaded: Loaded, fitted: Fitted, summary: Mapping[str, Any]) -> None:
    out.print()
    if summary["clusters_chosen"]:
        out.print(Text(summary["clusters_chosen"] + "."))
    lines(out, [_visible(s) for s in summary["sentences"]])
    out.print(counts_table(fitted.model.partition_))
    if summary["scores"]:
        out.print(Text("Against the labels: " + ", ".join(f"{k} {v:.3f}" for k, v in summary["scores"].items())))
    for warning in fitted.warnings:
        out.print(Text(f"Mind: {warning}", style="yellow"))
    out.print()
    out.print(Text.assemble("Open ", (str(folder / "report.html"), "bold")))
    out.print(Text(f"New objects: softecm predict {shlex.quote(str(folder))} FILE", style="dim"))
