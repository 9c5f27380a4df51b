"""Least squares on the simplex against a general solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from softecm.kernels.simplex_qp import fit_rows


def _conditions(q, b, m):
    """Violation of the optimality conditions."""
    slope = q @ m - b
    level = slope[m > 0].mean()
    return max(np.abs(slope[m > 0] - level).max(), (level - slope).max(), -m.min(), abs(m.sum() - 1))


@given(st.integers(0, 10_000), st.integers(1, 20))
def test_optimality_conditions_hold_from_any_start(seed, f):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(int(rng.integers(1, 2 * f + 1)), f))
    q, b = a.T @ a + 1e-8 * np.eye(f), rng.normal(size=f) * 10.0 ** rng.uniform(-2, 2)
    m = rng.dirichlet(np.ones(f)) if rng.random() < 0.5 else np.eye(f)[rng.integers(f)]
    (m,) = fit_rows(q, b[None], m[None])
    assert _conditions(q, b, m) <= 1e-7 * max(1.0, np.abs(b).max(), q.max())


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(9, 5))
    q, b = a.T @ a, 3 * rng.normal(size=5)
    (m,) = fit_rows(q, b[None])
    general = minimize(
        lambda v: v @ q @ v / 2 - b @ v,
        np.full(5, 0.2),
        jac=lambda v: q @ v - b,
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(m, general.x, atol=1e-5)
    assert m @ q @ m / 2 - b @ m <= general.fun + 1e-12
