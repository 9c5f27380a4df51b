"""The switch that checks every index of compiled code does so."""

import os
import subprocess
import sys

import pytest

from problems import DEEP
from softecm.kernels import quadratic

PROGRAM = """
import numpy as np
from softecm.kernels import quadratic
from softecm.kernels.soft_dtw import soft

def index_error(call):
    try:
        call()
    except IndexError:
        return True
    return False

narrow = lambda: quadratic._masses(1, np.zeros((5, 3)), np.zeros((2, 2)), np.ones(2), 2.0, 1.0, np.empty((5, 3)))
one, none = np.zeros(1, dtype=np.int64), np.zeros((0, 0, 0))
series = np.zeros((1, 9, 1))
cramped = lambda: soft.soft_dtw(
    series, series, one + 9, one + 9, one, one, one, np.zeros(0), np.array([0, 1]), 1.0, -1, np.zeros(64), 10, False,
    np.zeros(1), none,
)
print(index_error(narrow), index_error(cramped))
"""


@pytest.mark.skipif(not DEEP, reason="compiles kernels anew, half a minute: run by make test-deep")
def test_an_access_outside_an_array_is_an_error(tmp_path, hostile_case):
    hostile_case()
    env = {**os.environ, "SOFTECM_BOUNDS": "1", "SOFTECM_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


@pytest.mark.skipif(os.environ.get("SOFTECM_BOUNDS") == "1", reason="the switch is on")
def test_without_the_switch_indices_are_not_checked():
    """Or the fast path would have been slowed down for all."""
    assert quadratic._masses.targetoptions["boundscheck"] is False
