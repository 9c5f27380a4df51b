"""ECMdd on dissimilarities with many ties: reordering the rows reorders the masses."""

import numpy as np
import pytest

from problems import DEEP
from softecm import ECMdd
from softecm.algorithms.ecmdd import Ranking

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # rare: merged, empty, not converged


def tied(rng):
    """Small integers between few objects, and initial objects."""
    n, top = int(rng.integers(8, 25)), int(rng.integers(3, 8))
    upper = np.triu(rng.integers(1, top, size=(n, n)), 1).astype(float)
    return upper + upper.T, rng.choice(n, int(rng.integers(2, 4)), replace=False), float(top)


def fitted(d, init, delta):
    return ECMdd(len(init), init=init, delta=delta, max_cardinality=2).fit(d)


@pytest.mark.parametrize("seed", range(400 if DEEP else 40))
def test_another_order_of_the_rows_gives_the_same_masses(seed, hostile_case):
    hostile_case()
    rng = np.random.default_rng(seed)
    d, init, delta = tied(rng)
    order = rng.permutation(len(d))
    place = np.argsort(order)
    model, other = fitted(d, init, delta), fitted(d[order][:, order], place[init], delta)
    np.testing.assert_allclose(other.partition_.masses, model.partition_.masses[order], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(other.medoids_, place[model.medoids_])
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-12)


def test_mirror_images_differ_in_their_names_only(hostile_case):
    """A ring has no first object: for any choice, the masses are equal up to names."""
    hostile_case()
    steps = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    ring = np.minimum(steps, 12 - steps).astype(float)
    for shift in range(12):
        order = np.roll(np.arange(12), shift)[:: 1 if shift % 2 else -1]
        place = np.argsort(order)
        model, other = fitted(ring, [0, 6], 3.0), fitted(ring[order][:, order], place[[0, 6]], 3.0)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-12)
        rows = [np.sort(m.partition_.masses.round(9).view("f8,f8,f8,f8").ravel()) for m in (model, other)]
        np.testing.assert_array_equal(*rows)


def test_the_most_central_of_equals_is_taken():
    d = np.array([[0.0, 2, 2, 4], [2, 0, 3, 9], [2, 3, 0, 1], [4, 9, 1, 0]])
    ranking = Ranking(d)
    assert ranking.cheapest(np.array([5.0, 1.0, 1.0 + 1e-15, 5.0]), np.array([0])) == 2
    assert ranking.cheapest(np.array([5.0, 1.0, 1.0 + 1e-9, 5.0]), np.array([0])) == 1
