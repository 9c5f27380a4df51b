"""``softecm cluster`` on a Parquet file that does not fit in memory: one block of rows after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from softecm._version import __version__
from softecm.cli.cluster import code, parameters, say_understood
from softecm.cli.facts import report_data
from softecm.cli.fitting import Fitted, check_metric, choose_metric, fit_kept
from softecm.cli.memory import shown
from softecm.cli.problems import Problem, mendable
from softecm.cli.results import finite, write_json
from softecm.cli.screen import consoles, counts_table, lines
from softecm.files.folders import check_free, whole_folder
from softecm.readers import Column, Loaded, ReadOptions, check_file, understood_sample, words_of
from softecm.report import write
from softecm.report.words import counted_sentences

SAMPLE = 20_000  # rows that are looked at one by one, and drawn in the report
BATCH = 1 << 16


class Scan(NamedTuple):
    """What one pass over the file tells."""

    rows: int
    sample: Any  # data frame of evenly spread rows
    places: Any  # their numbers
    gaps: dict[str, int]
    varied: set[str]  # columns that hold more than one value


def run(
    file: Path,
    clusters: int,
    output: Path | None,
    options: ReadOptions,
    given: Mapping[str, Any],
    *,
    memory: int,
    force: bool,
    quiet: bool,
    machine: bool,
    safety: Mapping[str, Any],
) -> None:
    """Look through the file, fit, write, say what was found; nothing of the file's length is held."""
    out, err = consoles(quiet=quiet, machine=machine)
    folder = output or Path(f"{file.stem}-softecm")
    check_free(folder, force=force)
    check_file(file)
    err.print(Text(f"{file} is read block by block: it would not fit in {shown(memory)}.", style="dim"))
    with err.status("looking through the file"):
        scan = scanned(file)
    loaded = _understood(file, scan, options)
    metric, why = (str(given["metric"]), "as asked") if given["metric"] != "auto" else choose_metric(loaded)
    check_metric(metric)
    say_understood(out, file, loaded, metric, why, scan.rows)
    source = _source(file, loaded, metric, memory)
    fitted = fit_kept(source, {**given, "metric": metric, "n_clusters": clusters}, err, safety)
    with whole_folder(folder, force=force) as work:
        with err.status("writing the masses"):
            totals = _write_partition(fitted.model.partition_, source, loaded, work / "partition.parquet")
        summary = _summary(file, loaded, options, fitted, totals, len(scan.sample))
        with err.status("writing the report"):
            _write(work, folder, file, loaded, fitted, summary)
    summary["folder"] = str(folder)
    _say(out, folder, fitted, summary, totals)
    if machine:
        print(json.dumps(summary, ensure_ascii=False, allow_nan=False))


# ------------------------------------------------------------------ what the file holds


def scanned(file: Path) -> Scan:
    """Gaps, and which columns vary, exactly; a sample of rows for the rest."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        source = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
    except Exception as error:  # whatever pyarrow raises on a damaged file
        raise Problem(f"{file} can't be read as .parquet: {' '.join(str(error).split())[:120]}.") from error
    with source:
        rows = source.metadata.num_rows
        stride = max(1, rows // SAMPLE)
        parts, places, first = [], [], 0
        gaps = dict.fromkeys(source.schema_arrow.names, 0)
        seen: dict[str, Any] = {}
        varied: set[str] = set()
        for batch in source.iter_batches(BATCH, use_threads=False):
            table = pa.Table.from_batches([batch])
            here = np.arange((-first) % stride, len(table), stride)
            parts.append(table.take(here).to_pandas())
            places.append(here + first)
            first += len(table)
            for name in gaps:
                column = table.column(name)
                gaps[name] += _missing(column)
                _look(column, name, seen, varied)
    if not rows:
        raise Problem(f"{file} has names of columns and no rows below them: there is nothing to cluster.")
    sample = pd.concat(parts, ignore_index=True)
    sample.columns = [str(name) for name in sample.columns]
    return Scan(rows, sample, np.concatenate(places), gaps, varied)


def _missing(column: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    count = int(column.null_count)
    if pa.types.is_floating(column.type):
        count += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    return count


def _look(column: Any, name: str, seen: dict[str, Any], varied: set[str]) -> None:
    """Note a column of numbers that has held two values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name in varied or not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return
    ends = pc.min_max(column).as_py()
    values = {v for v in (*ends.values(), seen.get(name)) if v is not None and v == v}
    if len(values) > 1:
        varied.add(name)
    elif values:
        seen[name] = values.pop()


def _understood(file: Path, scan: Scan, options: ReadOptions) -> Loaded:
    """The columns as a sample of rows shows them, gaps counted over all rows."""
    counting = _row_numbers(scan) if options.id_column is None else None
    if counting is not None:
        options = replace(options, drop=(*options.drop, counting))
    once = [c for c in scan.sample.columns if c in scan.varied and scan.sample[c].nunique() == 1]
    options = replace(options, numeric=(*options.numeric, *once))  # constant in the sample, not in the file
    how = {"format": "parquet", "read": f"block by block; understood from {len(scan.sample):,} rows".replace(",", " ")}
    loaded = understood_sample(file, scan.sample, how, options)
    columns = tuple(
        Column(c.name, "id", "counts the rows")
        if c.name == counting
        else replace(c, gaps=scan.gaps.get(c.name, c.gaps))
        for c in loaded.columns
    )
    names = np.array([str(i + 1) for i in scan.places], dtype=object)
    ids = loaded.ids if options.id_column is not None else names
    return replace(loaded, columns=columns, ids=ids)


def _row_numbers(scan: Scan) -> str | None:
    """The column that counts the rows, if there is one."""
    for name in scan.sample.columns:
        values = scan.sample[name].to_numpy()
        if values.dtype.kind in "iu" and len(values) > 9:
            offset = values - scan.places
            if (offset == offset[0]).all() and offset[0] in (0, 1):
                return str(name)
    return None


def _source(file: Path, loaded: Loaded, metric: str, memory: int) -> Any:
    from softecm.distances import SEMI_METRICS
    from softecm.distributed import ParquetBlocks
    from softecm.spaces import RealVectors

    kept = [str(name) for name in loaded.data.columns]
    words = [c.name for c in loaded.columns if c.kind == "category"]
    plain = SEMI_METRICS[metric].space is RealVectors and not words
    with mendable(ValueError):
        return ParquetBlocks(file, kept, memory=memory, transform=None if plain else partial(_frame, words=words))


def _frame(table: Any, *, words: list[str]) -> Any:
    """A block as ``read`` would give it."""
    frame = table.to_pandas()
    frame.columns = [str(name) for name in frame.columns]
    for name in words:
        frame[name] = words_of(frame[name])
    return frame


# ------------------------------------------------------------------ what is written


def _write_partition(partition: Any, source: Any, loaded: Loaded, path: Path) -> Any:
    named = [c.name for c in loaded.columns if c.kind == "id" and c.detail != "counts the rows"]
    ids = None if not named else (table.column(0) for table in source.beside(named[:1]).read())
    return partition.to_parquet(path, dtype="float32", ids=ids)


def _summary(
    file: Path, loaded: Loaded, options: ReadOptions, fitted: Fitted, totals: Any, sampled: int
) -> dict[str, Any]:
    model = fitted.model
    focal = model.focal_sets_
    many = f"The report shows a sample of {sampled:,} of {totals.n_objects:,} objects.".replace(",", " ")
    return {
        "softecm": __version__,
        "file": str(file.absolute()),
        "reading": {k: v for k, v in asdict(options).items() if v not in (None, ())},
        "understood": {**loaded.how, "columns": [asdict(c) for c in loaded.columns]},
        "sentences": list(counted_sentences(model.partition_, totals.objects, merged=bool(model.collapsed_))),
        "n_objects": totals.n_objects,
        "n_clusters": focal.n_clusters,
        "focal_sets": [list(members) for members in focal.sets],
        "objects_by_set": dict(zip(focal.labels(), totals.objects.tolist(), strict=True)),
        "n_outliers": totals.outliers,
        "nonspecificity": totals.nonspecificity,
        "nonspecificity_with_empty": totals.nonspecificity_empty,
        "objective": finite(model.objective_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "separation": finite(model.separation_),
        "collapsed": bool(model.collapsed_),
        "delta": None if model.delta_ is None else finite(model.delta_),
        "clusters_chosen": None,
        "parameters": parameters(model),
        "scores": {},
        "warnings": [many, *fitted.warnings],
        "interrupted": fitted.interrupted,
        "seconds": round(fitted.seconds, 3),
        "seconds_a_round": None if fitted.seconds_a_round is None else round(fitted.seconds_a_round, 4),
        "streamed": True,
        "sampled": sampled,
    }


def _write(work: Path, folder: Path, file: Path, loaded: Loaded, fitted: Fitted, summary: Mapping[str, Any]) -> None:
    """The model, the summary, and a report of the sample."""
    model = fitted.model
    model.save(work / "model.safetensors")
    write_json(summary, work / "summary.json")
    kept = [str(name) for name in loaded.data.columns]
    reading = ("from softecm.distributed import ParquetBlocks", f"X = ParquetBlocks({str(file)!r}, {kept!r})")
    data = report_data(
        model,
        loaded,
        model.predict_partition(loaded.data),
        title=f"{file.name} (sample)",
        parameters=summary["parameters"],
        reading=loaded.how,
        scores={},
        warnings=summary["warnings"],
        code=code(model, replace(loaded, code=reading), folder, streamed=True),
    )
    write(data, work / "report.html")


def _say(out: Console, folder: Path, fitted: Fitted, summary: Mapping[str, Any], totals: Any) -> None:
    out.print()
    lines(out, summary["sentences"])
    out.print(counts_table(fitted.model.partition_, counts=totals.objects.tolist()))
    for warning in summary["warnings"]:
        out.print(Text(f"Mind: {warning}", style="yellow"))
    out.print()
    out.print(Text.assemble("Open ", (str(folder / "report.html"), "bold")))
    out.print(Text(f"All masses: {folder / 'partition.parquet'}", style="dim"))
