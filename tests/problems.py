"""Random clustering problems for property tests."""

import os

import numpy as np
import pytest
import torch
from sklearn.utils import estimator_checks

from softecm.belief import FocalSets

#: Set by `make test-deep` for the address sanitizer: browsers don't start with it, and a process forked from several
#: threads may have a locked allocator.
SANITIZED = ("LD_PRELOAD", "ASAN_OPTIONS", "PYTHONMALLOC", "SOFTECM_BOUNDS")
UNSANITIZED = {name: value for name, value in os.environ.items() if name not in SANITIZED}
DEEP = bool(os.environ.get("SOFTECM_DEEP"))  # set by make test-deep

#: scikit-learn's checks that depend on the handling of data, for variants of an estimator that passes all of them.
DATA_CHECKS = pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_clustering,
        estimator_checks.check_dtype_object,
        estimator_checks.check_estimators_dtypes,
        estimator_checks.check_estimators_nan_inf,
        estimator_checks.check_estimators_pickle,
        estimator_checks.check_fit2d_1feature,
        estimator_checks.check_fit2d_1sample,
        estimator_checks.check_fit_idempotent,
        estimator_checks.check_methods_sample_order_invariance,
        estimator_checks.check_methods_subset_invariance,
    ],
    ids=lambda check: check.__name__,
)


def random_problem(seed: int) -> dict:
    """Objects, focal sets, a start and parameters drawn over their whole useful range."""
    rng = np.random.default_rng(seed)
    n, p, c = int(rng.integers(5, 60)), int(rng.integers(1, 6)), int(rng.integers(1, 5))
    scale = 10.0 ** rng.uniform(-3, 3)
    x = scale * (rng.normal(size=(n, p)) + rng.integers(0, 3, size=(n, 1)) * rng.normal(size=p))
    if rng.random() < 0.3:
        x = np.concatenate([x, x[: n // 2]])  # duplicated objects
    focal = FocalSets.up_to(c, int(rng.integers(1, c + 1)))
    start = x[rng.choice(len(x), c, replace=False)] + 1e-3 * scale * rng.normal(size=(c, p))
    return {
        "x": torch.from_numpy(x),
        "focal": focal,
        "init": torch.from_numpy(start)[None],
        "alpha": float(rng.uniform(0, 3)),
        "beta": float(rng.choice([1.05, 1.2, 1.5, 2.0, 3.0])),
        "delta": None if rng.random() < 0.2 else float(scale * rng.uniform(0.3, 5)),
        "lam": float(rng.choice([0.0, 0.1, 1.0, 10.0])),
    }


def largest_rise(history: np.ndarray) -> float:
    """The largest relative rise of the objective between iterations."""
    if len(history) < 2:
        return 0.0
    return float(np.max(np.diff(history) / np.maximum(np.abs(history[:-1]), 1e-300)))
