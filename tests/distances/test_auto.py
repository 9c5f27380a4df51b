"""metric="auto": the choice for each kind of data, its reason, and its effect on a fit."""

import logging
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from softecm import ReadingWarning, SoftECM, load_model, read_table
from softecm.datasets import load_diamond, make_cbf
from softecm.distances import Mixed, SoftDTW, SquaredEuclidean
from softecm.distances.auto import ALIKE, CATEGORIES, GAPS, REQUESTED, UNITS, Look, choose
from softecm.spaces.column_roles import BY_LOOK, BY_NAME, left_out

FEW = (
    "series are compared by shape, slope and texture, which count alike; level and amplitude don't count (too few "
    "different series to judge by)"
)
FAST = {"n_init": 2, "random_state": 0, "max_cardinality": 1, "max_iter": 60, "tol": 1e-3}
RNG = np.random.default_rng(0)
TWO = np.concatenate([RNG.normal(0, 1, (30, 2)), RNG.normal(8, 1, (30, 2))])
GAPPY = TWO.copy()
GAPPY[3, 1] = np.nan
UNLIKE = TWO * [1.0, 1000.0]


def frame(**columns):
    return pd.DataFrame({"a": TWO[:, 0], "b": TWO[:, 1], **columns})


@pytest.mark.parametrize(
    ("X", "metric", "reason"),
    [
        (TWO, "sqeuclidean", ALIKE),
        (TWO.tolist(), "sqeuclidean", ALIKE),
        (TWO.astype(object), "sqeuclidean", ALIKE),
        (TWO > 3, "sqeuclidean", ALIKE),  # an array of booleans is one of zeros and ones
        (UNLIKE, "mixed", UNITS),
        (UNLIKE.astype(np.float32), "mixed", UNITS),
        (UNLIKE.astype(int), "mixed", UNITS),
        (np.c_[TWO, np.ones(60)], "sqeuclidean", ALIKE),  # a constant has no unit
        (GAPPY, "mixed", GAPS),
        (GAPPY.tolist(), "mixed", GAPS),
        (np.where(np.isnan(GAPPY), None, GAPPY.astype(object)), "mixed", GAPS),
        (frame(), "sqeuclidean", ALIKE),
        (pl.DataFrame(frame()), "sqeuclidean", ALIKE),
        (pa.Table.from_pandas(frame(c=1000.0 * TWO[:, 0])), "mixed", UNITS),
        (pl.DataFrame({"a": [1, None, 3], "b": [1, 2, 3]}), "mixed", GAPS),
        (frame(c=["x", "y"] * 30), "mixed", CATEGORIES),
        (frame(c=[True, False] * 30), "mixed", CATEGORIES),
        (frame(c=pd.date_range("2020-01-01", periods=60)), "mixed", CATEGORIES),
        (frame(c=["x", "y"] * 30).to_numpy(), "mixed", CATEGORIES),
        ([["x", 1.0], ["y", 2.0]], "mixed", CATEGORIES),
        (np.zeros((5, 20, 3)), "combined", FEW),
        ([np.zeros((4, 1)), np.zeros((5, 1))], "combined", FEW),
    ],
)
def test_what_is_chosen_and_why(X, metric, reason):
    choice = choose(X)
    assert (choice.name, choice.reason) == (metric, reason)


@pytest.mark.parametrize(("ratio", "metric"), [(5.0, "sqeuclidean"), (5.01, "mixed"), (0.2, "sqeuclidean")])
def test_units_differ_beyond_five_ranges(ratio, metric):
    assert choose(np.array([[0.0, 0.0], [1.0, ratio]])).name == metric


@pytest.mark.parametrize("X", ["abc", None, np.zeros(3), np.zeros((0, 2)), np.array([["a", "1"]]), [[{}, 1.0]]])
def test_what_is_no_data_is_left_to_the_check_of_numbers(X):
    assert choose(X).metric == "sqeuclidean"


def test_infinite_numbers_are_refused_as_such():
    bad = UNLIKE.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        SoftECM(2, **FAST).fit(bad)


def test_blocks_add_up_to_the_look_of_all():
    whole, parts = Look.of(GAPPY), [Look.of(GAPPY[i : i + 7]) for i in range(0, 60, 7)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert merged.choice() == whole.choice() == choose(GAPPY)
    assert Look.of(UNLIKE[:30]).merge(Look.of(UNLIKE[30:])).choice().reason == UNITS


# ------------------------------------------------------------------ it says so


def test_a_fit_keeps_and_logs_what_was_taken(caplog):
    with caplog.at_level(logging.INFO, "softecm"):
        model = SoftECM(2, **FAST).fit(frame(name=[f"n{i}" for i in range(60)], c=TWO[:, 0] * 100))
    assert isinstance(model.metric_, Mixed)
    assert model.metric_reason_.startswith(UNITS)
    assert model.left_out_ == {"name": "an id: it is different in every row"}
    assert f'metric="auto": mixed ({UNITS})' in caplog.messages
    assert "column 'name' is left out (an id: it is different in every row)" in caplog.messages


def test_what_was_asked_for_is_taken_and_never_scaled():
    model = SoftECM(2, metric="sqeuclidean", **FAST).fit(UNLIKE)
    assert isinstance(model.metric_, SquaredEuclidean)
    assert (model.metric_reason_, model.left_out_) == (REQUESTED, {})
    plain = ((UNLIKE[:, None] - model.cluster_centers_) ** 2).sum(-1)
    np.testing.assert_allclose(model.transform(UNLIKE), plain)
    named = SoftECM(2, metric="sqeuclidean", **FAST).fit(frame(number=range(60)))
    assert named.n_features_in_ == 3  # nothing is excluded, either
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SoftECM(2, metric="sqeuclidean", **FAST).fit(GAPPY)


def test_the_report_says_why():
    data = frame(number=range(60), c=TWO[:, 0] * 100)
    model = SoftECM(2, **FAST).fit(data)
    from softecm.report import build

    page = build(model, data)
    assert page.parameters["metric"] == "mixed"
    assert page.parameters["metric_reason"].startswith(UNITS)
    assert page.parameters["left out: number"] == "an id: it counts the rows"
    assert UNITS in page.html


# ------------------------------------------------------------------ scaled numbers


def test_wine_is_found_and_its_prototypes_are_in_its_own_units():
    wine = load_wine()
    model = SoftECM(3, **FAST).fit(wine.data)
    assert adjusted_rand_score(wine.target, model.labels_) > 0.9
    centers = np.array([wine.data[model.labels_ == k].mean(0) for k in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=0.1)
    assert adjusted_rand_score(wine.target, SoftECM(3, metric="sqeuclidean", **FAST).fit(wine.data).labels_) < 0.5


def test_a_scaled_model_is_the_plain_one_on_standardised_columns():
    by_hand = (UNLIKE - UNLIKE.mean(0)) / UNLIKE.std(0)
    alike = Mixed(weights=None)
    model, plain = SoftECM(2, metric=alike, **FAST).fit(UNLIKE), SoftECM(2, metric="sqeuclidean", **FAST).fit(by_hand)
    masses = (np.sort(m.partition_.masses, 1) for m in (model, plain))  # for any order of clusters
    np.testing.assert_allclose(*masses, atol=1e-3)
    np.testing.assert_allclose(model.delta_, plain.delta_)


def test_a_table_of_numbers_takes_the_passes_of_plain_rows():
    model = SoftECM(2, **FAST).fit(UNLIKE)
    x, v = model._encode(UNLIKE), model.model_.prototypes
    nearest, which = model.metric_.compiled.nearest(x, v)
    far = model.metric_.pairwise(x, v)
    torch.testing.assert_close(nearest, far.min(1).values)
    assert which.tolist() == far.argmin(1).tolist()
    gappy = SoftECM(2, **FAST).fit(GAPPY)
    assert gappy.metric_.compiled.nearest(gappy._encode(GAPPY), gappy.model_.prototypes) is None


@pytest.mark.parametrize("X", [UNLIKE, GAPPY, frame(name=[f"n{i}" for i in range(60)])], ids=["units", "gaps", "id"])
def test_a_saved_model_predicts_the_same(X, tmp_path):
    model = SoftECM(2, **FAST).fit(X)
    model.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    assert (again.metric_reason_, again.left_out_) == (model.metric_reason_, model.left_out_)
    np.testing.assert_array_equal(again.predict(X), model.labels_)


# ------------------------------------------------------------------ ids


def test_columns_that_name_rows_are_left_out():
    n = 60
    found = left_out(
        frame(
            number=range(1, n + 1),
            second=range(n),  # one id is enough: this may be a count
            note=[f"{i % 55} of them" for i in range(n)],
            nothing=[None] * n,
            kind=["x", "y"] * 30,
        ).assign(nothing=np.nan)
    )
    assert found == {
        "number": "an id: it counts the rows",
        "note": "free text: 55 different values in 60 rows",
        "nothing": "empty",
    }


DRAW = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pd.Series(5001 + DRAW.permutation(60), name="nr_x"), BY_LOOK),
        (pd.Series(5001 + DRAW.permutation(110)[:60], name="v1"), BY_LOOK),
        (pd.Series(5001 + DRAW.permutation(60), name="Respondent"), BY_NAME),
        (pd.Series(10**6 * DRAW.permutation(60), name="customer"), BY_NAME),
    ],
)
def test_whole_numbers_that_no_measurement_gives_are_ids(column, reason):
    data = pd.DataFrame({column.name: column, "y": [1.0, 2.5] * 30})
    assert left_out(data) == {column.name: reason}
    assert {c.name: c.detail for c in read_table(data).columns if c.kind == "id"} == {column.name: reason}


def test_free_text_alone_is_refused_as_the_command_does():
    words = pd.DataFrame(
        {"sku": [f"P{i}" for i in range(60)], "text": [f"a bicycle with {i} lamps" for i in range(60)]}
    )
    with pytest.raises(
        ValueError, match=r"a column to cluster by; got 'sku' \(an id.*'text' \(free text: 60 different"
    ):
        SoftECM(2).fit(words)
    with pytest.warns(ReadingWarning, match="text holds texts, which are not compared, and only size remains"):
        assert choose(words.assign(size=range(0, 120, 2))).left_out.keys() == {"sku", "text"}


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"x": range(20)}),  # no column would be left
        pd.DataFrame({"x": range(9), "y": range(9, 0, -1)}),  # too few rows to tell
        pd.DataFrame({"x": range(5, 25), "y": [1, 2] * 10}),  # does not count from the first row
        pd.DataFrame({"rank": DRAW.permutation(40) + 1, "y": [1, 2] * 20}),
        pd.DataFrame({"year": DRAW.permutation(40) + 1970, "y": [1, 2] * 20}),
        pd.DataFrame({"y": [1, 2] * 20, "x": DRAW.permutation(40) + 500}),  # not the first
        pd.DataFrame({"x": 500 + 3 * DRAW.permutation(40), "y": [1, 2] * 20}),  # with gaps between
        pd.DataFrame({"orders": 500 + DRAW.permutation(40) // 2, "y": [1, 2] * 20}),
        pd.DataFrame({"x": np.arange(20.0), "y": [1, 2] * 10}),  # no whole numbers by their type
        np.c_[np.arange(20), [1, 2] * 10],  # an array's columns have no names to be left out by
        "nothing of the kind",
    ],
)
def test_what_may_be_more_than_a_name_stays(data):
    assert left_out(data) == {}


def test_a_constant_is_left_out_where_it_would_stand_in_for_gaps():
    assert left_out(frame(same=1)) == {}
    assert left_out(pd.DataFrame(GAPPY, columns=["a", "b"]).assign(same=1)) == {"same": "always the same"}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_new_objects_may_have_the_id_or_not(make):
    columns = {"number": np.arange(60), "a": TWO[:, 0], "b": TWO[:, 1]}
    model = SoftECM(2, **FAST).fit(make(columns))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.prototypes_.shape == (2, 2)
    assert "number" in model.left_out_
    np.testing.assert_array_equal(model.predict(make(columns)), model.labels_)
    del columns["number"]
    np.testing.assert_array_equal(model.predict(make(columns)), model.labels_)
    np.testing.assert_array_equal(model.labels_, SoftECM(2, **FAST).fit(make(columns)).labels_)


def test_a_sweep_sees_the_columns_of_a_fit():
    from softecm.selection import sweep

    data = frame(number=range(60), c=TWO[:, 0] * 100)
    found = sweep(data, {"beta": [1.2, 1.5]}, estimator=SoftECM(2, **FAST))
    assert found["objective"][0] == pytest.approx(SoftECM(2, **FAST).fit(data).objective_)


# ------------------------------------------------------------------ layouts of series


def test_channels_before_steps_are_asked_about():
    series = make_cbf(2, length=32, random_state=0).data
    SoftECM(2, **FAST).fit(series)
    turned = series.transpose(0, 2, 1)
    with pytest.raises(
        ValueError, match=r"looks like aeon's \(n, channels, steps\): 6 series of 32 steps in 1 channel"
    ):
        SoftECM(2, **FAST).fit(turned)
    said = SoftECM(2, metric=SoftDTW(layout="aeon"), **FAST).fit(turned)
    assert said.prototypes_.shape == (2, 1, 32)


def test_short_series_of_many_channels_can_be_asked_for():
    short = np.random.default_rng(0).normal(size=(6, 2, 12))
    with pytest.raises(ValueError, match="If they really have 2 steps in 12 channels, use metric='softdtw'"):
        SoftECM(2, **FAST).fit(short)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert SoftECM(2, metric="softdtw", **FAST).fit(short).prototypes_.shape == (2, 2, 12)


@pytest.mark.parametrize("shape", [(3, 20, 3), (3, 8, 8), (3, 4, 16), (3, 33, 200), (3, 2, 6)])
def test_other_shapes_are_not(shape):
    assert choose(np.zeros(shape)).name == ("softdtw" if shape[1] == 2 else "combined")


def test_the_diamond_is_taken_as_it_is():
    assert choose(load_diamond().data).metric == "sqeuclidean"


@pytest.mark.parametrize(
    "form", [list, np.asarray, lambda row: np.asarray(row)[:, None]], ids=["lists", "rows", "columns"]
)
def test_rows_of_unequal_length_are_series(form):
    rows = [
        form(np.sin(np.arange(length) / 3 + shift).tolist()) for length in (12, 15, 18) for shift in (0.0, 0.1, 2.0)
    ]
    model = SoftECM(2, **FAST).fit(rows)
    assert "series" in model.metric_reason_
    assert model.predict_partition(rows[:2]).masses.shape[0] == 2
