"""Prototypes as combinations of objects: numbers a row, not a column, where rows are fewer than columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.spaces.base import Encoded, Space
from softecm.spaces.sparse import SparseRows


@dataclass(frozen=True, eq=False)
class Whole:
    """Sparse rows that are not cut: prototypes are combinations of all of them."""

    rows: SparseRows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice | Tensor) -> Whole:
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        raise TypeError("rows that prototypes are made of can't be cut")

    def to(self, device: torch.device) -> Whole:
        """The same: sparse rows stay in main memory."""
        return self

    def cpu(self) -> Whole:
        """The same."""
        return self


@dataclass(frozen=True, eq=False)
class Combinations(Space):
    """A prototype is a row of weights, one an object, that add up to 1; for the time of a fit only."""

    rows: SparseRows

    def fit(self, X: object, *, dtype: torch.dtype) -> NoReturn:
        """Never: made of encoded objects."""
        raise self._inside()

    def encode(self, X: object) -> NoReturn:
        """Never, as above."""
        raise self._inside()

    def encode_prototypes(self, prototypes: object) -> NoReturn:
        """Never, as above."""
        raise self._inside()

    def _inside(self) -> TypeError:
        return TypeError("combinations of objects are made inside a fit, of objects that are encoded already")

    def decode(self, prototypes: Tensor) -> NDArray[np.floating]:
        """Written out (k, p)."""
        return self.finer(prototypes).numpy()

    def finer(self, prototypes: Tensor) -> Tensor:
        """Combinations (k, n) written out (k, p)."""
        return self.rows.sums(prototypes.T)

    def starts(self, x: Whole, rows: Tensor) -> Tensor:
        """The chosen objects: all weight on one each."""
        dtype = torch.float32 if self.rows.values.dtype == np.float32 else torch.float64
        places = torch.zeros(len(rows), len(self.rows), dtype=dtype)
        places[torch.arange(len(rows)), rows] = 1.0
        return places

    def keys(self, x: Whole) -> NDArray[np.uint64]:
        """Those of the rows."""
        return x.rows.keys

    @property
    def attributes(self) -> Sequence[str]:
        """None: nobody sees these prototypes."""
        return ()

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Encoded:
        """Combinations need their rows."""
        raise TypeError("combinations of objects are made inside a fit")
