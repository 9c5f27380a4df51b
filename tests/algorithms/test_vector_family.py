"""Common properties of the algorithms on vectors: descent, restarts, files, pickles, weights."""

import pickle

import numpy as np
import pytest
import torch

from problems import DATA_CHECKS, largest_rise, random_problem
from pure import adaptive_ecm, bcm, ccm
from softecm import BCM, CCM, CECM, FCM, ECMPlus, load_model
from softecm.datasets import make_blobs

FAMILY = [FCM, CCM, BCM, ECMPlus, CECM]
names = pytest.mark.parametrize("cls", FAMILY, ids=lambda cls: cls.__name__)
quiet = pytest.mark.filterwarnings(
    "ignore:prototypes of different clusters have merged",
    "ignore:no mass is on",
    "ignore:.*has not converged",
    "ignore:most objects belong nowhere",
)


@quiet
@DATA_CHECKS
def test_scikit_learn_rules_hold_with_learned_matrices(check):
    check("CECM", CECM(n_init=1, max_iter=10, metric="adaptive", random_state=0))


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, n_clusters=3, between=3, outliers=2, random_state=0)


@names
def test_fitted_attributes_agree_with_each_other(cls, blobs):
    model = cls(3, n_init=3, init="k-means++", random_state=0).fit(blobs.data)
    f = len(model.focal_sets_)
    assert model.partition_ == model.predict_partition(blobs.data)
    assert model.prototypes_.shape == (f, 2)
    assert model.transform(blobs.data).shape == (95, f)
    assert len(model.runs_) == 3
    assert model.objective_ == pytest.approx(model.history_[-1])
    assert model.runs_["objective"].min() == pytest.approx(model.objective_)
    assert model.score(blobs.data) == pytest.approx(-model.objective_ / 95, rel=1e-9)
    np.testing.assert_allclose(model.explain(blobs.data).sum(-1), model.transform(blobs.data), rtol=1e-9, atol=1e-12)
    clear = blobs.target >= 0
    same = model.labels_[clear][:, None] == model.labels_[clear]
    assert (same == (blobs.target[clear][:, None] == blobs.target[clear])).mean() > 0.95


@names
def test_files_and_pickles_predict_the_same(cls, blobs, tmp_path):
    model = cls(3, n_init=2, random_state=0).fit(blobs.data)
    model.save(tmp_path / "model.safetensors")
    for copy in load_model(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model)):
        assert type(copy) is cls
        assert copy.predict_partition(blobs.data) == model.partition_
        assert copy.get_params()["n_clusters"] == 3


@names
def test_a_weight_of_two_is_an_object_given_twice(cls, blobs):
    X = blobs.data
    weights = np.ones(len(X))
    weights[::7] = 2.0
    delta = {} if cls is FCM else {"delta": 4.0}
    once = cls(3, **delta, n_init=1, random_state=0, tol=1e-6, max_iter=1000)
    twice = once.__class__(**once.get_params()).fit(np.concatenate([X, X[::7]]))
    once.fit(X, sample_weight=weights)
    np.testing.assert_allclose(once.cluster_centers_, twice.cluster_centers_, atol=1e-4)
    assert once.objective_ == pytest.approx(twice.objective_, rel=1e-6)


@names
def test_float32_and_warm_starts_reach_the_same_place(cls, blobs):
    start = blobs.data[:3]
    model = cls(3, init=start, tol=1e-4).fit(blobs.data)
    rough = cls(3, init=start, dtype="float32", tol=1e-3).fit(blobs.data)
    np.testing.assert_allclose(rough.cluster_centers_, model.cluster_centers_, atol=2e-2)
    before = model.objective_
    again = model.set_params(warm_start=True).fit(blobs.data)
    assert again.objective_ <= before * (1 + (1e-2 if cls is ECMPlus else 1e-9))  # its matrices start anew


@names
def test_a_callback_ends_the_fit(cls, blobs):
    seen = []
    once = {"n_init": 1, "init": "k-means++", "random_state": 0} | ({} if cls is FCM else {"delta": 4.0})
    with pytest.warns(match="has not converged after 2 iterations"):
        cls(3, **once, tol=0.0, callback=lambda p: seen.append(p.iteration) or p.iteration == 2).fit(blobs.data)
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CCM(gamma=-1), "gamma must be at least 0; got -1. 1 is usual"),
        (BCM(gamma="a"), "gamma must be a number at least 0; got 'a'"),
        (FCM(beta=1.0), "beta must be greater than 1; got 1.0"),
        (ECMPlus(centers="median"), "centers must be one of 'corrected', 'mean'; got 'median'"),
        (CECM(xi=1.0), "xi must be at least 0 and less than 1; got 1.0. 0.5 is usual"),
        (CECM(metric="manhattan"), "metric must be one of 'euclidean', 'adaptive'; got 'manhattan'"),
        (CECM(variant="r"), "variant must be one of 'article', 'evclust'"),
        (CCM(7), "n_clusters must be at most the number of objects; got n_clusters=7 for n_samples=6"),
        (ECMPlus(init=[[0.0, 0.0]]), "init must have one row per cluster, 2; got 1"),
    ],
)
def test_bad_parameters_are_named(model, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        model.fit(np.arange(12.0).reshape(6, 2))


def test_the_objective_never_rises(many):
    for seed in range(many // 2):
        problem = random_problem(seed)
        del problem["lam"]
        alpha = problem.pop("alpha")
        problem["init"] = problem["init"].repeat(2, 1, 1) + torch.tensor([0.0, 0.1]).reshape(2, 1, 1)
        gamma = float(np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 20.0]))
        solutions = [ccm(**problem, gamma=gamma, max_iter=20), bcm(**problem, gamma=gamma, max_iter=20)]
        for corrected in True, False:
            solutions.append(adaptive_ecm(**problem, alpha=alpha, corrected=corrected, max_iter=20).solution)
        for solution in solutions:
            assert max(map(largest_rise, solution.history)) <= 1e-9, (seed, solution.history)


@quiet
@names
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 2)),
        np.repeat([[0.0, 0.0], [1.0, 1.0]], 4, axis=0),
        np.column_stack([np.arange(8.0), np.zeros(8)]),
        1e6 + np.arange(16.0).reshape(8, 2) % 5,
        1e-8 * np.arange(16.0).reshape(8, 2) % 5e-8,
    ],
    ids=["equal", "two points", "constant column", "far from the origin", "small"],
)
def test_degenerate_data_give_masses(cls, X):
    model = cls(2, n_init=2, random_state=0).fit(X)
    assert np.isfinite(model.partition_.masses).all()
    assert np.isfinite(model.prototypes_).all()
