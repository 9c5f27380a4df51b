"""Critical guards: a step that raises the objective, a merged run that wins or agrees, an unscaled lambda."""

import numpy as np
import pytest
import torch
from sklearn.metrics import pairwise_distances

from internals import MERGED, Closed, SquaredEuclidean, choose, evaluate, mass_cost
from problems import largest_rise
from softecm import FocalSets, SoftECM
from softecm.datasets import make_blobs
from softecm.distances.base import NO_COMPILED_PASSES
from softecm.selection import sweep

TWO = make_blobs(40, n_clusters=2, distance=6, random_state=0).data
THREE = make_blobs(40, n_clusters=3, distance=5, random_state=0).data
SETTINGS = {"alpha": 1.0, "beta": 1.5, "delta": 6.0, "relaxation": "penalty", "max_cardinality": 2}
SETTINGS |= {"init": "k-means++", "n_init": 2, "random_state": 0, "max_iter": 200, "tol": 1e-4}
KINDS = {"sqeuclidean": TWO, "precomputed": pairwise_distances(TWO) ** 2}


class Plain(SquaredEuclidean):
    """Squared Euclidean distance without its own kernel: sums over masses by the general code."""

    compiled = NO_COMPILED_PASSES


@pytest.mark.parametrize("metric", [Plain(), SquaredEuclidean()], ids=["general", "kernel"])
@pytest.mark.parametrize("beta", [1.2, 2.0, 3.0])
def test_objects_on_prototypes_pull_with_their_whole_mass(metric, beta):
    """Two clusters and their set in one place, with an object: the gradient is zero there, the curvature is not."""
    focal = FocalSets.full(2)
    x = torch.tensor([[0.0, 0.0], [0.0, 0.0], [3.0, 1.0]], dtype=torch.float64)
    prototypes = torch.tensor([[[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [4.0, 0.0], [0.0, 0.0]]]).double()
    cost = mass_cost(focal, 1.0, beta, 2.0, like=x, runs=2)
    found = evaluate(metric, x, prototypes, cost)
    sizes = np.array([1.0, 1.0, 2.0])
    for run, v in enumerate(prototypes.numpy()):
        expected = np.zeros(3)
        for row in x.numpy():
            priced = sizes * ((row - v) ** 2).sum(1)
            if (priced == 0).any():  # only those at the object count, each with |A|^(-1/(beta-1))
                masses = np.where(priced == 0, sizes ** (-1 / (beta - 1)), 0.0)
                masses /= masses.sum()
            else:
                powers = np.append(priced, 4.0) ** (-1 / (beta - 1))
                masses = (powers / powers.sum())[:3]
            expected += sizes * masses**beta
        curvature = found.curvature[run].reshape(3, -1)[:, 0]
        np.testing.assert_allclose(curvature, expected, rtol=1e-12)


class Overshooting(Closed):
    """A solver with steps three times too long."""

    def step(self, problem, state):
        return problem.at(state.free + 3.0 * (problem.solve(state) - state.free), state)


@pytest.mark.parametrize("must_link", [None, [(0, 1)]], ids=["plain", "linked"])
@pytest.mark.filterwarnings("ignore::softecm.CollapseWarning")
def test_a_step_that_raises_the_objective_is_not_taken(must_link):
    model = SoftECM(2, metric="sqeuclidean", lam=1.0, solver=Overshooting(), **SETTINGS)
    model.fit(TWO, must_link=must_link)
    assert largest_rise(model.history_) <= 1e-9
    assert model.objective_ == model.history_[-1] == model.history_.min()


def test_a_merged_run_wins_only_where_all_have_merged():
    objective, apart = np.array([1.0, 3.0, 2.0]), np.array([0.5 * MERGED, 1.0, 2 * MERGED])
    assert choose(objective, apart) == 2
    assert choose(objective, np.zeros(3)) == 0


def test_of_runs_that_differ_by_rounding_the_first_wins():
    assert choose(np.array([3.0, 2.0 + 1e-15, 2.0]), np.ones(3)) == 1
    assert choose(np.array([-2.0 + 1e-9, -2.0, np.inf]), np.ones(3)) == 1
    assert choose(np.array([np.inf, np.inf]), np.ones(2)) == 0


@pytest.mark.parametrize("beta", [1.2, 1.5])
def test_a_fit_keeps_the_best_start_that_has_not_merged(beta):
    """The lowest objective belongs to starts with merged clusters."""
    chosen = SETTINGS | {"beta": beta, "init": "random", "n_init": 12, "delta": 5.0}
    model = SoftECM(3, metric="precomputed", lam=20.0, **chosen).fit(pairwise_distances(THREE) ** 2)
    runs = model.runs_
    merged, best = np.asarray(runs["collapsed"], dtype=bool), np.asarray(runs["best"], dtype=bool)
    objective = np.asarray(runs["objective"])
    assert merged[objective.argmin()]
    assert not model.collapsed_
    assert objective[best] == objective[~merged].min()


@pytest.mark.parametrize("warm_start", [False, True], ids=["one batch", "fit by fit"])
def test_stability_scales_lambda_with_the_number_of_objects(warm_start):
    """A lambda just below the one that merges the clusters: unscaled, it would merge four fifths of the objects."""
    estimator = SoftECM(2, metric="sqeuclidean", warm_start=warm_start, **SETTINGS)
    found = [sweep(TWO, {"lam": [lam]}, estimator=estimator, resamples=3)["stability"][0] for lam in (44.0, 44.0 / 0.8)]
    assert found[0] > 0.8
    assert found[1] == 0.0


@pytest.mark.parametrize("metric", KINDS)
def test_merged_refits_agree_with_nothing(metric):
    """Masses on the empty set are equal in all of them: that must not count as finding the same groups again."""
    estimator = SoftECM(2, metric=metric, **SETTINGS | {"delta": 3.0})
    found = sweep(KINDS[metric], {"lam": [1e4]}, estimator=estimator, resamples=3)
    assert found["collapsed"][0]
    assert found["stability"][0] == 0.0
