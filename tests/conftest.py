"""One place for what all tests share."""

import os

import hypothesis
import numba
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from problems import DEEP

hypothesis.settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True)
hypothesis.settings.register_profile("deep", max_examples=500, deadline=None)
hypothesis.settings.load_profile("deep" if DEEP else "quick")
torch.set_num_threads(1)  # the problems are small: waking a second thread costs more than it brings
if "PYTEST_XDIST_WORKER" in os.environ:  # a core for each process: more threads would fight for it
    threadpool_limits(1)
    numba.set_num_threads(1)  # a test that asks for more (n_jobs=2) still gets them


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def many() -> int:
    """Random problems a combination: few in ``make test``, many in ``make test-deep``."""
    return 500 if DEEP else 20
