"""Fixtures and settings common to all tests."""

import os
from collections.abc import Callable, Iterator

import hypothesis
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from problems import DEEP
from softecm.native.library import set_threads

HOSTILE = "hostile cases"

hypothesis.settings.register_profile("quick", max_examples=12, deadline=None, derandomize=True)
hypothesis.settings.register_profile("deep", max_examples=150, deadline=None)
hypothesis.settings.load_profile("deep" if DEEP else "quick")
torch.set_num_threads(1)  # the problems are small: a second thread costs more than it saves
if "PYTEST_XDIST_WORKER" in os.environ:  # one core per process
    threadpool_limits(1)
    set_threads(1)  # a test that asks for more (n_jobs=2) still gets them


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def as_typed() -> Iterator[None]:
    """Messages write parameters as the command line does."""
    from softecm._wording import WORDING
    from softecm.cli.problems import AS_TYPED

    token = WORDING.set(AS_TYPED)
    yield
    WORDING.reset(token)


@pytest.fixture(scope="session")
def many() -> int:
    """Random problems per combination: few in ``make test``, many in ``make test-deep``."""
    return 100 if DEEP else 10


@pytest.fixture
def hostile_case(request: pytest.FixtureRequest) -> Callable[[], None]:
    """Counts a hostile case; the sum is printed after a run (from all processes of pytest-xdist)."""
    properties = request.node.user_properties
    properties.append((HOSTILE, 0))
    at = len(properties) - 1

    def count() -> None:
        properties[at] = (HOSTILE, properties[at][1] + 1)

    return count


def pytest_terminal_summary(terminalreporter) -> None:
    """Print the number of hostile cases."""
    reports = [r for group in ("passed", "failed") for r in terminalreporter.stats.get(group, [])]
    tried = sum(k for r in reports if r.when == "call" for name, k in r.user_properties if name == HOSTILE)
    if tried:
        terminalreporter.write_line(f"hostile cases tried: {tried}")
