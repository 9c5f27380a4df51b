"""Two ways to process blocks: one after another in this process, or all at once on a Dask cluster.

Both call ``merge`` with the same pairs in the same order, so that results are bitwise equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from softecm._engine import choose_device
from softecm.distributed.encoding import Encoder, Facts
from softecm.distributed.scratch import Scratch
from softecm.distributed.sources import Raw, Source, Weights, computed, naming
from softecm.spaces.scattered import Block, Scattered

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
END = object()  # after the last item
FAN_IN = 8  # results merged by one task of a cluster; a power of two, so that the tree is that of pairs
INLINE = 1 << 16  # bytes of a function included in every task; a larger one is sent once to each worker
SHARE = 0.5  # maximum share of a worker's memory for one block


class Tree(Generic[T]):
    """Merges values as they arrive: neighbours first, then pairs of pairs.

    Examples
    --------
    >>> tree = Tree(lambda a, b: f"({a}{b})")
    >>> for letter in "abcde":
    ...     tree.add(letter)
    >>> tree.result()
    '(((ab)(cd))e)'
    """

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self._merge = merge
        self._stack: list[tuple[int, T]] = []

    def add(self, value: T) -> None:
        """Append a value."""
        level = 0
        while self._stack and self._stack[-1][0] == level:
            value = self._merge(self._stack.pop()[1], value)
            level += 1
        self._stack.append((level, value))

    def result(self) -> T:
        """Return all of them merged."""
        value = self._stack.pop()[1]
        while self._stack:
            value = self._merge(self._stack.pop()[1], value)
        return value


class Placement(NamedTuple):
    """Where to compute a block: the requested device, the work per object, the number of threads."""

    device: str | torch.device
    work: float
    n_jobs: int | None

    def moved(self, block: Block) -> Block:
        """Return the block on its device."""
        device = choose_device(self.device, self.work * len(block.objects))
        if device.type == "cpu":
            return block
        weights = None if block.weights is None else block.weights.to(device)
        return block._replace(objects=block.objects.to(device), weights=weights)


class Engine(ABC):
    """Processes the blocks of a source."""

    @abstractmethod
    def over_raw(self, function: Callable[[Raw], T], merge: Callable[[T, T], T], weights: Weights | None) -> T:
        """Apply ``function`` to every raw block, and merge the results."""

    @abstractmethod
    def encoded(self, encode: Encoder, weights: Weights | None, facts: Facts, placement: Placement) -> Scattered:
        """Return the encoded blocks."""

    @abstractmethod
    def close(self) -> None:
        """Release files and memory."""


# ------------------------------------------------------------------ in this process


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the same items, reading the next one in another thread while one is used."""
    with ThreadPoolExecutor(1, "softecm-reader") as pool:
        following = pool.submit(next, items, END)
        while (item := following.result()) is not END:
            following = pool.submit(next, items, END)
            yield cast("T", item)
            del item  # it may be large, and the next may take long


class Streaming(Engine):
    """One block after another; while one is computed, the next is read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._scratch: Scratch | None = None

    def raw(self, weights: Weights | None) -> Iterator[Raw]:
        """Yield raw blocks with their weights."""
        for i, data in enumerate(self.source.read()):
            yield Raw(self.source.name(i), data, None if weights is None else computed(weights[i]))

    def over_raw(self, function: Callable[[Raw], T], merge: Callable[[T, T], T], weights: Weights | None) -> T:
        """Process one block after another."""
        tree = Tree(merge)
        for raw in ahead(self.raw(weights)):
            tree.add(function(raw))
        return tree.result()

    def encoded(self, encode: Encoder, weights: Weights | None, facts: Facts, placement: Placement) -> Scattered:
        """Read and encode again in every pass if that is cheap, otherwise use a scratch file."""

        def blocks() -> Iterator[Block]:
            for first, raw in zip(facts.firsts, self.raw(weights), strict=True):
                yield encode(raw)._replace(first=first)

        if self.source.cheap:
            return StreamedObjects(sum(facts.lengths), facts.weight, placement, blocks)
        self._scratch = Scratch()
        for block in ahead(blocks()):
            self._scratch.add(block)
        return StreamedObjects(sum(facts.lengths), facts.weight, placement, self._scratch.read)

    def close(self) -> None:
        """Delete the scratch file."""
        if self._scratch is not None:
            self._scratch.close()


@dataclass(frozen=True)
class ObjectsInBlocks(Scattered, ABC):
    """Number and weight of the objects, and where their blocks are computed."""

    n_objects: int
    weight_sum: float
    placement: Placement

    def __len__(self) -> int:
        return self.n_objects

    @property
    def weight(self) -> float:
        """Sum of the objects' weights."""
        return self.weight_sum


@dataclass(frozen=True)
class StreamedObjects(ObjectsInBlocks):
    """Objects read block by block in every pass."""

    blocks: Callable[[], Iterator[Block]]

    def total(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Run one pass."""
        tree = Tree(merge)
        for block in ahead(self.blocks()):
            tree.add(named(function, self.placement.moved(block)))
        return tree.result()


def named(function: Callable[[Block], T], block: Block) -> T:
    """Apply ``function`` to a block; name the block in errors."""
    with naming(block.name):
        return function(block)
