"""Realistic files: thousands separators, money, dates, typos, ids, titles above, totals below."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import ReadingWarning, read_table
from softecm._errors import ReadError
from softecm.distances.auto import choose
from softecm.readers import Expected, Loaded, ReadOptions, Written, read
from softecm.readers.numbers import read_numbers

pytestmark = pytest.mark.usefixtures("as_typed")


def loaded(tmp_path: Path, lines: list[str], name: str = "t.csv", **options: object) -> Loaded:
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read(path, ReadOptions(**options))  # type: ignore[arg-type]


def kinds(found: Loaded) -> dict[str, str]:
    return {c.name: c.kind for c in found.columns}


SALES = ["who,sales,price", *(f'p{i},"{1 + i % 9},{100 + 7 * i}",{i / 8 + 0.25:.2f}' for i in range(40))]
UNSURE = ["who,sales,n", *(f'p{i},"{1 + i % 9},{100 + 7 * i}",{i % 5}' for i in range(40))]


def test_commas_between_thousands_are_no_decimal_commas(tmp_path: Path) -> None:
    found = loaded(tmp_path, SALES)
    assert found.data["sales"].tolist()[:3] == [1100, 2107, 3114]
    assert [c.why for c in found.columns if c.name == "sales"] == ["comma between thousands"]


def test_a_comma_that_may_be_either_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"column sales of .* holds 1,100.*--thousands , or --decimal ,"):
        loaded(tmp_path, UNSURE)
    assert loaded(tmp_path, UNSURE, thousands=",").data["sales"].iloc[0] == 1100
    assert loaded(tmp_path, UNSURE, decimal=",").data["sales"].iloc[0] == 1.1
    with pytest.raises(ReadError, match="can't both be ,"):
        loaded(tmp_path, UNSURE, decimal=",", thousands=",")
    with pytest.raises(ReadError, match="--thousands must be"):
        loaded(tmp_path, UNSURE, thousands="x")


@pytest.mark.parametrize(
    ("cells", "values", "why"),
    [
        (
            ["1.234,50 €", "12,00 €", "-3.000.000,25 €"],
            [1234.5, 12.0, -3000000.25],
            "in €, point between thousands, decimal comma",
        ),
        (["$1,234.50", "($12.00)", "$3"], [1234.5, -12.0, 3.0], "in $, comma between thousands"),
        (["12.5%", "7%", "0.25 %"], [12.5, 7.0, 0.25], "in %"),
        (["1 234,5", "12,25", "999"], [1234.5, 12.25, 999.0], "blank between thousands, decimal comma"),
        (["1'234.5", "12", "7"], [1234.5, 12.0, 7.0], "apostrophe between thousands"),
        (["12 kg", "7.5 kg", "80 kg"], [12.0, 7.5, 80.0], "in kg"),
        (["1.234,50-", "12,00", "7,25"], [-1234.5, 12.0, 7.25], "point between thousands, decimal comma"),
    ],
)
def test_numbers_are_read_as_they_are_meant(tmp_path: Path, cells: list[str], values: list[float], why: str) -> None:
    found = loaded(tmp_path, ["x;k", *(f"{cell};{k}" for cell, k in zip(cells * 5, "ab" * 8, strict=False))])
    assert found.data["x"].tolist()[:3] == values
    assert found.columns[0].why == why


@pytest.mark.parametrize(
    "cells",
    [
        ["<=50K", ">50K"],
        ["<1H OCEAN", "INLAND", "NEAR BAY"],
        ["A1", "B2", "A2"],
        ["10-20", "20-30", "30-40"],
        ["1st", "2nd"],
        ["12 A", "14 B", "12 B"],
        ["10.0.0.1", "10.0.0.2"],
        ["+49 171 1234567", "+49 30 123"],
    ],
)
def test_words_with_digits_stay_words(tmp_path: Path, cells: list[str]) -> None:
    found = loaded(tmp_path, ["x;n", *(f"{cell};{i % 7}" for i, cell in enumerate(cells * 10))])
    assert kinds(found) == {"x": "category", "n": "number"}


def test_a_slip_costs_a_cell_and_not_a_column(tmp_path: Path) -> None:
    rows = [f"{i / 7:.3f},{i % 5}" for i in range(40)]
    rows[3], rows[16] = "see note,3", "broken,1"
    found = loaded(tmp_path, ["a,b", *rows])
    assert (found.columns[0].kind, found.columns[0].gaps) == ("number", 2)
    assert np.flatnonzero(np.isnan(found.data["a"])).tolist() == [3, 16]
    assert found.notes == (
        "column a: 2 cells are not numbers and count as missing: see note (row 4), broken (row 17).",
    )


def test_many_words_make_categories(tmp_path: Path) -> None:
    rows = [f"{i % 7 if i % 3 else 'none of ' + 'abc'[i % 9 // 3]},{i % 5}" for i in range(45)]
    assert kinds(loaded(tmp_path, ["a,b", *rows]))["a"] == "category"


def test_one_word_for_a_gap_may_come_often(tmp_path: Path) -> None:
    rows = [f"{'k.A.' if i % 3 == 0 else i / 7:},{i % 5}" for i in range(45)]
    found = loaded(tmp_path, ["a,b", *rows])
    assert (found.columns[0].kind, found.columns[0].gaps) == ("number", 15)


@pytest.mark.parametrize("when", ["{}", "2024-03-{:02d}"], ids=["number", "date"])
@pytest.mark.parametrize("who", ["p{}", "{}"], ids=["word", "number"])
def test_rows_that_look_like_steps_of_series_are_asked_about(tmp_path: Path, who: str, when: str) -> None:
    rng = np.random.default_rng(0)
    cells = [f"{who.format(7 * i)},{when.format(k + 1)},{rng.normal():.3f}" for i in range(6) for k in range(4 + i % 2)]
    question = "if each row is one time of a series, add --id-column name"
    said = f"rows with the same name are consecutive, with increasing day: {question}"
    found = loaded(tmp_path, ["name,day,pulse", *cells])
    assert f"{said} --time day --value pulse." in found.notes
    backwards = [note for note in loaded(tmp_path, ["name,day,pulse", *cells[::-1]]).notes if "of a series" in note]
    scattered = f"rows with the same name all differ in day: {question}"
    named = who[0] != "{"  # in any order, numbers don't look like names
    assert backwards == ([f"{scattered} --time day --value pulse."] if named else [])
    assert loaded(tmp_path, ["name,day,pulse", *cells], id_column="name", time="day", value=("pulse",)).names[
        1
    ] == who.format(7)


@pytest.mark.parametrize("mark", ["k.A.", "keine Angabe", "Unknown", "-", "n.a.", "???", "not stated"])
def test_a_word_for_no_answer_is_no_category(tmp_path: Path, mark: str) -> None:
    lines = ["town,size", *(f"{mark if i % 4 == 0 else ('Ulm', 'Bonn', 'Kiel')[i % 3]},{i / 7:.2f}" for i in range(24))]
    found = loaded(tmp_path, lines)
    assert found.data["town"].isna().sum() == 6
    assert next(c.gaps for c in found.columns if c.name == "town") == 6
    assert f"column town: {mark} (6 cells) is treated as missing; --categorical town keeps it." in found.notes
    kept = loaded(tmp_path, lines, categorical=("town",))
    assert (kept.data["town"].nunique(), kept.notes) == (4, ())
    written = next(c.written for c in found.columns if c.name == "town")
    assert written is not None
    expected = Expected(("category", "number"), ("town", "size"), written={"town": written})
    assert loaded(tmp_path, lines, expected=expected).data["town"].isna().sum() == 6


@pytest.mark.parametrize("answers", [("yes", "-"), ("+", "-", "both"), ("Na", "Cl", "K"), ("none", "one", "two")])
def test_what_may_be_an_answer_stays_one(tmp_path: Path, answers: tuple[str, ...]) -> None:
    lines = ["seen,size", *(f"{answers[i % len(answers)]},{i / 7:.2f}" for i in range(24))]
    found = loaded(tmp_path, lines)
    assert (set(found.data["seen"]), found.notes) == (set(answers), ())


def test_texts_are_no_reason_to_cluster_by_the_date_alone(tmp_path: Path) -> None:
    rows = [
        f"F{i % 36},{1 + i % 28:02}/01/2024,the {i}th message is too long to name a thing,{i % 7}" for i in range(40)
    ]
    lines = ["ref,received,text,stars", *rows]
    assert kinds(loaded(tmp_path, lines))["text"] == "id"
    wanted = (
        r"text holds texts, which are not compared, and only received remains to cluster by: .* To cluster by received "
    )
    for columns in (slice(0, 3), slice(1, 3)):
        some = [",".join(line.split(",")[columns]) for line in lines]
        with pytest.raises(ReadError, match=f"{wanted}alone, add --drop text\\.") as error:
            loaded(tmp_path, some)
        assert "npz" in str(error.value)
        assert len(loaded(tmp_path, some, drop=("text",))) == 40
    with pytest.raises(ReadError, match=r"column text holds texts, which are not compared: turn the texts into"):
        loaded(tmp_path, [line.split(",")[2] for line in lines], delimiter="none")
    frame = pd.DataFrame({"text": [row.split(",")[2] for row in rows], "stars": [i % 7 + 0.5 for i in range(40)]})
    with pytest.warns(ReadingWarning, match="text holds texts, which are not compared, and only stars remains"):
        choose(frame)
    names = frame.assign(text=[f"Ann {i % 36} Lee" for i in range(40)])
    assert choose(names).left_out.keys() == {"text"}


def test_limits_of_detection_are_their_number(tmp_path: Path) -> None:
    rows = [f"{'<0.5' if i % 4 == 0 else i / 8},{i % 5}" for i in range(40)]
    found = loaded(tmp_path, ["crp,b", *rows])
    assert found.data["crp"].tolist()[:5] == [0.5, 0.125, 0.25, 0.375, 0.5]
    assert "10 cells are limits and are read as the number" in found.notes[0]
    assert "<0.5 (row 1)" in found.notes[0]


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("%Y-%m-%d", "year-month-day"),
        ("%Y-%m-%dT%H:%M:%S", "year-month-day"),
        ("%d.%m.%Y", "day.month.year"),
        ("%d.%m.%y", "day.month.year"),
        ("%m/%d/%Y", "month/day/year"),
        ("%d/%m/%Y %H:%M", "day/month/year with a time"),
        ("%d %b %Y", "day month year"),
        ("%b %d, %Y", "month day, year"),
        ("%Y/%m/%d", "year/month/day"),
    ],
)
def test_dates_are_recognised(tmp_path: Path, form: str, why: str) -> None:
    days = pd.date_range("2024-01-03", periods=40, freq="9D")
    found = loaded(tmp_path, ["when;n", *(f"{day.strftime(form)};{i % 5}" for i, day in enumerate(days))])
    assert (found.columns[0].kind, found.columns[0].why) == ("date", why)
    assert found.data["when"].tolist() == days.tolist()
    assert found.columns[0].detail.startswith("2024-01-03")


def test_dates_of_either_order_are_asked_about(tmp_path: Path) -> None:
    rows = ["when,n", *(f"{1 + i % 12:02d}/{1 + 5 * i % 12:02d}/2024,{i % 5}" for i in range(40))]
    with pytest.raises(
        ReadError, match=r"such as 02/06/2024, which may be day/month/year or month/day/year: .*--dates"
    ):
        loaded(tmp_path, rows)
    assert loaded(tmp_path, rows, dates=("mdy",)).data["when"].iloc[1] == pd.Timestamp("2024-02-06")
    assert loaded(tmp_path, rows, dates=("when=%d/%m/%Y",)).data["when"].iloc[1] == pd.Timestamp("2024-06-02")
    assert kinds(loaded(tmp_path, rows, dates=("none",)))["when"] == "category"
    with pytest.raises(ReadError, match="--dates must name a column"):
        loaded(tmp_path, rows, dates=("then",))
    with pytest.raises(ReadError, match="a format with a year"):
        loaded(tmp_path, rows, dates=("when=%d",))


def test_another_column_may_tell_the_order_of_day_and_month(tmp_path: Path) -> None:
    rows = ["a,b,n", *(f"{1 + i % 12}/{1 + i % 28}/2024,{1 + i % 12}/{1 + 5 * i % 12}/2024,{i % 5}" for i in range(40))]
    assert loaded(tmp_path, rows).data["b"].iloc[1] == pd.Timestamp("2024-02-06")


def test_dates_with_dots_do_not_tell_the_order_of_dates_with_slashes(tmp_path: Path) -> None:
    rows = ["a,b,n", *(f"{1 + i % 28}.{1 + i % 12}.2024,{1 + i % 12}/{1 + 5 * i % 12}/2024,{i % 5}" for i in range(40))]
    with pytest.raises(ReadError, match="choose with --dates"):
        loaded(tmp_path, rows)


def test_whole_numbers_are_dates_where_they_are_called_so(tmp_path: Path) -> None:
    days = pd.date_range("2024-01-03", periods=40, freq="9D")
    rows = [f"{day:%Y%m%d},{day:%Y%m%d},{i % 5}" for i, day in enumerate(days)]
    found = loaded(tmp_path, ["date,size,n", *rows])
    assert kinds(found) == {"date": "date", "size": "number", "n": "number"}
    assert kinds(loaded(tmp_path, ["date,size,n", *rows], dates=("size",)))["size"] == "date"
    with pytest.raises(ReadError, match=r"column n of .* must hold dates, as --dates says; got 0 in row 1"):
        loaded(tmp_path, ["date,size,n", *rows], dates=("n",))


def test_ids_are_kept_and_not_clustered_by(tmp_path: Path) -> None:
    rows = [f"{1000 + 7 * i},{i % 5}.5,{i % 3}" for i in range(20)]
    found = loaded(tmp_path, ["CustomerID,a,b", *rows])
    assert kinds(found) == {"CustomerID": "id", "a": "number", "b": "number"}
    assert found.names[:2] == ["1000", "1007"]
    assert kinds(loaded(tmp_path, ["price,a,b", *rows]))["price"] == "number"


def test_the_index_that_pandas_writes_names_the_rows(tmp_path: Path, rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50)}).sample(30, random_state=0)
    frame.to_csv(tmp_path / "t.csv")
    found = read(tmp_path / "t.csv", ReadOptions())
    assert kinds(found) == {"Unnamed: 0": "id", "a": "number", "b": "number"}
    assert found.names == [str(i) for i in frame.index]


def test_a_file_without_names_is_given_some(tmp_path: Path) -> None:
    rows = [f"{i / 7:.2f},{i % 5}" for i in range(20)]
    found = loaded(tmp_path, rows, names=("size", "kind"))
    assert (list(found.data.columns), len(found)) == (["size", "kind"], 20)
    assert len(loaded(tmp_path, ["a,b", *rows], names=("size", "kind"))) == 20
    with pytest.raises(ReadError, match=r"--names must name each of the 2 columns of .*; got 1: size"):
        loaded(tmp_path, rows, names=("size",))
    np.save(tmp_path / "x.npy", np.arange(24.0).reshape(12, 2) ** 2)
    assert list(read(tmp_path / "x.npy", ReadOptions(names=("u", "v"))).data.columns) == ["u", "v"]
    with pytest.raises(ReadError, match="--names must name each"):
        read(tmp_path / "x.npy", ReadOptions(names=("u",)))


def test_titles_above_and_units_below_the_names_are_skipped(tmp_path: Path) -> None:
    rows = [f"{10 + i / 7:.2f},{70 + i % 9},{'red' if i % 2 else 'blue'}" for i in range(30)]
    found = loaded(tmp_path, ["Export of machine 7", "", "size,weight,colour", "cm,kg,name", *rows])
    assert (len(found), kinds(found)) == (30, {"size": "number", "weight": "number", "colour": "category"})
    assert found.how["skipped"] == "lines 1, 2, 4"


def test_lines_with_few_cells_above_names_are_skipped_and_objects_with_gaps_are_not(tmp_path: Path) -> None:
    rows = [f"{i / 7:.2f};{i % 5};{i % 3};{i % 2}" for i in range(20)]
    assert len(loaded(tmp_path, ["Konto:;DE12;;", "a;b;c;d", *rows])) == 20
    assert len(loaded(tmp_path, [";;;1", *rows])) == 21


def test_row_names_without_a_name_are_those_of_r(tmp_path: Path) -> None:
    found = loaded(tmp_path, ["a b", *(f"r{i} {i / 7:.2f} {i % 5}" for i in range(20))])
    assert kinds(found) == {"Unnamed: 0": "id", "a": "number", "b": "number"}


def test_a_total_in_the_last_row_is_no_object(tmp_path: Path) -> None:
    rows = [f"store {i},{i * 10}" for i in range(1, 21)]
    found = loaded(tmp_path, ["name,sales", *rows, "Total,2100"])
    assert (len(found), found.data["sales"].dtype.kind) == (20, "i")
    assert found.notes == ("the last row (row 21) is called Total and is the sum of the others: it is skipped.",)
    kept = loaded(tmp_path, ["name,sales", *rows, "Total,77"])
    assert len(kept) == 21
    assert "if it is not an object, remove it with --drop-rows 21" in kept.notes[0]


def test_two_columns_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    rows = [f"{i / 7:.2f},{i % 5},{i % 3}" for i in range(20)]
    found = loaded(tmp_path, ["x,y,x", *rows])
    assert list(found.data.columns) == ["x", "y", "x (2)"]
    assert "more than one column is called x: one of them is x (2) here." in found.notes


def test_capitals_make_no_categories(tmp_path: Path) -> None:
    rows = [f"{['Yes', 'yes', 'NO', 'no', 'No'][i % 5]},{i / 7:.2f}" for i in range(40)]
    found = loaded(tmp_path, ["smokes,x", *rows])
    assert found.data["smokes"].value_counts().to_dict() == {"no": 24, "Yes": 16} or set(found.data["smokes"]) == {
        "Yes",
        "NO",
    }
    assert "only in case" in found.notes[0]
    assert loaded(tmp_path, ["smokes,x", *rows], categorical=("smokes",)).data["smokes"].nunique() == 5


def test_hyphens_spaces_and_accents_make_no_categories(tmp_path: Path) -> None:
    plans = (
        ["Off-Peak"] * 9
        + ["off peak", "Offpeak", "Café"] * 3
        + ["Cafe", "A-", "A+", "C", "C#", "1-2", "12x", "A-B", "AB"] * 4
    )
    found = loaded(tmp_path, ["plan,x", *(f"{plan},{i}.5" for i, plan in enumerate(plans))])
    assert set(found.data["plan"]) == {"Off-Peak", "Cafe", "A-", "A+", "C", "C#", "1-2", "12x", "A-B", "AB"}
    assert "(off peak, Offpeak = Off-Peak; Café = Cafe); --categorical plan" in found.notes[0]


def test_new_files_are_read_as_the_first_one_was(tmp_path: Path) -> None:
    written = {
        "sales": Written(thousands=","),
        "when": Written(dates="%m/%d/%Y"),
        "smokes": Written(words=("Yes", "no")),
    }
    wanted = Expected(("number", "date", "category"), ("sales", "when", "smokes"), written=written)
    lines = ["sales,when,smokes", '"1,273",02/06/2024,YES', '"2,001",03/04/2024,No', '"1,999",03/05/2024,no']
    found = loaded(tmp_path, lines, expected=wanted)
    assert found.data["sales"].tolist() == [1273.0, 2001.0, 1999.0]
    assert found.data["when"].iloc[0] == pd.Timestamp("2024-02-06")
    assert found.data["smokes"].tolist() == ["Yes", "no", "no"]


def test_a_total_above_a_footnote_is_no_object(tmp_path: Path) -> None:
    rows = [f"n{i},{10 * (i + 1)},{i % 7}" for i in range(20)]
    found = loaded(tmp_path, ["name,sales,staff", *rows, "Total,2100,57", "* without returns,,"])
    assert len(found) == 20
    assert found.notes == (
        "the last row above 1 footnote (row 21) is called Total and is the sum of the others: they are skipped.",
    )


def test_a_rare_word_like_a_frequent_one_is_asked_about(tmp_path: Path) -> None:
    channels = ["web"] * 70 + ["store"] * 60 + ["wbe", "stor", "fax"]
    rows = [f"{word},{i % 13}" for i, word in enumerate(channels)]
    notes = loaded(tmp_path, ["channel,visits", *rows]).notes
    note = next(note for note in notes if note.startswith("channel: are "))
    assert all(f"'{slip}' (1 row; " in note for slip in ("wbe", "stor"))
    assert "fax" not in note


def test_few_rows_of_a_long_word_suffice_to_ask(tmp_path: Path) -> None:
    asked = ["Premium"] * 19 + ["Premuim"] * 2 + ["Leeds Dock"] * 40 + ["Leeds Dokc"]
    other = (
        ["A1"] * 90 + ["A2"] * 2 + ["S"] * 60 + ["M"] * 2 + ["male"] * 70 + ["female"] * 4 + ["Club A", "Club B"] * 9
    )
    other += ["typical"] * 80 + ["atypical"] * 8 + ["1234"] * 50 + ["1243"]
    rows = [f"{word},{i % 13}" for i, word in enumerate(asked + other)]
    notes = loaded(tmp_path, ["kind,visits", *rows]).notes
    assert notes == (
        "kind: are 'Premuim' (2 rows; Premium 19), 'Leeds Dokc' (1 row; Leeds Dock 40) typos? If so, fix them in the "
        "file; now they are separate categories.",
    )


def test_the_only_sheet_with_data_is_read(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    table = pd.DataFrame({"a": [i % 4 for i in range(9)], "b": range(9)})

    def sheets(**frames: pd.DataFrame) -> None:
        with pd.ExcelWriter(path) as book:
            for name, frame in frames.items():
                frame.to_excel(book, sheet_name=name, index=False)

    sheets(cover=pd.DataFrame(), data=table, notes=pd.DataFrame({"a": []}))
    found = read(path, ReadOptions())
    assert (len(found), found.notes[0]) == (9, "the workbook's only sheet with data, data, is read.")
    sheets(cover=pd.DataFrame({"Read me": ["made by hand", "not audited"]}), data=table)
    assert len(read(path, ReadOptions())) == 9
    sheets(cover=pd.DataFrame({"number": [1, 2, 3]}), data=table)  # a column of numbers is a table
    assert len(read(path, ReadOptions())) == 3
    sheets(cover=pd.DataFrame(), data=table, more=table)
    with pytest.raises(ReadError, match="the first sheet, cover, has no table: give --sheet with one of data, more"):
        read(path, ReadOptions())
    sheets(cover=pd.DataFrame(), notes=pd.DataFrame())
    with pytest.raises(ReadError, match="has no sheet with data: cover, notes have no table"):
        read(path, ReadOptions())


def test_excel_sheets_with_a_title_a_total_and_a_slip(tmp_path: Path, rng: np.random.Generator) -> None:
    stores = pd.DataFrame(
        {"store": [f"s{i}" for i in range(20)], "sales": rng.integers(10, 99, 20), "staff": rng.integers(1, 9, 20)}
    )
    total = pd.DataFrame({"store": ["Total"], "sales": [stores["sales"].sum()], "staff": [stores["staff"].sum()]})
    cells = pd.concat([stores, total], ignore_index=True).astype(object)
    cells.loc[4, "staff"] = "closed"
    cells.to_excel(tmp_path / "t.xlsx", index=False, startrow=2)
    found = read(tmp_path / "t.xlsx", ReadOptions())
    assert (len(found), kinds(found)) == (20, {"store": "id", "sales": "number", "staff": "number"})
    assert "closed (row 5)" in " ".join(found.notes)


def test_what_marks_a_gap_is_added_to_the_usual_marks(tmp_path: Path) -> None:
    rows = [f"{'-9' if i == 1 else '?' if i == 2 else i / 7:},{i % 5}" for i in range(20)]
    assert loaded(tmp_path, ["a,b", *rows], missing=("-9",)).columns[0].gaps == 2


def test_codes_keep_their_zeros(tmp_path: Path) -> None:
    rows = [f"{('01067', '80331')[i % 2]},{i / 7:.2f}" for i in range(20)]
    found = loaded(tmp_path, ["zip,x", *rows])
    assert found.data["zip"].tolist()[:2] == ["01067", "80331"]
    phones = [f"{('030123', '01711234')[i % 2]},{i / 7:.2f}" for i in range(20)]
    assert kinds(loaded(tmp_path, ["phone,x", *phones]))["phone"] == "category"


def test_counts_may_have_zeros_before_them(tmp_path: Path) -> None:
    rows = [f"{f'{i % 13:02d}' if i % 13 else '0'},{i / 7:.2f}" for i in range(40)]
    found = loaded(tmp_path, ["years,x", *rows])
    assert (kinds(found)["years"], found.data["years"].max()) == ("number", 12)


def test_years_may_name_columns(tmp_path: Path) -> None:
    found = loaded(tmp_path, ["country,2019,2020", *(f"c{i},{i % 7},{i % 5}" for i in range(20))])
    assert list(found.data.columns) == ["2019", "2020"]
    assert len(loaded(tmp_path, [f"c{i},{2000 + i},{2001 + i}" for i in range(20)])) == 20


def test_rows_without_a_value_are_left_out_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    rows = [f"{i / 7:.2f},{i % 5}" for i in range(20)]
    rows[4] = ","
    found = loaded(tmp_path, ["a,b", *rows])
    assert (len(found), found.names[3:6], found.gaps) == (19, ["4", "6", "7"], 0)
    assert found.notes == ("1 empty row is skipped: row 5.",)
    found = loaded(tmp_path, ["a,b,note", *(f"{row},{i % 2}" for i, row in enumerate(rows))], drop=("note",))
    assert (len(found), found.names[3:6], found.gaps) == (19, ["4", "6", "7"], 0)
    assert found.notes == ("1 row has no value to cluster by and is left out: row 5.",)


def test_a_line_of_text_below_the_table_is_no_object(tmp_path: Path) -> None:
    rows = [f"{i / 7:.2f},{i % 5},{i % 3}" for i in range(20)]
    found = loaded(tmp_path, ["a,b,c", *rows, "", "Source: somebody"])
    assert (len(found), found.notes) == (20, ("the last line has too few cells and is skipped.",))
    with pytest.raises(ReadError, match=r"line 12 of .* has 1 cell where the others have 3"):
        loaded(tmp_path, ["a,b,c", *rows[:10], "broken", *rows[10:]])


def test_words_among_the_numbers_and_dates_of_a_workbook_are_read(tmp_path: Path) -> None:
    days = pd.date_range("2015-01-01", periods=60, freq="7D")
    sales = [20.0 + 1.5 * (i % 9) for i in range(60)]
    frame = pd.DataFrame(
        {
            "Kunden-Nr.": [4000 + 7 * i for i in range(60)],
            "seit": [day.strftime("%d.%m.%Y") if i % 8 == 0 else day for i, day in enumerate(days)],
            "Umsatz (T€)": [f"{v:.1f} T€".replace(".", ",") if i % 9 == 0 else v for i, v in enumerate(sales)],
            "Preis": [f"{v:.2f} €".replace(".", ",") if i % 10 == 0 else v for i, v in enumerate(sales)],
        },
        dtype=object,
    )
    frame.loc[60] = ["Gesamtsumme", None, sum(sales), None]
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    found = read(tmp_path / "t.xlsx", ReadOptions())
    assert (kinds(found)["Kunden-Nr."], found.gaps, len(found)) == ("id", 0, 60)
    assert found.data["seit"].tolist() == days.tolist()
    assert found.data["Umsatz (T€)"].tolist() == found.data["Preis"].tolist() == sales
    assert found.notes == ("the last row (row 61) is called Gesamtsumme and is the sum of the others: it is skipped.",)


@pytest.mark.parametrize(
    ("name", "odd"), [("amount", "12 kg"), ("amount", "1,2 Mio"), ("share", "12 %"), ("cost", "3 $")]
)
def test_a_unit_that_few_numbers_have_is_not_guessed_at(name: str, odd: str) -> None:
    cells = [0.5 if "%" in odd else 100.0 + i for i in range(40)]
    column = pd.Series([odd, "7 €" if "$" in odd else 3.0, *cells], name=name, dtype=object)
    found = read_numbers(column, "")
    assert found is not None
    assert odd in next(iter(found.foreign.values())).tolist()
    assert np.isnan(found.values[0])


@pytest.mark.parametrize(
    ("name", "cells", "values", "unit"),
    [
        ("weight", ["80 kg", "100 lb", "75kg", "1 t"], [80, 45.359237, 75, 1000], "kg"),
        ("height", ["180 cm", "1.75 m", "180cm", "5'11\"", "5 ft 11 in"], [180, 175, 180, 180.34, 180.34], "cm"),
        ("warmth", ["37 °C", "36.5 °C", "98.6 °F"], [37, 36.5, 37], "°C"),
        ("dose", ["5 mg", "7mg", "500 µg", "500 μg", "1 g"], [5, 7, 0.5, 0.5, 1000], "mg"),  # micro and Greek mu
        (
            "lead",
            ["26.6 d", "0.9 wk", "2 Wochen", "3 Tage", "48 Std", "90 min", "6 h"],
            [26.6, 6.3, 14, 3, 2, 0.0625, 0.25],
            "d",
        ),
        ("stay", ["1 year", "2 years", "18 months"], [1, 2, 1.5], "years"),
        ("speed (km/h)", ["10 m/s", "50", "70"], [36, 50, 70], "km/h"),
        ("cost", ["3 €", "3 EUR", "2 T€"], [3, 3, 2000], "€"),
        ("gain", ["$5 million", "$3 million", "$2 million"], [5, 3, 2], "$ million"),
    ],
)
def test_units_with_a_fixed_factor_are_converted(name: str, cells: list[str], values: list[float], unit: str) -> None:
    found = read_numbers(pd.Series([cells[0]] * 9 + cells, name=name), ".")
    assert found is not None
    factor = found.values.iloc[0] / values[0]  # years or months: the most frequent unit
    assert found.values.iloc[9:].tolist() == pytest.approx([factor * v for v in values])
    assert (found.written.unit, factor) in ((unit, 1.0), ("year", 1.0))


def test_units_without_a_fixed_factor_are_asked_about(tmp_path: Path) -> None:
    rows = [f"{5 + i % 9}.{i % 10} mmol/L,{i % 3}" if i % 5 < 3 else f"{90 + i} mg/dL,{i % 3}" for i in range(60)]
    lines = ["glucose,n", *rows]
    asked = (
        r"column glucose of .* holds numbers in mmol/L \(36 cells\) and in mg/dL \(24 cells\): --unit glucose=mmol/L keeps "
        r".*; --unit 'glucose=mmol/L=N mg/dL' converts, .*; --categorical glucose takes them as words\."
    )
    with pytest.raises(ReadError, match=asked):
        loaded(tmp_path, lines)
    kept = loaded(tmp_path, lines, unit=("glucose=mmol/L",))
    assert kept.data["glucose"].isna().sum() == 24
    assert kept.notes[0].startswith("column glucose: 24 cells are in mg/dL, not mmol/L, and count as missing: 93 mg/dL")
    converted = loaded(tmp_path, lines, unit=("glucose=mmol/L=18 mg/dL",))
    assert converted.data["glucose"].iloc[2:5].tolist() == pytest.approx([7.2, 93 / 18, 94 / 18])
    assert converted.notes == ("column glucose: 24 cells in mg/dL are converted to mmol/L.",)
    assert kinds(loaded(tmp_path, lines, categorical=("glucose",)))["glucose"] == "category"
    few = loaded(tmp_path, lines[:5] + [line for line in lines[5:] if "mmol" in line])
    assert few.notes[0].startswith(
        "column glucose: 1 cell is in mg/dL, not mmol/L, and counts as missing: 93 mg/dL (row 4)"
    )
    assert few.notes[0].endswith(". --unit 'glucose=mmol/L=N mg/dL' converts, where N mg/dL are 1 mmol/L.")
    for entry in ("glucose", "glucose=", "glucose=mmol/L=mg/dL", "glucose=mmol/L=0 mg/dL"):
        with pytest.raises(ReadError, match="--unit must be column=unit"):
            loaded(tmp_path, lines, unit=(entry,))
    with pytest.raises(ReadError, match=r"no cell of column glucose of .* is in kg"):
        loaded(tmp_path, lines, unit=("glucose=kg",))


def test_words_behind_numbers_are_not_always_units(tmp_path: Path) -> None:
    for words in (("A", "B"), ("High", "Park", "Mill", "Main")):  # house numbers, streets
        rows = [f"{i % 17} {words[i % len(words)]},{i % 3}" for i in range(60)]
        assert kinds(loaded(tmp_path, ["where,n", *rows]))["where"] != "number"


def test_what_may_be_an_id_is_pointed_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": [1.5, 3.25] * 30, "pos": 1 + np.random.default_rng(0).permutation(60)})
    found = loaded(tmp_path, frame.to_csv(index=False).split())
    assert kinds(found)["pos"] == "number"
    assert "--id-column pos makes it the id, --numeric pos confirms it." in found.notes[0]
    assert loaded(tmp_path, frame.to_csv(index=False).split(), numeric=("pos",)).notes == ()
    assert loaded(tmp_path, frame.to_csv(index=False).split(), id_column="pos").notes == ()


def test_a_word_in_a_column_of_ids_makes_no_number_of_it(tmp_path: Path) -> None:
    rows = [f"{4000 + 7 * i if i != 17 else 'neu'},{i / 4}" for i in range(40)]
    found = loaded(tmp_path, ["Kunden-Nr.,x", *rows])
    assert (kinds(found)["Kunden-Nr."], found.names[17], found.notes) == ("id", "neu", ())


@pytest.mark.parametrize("name", ["Summe", "Mittelwert", "Durchschnitt:", "average", "Mean"])
def test_a_last_row_that_is_no_object_can_be_left_out(tmp_path: Path, name: str) -> None:
    lines = ["nr,town,size", *(f"{400 + 3 * i},{('Ulm', 'Bonn')[i % 2]},{i * 7 % 60}" for i in range(60)), f"{name},,2"]
    told = f"the last row (row 61) is called {name}: if it is not an object, remove it with --drop-rows 61."
    assert loaded(tmp_path, lines).notes[0] == told
    found = loaded(tmp_path, lines, drop_rows=("61", "2-3"))
    assert (len(found), kinds(found)["nr"], found.data["size"].dtype.kind) == (58, "id", "i")
    assert found.names[:2] == ["400", "409"]
    assert found.notes == ("3 rows are left out, as requested.",)


def test_rows_keep_their_numbers_when_some_are_left_out(tmp_path: Path) -> None:
    lines = [
        "size,wide",
        *(f"{'oops' if i == 17 else i / 4},{'' if i == 30 else i % 7}" for i in range(40)),
        ",",
        "9,9",
    ]
    found = loaded(tmp_path, lines, drop_rows=("1", "-1"))
    assert found.names[:3] == ["2", "3", "4"]
    assert found.notes[1] == "1 empty row is skipped: row 41."
    assert found.notes[2].endswith("as missing: oops (row 18).")
    frame = pd.DataFrame({"size": np.arange(40) / 4, "wide": np.arange(40) % 7})
    with pytest.warns(ReadingWarning, match="1 row is left out"):
        assert read_table(frame, drop_rows=1).data.index.tolist() == list(range(1, 40))
    frame.loc[20, "size"] = np.inf
    with pytest.raises(ReadError, match="inf in row 21"):
        read_table(frame, drop_rows=[3])


@pytest.mark.parametrize("rows", ["0", "7", "x", "3-2", "-9", "-3-2", "1-6", "6-7"])
def test_rows_that_are_none_are_refused(tmp_path: Path, rows: str) -> None:
    with pytest.raises(ReadError, match="--drop-rows"):
        loaded(tmp_path, ["a,b", *(f"{i},{i % 2}" for i in range(6))], drop_rows=(rows,))


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("diagonal", ["0", "", "-"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", [5, 30])
def test_a_matrix_that_holds_each_pair_once(tmp_path: Path, n: int, upper: bool, diagonal: str, decimal: str) -> None:
    places = np.random.default_rng(0).uniform(size=n) * 100
    full = np.abs(np.subtract.outer(places, places)).round(1)
    names = [f"p {i}" for i in range(n)]
    rows = [";".join(["", *names])]
    for i in range(n):
        cells = [f"{full[i, j]:.1f}".replace(".", decimal) if (i < j) == upper else "" for j in range(n)]
        cells[i] = diagonal
        rows.append(";".join([names[i], *cells]))
    found = loaded(tmp_path, rows)
    assert found.names == names
    np.testing.assert_array_equal(np.asarray(found.data, dtype=float), full)
    assert found.notes[0] == "only one half of the matrix is filled: the other half is taken to be the same."


def test_a_matrix_with_other_gaps_is_not_completed(tmp_path: Path) -> None:
    full = [[abs(i - j) for j in range(6)] for i in range(6)]
    names = list("abcdef")

    def read_with(*gaps: tuple[int, int]) -> Loaded:
        cells = [["" if (i, j) in gaps else str(full[i][j]) for j in range(6)] for i in range(6)]
        return loaded(tmp_path, [";".join(["", *names]), *(";".join([a, *row]) for a, row in zip(names, cells))])

    own = [(i, i) for i in range(6)]
    assert read_with(*own).notes == ("the empty diagonal of the matrix is taken to be 0.",)
    assert read_with(*own).gaps == 0
    lower = [(i, j) for i in range(6) for j in range(i)]
    assert read_with(*lower).gaps == 0
    assert read_with(*lower, (0, 3)).gaps == len(lower) + 1
    assert read_with((2, 4)).gaps == 1


def test_page_titles_with_the_column_names_again_are_skipped(tmp_path: Path) -> None:
    head = "no;size;kind"
    rows = [f"{i};{i % 7},5;{'ab'[i % 2]}" for i in range(30)]
    pages = [head, *rows[:12], "", "Page 2", head, *rows[12:20], head, *rows[20:]]
    found, whole = loaded(tmp_path, pages), loaded(tmp_path, [head, *rows])
    assert found.notes[0] == "2 lines name the columns again and are skipped, with page titles above."
    assert found.how["skipped"] == "lines 15, 16, 25"
    assert found.names == whole.names
    pd.testing.assert_frame_equal(found.data, whole.data)
    with pytest.raises(ReadError, match=r"line 14 of .* has 1 cell where the others have 3"):
        loaded(tmp_path, [head, *rows[:12], "Page 2", *rows[12:]])  # it may be a damaged row
