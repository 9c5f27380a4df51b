from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from distributed_problems import scattered
from softecm.distances import SquaredEuclidean
from softecm.distributed import passes
from softecm.spaces.base import weighted_quantile
from softecm.spaces.real import RealVectors

METRIC = SquaredEuclidean()


@given(st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]), st.booleans())
def test_the_quantile_is_that_of_all_distances_at_once(seed, n, q, weighted):
    rng = np.random.default_rng(seed)
    x = rng.choice([0.0, 1.0, 2.0, 1e-200, 1e60, *rng.normal(size=5)], size=(n, 1))  # ties, zeros, all magnitudes
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    if weights is not None:
        weights[rng.integers(n)] = 1.0
    point = torch.zeros(1, 1, dtype=torch.float64)
    found = passes.quantile(
        scattered(x, min(n, 4), weights), partial(passes.distances_of_block, metric=METRIC, point=point), q
    )
    assert found == weighted_quantile(x[:, 0] ** 2, q, np.ones(n) if weights is None else weights)


def test_many_candidates_are_told_apart_by_further_passes(rng, monkeypatch):
    monkeypatch.setattr(passes, "FEW", 3)
    x = 1.0 + 1e-9 * rng.random((2000, 1))
    point = torch.zeros(1, 1, dtype=torch.float64)
    found = passes.quantile(scattered(x, 5), partial(passes.distances_of_block, metric=METRIC, point=point), 0.95)
    assert found == weighted_quantile(x[:, 0] ** 2, 0.95, np.ones(2000))


def test_what_lies_below_adds_up_over_the_passes(monkeypatch):
    """Values that differ in the first, the second and the third bits: each pass leaves some behind."""
    monkeypatch.setattr(passes, "FEW", 1)
    x = np.sqrt(np.r_[np.linspace(0.1, 0.9, 30), 1.0 + 2.0**-30 * np.arange(30), 1.0 + 2.0**-40 * np.arange(30)])[
        :, None
    ]
    point = torch.zeros(1, 1, dtype=torch.float64)
    values = partial(passes.distances_of_block, metric=METRIC, point=point)
    for q in np.linspace(0.0, 1.0, 19):
        assert passes.quantile(scattered(x, 3), values, q) == weighted_quantile(x[:, 0] ** 2, q, np.ones(90))


def test_rows_are_picked_by_their_number_among_all(rng):
    x = rng.normal(size=(50, 2))
    rows = np.array([0, 7, 30, 49])
    np.testing.assert_array_equal(passes.picked(scattered(x, 6), RealVectors(2), rows), x[rows])


def test_the_mean_distance_counts_weights(rng):
    x, weights = rng.normal(size=(40, 3)), rng.random(40)
    point = torch.from_numpy(x[:1])
    expected = np.average(((x - x[0]) ** 2).sum(1), weights=weights)
    assert passes.mean_distance(scattered(x, 7, weights), METRIC, point) == pytest.approx(expected, rel=1e-13)


def test_the_number_for_the_content_knows_rows_and_weights_but_not_their_order(rng):
    x, weights = rng.normal(size=(40, 3)), rng.random(40)
    space = RealVectors(3)
    order = rng.permutation(40)
    number = passes.content(scattered(x, 3, weights), space)
    assert passes.content(scattered(x[order], 8, weights[order]), space) == number
    assert passes.content(scattered(x + 1e-12, 3, weights), space) != number
    assert passes.content(scattered(x, 3, weights[order]), space) != number
