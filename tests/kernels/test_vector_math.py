"""The vectorised powers against NumPy's."""

import numba as nb
import numpy as np
import pytest

from softecm.kernels.vector_math import exp2, log2


@nb.njit(fastmath={"contract", "reassoc", "nsz"})  # re-association outside must not reach the rounding inside
def _apply_exp2(x, out):
    for i in range(x.shape[0]):
        out[i] = exp2(x[i])


@nb.njit(fastmath={"contract", "reassoc", "nsz"})
def _apply_log2(x, out):
    for i in range(x.shape[0]):
        out[i] = log2(x[i])


def test_exp2_has_full_precision_down_to_the_smallest_normal_numbers(rng):
    x = np.concatenate([-rng.random(2000) * 1019, -rng.random(2000), [0.0, -0.5, -1.0]])
    out = np.empty_like(x)
    _apply_exp2(x, out)
    assert np.max(np.abs(out / np.exp2(x) - 1)) < 5e-16


def test_exp2_is_zero_far_below():
    out = np.ones(3)
    _apply_exp2(np.array([-1021.0, -1e6, -np.inf]), out)
    assert (out == 0).all()


@pytest.mark.parametrize("spread", [1e-3, 1.0, 300.0])
def test_log2_has_full_precision_over_the_whole_range(rng, spread):
    x = np.exp(np.clip(spread * rng.standard_normal(3000), -700, 700))
    out = np.empty_like(x)
    _apply_log2(x, out)
    expected = np.log2(x)
    assert np.max(np.abs(out - expected) / np.maximum(np.abs(expected), 1e-3)) < 1e-12
    assert np.max(np.abs(out - expected)) < 3e-16 * max(1.0, np.abs(expected).max()) + 3e-16
