"""Sources of raw blocks of objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.distributed.waiting import Delayed, value_of

if TYPE_CHECKING:
    from dask.array import Array as DaskArray


Data: TypeAlias = Any  # a raw block: an array, a data frame, a list of series


Weights: TypeAlias = Sequence[Delayed] | Sequence[NDArray[np.float64]]  # of each block


class Raw(NamedTuple):
    """A raw block."""

    name: str  # in messages
    data: Data
    weights: NDArray[np.float64] | None


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the block in errors raised inside."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if str(error).startswith(name):
            raise
        raise ValueError(f"{name}: {error}") from error


class Source(ABC):
    """Raw blocks of objects in a fixed order."""

    #: Whether reading a block again is so cheap that encoded blocks need no scratch file.
    cheap = False
    #: Names of the columns, if the blocks have none.
    names: tuple[str, ...] | None = None
    #: Bytes of each block, if known in advance.
    sizes: Sequence[int] | None = None
    #: One Dask value per block; None if only this process can read blocks.
    delayed: Sequence[Delayed] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """Number of blocks."""

    def name(self, i: int) -> str:
        """Return the name of a block in messages."""
        return f"block {i}"

    @property
    @abstractmethod
    def look(self) -> object:
        """An object with the type and the columns of the data, for ``metric="auto"``."""

    @abstractmethod
    def read(self) -> Iterator[Data]:
        """Yield all blocks in order, one at a time."""


class DaskBlocks(Source):
    """The blocks of a Dask collection, or a list of delayed ones."""

    def __init__(
        self, delayed: Sequence[Delayed], look: object, names: Sequence[str], sizes: Sequence[int] | None
    ) -> None:
        self.delayed: Sequence[Delayed] = list(delayed)
        self.sizes, self._look, self._names = sizes, look, names

    def __len__(self) -> int:
        return len(self.delayed)

    def name(self, i: int) -> str:
        """Return its rows, or its number."""
        return self._names[i]

    @property
    def look(self) -> object:
        """The collection's metadata, or the first block."""
        return value_of(self.delayed[0]) if self._look is None else self._look

    def read(self) -> Iterator[Data]:
        """Compute blocks one by one with the active scheduler."""
        for block in self.delayed:
            yield value_of(block)


def computed(weights: Delayed | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a block's weights as numbers."""
    return np.asarray(weights if isinstance(weights, np.ndarray) else value_of(weights), dtype=np.float64)


def source_of(X: object) -> Source:
    """Return the blocks of ``X``: a Dask array, a Dask frame, a list of delayed blocks, or a ``Source``."""
    if isinstance(X, Source):
        return X
    if isinstance(X, list | tuple):
        return _of_list(X)
    if hasattr(X, "rechunk") and hasattr(X, "_meta"):  # delayed values have any public attribute
        return _of_array(X)
    if hasattr(X, "to_delayed") and hasattr(X, "_meta"):
        parts = X.to_delayed()
        return DaskBlocks(parts, X._meta, [f"partition {i}" for i in range(len(parts))], None)
    raise TypeError(
        f"X must be a dask array, a dask data frame or a list of delayed blocks; got {type(X).__name__}. "
        "Use dask.array.from_array or dask.dataframe.read_parquet."
    )


def _of_list(X: Sequence[Delayed]) -> Source:
    strange = next((i for i, block in enumerate(X) if not hasattr(block, "__dask_graph__")), None)
    if strange is not None:
        raise TypeError(
            f"X must be a list of delayed blocks; got {type(X[strange]).__name__} at {strange}. Wrap every block in "
            "dask.delayed, or give all objects in memory."
        )
    return DaskBlocks(X, None, [f"block {i}" for i in range(len(X))], None)


def _of_array(X: Any) -> Source:
    whole = X.rechunk(dict.fromkeys(range(1, X.ndim), -1)) if X.ndim > 1 else X
    lengths = whole.chunks[0]
    known = not any(np.isnan(length) for length in lengths)
    if not known:
        return DaskBlocks(whole.to_delayed().ravel(), X, [f"block {i}" for i in range(len(lengths))], None)
    ends = np.cumsum(lengths)
    names = [f"block {i} (rows {end - n + 1} to {end})" for i, (n, end) in enumerate(zip(lengths, ends, strict=True))]
    row = int(np.prod(X.shape[1:], dtype=np.int64)) * X.dtype.itemsize
    return DaskBlocks(whole.to_delayed().ravel(), X, names, [int(n) * row for n in lengths])


def block_weights(
    sample_weight: ArrayLike | DaskArray | None, lengths: Sequence[int] | None, n_blocks: int
) -> Weights | None:
    """Return weights by block: delayed if ``sample_weight`` is a Dask value, otherwise arrays split by ``lengths``."""
    if sample_weight is None:
        return None
    if hasattr(sample_weight, "to_delayed"):
        parts = sample_weight.to_delayed()
        parts = list(parts.ravel()) if hasattr(parts, "ravel") else list(parts)
        if len(parts) != n_blocks:
            raise ValueError(
                f"sample_weight must have the blocks of X, {n_blocks}; got {len(parts)}. Rechunk or repartition it like X."
            )
        return parts
    assert lengths is not None  # counted by the caller
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (sum(lengths),):
        raise ValueError(
            f"sample_weight must have one number per object, {sum(lengths)}; got shape {weights.shape}. Pass one per row."
        )
    return np.split(weights, np.cumsum(lengths)[:-1])
