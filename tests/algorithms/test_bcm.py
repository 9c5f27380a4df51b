import numpy as np
import pytest
import torch

from pure import bcm
from softecm import BCM, FocalSets
from softecm.datasets import make_blobs


def distances(x, centers, focal, gamma):
    """BCM's distance as in ALGORITHMS.md."""
    out = np.empty((len(x), len(focal)))
    to = ((x[:, None] - centers) ** 2).sum(-1)
    for a, members in enumerate(focal):
        size = len(members)
        among = sum(((centers[k] - centers[l]) ** 2).sum() for k in members for l in members if k < l)
        out[:, a] = (to[:, members].sum(1) + gamma * among) / (size + gamma * size * (size - 1) / 2)
    return out


@pytest.mark.parametrize("gamma", [0.0, 1.0, 7.0])
def test_transform_is_the_written_distance(gamma):
    X = make_blobs(60, n_clusters=3, n_features=3, random_state=0).data
    model = BCM(3, gamma=gamma, max_cardinality=3, beta=1.5, random_state=0).fit(X)
    expected = distances(X, model.cluster_centers_, model.focal_sets_, gamma)
    np.testing.assert_allclose(model.transform(X), expected, rtol=1e-12)
    masses = model.partition_.masses
    cost = (masses[:, 1:] ** 1.5 * expected).sum() + model.delta_**2 * (masses[:, 0] ** 1.5).sum()
    assert model.objective_ == pytest.approx(cost, rel=1e-10)


def test_the_centre_step_makes_the_gradient_zero(rng):
    x = torch.as_tensor(rng.normal(size=(30, 2)))
    focal = FocalSets.full(3)
    solution = bcm(x, focal, x[None, :3], gamma=2.0, beta=2.0, delta=1.5, tol=1e-13, max_iter=5000)
    assert solution.converged[0]
    centers = solution.prototypes[0, :3].clone().requires_grad_()
    member = torch.as_tensor(focal.membership.copy())
    size = member.sum(1)
    among = (centers[:, None] - centers).square().sum(-1)
    inside = torch.einsum("ak,kl,al->a", member, among, member) / 2
    d = ((x[:, None] - centers).square().sum(-1) @ member.T + 2.0 * inside) / (size + size * (size - 1))
    u = 1.0 / d
    cost = (1.0 / (u.sum(1) + 1.5**-2)).sum()  # at beta = 2 the masses' minimum is the harmonic sum
    cost.backward()
    assert centers.grad.abs().max() < 1e-8
    assert float(cost.detach()) == pytest.approx(solution.objective[0], rel=1e-10)


def test_an_object_far_from_close_centres_goes_to_their_set_and_one_midway_does_not(rng):
    X = np.concatenate([0.1 * rng.normal(size=(20, 2)), [3, 0] + 0.1 * rng.normal(size=(20, 2)), [[1.5, 0], [1.5, 8]]])
    model = BCM(2, delta=20.0, init=[[0, 0], [3, 0]]).fit(X)
    assert model.partition_.sets()[-1] == (0, 1)
    assert len(model.partition_.sets()[-2]) == 1
