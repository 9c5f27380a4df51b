"""``softecm.read_table``: the command line's reading from Python, with warnings for data frames."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import softecm
from softecm import ReadingWarning, SoftECM, read_table
from softecm.readers import ReadError


def written(n: int = 60) -> pd.DataFrame:
    """Three groups, with numbers and dates in usual notations."""
    rng, group = np.random.default_rng(3), np.arange(n) % 3
    money = [f"{v:,.1f}".replace(",", " ").replace(".", ",") for v in 1000.0 * (1 + group) + 40 * rng.normal(size=n)]
    share = [f"{10 * g + int(k)} %" for g, k in zip(group, rng.integers(0, 5, n), strict=True)]
    when = [f"{1 + i % 28:02d}.{1 + 4 * g:02d}.2024" for i, g in enumerate(group)]
    return pd.DataFrame({"price": money, "share": share, "when": when}, index=[f"row {i}" for i in range(n)])


def test_a_frame_is_read_as_the_file_is(tmp_path: Path) -> None:
    frame = written()
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    ours, file = read_table(frame), read_table(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(ours.data.reset_index(drop=True), file.data.reset_index(drop=True))
    assert [c.kind for c in ours.columns] == ["number", "number", "date"]
    assert ours.data.index.tolist() == frame.index.tolist()
    assert frame["share"].iloc[0].endswith("%"), "the user's own frame is not touched"
    labels = SoftECM(3, random_state=0).fit_predict(ours.data)
    assert [len(set(labels[k::3])) for k in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_text_that_means_numbers_is_said(kind: object) -> None:
    frame = kind(written().reset_index(drop=True))  # type: ignore[operator]
    with pytest.warns(ReadingWarning, match=r"'price' \(such as '1 .*'\).* softecm\.read_table\(X\)") as caught:
        SoftECM(2, random_state=0).fit(frame)
    assert len(caught) == 1


def test_words_codes_and_categories_are_left_in_peace() -> None:
    frame = pd.DataFrame(
        {
            "word": ["red", "blue"] * 20,
            "code": ["01", "02", "10", "20"] * 10,
            "grade": ["1", "2"] * 20,
            "rate": pd.Categorical(["0.5", "0.7"] * 20),
        }
    )
    SoftECM(2, random_state=0).fit(frame)  # warnings are errors here


def test_new_rows_are_read_as_the_first_were(tmp_path: Path) -> None:
    first = read_table(written().rename_axis("id").reset_index())
    assert first.ids is not None
    assert first.ids[0] == "row 0"
    new = pd.DataFrame({"when": ["05.01.2024"], "id": ["new"], "share": ["3"], "price": ["1 001,5 "], "more": [1]})
    with pytest.warns(ReadingWarning, match="not used, since the fit did not have them: more"):
        again = read_table(new, like=first)
    assert again.data.columns.tolist() == ["price", "share", "when"]
    assert again.data.iloc[0].tolist() == [1001.5, 3.0, pd.Timestamp("2024-01-05")]
    assert again.names == ["new"]


def test_what_was_not_taken_as_it_stands_is_said() -> None:
    frame = written().reset_index(drop=True)
    frame.loc[7, "share"] = "often"
    with pytest.warns(
        ReadingWarning, match=r"column share: 1 cell is not a number and counts as missing: often \(row 8\)"
    ):
        table = read_table(frame, drop="when")
    assert table.data.columns.tolist() == ["price", "share"]
    assert np.isnan(table.data["share"][7])
    assert "share: number" in repr(table)


def test_long_tables_become_series() -> None:
    frame = pd.DataFrame({"who": ["a", "a", "b", "b"], "t": [0, 1, 0, 1], "v": ["1,5", "2,5", "3,0", "4,5"]})
    series = read_table(frame, series_id="who", time="t", value="v", decimal=",")
    assert series.shape == "series"
    assert np.asarray(series.data)[:, :, 0].tolist() == [[1.5, 2.5], [3.0, 4.5]]
    again = read_table(frame, like=series)
    np.testing.assert_array_equal(again.data, series.data)
    assert again.names == series.names


def test_errors_speak_python() -> None:
    with pytest.raises(ReadError, match=r"choose with thousands=',' or decimal=','$"):
        read_table(pd.DataFrame({"a": ["1,273", "2,345", "1,999", "3,210"]}))
    assert read_table(pd.DataFrame({"a": ["1,273", "2,345", "1,999"]}), decimal=",").data["a"][0] == 1.273
    with pytest.raises(ReadError, match="the data frame has no columns"):
        read_table(pd.DataFrame())
    with pytest.raises(ReadError, match="no rows"):
        read_table(pd.DataFrame({"a": []}))
    with pytest.raises(TypeError, match="takes a path or a data frame; got ndarray"):
        read_table(np.ones((3, 2)))
    with pytest.raises(TypeError, match="no option 'decimals'; it has array, categorical, channel, dates, decimal"):
        read_table(written(), decimals=",")
    assert softecm.read_table is read_table


def test_rows_of_a_file_go_by_its_ids(tmp_path):
    rows = pd.DataFrame({"name": [f"n{i}" for i in range(20)], "a": np.arange(20.0) % 7, "b": np.arange(20.0) % 3})
    rows.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert table.data.index.name == "name"
    assert list(table.data.index) == list(table.ids) == list(rows["name"])
    joined = rows.set_index("name").join(table.data.add_suffix(" read"))
    assert (joined["a"] == joined["a read"]).all()
    assert read_table(tmp_path / "t.csv", like=table).data.equals(table.data)
    assert list(read_table(rows).data.index) == list(range(20))  # a frame's own index stays


def test_rows_without_a_value_name_the_columns_of_text_that_were_left_out(tmp_path):
    rows = pd.DataFrame(
        {"a": np.arange(40.0), "id": range(100, 140), "note": [f"{i // 2} w {i % 3}" for i in range(40)]}
    )
    rows.loc[[4, 9], "a"] = np.nan
    rows.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(
        ReadingWarning, match=r"2 rows have .* are left out: row 5 and 1 more\. .* note \(free .* categorical"
    ):
        table = read_table(tmp_path / "t.csv")
    assert len(table) == 38
    assert len(read_table(tmp_path / "t.csv", categorical="note")) == 40


@pytest.mark.filterwarnings("ignore:.*converted to mmol:softecm.ReadingWarning")
def test_units_of_the_first_table_hold_for_the_next_unless_others_are_given() -> None:
    cells = ["5 mmol/L", "108 mg/dL", "7.5 mmol/L", "90 mg/dL"] * 10
    first = read_table(pd.DataFrame({"size": np.arange(40.0) % 7, "sugar": cells}), unit="2=mmol/L=18 mg/dL")
    new = pd.DataFrame({"sugar": ["180 mg/dL", "4 mmol/L"], "size": [1.0, 2.0]})  # its second column is another one
    again = read_table(new, like=first)
    assert again.data["sugar"].tolist() == [10.0, 4.0]
    assert read_table(new, like=again).data["sugar"].tolist() == [10.0, 4.0]
    assert read_table(new, like=first, unit="sugar=mmol/L=20 mg/dL").data["sugar"].tolist() == [9.0, 4.0]
    called = new.assign(**{"sugar (mg/dL)": [180.0, 72.0]}).drop(columns="sugar")
    with pytest.warns(ReadingWarning, match=r"the numbers of sugar \(mg/dL\) are converted to mmol/L"):
        assert read_table(called, like=first).data["sugar"].tolist() == [10.0, 4.0]
    first = read_table(pd.DataFrame({"spend (USD)": np.arange(40.0) / 4, "size": np.arange(40.0) % 7}))
    cents = pd.DataFrame({"Spend (cents)": [250, 1000], "size": [1.0, 2.0]})
    with pytest.warns(ReadingWarning, match=r"the numbers of Spend \(cents\) are converted to USD"):
        assert read_table(cents, like=first).data["spend (USD)"].tolist() == [2.5, 10.0]


def test_what_marked_a_gap_in_the_first_table_does_in_the_next() -> None:
    rows = pd.DataFrame(
        {"kind": ["pump", "fan", "nix", "mill"] * 10, "size": [1.5, 2.5, -77.0, 4.25] * 10, "on": [0.5, 1.5] * 20}
    )
    first = read_table(rows, missing=["nix", "-77"])
    again = read_table(rows[:4], like=first)
    assert again.data["kind"].tolist() == ["pump", "fan", None, "mill"]
    assert again.data["size"].isna().tolist() == [False, False, True, False]
    assert read_table(rows[:4], like=again).data["kind"].isna().sum() == 1
    assert read_table(rows[:4], like=first, missing="fan").data["kind"].tolist() == ["pump", None, "nix", "mill"]


def test_columns_that_are_missing_or_new_are_told() -> None:
    rows = pd.DataFrame({"kind": ["pump", "fan", "mill"] * 10, "size": [1.5, 2.5, 4.0, 5.5, 7.0] * 6, "same": "x"})
    first = read_table(rows)
    with pytest.warns(ReadingWarning, match=r"not in the file: size"):
        empty = read_table(rows[["kind"]], like=first)
    assert empty.data["size"].isna().all()
    assert list(empty.data) == list(first.data)
    with pytest.raises(
        ReadError,
        match=r"size not found among its columns\. If its Size is the same in the same unit, rename it to size",
    ):
        read_table(rows.rename(columns={"size": "Size"}), like=first)
    with pytest.raises(ReadError, match="kind, size not found"):
        read_table(rows[["same"]], like=first)
    with pytest.warns(ReadingWarning, match=r"not used, since the fit did not have them: maker, year\."):
        read_table(rows.assign(maker="A", year=2020), like=first)
    numbers = pd.DataFrame({"a": np.arange(12.0) % 5, "b": np.arange(12.0) % 7})
    with pytest.raises(ReadError, match=r"b not found among its columns\.$"):  # missing cells are not declared
        read_table(numbers[["a"]], like=read_table(numbers))


def test_one_new_row_may_lack_a_number_as_many_did() -> None:
    rng = np.random.default_rng(0)
    pressure = [f"{v:.1f}".replace(".", ",") for v in rng.normal(120, 9, 40)]
    pressure[3] = pressure[9] = "n.d."
    with pytest.warns(ReadingWarning, match=r"n\.d\. \(row 4\)"):
        first = read_table(pd.DataFrame({"pressure": pressure, "age": rng.integers(20, 90, 40)}))
    new = read_table(pd.DataFrame({"pressure": ["n.d.", "131,5"], "age": [40, 50]}), like=first)
    assert new.data["pressure"].tolist() == pytest.approx([np.nan, 131.5], nan_ok=True)
    series = pd.DataFrame(
        {"who": ["a"] * 3 + ["b"] * 3, "day": [1, 2, 3] * 2, "heat": ["1,5", "n.d.", "2", "3", "4", "5"]}
    )
    found = read_table(series, series_id="who", time="day", value=["heat"])
    assert np.isnan(found.data[0][1, 0])


def test_what_was_read_is_not_taken_for_the_data() -> None:
    table = read_table(pd.DataFrame({"a": [1.0, 2.0, 9.0, 8.0]}))
    with pytest.raises(TypeError, match=r"give its \.data"):
        SoftECM(2).fit(table)


def test_sheets_of_a_workbook_are_named(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    rows = pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9.0) ** 2})
    with pd.ExcelWriter(path) as book:
        for name in ("Info", "Data"):
            rows.to_excel(book, sheet_name=name, index=False)
    with pytest.warns(ReadingWarning, match="first sheet, Info, is read; for Data give sheet"):
        read_table(path)
    assert not any("sheet" in note for note in read_table(path, sheet="Data").notes)
    with pytest.raises(ReadError, match="no sheet 'Nope': give one of Info, Data"):
        read_table(path, sheet="Nope")


@pytest.mark.parametrize(
    ("spend", "share", "said"),
    [
        (["£10", "£30"], ["46%", "8 %"], []),
        (["GBP 10", "30"], ["46", "8"], []),  # the same currency, and missing signs
        (["$10", "$30"], ["46%", "8 %"], ["column spend is in $ here and was in £ in the fit: convert it to £ first"]),
        (["£10", "£30"], [".46", ".08"], ["column share was in % in the fit and has no number above 1 here"]),
        (["£10", "£30"], [0.46, 0.08], ["if 0.12 means 12 %, multiply it by 100 first"]),
        (["£10", "£30"], ["460‰", "80‰"], ["column share: 2 cells in ‰ are converted to % (1 ‰ is 0.1 %)."]),
    ],
)
def test_another_unit_than_in_the_fit_is_asked_about(spend: list, share: list, said: list[str]) -> None:
    first = read_table(pd.DataFrame({"spend": ["£10", "£20", "£30"], "share": ["46 %", "8%", "12%"]}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = read_table(pd.DataFrame({"spend": spend, "share": share}), like=first)
    assert [str(one.message) for one in caught] == list(again.notes)
    assert [one for one, part in zip(again.notes, said, strict=True) if part not in one] == []
    assert again.data["spend"].tolist() == [10, 30]
    assert again.data["share"].tolist() in ([46, 8], [0.46, 0.08])


def test_percent_where_the_fit_had_parts_of_one_is_asked_about() -> None:
    first = read_table(pd.DataFrame({"share": [0.46, 0.08, 0.12]}))
    with pytest.warns(
        ReadingWarning, match="in % here and had no unit in the fit: if 12 % was 0.12 there, divide it by 100"
    ):
        read_table(pd.DataFrame({"share": ["46%", "8 %"]}), like=first)
