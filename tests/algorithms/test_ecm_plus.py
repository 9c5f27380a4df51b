import numpy as np
import pytest
import torch

from pure import adaptive_ecm
from softecm import ECM, ECMPlus, FocalSets
from softecm.algorithms.adaptive import AdaptiveProblem, unit_inverse
from softecm.datasets import load_diamond, make_blobs
from softecm.objective.equations import mass_cost, share


@pytest.mark.parametrize("centers", ["corrected", "mean"])
def test_with_unit_matrices_it_is_ecm(centers):
    X = load_diamond().data
    start = [[-3.0, 0.1], [3.0, 0.2]]
    plus = ECMPlus(2, adaptive=False, centers=centers, delta=5.0, init=start, tol=1e-11, max_iter=2000).fit(X)
    ecm = ECM(2, delta=5.0, init=start, tol=1e-11, max_iter=2000).fit(X)
    np.testing.assert_allclose(plus.partition_.masses, ecm.partition_.masses, atol=1e-9)
    np.testing.assert_allclose(plus.prototypes_, ecm.prototypes_, atol=1e-9)
    assert plus.objective_ == pytest.approx(ecm.objective_, rel=1e-12)
    assert plus.delta_ == ECM(2, delta=5.0).delta
    assert ECMPlus(2, adaptive=False, init=start).fit(X).delta_ == pytest.approx(
        ECM(2, init=start).fit(X).delta_, rel=0.01
    )
    np.testing.assert_array_equal(plus.matrices_, np.broadcast_to(np.eye(2), (2, 2, 2)))


def test_long_groups_that_ecm_cuts_in_two_are_found(rng):
    wide = np.array([8.0, 0.3])
    X = np.concatenate([wide * rng.normal(size=(60, 2)), [0, 4] + wide * rng.normal(size=(60, 2))])
    truth = np.repeat([False, True], 60)
    for centers in "corrected", "mean":
        model = ECMPlus(2, centers=centers, random_state=0).fit(X)
        wrong = ((model.labels_ == 1) != truth).mean()
        assert min(wrong, 1 - wrong) < 0.03
        np.testing.assert_allclose(np.linalg.det(model.matrices_), 1.0, rtol=1e-8)
        assert (model.matrices_[:, 1, 1] > 50 * model.matrices_[:, 0, 0]).all()


def test_clusters_that_cross_at_one_point_are_not_merged(rng):
    across = rng.normal(size=(80, 2)) * [6.0, 0.2]
    X = np.concatenate([across, rng.normal(size=(80, 2)) * [0.2, 6.0]])
    model = ECMPlus(2, random_state=0, beta=1.5).fit(X)
    assert not model.collapsed_
    assert ((model.labels_[:80] == model.labels_[0]).mean() > 0.8) or ((model.labels_[:80] == 1).mean() > 0.8)


def problem_of(x, focal, corrected):
    return AdaptiveProblem(x, focal, mass_cost(focal, 1.0, 2.0, 2.0, like=x), corrected, True, None, 0.0)


def inertia(x, weights, problem, clusters, matrices):
    """The objects' part of the objective by definition."""
    centers, shapes = problem.centers(clusters, matrices), problem.shapes(matrices)
    difference = x[:, None, None] - centers
    return (weights * torch.einsum("nrap,rapq,nraq->nra", difference, shapes, difference)).sum()


@pytest.mark.parametrize("corrected", [True, False])
def test_the_centre_step_is_a_minimum_and_the_sums_give_the_objective(rng, corrected):
    x = torch.as_tensor(rng.normal(size=(25, 3)))
    focal = FocalSets.full(3)
    problem = problem_of(x, focal, corrected)
    clusters = torch.as_tensor(rng.normal(size=(1, 3, 3)))
    roots = torch.as_tensor(rng.normal(size=(1, 3, 3, 3)))
    matrices = unit_inverse(roots @ roots.transpose(-1, -2), roots)
    sums = problem.at(clusters, matrices, None)
    weights = problem.cost.factors * sums.masses.transpose(0, 1)[..., 1:] ** 2
    moved = problem.solve(sums).requires_grad_()
    cost = inertia(x, weights, problem, moved, matrices)
    (gradient,) = torch.autograd.grad(cost, moved)
    assert gradient.abs().max() < 1e-9
    shaped = problem.adapt(sums, moved.detach())
    for s in matrices, shaped:
        direct = inertia(x, weights, problem, moved.detach(), s)
        assert float(problem.inertia(sums, moved.detach(), s)) == pytest.approx(float(direct), rel=1e-10)
    assert problem.inertia(sums, moved.detach(), shaped) <= problem.inertia(sums, moved.detach(), matrices)


def test_corrected_centres_have_least_inertia_under_the_clusters_own_matrices(rng):
    x = torch.as_tensor(rng.normal(size=(5, 2)))
    problem = problem_of(x, FocalSets.full(2), True)
    clusters = torch.as_tensor(rng.normal(size=(1, 2, 2)))
    roots = torch.as_tensor(rng.normal(size=(1, 2, 2, 2)))
    matrices = unit_inverse(roots @ roots.transpose(-1, -2), roots)
    middle = problem.centers(clusters, matrices)[0, 2]
    pull = sum(matrices[0, k] @ (middle - clusters[0, k]) for k in range(2))
    np.testing.assert_allclose(pull, 0.0, atol=1e-12)


def test_masses_are_the_shared_update_and_runs_do_not_disturb_each_other():
    data = make_blobs(60, n_clusters=2, random_state=0)
    x = torch.as_tensor(data.data)
    focal = FocalSets.full(2)
    starts = torch.stack([x[:2], x[10:12], x[[3, 30]]])
    together = adaptive_ecm(x, focal, starts, delta=3.0)
    for run in range(3):
        alone = adaptive_ecm(x, focal, starts[run : run + 1], delta=3.0)
        assert alone.solution.objective[0] == pytest.approx(together.solution.objective[run], rel=1e-10)
        assert alone.solution.n_iter[0] == together.solution.n_iter[run]
    model = ECMPlus(2, delta=3.0, init=data.data[:2]).fit(data.data)
    cost = mass_cost(focal, 1.0, 2.0, 3.0, like=x)
    d = torch.as_tensor(model.transform(data.data))
    expected = share(d, cost.factors[0], cost.beta[0], cost.delta2[0]).masses
    np.testing.assert_allclose(model.partition_.masses, expected, atol=1e-14)
