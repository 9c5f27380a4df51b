"""``softecm explain``: the groups of a result folder in rules, or why one object is where it is."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from softecm._text import meant, to_json
from softecm.cli.commands import ExplainOptions
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import ResultFolder
from softecm.cli.screen import consoles, print_json
from softecm.explain import ExplanationTree
from softecm.files import check_new_file, to_file
from softecm.readers import Loaded, ReadOptions, read
from softecm.report.inputs import comparing, in_views, of_series
from softecm.report.object_explanation import explain_object
from softecm.report.reasons import columns_set_aside
from softecm.spaces.states import States

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 12
ROW = re.compile(r"(?:row)?\s*(\d{1,18})", re.IGNORECASE)
FIGURES = (".png", ".svg", ".pdf")


def run(options: ExplainOptions) -> None:
    """Fit the tree, say its rules, write them where asked; or explain one object."""
    if options.one is not None:
        return run_object(options.folder, options.one)
    (out, err), path, table, output = consoles(), options.folder, options.table, options.output
    if output is not None:
        if output.suffix.lower() not in (".txt", ".json", *FIGURES):
            raise Problem(f"--output must end in .txt, .json, {', '.join(FIGURES)}; got {output}.")
        check_new_file(output, force=options.force)
    folder = ResultFolder.open(path)
    if table is None and not folder.has_values:
        raise Problem(
            f"{path} was written with --no-values, and rules quote cells: run softecm cluster without it, or give a TABLE."
        )
    with err.status("finding rules"), mendable(ValueError, TypeError):
        data = _data(folder, table)
        names = _channels(folder, data) if table is None else None
        tree = ExplanationTree(options.lam).fit(folder.partition, data, columns=names)
    for rule in tree.rules():
        out.print(Text(rule))
    out.print(Text(tree.summary(), style="dim"))
    if output is not None:
        to_file(output, lambda path: _write(tree, path, output.suffix.lower()))
        out.print(Text.assemble("Written: ", (str(output), "bold")))
    print_json({**tree.to_dict(), "output": None if output is None else str(output)})


def run_object(path: Path, name: str) -> None:
    """Say why one object is where it is, in a sentence and column by column."""
    out, err = consoles()
    folder = ResultFolder.open(path)
    if not folder.has_values:
        raise Problem(f"{path} was written with --no-values, and reasons quote cells: run softecm cluster without it.")
    model = folder.model
    if not hasattr(model, "explain_object"):
        raise Problem(
            f"{type(model).__name__} has no prototypes to compare objects with: cluster with another --algorithm."
        )
    with err.status("reading"):
        loaded = folder.objects("reasons need its objects")
    number = _number(name, loaded, path)
    with mendable(ValueError, TypeError, IndexError):
        explanation = explain_object(model, loaded.data, number, loaded.names, folder.clear, folder.partition)
    out.print(Text(explanation.sentence))
    rows = explanation.to_frame("pandas")
    if len(rows) > 1:
        focal = folder.partition.focal_sets
        shown = _once(rows, explanation.candidates, dict(zip(focal.cluster_names, focal.group_names, strict=True)))
        table = Table(*shown.columns, box=None, pad_edge=False, header_style="dim")
        places = _decimals(max(abs(pull) for one in explanation.pulls for pull in one.towards))
        for row in shown.head(SHOWN).itertuples(index=False):
            table.add_row(*(f"{cell:z.{places}f}" if isinstance(cell, float) else str(cell) for cell in row))
        out.print(table)
        at = "; at: the group's value" if any(name.startswith("at ") for name in rows.columns) else ""
        more = f"; {len(rows) - SHOWN} more: --json" if len(rows) > SHOWN else ""
        what = "view" if in_views(model) else "stretch" if of_series(model) else "column"
        out.print(Text(f"to: how much closer the {what} puts it to that group{at}{more}", style="dim"))
        if "noise" in rows.columns:
            out.print(Text(f"noise: True where the {what} pulls no more than chance would", style="dim"))
    print_json({"object": explanation.name, "sentence": explanation.sentence, "columns": rows.to_dict("records")})


def _once(rows: pd.DataFrame, candidates: Sequence[str], names: Mapping[str, str]) -> pd.DataFrame:
    """The groups by these names, and of two candidates one column of pulls: the other is its negative."""
    heads = {f"{word} {one}": f"{word} {names[one]}" for one in candidates for word in ("to", "at")}
    if len(candidates) == 2:
        one, other = candidates
        rows, heads[f"to {one}"] = rows.drop(columns=f"to {other}"), f"to {names[one]}, not {names[other]}"
    return rows.rename(columns=heads)


def _decimals(largest: float) -> int:
    """So many that the largest number has three digits: smaller ones are then as small as they look."""
    return max(0, 2 - math.floor(math.log10(largest))) if 0 < largest < math.inf else 1


def _number(name: str, loaded: Loaded, folder: Path) -> int:
    """The object, counted from 0, that goes by an id, or lies in that row of the file where no id reads so."""
    if name in loaded.names:
        return loaded.names.index(name)
    row = ROW.fullmatch(name)
    indices = [] if row is None else [i for i, number in enumerate(_rows(loaded)) if number == int(row[1])]
    if indices:
        return indices[0]
    some = "" if loaded.ids is None else f"its id, such as {' or '.join(loaded.names[:2])}, or "
    raise Problem(
        f"--object {name} matches none of the {len(loaded)} objects of {folder}: give {some}its row, counted from 1 below "
        f"the header, such as 'row 2'.{meant(name, loaded.names)}"
    )


def _rows(loaded: Loaded) -> list[int]:
    """The row of the file in which each object lies, from 1; rows without a value are not among them."""
    index = None if loaded.table is None else loaded.table.index
    return list(range(1, len(loaded) + 1)) if index is None or index.dtype.kind != "i" else (index + 1).tolist()


def _data(folder: ResultFolder, table: Path | None) -> object:
    """The columns to explain by."""
    if table is not None:
        return read(table, ReadOptions()).data
    loaded = folder.source
    if loaded is None:
        raise Problem(
            f"{folder.file}, the file of {folder.path}, is missing or has changed: give a table of the same objects, "
            "softecm explain DIR TABLE."
        )
    data = loaded.first_view
    unused = [name for name in columns_set_aside(folder.model) if name in getattr(data, "columns", ())]
    return data.drop(columns=unused) if unused else data


def _channels(folder: ResultFolder, data: Any) -> list[str] | None:
    """What channels of series and steps of sequences are called; None where they have no names, and for other objects."""
    model = comparing(folder.model)
    if model is not None and isinstance(model.model_.space, States):
        return [f"step {k + 1}" for k in range(len(data[0]))]
    names = [column.name for column in folder.columns or [] if column.kind == "number"]
    if not of_series(folder.model) or hasattr(data, "columns") or names == ["channel 1"]:
        return None
    return names if np.shape(data[0])[1:] == (len(names),) else None


def _write(tree: ExplanationTree, path: Path, kind: str) -> None:
    if kind in FIGURES:
        from matplotlib.figure import Figure

        leaves = len(tree.leaves_)
        figure = Figure(figsize=(max(6.0, 2.2 * leaves), max(3.0, 1.0 * leaves)))
        tree.plot(ax=figure.add_subplot())
        figure.savefig(path, format=kind[1:], dpi=150, bbox_inches="tight")
        return
    rules = f"{tree.export_text()}\n{tree.summary()}"
    text = to_json(tree.to_dict(), indent=1) if kind == ".json" else rules
    path.write_text(text + "\n", encoding="utf-8")
