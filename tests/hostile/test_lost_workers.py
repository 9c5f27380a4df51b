"""Dask clusters that lose workers, scheduler or client: the same result or an error in time, never a hang."""

import faulthandler
import logging
import os
import signal
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="needs dask: pip install 'softecm[dask]'")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed", reason="needs dask: pip install 'softecm[dask]'")

from problems import DEEP  # noqa: E402
from softecm import SoftECM  # noqa: E402
from softecm.datasets import make_blobs  # noqa: E402
from softecm.distributed import cluster, waiting  # noqa: E402
from softecm.distributed.waiting import ClusterLost, Watch, answer, value_of  # noqa: E402

X = make_blobs(800, between=20, outliers=10, random_state=0).data
BLOCKS = da.from_array(X, chunks=(210, 2))
GIVEN = {"init": X[[0, 200, 400]], "max_cardinality": 2, "delta": 4.0, "lam": 1.0, "tol": 1e-2}
IN_TIME = 180.0  # 60 on an idle machine

# Dask leaves sockets and event loops to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def never_a_hang():
    """End the process if a case hangs; call it to begin another case."""

    def begin():
        faulthandler.dump_traceback_later(500 if DEEP else 90, exit=True, file=sys.__stderr__)

    begin()
    yield begin
    faulthandler.cancel_dump_traceback_later()


MEMORY = 2 * 2**30  # of a worker: far more than its libraries need, also with checked kernels


@pytest.fixture
def small():
    """Two worker processes of this test, which it may kill."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=MEMORY, processes=True, dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )  # fmt: skip
        client = distributed.Client(own, set_as_default=False)
    yield client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.close()
        own.close()


def kill_all(client):
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)


def at(iteration, act):
    return lambda progress: act() if progress.iteration == iteration else None


@pytest.mark.skipif(not DEEP, reason="starts worker processes again and again")
def test_all_workers_killed_at_a_random_round_ten_times(small, rng, never_a_hang, hostile_case):
    undisturbed = SoftECM(3, **GIVEN).fit(BLOCKS)
    with small.as_current():
        for iteration in rng.integers(1, undisturbed.n_iter_, 10):
            hostile_case()
            never_a_hang()
            small.wait_for_workers(2, timeout=120)
            killed = []

            def kill(killed=killed):
                killed.append(time.monotonic())
                kill_all(small)

            try:
                model = SoftECM(3, **GIVEN, callback=at(iteration, kill)).fit(BLOCKS)
                np.testing.assert_array_equal(model.prototypes_, undisturbed.prototypes_)
                np.testing.assert_array_equal(model.history_, undisturbed.history_)
            except ClusterLost:
                assert time.monotonic() - killed[0] < IN_TIME
                small.cluster.scale(0)
                small.cluster.scale(2)


@pytest.mark.skipif(not DEEP, reason="starts worker processes of its own")
@pytest.mark.parametrize("fault", ["scheduler", "client", "workers", "late"])
def test_what_else_may_be_closed(small, fault, monkeypatch, hostile_case):
    hostile_case()
    monkeypatch.setattr(waiting, "LOST", 5.0)
    acts = {
        "scheduler": lambda: small.cluster.sync(small.cluster.scheduler.close),
        "client": small.close,
        "workers": lambda: small.cluster.scale(0),
        "late": lambda: small.cluster.scale(3),
    }
    with small.as_current():
        model = SoftECM(3, **GIVEN, callback=at(3, acts[fault]))
        if fault == "late":
            np.testing.assert_array_equal(model.fit(BLOCKS).prototypes_, SoftECM(3, **GIVEN).fit(BLOCKS).prototypes_)
        else:
            with pytest.raises(ClusterLost, match="checkpoint="):
                model.fit(BLOCKS)


@pytest.mark.skipif(not DEEP, reason="starts worker processes of its own")
def test_a_frozen_worker_is_left_behind(small, monkeypatch, hostile_case):
    """Its blocks go to the other: the result has the same bits."""
    hostile_case()
    undisturbed, stopped = SoftECM(3, **GIVEN).fit(BLOCKS), next(iter(small.run(os.getpid).values()))

    def freeze():
        monkeypatch.setattr(waiting, "SILENT", 4.0)  # not before: an importing worker is silent, too
        os.kill(stopped, signal.SIGSTOP)

    try:
        with small.as_current():
            model = SoftECM(3, **GIVEN, callback=at(3, freeze)).fit(BLOCKS)
    finally:
        os.kill(stopped, signal.SIGKILL)
    np.testing.assert_array_equal(model.prototypes_, undisturbed.prototypes_)


def greedy(times, folder):
    """A metric that exceeds a worker's memory the first few times that workers call it."""

    def distance(x, v):
        import os
        import time

        from distributed import get_worker

        try:
            get_worker()
            calls = os.listdir(folder)
            if len(calls) < times:
                open(os.path.join(folder, str(len(calls))), "w").close()
                taken = []
                for _ in range(100):  # until the nanny notices
                    taken.append(bytearray(os.urandom(2**20) * 100))
                    time.sleep(0.2)
        except ValueError:  # the client
            pass
        return (x[:, None] - v).square().sum(-1)

    return distance


@pytest.mark.skipif(not DEEP, reason="starts worker processes of its own")
def test_a_worker_killed_for_its_memory_is_left_behind(small, tmp_path, hostile_case):
    """Its nanny kills it; its blocks are recomputed, and the result has the same bits."""
    hostile_case()
    given = GIVEN | {"tol": 0.1}
    undisturbed = SoftECM(3, **given, metric=greedy(0, tmp_path)).fit(BLOCKS)
    before = set(small.run(os.getpid).values())
    with small.as_current():
        model = SoftECM(3, **given, metric=greedy(1, tmp_path)).fit(BLOCKS)
    assert before - set(small.run(os.getpid).values()), "no worker was killed"
    np.testing.assert_array_equal(model.prototypes_, undisturbed.prototypes_)


@pytest.mark.skipif(not DEEP, reason="starts worker processes of its own")
def test_workers_that_never_have_enough_memory_are_an_error(small, tmp_path, monkeypatch, hostile_case):
    hostile_case()
    monkeypatch.setattr(cluster, "TRIES", 2)
    with small.as_current(), pytest.raises(ClusterLost, match=r"lack memory.*checkpoint="):
        SoftECM(3, **GIVEN, metric=greedy(1000, tmp_path)).fit(BLOCKS)


def test_a_task_that_kills_its_workers_is_said_to_lack_memory(monkeypatch, hostile_case):
    """What Dask raises after one task killed four workers."""
    hostile_case()

    def killed(timeout):
        raise distributed.KilledWorker("distance-1", None, 3)

    future = SimpleNamespace(status="error", result=killed)
    client = SimpleNamespace(status="running", compute=lambda task: future)
    with pytest.raises(
        ClusterLost, match=r"task 'distance-1' has killed 4 workers\. They may be out of memory: use smaller blocks"
    ):
        answer(client, dask.delayed(X))


@pytest.fixture
def alone(monkeypatch):
    """A scheduler in this process without workers."""
    monkeypatch.setattr(waiting, "LOST", 0.3)
    monkeypatch.setattr(waiting, "LOOK", 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=None, silence_logs=logging.CRITICAL
        )
        client = distributed.Client(own, set_as_default=False)
    yield client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.close()
        own.close()


def test_a_cluster_without_workers_is_an_error_and_not_a_hang(alone, hostile_case):
    hostile_case()
    with alone.as_current():
        with pytest.raises(ClusterLost, match=r"no worker for 0\.3 s"):
            SoftECM(3, **GIVEN).fit(BLOCKS)
        with pytest.raises(ClusterLost, match="no worker"):
            SoftECM(3, **GIVEN).fit([dask.delayed(X)])
        with pytest.raises(ClusterLost, match="no worker"):
            value_of(dask.delayed(X))


def test_all_workers_lost_then_others_join(alone, monkeypatch, hostile_case):
    """Blocks tied to lost workers are given to new ones: the result has the same bits."""
    hostile_case()
    monkeypatch.setattr(waiting, "LOST", 60.0)
    undisturbed = SoftECM(3, **GIVEN).fit(BLOCKS)
    alone.cluster.scale(2)
    alone.wait_for_workers(2, timeout=60)
    first = set(waiting.workers(alone))

    def replace_all():
        alone.cluster.scale(0)
        while waiting.workers(alone):
            time.sleep(0.01)
        threading.Timer(1.0, alone.cluster.scale, [1]).start()

    with alone.as_current():
        model = SoftECM(3, **GIVEN, callback=at(3, replace_all)).fit(BLOCKS)
    assert not first & set(waiting.workers(alone))
    np.testing.assert_array_equal(model.prototypes_, undisturbed.prototypes_)
    np.testing.assert_array_equal(model.history_, undisturbed.history_)


def test_a_closed_client_is_an_error(alone, hostile_case):
    hostile_case()
    alone.close()
    with pytest.raises(ClusterLost, match="no scheduler, it is closed"):
        answer(alone, dask.delayed(X))


def test_paused_workers_are_no_workers(hostile_case, monkeypatch):
    hostile_case()
    monkeypatch.setattr(waiting, "LOST", 0.0)
    monkeypatch.setattr(waiting, "workers", lambda client: {"tcp://1": {"status": "paused"}})
    watch = Watch(None)
    watch.since -= 1.0
    with pytest.raises(ClusterLost, match="all 1 workers are paused, for lack of memory"):
        watch.look()


def test_a_task_s_own_timeout_is_its_own(alone, hostile_case):
    """The task's own error is not mistaken for a silent cluster."""
    hostile_case()
    alone.cluster.scale(1)
    alone.wait_for_workers(1, timeout=60)

    def late():
        raise TimeoutError("the file server does not answer")

    with pytest.raises(TimeoutError, match="file server"):
        answer(alone, dask.delayed(late)())


def test_a_worker_that_says_nothing_is_struck_off(hostile_case, monkeypatch):
    """The scheduler's heartbeat stands still; while it moves, a worker counts as present, however slow its task."""
    hostile_case()
    struck, marks = [], iter([1.0, 1.0, 2.0, 2.0, 2.0])
    clock = iter([0.0, 0.0, 100.0, 130.0, 240.0, 251.0])
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(waiting, "workers", lambda client: {"a": {"last_seen": next(marks)}, "b": {}})
    monkeypatch.setattr(waiting, "strike_off", lambda client, silent: struck.extend(silent))
    watch = Watch(None, ["a", "b"])
    for _ in range(4):
        watch.look()
    assert not struck
    with pytest.raises(waiting.WorkerGone):
        watch.look()
    assert struck == ["a"]


def test_a_client_closed_while_an_answer_is_awaited_is_an_error(alone, monkeypatch, hostile_case):
    hostile_case()
    monkeypatch.setattr(waiting, "LOST", 5.0)
    alone.cluster.scale(1)
    alone.wait_for_workers(1, timeout=60)
    threading.Timer(0.5, alone.close).start()
    with pytest.raises(ClusterLost, match="closed"):
        answer(alone, dask.delayed(time.sleep)(3.0))
