"""One definition: what is said of the objects is the same in every output."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from softecm import load_model
from softecm.belief.assignments import WORDS
from softecm.report import build

from .conftest import Run

CLEAR = 0.9


@pytest.fixture
def points(tmp_path: Path) -> Path:
    """Three groups that touch, some objects between and some far off."""
    rng = np.random.default_rng(1)
    centres = np.array([[0, 0], [5, 0], [0, 5]])
    X = np.concatenate([centres[np.arange(240) % 3] + rng.normal(size=(240, 2)), [[2.5, 0], [30, 30], [-30, 9]]])
    file = tmp_path / "points.parquet"
    pd.DataFrame(X, columns=["u", "v"]).to_parquet(file, row_group_size=50)
    return file


def payload(page: str) -> dict[str, Any]:
    """What the report's script draws."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    drawn: dict[str, Any] = json.loads(found[1])
    return drawn


def terminal(out: str) -> dict[str, int]:
    """The line of five counts."""
    line = next(line for line in out.splitlines() if line.startswith("clearly "))
    assert f"a belief of at least {CLEAR}" in line
    return {word: int(re.search(rf"{word} ([\d\u202f]+)", line)[1].replace("\u202f", "")) for word in WORDS}  # type: ignore[index]


def test_csv_report_json_terminal_and_python_say_the_same(run: Any, points: Path) -> None:
    code, out, err = run("cluster", points, "-c", 3, "-o", "found", "--clear", CLEAR)
    assert code == 0, err
    summary = json.loads(Path("found/summary.json").read_text())
    table = pd.read_csv("found/partition.csv")
    X, model = pd.read_parquet(points), load_model("found/model.safetensors")
    said = model.predict_partition(X).decisions(CLEAR).counts()
    assert sum(said.values()) == 243
    assert min(said["clearly"], said["nowhere"]) > 0
    assert (summary["decisions"], summary["clear"]) == (said, CLEAR)
    assert terminal(out) == said
    assert {word: int((table["decision"] == word).sum()) for word in WORDS} == said
    drawn = payload(Path("found/report.html").read_text())
    assert (drawn["decisions"], drawn["clear"]) == (said, CLEAR)
    page = build(model, X, partition=model.predict_partition(X), clear=CLEAR)
    assert payload(page.html)["decisions"] == said
    assert run("predict", "found", points, "--clear", CLEAR, "-o", "again.csv")[0] == 0
    assert pd.read_csv("again.csv")["decision"].tolist() == table["decision"].tolist()
    belief = model.predict_partition(X).belief().max(1)
    row = int(np.flatnonzero((table["decision"] == "rather") & (belief > 0.76))[0])
    assert "rather belongs to" in run("explain", "found", "--object", row + 1)[1]
    assert summary["sentences"][0].startswith(f"Of 243 objects, {said['clearly']} (")
    again = run("report", "found")
    assert again[0] == 0, again[2]
    assert payload(Path("found/report.html").read_text())["decisions"] == said


def test_a_file_read_in_blocks_says_the_same_everywhere(run: Any, points: Path) -> None:
    code, out, err = run("cluster", points, "-c", 3, "-o", "parts", "--clear", CLEAR, "--memory", "5kB")
    assert code == 0, err
    summary = json.loads(Path("parts/summary.json").read_text())
    assert summary["streamed"]
    said = summary["decisions"]
    table = pd.read_parquet("parts/partition.parquet")
    assert {word: int((table["decision"] == word).sum()) for word in WORDS} == said
    assert list(table.columns[:4]) == ["label", "decision", "confidence", "doubt"]
    assert terminal(out) == said
    assert payload(Path("parts/report.html").read_text())["decisions"] == said


def test_a_threshold_that_makes_no_sense_is_refused_before_anything_is_read(run: Any, points: Path) -> None:
    code, _, err = run("cluster", points, "-c", 3, "-o", "found", "--clear", 0)
    assert code == 2
    assert "clear must be a belief above 0.5 and at most 1; got 0.0" in err
    assert not Path("found").exists()


def test_no_groups_are_the_first_thing_that_is_said(run: Run) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(40, 3, (80, 3)), columns=["hours", "swaps", "tenure"])
    frame.loc[[3, 9, 30], "hours"] = -999
    frame.to_csv("staff.csv", index=False)
    code, out, err = run("cluster", "staff.csv", "-c", "auto", "--n-init", 1)
    assert code == 0, err
    first = out.split("Warning: ")[1]
    assert first.startswith("No groups stand apart"), out
    assert "value (lowest is best)" in out
    assert "Group 1 has" not in out
