"""Objects that do not lie in this process's memory: blocks on disk, or on the workers of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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
