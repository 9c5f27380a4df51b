"""The columns of a table, and of sparse rows: cells of the drawn objects and of the sets' prototypes."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from softecm._checks import check_list, frame_of, is_number
from softecm._precision import Precision, moment, spaced, with_unit
from softecm.belief import CredalPartition
from softecm.report.inputs import Comparing, Data, FloatArray, IntArray, views_of
from softecm.spaces.raw import read_table
from softecm.spaces.tables import Table
from softecm.spaces.views import Views

if TYPE_CHECKING:
    from softecm.fit.settings import PrototypeModel

EPOCH, DAY = np.datetime64(0, "us"), 86_400e6  # in microseconds
MOST_COLUMNS = 60  # of a view: larger ones, such as embeddings, are not shown column by column
MOST_TERMS = 30


@dataclass(frozen=True)
class Attribute:
    """A column of the table, for the drawn objects."""

    name: str
    kind: Literal["number", "date", "category"]
    values: Sequence[object] | NDArray[np.generic]  # numbers (NaN: missing), moments (NaT), or words (None)
    precision: Precision | None = None  # precision of its numbers or dates; None for words
    unit: str = ""  # of its numbers

    def shown(self, value: object, *, between: bool = False) -> str:
        """Return a readable cell, or with ``between`` a prototype's, which is between cells."""
        if missing(value):
            return "missing"
        if self.precision is None or isinstance(value, str):
            return f"{value:.4g}" if isinstance(value, float) else str(value)
        text = spaced(self.precision.mean(value) if between else self.precision.cell(value))
        return with_unit(text, self.unit)

    def words(self) -> list[str | None]:
        """Return all cells as text, None if missing."""
        return [None if missing(value) else self.shown(value) for value in self.values]

    def at(self, coordinate: float) -> str:
        """Return the text of a cell with this number."""
        if self.precision is not None and self.kind == "date":
            return self.shown(EPOCH + np.timedelta64(round(coordinate * DAY), "us"))
        return self.shown(coordinate)

    def coordinates(self) -> FloatArray | None:
        """Return its cells as numbers, NaN if missing; None for words."""
        if self.kind == "category":
            return None
        if self.kind == "number":
            return np.asarray(self.values, dtype=np.float64)
        moments = np.asarray(self.values, dtype="M8[us]")
        return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / DAY)

    def coordinate(self, value: object) -> float:
        """Return a cell, or a prototype's, as a number: of a date its days; NaN if there is none."""
        if missing(value) or isinstance(value, str):
            return math.nan
        if self.kind == "date":
            return float(moment(value).astype(np.int64) / DAY)
        return float(value)  # type: ignore[arg-type]

    @property
    def known(self) -> bool:
        """Whether any cell has a value."""
        cells = self.coordinates()
        return any(value is not None for value in self.values) if cells is None else bool(np.isfinite(cells).any())


def missing(value: object) -> bool:
    """Whether a cell is missing: None, NaN, NaT, or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or value != value


@dataclass(frozen=True)
class TableColumns:
    """The columns of some objects, and the sets' prototypes in the same columns."""

    keys: tuple[str, ...]  # the model's names
    attributes: tuple[Attribute, ...]
    prototypes: tuple[tuple[object, ...], ...]  # one row per set
    shares: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)  # of categories in sets, by key

    def name(self, key: str) -> str:
        """Return a column's name on the page."""
        return self.attributes[self.keys.index(key)].name if key in self.keys else key

    def value(self, key: str, i: int) -> str:
        """Return a cell of an object as text; empty if the objects lack the column."""
        if key not in self.keys:
            return ""
        attribute = self.attributes[self.keys.index(key)]
        return attribute.shown(attribute.values[i])

    def at_prototype(self, key: str, s: int, i: int | None = None) -> str:
        """Return a cell of a set's prototype; for categories with shares, object i's own and its share in the set."""
        if key not in self.keys:
            return ""
        j = self.keys.index(key)
        own = None if i is None else self.attributes[j].values[i]
        word = _word(self.prototypes[s][j] if missing(own) else own)
        if word in self.shares.get(key, {}):
            return f"{word} {self.shares[key][word][s]:.0%}"
        return self.attributes[j].shown(self.prototypes[s][j], between=True)

    @property
    def is_plane(self) -> bool:
        """Whether there are two complete numeric columns, which are then the map."""
        return len(self.keys) == 2 and all(
            a.kind == "number" and np.isfinite(np.asarray(a.values, dtype=np.float64)).all() for a in self.attributes
        )


def columns_of(
    model: Comparing, some: Data, names: Sequence[str] | None, units: Mapping[str, str] | None = None
) -> TableColumns | None:
    """Return the columns of a table; None for objects of another kind. ``units`` are those of columns that have one."""
    if (views := views_of(model)) is not None:
        return _columns_of_views(model, views, some, units)
    table = _columns_of_table(model, some, names, units)
    return None if table is None else replace(table, shares=_category_shares(model))


def _columns_of_table(
    model: Comparing, some: Data, names: Sequence[str] | None, units: Mapping[str, str] | None
) -> TableColumns | None:
    known = [str(name) for name in model.model_.space.attributes]
    try:
        table = read_table(some)
    except (ValueError, TypeError):
        return None
    own = [str(c.name) for c in table.columns]
    # The model may know columns by their places alone, as of an array or a frame whose names are numbers.
    named = len(known) != len(own) or (table.backend is not None and not set(own).isdisjoint(known))
    keys = own if named else known
    shown = _shown_names(keys if table.backend is None else own, names)
    words = {str(c.name) for c in getattr(model.model_.space, "categories", ())} if named else _places(model)
    cells = zip(keys, shown, table.columns, strict=True)
    attributes = [
        replace(_attribute(name, column.values, words=key in words), unit=(units or {}).get(key, ""))
        for key, name, column in cells
    ]
    return TableColumns(tuple(keys), tuple(attributes), prototype_cells(model, keys))


def _category_shares(model: Comparing) -> dict[str, dict[str, FloatArray]]:
    """Return the share of each category in each set, by column; empty if prototypes have none."""
    space = model.model_.space
    if not isinstance(space, Table):
        return {}
    columns = dict(zip([c.name for c in space.columns], space.attributes, strict=True))
    shares = space.distributions(model.model_.whole())
    return {columns[name]: {_word(word): own for word, own in one.items()} for name, one in shares.items()}


@dataclass(frozen=True)
class _OneView:
    """One view of a model, as a separate model."""

    model_: PrototypeModel
    prototypes_: Data
    partition_: CredalPartition


def _columns_of_views(model: Comparing, space: Views, some: Data, units: Mapping[str, str] | None) -> TableColumns:
    """Return the columns of all views that are tables, one view after another; in a data frame they are its own."""
    keys: list[str] = []
    attributes: list[Attribute] = []
    cells: list[list[object]] = [[] for _ in range(len(model.model_.focal))]
    views = space.by_name(some)
    for name, own, named in zip(space.views, space.spaces, keys_of_views(space), strict=True):
        if not named:
            continue
        view = _OneView(replace(model.model_, space=own), model.prototypes_[name], model.partition_)
        part = _columns_of_table(view, views[name].value, None, units)  # type: ignore[arg-type]
        if part is None:
            continue
        keys += [named.get(key, f"{name}: {key}") for key in part.keys]
        attributes += part.attributes
        cells = [[*row, *more] for row, more in zip(cells, part.prototypes, strict=True)]
    shown = [replace(one, name=key) for one, key in zip(attributes, keys, strict=True)]
    return TableColumns(tuple(keys), tuple(shown), tuple(map(tuple, cells)))


def keys_of_views(space: Views) -> list[dict[str, str]]:
    """Return the names of each view's columns among those of all; none for series and wide embeddings."""
    taken: set[str] = set()
    keys = []
    for view, own, names in zip(space.views, space.spaces, space.feature_names, strict=True):
        columns = [str(name) for name in own.attributes] if own.kinds else []
        unique = {name: bool(names) and name not in taken for name in columns[: MOST_COLUMNS + 1]}
        named = {name: name if unique[name] else f"{view}: {name}" for name in unique}
        keys.append(named if len(named) <= MOST_COLUMNS else {})
        taken |= set(keys[-1].values())
    return keys


def unknown_columns(model: Comparing, names: Sequence[str] | None, count: int) -> TableColumns:
    """Return the columns of a model without its objects, every cell missing; none for several views."""
    if views_of(model) is not None:
        return TableColumns((), (), ((),) * len(model.model_.focal))
    keys = [str(name) for name in model.model_.space.attributes]
    rows = prototype_cells(model, keys)
    shown = _shown_names(keys, names)
    attributes = tuple(_gone(name, [row[j] for row in rows], count) for j, name in enumerate(shown))
    return TableColumns(tuple(keys), attributes, rows)


def _gone(name: str, prototypes: Sequence[object], count: int) -> Attribute:
    """Return a column without cells, in the format of its prototypes."""
    if all(map(is_number, prototypes)):
        return Attribute(name, "number", [np.nan] * count)
    if all(isinstance(value, dt.date) for value in prototypes):
        return Attribute(name, "date", [None] * count, Precision(moment=len("2024-12-31")))
    return Attribute(name, "category", [None] * count)


def _shown_names(keys: list[str], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return keys
    shown = [str(name) for name in check_list("feature_names", names, "names")]
    if len(shown) != len(keys):
        raise ValueError(f"feature_names must have one name per column, {len(keys)}; got {len(shown)}.")
    return shown


def _places(model: Comparing) -> set[str]:
    """Return the categorical columns of an array, by the model's names."""
    space = model.model_.space
    return {
        name
        for name, column in zip(space.attributes, getattr(space, "columns", ()), strict=False)
        if column in getattr(space, "categories", ())
    }


def _attribute(name: str, values: nw.Series[Any] | NDArray[np.generic], *, words: bool) -> Attribute:
    """Return a column: a narwhals series or an array."""
    if isinstance(values, nw.Series):
        number, listed = values.dtype.is_numeric(), values.to_list()
    else:
        number, listed = values.dtype.kind in "iuf", values.tolist()
    if number and not words:
        numbers = np.array([np.nan if v is None else v for v in listed], dtype=np.float64)
        return Attribute(name, "number", numbers, Precision.of(numbers))
    if any(isinstance(v, dt.date) for v in listed):
        moments = np.array([np.datetime64("NaT") if missing(v) else moment(v) for v in listed], dtype="M8[us]")
        return Attribute(name, "date", moments, Precision.of(moments))
    return Attribute(name, "category", [None if missing(v) else _word(v) for v in listed])


def _word(value: object) -> str:
    """Return a category as text, without the .0 of integer codes in a column with missing cells."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def prototype_cells(model: Comparing, keys: Sequence[str]) -> tuple[tuple[object, ...], ...]:
    """Return cells of the sets' prototypes, in the order of the columns; empty for columns without any."""
    frame = frame_of(model.prototypes_)
    if frame is not None:
        columns = {str(c.name): c.to_list() for c in frame.iter_columns()}
    else:
        array: NDArray[np.generic] = np.asarray(model.prototypes_)
        array = array if array.dtype == object else array.astype(np.float64)
        columns = {str(name): array[:, j].tolist() for j, name in enumerate(model.model_.space.attributes)}
    count = len(model.partition_.focal_sets) if not columns else len(next(iter(columns.values())))
    return tuple(tuple(columns[key][i] if key in columns else "" for key in keys) for i in range(count))


def distinguishing_terms(centers: FloatArray, most: int = MOST_TERMS) -> IntArray:
    """Return the columns in which the clusters' prototypes (c, p) differ most, at least one per cluster."""
    deviations = centers - centers.mean(0)
    each = max(1, most // len(centers))
    own = [np.argsort(-row, kind="stable")[:each] for row in deviations]
    order = np.argsort(-np.square(deviations).sum(0), kind="stable")
    return np.array(list(dict.fromkeys(np.concatenate([*own, order]).tolist()))[:most], dtype=np.intp)


def thin_columns(model: Comparing, some: Data, names: Sequence[str] | None) -> TableColumns:
    """Return the distinguishing columns of some sparse rows, and of all sets' prototypes."""
    fitted = model.model_
    prototypes = fitted.prototypes.double().numpy()
    terms = distinguishing_terms(prototypes[: fitted.focal.n_clusters])
    known = [str(name) for name in (fitted.space.attributes if names is None else names)]
    keys = tuple(known[j] for j in terms)
    cells = some[:, terms].toarray()
    precision = Precision.of(cells.ravel())  # one for all: words have common units
    attributes = tuple(Attribute(key, "number", cells[:, j], precision) for j, key in enumerate(keys))
    rows = prototypes[:, terms]
    if len(rows) < len(fitted.focal):
        rows = fitted.focal.shares @ rows
    return TableColumns(keys, attributes, tuple(tuple(row) for row in rows.tolist()))
