"""Links between objects by their names, as by their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._text import meant
from softecm.spaces.roles import ids_of, left_out


def by_row(X: Any, must_link: Any, cannot_link: Any) -> tuple[Any, Any]:
    """Links whose ends are names of objects, in the index or the id column of a data frame, with their row numbers.

    Numbers are rows, counted from 0, and stay.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"size": [1.0, 2.0, 3.0]}, index=["anna", "ben", "carl"])
    >>> by_row(people, [("carl", "anna")], [(0, 1)])
    ([[2, 0]], [(0, 1)])
    """
    return _rows("must_link", must_link, X), _rows("cannot_link", cannot_link, X)


def _rows(parameter: str, pairs: Any, X: Any) -> Any:
    listed = pairs if pairs is None or hasattr(pairs, "__array__") else list(pairs)
    try:
        table = np.asarray(listed)
    except ValueError:  # no pairs, which is said elsewhere
        return listed
    if table.ndim != 2 or not any(isinstance(cell, str) for cell in table.ravel()[:2]):
        return listed
    names = names_of(X)
    if names is None:
        raise ValueError(
            f"{parameter} must hold numbers of objects, counted from 0; got {str(table[0, 0])!r}, and X does not say what "
            "its objects are called. Give a data frame whose index names them."
        )
    rows: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        rows.setdefault(name, []).append(i)
    return [[_row(parameter, str(cell), rows) for cell in pair] for pair in table]


def _row(parameter: str, name: str, rows: Mapping[str, list[int]]) -> int:
    at = rows.get(name, [])
    if not at:
        raise ValueError(f"{parameter} must name objects of X; got {name!r}, which is none.{meant(name, rows)}")
    if len(at) > 1:
        raise ValueError(
            f"{parameter} must name one object each; got {name!r}, as {len(at)} are called. Give its number, counted from 0."
        )
    return at[0]


def names_of(X: Any) -> NDArray[np.object_] | None:
    """What objects are called; of several views, as the first says that does."""
    parts = list(X.values()) if isinstance(X, Mapping) else [X]
    found = (ids_of(part, left_out(part)) for part in parts)
    return next((names for names in found if names is not None), None)
