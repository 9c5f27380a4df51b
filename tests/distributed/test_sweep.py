"""Sweeps as tasks of a Dask cluster."""

import numpy as np

from softecm import SoftECM
from softecm.datasets import make_blobs
from softecm.selection import batch, sweep


def test_a_sweep_on_workers_equals_the_sweep_here(client, monkeypatch, tmp_path):
    monkeypatch.setattr(batch, "CPU_WORK", 5e4)  # several batches
    blobs = make_blobs(60, n_clusters=3, distance=8, random_state=0)
    grid = {"beta": [1.2, 1.6], "lam": [0.5, 2.0]}
    options = {"estimator": SoftECM(3, n_init=2), "seeds": 2, "y": blobs.target, "resamples": 2}
    here = sweep(blobs.data, grid, **options)
    there = sweep(blobs.data, grid, client=client, journal=tmp_path / "sweep.jsonl", **options)
    assert len((tmp_path / "sweep.jsonl").read_text().splitlines()) > 2
    for name, column in here.columns.items():
        if "seconds" not in name:
            np.testing.assert_array_equal(there[name], column, err_msg=name)
