"""Two ways to go over blocks: one after the other in this process, or all at once on a Dask cluster.

Both give ``merge`` the same pairs in the same order, so that both give the same bits.
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
FAN_IN = 8  # answers merged by one task of a cluster; a power of two, so that the tree is that of pairs
INLINE = 1 << 16  # bytes of a function that every task carries by itself; a larger one is sent once to each worker
SHARE = 0.5  # of a worker's memory that one block may take


class Tree(Generic[T]):
    """Merges values as they come: neighbours first, then pairs of pairs.

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
        """One more value at the end."""
        level = 0
        while self._stack and self._stack[-1][0] == level:
            value = self._merge(self._stack.pop()[1], value)
            level += 1
        self._stack.append((level, value))

    def result(self) -> T:
        """All of them merged."""
        value = self._stack.pop()[1]
        while self._stack:
            value = self._merge(self._stack.pop()[1], value)
        return value


class Placement(NamedTuple):
    """Where a block is computed: the device asked for, how much work an object is, how many threads to use."""

    device: str | torch.device
    work: float
    n_jobs: int | None

    def moved(self, block: Block) -> Block:
        """The block on its device."""
        device = choose_device(self.device, self.work * len(block.objects))
        if device.type == "cpu":
            return block
        weights = None if block.weights is None else block.weights.to(device)
        return block._replace(objects=block.objects.to(device), weights=weights)


class Engine(ABC):
    """Goes over the blocks of a source."""

    @abstractmethod
    def over_raw(self, function: Callable[[Raw], T], merge: Callable[[T, T], T], weights: Weights | None) -> T:
        """``function`` of every raw block, merged."""

    @abstractmethod
    def encoded(self, encode: Encoder, weights: Weights | None, facts: Facts, placement: Placement) -> Scattered:
        """The blocks as the distances see them."""

    @abstractmethod
    def close(self) -> None:
        """Give back files and memory."""


# ------------------------------------------------------------------ in this process


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next one read by another thread while the last is used."""
    with ThreadPoolExecutor(1, "softecm-reader") as pool:
        following = pool.submit(next, items, END)
        while (item := following.result()) is not END:
            following = pool.submit(next, items, END)
            yield cast("T", item)
            del item  # it may be large, and the next may take long to come


class Streaming(Engine):
    """One block after the other; while one is computed, the next is read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._scratch: Scratch | None = None

    def raw(self, weights: Weights | None) -> Iterator[Raw]:
        """Raw blocks with their weights."""
        for i, data in enumerate(self.source.read()):
            own = None if weights is None else computed(weights[i])
            yield Raw(self.source.name(i), data, own)

    def over_raw(self, function: Callable[[Raw], T], merge: Callable[[T, T], T], weights: Weights | None) -> T:
        """One after the other."""
        tree = Tree(merge)
        for raw in ahead(self.raw(weights)):
            tree.add(function(raw))
        return tree.result()

    def encoded(self, encode: Encoder, weights: Weights | None, facts: Facts, placement: Placement) -> Scattered:
        """Read and encoded again in every pass where that is cheap, else put aside in a scratch file."""

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
    """How many objects there are, what they weigh, and where their blocks are computed."""

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
        """One pass."""
        tree = Tree(merge)
        for block in ahead(self.blocks()):
            tree.add(named(function, self.placement.moved(block)))
        return tree.result()


def named(function: Callable[[Block], T], block: Block) -> T:
    """``function`` of a block; an error says which block it was."""
    with naming(block.name):
        return function(block)
