"""Wide tables: a series in each column, or in each row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import ReadingWarning, read_table
from softecm.readers import ReadError, ReadOptions, read
from softecm.readers.wide import steps_of


def values(data: object) -> list[list[float]]:
    """The numbers of each series, of one channel."""
    return [np.asarray(one)[:, 0].tolist() for one in data]  # type: ignore[attr-defined]


def test_each_column_is_a_series_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    lines = [
        "day;a;b;c;place;empty;once",
        "03.01.2024;3,5;1.234,5;;x;;",
        "01.01.2024;1,5;;7,5 kg;y;;1,5",
        "02.01.2024;;1.000,5;8,5 kg;x;;",
        "04.01.2024;k.A.;3,5;;y;;",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    loaded = read(path, ReadOptions(time="day"))
    assert loaded.names == ["a", "b", "c"]
    first, *others = values(loaded.data)
    np.testing.assert_array_equal(first, [1.5, np.nan, 3.5])
    assert others == [[1000.5, 1234.5, 3.5], [7.5, 8.5]]
    assert loaded.how["time"] == "day, 01.01.2024 to 04.01.2024"
    assert "2 columns are left out (fewer than two numbers): empty, once." in loaded.notes
    assert "1 column is left out (not numbers): place." in loaded.notes
    assert loaded.gaps == 1
    assert read(path, ReadOptions(time="1", drop=("a",))).names == ["b", "c"]


@pytest.mark.parametrize(
    ("times", "order"),
    [
        ([3, 1, 2], [1, 2, 0]),
        (["week 10", "week 9", "week 11"], [1, 0, 2]),
        (["9:30", "10:00", "8:15"], [2, 0, 1]),
    ],
)
def test_times_of_wide_tables_are_ordered_as_those_of_long_ones(times: list[object], order: list[int]) -> None:
    frame = pd.DataFrame({"time": times, "a": [0.0, 1.0, 2.0], "b": [5.0, 6.0, 7.0]})
    loaded = read_table(frame, time="time")
    assert values(loaded.data) == [[float(i) for i in order], [5.0 + i for i in order]]


def test_times_missing_from_a_wide_table_are_reported() -> None:
    hours = [f"2024-01-01 {hour:02d}:00" for hour in range(20) if hour != 7]
    frame = pd.DataFrame({"hour": hours, "a": np.arange(19.0), "b": np.arange(19.0) ** 2})
    with pytest.warns(ReadingWarning, match=r"^rows seem to be missing \(1 longer step\)"):
        read_table(frame, time="hour")


@pytest.mark.usefixtures("as_typed")
def test_a_table_without_series_in_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({"t": [0, 1, 2, 3], "who": list("abcd"), "v": [1.5, 2.0, 4.0, 0.5]}).to_csv(path, index=False)
    with pytest.raises(ReadError, match=r"besides the time t; got 1\. If each .* add --id-column and --value"):
        read(path, ReadOptions(time="t"))
    with pytest.raises(ReadError, match="--label-column needs series in rows"):
        read(path, ReadOptions(time="t", label_column="who"))
    pd.DataFrame({"t": [0, 1, 0, 1], "v": [1.5, 2.0, 4.0, 0.5], "w": 1.5}).to_csv(path, index=False)
    with pytest.raises(ReadError, match=r"column t of .* repeats 0 in row 3, .* keep one row for each time"):
        read(path, ReadOptions(time="t"))
    with pytest.raises(ReadError, match="all of --id-column, --time and --value"):
        read(path, ReadOptions(time="t", id_column="v"))


def test_each_row_is_a_series_in_the_order_of_the_names() -> None:
    frame = pd.DataFrame(
        {
            "who": ["x", "y", "z"],
            "kind": ["p", "q", "p"],
            "age": [30, 40, 50],
            "t10": [10.0, np.nan, 10.5],
            "t1": ["1,5", "2,5", "3,5"],
            "t2": [2.0, np.nan, 2.5],
            "t3": [np.nan, 3.0, 3.5],
            "t4": [4.0, 4.5, 4.0],
        }
    )
    with pytest.warns(ReadingWarning) as caught:
        loaded = read_table(frame, series=True, label_column="kind")
    assert loaded.names == ["x", "y", "z"]
    assert loaded.labels is not None
    assert loaded.labels.tolist() == ["p", "q", "p"]
    first, second, third = values(loaded.data)
    np.testing.assert_array_equal(first, [1.5, 2.0, np.nan, 4.0, 10.0])
    np.testing.assert_array_equal(second, [2.5, np.nan, 3.0, 4.5])
    assert third == [3.5, 2.5, 3.5, 4.0, 10.5]
    notes = [str(one.message) for one in caught]
    assert any(note.startswith("1 column is left out (not numbered as the others): age.") for note in notes)
    assert any("who names the series" in note for note in notes)
    kinds = {column.name: column.kind for column in loaded.columns}
    assert kinds == {"channel 1": "number", "who": "id", "kind": "label", "age": "left out"}
    new = frame.drop(columns=["t10", "kind"]).assign(who=["u", "v", "w"])[["t2", "who", "t1", "age", "t3", "t4"]]
    again = read_table(new, like=loaded, label_column="who")
    assert [len(one) for one in again.data] == [4, 4, 4]
    assert values(read_table(new.iloc[2:], like=loaded).data) == [[3.5, 2.5, 3.5, 4.0]]


def test_rows_without_names_or_numbered_columns() -> None:
    frame = pd.DataFrame(np.arange(27.0).reshape(3, 9) ** 2, columns=list("abcdefghi"))
    assert values(read_table(frame, series=True).data) == frame.to_numpy().tolist()
    assert read_table(frame, series=True).ids is None
    with pytest.raises(ReadError, match="a column for every step of the series, such as t1"):
        read_table(frame.iloc[:, :7], series=True)
    with pytest.raises(ReadError, match=r"ids must be unique: column who .* repeats p \(rows 1 and 3\)"):
        read_table(frame.assign(who=["p", "q", "p"]), series=True, id="who")
    counted = frame.set_axis([f"t{j}" for j in range(9)], axis=1)
    with pytest.warns(ReadingWarning, match="id names the series"):
        assert read_table(counted.assign(id=[7, 3, 5])[["id", *counted]], series=True).names == ["7", "3", "5"]


def test_new_files_of_the_same_layout_may_be_smaller() -> None:
    columns = pd.DataFrame({"day": range(9), "a": np.arange(9.0) ** 2, "b": np.arange(9.0)})
    first = read_table(columns, time="day")
    one = read_table(columns[["day", "b"]].iloc[::-1], like=first)
    assert (one.names, values(one.data)) == (["b"], [list(range(9))])
    rows = read_table(columns.drop(columns="day").T.set_axis(list("qrstuvwxy"), axis=1), series=True)
    few = pd.DataFrame({"q": [1.5], "r": [2.5], "s": [None], "t": [4.0]})
    (series,) = values(read_table(few, like=rows).data)
    np.testing.assert_array_equal(series, [1.5, 2.5, np.nan, 4.0])


def test_an_empty_step_of_typed_columns_is_missing(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": ["x", "y"], "t0": [1, 2], "t1": [None, None], "t2": [3, 4]})
    frame.to_parquet(tmp_path / "wide.parquet")
    loaded = read(tmp_path / "wide.parquet", ReadOptions(series=True))
    np.testing.assert_array_equal(values(loaded.data), [[1, np.nan, 3], [2, np.nan, 4]])


@pytest.mark.parametrize(
    ("names", "ordered", "by_time"),
    [
        (["t2", "t0", "t1"], ["t0", "t1", "t2"], True),
        (["01.02.2024", "15.02.2024", "31.01.2024"], ["31.01.2024", "01.02.2024", "15.02.2024"], True),
        (["9:00", "8:00", "10:00", "shop"], ["8:00", "9:00", "10:00"], True),
        (["2021", "2020", "2022", "land"], ["2020", "2021", "2022"], True),
        (["0.5", "1.0", "1.5"], ["0.5", "1.0", "1.5"], False),
        (["10 min", "5 min", "15 min"], ["5 min", "10 min", "15 min"], True),
        (["item1", "item2", "item3"], ["item1", "item2", "item3"], False),
        (["Tag 1", "Tag 2", "Tag 3"], ["Tag 1", "Tag 2", "Tag 3"], True),
        (["print1", "print2", "print3"], ["print1", "print2", "print3"], False),
        (["t1", "t2", "t3", "a", "b", "c"], [], False),
        (["a", "b"], [], False),
    ],
)
def test_columns_are_ordered_by_the_numbers_in_their_names(names: list[str], ordered: list[str], by_time: bool) -> None:
    assert steps_of(names)[:2] == (ordered, by_time)


# ------------------------------------------------------------------ hints


def hints(tmp_path: Path, frame: pd.DataFrame, **options: str) -> list[str]:
    """What is asked about the columns or rows of a file."""
    frame.to_csv(tmp_path / "wide.csv", index=False)
    notes = read(tmp_path / "wide.csv", ReadOptions(**options)).notes  # type: ignore[arg-type]
    return [note for note in notes if "is a series" in note]


def noise(n: int, p: int, prefix: str = "s") -> pd.DataFrame:
    """Numbers of one range."""
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n, p)), columns=[f"{prefix}{j}" for j in range(p)])


DAYS = pd.date_range("2023-01-01", periods=60)


@pytest.mark.usefixtures("as_typed")
@pytest.mark.parametrize(
    ("frame", "added"),
    [
        (noise(30, 6).assign(minute=np.arange(30)), "minute"),
        (noise(30, 6).assign(**{"Zeit (s)": np.arange(30) * 0.25 + 5}), "Zeit (s)"),
        (noise(60, 6).assign(x=DAYS.astype(str)), "x"),
        (noise(60, 9).set_axis(list("abcdefghi"), axis=1).assign(month=range(60)), "month"),
        (noise(48, 6).assign(clock=[f"{i // 2}:{i % 2 * 3}0" for i in range(48)]), "clock"),
        (noise(60, 6).assign(x=pd.bdate_range("2023-01-02", periods=60).astype(str), always=1), "x"),
        (noise(60, 6).assign(x=DAYS.astype(str)).drop(index=[7, 20, 21]), "x"),
    ],
)
def test_columns_that_look_like_series_are_asked_about(tmp_path: Path, frame: pd.DataFrame, added: str) -> None:
    for columns in (list(frame.columns), list(frame.columns)[::-1]):
        (hint,) = hints(tmp_path, frame[columns])
        assert hint.endswith(("if each column is a series, add --time " + added + ".", f"add --time '{added}'."))
    assert not hints(tmp_path, frame, id_column=added)


@pytest.mark.usefixtures("as_typed")
@pytest.mark.parametrize(
    "frame",
    [
        noise(30, 4).assign(minute=np.arange(30)),
        noise(60, 6).set_axis(list("abcdef"), axis=1).assign(x=DAYS.astype(str)),
        noise(30, 6).assign(minute=np.arange(30) ** 2),
        noise(30, 6).assign(minute=[*range(20), 18, *range(20, 29)]),
        noise(30, 6).assign(sample=np.arange(30)),
        noise(30, 6).assign(minute=np.arange(30)[::-1]),
        noise(60, 6).assign(x=DAYS.astype(str), city=["A", "B"] * 30),
        noise(60, 6).assign(x=DAYS.astype(str), s0=1013.0 + np.arange(60) % 7),
        noise(60, 6).assign(x=DAYS.astype(str), s0=100 * noise(60, 1)["s0"]),
        noise(60, 6).rename(columns={"s0": "weight (kg)", "s1": "size (cm)"}).assign(x=DAYS.astype(str)),
    ],
)
def test_logs_of_measurements_are_no_series_in_columns(tmp_path: Path, frame: pd.DataFrame) -> None:
    columns = [*frame.columns[6:], *frame.columns[:6]]
    assert not hints(tmp_path, frame[columns])


def walks(n: int, p: int, names: list[str]) -> pd.DataFrame:
    """Smooth rows."""
    return pd.DataFrame(
        np.random.default_rng(0).normal(size=(n, p)).cumsum(axis=1) / np.sqrt(np.arange(1, p + 1)), columns=names
    )


@pytest.mark.usefixtures("as_typed")
@pytest.mark.parametrize(
    "frame",
    [
        noise(30, 6, "t"),
        noise(30, 6, "week "),
        noise(30, 6)
        .set_axis([f"{year}" for year in range(2015, 2021)], axis=1)
        .assign(land=[f"c{i}" for i in range(30)]),
        noise(30, 60).set_axis(DAYS.astype(str), axis=1),
        walks(30, 20, [f"{j}" for j in range(20)]),
        walks(30, 20, [f"{j}" for j in range(1, 21)]).assign(who=[f"c{i}" for i in range(30)]),
        walks(30, 20, [f"att{j}" for j in range(20)]).assign(kind=["a", "b"] * 15),
        walks(30, 20, [f"{400 + 5 * j}" for j in range(20)]).assign(name=[f"c{i}" for i in range(30)]),
    ],
)
def test_rows_that_look_like_series_are_asked_about(tmp_path: Path, frame: pd.DataFrame) -> None:
    (hint,) = hints(
        tmp_path,
        frame,
    )
    assert hint.endswith("if each row is a series, add --metric series-auto.")
    assert f"{frame.columns[0]} to " in hint


@pytest.mark.parametrize(
    "frame",
    [
        noise(30, 20, ""),
        noise(30, 20, "feature_"),
        noise(30, 4, "t"),
        noise(30, 20, "q") + 5 * noise(30, 1).to_numpy(),
        noise(30, 6, "week ").assign(**{name: np.arange(30) % 7 for name in "abcdef"}),
        noise(30, 6, "week ").assign(**{name: ["u", "v", "w"] * 10 for name in "abcdef"}),
        walks(30, 20, [f"x{j * j}" for j in range(20)]),
        walks(30, 7, [f"x{j}" for j in range(7)]),
        walks(30, 20, [f"x{j}" for j in range(20)]) * 10.0 ** np.arange(20),
        pd.DataFrame(abs(np.subtract.outer(np.arange(12.0), np.arange(12.0))), columns=[f"x{j}" for j in range(12)]),
    ],
)
def test_numbered_columns_of_ordinary_tables_are_no_series(tmp_path: Path, frame: pd.DataFrame) -> None:
    try:
        assert not hints(tmp_path, frame)
    except ReadError as error:
        pytest.fail(str(error))


def test_a_first_line_that_counts_names_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for first, is_header in (("0,1,2,3,4", True), ("who,1,2,3,4,5", True), ("1,2,3,4,5", False), ("0,1,2,4,5", False)):
        rows = [f"{'p,' if 'who' in first else ''}3,{i},2,0,{i % 3}.5" for i in range(8)]
        path.write_text("\n".join([first, *rows]), encoding="utf-8")
        columns = [column.name for column in read(path, ReadOptions()).columns]
        assert (columns == first.split(",")) is is_header, first
        assert all(name.startswith("column ") for name in columns) is not is_header
    path.write_text("\n".join([*["0,1,2,3,4"] * 3, "4,3,2,1,1"]), encoding="utf-8")
    assert len(read(path, ReadOptions())) == 4
