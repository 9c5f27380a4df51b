"""The vectorised powers of ``native/vector_math.h`` against NumPy's."""

import numpy as np
import pytest

from softecm.native.library import Array, Int, function


def apply(name, x):
    out = np.empty_like(x)
    function(name, Array, Int, Array)(x, len(x), out)
    return out


def test_exp2_has_full_precision_down_to_the_smallest_normal_numbers(rng):
    x = np.concatenate([-rng.random(2000) * 1019, -rng.random(2000), [0.0, -0.5, -1.0]])
    assert np.max(np.abs(apply("powers_of_two", x) / np.exp2(x) - 1)) < 5e-16


def test_exp2_is_zero_far_below():
    assert (apply("powers_of_two", np.array([-1021.0, -1e6, -np.inf])) == 0).all()


@pytest.mark.parametrize("spread", [1e-3, 1.0, 300.0])
def test_log2_has_full_precision_over_the_whole_range(rng, spread):
    x = np.exp(np.clip(spread * rng.standard_normal(3000), -700, 700))
    out, expected = apply("binary_logs", x), np.log2(x)
    assert np.max(np.abs(out - expected) / np.maximum(np.abs(expected), 1e-3)) < 1e-12
    assert np.max(np.abs(out - expected)) < 3e-16 * max(1.0, np.abs(expected).max()) + 3e-16
