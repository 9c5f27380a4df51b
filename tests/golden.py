"""Reference numbers from other programs: all of them beside the repository in ../shared/golden, a few small ones here."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softecm.belief import CredalPartition, FocalSets

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"
KNOWN = Path(__file__).resolve().parent / "known_answers"


def load(name: str) -> dict[str, Any]:
    """Read one golden file, or what the repository has of it, or skip the test."""
    path = next((p for p in (GOLDEN / f"{name}.json", KNOWN / f"golden_{name}.json") if p.exists()), None)
    if path is None:
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


def case_ids(*names: str) -> list[tuple[str, str]]:
    """(file, case) of every case in these files; (file, "") where a file is not there, whose test then skips itself."""
    found: list[tuple[str, str]] = []
    for name in names:
        path = GOLDEN / f"{name}.json"
        cases = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else [{"id": ""}]
        found += [(name, case["id"]) for case in cases]
    return found
