"""Long tables: rows that are steps of series or of sequences of states, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._wording import again, option, worded
from softecm.readers.base import Column, short

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 8  # that may name a series, its time or its channel
COMMON = 0.5  # share of the rows whose time occurs in another series, too
FILLED = 0.5  # share of the combinations of series, time and channel that have a row, if times are numbers
FEWEST = 3  # series, and steps of one on average
MOST_CHANNELS = 50
ORDERED, ONE_ROW = "are consecutive, with increasing", "all differ in"


@dataclass(frozen=True)
class Steps:
    """What the columns of a long table seem to be."""

    who: str
    when: str
    reason: str  # what is so of rows with the same name
    channel: str = ""

    def question(self, values: Sequence[str], states: Sequence[str], columns: Sequence[str]) -> str:
        """Return what to ask about rows with these columns of numbers, or of words; "" if there are none to cluster by."""
        of_states = not values and len(states) == 1
        measured = list(states if of_states else values)
        if not measured or (self.channel and (of_states or len(measured) > 1)):
            return ""
        named = [str(columns.index(name) + 1) if "," in name else name for name in measured]
        options = [
            option("id_column", self.who),
            option("time", self.when),
            *([option("channel", self.channel)] if self.channel else []),
            worded(f"value={measured}", option("value", ",".join(named))),
            *([worded("states=True", option("metric", "states"))] if of_states else []),
        ]
        same = f"rows with the same {short(self.who)} {self.reason} {short(self.when)}"
        row = "each row is one step of a sequence of states" if of_states else "each row is one time of a series"
        if self.channel:
            same, row = f"{same} and {short(self.channel)}", "each row is one time and channel of a series"
        return f"{same}: if {row}, {again(options)}"


def step_hint(columns: Sequence[Column], data: Mapping[str, pd.Series]) -> str:
    """Return how to read rows as steps of series or states, if they look like that; else "".

    They do if the rows of each name in one column are consecutive, and another column increases within each name and
    restarts with the next; or if names repeat in any order, at times that don't repeat for a name, or for a name and
    a channel, and that most rows share with other names.
    """
    look = _Look(data, [c for c in columns if c.name in data][:MOST_COLUMNS])
    numbers = [c.name for c in columns if c.kind == "number"]
    words = [c.name for c in columns if c.kind == "category"]
    for who, when in permutations(look.columns, 2):
        is_possible = who.kind != "date" and when.kind != "category"
        steps = (look.steps(who, when) or look.steps_of_channels(who, when)) if is_possible else None
        if steps is None:
            continue
        taken = (steps.who, steps.when, steps.channel)
        free = [c.name for c in columns if c.name in data and c.name not in taken]
        varied = [name for name in free if data[name].groupby(data[steps.who].to_numpy()).nunique().max() > 1]
        values, states = [name for name in varied if name in numbers], [name for name in varied if name in words]
        if states and all(_rises(data[name], look.starts[steps.who]) for name in values):
            values = []  # times, too: where a state ends
        question = steps.question(values, states, [c.name for c in columns])
        if question:
            return question
    return ""


class _Look:
    """The columns that may say of what series, time or channel a row is."""

    def __init__(self, data: Mapping[str, pd.Series], columns: Sequence[Column]) -> None:
        self.columns = [c for c in columns if not data[c.name].isna().any()]
        self.data = {c.name: data[c.name] for c in self.columns}
        self.counts = {name: int(column.nunique()) for name, column in self.data.items()}
        self.starts = {name: _starts(column) for name, column in self.data.items()}

    def steps(self, who: Column, when: Column) -> Steps | None:
        """Return the series, if every row is one time of one of them."""
        if _rises(self.data[when.name], self.starts[who.name]):
            return Steps(who.name, when.name, ORDERED)
        if who.kind == "category" and self._may_be(who, when, 1) and _shares(self.data[who.name], self.data[when.name]):
            return Steps(who.name, when.name, ONE_ROW)
        return None

    def steps_of_channels(self, who: Column, when: Column) -> Steps | None:
        """Return the series, if every row is one time and one channel of one of them."""
        for channel in self.columns:
            count = self.counts[channel.name]
            if channel.name == who.name or channel.kind != "category" or not 1 < count < self.counts[who.name]:
                continue
            if count <= MOST_CHANNELS and self._may_be(who, when, count) and self._each_shares(who, when, channel):
                return Steps(who.name, when.name, ONE_ROW, channel.name)
        return None

    def _may_be(self, who: Column, when: Column, channels: int) -> bool:
        """Whether so many rows can have all different names, times and channels, and be most of those there are."""
        rows, cells = len(self.data[who.name]), self.counts[who.name] * self.counts[when.name] * channels
        return rows <= cells and (when.kind == "date" or rows >= FILLED * cells)

    def _each_shares(self, who: Column, when: Column, channel: Column) -> bool:
        names, times = self.data[who.name], self.data[when.name]
        parts = self.data[channel.name].groupby(self.data[channel.name].to_numpy(), sort=False).indices.values()
        return all(_shares(names.iloc[part], times.iloc[part]) for part in parts)


def _shares(names: pd.Series, times: pd.Series) -> bool:
    """Whether every name has several times, all different, which most rows share with other names."""
    counts = names.value_counts()
    if len(counts) < FEWEST or counts.median() < FEWEST:
        return False
    repeated = names.to_frame("name").assign(time=times).duplicated().any()
    return not repeated and bool(times.duplicated(keep=False).mean() > COMMON)


def _starts(names: pd.Series) -> NDArray[np.intp] | None:
    """Return the first row of each name; None if names are scattered, or too few."""
    codes, different = names.factorize()
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    whole = (codes >= 0).all() and len(starts) == len(different)
    return starts if whole and len(starts) >= FEWEST and FEWEST * len(starts) <= len(codes) else None


def _rises(times: pd.Series, starts: NDArray[np.intp] | None) -> bool:
    """Whether numbers or dates increase within each name, and restart with the next."""
    if starts is None:
        return False
    steps = np.diff(times.to_numpy()).astype(np.float64)
    between = np.zeros(len(steps), dtype=bool)
    between[starts[1:] - 1] = True
    return bool((steps[~between] > 0).all() and (steps[between] <= 0).all())
