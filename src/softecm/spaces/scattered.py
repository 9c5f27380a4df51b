"""Objects away from the prototypes: blocks on disk or on the workers of a cluster, or all on a GPU."""

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
    """Some of the objects, encoded, on their device."""

    name: str  # in messages
    first: int  # index of its first object among all
    objects: Encoded
    weights: Tensor | None  # (n,), weights of the objects

    @property
    def device(self) -> torch.device:
        """The device of its tensors."""
        x = self.objects
        tensor = next((t for t in (x, *getattr(x, "__dict__", {}).values()) if isinstance(t, Tensor)), None)
        return torch.device("cpu") if tensor is None else tensor.device


class Scattered(ABC):
    """All objects of a problem as blocks, of which a few are in memory at a time.

    An iteration of the algorithm is a sum over objects, so it needs one operation only: a function of each block, and
    the sum of its results. The results are added along a tree that depends only on the number of blocks, so that
    neither the workers nor their timing change a bit of the result.
    """

    device: torch.device | None = None  # of a single block that keeps its results

    @abstractmethod
    def __len__(self) -> int:
        """Number of objects."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """Sum of the objects' weights."""

    @abstractmethod
    def total(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Apply ``function`` to every block and merge its results in pairs: neighbours first, then pairs of pairs."""


@dataclass(frozen=True)
class OnDevice(Scattered):
    """All objects in one block on a GPU, with small prototypes in main memory.

    A prototype step has hundreds of operations on these few numbers; on a GPU each launch costs more than the
    computation.
    """

    block: Block
    device: torch.device

    @staticmethod
    def of(x: Encoded, weights: Tensor | None, device: torch.device) -> OnDevice:
        """Return these objects; without weights each counts once."""
        return OnDevice(Block("objects", 0, x, weights), device)

    def __len__(self) -> int:
        return len(self.block.objects)

    @cached_property
    def weight(self) -> float:
        """Sum of the objects' weights."""
        weights = self.block.weights
        return float(len(self)) if weights is None else float(weights.sum())

    def total(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Return ``function`` of the block."""
        return function(self.block)
