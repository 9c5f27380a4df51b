"""Waiting for results of a Dask cluster, as long as some worker can compute them.

Dask itself waits for workers forever. Here the scheduler is checked every second for a worker; the fit continues when
one comes back (its nanny restarts it, another joins) and ends with :class:`ClusterLost` otherwise. A worker that
doesn't respond, such as a stopped process, is removed from the scheduler: its tasks go to others.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

#: Seconds without a usable worker, or without contact to the scheduler, after which a cluster is lost.
LOST = 45.0
#: Seconds without a heartbeat after which a worker counts as lost; Dask's own limit is five minutes.
SILENT = 120.0
LOOK = 1.0  # seconds between two checks of the workers

logger = logging.getLogger("softecm")

#: Dask has no types: uncomputed values, and clients.
Delayed: TypeAlias = Any
Client: TypeAlias = Any
Workers: TypeAlias = Mapping[str, Mapping[str, Any]]  # by address, as described by the scheduler


class ClusterLost(RuntimeError):
    """The workers or the scheduler of a Dask cluster are gone, or crash on the task."""


class WorkerGone(Exception):
    """A worker that holds blocks is gone."""


def current_client() -> Client | None:
    """Return the active Dask client, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def value_of(task: Delayed) -> Any:
    """Compute a Dask value, on the active cluster or without one."""
    client = current_client()
    return task.compute() if client is None else answer(client, task)


def workers(client: Client) -> Workers:
    """Return the scheduler's current workers by address."""
    try:
        if client.status == "running":
            there: Workers = client.sync(client.scheduler.identity, callback_timeout=LOST)["workers"]
            return there
    except (OSError, RuntimeError, AttributeError) as error:  # a timeout is an OSError
        raise ClusterLost(f"the Dask scheduler does not answer ({type(error).__name__}).") from error
    raise ClusterLost(f"the Dask client has no scheduler, it is {client.status}.")


def strike_off(client: Client, silent: Iterable[str]) -> None:
    """Remove unresponsive workers from the scheduler; one that wakes up must start anew."""
    for address in silent:
        logger.warning("worker %s has not responded for %g s: its tasks are reassigned.", address, SILENT)
        try:
            ask = client.scheduler.unregister
            client.sync(ask, callback_timeout=LOST, address=address, stimulus_id=f"softecm-silent-{address}")
        except (OSError, RuntimeError) as error:
            raise ClusterLost(f"the Dask scheduler does not answer ({type(error).__name__}).") from error


def answer(client: Client, task: Delayed, homes: Iterable[str] = ()) -> Any:
    """Return the value of a task; raise ``ClusterLost`` if no worker can compute it for ``LOST`` seconds.

    Raise ``WorkerGone`` if it is not there after a second, and one of the workers ``homes`` isn't either.
    """
    future = started(client, task)
    watch = Watch(client, homes)
    try:
        while True:
            fetched = future.status == "finished"
            try:
                return future.result(timeout=LOST if fetched else LOOK)
            except TimeoutError as error:
                if future.status == "error":
                    raise  # the task's own
                if fetched:
                    raise ClusterLost(f"the worker that holds a result did not send it within {LOST:g} s.") from error
                watch.look()
    except Exception as error:
        _tell(error)
        raise
    finally:
        if future.status == "pending":
            future.cancel()


def as_done(client: Client, function: Callable[..., object], calls: Iterable[tuple[object, ...]]) -> Iterator[Any]:
    """Yield results of calls as they complete; raise ``ClusterLost`` if no worker can compute one for ``LOST`` seconds."""
    from distributed import wait

    futures = [client.submit(function, *arguments, pure=False) for arguments in calls]
    pending, watch = list(futures), Watch(client)
    try:
        while pending:
            try:
                with client.as_current():
                    wait(pending, timeout=LOOK, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
            except TimeoutError:
                watch.look()
                continue
            for future in [future for future in pending if future.status != "pending"]:
                pending.remove(future)
                yield future.result(timeout=LOST)
    except Exception as error:
        _tell(error)
        raise
    finally:
        client.cancel(futures)


def some_workers(client: Client) -> Workers:
    """Return the workers; wait if there are none."""
    watch = Watch(client)
    there = watch.look()
    while not there:
        time.sleep(LOOK)
        there = watch.look()
    return there


def started(client: Client, tasks: Delayed | Sequence[Delayed]) -> Any:
    """Return futures of tasks; raise ``ClusterLost`` if the client lost its scheduler."""
    if client.status != "running":
        raise ClusterLost(f"the Dask client has no scheduler, it is {client.status}.")
    return client.compute(tasks)


class Watch:
    """Monitors the workers: since when there have been none, and the last heartbeat of each."""

    def __init__(self, client: Client, homes: Iterable[str] = ()) -> None:
        self.client, self.homes, self.since = client, frozenset(homes), time.monotonic()
        #: The scheduler's latest heartbeat, and when it was first seen here.
        self.heard: dict[str, tuple[object, float]] = {}

    def look(self) -> Workers:
        """Return the workers; raise ``ClusterLost`` after a timeout without a usable one, ``WorkerGone`` without a home."""
        there, now = workers(self.client), time.monotonic()
        silent = [address for address, worker in there.items() if self._silence(address, worker, now) > SILENT]
        if silent:
            strike_off(self.client, silent)
            there = {address: worker for address, worker in there.items() if address not in silent}
        if not self.homes <= there.keys():
            raise WorkerGone
        if any(worker.get("status", "running") == "running" for worker in there.values()):
            self.since = now
        elif now - self.since > LOST:
            what = f"all {len(there)} workers are paused, for lack of memory," if there else "there has been no worker"
            raise ClusterLost(f"{what} for {LOST:g} s.")
        return there

    def _silence(self, address: str, worker: Mapping[str, Any], now: float) -> float:
        """Return the seconds since a worker's heartbeat, by the local clock, since theirs may differ."""
        mark = worker.get("last_seen")
        before, since = self.heard.get(address, (None, now))
        if mark != before:
            since = now
        self.heard[address] = mark, since
        return now - since if mark is not None else 0.0


def _tell(error: Exception) -> None:
    """Raise ``ClusterLost`` if an error is about the cluster rather than the task."""
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError

    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        raise ClusterLost(
            f"task {error.task!r} has killed {error.allowed_failures + 1} workers. They may be out of memory: use "
            "smaller blocks."
        ) from error
    if isinstance(error, CancelledError | CommClosedError):
        raise ClusterLost(
            f"the Dask cluster has dropped a task ({type(error).__name__}): the scheduler or the client was "
            "closed, or data that were scattered to a worker went with it."
        ) from error
