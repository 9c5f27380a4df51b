import numpy as np
import pytest

from distributed_problems import scattered
from softecm.distances import SquaredEuclidean
from softecm.distributed.seeding import chances, seed_scattered
from softecm.spaces.real import RealVectors

METRIC = SquaredEuclidean()


def starts(x, n_blocks, kind="k-means++", c=4, runs=3, seed=0, weights=None):
    rng = np.random.RandomState(seed)
    return seed_scattered(kind, METRIC, RealVectors(x.shape[1]), scattered(x, n_blocks, weights), c, runs, rng).numpy()


@pytest.mark.parametrize("kind", ["k-means++", "random"])
def test_neither_blocks_nor_the_order_of_rows_change_a_start(rng, kind):
    x = rng.normal(size=(300, 2))
    one = starts(x, 1, kind)
    np.testing.assert_array_equal(starts(x, 7, kind), one)
    np.testing.assert_array_equal(starts(x[rng.permutation(300)], 3, kind), one)
    assert not np.array_equal(starts(x, 1, kind, seed=1), one)


@pytest.mark.parametrize("kind", ["k-means++", "random"])
def test_starts_are_objects_and_a_run_has_none_twice(rng, kind):
    x = rng.normal(size=(60, 2))
    for run in starts(x, 4, kind, runs=20):
        assert len(np.unique(run, axis=0)) == len(run)
        assert all((x == start).all(1).any() for start in run)


def test_every_group_far_from_the_others_gets_a_start(rng):
    centers = 1000.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    x = centers[rng.integers(4, size=2000)] + rng.normal(size=(2000, 2))
    for run in starts(x, 8, runs=20):
        nearest = ((run[:, None] - centers) ** 2).sum(-1).argmin(1)
        assert sorted(nearest.tolist()) == [0, 1, 2, 3]


def test_an_object_without_weight_is_no_start(rng):
    x = np.concatenate([rng.normal(size=(50, 1)), [[1e6]]])
    weights = np.r_[np.ones(50), 0.0]
    assert (starts(x, 3, weights=weights, runs=10) < 1e5).all()


def test_fewer_different_objects_than_clusters_are_repeated():
    x = np.repeat([[0.0], [1.0]], 10, axis=0)
    found = starts(x, 2, c=4)
    assert found.shape == (3, 4, 1)
    assert set(np.unique(found)) <= {0.0, 1.0}


def test_drawn_numbers_are_uniform_and_depend_on_the_salt():
    keys = np.arange(100_000, dtype=np.uint64)
    numbers = chances(keys, np.uint64(3))
    assert ((numbers > 0) & (numbers < 1)).all()
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    assert abs(counts - 5000).max() < 350  # five standard deviations
    assert abs(np.corrcoef(numbers, chances(keys, np.uint64(4)))[0, 1]) < 0.02
