"""``softecm predict``: the credal partition of new objects, by a model that is already there."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from softecm._text import some_of, visible
from softecm.belief.totals import PartitionTotals
from softecm.cli.commands import PredictOptions
from softecm.cli.fitting import user_messages
from softecm.cli.options import INVOCATION, several
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import ResultFolder, load, partition_table, with_words, write_csv
from softecm.cli.screen import consoles, counts_table, lines, print_json, remarks
from softecm.cli.source import columns_beside
from softecm.files import check_new_file, check_replaced, to_file
from softecm.readers import Beside, Expected, Loaded, ReadOptions, read
from softecm.report import three_sentences
from softecm.report.inputs import of_series, views_of
from softecm.report.words import five_counts
from softecm.spaces.states import States
from softecm.spaces.tables import Table
from softecm.spaces.views import Views

if TYPE_CHECKING:
    import pandas as pd

    from softecm import SoftECM


def run(options: PredictOptions) -> None:
    """Load, read, predict, write one table."""
    model, file, output, views = options.model, options.file, options.output, options.other_files.views()
    to_stdout = output is not None and str(output) == "-"
    (out, err), machine = consoles(), INVOCATION.get().machine
    target = output or Path(f"{file.stem}-partition.csv")
    if not to_stdout:
        check_new_file(target, force=options.force)  # before it is computed
        check_replaced([target], kind="partition", inputs=[file, model, *views.files])
    estimator = load(model)
    _check_views(estimator, model, views)
    with err.status(f"reading {file}"):
        own = options.reading.options()
        reading = _as_trained(estimator, model, own)
        loaded = as_views(estimator, read(file, reading, views))
    if reading.missing and not own.missing:
        note = f"{some_of(reading.missing)} counts as missing, as in the fit; --missing changes it."
        loaded = replace(loaded, notes=(*loaded.notes, note))
    if of_series(estimator) and loaded.shape == "table":
        raise Problem(
            f"{model} compares series, and {file} was read as a table: add --id, --time and --value, or --time "
            "alone if each column is a series; if each row is one, give the result folder in place of the model file."
        )
    joined, clear = columns_beside(loaded, several(options.with_columns)), options.clear
    with mendable(ValueError, TypeError), warnings.catch_warnings(record=True, action="always") as caught:
        partition = estimator.predict_partition(_with_names(loaded))
        table = partition_table(partition, loaded.names, clear, joined)
    messages = (*loaded.notes, *user_messages(caught))
    if to_stdout and not machine:
        _print(table)
        remarks(err, messages)
        return
    if not to_stdout:
        to_file(target, lambda path: write_csv(table, path))
    sentences = three_sentences(partition, loaded.names, noun=loaded.noun, clear=clear)
    remarks(out, messages)  # before the result, which may be wrong because of them
    lines(out, sentences)
    totals = PartitionTotals.of(partition, clear)
    out.print(counts_table(totals.focal, totals.objects.tolist()))
    out.print(Text(five_counts(totals.decisions(), clear)))
    out.print(Text(f"Written to {target}"))
    facts: dict[str, object] = {
        "file": None if to_stdout else str(target),
        "n_objects": len(partition),
        "objects_by_set": totals.by_set(),
        "decisions": totals.decisions(),
        "clear": clear,
        "sentences": sentences,
        "warnings": list(messages),
    }
    if to_stdout:
        facts["objects"] = json.loads(table.to_json(orient="records", date_format="iso", double_precision=10))
    print_json(facts)


def _with_names(loaded: Loaded) -> object:
    """The objects, rows of a table under the names that messages use."""
    is_frame = loaded.shape == "table" and hasattr(loaded.data, "set_axis")
    names = [f"row {name}" for name in loaded.names] if loaded.ids is None else loaded.names
    return loaded.data.set_axis(names, axis=0) if is_frame else loaded.data


def _print(table: pd.DataFrame) -> None:
    """The table as CSV on the screen, or into a pipe, whose reader may have seen enough."""
    if sys.stdout.isatty():
        table = with_words(table, visible)
    sys.stdout.flush()
    try:
        write_csv(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise BrokenPipeError from error


def _several_views(estimator: SoftECM) -> Views | None:
    """The views of a model that was fitted to several files; None for one file, or several matrices."""
    views = views_of(estimator) if hasattr(estimator, "model_") else None
    return views if views is not None and views.shown is None else None


def _as_trained(estimator: SoftECM, model: Path, options: ReadOptions) -> ReadOptions:
    """Options that read a file the way the training file was read."""
    views, names = _several_views(estimator), getattr(estimator, "feature_names_in_", None)
    space = estimator.model_.space if hasattr(estimator, "model_") else None
    if views is not None:  # the first file is the table
        space, names = views.spaces[0], views.feature_names[0] or None
    folder = ResultFolder.open(model) if (model / "summary.json").is_file() else None
    known = (folder.columns if folder else None) or []
    first = (folder.read_options if folder else None) or ReadOptions()
    if views is None and (first.long or first.states or first.series):
        return options.like_series(first, known)
    if isinstance(space, States):
        return replace(options, states=True)
    kinds = () if space is None else tuple(space.kinds)
    named = None if names is None else tuple(str(name) for name in names)
    if not kinds or (named is not None and len(named) != len(kinds)):
        return options
    table = space if isinstance(space, Table) else None
    expected = Expected(kinds, named, gaps=table is not None, optional=() if table is None else table.optional)
    return replace(
        options,
        missing=options.missing or first.missing,
        names=options.names or first.names,
        time=options.time or first.time,  # of the series beside a table
        value=options.value or first.value,
        channel=options.channel or first.channel,
        expected=expected.as_in(known, first.unit),
    )


def _check_views(estimator: SoftECM, model: Path, views: Beside) -> None:
    """Refuse files that the model was not fitted with, and too few of them."""
    own = _several_views(estimator)
    several = getattr(estimator, "view_names_", ()) if own is None else own.views
    if len(several) < 2 and views:
        raise Problem(f"{model} was fitted with one file: leave out --series, --embedding and --matrix.")
    if len(several) > 1 and not views:
        raise Problem(
            f"{model} was fitted with several views ({', '.join(several)}): give their files with --series, --embedding "
            "or --matrix, and --id as in the fit."
        )


def as_views(estimator: SoftECM, loaded: Loaded) -> Loaded:
    """The files' objects under the names that the model's views have; views without a file are missing for all."""
    if not loaded.has_views:
        return loaded
    files, space = dict(loaded.data), _several_views(estimator)
    if space is None:
        names = list(estimator.view_names_)
        if len(names) != len(files):
            raise Problem(f"the model has {len(names)} matrices ({', '.join(names)}); got {len(files)} files.")
        return replace(loaded, data=dict(zip(names, files.values(), strict=True)))
    first, *others = zip(space.views, space.spaces, strict=True)
    series = [name for name, own in others if own.of_series]
    embeddings = [name for name, own in others if name not in series]
    data = dict.fromkeys(space.views, [None] * len(loaded)) | {first[0]: files.pop(next(iter(files)))}
    for file, part in files.items():
        kind, left = ("series", series) if isinstance(part, list) else ("embedding", embeddings)
        if not left:
            raise Problem(
                f"{file} is not a view of the model, whose views are {', '.join(space.views)}: leave out this {kind}."
            )
        data[left.pop(0)] = part
    note = "no file was given for {}: objects are compared in their other views."
    return replace(loaded, data=data, notes=(*loaded.notes, *map(note.format, series + embeddings)))
