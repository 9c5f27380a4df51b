"""Cost of the validation before compiled code: its time over that of a whole iteration of the kernel.

``python benchmarks/checks.py``

Validation is timed by calling ``expect`` on the arrays of an iteration.
"""

from __future__ import annotations

import time
from unittest.mock import patch

import numpy as np

from softecm.kernels import rounds
from softecm.native.library import expect


def vector_round(x, v, factors, beta, delta2, tol):
    """Run an iteration with a previous one."""
    objects = rounds.vectors(x, v.shape[-1])
    return rounds.sum_over_objects(objects, v, None, v, None, rounds.RoundPrices(None, factors, beta, delta2, tol))


def least(job, repeat=7, number=20):
    """Return seconds per call, the minimum of several means."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            job()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def measure(n: int, p: int, f: int) -> tuple[float, float]:
    """Return seconds of an iteration and of its validation: one run, f sets."""
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(n, p)), rng.normal(size=(1, f, p))
    arguments = (x, v, np.ones((1, f)), np.full(1, 2.0), np.full(1, 9.0), 1e-3)
    calls = []

    def noted(*given):
        calls.append(given)
        return expect(*given)

    with patch.object(rounds, "expect", noted):
        vector_round(*arguments)
    whole = least(lambda: vector_round(*arguments))
    checks = least(lambda: [expect(*given) for given in calls], number=2000)
    return whole, checks


if __name__ == "__main__":
    print("objects x columns | sets | round | checks | share")
    for n in (1_000, 100_000):
        for f in (3, 6, 10):
            whole, checks = measure(n, 10, f)
            print(f"{n} x 10 | {f} | {1e6 * whole:.0f} us | {1e6 * checks:.2f} us | {100 * checks / whole:.2f} %")
