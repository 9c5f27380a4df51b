"""ECMdd: medoids against brute force, cycles, metrics."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from pure import ecmdd
from softecm import ECMdd, FocalSets, load_model
from softecm.algorithms.ecmdd import Ranking, best_objects, set_medoids
from softecm.datasets import load_diamond, make_blobs
from softecm.distances.estimator_metrics import mixed_with_clusters as mixed
from softecm.objective.equations import update_masses
from softecm.scores import adjusted_rand_index


@pytest.mark.parametrize("seed", range(10))
def test_medoids_are_the_best_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    prices = rng.integers(0, 4, size=(3, 7)).astype(float)  # ties and conflicts are frequent
    alike = Ranking(np.ones((7, 7)))
    chosen = best_objects(prices, alike, np.arange(3))
    assert len(set(chosen.tolist())) == 3
    least = min(sum(prices[k, z] for k, z in enumerate(choice)) for choice in permutations(range(7), 3))
    assert prices[np.arange(3), chosen].sum() == least


@pytest.mark.parametrize("seed", range(5))
def test_set_medoids_are_the_best_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    d = cdist(*[rng.normal(size=(9, 2))] * 2)
    focal = FocalSets.full(3)
    clusters = rng.choice(9, 3, replace=False)[None]
    found = set_medoids(Ranking(d), focal, clusters, 0.7)[0]
    for a, members in enumerate(focal.sets[3:]):
        costs = [np.var(t) + 0.7 * np.mean(t) for t in ([d[z, clusters[0, k]] for k in members] for z in range(9))]
        assert costs[found[a]] == pytest.approx(min(costs))


def test_a_round_is_the_definition():
    rng = np.random.default_rng(3)
    d = torch.as_tensor(cdist(*[rng.normal(size=(12, 2))] * 2))
    focal = FocalSets.full(2)
    found = ecmdd(d, focal, np.array([[0, 1]]), beta=1.5, delta=2.0, gamma=0.3, max_iter=1)
    medoids = np.concatenate([[0, 1], set_medoids(Ranking(d.numpy()), focal, np.array([[0, 1]]), 1.0)[0]])
    tau = d.numpy()[:, medoids]
    to_set = (tau[:, 2] + 0.3 / 2 * (tau[:, 0] + tau[:, 1])) / 1.3
    expected = np.column_stack([tau[:, :2], to_set])
    np.testing.assert_allclose(mixed(torch.as_tensor(tau), focal, 0.3), expected)
    m = update_masses(torch.as_tensor(expected), focal, 1.0, 1.5, 2.0).numpy()
    price = np.array([1.0, 1.0, 2.0]) * expected
    assert found.history[0][0] == pytest.approx((m[:, 1:] ** 1.5 * price).sum() + 4.0 * (m[:, 0] ** 1.5).sum())
    new = [int((m[:, 1 + k] ** 1.5 @ d.numpy()).argmin()) for k in range(2)]
    if found.objective[0] == found.history[0][1]:
        assert found.prototypes[0, :2].long().tolist() == new


def test_the_best_round_is_kept_and_runs_end(many):
    for seed in range(many):
        rng = np.random.default_rng(seed)
        d = rng.integers(0, 5, size=(15, 15)).astype(float)  # not a metric: the objective may rise and cycle
        d = np.triu(d, 1) + np.triu(d, 1).T
        starts = np.stack([rng.choice(15, 3, replace=False) for _ in range(5)])
        found = ecmdd(torch.as_tensor(d), FocalSets.up_to(3, 2), starts, beta=2.0, delta=1.0)
        assert found.converged.all()
        np.testing.assert_array_equal(found.objective, [h.min() for h in found.history])
        assert all(len(set(z[:3].tolist())) == 3 for z in found.prototypes)


def test_metric_and_matrix_agree():
    x = make_blobs(40, between=4, random_state=0).data
    by_metric = ECMdd(3, metric="sqeuclidean", random_state=0).fit(x)
    by_matrix = ECMdd(3, random_state=0).fit(pairwise_distances(x, metric="sqeuclidean"))
    np.testing.assert_array_equal(by_metric.medoids_, by_matrix.medoids_)
    np.testing.assert_allclose(by_metric.partition_.masses, by_matrix.partition_.masses, atol=1e-8)
    np.testing.assert_array_equal(by_metric.prototypes_, x[by_metric.medoids_])
    np.testing.assert_array_equal(by_matrix.prototypes_, by_matrix.medoids_)


def test_finds_groups():
    blobs = make_blobs(200, n_clusters=4, n_features=4, distance=8.0, random_state=0)
    model = ECMdd(4, metric="sqeuclidean", random_state=0).fit(blobs.data)
    assert adjusted_rand_index(blobs.target, model.labels_) > 0.95


def test_an_object_without_weight_is_no_medoid():
    d = pairwise_distances(load_diamond().data)
    free = ECMdd(2, random_state=0).fit(d)
    weights = np.ones(12)
    weights[free.medoids_] = 0.0
    model = ECMdd(2, random_state=0).fit(d, sample_weight=weights)
    assert not set(model.medoids_) & set(free.medoids_)
    with pytest.raises(ValueError, match=r"init must hold objects whose sample_weight is not 0"):
        ECMdd(2, init=free.medoids_[:2]).fit(d, sample_weight=weights)


def test_a_model_with_a_metric_is_saved(tmp_path):
    x = load_diamond().data
    model = ECMdd(2, metric="sqeuclidean", random_state=0).fit(x)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load_model(tmp_path / "m.safetensors").predict_proba(x), model.predict_proba(x))


@pytest.mark.filterwarnings("ignore")  # invalid input on purpose
@parametrize_with_checks([ECMdd(metric="sqeuclidean")])
def test_manners_of_scikit_learn(estimator, check):
    assert check(estimator) is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": -1}, r"gamma must be at least 0; got -1"),
        ({"eta": "x"}, r"eta must be a number at least 0; got 'x'"),
        ({"init": [1, 99]}, r"init must hold different numbers of objects, from 0 to 11"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ECMdd(2, **parameters).fit(pairwise_distances(load_diamond().data))


@pytest.mark.parametrize("seed", [4, 11, 25])  # with many candidates, distinguished only by their counts
def test_of_equally_good_medoids_the_same_is_taken_for_weights_and_for_copies(seed):
    rng = np.random.default_rng(seed)
    X, counts = np.repeat([[0, 0], [9, 0]], 8, 0) + rng.integers(0, 3, (16, 2)), rng.integers(1, 4, 16)
    d, rows = cdist(X, X, "cityblock"), np.repeat(np.arange(16), counts)
    model = ECMdd(2, init="k-means++", max_cardinality=2, delta=9.0, random_state=0)
    weighed = X[model.fit(d, sample_weight=counts.astype(float)).medoids_]
    np.testing.assert_array_equal(X[rows][model.fit(d[rows][:, rows]).medoids_], weighed)
