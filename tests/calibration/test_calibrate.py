"""Calibrated masses: they state the intervals, cover what made the data, can be stopped and gone on with."""

import json

import numpy as np
import pandas as pd
import pytest

from softecm import ECM, EVCLUS, FCM, RECM, FocalSets, SoftECM, calibrate
from softecm.calibration import CalibrationInterrupted
from softecm.calibration import refits as module
from softecm.calibration.intervals import bounds
from softecm.calibration.posterior import Mixture, from_distances
from softecm.datasets import make_blobs
from softecm.distances import Mahalanobis, SquaredEuclidean

BLOBS = make_blobs(90, n_clusters=2, distance=3.5, random_state=0)
X = BLOBS.data


@pytest.fixture(scope="module")
def model() -> SoftECM:
    return SoftECM(2, random_state=0).fit(X)


@pytest.fixture(scope="module")
def found(model):
    return calibrate(model, X, n_boot=40)


def test_masses_state_the_intervals(found):
    assert found.partition.n_objects == 90
    assert found.misfit < 0.05
    told = found.coverage()
    assert told["after"]["inside"] == pytest.approx(0.9, abs=0.1)
    assert told["intervals"]["inside"] == pytest.approx(0.9, abs=0.08)
    assert set(told["before"]) == {"inside", "width"}
    low, high = found.interval(0, 1)
    assert (low, high) == pytest.approx(
        [one[0] for one in bounds(found.memberships, np.array([0]), np.array([1]), 0.9)]
    )
    with pytest.raises(IndexError, match="there are 90 objects, numbered from 0; got 90"):
        found.interval(0, 90)


def test_outliers_stay_what_they_are(model, found):
    np.testing.assert_allclose(found.partition.masses[:, 0], model.partition_.masses[:, 0])


def test_intervals_cover_what_made_the_data():
    """One mixture, drawn anew: the pair probability lies inside about as often as is said."""
    inside = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 200)
        objects = np.array([[0.0, 0], [3.5, 0]])[y] + rng.normal(size=(200, 2))
        odds = 1 / (1 + np.exp(-(3.5 * objects[:, 0] - 3.5**2 / 2)))
        truth = np.column_stack([1 - odds, odds])
        made = calibrate(SoftECM(2, random_state=0).fit(objects), objects, n_boot=40, pairs="none")
        i, j = rng.integers(0, 200, (2, 800))
        low, high = bounds(made.memberships, i, j, 0.9)
        together = (truth[i] * truth[j]).sum(1)
        inside.append(((together >= low) & (together <= high)).mean())
    assert 0.7 < np.mean(inside) <= 1.0


def test_stability_knows_what_holds(found):
    assert found.object_stability.shape == (90,)
    assert found.cluster_stability.min() > 0.75
    assert 0.5 < found.stability <= 1.0
    noise = np.random.default_rng(0).normal(size=(60, 2))
    loose = calibrate(SoftECM(4, n_init=1, random_state=0).fit(noise), noise, n_boot=19, warm=False, pairs="none")
    assert loose.cluster_stability.min() < 0.6
    assert loose.stability < found.stability
    frame = found.to_frame("pandas")
    assert {"before", "after", "stability", "low(ω1)", "high(ω2)"} <= set(frame.columns)


@pytest.mark.parametrize("kind", [ECM, FCM, RECM, EVCLUS])
def test_any_clusterer(kind):
    data = X[:45]
    if kind in (RECM, EVCLUS):
        data = np.sqrt(np.square(data[:, None] - data).sum(-1))
    fitted = kind(2, random_state=0).fit(data)
    made = calibrate(fitted, data, n_boot=20)
    assert made.partition.labels().shape == (45,)
    assert (made.partition.labels() == fitted.labels_).mean() > 0.9


def test_tables_and_series_and_new_fits():
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.where(BLOBS.target == 1, "a", "b")})[:30]
    table = SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(frame)
    assert calibrate(table, frame, n_boot=20).memberships.shape == (20, 30, 2)
    series = np.random.default_rng(0).normal(size=(20, 12, 1)) + 4 * (np.arange(20) % 2)[:, None, None]
    shapes = SoftECM(2, metric="series-euclidean", n_init=1, random_state=0).fit(series)
    assert calibrate(shapes, series, n_boot=20).object_stability.min() > 0.9
    again = calibrate(SoftECM(2, n_init=1, random_state=0).fit(X), X, n_boot=19, warm=False, pairs="none")
    assert again.cluster_stability.min() > 0.6


def test_the_same_with_a_journal_that_was_cut_short(model, tmp_path, monkeypatch):
    path = tmp_path / "refits.jsonl"
    whole = calibrate(model, X, n_boot=20, pairs="none")
    moved, calls = module._moved, []

    def stopped(ready, counts):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return moved(ready, counts)

    monkeypatch.setattr(module, "_moved", stopped)
    with pytest.raises(
        CalibrationInterrupted, match=r"interrupted with 7 of 20 refits done; with journal .* the same call goes on"
    ):
        calibrate(model, X, n_boot=20, pairs="none", journal=path)
    again = calibrate(model, X, n_boot=20, pairs="none", journal=path)
    assert len(calls) == 8 + 13
    np.testing.assert_array_equal(again.memberships, whole.memberships)
    more = calibrate(model, X, n_boot=22, pairs="none", journal=path)
    assert len(calls) == 8 + 13 + 2
    np.testing.assert_array_equal(more.memberships[:20], whole.memberships)
    with pytest.raises(ValueError, match="belongs to another calibration: its model differ"):
        calibrate(SoftECM(3, random_state=0).fit(X), X, n_boot=20, journal=path)


def test_a_damaged_row_is_done_again(model, tmp_path):
    path = tmp_path / "refits.jsonl"
    whole = calibrate(model, X, n_boot=20, pairs="none", journal=path)
    lines = path.read_text().splitlines()
    row = json.loads(lines[3])
    row["rows"][0]["memberships"] = "AAAA"
    path.write_text("\n".join([*lines[:3], json.dumps(row), *lines[4:]]) + "\n")
    with pytest.warns(UserWarning, match="is damaged in line 4"):
        again = calibrate(model, X, n_boot=20, pairs="none", journal=path)
    np.testing.assert_array_equal(again.memberships, whole.memberships)


def test_distances_of_a_mixture_are_the_metric_s(rng):
    import torch

    points, means = rng.normal(size=(30, 3)) + 50.0, rng.normal(size=(2, 3)) + 50.0
    for metric in (SquaredEuclidean(), Mahalanobis().learner.fitted(torch.from_numpy(points), None)):
        mixture = Mixture.of(metric, torch.from_numpy(points))
        wanted = metric.pairwise(torch.from_numpy(points), torch.from_numpy(means)).numpy()
        np.testing.assert_allclose(mixture.distances(means - points.mean(0)).T, wanted, atol=1e-9)


def test_probabilities_from_distances_are_those_of_gaussians(rng):
    y = rng.integers(0, 2, 4000)
    points = 3.0 * y[:, None] * np.array([1.0, 0.0]) + rng.normal(size=(4000, 2)) * np.where(y, 1.3, 1.0)[:, None]
    d = np.square(points[:, None] - np.array([[0.0, 0.0], [3.0, 0.0]])).sum(-1)
    logs = np.log(0.5) - d / (2 * np.array([1.0, 1.69])) - np.log(np.array([1.0, 1.69]))
    truth = np.exp(logs - np.logaddexp(*logs.T)[:, None])
    assert np.abs(from_distances(d, np.ones(4000), shape=1.0) - truth).max() < 0.06
    assert np.abs(from_distances(d, np.ones(4000)) - truth).mean() < 0.03


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"n_boot": 10},
            r"n_boot must be a whole number of at least 19; got 10\. An interval of 0\.9 needs",
        ),
        ({"level": 1.0}, "level must be greater than 0 and at most 0.999"),
        ({"pairs": "both"}, "pairs must be one of"),
        ({"resample": "twice"}, "resample must be one of"),
        ({"X": X[:50]}, "X must hold the 90 objects of the fit, in their order; got 50"),
        ({"model": "SoftECM"}, "model must be a fitted estimator of softecm; got str"),
        ({"model": SoftECM(1, random_state=0).fit(X)}, "at least two clusters"),
        ({"focal_sets": FocalSets.full(3)}, "focal_sets must be FocalSets of the model's 2 clusters"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_what_can_not_be_calibrated_is_refused(model, change, message):
    given = {"model": model, "X": X, "n_boot": 20, **change}
    with pytest.raises((ValueError, TypeError), match=message):
        calibrate(given.pop("model"), given.pop("X"), **given)


def test_an_unfitted_model_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        calibrate(SoftECM(2), X)
