"""New objects in other forms: the model knows its columns, and warns about unseen content."""

import datetime as dt
import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hostile.commands import Ended, check_end, softecm
from problems import DEEP
from softecm import NowhereWarning, SoftECM, UnseenCategoryWarning, load_model
from softecm.datasets import load_diamond

Count = Callable[[], None]
NAMES = ["name", "a", "b", "code", "ok", "flag"]
NEW = pd.DataFrame(
    [["x1", "6", "6.5", "2", "yes", "False"], ["x2", "0", "-0.5", "1", "no", "True"], ["x3", "0.5", "0", "1", "no", "True"]],
    columns=NAMES,
)  # fmt: skip
EXPECTED = ["ω2", "ω1", "ω1"]


def training(n: int = 30) -> pd.DataFrame:
    """Two groups that differ in every column; ``code`` is a number that names a kind."""
    rng = np.random.default_rng(1)
    odd = np.arange(n) % 2
    numbers = 6.0 * odd[:, None] + rng.normal(size=(n, 2))
    table = pd.DataFrame({"name": [f"n{i}" for i in range(n)], "a": numbers[:, 0], "b": numbers[:, 1], "code": 1 + odd})
    return table.assign(ok=np.where(odd, "yes", "no"), flag=odd == 0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that reads the numbers in ``code`` as categories."""
    folder = tmp_path_factory.mktemp("trained")
    training().to_csv(folder / "train.csv", index=False)
    ended = softecm(
        "cluster", folder / "train.csv", "-c", 2, "--categorical", "code", "-o", folder / "model", "--n-init", 2
    )
    assert ended.code == 0, ended.err
    return folder / "model"


def predicted(model: Path, file: Path, *options: object) -> tuple[Ended, pd.DataFrame | None]:
    """How the command ended, and the table it wrote."""
    target = file.parent / "new-partition.csv"
    target.unlink(missing_ok=True)
    ended = softecm("predict", model, file, "-o", target, *options)
    check_end(ended)
    return ended, pd.read_csv(target, dtype={"id": str}) if target.exists() else None


CLOTHES: dict[str, Callable[[Path], object]] = {
    "as they were": lambda path: NEW.to_csv(path, index=False),
    "codes with .0": lambda path: NEW.assign(code=NEW["code"] + ".0").to_csv(path, index=False),
    "codes with a nought": lambda path: NEW.assign(code="0" + NEW["code"]).to_csv(path, index=False),
    "codes with blanks": lambda path: NEW.assign(code=" " + NEW["code"] + " ").to_csv(path, index=False),
    "no codes": lambda path: NEW.assign(code="").to_csv(path, index=False),
    "no numbers": lambda path: NEW.assign(a="", b="NA").to_csv(path, index=False),
    "other truths": lambda path: NEW.assign(ok=["True", "false", "0"], flag=["0", "1", "yes"]).to_csv(path, index=False),
    "another order": lambda path: NEW[NAMES[::-1]].to_csv(path, index=False),
    "more columns": lambda path: NEW.assign(extra="?", other=range(3)).to_csv(path, index=False),
    "decimal commas": lambda path: NEW.apply(lambda c: c.str.replace(".", ",")).to_csv(path, index=False, sep=";"),
    "tabs and another encoding": lambda path: NEW.to_csv(path, index=False, sep="\t", encoding="utf-16"),
    "a mark and other line ends": lambda path: NEW.to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("clothes", CLOTHES)
def test_objects_in_other_clothes_are_known(tmp_path: Path, trained: Path, clothes: str, hostile_case: Count) -> None:
    CLOTHES[clothes](tmp_path / "new.csv")
    ended, table = predicted(trained, tmp_path / "new.csv")
    assert table is not None, ended.err
    assert table["set"].tolist() == EXPECTED
    assert table["id"].tolist() == ["x1", "x2", "x3"]
    assert "was not in the fit" not in ended.out
    hostile_case()


TYPED = NEW.assign(a=[6.0, 0.0, 0.5], b=[6.5, -0.5, 0.0])
TYPES = {
    "whole numbers": TYPED.assign(code=[2, 1, 1], a=[6, 0, 1]),
    "floats with a gap": TYPED.assign(code=[2.0, None, 1.0]),
    "truth values": TYPED.assign(ok=[True, False, False], flag=[False, True, True]),
    "categories": TYPED.assign(ok=pd.Categorical(["yes", "no", "no"]), code=pd.Categorical([2, 1, 1])),
    "nothing at all": TYPED.assign(flag=[None] * 3, ok=pd.array([None] * 3, dtype="Int64")),
}


@pytest.mark.parametrize("ending", [".parquet", ".xlsx"])
@pytest.mark.parametrize("types", TYPES)
def test_columns_of_other_types_are_known(
    tmp_path: Path, trained: Path, types: str, ending: str, hostile_case: Count
) -> None:
    path = tmp_path / f"new{ending}"
    TYPES[types].to_parquet(path) if ending == ".parquet" else TYPES[types].to_excel(path, index=False)
    ended, table = predicted(trained, path)
    assert table is not None, ended.err
    assert table["set"].tolist() == EXPECTED
    hostile_case()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"a": "x"}, "column a of .* must hold numbers; got x in row 1"),
        ({"a": "2020-01-01"}, "column a of .* must hold numbers; got 2020-01-01"),
        ({"b": "inf"}, "column b of .* holds inf in row 1"),
    ],
)
def test_what_can_not_be_read_as_the_model_wants_it_is_said(
    tmp_path: Path, trained: Path, change: dict[str, str], said: str, hostile_case: Count
) -> None:
    NEW.assign(**change).to_csv(tmp_path / "new.csv", index=False)
    ended, table = predicted(trained, tmp_path / "new.csv")
    assert table is None
    assert ended.code == 2
    assert pd.Series([ended.err]).str.contains(said).all(), ended.err
    hostile_case()


def test_a_missing_column_is_named_and_the_others_decide(tmp_path: Path, trained: Path, hostile_case: Count) -> None:
    NEW.drop(columns="a").to_csv(tmp_path / "new.csv", index=False)
    ended, table = predicted(trained, tmp_path / "new.csv")
    assert table is not None, ended.err
    assert table["set"].tolist() == EXPECTED
    assert "not in the file: a; rows are compared in the other columns" in " ".join(ended.out.split())
    hostile_case()


def test_unseen_categories_are_counted_aloud(tmp_path: Path, trained: Path, hostile_case: Count) -> None:
    new = NEW.assign(code=["7", "seven", "1"], ok=["maybe", "no", "no"])
    new.to_csv(tmp_path / "new.csv", index=False)
    ended, _ = predicted(trained, tmp_path / "new.csv")
    said = " ".join(ended.out.split())
    assert "2 of 3 objects have a category that was not in the fit" in said
    assert "column 'code' in 2 ('7' in 1: x1; 'seven' in 1: x2); column 'ok' in 1 ('maybe' in 1: x1)" in said
    ended, _ = predicted(trained, tmp_path / "new.csv", "--json")
    assert "was not in the fit" in json.loads(ended.out)["warnings"][0]
    to_screen = softecm("predict", trained, tmp_path / "new.csv", "-o", "-")
    assert "was not in the fit" in " ".join(to_screen.err.split())
    assert to_screen.out.startswith('"id",')
    hostile_case()


def test_what_marked_a_gap_in_the_first_file_does_so_again(tmp_path: Path, hostile_case: Count) -> None:
    first = training().drop(columns="code")
    first.loc[3, "a"] = -999
    first.to_csv(tmp_path / "first.csv", index=False)
    ended = softecm(
        "cluster", tmp_path / "first.csv", "-c", 2, "--missing=-999", "-o", tmp_path / "model", "--n-init", 2
    )
    assert ended.code == 0, ended.err
    NEW.assign(a="-999").to_csv(tmp_path / "new.csv", index=False)
    _, table = predicted(tmp_path / "model", tmp_path / "new.csv")
    assert table is not None
    assert table["set"].tolist() == EXPECTED
    hostile_case()


def test_dates_and_durations_from_text(tmp_path: Path, hostile_case: Count) -> None:
    odd = np.arange(30) % 2
    first = pd.DataFrame({"when": pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * odd + np.arange(30) % 5, "D")})
    first["day"] = first["when"].dt.date
    first["long"] = pd.to_timedelta(1 + 20 * odd, "h")
    first.to_parquet(tmp_path / "first.parquet")
    ended = softecm("cluster", tmp_path / "first.parquet", "-c", 2, "-o", tmp_path / "model", "--n-init", 2)
    assert ended.code == 0, ended.err
    assert ended.out.count("  date  ") == 3
    new = tmp_path / "new.csv"
    new.write_text("long,day,when\n01:00:00,2020-01-02,2020-01-03 08:30\n21:00:00,,2020-11-01\n,,2020-11-01T10:00\n")
    _, table = predicted(tmp_path / "model", new)
    assert table is not None
    assert table["set"].tolist() == ["ω1", "ω2", "ω2"]
    for odd_one in ("03/04/2020", "18000", "soon"):
        new.write_text(f"long,day,when\n01:00:00,2020-01-02,{odd_one}\n,,2020-01-01\n")
        ended, table = predicted(tmp_path / "model", new)
        assert (ended.code, f"must hold dates, as in the fit; got {odd_one}" in ended.err) == (2, True), ended.err
        hostile_case()


def test_a_few_cells_that_are_no_dates_are_missing_and_said(tmp_path: Path, hostile_case: Count) -> None:
    odd = np.arange(30) % 2
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * odd + np.arange(30) % 5, "D")
    first = pd.DataFrame({"x": 5.0 * odd + np.arange(30) % 3, "when": when.strftime("%d.%m.%Y")})
    first.to_csv(tmp_path / "first.csv", index=False)
    ended = softecm("cluster", tmp_path / "first.csv", "-c", 2, "-o", tmp_path / "model", "--n-init", 2)
    assert ended.code == 0, ended.err
    new = tmp_path / "new.csv"
    for strange in ("31.02.2020", "soon"):
        first.head(8).assign(when=[*first["when"][:5], strange, *first["when"][6:8]]).to_csv(new, index=False)
        ended, table = predicted(tmp_path / "model", new)
        assert table is not None, ended.err
        assert f"column when: 1 cell is not a date and counts as missing: {strange} (row 6)" in " ".join(
            ended.out.split()
        )
        assert table["set"].tolist() == ["ω1", "ω2"] * 4
        hostile_case()
    first.head(8).assign(when=["soon"] * 5 + list(first["when"][:3])).to_csv(new, index=False)
    ended, _ = predicted(tmp_path / "model", new)
    assert (ended.code, "must hold dates, as in the fit; got soon in row 1" in ended.err) == (2, True), ended.err
    hostile_case()


def test_a_file_without_names_is_read_as_the_first_was(tmp_path: Path, hostile_case: Count) -> None:
    rows = [f"{'red' if i % 2 else 'blue'},{'no' if i % 3 else 'yes'},{i % 2}" for i in range(20)]
    (tmp_path / "first.csv").write_text("\n".join(rows) + "\n")
    ended = softecm("cluster", tmp_path / "first.csv", "-c", 2, "-o", tmp_path / "model", "--n-init", 2)
    assert ended.code == 0, ended.err
    (tmp_path / "new.csv").write_text("blue,yes,0\nred,no,1\n")
    _, table = predicted(tmp_path / "model", tmp_path / "new.csv")
    assert table is not None
    assert len(table) == 2
    hostile_case()


def test_a_model_of_an_array_takes_the_columns_as_they_come(tmp_path: Path, hostile_case: Count) -> None:
    x = load_diamond().data
    SoftECM(2, random_state=0).fit(x).save(tmp_path / "model.safetensors")
    (tmp_path / "new.csv").write_text("number,u,v\n1,3,0\n2,3,0\n")
    ended, table = predicted(tmp_path / "model.safetensors", tmp_path / "new.csv")
    assert (ended.code, "must have 2 columns" in ended.err) == (2, True), ended.err
    ended, table = predicted(tmp_path / "model.safetensors", tmp_path / "new.csv", "--id-column", "number")
    assert table is not None, ended.err
    assert table["id"].tolist() == ["1", "2"]
    hostile_case()


def test_models_of_an_earlier_version_read_files(tmp_path: Path, hostile_case: Count) -> None:
    folder = Path(__file__).parents[1] / "files" / "models_0_2"
    (tmp_path / "new.csv").write_text("size,level,colour,shape,a,b\n1,low,red,round,1,2\n2,low,red,round,3,4\n")
    for old in sorted(folder.glob("*.safetensors")):
        shutil.copy(old, tmp_path / "old.safetensors")
        assert load_model(tmp_path / "old.safetensors") is not None
        predicted(tmp_path / "old.safetensors", tmp_path / "new.csv")
        hostile_case()


# ------------------------------------------------------------------ in Python


def fitted() -> tuple[SoftECM, pd.DataFrame]:
    table = training().drop(columns="name").assign(code=lambda t: t["code"].astype(str))
    return SoftECM(2, random_state=0, n_init=2).fit(table), table


SAME = {
    "codes as numbers": lambda t: t.assign(code=t["code"].astype(int)),
    "codes as floats": lambda t: t.assign(code=t["code"].astype(float)),
    "codes as categories": lambda t: t.assign(code=t["code"].astype("category")),
    "codes as numbers in categories": lambda t: t.assign(code=t["code"].astype(int).astype("category")),
    "codes as pandas text": lambda t: t.assign(code=t["code"].astype("string")),
    "codes as any objects": lambda t: t.assign(code=t["code"].astype(object)),
    "truths as numbers": lambda t: t.assign(flag=t["flag"].astype(int)),
    "truths as text": lambda t: t.assign(flag=t["flag"].astype(str)),
    "truths as words": lambda t: t.assign(flag=np.where(t["flag"], "yes", "no")),
    "words as truths": lambda t: t.assign(ok=t["ok"] == "yes"),
    "another order": lambda t: t[t.columns[::-1]],
    "more columns": lambda t: t.assign(more=dt.date(2020, 1, 1)),
    "numbers in 32 bits": lambda t: t.astype({"code": "int32"}),
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_other_types_mean_the_same_in_python(library: str, hostile_case: Count) -> None:
    pytest.importorskip(library)
    model, table = fitted()
    expected = model.predict_partition(table).masses
    for name, change in SAME.items():
        new = change(table)
        if library == "polars":
            import polars as pl

            try:
                new = pl.from_pandas(new)
            except pl.exceptions.ComputeError:  # the first release had categories of words only
                continue
        elif library == "pyarrow":
            import pyarrow as pa

            new = pa.Table.from_pandas(new, preserve_index=False)
        np.testing.assert_allclose(model.predict_partition(new).masses, expected, err_msg=name)
        hostile_case()


def test_empty_columns_of_any_type_are_gaps(hostile_case: Count) -> None:
    pl = pytest.importorskip("polars")
    model, table = fitted()
    blank = model.predict_partition(table.assign(code=None, b=np.nan)).masses
    for kind in (pl.Null, pl.String, pl.Int64, pl.Float64, pl.Boolean, pl.Categorical, pl.Date):
        new = pl.from_pandas(table).with_columns(pl.lit(None, dtype=kind).alias("code"))
        new = new.with_columns(pl.lit(None, dtype=kind).alias("b"))
        np.testing.assert_allclose(model.predict_partition(new).masses, blank, err_msg=str(kind))
        hostile_case()


def test_unseen_categories_are_warned_about(hostile_case: Count) -> None:
    model, table = fitted()
    new = table.assign(code=[f"{i}\x1b" if i < 6 else "1" for i in range(len(table))])
    with pytest.warns(
        UnseenCategoryWarning,
        match=r"6 of 30 objects have .* column 'code' in 6 \('0\\x1b' in 1: row 1 \(X\[0\]\); .*\)",
    ):
        model.predict_partition(new)
    with pytest.warns(UnseenCategoryWarning, match="1 of 1 object has a category"):
        model.predict(new.head(1))
    with pytest.raises(ValueError, match=r"column 'ok' must have the same type as in fit \(text\); got number"):
        model.predict(table.assign(ok=0.37))
    hostile_case()


@pytest.mark.filterwarnings("ignore:the numbers of column:softecm.ReadingWarning")
def test_random_clothes_never_break_a_prediction(hostile_case: Count) -> None:
    """Any cells give masses or a ValueError, and a warning exactly if they put most objects nowhere."""
    model, table = fitted()
    rng = np.random.default_rng(3)
    values = [
        "1",
        1,
        1.0,
        True,
        None,
        "yes",
        np.nan,
        "01",
        "é",
        dt.date(2020, 1, 1),
        10**30,
        "",
        float("inf"),
        b"x",
        [1],
    ]
    for _ in range(2000 if DEEP else 60):
        column = table.columns[int(rng.integers(len(table.columns)))]
        kinds = rng.integers(len(values), size=int(rng.integers(1, 3)))
        cells = pd.Series([values[kinds[i % len(kinds)]] for i in range(len(table))], dtype=object)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("softecm.spaces.tables.warn_unseen", lambda *_: None)
            try:
                with warnings.catch_warnings(record=True, action="always", category=NowhereWarning) as caught:
                    partition = model.predict_partition(table.assign(**{column: cells}))
            except ValueError:  # a user error; any other is a bug
                continue
            finally:
                hostile_case()
            np.testing.assert_allclose(partition.masses.sum(1), 1.0)
            far = len(partition.outliers())
            expected = [f"{far} of {len(table)} objects belong to no group"] * (far > len(table) / 2)
            assert [re.split(r"[,:]", str(one.message))[0] for one in caught] == expected
