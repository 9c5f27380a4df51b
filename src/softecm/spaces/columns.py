"""A column of a table: its content, what is learned from it, and its conversion to numbers and back."""

from __future__ import annotations

import datetime as dt
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeAlias, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from softecm._checks import Array
from softecm._text import column_label, is_writable, place, spelling_key
from softecm.files.expected import POSITIVE, UNIT, Range, count, either, flag, listed, maybe, number, plain, rules, text
from softecm.files.values import Savable, own
from softecm.spaces.base import LARGEST, ColumnKind
from softecm.spaces.magnitudes import Magnitude

MISSING, UNSEEN = -1, -2  # codes of missing cells and of categories not seen in the fit
ROWS = 1 << 16  # maximum number of cells held as Python values
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAY = 86_400e6  # in microseconds
TEMPORAL = ("date", "datetime", "duration")
LOWEST = 20.0  # scales below the centre: the logarithm of a number that has none
NORMAL_IQR = 1.3489795003921634  # interquartile range of a standard normal variable

TRUTHS = dict.fromkeys(("true", "yes", "y", "t", "1", "ja", "j", "wahr", "oui", "vrai", "si", "sí", "sì"), True)
TRUTHS |= dict.fromkeys(("false", "no", "n", "f", "0", "nein", "falsch", "non", "faux"), False)

Key = TypeVar("Key", bound=Hashable)
Name: TypeAlias = str | int  # of a column; its position in an array
Cell: TypeAlias = Any  # any value of a column
Column: TypeAlias = Any  # a narwhals series, of the main or the stable API, or a 1-D array


@dataclass(frozen=True)
class Cells(ABC):
    """An unprocessed column with its name: :class:`ArrayCells` or :class:`SeriesCells`."""

    name: Name
    values: Column

    def __len__(self) -> int:
        return len(self.values)

    @property
    def label(self) -> str:
        """The column's name in messages."""
        return column_label(self.name)

    def chunks(self) -> Iterator[tuple[int, list[Cell]]]:
        """Yield cells as Python values, None if missing, in blocks with the index of the first."""
        for start in range(0, len(self), ROWS):
            yield start, self._python_values(slice(start, start + ROWS))

    def cell(self, row: int) -> Cell:
        """Return one cell."""
        return self._python_values(slice(row, row + 1))[0]

    @abstractmethod
    def _python_values(self, rows: slice) -> list[Cell]: ...

    @property
    @abstractmethod
    def kind_by_type(self) -> str:
        """The kind by the column's type: as ``kind``, "object" if only the cells determine it, "" for other types."""

    @cached_property
    def kind(self) -> str:
        """The kind of the column: number, boolean, text, ordered, date, datetime or duration."""
        kind = self.kind_by_type
        if not kind:
            raise ValueError(
                f"{self.label} must hold numbers, text, categories, booleans or dates; got {self.values.dtype}. "
                "Turn it into one of these, or leave it out."
            )
        return self._object_kind() if kind == "object" else kind

    def _object_kind(self) -> str:
        """Return the kind of values in a column without its own type; raise an error for two kinds."""
        examples: dict[str, Cell] = {}
        for _, part in self.chunks():
            for value in part:
                if value is not None:
                    examples.setdefault(kind_of(value), value)
        if len(examples) > 1:
            (a, x), (b, y) = list(examples.items())[:2]
            raise ValueError(
                f"{self.label} must hold one kind of value; got {a} ({x!r}) and {b} ({y!r}). "
                "Convert the column to one type, for instance with astype(str)."
            )
        kind = next(iter(examples), "text")
        if kind == "other":
            value = examples[kind]
            raise ValueError(
                f"{self.label} must hold numbers, text, booleans or dates; got {value!r} ({type(value).__name__}). "
                "Turn it into one of these, or leave it out."
            )
        return kind.removesuffix(WITH_ZONE)

    def zone(self) -> str | None:
        """The time zone of a datetime column, or None."""
        zone = getattr(self.values.dtype, "time_zone", None)
        if zone is None and self.kind_by_type == "object":
            first = next((v for _, part in self.chunks() for v in part if v is not None), None)
            if first is not None and kind_of(first).endswith(WITH_ZONE):
                return getattr(first.tzinfo, "key", None) or "UTC"
        return None if zone is None else str(zone)

    def declared(self) -> tuple[Cell, ...]:
        """The categories of a categorical type, in its order; empty for other types."""
        return ()

    @property
    def style(self) -> str:
        """How the column's type defines its levels."""
        if not self.declared():
            return "plain"
        return "ordered" if nw.is_ordered_categorical(self.values) else "categorical"

    def numbers(self, kind: str) -> NDArray[np.float64]:
        """Return cells as floats, NaN if missing; dates and durations as microseconds."""
        if self.kind_by_type in ("object", "text"):
            parts = [[np.nan if v is None else to_float(v) for v in part] for _, part in self.chunks()]
            numbers = np.array([v for part in parts for v in part], dtype=np.float64)
        else:
            numbers = np.asarray(self._typed_numbers(kind), dtype=np.float64)
        largest = float(np.nanmax(np.abs(numbers), initial=0.0))
        if largest > LARGEST:
            row = int(np.nanargmax(np.abs(numbers)))
            raise ValueError(
                f"{self.label} must hold finite numbers of at most {LARGEST:g} in size; got {numbers[row]:g} in "
                f"{place('row', row)}. Mark such a cell as missing (NaN), or divide the column by a constant."
            )
        return numbers

    @abstractmethod
    def _typed_numbers(self, kind: str) -> Array: ...


@dataclass(frozen=True)
class ArrayCells(Cells):
    """A column of an array."""

    values: Array

    @property
    def kind_by_type(self) -> str:
        """The kind by NumPy's type."""
        kinds = {"f": "number", "i": "number", "u": "number", "b": "boolean", "U": "text", "M": "datetime"}
        return (kinds | {"m": "duration", "O": "object"}).get(self.values.dtype.kind, "")

    def _python_values(self, rows: slice) -> list[Cell]:
        values: list[Cell] = self.values[rows].tolist()
        return values if self.values.dtype.kind in "iubU" else [None if is_missing(v) else v for v in values]

    def _typed_numbers(self, kind: str) -> Array:
        values = self.values
        if values.dtype.kind not in "mM":
            return values.astype(np.float64)
        counts = values.astype("datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]")
        return np.where(np.isnat(counts), np.nan, counts.astype(np.int64).astype(np.float64))


@dataclass(frozen=True)
class SeriesCells(Cells):
    """A column of a data frame."""

    values: Column

    @property
    def label(self) -> str:
        """The name, which may be a number."""
        return f"column {self.name!r}"

    @property
    def kind_by_type(self) -> str:
        """The kind by the narwhals type."""
        dtype = self.values.dtype
        if dtype in (nw.Categorical, nw.Enum):
            return "ordered" if nw.is_ordered_categorical(self.values) else "text"
        kinds = {nw.Boolean: "boolean", nw.String: "text", nw.Date: "date", nw.Datetime: "datetime"}
        kinds |= {nw.Duration: "duration", nw.Object: "object", nw.Unknown: "object"}
        return "number" if dtype.is_numeric() else next((k for t, k in kinds.items() if dtype == t), "")

    def _python_values(self, rows: slice) -> list[Cell]:
        part = self.values[rows]
        values: list[Cell] = part.to_list()
        if part.dtype in (nw.Object, nw.Unknown) or part.dtype.is_float():
            return [None if is_missing(v) else v for v in values]
        for i in np.flatnonzero(part.is_null().to_numpy()):
            values[i] = None
        return values

    def declared(self) -> tuple[Cell, ...]:
        """The categories of a categorical type, in its order; empty for other types."""
        categorical = self.values.dtype in (nw.Categorical, nw.Enum)
        return tuple(self.values.cat.get_categories().to_list()) if categorical else ()

    def _typed_numbers(self, kind: str) -> Array:
        values = self.values
        if kind == "duration":
            values = values.dt.total_microseconds()
        elif kind in TEMPORAL:
            values = values.cast(nw.Datetime("us", getattr(values.dtype, "time_zone", None))).dt.timestamp("us")
        return np.asarray((values if values.dtype == nw.Float64 else values.cast(nw.Float64)).to_numpy())


def is_missing(value: object) -> bool:
    """Whether a cell is missing: None, NaN, or a library's own marker."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return value.is_nan() if isinstance(value, Decimal) else isinstance(value, float) and value != value


WITH_ZONE = " with a time zone"
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (  # in this order: a bool is also an int, a datetime a date
    ((bool, np.bool_), "boolean"),
    ((int, float, Decimal, np.integer, np.floating), "number"),
    ((str,), "text"),
    ((dt.datetime, np.datetime64), "datetime"),
    ((dt.date,), "date"),
    ((dt.timedelta, np.timedelta64), "duration"),
)


def kind_of(value: object) -> str:
    """Return the kind of a Python value, in words."""
    cls: Any = type(value)
    kind = _kind_of_type(cls)
    return kind + WITH_ZONE if kind == "datetime" and getattr(value, "tzinfo", None) is not None else kind


@lru_cache(maxsize=256)
def _kind_of_type(kind: type) -> str:
    return next((name for types, name in _KINDS if issubclass(kind, types)), "other")


def plain_value(value: Cell) -> Cell:
    """Return NumPy scalars and decimals as Python values."""
    value = value.item() if isinstance(value, np.generic) else value
    return float(value) if isinstance(value, Decimal) else value


def to_float(value: Cell) -> float:
    """Return a number, or the microseconds of a date or a duration."""
    kind = kind_of(value)
    if kind == "number":
        try:
            return float(value)
        except OverflowError:  # an integer with more than 308 digits: too large
            return math.inf
    if kind.endswith(WITH_ZONE):
        value, kind = value - EPOCH, "duration"
    if kind == "duration":
        return float(np.timedelta64(value, "us").astype(np.int64))
    return float(np.datetime64(value, "us").astype(np.int64)) if kind in TEMPORAL else float(value)


class Positions(dict[Any, int]):
    """The position of a value among levels, also if written differently (1, 1.0, "01"; True, "yes"; "Ex-wife", "ex wife").

    A value matches a level if it is the same text, otherwise the same number, otherwise (for two boolean levels) the
    same truth value, otherwise another spelling, and matches no other level. A value without a match is ``unseen``.

    Examples
    --------
    >>> place = Positions(["1", "2"], unseen=-2)
    >>> place["2"], place[2.0], place["02"], place["two"]
    (1, 1, 1, -2)
    >>> Positions(["no", "yes"], unseen=-2)[True]
    1
    """

    def __init__(self, levels: Sequence[object], unseen: int) -> None:
        super().__init__({level: k for k, level in enumerate(levels)})
        self.unseen = unseen
        keys: list[Callable[[object], Any]] = [_text, _number, spelling_key]
        truths = [_truth(level) for level in levels]
        if set(truths) == {True, False} and len(truths) == 2:
            keys.insert(2, _truth)
        self.levels_by = [(_once(map(key, levels)), key) for key in keys]

    def __missing__(self, value: object) -> int:
        found = (known.get(key(value)) for known, key in self.levels_by)
        self[value] = next((place for place in found if place is not None), self.unseen)
        return self[value]


def _once(keys: Iterable[Key | None]) -> dict[Key | None, int]:
    """Return positions of the keys that occur once."""
    listed = list(keys)
    counts = Counter(listed)
    return {key: k for k, key in enumerate(listed) if key is not None and counts[key] == 1}


def _text(value: object) -> str:
    return str(value).strip()


def _number(value: object) -> float | None:
    """Return a value as a number, with a decimal comma allowed; None for booleans and other values."""
    text = _text(value)
    try:
        number = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _truth(value: object) -> bool | None:
    number = _number(value)
    return number == 1 if number in (0, 1) else TRUTHS.get(_text(value).lower())


#: The serialized form of either kind of column.
ANY_COLUMN = rules(
    name=either(text(), count(least=0)), weight=number(POSITIVE), style=text("plain", "categorical", "ordered")
)


@dataclass(frozen=True)
class NumberColumn(Savable):
    """A column compared by differences: numbers, dates, durations, ranks of ordered levels.

    Encoded as ``(x - center) sqrt(weight) / scale``; the centre is the mean, so that a missing cell is 0. With ``log``, x
    is the logarithm of a number; numbers that are not positive count as extremely small.
    """

    name: Name
    kind: str  # number, date, datetime, duration or ordinal
    weight: float
    center: float
    scale: float
    levels: tuple[Cell, ...] = ()  # of an ordinal column, lowest first
    zone: str | None = None  # of a datetime column
    style: str = "plain"  # plain, categorical or ordered: the type of the levels
    size: Magnitude | None = None  # of numbers, if the fit was in memory
    log: bool = False
    SAVED = rules(
        ANY_COLUMN,
        kind=text("number", "boolean", "date", "datetime", "duration", "ordinal"),
        center=number(Range(-LARGEST, LARGEST)),
        scale=number(POSITIVE),
        levels=listed(plain, different=True),
        zone=maybe(text()),
        size=maybe(own(Magnitude)),
        log=flag,
    )

    @property
    def holds(self) -> ColumnKind:
        """What may be read into the column."""
        if self.kind == "ordinal":
            return "category" if "text" in map(kind_of, self.levels) else "number"
        kinds: dict[str, ColumnKind] = {"date": "date", "datetime": "date", "duration": "duration"}
        return kinds.get(self.kind, "number")

    def encode(self, cells: Cells) -> NDArray[np.float64]:
        """Return cells as coordinates (n,), NaN if missing."""
        kind = cells.kind
        if self.kind == "ordinal":
            numbers = ranks(cells, self.levels)
        else:
            self._check_kind(cells, kind)
            numbers = cells.numbers(kind)
        return self.coordinates(numbers)

    @property
    def unit(self) -> float:
        """The length of a step of 1 as a coordinate; 0 if it depends on the place."""
        return 0.0 if self.log else float(np.sqrt(self.weight) / self.scale)

    def coordinates(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values, ranks or moments as coordinates."""
        if self.log:
            logs = np.log(np.maximum(numbers, np.finfo(np.float64).tiny))
            numbers = np.maximum(logs, self.center - LOWEST * self.scale)
        coordinates: NDArray[np.float64] = (numbers - self.center) * (np.sqrt(self.weight) / self.scale)
        return coordinates

    def numbers(self, coordinates: NDArray[np.floating]) -> NDArray[np.float64]:
        """The inverse of ``coordinates``."""
        numbers: NDArray[np.float64] = np.asarray(coordinates, dtype=np.float64) * (self.scale / np.sqrt(self.weight))
        return np.exp(numbers + self.center) if self.log else numbers + self.center

    def converted(self, other: NumberColumn, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert coordinates of another table's column to this one."""
        if self.kind == "ordinal" and self.levels != other.levels:
            return self.encode(ArrayCells(self.name, np.array(other.decode(coordinates), dtype=object)))
        return self.coordinates(other.numbers(coordinates))

    def _check_kind(self, cells: Cells, kind: str) -> None:
        alike = kind == self.kind or {kind, self.kind} == {"date", "datetime"} or not any_observed(cells)
        if not alike:
            raise ValueError(f"{cells.label} must have the same type as in fit ({self.kind}); got {kind}. Convert it.")
        if self.kind in ("date", "datetime") and (self.zone is None) != (cells.zone() is None) and any_observed(cells):
            now, then = ("without", "with") if cells.zone() is None else ("with", "without")
            raise ValueError(
                f"{cells.label} must hold dates {then} a time zone, as in fit; got dates {now} one. "
                "Localise them, or convert all to UTC."
            )

    def decode(self, coordinates: NDArray[np.floating]) -> list[Cell]:
        """Return coordinates (k,) as values of the column."""
        numbers = self.numbers(coordinates)
        if self.kind == "number":
            return list(map(float, numbers))
        if self.kind == "ordinal":
            return [self.levels[int(i)] for i in np.clip(np.rint(numbers), 0, len(self.levels) - 1)]
        moments = [dt.timedelta(microseconds=round(float(v))) for v in numbers]
        if self.kind == "duration":
            return list(moments)
        if self.kind == "date":
            day = dt.timedelta(days=1)
            return [(EPOCH + round(m / day) * day).date() for m in moments]
        return [EPOCH + m if self.zone else (EPOCH + m).replace(tzinfo=None) for m in moments]


@dataclass(frozen=True)
class CategoryColumn(Savable):
    """A column compared by equality: a prototype has a distribution over its levels."""

    name: Name
    kind: str  # text, boolean or number: the kind of levels
    weight: float
    levels: tuple[Cell, ...]
    frequencies: tuple[float, ...]  # of the levels among the observed cells: used for missing cells of starts
    holds: ClassVar[ColumnKind] = "category"  # what may be read into the column
    style: str = "plain"  # plain, categorical or ordered: the type of the levels
    SAVED = rules(
        ANY_COLUMN,
        kind=text("text", "boolean", "number"),
        levels=listed(plain, least=1, different=True),
        frequencies=listed(number(UNIT)),
    )

    def encode(self, cells: Cells) -> NDArray[np.int64]:
        """Return the positions of cells among the levels (n,); MISSING and UNSEEN for others.

        Values of another kind are allowed if some of them match a level.
        """
        kind = cells.kind  # raises an error for values that are no cells
        places = codes(cells, self.levels)
        if (places == UNSEEN).any() and not (places >= 0).any() and category_kind(cells) != self.kind:
            raise ValueError(f"{cells.label} must have the same type as in fit ({self.kind}); got {kind}. Convert it.")
        return places

    def converted(self, other: CategoryColumn, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert shares (k, levels) of another table's column to this one.

        A category not seen there has no share; the share of one that no longer exists goes to the others.
        """
        place = Positions(self.levels, UNSEEN)
        own = np.zeros((len(shares), len(self.levels)))
        for level, share in zip(other.levels, shares.T, strict=True):
            if place[level] != UNSEEN:
                own[:, place[level]] += share
        total = own.sum(1, keepdims=True)
        return np.where(total > 0, own / np.where(total > 0, total, 1.0), np.asarray(self.frequencies))

    def decode(self, probabilities: NDArray[np.floating]) -> list[Cell]:
        """Return the mode of each distribution (k, levels)."""
        return [self.levels[i] for i in probabilities.argmax(1)]


def any_observed(cells: Cells) -> bool:
    """Whether any cell holds a value."""
    return any(v is not None for _, part in cells.chunks() for v in part)


def category_kind(cells: Cells) -> str:
    """Return the kind of a column's levels; dates are not categories."""
    kind = cells.kind
    if kind in TEMPORAL:
        raise ValueError(
            f"{cells.label} must hold text, numbers or booleans to be categorical; got {kind}. Turn the dates into "
            "text, or leave the column out of categorical_features."
        )
    if kind == "ordered":
        kind = "text"
    named = cells.declared()
    return kind_of(named[0]) if named else kind


def codes(cells: Cells, levels: Sequence[Cell]) -> NDArray[np.int64]:
    """Return positions of cells among ``levels``, however written."""
    position = Positions(levels, UNSEEN)
    position[None] = MISSING
    out = np.empty(len(cells), dtype=np.int64)
    for start, part in cells.chunks():
        out[start : start + len(part)] = [position[value] for value in part]
    return out


def rows_by_value(cells: Cells, wanted: NDArray[np.bool_]) -> list[tuple[Cell, list[int]]]:
    """Return the distinct values among the wanted cells with their rows, the most frequent first."""
    rows: dict[Cell, list[int]] = {}
    for start, part in cells.chunks():
        for row in np.flatnonzero(wanted[start : start + len(part)]).tolist():
            rows.setdefault(part[row], []).append(start + row)
    return sorted(rows.items(), key=lambda item: -len(item[1]))


def ranks(cells: Cells, levels: Sequence[Cell]) -> NDArray[np.float64]:
    """Return ranks of cells among ordered ``levels``, NaN if missing; raise an error for an unknown level."""
    places = codes(cells, levels)
    if (places == UNSEEN).any():
        row = int((places == UNSEEN).argmax())
        value = next(cells.chunks())[1][row] if row < ROWS else "..."
        raise ValueError(
            f"{cells.label} must hold one of its ordered levels {list(levels)!r}; got {value!r} in {place('row', row)}. "
            "Where it belongs among them is unknown: name every level in ordinal_features, or mark it as missing."
        )
    return np.where(places == MISSING, np.nan, places.astype(np.float64))


def distinct(cells: Cells, most: int) -> list[Cell]:
    """Return the values of a column, sorted or in its type's order; raise an error for too many."""
    seen: set[Cell] = set()
    for _, part in cells.chunks():
        seen.update(part)
    seen.discard(None)
    refuse_unwritable(seen, cells.label)
    if len(seen) > most:
        raise ValueError(
            f"{cells.label} must have at most {most} categories; got {len(seen)} in {len(cells)} rows. Leave it out if "
            "it is an identifier, put rare values together, or raise max_levels if each of them matters."
        )
    declared = cells.declared()
    values = [v for v in declared if v in seen] if declared else sorted(seen)
    return [plain_value(v) for v in values]


def refuse_unwritable(values: Iterable[Cell], where: str) -> None:
    """Raise an error for text with a lone surrogate, which no file or page can hold."""
    for value in values:
        if kind_of(value) == "text" and not is_writable(value):
            raise ValueError(
                f"{where} must hold valid text; got {value!r}, which has a lone surrogate (half a character). Read the "
                "file again with the right encoding, or replace it: text.encode(errors='replace').decode()."
            )
