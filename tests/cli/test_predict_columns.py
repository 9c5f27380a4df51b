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


def test_a_missing_column_is_no_reason_to_ask_where_another_is_renamed() -> None:
    expected = Expected(("number",) * 5, names=("Fee", "Avg session", "Age", "Rate", "Share"), gaps=True)
    with pytest.raises(
        ReadError, match=r"the columns the model was fitted with; Fee not found among its columns\. If its Fees"
    ):
        expected.among(Path("new.csv"), ["Fees", "Age", "Rate", "Share"])


def test_a_column_in_another_unit_of_the_same_quantity_is_converted(run: Run, members: pd.DataFrame) -> None:
    first = members.assign(spend=[f"£{fee:.2f}" for fee in members["fee"]]).drop(columns="fee")
    first.to_csv("pounds.csv", index=False)
    code, _, err = run("cluster", "pounds.csv", "-c", 2, "--n-init", 2, "--missing", "-999", "-o", "found", "-qf")
    assert code == 0, err
    expected = pd.read_csv(Path("found/partition.csv"))["set"].tolist()
    new = first.drop(columns="spend").assign(**{"Spend (pence)": (100 * members["fee"]).round().astype(int)})
    code, said, sets = predicted(run, new)
    assert (code, sets) == (0, expected), said
    said = " ".join(said.split())
    assert "column spend: the numbers of Spend (pence) are converted to £ (1 pence is 0.01 £)." in said
    assert "-999 counts as missing, as in the fit; --missing changes it." in said
    assert "times those of the fit" not in said


def clustered_with_sizes(run: Run, members: pd.DataFrame, small: str) -> pd.DataFrame:
    """Cluster members with a category of two levels, and return the file's rows."""
    size = np.where(members["age"] > 50, "large", small)
    first = members.assign(who=[f"M-{i}" for i in range(120)], size=size).drop(columns=["fee", "visits"])
    first.to_csv("sizes.csv", index=False)
    code, _, err = run("cluster", "sizes.csv", "-c", 2, "--n-init", 2, "-o", "found", "-qf")
    assert code == 0, err
    return first


def test_new_categories_are_named_with_their_rows(run: Run, members: pd.DataFrame) -> None:
    first = clustered_with_sizes(run, members, "Small-ish")
    size = first["size"]
    new = first.assign(size=["huge", "smallish", "tiny", "huge", *size[4:]])
    code, said, _ = predicted(run, new)
    assert code == 0, said
    assert "3 of 120 objects have a category that was not in the fit" in said
    assert "column 'size' in 3 ('huge' in 2: M-0, M-3; 'tiny' in 1: M-2)." in said


def test_a_new_category_one_slip_from_a_known_one_is_pointed_out(run: Run, members: pd.DataFrame) -> None:
    first = clustered_with_sizes(run, members, "small")
    size = first["size"]
    code, said, _ = predicted(run, first.assign(size=["lrage"] * 22 + ["tiny", *size[23:]]))
    assert code == 0, said
    ids = ", ".join(f"M-{i}" for i in range(20))
    assert f"('lrage' (looks like 'large') in 22: {ids} and 2 more; 'tiny' in 1: M-22)" in said
    assert "different from all known categories. If it is a typo, correct it in the data." in said
    _, said, _ = predicted(run, first.assign(size=["tiny", *size[1:]]))
    assert "'tiny' in 1: M-0). It counts as different" in said
    assert "typo" not in said


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
    fitted = pd.read_csv("found/partition.csv")
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), fitted, atol=2e-6)
    own = pd.read_csv("days.csv").drop(columns="sugar")  # in another unit by the user's factor, and without the column
    own.assign(**{"Sugar (mg/dL)": (18 * mmol).round(4)}).to_csv("renamed.csv", index=False)
    code, out, err = run("predict", "found", "renamed.csv", "-o", "renamed-sets.csv")
    assert code == 0, err
    assert "the numbers of Sugar (mg/dL) are converted to mmol/L (1 mg/dL is 0.05556 mmol/L)." in " ".join(out.split())
    assert pd.read_csv("renamed-sets.csv")["set"].tolist() == fitted["set"].tolist()
    own.to_csv("without.csv", index=False)
    code, out, err = run("predict", "found", "without.csv", "-o", "without-sets.csv")
    assert code == 0, err
    assert "not in the file: sugar; rows are compared in the other columns of the fit." in " ".join(out.split())
    code, _, err = run("predict", "found", "without.csv", "-o", "no.csv", "--unit", "sugar=mmol/L")  # not replayed
    assert code == 2
    assert "has no column sugar" in " ".join(err.split())


def test_fixed_units_of_time_are_converted_in_the_fit_and_in_new_files(run: Run) -> None:
    rng, kind = np.random.default_rng(3), np.arange(80) % 2
    days = 10.0 + 20 * kind + rng.normal(0, 0.5, 80)
    lead = [f"{one / 7:.4f} wk".replace(".", ",") if i % 5 == 0 else f"{one:.3f} d" for i, one in enumerate(days)]
    lead = [one.replace(".", ",") for one in lead]
    frame = pd.DataFrame({"Lead time": lead, "price": 5 + kind + rng.normal(0, 0.1, 80).round(3)})
    frame.to_csv("lead.csv", index=False, sep=";", decimal=",")
    code, out, err = run("cluster", "lead.csv", "-c", 2, "--n-init", 2, "-o", "found")
    assert code == 0, err
    assert "column Lead time: 16 cells in wk are converted to d (1 wk is 7 d)." in " ".join(out.split())
    frame.drop(columns="Lead time").assign(**{"Lead time (h)": 24 * days}).to_csv("hours.csv", index=False)
    code, out, err = run("predict", "found", "hours.csv", "-o", "hours-sets.csv")
    assert code == 0, err
    assert "the numbers of Lead time (h) are converted to d (1 h is 0.04167 d)." in " ".join(out.split())
    assert pd.read_csv("hours-sets.csv")["set"].tolist() == pd.read_csv("found/partition.csv")["set"].tolist()
