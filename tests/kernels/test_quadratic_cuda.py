"""The GPU's iteration on vectors, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from internals import vector_round
from softecm.kernels import cuda_compile, quadratic_cuda

WHY_NOT = cuda_compile.available()
gpu = pytest.mark.skipif(WHY_NOT is not None, reason=f"no GPU to test on: {WHY_NOT}")


@pytest.mark.parametrize(("f", "p", "threads"), [(36, 10, 128), (45, 40, 64), (3, 300, 32), (36, 300, None)])
def test_blocks_shrink_until_a_tile_fits(f, p, threads):
    assert quadratic_cuda._threads(f, p, 100 * 1024) == threads


def problem(n, p, f, runs, *, weighted=False, compared=True, dtype=np.float64, on_prototype=False, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).astype(dtype)
    v = rng.normal(size=(runs, f, p))
    if on_prototype:
        v[:, 0] = v[:, 1] = x[0]
        v[:, 2] = x[n // 2]
    before = v + 0.1 * rng.normal(size=v.shape) if compared else None
    factors = rng.uniform(1.0, 4.0, (runs, f))
    beta = rng.choice([1.1, 1.5, 2.0, 3.0], runs)
    delta2 = rng.choice([np.inf, 4.0], runs)
    return x, rng.uniform(0.0, 2.0, n) if weighted else None, v, before, factors, beta, delta2


@pytest.mark.gpu
@gpu
@pytest.mark.parametrize(
    ("n", "p", "f", "runs", "options"),
    [
        (1, 1, 1, 1, {}),
        (127, 3, 6, 2, {}),
        (1000, 10, 36, 3, {"weighted": True}),
        (1000, 10, 36, 1, {"compared": False}),
        (5000, 2, 3, 7, {"on_prototype": True}),
        (300, 9, 21, 500, {}),
        (70_001, 10, 36, 1, {"dtype": np.float32}),
        (500, 40, 28, 2, {}),
        (500, 40, 45, 2, {}),
    ],
)
def test_it_equals_the_round_on_the_cpu(n, p, f, runs, options):
    x, weights, v, before, factors, beta, delta2 = problem(n, p, f, runs, **options)
    sums = vector_round(x, weights, v, before, factors, beta, delta2, 2.0)  # exact changes
    expected = sums.costs, sums.mass[..., 0], sums.moment, sums.changes
    on_card = [None if a is None else torch.as_tensor(a).cuda() for a in (x, weights, v, before, factors, beta, delta2)]
    assert quadratic_cuda.fits(on_card[0], f)
    found = quadratic_cuda.run_round(*on_card)
    again = quadratic_cuda.run_round(*on_card)
    for a, b, c in zip(expected, found, again, strict=True):
        scale = np.abs(a[np.isfinite(a)]).max(initial=1.0)
        np.testing.assert_allclose(b.cpu().numpy(), a, rtol=1e-9, atol=1e-11 * scale)
        assert torch.equal(b, c)  # reproducible


@pytest.mark.gpu
@gpu
def test_too_many_sets_for_a_block_are_left_to_plain_tensors():
    assert not quadratic_cuda.fits(torch.zeros(4, 300, device="cuda"), 36)


@pytest.mark.gpu
@gpu
@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
@pytest.mark.parametrize("metric", ["sqeuclidean", "mahalanobis"])
def test_a_fit_on_the_gpu_equals_the_fit_on_the_cpu(metric, relaxation):
    from softecm import SoftECM
    from softecm.datasets import make_blobs

    X = make_blobs(300, n_features=3, between=6, outliers=3, random_state=0).data
    fits = [
        SoftECM(3, metric=metric, relaxation=relaxation, n_init=3, device=device, random_state=0).fit(X)
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(fits[1].partition_.masses, fits[0].partition_.masses, atol=1e-5)
    assert fits[1].objective_ == pytest.approx(fits[0].objective_, rel=1e-9)


@pytest.mark.gpu
@gpu
def test_a_sweep_on_the_gpu_equals_the_sweep_on_the_cpu():
    from softecm import SoftECM
    from softecm.datasets import make_blobs
    from softecm.selection import sweep

    X = make_blobs(200, n_clusters=3, distance=7, random_state=0).data
    grid = {"beta": [1.2, 1.5, 2.0], "lam": [0.5, 2.0], "delta": [None, 5.0]}
    one, two = (sweep(X, grid, estimator=SoftECM(3, n_init=3, device=d), seeds=2) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(two["objective"], one["objective"], rtol=1e-6)
    np.testing.assert_allclose(two["nonspecificity"], one["nonspecificity"], atol=1e-4)
