"""What to mind where columns are scaled by their spread, and a few far values make it: of a table, or of several views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from softecm.distances.mixed import Mixed
from softecm.spaces.stretched import Stretched, stretched, told


def far_values(metric: Any, X: Any, who: Callable[[int], str]) -> str:
    """The columns that a few values stretch, as a sentence; empty where there are none.

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
    >>> far_values("mixed", X, "row {}".format)[:41], far_values(Mixed(scaling="robust"), X, str)
    ('row 40 has 700 in column 1 (X[:, 0]), 233', '')
    """
    if isinstance(X, Mapping):
        views = [(name, part, X[name]) for name, part in metric.metrics.items()]
    else:
        views = [("", metric, X)]
    found = [one for name, part, data in views for one in _stretched(name, part, data)]
    return told(sorted(found, key=lambda one: -one.times), who) if found else ""


def _stretched(view: str, metric: Any, data: Any) -> list[Stretched]:
    by_spread = metric == Mixed.name or (isinstance(metric, Mixed) and metric.scaling == "std")
    return [replace(one, view=view) for one in stretched(data)] if by_spread else []
