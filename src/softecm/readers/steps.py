"""Tables whose rows look like the steps of series: what to say about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm.readers.base import Column, short

if TYPE_CHECKING:
    import pandas as pd

LOOKED = 8  # columns that may name a series, or its time
SHOWN = 3  # columns of values that are named
FEWEST = 3  # series, and steps of one on average


def step_hint(columns: Sequence[Column], kept: Mapping[str, pd.Series]) -> str:
    """How to have rows read as steps of series, where they look so; else empty.

    They do where the rows of each name in one column follow each other, and another column rises within each name and
    begins anew with the next.
    """
    first = [c for c in columns if c.name in kept][:LOOKED]
    for who in first:
        starts = _starts(kept[who.name]) if who.kind != "date" else None
        if starts is None:
            continue
        for when in first:
            values = [c.name for c in columns if c.kind == "number" and c.name not in (who.name, when.name)]
            if when is not who and when.kind != "category" and values and _rises(kept[when.name], starts):
                listed = ",".join(values[:SHOWN]) + (",…" if len(values) > SHOWN else "")
                said = f"--id-column {short(who.name)} --time {short(when.name)} --value {listed}"
                return (
                    f"rows of one {short(who.name)} follow each other with rising {short(when.name)}: if each row is one "
                    f"time of a series, say {said}."
                )
    return ""


def _starts(names: pd.Series) -> NDArray[np.intp] | None:
    """Where the rows of each name begin; None where they are scattered, or too few."""
    codes, different = names.factorize()
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    whole = (codes >= 0).all() and len(starts) == len(different)
    return starts if whole and len(starts) >= FEWEST and FEWEST * len(starts) <= len(codes) else None


def _rises(times: pd.Series, starts: NDArray[np.intp]) -> bool:
    if times.isna().any():
        return False
    steps = np.diff(times.to_numpy()).astype(np.float64)
    between = np.zeros(len(steps), dtype=bool)
    between[starts[1:] - 1] = True
    return bool((steps[~between] > 0).all() and (steps[between] <= 0).all())
