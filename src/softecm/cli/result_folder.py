"""A folder that ``softecm cluster`` wrote: its summary, partition and model, the file it was made from, its page."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypedDict, cast, get_type_hints

import numpy as np

from softecm._text import to_json
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import CLEAR
from softecm.cli.problems import Problem, mendable
from softecm.files import completed, write_text
from softecm.files.expected import matches
from softecm.readers import Beside, Column, Loaded, ReadOptions, Written, read
from softecm.report import ReportData, build
from softecm.report.fit import code
from softecm.report.inputs import fitted_partition

if TYPE_CHECKING:
    import pandas as pd

    from softecm import SoftECM
    from softecm.calibration import Calibration

GONE = "The original file is missing, so positions are estimated from the masses and nothing is explained."
BY_BLOCKS = "{} is the result of a file that was read block by block: "


# A spreadsheet takes a cell that starts so for a formula. Such text gets an apostrophe in front, which spreadsheets show
# as nothing or as itself and never run; numbers such as -3 stay as they are.
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def harmless(text: str) -> str:
    """Text that no spreadsheet runs as a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-3"), harmless("plain")
    ("'=1+1", '-3', 'plain')
    """
    return f"'{text}" if text.startswith(RISKY) and not NUMBER.fullmatch(text) else text


def as_it_was(text: str) -> str:
    """The inverse of ``harmless``."""
    return text[1:] if text.startswith("'") and harmless(text[1:]) == text else text


def partition_table(
    partition: CredalPartition, ids: Sequence[str], clear: float = CLEAR, beside: object = None
) -> pd.DataFrame:
    """The table of partition.csv: what is said of each object; masses, beliefs and plausibilities to six decimals.

    ``beside`` are columns of the file to join, as they are.
    """
    frame = partition.to_frame("pandas", ids=np.asarray(ids, dtype=object), X=beside, clear=clear)
    own = set(frame.columns) if beside is None else set(partition[:0].to_frame("pandas").columns)
    numbers = [name for name in frame.columns if name in own and frame[name].dtype.kind == "f"]
    frame[numbers] = frame[numbers].round(6)
    return with_words(frame, harmless).rename(columns=harmless)


def with_words(frame: pd.DataFrame, function: Callable[[str], str]) -> pd.DataFrame:
    """A frame whose cells of text are replaced by what a function makes of them."""

    def changed(cell: object) -> object:
        return function(cell) if isinstance(cell, str) else cell

    return frame.assign(**{name: cells.map(changed) for name, cells in frame.items() if cells.dtype.kind == "O"})


def write_csv(frame: object, target: object) -> None:
    """A frame as CSV (UTF-8); ``target`` is a path or a binary stream."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.Table.from_pandas(frame, preserve_index=False)
    csv.write_csv(table, target, csv.WriteOptions(quoting_style="needed"))


def write_json(value: Mapping[str, object], path: Path) -> None:
    """Readable JSON."""
    write_text(path, to_json(value, indent=1) + "\n")


class Summary(TypedDict, total=False):
    """The entries of summary.json that other commands read."""

    n_clusters: int
    n_objects: int
    focal_sets: Required[list[list[int]]]
    cluster_names: list[str]
    file: str
    clear: float
    values: bool
    reading: dict[str, Any]
    beside: dict[str, list[str]]
    understood: dict[str, Any]
    parameters: dict[str, str]
    scores: dict[str, float]
    warnings: list[str]
    sentences: list[str]
    group_sentences: dict[str, str]
    objects_by_set: dict[str, int]
    profiles: dict[str, object]
    candidates: dict[str, float | None]
    clusters_chosen: str | None
    command: str
    collapsed: bool
    streamed: bool


#: What entries must be beyond their types.
RULES: dict[str, Callable[[Any], bool]] = {
    "clear": lambda value: 0.5 < value <= 1,
    "candidates": lambda value: all(map(str.isdecimal, value)),
    "understood": lambda value: matches(value.get("columns", []), list[dict[str, object]]),
}


def check_summary(summary: Any, file: Path) -> Summary:
    """A summary whose entries are what they must be; whoever edited one is told which."""
    if not matches(summary, dict) or "focal_sets" not in summary:
        raise Problem(f"{file} is damaged: run softecm cluster again.")
    for name, kind in get_type_hints(Summary).items():
        if name not in summary:
            continue
        if not matches(summary[name], kind) or (name in RULES and not RULES[name](summary[name])):
            raise Problem(f"{file} is damaged: its entry {name!r} has an unexpected value. Run softecm cluster again.")
    return cast(Summary, summary)


def _finite(text: str) -> float:
    """Return a number of a summary; softecm writes neither NaN nor infinity."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number")
    return number


@dataclass(frozen=True)
class ResultFolder:
    """What a result folder holds; everything but the summary is read when it is wanted."""

    path: Path
    summary: Summary

    @staticmethod
    def open(path: Path) -> ResultFolder:
        """The folder, refused where it is none."""
        file = path / "summary.json"
        if not path.is_dir():
            raise Problem(f"{path} is not a folder: give one that softecm cluster wrote.")
        completed(path)
        try:
            summary = json.loads(file.read_text(encoding="utf-8"), parse_float=_finite, parse_constant=_finite)
            return ResultFolder(path, check_summary(summary, file))
        except OSError:
            raise Problem(f"{path} has no readable summary.json: give a folder that softecm cluster wrote.") from None
        except (ValueError, RecursionError):
            raise Problem(f"{file} is damaged: run softecm cluster again.") from None

    @property
    def clear(self) -> float:
        """Belief from which "clearly" is said."""
        return float(self.summary.get("clear", CLEAR))

    @property
    def has_values(self) -> bool:
        """Whether cells of the file may be shown: not where --no-values was given."""
        return bool(self.summary.get("values", True))

    @property
    def file(self) -> str:
        """The file that was clustered, for a message."""
        return str(self.summary.get("file", "the file"))

    @cached_property
    def model(self) -> SoftECM:
        """The estimator."""
        return load(self.path)

    @cached_property
    def partition(self) -> CredalPartition:
        """The masses of all objects."""
        return self._table[0]

    @property
    def unrounded(self) -> CredalPartition:
        """The same as the model has it, if it does: of masses of six decimals, those of far outliers are all alike."""
        fitted, written = fitted_partition(self.model), self.partition
        if fitted is None or fitted.masses.shape != written.masses.shape:
            return written
        return fitted if np.allclose(fitted.masses, written.masses, rtol=0, atol=1e-5) else written

    @property
    def ids(self) -> list[str]:
        """What the objects are called in partition.csv."""
        return self._table[1]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where the object of each name is."""
        return {name: i for i, name in enumerate(self.ids)}

    @property
    def has_ids(self) -> bool:
        """Whether objects go by ids, which mean the same in another file, not by their rows."""
        columns = self.summary.get("understood", {}).get("columns", [])
        named = any(one.get("kind") == "id" for one in columns) or "series_id" in self.summary.get("reading", {})
        return named or not all(map(str.isdecimal, self.ids))

    @cached_property
    def _table(self) -> tuple[CredalPartition, list[str]]:
        import pandas as pd

        path, summary = self.path / "partition.csv", self.summary
        if not path.exists() and (self.path / "partition.parquet").exists():
            raise Problem(BY_BLOCKS.format(self.path) + "run softecm cluster again to draw its report.")
        try:
            frame = pd.read_csv(path, dtype={"id": str}, keep_default_na=False, na_values={})
        except (OSError, ValueError) as error:
            raise Problem(f"{path} can't be read: run softecm cluster again.") from error
        try:
            focal = FocalSets.of(int(summary["n_clusters"]), summary["focal_sets"])
            names = tuple(summary.get("cluster_names", []))
            focal = focal.renamed([] if names == focal.cluster_names else names)
            masses = frame[[f"m({label})" for label in focal.labels()]].to_numpy(dtype=np.float64)
            if not len(masses) or not (masses.sum(1) > 0).all() or not np.isfinite(masses).all():
                raise ValueError("no object, or one without masses")
            if len(masses) != summary.get("n_objects", len(masses)):
                raise ValueError("objects are missing")
            masses /= masses.sum(1, keepdims=True)  # six decimals do not add up to 1 exactly
            return CredalPartition(masses, focal), [as_it_was(name) for name in frame["id"]]
        except (KeyError, ValueError, TypeError) as error:
            raise Problem(f"{path} does not match the summary.json beside it: run softecm cluster again.") from error

    @cached_property
    def source(self) -> Loaded | None:
        """The objects, read as they were, if their file is still there and still has as many."""
        options, views = self.read_options, self.summary.get("beside", {})
        if options is None or "file" not in self.summary:
            return None
        try:
            loaded = read(Path(self.summary["file"]), options, Beside.of(views))
        except Problem:
            return None
        return loaded if len(loaded) == len(self.partition) else None

    def objects(self, why: str) -> Loaded:
        """The same, or a problem that says why they are needed."""
        if self.source is None:
            raise Problem(
                f"{self.file}, the file of {self.path}, is missing or has changed, and {why}: restore it, or run softecm "
                "cluster again."
            )
        return self.source

    def holding(
        self, model: SoftECM, source: Loaded | None, partition: CredalPartition, ids: Sequence[str]
    ) -> ResultFolder:
        """The same folder with contents that are in memory already, and not read again."""
        other = replace(self)
        other.__dict__.update(model=model, source=source, _table=(partition, list(ids)))
        return other

    def page(self, *, values: bool = True, calibration: Calibration | None = None) -> ReportData:
        """The report of it; without ``values``, or where the folder has none, no cell is shown."""
        summary, loaded, model, values = self.summary, self.source, self.model, values and self.has_values
        streamed, saved = summary.get("streamed", False), str(self.path / "model.safetensors")
        with mendable(ValueError, TypeError):
            page = build(
                model,
                None if loaded is None else model.as_shown(loaded.data),
                names=self.ids if loaded is None else loaded.names,
                title=Path(summary.get("file", self.path.name)).name + (" (sample)" if streamed else ""),
                partition=self.unrounded,
                parameters=summary.get("parameters", {}),
                scores=summary.get("scores", {}),
                warnings=summary.get("warnings", []),
                reading={k: v for k, v in summary.get("understood", {}).items() if isinstance(v, str)},
                columns=self.columns if loaded is None else loaded.columns or None,
                feature_names=None if loaded is None else loaded.feature_names or None,
                values=values,
                calibration=calibration,
                clear=self.clear,
                candidates={int(c): v for c, v in summary.get("candidates", {}).items()},
                candidates_note=summary.get("clusters_chosen") or "",
                command=summary.get("command", ""),
                code="" if loaded is None else code(model, loaded.code, saved, streamed=streamed),
            )
        return page if loaded is not None or not values else replace(page, map_note=GONE)

    @property
    def read_options(self) -> ReadOptions | None:
        """How the file was read; None where another version wrote the summary."""
        reading = self.summary.get("reading", {})
        return ReadOptions(**_with_tuples(reading)) if matches(reading, ReadOptions) else None

    @property
    def columns(self) -> list[Column] | None:
        """The columns of the file; None where the summary has none, or another version wrote it."""
        columns = self.summary.get("understood", {}).get("columns", [])
        if not matches(columns, list[Column]) or not all("detail" in one for one in columns):
            return None
        written = (how and Written(**_with_tuples(how)) for one in columns for how in [one.get("written")])
        return [Column(**{**one, "written": how}) for one, how in zip(columns, written, strict=True)] or None


def _with_tuples(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of a JSON object with tuples for its lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entries.items()}


def load(model: Path) -> SoftECM:
    """A fitted estimator from a model file, or from a result folder."""
    from softecm.models import load_model

    if os.path.isdir(model):
        completed(model)
    path = model / "model.safetensors" if os.path.isdir(model) else model
    if not os.path.isfile(path):
        wrong = "is not a file" if os.path.exists(path) else "does not exist"
        raise Problem(f"{path} {wrong}: give a model file, or a folder that softecm cluster wrote.")
    with mendable(ValueError, OSError):
        estimator: SoftECM = load_model(path)
    return estimator
