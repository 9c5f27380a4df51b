"""The kernels that check every memory access do so."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from problems import DEEP

ROOT = Path(__file__).resolve().parents[2]
BUILDER = runpy.run_path(str(ROOT / "src" / "softecm" / "native" / "build.py"))

NARROW = """
import ctypes, numpy as np
from softecm.native.library import Array, Int, Tasks, function
nearest = function("nearest", Tasks, Array, Int, Int, Int, Array, Int, Array, Array)
rows = 200
nearest(ctypes.c_int64(0), np.zeros((5, 3)), 8, ROWS, 3, np.zeros((2, 3)), 2, np.empty(rows), np.empty(rows, dtype=np.int64))
print("came back")
"""


def run_checked(program: str) -> subprocess.CompletedProcess[str]:
    BUILDER["build"](BUILDER["CHECKED"])
    env = {
        **os.environ,
        "SOFTECM_BOUNDS": "1",
        "LD_PRELOAD": BUILDER["sanitizer"](),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)


@pytest.mark.skipif(not DEEP or sys.platform != "linux", reason="compiles kernels anew: run by make test-deep on Linux")
def test_an_access_outside_an_array_is_an_error(hostile_case):
    hostile_case()
    sound = run_checked(NARROW.replace("ROWS", "5"))
    assert sound.stdout.strip() == "came back", sound.stderr
    done = run_checked(NARROW.replace("ROWS", "100"))
    assert "AddressSanitizer" in done.stderr
    assert "came back" not in done.stdout
