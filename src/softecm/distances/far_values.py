"""What to mind where far values hide the groups: codes for missing cells, and values that make a column's spread."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v1 as nw
from numpy.typing import NDArray

from softecm.distances.mixed import Mixed
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.spaces.codes import codes_in
from softecm.spaces.raw import numbers_of, read_table
from softecm.spaces.sparse import is_sparse
from softecm.spaces.stretched import Stretched, stretched, told


def far_values(metric: Any, X: Any, who: Callable[[int], str]) -> tuple[str, ...]:
    """What looks like a code for missing cells, and the columns that a few values stretch, a sentence each.

    Parameters
    ----------
    metric : name or SemiMetric
        What compares the objects; for a dict of views, a ``Combined`` of theirs.
    X : table, or dict of views
    who : callable
        Says what a row is called.

    Examples
    --------
    >>> X = [[float(i % 7), float(i % 5)] for i in range(40)] + [[700.0, 3.0]]
    >>> far_values("mixed", X, "row {}".format)[0][:36], far_values(Mixed(scaling="robust"), X, str)
    ('row 40 has 700 in column 1 (X[:, 0])', ())
    """
    if isinstance(X, Mapping):
        views = [(name, part, X[name]) for name, part in metric.metrics.items()]
    else:
        views = [("", metric, X)]
    codes = [code for _, part, data in views for code in codes_in(_numbers(part, data))]
    known = {(column, code.value) for code in codes for column in code.columns}
    found = [one for name, part, data in views for one in _stretched(name, part, data)]
    found = sorted((one for one in found if (one.column, one.value) not in known), key=lambda one: -one.times)
    return (*(code.told() for code in codes), *([told(found, who)] if found else ()))


def _numbers(metric: Any, data: Any) -> dict[str | int, NDArray[Any]]:
    """The columns of numbers of a table, by name; none of what is no table."""
    if metric == SquaredEuclidean.name and not is_sparse(data):
        frame = nw.from_native(data, eager_only=True, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else itertools.count()
        return dict(zip(names, numbers_of(data) or (), strict=False))
    if metric != Mixed.name and not isinstance(metric, Mixed):
        return {}
    return {cells.name: cells.numbers("number") for cells in read_table(data).columns if cells.kind == "number"}


def _stretched(view: str, metric: Any, data: Any) -> list[Stretched]:
    by_spread = metric == Mixed.name or (isinstance(metric, Mixed) and metric.scaling == "std")
    return [replace(one, view=view) for one in stretched(data)] if by_spread else []
