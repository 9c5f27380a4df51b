"""The files of a result folder: partition.csv, summary.json, and the way back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import CLEAR, counts_of
from softecm.cli.problems import Problem
from softecm.files import completed, write_text

if TYPE_CHECKING:
    from softecm import SoftECM

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


def partition_table(partition: CredalPartition, ids: Sequence[str], clear: float = CLEAR, beside: Any = None) -> Any:
    """The table of partition.csv: what is said of each object; masses, beliefs and plausibilities to six decimals.

    ``beside`` are columns of the file to join, as they are.
    """
    frame = partition.to_frame("pandas", ids=np.asarray(ids, dtype=object), X=beside, clear=clear)
    own = set(frame.columns) if beside is None else set(partition[:0].to_frame("pandas").columns)
    numbers = [name for name in frame.columns if name in own and frame[name].dtype.kind == "f"]
    frame[numbers] = frame[numbers].round(6)
    for name in frame.columns:
        if frame[name].dtype.kind == "O" and name != "decision":
            frame[name] = frame[name].map(lambda cell: harmless(cell) if isinstance(cell, str) else cell)
    return frame.rename(columns=harmless)


def write_csv(frame: Any, target: Any) -> None:
    """A frame as CSV (UTF-8), fast where pyarrow is there; ``target`` is a path or a binary stream."""
    if find_spec("pyarrow"):
        import pyarrow as pa
        from pyarrow import csv

        table = pa.Table.from_pandas(frame, preserve_index=False)
        csv.write_csv(table, target, csv.WriteOptions(quoting_style="needed"))
    else:
        frame.to_csv(target, index=False, encoding="utf-8")


def write_json(value: Mapping[str, Any], path: Path) -> None:
    """Readable JSON."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


@dataclass(frozen=True)
class Counted:
    """How many objects are where, and how much is left open."""

    focal: FocalSets
    decided: NDArray[np.int64]  # (5, f + 1), by what is said of them and by their set, the empty set first
    clear: float  # belief from which "clearly" is said
    nonspecificity: float
    nonspecificity_empty: float

    @staticmethod
    def of(partition: CredalPartition, clear: float = CLEAR) -> Counted:
        """Of all objects in memory."""
        both = partition.nonspecificity(), partition.nonspecificity(empty=True)
        return Counted(partition.focal_sets, partition.decisions(clear).table(), clear, *both)

    @property
    def n_objects(self) -> int:
        """All of them."""
        return int(self.decided.sum())

    @property
    def objects(self) -> NDArray[np.int64]:
        """Those with their largest mass on each set, (f + 1,), the empty set first."""
        objects: NDArray[np.int64] = self.decided.sum(0)
        return objects

    @property
    def decisions(self) -> dict[str, int]:
        """How many are clearly, rather, undecided, between, nowhere."""
        return counts_of(self.decided)

    def by_set(self) -> dict[str, int]:
        """Objects by the name of their set."""
        return dict(zip(self.focal.labels(), self.objects.tolist(), strict=True))


def summary_facts(model: SoftECM, counted: Counted, sentences: Sequence[str]) -> dict[str, Any]:
    """What a machine wants to know about a fit."""
    return {
        "sentences": list(sentences),
        "n_objects": counted.n_objects,
        "n_clusters": counted.focal.n_clusters,
        "cluster_names": list(counted.focal.cluster_names),
        "focal_sets": [list(members) for members in counted.focal.sets],
        "objects_by_set": counted.by_set(),
        "decisions": counted.decisions,
        "clear": counted.clear,
        "n_outliers": counted.decisions["nowhere"],
        "nonspecificity": counted.nonspecificity,
        "nonspecificity_with_empty": counted.nonspecificity_empty,
        "objective": finite(model.objective_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "algorithm": type(model).__name__,
        "separation": finite(getattr(model, "separation_", np.nan)),
        "collapsed": bool(getattr(model, "collapsed_", False)),
        "delta": finite(np.nan if getattr(model, "delta_", None) is None else float(model.delta_ or np.nan)),
    }


def finite(value: float) -> float | None:
    """A number JSON can hold, or None."""
    return float(value) if np.isfinite(value) else None


# ------------------------------------------------------------------ the way back


def _own_names(focal: FocalSets, names: Sequence[str]) -> Sequence[str]:
    """The names of clusters that have some of their own."""
    return [] if tuple(names) == focal.cluster_names else names


def read_summary(folder: Path) -> dict[str, Any]:
    """summary.json of a result folder."""
    path = folder / "summary.json"
    if not folder.is_dir():
        raise Problem(f"{folder} is not a folder: give the one softecm cluster wrote.")
    completed(folder)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict) or "focal_sets" not in value:
            raise ValueError
    except OSError:
        raise Problem(f"{folder} holds no readable summary.json: give a folder that softecm cluster wrote.") from None
    except ValueError:
        raise Problem(f"{path} is damaged: run softecm cluster again.") from None
    return value


def read_partition(folder: Path, summary: Mapping[str, Any]) -> tuple[CredalPartition, list[str]]:
    """The partition and the ids in partition.csv."""
    import pandas as pd

    path = folder / "partition.csv"
    if not path.exists() and (folder / "partition.parquet").exists():
        raise Problem(
            f"{folder} holds a file that was read block by block: its report is drawn by softecm cluster only."
        )
    try:
        frame = pd.read_csv(path, dtype={"id": str}, keep_default_na=False, na_values={})
    except (OSError, ValueError) as error:
        raise Problem(f"{path} can't be read: run softecm cluster again.") from error
    try:
        focal = FocalSets.of(int(summary["n_clusters"]), summary["focal_sets"])
        focal = focal.renamed(_own_names(focal, summary.get("cluster_names", [])))
        masses = frame[[f"m({label})" for label in focal.labels()]].to_numpy(dtype=np.float64)
        masses /= masses.sum(1, keepdims=True)  # six decimals do not add up to 1 exactly
        return CredalPartition(masses, focal), [as_it_was(name) for name in frame["id"]]
    except (KeyError, ValueError, TypeError) as error:
        raise Problem(f"{path} does not fit summary.json beside it: run softecm cluster again.") from error
