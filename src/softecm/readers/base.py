"""The input and output of all readers."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softecm._errors import ReadError as ReadError
from softecm._text import closest, meant, number_of, some_of
from softecm._wording import option

if TYPE_CHECKING:
    import pandas as pd

    from softecm.spaces.base import ColumnKind

Kind = Literal["number", "category", "date", "id", "label", "left out"]
ATTRIBUTES = ("number", "category", "date")  # the kinds of columns used for clustering
UNPACKED, RATIO = 1 << 30, 200  # an archive beyond both limits is probably malicious
MOST_SHOWN = 40  # in a notebook
HEADS = ("column", "read as", "values", "why", "missing")
Names = NDArray[np.object_]
#: Options of one file of series that apply to the next; its columns of ids and values are found by name.
REUSED = (
    "unit",
    "names",
    "missing",
    "decimal",
    "thousands",
    "header",
    "array",
    "states",
    "series",
    "time",
    "value",
    "channel",
    "id_column",
)


@dataclass(frozen=True)
class Written:
    """The notation of a column's cells, for reading another file alike."""

    decimal: str = "."
    thousands: str = ""  # the thousands separator
    unit: str = ""  # of money, percent or measures
    dates: str = ""  # the format
    words: tuple[str, ...] = ()  # one spelling of each word, if some have several
    no_answer: tuple[str, ...] = ()  # words read as missing


@dataclass(frozen=True)
class Expected:
    """The columns that a fitted model needs; all others are ignored, and nothing about these is inferred."""

    kinds: tuple[ColumnKind, ...]
    names: tuple[str, ...] | None = None  # None: the file's columns in order
    id_column: str | None = None  # names of the objects, if the file has it
    written: Mapping[str, Written] = field(default_factory=dict)  # the notation of the first file's columns, by name
    gaps: bool = False  # whether cells may be missing
    known: tuple[str, ...] = ()  # all columns of the first file
    optional: tuple[str, ...] = ()  # columns without weight in the fit
    unit: tuple[str, ...] = ()  # the user's units for the first file

    def as_in(self, columns: Sequence[Column], unit: tuple[str, ...]) -> Expected:
        """Return the same, with ids, notation and units as in the first file, whose columns are given."""
        written = {c.name: c.written for c in columns if c.written}
        known = tuple(c.name for c in columns)
        return replace(self, id_column=id_of(columns), written=written, known=known, unit=unit)

    def unused(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that neither the model nor its file had."""
        return [name for name in columns if name not in (*(self.names or columns), *self.known)]

    def among(self, path: Path, columns: Sequence[str]) -> dict[str, ColumnKind]:
        """Return the kinds of the required columns by name, in the model's order; raise an error for missing ones."""
        if self.names is None and len(columns) != len(self.kinds):
            raise ReadError(
                f"{path} must have {len(self.kinds)} columns, as many as the model was fitted with; got {len(columns)}: "
                f"give the column that names the objects with {option('id_column')}, and no others."
            )
        names = columns if self.names is None else self.names
        relevant = [name for name in names if name not in self.optional]
        absent = [name for name in relevant if name not in columns]
        unused = self.unused(columns)
        other = [name for name in absent if closest(name, unused)]
        hint = renamed(other, unused) if other else ""
        too_many = not self.gaps or 2 * len(absent) > len(relevant)
        if absent and (hint or too_many):
            listed = some_of([short(name) for name in (absent if too_many else other)], 5)
            raise ReadError(
                f"{path} must have the columns the model was fitted with; {listed} not found among its columns.{hint}"
            )
        return dict(zip(names, self.kinds, strict=True))

    def absent(self, columns: Sequence[str]) -> list[str]:
        """Return the required columns that a file lacks."""
        return [name for name in self.names or () if name not in columns]


@dataclass(frozen=True)
class ReadOptions:
    """The user's options for a file; None is inferred."""

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
    known: str | None = None  # a column with the groups of some objects
    drop: tuple[str, ...] = ()
    drop_rows: tuple[str, ...] = ()  # numbers from 1, ranges such as 1-3, -1 for the last
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()  # columns, with levels as column=low<middle<high; or all of a known scale
    unit: tuple[str, ...] = ()  # of columns, as column=unit, or column=unit=N other unit
    dates: tuple[str, ...] = ()  # columns, formats, or both as column=format
    series_id: str | None = None  # of a long table; id_column works, too
    time: str | None = None
    value: tuple[str, ...] = ()
    channel: str | None = None  # of a long table with a row for each channel: the column that names it
    symmetrize: str | None = None  # how to combine both directions of a matrix of dissimilarities
    states: bool | None = None  # whether the table holds sequences of states
    series: bool | None = None  # whether each row of the table is a series
    expected: Expected | None = None  # the columns a fitted model requires

    @property
    def classes(self) -> list[str]:
        """The columns with classes or known groups."""
        return [name for name in (self.label_column, self.known) if name]

    @property
    def long(self) -> bool:
        """Whether each row of the table holds one time step of one series."""
        return bool(self.series_id or self.time or self.value or self.channel)

    @property
    def in_columns(self) -> bool:
        """Whether each column of the table but that of the time is a series."""
        others = self.series_id or self.id_column or self.value or self.channel or self.states
        return self.time is not None and not others

    def like_series(self, first: ReadOptions, columns: Sequence[Column]) -> ReadOptions:
        """Return options for another file of series or states: by default those of the first, with its columns."""
        channels = tuple(c.name for c in columns if c.kind == "number")
        if first.long:
            value = first.value if first.channel or first.in_columns else channels or first.value
            first = replace(first, id_column=first.series_id or first.id_column, value=value)
        unsaid = {name: getattr(first, name) for name in REUSED if getattr(self, name) in (None, ())}
        options = replace(self, **unsaid)
        if options.long:
            return replace(options, expected=Expected((), names=channels))
        key = id_of(columns) or first.id_column
        aside = tuple(c.name for c in columns if c.kind not in ATTRIBUTES)
        return replace(options, id_column=self.id_column, expected=Expected((), id_column=key, known=aside))


@dataclass(frozen=True)
class Column:
    """One column as interpreted."""

    name: str
    kind: Kind
    detail: str  # its values, or the reason if it is not used
    gaps: int = 0
    why: str = ""  # reason for its kind
    written: Written | None = None


def id_of(columns: Iterable[Column]) -> str | None:
    """Return the name of the column with the names of the objects, if there is one."""
    return next((c.name for c in columns if c.kind == "id"), None)


@dataclass(frozen=True, repr=False)
class Loaded:
    """Objects, their names, and how they were read.

    Attributes
    ----------
    data : data frame of the columns for clustering; for series an array or a list of arrays
    shape : "table" or "series"
    ids, labels : names and classes of the objects, if the file has them
    known : known groups of some objects, None for the others: the ``y`` of a fit
    columns : kind and reason of each column
    notes : remarks about the file
    table : every column, unconverted
    """

    data: Any  # data frame; or (n, L, d) array, or list of (L, d) arrays; or sparse rows; or a dict of views of such
    shape: Literal["table", "series"]
    ids: Names | None
    labels: Names | None
    columns: tuple[Column, ...] = ()
    how: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()  # Python code that reads it as X
    table: pd.DataFrame | None = None  # every column, unconverted
    options: ReadOptions = field(default_factory=ReadOptions)  # the user's options for the file
    feature_names: tuple[str, ...] = ()  # of the columns of sparse rows, such as the words of texts
    known: Names | None = None

    def __repr__(self) -> str:
        """List the kinds of columns, one per line."""
        head = number_of(len(self), self.noun)
        lines = [f"  {c.name}: {c.kind}, {c.detail}{f' ({c.why})' if c.why else ''}" for c in self.columns]
        return "\n".join([head, *lines, *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """Show remarks first, then one line per column; for notebooks."""
        head = f"<p>{number_of(len(self), self.noun)}. Pass <code>.data</code> to fit.</p>"
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        cells = [(c.name, c.kind, c.detail, c.why, str(c.gaps or "")) for c in self.columns[:MOST_SHOWN]]
        table = [column for column in zip(HEADS, *cells, strict=True) if any(column[1:])]
        heads, *rows = zip(*table, strict=True) if table else [()]
        lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        more = len(self.columns) - MOST_SHOWN
        rest = f"<p>{more} more columns.</p>" if more > 0 else ""
        top = "".join(f"<th>{name}</th>" for name in heads)
        return (
            f"{f'<p>Please check:</p><ul>{notes}</ul>' if notes else ''}{head}"
            f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>{rest}"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise an error: the data are in ``data``."""
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
        """The noun for an object in a sentence."""
        if self.shape == "table":
            return "object"
        return "sequence" if self.categories else "series"

    @property
    def names(self) -> list[str]:
        """Names of the objects: their ids, or numbers from 1."""
        return [str(i + 1) for i in range(len(self))] if self.ids is None else [str(v) for v in self.ids]

    @property
    def gaps(self) -> int:
        """Number of missing cells among the attributes."""
        return sum(c.gaps for c in self.columns if c.kind in ATTRIBUTES)

    @property
    def numeric(self) -> bool:
        """Whether all attributes are numbers."""
        return all(c.kind == "number" for c in self.columns if c.kind in ATTRIBUTES)

    @property
    def categories(self) -> bool:
        """Whether any attribute is not a number."""
        return any(c.kind == "category" for c in self.columns)


@dataclass(frozen=True)
class Sheet:
    """A table as in the file, before its columns are interpreted."""

    frame: pd.DataFrame
    how: dict[str, str]
    labels: Names | None = None  # if the file has them separately
    text: bool = False  # whether cells are raw text, with numbers and dates still to be recognized
    decimal: str = ""  # the file's decimal sign, if known
    notes: tuple[str, ...] = ()


#: Returns a ``Sheet`` if the file is a table, to be interpreted like any table; otherwise the objects. Raises ``ReadError``,
#: and no other exception, for a file that is truncated, damaged or of another kind.
Reader: TypeAlias = Callable[[Path, ReadOptions], Sheet | Loaded]


@dataclass(frozen=True)
class Format:
    """An entry in the list of readers."""

    name: str  # its usual name
    endings: tuple[str, ...]
    reader: Reader

    def takes(self, path: Path) -> bool:
        """Whether a file has this format, by its suffix."""
        return path.suffix.lower() in self.endings


def check_unpacked(path: Path) -> None:
    """Raise an error for an archive that unpacks to far more than its size."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            whole = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile:
        return  # reading it will report the error
    size = path.stat().st_size
    if whole > UNPACKED and whole > RATIO * size:
        raise ReadError(
            f"{path} unpacks to {whole / 1e9:.3g} GB, {whole // size} times its size: unpack it yourself if you trust it."
        )


def as_names(values: Iterable[object]) -> Names:
    """Return names of objects or of classes as text; None if missing."""
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def folded(word: str) -> str:
    """Return a word without differences in case and blanks."""
    return " ".join(str(word).casefold().split())


def short(value: object, most: int = 24) -> str:
    """Return a value for a sentence."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def first_of(items: Sequence[str], most: int) -> str:
    """Return the first items for a sentence, and how many more there are."""
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def brief(error: Exception) -> str:
    """Return another library's error message for a sentence."""
    return short(str(error).splitlines()[0] if str(error) else type(error).__name__, 120).rstrip(". ")


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Turn any exception of another library on a damaged file into a ``ReadError``."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        raise ReadError(f"{path} can't be read as {what}: {brief(error)}.") from error


def check_names(path: Path, names: Iterable[str]) -> None:
    """Raise an error for duplicate column names."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ReadError(f"{path} has more than one column called {short(twice)}: give each a name of its own.")


def own_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return unique column names, with the second "x" as "x (2)", and a remark about it.

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
    """Return which column of a file is probably meant by the first missing one, if any has a similar name."""
    near = closest(absent[0], columns)
    return f" If its {short(near)} is the same in the same unit, rename it to {short(absent[0])}." if near else ""


def existing(path: Path, columns: Sequence[str], name: str) -> str:
    """Return a column by its name; a number that is no name counts columns from 1."""
    if name not in columns and name.isdecimal() and 1 <= int(name) <= len(columns):
        return columns[int(name) - 1]
    if name not in columns:
        raise ReadError(f"{path} has no column {name}: its columns are {some_of(columns, 12)}.{meant(name, columns)}")
    return name


def with_classes(path: Path, columns: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Return the options with the columns of classes and known groups by their names; raise an error if they are one."""
    label, known = (existing(path, columns, name) if name else None for name in (options.label_column, options.known))
    if label is not None and label == known:
        raise ReadError(
            f"{option('known')} and {option('label_column')} must be different columns; both are {short(label)}: known "
            "groups guide the fit, so they can't score it."
        )
    return replace(options, label_column=label, known=known)
