"""Limits of floats: underflowing weights, extreme scales, stiff constraints, starts far from the data."""

import numpy as np
import pytest
import torch

from hostile.outcomes import assert_sound, ends_well
from softecm import BCM, BPEC, CCM, CECM, ECM, EVCLUS, FCM, RECM, ECMdd, ECMPlus, SoftECM
from softecm.belief.transforms import sound
from softecm.datasets import make_blobs
from softecm.objective.problem import stationary
from softecm.selection import sweep

X = make_blobs(60, n_clusters=3, n_features=2, distance=8, random_state=0).data
X = (X - X.mean(0)) / X.std(0)
D = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
VECTORS = [SoftECM, ECM, FCM, CECM, CCM, BCM, ECMPlus]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
@pytest.mark.parametrize("setting", [{"delta": 0.01}, {"beta": 40.0}, {"lam": 1e150}, {"init": 1e8 + X[[0, 20, 40]]}])
def test_weights_that_underflow_give_an_answer(relaxation, setting, hostile_case):
    hostile_case()
    if relaxation == "exact" and "lam" in setting:
        setting = {"lam": 0.0}
    model = SoftECM(3, relaxation=relaxation, metric="sqeuclidean", random_state=0, **setting).fit(X)
    assert_sound(model.partition_.masses)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.cluster_centers_).all()


def test_a_start_far_away_finds_the_data_again(hostile_case):
    hostile_case()
    near = SoftECM(3, init=X[[0, 20, 40]], relaxation="exact", random_state=0).fit(X)
    far = SoftECM(3, init=X[[0, 20, 40]] * 1e6, relaxation="exact", random_state=0).fit(X)
    assert far.objective_ == pytest.approx(near.objective_, rel=0.2)


def test_one_hopeless_cell_of_a_sweep_leaves_the_others_alone(hostile_case):
    hostile_case()
    base = SoftECM(3, relaxation="penalty", delta=3.0, n_init=2, random_state=0)
    alone = sweep(X, {"beta": [2.0], "lam": [0.1]}, estimator=base)
    beside = sweep(X, {"beta": [2.0, 40.0], "lam": [0.1, 1e150]}, estimator=base)
    want = alone.to_frame()["objective"].iloc[0]
    frame = beside.to_frame()
    same = frame[(frame["beta"] == 2.0) & (frame["lam"] == 0.1)]
    assert same["objective"].iloc[0] == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("scale", [1e-300, 1e-156, 1e-130, 1e140, 1e155, 1e300])
def test_scales_at_both_ends_of_floats(kind, scale, hostile_case):
    hostile_case()
    found = ends_well(lambda: kind(3, random_state=0).fit(X * scale).partition_)
    assert (found is not None) == (scale in (1e-130, 1e140))
    if found is not None:
        np.testing.assert_allclose(found.masses, kind(3, random_state=0).fit(X).partition_.masses, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-38, 1e-25, 1e-10, 1e15, 1e20, 1e37])
def test_scales_at_both_ends_of_small_floats(scale, hostile_case):
    hostile_case()
    model = SoftECM(3, metric="sqeuclidean", dtype="float32", random_state=0)
    found = ends_well(lambda: model.fit(X * scale).partition_)
    assert (found is not None) == (scale in (1e-10, 1e15))


@pytest.mark.parametrize("kind", [RECM, ECMdd, EVCLUS])
@pytest.mark.parametrize("scale", [1e-320, 1e-156, 1e-130, 1e140, 1e155])
def test_dissimilarities_at_both_ends_of_floats(kind, scale, hostile_case):
    hostile_case()
    found = ends_well(lambda: kind(3, random_state=0).fit(D * scale).partition_)
    assert (found is not None) == (scale in (1e-130, 1e140))


@pytest.mark.parametrize("kind", [SoftECM, ECM, CECM, CCM, BCM, ECMPlus, BPEC])
@pytest.mark.parametrize("delta", [1e-310, 1e-162, 1e160, 1e200])
def test_a_delta_whose_square_is_no_number_is_refused(kind, delta, hostile_case):
    hostile_case()
    with pytest.raises(ValueError, match="delta must have a square within the range of float64"):
        kind(3, delta=delta).fit(X)


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e155])
def test_a_start_that_is_no_number_is_refused(kind, value, hostile_case):
    hostile_case()
    start = X[[0, 20, 40]].copy()
    start[1, 0] = value
    with pytest.raises(ValueError, match="init must hold finite numbers"):
        kind(3, init=start).fit(X)


@pytest.mark.parametrize("points", [[[0.0, 0.0], [1.0, 1.0]], [[2.0, 2.0]]])
@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
def test_belief_peaks_of_repeated_points(points, metric, hostile_case):
    hostile_case()
    model = BPEC(metric=metric).fit(np.repeat(np.array(points), 10, 0))
    assert_sound(model.partition_.masses)
    if len(points) == 2:
        assert len(set(model.labels_[:10])) == len(set(model.labels_[10:])) == 1
        assert model.labels_[0] != model.labels_[-1]


def test_a_step_is_exact_whatever_the_constraint_weighs(hostile_case):
    rng = np.random.default_rng(0)
    arms = torch.tensor([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]], dtype=torch.float64)
    for exponent in (0, 5, 12, 30, 100, 180):
        hostile_case()
        weight = torch.diag(torch.as_tensor(rng.uniform(1, 2, 3)))
        y, old = torch.as_tensor(rng.normal(size=(3, 2))), torch.as_tensor(rng.normal(size=(3, 2)))
        tie = 10.0**exponent * arms.T @ arms
        found = stationary(weight[None], y[None], old[None], tie[None])[0]
        if exponent >= 12:  # all three are one point
            mean = y.sum(0) / weight.sum()
            np.testing.assert_allclose(found, mean.expand(3, 2), rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_allclose((weight + tie) @ found, y, atol=1e-8)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-150, 1.0])
def test_a_cluster_without_weight_stays_where_it_is(size, hostile_case):
    hostile_case()
    weight = torch.diag(torch.tensor([size, 0.0, size], dtype=torch.float64))
    old = torch.tensor([[1.0], [5.0], [3.0]], dtype=torch.float64)
    found = stationary(weight, weight @ torch.tensor([[2.0], [9.0], [4.0]], dtype=torch.float64), old)
    want = torch.tensor([[2.0], [5.0], [4.0]], dtype=torch.float64) if size > 0 else old
    np.testing.assert_allclose(found, want, rtol=1e-9)


def test_masses_that_are_no_masses_never_leave_an_estimator(hostile_case):
    hostile_case()
    model = SoftECM(2, random_state=0).fit(X)
    model.model_.prototypes[:] = torch.nan
    with pytest.raises(ValueError, match="prototypes must be finite"):
        model.predict_partition(X)
    with pytest.raises(ValueError, match=r"Masses can't be computed.*usual values"):
        sound(np.array([[0.5, np.nan]]))
