"""BPEC against R, and the automatic choice of peaks."""

import numpy as np
import pytest
import torch
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from golden import load, partition
from problems import DATA_CHECKS, largest_rise
from softecm import BPEC, FocalSets, load_model
from softecm.algorithms import eknnclus as neighbours_module
from softecm.algorithms.adaptive import adaptive_metric
from softecm.algorithms.bpec import bpec, delta_bel
from softecm.datasets import load_diamond, make_blobs
from softecm.objective.equations import mass_cost, update_masses
from softecm.scores import adjusted_rand_index


@pytest.mark.parametrize("number", [0, 1])
def test_the_graph_meets_r(number):
    file = load("delta_bel_bpec")
    case = file["delta_bel"][number]
    graph = delta_bel(np.array(file["datasets"][case["data"]]), case["K"], case["q"])
    np.testing.assert_allclose(graph.bel, case["BelC"], atol=1e-8)
    np.testing.assert_allclose(graph.delta, case["delta"], atol=1e-8)


@pytest.mark.parametrize("number", [0, 1])
def test_masses_meet_r(number):
    file = load("delta_bel_bpec")
    case = file["bpec"][number]
    expected = partition(case["output"]["F"], case["output"]["mass"])
    focal = expected.focal_sets
    x = torch.tensor(file["datasets"][case["data"]], dtype=torch.float64)
    centers = torch.tensor(case["g"], dtype=x.dtype)
    prices = {k: float(case[k]) for k in ("alpha", "beta", "delta")}
    cost = mass_cost(focal, **prices, like=x)
    adaptive = case["distance"] == "mahalanobis"
    found = bpec(x, centers, focal, cost, adaptive=adaptive, tol=0.0, max_iter=40)
    if adaptive:  # R stops when J moves by less than epsi
        rounds = int(np.argmax(-np.diff(found.history[0]) <= case["epsi"])) + 1
        assert largest_rise(found.history[0]) <= 1e-12
        found = bpec(x, centers, focal, cost, adaptive=True, tol=0.0, max_iter=rounds)
    to_sets = adaptive_metric(found.extras["matrices"][0], focal).pairwise(x, found.prototypes[0])
    np.testing.assert_allclose(update_masses(to_sets, focal, **prices), expected.masses, atol=1e-8)
    np.testing.assert_allclose(found.history[0][-1], case["output"]["crit"], rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("c", [2, 3, 5])
def test_finds_the_number_of_groups(seed, c):
    blobs = make_blobs(60 * c, n_clusters=c, n_features=c, distance=8.0, random_state=seed)
    model = BPEC().fit(blobs.data)
    assert model.n_clusters_ == c
    assert adjusted_rand_index(blobs.target, model.labels_) > 0.95
    np.testing.assert_array_equal(model.cluster_centers_, blobs.data[model.peaks_])


def test_masses_are_those_of_the_peaks():
    x = load_diamond().data
    model = BPEC(peaks=[2, 8], delta=5.0).fit(x)
    to_sets = torch.as_tensor(np.square(x[:, None] - model.prototypes_).sum(-1))
    expected = update_masses(to_sets, FocalSets.full(2), 1.0, 2.0, 5.0)
    np.testing.assert_allclose(model.partition_.masses, expected, atol=1e-12)


def test_adaptive_metric_follows_elongated_groups(rng):
    x = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + np.array([0, 4])]) * [6.0, 1.0]
    y = np.repeat([0, 1], 100)
    peaks = [int(np.square(x - [0, 0]).sum(1).argmin()), int(np.square(x - [0, 4]).sum(1).argmin())]
    plain = BPEC(peaks=peaks).fit(x)
    adaptive = BPEC(peaks=peaks, metric="adaptive").fit(x)
    assert largest_rise(adaptive.history_) <= 1e-12
    assert adjusted_rand_index(y, adaptive.labels_) > 0.8 >= 0.5 > adjusted_rand_index(y, plain.labels_) - 0.5
    np.testing.assert_allclose(adaptive.predict_partition(x).masses, adaptive.partition_.masses)


def test_repeated_objects_are_one_peak():
    x = np.concatenate([np.zeros((5, 2)), np.full((5, 2), 9.0), np.random.default_rng(0).normal(size=(6, 2))])
    graph = delta_bel(x, 4)
    assert np.isfinite(graph.bel).all()
    assert len(np.unique(x[graph.peaks(2)], axis=0)) == 2


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
def test_a_saved_model_answers_the_same(metric, tmp_path):
    x = make_blobs(40, random_state=0).data
    model = BPEC(3, metric=metric).fit(x)
    model.save(tmp_path / "m.safetensors")
    loaded = load_model(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(loaded.delta_bel_.bel, model.delta_bel_.bel)


@pytest.mark.filterwarnings("ignore")  # invalid input on purpose
@DATA_CHECKS
def test_manners_of_scikit_learn_with_learned_matrices(check):
    check("BPEC", BPEC(metric="adaptive", max_iter=20))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, r"n_clusters must be a whole number of at least 1; got 0"),
        ({"q": 1.5}, r"q must be greater than 0 and at most 1; got 1\.5"),
        ({"metric": "mahalanobis"}, r"metric must be one of 'euclidean', 'adaptive'; got 'mahalanobis'"),
        ({"peaks": [0, 40]}, r"peaks must hold different numbers of objects, from 0 to 11"),
        ({"peaks": [0, 4], "n_clusters": 3}, r"peaks must hold different numbers of objects, from 0 to 11, 3 of them"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        BPEC(**parameters).fit(load_diamond().data)


def test_dissimilarities_are_refused():
    with pytest.raises(ValueError, match=r"X must hold one object per row; .*looks like dissimilarities\. Use SoftECM"):
        BPEC().fit(pairwise_distances(load_diamond().data))


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("piece", [1.0, 1e4, 1e9])
def test_neighbours_found_in_pieces_are_those_of_all_at_once(piece, copies, rng, monkeypatch):
    monkeypatch.setattr(neighbours_module, "PIECE", piece)
    x = rng.normal(size=(60, 3))
    x = x[rng.integers(0, 12, 60)] if copies else x
    near, neighbours = neighbours_module.nearest_others(x, 7)
    expected, which = NearestNeighbors(n_neighbors=7).fit(x).kneighbors()
    np.testing.assert_allclose(near, expected, atol=1e-12)
    assert (neighbours != np.arange(60)[:, None]).all()
    if not copies:
        np.testing.assert_array_equal(neighbours, which)
