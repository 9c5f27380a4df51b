"""The section on the run: restarts, and the numbers of groups that were tried, as a figure that needs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from softecm.report.templating import as_float, as_number, term

MOST_RUNS = 20
WIDE, HIGH = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 24, 46

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
    rows: list[tuple[bool, list[str]]]  # whether the run was kept, and its cells
    other_terms: bool  # whether the objective of the run that was kept is not where the curve ends


def runs_table(runs: Mapping[str, Sequence[object]], history: Sequence[float]) -> RunsTable:
    """The restarts of a fit with this history of the objective."""
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
    if key == "objective":  # those of runs differ late
        return f"{as_float(value):.6g}"
    return str(int(as_float(value)) + 1) if key == "run" else as_number(value)


# ------------------------------------------------------------------ numbers of groups that were tried


def candidates_figure(values: Mapping[int, float | None], chosen: int) -> Markup:
    """Each number of groups with its value; the chosen one filled, those that merged as crosses below the others.

    Examples
    --------
    >>> figure = candidates_figure({2: 0.4, 3: 0.9, 4: None}, 3)
    >>> figure.count("<circle"), "4 groups: merged or empty" in figure
    (2, True)
    """
    known = {c: value for c, value in values.items() if value is not None}
    ends = min(known.values(), default=0.0), max(known.values(), default=1.0)
    x = {c: LEFT + (i + 0.5) * (WIDE - LEFT - RIGHT) / len(values) for i, c in enumerate(values)}
    y = {c: _height(value, ends) for c, value in known.items()}
    line = " ".join(f"{x[c]:.1f},{y[c]:.1f}" for c in known)
    below = HIGH - BOTTOM
    parts = [f'<line x1="{LEFT}" y1="{below}" x2="{WIDE - RIGHT}" y2="{below}" class="axis"/>']
    parts += [_text(LEFT - 8, _height(v, ends) + 4, as_number(v), "end") for v in dict.fromkeys(ends)]
    every = -(-len(values) // 20)
    parts += [_text(x[c], below + 18, str(c)) for i, c in enumerate(values) if i % every == 0 or c == chosen]
    parts += [_text((LEFT + WIDE - RIGHT) / 2, HIGH - 8, "number of groups")]
    parts += [f'<text transform="translate(12 {(TOP + below) / 2:.0f}) rotate(-90)" text-anchor="middle">value</text>']
    parts += [f'<polyline points="{line}" class="path"/>']
    parts += [_point(c, x[c], y[c], known[c], kept=c == chosen) for c in known]
    parts += [_cross(c, x[c], below - 8) for c in values if c not in known]
    name = f"Value for each number of groups that was tried; {chosen} was chosen"
    svg = f'<svg viewBox="0 0 {WIDE} {HIGH}" class="tried" role="img" aria-label="{name}">{"".join(parts)}</svg>'
    return Markup(svg)  # numbers alone


def _height(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    share = 0.5 if high <= low else (value - low) / (high - low)
    return HIGH - BOTTOM - 16 - share * (HIGH - BOTTOM - 16 - TOP)


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _point(c: int, x: float, y: float, value: float, *, kept: bool) -> str:
    size, kind = (7, "dot kept") if kept else (4, "dot")
    drawn = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="{kind}"><title>{c} groups: {value:.4g}</title></circle>'
    )
    return drawn + (_text(x, y - 12, f"{as_number(value)}, chosen") if kept else "")


def _cross(c: int, x: float, y: float) -> str:
    path = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return f'<path d="{path}" class="cross-mark"><title>{c} groups: merged or empty</title></path>'
