"""``softecm predict``: the credal partition of new objects, by a model that is already there."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text

from softecm.belief.decided import CLEAR
from softecm.cli.problems import Problem, disk, mendable
from softecm.cli.results import Counted, partition_table, write_csv
from softecm.cli.screen import consoles, counts_table, lines
from softecm.files.atomic import replaced
from softecm.readers import ReadOptions, read
from softecm.report import three_sentences
from softecm.report.words import five_counts


def run(
    model: Path,
    file: Path,
    output: Path | None,
    options: ReadOptions,
    *,
    clear: float = CLEAR,
    force: bool,
    quiet: bool,
    machine: bool,
) -> None:
    """Load, read, predict, write one table."""
    to_stdout = output is not None and str(output) == "-"
    out, _ = consoles(quiet=quiet or to_stdout, machine=machine)
    target = output or Path(f"{file.stem}-partition.csv")
    if not to_stdout and target.exists() and not force:
        raise Problem(f"{target} exists: give another file with -o, or --force to replace it.")
    estimator = load(model)
    names = getattr(estimator, "feature_names_in_", None)
    loaded = read(file, _with_id(model, file, options), only=None if names is None else [str(n) for n in names])
    with mendable(ValueError, TypeError):
        partition = estimator.predict_partition(loaded.data)
        table = partition_table(partition, loaded.names, clear)
    if to_stdout:
        sys.stdout.flush()
        write_csv(table, sys.stdout.buffer)
        return
    _write(table, target)
    noun = "series" if loaded.shape == "series" else "object"
    sentences = three_sentences(partition, loaded.names, noun=noun, clear=clear)
    lines(out, sentences)
    counted = Counted.of(partition, clear)
    out.print(counts_table(counted.focal, counted.objects.tolist()))
    out.print(Text(five_counts(counted.decisions, clear)))
    out.print(Text(f"Written to {target}"))
    if machine:
        facts = {
            "file": str(target),
            "n_objects": len(partition),
            "objects_by_set": counted.by_set(),
            "decisions": counted.decisions,
            "clear": clear,
            "sentences": sentences,
        }
        print(json.dumps(facts, ensure_ascii=False))


def load(model: Path) -> Any:
    """A fitted estimator from a model file, or from a result folder."""
    from softecm.models import load_model

    path = model / "model.safetensors" if model.is_dir() else model
    if not path.exists():
        raise Problem(f"{path} does not exist: give a model file, or a folder that softecm cluster wrote.")
    with mendable(ValueError, OSError):
        return load_model(path)


def _with_id(model: Path, file: Path, options: ReadOptions) -> ReadOptions:
    """The id column of the training file, where the new one has it too and nothing else is asked."""
    if options.id_column is not None or not model.is_dir():
        return options
    try:
        summary = json.loads((model / "summary.json").read_text(encoding="utf-8"))
        found = [c["name"] for c in summary["understood"]["columns"] if c["kind"] == "id"]
        asked = replace(options, id_column=found[0])
        read(file, asked)
    except (OSError, ValueError, KeyError, IndexError, TypeError, Problem):
        return options
    return asked


def _write(table: Any, target: Path) -> None:
    with disk(f"writing {target}"), replaced(target) as temporary:
        write_csv(table, temporary)
