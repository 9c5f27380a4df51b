"""Soft-DTW as a torch function, and matrices of distances between series."""

import numpy as np
import pytest
import torch

import softecm
from references import soft_dtw as reference
from softecm.distances import ADTW, DTW, SoftDTW, SoftMSM, series_distances


def test_soft_dtw_is_the_recursions(rng):
    x, y = rng.normal(size=(3, 7, 2)), rng.normal(size=(2, 9, 2))
    wanted = np.array([[reference.soft_dtw(a, b, 0.5) for b in y] for a in x])
    found = softecm.soft_dtw(torch.tensor(x), torch.tensor(y), gamma=0.5)
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    selves = [np.array([reference.soft_dtw(a, a, 0.5) for a in s]) for s in (x, y)]
    divergence = softecm.soft_dtw(torch.tensor(x), torch.tensor(y), gamma=0.5, divergence=True)
    np.testing.assert_allclose(divergence, wanted - selves[0][:, None] / 2 - selves[1] / 2, atol=1e-10)
    rows = softecm.soft_dtw(torch.tensor(x[:2]), torch.tensor(y), gamma=0.5, paired=True, divergence=True)
    np.testing.assert_allclose(rows, divergence.diagonal(), atol=1e-10)
    own = softecm.soft_dtw(torch.tensor(x), divergence=True)
    np.testing.assert_allclose(own.diagonal(), 0, atol=1e-10)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("divergence", [False, True])
def test_torch_agrees_with_the_first_derivative_and_there_is_no_second(paired, divergence, rng):
    x, y = (torch.tensor(rng.normal(size=(2, n, 2)), requires_grad=True) for n in (4, 5))
    lengths = torch.tensor([4, 3])

    def value(a, b):
        return softecm.soft_dtw(a, b, gamma=0.7, x_lengths=lengths, paired=paired, divergence=divergence)

    assert torch.autograd.gradcheck(value, (x, y))
    for loss in (value(x, y).sum(), value(x, y).square().sum()):
        (slope,) = torch.autograd.grad(loss, y, create_graph=True)
        with pytest.raises(RuntimeError, match="have first derivatives only"):
            (y.sum() + slope.square().sum()).backward()


def test_matrices_of_series_of_unequal_length(rng):
    rows = [rng.normal(size=(n, 2)).cumsum(0) for n in (9, 6, 9, 12)]
    for metric in ("dtw", "softdtw", SoftMSM(), ADTW(0.1, gamma="auto")):
        found = series_distances(rows, metric=metric)
        assert found.shape == (4, 4)
        np.testing.assert_allclose(found, found.T, atol=1e-9)
        np.testing.assert_allclose(found.diagonal(), 0, atol=1e-9)
        np.testing.assert_allclose(series_distances(rows, rows[:2], metric=metric), found[:, :2], atol=1e-12)
    hard = series_distances(rows, metric=DTW())
    assert hard[0, 1] == pytest.approx(reference.dtw(rows[0], rows[1])[0])
    assert series_distances(rows, metric="msm", dtype="float32").dtype == np.float32
    turned = series_distances([row.T for row in rows], metric=SoftDTW(layout="aeon"))
    np.testing.assert_allclose(turned, series_distances(rows), atol=1e-12)


def test_bad_input_is_refused():
    x = torch.zeros(2, 4, 1)
    with pytest.raises(TypeError, match=r"x must be a torch tensor .*; got ndarray"):
        softecm.soft_dtw(np.zeros((2, 4, 1)))
    with pytest.raises(ValueError, match=r"x must have shape \(series, steps, channels\)"):
        softecm.soft_dtw(torch.zeros(4, 1))
    with pytest.raises(ValueError, match="gamma must be a finite number above 0; got 0"):
        softecm.soft_dtw(x, gamma=0)
    gap = x.clone()
    gap[1, 2] = torch.nan
    with pytest.raises(
        ValueError, match="y must hold finite numbers within its lengths; got NaN or infinity in series 2"
    ):
        softecm.soft_dtw(x, gap)
    assert torch.isfinite(softecm.soft_dtw(x, gap, y_lengths=torch.tensor([4, 2]))).all()
    with pytest.raises(ValueError, match="x and y must have one series for each other; got 2 and 1"):
        softecm.soft_dtw(x, x[:1], paired=True)
    with pytest.raises(ValueError, match="metric must be one between series; got 'euclidean'"):
        series_distances(x.numpy(), metric="euclidean")
    with pytest.raises(ValueError, match="must have series of one length; got 3 to 5 steps"):
        series_distances([np.zeros(3), np.zeros(5)], metric="series-euclidean")
    with pytest.raises(ValueError, match="X and Y must have the same channels; got 1 and 2"):
        series_distances(np.zeros((2, 5, 1)), np.zeros((2, 5, 2)))
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32'; got 'half'"):
        series_distances(np.zeros((2, 5, 1)), dtype="half")
