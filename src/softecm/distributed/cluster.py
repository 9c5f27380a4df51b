"""The blocks on the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.distributed.encoding import Encoder, Facts
from softecm.distributed.engines import FAN_IN, INLINE, SHARE, Engine, ObjectsInBlocks, Placement, Tree, named
from softecm.distributed.sources import Data, Raw, Source, Weights
from softecm.distributed.waiting import Client, ClusterLost, Delayed, WorkerGone, answer, some_workers, started, workers
from softecm.native.library import set_threads
from softecm.spaces.scattered import Block, Scattered

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
TRIES = 4  # of one pass over the blocks, each after the loss of a worker


class Cluster(Engine):
    """All blocks at once, each on the worker that holds it; only merged results are transferred."""

    def __init__(self, source: Source, client: Client) -> None:
        assert source.delayed is not None  # the caller streams the others
        self.source, self.client, self.delayed = source, client, source.delayed
        self._check_sizes()

    def _check_sizes(self) -> None:
        limits = [w["memory_limit"] for w in workers(self.client).values()]
        least = min((limit for limit in limits if limit), default=None)
        for i, size in enumerate(self.source.sizes or []):
            if least is not None and size > SHARE * least:
                raise ValueError(
                    f"{self.source.name(i)} of X takes {size / 1e6:.0f} MB, too much for workers with {least / 1e6:.0f} MB. "
                    "Cut X into smaller blocks (rechunk or repartition), or give the workers more memory."
                )

    def over_raw(self, function: Callable[[Raw], T], merge: Callable[[T, T], T], weights: Weights | None) -> T:
        """Run on the raw blocks where they are read."""
        payload = packed(function)
        parts = [self._task(run_packed, payload, name, raw, own) for name, raw, own in self._raw(weights)]
        return self._merged(parts, merge)

    def _raw(self, weights: Weights | None) -> list[tuple[str, Delayed, Delayed | NDArray[np.float64] | None]]:
        names = [self.source.name(i) for i in range(len(self.source))]
        return list(zip(names, self.delayed, weights or [None] * len(names), strict=True))

    @staticmethod
    def _task(function: Callable[..., object], *arguments: object) -> Delayed:
        from dask.delayed import delayed

        return delayed(function, pure=False)(*arguments)

    def _merged(self, parts: Sequence[Delayed], merge: Callable[[T, T], T], homes: Iterable[str] = ()) -> T:
        """Merge the results by a tree of tasks, the last of which runs on the client."""
        payload = packed(merge)
        while len(parts) > 1:
            parts = [self._task(_merge, payload, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        merged: T = answer(self.client, parts[0], homes)
        return merged

    def encoded(self, encode: Encoder, weights: Weights | None, facts: Facts, placement: Placement) -> Scattered:
        """Encode each block once, kept by its worker; a lost one is read and encoded again."""
        payload, blocks = packed(encode), list(zip(self._raw(weights), facts.firsts, strict=True))

        def task(i: int) -> Delayed:
            (name, raw, own), first = blocks[i]
            return self._task(_encoded, payload, name, raw, own, first)

        return ClusterObjects(sum(facts.lengths), facts.weight, placement, self, Held(self.client, task, len(blocks)))

    def close(self) -> None:
        """Do nothing: the workers free the blocks when nothing refers to them."""


class Held:
    """Encoded blocks and their assigned workers.

    A task that is tied to a worker waits forever once all workers are gone, even if others are allowed: Dask does not
    reconsider it when another one joins. So new tasks assign the blocks of a lost worker to others, and only these are
    tied, not the reading of the source, which has the same name every time.
    """

    def __init__(self, client: Client, task: Callable[[int], Delayed], count: int) -> None:
        self.client, self.task = client, task
        self.futures: list[Delayed | None] = [None] * count
        self.homes = [""] * count
        self.renew()

    def renew(self) -> None:
        """Assign the blocks without a worker, in proportion to the workers' threads."""
        from dask.base import annotate

        there = some_workers(self.client)
        left = [i for i, home in enumerate(self.homes) if home not in there]
        counts = shares(len(left), [int(worker["nthreads"]) for worker in there.values()])
        for address, count in zip(there, counts, strict=True):
            numbers, left = left[:count], left[count:]
            with annotate(workers=[address], allow_other_workers=True):
                tasks = [self.task(i) for i in numbers]
            futures = started(self.client, tasks)
            for i, future in zip(numbers, futures, strict=True):
                self.futures[i], self.homes[i] = future, address


@dataclass(frozen=True)
class ClusterObjects(ObjectsInBlocks):
    """Encoded blocks on the workers."""

    cluster: Cluster
    held: Held

    def total(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Run one pass: a task per block, and a tree of merges."""
        payload = packed(function)
        # A task instead of scattered data, so that the scheduler can recompute it if its worker dies.
        shared = payload if len(payload) < INLINE else self.cluster._task(_same, payload)
        for _ in range(TRIES):
            held = self.held
            parts = [self.cluster._task(_of_block, shared, future, tuple(self.placement)) for future in held.futures]
            try:
                return self.cluster._merged(parts, merge, held.homes)
            except WorkerGone:
                held.renew()
        raise ClusterLost(f"workers were lost {TRIES} times in one pass over the blocks: they may lack memory.")


def shares(n: int, threads: Sequence[int]) -> list[int]:
    """Divide n things in proportion to threads.

    Examples
    --------
    >>> shares(8, [1, 1]), shares(7, [1, 2]), shares(1, [1, 1, 1])
    ([4, 4], [2, 5], [0, 0, 1])
    """
    ends = np.cumsum(threads) * n // sum(threads)
    return [int(count) for count in np.diff(ends, prepend=0)]


# ------------------------------------------------------------------ on the workers


def packed(function: Callable[..., object]) -> bytes:
    """Return a function with its arguments as bytes, which Dask does not inspect."""
    import cloudpickle

    data: bytes = cloudpickle.dumps(function)
    return data


def _same(payload: bytes) -> bytes:
    return payload


def run_packed(payload: bytes, name: str, data: Data, weights: ArrayLike | None) -> Any:
    """Return the result of a packed function for a raw block."""
    function = pickle.loads(payload)
    with_threads(None)
    return function(Raw(name, data, None if weights is None else np.asarray(weights, dtype=np.float64)))


def _encoded(payload: bytes, name: str, data: Data, weights: ArrayLike | None, first: int) -> Block:
    block: Block = run_packed(payload, name, data, weights)
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
    """Set the number of threads of a task, by default one: Dask assumes it when it runs several at once."""
    import torch

    wanted = 1 if n_jobs is None else max(1, n_jobs)
    own = multiprocessing.parent_process() is not None  # torch's threads are per process: leave the user's alone
    if own and torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)
    set_threads(wanted)
