import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import CredalPartition, FocalSets
from softecm.cli.problems import Problem
from softecm.cli.result_folder import (
    ResultFolder,
    as_it_was,
    harmless,
    partition_table,
    write_csv,
    write_json,
)

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "'quoted",
    "🦉 owl",
    "שלום עולם",
    "-3.5",
    'comma, "quote"',
    "line\nbreak",
]


def test_formulas_get_an_apostrophe_and_numbers_do_not() -> None:
    assert [harmless(text) for text in ("=1", "+a", "-x", "@f", "-3.5", "+2", "plain")] == [
        "'=1", "'+a", "'-x", "'@f", "-3.5", "+2", "plain",
    ]  # fmt: skip


@pytest.mark.parametrize("text", NASTY)
def test_names_come_back_as_they_were(text: str) -> None:
    assert as_it_was(harmless(text)) == text


def test_no_cell_of_the_table_starts_a_formula(tmp_path: Path, rng: np.random.Generator) -> None:
    masses = rng.dirichlet(np.ones(4), len(NASTY))
    partition = CredalPartition(masses, FocalSets.full(2))
    write_csv(partition_table(partition, NASTY), tmp_path / "partition.csv")
    frame = pd.read_csv(tmp_path / "partition.csv", dtype=str, keep_default_na=False)
    for cell in frame["id"]:
        assert not cell.startswith(("=", "+", "@", "\t")), cell
        assert not cell.startswith("-") or cell == "-3.5"
    write_json({"n_clusters": 2, "focal_sets": [[0], [1], [0, 1]]}, tmp_path / "summary.json")
    again = ResultFolder.open(tmp_path)
    assert again.ids == NASTY
    np.testing.assert_allclose(again.partition.masses, masses, atol=1e-5)


def test_the_table_has_what_the_manual_says() -> None:
    partition = CredalPartition([[0.1, 0.6, 0.1, 0.2]], FocalSets.full(2))
    stream = io.BytesIO()
    write_csv(partition_table(partition, ["a"]), stream)
    head, row = stream.getvalue().decode().splitlines()
    assert (
        head.replace('"', "")
        == "id,label,set,decision,confidence,doubt,bel(ω1),bel(ω2),pl(ω1),pl(ω2),m(∅),m(ω1),m(ω2),m(Ω)"
    )
    assert row.replace('"', "").startswith("a,ω1,ω1,rather,0.666667,0.222222,0.666667,")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"no readable summary\.json"):
        ResultFolder.open(tmp_path)
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(Problem, match="damaged"):
        ResultFolder.open(tmp_path)


def test_the_report_offers_the_command_of_its_sliders(run: Callable[..., object], tmp_path: Path) -> None:
    """What the page adds to it are the prices alone: the file, the groups and the reading are in it."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))]).round(3)
    lines = [f"{x},{y},{i}" for i, (x, y) in enumerate(rows.tolist())]
    (tmp_path / "my file.csv").write_text("a b,c,d\n" + "\n".join(lines))
    run("cluster", "my file.csv", "-c", "2-4", "--drop", "d", "--alpha", "2", "-o", "out", "--n-init", "2")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    command = json.loads(page.split('id="data">')[1].split("</script>")[0])["live"]["command"]
    assert command == "softecm cluster 'my file.csv' -c 2 --drop d --n-init 2 -o 'my file-what-if'"
    run(*shlex.split(command)[1:], "--alpha", "0.3", "--clear", "0.9")
    again = json.loads((tmp_path / "my file-what-if" / "summary.json").read_text(encoding="utf-8"))
    assert (again["clear"], again["parameters"]["alpha"]) == (0.9, "0.3")
    run("report", "out")
    assert command in json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["command"]
    run("cluster", "my file.csv", "-c", "2", "--no-values", "-o", "hidden")
    assert '"live":null' in (tmp_path / "hidden" / "report.html").read_text(encoding="utf-8")
