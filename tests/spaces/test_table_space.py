"""Conversion of tables to tensors and back: kinds of columns, missing cells, frames of every library, bad input."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from softecm import SoftECM, load_model
from softecm.distances import Hamming, Mixed
from softecm.spaces.columns import ArrayCells, Positions
from softecm.spaces.encoded import EncodedTable
from softecm.spaces.raw import read_table


def small(rows: int = 12) -> pd.DataFrame:
    """Two groups in every kind of column, with missing cells."""
    group = np.arange(rows) % 2
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": 10.0 * group + rng.normal(size=rows),
            "colour": np.where(group, "red", "blue"),
            "grade": pd.Categorical.from_codes(2 * group, ["low", "mid", "high"], ordered=True),
            "member": group.astype(bool),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * group + rng.integers(0, 30, rows), unit="D"),
        }
    )
    frame.loc[0, "size"] = np.nan
    frame.loc[1, "colour"] = None
    frame.loc[3, "grade"] = None
    frame.loc[4, "since"] = pd.NaT
    return frame


def encoded(metric, X):
    space = metric.make_space()
    raw = space.check(SoftECM(), X, reset=True)
    space = space.fit(raw, dtype=torch.float64)
    return space, space.encode(raw)


@pytest.fixture(scope="module")
def fitted():
    return SoftECM(2, random_state=0, n_init=3).fit(small())


def test_prototypes_come_back_in_the_users_columns_units_and_types(fitted):
    prototypes = fitted.prototypes_
    assert list(prototypes.columns) == list(small().columns)
    assert len(prototypes) == 3
    first = prototypes.iloc[:2].sort_values("size", ignore_index=True)
    assert first["colour"].tolist() == ["blue", "red"]
    assert first["grade"].tolist() == ["low", "high"]
    assert first["grade"].dtype == small()["grade"].dtype
    assert first["member"].tolist() == [False, True]
    assert first["size"].between([-2, 8], [2, 12]).all()
    assert first["since"].dt.year.tolist() == [2020, 2020]
    assert first["since"].dt.month.tolist() == [1, 11]


def test_distributions_are_there_too(fitted):
    shares = fitted.prototype_distributions_
    assert set(shares) == {"colour", "member"}
    assert set(shares["colour"]) == {"blue", "red"}
    np.testing.assert_allclose(shares["colour"]["blue"] + shares["colour"]["red"], 1.0)
    np.testing.assert_allclose(sorted(shares["colour"]["blue"][:2]), [0, 1], atol=0.1)
    with pytest.raises(AttributeError, match="tables with categories"):
        _ = SoftECM(2, random_state=0).fit(np.arange(12.0).reshape(-1, 2)).prototype_distributions_


def test_names_are_remembered(fitted):
    assert fitted.n_features_in_ == 5
    assert fitted.feature_names_in_.tolist() == list(small().columns)
    assert fitted.explain(small()).shape == (12, 3, 5)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_every_library_gives_the_same_partition_and_its_own_frame_back(fitted, library):
    frame = small()
    if library == "polars":
        levels = pl.Enum(["low", "mid", "high"])
        words = frame["grade"].astype(object).where(frame["grade"].notna(), None)
        other = pl.from_pandas(frame.assign(grade=words)).with_columns(pl.col("grade").cast(levels))
    else:
        other = pa.Table.from_pandas(frame)
    model = SoftECM(2, random_state=0, n_init=3).fit(other)
    np.testing.assert_allclose(model.partition_.masses, fitted.partition_.masses, atol=1e-9)
    prototypes = model.prototypes_
    assert isinstance(prototypes, pl.DataFrame if library == "polars" else pa.Table)
    back = prototypes.to_pandas()
    assert back["colour"].tolist() == fitted.prototypes_["colour"].tolist()
    assert back["grade"].astype(str).tolist() == fitted.prototypes_["grade"].astype(str).tolist()
    np.testing.assert_allclose(back["size"], fitted.prototypes_["size"])
    apart = pd.to_datetime(back["since"]) - fitted.prototypes_["since"].reset_index(drop=True)
    assert apart.abs().max() < pd.Timedelta("1ms")
    np.testing.assert_allclose(fitted.predict_partition(other).masses, fitted.partition_.masses, atol=1e-9)


def test_column_order_is_free_extra_columns_are_left_alone_and_missing_ones_are_missing_cells(fitted):
    frame = small()
    shuffled = frame[["member", "since", "grade", "size", "colour"]].assign(note="x")
    assert fitted.predict_partition(shuffled) == fitted.partition_
    with pytest.warns(UserWarning, match="'size', 'grade' are missing, and rows are compared in the others"):
        few = fitted.predict_partition(frame.drop(columns=["size", "grade"]))
    assert few == fitted.predict_partition(frame.assign(size=np.nan, grade=None))
    with pytest.raises(
        ValueError, match="at least half of the 5 columns that count in the fit; 'size', 'grade', 'since' are"
    ):
        fitted.predict(frame.drop(columns=["size", "grade", "since"]))


@pytest.mark.filterwarnings("ignore::softecm.UnseenCategoryWarning")
def test_an_unseen_category_is_as_far_as_can_be():
    fitted = SoftECM(2, metric=Mixed(weights=None), random_state=0, n_init=3).fit(small())
    one = small().iloc[[6]].assign(colour="green")
    parts = fitted.explain(one)[0, :, 1]
    np.testing.assert_allclose(parts, 2.0)  # the column's weight, for any prototype
    whole = small().dropna()
    assert (parts >= fitted.explain(whole)[:, :, 1].max(0)).all()
    np.testing.assert_allclose(fitted.explain(one).sum(-1), fitted.transform(one))


def test_a_frame_without_names_is_taken_by_position(fitted):
    array = small().astype({"grade": object}).to_numpy(dtype=object)
    with pytest.warns(UserWarning, match="no column names"):
        assert fitted.predict(array).tolist() == fitted.labels_.tolist()
    with pytest.raises(ValueError, match="4 features, but SoftECM is expecting 5"):
        fitted.predict(array[:, :4])


def test_arrays_of_objects_and_of_numbers_are_read():
    array = small().astype({"grade": str}).to_numpy(dtype=object)
    array[3, 2] = None
    model = SoftECM(2, metric=Mixed(ordinal_features={2: ["low", "mid", "high"]}), random_state=0).fit(array)
    assert model.n_features_in_ == 5
    assert not hasattr(model, "feature_names_in_")
    prototypes = model.prototypes_
    assert prototypes.shape == (3, 5)
    assert set(prototypes[:2, 1]) == {"red", "blue"}
    codes = np.array([[0, 1], [0, 1], [2, 3], [2, 3]])
    counts = SoftECM(2, metric="hamming", random_state=0, max_cardinality=1).fit(codes)
    assert sorted(map(tuple, counts.cluster_centers_)) == [(0, 1), (2, 3)]


def test_the_kind_of_a_column_can_be_set():
    frame = pd.DataFrame({"code": [1, 2, 9, 1], "word": ["lo", "hi", "mid", "lo"]})
    metric = Mixed(categorical_features=["code"], ordinal_features={"word": ["lo", "mid", "hi"]}, weights={"code": 3})
    space, x = encoded(metric, frame)
    assert [c.name for c in space.categories] == ["code"]
    assert space.categories[0].weight == 3.0
    assert space.numbers[0].levels == ("lo", "mid", "hi")
    assert x.codes[:, 0].tolist() == [0, 1, 2, 0]
    assert x.layout.order == (1, 0)
    for bad, message in [
        ({"categorical_features": ["no"]}, "list columns of the table; got 'no'"),
        ({"categorical_features": [True]}, "one mark per column, 2; got 1"),
        ({"ordinal_features": ["word"]}, "must give the order of column 'word'"),
        ({"categorical_features": ["code"], "ordinal_features": ["code"]}, "categorical or ordinal, not both"),
        ({"weights": [1.0]}, "one number per column, 2; got 1"),
        ({"weights": {"code": 0}}, "positive numbers; got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            encoded(Mixed(**bad), frame)
    masked, _ = encoded(Mixed(categorical_features=[True, False]), frame)
    assert len(masked.categories) == 2
    ranked, _ = encoded(Mixed(ordinal_features=["code"]), frame)
    assert ranked.numbers[0].levels == (1, 2, 9)


@pytest.mark.parametrize(("scaling", "unit"), [("std", 2.0), ("range", 5.0), ("robust", 4.0 / 1.3489795003921634)])
def test_scales(scaling, unit):
    values = np.array([0.0, 1.0, 5.0, 5.0, 4.0])
    if scaling == "std":
        unit = values.std()
    space, x = encoded(Mixed(scaling=scaling), pd.DataFrame({"a": values, "b": 7.0}))
    assert space.numbers[0].scale == pytest.approx(unit)
    assert space.numbers[1].scale == 1.0  # a constant column adds nothing
    np.testing.assert_allclose(x.numbers[:, 0], (values - 3.0) / unit)


def test_dates_keep_their_zone_and_days():
    days = pd.DataFrame({"day": [dt.date(2020, 1, 1), dt.date(2020, 1, 3), None]})
    space, x = encoded(Mixed(category_weight=1), days.assign(a=[1.0, 2.0, 3.0]))
    assert space.decode(space.starts(x, torch.tensor([0, 2])))["day"].tolist() == [
        dt.date(2020, 1, 1),
        dt.date(2020, 1, 2),
    ]
    zoned = pd.DataFrame({"t": pd.to_datetime(["2020-01-01", "2020-07-01"]).tz_localize("Europe/Paris")})
    space, x = encoded(Mixed(), zoned)
    assert space.decode(space.starts(x, torch.arange(2)))["t"].tolist() == zoned["t"].tolist()
    same = zoned.assign(t=zoned["t"].dt.tz_convert("UTC"))
    torch.testing.assert_close(space.encode(space.check(SoftECM(), same, reset=False)).numbers, x.numbers)
    with pytest.raises(ValueError, match="dates with a time zone, as in fit; got dates without one"):
        space.encode(space.check(SoftECM(), zoned.assign(t=zoned["t"].dt.tz_localize(None)), reset=False))
    spans = pd.DataFrame({"s": pd.to_timedelta([1, 3], unit="h")})
    space, x = encoded(Mixed(), spans)
    assert space.decode(space.starts(x, torch.arange(2)))["s"].tolist() == spans["s"].tolist()


def test_a_start_on_an_object_with_gaps_is_completed_from_the_column():
    frame = pd.DataFrame({"a": [1.0, 3.0, np.nan], "b": ["x", None, "x"], "c": ["u", "v", "u"]})
    space, x = encoded(Mixed(), frame)
    start = space.starts(x, torch.tensor([1, 2]))
    np.testing.assert_allclose(start[1, 0], 0.0, atol=1e-15)  # the mean
    height = space.layout.heights[0]
    np.testing.assert_allclose(start[0, 1:2] / height, [1.0])  # only x was seen
    assert space.decode(start)["a"].tolist() == pytest.approx([3.0, 2.0])


def test_encoded_tables_are_cut_like_tensors():
    _, x = encoded(Mixed(), small())
    assert isinstance(x, EncodedTable)
    for rows in (slice(2, 5), torch.tensor([2, 3, 4]), torch.arange(12).ge(2) & torch.arange(12).lt(5)):
        part = x[rows]
        assert len(part) == 3
        torch.testing.assert_close(part.numbers, x.numbers[2:5])
        torch.testing.assert_close(part.scale, x.scale[2:5])
    assert x.to("cpu").cpu().codes.dtype == torch.uint8
    whole, full = encoded(Mixed(), small().dropna())
    assert full.observed is None
    assert full.scale is None
    keys = whole.keys(full)
    assert keys[0] == whole.keys(full[torch.tensor([3, 0])])[1]


def test_a_model_of_a_table_is_saved_and_read(fitted, tmp_path):
    fitted.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    assert again.predict_partition(small()) == fitted.partition_
    pd.testing.assert_frame_equal(again.prototypes_, fitted.prototypes_)
    own = SoftECM(2, metric=Mixed(weights={"size": 2.0}, scaling="range"), random_state=0).fit(small())
    own.save(tmp_path / "own.safetensors")
    assert load_model(tmp_path / "own.safetensors").metric == own.metric
    tv = SoftECM(2, metric=Hamming(kind="total-variation"), random_state=0, n_init=2).fit(small()[["colour", "member"]])
    tv.save(tmp_path / "tv.safetensors")
    assert load_model(tmp_path / "tv.safetensors").predict_partition(small()[["colour", "member"]]) == tv.partition_


def test_given_starts_are_rows_of_a_table(fitted):
    rows = small().iloc[[6, 7]]
    model = SoftECM(2, init=rows).fit(small())
    assert model.labels_[6] == 0
    assert model.labels_[7] == 1
    with pytest.raises(ValueError, match="init must use categories of the fit; column 'colour'"):
        SoftECM(2, init=rows.assign(colour="green")).fit(small())
    with pytest.raises(ValueError, match="one row per cluster, 2; got 3"):
        SoftECM(2, init=small().iloc[:3]).fit(small())


BAD = {
    "empty column": (lambda f: f.assign(size=np.nan), "column 'size' must hold at least one value"),
    "empty categories": (lambda f: f.assign(colour=pd.Series([None] * len(f), dtype="str")), "must hold at least one"),
    "empty row": (lambda f: f.assign(**dict.fromkeys(f.columns)).iloc[:1].pipe(lambda e: _join(f, e)), "row 13"),
    "mixed types": (
        lambda f: f.assign(colour=np.array(["a", 1] * 6, dtype=object)),
        r"one kind of value; got text \('a'\) and number \(1\)",
    ),
    "infinite": (lambda f: f.assign(size=np.where(f.index == 5, np.inf, 1.0)), "got inf in row 6"),
    "huge": (lambda f: f.assign(size=np.where(f.index == 5, 1e200, 1.0)), "at most 1e"),
    "twice": (lambda f: f.set_axis(["a", "a", "b", "c", "d"], axis=1), "'a' more than once"),
    "lists": (lambda f: f.assign(size=[[1]] * len(f)), "must hold numbers, text"),
    "zones": (
        lambda f: f.assign(
            since=np.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 6, dtype=object)
        ),
        "with a time zone",
    ),
}


def _join(frame, empty):
    joined = frame.reindex(range(len(frame) + 1))
    joined["member"] = joined["member"].astype("boolean")
    return joined


@pytest.mark.parametrize("case", list(BAD))
def test_bad_tables_are_refused_with_the_place_and_the_remedy(case):
    spoil, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        SoftECM(2, metric="mixed", random_state=0).fit(spoil(small()))


def test_a_column_of_identifiers_is_refused():
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(100_000)], "a": np.arange(100_000.0)})
    with pytest.raises(ValueError, match="at most 10000 categories; got 100000 in 100000 rows"):
        SoftECM(2, metric="mixed", random_state=0).fit(frame)
    with pytest.raises(ValueError, match="at most 5 categories"):
        SoftECM(2, metric=Hamming(max_levels=5)).fit(frame[:10])


def test_shapes_and_kinds_that_fit_no_table():
    with pytest.raises(ValueError, match="Expected 2D array"):
        SoftECM(2, metric="hamming").fit(np.arange(5))
    with pytest.raises(ValueError, match="0 feature"):
        SoftECM(2, metric="hamming").fit(np.empty((3, 0)))
    with pytest.raises(ValueError, match="0 sample"):
        SoftECM(2, metric="mixed").fit(small().iloc[:0])
    with pytest.raises(ValueError, match="to be categorical; got datetime"):
        SoftECM(2, metric="hamming").fit(small())
    for bad in ({"scaling": "huge"}, {"category_weight": 0}, {"max_levels": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Mixed(**bad)
    with pytest.raises(ValueError, match="kind"):
        Hamming(kind="l1")


def test_what_a_column_held_in_the_fit_it_must_hold_in_predict(fitted):
    with pytest.raises(ValueError, match=r"column 'colour' must have the same type as in fit \(text\); got number"):
        fitted.predict(small().assign(colour=1))
    with pytest.raises(ValueError, match=r"column 'size' must have the same type as in fit \(number\); got text"):
        fitted.predict(small().assign(size="big"))
    with pytest.raises(ValueError, match=r"one of its ordered levels .*; got 'top' in row 1"):
        fitted.predict(small().assign(grade="top"))
    assert len(fitted.predict(small().assign(colour=np.nan))) == 12  # all missing is fine


def test_cells_know_their_kind():
    kinds = {
        "number": [np.arange(3), np.array([1, 2.5, None], dtype=object)],
        "boolean": [np.array([True, False]), np.array([True, None], dtype=object)],
        "text": [np.array(["a", "b"]), np.array([None, None], dtype=object)],
        "datetime": [np.array(["2020-01-01"], dtype="M8[D]"), np.array([dt.datetime(2020, 1, 1)], dtype=object)],
        "date": [np.array([dt.date(2020, 1, 1)], dtype=object)],
        "duration": [np.array([1], dtype="m8[s]"), np.array([dt.timedelta(1)], dtype=object)],
    }
    for kind, arrays in kinds.items():
        for array in arrays:
            assert ArrayCells("c", array).kind == kind
    assert (
        ArrayCells("c", kinds["datetime"][0]).numbers("datetime")[0]
        == ArrayCells("c", kinds["datetime"][1]).numbers("datetime")[0]
    )
    assert read_table([[1, "a"], [2, "b"]]).columns[1].kind == "text"
    assert read_table([[1, 2.0], [2, None]]).columns[1].kind == "number"


def test_columns_that_are_not_scaled_count_as_they_are_and_dates_in_days() -> None:
    days = pd.date_range("2024-01-01", periods=12, freq="D")
    table = pd.DataFrame({"a": np.arange(12.0), "when": days})
    model = SoftECM(2, metric=Mixed(scaling="none"), n_init=1, random_state=0).fit(table)
    scales = {column.name: column.scale for column in model.model_.space.columns}
    assert scales == {"a": 1.0, "when": 86_400e6}


def test_truths_in_other_languages() -> None:
    place = Positions(["ja", "nein"], unseen=-2)
    assert [place[value] for value in (1, False, "J", "N", "yes", "maybe")] == [0, 1, 0, 1, 0, -2]
    assert Positions(["N", "S"], unseen=-2)[True] == -2  # not two truths
