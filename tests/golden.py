"""Reference numbers from other programs, in the folder ``golden`` next to this file; its README has the sources."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from softecm.belief import CredalPartition, FocalSets

GOLDEN = Path(__file__).resolve().parent / "golden"


def load(name: str) -> Any:
    """Read one golden file."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def columns(indicators: Any, focal: FocalSets) -> list[int]:
    """Columns of our mass matrices for the rows of a golden file's F."""
    return [focal.index(np.flatnonzero(row).tolist()) for row in np.asarray(indicators)]


def partition(indicators: Any, mass: Any) -> CredalPartition:
    """A golden file's masses, its columns in its own order, as a credal partition."""
    rows = np.asarray(indicators)
    focal = FocalSets.of(rows.shape[1], [tuple(np.flatnonzero(row).tolist()) for row in rows])
    masses = np.zeros((len(mass), len(focal) + 1))
    masses[:, columns(rows, focal)] = mass
    return CredalPartition(masses, focal)


def case_ids(*names: str) -> list[tuple[str, str]]:
    """(file, case) of every case in these files."""
    return [(name, case["id"]) for name in names for case in load(name)["cases"]]
