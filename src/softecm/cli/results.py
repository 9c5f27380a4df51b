"""What results are written as: the table of a partition, JSON, the facts of a fit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softecm.belief import CredalPartition
from softecm.belief.assignments import CLEAR
from softecm.belief.totals import PartitionTotals
from softecm.files import write_text

if TYPE_CHECKING:
    import pandas as pd

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
    for name in frame.columns:
        if frame[name].dtype.kind == "O" and name != "decision":
            frame[name] = frame[name].map(lambda cell: harmless(cell) if isinstance(cell, str) else cell)
    return frame.rename(columns=harmless)


def write_csv(frame: object, target: object) -> None:
    """A frame as CSV (UTF-8); ``target`` is a path or a binary stream."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.Table.from_pandas(frame, preserve_index=False)
    csv.write_csv(table, target, csv.WriteOptions(quoting_style="needed"))


def write_json(value: Mapping[str, object], path: Path) -> None:
    """Readable JSON."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def fit_facts(model: SoftECM, totals: PartitionTotals, sentences: Sequence[str]) -> dict[str, object]:
    """What a machine wants to know about a fit."""
    return {
        "sentences": list(sentences),
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
    }


def finite(value: float) -> float | None:
    """A number JSON can hold, or None."""
    return float(value) if np.isfinite(value) else None
