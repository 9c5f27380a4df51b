"""The section on the fit: restarts, and the candidate numbers of groups, as a figure without a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from softecm.report.fit import plain_parameters
from softecm.report.inputs import FittedModel
from softecm.report.sections.base import Json, Section, finite
from softecm.report.templating import as_float, as_number, term

MOST_RUNS = 20
MOST_NAMED = 20  # candidates below the figure
WIDE, HIGH = 640, 220  # of the figure, as in fit.html
LEFT, RIGHT, TOP, BOTTOM = 84, 16, 40, 46

RUN_COLUMNS = {
    "run": "Run",
    "objective": "Objective",
    "n_iter": "Iterations",
    "converged": "Converged",
    "separation": "Separation",
    "collapsed": "Merged",
    "best": "Best",
}


class RunsTable(NamedTuple):
    """The table of restarts, the lowest objective first."""

    head: list[Markup]
    rows: list[tuple[bool, list[str]]]  # whether it is the best run, and its cells
    other_terms: bool  # whether the best run's objective is not the end of the curve


def runs_table(runs: Mapping[str, Sequence[object]], history: Sequence[float]) -> RunsTable:
    """Return the restarts of a fit with this history of the objective."""
    keys = [key for key in RUN_COLUMNS if key in runs]
    values = np.asarray(runs.get("objective", ()), dtype=np.float64)
    order = np.argsort(values, kind="stable")[:MOST_RUNS].tolist()
    is_best = [bool(best) for best in runs.get("best", [False] * len(values))]
    own = [value for value, best in zip(values.tolist(), is_best, strict=False) if best]
    other = bool(own) and bool(len(history)) and abs(own[0] - history[-1]) > 1e-6 * abs(own[0])
    head = [term(RUN_COLUMNS[key], RUN_COLUMNS[key].lower()) for key in keys]
    return RunsTable(head, [(is_best[i], [_cell(key, runs[key][i]) for key in keys]) for i in order], other)


def _cell(key: str, value: object) -> str:
    if key in ("converged", "collapsed", "best"):
        return "yes" if value else "no"
    if key == "objective":  # values of runs differ in late digits
        return f"{as_float(value):#.6g}".rstrip(".")
    if key == "separation":
        return f"{as_float(value):.3f}"
    return str(int(as_float(value)) + 1) if key == "run" else as_number(value)


class TriedNumber(NamedTuple):
    """A candidate number of groups, and its position in the figure."""

    number: int
    value: float | None  # None if clusters merged or are empty
    x: float
    y: float
    is_named: bool  # only some, if there are many


class FitSection(Section):
    """Candidate numbers of groups, restarts, parameters, and the code to repeat the fit."""

    key, link = "run", "The fit"

    @property
    def tried(self) -> list[TriedNumber]:
        """Each candidate; those with merged clusters are below the others."""
        candidates, chosen = self.data.candidates, self.data.partition.n_clusters
        step, every = (WIDE - LEFT - RIGHT) / max(len(candidates), 1), -(-len(candidates) // MOST_NAMED)
        return [
            TriedNumber(c, value, LEFT + (i + 0.5) * step, self._height(value), i % every == 0 or c == chosen)
            for i, (c, value) in enumerate(candidates.items())
        ]

    @property
    def ends(self) -> dict[float, float]:
        """The minimum and the maximum value, with their heights in the figure."""
        known = [value for value in self.data.candidates.values() if value is not None]
        return {value: self._height(value) for value in (min(known, default=0.0), max(known, default=1.0))}

    @property
    def best(self) -> str:
        """Whether the lowest or the highest value is best, if the one chosen is either."""
        known = [value for value in self.data.candidates.values() if value is not None]
        chosen = self.data.candidates.get(self.data.partition.n_clusters)
        if chosen is None or len(known) < 2 or self.data.partition.n_clusters == 1:
            return ""
        return " (lowest is best)" if chosen == min(known) else " (highest is best)" if chosen == max(known) else ""

    def _height(self, value: float | None) -> float:
        if value is None:
            return HIGH - BOTTOM - 8
        known = [one for one in self.data.candidates.values() if one is not None]
        low, high = min(known, default=0.0), max(known, default=1.0)
        share = 0.5 if high <= low else (value - low) / (high - low)
        return HIGH - BOTTOM - 16 - share * (HIGH - BOTTOM - 16 - TOP)

    @property
    def runs(self) -> RunsTable:
        """The restarts."""
        return runs_table(self.data.runs, self.data.history)

    def payload(self) -> Json:
        """Return the history of the objective."""
        return {"history": [float(v) for v in self.data.history]}

    def facts(self) -> Json:
        """Return how it was computed."""
        return {
            "candidates": {str(c): value for c, value in self.data.candidates.items()},
            "parameters": dict(self.data.parameters),
            "objective": finite(self.data.history[-1]) if self.data.history else None,
        }

    def without_values(self, model: FittedModel) -> Json:
        """Return everything except parameters that are data, and the code, which contains file names."""
        names = ("candidates", "candidates_note", "history", "runs")
        parameters = plain_parameters(model, self.data.parameters)
        return {"parameters": parameters, **{name: getattr(self.data, name) for name in names}}
