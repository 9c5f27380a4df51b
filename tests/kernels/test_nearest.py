import numpy as np
import pytest

from softecm.kernels import rounds as kernel


@pytest.mark.parametrize(("n", "k", "p"), [(1, 1, 1), (127, 3, 2), (128, 9, 4), (1000, 20, 7)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parallel", [True, False])
def test_the_nearest_is_that_of_the_table_of_all_distances(rng, n, k, p, dtype, parallel, monkeypatch):
    monkeypatch.setattr(kernel, "PARALLEL", 0 if parallel else 10**12)
    x, v = rng.normal(size=(n, p)).astype(dtype), rng.normal(size=(k, p))
    table = ((x[:, None].astype(np.float64) - v) ** 2).sum(-1)
    distances, which = kernel.nearest(x, v)
    np.testing.assert_allclose(distances, table.min(1), rtol=1e-12)
    np.testing.assert_array_equal(which, table.argmin(1))


def test_the_first_of_equals_is_taken():
    distances, which = kernel.nearest(np.zeros((3, 2)), np.ones((4, 2)))
    assert distances.tolist() == [2.0, 2.0, 2.0]
    assert which.tolist() == [0, 0, 0]
