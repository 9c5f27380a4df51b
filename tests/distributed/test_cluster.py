"""Fits, sweeps and refits on worker processes: the same numbers, even if workers fail."""

import os
import signal
import warnings

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask", reason="needs dask: pip install 'softecm[dask]'")
da = pytest.importorskip("dask.array")
pytest.importorskip("distributed", reason="needs dask: pip install 'softecm[dask]'")

from softecm import ECM, SoftECM, calibrate  # noqa: E402
from softecm.calibration.refitting import Refitting  # noqa: E402
from softecm.datasets import make_blobs  # noqa: E402
from softecm.distributed.cluster import Cluster  # noqa: E402
from softecm.distributed.waiting import ClusterLost  # noqa: E402
from softecm.selection import batch, sweep  # noqa: E402

X = make_blobs(800, between=20, outliers=10, random_state=0).data
START = X[[0, 200, 400]]
BLOCKS = da.from_array(X, chunks=(-(-len(X) // 16), 2))

# Dask leaves sockets and event loops to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def worker_pids(client):
    return list(client.run(os.getpid).values())


@pytest.mark.parametrize("estimator", [SoftECM, ECM])
def test_sixteen_blocks_on_two_workers_give_the_fit_in_memory(client, estimator):
    whole = estimator(3, init=START, tol=1e-2).fit(X)
    with client.as_current():
        parts = estimator(3, init=START, tol=1e-2).fit(BLOCKS)
        masses = parts.partition_.compute().masses
        labels = parts.labels_.compute()
    np.testing.assert_allclose(masses, whole.partition_.masses, rtol=0, atol=1e-8)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    np.testing.assert_array_equal(labels, whole.labels_)


def test_a_cluster_gives_the_bits_that_streaming_gives(client):
    few = da.from_array(X, chunks=(150, 2))
    streamed = SoftECM(3, n_init=2, random_state=0, tol=0.1).fit(few)
    with client.as_current():
        spread = SoftECM(3, n_init=2, random_state=0, tol=0.1).fit(few)
    np.testing.assert_array_equal(spread.prototypes_, streamed.prototypes_)
    assert spread.objective_ == streamed.objective_


def test_series_on_workers_give_the_fit_in_memory(client, rng):
    series = [rng.normal(size=(rng.integers(8, 13), 2)).cumsum(0) + 3 * (i % 2) for i in range(40)]
    blocks = [dask.delayed(series[i : i + 8]) for i in range(0, 40, 8)]

    def model():
        return SoftECM(2, metric="softdtw", init=series[:2], max_iter=4)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = model().fit(series)
        with client.as_current():
            parts = model().fit(blocks)
            masses = parts.partition_.compute().masses
    np.testing.assert_allclose(masses, whole.partition_.masses, rtol=0, atol=1e-6)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)


def test_a_killed_worker_changes_nothing(client):
    few = da.from_array(X, chunks=(210, 2))
    with client.as_current():
        given = {"init": START, "max_cardinality": 2, "delta": 4.0, "lam": 1.0, "tol": 1e-2}
        undisturbed = SoftECM(3, **given).fit(few)
        victims = worker_pids(client)

        def kill(progress):
            if progress.iteration == 3:
                os.kill(victims[0], signal.SIGKILL)

        disturbed = SoftECM(3, **given, callback=kill).fit(few)
        assert victims[0] not in worker_pids(client)
    assert undisturbed.n_iter_ > 4
    np.testing.assert_array_equal(disturbed.prototypes_, undisturbed.prototypes_)
    np.testing.assert_array_equal(disturbed.history_, undisturbed.history_)


def test_the_masses_are_written_by_the_workers(client, tmp_path):
    with client.as_current():
        model = SoftECM(3, init=START, tol=0.9).fit(da.from_array(X, chunks=(300, 2)))
        totals = model.partition_.to_parquet(tmp_path / "masses", dtype="float32")
        masses = model.partition_.compute().masses
    files = sorted((tmp_path / "masses").iterdir())
    assert len(files) == 3
    frame = pd.concat([pd.read_parquet(file) for file in files])
    np.testing.assert_allclose(frame.filter(like="m(").to_numpy(), masses, atol=1e-7)
    assert totals.n_objects == len(X)


def test_a_bad_block_on_a_worker_is_named(client):
    gap = X.copy()
    gap[-1, 0] = np.nan
    with client.as_current(), pytest.raises(ValueError, match=r"block 15 .*Input X contains NaN"):
        SoftECM(3, metric="sqeuclidean").fit(da.from_array(gap, chunks=BLOCKS.chunks))


def test_a_block_beyond_the_workers_memory_is_named_before_it_is_made(client):
    huge = da.zeros((10**12, 2), chunks=(10**12, 2))
    with client.as_current(), pytest.raises(ValueError, match=r"block 0 .*takes 16000000 MB, too much for workers"):
        SoftECM(3).fit(huge)


def test_a_lost_cluster_leaves_a_checkpoint_to_go_on_from(client, tmp_path, monkeypatch):
    few = da.from_array(X, chunks=(210, 2))
    whole = SoftECM(3, init=START, tol=1e-2).fit(few)
    file = tmp_path / "fit.checkpoint"
    ask = Cluster._merged
    calls = []

    def lost(self, parts, merge, homes=()):
        calls.append(1)
        if len(calls) > 14:
            raise ClusterLost("the Dask cluster has dropped a task.")
        return ask(self, parts, merge, homes)

    monkeypatch.setattr(Cluster, "_merged", lost)
    with client.as_current(), pytest.raises(RuntimeError, match=r"cluster has dropped .*resume="):
        SoftECM(3, init=START, tol=1e-2).fit(few, checkpoint=file)
    monkeypatch.undo()
    again = SoftECM(3, init=START, tol=1e-2).fit(few, resume=file)  # without the cluster
    np.testing.assert_array_equal(again.prototypes_, whole.prototypes_)
    np.testing.assert_array_equal(again.history_, whole.history_)


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


def test_refits_on_workers_equal_the_refits_here(client, monkeypatch, tmp_path):
    X = make_blobs(60, n_clusters=2, distance=4, random_state=0).data
    model = SoftECM(2, n_init=2, random_state=0).fit(X)
    here = calibrate(model, X, n_boot=20, pairs="none")
    monkeypatch.setattr(Refitting, "at_once", 8)
    journal = tmp_path / "refits.jsonl"
    there = calibrate(model, X, n_boot=20, pairs="none", client=client, journal=journal)
    assert len(journal.read_text().splitlines()) == 1 + 3
    np.testing.assert_array_equal(there.memberships, here.memberships)
