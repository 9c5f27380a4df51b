"""What every reader takes and gives."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from softecm._errors import ReadError as ReadError
from softecm._text import closest, meant, number_of, some_of
from softecm._wording import option

if TYPE_CHECKING:
    import pandas as pd

    from softecm.spaces.base import ColumnKind

Kind = Literal["number", "category", "date", "id", "label", "left out"]
ATTRIBUTES = ("number", "category", "date")  # the kinds of columns that are clustered by
UNPACKED, RATIO = 1 << 30, 200  # an archive beyond both is taken for one that is meant to fill the memory
MOST_SHOWN = 40  # columns, in a notebook
Names = NDArray[np.object_]
#: What is said of one file of series and holds for the next; its columns of ids and values are found by name.
REUSED = ("unit", "names", "missing", "decimal", "thousands", "header", "array", "states", "time", "value", "id_column")


@dataclass(frozen=True)
class Written:
    """How the cells of a column are written, so that another file's can be read alike."""

    decimal: str = "."
    thousands: str = ""  # the sign between them
    unit: str = ""  # of money, percent or measures
    dates: str = ""  # the format
    words: tuple[str, ...] = ()  # spellings, where others differ from them in capitals alone
    no_answer: tuple[str, ...] = ()  # words that were taken as missing


@dataclass(frozen=True)
class Expected:
    """The columns that a fitted model wants; everything else is left aside, and nothing about these is guessed."""

    kinds: tuple[ColumnKind, ...]
    names: tuple[str, ...] | None = None  # None: the file's columns as they come
    id_column: str | None = None  # names the objects, where the file has it
    written: Mapping[str, Written] = field(default_factory=dict)  # how the columns of the first file were, by name
    gaps: bool = False  # whether cells may be missing
    known: tuple[str, ...] = ()  # all columns of the first file

    def unused(self, columns: Sequence[str]) -> list[str]:
        """The columns that neither the model nor its file had."""
        return [name for name in columns if name not in (*(self.names or columns), *self.known)]

    def among(self, path: Path, columns: Sequence[str]) -> dict[str, ColumnKind]:
        """The kinds of the wanted columns by name, in the model's order; refused where the file lacks some."""
        if self.names is None and len(columns) != len(self.kinds):
            raise ReadError(
                f"{path} must have {len(self.kinds)} columns, as many as the model was fitted with; got {len(columns)}: "
                f"give the column that names the objects with {option('id_column')}, and no others."
            )
        names = columns if self.names is None else self.names
        absent = self.absent(columns)
        hint = renamed(absent, columns) if absent else ""
        if absent and (hint or not self.gaps or 2 * len(absent) > len(names)):
            listed = some_of([short(name) for name in absent], 5)
            raise ReadError(
                f"{path} must have the columns the model was fitted with; {listed} not found among its columns.{hint}"
            )
        return dict(zip(names, self.kinds, strict=True))

    def absent(self, columns: Sequence[str]) -> list[str]:
        """The wanted columns that a file lacks."""
        return [name for name in self.names or () if name not in columns]


@dataclass(frozen=True)
class ReadOptions:
    """What the user said about the file; None is found out."""

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: bool | None = None
    names: tuple[str, ...] = ()  # of the columns
    missing: tuple[str, ...] | None = None
    sheet: str | None = None
    array: str | None = None
    id_column: str | None = None
    label_column: str | None = None
    drop: tuple[str, ...] = ()
    drop_rows: tuple[str, ...] = ()  # numbers from 1, ranges such as 1-3, -1 for the last
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()  # columns, with their levels as column=low<middle<high; or all of a known scale
    unit: tuple[str, ...] = ()  # of columns, as column=unit, or column=unit=N other unit
    dates: tuple[str, ...] = ()  # columns, formats, or both as column=format
    series_id: str | None = None  # of a long table; id_column will do as well
    time: str | None = None
    value: tuple[str, ...] = ()
    states: bool | None = None  # whether the table holds sequences of states
    expected: Expected | None = None  # what a fitted model wants of the file

    @property
    def long(self) -> bool:
        """Whether the table holds one time step of one series a row."""
        return bool(self.series_id or self.time or self.value)

    def like_series(self, first: ReadOptions, columns: Sequence[Column]) -> ReadOptions:
        """For another file of series or states: what is not said anew is as for the first, which had these columns."""
        channels = tuple(c.name for c in columns if c.kind == "number")
        if first.long:
            first = replace(first, id_column=first.series_id or first.id_column, value=channels or first.value)
        unsaid = {name: getattr(first, name) for name in REUSED if getattr(self, name) in (None, ())}
        options = replace(self, **unsaid)
        if options.long:
            return options
        key = next((c.name for c in columns if c.kind == "id"), first.id_column)
        aside = tuple(c.name for c in columns if c.kind not in ATTRIBUTES)
        return replace(options, id_column=self.id_column, expected=Expected((), id_column=key, known=aside))


@dataclass(frozen=True)
class Column:
    """One column as it was understood."""

    name: str
    kind: Kind
    detail: str  # its values; for what is not clustered by, the reason
    gaps: int = 0
    why: str = ""  # it was taken as what it is
    written: Written | None = None


@dataclass(frozen=True, repr=False)
class Loaded:
    """Objects, their names, and how they were read.

    Attributes
    ----------
    data : data frame of the columns to cluster by; for series an array or a list of arrays
    shape : "table" or "series"
    ids, labels : names and classes of the objects, where the file has them
    columns : what each column was taken as, and why
    notes : what is worth knowing about it
    table : every column as the file has it
    """

    data: Any  # data frame; or (n, L, d) array, or list of (L, d) arrays; or sparse rows; or a dict of views of such
    shape: Literal["table", "series"]
    ids: Names | None
    labels: Names | None
    columns: tuple[Column, ...] = ()
    how: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()  # how to read it in Python, giving X
    table: pd.DataFrame | None = None  # every column as the file has it
    options: ReadOptions = field(default_factory=ReadOptions)  # what the user said about the file

    def __repr__(self) -> str:
        """What was taken as what, a line a column."""
        head = number_of(len(self), self.noun)
        lines = [f"  {c.name}: {c.kind}, {c.detail}{f' ({c.why})' if c.why else ''}" for c in self.columns]
        return "\n".join([head, *lines, *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """What to mind first, then a line a column; for notebooks."""
        head = f"<p>{number_of(len(self), self.noun)}. Pass <code>.data</code> to fit.</p>"
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        cells = [(c.name, c.kind, c.detail, c.why, str(c.gaps or "")) for c in self.columns[:MOST_SHOWN]]
        lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
        more = len(self.columns) - MOST_SHOWN
        rest = f"<p>{more} more columns.</p>" if more > 0 else ""
        heads = "".join(f"<th>{name}</th>" for name in ("column", "read as", "values", "why", "missing"))
        return (
            f"{f'<p>Please check:</p><ul>{notes}</ul>' if notes else ''}{head}"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>{rest}"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to be taken for the data."""
        raise TypeError("this is how a file was read, not its data: give its .data, as in model.fit(table.data).")

    def __len__(self) -> int:
        data = self.first_view
        return int(data.shape[0]) if hasattr(data, "indptr") else len(data)

    @property
    def has_views(self) -> bool:
        """Whether several files describe the objects."""
        return isinstance(self.data, Mapping)

    @property
    def first_view(self) -> Any:
        """The objects of the first file."""
        return next(iter(self.data.values())) if self.has_views else self.data

    @property
    def noun(self) -> str:
        """What an object is called in a sentence."""
        if self.shape == "table":
            return "object"
        return "sequence" if self.categories else "series"

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
    labels: Names | None = None  # where the file keeps them apart
    text: bool = False  # whether cells are as people wrote them: numbers and dates are still to be recognised
    decimal: str = ""  # the decimal sign that the file shows, where it does
    notes: tuple[str, ...] = ()


class Reader(Protocol):
    """Reads one format.

    Raises ``ReadError``, and nothing else, for a file that is truncated, damaged or of another kind.
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


def check_unpacked(path: Path) -> None:
    """Refuse an archive that unpacks to far more than its size."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            whole = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile:
        return  # which reading it will tell
    size = path.stat().st_size
    if whole > UNPACKED and whole > RATIO * size:
        raise ReadError(
            f"{path} unpacks to {whole / 1e9:.3g} GB, {whole // size} times its size: unpack it yourself if you trust it."
        )


def as_names(values: Iterable[object]) -> Names:
    """Names of objects or of classes as text; None where one is missing."""
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def folded(word: str) -> str:
    """A word whatever its capitals and blanks."""
    return " ".join(str(word).casefold().split())


def short(value: object, most: int = 24) -> str:
    """A value in a sentence."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def brief(error: Exception) -> str:
    """What another library said, in a sentence."""
    return short(str(error).splitlines()[0] if str(error) else type(error).__name__, 120).rstrip(". ")


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Whatever another library raises on a damaged file, as a ``ReadError``."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        raise ReadError(f"{path} can't be read as {what}: {brief(error)}.") from error


def check_names(path: Path, names: Iterable[str], remedy: str = "") -> None:
    """Refuse a name that two columns share."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ReadError(f"{path} has more than one column called {short(twice)}: give each a name of its own{remedy}.")


def own_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """A name of its own for every column, the second "x" being "x (2)", and what to say about it.

    Examples
    --------
    >>> own_names(["x", "y", "x"])[0]
    ['x', 'y', 'x (2)']
    """
    originals, unique, notes = set(names), dict[str, None](), list[str]()
    for name in names:
        number, own = 1, name
        while own in unique or (number > 1 and own in originals):
            number += 1
            own = f"{name} ({number})"
        if own != name:
            notes.append(f"more than one column is called {short(name)}: one of them is {short(own)} here.")
        unique[own] = None
    return list(unique), notes[:3]


def renamed(absent: Sequence[str], columns: Sequence[str]) -> str:
    """Which column of a file is meant by the first that it lacks, where one is called nearly so."""
    near = closest(absent[0], columns)
    return f" If its {short(near)} is the same in the same unit, rename it to {short(absent[0])}." if near else ""


def existing(path: Path, columns: Sequence[str], name: str) -> str:
    """A column by its name; a number that is no name counts columns from 1."""
    if name not in columns and name.isdecimal() and 1 <= int(name) <= len(columns):
        return columns[int(name) - 1]
    if name not in columns:
        raise ReadError(f"{path} has no column {name}: its columns are {some_of(columns, 12)}.{meant(name, columns)}")
    return name
