import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm._errors import ReadError
from softecm.readers import Expected, ReadOptions, read
from softecm.readers.series import from_long

pytestmark = pytest.mark.usefixtures("as_typed")

DATA = Path(os.environ.get("SOFTECM_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def table(n: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": np.resize(["x", "y"], n)})


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "xlsx"])
def test_every_table_format_gives_the_same_objects(tmp_path: Path, ending: str) -> None:
    path, frame = tmp_path / f"table.{ending}", table()
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "parquet": lambda: frame.to_parquet(path),
        "feather": lambda: frame.to_feather(path),
        "xlsx": lambda: frame.to_excel(path, index=False),
    }[ending]()
    loaded = read(path, ReadOptions())
    assert [(c.name, c.kind) for c in loaded.columns] == [("a", "number"), ("b", "number"), ("kind", "category")]
    np.testing.assert_allclose(loaded.data[["a", "b"]].to_numpy(float), frame[["a", "b"]].to_numpy())
    assert loaded.data["kind"].tolist() == frame["kind"].tolist()


def test_text_holds_numbers_to_the_last_bit(tmp_path: Path, rng: np.random.Generator) -> None:
    values = pd.DataFrame(rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-20, 20, (300, 1)), columns=["a", "b"])
    values.to_csv(tmp_path / "t.csv", index=False)
    assert (read(tmp_path / "t.csv", ReadOptions()).data.to_numpy() == values.to_numpy()).all()


@pytest.mark.parametrize(
    ("version", "precision"),
    [("2.2.0", "round_trip"), ("3.0.6", "round_trip"), ("3.1.0", None), ("4.0.0.dev0+1", None)],
)
def test_pandas_gets_no_option_it_deprecates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, precision: str | None
) -> None:
    given, real = [], pd.read_csv
    monkeypatch.setattr(pd, "__version__", version)
    monkeypatch.setattr(pd, "read_csv", lambda *a, float_precision, **k: given.append(float_precision) or real(*a, **k))
    table().to_csv(tmp_path / "t.csv", index=False)
    read(tmp_path / "t.csv", ReadOptions())
    assert given == [precision]


def test_arff_is_read_with_its_gaps(tmp_path: Path) -> None:
    path = tmp_path / "t.arff"
    path.write_text("@relation t\n@attribute a numeric\n@attribute k {x,y}\n@data\n1,x\n?,y\n3,?\n")
    loaded = read(path, ReadOptions())
    assert [c.gaps for c in loaded.columns] == [1, 1]


def test_arrays_are_tables_or_series(tmp_path: Path, rng: np.random.Generator) -> None:
    np.save(tmp_path / "two.npy", rng.normal(size=(12, 3)))
    np.save(tmp_path / "three.npy", rng.normal(size=(5, 7, 2)))
    np.savez(tmp_path / "z.npz", X=rng.normal(size=(12, 3)), y=np.arange(12))
    assert read(tmp_path / "two.npy", ReadOptions()).shape == "table"
    series = read(tmp_path / "three.npy", ReadOptions())
    assert (series.shape, series.data.shape) == ("series", (5, 7, 2))
    packed = read(tmp_path / "z.npz", ReadOptions())
    assert packed.labels is not None
    assert packed.labels[3] == "3"


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ReadError, match="NumPy"):
        read(tmp_path / "o.npy", ReadOptions())


def test_long_tables_become_series_in_the_order_of_time(tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": ["b", "a", "b", "a", "b"], "t": [2, 1, 1, 2, 3], "v": [20.0, 1, 10, 2, 30], "w": 0.0})
    frame.to_csv(tmp_path / "long.csv", index=False)
    loaded = read(tmp_path / "long.csv", ReadOptions(series_id="s", time="t", value=("v", "w")))
    assert loaded.names == ["b", "a"]
    assert [one[:, 0].tolist() for one in loaded.data] == [[10.0, 20.0, 30.0], [1.0, 2.0]]
    assert [column.name for column in loaded.columns] == ["v", "w"]
    assert loaded.how["time"] == "t, 1 to 3"
    with pytest.raises(ReadError, match="all of --id-column, --time and --value"):
        read(tmp_path / "long.csv", ReadOptions(series_id="s"))


def test_rows_that_are_missing_within_series_are_counted(tmp_path: Path) -> None:
    path, options = tmp_path / "long.csv", ReadOptions(series_id="s", time="t", value=("v",))
    rows = [
        f"{name},2024-01-01 {hour:02d}:00,{hour}" for name in "ab" for hour in range(20) if (name, hour) != ("b", 7)
    ]
    path.write_text("s,t,v\n" + "\n".join(rows), encoding="utf-8")
    loaded = read(path, options)
    said = (
        "in 1 series rows seem to be missing (1 longer step): steps count as equally long, so add these rows with empty"
    )
    assert any(note.startswith(said) for note in loaded.notes)
    rows = [f"{name},{place},{place}" for name in "ab" for place in (0, 1, 4, 9, 11, 30)]
    path.write_text("s,t,v\n" + "\n".join(rows), encoding="utf-8")
    loaded = read(path, options)
    assert not any("missing" in note for note in loaded.notes)


def test_steps_of_series_in_no_order_are_asked_about(tmp_path: Path) -> None:
    rows = [(f"oven {i}", f"2024-01-01 {6 + t:02d}:00", (i * t) % 7 + 0.5) for i in range(6) for t in range(9)]
    frame = pd.DataFrame(rows, columns=["oven", "when", "heat"]).sample(frac=1, random_state=0)
    frame.to_csv(tmp_path / "long.csv", index=False)
    (told,) = read(tmp_path / "long.csv", ReadOptions()).notes
    assert told.endswith("if each row is one time of a series, add --id-column oven --time when --value heat.")
    frame["when"] = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(54)]  # of three shops
    frame["oven"] = [f"shop {i % 3}" for i in range(54)]
    frame.to_csv(tmp_path / "long.csv", index=False)
    assert read(tmp_path / "long.csv", ReadOptions()).notes == ()


def test_two_values_at_one_time_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": ["a"] * 4, "t": [1, 1, 2, 2], "v": [1.0, 2.0, 3.0, 4.0]})
    pivot = (
        r" If c says .* (add --channel c|pivot the table so that each channel is a column of its own, .* in values)\."
    )
    for channels, remedy in (("xyxy", pivot), ("xxxx", "")):
        long = frame.assign(c=list(channels))
        long.to_csv(tmp_path / "long.csv", index=False)
        said = rf"two values for series a at time 1: keep one row for each series and time\.{remedy}$"
        with pytest.raises(ReadError, match=said):
            read(tmp_path / "long.csv", ReadOptions(series_id="s", time="t", value=("v",)))
        with pytest.raises(ValueError, match=said):
            from_long(long, id="s", time="t", values="v")


def test_ids_constants_dates_and_free_text_are_told_from_attributes(tmp_path: Path) -> None:
    n = 100
    frame = pd.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "row": np.arange(1, n + 1),
            "same": 7,
            "note": [f"text {i % 80}" for i in range(n)],
            "value": np.linspace(0, 1, n),
            "empty": [None] * n,
        }
    )
    frame["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), unit="D")
    frame.to_parquet(tmp_path / "t.parquet")
    loaded = read(tmp_path / "t.parquet", ReadOptions())
    kinds = {c.name: c.kind for c in loaded.columns}
    assert kinds == {
        "who": "id", "row": "number", "same": "left out", "note": "left out", "value": "number", "empty": "left out",
        "when": "date",
    }  # fmt: skip
    assert loaded.names[:2] == ["p0", "p1"]


def test_columns_go_by_name_or_by_number(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    loaded = read(tmp_path / "t.csv", ReadOptions(label_column="3", drop=("a",)))
    assert list(loaded.data.columns) == ["b"]
    assert loaded.labels is not None
    with pytest.raises(ReadError, match=r"no column nope: its columns are a, b, kind"):
        read(tmp_path / "t.csv", ReadOptions(drop=("nope",)))


def test_codes_can_be_taken_as_categories(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("a,b\n" + "".join(f"{i % 3},{'' if i == 4 else i % 2}\n" for i in range(30)))
    loaded = read(path, ReadOptions(categorical=("all",)))
    assert loaded.data["b"].tolist()[:6] == ["0", "1", "0", "1", None, "1"]


def test_a_word_among_numbers_is_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i / 7:.3f},{i % 5}\n" for i in range(40)) + "broken,3\n")
    loaded = read(path, ReadOptions(categorical=("a",)))
    assert "because of broken (row 41)" in loaded.notes[0]
    with pytest.raises(ReadError, match="got broken in row 41"):
        read(path, ReadOptions(numeric=("a",)))


@pytest.mark.parametrize("name", ["broken.parquet", "broken.xlsx", "broken.feather", "broken.npy", "broken.arff"])
def test_rubbish_of_any_ending_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x00\x01rubbish" * 10)
    with pytest.raises(ReadError, match="can't be read"):
        read(tmp_path / name, ReadOptions())


@pytest.mark.skipif(not DATA.exists(), reason="the shared data sets are not here")
def test_the_public_files_are_understood_unedited() -> None:
    kinds = {}
    for name in ("numerical/abalone.data", "numerical/ecoli.data", "mixed/crx.data", "mixed/heart.dat"):
        loaded = read(DATA / name, ReadOptions())
        kinds[name] = (len(loaded), sum(c.kind == "number" for c in loaded.columns), loaded.gaps)
    assert kinds == {
        "numerical/abalone.data": (4177, 8, 0),
        "numerical/ecoli.data": (336, 7, 0),
        "mixed/crx.data": (690, 5, 67),  # column 14 has five digits with leading zeros: it looks like a code
        "mixed/heart.dat": (270, 14, 0),
    }


@pytest.mark.skipif(not DATA.exists(), reason="the shared data sets are not here")
def test_series_files_of_the_archives_are_read() -> None:
    pytest.importorskip("aeon")
    loaded = read(DATA / "timeseries/JapaneseVowels/JapaneseVowels_TRAIN.ts", ReadOptions())
    assert (loaded.shape, len(loaded), loaded.data[0].shape[1]) == ("series", 270, 12)
    assert loaded.labels is not None


def test_a_model_gets_every_column_of_an_array(tmp_path: Path, rng: np.random.Generator) -> None:
    np.save(tmp_path / "x.npy", np.column_stack([rng.normal(size=12), np.ones(12)]))
    assert list(read(tmp_path / "x.npy", ReadOptions()).data.columns) == ["column 1"]
    wanted = ("column 2", "column 1")
    expected = Expected(("number", "number"), wanted)
    assert tuple(read(tmp_path / "x.npy", ReadOptions(expected=expected)).data.columns) == wanted


def test_the_library_and_the_file_reader_cut_long_tables_alike(tmp_path: Path, rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"s": rng.integers(0, 5, 60), "t": rng.permutation(60) / 7, "v": rng.normal(size=60)})
    frame.to_csv(tmp_path / "long.csv", index=False)
    loaded = read(tmp_path / "long.csv", ReadOptions(series_id="s", time="t", value=("v",)))
    series, ids = from_long(frame, id="s", time="t", values="v")
    assert loaded.names == [str(name) for name in ids]
    for one, other in zip(loaded.data, series, strict=True):
        np.testing.assert_allclose(one, other)


def test_rows_without_a_series_and_times_of_two_kinds_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": ["a", None], "t": [1, 2], "v": [1.0, 2.0]})
    with pytest.raises(ValueError, match="must name a series in every row"):
        from_long(frame, id="s", time="t", values="v")
    frame.to_parquet(tmp_path / "long.parquet")
    with pytest.raises(ReadError, match=r"column s of .* must name a series in every row"):
        read(tmp_path / "long.parquet", ReadOptions(series_id="s", time="t", value=("v",)))
    frame.assign(s="a", t=[1, "soon"]).to_excel(tmp_path / "long.xlsx", index=False)
    with pytest.raises(ReadError, match=r"column t of .* must hold times of one type"):
        read(tmp_path / "long.xlsx", ReadOptions(series_id="s", time="t", value=("v",)))


def test_what_a_reader_says_reaches_the_user_as_it_is() -> None:
    from softecm.cli.problems import Problem, mendable

    with pytest.raises(Problem, match="two  blanks stay") as caught, mendable(ValueError):
        raise ReadError("two  blanks stay")
    assert isinstance(caught.value, ValueError)


def test_numbers_beyond_all_floats_are_text(tmp_path):
    file = tmp_path / "codes.csv"
    file.write_text("code,size\n" + "".join(f"{10**400 + i},{i % 7}\n" for i in range(30)))
    kinds = {column.name: column.kind for column in read(file, ReadOptions()).columns}
    assert kinds == {"code": "id", "size": "number"}
    file.write_text("code,size\n" + "".join(f"{10**400 if i == 3 else i},{i % 7}\n" for i in range(30)))
    loaded = read(file, ReadOptions())
    assert loaded.data["code"].isna().sum() == 1
    assert any("1 cell is not a number and counts as missing" in note for note in loaded.notes)


def test_names_that_repeat_are_told_apart_and_an_ending_does_not_unpack(tmp_path):
    file = tmp_path / "table.csv.gz"
    file.write_text("a,b\n1,2\n3,5\n4,1\n")
    named = read(file, ReadOptions(names=("x", "x")))
    assert [column.name for column in named.columns] == ["x", "x (2)"]
    assert named.data.shape == (3, 2)


@pytest.mark.parametrize(
    "content",
    [
        '[{"id": "x", "size": {"w": 1, "h": 2.5}}, {"id": "y", "size": {"w": 3, "h": null}}]',
        '{"made": "today", "count": 2, "rows": [{"id": "x", "size": {"w": 1, "h": 2.5}}, {"id": "y", "size": {"w": 3}}]}',
        '{"id": "x", "size": {"w": 1, "h": 2.5}}\n{"id": "y", "size": {"w": 3}}\n',
    ],
)
def test_records_of_json(tmp_path: Path, content: str) -> None:
    path = tmp_path / "records.json"
    path.write_text(content)
    found = read(path, ReadOptions(id_column="id"))
    assert found.names == ["x", "y"]
    assert list(found.data.columns) == ["size.w", "size.h"]
    np.testing.assert_array_equal(np.asarray(found.data, dtype=float), [[1, 2.5], [3, np.nan]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": [{"x": 1}], "b": [{"x": 2}]}', "it has a, b, so save one of them"),
        ('{"x": 1}', "must hold one list of records"),
        ("[1, 2]", "must hold one list of records"),
        ('[{"x": 1, "tags": ["p", "q"]}]', "has lists in tags"),
        ('[{"x": 1}', "can't be read"),
    ],
)
def test_json_that_is_no_table(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "records.json"
    path.write_text(content)
    with pytest.raises(ReadError, match=message):
        read(path, ReadOptions())
