"""The interface of spaces, which encode raw data as tensors; validation of numbers and dissimilarities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import LARGEST as LARGEST
from softecm._checks import plain_array
from softecm._text import place
from softecm._wording import option, worded
from softecm.files.expected import Misfit, Range
from softecm.files.values import Savable
from softecm.spaces.magnitudes import SizeChange

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


SQUARABLE = Range(-LARGEST, LARGEST)
_LARGEST = {torch.float64: LARGEST, torch.float32: 1e18}
# Squares of smaller differences lose digits, then vanish.
_SMALLEST = {torch.float64: 1e-140, torch.float32: 1e-15}


def refuse_range(low: float, high: float, dtype: torch.dtype = torch.float64, what: str = "X") -> None:
    """Raise ValueError if numbers from ``low`` to ``high`` are too large to be squared, or differ too little."""
    refuse_large(max(-low, high), dtype, what)
    if 0.0 < high - low < _SMALLEST[dtype]:
        raise ValueError(
            f"{what} must hold numbers that differ by {_SMALLEST[dtype]:g} at least; the largest difference is "
            f"{high - low:g}. Squares of smaller ones vanish: multiply by a constant first{_wider(dtype)}."
        )


def refuse_large(largest: float, dtype: torch.dtype = torch.float64, what: str = "X") -> None:
    """Raise ValueError if the square of the largest number overflows."""
    if largest > _LARGEST[dtype]:
        raise ValueError(
            f"{what} must hold numbers of at most {_LARGEST[dtype]:g} in size; got {largest:g}. "
            f"Squares of larger ones overflow: divide by a constant first{_wider(dtype)}."
        )


def _wider(dtype: torch.dtype) -> str:
    return "" if dtype == torch.float64 else f", or use {option('dtype', 'float64')}"


# Differences of D and its transpose below this share of the largest dissimilarity count as rounding errors.
ROUNDING = 1e-8
BLOCK_ROWS = 256


def refuse_not_square(d: NDArray[np.floating]) -> None:
    """Raise ValueError if a matrix of dissimilarities is not square."""
    if d.shape[0] != d.shape[1]:
        raise ValueError(
            f"X must be a square matrix of dissimilarities; got shape {d.shape}. Compute one with "
            "sklearn.metrics.pairwise_distances, or use SoftECM, which takes the objects themselves."
        )


def look_like_dissimilarities(rows: NDArray[np.floating], asymmetry: float = ROUNDING) -> bool:
    """Whether rows are a symmetric matrix with a diagonal of zeros; the asymmetry is a share of the largest number."""
    if rows.ndim != 2 or len(rows) < 3 or rows.shape[0] != rows.shape[1] or rows.dtype.kind not in "fiub":
        return False
    largest = float(rows.max())
    alike = not np.diagonal(rows).any() and rows.min() >= 0 < largest
    return bool(alike and np.abs(rows - rows.T).max() <= asymmetry * largest)


def refuse_dissimilarities(rows: object, use: str = "") -> None:
    """Raise ValueError if rows of numbers look like dissimilarities."""
    if isinstance(rows, np.ndarray) and look_like_dissimilarities(rows):
        own = f"{option('metric', 'precomputed')}, or {option('algorithm', 'RECM')}, ECMdd or EVCLUS"
        use = use or worded("SoftECM(metric='precomputed'), RECM, ECMdd or EVCLUS", own)
        raise ValueError(
            f"X must hold one object per row; got a symmetric {rows.shape} matrix with zeros on its diagonal, which "
            f"looks like dissimilarities. Use {use} for these; if columns really are attributes, standardise them first."
        )


def refuse_other_width(estimator: BaseEstimator, X: object) -> None:
    """Raise ValueError unless new objects have dissimilarities to all training objects."""
    shape, n = tuple(getattr(X, "shape", ())), estimator.n_features_in_
    if len(shape) == 2 and shape[1] != n:
        raise ValueError(
            f"X has {shape[1]} features, but {type(estimator).__name__} is expecting {n} features as input: the "
            f"dissimilarities of the new objects to the {n} training objects, in their order. Compute them with "
            "sklearn.metrics.pairwise_distances(X_new, X_train)."
        )


def refuse_not_finite(d: NDArray[np.floating]) -> None:
    """Raise ValueError for NaN and infinity, naming the cell."""
    if np.isfinite(d.sum()) and np.isfinite(d.max()):
        return
    bad = ~np.isfinite(d)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        what = "NaN" if np.isnan(d[i, j]) else "infinity"
        raise ValueError(
            f"Input X contains {what}: the dissimilarity of objects {i + 1} and {j + 1} (X[{i}, {j}]). Every pair "
            "needs a finite number: leave out objects that can't be compared, or fill in an estimate."
        )


def refuse_negative(d: NDArray[np.floating]) -> None:
    """Raise ValueError for a negative dissimilarity, or for values too large or too small to be squared."""
    if d.min() < 0:
        i, j = np.unravel_index(int(d.argmin()), d.shape)
        raise ValueError(
            f"X must not hold a negative dissimilarity; got {d[i, j]:g} for objects {i + 1} and {j + 1} (X[{i}, "
            f"{j}]). Turn similarities s into "
            "dissimilarities, such as max(s) - s, or subtract an object's dissimilarity to itself."
        )
    refuse_range(0.0, float(d.max()))


def symmetric(d: NDArray[np.floating], names: NDArray[np.object_] | None = None) -> NDArray[np.floating]:
    """Return the symmetric matrix, rounding errors averaged out; raises ValueError if the asymmetry is larger.

    ``names`` are those of the objects, for the message.
    """
    largest = float(d.max())
    diagonal = np.abs(np.diagonal(d))
    if diagonal.max() > ROUNDING * largest:
        i = int(diagonal.argmax())
        raise ValueError(
            f"X must be zero on its diagonal: an object does not differ from itself; got {diagonal[i]:g} for "
            f"{place('object', i)}. "
            "Turn similarities s into dissimilarities, such as max(s) - s, or subtract an object's dissimilarity to itself."
        )
    worst, where, exact = 0.0, (0, 0), not diagonal.any()
    for start in range(0, len(d), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        gap = np.abs(d[rows, start:] - d[start:, rows].T)
        if gap.max() > worst:
            row, column = np.unravel_index(int(gap.argmax()), gap.shape)
            worst, where = float(gap.max()), (start + int(row), start + int(column))
    if worst > ROUNDING * largest:
        i, j = where
        pair = f"{names[i]} to {names[j]}" if names is not None else f"object {i + 1} to {j + 1}"
        cell = worded(f" (X[{i}, {j}])")
        add = f"Add {option('symmetrize', 'mean')}, or max for the larger of the two."
        remedy = worded("Use (X + X.T) / 2, or the larger of the two.", add)
        raise ValueError(f"X must be symmetric; got {d[i, j]:g} from {pair}{cell} and {d[j, i]:g} back. {remedy}")
    if worst == 0.0 and exact:
        return d
    even = (d + d.T) / 2
    np.fill_diagonal(even, 0.0)
    return even


def check_indices(name: str, indices: object, n: int, count: int | None = None) -> NDArray[np.int64]:
    """Return distinct indices of training objects; ``count`` of them if given."""
    rows = plain_array(indices, name)
    whole = rows.ndim == 1 and len(rows) > 0 and rows.dtype.kind in "iuf" and bool((rows == np.round(rows)).all())
    right = whole and len(np.unique(rows)) == len(rows) and 0 <= rows.min() <= rows.max() < n
    if not right or (count is not None and len(rows) != count):
        many = "one a cluster" if count is None else f"{count} of them, one a cluster"
        raise ValueError(
            f"{name} must hold different numbers of objects, from 0 to {n - 1}, {many}; got {indices!r}. "
            "'k-means++' chooses objects far from each other."
        )
    return rows.astype(np.int64)


def check_enough(n_clusters: int, n: int) -> None:
    """Raise ValueError if there are fewer objects than clusters."""
    if n < n_clusters:
        raise ValueError(
            f"{option('n_clusters')} must be at most the number of objects; got {option('n_clusters', n_clusters)} for "
            f"n_samples={n}. Use fewer clusters or more objects."
        )


ColumnKind: TypeAlias = Literal["number", "category", "date", "duration"]


class Encoded(Protocol):
    """Objects as the distances take them: a tensor, or a small value that is indexed and moved like one.

    Code that only passes objects on takes this type; a space and its metrics know the concrete one.
    """

    def __len__(self) -> int: ...

    def to(self, device: torch.device, /) -> Self:
        """Return a copy on another device."""

    def cpu(self) -> Self:
        """Return a copy on the CPU."""

    def __getitem__(self, rows: slice | Tensor, /) -> Self: ...


class ByRow:
    """A frozen dataclass of tensors with one row per object, and of such dataclasses; indexed and moved by field."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    of_all: ClassVar[tuple[str, ...]] = ()  # fields without rows, which are moved but not indexed

    def __getitem__(self, rows: slice | Tensor) -> Self:
        return self._mapped(lambda part: part[rows], self.of_all)

    def to(self, device: torch.device) -> Self:
        """Return a copy on another device."""
        return self._mapped(lambda part: part.to(device))

    def cpu(self) -> Self:
        """Return a copy on the CPU."""
        return self.to(torch.device("cpu"))

    def _mapped(self, function: Callable[..., object], but: Sequence[str] = ()) -> Self:
        own = {name: getattr(self, name) for name, f in self.__dataclass_fields__.items() if f.init and name not in but}
        return replace(self, **{name: _mapped(function, part) for name, part in own.items()})


def _mapped(function: Callable[..., object], part: object) -> object:
    if isinstance(part, tuple):
        return tuple(_mapped(function, one) for one in part)
    if isinstance(part, dict):
        return {name: _mapped(function, one) for name, one in part.items()}
    return function(part) if hasattr(part, "to") else part


class Described(Protocol):
    """A summary of a block of objects for fitting; summaries of neighbouring blocks are merged."""

    def merge(self, other: Self, /) -> Self:
        """Return the merged summary."""


class Space(Savable, ABC):
    """The domain of objects: encodes raw data as tensors and decodes prototypes to readable values.

    A space is fitted once (it may learn columns, categories, scales) and then encodes any number of tables of the same
    kind. Prototypes are always one plain tensor ``(k, *shape)``.
    """

    dtype: torch.dtype = torch.float64  # of encoded objects, once fitted
    of_series: ClassVar[bool] = False  # whether objects are series, whichever of their features are compared
    noun: ClassVar[str] = "object"  # name for one object
    holds_series: ClassVar[bool] = False  # whether prototypes are series, too, rather than features of series
    step: float = 0.0  # contribution of an all-or-nothing attribute to a distance
    sparse: bool = False  # whether objects are sparse rows: prototypes are much wider, and those of sets stay implicit

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> Any:
        """Validate data and raise errors that say what to do; ``reset`` sets the estimator's ``n_features_in_``."""
        return X

    @property
    def kinds(self) -> Sequence[ColumnKind]:
        """The kind of each column of a table, so that new files are read alike; empty if objects are not rows."""
        return ()

    def weighted(self, weights: NDArray[np.float64] | None) -> Self:
        """Return the space with the objects' weights, before ``fit``; used by spaces that learn scales."""
        return self

    def fit(self, X: Any, *, dtype: torch.dtype) -> Self:
        """Learn what encoding ``X`` and later data of the same kind needs; returns the fitted space."""
        return self.fit_described(self.describe(X), dtype=dtype)

    def describe(self, X: Any) -> Described:
        """Return what ``fit`` needs to know of some objects, as a mergeable value; an alternative is to override ``fit``."""
        raise self._needs_all()

    def fit_described(self, description: Any, *, dtype: torch.dtype) -> Self:
        """Fit to the merged descriptions of all blocks."""
        raise self._needs_all()

    def _needs_all(self) -> TypeError:
        return TypeError(
            f"X must be in memory for a metric on {type(self).__name__}, which learns from all objects at once; got "
            "blocks. Use X.compute() if the data fit, or give the space describe and fit_described."
        )

    def named(self, names: Sequence[str]) -> Self:
        """Return the fitted space with names for its columns, if it stores them."""
        return self

    def size_changes(self, X: Any) -> Mapping[str, SizeChange | None]:
        """Return how the numbers of each column differ in size from those of the fit, if the space knows them."""
        return {}

    @abstractmethod
    def encode(self, X: Any) -> Any:
        """Encode validated data as an ``Encoded`` value on the CPU."""

    @abstractmethod
    def decode(self, prototypes: Tensor) -> Any:
        """Convert prototypes (k, *shape) to the form of the raw data."""

    @abstractmethod
    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Convert prototypes in the form of the raw data to a tensor (k, *shape); the inverse of ``decode``."""

    def carried(self, other: Space, prototypes: Tensor, like: Tensor) -> Tensor | None:
        """Convert prototypes (k, ...) of another space to this one, where ``like`` is a prototype; None if impossible."""
        alike = type(other) is type(self) and other.prototype_shape(prototypes) == self.prototype_shape(like)
        return self.encode_prototypes(other.decode(prototypes)) if alike else None

    @abstractmethod
    def starts(self, x: Any, rows: Tensor) -> Tensor:
        """Return prototypes (k, *shape) equal to the objects ``rows``."""

    def filled(self, x: Any, shares: Tensor, clusters: Tensor) -> Any:
        """Return objects with missing values imputed by means of clusters (c, *shape), weighted by ``shares`` (n, c)."""
        return x

    def numbers_of(self, x: Any, rows: Tensor) -> Tensor:
        """Return what is measured of the objects ``rows``, (k, q): their first q coordinates, NaN if missing."""
        return self.starts(x, rows).flatten(1)

    @property
    def number_names(self) -> Sequence[str]:
        """Names of the columns of ``numbers_of``; empty if there are none."""
        return ()

    def middle(self, x: Any, rows: Tensor) -> Tensor:
        """Return the mean (1, *shape) of prototypes equal to the objects ``rows``."""
        return self.starts(x, rows).mean(0)[None]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one prototype of the fitted space, if prototypes are points."""
        raise TypeError(f"prototypes of {type(self).__name__} can't be one view of several.")

    @property
    def visible(self) -> Space:
        """The space in which prototypes are shown: this one, or the main one of several views."""
        return self

    def visible_part(self, prototypes: Tensor) -> Tensor:
        """Return the part of prototypes (k, *shape) that lies in ``visible``."""
        return prototypes

    def coarser(self, x: Any) -> tuple[Space, Encoded] | None:
        """Return the objects with less detail, to compare initializations in a fraction of the time; None if not needed."""
        return None

    def single(self, x: Any) -> tuple[Space, Encoded] | None:
        """Return the objects in single precision; None if this loses differences between them, or they already are."""
        return None

    def finer(self, prototypes: Tensor, coarse: Space) -> Tensor:
        """Convert prototypes (..., *shape) of a coarser or single-precision space to this one."""
        raise TypeError(f"{type(self).__name__} has no coarser space")

    def check_kind(self, expected: Space) -> None:
        """Raise ``Misfit`` for a space from a file that its metric can't use; ``expected`` is the metric's own, unfitted."""
        if not isinstance(expected, type(self)) or type(expected) is not type(self):
            raise Misfit(f"a metric on {type(expected).__name__} does not measure in {type(self).__name__}")
        self.check_options(expected)

    def check_options(self, expected: Self) -> None:
        """Raise ``Misfit`` if a space read from a file has other options than its metric, or inconsistent parts."""

    def check_prototypes(self, prototypes: Tensor) -> None:
        """Raise ``Misfit`` for prototypes read from a file that don't belong to this space."""
        if self.prototype_shape(prototypes) != self.shape:
            raise Misfit(f"model_.prototypes should each have the shape {self.shape}")
        refuse_odd_numbers(prototypes)

    @property
    @abstractmethod
    def attributes(self) -> Sequence[str]:
        """Names for the last axis of ``explain``."""

    def prototype_shape(self, prototypes: Tensor) -> tuple[int, ...]:
        """Return the shape of one prototype, which identifies compatible spaces of this kind."""
        return tuple(prototypes.shape[1:])

    def keys(self, x: Any) -> NDArray[np.uint64]:
        """Return one number per object that depends on its content alone: the order in which seeding draws."""
        return content_keys(np.asarray(x.reshape(len(x), -1)))

    @classmethod
    @abstractmethod
    def samples(cls, generator: torch.Generator, n: int) -> Encoded:
        """Return random encoded objects for the contract tests."""


def refuse_odd_numbers(prototypes: Tensor) -> None:
    """Raise ``Misfit`` unless prototypes are floats that can be squared."""
    if not prototypes.is_floating_point() or prototypes.dtype == torch.float16:
        raise Misfit("model_.prototypes should hold floats")
    if not bool((prototypes.abs() <= LARGEST).all()):  # also False for NaN
        raise Misfit(f"model_.prototypes should hold finite numbers of at most {LARGEST:g} in size")


def content_keys(rows: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Hash each row (n, q) to a 64-bit number.

    Seeding visits objects in this order, so that draws depend neither on the order of rows nor on whether equal rows
    are repeated or have a weight.
    """
    keys = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for start in range(0, len(rows), 1 << 16):
        key = keys[start : start + (1 << 16)]
        block = np.ascontiguousarray(rows[start : start + (1 << 16)], dtype=np.float64)
        for column in (block + 0.0).view(np.uint64).T:  # + 0.0 makes -0.0 and 0.0 equal
            key ^= column
            key *= np.uint64(0xBF58476D1CE4E5B9)
            key ^= key >> np.uint64(29)
            key *= np.uint64(0x94D049BB133111EB)
            key ^= key >> np.uint64(32)
    return keys


def weighted_quantile(values: NDArray[np.float64], q: float, weights: NDArray[np.float64]) -> float:
    """Return the smallest value whose cumulative weight reaches ``q`` (inverted CDF): a weight of 2 counts as two rows."""
    order = np.argsort(values, kind="stable")
    steps = np.cumsum(weights[order])
    position = int(np.searchsorted(steps, q * steps[-1] * (1.0 - 1e-12)))
    return float(values[order[min(position, len(order) - 1)]])


def systematic(
    keys: NDArray[np.uint64], weights: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return a systematic sample of ``size`` objects, ordered by keys, and the weight of each.

    Objects are drawn at equal steps of the cumulative weight. Keys are pseudorandom, so the sample is random; they
    depend on content alone, so neither the order of rows nor repeated rows instead of weights change it.
    """
    order = np.argsort(keys, kind="stable")
    steps = np.cumsum(weights[order])
    places = (np.arange(size) + 0.5) / size * steps[-1]
    hit = np.minimum(np.searchsorted(steps, places, side="right"), len(order) - 1)
    rows, counts = np.unique(hit, return_counts=True)
    return order[rows], counts.astype(np.float64) * (float(steps[-1]) / size)
