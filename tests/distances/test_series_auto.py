"""``metric="series-auto"``: which distance is taken, whatever the order of the series, and what an estimator makes of it."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

from softecm import ECMdd, SoftECM, load_model
from softecm.distances import SEMI_METRICS, series_distances
from softecm.distances.auto import choose_for
from softecm.distances.series_auto import (
    CANDIDATES,
    MOST,
    around_medoids,
    choose_series,
    distances,
    kept_together,
    some_series,
)
from softecm.losses import SeriesLoss
from softecm.scores import adjusted_rand_index
from softecm.selection import choose_n_clusters, sweep

STEPS = np.arange(24)


def rhythms(rng, n=9):
    """Sines of two speeds at any phase: aligned by shifts, not step by step."""
    speeds = np.repeat([1.5, 4.0], n)
    phases = rng.random((2 * n, 1))
    X = np.sin(2 * np.pi * (speeds[:, None] * STEPS / 24 + phases)) + 0.1 * rng.normal(size=(2 * n, 24))
    return X[..., None], np.repeat([0, 1], n)


def drifts(rng, n=9):
    """Two wiggles on levels and trends of any size: told apart by slopes alone."""
    wiggles = np.repeat([[np.sin(2.0 * STEPS)], [np.sin(0.9 * STEPS)]], n, axis=0)[:, 0]
    trend = 3 * rng.normal(size=(2 * n, 1)) + rng.normal(size=(2 * n, 1)) * STEPS / 4
    return (wiggles + trend + 0.05 * rng.normal(size=wiggles.shape))[..., None], np.repeat([0, 1], n)


@pytest.mark.parametrize(("make", "among"), [(rhythms, {"sbd", "softmsm"}), (drifts, {"slopes"})])
def test_a_distance_that_tells_the_groups_is_taken(make, among, rng):
    X, y = make(rng)
    found = choose_series(X, 2)
    assert found.tried[0].name in among
    assert found.tried[0].name in found.reason
    model = SoftECM(2, metric="series-auto", n_init=3, random_state=0).fit(X)
    assert model.metric_.name == CANDIDATES[found.tried[0].name].name
    assert model.metric_reason_ == found.reason
    assert adjusted_rand_index(y, model.labels_) == 1.0


def test_all_are_tried_and_the_best_comes_first(rng):
    found = choose_series(rhythms(rng)[0], 2)
    assert {one.name for one in found.tried} == set(CANDIDATES)
    values = [one.clear for one in found.tried]
    assert values == sorted(values, reverse=True)
    assert all(-1.0 <= value <= 1.0 for value in values)


def test_names_are_those_of_metrics():
    assert {name for name, metric in CANDIDATES.items() if SEMI_METRICS.get(name) is not type(metric)} == {"slopes"}
    assert all(CANDIDATES[name] == SEMI_METRICS[name]() for name in CANDIDATES if name != "slopes")


def test_neither_the_order_nor_copies_matter(rng):
    X, _ = rhythms(rng)
    found, order = choose_series(X, 2), rng.permutation(len(X))
    for other in (X[order], np.concatenate([X, X[order]]), list(X)):
        again = choose_series(other, 2)
        assert again.metric == found.metric
        np.testing.assert_allclose([t.clear for t in again.tried], [t.clear for t in found.tried], atol=1e-12)


def test_many_and_long_series_are_made_fewer_and_shorter(rng):
    rows = list(rng.normal(size=(3 * MOST, 20, 1)))
    assert some_series(rows, 3).shape == (MOST, 20, 1)
    assert some_series(rows, 20).shape == (240, 20, 1)
    long = some_series(list(rng.normal(size=(MOST, 1000, 2))), 2)
    assert long.shape[0] == MOST
    assert 100 < long.shape[1] <= 200


def test_series_of_unequal_length_are_not_compared_step_by_step(rng):
    X, y = rhythms(rng)
    rows = [row[: 24 - i % 5] for i, row in enumerate(X)]
    found = choose_series(rows, 2)
    assert {one.name for one in found.tried} == set(CANDIDATES) - {"series-euclidean"}
    model = SoftECM(2, metric="series-auto", n_init=3, random_state=0).fit(rows)
    assert adjusted_rand_index(y, model.labels_) > 0.7
    short = [row[:2] for row in X]
    assert "slopes" not in {one.name for one in choose_series(short, 2).tried}


def test_where_there_is_nothing_to_compare_it_is_soft_dtw(rng):
    X, _ = rhythms(rng)
    few = choose_series(X[:6], 2)
    assert (few.metric, few.tried) == ("softdtw", ())
    assert few.reason == "too few different series to compare distances by: soft-DTW, as usual"
    assert "one cluster is no group" in choose_series(X, 1).reason
    assert choose_series(np.repeat(X[:1], 30, axis=0), 2).metric == "softdtw"


def test_the_matrix_is_that_of_the_metric(rng):
    X = rng.normal(size=(40, 8, 2))
    found = distances(CANDIDATES["softmsm"], some_series(list(X), 2))
    wanted = series_distances(X, metric="softmsm")
    assert np.allclose(np.sort(found.ravel()), np.sort(wanted.ravel()), atol=1e-9)
    np.testing.assert_allclose(found, found.T)


def test_medoids_are_the_best_there_are(rng):
    for _ in range(5):
        x = rng.normal(size=(14, 2))
        d = np.linalg.norm(x[:, None] - x, axis=-1)
        labels = around_medoids(d, 3)
        costs = {m: d[:, m].min(1).sum() for m in combinations(range(14), 3)}
        cost = sum(d[np.ix_(labels == k, labels == k)].sum(0).min() for k in range(3))
        assert cost <= 1.03 * min(costs.values())


def test_what_is_kept_together():
    place = np.array([0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3])
    d = np.abs(place[:, None] - place)
    halves = np.repeat([0, 1], 4)
    assert kept_together(d, halves, 2) == 1.0
    # Three neighbours each: of the other kind two of three, beyond chance (three of seven) by less than nothing.
    assert kept_together(d, np.arange(8) % 2, 2) == pytest.approx((1 / 3 - 3 / 7) / (1 - 3 / 7))
    assert kept_together(d, np.zeros(8, dtype=int), 2) == 0.0
    assert kept_together(d**3, halves, 2) == 1.0  # the order is all that counts


def test_where_the_number_is_not_known_one_distance_serves_all(rng):
    X, _ = rhythms(rng, 15)
    choice = choose_n_clusters(X, estimator=SoftECM(metric="series-auto", n_init=2, random_state=0), candidates=[2, 3])
    wanted = choose_series(X)
    assert choice.model.metric_reason_ == wanted.reason
    assert choice.model.metric == wanted.metric


def test_an_estimator_keeps_its_manners(rng, tmp_path):
    X, _ = rhythms(rng)
    model = SoftECM(2, metric="series-auto", n_init=2, random_state=0).fit(X)
    assert clone(model).metric == "series-auto"
    np.testing.assert_allclose(model.predict_partition(X).masses, model.partition_.masses)
    model.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    assert (again.metric, again.metric_reason_) == ("series-auto", model.metric_reason_)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    assert ECMdd(2, metric="series-auto", random_state=0).fit(X).metric_reason_ == model.metric_reason_


def test_a_sweep_finds_what_a_fit_finds(rng):
    X, _ = drifts(rng)
    estimator = SoftECM(2, metric="series-auto", n_init=2)
    found = sweep(X, {"beta": [1.2, 1.5]}, estimator=estimator, seeds=1)
    alone = clone(estimator).set_params(beta=1.5, random_state=0).fit(X)
    assert found.columns["objective"][1] == pytest.approx(alone.objective_)


def test_what_is_not_for_it_is_refused(rng):
    pd = pytest.importorskip("pandas")
    da = pytest.importorskip("dask.array")
    X, _ = rhythms(rng)
    model = SoftECM(2, metric="series-auto")
    with pytest.raises(ValueError, match=r"metric='series-auto' must have series, .*; got a table"):
        model.fit(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    with pytest.raises(
        ValueError, match=r"under metric='series-auto'; got shape \(18, 1, 24\), which looks like aeon's"
    ):
        model.fit(X.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="metric='series-auto' must have all series in memory; got blocks"):
        model.fit(da.from_array(X[..., 0], chunks=(9, 24)))
    with pytest.raises(ValueError, match="metric='series-auto' is found by an estimator's fit: name one"):
        series_distances(X, metric="series-auto")
    with pytest.raises(ValueError, match="metric='series-auto' is found by an estimator's fit: name one"):
        SeriesLoss("series-auto")
    with pytest.raises(ValueError, match="metric must be one of 'auto', 'series-auto', 'sqeuclidean'"):
        model.set_params(metric="series").fit(X)


def test_it_is_told(rng, caplog):
    caplog.set_level("INFO", logger="softecm")
    choice = choose_for("series-auto", rhythms(rng)[0], 2)
    assert caplog.messages == [f'metric="series-auto": {choice.name} ({choice.reason})']
