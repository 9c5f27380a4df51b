"""A Parquet file as blocks of rows, read one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._text import meant
from softecm.distributed.sources import Data, Source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import RowGroupMetaData

BLOCK_BYTES = 16 << 20  # of a block as float64; several are in memory at once
NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "halffloat", "float", "double")


class ParquetBlocks(Source):
    """The rows of a Parquet file in blocks that fit in memory; pass it to ``fit`` instead of an array.

    Parameters
    ----------
    path : path of the file
    columns : list of str, optional
        The columns to cluster by; all by default.
    memory : int, optional
        Bytes to use; blocks are split accordingly, and a row group that doesn't fit raises an error.
    transform : callable, optional
        Converts a pyarrow table to the block to cluster, such as a data frame. By default numeric columns become an
        array, and other tables are unchanged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pandas as pd
    >>> from softecm import SoftECM
    >>> from softecm.distributed import ParquetBlocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "points.parquet"
    ...     pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1]}).to_parquet(file)
    ...     SoftECM(2, max_cardinality=1, random_state=0).fit(ParquetBlocks(file)).cluster_centers_.round(2)
    array([[0.05],
           [5.05]])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] | None = None,
        *,
        memory: int | None = None,
        transform: Callable[[pa.Table], Data] | None = None,
    ) -> None:
        parquet = parquet_library()
        self.path = os.fspath(path)
        with parquet.ParquetFile(self.path) as file:
            self.schema = file.schema_arrow
            self.columns = list(columns) if columns is not None else list(self.schema.names)
            absent = [c for c in self.columns if c not in self.schema.names]
            if absent:
                raise ValueError(
                    f"{self.path} has no column {absent[0]!r}: its columns are {self.schema.names[:12]!r}."
                    f"{meant(absent[0], self.schema.names)}"
                )
            groups = [_group(file.metadata.row_group(g), self.columns) for g in range(file.metadata.num_row_groups)]
        self.transform, self.names = transform, tuple(self.columns)
        self.numeric = transform is None and all(str(self.schema.field(c).type) in NUMBERS for c in self.columns)
        self.cheap = self.numeric
        self.rows = sum(rows for rows, _ in groups)
        if not self.rows:
            raise ValueError(f"{self.path} has no rows: there is nothing to cluster.")
        self._check_memory(groups, memory)
        most = BLOCK_BYTES if memory is None else max(1 << 20, min(BLOCK_BYTES, memory // 32))
        self.block_rows = max(1024, most // (8 * len(self.columns)))
        self._blocks = _cut([rows for rows, _ in groups], self.block_rows)

    def _check_memory(self, groups: Sequence[tuple[int, int]], memory: int | None) -> None:
        for g, (_, size) in enumerate(groups):
            if memory is not None and 2 * size > memory:
                raise ValueError(
                    f"row group {g} of {self.path} takes {size / 1e6:.0f} MB, too much for {memory / 1e6:.0f} MB of memory. "
                    "Allow more, or write the file with smaller row groups (row_group_size=100000)."
                )

    def __len__(self) -> int:
        return len(self._blocks)

    def name(self, i: int) -> str:
        """Return the rows of the block."""
        first = sum(rows for _, rows in self._blocks[:i])
        return f"rows {first + 1} to {first + self._blocks[i][1]} of {self.path}"

    @property
    def lengths(self) -> list[int]:
        """Number of rows of each block."""
        return [rows for _, rows in self._blocks]

    @property
    def look(self) -> object:
        """An empty table with the file's columns."""
        return np.empty((0, len(self.columns))) if self.numeric else self._block(self.schema.empty_table())

    def beside(self, columns: Sequence[str]) -> ParquetBlocks:
        """Return other columns of the same rows, block by block, as tables."""
        other = ParquetBlocks(self.path, columns, transform=_same)
        other._blocks = self._blocks
        return other

    def read(self) -> Iterator[Data]:
        """Yield blocks in order: arrays if all columns are numeric, otherwise tables."""
        import pyarrow as pa

        with parquet_library().ParquetFile(self.path, pre_buffer=False, buffer_size=1 << 20) as file:
            for group, run in _runs(self._blocks):
                size = max(run)
                batches = file.iter_batches(size, row_groups=list(group), columns=self.columns, use_threads=False)
                for table in _exactly(batches, run):
                    yield self._block(table)
        pa.default_memory_pool().release_unused()

    def _block(self, table: pa.Table) -> Data:
        table = table.select(self.columns)
        if not self.numeric:
            return table if self.transform is None else self.transform(table)
        kinds = {str(self.schema.field(c).type) for c in self.columns}
        out = np.empty((table.num_rows, len(self.columns)), dtype=np.float32 if kinds == {"float"} else np.float64)
        for j in range(len(self.columns)):
            out[:, j] = _numbers(table.column(j))
        return out


def _same(table: pa.Table) -> pa.Table:
    return table


def parquet_library() -> ModuleType:
    """Import ``pyarrow.parquet`` on demand."""
    return import_module("pyarrow.parquet")


def _group(group: RowGroupMetaData, columns: Sequence[str]) -> tuple[int, int]:
    """Return the rows of a row group, and the bytes of some of its columns."""
    chunks = [group.column(j) for j in range(group.num_columns)]
    size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in columns)
    return int(group.num_rows), int(size)


def _cut(groups: Sequence[int], most: int) -> list[tuple[tuple[int, ...], int]]:
    """Return blocks as (row groups, rows): small groups merged, large ones split."""
    blocks: list[tuple[tuple[int, ...], int]] = []
    waiting: list[int] = []
    rows = 0
    for g, n in enumerate(groups):
        if waiting and rows + n > most:
            blocks.append((tuple(waiting), rows))
            waiting, rows = [], 0
        if n > most:
            parts = -(-n // most)
            size = -(-n // parts)
            blocks += [((g,), min(size, n - start)) for start in range(0, n, size)]
        elif n:
            waiting.append(g)
            rows += n
    return [*blocks, (tuple(waiting), rows)] if waiting else blocks


def _runs(blocks: Sequence[tuple[tuple[int, ...], int]]) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Group neighbouring blocks of the same row groups."""
    run: list[int] = []
    for i, (group, rows) in enumerate(blocks):
        run.append(rows)
        if i + 1 == len(blocks) or blocks[i + 1][0] != group:
            yield group, run
            run = []


def _exactly(batches: Iterator[pa.RecordBatch], rows: Sequence[int]) -> Iterator[pa.Table]:
    """Yield tables with exactly these numbers of rows, whatever the reader's batches."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for wanted in rows:
        while sum(b.num_rows for b in held) < wanted:
            held.append(next(batches))
        table = pa.Table.from_batches(held)
        yield table.slice(0, wanted)
        rest = table.slice(wanted)
        held = rest.to_batches() if rest.num_rows else []


def _numbers(column: pa.ChunkedArray) -> NDArray[np.floating]:
    """Return a column as floats, NaN if missing."""
    import pyarrow as pa

    if column.null_count and not pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    values: NDArray[np.floating] = column.to_numpy()
    return values
