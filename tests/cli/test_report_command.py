"""``softecm report`` and what ``--no-values`` keeps back."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    """A table whose cells can be told from everything else."""
    rng = np.random.default_rng(2)
    rows = ["who,income,hired,town,always"]
    for i in range(30):
        g = i % 2
        income = 31357 + 17911 * g + int(rng.integers(0, 999))
        rows.append(
            f"person-{i:03d},{income} €,{1 + i % 27:02d}.{1 + i % 12:02d}.{2011 + 7 * g},{['Quixada', 'Zwolle'][g]},42424"
        )
    path = tmp_path / "staff.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def cells(path: Path) -> set[str]:
    lines = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return {part for line in lines for cell in line for part in {cell, cell.removesuffix(" €")} if len(part) > 4}


def test_no_values_are_in_what_may_be_passed_on(run: Run, staff: Path) -> None:
    code, out, err = run("cluster", staff, "-c", 2, "-o", "found", "--n-init", 1, "--no-values", "--json")
    assert code == 0, err
    written = {
        name: Path("found", name).read_text(encoding="utf-8")
        for name in ("report.html", "summary.json", "partition.csv")
    }
    for name, text in {**written, "--json": out}.items():
        assert [cell for cell in cells(staff) if cell in text] == [], name
    assert json.loads(written["summary.json"])["profiles"]["ω1"]
    assert run("report", "found", "-q")[0] == 0  # and the page that is drawn again keeps them back, too
    assert [cell for cell in cells(staff) if cell in Path("found/report.html").read_text(encoding="utf-8")] == []
    code, _, err = run("cluster", staff, "-c", 2, "-o", "other", "--no-values", "--with-columns", "town")
    assert code == 2
    assert "--with-columns writes cells" in err


def test_a_report_is_drawn_again_with_names_without_values_and_as_json(run: Run, staff: Path) -> None:
    assert run("cluster", staff, "-c", 2, "-o", "found", "--n-init", 1, "-q")[0] == 0
    page = Path("found/report.html").read_text(encoding="utf-8")
    assert " €</span>" in page
    assert "day.month.year; a difference of" in page
    assert run("report", "found", "-q", "-o", "named.html", "--names-of-clusters", "rich, poor")[0] == 0
    named = Path("named.html").read_text(encoding="utf-8")
    assert "to rich and" in named
    assert "ω1" not in named
    code, _, err = run("report", "found", "--names-of-clusters", "rich")
    assert code == 2
    assert "2" in err
    assert run("report", "found", "-q", "-o", "shared.html", "--no-values")[0] == 0
    assert [cell for cell in cells(staff) if cell in Path("shared.html").read_text(encoding="utf-8")] == []
    assert run("report", "found", "-q", "-o", "facts.json")[0] == 0
    facts = json.loads(Path("facts.json").read_text(encoding="utf-8"))
    assert facts["objects_by_set"]["ω1"] == 15
    assert run("report", "found", "-o", "found/summary.json")[0] == 2


def test_units_and_reasons_stay_when_the_file_is_gone(run: Run, staff: Path) -> None:
    assert run("cluster", staff, "-c", 2, "-o", "found", "--n-init", 1, "-q")[0] == 0
    staff.unlink()
    assert run("report", "found", "-q")[0] == 0
    page = Path("found/report.html").read_text(encoding="utf-8")
    assert "day.month.year; a difference of" in page
    assert "always 42424" in page
