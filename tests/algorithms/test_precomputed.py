"""Soft-ECM on dissimilarities: every choice against brute force, descent, and properties of the estimator."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from problems import largest_rise
from pure import soft_ecm_precomputed
from softecm import CollapseWarning, FocalSets, SoftECM
from softecm.algorithms.precomputed import RELAXATIONS
from softecm.datasets import load_diamond, make_blobs
from softecm.kernels.medoids import barycenters
from softecm.objective.equations import update_masses
from softecm.scores import adjusted_rand_index

KINDS = ("penalty", "gap", "exact")


def dissimilarities(seed, n=7):
    """A metric, its squares, or arbitrary numbers, with ties and equal objects."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 2:
        d = rng.integers(0, 6, size=(n, n)).astype(float)
        return np.triu(d, 1) + np.triu(d, 1).T
    x = rng.normal(size=(n, 2))
    if seed % 2:
        x[-1] = x[0]
    return cdist(x, x) ** (1 + seed % 3)


def barycenter(d, clusters, members):
    """By definition: minimum sum of dissimilarities, then of squares, then the first."""
    keys = [(round(sum(d[clusters[k], x] for k in members), 9), round(sum(d[clusters[k], x] ** 2 for k in members), 9), x)
            for x in range(len(d))]  # fmt: skip
    return min(keys)[2]


def price(d, focal, kind, lam, prices, z):
    """The cost of medoids z with fixed masses, by definition in the paper and DESIGN.md."""
    total = sum(prices[a, z[a]] for a in range(len(focal)))
    for a, members in enumerate(focal.sets):
        if len(members) > 1 and kind != "exact":
            total += lam * sum(d[z[k], z[a]] for k in members)
            if kind == "gap":
                total -= lam * min(sum(d[z[k], x] for k in members) for x in range(len(d)))
    return total


def with_sets(d, focal, clusters):
    return [*clusters, *(barycenter(d, clusters, s) for s in focal.sets[focal.n_clusters :])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_every_choice_equals_brute_force(kind, seed):
    rng = np.random.default_rng(seed)
    d, focal, lam = dissimilarities(seed), FocalSets.full(3), float(rng.choice([0.1, 1.0, 20.0]))
    prices = rng.random((len(focal), len(d))) @ d
    start = np.array(with_sets(d, focal, rng.choice(len(d), 3, replace=False)))
    relaxation = RELAXATIONS[kind](d, focal, np.array([lam]))
    (z,) = relaxation.improve(start[None], prices[None])
    cost = price(d, focal, kind, lam, prices, z)
    assert cost <= price(d, focal, kind, lam, prices, start) + 1e-9
    # No single medoid could be improved, with the others fixed (exact: sets follow).
    for a, x in product(range(3 if kind == "exact" else len(focal)), range(len(d))):
        other = [*z[:a], x, *z[a + 1 :]]
        if kind == "exact":
            other = with_sets(d, focal, other[:3])
        assert cost <= price(d, focal, kind, lam, prices, other) + 1e-9
    if kind == "exact":
        assert z.tolist() == with_sets(d, focal, z[:3])


@pytest.mark.parametrize("kind", ["gap", "exact"])
@pytest.mark.parametrize("seed", range(12))
def test_one_cluster_goes_to_the_best_object_of_all(kind, seed):
    rng = np.random.default_rng(seed)
    d, focal, lam = dissimilarities(seed, 9), FocalSets.full(3), 3.0
    prices = rng.random((len(focal), len(d))) @ d
    z = np.array(with_sets(d, focal, rng.choice(len(d), 3, replace=False)))
    moved = z.copy()
    arguments = (1, moved, prices) if kind == "exact" else (1, moved, prices, lam)
    RELAXATIONS[kind](d, focal, np.array([lam]))._place_cluster(*arguments)
    candidates = [[z[0], x, *z[2:]] for x in range(len(d))]
    if kind == "exact":
        candidates = [with_sets(d, focal, c[:3]) for c in candidates]
    least = min(price(d, focal, kind, lam, prices, c) for c in candidates)
    assert price(d, focal, kind, lam, prices, moved) == pytest.approx(least)


@pytest.mark.parametrize("seed", range(12))
def test_barycenters_are_those_of_the_definition(seed):
    d, focal = dissimilarities(seed, 10), FocalSets.full(3)
    clusters = np.random.default_rng(seed).choice(10, 3, replace=False)
    assert barycenters(d, list(focal.sets[3:]), clusters[None])[0].tolist() == with_sets(d, focal, clusters)[3:]


@pytest.mark.parametrize("kind", KINDS)
def test_objective_never_rises_and_is_the_papers(kind, many):
    for seed in range(many):
        rng = np.random.default_rng(seed)
        n, c = int(rng.integers(8, 40)), int(rng.integers(1, 4))
        d, focal = dissimilarities(seed, n), FocalSets.up_to(c, int(rng.integers(1, c + 1)))
        starts = torch.as_tensor(np.stack([rng.choice(n, c, replace=False) for _ in range(4)]))
        prices = {"alpha": rng.uniform(0, 2), "beta": rng.choice([1.1, 1.5, 2.0]), "delta": rng.uniform(0.5, 3)}
        lam = float(rng.choice([0.0, 0.5, 5.0]))
        counts = torch.as_tensor(rng.uniform(0, 2, size=n))
        found = soft_ecm_precomputed(
            torch.as_tensor(d), None, focal, starts, **prices, lam=lam, relaxation=kind, weights=counts
        )
        assert found.converged.all()
        assert max(largest_rise(h) for h in found.history) <= 1e-12
        for z, objective in zip(found.prototypes.long().numpy(), found.objective, strict=True):
            masses = update_masses(torch.as_tensor(d[:, z]), focal, **prices).numpy()
            paid = counts.numpy()[:, None] * focal.cardinalities ** prices["alpha"] * masses[:, 1:] ** prices["beta"]
            value = price(d, focal, kind, lam, paid.T @ d, z)
            value += prices["delta"] ** 2 * (counts.numpy() * masses[:, 0] ** prices["beta"]).sum()
            assert objective == pytest.approx(value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_estimator_tells_what_the_vector_case_tells(kind):
    blobs = make_blobs(90, between=6, distance=8.0, random_state=0)
    d = pairwise_distances(blobs.data, metric="sqeuclidean")
    model = SoftECM(3, metric="precomputed", relaxation=kind, random_state=0).fit(d)
    inside = blobs.target >= 0
    assert adjusted_rand_index(blobs.target[inside], model.labels_[inside]) > 0.9
    assert model.prototypes_.dtype.kind == "i"
    np.testing.assert_array_equal(model.cluster_centers_, model.prototypes_[:3])
    np.testing.assert_allclose(model.transform(d), d[:, model.prototypes_])
    np.testing.assert_array_equal(model.predict_partition(d).masses, model.partition_.masses)
    assert model.score(d) == pytest.approx(-model.objective_ / len(d))
    assert not model.collapsed_
    assert model.separation_ > 1
    assert len(model.runs_) == 10
    assert 0 < model.delta_ < np.sqrt(d.max())


def test_a_strong_penalty_merges_and_says_so():
    d = pairwise_distances(load_diamond().data, metric="sqeuclidean")
    with pytest.warns(CollapseWarning, match=r"relaxation='gap'"):
        SoftECM(2, metric="precomputed", lam=1e4, random_state=0).fit(d)


def test_a_strong_gap_is_the_exact_constraint():
    d = pairwise_distances(make_blobs(40, distance=9.0, random_state=1).data, metric="sqeuclidean")
    gap = SoftECM(3, metric="precomputed", relaxation="gap", lam=1e6, random_state=0).fit(d)
    assert gap.prototypes_.tolist() == with_sets(d, gap.focal_sets_, gap.cluster_centers_)


def test_starts_and_warm_starts():
    d = pairwise_distances(make_blobs(40, random_state=1).data)
    model = SoftECM(3, metric="precomputed", init=[0, 1, 2], warm_start=True).fit(d)
    assert len(model.runs_) == 1
    assert model.fit(d).n_iter_ <= 2
    with pytest.raises(ValueError, match=r"init must hold different numbers of objects, from 0 to 39"):
        SoftECM(3, metric="precomputed", init=[0, 1, 40]).fit(d)
    with pytest.raises(ValueError, match=r"init must have one row per cluster, 3; got 2"):
        SoftECM(3, metric="precomputed", init=[0, 1]).fit(d)


def test_single_precision_and_callbacks():
    d = pairwise_distances(make_blobs(40, random_state=1).data, metric="sqeuclidean")
    rounds = []
    model = SoftECM(3, metric="precomputed", dtype="float32", callback=rounds.append, init=[0, 1, 2]).fit(d)
    double = SoftECM(3, metric="precomputed", init=[0, 1, 2]).fit(d)
    assert model.objective_ == pytest.approx(double.objective_, rel=1e-5)
    np.testing.assert_array_equal(model.prototypes_, double.prototypes_)
    assert rounds[-1].n_active == 0


def test_links_are_refused():
    d = pairwise_distances(load_diamond().data)
    with pytest.raises(ValueError, match=r"must_link and cannot_link must be left out with metric='precomputed'"):
        SoftECM(2, metric="precomputed").fit(d, must_link=[(0, 1)])


def test_a_set_is_as_far_as_the_middle_of_its_clusters_medoids():
    x = np.random.default_rng(0).normal(size=(30, 3)) + 6.0 * (np.arange(30) % 3)[:, None]
    d = cdist(x, x)
    model = SoftECM(3, metric="precomputed", focal_sets="full", random_state=0).fit(d)
    medoids = x[model.prototypes_[:3]]
    middles = [medoids[list(members)].mean(0) for members in model.focal_sets_.sets]
    np.testing.assert_allclose(model.transform(d), cdist(x, middles), atol=1e-6)
    np.testing.assert_array_equal(model.prototypes_[3:], model.transform(d)[:, 3:].argmin(0))
    assert -model.score(d) * len(d) == pytest.approx(model.objective_)


def test_objects_half_way_are_between_and_no_others():
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(2, 20, 2))
    x = np.vstack([left, right + np.array([12.0, 0.0]), [[6.0, 0.5], [6.2, -0.4]]])
    model = SoftECM(2, metric="precomputed", random_state=0).fit(cdist(x, x))
    assert [i for i, members in enumerate(model.partition_.sets()) if len(members) == 2] == [40, 41]
    apart = SoftECM(2, metric="precomputed", random_state=0).fit(cdist(x[:40], x[:40]))
    assert not any(len(members) == 2 for members in apart.partition_.sets())


def test_a_far_object_of_a_matrix_is_found():
    x = np.vstack([make_blobs(60, n_clusters=3, distance=8, random_state=0).data, [[30.0, 30.0]]])
    model = SoftECM(3, metric="precomputed", random_state=0).fit(cdist(x, x))
    assert model.partition_.outliers().tolist() == [60]
