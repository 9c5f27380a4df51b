"""EVCLUS against R, its quadratic programs, and its own properties."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, squareform
from sklearn.metrics import pairwise_distances

from golden import case_ids, load, partition
from problems import largest_rise
from softecm import EVCLUS, FocalSets
from softecm.algorithms.conflicts import ConflictPairs, ConflictProblem, degree_of_conflict, solved
from softecm.datasets import load_diamond, make_blobs
from softecm.kernels.simplex_qp import RIDGE, fit_rows
from softecm.scores import adjusted_rand_index


def _problem(name, case_id):
    file = load(name)
    case = next(c for c in file["cases"] if c["id"] == case_id)
    if name == "kevclus_protein":
        d = squareform(load("data_protein")["D_condensed"])
    else:
        d = cdist(*[np.array(file["datasets"]["butterfly"])] * 2)
    pairs = None
    if case["J_1based"] is not None:
        others = np.array(case["J_1based"]) - 1
        pairs = ConflictPairs(others.ravel(), np.arange(len(d) + 1) * others.shape[1])
    out = case["output"]
    return (
        case,
        degree_of_conflict(d, case["d0"]),
        pairs,
        partition(out["F"], case["m0"]),
        partition(out["F"], out["mass"]),
    )


@pytest.mark.parametrize(("name", "case_id"), case_ids("kevclus", "kevclus_protein"))
def test_meets_r(name, case_id):
    case, phi, pairs, start, expected = _problem(name, case_id)
    if case_id == "protein_c4_simple_one_sweep":
        pytest.skip("object by object in test_every_programme_of_the_first_sweep_meets_r")
    problem = ConflictProblem(phi, start.focal_sets, pairs, tol=0.0)
    (found,) = solved(problem, start.masses[None], max_iter=case["sweeps"])
    np.testing.assert_allclose(found.masses, expected.masses, atol=1e-6)


def test_every_programme_of_the_first_sweep_meets_r():
    # The start is a hard partition, so the ridge of 1e-8 alone decides two directions, and the reference's first object
    # is 1.2e-5 off the exact solution (computed with 50 digits). Given its masses, all others agree.
    _, phi, _, start, expected = _problem("kevclus_protein", "protein_c4_simple_one_sweep")
    conflict = (~start.focal_sets.intersects).astype(float)
    for i in range(len(phi)):
        others = np.concatenate([expected.masses[:i], start.masses[i + 1 :]]) @ conflict
        asked = np.delete(phi[i], i)
        q = others.T @ others + RIDGE * np.eye(others.shape[1])
        (m,) = fit_rows(q, (asked @ others)[None])
        np.testing.assert_allclose(m, expected.masses[i], atol=1e-6 if i else 2e-5)
        misfit = [np.square(others @ masses - asked).sum() for masses in (m, expected.masses[i])]
        assert misfit[0] <= misfit[1] + 1e-9


def test_stress_never_rises(many):
    for seed in range(many):
        rng = np.random.default_rng(seed)
        n, focal = 20, FocalSets.up_to(3, int(rng.integers(1, 4)))
        phi = degree_of_conflict(cdist(*[rng.normal(size=(n, 2))] * 2), rng.uniform(0.5, 4))
        start = rng.dirichlet(np.ones(len(focal) + 1), size=n)
        for pairs in (None, ConflictPairs.random(n, 6, np.random.RandomState(seed))):
            (found,) = solved(ConflictProblem(phi, focal, pairs), start[None], max_iter=30)
            assert largest_rise(found.history) <= 1e-12
            np.testing.assert_allclose(found.masses.sum(1), 1.0)
            assert found.masses.min() >= 0


def test_random_pairs_are_known_to_both_ends():
    pairs = ConflictPairs.random(31, 7, np.random.RandomState(0))
    assert (np.diff(pairs.starts) == 8).all()
    there = sorted(zip(pairs.first.tolist(), pairs.others.tolist(), strict=True))
    assert there == sorted((j, i) for i, j in there)
    assert all(i != j for i, j in there)


def test_the_diagram_is_the_stress():
    d = pairwise_distances(load_diamond().data)
    model = EVCLUS(2, random_state=0).fit(d)
    phi, kappa = model.shepard(d)
    np.testing.assert_allclose(np.square(kappa - phi).sum() / np.square(phi).sum(), model.objective_, rtol=1e-4)
    with pytest.raises(
        ValueError, match=r"X must be the n x n dissimilarities given to fit, n = 12; got shape \(5, 12\)"
    ):
        model.shepard(d[:5])


def test_new_objects_fall_in_with_their_like():
    blobs = make_blobs(120, distance=8.0, random_state=0)
    x, y = blobs.data, blobs.target
    model = EVCLUS(3, random_state=0).fit(pairwise_distances(x[:80]))
    assert adjusted_rand_index(y[:80], model.labels_) > 0.95
    assert adjusted_rand_index(y[80:], model.predict(cdist(x[80:], x[:80]))) > 0.95


def test_some_pairs_are_enough():
    blobs = make_blobs(200, distance=8.0, random_state=0)
    model = EVCLUS(3, n_neighbors=20, n_init=2, random_state=0).fit(pairwise_distances(blobs.data))
    assert adjusted_rand_index(blobs.target, model.labels_) > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"d0": 0.0}, r"d0 must be greater than 0; got 0\.0\. 'auto' takes"),
        ({"d0": "far"}, r"d0 must be one of 'auto'; got 'far'"),
        ({"n_neighbors": 0}, r"n_neighbors must be a whole number of at least 1; got 0"),
        ({"init": "k-means++"}, r"init must be one of 'random'; got 'k-means\+\+'"),
        ({"init": np.ones((12, 4))}, r"init must hold masses of shape \(n, f \+ 1\), here \(12, 4\)"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        EVCLUS(2, **parameters).fit(pairwise_distances(load_diamond().data))
