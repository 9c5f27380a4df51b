"""EK-NNclus against R with its orders replayed, and the number of clusters."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

from golden import case_ids, load, partition
from softecm import EKNNClus
from softecm.algorithms.eknnclus import (
    LEAST,
    joined,
    masses_of_votes,
    nearest_in_matrix,
    nearest_others,
    propagate,
    scale_of,
    strength_of,
    votes_of,
)
from softecm.datasets import make_blobs
from softecm.kernels.votes import between
from softecm.scores import adjusted_rand_index

TIED = ("butterfly_K4", "iris_K30_q09_b2", "protein71_dissimilarities_K10")
NAMES = [name for _, name in case_ids("eknnclus")]


def _problem(case_id):
    """R's case with its own neighbours, and the orders of its trials."""
    file = load("eknnclus")
    case = next(c for c in file["cases"] if c["id"] == case_id)
    x = np.array(file["datasets"][case["data"]], dtype=float)
    d = x if case["data"] == "protein71" else cdist(x, x, "cityblock" if "manhattan" in case_id else "euclidean")
    neighbours = np.array(case["nn_index_1based"]) - 1
    near = np.take_along_axis(d, neighbours, 1)
    gamma = scale_of(near, case["q"], case["b"], LEAST)
    votes = votes_of(neighbours, strength_of(near, gamma, case["b"], LEAST))
    orders, trial = np.array(case["orders_1based"]) - 1, np.array(case["sweeps"]["trial_1based"])
    return case, d, near, gamma, votes, [orders[trial == t] for t in np.unique(trial)]


@pytest.mark.parametrize("case_id", [name for name in NAMES if name not in TIED])
def test_replayed_runs_meet_r(case_id):
    case, _, _, gamma, votes, trials = _problem(case_id)
    out, start = case["output"], np.array(case["y0_1based"]) - 1
    runs = [propagate(votes, start, orders, max_iter=len(orders)) for orders in trials]
    assert all(run.converged for run in runs)
    assert [len(run.history) - 1 for run in runs] == [len(orders) for orders in trials]
    if out["degenerate"]:
        assert runs[0].labels.max() == 0  # R stops here with an error
        return
    assert gamma == pytest.approx(out["gamma"], rel=1e-12)
    # Between duplicates, ln(1 - strength) amplifies the last bit of exp, in which NumPy's releases differ.
    np.testing.assert_allclose(votes.weights.sum(), out["weights_sum"], rtol=1e-7)
    taken = runs[int(np.argmax(out["crit_of_trials"]))]
    np.testing.assert_array_equal(taken.labels, np.array(out["labels_1based"]) - 1)
    within = 0.5 * votes.weights.sum() - taken.history[-1]
    assert within == pytest.approx(out["half_sum_of_weights_within"], rel=1e-7)
    expected = partition(out["F"], out["mass"])
    masses = masses_of_votes(votes.strength, taken.labels[votes.neighbours], taken.labels.max() + 1)
    np.testing.assert_allclose(masses, expected.masses, atol=1e-12)


@pytest.mark.parametrize("case_id", TIED)
def test_masses_meet_r_where_ties_decide_the_path(case_id):
    case, _, _, _, votes, _ = _problem(case_id)
    out = case["output"]
    labels = np.array(out["labels_1based"]) - 1
    masses = masses_of_votes(votes.strength, labels[votes.neighbours], labels.max() + 1)
    np.testing.assert_allclose(masses, partition(out["F"], out["mass"]).masses, atol=1e-12)


@pytest.mark.parametrize("case_id", ["iris_jittered_K10_q05_b1", "fourclass40_manhattan_dissimilarities_K8"])
def test_neighbours_meet_r(case_id):
    case, d, near, *_ = _problem(case_id)
    found, which = nearest_in_matrix(d, case["K"], others=True)
    np.testing.assert_array_equal(which + 1, case["nn_index_1based"])
    np.testing.assert_allclose(found, near)


def test_neighbours_of_rows_are_those_of_their_distances(rng):
    x = rng.normal(size=(40, 3))
    (near, which), (expected, others) = nearest_others(x, 5), nearest_in_matrix(cdist(x, x), 5, others=True)
    np.testing.assert_array_equal(which, others)
    np.testing.assert_allclose(near, expected)


def test_masses_are_dempsters_rule(rng):
    strength, labels = rng.uniform(0.05, 0.9, size=(1, 6)), rng.integers(0, 3, size=(1, 6))
    whole = np.array([0.0, 0.0, 0.0, 1.0])  # three clusters, all of them
    for a, k in zip(strength[0], labels[0], strict=True):
        said = np.zeros(4)
        said[k], said[3] = a, 1 - a
        both = [whole[j] * said[j] + whole[j] * said[3] + whole[3] * said[j] for j in range(3)]
        whole = np.array([*both, whole[3] * said[3]])
        whole /= whole.sum()
    np.testing.assert_allclose(masses_of_votes(strength, labels, 3), [[0.0, *whole]], atol=1e-12)


def test_the_objective_is_the_evidence_between_clusters():
    x = make_blobs(60, random_state=0).data
    model = EKNNClus(valley=None, n_init=1, random_state=0).fit(x)
    near, which = nearest_others(x, model.n_neighbors_)
    votes = votes_of(which, strength_of(near, model.gamma_, 1.0, LEAST))
    crossing = model.labels_[which] != model.labels_[:, None]
    assert model.objective_ == pytest.approx(0.5 * votes.weights[crossing].sum())
    assert model.objective_ == pytest.approx(between(which, votes.weights, model.labels_))


# The constants of `joined` were chosen on seeds below 20 of such problems with known groups; these are others.
@pytest.mark.parametrize("seed", [101, 102, 103])
def test_finds_the_number_of_groups_of_any_shape(seed):
    moons, side = make_moons(1500, noise=0.07, random_state=seed)
    model = EKNNClus(random_state=seed).fit(moons)
    assert model.n_clusters_ == 2
    assert adjusted_rand_index(side, model.labels_) > 0.98
    blobs = make_blobs(400, n_clusters=5, n_features=5, random_state=seed)
    assert EKNNClus(random_state=seed).fit(blobs.data).n_clusters_ == 5


def test_finds_the_four_classes_of_fourclass():
    x = np.array(load("eknnclus")["datasets"]["fourclass"])
    found = [EKNNClus(random_state=seed).fit(x).n_clusters_ for seed in range(5)]
    assert found == [4] * 5


def test_pieces_of_one_group_are_joined_and_groups_are_not():
    blobs = make_blobs(600, distance=8.0, random_state=5)
    near, which = nearest_others(blobs.data, 40)
    votes = votes_of(which, strength_of(near, scale_of(near, 0.5, 1.0, LEAST), 1.0, LEAST))
    halves = 2 * blobs.target + (blobs.data[:, 0] > blobs.centers[blobs.target, 0])
    merged = joined(votes, halves, 0.7)
    assert adjusted_rand_index(blobs.target, merged) > 0.99


def test_a_seed_replays_and_units_do_not_matter():
    x = make_blobs(150, random_state=3).data
    model = EKNNClus(random_state=4).fit(x)
    assert EKNNClus(random_state=4).fit(x).partition_ == model.partition_
    np.testing.assert_array_equal(EKNNClus(random_state=4).fit(1e-9 * x).labels_, model.labels_)


def test_dissimilarities_give_the_same_answer():
    x = make_blobs(120, random_state=0).data
    model, other = EKNNClus(random_state=0).fit(x), EKNNClus(metric="precomputed", random_state=0).fit(cdist(x, x))
    np.testing.assert_allclose(model.partition_.masses, other.partition_.masses, atol=1e-9)
    new = x[:20] + 0.01
    np.testing.assert_allclose(
        model.predict_partition(new).masses, other.predict_partition(cdist(new, x)).masses, atol=1e-9
    )


def test_new_objects_fall_in_with_their_like():
    blobs = make_blobs(300, distance=8.0, random_state=1)
    model = EKNNClus(random_state=0).fit(blobs.data[:200])
    assert adjusted_rand_index(blobs.target[200:], model.predict(blobs.data[200:])) > 0.95


def test_one_group_and_equal_rows_are_answered():
    assert EKNNClus(random_state=0).fit(np.zeros((12, 2))).n_clusters_ == 1
    two = EKNNClus(random_state=0, n_neighbors=4).fit(np.repeat([[0.0], [1.0]], 6, axis=0))
    assert two.n_clusters_ == 2
    assert two.partition_.sets().tolist() == [(int(two.labels_[i]),) for i in range(12)]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"n_neighbors": 12},
            r"n_neighbors must be less than the number of objects; got n_neighbors=12 for n_samples=12",
        ),
        ({"n_neighbors": 0}, r"n_neighbors must be a whole number of at least 1; got 0"),
        ({"q": 0.0}, r"q must be greater than 0 and at most 1; got 0\.0"),
        ({"power": -1}, r"power must be greater than 0; got -1"),
        ({"valley": 2}, r"valley must be greater than 0 and at most 1; got 2"),
        ({"metric": "cosine"}, r"metric must be one of 'euclidean', 'precomputed'; got 'cosine'"),
        ({"init": "random"}, r"init must be one of 'objects'; got 'random'"),
        ({"init": [0, 1]}, r"init must hold a label for each of the 12 objects; got shape \(2,\)"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        EKNNClus(**parameters).fit(np.random.default_rng(0).normal(size=(12, 2)))


def test_more_clusters_than_fit_in_memory_are_refused(monkeypatch):
    from softecm import _engine

    monkeypatch.setattr(_engine, "free_memory", lambda: 1e4)
    with pytest.raises(ValueError, match=r"n_neighbors must be larger for these objects; 2 leave \d+ clusters"):
        EKNNClus(n_neighbors=2, random_state=0).fit(np.random.default_rng(0).normal(size=(200, 2)))
