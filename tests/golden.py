"""Reference numbers from other programs, kept beside the repository in ../shared/golden."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softecm.belief import CredalPartition, FocalSets

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"


def load(name: str) -> dict[str, Any]:
    """Read one golden file, or skip the test where the folder is not there."""
    path = GOLDEN / f"{name}.json"
    if not path.exists():
        pytest.skip(f"reference numbers not found: ../shared/golden/{name}.json")
    return json.loads(path.read_text(encoding="utf-8"))


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
