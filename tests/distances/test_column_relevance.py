"""Column weights learned with the groups: informative columns, invariances, and bad tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM, load_model
from softecm._warnings import ViewWarning
from softecm.calibration import calibrate
from softecm.distances import Mixed
from softecm.distances.group_mixture import by_straight_lines, normal_scores
from softecm.distances.table_sample import TableSample
from softecm.selection import sweep

GROUPS = np.repeat([0, 1, 2], 60)


def table(seed=0):
    """Two numbers and a category with three groups; a coin, skewed and uniform numbers without."""
    rng = np.random.default_rng(seed)
    n = len(GROUPS)
    return pd.DataFrame(
        {
            "first": 6.0 * (GROUPS == 0) + rng.normal(size=n),
            "second": 600.0 * (GROUPS == 2) + 100.0 * rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.85, np.array(["red", "blue", "green"])[GROUPS], "red"),
            "coin": rng.choice(["heads", "tails"], n),
            "income": rng.lognormal(0.0, 1.2, n),
            "place": rng.uniform(size=n),
        }
    )


def fitted(X, metric="auto", **options):
    return SoftECM(3, metric=metric, random_state=0, n_init=3, n_jobs=1).fit(X, **options)


@pytest.fixture(scope="module")
def model():
    return fitted(table())


def test_columns_that_say_nothing_are_set_aside_and_that_is_said(model):
    assert {name for name, weight in model.feature_weights_.items() if weight == 0.0} == {"coin", "income", "place"}
    assert sum(model.feature_weights_.values()) == pytest.approx(1.0)
    assert adjusted_rand_score(GROUPS, model.labels_) > 0.95
    assert "set aside: 'income', 'place', 'coin'" in model.metric_reason_


def test_all_columns_set_aside_are_named_unless_their_names_are_long():
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.normal(size=(180, 12)), columns=[f"noise {j}" for j in range(12)])
    X = pd.concat([table()[["first", "second", "colour"]], noise], axis=1)
    told = fitted(X).metric_reason_
    assert all(repr(name) in told for name in noise.columns)
    told = fitted(X.rename(columns=lambda name: f"{name} {'x' * 40}" if "noise" in name else name)).metric_reason_
    assert (told.count("'noise "), " and 7 more; numbers" in told) == (5, True)


def test_distances_have_what_columns_add_and_nothing_of_those_set_aside(model):
    parts = model.explain(table())
    np.testing.assert_allclose(parts.sum(-1), model.transform(table()))
    assert parts[..., 3:].max() < 1e-6 * parts.sum(-1).mean()


def test_a_number_counts_by_its_spread_over_all_rows_and_within_groups(model):
    metric, frame = model.metric_, table()
    factor = dict(zip(metric.names, metric.factors, strict=True))
    encoded = {c.name: frame[c.name] / c.scale for c in model.model_.space.numbers}
    wanted = {}
    for name in ("first", "second"):
        within = np.mean([encoded[name][model.labels_ == k].var(ddof=0) for k in range(3)])
        wanted[name] = 1.0 / np.sqrt(within * encoded[name].var(ddof=0))
    assert factor["first"] / factor["second"] == pytest.approx(wanted["first"] / wanted["second"], rel=0.05)
    assert factor["first"] / factor["colour"] == pytest.approx(wanted["first"], rel=0.1)  # a category keeps its weight


def test_one_hill_of_any_shape_becomes_normal_and_two_stay_two():
    rng = np.random.default_rng(0)
    ties = rng.integers(1 << 60, size=2000).astype(np.uint64)
    for column in (rng.lognormal(0, 1, 2000), rng.uniform(size=2000), rng.integers(0, 6, 2000).astype(float)):
        scores = normal_scores(column, np.ones(2000), ties)
        assert abs(scores.mean()) < 0.1
        assert scores.std() == pytest.approx(1.0, abs=0.1)
        assert (np.diff(scores[np.argsort(column)]) >= -1e-9).all() or len(np.unique(column)) < 10
    two = normal_scores(np.concatenate([rng.normal(0, 1, 1000), rng.normal(9, 1, 1000)]), np.ones(2000), ties)
    middle = np.sort(two[np.abs(two) < 1.5])
    assert np.diff(middle).max() > 0.2  # an empty valley


@pytest.mark.parametrize("change", ["rows", "columns", "copies", "names of categories", "unit"])
def test_the_weights_are_the_same(model, change):
    X, options = table(), {}
    if change == "rows":
        X = X.iloc[np.random.default_rng(1).permutation(len(X))]
    elif change == "columns":
        X = X[X.columns[::-1]]
    elif change == "names of categories":
        X["colour"] = X["colour"].map({"red": "x", "blue": "a", "green": "m"})
    elif change == "unit":
        X["first"] = 1000.0 * X["first"] - 5.0
    else:
        counts = 1 + np.arange(len(X)) % 3
        copies = fitted(X.loc[np.repeat(X.index, counts)])
        X, options, model = table(), {"sample_weight": counts}, copies
    again = fitted(X, **options)
    for name, weight in model.feature_weights_.items():
        assert again.feature_weights_[name] == pytest.approx(weight, abs=1e-4)


def test_samples_of_blocks_are_the_sample_of_all(model, monkeypatch):
    monkeypatch.setattr("softecm.distances.table_sample.ROWS", 50)
    x = model._encode(table())
    whole = TableSample.of(x, None)
    parts = [TableSample.of(x[slice(start, start + 40)], None) for start in range(0, 180, 40)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert len(whole.keys) == 50
    np.testing.assert_array_equal(whole.keys, merged.keys)
    np.testing.assert_array_equal(whole.codes, merged.codes)
    assert merged.seen == 180.0


def test_blocks_give_the_weights_of_the_rows_in_memory(model, tmp_path):
    pytest.importorskip("dask.dataframe")
    import dask.dataframe as dd

    blocks = SoftECM(3, random_state=0, n_init=3).fit(dd.from_pandas(table(), npartitions=3))
    for name, weight in model.feature_weights_.items():
        assert blocks.feature_weights_[name] == pytest.approx(weight, abs=1e-4)


def test_parquet_gives_the_weights_of_the_rows_in_memory(model, tmp_path):
    pytest.importorskip("pyarrow")
    from softecm.distributed import ParquetBlocks

    table().to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    again = SoftECM(3, random_state=0, n_init=3).fit(ParquetBlocks(tmp_path / "rows.parquet"))
    assert again.feature_weights_ == pytest.approx(model.feature_weights_, abs=1e-4)


def test_weights_go_along_however_the_fit_is_done(model, tmp_path):
    X, estimator = table(), SoftECM(3, random_state=0, n_init=3, n_jobs=1)
    ways = {
        "checkpoint": clone(estimator).fit(X, checkpoint=tmp_path / "fit.checkpoint"),
        "links": clone(estimator).fit(X, must_link=[(0, 1)], cannot_link=[(0, 170)]),
        "labels": clone(estimator).fit(X, np.where(np.arange(180) % 20 == 0, GROUPS, -1)),
        "prior": clone(estimator).fit(X, prior=model),
        "warm": clone(estimator).set_params(warm_start=True).fit(X).fit(X),
        "batches": clone(estimator).partial_fit(X).partial_fit(table(1)),
        "single": clone(estimator).set_params(dtype="float32").fit(X),
    }
    for way, fit in ways.items():
        assert fit.feature_weights_ == pytest.approx(model.feature_weights_, abs=1e-3), way
        assert adjusted_rand_score(GROUPS, fit.predict(X)) > 0.95, way
    row = sweep(X, {"n_clusters": [3]}, estimator=estimator).columns
    assert row["objective"][0] == pytest.approx(model.objective_, rel=1e-9)
    model.report(X, tmp_path / "report.html")
    assert "are set aside" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_refits_of_samples_keep_the_groups(model):
    found = calibrate(model, table(), n_boot=19, pairs="none", random_state=0)
    assert found.stability > 0.8


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU to test on")
def test_the_gpu_gives_the_weights_and_masses_of_the_cpu(model):
    again = SoftECM(3, random_state=0, n_init=3, device="cuda").fit(table())
    assert again.feature_weights_ == pytest.approx(model.feature_weights_, abs=1e-9)
    np.testing.assert_allclose(again.partition_.masses, model.partition_.masses, atol=1e-6)


def test_a_saved_model_predicts_the_same_without_the_columns_set_aside(model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    assert again.feature_weights_ == model.feature_weights_
    few = table()[["colour", "second", "first"]]
    np.testing.assert_array_equal(again.predict(few), model.labels_)
    with pytest.warns(UserWarning, match="'first' is missing, and rows are compared in the others"):
        again.predict(few.drop(columns="first"))


def test_a_row_without_any_column_that_counts_stays_and_is_undecided():
    X = table()
    X.loc[5, ["first", "second", "colour"]] = None
    with pytest.warns(ViewWarning, match="1 of 180 rows"):
        model = fitted(X)
    assert model.decisions()[5].word == "undecided"
    assert model.decisions()[5].confidence < 0.5


def test_weights_of_the_user_and_units_that_were_asked_for_stay():
    own = fitted(table(), Mixed(weights=[1.0, 1.0, 2.0, 2.0, 1.0, 1.0]))
    alike = fitted(table(), Mixed(weights=None))
    np.testing.assert_array_equal(own.partition_.masses, alike.partition_.masses)
    metric = fitted(table(), Mixed(scaling="range", weights="auto")).metric_
    assert metric.set_aside == ["income", "place", "coin"]
    assert metric.factors[0] == pytest.approx(metric.factors[1])


def test_few_rows_count_all_columns_alike():
    X = table().iloc[::12]
    model, plain = fitted(X), fitted(X, Mixed(weights=None))
    assert "too few rows" in model.metric_reason_
    np.testing.assert_allclose(model.partition_.masses, plain.partition_.masses, atol=1e-9)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": list("xyz") * 30}),
        pd.DataFrame(
            {"a": np.random.default_rng(0).normal(size=90), "b": np.random.default_rng(1).choice(list("xyz"), 90)}
        ),
        pd.DataFrame({"a": [1.0] * 90, "b": ["x"] * 90}),
        pd.DataFrame({"a": [1.0, 2.0] * 45, "b": ["x", "y"] * 45}),
        pd.DataFrame({"a": [f"k{i % 800}" for i in range(900)], "b": list("xyz") * 300}),
    ],
    ids=["one column", "nothing to say", "all equal", "fewer rows than clusters", "many levels"],
)
@pytest.mark.filterwarnings("ignore::softecm.CollapseWarning")
def test_a_table_that_says_little_has_an_answer(X):
    model = SoftECM(3, metric="mixed", random_state=0, n_init=2).fit(X)
    assert np.isfinite(model.partition_.masses).all()
    assert sum(model.feature_weights_.values()) == pytest.approx(1.0)


def test_a_column_of_10_000_levels_is_left_out():
    X = pd.DataFrame(
        {"a": [f"k{i}" for i in range(10_000)], "b": np.tile([1.0, 2.0, 5.0, 5.1], 2500), "c": list("xyzz") * 2500}
    )
    model = SoftECM(3, random_state=0, n_init=2).fit(X)
    assert list(model.left_out_) == ["a"]
    assert np.isfinite(model.partition_.masses).all()


def test_a_row_without_any_value_is_refused_by_its_number():
    X = table()
    X.loc[7] = None
    with pytest.raises(ValueError, match="row 8"):
        fitted(X)


def test_numbers_that_others_explain_by_a_straight_line_say_nothing():
    rng = np.random.default_rng(2)
    X, shared = table(), rng.normal(size=len(GROUPS))
    for j in range(4):
        X[f"line{j}"] = 10.0 * shared + 4.0 * rng.normal(size=len(GROUPS))
    model = fitted(X)
    assert {name for name, weight in model.feature_weights_.items() if weight > 0} == {"first", "second", "colour"}
    z = np.stack([shared, -shared + 0.1 * rng.normal(size=len(shared)), rng.normal(size=len(shared))], 1)
    lines = by_straight_lines(z, np.ones(z.shape, dtype=bool), np.ones(len(z)))
    assert (lines[:2] > 500).all()
    assert lines[2] < 10


def test_a_split_by_one_column_alone_pays_nothing():
    rng = np.random.default_rng(3)
    means = np.array([[0, 0], [9, 0], [0, 9], [9, 9], [4, 18.0]])
    y = rng.integers(5, size=600)
    X = pd.DataFrame(means[y] + rng.normal(size=(600, 2)), columns=["a", "b"])
    X["random"] = rng.choice(list("uvw"), 600)
    model = SoftECM(5, random_state=0).fit(X)
    assert model.feature_weights_["random"] == 0.0
    assert adjusted_rand_score(y, model.labels_) > 0.97


def test_without_a_number_of_clusters_columns_count_alike():
    assert Mixed().learner is None
    assert replace(Mixed(), n_clusters=3).learner is not None
