"""Callers check a metric for optional capabilities, and work without them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from hostile.outcomes import assert_sound
from softecm import SoftECM
from softecm.distances import SEMI_METRICS, FunctionMetric, Hamming, Mahalanobis, Precomputed, SquaredEuclidean
from softecm.distances.auto import resolve_metric
from softecm.distances.base import nearest_of


def plain(x, v):
    return (x[:, None] - v).square().sum(-1)


def test_a_metric_without_capabilities_answers_none_or_the_plain_thing(rng):
    metric = FunctionMetric(plain)
    x, v = (torch.from_numpy(rng.normal(size=(n, 3))) for n in (20, 4))
    assert metric.closed_form.sums(x, v, torch.ones(20, 4)) is None
    assert metric.closed_form.with_sums(x, v) is None
    assert metric.closed_form.tensor(v) is v
    assert metric.fitted(x, None) is metric


def test_nearest_is_the_same_compiled_and_in_blocks(rng, monkeypatch):
    monkeypatch.setattr("softecm.distances.base.BLOCK_CELLS", 50)
    x, v = (torch.from_numpy(rng.normal(size=(n, 3))) for n in (20, 4))
    compiled, blocks = nearest_of(SquaredEuclidean(), x, v), nearest_of(FunctionMetric(plain), x, v)
    torch.testing.assert_close(compiled[0], blocks[0])
    assert torch.equal(compiled[1], blocks[1])
    x[7] = torch.nan
    with pytest.raises(ValueError, match=r"finite distances; got nan for object 108 \(X\[107\]\) and prototype 1 "):
        nearest_of(FunctionMetric(plain), x, v, first=100)


def test_degrees_are_those_of_squares_and_of_metrics():
    degrees = {name: metric().degree for name, metric in SEMI_METRICS.items()}
    ones = ("euclidean", "manhattan", "precomputed", "softmsm", "msm", "softtwe", "twe", "erp", "states")
    twos = ("sqeuclidean", "mahalanobis", "cosine", "mixed", "hamming", "softdtw", "dtw", "texture")
    assert {degrees[name] for name in ones} == {1.0}
    assert {degrees[name] for name in twos} == {2.0}
    assert Hamming(kind="total-variation").degree == 1.0


@pytest.mark.parametrize("name", ["sqeuclidean", "euclidean", "mahalanobis"])
def test_a_distance_grows_with_lengths_to_the_power_of_its_degree(name, rng):
    x = torch.from_numpy(rng.normal(size=(6, 3)))
    metric = SEMI_METRICS[name]().fitted(x, None)
    torch.testing.assert_close(
        metric.pairwise(3 * x, 3 * x), 3**metric.degree * metric.pairwise(x, x), rtol=1e-5, atol=1e-9
    )


def test_the_whitening_is_computed_once_and_does_not_stand_in_the_way(rng, monkeypatch):
    metric = Mahalanobis([[2.0, 0.5], [0.5, 1.0]])
    x = torch.from_numpy(rng.normal(size=(5, 2)))
    before = metric.pairwise(x, x)
    monkeypatch.setattr("numpy.linalg.cholesky", None)
    assert torch.equal(metric.pairwise(x, x), before)
    assert torch.equal(pickle.loads(pickle.dumps(metric)).pairwise(x, x), before)
    assert list(metric.parameters()) == ["covariance"]


def test_precomputed_is_a_name_like_any_other():
    assert resolve_metric("precomputed", None) == Precomputed()
    assert Precomputed.discrete
    with pytest.raises(
        ValueError, match=r"'states', 'precomputed'.* a SemiMetric or a torch function; got 'chebyshev'"
    ):
        resolve_metric("chebyshev", None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", [1e-130, 1e-31, 1e30])
def test_mahalanobis_knows_no_unit(unit):
    """With a constant column, and with equal rows."""
    rows = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [9.0]], 20, 0)
    rows[:, 1] = 3.0
    model = SoftECM(2, metric="mahalanobis", random_state=0)
    usual = model.fit(rows).partition_.masses
    np.testing.assert_allclose(model.fit(rows * unit).partition_.masses, usual, atol=1e-6)
    assert_sound(SoftECM(1, metric="mahalanobis").fit(np.repeat(rows[:1] * unit, 6, 0)).partition_.masses)
