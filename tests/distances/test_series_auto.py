"""The default for series: three views, their weights, and whether level and amplitude count."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import torch
from sklearn.base import clone

from softecm import ECMdd, SoftECM, load_model
from softecm.distances import Combined, ConvolutionFeatures, SoftDTW, series_auto, series_distances
from softecm.distances.auto import choose_for
from softecm.distances.series_auto import (
    LEAST_WEIGHT,
    MOST,
    POWER,
    SHAPE,
    TEXTURE,
    VIEWS,
    Option,
    band_for,
    choose_series,
    different_series,
    distances,
    k_means_labels,
    k_medoids_labels,
    neighbours_together,
    series_views,
    shortened,
    view_metrics,
    weighted_options,
)
from softecm.distances.soft_dtw import AUTO, SMOOTH
from softecm.losses import SeriesLoss
from softecm.scores import adjusted_rand_index
from softecm.selection import choose_n_clusters, sweep
from softecm.spaces.texture import FREQUENCIES, PATTERNS
from softecm.spaces.transformed import SLOPE

STEPS = np.arange(24)


def rhythms(rng, n=9):
    """Sines of two speeds at any phase: distinguished by texture."""
    speeds = np.repeat([1.5, 4.0], n)
    phases = rng.random((2 * n, 1))
    X = np.sin(2 * np.pi * (speeds[:, None] * STEPS / 24 + phases)) + 0.1 * rng.normal(size=(2 * n, 24))
    return X[..., None], np.repeat([0, 1], n)


def drifts(rng, n=9):
    """Two wiggles on levels and trends of any size."""
    wiggles = np.repeat([[np.sin(2.0 * STEPS)], [np.sin(0.9 * STEPS)]], n, axis=0)[:, 0]
    trend = 3 * rng.normal(size=(2 * n, 1)) + rng.normal(size=(2 * n, 1)) * STEPS / 4
    return (wiggles + trend + 0.05 * rng.normal(size=wiggles.shape))[..., None], np.repeat([0, 1], n)


def bumps(rng, n=9, *, amplitude):
    """Early and late bumps, each of any level and size; or one bump at two levels."""
    y, noise = np.repeat([0, 1], n), 0.05 * rng.normal(size=(2 * n, 24))
    place = np.where(y == 1, 16, 7) if amplitude else np.full(2 * n, 12)
    X = np.exp(-0.5 * ((STEPS - place[:, None]) / 2.0) ** 2) + noise
    own = (
        (np.exp(rng.normal(size=(2 * n, 1))), 5 * rng.normal(size=(2 * n, 1))) if amplitude else (1.0, 4.0 * y[:, None])
    )
    return (X * own[0] + own[1])[..., None], y


@pytest.mark.parametrize("make", [rhythms, drifts])
def test_series_get_three_views_that_find_the_groups(make, rng):
    X, y = make(rng)
    found = choose_series(X, 2)
    model = SoftECM(2, n_init=3, random_state=0).fit(X)
    assert isinstance(model.metric_, Combined)
    assert tuple(model.metric_.metrics) == VIEWS
    assert model.metric_reason_ == found.reason
    assert found.reason.startswith("series are compared by shape")
    assert adjusted_rand_index(y, model.labels_) == 1.0
    same = SoftECM(2, metric="series-auto", n_init=3, random_state=0).fit(X)
    np.testing.assert_array_equal(same.partition_.masses, model.partition_.masses)


@pytest.mark.parametrize("amplitude", [True, False], ids=["of any level and size", "of two levels"])
def test_level_and_amplitude_count_where_they_group(amplitude, rng):
    X, y = bumps(rng, amplitude=amplitude)
    model = SoftECM(2, n_init=3, random_state=0).fit(X)
    assert ("; level and amplitude don't count (" in model.metric_reason_) is amplitude
    assert all(part.znormalise is amplitude for part in model.metric_.parts)
    assert adjusted_rand_index(y, model.labels_) == 1.0


def test_what_the_estimator_shows_are_series(rng, tmp_path):
    X, _ = rhythms(rng)
    model = SoftECM(2, n_init=2, random_state=0).fit(X)
    f = len(model.focal_sets_)
    assert model.prototypes_.shape == (f, 24, 1)
    assert model.cluster_centers_.shape == (2, 24, 1)
    assert model.n_features_in_ == 1
    assert list(model.attributes_) == list(VIEWS)
    terms = model.explain(X)
    assert terms.shape == (18, f, 3)
    np.testing.assert_allclose(terms.sum(-1), model.transform(X), rtol=1e-9)
    assert set(model.view_weights_) == set(VIEWS)
    model.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    assert again.metric == "auto"
    np.testing.assert_array_equal(again.predict_partition(X).masses, model.predict_partition(X).masses)
    np.testing.assert_array_equal(again.prototypes_, model.prototypes_)
    begun = SoftECM(2, init=model.cluster_centers_).fit(X)  # series are starts in every view
    assert adjusted_rand_index(begun.labels_, model.labels_) == 1.0


def test_eight_are_tried_and_the_one_that_is_used_comes_first(rng):
    X, _ = bumps(rng, amplitude=True)
    found = choose_series(X, 2)
    assert len({one.name for one in found.tried}) == 8
    values = [one.clarity for one in found.tried]
    assert values == sorted(values, reverse=True)
    assert f"clarity of the groups: {values[0]:.2f} of 1, at most" in found.reason
    assert all(-1.0 <= value <= 1.0 for value in values)
    scaled = (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)
    assert (
        len(choose_series(scaled, 2).tried) == 4
    )  # without level and amplitude, texture and gamma remain to be chosen


def test_views_count_by_the_clarity_of_their_own_groups(rng, monkeypatch):
    clear = {(SHAPE, AUTO): 0.9, (SLOPE, AUTO): 0.8, (SHAPE, SMOOTH): 0.4, (SLOPE, SMOOTH): 0.5}
    clear |= {(TEXTURE, FREQUENCIES): 0.3, (TEXTURE, PATTERNS): 0.2}
    monkeypatch.setattr(
        series_auto, "distance_tables", lambda rows, znormalise: {k: np.full((9, 9), v) for k, v in clear.items()}
    )
    monkeypatch.setattr(series_auto, "clarity", lambda d, numbers: float(d[0, 0]))
    by_patterns, by_frequencies, *smooth = weighted_options([], True, [2])
    slope = (8 / 9) ** POWER
    assert (by_patterns[0].texture, by_frequencies[0].texture) == (PATTERNS, FREQUENCIES)
    for (option, together), texture in ((by_patterns, 0.2), (by_frequencies, 0.3)):
        assert option.weights == pytest.approx((1.0, slope, LEAST_WEIGHT))
        assert together == pytest.approx(0.9 + slope * 0.8 + LEAST_WEIGHT * texture)
    assert [(option.gamma, option.texture) for option, _ in smooth] == [(SMOOTH, PATTERNS), (SMOOTH, FREQUENCIES)]
    assert smooth[0][0].weights == pytest.approx((0.8**POWER, 1.0, LEAST_WEIGHT))
    monkeypatch.setattr(series_auto, "clarity", lambda d, numbers: -0.1)  # no clear groups: equal weights
    assert {len(set(option.weights)) for option, _ in weighted_options([], True, [2])} == {1}


def test_noise_is_smoothed_where_that_makes_groups_clearer(rng):
    place = np.repeat([7, 16], 15)[:, None]
    X = (2.0 * (np.arange(24) > place) + 1.0 * rng.normal(size=(30, 24)))[..., None]
    metric = choose_series(X, 2).metric.metrics[SHAPE]
    assert metric.gamma == SMOOTH
    batch = metric.make_space().fit(list(X), dtype=torch.float64).encode(list(X))
    sharp, smooth = (replace(metric, gamma=gamma).fitted(batch, None).gamma for gamma in (AUTO, SMOOTH))
    steps = batch.values.numpy()
    assert sharp == pytest.approx(0.02 * steps.var())
    assert smooth == pytest.approx(20 * sharp)


def test_phase_leaves_the_texture_of_frequencies_and_shape_that_of_patterns(rng):
    t = np.arange(60) / 60
    rhythms = [
        np.sin(2 * np.pi * (f * t + rng.random())) + np.sin(2 * np.pi * (2.3 * f * t + rng.random()))
        for f in (2, 3)
        for _ in range(12)
    ]
    assert choose_series(rhythms, 2).metric.metrics[TEXTURE].of == FREQUENCIES


def test_long_series_have_a_band():
    assert [band_for(steps) for steps in (10, 362, 640, 2500, 100_000)] == [None, None, 102, 26, 8]
    parts = series_views(Option(True), 640).metrics
    assert (parts["shape"].band, parts["slope"].band) == (102, 102)


def test_no_view_is_dropped(rng):
    for X in (rhythms(rng)[0], drifts(rng)[0], rng.normal(size=(20, 15, 2))):
        views = choose_series(X, 2).metric
        assert set(views.weights) == set(VIEWS)
        assert min(views.weights.values()) >= LEAST_WEIGHT
        assert max(views.weights.values()) == 1.0
        assert views.shown == "shape"


def test_neither_the_order_nor_copies_matter(rng):
    X, _ = rhythms(rng)
    found, order = choose_series(X, 2), rng.permutation(len(X))
    for other in (X[order], np.concatenate([X, X[order]]), list(X)):
        again = choose_series(other, 2)
        assert again.metric == found.metric
        np.testing.assert_allclose([t.clarity for t in again.tried], [t.clarity for t in found.tried], atol=1e-9)


def test_many_and_long_series_are_made_fewer_and_shorter(rng):
    rows = list(rng.normal(size=(3 * MOST, 20, 1)))
    assert len(different_series(rows, 3)) == MOST
    assert len(different_series(rows, 20)) == 160
    assert len(shortened(rows[:3], 10.0)[0]) == 10
    assert len(shortened(rows[:3], 100.0)[0]) == 20


def test_where_there_is_nothing_to_compare_all_count_alike(rng):
    X, _ = rhythms(rng)
    assert choose_series(X[5:13], 2).tried  # four a cluster
    few = choose_series(X[5:12], 2)
    assert few.metric == series_views(Option(False))
    assert few.tried == ()
    assert "too few different series to judge by" in few.reason
    assert "one cluster gives nothing" in choose_series(X, 1).reason
    assert choose_series(np.repeat(X[:1], 30, axis=0), 2).tried == ()
    short = choose_series([row[:2] for row in X], 2)
    assert (short.metric, short.tried) == ("softdtw", ())


def test_the_matrix_is_that_of_the_metric(rng):
    X = rng.normal(size=(20, 12, 2))
    for metric in (SoftDTW(), ConvolutionFeatures()):
        np.testing.assert_allclose(distances(metric, list(X)), series_distances(X, metric=metric), atol=1e-9)
    assert all(np.array_equal(d, d.T) for d in [distances(m, list(X)) for m in view_metrics(True).values()])


def test_groups_are_those_of_k_means(rng):
    x = np.concatenate([rng.normal(size=(10, 2)), 8 + rng.normal(size=(14, 2))])
    squares = ((x[:, None] - x) ** 2).sum(-1)
    labels = k_means_labels(squares, 2)
    assert adjusted_rand_index(labels, np.repeat([0, 1], [10, 14])) == 1.0
    means = np.stack([x[labels == k].mean(0) for k in range(2)])
    np.testing.assert_array_equal(((x[:, None] - means) ** 2).sum(-1).argmin(1), labels)


def test_medoids_are_the_best_there_are(rng):
    for _ in range(5):
        x = rng.normal(size=(14, 2))
        d = np.linalg.norm(x[:, None] - x, axis=-1)
        labels = k_medoids_labels(d, 3)
        costs = {m: d[:, m].min(1).sum() for m in combinations(range(14), 3)}
        cost = sum(d[np.ix_(labels == k, labels == k)].sum(0).min() for k in range(3))
        assert cost <= 1.03 * min(costs.values())


def test_what_is_kept_together():
    place = np.array([0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3])
    d = np.abs(place[:, None] - place)
    halves = np.repeat([0, 1], 4)
    assert neighbours_together(d, halves, 2) == 1.0
    # Three neighbours each: of the other kind two of three, beyond chance (three of seven) by less than nothing.
    assert neighbours_together(d, np.arange(8) % 2, 2) == pytest.approx((1 / 3 - 3 / 7) / (1 - 3 / 7))
    assert neighbours_together(d, np.zeros(8, dtype=int), 2) == 0.0
    assert neighbours_together(d**3, halves, 2) == 1.0  # only the order matters


def test_where_the_number_is_not_known_one_combination_serves_all(rng):
    X, _ = rhythms(rng, 15)
    choice = choose_n_clusters(X, estimator=SoftECM(n_init=2, random_state=0), candidates=[2, 3])
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


class Stopped(BaseException):
    """Like Ctrl-C, without a signal."""


def stop_at_once(progress):
    raise Stopped


def test_links_and_checkpoints_go_with_it(rng, tmp_path):
    X, y = drifts(rng)
    make = partial(SoftECM, 2, n_init=2, random_state=0)
    whole, a, b = make().fit(X), *(int(np.flatnonzero(y == k)[0]) for k in (0, 1))
    linked = make().fit(X, must_link=[(a, b)], constraint_weight=30.0)
    assert whole.labels_[a] != whole.labels_[b]
    assert linked.labels_[a] == linked.labels_[b]
    assert linked.metric_reason_ == whole.metric_reason_
    with pytest.raises(Stopped):
        make(callback=stop_at_once).fit(X, checkpoint=tmp_path / "c", checkpoint_every=1)
    resumed = make().fit(X, resume=tmp_path / "c")
    np.testing.assert_array_equal(resumed.partition_.masses, whole.partition_.masses)
    assert resumed.metric_reason_ == whole.metric_reason_


def test_a_sweep_finds_what_a_fit_finds(rng):
    X, _ = drifts(rng)
    estimator = SoftECM(2, metric="series-auto", n_init=2)
    found = sweep(X, {"beta": [1.2, 1.5]}, estimator=estimator, seeds=1)
    alone = clone(estimator).set_params(beta=1.5, random_state=0).fit(X)
    assert found.columns["objective"][1] == pytest.approx(alone.objective_)


def test_what_is_not_for_it_is_refused(rng):
    pd = pytest.importorskip("pandas")
    X, _ = rhythms(rng)
    model = SoftECM(2, metric="series-auto")
    with pytest.raises(ValueError, match=r"metric='series-auto' must have series, .*; got a table"):
        model.fit(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    with pytest.raises(
        ValueError, match=r"under metric='series-auto'; got shape \(18, 1, 24\), which looks like aeon's"
    ):
        model.fit(X.transpose(0, 2, 1))
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


def unlike(rng):
    """Realistic data: very short and very long series, flat ones, and a missing value."""
    X = [np.sin(np.arange(n) / 5) + 0.1 * rng.normal(size=n) for n in np.geomspace(3, 3000, 12).astype(int)]
    X[5], X[6][2] = np.full(40, 3.0), np.nan
    return X


def test_lengths_from_3_to_3000_flat_series_and_missing_values_have_an_answer(rng):
    X = unlike(rng)
    model = SoftECM(2, n_init=2, random_state=0).fit(X)
    assert model.metric_reason_.startswith("series are compared by shape (")
    assert np.isfinite(model.explain(X)).all()
    np.testing.assert_allclose(model.predict_partition(X).masses, model.partition_.masses, atol=1e-9)


def test_series_of_100_000_steps_are_weighed(rng):
    steps = np.arange(100_000)
    X = [np.sin(speed * steps) + 0.1 * rng.normal(size=len(steps)) for speed in (0.001, 0.003) for _ in range(4)]
    found = choose_series([row[:, None] for row in X], 2)
    assert found.tried[0].clarity == 1.0
    assert found.metric.metrics[SHAPE].band == 8


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda X: X[:, :1], "series of at least 2 steps; got 1 in series 1"),
        (lambda X: np.where(np.arange(2) == 1, np.nan, X), "only NaN in channel 2 of series 1"),
        (lambda X: np.where(np.arange(9)[:, None, None] == 4, np.nan, X), "only NaN in series 5"),
    ],
    ids=["one step", "a channel without values", "a series without values"],
)
def test_series_without_anything_to_compare_are_named(rng, spoil, said):
    with pytest.raises(ValueError, match=said):
        SoftECM(2).fit(spoil(rng.normal(size=(9, 20, 2))))
