"""Threads around a kernel."""

import numpy as np
import pytest

from softecm.kernels.soft_dtw import workers


def test_interrupted_blocks_stop_all_threads():
    seen = []

    def solve(i, memory):
        seen.append(i)
        if i == 3:
            raise KeyboardInterrupt
        return i

    with pytest.raises(KeyboardInterrupt):
        workers.in_order(solve, lambda result: None, 10**6, 2, 64, np.float64)
    assert len(seen) < 10**6


def test_results_are_collected_in_order():
    collected = []
    workers.in_order(lambda i, memory: (i, memory.size), collected.append, 50, 3, 64, np.float64)
    assert collected == [(i, 8) for i in range(50)]
