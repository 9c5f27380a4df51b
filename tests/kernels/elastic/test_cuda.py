"""Elastic distances on the GPU, against the CPU's kernel in float64 (which is tested against the plain recursions)."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch

from softecm import SoftECM
from softecm.datasets import make_cbf
from softecm.distances import ERP
from softecm.kernels import cuda_compile
from softecm.kernels import elastic as el
from softecm.kernels.elastic import api
from softecm.kernels.soft_dtw import dtw, dtw_sums

WHY_NOT = cuda_compile.available()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=f"no GPU to test on: {WHY_NOT}")]

RULES = {
    "adtw": lambda gamma: el.adtw(0.7, gamma),
    "wdtw": lambda gamma: el.wdtw(0.2, gamma),
    "twe": lambda gamma: el.twe(0.02, 0.7, gamma),
    "msm": lambda gamma: el.msm(0.7, gamma),
    "erp": lambda gamma: el.erp(gamma),
}
TIED = ("msm", "erp")  # many alignments have exactly equal cost: any of their gradients is valid
# n, f, steps of x, steps of y, channels, band, selected pairs
SHAPES = [
    (3, 2, 20, 17, 1, None, 0),
    (2, 2, 1, 1, 1, None, 0),
    (2, 2, 1, 9, 2, None, 0),
    (2, 2, 9, 1, 1, None, 0),
    (4, 3, 33, 40, 3, None, 7),
    (3, 2, 70, 150, 1, None, 0),
    (2, 2, 150, 270, 2, None, 0),
    (3, 3, 61, 61, 1, 3, 0),
    (2, 3, 120, 297, 2, 10, 4),
    (3, 3, 12, 9, 1, 1, 0),
    (2, 2, 30, 30, 8, 5, 0),
]


def problem(rng, n, f, x_steps, y_steps, d, pairs, dtype=torch.float64):
    """Ragged series with NaN as padding, whole prototypes, weights, and selected pairs."""
    lengths = torch.as_tensor(rng.integers(max(1, x_steps // 2), x_steps + 1, n))
    x, y = (
        torch.as_tensor(rng.standard_normal((k, s, d)).cumsum(1)).to(dtype) for k, s in ((n, x_steps), (f, y_steps))
    )
    for one, length in zip(x, lengths.tolist(), strict=True):
        one[length:] = torch.nan
    chosen = tuple(torch.as_tensor(rng.integers(0, k, pairs)) for k in (n, f)) if pairs else None
    weights = torch.as_tensor(rng.standard_normal((pairs,) if pairs else (n, f))).to(dtype)
    return x, y, weights, lengths, chosen


def on_card(*tensors):
    return [
        None if t is None else tuple(map(torch.Tensor.cuda, t)) if isinstance(t, tuple) else t.cuda() for t in tensors
    ]


@pytest.mark.parametrize("gamma", [0.0, 0.3])
@pytest.mark.parametrize("name", list(RULES))
def test_values_curvatures_and_gradients_are_the_cpus(name, gamma, rng):
    rule = RULES[name](gamma)
    for n, f, x_steps, y_steps, d, band, pairs in SHAPES:
        x, y, weights, lengths, chosen = problem(rng, n, f, x_steps, y_steps, d, pairs)
        wanted = el.elastic_sums(x, y, weights, rule, band=band, x_lengths=lengths, pairs=chosen, floor=0.1)
        gx, gy, gw, gl, gp = on_card(x, y, weights, lengths, chosen)
        found = el.elastic_sums(gx, gy, gw, rule, band=band, x_lengths=gl, pairs=gp, floor=0.1)
        compared = 1 if name in TIED and gamma == 0 else 3
        for part, other in list(zip(found, wanted, strict=True))[:compared]:
            torch.testing.assert_close(part.cpu(), other, rtol=1e-9, atol=1e-9)
        alone = el.elastic(gx, gy, rule, band=band, x_lengths=gl, pairs=gp)
        torch.testing.assert_close(alone, found.values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.3])
@pytest.mark.parametrize("name", list(RULES))
def test_curvature_and_gradient_bound_the_distances_wherever_the_prototypes_go(name, gamma, rng):
    rule = RULES[name](gamma)
    x, y, weights, lengths, _ = on_card(*problem(rng, 5, 3, 40, 70, 2, 0))
    weights = weights.abs()
    values, curvature, gradient = el.elastic_sums(x, y, weights, rule, x_lengths=lengths)
    for reach in (1e-4, 1e-2, 1.0):
        step = reach * torch.as_tensor(rng.standard_normal(y.shape)).cuda()
        rise = (weights * (el.elastic(x, y + step, rule, x_lengths=lengths) - values)).sum()
        bound = ((curvature * step + gradient) * step).sum()
        assert rise <= bound + 1e-9 * float((weights * values.abs()).sum())


@pytest.mark.parametrize("name", list(RULES))
def test_both_gradients_of_ragged_series_in_single_precision(name, rng):
    rule = RULES[name](0.5)
    x, y, weights, lengths, _ = problem(rng, 5, 4, 90, 140, 2, 0)
    slopes = {}
    for dtype, device in ((torch.float64, "cpu"), (torch.float32, "cuda")):
        a, b = (t.to(device, dtype).requires_grad_() for t in (x, y))
        d = el.elastic(a, b, rule, x_lengths=lengths.to(device))
        slopes[device] = torch.autograd.grad((d * weights.to(device, dtype)).sum(), (a, b))
    for found, wanted in zip(slopes["cuda"], slopes["cpu"], strict=True):
        assert (found.double().cpu() - wanted).norm() <= 1e-4 * wanted.norm()


def test_the_same_bits_every_time(rng):
    x, y, weights, lengths, _ = on_card(*problem(rng, 40, 7, 60, 50, 1, 0, torch.float32))
    runs = [el.elastic_sums(x, y, weights, el.msm(1.0, 0.3), x_lengths=lengths) for _ in range(3)]
    assert all(torch.equal(a, b) for run in runs[1:] for a, b in zip(runs[0], run, strict=True))


@pytest.mark.parametrize("band", [None, 7])
def test_sums_along_best_dtw_alignments(band, rng):
    x, y, weights, lengths, _ = problem(rng, 6, 3, 80, 65, 2, 0)
    wanted = dtw_sums(x, y, weights, x_lengths=lengths, band=band)
    gx, gy, gw, gl = on_card(x, y, weights, lengths)
    found = dtw_sums(gx, gy, gw, x_lengths=gl, band=band)
    for part, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(part.cpu(), other, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found[0], dtw(gx, gy, x_lengths=gl, band=band), rtol=1e-12, atol=1e-12)


def test_more_channels_than_the_kernel_takes_run_on_the_cpu_and_say_so(rng, caplog):
    api._say_once.cache_clear()
    x, y, _, lengths, _ = problem(rng, 3, 2, 12, 10, 9, 0)
    wanted = el.elastic(x, y, el.adtw(0.5, 0.2), x_lengths=lengths)
    with caplog.at_level(logging.WARNING, "softecm"):
        found = el.elastic(*on_card(x, y), el.adtw(0.5, 0.2), x_lengths=lengths.cuda())
    torch.testing.assert_close(found.cpu(), wanted)
    assert found.is_cuda
    assert "elastic distances of 9 channels are computed on the CPU" in caplog.text


@pytest.mark.parametrize("metric", ["softmsm", "softtwe", "adtw", ERP(gamma=0.3), "dtw"], ids=str)
def test_fits_on_the_gpu_end_where_those_on_the_cpu_do(metric):
    X = make_cbf(8, length=40, random_state=3).data
    models = [SoftECM(3, metric=metric, random_state=0, device=device).fit(X) for device in ("cpu", "cuda")]
    assert np.isclose(models[0].objective_, models[1].objective_, rtol=1e-4)
    assert np.mean(models[0].labels_ == models[1].labels_) >= 0.95
