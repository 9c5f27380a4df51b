"""Invalid input, and its error messages: parameter, rule, value, remedy."""

import datetime

import numpy as np
import pytest

import softecm
from softecm import FocalSets, GradientDescent, SoftECM

X = np.random.default_rng(0).normal(size=(12, 2))

PARAMETERS = [
    ({"n_clusters": 0}, r"n_clusters must be a whole number of at least 1; got 0\. Pass"),
    ({"n_clusters": 2.5}, r"n_clusters must be a whole number of at least 1; got 2\.5"),
    ({"n_clusters": 13}, r"n_clusters must be at most the number of objects; got n_clusters=13 for n_samples=12\. Use"),
    (
        {
            "n_clusters": 200,
            "max_cardinality": 2,
            "relaxation": "penalty",
            "init": "random",
            "n_init": 10**4,
            "data": np.zeros((300, 2)),
        },
        r"n_clusters must leave a number of sets that fits in memory; got 200",
    ),
    ({"beta": 1.0}, r"beta must be greater than 1; got 1\.0\. Values from 1\.1 to 2 are usual: larger spreads mass"),
    ({"beta": 0.5}, r"beta must be greater than 1; got 0\.5"),
    ({"beta": "two"}, r"beta must be a number greater than 1; got 'two'"),
    ({"beta": float("nan")}, r"beta must be a number greater than 1; got nan"),
    ({"alpha": -1}, r"alpha must be at least 0 and at most 100; got -1"),
    ({"delta": 0}, r"delta must be greater than 0; got 0\. 'auto' takes it from the data; None switches outliers off"),
    ({"delta": -3.0}, r"delta must be greater than 0; got -3\.0"),
    ({"delta": "big"}, r"delta must be one of 'auto'; got 'big'"),
    ({"lam": -0.1}, r"lam must be at least 0 and at most 1e\+200; got -0\.1"),
    ({"relaxation": "hard"}, r"relaxation must be one of 'auto', 'penalty', 'gap', 'exact'; got 'hard'"),
    ({"metric": "euclid"}, r"metric must be one of 'auto', 'series-auto', 'sqeuclidean',.*got 'euclid'"),
    ({"metric": 3}, r"metric must be a name, a SemiMetric or a torch function d\(x, v\); got 3"),
    ({"init": "kmeans"}, r"init must be one of 'auto', 'k-means\+\+', 'random'; got 'kmeans'"),
    ({"init": [[0.0, 0.0]]}, r"init must have one row per cluster, 2; got 1"),
    ({"init": [[0.0], [1.0]]}, r"init must have shape \(n_clusters, 2\), one row per cluster; got shape \(2, 1\)"),
    ({"n_init": 0}, r"n_init must be a whole number of at least 1; got 0"),
    ({"max_iter": 0}, r"max_iter must be a whole number of at least 1; got 0"),
    ({"tol": -1}, r"tol must be at least 0; got -1"),
    ({"solver": "adam"}, r"solver must be one of 'auto', 'gradient', 'descent'; got 'adam'"),
    ({"solver": 3}, r"solver must be 'auto', 'gradient', 'descent' or a GradientDescent; got 3"),
    ({"dtype": "int8"}, r"dtype must be one of 'float64', 'float32'; got 'int8'"),
    ({"device": "abacus"}, r"device must be 'auto', 'cpu' or a torch device such as 'cuda:0'; got 'abacus'"),
    ({"n_jobs": 0}, r"n_jobs must be None or a whole number other than 0; got 0"),
    ({"callback": 7}, r"callback must be a function of one argument or None; got 7"),
    ({"focal_sets": [(0,), (0, 1)]}, r"focal_sets.*must hold every single cluster|missing|lack"),
    ({"focal_sets": FocalSets.full(3)}, r"focal_sets.*n_clusters"),
    ({"max_cardinality": 0}, r"max_cardinality must be"),
]

DATA = [
    (
        np.where(np.arange(24).reshape(12, 2) == 5, np.nan, X),
        r"contains NaN: this metric can't handle missing values\. SoftECM\(metric='mixed'\) can",
    ),
    (np.where(np.arange(24).reshape(12, 2) == 5, np.inf, X), r"contains infinity"),
    (
        np.array([["a", "b"]] * 12, dtype=object),
        r"numbers only; column 1 \(X\[:, 0\]\) holds text \('a' in row 1 \(X\[0\]\)\)\. Use SoftECM",
    ),
    (X[:0], r"0 sample"),
    (X[:1], r"n_clusters must be at most the number of objects; got n_clusters=2 for n_samples=1\."),
    (X[:, 0], r"Expected 2D array, got 1D array"),
    (X * 1e160, r"X must hold numbers of at most 1e\+150 in size; got .*divide by a constant first"),
    (X + 1j, r"Complex data not supported"),
]

WEIGHTS = [
    (-np.ones(12), r"sample_weight must not be negative; got -1 for object 1"),
    (np.zeros(12), r"sample_weight must not be zero for every object"),
    (np.ones(5), r"sample_weight.*shape|Number of samples"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS, ids=lambda v: str(v)[:40])
def test_parameters(parameters, message):
    parameters = dict(parameters)
    data = parameters.pop("data", X)
    with pytest.raises(ValueError, match=message):
        SoftECM(**parameters).fit(data)


@pytest.mark.parametrize(("data", "message"), DATA, ids=[m for _, m in DATA])
def test_data(data, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SoftECM(2, metric="sqeuclidean").fit(data)


@pytest.mark.parametrize(("weights", "message"), WEIGHTS, ids=[m for _, m in WEIGHTS])
def test_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        SoftECM(2).fit(X, sample_weight=weights)


def test_prediction_with_other_columns():
    model = SoftECM(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but SoftECM is expecting 2 features"):
        model.predict(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["learning_rate", "inner_tol", "inner_steps"])
def test_gradient_descent(name):
    with pytest.raises(ValueError, match=rf"{name} must be greater than 0; got 0\. The default is"):
        GradientDescent(**{name: 0})


def test_asking_for_a_gpu_that_is_not_there():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(ValueError, match=r"device must be one that is there; got 'cuda', and torch finds no GPU\. Use"):
        SoftECM(2, device="cuda").fit(X)


@pytest.mark.parametrize("name", ["ECM", "FCM", "EGMM", "EKNNClus", "NNEVCLUS", "BPEC", "TECM", "WMVEC"])
def test_words_and_dates_are_named_where_numbers_are_needed(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": X[:, 0], "colour": ["red", "blue"] * 6})
    days = pd.DataFrame({"size": X[:, 0], "day": pd.date_range("2020-01-01", periods=12)})
    estimator = getattr(softecm, name)()
    with pytest.raises(ValueError, match=r"column 'colour' holds text \('red' in row 1 .*Use SoftECM.*turn the column"):
        estimator.fit(frame)
    for given in (days, days[["day"]]):
        with pytest.raises(ValueError, match=r"column 'day' holds dates\. Use SoftECM"):
            estimator.fit(given)
    with pytest.raises(ValueError, match=r"column 2 \(X\[:, 1\]\) holds dates"):
        estimator.fit([[1.0, datetime.date(2020, 1, day)] for day in range(1, 13)])
    with pytest.raises(ValueError, match=r"column 1 \(X\[:, 0\]\) holds durations"):
        estimator.fit(np.arange(12).astype("m8[D]")[:, None])


@pytest.mark.parametrize("name", ["EGMM", "NNEVCLUS", "MECMdd", "TECM", "WMVEC"])
def test_more_clusters_than_objects_are_refused(name):
    given = X if name != "MECMdd" else np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    estimator = getattr(softecm, name)(13, **({"max_cardinality": 1} if name != "MECMdd" else {"focal_sets": "simple"}))
    with pytest.raises(ValueError, match=r"n_clusters must be at most the number of objects; got n_clusters=13"):
        estimator.fit(given)


def test_more_neighbours_than_there_are_others_are_refused():
    with pytest.raises(ValueError, match=r"n_neighbors must be .*12.*"):
        softecm.EKNNClus(n_neighbors=12).fit(X)
