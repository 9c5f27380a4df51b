"""Losses for torch: values of a plain recursion, gradients of finite differences, the usual signatures."""

import copy
import inspect

import numpy as np
import pytest
import torch

from references import soft_dtw as reference
from softecm.distances import ADTW, DTW, SBD, SoftMSM, SoftTWE
from softecm.losses import SeriesLoss, SoftDTW, SoftDTWLoss, SoftDTWLossPyTorch


def plain(x, y, gamma, bandwidth=0, normalize=False):
    """Soft-DTW of one pair, cell by cell, with a band as |i - j| <= bandwidth."""
    if normalize:
        own = [plain(a, a, gamma, bandwidth) for a in (x, y)]
        return plain(x, y, gamma, bandwidth) - sum(own) / 2
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if bandwidth and abs(i - j) > bandwidth:
                continue
            before = -np.array([table[i - 1, j - 1], table[i - 1, j], table[i, j - 1]]) / gamma
            most = before.max()
            softest = -gamma * (np.log(np.exp(before - most).sum()) + most)
            table[i, j] = ((x[i - 1] - y[j - 1]) ** 2).sum() + softest
    return table[-1, -1]


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("gamma", [0.05, 1.0])
def test_the_values_are_those_of_the_recursion(normalize, gamma, rng):
    x, y = rng.normal(size=(4, 8, 2)), rng.normal(size=(4, 6, 2))
    wanted = [plain(a, b, gamma, normalize=normalize) for a, b in zip(x, y, strict=True)]
    for loss in (
        SoftDTWLoss(gamma, normalize=normalize),
        SoftDTW(False, gamma, normalize),
        SoftDTW(use_cuda=True, gamma=gamma, normalize=normalize, bandwidth=0),  # its tensors are not on a GPU
        SoftDTWLossPyTorch(gamma, normalize),
    ):
        np.testing.assert_allclose(loss(torch.tensor(x), torch.tensor(y)), wanted, atol=1e-10)


@pytest.mark.parametrize("bandwidth", [1, 3, 20])
def test_a_band_is_that_of_steps_apart(bandwidth, rng):
    x, y = rng.normal(size=(3, 9, 1)), rng.normal(size=(3, 9, 1))
    wanted = [plain(a, b, 0.3, bandwidth, normalize=True) for a, b in zip(x, y, strict=True)]
    loss = SoftDTW(True, gamma=0.3, normalize=True, bandwidth=bandwidth)
    np.testing.assert_allclose(loss(torch.tensor(x), torch.tensor(y)), wanted, atol=1e-10)


def test_the_signatures_are_those_people_know():
    assert list(inspect.signature(SoftDTW).parameters) == ["use_cuda", "gamma", "normalize", "bandwidth", "dist_func"]
    assert list(inspect.signature(SoftDTWLossPyTorch).parameters) == ["gamma", "normalize", "dist_func"]


LOSSES = {
    "soft-DTW": SoftDTWLoss(0.5, band=3),
    "Maghoumi's": SoftDTW(False, 0.5, True),
    "tslearn's": SoftDTWLossPyTorch(0.5, True),
    "softmsm": SeriesLoss("softmsm"),
    "softtwe": SeriesLoss(SoftTWE(gamma=0.5)),
    "adtw": SeriesLoss(ADTW(0.1, gamma=0.5, derivative=True)),
    "dtw": SeriesLoss("dtw"),
    "sbd": SeriesLoss(SBD()),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_gradients_are_those_of_finite_differences(loss, rng):
    x, y = (torch.tensor(rng.normal(size=(2, n, 2)), requires_grad=True) for n in (5, 6))
    assert torch.autograd.gradcheck(loss, (x, y))


@pytest.mark.parametrize("name", ["soft-DTW", "Maghoumi's", "softmsm", "dtw"])
def test_there_is_no_second_derivative_and_it_says_so(name, rng):
    x, y = (torch.tensor(rng.normal(size=(2, n, 2)), requires_grad=True) for n in (5, 6))
    loss = LOSSES[name](x, y).sum()
    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="have first derivatives only"):
        (loss + slope.square().sum()).backward()


def test_padding_is_not_read(rng):
    x, y = (torch.tensor(rng.normal(size=(3, n, 2))) for n in (7, 5))
    lengths = torch.tensor([7, 4, 5])
    padded = x.clone()
    padded[1, 4:] = torch.nan
    found = SoftDTWLoss(0.5, normalize=True)(padded, y, x_lengths=lengths)
    for i in range(3):
        row = x[i, : lengths[i]].numpy()
        assert float(found[i]) == pytest.approx(plain(row, y[i].numpy(), 0.5, normalize=True), abs=1e-10)


def test_a_loss_trains_a_network():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Unflatten(1, (6, 1))).double()
    x = torch.randn(8, 6, dtype=torch.float64)
    y = x.roll(1, 1)[..., None]
    loss, values = SoftDTWLoss(0.1, normalize=True), []
    for _ in range(60):
        value = loss(model(x), y).mean()
        slopes = torch.autograd.grad(value, tuple(model.parameters()))
        with torch.no_grad():
            for weight, slope in zip(model.parameters(), slopes, strict=True):
                weight -= 0.1 * slope
        values.append(float(value.detach()))
    assert values[-1] < 0.25 * values[0]


def test_losses_are_modules():
    for loss in LOSSES.values():
        assert list(loss.parameters()) == []
        copy.deepcopy(loss).to(torch.float32)
    assert repr(SoftDTW(True, 0.5)) == "SoftDTW(gamma=0.5, normalize=False, band=None)"
    assert (
        repr(SeriesLoss(DTW()))
        == "SeriesLoss(DTW(band=None, length='median', layout='tslearn', of='values', znormalise=False))"
    )


@pytest.mark.parametrize("make", [SoftDTWLoss, SoftDTWLossPyTorch, lambda gamma: SoftDTW(True, gamma)])
@pytest.mark.parametrize("gamma", [0, -1.0, np.inf, np.nan, "auto", None, True])
def test_gamma_out_of_range_is_refused(make, gamma):
    with pytest.raises(ValueError, match=r"gamma must be .*greater than 0.*; got"):
        make(gamma)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="normalize must be True or False; got 'yes'"):
        SoftDTWLoss(normalize="yes")
    with pytest.raises(ValueError, match=r"band must be a whole number of steps from 0, or None; got 0\.5"):
        SoftDTW(True, bandwidth=0.5)
    with pytest.raises(ValueError, match="dist_func must be None: a step costs its squared difference"):
        SoftDTWLossPyTorch(dist_func=torch.dist)
    with pytest.raises(ValueError, match="metric must be one between series; got 'euclidean'"):
        SeriesLoss("euclidean")
    with pytest.raises(ValueError, match="metric must have a number for gamma; got 'auto'"):
        SeriesLoss(SoftMSM(gamma="auto"))


def test_bad_batches_are_refused():
    x = torch.zeros(3, 5, 2)
    with pytest.raises(ValueError, match="x and y must have one series for each other; got 3 and 2"):
        SoftDTW(False)(x, x[:2])
    with pytest.raises(ValueError, match="x and y must agree in type, device and number of channels"):
        SoftDTWLossPyTorch()(x, x[..., :1])
    with pytest.raises(TypeError, match=r"x must be float32 or float64; got torch\.float16"):
        SoftDTWLoss()(x.half(), x.half())
    with pytest.raises(TypeError, match="y must be a torch tensor"):
        SoftDTWLoss()(x, x.numpy())
    for other in (x[:2], x[..., :1], x[0]):
        with pytest.raises(ValueError, match=r"x and y must be batches .* got shapes \(3, 5, 2\)"):
            SeriesLoss("softmsm")(x, other)
    gap = x.clone()
    gap[2, 1] = torch.nan
    for loss in (SoftDTWLoss(), SeriesLoss("msm")):
        with pytest.raises(
            ValueError, match=r"y must hold finite numbers within its lengths; .* in series 3 \(y\[2\]\)"
        ):
            loss(x, gap)
    with pytest.raises(ValueError, match="'series-euclidean' must have series of one length; got 4 to 5 steps"):
        SeriesLoss("series-euclidean")(x, x[:, :4])


def test_the_plain_recursion_here_is_the_reference(rng):
    x, y = rng.normal(size=(7, 2)), rng.normal(size=(5, 2))
    assert plain(x, y, 0.3) == pytest.approx(reference.soft_dtw(x, y, 0.3), abs=1e-12)
