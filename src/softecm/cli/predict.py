"""``softecm predict``: the credal partition of new objects, by a model that is already there."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text

from softecm._text import visible
from softecm.belief.assignments import CLEAR
from softecm.belief.totals import PartitionTotals
from softecm.cli.fitting import told_users
from softecm.cli.options import INVOCATION
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import load
from softecm.cli.results import partition_table, write_csv
from softecm.cli.screen import consoles, counts_table, lines, print_json, remarks
from softecm.cli.source import columns_beside
from softecm.files import check_file, check_replaced, to_file
from softecm.readers import Beside, Expected, Loaded, ReadOptions, Written, read
from softecm.report import three_sentences
from softecm.report.words import five_counts
from softecm.spaces import States, Table, TimeSeries
from softecm.spaces.views import Views


def run(
    model: Path,
    file: Path,
    output: Path | None,
    options: ReadOptions,
    views: Beside,
    beside: tuple[str, ...] = (),
    *,
    clear: float = CLEAR,
    force: bool,
) -> None:
    """Load, read, predict, write one table."""
    to_stdout = output is not None and str(output) == "-"
    (out, err), machine = consoles(), INVOCATION.get().machine
    target = output or Path(f"{file.stem}-partition.csv")
    if not to_stdout:
        _check_place(target, [file, model, *views.files], force=force)
    estimator = load(model)
    _check_views(estimator, model, views)
    with err.status(f"reading {file}"):
        loaded = as_views(estimator, read(file, _as_trained(estimator, model, options), views))
    joined = columns_beside(loaded, beside)
    with mendable(ValueError, TypeError), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        partition = estimator.predict_partition(loaded.data)
        table = partition_table(partition, loaded.names, clear, joined)
    told = (*loaded.notes, *told_users(caught))
    if to_stdout and not machine:
        _print(table)
        remarks(err, told)
        return
    if not to_stdout:
        to_file(target, lambda path: write_csv(table, path))
    noun = "series" if loaded.shape == "series" else "object"
    sentences = three_sentences(partition, loaded.names, noun=noun, clear=clear)
    lines(out, sentences)
    totals = PartitionTotals.of(partition, clear)
    out.print(counts_table(totals.focal, totals.objects.tolist()))
    out.print(Text(five_counts(totals.decisions(), clear)))
    remarks(out, told)
    out.print(Text(f"Written to {target}"))
    facts = {
        "file": None if to_stdout else str(target),
        "n_objects": len(partition),
        "objects_by_set": totals.by_set(),
        "decisions": totals.decisions(),
        "clear": clear,
        "sentences": sentences,
        "warnings": list(told),
    }
    print_json({**facts, "objects": _records(table)} if to_stdout else facts)


def _print(table: Any) -> None:
    """The table as CSV on the screen, or into a pipe, whose reader may have seen enough."""
    if sys.stdout.isatty():
        for name in table.columns:
            if table[name].dtype.kind == "O":
                table[name] = table[name].map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    sys.stdout.flush()
    try:
        write_csv(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise BrokenPipeError from error


def _records(table: Any) -> list[dict[str, object]]:
    """The rows of a table as JSON has them."""
    records: list[dict[str, object]] = json.loads(
        table.to_json(orient="records", date_format="iso", double_precision=10)
    )
    return records


def _check_place(target: Path, inputs: list[Path], *, force: bool) -> None:
    """Refuse what would keep the table from being written, before it is computed."""
    check_file(target)
    if target.exists() and not force:
        raise Problem(f"{target} exists: give another file with -o, or --force to replace it.")
    check_replaced([target], kind="partition", inputs=inputs)


def _as_trained(estimator: object, model: Path, options: ReadOptions) -> ReadOptions:
    """What the reader must know of the columns the model was fitted with, and what was said of the first file."""
    space = getattr(getattr(estimator, "model_", None), "space", None)
    names = getattr(estimator, "feature_names_in_", None)
    if isinstance(space, Views) and space.shown is None:  # the first of the files is the table
        names, space = space.feature_names[0] or None, space.spaces[0]
    if isinstance(space, States):
        return replace(options, states=True)
    kinds = () if space is None else tuple(space.kinds)
    named = None if names is None else tuple(str(name) for name in names)
    if not kinds or (named is not None and len(named) != len(kinds)):
        return options
    said, before = _said_before(model)
    names_given = options.names or said.names
    options = replace(options, missing=options.missing or said.missing, names=names_given)
    return replace(options, expected=replace(before, kinds=kinds, names=named, gaps=isinstance(space, Table)))


def _check_views(estimator: object, model: Path, views: Beside) -> None:
    """Refuse files that the model was not fitted with, and too few of them."""
    space = getattr(getattr(estimator, "model_", None), "space", None)
    several = getattr(estimator, "view_names_", ())
    if isinstance(space, Views):
        several = space.views if space.shown is None else ()
    if len(several) < 2 and views:
        raise Problem(f"{model} was fitted with one file: leave --series, --embedding and --matrix out.")
    if len(several) > 1 and not views:
        raise Problem(
            f"{model} has several views, {', '.join(several)}: give their files, too, with --series, --embedding or "
            "--matrix, and --id as in the fit."
        )


def as_views(estimator: Any, loaded: Loaded) -> Loaded:
    """The files' objects under the names that the model's views have; views without a file are missing for all."""
    if not isinstance(loaded.data, Mapping):
        return loaded
    if not hasattr(estimator, "model_"):
        names = list(estimator.view_names_)
        if len(names) != len(loaded.data):
            raise Problem(f"the model has {len(names)} matrices, {', '.join(names)}; got {len(loaded.data)} files.")
        return replace(loaded, data=dict(zip(names, loaded.data.values(), strict=True)))
    space = estimator.model_.space
    first, *others = zip(space.views, space.spaces, strict=True)
    wanted = {True: [], False: []}  # type: dict[bool, list[str]]
    for name, own in others:
        wanted[isinstance(own, TimeSeries)].append(name)
    data = dict.fromkeys(space.views, [None] * len(loaded)) | {first[0]: next(iter(loaded.data.values()))}
    notes = list(loaded.notes)
    for file, part in list(loaded.data.items())[1:]:
        left = wanted[isinstance(part, list)]
        if not left:
            kind = "series" if isinstance(part, list) else "embedding"
            raise Problem(
                f"{file} is no view of the model, whose views are {', '.join(space.views)}: leave out this {kind}."
            )
        data[left.pop(0)] = part
    for name in (*wanted[True], *wanted[False]):
        notes.append(f"no file was given for {name}: objects are compared in their other views.")
    return replace(loaded, data=data, notes=tuple(notes))


def _said_before(model: Path) -> tuple[ReadOptions, Expected]:
    """Of the training file, where the model lies in its folder: what was said, and its columns, how they are written."""
    try:
        summary = json.loads((model / "summary.json").read_text(encoding="utf-8"))
        columns = summary["understood"]["columns"]
        ids = [str(c["name"]) for c in columns if c["kind"] == "id"]
        missing = tuple(str(mark) for mark in summary["reading"].get("missing", ()))
        names = tuple(str(name) for name in summary["reading"].get("names", ()))
        written = {str(c["name"]): _written(c["written"]) for c in columns if c.get("written")}
        known = tuple(str(c["name"]) for c in columns)
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return ReadOptions(), Expected(())
    before = Expected((), id_column=ids[0] if ids else None, written=written, known=known)
    return ReadOptions(missing=missing or None, names=names), before


def _written(said: dict[str, object]) -> Written:
    """How a column was written, from a summary; anything odd in it counts as unsaid."""
    texts = {name: str(said.get(name) or "") for name in ("thousands", "unit", "dates")}
    words, no_answer = (
        tuple(map(str, value)) if isinstance(value := said.get(name), list) else () for name in ("words", "no_answer")
    )
    return Written("," if said.get("decimal") == "," else ".", words=words, no_answer=no_answer, **texts)
