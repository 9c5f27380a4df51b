"""Tables: numbers, ordered levels, categories, booleans and dates together, with missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_list, is_whole, make_frame
from softecm._text import column_label, place, slip, some_of
from softecm._warnings import UnseenCategoryWarning, warn
from softecm.files import expected as saved
from softecm.files.values import Savable, own
from softecm.spaces.base import ColumnKind, Space
from softecm.spaces.column_learning import LevelSummary, NumberSummary, TableSummary, learn_number, not_positive
from softecm.spaces.columns import (
    MISSING,
    UNSEEN,
    CategoryColumn,
    Cell,
    Cells,
    Name,
    NumberColumn,
    distinct,
    kind_of,
    plain_value,
    rows_by_value,
)
from softecm.spaces.encoded import EncodedTable, Layout
from softecm.spaces.magnitudes import SizeChange
from softecm.spaces.raw import RawTable, read_table

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

SHOWN_COLUMNS, SHOWN_VALUES, SHOWN_ROWS = 5, 10, 20  # of those with an unseen category
FEW_VALUES, FEWER_ROWS = 3, 3  # rows listed for each of more values

T = TypeVar("T")
Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
AnyColumn: TypeAlias = NumberColumn | CategoryColumn
ColumnChoice: TypeAlias = str | Iterable[Name] | None  # by name, by position, or a mask


@dataclass(frozen=True)
class TableOptions(Savable):
    """How columns are read; set by a metric on tables."""

    categorical_features: ColumnChoice = None
    ordinal_features: ColumnChoice | Mapping[Name, Sequence[Cell] | None] = None
    weights: Sequence[float] | Mapping[Name, float] | None = None
    scaling: str = "std"
    category_weight: float = 1.0
    max_levels: int = 10_000
    nominal: bool = False  # every column is categorical, including numbers
    log_features: ColumnChoice = None
    simplex: bool = False  # probabilities are encoded unscaled, not scaled for squared differences
    SAVED = saved.rules(
        scaling=saved.text("std", "range", "robust", "none"),
        category_weight=saved.number(saved.POSITIVE),
        max_levels=saved.count(),
        nominal=saved.flag,
        simplex=saved.flag,
    )


@dataclass(frozen=True)
class Table(Space):
    """Rows of a data frame or of a NumPy array with columns of different kinds, missing cells allowed."""

    options: TableOptions = field(default_factory=TableOptions)
    columns: tuple[AnyColumn, ...] = ()
    backend: str | None = None
    dtype: torch.dtype = field(default=torch.float64)
    sample_weight: NDArray[np.float64] | None = None  # only while fitting
    optional: tuple[str, ...] = ()  # names of columns that a future table may lack
    SAVED = saved.rules(
        columns=saved.listed(saved.either(own(NumberColumn), own(CategoryColumn)), size="p", least=1),
        options=own(TableOptions),
        backend=saved.maybe(saved.text()),
        dtype=saved.numeric_type,
        sample_weight=saved.maybe(saved.array("none")),
        optional=saved.listed(saved.text()),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", max((c.weight for c in self.categories), default=0.0))

    def check_options(self, expected: Self) -> None:
        """Check that columns are consistent and read as the metric requires."""
        if len({c.name for c in self.columns}) < len(self.columns):
            raise saved.Misfit("model_.space.columns holds a name twice")
        for c in self.categories:
            if len(c.frequencies) != len(c.levels):
                raise saved.Misfit(
                    f"model_.space.columns has {len(c.frequencies)} frequencies for {len(c.levels)} levels"
                )
        if any(c.kind == "ordinal" and not c.levels for c in self.numbers):
            raise saved.Misfit("model_.space.columns holds an ordinal column without levels")
        if expected.options.simplex != self.options.simplex:
            raise saved.Misfit("the metric reads categories in another way than model_.space")

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> RawTable:
        """Return a table with the columns of the fit, in order; ``reset`` uses it for the fit."""
        table = read_table(X)
        if reset:
            estimator.n_features_in_ = len(table.columns)
            names = table.names
            if all(isinstance(name, str) for name in names):
                estimator.feature_names_in_ = np.asarray(names, dtype=object)
            elif hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
            return table
        return self._match(table, type(estimator).__name__)

    def _match(self, table: RawTable, owner: str = "the table") -> RawTable:
        """Select the fit's columns of a table by name, or by position from an array."""
        names = [c.name for c in self.columns]
        if table.backend is None or self.backend is None:
            if len(table.columns) != len(names):
                raise ValueError(
                    f"X has {len(table.columns)} features, but {owner} is expecting {len(names)} features as input. "
                    "Pass the columns of the fit, in their order."
                )
            if self.backend is not None:
                warn(
                    f"X has no column names, but {owner} was fitted with them: columns are taken in the fit's order.",
                    UserWarning,
                )
            return replace(table, columns=tuple(replace(c, name=n) for n, c in zip(names, table.columns, strict=True)))
        there = {c.name: c for c in table.columns}
        relevant = [n for n in names if str(n) not in self.optional]
        absent = [n for n in relevant if n not in there]
        listed = f"{some_of([repr(n) for n in absent], 5)} {'is' if len(absent) == 1 else 'are'} missing"
        if 2 * len(absent) > len(relevant):
            raise ValueError(
                f"X must have at least half of the {len(relevant)} columns that count in the fit; {listed}."
            )
        if absent:
            warn(
                f"X does not have every column of the fit: {listed}, and rows are compared in the others.", UserWarning
            )
        return replace(table, columns=tuple(there[n] for n in names if n in there))

    def weighted(self, weights: NDArray[np.float64] | None) -> Table:
        """Return a space that weights rows for scales, means and frequencies."""
        return replace(self, sample_weight=weights)

    def fit(self, X: RawTable, *, dtype: torch.dtype) -> Table:
        """Learn kinds, scales, levels and the replacement of missing cells."""
        sample_weight = self.sample_weight
        kinds = column_kinds(X, self.options)
        weights = column_weights(X, self.options, kinds)
        logs = log_positions(X, self.options, kinds)
        columns: list[AnyColumn] = []
        for j, (cells, kind, weight) in enumerate(zip(X.columns, kinds, weights, strict=True)):
            if kind is None:
                levels = LevelSummary.of(cells, sample_weight, self.options.max_levels)
                columns.append(levels.column(weight, self.options.scaling, len(X)))
            else:
                scaling = self.options.scaling
                columns.append(learn_number(cells, weight, scaling, sample_weight, kind or None, j in logs))
        return replace(self, columns=tuple(columns), backend=X.backend, dtype=dtype, sample_weight=None)

    def describe(self, X: RawTable) -> TableSummary:
        """Return what determines each column's scale, levels and replacement of missing cells."""
        kinds = column_kinds(X, self.options)
        weights = column_weights(X, self.options, kinds)
        ordinal = chosen_columns(self.options.ordinal_features, X.names, "ordinal_features")
        logs = log_positions(X, self.options, kinds)
        columns: list[NumberSummary | LevelSummary] = []
        for j, (cells, kind) in enumerate(zip(X.columns, kinds, strict=True)):
            if kind is None:
                columns.append(LevelSummary.of(cells, self.sample_weight, self.options.max_levels))
            elif kind == () and j not in ordinal:
                columns.append(NumberSummary.of(cells, self.sample_weight, j in logs))
            else:
                order = kind if ordinal.get(j) is not None or cells.kind == "ordered" else ()
                columns.append(LevelSummary.of(cells, self.sample_weight, len(cells) * 1_000_000, order))
        return TableSummary(tuple(columns), tuple(weights), X.backend, len(X))

    def fit_described(self, description: TableSummary, *, dtype: torch.dtype) -> Table:
        """Learn scales, levels and frequencies from all blocks."""
        pairs = zip(description.columns, description.weights, strict=True)
        columns = tuple(c.column(weight, self.options.scaling, description.rows) for c, weight in pairs)
        return replace(self, columns=columns, backend=description.backend, dtype=dtype, sample_weight=None)

    @property
    def kinds(self) -> Sequence[ColumnKind]:
        """The kind of each column."""
        return [c.holds for c in self.columns]

    @property
    def shape(self) -> tuple[int, ...]:
        """One coordinate per number and category."""
        return (self.layout.width,)

    @property
    def numbers(self) -> list[NumberColumn]:
        """The columns compared by differences."""
        return [c for c in self.columns if isinstance(c, NumberColumn)]

    @property
    def categories(self) -> list[CategoryColumn]:
        """The columns compared by equality."""
        return [c for c in self.columns if isinstance(c, CategoryColumn)]

    @cached_property
    def layout(self) -> Layout:
        """The position of each column in a prototype."""
        numbers, categories = self.numbers, self.categories
        both: list[AnyColumn] = [*numbers, *categories]
        place = {c.name: i for i, c in enumerate(both)}
        weights, logs = tuple(c.weight for c in categories), {c.name for c in numbers if c.log}
        return Layout(
            tuple(c.weight for c in numbers),
            weights,
            tuple(len(c.levels) for c in categories),
            weights if self.options.simplex else tuple(float(np.sqrt(w / 2.0)) for w in weights),
            tuple(place[c.name] for c in self.columns),
            tuple(self.attributes),
            tuple(name for c, name in zip(self.columns, self.attributes, strict=True) if c.name in logs),
        )

    def size_changes(self, X: RawTable) -> Mapping[str, SizeChange | None]:
        """Of the columns of numbers that count."""
        cells = {c.name: c for c in X.columns if c.kind == "number" and str(c.name) not in self.optional}
        names = {c.name: name for c, name in zip(self.columns, self.attributes, strict=True)}
        known = [c for c in self.numbers if c.name in cells]
        return {names[c.name]: SizeChange.of(c.size, cells[c.name].numbers("number")) for c in known}

    def encode(self, X: RawTable) -> EncodedTable:
        """Scale numbers, encode categories, mark missing cells; warn about categories not seen in relevant columns."""
        table, unseen = self._encode(X)
        relevant = {name: marks for name, marks in unseen.items() if str(name) not in self.optional}
        if relevant:
            warn_unseen(X, relevant, {column.name: column.levels for column in self.categories})
        return table

    def _encode(self, X: RawTable) -> tuple[EncodedTable, dict[Name, NDArray[np.bool_]]]:
        """Return the encoded table, and its unseen categories by column."""
        n, layout = len(X), self.layout
        cells = {c.name: c for c in X.columns}
        number_type = np.float32 if self.dtype == torch.float32 else np.float64
        code_type = np.uint8 if max(layout.levels, default=0) + 2 <= 256 else np.int32
        numbers = np.empty((n, len(self.numbers)), dtype=number_type)
        codes = np.empty((n, len(self.categories)), dtype=code_type)
        gaps: dict[int, NDArray[np.bool_]] = {}  # by number, then category; only columns with missing cells
        unseen: dict[Name, NDArray[np.bool_]] = {}
        for j, column in enumerate(self.numbers):
            numbers[:, j] = column.encode(cells[column.name]) if column.name in cells else np.nan
            empty = np.isnan(numbers[:, j])
            if empty.any():
                gaps[j] = empty
                numbers[empty, j] = 0.0
        for j, category in enumerate(self.categories):
            places = category.encode(cells[category.name]) if category.name in cells else np.full(n, MISSING)
            empty = places == MISSING
            if (places == UNSEEN).any():
                unseen[category.name] = places == UNSEEN
            if empty.any():
                gaps[len(self.numbers) + j] = empty
            size = layout.levels[j]
            codes[:, j] = np.where(places >= 0, places, np.where(empty, size + 1, size))
        observed, scale = self._gaps(gaps, n, force=bool(unseen))
        table = EncodedTable(
            torch.from_numpy(numbers),
            torch.from_numpy(codes),
            None if observed is None else torch.from_numpy(observed),
            None if scale is None else torch.from_numpy(scale.astype(number_type)),
            layout,
        )
        return table, unseen

    def _gaps(
        self, gaps: dict[int, NDArray[np.bool_]], n: int, *, force: bool
    ) -> tuple[NDArray[np.bool_] | None, NDArray[np.float64] | None]:
        """Return which numbers are observed, and the factor for the rest: sum of weights over sum of observed weights."""
        if not gaps and not force:
            return None, None
        p = len(self.numbers)
        weights = np.array([*self.layout.number_weights, *self.layout.category_weights])
        observed = np.ones((n, p), dtype=bool)
        lost, cells = np.zeros(n), np.zeros(n, dtype=np.int64)
        for j, empty in gaps.items():
            lost[empty] += weights[j]
            cells[empty] += 1
            if j < p:
                observed[:, j] = ~empty
        if (cells == len(weights)).any():
            rows = np.flatnonzero(cells == len(weights))
            raise ValueError(
                f"X must have at least one value in every row; got {len(rows)} empty, the first is "
                f"{place('row', int(rows[0]))}. Remove such rows: they can't be compared with others."
            )
        return observed, weights.sum() / (weights.sum() - lost)

    def decode(self, prototypes: Tensor) -> Any:
        """Return prototypes in the user's columns and units; the mode of categories, the nearest ordered level."""
        values = self._values(prototypes)
        if self.backend is None:
            plain = all(c.kind == "number" for c in self.columns)
            return np.stack([np.array(v, dtype=np.float64 if plain else object) for v in values], 1)
        return frame_of(self.columns, values, self.backend)

    def _values(self, prototypes: Tensor) -> list[list[Cell]]:
        rows = prototypes.detach().double().cpu().numpy()
        values = {c.name: c.decode(coordinates) for c, coordinates in zip(self.numbers, rows.T, strict=False)}
        values |= {c.name: c.decode(shares) for c, shares in zip(self.categories, self.shares(rows), strict=True)}
        return [values[c.name] for c in self.columns]

    def shares(self, rows: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Return distributions (k, levels) of each categorical column."""
        p = len(self.numbers)
        for start, size, height in zip(self.layout.starts, self.layout.levels, self.layout.heights, strict=True):
            shares = rows[:, p + start : p + start + size] / height
            # The exact relaxation solves for clusters whose means over sets fit best: a share may be outside 0 and 1.
            shares = np.clip(shares, 0.0, None)
            yield shares / shares.sum(1, keepdims=True)

    def distributions(self, prototypes: Tensor) -> dict[Name, dict[Cell, NDArray[np.float64]]]:
        """Return the probability of each category of each categorical column in every prototype (k,)."""
        rows = prototypes.detach().double().cpu().numpy()
        pairs = zip(self.categories, self.shares(rows), strict=True)
        return {c.name: dict(zip(c.levels, shares.T, strict=True)) for c, shares in pairs}

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return prototypes from a table with the fit's columns; fill missing cells as in initial prototypes."""
        x, _ = self._encode(self._match(read_table(prototypes, name="init")))
        for j, category in enumerate(self.categories):
            strange = (x.codes[:, j].long() == len(category.levels)).nonzero()
            if len(strange):
                raise ValueError(
                    f"init must use categories of the fit; {column_label(category.name)} has another one in "
                    f"{place('row', int(strange[0]), 'init')}. Its categories are {list(category.levels)[:10]!r}."
                )
        return self.starts(x, torch.arange(len(x)))

    def _partners(self, other: Table) -> dict[Name, Name] | None:
        """Return the other table's name for each column, by position from arrays; None if it has other columns."""
        own, theirs = [c.name for c in self.columns], [c.name for c in other.columns]
        named = self.backend is not None and other.backend is not None
        if not set(own) <= set(theirs) if named else len(own) != len(theirs):
            return None
        partners = dict(zip(own, own if named else theirs, strict=True))
        numbers = {c.name for c in other.numbers} & set(partners.values())
        return partners if {partners[c.name] for c in self.numbers} == numbers else None

    def carried(self, other: Space, prototypes: Tensor, like: Tensor) -> Tensor | None:
        """Convert column by column to this table's scales and categories, if the columns agree."""
        if not isinstance(other, Table) or (partners := self._partners(other)) is None:
            return None
        rows = prototypes.detach().double().cpu().numpy()
        numbers = {c.name: (c, values) for c, values in zip(other.numbers, rows.T, strict=False)}
        shares = {c.name: (c, values) for c, values in zip(other.categories, other.shares(rows), strict=True)}
        parts = [c.converted(*numbers[partners[c.name]])[:, None] for c in self.numbers]
        for c, height in zip(self.categories, self.layout.heights, strict=True):
            parts.append(c.converted(*shares[partners[c.name]]) * height)
        return torch.from_numpy(np.concatenate(parts, 1)).to(self.dtype)

    def starts(self, x: EncodedTable, rows: Tensor) -> Tensor:
        """Return the chosen objects with missing cells filled by the column's mean or frequencies."""
        part = x[rows]
        device = part.numbers.device
        pieces = [part.numbers]  # a missing number is 0, its column's mean
        for j, (category, height) in enumerate(zip(self.categories, self.layout.heights, strict=True)):
            size = len(category.levels)
            choices = torch.zeros(size + 2, size, dtype=self.dtype, device=device)
            choices[:size] = torch.eye(size, dtype=self.dtype, device=device)
            choices[size:] = torch.tensor(category.frequencies, dtype=self.dtype, device=device)
            pieces.append(height * choices[part.codes[:, j].long()])
        return torch.cat(pieces, 1)

    def filled(self, x: EncodedTable, shares: Tensor, clusters: Tensor) -> EncodedTable:
        """Fill with expected numbers, and the most likely of expected categories."""
        if x.observed is None:
            return x
        expected = shares.to(clusters) @ clusters
        numbers = torch.where(x.observed, x.numbers, expected[:, : x.numbers.shape[1]].to(x.numbers))
        codes = x.codes.clone()
        for j, (start, size) in enumerate(zip(self.layout.starts, self.layout.levels, strict=True)):
            likely = expected[:, len(self.numbers) + start :][:, :size].argmax(1).to(codes)
            codes[:, j] = torch.where(codes[:, j] == size + 1, likely, codes[:, j])
        everything, alike = torch.ones_like(x.observed), torch.ones(len(x), dtype=numbers.dtype)
        return replace(x, numbers=numbers, codes=codes, observed=everything, scale=alike, known={})

    def numbers_of(self, x: EncodedTable, rows: Tensor) -> Tensor:
        """Return the numeric columns."""
        part = x[rows]
        if part.observed is None:
            return part.numbers
        return torch.where(part.observed, part.numbers, torch.nan)

    @property
    def number_names(self) -> Sequence[str]:
        """The names of the numeric columns."""
        return [str(c.name) for c in self.numbers]

    @property
    def attributes(self) -> Sequence[str]:
        """The names of the columns, in the user's order."""
        return [c.name if isinstance(c.name, str) else f"x{c.name}" for c in self.columns]

    def keys(self, x: EncodedTable) -> NDArray[np.uint64]:
        """Return hashes of the objects' content, including missing cells."""
        return x.keys()

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Return two numbers and two categories of three and two levels, as plain coordinates."""
        parts = [torch.randn((n, 2), generator=generator, dtype=torch.float64)]
        for levels in (3, 2):
            codes = torch.randint(levels, (n,), generator=generator)
            parts.append(torch.nn.functional.one_hot(codes, levels).double() * 0.5**0.5)
        return torch.cat(parts, 1)


def warn_unseen(X: RawTable, unseen: Mapping[Name, NDArray[np.bool_]], levels: Mapping[Name, Sequence[object]]) -> None:
    """Warn which objects have which category not seen in the fit, by column, and which category it resembles."""
    rows, cells = np.logical_or.reduce(list(unseen.values())), {c.name: c for c in X.columns}
    names = None if X.source is None else X.source.ids()
    parts, typo = [], ""
    for name, marks in list(unseen.items())[:SHOWN_COLUMNS]:
        values = rows_by_value(cells[name], marks)
        most = FEWER_ROWS if names is None or len(values) > FEW_VALUES else SHOWN_ROWS
        shown = []
        for value, where in values[:SHOWN_VALUES]:
            alike = next((repr(level)[:40] for level in levels[name] if slip(str(value), str(level))), "")
            typo = " If it is a typo, correct it in the data." if alike else typo
            looks = f" (looks like {alike})" if alike else ""
            few = [place("row", i) if names is None else names[i] for i in where[:most]]
            rest = f" and {len(where) - most} more" if len(where) > most else ""
            shown.append(f"{repr(value)[:40]}{looks} in {len(where)}: {', '.join(few)}{rest}")
        rest = "; …" if len(values) > SHOWN_VALUES else ""
        parts.append(f"{cells[name].label} in {int(marks.sum())} ({'; '.join(shown)}{rest})")
    more = len(unseen) - len(parts)
    parts += [f"{more} more columns"] if more > 0 else []
    n, k = len(rows), int(rows.sum())
    warn(
        f"{k} of {n} object{'s' if n > 1 else ''} {'has' if k == 1 else 'have'} a category that was not in the fit: "
        f"{'; '.join(parts)}. It counts as different from all known categories.{typo}",
        UnseenCategoryWarning,
    )


def positions(choice: ColumnChoice, names: Sequence[Name], parameter: str) -> list[int]:
    """Return positions of columns given by name, by position, or as a mask."""
    if choice is None:
        return []
    values = [choice] if isinstance(choice, str) else check_list(parameter, choice, "columns")
    if values and all(kind_of(v) == "boolean" for v in values):
        if len(values) != len(names):
            raise ValueError(
                f"{parameter} must have one mark per column, {len(names)}; got {len(values)}. Or list names."
            )
        return [j for j, v in enumerate(values) if v]
    out = []
    for value in values:
        value = plain_value(value)
        if value in names:
            out.append(list(names).index(value))
        elif is_whole(value) and 0 <= value < len(names):
            out.append(value)
        else:
            raise ValueError(
                f"{parameter} must list columns of the table; got {value!r}, which is none of "
                f"{', '.join(map(repr, list(names)[:10]))}{', ...' if len(names) > 10 else ''}."
            )
    return out


def log_positions(table: RawTable, options: TableOptions, kinds: Sequence[tuple[Cell, ...] | None]) -> list[int]:
    """Return positions of columns to compare by logarithms; raise an error for others than plain numbers."""
    found = positions(options.log_features, table.names, "log_features")
    for j in found:
        if kinds[j] != ():
            raise not_positive(table.columns[j])
    return found


def chosen_columns(
    choice: ColumnChoice | Mapping[Name, T | None], names: Sequence[Name], parameter: str
) -> dict[int, T | None]:
    """Return values for columns by their positions; None if columns are only listed."""
    if isinstance(choice, Mapping):
        return {positions([name], names, parameter)[0]: value for name, value in choice.items()}
    return dict.fromkeys(positions(choice, names, parameter))


def column_kinds(table: RawTable, options: TableOptions) -> list[tuple[Cell, ...] | None]:
    """Return for each column None if categorical, () if a number, its levels in order if ordinal."""
    names = table.names
    nominal = set(positions(options.categorical_features, names, "categorical_features"))
    ordinal = chosen_columns(options.ordinal_features, names, "ordinal_features")
    both = nominal & set(ordinal)
    if both:
        raise ValueError(
            f"a column must be categorical or ordinal, not both; got {names[min(both)]!r} in categorical_features and "
            "in ordinal_features. Remove it from one of them."
        )
    kinds: list[tuple[Cell, ...] | None] = []
    for j, cells in enumerate(table.columns):
        kind = cells.kind
        if j in ordinal:
            kinds.append(tuple(ordinal[j] or ()) or _natural_order(cells, kind))
        elif options.nominal or j in nominal or kind in ("text", "boolean"):
            kinds.append(None)
        else:
            kinds.append(_natural_order(cells, kind) if kind == "ordered" else ())
    return kinds


def _natural_order(cells: Cells, kind: str) -> tuple[Cell, ...]:
    """Return the levels of an ordinal column without a given order: in its type's, or numeric order."""
    if kind == "ordered":
        return cells.declared()
    if kind in ("number", "boolean"):
        return tuple(distinct(cells, len(cells)))
    raise ValueError(
        f"ordinal_features must give the order of {cells.label}, whose values are {kind} and have none of their own. "
        f"Write ordinal_features={{{cells.name!r}: [lowest, ..., highest]}}, or use an ordered categorical type."
    )


def column_weights(table: RawTable, options: TableOptions, kinds: Sequence[tuple[Cell, ...] | None]) -> list[float]:
    """Return the weight of each column: given, or 1 for a number and ``category_weight`` for a category."""
    names = table.names
    weights = [options.category_weight if kind is None else 1.0 for kind in kinds]
    custom = options.weights
    if isinstance(custom, Mapping):
        for name, value in custom.items():
            weights[positions([name], names, "weights")[0]] = value
    elif custom is not None:
        if len(custom) != len(names):
            raise ValueError(
                f"weights must have one number per column, {len(names)}; got {len(custom)}. Or give a dict of column names."
            )
        weights = list(custom)
    for name, value in zip(names, weights, strict=True):
        if kind_of(value) not in ("number", "boolean") or not np.isfinite(value) or not value > 0:
            raise ValueError(
                f"weights must be positive numbers; got {value!r} for {column_label(name)}. Leave a column out of "
                "the table to give it no weight."
            )
    return [float(w) for w in weights]


def frame_of(columns: Sequence[AnyColumn], values: Sequence[list[Cell]], backend: str) -> Any:
    """Return a frame of prototypes of the kind of the input."""
    kind: Backend = "polars" if backend == "polars" else "pyarrow" if backend == "pyarrow" else "pandas"
    cells: dict[Any, object] = {c.name: _series(c, cells, kind) for c, cells in zip(columns, values, strict=True)}
    return make_frame(cells, kind)


def _series(column: AnyColumn, values: list[Cell], backend: Backend) -> object:
    if column.style != "plain":
        return _categorical(column, values, backend)
    if column.kind == column.holds == "number":
        return np.array(values, dtype=np.float64)  # fast for thousands of columns
    kinds: dict[str, nw.dtypes.DType] = {"date": nw.Date(), "duration": nw.Duration("us"), "boolean": nw.Boolean()}
    kinds["datetime"] = nw.Datetime("us", getattr(column, "zone", None))
    dtype = kinds.get(column.kind)
    return nw.to_native(nw.new_series(str(column.name), values, dtype=dtype, backend=backend))


def _categorical(column: AnyColumn, values: list[Cell], backend: Backend) -> object:
    """Return a categorical series with all of the column's levels."""
    if backend == "pandas":
        import pandas as pd

        return pd.Categorical(values, categories=list(column.levels), ordered=column.style == "ordered")
    if backend == "polars":
        import polars as pl

        kind = pl.Enum(list(column.levels)) if column.style == "ordered" else pl.Categorical()
        return pl.Series(str(column.name), values, dtype=kind)
    import pyarrow as pa

    positions = pa.array([column.levels.index(v) for v in values], pa.int32())
    return pa.DictionaryArray.from_arrays(positions, pa.array(list(column.levels)), ordered=column.style == "ordered")
