"""Files to predict need the columns that count in the fit; the others may be absent, new or wrong."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm.readers import Expected
from softecm.readers.base import ReadError

from .conftest import Run

NOISE = ("shoe", "ticket", "colour")


@pytest.fixture
def members(run: Run) -> pd.DataFrame:
    """Two groups in three columns, and three columns without any; a model of them in ``found``."""
    rng = np.random.default_rng(1)
    kind = np.arange(120) % 2
    frame = pd.DataFrame(
        {
            "age": 30.0 + 40 * kind + rng.normal(0, 2, 120),
            "visits": 12.0 - 8 * kind + rng.normal(0, 0.5, 120),
            "fee": 20.0 + 30 * kind + rng.normal(0, 2, 120),
            "shoe": rng.integers(36, 47, 120) + 0.5,
            "ticket": rng.normal(500, 99, 120),
            "colour": rng.choice(["red", "green", "blue"], 120),
        }
    )
    frame.to_csv("all.csv", index=False)
    code, _, err = run("cluster", "all.csv", "-c", 2, "--n-init", 2, "-o", "found", "-q")
    assert code == 0, err
    return frame


def predicted(run: Run, frame: pd.DataFrame) -> tuple[int, str, list[str]]:
    """Exit code, messages and sets."""
    frame.to_csv("new.csv", index=False)
    code, out, err = run("predict", "found", "new.csv", "-o", "sets.csv", "--force")
    sets = pd.read_csv("sets.csv")["set"].tolist() if code == 0 else []
    return code, " ".join((out + err).split()), sets


def test_columns_without_weight_may_be_absent_and_are_no_reason_to_refuse(run: Run, members: pd.DataFrame) -> None:
    expected = pd.read_csv(Path("found/partition.csv"))["set"].tolist()
    code, said, sets = predicted(run, members.drop(columns=[*NOISE]))
    assert (code, sets) == (0, expected), said
    assert "not in the file: shoe, ticket, colour; they don't count in the fit." in said
    code, said, sets = predicted(
        run, members.drop(columns=[*NOISE, "fee"])
    )  # four of six columns, one of three that count
    assert (code, sets) == (0, expected), said
    assert "not in the file: fee; rows are compared in the other columns of the fit." in said
    assert "shoe" not in said
    code, said, _ = predicted(run, members.drop(columns=["visits", "fee"]))
    assert code == 2
    assert "visits, fee not found among its columns." in said


def test_columns_without_weight_may_hold_anything(run: Run, members: pd.DataFrame) -> None:
    expected = pd.read_csv(Path("found/partition.csv"))["set"].tolist()
    code, said, sets = predicted(run, members.assign(colour="purple", shoe="large", ticket="$5"))
    assert (code, sets) == (0, expected), said
    assert "Warning" not in said


def test_only_new_columns_may_be_missing_ones_by_another_name() -> None:
    expected = Expected(("number",) * 3, names=("Vertrag", "Beitrag", "Alter"), gaps=True)
    assert list(expected.among(Path("new.csv"), ["Beitrag", "Alter"])) == ["Vertrag", "Beitrag", "Alter"]
    with pytest.raises(ReadError, match=r"If its Verträge is the same in the same unit, rename it to Vertrag\."):
        expected.among(Path("new.csv"), ["Beitrag", "Alter", "Verträge"])


def test_units_and_marks_of_missing_cells_are_those_of_the_fit(run: Run) -> None:
    rng, kind = np.random.default_rng(2), np.arange(60) % 2
    mmol = 5.0 + 4 * kind + rng.normal(0, 0.3, 60)
    sugar = [f"{18 * one:.2f} mg/dL" if i % 3 == 0 else f"{one:.3f} mmol/L" for i, one in enumerate(mmol)]
    steps = np.where(np.arange(60) % 10 == 7, -9, 4000 + 3000 * kind + rng.integers(0, 500, 60))
    pd.DataFrame({"sugar": sugar, "steps": steps, "rest": rng.normal(size=60)}).to_csv("days.csv", index=False)
    options = ("--unit", "sugar=mmol/L=18 mg/dL", "--missing", "-9")
    code, _, err = run("cluster", "days.csv", "-c", 2, *options, "--n-init", 2, "-o", "found", "-q")
    assert code == 0, err
    code, _, err = run("predict", "found", "days.csv", "-o", "again.csv")
    assert code == 0, err
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), pd.read_csv("found/partition.csv"), atol=2e-6)
