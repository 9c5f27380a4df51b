"""Objects that are not where the prototypes are: blocks on disk or on the workers of a cluster, or all on a GPU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from softecm.spaces.base import Encoded

T = TypeVar("T")


class Block(NamedTuple):
    """Some of the objects, encoded, on the device where they are computed."""

    name: str  # how messages call it
    first: int  # number of its first object among all
    objects: Encoded
    weights: Tensor | None  # (n,), how much each object counts

    @property
    def device(self) -> torch.device:
        """Where its tensors lie."""
        x = self.objects
        tensor = next((t for t in (x, *getattr(x, "__dict__", {}).values()) if isinstance(t, Tensor)), None)
        return torch.device("cpu") if tensor is None else tensor.device


class Scattered(ABC):
    """All objects of a problem as a number of blocks, of which a few are in memory at a time.

    A round of the algorithm is a sum over objects, so that it needs one operation only: a function of each block, and the
    sum of its answers. The blocks' answers are added up along a tree that depends on their number alone, so that neither
    the workers nor their pace change a bit of the result.
    """

    device: torch.device | None = None  # of the only block, where there is one that keeps what is computed

    @abstractmethod
    def __len__(self) -> int:
        """Number of objects."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """Sum of the objects' weights."""

    @abstractmethod
    def total(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """``function`` of every block, its answers merged pair by pair: neighbours first, then pairs of pairs."""


@dataclass(frozen=True)
class OnDevice(Scattered):
    """All objects in one block on a GPU, while prototypes of a few numbers stay in main memory.

    A prototype step is hundreds of operations on these numbers, each of which costs a GPU more to launch than to compute.
    """

    block: Block
    device: torch.device

    @staticmethod
    def of(x: Encoded, weights: Tensor | None, device: torch.device) -> OnDevice:
        """These objects; without weights each counts once."""
        return OnDevice(Block("objects", 0, x, weights), device)

    def __len__(self) -> int:
        return len(self.block.objects)

    @cached_property
    def weight(self) -> float:
        """Sum of the objects' weights."""
        weights = self.block.weights
        return float(len(self)) if weights is None else float(weights.sum())

    def total(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """``function`` of the block."""
        return function(self.block)
