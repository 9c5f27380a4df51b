"""RECM against R, against ECM, and its own properties."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist, squareform
from sklearn.metrics import pairwise_distances

from golden import case_ids, columns, load, partition
from problems import largest_rise
from pure import recm
from softecm import ECM, RECM, FocalSets
from softecm.datasets import load_diamond, make_blobs
from softecm.distances.estimator_metrics import AffineDistance, additive_constant
from softecm.objective.equations import update_masses


def _dissimilarities(name, file):
    if name.startswith("protein"):
        return squareform(load("data_protein")["D_condensed"])
    rows = np.array(file["datasets"][name.replace("_sq_euclidean", "").replace("_euclidean", "")])
    return cdist(rows, rows, "sqeuclidean" if "_sq_" in name else "euclidean")


@pytest.mark.parametrize(("name", "case_id"), case_ids("recm", "recm_protein"))
def test_meets_r(name, case_id):
    file = load(name)
    case = next(c for c in file["cases"] if c["id"] == case_id)
    d = torch.as_tensor(_dissimilarities(case["dissimilarity"], file))
    out = case["output"]
    expected = partition(out["F"], out["mass"])
    start = torch.as_tensor(partition(out["F"], case["m0"]).masses.copy())[None]
    prices = {k: case[k] for k in ("alpha", "beta", "delta")}
    found = recm(d, expected.focal_sets, start, **prices, max_iter=case["iterations"], tol=-1.0)
    to_sets = AffineDistance(squared=True).pairwise(d, found.prototypes[0])
    masses = update_masses(to_sets, expected.focal_sets, **prices).numpy()
    np.testing.assert_allclose(masses, expected.masses, atol=1e-8)
    np.testing.assert_allclose(found.objective[0], out["crit"], rtol=1e-8)
    trace = case["J_trace"]
    if len(trace) == case["iterations"]:
        np.testing.assert_allclose(found.history[0][1:], trace, rtol=1e-8)  # ours begins before the first iteration


@pytest.mark.parametrize("focal_sets", [None, "full", "simple"])
def test_stays_at_the_optimum_of_ecm(focal_sets):
    x = make_blobs(60, between=6, outliers=2, random_state=1).data
    ecm = ECM(3, focal_sets=focal_sets, tol=1e-13, max_iter=5000, random_state=0).fit(x)
    given = {"delta": ecm.delta_, "focal_sets": focal_sets, "init": ecm.partition_}
    relational = RECM(3, beta=2.0, **given, tol=1e-9).fit(pairwise_distances(x))
    np.testing.assert_allclose(relational.partition_.masses, ecm.partition_.masses, atol=1e-9)
    np.testing.assert_allclose(relational.objective_, ecm.objective_, rtol=1e-12)
    np.testing.assert_allclose(relational.prototypes_ @ x, ecm.prototypes_, atol=1e-7)
    np.testing.assert_allclose([relational.delta_, relational.separation_], [ecm.delta_, ecm.separation_], rtol=1e-7)


def test_squared_dissimilarities_are_the_same_as_their_roots():
    d = pairwise_distances(load_diamond().data)
    plain = RECM(2, random_state=0).fit(d)
    squared = RECM(2, delta=plain.delta_, dissimilarity="squared", init=plain.partition_).fit(d**2)
    np.testing.assert_allclose(squared.objective_, plain.objective_, rtol=1e-4)
    np.testing.assert_allclose(squared.predict_proba(d[:4] ** 2), plain.predict_proba(d[:4]), atol=1e-3)


def test_objects_not_seen_are_placed_as_by_ecm(rng):
    x = make_blobs(50, random_state=0).data
    new = rng.normal(size=(7, 2)) * 4
    relational = RECM(3, random_state=0).fit(pairwise_distances(x))
    from_points = cdist(new, relational.prototypes_ @ x, "sqeuclidean")
    np.testing.assert_allclose(relational.transform(cdist(new, x)), from_points, rtol=1e-8)


def test_objective_never_rises_on_euclidean_distances(many):
    for seed in range(many):
        rng = np.random.default_rng(seed)
        d = torch.as_tensor(cdist(*[rng.normal(size=(25, 3))] * 2, "sqeuclidean"))
        focal = FocalSets.up_to(3, int(rng.integers(1, 4)))
        start = torch.as_tensor(rng.dirichlet(np.ones(len(focal) + 1), size=(4, 25)))
        found = recm(
            d, focal, start, alpha=rng.uniform(0, 2), beta=rng.uniform(1.05, 3), delta=rng.uniform(0.5, 4), max_iter=40
        )
        assert max(largest_rise(h) for h in found.history) <= 1e-9


def test_the_constant_makes_dissimilarities_euclidean(rng):
    d = torch.as_tensor(pairwise_distances(rng.normal(size=(40, 6)), metric="cityblock") ** 2)
    shift = additive_constant(d)
    assert shift > 0
    shifted = d + shift
    shifted.fill_diagonal_(0.0)
    center = torch.eye(40, dtype=torch.float64) - 1 / 40
    least = torch.linalg.eigvalsh(-0.5 * center @ shifted @ center)[0]
    assert abs(float(least)) < 1e-8 * float(d.max())
    assert additive_constant(torch.as_tensor(cdist(*[rng.normal(size=(9, 2))] * 2, "sqeuclidean"))) == 0.0


def test_shifted_fit_falls_and_predicts_its_own_objects(rng):
    d = pairwise_distances(rng.normal(size=(40, 6)), metric="cityblock")
    model = RECM(2, beta=1.1, non_euclidean="shift", random_state=0).fit(d)
    assert model.shift_ > 0
    assert largest_rise(model.history_) <= 1e-9
    np.testing.assert_allclose(model.predict_partition(d).masses, model.partition_.masses, atol=1e-9)


def test_weights_count_like_repeated_objects(rng):
    x = make_blobs(30, random_state=2).data
    weights = rng.integers(1, 4, size=30)
    d = pairwise_distances(x)
    weighted = RECM(3, n_init=1, random_state=0, tol=1e-9).fit(d, sample_weight=weights)
    rows = np.repeat(np.arange(30), weights)
    repeated = RECM(3, n_init=1, random_state=0, tol=1e-9).fit(d[rows][:, rows])
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)
    np.testing.assert_allclose(weighted.partition_.masses[rows], repeated.partition_.masses, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dissimilarity": "square"}, r"dissimilarity must be one of 'distance', 'squared'; got 'square'"),
        ({"non_euclidean": "drop"}, r"non_euclidean must be one of 'floor', 'shift'; got 'drop'"),
        ({"init": [0, 0]}, r"init must hold different numbers of objects, from 0 to 11, 2 of them"),
        (
            {"init": np.ones((12, 2))},
            r"init must have masses of shape \(n, f \+ 1\), here \(12, 4\); got shape \(12, 2\)",
        ),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        RECM(2, **parameters).fit(pairwise_distances(load_diamond().data))


def test_golden_columns_are_the_librarys_own_order():
    case = load("recm")["cases"][0]
    assert columns(case["output"]["F"], FocalSets.full(2)) == [0, 1, 2, 3]
