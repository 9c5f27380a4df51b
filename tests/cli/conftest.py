"""Run the command line in this process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call ``softecm`` with these arguments in an empty folder: exit code, stdout, stderr."""
    from softecm.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["softecm", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def two_groups(tmp_path: Path) -> Path:
    """A small table with names, two groups, one object between and one far away."""
    import numpy as np

    rng = np.random.default_rng(0)
    rows = ["name;size;weight;colour"]
    for i in range(40):
        middle = 0.0 if i % 2 else 6.0
        size, weight = middle + rng.normal(0, 0.5, 2)
        rows.append(f"n{i};{size:.3f};{weight:.3f};{'red' if i % 2 else 'blue'}".replace(".", ","))
    rows += ["between;3,0;3,0;red", "far;40,0;-40,0;blue"]
    path = tmp_path / "groups.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
