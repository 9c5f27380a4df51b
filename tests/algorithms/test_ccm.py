import numpy as np
import pytest
import torch

from pure import ccm
from softecm import CCM, FocalSets
from softecm.datasets import make_blobs


def distances(x, centers, focal, gamma):
    """CCM's distance as in ALGORITHMS.md."""
    out = np.empty((len(x), len(focal)))
    to = ((x[:, None] - centers) ** 2).sum(-1)
    for a, members in enumerate(focal):
        middle = ((x - centers[list(members)].mean(0)) ** 2).sum(-1)
        size = len(members)
        out[:, a] = to[:, members[0]] if size == 1 else (to[:, members].sum(1) + gamma * middle) / (size + gamma)
    return out


@pytest.mark.parametrize("gamma", [0.0, 1.0, 7.0])
def test_transform_is_the_written_distance(gamma):
    X = make_blobs(60, n_clusters=3, n_features=3, random_state=0).data
    model = CCM(3, gamma=gamma, max_cardinality=3, beta=1.5, random_state=0).fit(X)
    expected = distances(X, model.cluster_centers_, model.focal_sets_, gamma)
    np.testing.assert_allclose(model.transform(X), expected, rtol=1e-12)
    masses = model.partition_.masses
    cost = (masses[:, 1:] ** 1.5 * expected).sum() + model.delta_**2 * (masses[:, 0] ** 1.5).sum()
    assert model.objective_ == pytest.approx(cost, rel=1e-10)


def test_the_centre_step_makes_the_gradient_zero(rng):
    x = torch.as_tensor(rng.normal(size=(30, 2)))
    focal = FocalSets.full(3)
    solution = ccm(x, focal, x[None, :3], gamma=2.0, beta=2.0, delta=1.5, tol=1e-13, max_iter=5000)
    assert solution.converged[0]
    centers = solution.prototypes[0, :3].clone().requires_grad_()
    mean = torch.as_tensor(focal.membership / focal.cardinalities[:, None])
    to = (x[:, None] - centers).square().sum(-1)
    middle = (x[:, None] - mean @ centers).square().sum(-1)
    size = torch.as_tensor(focal.cardinalities.copy())
    d = torch.where(size == 1, middle, (to @ torch.as_tensor(focal.membership.T.copy()) + 2.0 * middle) / (size + 2.0))
    u = 1.0 / d
    cost = (1.0 / (u.sum(1) + 1.5**-2)).sum()  # at beta = 2 the masses' minimum is the harmonic sum
    cost.backward()
    assert centers.grad.abs().max() < 1e-8
    assert float(cost.detach()) == pytest.approx(solution.objective[0], rel=1e-10)
