"""Objects with several views: a table, series and an embedding of the same objects."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from torch import Tensor

from softecm._text import place
from softecm.files.expected import Misfit, array, count, listed, maybe, rules, text
from softecm.files.values import by_itself, own
from softecm.spaces.base import ByRow, Encoded, Space
from softecm.spaces.magnitudes import SizeChange
from softecm.spaces.raw import VIEWS_IN_BLOCKS, Frame, RawData, RawFrame, is_views, raw_data

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MIX = np.uint64(0x94D049BB133111EB)
SHOWN = 5  # names in a message


@cache
def view_class() -> type[BaseEstimator]:
    """Return a stand-in for the estimator while a view is checked; it stores scikit-learn's column attributes."""
    from sklearn.base import BaseEstimator

    return type("View", (BaseEstimator,), {})


@dataclass(frozen=True)
class CheckedViews:
    """The checked raw views of some objects; another object's data replace a missing view."""

    parts: tuple[Any, ...]
    present: NDArray[np.bool_]  # (n, views)
    checked: tuple[BaseEstimator, ...]

    def __len__(self) -> int:
        return len(self.present)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of objects and views."""
        return self.present.shape


@dataclass(frozen=True)
class ViewsDescribed:
    """What every view's space learns from some objects."""

    parts: tuple[Any, ...]
    n_features: tuple[int, ...]
    feature_names: tuple[tuple[str, ...], ...]

    def merge(self, other: ViewsDescribed) -> ViewsDescribed:
        """Merge two blocks."""
        return replace(self, parts=tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, eq=False)
class EncodedViews(ByRow):
    """Encoded objects, view by view; sliced into blocks like a tensor."""

    parts: tuple[Encoded, ...]
    present: Tensor | None  # (n, views) bool; None if every object has every view
    middles: tuple[Tensor, ...]  # (1, *shape) per view: the start of an object without it; empty if none is missing
    space: Views
    known: dict[Hashable, Tensor] = field(default_factory=dict)  # cached by metrics
    of_all = ("middles",)

    def __len__(self) -> int:
        return len(self.parts[0])

    def having(self, view: int) -> Tensor:
        """Return which objects (m,) have a view."""
        if self.present is None:
            return torch.arange(len(self))
        return self.present[:, view].nonzero()[:, 0]


@dataclass(frozen=True)
class Views(Space):
    """Objects described in several spaces at once; an object may lack some views, not all.

    Raw data are a dict from view names to their data, or a data frame: a view with the name of a column is that column,
    which may hold arrays, and the one view without a column has all the others. If all views are of series, one set of
    series may be given instead, which every view encodes in its own way. A prototype has the coordinates of all views
    in a row; with one view only, everything is as in that view's own space. If one view is ``shown``, the data are that
    view's alone, and so are decoded prototypes.
    """

    views: tuple[str, ...]
    spaces: tuple[Space, ...]
    n_features: tuple[int, ...] = ()
    feature_names: tuple[tuple[str, ...], ...] = ()
    sample_weight: NDArray[np.float64] | None = None  # only while fitting
    shown: str | None = None
    SAVED = rules(
        views=listed(text(), size="views", least=1, different=True),
        spaces=listed(by_itself(own(Space)), size="views"),
        n_features=listed(count(), size="views"),
        feature_names=listed(listed(text()), size="views"),
        sample_weight=maybe(array("none")),
        shown=maybe(text()),
    )

    def check_options(self, expected: Self) -> None:
        """Check each view."""
        if (expected.views, expected.shown) != (self.views, self.shown):
            raise Misfit("the metric and model_.space have different views")
        for part, wanted in zip(self.spaces, expected.spaces, strict=True):
            part.check_kind(wanted)

    def check_prototypes(self, prototypes: Tensor) -> None:
        """Check a point in every view."""
        super().check_prototypes(prototypes)
        for part, points in zip(self.spaces, self.split(prototypes), strict=True):
            part.check_prototypes(points)

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> CheckedViews:
        """Check every view by its own space; an object must have at least one."""
        if self.shown is not None:
            return self._check_shared(estimator, X, reset=reset)
        by_view = self.by_name(X)
        marks = {name: part.present(name) for name, part in by_view.items()}
        refuse_unequal({name: len(mark) for name, mark in marks.items()})
        refuse_other_order({name: part.value for name, part in by_view.items()})
        present = np.stack(list(marks.values()), 1)
        refuse_missing(present, self.views, fit=reset)
        parts, checked = [], []
        for j, (name, part) in enumerate(by_view.items()):
            stub = view_class()() if reset else self._stub(j)
            there = present[:, j]
            known = reset or there.any()
            parts.append(self._checked(stub, name, part.filled(there), self.spaces[j], reset=reset) if known else None)
            checked.append(stub)
        if reset:
            estimator.n_features_in_ = len(self.views)
            if hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
        return CheckedViews(tuple(parts), present, tuple(checked))

    def _check_shared(self, estimator: BaseEstimator, X: object, *, reset: bool) -> CheckedViews:
        """Check one set of objects shared by all views, by the shown view's space."""
        stub = view_class()() if reset else self._stub(self.views.index(str(self.shown)))
        rows = self.visible.check(stub, X, reset=reset)
        estimator.n_features_in_ = stub.n_features_in_
        if reset and hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        count = len(self.views)
        return CheckedViews((rows,) * count, np.ones((len(rows), count), dtype=bool), (stub,) * count)

    @staticmethod
    def _checked(stub: BaseEstimator, name: str, part: RawData, space: Space, *, reset: bool) -> object:
        if part.is_sparse:
            raise TypeError(
                f"view {name!r} must not be sparse; got a sparse matrix. If it fits in memory, use .toarray()."
            )
        try:
            return space.check(stub, part, reset=reset)
        except (TypeError, ValueError) as error:
            raise type(error)(f"view {name!r}: {error}") from error

    def _stub(self, j: int) -> BaseEstimator:
        stub = view_class()()
        stub.n_features_in_ = self.n_features[j]
        if self.feature_names[j]:
            stub.feature_names_in_ = np.array(self.feature_names[j], dtype=object)
        return stub

    def by_name(self, X: object) -> dict[str, RawData]:
        """Return the data of each view, in the metric's order."""
        raw = raw_data(X)
        if raw.views is not None:
            refuse_names(raw.views, self.views)
            return {name: raw.views[name] for name in self.views}
        if raw.frame is not None:
            return self._by_column(raw.frame)
        if all(space.of_series for space in self.spaces):
            return dict.fromkeys(self.views, raw)
        raise ValueError(
            f"X must be a dict from the views' names to their data, {', '.join(map(repr, self.views))}, or a data "
            f"frame; got {type(raw.value).__name__}."
        )

    def _by_column(self, frame: Frame) -> dict[str, RawData]:
        """Return views that are columns, and one that has all other columns."""
        rest = [name for name in self.views if name not in frame.columns]
        others = [column for column in frame.columns if column not in self.views]
        if len(rest) > 1 or (rest and not others):
            raise ValueError(
                f"a view must be a column of the data frame, and one may have all columns that are no view; got "
                f"{', '.join(map(repr, rest[:SHOWN]))}, none of {', '.join(map(repr, frame.columns[:SHOWN]))}. Pass a "
                "dict of views, or name them after their columns."
            )
        return {name: _selected(frame, others) if name in rest else of_column(frame, name) for name in self.views}

    def weighted(self, weights: NDArray[np.float64] | None) -> Views:
        """Return a space with object weights in every view."""
        return replace(self, sample_weight=weights)

    def fit(self, X: CheckedViews, *, dtype: torch.dtype) -> Views:
        """Fit each view's space to the objects that have it."""
        fitted = []
        for j, (space, part) in enumerate(zip(self.spaces, X.parts, strict=True)):
            there = X.present[:, j]
            weights = self.sample_weight
            if not there.all() and isinstance(part, list):
                part = [one for one, has in zip(part, there, strict=True) if has]
                weights = None if weights is None else weights[there]
            elif not there.all():  # replacements have no weight
                weights = there * (np.ones(len(X)) if weights is None else weights)
            fitted.append(space.weighted(weights).fit(part, dtype=dtype))
        names = tuple(tuple(map(str, getattr(view, "feature_names_in_", ()))) for view in X.checked)
        fitted = [space.named(own) for space, own in zip(fitted, names, strict=True)]
        counts = tuple(int(view.n_features_in_) for view in X.checked)
        return replace(self, spaces=tuple(fitted), n_features=counts, feature_names=names, sample_weight=None)

    def describe(self, X: CheckedViews) -> ViewsDescribed:
        """Return what each view learns from a block, in which no view may be missing."""
        if not X.present.all():
            raise ValueError(VIEWS_IN_BLOCKS)
        parts = zip(self.spaces, X.parts, strict=True)
        described = tuple(space.weighted(self.sample_weight).describe(part) for space, part in parts)
        names = tuple(tuple(map(str, getattr(view, "feature_names_in_", ()))) for view in X.checked)
        return ViewsDescribed(described, tuple(int(view.n_features_in_) for view in X.checked), names)

    def fit_described(self, description: ViewsDescribed, *, dtype: torch.dtype) -> Views:
        """Fit view by view."""
        parts = zip(self.spaces, description.parts, description.feature_names, strict=True)
        fitted = tuple(space.fit_described(part, dtype=dtype).named(names) for space, part, names in parts)
        counts, names = description.n_features, description.feature_names
        return replace(self, spaces=fitted, n_features=counts, feature_names=names, sample_weight=None)

    def size_changes(self, X: CheckedViews) -> Mapping[str, SizeChange | None]:
        """Of the views that every object has."""
        parts = [pair for pair, there in zip(zip(self.spaces, X.parts), X.present.T) if there.all()]
        return {name: change for space, part in parts for name, change in space.size_changes(part).items()}

    def encode(self, X: CheckedViews) -> Encoded:
        """Encode view by view; a single view by its own space."""
        parts: list[Encoded] = [
            space.encode(part) if part is not None else torch.zeros((len(X), *space.shape), dtype=space.dtype)
            for space, part in zip(self.spaces, X.parts, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        if X.present.all():
            return EncodedViews(tuple(parts), None, (), self)
        present = torch.from_numpy(X.present)
        trios = zip(self.spaces, parts, [mark.nonzero()[:, 0] for mark in present.T], strict=True)
        # New objects may all lack a view: its replacement is then never used.
        middles = tuple(
            space.middle(part, own) if len(own) else torch.zeros((1, *space.shape), dtype=space.dtype)
            for space, part, own in trios
        )
        return EncodedViews(tuple(parts), present, middles, self)

    @property
    def visible(self) -> Space:
        """The shown view's space, if there is one."""
        return self if self.shown is None else self.spaces[self.views.index(self.shown)]

    def visible_part(self, prototypes: Tensor) -> Tensor:
        """Return the coordinates of the shown view."""
        return prototypes if self.shown is None else self.split(prototypes)[self.views.index(self.shown)]

    def viewed(self, x: Any) -> EncodedViews:
        """Return objects view by view; prototypes (n, width) may stand for objects."""
        return EncodedViews(tuple(self.split(x)), None, (), self) if isinstance(x, Tensor) else x

    @property
    def alone(self) -> Space | None:
        """The only view's space; None for several views."""
        return self.spaces[0] if len(self.spaces) == 1 else None

    @property
    def shape(self) -> tuple[int, ...]:
        """All views' coordinates in a row."""
        return self.spaces[0].shape if self.alone is not None else (sum(self.widths),)

    @property
    def widths(self) -> list[int]:
        """Number of coordinates of a prototype in each view."""
        return [math.prod(space.shape) for space in self.spaces]

    def split(self, prototypes: Tensor) -> list[Tensor]:
        """Split prototypes (k, ...) into views, each (k, *shape)."""
        return split_views(prototypes, [space.shape for space in self.spaces])

    def decode(self, prototypes: Tensor) -> Any:
        """Return prototypes of each view by name, or of the shown view only."""
        if self.shown is not None:
            return self.visible.decode(self.visible_part(prototypes))
        parts = zip(self.views, self.spaces, self.split(prototypes), strict=True)
        return {name: space.decode(part) for name, space, part in parts}

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return prototypes from a dict of views, or from objects of the shown view, which all views share."""
        if self.shown is not None:
            encoded = [space.encode_prototypes(prototypes) for space in self.spaces]
            own = zip(self.spaces, encoded, strict=True)
            return joined([part if part.shape[1:] == space.shape else space.finer(part, space) for space, part in own])
        if not isinstance(prototypes, Mapping):
            raise ValueError(
                f"init must be a dict from the views' names to starting prototypes; got {type(prototypes).__name__}."
            )
        refuse_names(prototypes, self.views, "init")
        parts = [space.encode_prototypes(prototypes[name]) for name, space in zip(self.views, self.spaces, strict=True)]
        refuse_unequal({name: len(part) for name, part in zip(self.views, parts, strict=True)}, "init", "rows")
        return joined(parts)

    def carried(self, other: Space, prototypes: Tensor, like: Tensor) -> Tensor | None:
        """Convert view by view, if every view takes those of the view of the same name."""
        if not isinstance(other, Views) or (other.views, other.shown) != (self.views, self.shown):
            return None
        parts = zip(self.spaces, other.spaces, other.split(prototypes), self.split(like), strict=True)
        each = [own.carried(its, part, one) for own, its, part, one in parts]
        taken = [part for part in each if part is not None]
        return joined(taken) if len(taken) == len(each) else None

    def starts(self, x: Any, rows: Tensor) -> Tensor:
        """Return the chosen objects in every view; for a missing view, the middle of the objects that have it."""
        if self.alone is not None:
            return self.alone.starts(x, rows)
        x = self.viewed(x)
        pieces = []
        for j, (space, part) in enumerate(zip(self.spaces, x.parts, strict=True)):
            placed = space.starts(part, rows)
            if x.present is not None:
                there = x.present[rows.to(x.present.device), j].reshape(-1, *(1,) * (placed.ndim - 1))
                placed = torch.where(there, placed, x.middles[j])
            pieces.append(placed)
        return joined(pieces)

    def middle(self, x: object, rows: Tensor) -> Tensor:
        """Return the mean of the chosen objects."""
        return super().middle(x, rows) if self.alone is None else self.alone.middle(x, rows)

    def coarser(self, x: Any) -> tuple[Space, Encoded] | None:
        """Return every view with less detail if it supports it; None if no view does."""
        return self._each_as(x, [space.coarser(part) for space, part in self._pairs(x)], least=1)

    def single(self, x: Any) -> tuple[Space, Encoded] | None:
        """Return single precision if all views allow it."""
        return self._each_as(x, [space.single(part) for space, part in self._pairs(x)], least=len(self.views))

    def _pairs(self, x: Any) -> list[tuple[Space, Any]]:
        return list(zip(self.spaces, (x,) if self.alone is not None else self.viewed(x).parts, strict=True))

    def _each_as(
        self, x: Any, others: Sequence[tuple[Space, Encoded] | None], *, least: int
    ) -> tuple[Space, Encoded] | None:
        """Return the objects with some views in another encoding, if at least ``least`` views have one."""
        if sum(one is not None for one in others) < least:
            return None
        pairs = [pair if one is None else one for pair, one in zip(self._pairs(x), others, strict=True)]
        views = replace(self, spaces=tuple(space for space, _ in pairs))
        if self.alone is not None:
            return views, pairs[0][1]
        if self.viewed(x).present is not None:  # replacements of missing views have the old form
            return None
        return views, EncodedViews(tuple(part for _, part in pairs), None, (), views)

    def finer(self, prototypes: Tensor, coarse: Space) -> Tensor:
        """Convert view by view."""
        assert isinstance(coarse, Views)
        if self.alone is not None:
            return self.alone.finer(prototypes, coarse.spaces[0])
        parts = zip(self.spaces, coarse.spaces, coarse.split(prototypes), strict=True)
        return joined([_finer(own, its, part) for own, its, part in parts])

    @property
    def attributes(self) -> Sequence[str]:
        """The views."""
        return self.views if self.alone is None else self.alone.attributes

    def keys(self, x: Any) -> NDArray[np.uint64]:
        """Return mixed hashes of an object's views."""
        if self.alone is not None:
            return self.alone.keys(x)
        x = self.viewed(x)
        keys = np.zeros(len(x), dtype=np.uint64)
        for j, (space, part) in enumerate(zip(self.spaces, x.parts, strict=True)):
            own = space.keys(part)
            if x.present is not None:
                own = np.where(x.present[:, j].cpu().numpy(), own, np.uint64(j))
            keys = (keys ^ own) * MIX
            keys ^= keys >> np.uint64(29)
        return keys

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> NoReturn:
        """Raise an error: views need their spaces."""
        raise TypeError("a space of several views has no objects of its own: give some, encoded, and their prototypes")


def n_objects(X: Any) -> int:
    """Return the number of objects in data of any kind, including several views."""
    if is_views(X):
        return max(map(n_objects, X.values()), default=0)
    if not isinstance(X, Sized) or isinstance(X, Set) or getattr(X, "ndim", 1) == 0:
        raw_data(X).refuse_no_table()
    return int(X.shape[0]) if issparse(X) else len(X)


def split_views(rows: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """Split coordinates (k, ...) into views, each (k, *shape); a single view is unchanged."""
    if len(shapes) == 1:
        return [rows]
    parts: Sequence[Tensor] = torch.split(rows, [math.prod(shape) for shape in shapes], -1)
    return [part.reshape(*rows.shape[:-1], *shape) for part, shape in zip(parts, shapes, strict=True)]


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate coordinates of views (k, *shape) in a row (k, width); a single view is unchanged."""
    return parts[0] if len(parts) == 1 else torch.cat([part.flatten(1) for part in parts], 1)


def _finer(space: Space, coarse: Space, part: Tensor) -> Tensor:
    """Return prototypes of one view; unchanged if the view has no coarser form."""
    same = part.shape[1:] == space.shape and part.dtype == space.dtype
    return part if same else space.finer(part, coarse)


def of_column(frame: Frame, name: str) -> RawData:
    """Return a column of a data frame as a view: its arrays, or a table of one column."""
    values = frame[name].to_list()
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        return raw_data(values)
    return _selected(frame, [name])


def _selected(frame: Frame, names: Sequence[str]) -> RawData:
    part = frame.select(names)
    return RawFrame(part.to_native(), part)


def refuse_names(parts: Mapping[Any, object], views: Sequence[str], what: str = "X") -> None:
    """Raise an error for missing or unknown views."""
    absent = [name for name in views if name not in parts]
    strange = [name for name in parts if name not in views]
    if absent:
        raise ValueError(
            f"{what} must have every view of the metric, {', '.join(map(repr, views))}; {absent[0]!r} is missing. "
            "If single objects lack a view, put None in their place."
        )
    if strange:
        raise ValueError(
            f"{what} must have the views of the metric, {', '.join(map(repr, views))}; got {strange[0]!r}, which is "
            "none of them. Leave it out, or give the metric one for it."
        )


def refuse_unequal(sizes: Mapping[str, int], what: str = "X", of: str = "objects") -> None:
    """Raise an error for views with different numbers of objects."""
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name!r} has {size}" for name, size in sizes.items())
        raise ValueError(
            f"the views of {what} must have the same {of}, in the same order; {listed}. If single objects lack a view, "
            "put None in their place."
        )


def refuse_missing(present: NDArray[np.bool_], views: Sequence[str], *, fit: bool) -> None:
    """Raise an error for objects without any view, and in a fit for a view without objects."""
    nobody = ~present.any(0)
    if fit and len(present) and nobody.any():
        raise ValueError(
            f"every view must have data for some objects; {views[int(nobody.argmax())]!r} is missing for all. Leave it out."
        )
    nothing = ~present.any(1)
    if nothing.any():
        raise ValueError(
            f"every object must have at least one view; {place('object', int(nothing.argmax()))} has none, and "
            f"{int(nothing.sum())} in all. Remove such objects: they can't be compared with others."
        )


def refuse_other_order(parts: Mapping[str, Any]) -> None:
    """Raise an error if views' data frames have the same labels in another order: rows are matched by position."""
    known: dict[str, list[Any]] = {}
    for name, part in parts.items():
        index = getattr(part, "index", None)
        if index is None or callable(index):
            continue
        labels = list(index)
        for other, before in known.items():
            if labels != before and len(labels) == len(before) and set(labels) == set(before):
                at = next(i for i, (a, b) in enumerate(zip(before, labels, strict=True)) if a != b)
                raise ValueError(
                    f"X must have its objects in the same order in every view; {place('row', at, 'its index')} is "
                    f"{before[at]!r} in {other!r} and {labels[at]!r} in {name!r}. Put them in one order, such as "
                    f"X[{name!r}].loc[X[{other!r}].index]; if rows go together as they stand, use reset_index(drop=True)."
                )
        known[name] = labels
