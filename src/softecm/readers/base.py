"""What every reader takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from softecm.files.errors import ReadError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Format", "Kind", "Loaded", "Names", "ReadError", "ReadOptions", "Reader", "Sheet"]

Kind = Literal["number", "category", "date", "id", "label", "left out"]
ATTRIBUTES = ("number", "category", "date")  # the kinds of columns that are clustered by
Names = NDArray[np.object_]


@dataclass(frozen=True)
class ReadOptions:
    """What the user said about the file; None is found out."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] | None = None
    sheet: str | None = None
    array: str | None = None
    id_column: str | None = None
    label_column: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    series_id: str | None = None
    time: str | None = None
    value: tuple[str, ...] = ()

    @property
    def long(self) -> bool:
        """Whether the table holds one time step of one series a row."""
        return bool(self.series_id or self.time or self.value)


@dataclass(frozen=True)
class Column:
    """One column as it was understood."""

    name: str
    kind: Kind
    detail: str
    gaps: int = 0


@dataclass(frozen=True)
class Loaded:
    """Objects, their names, and how they were read."""

    data: Any  # data frame; or (n, L, d) array, or list of (L, d) arrays
    shape: Literal["table", "series"]
    ids: Names | None
    labels: Names | None
    columns: tuple[Column, ...] = ()
    how: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()  # how to read it in Python, giving X

    def __len__(self) -> int:
        return len(self.data)

    @property
    def names(self) -> list[str]:
        """What the objects are called: their ids, or their numbers from 1."""
        return [str(i + 1) for i in range(len(self))] if self.ids is None else [str(v) for v in self.ids]

    @property
    def gaps(self) -> int:
        """Missing cells among the attributes."""
        return sum(c.gaps for c in self.columns if c.kind in ATTRIBUTES)

    @property
    def categories(self) -> bool:
        """Whether some attribute is not a number."""
        return any(c.kind == "category" for c in self.columns)


@dataclass(frozen=True)
class Sheet:
    """A table as the file has it, its columns not yet understood."""

    frame: pd.DataFrame
    how: dict[str, str]
    code: tuple[str, ...]  # how to read it in Python, giving table
    labels: Names | None = None  # where the file keeps them apart


class Reader(Protocol):
    """Reads one format.

    Raises ``ReadError``, and nothing else, for a file that is cut short, damaged or of another kind.
    """

    def __call__(self, path: Path, options: ReadOptions) -> Sheet | Loaded:
        """A ``Sheet`` where the file is a table, to be understood like every table; else the objects."""
        ...


@dataclass(frozen=True)
class Format:
    """A line of the list of readers."""

    name: str  # as people write it
    endings: tuple[str, ...]
    reader: Reader

    def takes(self, path: Path) -> bool:
        """Whether a file is of this format, by the end of its name."""
        return path.suffix.lower() in self.endings


def short(value: object, most: int = 24) -> str:
    """A value in a sentence."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def brief(error: Exception) -> str:
    """What another library said, in a sentence."""
    return short(str(error).splitlines()[0] if str(error) else type(error).__name__, 120).rstrip(". ")


def existing(path: Path, columns: Sequence[str], name: str) -> str:
    """A column by its name; a number that is no name counts columns from 1."""
    if name not in columns and name.isdecimal() and 1 <= int(name) <= len(columns):
        return columns[int(name) - 1]
    if name not in columns:
        some = ", ".join(columns[:12]) + (" …" if len(columns) > 12 else "")
        raise ReadError(f"{path} has no column {name}: its columns are {some}.")
    return name
