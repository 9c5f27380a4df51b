"""Where a file's objects come from: all of them in memory, or one block after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from softecm._text import meant
from softecm.belief import CredalPartition
from softecm.belief.totals import PartitionTotals
from softecm.cli.fitting import FittedFile
from softecm.cli.problems import Problem
from softecm.cli.results import partition_table, write_csv
from softecm.readers import Beside, Loaded, ReadOptions, read
from softecm.report import three_sentences

if TYPE_CHECKING:
    from softecm import SoftECM


@dataclass(frozen=True)
class ObjectSource(ABC):
    """A file's objects, as they are fitted, written and shown."""

    file: Path
    loaded: Loaded  # all objects, or a sample of them

    @property
    @abstractmethod
    def n_objects(self) -> int:
        """How many objects the file has."""

    @abstractmethod
    def data(self, metric: str) -> object:
        """What is fitted."""

    @abstractmethod
    def write_masses(self, model: SoftECM, work: Path, clear: float) -> PartitionTotals:
        """Write the partition of all objects into a folder; says how many objects are where."""

    @abstractmethod
    def sentences(self, model: SoftECM, totals: PartitionTotals) -> Sequence[str]:
        """What was found, in words."""

    @abstractmethod
    def shown(self, model: SoftECM) -> CredalPartition:
        """The partition of ``loaded``: what the report draws."""

    def reading(self) -> Sequence[str]:
        """Python that makes ``X`` from the file."""
        return self.loaded.code

    def remarks(self) -> list[str]:
        """What to mind whatever the fit said."""
        return []

    def more(self, fitted: FittedFile) -> Mapping[str, object]:
        """What the summary says of this kind of source alone."""
        return {}


@dataclass(frozen=True)
class WholeFile(ObjectSource):
    """All objects in memory."""

    parquet: bool = False  # whether partition.parquet is wanted, too
    beside: tuple[str, ...] = ()  # columns of the file to write with the masses
    views: Beside | None = None  # files with other views of the objects

    @property
    def n_objects(self) -> int:
        """All that were read."""
        return len(self.loaded)

    def data(self, metric: str) -> object:
        """The objects as they were read."""
        return self.loaded.data

    def write_masses(self, model: SoftECM, work: Path, clear: float) -> PartitionTotals:
        """partition.csv, and partition.parquet where asked."""
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
        """All of it."""
        return model.partition_

    def more(self, fitted: FittedFile) -> Mapping[str, object]:
        """The other files."""
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
            f"--with-columns {absent[0]} is no column of the file: its columns are {some}.{meant(absent[0], known)}"
        )
    return loaded.table[list(names)]
