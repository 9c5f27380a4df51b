"""Slopes and normalized series as options of Soft-DTW and DTW."""

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM, load_model
from softecm.barycenters import barycenter
from softecm.distances import DTW, Combined, SoftDTW, series_distances
from softecm.spaces.series import TimeSeries
from softecm.spaces.transformed import TransformedSeries, normalized


def ramps(rng, n=16, unequal=False):
    """Rising and falling series at irrelevant levels, with one missing value."""
    y, X = np.arange(n) % 2, []
    for kind in y:
        t = np.linspace(0, 1, int(rng.integers(15, 22)) if unequal else 20)
        X.append((rng.normal(0, 5) + (1 - 2 * kind) * t**2 + 0.02 * rng.normal(size=len(t)))[:, None])
    X[0][4] = np.nan
    return X, y


def test_values_as_they_are_take_the_plain_space():
    assert type(SoftDTW().make_space()) is TimeSeries
    assert type(DTW().make_space()) is TimeSeries


@pytest.mark.parametrize("kind", [SoftDTW, DTW])
@pytest.mark.parametrize("znormalise", [False, True])
def test_slopes_are_first_differences(rng, kind, znormalise):
    X = [rng.normal(size=(n, 2)) for n in (9, 7, 12)]
    one = (lambda row: normalized(row)) if znormalise else (lambda row: row)
    slopes = [one(np.diff(one(row), axis=0)) for row in X]
    found = series_distances(X, metric=kind(of="slope", znormalise=znormalise))
    np.testing.assert_allclose(found, series_distances(slopes, metric=kind()), atol=1e-12)


def test_a_series_is_normalized_and_a_constant_channel_is_zero(rng):
    row = np.column_stack([rng.normal(5, 3, 10), np.full(10, 0.1)])
    z = normalized(row)
    np.testing.assert_allclose([z[:, 0].mean(), z[:, 0].std()], [0, 1], atol=1e-12)
    assert (z[:, 1] == 0).all()
    X = [row, 7 * row + 4]
    assert series_distances(X, metric=SoftDTW(znormalise=True)).max() < 1e-9


@pytest.mark.parametrize("unequal", [False, True])
def test_levels_do_not_count_by_slope(rng, tmp_path, unequal):
    X, y = ramps(rng, unequal=unequal)
    model = SoftECM(2, metric=SoftDTW(gamma="auto", of="slope"), n_init=2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    centers = model.cluster_centers_
    assert centers.shape == (2, int(np.median([len(x) - 1 for x in X])) + 1, 1)
    np.testing.assert_allclose(centers.mean(1), 0, atol=1e-12)
    rises = centers[:, -1, 0] - centers[:, 0, 0]
    assert rises.max() > 0.5
    assert rises.min() < -0.5
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), atol=1e-9)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").predict_partition(X) == model.predict_partition(X)
    again = SoftECM(2, metric=model.metric, init=centers, n_init=1).fit(X)
    assert adjusted_rand_score(y, again.labels_) == 1


def test_what_is_shown_has_the_prototypes_slopes(rng):
    space = TransformedSeries(of="slope").fit([rng.normal(size=(8, 2)) for _ in range(3)], dtype=torch.float64)
    v = torch.from_numpy(rng.normal(size=(4, 7, 2)))
    torch.testing.assert_close(space.encode_prototypes(space.decode(v)), v)
    aeon = TransformedSeries(layout="aeon", of="slope", n_channels=2, length=7)
    torch.testing.assert_close(aeon.encode_prototypes(aeon.decode(v)), v)


def test_blocks_choose_the_same_length(rng):
    X, _ = ramps(rng, unequal=True)
    space = TransformedSeries(of="slope")
    merged = space.describe(X[:5]).merge(space.describe(X[5:]))
    assert space.fit_described(merged, dtype=torch.float64) == space.fit(X, dtype=torch.float64)


def test_one_set_of_series_seen_in_several_ways(rng, tmp_path):
    X, y = ramps(rng)
    metric = Combined({"shape": SoftDTW(), "slope": SoftDTW(of="slope", znormalise=True), "texture": "texture"})
    model = SoftECM(2, metric=metric, n_init=2, random_state=0).fit(X)
    same = SoftECM(2, metric=metric, n_init=2, random_state=0).fit(dict.fromkeys(metric.names, X))
    assert same.partition_ == model.partition_
    assert {name: v.shape[1:] for name, v in model.prototypes_.items()} == dict.fromkeys(metric.names, (20, 1))
    assert model.explain(X).shape[2] == 3
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").predict_partition(X[:5]) == model.predict_partition(X[:5])
    only = SoftECM(2, metric=Combined({"slope": SoftDTW(of="slope", znormalise=True)}), n_init=2, random_state=0).fit(X)
    assert adjusted_rand_score(y, only.labels_) == 1


def test_mistakes_are_named(rng):
    with pytest.raises(ValueError, match="of must be one of 'values', 'slope'; got 'slopes'"):
        SoftDTW(of="slopes")
    with pytest.raises(ValueError, match="znormalise must be True or False"):
        DTW(znormalise=1)
    short = [rng.normal(size=(5, 1)), rng.normal(size=(2, 1))]
    with pytest.raises(ValueError, match=r"at least 3 steps, so that slopes can be compared; got 2 in series 2"):
        SoftECM(2, metric=SoftDTW(of="slope")).fit(short)
    with pytest.raises(ValueError, match="metric must be one between series"):
        barycenter([np.zeros((4, 1))], SoftDTW(of="slope"))
    fitted = SoftECM(2, metric=SoftDTW(of="slope"), random_state=0).fit(rng.normal(size=(6, 9)).cumsum(1))
    assert len(fitted.predict(rng.normal(size=(2, 9)))) == 2
    with pytest.raises(ValueError, match="must hold series; got a table"):
        fitted.predict(rng.normal(size=(2, 8)))
