"""After a fit of any kind: forked and new processes, a loader's workers and threads fit, too, with the same results."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from problems import DEEP, UNSANITIZED
from processes import KINDS

WAYS = ["fork", "multiprocessing", "loader", "threads"]
FRESH = ["spawn", "forkserver", "loky"]  # processes that import everything again, which takes time
FITS = len(KINDS) + 3  # the first ones again, in processes that have fitted before
REPETITIONS, SECONDS = (20, 3600) if DEEP else (1, 300)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
@pytest.mark.parametrize(
    "ways", [WAYS, pytest.param(FRESH, marks=pytest.mark.skipif(not DEEP, reason="deep"))], ids=" ".join
)
def test_a_fit_leaves_the_process_fit_for_forks_and_threads(ways):
    command = [sys.executable, str(Path(__file__).with_name("processes.py")), str(REPETITIONS), *ways]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS, env=UNSANITIZED)
    lines = done.stdout.splitlines()
    assert len(lines) == FITS * REPETITIONS * len(ways)
    assert all(line.endswith(" same") for line in lines), done.stdout
