"""Every metric, alone and as one of several views, and every metric of an estimator predicts the same after loading."""

import inspect
import warnings

import numpy as np
import pytest
import torch

from softecm import CCM, RECM, TECM, WMVEC, CatECM, ECMdd, SoftECM, load_model
from softecm.distances import SEMI_METRICS, Combined, Mixed, SemiMetric
from softecm.files.values import CLASSES

N = 12
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(N, 2)) + np.repeat([[1.0, 1.0], [7.0, 9.0]], N // 2, 0)
WORDS = np.array(["low", "high", "middle"], dtype=object)[RNG.integers(3, size=(N, 3))]
OBJECTS = {
    "Table": np.column_stack([POINTS.astype(object), WORDS]),
    "TimeSeries": np.sin(np.arange(6.0) * POINTS[:, :1])[..., None],
    "States": [["home"] * a + ["ward"] * b for a, b in RNG.integers(1, 5, (N, 2))],
    "Dissimilarities": np.linalg.norm(POINTS[:, None] - POINTS, axis=-1),
}
QUICK = {"n_init": 1, "max_iter": 3, "random_state": 0, "init": "k-means++"}
VIEWED = [name for name, kind in SEMI_METRICS.items() if not kind.discrete]


def objects(metric):
    """Raw objects for a metric."""
    space = metric.make_space()
    if type(space).__name__ in OBJECTS:
        return OBJECTS[type(space).__name__]
    return metric.samples(torch.Generator().manual_seed(0), N).numpy()


def first(X, n=5):
    return {view: rows[:n] for view, rows in X.items()} if isinstance(X, dict) else X[:n]


def check_saved(estimator, X, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three iterations don't converge
        model = estimator.fit(X)
        model.save(folder / "model.safetensors")
        again = load_model(folder / "model.safetensors")
        expected, predicted = model.predict_partition(first(X)), again.predict_partition(first(X))
    assert type(again.metric_) is type(model.metric_)
    assert again.partition_ == model.partition_
    np.testing.assert_array_equal(predicted.masses, expected.masses)
    return type(model.metric_)


@pytest.mark.parametrize("name", SEMI_METRICS)
def test_a_metric_is_saved_and_loaded(name, tmp_path):
    metric = SEMI_METRICS[name]()
    check_saved(SoftECM(2, metric=metric, **QUICK), objects(metric), tmp_path)


@pytest.mark.parametrize("name", VIEWED)
def test_a_metric_is_saved_and_loaded_as_one_view_of_several(name, tmp_path):
    part = Mixed(weights=None) if name == "mixed" else SEMI_METRICS[name]()
    X = {"one": objects(part), "other": POINTS}
    check_saved(SoftECM(2, metric=Combined({"one": part, "other": "sqeuclidean"}), **QUICK), X, tmp_path)


def test_every_metric_of_an_estimator_is_saved_and_loaded(tmp_path):
    d = OBJECTS["Dissimilarities"]
    estimators = [
        (CCM(2, **QUICK), POINTS),
        (TECM(2, source=[[0.0, 0.0], [1.0, 1.0]], form="matched", **QUICK), POINTS),
        (WMVEC(2, features=True, **QUICK), POINTS),
        (CatECM(2, **QUICK), WORDS),
        (RECM(2, **QUICK), d),
        (ECMdd(2, **QUICK), d),
        (SoftECM(2, metric="precomputed", max_cardinality=2, n_init=1, random_state=0), d),
    ]
    kinds = {check_saved(estimator, X, tmp_path) for estimator, X in estimators}
    listed = {*SEMI_METRICS.values(), Combined}
    savable = {k for k in CLASSES.values() if issubclass(k, SemiMetric) and not inspect.isabstract(k)}
    assert kinds | listed >= savable, (
        "a metric that files may hold, and that no test saves: add an estimator that has it"
    )
