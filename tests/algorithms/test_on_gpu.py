"""Whole fits on the GPU: the same starts and results as on the CPU; error messages for unsupported ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from softecm import ECM, FCM, SoftECM
from softecm.datasets import make_blobs, make_cbf, make_mixed_blobs
from softecm.distances import DTW, SeriesEuclidean, SoftDTW
from softecm.kernels import cuda_compile

WHY_NOT = cuda_compile.available()
gpu = pytest.mark.skipif(WHY_NOT is not None, reason=f"no GPU to test on: {WHY_NOT}")
BLOBS = make_blobs(200, n_features=3, between=5, outliers=3, random_state=0).data
SERIES = make_cbf(8, length=48, random_state=0).data
RAGGED = [series[: 48 - (i % 5)] for i, series in enumerate(SERIES)]
MIXED = make_mixed_blobs(90, random_state=0).data


def both(estimator, X):
    """The estimator fitted on both devices."""
    return [type(estimator)(**{**estimator.get_params(), "device": device}).fit(X) for device in ("cpu", "cuda")]


@pytest.mark.gpu
@gpu
@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
@pytest.mark.parametrize(
    ("metric", "X"),
    [("sqeuclidean", BLOBS), ("mahalanobis", BLOBS), ("mixed", MIXED), (SeriesEuclidean(), SERIES)],
    ids=["sqeuclidean", "mahalanobis", "mixed", "series"],
)
def test_exact_steps_agree(metric, X, relaxation):
    cpu, cuda = both(SoftECM(3, metric=metric, relaxation=relaxation, n_init=3, random_state=0), X)
    np.testing.assert_allclose(cuda.partition_.masses, cpu.partition_.masses, atol=1e-5)
    assert cuda.objective_ == pytest.approx(cpu.objective_, rel=1e-6)


@pytest.mark.gpu
@gpu
@pytest.mark.parametrize(
    ("metric", "X"),
    [(SoftDTW(), SERIES), (SoftDTW(band=5), RAGGED), ("cosine", BLOBS)],
    ids=["soft-DTW", "ragged with a band", "cosine"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_descents_agree(metric, X):
    """From the same start with the same delta, because the first stage's decisions can be close."""
    given = {"init": "k-means++", "delta": 10.0, "n_init": 1, "max_iter": 30}
    cpu, cuda = both(SoftECM(3, metric=metric, random_state=0, **given), X)
    np.testing.assert_allclose(cuda.partition_.masses, cpu.partition_.masses, atol=1e-4)
    assert cuda.objective_ == pytest.approx(cpu.objective_, rel=1e-5)


@pytest.mark.gpu
@gpu
@pytest.mark.parametrize("estimator", [ECM(3, n_init=2, random_state=0), FCM(3, n_init=2, random_state=0)])
def test_the_family_agrees(estimator):
    cpu, cuda = both(estimator, BLOBS)
    np.testing.assert_allclose(cuda.partition_.masses, cpu.partition_.masses, atol=1e-5)


@pytest.mark.gpu
@gpu
def test_weights_agree():
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(BLOBS))
    fits = [
        SoftECM(3, device=device, n_init=2, random_state=0).fit(BLOBS, sample_weight=weights)
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(fits[1].partition_.masses, fits[0].partition_.masses, atol=1e-5)


def test_a_metric_without_gpu_code_is_never_quietly_run_on_the_cpu():
    class Near(DTW):
        gpu = False

    with pytest.raises(ValueError, match="metric dtw, which has no GPU code"):
        SoftECM(3, metric=Near(), device="cuda").fit(SERIES)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_a_sentence():
    with pytest.raises(ValueError, match="torch finds no GPU"):
        SoftECM(3, device="cuda").fit(BLOBS)
