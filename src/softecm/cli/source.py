"""Where a file's objects come from: all of them in memory, or one block of a Parquet file after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from softecm._text import grouped, meant, shown_size
from softecm.belief import CredalPartition
from softecm.belief.totals import PartitionTotals
from softecm.cli.fitting import FittedFile
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import partition_table, write_csv
from softecm.readers import PARQUET, Beside, Column, Loaded, ReadOptions, check_file, read
from softecm.readers.answers import stripped
from softecm.readers.base import Sheet, as_names, check_names, readable
from softecm.readers.frames import parquet_shape
from softecm.readers.table import understood
from softecm.report import three_sentences
from softecm.report.words import counted_sentences

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from softecm import SoftECM
    from softecm.distributed import ParquetBlocks, ScatteredPartition

SAMPLE = 20_000  # rows that are looked at one by one, and drawn in the report
BATCH = 1 << 16
UNITS = {"": 1} | {f"{sign}{i}": base**k for i, base in (("", 1000), ("i", 1024)) for k, sign in enumerate("kmgt", 1)}
MOST_MEMORY = 2**60
GOOD_PART = 0.6  # of what is free, by default
TEXT = 8.0  # times the size of a text file: the table it becomes, and what is computed from it


@dataclass(frozen=True)
class WholeFile:
    """A file's objects as they are fitted, written and shown: all of them in memory."""

    file: Path
    loaded: Loaded
    parquet: bool = False  # whether partition.parquet is wanted, too
    beside: tuple[str, ...] = ()  # columns of the file to write with the masses
    views: Beside | None = None  # files with other views of the objects
    is_whole: ClassVar[bool] = True

    @property
    def n_objects(self) -> int:
        """How many objects the file has."""
        return len(self.loaded)

    def data(self, metric: str) -> object:
        """What is fitted: the objects as they were read."""
        return self.loaded.data

    def write_masses(self, model: SoftECM, work: Path, clear: float) -> PartitionTotals:
        """Write partition.csv, and partition.parquet where asked; says how many objects are where."""
        table = partition_table(model.partition_, self.loaded.names, clear, columns_beside(self.loaded, self.beside))
        write_csv(table, work / "partition.csv")
        if self.parquet:
            table.to_parquet(work / "partition.parquet", index=False)
        return PartitionTotals.of(model.partition_, clear)

    def sentences(self, model: SoftECM, totals: PartitionTotals) -> Sequence[str]:
        """Groups, objects between and objects nowhere, named where they are few."""
        merged = bool(getattr(model, "collapsed_", False))
        return three_sentences(
            model.partition_, self.loaded.names, merged=merged, noun=self.loaded.noun, clear=totals.clear
        )

    def shown(self, model: SoftECM) -> CredalPartition:
        """The partition of ``loaded``: what the report draws."""
        return model.partition_

    def remarks(self) -> list[str]:
        """What to mind whatever the fit said."""
        return []

    def more(self, fitted: FittedFile) -> Mapping[str, object]:
        """What the summary says of this kind of source alone: the other files."""
        return {"beside": self.views.summary()} if self.views else {}


def whole(
    file: Path, options: ReadOptions, *, parquet: bool, beside: tuple[str, ...], views: Beside | None = None
) -> WholeFile:
    """Read a file, and those with other views of its objects."""
    source = WholeFile(file, read(file, options, views), parquet, beside, views)
    columns_beside(source.loaded, beside)  # refused before anything is computed
    return source


def columns_beside(loaded: Loaded, names: Sequence[str]) -> object:
    """The columns of a file that were asked for, as the file has them; None where none were."""
    if not names:
        return None
    if loaded.table is None:
        raise Problem("--with-columns is for tables with one object per row, and the file holds series: leave it out.")
    ids = {c.name for c in loaded.columns if c.kind == "id"}
    known = [str(name) for name in loaded.table.columns]
    if "all" in names:
        return loaded.table[[name for name in known if name not in ids]]
    absent = [name for name in names if name not in known]
    if absent:
        some = ", ".join(known[:12])
        raise Problem(
            f"--with-columns {absent[0]} is not a column of the file: its columns are {some}.{meant(absent[0], known)}"
        )
    return loaded.table[list(names)]


# ------------------------------------------------------------------ block by block


class Scan(NamedTuple):
    """What one pass over the file tells."""

    rows: int
    sample: pd.DataFrame  # evenly spread rows
    places: NDArray[np.int64]  # their numbers
    gaps: dict[str, int]
    varied: set[str]  # columns that hold more than one value


@dataclass(frozen=True)
class Blocks:
    """The same of a Parquet file, read block by block; nothing of its length is held."""

    file: Path
    loaded: Loaded  # a sample of the objects
    rows: int
    memory: int
    is_whole: ClassVar[bool] = False

    @property
    def n_objects(self) -> int:
        """Rows of the file."""
        return self.rows

    def data(self, metric: str) -> ParquetBlocks:
        """The blocks, with the columns that are kept."""
        from softecm.distances import SEMI_METRICS
        from softecm.distributed import ParquetBlocks
        from softecm.spaces.real import RealVectors

        words = [c.name for c in self.loaded.columns if c.kind == "category"]
        plain = SEMI_METRICS[metric].space is RealVectors and not words
        transform = None if plain else partial(_frame, words=words)
        with mendable(ValueError):
            return ParquetBlocks(self.file, list(self.loaded.data.columns), memory=self.memory, transform=transform)

    def write_masses(self, model: SoftECM, work: Path, clear: float) -> PartitionTotals:
        """partition.parquet, with the ids where a column holds them."""
        named = [c.name for c in self.loaded.columns if c.kind == "id" and c.detail != "counts the rows"]
        source = self.data(model.model_.metric.name)
        ids = None if not named else (table.column(0) for table in source.beside(named[:1]).read())
        scattered = cast("ScatteredPartition", model.partition_)
        totals = scattered.to_parquet(work / "partition.parquet", dtype="float32", ids=ids, clear=clear)
        return replace(totals, focal=model.focal_sets_)

    def sentences(self, model: SoftECM, totals: PartitionTotals) -> Sequence[str]:
        """Counts; no object is named."""
        return counted_sentences(
            model.partition_, totals.decided, merged=bool(model.collapsed_), near=totals.nearly_between
        )

    def shown(self, model: SoftECM) -> CredalPartition:
        """The sample."""
        return model.predict_partition(self.loaded.data)

    def remarks(self) -> list[str]:
        """How much the report shows."""
        return [f"The report shows a sample of {grouped(len(self.loaded))} of {grouped(self.rows)} objects."]

    def more(self, fitted: FittedFile) -> Mapping[str, object]:
        """Time a round, and how many rows were sampled."""
        pace = fitted.seconds_per_iteration
        seconds = None if pace is None else round(pace, 4)
        return {"seconds_a_round": seconds, "streamed": True, "sampled": len(self.loaded)}


ObjectSource: TypeAlias = WholeFile | Blocks


def in_blocks(file: Path, options: ReadOptions, memory: int) -> Blocks:
    """Look through a file once: what it holds, and a sample of it."""
    check_file(file)
    scan = scanned(file)
    loaded = _understood(file, scan, options)
    blocks = f"X = ParquetBlocks({str(file)!r}, {list(loaded.data.columns)!r})"
    loaded = replace(loaded, code=("from softecm.distributed import ParquetBlocks", blocks))
    return Blocks(file, loaded, scan.rows, memory)


# ------------------------------------------------------------------ what the file holds


def scanned(file: Path) -> Scan:
    """Gaps, and which columns vary, exactly; a sample of rows for the rest."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as parquet

    with (
        readable(file, ".parquet"),
        parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as source,
    ):
        rows = source.metadata.num_rows
        stride = max(1, rows // SAMPLE)
        parts, places, first = [], [], 0
        gaps = dict.fromkeys(source.schema_arrow.names, 0)
        check_names(file, source.schema_arrow.names)
        seen: dict[str, set[float]] = {name: set() for name in gaps}  # two numbers of each column
        for batch in source.iter_batches(BATCH, use_threads=False):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            here = np.arange((-first) % stride, len(table), stride)
            parts.append(table.take(here).to_pandas())
            places.append(here + first)
            first += len(table)
            for name in gaps:
                column = table.column(name)
                gaps[name] += int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)
                if len(seen[name]) < 2 and (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
                    seen[name] |= {v for v in pc.min_max(column).as_py().values() if v is not None and v == v}
    if not rows:
        raise Problem(f"{file} has a header but no rows: there is nothing to cluster.")
    sample = pd.concat(parts, ignore_index=True)
    sample.columns = [str(name) for name in sample.columns]
    varied = {name for name, numbers in seen.items() if len(numbers) > 1}
    return Scan(rows, sample, np.concatenate(places), gaps, varied)


def _understood(file: Path, scan: Scan, options: ReadOptions) -> Loaded:
    """The columns as a sample of rows shows them, gaps counted over all rows."""
    counting = _row_numbers(scan) if options.id_column is None else None
    if counting is not None:
        options = replace(options, drop=(*options.drop, counting))
    once = [c for c in scan.sample.columns if c in scan.varied and scan.sample[c].nunique() == 1]
    options = replace(options, numeric=(*options.numeric, *once))  # constant in the sample, not in the file
    how = {"format": "parquet", "read": f"block by block; understood from {grouped(len(scan.sample))} rows"}
    loaded = understood(file, Sheet(scan.sample, how), options)
    columns = [replace(c, gaps=scan.gaps.get(c.name, c.gaps)) for c in loaded.columns]
    columns = [Column(c.name, "id", "counts the rows") if c.name == counting else c for c in columns]
    ids = loaded.ids if options.id_column is not None else as_names(scan.places + 1)
    return replace(loaded, columns=tuple(columns), ids=ids)


def _row_numbers(scan: Scan) -> str | None:
    """The column that counts the rows, if there is one."""
    for name in scan.sample.columns:
        values = scan.sample[name].to_numpy()
        if values.dtype.kind in "iu" and len(values) > 9:
            offset = values - scan.places
            if (offset == offset[0]).all() and offset[0] in (0, 1):
                return str(name)
    return None


def _frame(table: pa.Table, *, words: list[str]) -> object:
    """A block as ``read`` would give it."""
    frame = table.to_pandas()
    frame.columns = [str(name) for name in frame.columns]
    for name in words:
        frame[name] = stripped(frame[name])
    return frame


# ------------------------------------------------------------------ how much memory a fit may use, and would need


def parse(text: str) -> int:
    """Bytes from "2GB", "500 MB" or "1.5GiB".

    Examples
    --------
    >>> parse("2GB"), parse("1.5 GiB"), parse("500m")
    (2000000000, 1610612736, 500000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    if match is None or match[2] == "i" or not float(match[1]) > 0:
        raise Problem(f"--memory must be a size such as 2GB or 500MB; got {text}.")
    size = float(match[1]) * UNITS[match[2]]
    if size > MOST_MEMORY:
        raise Problem(f"--memory must be at most {shown_size(MOST_MEMORY)}; got {text[:20]}.")
    return int(size)


def limit(memory: str | None) -> int:
    """Bytes that may be used: as asked, or a good part of what is free."""
    if memory is not None:
        return parse(memory)
    from softecm._engine import free_memory

    return int(GOOD_PART * free_memory())


def must_stream(file: Path, memory: str | None, n_sets: int) -> bool:
    """Whether the file is to be read block by block; a text file beyond the memory asked for is refused."""
    if not PARQUET.takes(file) or not file.is_file():
        need = TEXT * file.stat().st_size if file.is_file() else 0.0
        if memory is not None and need > parse(memory):
            raise Problem(
                f"{file} would need about {shown_size(need)}, more than --memory {memory}: save it as Parquet, which is "
                "read block by block."
            )
        return False
    return needed(file, n_sets) > limit(memory)


def needed(file: Path, n_sets: int) -> float:
    """Bytes a fit of the whole Parquet file takes: the table, its encoding, and some copies of the masses."""
    rows, columns = parquet_shape(file)
    return 8.0 * rows * float(3 * columns + 4 * (n_sets + 1))
