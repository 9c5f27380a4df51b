"""Refits as tasks of a Dask cluster."""

import numpy as np

from softecm import SoftECM, calibrate
from softecm.calibration.refitting import Refitting
from softecm.datasets import make_blobs


def test_refits_on_workers_equal_the_refits_here(client, monkeypatch, tmp_path):
    X = make_blobs(60, n_clusters=2, distance=4, random_state=0).data
    model = SoftECM(2, n_init=2, random_state=0).fit(X)
    here = calibrate(model, X, n_boot=20, pairs="none")
    monkeypatch.setattr(Refitting, "at_once", 8)
    journal = tmp_path / "refits.jsonl"
    there = calibrate(model, X, n_boot=20, pairs="none", client=client, journal=journal)
    assert len(journal.read_text().splitlines()) == 1 + 3
    np.testing.assert_array_equal(there.memberships, here.memberships)
