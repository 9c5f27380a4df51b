"""A folder that ``softecm cluster`` wrote: its summary, partition and model, the file it was made from, its page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softecm._checks import is_number
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import CLEAR
from softecm.cli.problems import Problem, mendable
from softecm.cli.results import as_it_was
from softecm.files import completed
from softecm.readers import Beside, Column, Loaded, ReadOptions, Written, read
from softecm.report import ReportData, build
from softecm.report.fit import code

if TYPE_CHECKING:
    from softecm import SoftECM
    from softecm.report.calibration import Calibrated

GONE = "The file these objects came from is not there any more, so places are guessed from masses and nothing is explained."
BY_BLOCKS = "{} holds a file that was read block by block: "


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _is_numbers(value: object) -> bool:
    return isinstance(value, dict) and all(map(is_number, value.values()))


def _is_candidates(value: object) -> bool:
    return isinstance(value, dict) and all(
        key.isdecimal() and (one is None or is_number(one)) for key, one in value.items()
    )


def _is_columns(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_mapping, _list(value.get("columns", []))))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [None]


#: What entries of a summary are, where they are there; whoever edits one is told which.
ENTRIES: dict[str, tuple[Callable[[object], bool], str]] = {
    "n_clusters": (lambda value: is_number(value) and not isinstance(value, float), "a whole number"),
    "focal_sets": (lambda value: isinstance(value, list), "a list of sets"),
    "cluster_names": (_is_texts, "a list of texts"),
    "file": (_is_text, "a text"),
    "clear": (lambda value: is_number(value) and 0.5 < value <= 1, "a number from 0.5 to 1"),  # type: ignore[operator]
    "values": (lambda value: isinstance(value, bool), "true or false"),
    "reading": (_is_mapping, "an object"),
    "beside": (_is_mapping, "an object"),
    "understood": (_is_columns, "an object with a list of columns"),
    "parameters": (lambda value: isinstance(value, dict) and all(map(_is_text, value.values())), "an object of texts"),
    "scores": (_is_numbers, "an object of numbers"),
    "warnings": (_is_texts, "a list of texts"),
    "group_sentences": (
        lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
        "an object of texts",
    ),
    "candidates": (_is_candidates, "an object of numbers of groups"),
    "clusters_chosen": (lambda value: value is None or _is_text(value), "a text"),
}


@dataclass(frozen=True)
class ResultFolder:
    """What a result folder holds; everything but the summary is read when it is wanted."""

    path: Path
    summary: dict[str, Any]

    @staticmethod
    def open(path: Path) -> ResultFolder:
        """The folder, refused where it is none."""
        file = path / "summary.json"
        if not path.is_dir():
            raise Problem(f"{path} is not a folder: give the one softecm cluster wrote.")
        completed(path)
        try:
            summary = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(summary, dict) or "focal_sets" not in summary:
                raise ValueError
        except OSError:
            raise Problem(f"{path} holds no readable summary.json: give a folder that softecm cluster wrote.") from None
        except (ValueError, RecursionError):
            raise Problem(f"{file} is damaged: run softecm cluster again.") from None
        for name, (check, kind) in ENTRIES.items():
            if name in summary and not check(summary[name]):
                raise Problem(f"{file} is damaged: its entry {name!r} is not {kind}. Run softecm cluster again.")
        return ResultFolder(path, summary)

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
        model: SoftECM = load(self.path)
        return model

    @cached_property
    def partition(self) -> CredalPartition:
        """The masses of all objects."""
        return self._table[0]

    @property
    def ids(self) -> list[str]:
        """What the objects are called in partition.csv."""
        return self._table[1]

    @cached_property
    def _table(self) -> tuple[CredalPartition, list[str]]:
        import pandas as pd

        path, summary = self.path / "partition.csv", self.summary
        if not path.exists() and (self.path / "partition.parquet").exists():
            raise Problem(BY_BLOCKS.format(self.path) + "its report is drawn by softecm cluster only.")
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
            masses /= masses.sum(1, keepdims=True)  # six decimals do not add up to 1 exactly
            return CredalPartition(masses, focal), [as_it_was(name) for name in frame["id"]]
        except (KeyError, ValueError, TypeError) as error:
            raise Problem(f"{path} does not fit summary.json beside it: run softecm cluster again.") from error

    @cached_property
    def source(self) -> Loaded | None:
        """The objects, read as they were, if their file is still there and still has as many."""
        summary = self.summary
        given: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in summary.get("reading", {}).items()
        }
        try:
            loaded = read(Path(summary["file"]), ReadOptions(**given), Beside.of(summary.get("beside", {})))
        except (Problem, KeyError, TypeError, AttributeError):
            return None
        return loaded if len(loaded) == len(self.partition) else None

    def objects(self, why: str) -> Loaded:
        """The same, or a problem that says why they are needed."""
        if self.source is None:
            raise Problem(
                f"{self.file}, from which {self.path} was made, is not there any more or has changed, and {why}: put it "
                "back, or run softecm cluster again."
            )
        return self.source

    def renamed(self, names: Sequence[str], summary: dict[str, object]) -> ResultFolder:
        """The same with other names for its groups, in the partition and the summary; the model is renamed already."""
        other = replace(self, summary=summary)
        other.__dict__.update(
            model=self.model, source=self.source, _table=(self.partition.rename(list(names)), self.ids)
        )
        return other

    def page(self, *, values: bool = True, calibration: Calibrated | None = None) -> ReportData:
        """The report of it; without ``values``, or where the folder has none, no cell is shown."""
        summary, loaded, model, values = self.summary, self.source, self.model, values and self.has_values
        with mendable(ValueError, TypeError):
            page = build(
                model,
                None if loaded is None else model.as_shown(loaded.data),
                names=self.ids if loaded is None else loaded.names,
                title=Path(summary.get("file", self.path.name)).name,
                partition=self.partition,
                parameters=summary.get("parameters", {}),
                scores=summary.get("scores", {}),
                warnings=summary.get("warnings", []),
                reading={k: v for k, v in summary.get("understood", {}).items() if isinstance(v, str)},
                columns=self.columns if loaded is None else loaded.columns or None,
                values=values,
                calibration=calibration,
                clear=self.clear,
                candidates={int(c): v for c, v in summary.get("candidates", {}).items()},
                candidates_note=summary.get("clusters_chosen") or "",
                command=str(summary.get("command", "")),
                code="" if loaded is None else code(model, loaded.code, str(self.path / "model.safetensors")),
            )
        return page if loaded is not None or not values else replace(page, map_note=GONE)

    @property
    def columns(self) -> list[Column] | None:
        """The columns as they were understood then; None where the summary has none, or those of another version."""
        understood = self.summary.get("understood", {}).get("columns", [])
        try:
            return [
                Column(**{**one, "written": one["written"] and Written(**one["written"])}) for one in understood
            ] or None
        except (TypeError, KeyError):
            return None


def load(model: Path) -> Any:
    """A fitted estimator from a model file, or from a result folder."""
    from softecm.models import load_model

    if os.path.isdir(model):
        completed(model)
    path = model / "model.safetensors" if os.path.isdir(model) else model
    if not os.path.isfile(path):
        wrong = "is no file" if os.path.exists(path) else "does not exist"
        raise Problem(f"{path} {wrong}: give a model file, or a folder that softecm cluster wrote.")
    with mendable(ValueError, OSError):
        return load_model(path)
