"""What a space is: raw data on one side, tensors on the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.files.expected import Misfit
from softecm.files.values import Savable
from softecm.spaces.checks import LARGEST

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


ColumnKind: TypeAlias = Literal["number", "category", "date", "duration"]


class Encoded(Protocol):
    """Objects as the distances see them: a plain tensor, or a small value that is cut and moved like one.

    Whoever passes objects on asks for this; a space and its metrics, which look inside, name their own kind.
    """

    def __len__(self) -> int: ...

    def to(self, device: torch.device, /) -> Self:
        """The same on another device."""

    def cpu(self) -> Self:
        """The same in main memory."""

    def __getitem__(self, rows: slice | Tensor, /) -> Self: ...


class Described(Protocol):
    """What a block of objects adds to a fit; neighbouring blocks are merged into one."""

    def merge(self, other: Self, /) -> Self:
        """Both together."""


class Space(Savable, ABC):
    """Where objects live: turns raw data into tensors and prototypes back into something a person can read.

    A space is fitted once (it may learn columns, categories, scales) and then encodes any number of tables of the same
    kind. Prototypes are always one plain tensor ``(k, *shape)``.
    """

    dtype: torch.dtype = torch.float64  # of what it encodes, once it is fitted

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> Any:
        """Refuse what can't be encoded, with the remedy; sets the estimator's ``n_features_in_`` where ``reset``."""
        return X

    @property
    def kinds(self) -> Sequence[ColumnKind]:
        """What each column of a table holds, so that new files are read alike; empty where objects are no rows."""
        return ()

    def weighted(self, weights: NDArray[np.float64] | None) -> Self:
        """The space told how much each object counts, before ``fit``; for those that learn scales from data."""
        return self

    @abstractmethod
    def fit(self, X: Any, *, dtype: torch.dtype) -> Self:
        """Learn what is needed to encode ``X`` and later data of the same kind; returns the fitted space."""

    def describe(self, X: Any) -> Described:
        """What ``fit`` must know of some of the objects, in a form that merges."""
        raise self._needs_all()

    def fit_described(self, description: Any, *, dtype: torch.dtype) -> Self:
        """``fit`` from the merged descriptions of all blocks; comes with ``describe``."""
        raise self._needs_all()

    def _needs_all(self) -> TypeError:
        return TypeError(
            f"X must be in memory for a metric on {type(self).__name__}, which learns from all objects at once; got blocks. "
            "Use X.compute() where the data fit, or give the space describe and fit_described."
        )

    @abstractmethod
    def encode(self, X: Any) -> Any:
        """Checked data as an ``Encoded`` value on the CPU."""

    @abstractmethod
    def decode(self, prototypes: Tensor) -> Any:
        """Prototypes (k, *shape) as people know them."""

    @abstractmethod
    def encode_prototypes(self, prototypes: object) -> Tensor:
        """The inverse of ``decode``: prototypes given by a user, as a tensor (k, *shape)."""

    def takes(self, other: Space, prototypes: Tensor, like: Tensor) -> bool:
        """Whether prototypes of another space can be ones of this, of which ``like`` is one."""
        return type(other) is type(self) and other.prototype_shape(prototypes) == self.prototype_shape(like)

    def carried(self, other: Space, prototypes: Tensor) -> Tensor:
        """Prototypes (k, ...) of another space as those of this one; comes with ``takes``."""
        return self.encode_prototypes(other.decode(prototypes))

    @abstractmethod
    def starts(self, x: Any, rows: Tensor) -> Tensor:
        """Prototypes (k, *shape) placed on the objects ``rows``."""

    def numbers_of(self, x: Any, rows: Tensor) -> Tensor:
        """What is measured of the objects ``rows``, (k, q): their first q coordinates, NaN where one is missing."""
        return self.starts(x, rows).flatten(1)

    @property
    def number_names(self) -> Sequence[str]:
        """What these are called; empty where they have no names."""
        return ()

    def middle(self, x: Any, rows: Tensor) -> Tensor:
        """The mean (1, *shape) of prototypes placed on the objects ``rows``."""
        return self.starts(x, rows).mean(0)[None]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one prototype of the fitted space, where prototypes are points."""
        raise TypeError(f"prototypes of {type(self).__name__} can't be one view of several.")

    @property
    def visible(self) -> Space:
        """The space that prototypes are shown in: this one, or of several views the one that stands for all."""
        return self

    def visible_part(self, prototypes: Tensor) -> Tensor:
        """What of prototypes (k, *shape) lies in ``visible``."""
        return prototypes

    @property
    def wide(self) -> bool:
        """Whether prototypes are so much wider than the objects that those of sets are not written down."""
        return False

    @property
    def step(self) -> float:
        """What differing in one attribute adds to a distance where it adds all or nothing; 0 where all differ by degrees."""
        return 0.0

    def coarser(self, x: Any) -> tuple[Space, Encoded] | None:
        """The same objects with less detail, on which starts can be compared at a fraction of the time; None: no need."""
        return None

    def single(self, x: Any) -> tuple[Space, Encoded] | None:
        """The same objects in single precision; None where that would lose what tells them apart, or they are so already."""
        return None

    def finer(self, prototypes: Tensor, coarse: Space) -> Tensor:
        """Prototypes (..., *shape) of a coarser or single space as those of this one."""
        raise TypeError(f"{type(self).__name__} has no coarser space")

    def check_kind(self, expected: Space) -> None:
        """Refuse a space out of a file that its metric does not measure in; ``expected`` is the metric's own, not fitted."""
        if type(expected) is not type(self):
            raise Misfit(f"a metric on {type(expected).__name__} does not measure in {type(self).__name__}")

    def check_prototypes(self, prototypes: Tensor) -> None:
        """Refuse prototypes out of a file that are none of this space."""
        if self.prototype_shape(prototypes) != self.shape:
            raise Misfit(f"model_.prototypes should each have the shape {self.shape}")
        refuse_odd_numbers(prototypes)

    @property
    @abstractmethod
    def attributes(self) -> Sequence[str]:
        """Names for the last axis of ``explain``."""

    def prototype_shape(self, prototypes: Tensor) -> tuple[int, ...]:
        """The shape of one prototype, by which prototypes of another space of this kind are told apart."""
        return tuple(prototypes.shape[1:])

    def keys(self, x: Any) -> NDArray[np.uint64]:
        """One number per object that depends on its content alone: the order in which seeding draws."""
        return content_keys(np.asarray(x.reshape(len(x), -1)))

    @classmethod
    @abstractmethod
    def samples(cls, generator: torch.Generator, n: int) -> Encoded:
        """Random encoded objects, for the contract tests."""


def refuse_odd_numbers(prototypes: Tensor) -> None:
    """Prototypes are floats that can be squared."""
    if not prototypes.is_floating_point() or prototypes.dtype == torch.float16:
        raise Misfit("model_.prototypes should hold floats")
    if not bool((prototypes.abs() <= LARGEST).all()):  # NaN is not
        raise Misfit(f"model_.prototypes should hold finite numbers of at most {LARGEST:g} in size")


def content_keys(rows: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Mix the bits of each row (n, q) into one 64-bit number.

    Seeding walks through the objects in this order, so that neither the order of rows nor the way equal rows are
    written (twice, or once with weight 2) changes a draw.
    """
    keys = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for start in range(0, len(rows), 1 << 16):
        key = keys[start : start + (1 << 16)]
        block = np.ascontiguousarray(rows[start : start + (1 << 16)], dtype=np.float64)
        for column in (block + 0.0).view(np.uint64).T:  # + 0.0: -0.0 and 0.0 are equal
            key ^= column
            key *= np.uint64(0xBF58476D1CE4E5B9)
            key ^= key >> np.uint64(29)
            key *= np.uint64(0x94D049BB133111EB)
            key ^= key >> np.uint64(32)
    return keys
