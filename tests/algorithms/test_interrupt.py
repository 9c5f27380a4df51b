"""Ctrl-C during a long fit of series."""

import os
import signal
import subprocess
import sys

import pytest

LONG_FIT = """
import signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have it ignored
import numpy as np
from softecm import SoftECM
from softecm.distances import SoftDTW

X = np.random.default_rng(0).normal(size=(30, 150, 1)).cumsum(1)
begun = []

def tell(progress):
    if not begun:
        begun.append(True)
        print("begun", flush=True)

model = SoftECM(3, metric=SoftDTW(), n_init=10, max_iter=100_000, tol=0, n_jobs=2, random_state=0, callback=tell)
try:
    model.fit(X)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "partition_"), flush=True)
def others():
    return [t.name for t in threading.enumerate()[1:] if not t.name.startswith("softecm")]  # the kernels' pool waits

left = time.monotonic() + 30
while others() and time.monotonic() < left:
    time.sleep(0.05)
used = time.process_time()
time.sleep(0.4)
print("idle", time.process_time() - used < 0.1, flush=True)
small = SoftECM(2, metric=SoftDTW(), n_init=1, max_iter=2, tol=1, random_state=0).fit(X[:6, :20])
print("other threads", len(others()), "fits again", len(small.labels_), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_a_fit_and_leaves_nothing_broken():
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LONG_FIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "begun\n", process.stderr.read()
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=120)  # generous: the fit itself would take hours
        finally:
            process.kill()
    assert said.splitlines() == ["interrupted False", "idle True", "other threads 0 fits again 6"], errors
    assert process.returncode == 0
