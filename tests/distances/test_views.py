"""Several distances at once: one view is the plain metric, several add up, and objects may lack some."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from problems import largest_rise
from softecm import ECMdd, ReadingWarning, SoftECM, ViewWarning, calibrate, load_model
from softecm.distances import SEMI_METRICS, Combined, Mahalanobis, Mixed, SoftDTW, SquaredEuclidean, resolve_metric
from softecm.distances.auto import choose_for
from softecm.selection import choose_n_clusters, sweep
from softecm.selection.grid import digest
from softecm.testing import check_semimetric

fitter = partial(SoftECM, random_state=0, n_jobs=1, n_init=4)
GROUPS = np.repeat([0, 1, 2], 15)
QUADRATIC = {"series": "series-euclidean", "table": "mixed", "numbers": Mahalanobis()}
GENERAL = {"series": SoftDTW(), "table": "manhattan", "numbers": "cosine"}


def views():
    """Group 0 stands out in the series, group 2 in the table; the numbers are hardly informative."""
    rng = np.random.default_rng(0)
    n, groups = len(GROUPS), GROUPS
    return {
        "series": rng.normal(size=(n, 6, 1)) + 6.0 * (groups == 0)[:, None, None],
        "table": rng.normal(size=(n, 2)) + 8.0 * (groups == 2)[:, None],
        "numbers": 4.0 + rng.normal(size=(n, 3)),
    }


def with_gaps(data):
    """The same, with one or two views of some objects missing."""
    table = data["table"].copy()
    table[[1, 20]] = np.nan
    series = [None if i in (0, 1, 30) else row for i, row in enumerate(data["series"])]
    return {"series": series, "table": table, "numbers": data["numbers"]}


def encoded(metric, data):
    """Encoded objects, and the space they are in."""
    space = metric.make_space()
    raw = space.check(fitter(), data, reset=True)
    space = space.fit(raw, dtype=torch.float64)
    return space.encode(raw), space


VECTORS = [name for name, metric in SEMI_METRICS.items() if metric.space.__name__ == "RealVectors"]


@pytest.mark.parametrize("name", [*VECTORS, "mixed", "softdtw", "dtw"])
def test_one_view_is_the_plain_metric(name):
    data = views()["series" if SEMI_METRICS[name].space.__name__ == "TimeSeries" else "numbers"]
    if columns := SEMI_METRICS[name].column_names:
        data = data[:, : len(columns)]
    plain = fitter(2, metric=name).fit(data)
    alone = fitter(2, metric=Combined({"only": name})).fit({"only": data})
    np.testing.assert_allclose(alone.partition_.masses, plain.partition_.masses, rtol=0, atol=1e-12)
    np.testing.assert_allclose(alone.prototypes_["only"], np.asarray(plain.prototypes_), rtol=1e-12)
    assert alone.objective_ == pytest.approx(plain.objective_, rel=1e-12)
    assert alone.view_weights_ == {"only": 1.0}


@pytest.mark.parametrize("metrics", [QUADRATIC, GENERAL], ids=["quadratic", "general"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_a_combination_keeps_the_contract(metrics, gaps):
    data = with_gaps(views()) if gaps else views()
    x, space = encoded(Combined(metrics), data)
    metric = Combined(metrics, weights=[3, 2, 1]).fitted(x, None)
    some = torch.arange(30 if gaps else 2, 45, 2)[:8]
    report = check_semimetric(metric, x[some], prototypes=space.starts(x[some], torch.arange(len(some))))
    left = {"symmetric", "zero at equality", "paired agrees"} if gaps else set()  # incomplete objects are no prototypes
    assert {check.name for check in report.failures} <= left, str(report)


@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
def test_squared_views_are_one_table_of_scaled_columns(relaxation):
    data = {"table": views()["table"], "steps": views()["series"][:, :, 0]}
    metric = Combined({"table": "sqeuclidean", "steps": "sqeuclidean"}, weights=[0.7, 0.3])
    model = fitter(3, metric=metric, relaxation=relaxation).fit(data)
    fitted = model.metric_
    scaled = np.hstack([np.sqrt(f) * data[name] for name, f in zip(fitted.metrics, fitted.factors, strict=True)])
    plain = fitter(3, metric="sqeuclidean", relaxation=relaxation).fit(scaled)
    assert adjusted_rand_score(model.labels_, plain.labels_) == 1
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert largest_rise(model.history_) <= 1e-12


def test_units_are_half_the_mean_distance_between_two_objects():
    data = views()
    x, _ = encoded(
        Combined({"table": "sqeuclidean", "numbers": "sqeuclidean"}), {k: data[k] for k in ("table", "numbers")}
    )
    metric = Combined({"table": "sqeuclidean", "numbers": "sqeuclidean"}).fitted(x, None)
    spreads = np.array([((data[k] - data[k].mean(0)) ** 2).sum(1).mean() for k in ("table", "numbers")])
    np.testing.assert_allclose(metric.units, spreads / np.sqrt(spreads.prod()), rtol=1e-12)


def test_one_absurd_object_among_few_does_not_silence_its_view():
    data = {name: views()[name].copy() for name in ("table", "numbers")}
    pair = Combined({"table": "sqeuclidean", "numbers": "sqeuclidean"})
    before = pair.fitted(encoded(pair, data)[0], None)
    data["table"][7, 0] = 1e5
    after = pair.fitted(encoded(pair, data)[0], None)
    np.testing.assert_allclose(after.spreads, before.spreads, rtol=0.2)
    np.testing.assert_allclose(after.common, before.common, atol=0.1)


def test_units_of_the_data_do_not_matter():
    data, metrics = views(), QUADRATIC
    first = fitter(3, metric=Combined(metrics)).fit(data)
    moved = {**data, "table": 100 * data["table"]}
    second = fitter(3, metric=Combined(metrics)).fit(moved)
    np.testing.assert_allclose(first.partition_.masses, second.partition_.masses, atol=1e-6)


@pytest.mark.parametrize("metrics", [QUADRATIC, GENERAL], ids=["quadratic", "general"])
def test_an_object_that_lacks_a_view_is_compared_in_the_others(metrics):
    data = with_gaps(views())
    model = fitter(3, metric=Combined(metrics, weights=[3, 2, 1])).fit(data)
    terms, distances = model.explain(data), model.transform(data)
    np.testing.assert_allclose(terms.sum(-1), distances, rtol=1e-10)
    assert (terms[0, :, 0] == 0).all()  # no series
    assert (terms[1, :, :2] == 0).all()  # neither series nor table: the numbers count for all
    whole = {**data, "series": [row if row is not None else np.zeros((6, 1)) for row in data["series"]]}
    whole["table"] = np.nan_to_num(data["table"])
    full = model.explain(whole)
    np.testing.assert_allclose(terms[0, :, 1:], full[0, :, 1:] * (6 / 3), rtol=1e-9)
    np.testing.assert_allclose(terms[1, :, 2], full[1, :, 2] * 6, rtol=1e-9)
    np.testing.assert_allclose(model.predict_partition(data).masses, model.partition_.masses, atol=1e-12)


def test_what_stands_in_for_a_gap_changes_nothing():
    data, again = with_gaps(views()), with_gaps(views())
    order = np.r_[5:45, 0:5]  # another object comes first, as the replacement
    again = {"series": [again["series"][i] for i in order], **{k: again[k][order] for k in ("table", "numbers")}}
    first = fitter(3, metric=Combined(QUADRATIC)).fit(data)
    second = fitter(3, metric=Combined(QUADRATIC)).fit(again)
    np.testing.assert_allclose(first.partition_.masses[order], second.partition_.masses, atol=1e-8)


def test_a_weight_of_two_is_an_object_twice():
    data = views()
    counts = np.r_[np.full(20, 2), np.ones(25, dtype=int)]
    rows = np.repeat(np.arange(45), counts)
    metric = Combined(QUADRATIC)
    weighed = fitter(3, metric=metric).fit(data, sample_weight=counts)
    twice = fitter(3, metric=metric).fit({k: v[rows] for k, v in data.items()})
    np.testing.assert_allclose(weighed.partition_.masses[rows], twice.partition_.masses, atol=1e-9)
    assert weighed.score(data, sample_weight=counts) == pytest.approx(-weighed.objective_ / counts.sum())


@pytest.mark.parametrize("metrics", [QUADRATIC, GENERAL], ids=["quadratic", "general"])
def test_a_saved_model_predicts_the_same(metrics, tmp_path):
    data = with_gaps(views())
    model = fitter(3, metric=Combined(metrics)).fit(data)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_partition(data).masses, model.partition_.masses)
    assert again.view_weights_ == model.view_weights_


@pytest.mark.parametrize("frames", [pd, pl], ids=["pandas", "polars"])
def test_columns_of_a_frame_may_hold_arrays(frames):
    data = views()
    columns = {"age": data["table"][:, 0].tolist(), "weight": data["table"][:, 1].tolist()}
    table = frames.DataFrame(columns)
    frame = frames.DataFrame({**columns, "series": data["series"][:, :, 0].tolist()})
    metric = Combined({"series": "series-euclidean", "patient": "mixed"})
    one = fitter(3, metric=metric).fit(frame)
    two = fitter(3, metric=metric).fit({"series": data["series"], "patient": table})
    np.testing.assert_array_equal(one.partition_.masses, two.partition_.masses)
    assert list(one.prototypes_["patient"].columns) == ["age", "weight"]


def test_auto_takes_what_suits_each_view():
    data = views()
    table = pd.DataFrame({"id": range(45), "age": data["table"][:, 0], "sex": np.where(GROUPS == 2, "f", "m")})
    model = fitter(3).fit({"series": data["series"], "patient": table})
    assert {name: part.name for name, part in model.metric_.metrics.items()} == {
        "series": "softdtw",
        "patient": "mixed",
    }
    assert model.left_out_ == {"id": "an id: it counts the rows"}
    assert len(model.predict({"series": data["series"], "patient": table})) == 45
    assert isinstance(resolve_metric("auto", data), Combined)


def test_a_far_value_in_a_view_is_said_with_what_to_do():
    table = pd.DataFrame({"age": np.r_[np.arange(44.0), 9e4], "sex": ["f", "m", "m"] * 15})
    data = {"numbers": views()["numbers"], "patient": table}
    told = r"row 45 \(X\[44\]\) has 90\u202f000 in column 'age' of 'patient'.*Mixed\(scaling='robust'\) for that view"
    with pytest.warns(ReadingWarning, match=told):
        choose_for("auto", data, 3)
    choose_for(Combined({"numbers": "sqeuclidean", "patient": Mixed(scaling="robust")}), data, 3)


def test_other_estimators_take_several_views():
    data = views()
    model = ECMdd(3, metric=Combined(QUADRATIC), random_state=0).fit(data)
    assert adjusted_rand_score(GROUPS, model.labels_) > 0.9


def test_learning_on_and_links_work_view_by_view():
    data = views()
    model = fitter(3, metric=Combined(QUADRATIC)).partial_fit(data).partial_fit(data)
    assert adjusted_rand_score(GROUPS, model.predict(data)) == 1
    linked = fitter(3, metric=Combined(QUADRATIC)).fit(data, must_link=[(0, 1)], cannot_link=[(0, 44)])
    assert adjusted_rand_score(GROUPS, linked.labels_) == 1
    start = {name: part[::15] for name, part in data.items()}
    assert adjusted_rand_score(GROUPS, fitter(3, metric=Combined(QUADRATIC), init=start).fit(data).labels_) == 1


def test_a_view_that_is_always_the_same_says_nothing_and_that_is_said():
    data = views()
    data["numbers"] = np.ones((45, 2))
    metrics = {**QUADRATIC, "numbers": "sqeuclidean"}
    with pytest.warns(ViewWarning, match="the same in 'numbers'"):
        model = fitter(3, metric=Combined(metrics)).fit(data)
    assert model.view_weights_ == {"series": 0.5, "table": 0.5, "numbers": 0.0}
    assert adjusted_rand_score(GROUPS, model.labels_) == 1


@pytest.mark.parametrize("weights", ["product", "sum", "entropy"])
def test_a_view_that_is_always_the_same_is_not_weighed(weights):
    data = {"series": views()["series"], "table": views()["table"], "numbers": np.ones((45, 2))}
    metrics = {"series": "series-euclidean", "table": "sqeuclidean", "numbers": "sqeuclidean"}
    with pytest.warns(ViewWarning, match="the same in 'numbers'"):
        model = fitter(3, metric=Combined(metrics, weights=weights)).fit(data)
    del metrics["numbers"], data["numbers"]
    without = fitter(3, metric=Combined(metrics, weights=weights)).fit(data)
    assert model.view_weights_["numbers"] == 0
    assert model.view_weights_["table"] == pytest.approx(without.view_weights_["table"], rel=1e-4)
    np.testing.assert_allclose(model.partition_.masses, without.partition_.masses, atol=1e-3)


def test_only_several_views_have_weights():
    with pytest.raises(AttributeError, match="several views"):
        _ = fitter(2).fit(views()["table"]).view_weights_


@pytest.mark.parametrize("weights", ["equal", "product"])
def test_a_sweep_over_views_is_what_each_fit_is_alone(weights):
    data = views()
    base = fitter(3, metric=Combined(QUADRATIC, weights=weights))
    table = sweep(data, {"beta": [1.2, 1.4]}, estimator=base, y=GROUPS).to_frame()
    for beta, found in zip(table["beta"], table["objective"], strict=True):
        alone = fitter(3, beta=beta, metric=Combined(QUADRATIC, weights=weights)).fit(data)
        assert found == pytest.approx(alone.objective_, rel=1e-9)
    assert (table["adjusted_rand_index"] == 1).all()


@pytest.mark.parametrize("rule", ["auto", "stability"])
def test_the_number_of_clusters_is_looked_for_over_views(rule):
    base = fitter(metric=Combined(QUADRATIC), n_init=1)
    assert choose_n_clusters(views(), estimator=base, candidates=[2, 3, 4], rule=rule).n_clusters == 3
    assert digest(views()) != digest({**views(), "table": views()["table"] + 1})


def test_one_object_is_explained_view_by_view_and_refits_take_views():
    data = with_gaps(views())
    model = fitter(3, metric=Combined(QUADRATIC)).fit(data)
    told = model.explain_object(data, 4)
    assert "series pulls it" in str(told)
    assert set(told.to_frame()["column"]) == set(data)
    assert calibrate(model, data, n_boot=4, level=0.5).partition.n_clusters == 3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_object_alone_is_placed_as_among_others_whatever_it_lacks(rng, dtype):
    group = np.repeat([0, 1], 10)
    patient = pd.DataFrame({"age": 40.0 + 30 * group + rng.normal(size=20), "sex": np.where(group, "f", "m")})
    patient.loc[3] = [np.nan, None]
    vitals = [rng.normal(size=(6, 1)) + 4 * k if i != 7 else None for i, k in enumerate(group)]
    vectors = np.where(np.arange(20)[:, None] == 5, np.nan, rng.normal(size=(20, 2)) + 4 * group[:, None])
    views = {"vitals": vitals, "patient": patient, "note": vectors}
    metric = Combined({"vitals": SoftDTW(), "patient": Mixed(), "note": SquaredEuclidean()})
    model = SoftECM(2, metric=metric, n_init=2, random_state=0, dtype=dtype).fit(views)
    close = 1e-8 if dtype == "float64" else 1e-5
    for i in (0, 3, 5, 7):
        one = {"vitals": vitals[i : i + 1], "patient": patient[i : i + 1], "note": vectors[i : i + 1]}
        np.testing.assert_allclose(model.predict_partition(one).masses[0], model.partition_.masses[i], atol=close)
        assert f"Object {i + 1} " in model.explain_object(views, i).sentence
