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
COMMON = 0.5  # part of the rows whose time another series has, too
FEWEST = 3  # series, and steps of one on average


def step_hint(columns: Sequence[Column], kept: Mapping[str, pd.Series]) -> str:
    """How to have rows read as steps of series, where they look so; else empty.

    They do where the rows of each name in one column follow each other, and another column rises within each name and
    begins anew with the next; or where names come again in any order, at dates of which none comes twice for a name and most
    come for several.
    """
    first = [c for c in columns if c.name in kept][:LOOKED]
    for who in first:
        if who.kind == "date":
            continue
        starts = _starts(kept[who.name])
        for when in first:
            values = [c.name for c in columns if c.kind == "number" and c.name not in (who.name, when.name)]
            if when is who or when.kind == "category" or not values:
                continue
            look = ""
            if starts is not None and _rises(kept[when.name], starts):
                look = f"rows of one {short(who.name)} follow each other with rising {short(when.name)}"
            elif (who.kind, when.kind) == ("category", "date") and _shared(kept[who.name], kept[when.name]):
                look = f"rows of one {short(who.name)} each have another {short(when.name)}"
            if look:
                listed = ",".join(values[:SHOWN]) + (",…" if len(values) > SHOWN else "")
                said = f"--id-column {short(who.name)} --time {short(when.name)} --value {listed}"
                return f"{look}: if each row is one time of a series, say {said}."
    return ""


def _shared(names: pd.Series, times: pd.Series) -> bool:
    """Whether every name has several times, none of them twice, which most rows have in common with other names."""
    counts = names.value_counts()
    if len(counts) < FEWEST or counts.median() < FEWEST or names.isna().any() or times.isna().any():
        return False
    twice = names.to_frame("name").assign(time=times).duplicated().any()
    return not twice and bool(times.duplicated(keep=False).mean() > COMMON)


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
