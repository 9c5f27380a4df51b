"""Encoded rows of a table, and the positions of columns among the coordinates of a prototype."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.spaces.base import ByRow, content_keys
from softecm.spaces.columns import ROWS


@dataclass(frozen=True)
class Layout:
    """The positions of a table's columns among the coordinates of a prototype: numbers first, then levels in a row.

    A code beyond a column's levels has special meaning: ``levels`` an unseen category, ``levels + 1`` a missing cell.
    """

    number_weights: tuple[float, ...]
    category_weights: tuple[float, ...]
    levels: tuple[int, ...]  # number of categories of each categorical column
    heights: tuple[float, ...]  # the encoding of a certain category: a prototype's coordinate is height * probability
    order: tuple[int, ...]  # position of each of the user's columns among numbers, then categories
    names: tuple[str, ...] = ()  # of the user's columns, in order
    logs: tuple[str, ...] = ()  # names of those compared by logarithms

    @property
    def width(self) -> int:
        """Number of coordinates of a prototype."""
        return len(self.number_weights) + sum(self.levels)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First coordinate of each categorical column, counted from the first of them."""
        return np.concatenate([[0], np.cumsum(self.levels)[:-1]]).astype(np.int64)[: len(self.levels)]

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """First row of each categorical column in a lookup table, with two extra rows per column: unseen and missing."""
        return self.starts + 2 * np.arange(len(self.levels))

    @property
    def n_slots(self) -> int:
        """Number of rows of a lookup table."""
        return sum(self.levels) + 2 * len(self.levels)

    @cached_property
    def column(self) -> NDArray[np.int64]:
        """The categorical column of each level's coordinate."""
        return np.repeat(np.arange(len(self.levels)), self.levels)

    @cached_property
    def level_slots(self) -> NDArray[np.int64]:
        """The row of each level in a lookup table."""
        return np.arange(sum(self.levels)) + 2 * self.column

    def by_level(self, values: Sequence[float]) -> NDArray[np.float64]:
        """Return one value per column, repeated for each of its levels."""
        return np.repeat(np.asarray(values, dtype=np.float64), self.levels)


@dataclass(frozen=True)
class EncodedTable(ByRow):
    """Encoded objects of a table; sliced into blocks like a tensor."""

    numbers: Tensor  # (n, p), 0 where missing
    codes: Tensor  # (n, q), unsigned bytes or int32
    observed: Tensor | None  # (n, p) bool; None if nothing is missing or unseen
    scale: Tensor | None  # (n,): sum of weights over sum of observed weights; None likewise
    layout: Layout
    known: dict[Hashable, EncodedTable] = field(default_factory=dict, compare=False, repr=False)  # cached variants

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def codes_are_known(self) -> bool:
        """Whether every code is a level of its column, unseen or missing; cached."""
        if not self.codes.numel():
            return True
        highest = torch.tensor(self.layout.levels, device=self.codes.device) + 1
        low, high = self.codes.amin(0), self.codes.amax(0)
        return bool((low >= 0).all() and (high <= highest).all())

    @property
    def is_cuda(self) -> bool:
        """Whether the table is on a GPU."""
        return bool(self.numbers.is_cuda)

    @property
    def there(self) -> Tensor | None:
        """Which cells (n, columns) are observed, numbers first; None: all of them."""
        if self.observed is None:
            return None
        gaps = torch.tensor(self.layout.levels, device=self.codes.device) + 1
        return torch.cat([self.observed, self.codes != gaps], 1)

    def keys(self) -> NDArray[np.uint64]:
        """Return hashes of the objects' content, including missing cells."""
        parts = []
        for start in range(0, len(self), ROWS):
            block = self[start : start + ROWS]
            # In single precision: a mean summed in another order of rows may differ in its last bit, and all keys with it.
            cells = [block.numbers.float(), block.codes] + ([] if block.observed is None else [block.observed])
            parts.append(content_keys(np.concatenate([c.cpu().numpy().astype(np.float64) for c in cells], 1)))
        return np.concatenate(parts)
