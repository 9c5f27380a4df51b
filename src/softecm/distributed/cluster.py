"""The blocks on the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.distributed.engines import FAN_IN, INLINE, SHARE, Engine, Placement, Tree, firsts, named
from softecm.distributed.sources import Data, Delayed, Raw, Source, Weights
from softecm.spaces.scattered import Block, Scattered

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


class Client(Protocol):
    """What is asked of a Dask client."""

    def scheduler_info(self, *, n_workers: int) -> dict[str, Any]:
        """The workers, by address."""

    def compute(self, tasks: Delayed | Sequence[Delayed], **how: object) -> Any:
        """Start tasks; the values themselves with ``sync``."""


def current_client() -> Client | None:
    """The Dask client in use, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return cast("Client", get_client())
    except ValueError:
        return None


class Cluster(Engine):
    """All blocks at once, each on the worker that holds it; only merged answers travel."""

    def __init__(self, source: Source, client: Client) -> None:
        assert source.delayed is not None  # the caller streams the others
        self.source, self.client, self.delayed = source, client, source.delayed
        self._check_sizes()

    def _check_sizes(self) -> None:
        limits = [w["memory_limit"] for w in self.client.scheduler_info(n_workers=-1)["workers"].values()]
        least = min((limit for limit in limits if limit), default=None)
        for i, size in enumerate(self.source.sizes or []):
            if least is not None and size > SHARE * least:
                raise ValueError(
                    f"{self.source.name(i)} of X takes {size / 1e6:.0f} MB, too much for workers with {least / 1e6:.0f} MB. "
                    "Cut X into smaller blocks (rechunk or repartition), or give the workers more memory."
                )

    def over_raw(self, function: Callable[[Raw], T], merge: Callable[[T, T], T], weights: Weights | None) -> T:
        """Described where they are read."""
        payload = packed(function)
        parts = [self._task(_of_raw, payload, name, raw, own) for name, raw, own in self._raw(weights)]
        return self._merged(parts, merge)

    def _raw(self, weights: Weights | None) -> list[tuple[str, Delayed, Delayed | NDArray[np.float64] | None]]:
        names = [self.source.name(i) for i in range(len(self.source))]
        return list(zip(names, self.delayed, weights or [None] * len(names), strict=True))

    @staticmethod
    def _task(function: Callable[..., object], *arguments: object) -> Delayed:
        from dask.delayed import delayed

        task: Delayed = delayed(function, pure=False)(*arguments)
        return task

    def _merged(self, parts: Sequence[Delayed], merge: Callable[[T, T], T]) -> T:
        """The answers merged by a tree of tasks; the last one comes to the client."""
        payload = packed(merge)
        while len(parts) > 1:
            parts = [self._task(_merge, payload, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        answer: T = self.client.compute(parts[0], sync=True)
        return answer

    def encoded(
        self,
        encode: Callable[[Raw], Block],
        weights: Weights | None,
        lengths: Sequence[int],
        total: float,
        placement: Placement,
    ) -> Scattered:
        """Each block encoded once and kept by its worker; a lost one is read and encoded again."""
        payload = packed(encode)
        tasks = [
            self._task(_encoded, payload, name, raw, own, first)
            for (name, raw, own), first in zip(self._raw(weights), firsts(lengths), strict=True)
        ]
        return ClusterObjects(self, self._spread(tasks), sum(lengths), total, placement)

    def _spread(self, tasks: Sequence[Delayed]) -> list[Delayed]:
        """Start the tasks, as many on each worker as its threads are worth; elsewhere should it be gone."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        if not workers:  # they may yet come
            waiting: list[Delayed] = self.client.compute(tasks)
            return waiting
        counts = shares(len(tasks), [int(w["nthreads"]) for w in workers.values()])
        futures: list[Delayed] = []
        for address, count in zip(workers, counts, strict=True):
            group = tasks[len(futures) : len(futures) + count]
            futures += self.client.compute(group, workers=[address], allow_other_workers=True) if group else []
        return futures

    def close(self) -> None:
        """The workers forget the blocks when nothing refers to them."""


@dataclass(frozen=True)
class ClusterObjects(Scattered):
    """Encoded blocks on the workers."""

    cluster: Cluster
    futures: list[Delayed]
    n_objects: int
    weight_sum: float
    placement: Placement

    def __len__(self) -> int:
        return self.n_objects

    @property
    def weight(self) -> float:
        """Sum of the objects' weights."""
        return self.weight_sum

    def total(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """One pass: a task a block, and a tree of merges."""
        payload = packed(function)
        # A task, not scattered data: should its worker die, the scheduler can make it again.
        shared = payload if len(payload) < INLINE else self.cluster._task(_same, payload)
        parts = [self.cluster._task(_of_block, shared, future, tuple(self.placement)) for future in self.futures]
        return self.cluster._merged(parts, merge)


def shares(n: int, threads: Sequence[int]) -> list[int]:
    """How many of n things each gets, in proportion to threads.

    Examples
    --------
    >>> shares(8, [1, 1]), shares(7, [1, 2]), shares(1, [1, 1, 1])
    ([4, 4], [2, 5], [0, 0, 1])
    """
    ends = np.cumsum(threads) * n // sum(threads)
    return [int(count) for count in np.diff(ends, prepend=0)]


# ------------------------------------------------------------------ what runs on the workers


def packed(function: Callable[..., object]) -> bytes:
    """A function with its arguments as bytes, which Dask does not look into."""
    import cloudpickle  # type: ignore[import-untyped]

    data: bytes = cloudpickle.dumps(function)
    return data


def _same(payload: bytes) -> bytes:
    return payload


def _of_raw(payload: bytes, name: str, data: Data, weights: ArrayLike | None) -> Any:
    function = pickle.loads(payload)
    with_threads(None)
    return function(Raw(name, data, None if weights is None else np.asarray(weights, dtype=np.float64)))


def _encoded(payload: bytes, name: str, data: Data, weights: ArrayLike | None, first: int) -> Block:
    block: Block = _of_raw(payload, name, data, weights)
    return block._replace(first=first)


def _of_block(payload: bytes, block: Block, placement: tuple[str | torch.device, float, int | None]) -> object:
    where = Placement(*placement)
    with_threads(where.n_jobs)
    return named(pickle.loads(payload), where.moved(block))


def _merge(payload: bytes, parts: list[object]) -> object:
    tree: Tree[object] = Tree(pickle.loads(payload))
    for part in parts:
        tree.add(part)
    return tree.result()


def with_threads(n_jobs: int | None) -> None:
    """A task has one thread unless told otherwise: Dask counts on that when it runs several at once."""
    import numba
    import torch

    wanted = 1 if n_jobs is None else max(1, n_jobs)
    own = (
        multiprocessing.parent_process() is not None
    )  # torch's threads are the whole process's: leave the user's alone
    if own and torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)
    numba.set_num_threads(min(wanted, numba.config.NUMBA_NUM_THREADS))
