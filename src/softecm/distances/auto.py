"""Choose a metric for data given without one, with the reason; check metrics that users define."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._text import meant, place
from softecm._warnings import ReadingWarning, warn
from softecm._wording import option
from softecm.distances.base import SemiMetric, check_kind
from softecm.distances.mixed import Mixed
from softecm.distances.series_auto import Candidate, choose_series
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.spaces.base import Space
from softecm.spaces.column_roles import (
    DIFFERENT,
    FREE,
    Stretched,
    are_texts,
    emptied,
    left_out,
    only_texts,
    reasons_against,
    stretched,
    stretched_message,
)
from softecm.spaces.columns import Name
from softecm.spaces.magnitudes import Code, codes_in
from softecm.spaces.raw import Kind, RawData, raw_data, refuse_columns
from softecm.spaces.tables import positions

logger = logging.getLogger("softecm")

DIFFERENT_UNITS = 5.0  # ratio of two columns' ranges above which their units differ
MOST_CHANNELS = 32  # aeon puts channels before steps: few channels, many more steps
STEPS_A_CHANNEL = 4
SHOWN = 3  # columns listed in a warning

SERIES = "series are compared by shape with soft-DTW"
CATEGORIES = "numbers are scaled, categories count when they differ"
GAPS = "missing values are skipped, numbers are scaled"
UNITS = "the columns are in different units, so each is scaled"
ALIKE = "the columns are in comparable units and used unscaled"
VIEWS = "all views count alike"
SPARSE = "sparse rows are used unscaled"
REQUESTED = "as specified"

#: Values of ``metric=`` that choose a metric from the data; the second is for series only and does the same.
AUTO, SERIES_AUTO = "auto", "series-auto"


@dataclass(frozen=True)
class MetricChoice:
    """A metric, the reason for it, and the columns of a data frame that are excluded, each with its reason."""

    metric: Any  # a name, or what the user passed
    reason: str
    left_out: Mapping[str, str] = field(default_factory=dict)
    requested: str = AUTO
    tried: tuple[Candidate, ...] = ()  # candidates that were compared, best first

    @property
    def name(self) -> str:
        """The name of the metric."""
        return str(getattr(self.metric, "name", self.metric))

    def tell(self) -> MetricChoice:
        """Log the choice."""
        if not logger.isEnabledFor(logging.INFO):
            return self
        logger.info('metric="%s": %s (%s)', self.requested, self.name, self.reason)
        for name, reason in self.left_out.items():
            logger.info("column %r is left out (%s)", name, reason)
        return self


@dataclass(frozen=True)
class Look:
    """What the choice depends on; mergeable over blocks of rows."""

    kind: Kind
    gaps: bool = False
    low: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    high: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @staticmethod
    def of(X: object) -> Look:
        """Summarize objects in memory."""
        raw = raw_data(X)
        kind = raw.kind
        columns = raw.numbers() if kind == "numbers" else None
        if columns is None:
            return Look(kind)
        low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
        for j, column in enumerate(columns.values()):
            if len(column):
                low[j], high[j] = column.min(), column.max()  # NaN propagates
        return Look(kind, bool(np.isnan(low).any()), low, high)

    def merge(self, other: Look) -> Look:
        """Merge two blocks; different columns are reported elsewhere."""
        if self.low.shape != other.low.shape:
            return self
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Look(self.kind, self.gaps or other.gaps, low, high)

    def choice(self) -> MetricChoice:
        """Return the metric and the reason."""
        if self.kind == "series":
            return MetricChoice("softdtw", SERIES)
        if self.kind == "categories":
            return MetricChoice("mixed", CATEGORIES)
        if self.gaps:
            return MetricChoice("mixed", GAPS)
        with np.errstate(over="ignore", invalid="ignore"):
            span = self.high - self.low
        span = span[span > 0] if np.isfinite(span).all() else span[:0]  # infinite values raise their own error later
        units_differ = len(span) > 1 and bool(span.max() > DIFFERENT_UNITS * span.min())  # constant columns don't count
        return MetricChoice(Mixed(weights=None), UNITS) if units_differ else MetricChoice("sqeuclidean", ALIKE)


def choose(X: object, n_clusters: int | None = None) -> MetricChoice:
    """The metric that suits objects in memory, why, and the columns that name objects instead of describing them.

    Series get a combination of shape, slope and texture (:mod:`softecm.distances.series_auto`). Tables with text,
    categories, booleans or dates, and numbers with missing values, get "mixed". So do numbers in different units (one
    column's range is more than five times another's): "mixed" scales each column by its standard deviation and keeps
    prototypes in original units. All other numbers get "sqeuclidean". A dict of views gets a metric per view, combined.

    Examples
    --------
    >>> import numpy as np
    >>> choose(np.array([[1.0, 2000.0], [1.2, 1000.0]])).reason
    'the columns are in different units, so each is scaled'
    """
    raw = raw_data(X)
    if raw.views is not None:
        refuse_columns(raw.views)
        return choose_views(raw)
    if raw.is_sparse:
        return MetricChoice("sqeuclidean", SPARSE)
    away = {} if raw.frame is None else _columns_left_out(raw.frame)
    look = Look.of(raw.without(away))
    if look.kind == "series":
        return series_choice(raw, n_clusters, AUTO)
    return replace(look.choice(), left_out=away)


def _columns_left_out(X: object) -> dict[str, str]:
    """Return the columns of a data frame that identify objects; raises ValueError if no data would remain."""
    reasons = reasons_against(X)
    if reasons and all(reasons.values()) and any(reason.startswith((FREE, DIFFERENT)) for reason in reasons.values()):
        listed = ", ".join(f"{name!r} ({reason})" for name, reason in list(reasons.items())[:SHOWN])
        raise ValueError(
            f"X must have a column to cluster by; got {listed}. Pass numbers made from the text (TF-IDF, embeddings), "
            f"or use {option('metric', 'mixed')}, which takes every column."
        )
    away = left_out(X, reasons)
    rows = emptied(X, away) if away else np.empty(0, dtype=np.int64)
    if len(rows):
        first = place("row", int(rows[0]))
        listed = ", ".join(f"{name!r} ({reason})" for name, reason in list(away.items())[:SHOWN])
        raise ValueError(
            f"X must have at least one value in every row; got none in {first}, since these columns are left out: {listed}. "
            "If they hold numbers or dates as text, softecm.read_table(X) reads them, and leaves out total rows and "
            f"footnotes. Otherwise remove such rows, or use {option('metric', 'mixed')}, which takes every column."
        )
    _warn_of_text(X, away)
    if remark := _only_texts(X, away):
        warn(remark, ReadingWarning)
    return away


def _only_texts(X: Any, away: Mapping[str, str]) -> str:
    """Return what to do if texts are left out and hardly anything remains."""
    others = {str(c.name): c.dtype.is_temporal() for c in X.iter_columns() if c.name not in away}
    words = [name for name, reason in away.items() if reason.startswith((FREE, DIFFERENT))]
    return only_texts([name for name in words if are_texts(X.get_column(name).to_list())], others)


def _warn_of_text(X: object, away: Mapping[str, str]) -> None:
    """Warn about text columns that hold numbers or dates, and say how to convert them."""
    from softecm.readers.reading import text_as_values  # every reader imports this module

    examples = text_as_values(X)
    if not examples:
        return
    shown = [f"{name!r} (such as {example!r})" for name, example in list(examples.items())[:SHOWN]]
    more = [f"{len(examples) - SHOWN} more"] if len(examples) > SHOWN else []
    lost = sum(name in away for name in examples)
    taken = (
        "left out" if lost == len(examples) else "left out or treated as categories" if lost else "taken as categories"
    )
    warn(
        f"text holds numbers or dates in {', '.join([*shown, *more])}: such columns are {taken}. softecm.read_table(X).data "
        "converts them; to keep a column as it is, give it the type 'category'.",
        ReadingWarning,
    )


def choose_views(X: object, chosen: Mapping[str, MetricChoice] | None = None) -> MetricChoice:
    """Choose a metric for each of several views, all with equal weight; ``chosen`` holds choices already made."""
    from softecm.distances.views import Combined

    views = raw_data(X).views or {}
    if not views or not all(isinstance(name, str) for name in views):
        raise ValueError(
            f"X must have a name for each view; got {list(views)!r}. Write {{'vitals': series, 'patient': table}}."
        )
    known = chosen or {}
    choices = {name: known.get(name) or _one_view(part.filled(part.present(name))) for name, part in views.items()}
    listed = "; ".join(f"{name!r} by {choice.name} ({choice.reason})" for name, choice in choices.items())
    away = {column: reason for choice in choices.values() for column, reason in choice.left_out.items()}
    return MetricChoice(Combined({name: choice.metric for name, choice in choices.items()}), f"{VIEWS}: {listed}", away)


def _one_view(part: RawData) -> MetricChoice:
    """Choose a metric for one of several views; series get a single metric there."""
    return Look("series").choice() if kind_of(part) == "series" else choose(part)


def choose_for(metric: object, X: object, n_clusters: int | None) -> MetricChoice:
    """Return the choice for "auto" or "series-auto" and log it; any other ``metric`` is returned as it is."""
    if metric == SERIES_AUTO:
        return series_choice(X, n_clusters).tell()
    if metric != AUTO:
        return MetricChoice(metric, REQUESTED)
    raw = raw_data(X)
    choice = choose(raw, n_clusters).tell()
    for mind in far_values(choice.metric, raw.without(choice.left_out), lambda row: place("row", row)):
        warn(mind, ReadingWarning)
    return choice


def series_choice(X: Any, n_clusters: int | None, metric: str = SERIES_AUTO) -> MetricChoice:
    """Choose the combination of views of series with the clearest groups; raises ValueError for tables."""
    raw = raw_data(X)
    if getattr(raw.value, "ndim", 0) == 3:
        refuse_channels_first(raw.value.shape, metric)
    elif raw.frame is not None:
        raise ValueError(
            f"{option('metric', SERIES_AUTO)} must have series, (n, steps, channels) or a list; got a table. Use "
            f"{option('metric', AUTO)}, or give X.to_numpy() if each row is a series."
        )
    best = choose_series(raw.value, n_clusters)
    return MetricChoice(best.metric, best.reason, requested=metric, tried=best.tried)


def kind_of(X: object) -> Kind:
    """Return the kind of the objects from types and shapes alone; nothing is computed or loaded."""
    raw = raw_data(X)
    if getattr(raw.value, "ndim", 2) == 3:
        refuse_channels_first(raw.value.shape)
    return raw.kind


def refuse_channels_first(shape: tuple[int, ...], metric: str = AUTO) -> None:
    """Raise ValueError for an array with few steps and many channels: aeon's layout, or very short series."""
    n, first, second = shape
    if not (first <= MOST_CHANNELS and STEPS_A_CHANNEL * first < second):
        return
    use = f"use {option('metric', 'softdtw')}"
    as_it_is = f" If they really have {first} steps in {second} channels, {use}." if first > 1 else ""
    raise ValueError(
        f"X must hold series as (n, steps, channels) under {option('metric', metric)}; got shape {tuple(shape)}, which "
        f"looks like aeon's (n, channels, steps): {n} series of {second} steps in {first} channel{'s' if first > 1 else ''}"
        f". Pass X.transpose(0, 2, 1) or metric=SoftDTW(layout='aeon').{as_it_is}"
    )


def far_values(metric: Any, X: object, who: Callable[[int], str]) -> tuple[str, ...]:
    """Return one sentence each for codes of missing values and for columns dominated by a few outliers.

    Parameters
    ----------
    metric : name or SemiMetric
        Metric of the objects; for a dict of views, the ``Combined`` of their metrics.
    X : table, or dict of views
    who : callable
        Returns the name of a row.

    Examples
    --------
    >>> X = [[float(i % 7), float(i % 5)] for i in range(40)] + [[700.0, 3.0]]
    >>> far_values("mixed", X, "row {}".format)[0][:36], far_values(Mixed(scaling="robust"), X, str)
    ('row 40 has 700 in column 1 (X[:, 0])', ())
    """
    raw = raw_data(X)
    parts = raw.views
    views = (
        [("", metric, raw)] if parts is None else [(name, part, parts[name]) for name, part in metric.metrics.items()]
    )
    codes: list[Code] = []
    far: list[Stretched] = []
    for name, part, data in views:
        codes += codes_in(_numbers(part, data))
        mixed = Mixed() if part == Mixed.name else part
        if getattr(mixed, "scaling", None) == "std":  # a Mixed whose scaling is not robust
            logs, names = mixed.make_space().options.log_features, [cells.name for cells in data.table().columns]
            has_scale = parts is not None or mixed.weights != "auto"  # automatic weights clip far values
            found = stretched(data, positions(logs, names, "log_features"))
            far += [replace(one, view=name, sets_scale=has_scale) for one in found]
    if not codes and not far:
        return ()
    known = {(column, code.value) for code in codes for column in code.columns}
    far = sorted((one for one in far if (one.column, one.value) not in known), key=lambda one: -one.times)
    return (*(code.message() for code in codes), *([stretched_message(far, who)] if far else ()))


def rows_of_codes(metric: Any, X: object) -> list[tuple[Code, NDArray[np.bool_]]]:
    """Return likely codes for missing values in a table, each with a mask of the rows that hold it."""
    table = _numbers(metric, raw_data(X))
    return [(code, np.any([table[name] == code.value for name in code.columns], axis=0)) for code in codes_in(table)]


def _numbers(metric: object, data: RawData) -> dict[Name, NDArray[Any]]:
    """Return the numeric columns of a table by name; none for other data."""
    name = getattr(metric, "name", metric)
    if name == SquaredEuclidean.name:
        return data.numbers() or {}
    if name != Mixed.name:
        return {}
    return {cells.name: cells.numbers("number") for cells in data.table().columns if cells.kind == "number"}


IN_TORCH = (
    "Write it with torch operations on its arguments, since it is differentiated; or give the distances themselves: "
    "metric='precomputed' and X the matrix, such as scipy.spatial.distance.cdist(X, X)."
)
FOR_ARRAYS = f"metric must be a torch function; got one for NumPy arrays. {IN_TORCH}"


@dataclass(frozen=True)
class FunctionMetric(SemiMetric, savable=False):
    """A torch function ``d(x, v) -> (n, k)`` as a semi-metric on rows of numbers."""

    function: Callable[[Any, Tensor], Tensor]
    name = "function"

    def pairwise(self, x: object, v: Tensor) -> Tensor:
        """Return the function's distances."""
        try:
            d = self.function(x, v)
        except Exception as error:
            if _is_for_arrays(self.function) or "numpy()" in str(error) or "__array_wrap__" in str(error):
                raise TypeError(FOR_ARRAYS) from error
            raise
        if _is_for_arrays(type(d)):
            raise TypeError(FOR_ARRAYS)
        if not isinstance(d, Tensor):
            raise TypeError(f"metric must return a torch tensor of shape (n, f); got {type(d).__name__}. {IN_TORCH}")
        return d


def _is_for_arrays(function: object) -> bool:
    """Whether a function comes from NumPy, SciPy or scikit-learn."""
    home = getattr(function, "__module__", None) or type(function).__module__
    return home.split(".")[0] in ("numpy", "scipy", "sklearn")


def resolve_metric(metric: object, X: object) -> SemiMetric:
    """Return the semi-metric for ``metric=``: a name, an instance, a torch function, or "auto"."""
    from softecm.distances.listing import SEMI_METRICS

    if isinstance(metric, SemiMetric):
        return metric
    if isinstance(metric, str):
        if metric in SEMI_METRICS:
            return SEMI_METRICS[metric]()
        if metric == AUTO:
            return resolve_metric(choose(X).metric, X)
        if metric == SERIES_AUTO:
            raise ValueError(
                f"metric='{SERIES_AUTO}' is found by an estimator's fit: name one of those it tries here, such as "
                "'softdtw' or 'softmsm'."
            )
        known = (AUTO, SERIES_AUTO, *SEMI_METRICS)
        raise ValueError(
            f"metric must be one of {', '.join(map(repr, known))}, a SemiMetric or a torch function; got {metric!r}."
            f"{meant(metric, known)}"
        )
    if isinstance(metric, type) and issubclass(metric, SemiMetric):
        raise ValueError(f"metric must be an instance; got the class {metric.__name__}. Write {metric.__name__}().")
    if callable(metric):
        _check_arguments(metric)
        return FunctionMetric(metric)
    raise ValueError(
        f"metric must be a name, a SemiMetric or a torch function d(x, v); got {metric!r}. 'auto' looks at the data."
    )


LOOKED_AT = 12  # objects
FLAT = (
    "is flat: its gradient is zero, so prototypes can't move. Leave out rounding and thresholds, or give the "
    "matrix of distances: metric='precomputed'."
)
ROUNDING = 1e-5  # differences below this fraction of the largest distance count as rounding errors


def try_metric(metric: SemiMetric, space: Space, x: object) -> None:
    """Test a user's metric on a few encoded objects: raise an error, or warn, if it is unsuitable."""
    if metric.is_registered or not isinstance(x, Tensor) or len(x) < 3 or metric.discrete:
        return
    rows = torch.linspace(0, len(x) - 1, min(LOOKED_AT, len(x))).long()
    objects, prototypes = x[rows].cpu(), space.starts(x, rows).cpu()
    name = _name(metric)
    copies, placed = objects.clone(), prototypes.clone()
    with torch.no_grad():
        d = metric.pairwise(copies, placed)
    if not (torch.equal(copies, objects) and torch.equal(placed, prototypes)):
        raise ValueError(
            f"metric {name} must not change its arguments, which are your data; it has. Write x = x - 1 for x -= 1."
        )
    check_kind(name, d)
    if d.shape != (len(rows), len(rows)) or not bool(torch.isfinite(d).all()):
        return  # the next call raises an error that names the objects
    with torch.no_grad():
        again = metric.pairwise(objects.clone(), prototypes.clone())
    doubt = _doubt(d, again, objects, rows.tolist())
    if not metric.closed_form.quadratic and not has_slope(metric, objects, prototypes):
        doubt = doubt or FLAT
    if doubt:
        warn(f"metric {name} {doubt}")


def has_slope(metric: SemiMetric, objects: Tensor, prototypes: Tensor) -> bool:
    """Whether distances change with the prototypes; raises ValueError if torch can't differentiate them."""
    moved = (prototypes + 0.01 * (prototypes - prototypes.mean(0)).abs().mean()).requires_grad_()
    with torch.enable_grad():
        total = metric.pairwise(objects, moved).sum()
    if not total.requires_grad:
        raise ValueError(
            f"metric {_name(metric)} must be differentiable in its second argument; torch can't differentiate it "
            "there. Write it with torch operations on v, or give the matrix of distances: metric='precomputed'."
        )
    (slope,) = torch.autograd.grad(total, moved, allow_unused=True)
    return slope is not None and bool((slope != 0).any())


def _check_arguments(function: Callable[..., object]) -> None:
    """Raise ValueError for a function that can't be called with two arguments; some have no known signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None, None)
    except TypeError:
        name = getattr(function, "__name__", "function")
        raise ValueError(
            f"metric must be a function of two arguments, d(x, v); got {name}{signature}. Fix others with "
            "functools.partial."
        ) from None


def _name(metric: SemiMetric) -> str:
    function = getattr(metric, "function", None)
    return getattr(function, "__name__", None) or metric.name or type(metric).__name__


def _doubt(d: Tensor, again: Tensor, objects: Tensor, numbers: list[int]) -> str:
    """Return what is wrong with the distances (k, k) of objects to themselves, as a message; empty if nothing is."""
    largest = float(d.abs().max()) or 1.0
    if not torch.allclose(d, again, rtol=0, atol=ROUNDING * largest):
        return (
            "returns different distances for the same arguments, so a fit is meaningless: let it depend on x and "
            "v only."
        )
    differ = (objects[:, None] != objects).flatten(2).any(-1)
    between = d[differ]
    if len(between) > 2 and float(between.max() - between.min()) <= ROUNDING * largest:
        return f"returns {float(between[0]):g} for every pair of objects tried, so it can't separate groups."
    gap = (d - d.T).abs()
    if float(gap.max()) > ROUNDING * largest:
        i, j = divmod(int(gap.argmax()), len(d))
        a, b = place("object", numbers[i]), place("object", numbers[j])
        return (
            f"is not symmetric: {float(d[i, j]):g} from {a} to {b} and {float(d[j, i]):g} back. This biases "
            "prototypes; use the mean or the larger of both."
        )
    own = d.diagonal()
    if float(own.max()) > ROUNDING * largest:
        return (
            f"returns {float(own.max()):g} between an object and itself, where 0 is expected: masses depend on it. "
            "Subtract it, as the Soft-DTW divergence does."
        )
    return ""
