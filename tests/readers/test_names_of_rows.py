"""Rows keep their ids if a few rows lack one; empty rows are no objects; a workbook is read like text."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import read_table
from softecm._errors import ReadError
from softecm.readers import Loaded

BOTH = pytest.mark.parametrize("ending", ["csv", "xlsx"])
pytestmark = [pytest.mark.usefixtures("as_typed"), pytest.mark.filterwarnings("ignore::softecm.ReadingWarning")]


def read_as(tmp_path: Path, ending: str, frame: pd.DataFrame, **options: object) -> Loaded:
    path = tmp_path / f"t.{ending}"
    frame.to_excel(path, index=False) if ending == "xlsx" else frame.to_csv(path, index=False)
    return read_table(path, **options)


def customers(ids: list[object]) -> pd.DataFrame:
    """Forty customers, an empty row, and a row of means without an id."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"customer_id": ids, "spend": rng.normal(9, 1, 40).round(2), "visits": rng.integers(1, 9, 40) / 4}
    )
    mean = pd.DataFrame({"customer_id": [None, None], "spend": [None, 9.1], "visits": [None, 1.2]})
    return pd.concat([rows.astype(object), mean.astype(object)], ignore_index=True)


NUMBERS = np.random.default_rng(3).permutation(31000)[:40].tolist()
WORDS = [f"C-{n}" for n in NUMBERS]


@BOTH
@pytest.mark.parametrize("ids", [NUMBERS, WORDS, [f"{n:06}" for n in NUMBERS]], ids=["numbers", "words", "codes"])
def test_a_row_without_an_id_takes_none_from_the_others(tmp_path: Path, ending: str, ids: list[object]) -> None:
    first = read_as(tmp_path, ending, customers(ids))
    assert first.names == [*map(str, ids), "row 42"]
    assert first.data.index.tolist() == first.names
    assert "1 empty row is skipped: row 41." in first.notes
    assert "1 row has no customer_id and is called row 42." in first.notes
    assert [(c.kind, c.gaps) for c in first.columns] == [("id", 1), ("number", 0), ("number", 0)]
    again = read_as(tmp_path, ending, customers(ids)[5:], like=first)
    assert again.names == [*map(str, ids[5:]), "row 37"]
    dropped = read_as(tmp_path, ending, customers(ids), drop_rows=-1)
    assert dropped.names == list(map(str, ids))
    assert not any("no customer_id" in note for note in dropped.notes)


def test_many_rows_without_an_id_are_counted(tmp_path: Path) -> None:
    rows = customers(NUMBERS)
    rows.loc[:9, "customer_id"] = None
    found = read_as(tmp_path, "csv", rows)
    assert found.names[39:] == ["40", "42"]  # as in the file
    assert (found.columns[0].kind, found.columns[0].gaps) == ("left out", 11)
    assert found.columns[0].detail.endswith("but too many rows have none")
    with pytest.raises(ReadError, match="names no object in row 1"):
        read_as(tmp_path, "csv", rows, id_column="customer_id")


def test_a_row_without_values_to_cluster_by_needs_no_id(tmp_path: Path) -> None:
    rows = customers(NUMBERS).assign(remark="text")
    rows.loc[41, ["spend", "visits"]] = None
    found = read_as(tmp_path, "csv", rows, drop="remark")
    assert found.names == list(map(str, NUMBERS))
    assert next(c.gaps for c in found.columns if c.kind == "id") == 0
    assert not any("no customer_id" in note for note in found.notes)


@BOTH
def test_text_that_looks_like_numbers_is_read_alike(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame(
        {"postcode": ["01067", "01099", "80331", "20095"] * 9, "price": [f"{i % 7}.50" for i in range(36)]}
    )
    frame["count"] = [str(i % 5) for i in range(36)]
    frame["mixed"] = [i % 3 if i % 2 else float(i) / 4 for i in range(36)]
    found = read_as(tmp_path, ending, frame)
    assert found.data["postcode"].tolist() == frame["postcode"].tolist()
    assert found.data["price"].tolist() == frame["price"].astype(float).tolist()
    assert found.data["count"].tolist() == frame["count"].astype(int).tolist()
    assert {name: kind.kind for name, kind in found.data.dtypes.items() if name != "postcode"} == {
        "price": "f",
        "count": "i",
        "mixed": "f",
    }


@BOTH
@pytest.mark.parametrize("ids", [NUMBERS, WORDS], ids=["numbers", "words"])
def test_copies_of_rows_keep_the_ids_of_the_others(tmp_path: Path, ending: str, ids: list[object]) -> None:
    rows = customers(ids)[:40]
    twice = pd.concat([rows, rows.iloc[[3, 7]]], ignore_index=True)
    found = read_as(tmp_path, ending, twice)
    assert found.columns[0].kind == "id"
    assert found.names == [*map(str, ids), f"{ids[3]} (2)", f"{ids[7]} (2)"]
    note = "rows 41 and 42 repeat earlier rows exactly; --drop-rows 41,42 leaves them out."
    assert f"{note} Now they have names such as {ids[3]} (2)." in found.notes
    assert read_as(tmp_path, ending, twice, drop_rows=["41", "42"]).names == list(map(str, ids))
    repeats = rf"repeats {ids[3]} \(rows 4 and 41\), {ids[7]} \(rows 8 and 42\)\."
    with pytest.raises(ReadError, match=f"{repeats} R{note[1:-1]}"):
        read_as(tmp_path, ending, twice, id_column="customer_id")
    twice.loc[41, "spend"] = "1.5"
    again = rf"{repeats} Row 41 repeats an earlier row exactly; --drop-rows 41 leaves it out\. Give another"
    with pytest.raises(ReadError, match=again):
        read_as(tmp_path, ending, twice, id_column="customer_id")


def test_a_repeated_id_is_named(tmp_path: Path) -> None:
    rows = customers(WORDS)[:40]
    rows.loc[9, "customer_id"] = WORDS[2]
    found = read_as(tmp_path, "csv", rows)
    assert f"column customer_id does not name the rows, because it repeats {WORDS[2]} (rows 3 and 10)." in found.notes


@BOTH
def test_new_objects_may_have_ids_in_another_column(tmp_path: Path, ending: str) -> None:
    first = read_as(tmp_path, ending, customers(WORDS)[:40])
    new = customers(WORDS)[:40].rename(columns={"customer_id": "number"})[["spend", "number", "visits"]]
    found = read_as(tmp_path, ending, new, like=first)
    assert found.names == WORDS
    assert list(found.data.columns) == ["spend", "visits"]
    assert not any("number" in note for note in found.notes)
    counted = read_as(tmp_path, ending, new.assign(number=np.arange(1, 41)), like=first)  # these only count rows
    assert counted.names[:2] == ["1", "2"]
    assert "not used, since the fit did not have them: number." in counted.notes
