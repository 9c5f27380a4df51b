"""The command line in an empty folder, as in the library's own tests, and random numbers."""

import numpy as np
import pytest

from cli.conftest import run

__all__ = ["run"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
