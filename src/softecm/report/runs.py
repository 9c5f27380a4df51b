"""The section on the run: rounds, restarts, numbers of groups that were tried, warnings, parameters, code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from softecm.report.markup import as_float, as_number, pairs, section, table
from softecm.report.terms import term
from softecm.report.tried import candidates_figure

if TYPE_CHECKING:
    from softecm.report.data import ReportData

MOST_RUNS = 20


def run(data: ReportData) -> str:
    """The whole section."""
    body = ""
    if data.candidates:
        body += "<h3>Numbers of groups that were tried</h3>" + _candidates(data)
    if len(data.history) > 1:
        body += f'<h3>{term("Objective", "objective")} after each round</h3><div id="trace" class="figure"></div>'
    if data.runs:
        body += "<h3>Restarts</h3>" + _runs(data.runs) + _in_other_terms(data)
    warned = "".join(f"<li>{escape(w)}</li>" for w in data.warnings) or "<li>None.</li>"
    body += f'<h3 id="warnings">Warnings</h3><ul>{warned}</ul>'
    if data.parameters:
        body += "<h3>Parameters</h3>" + pairs(data.parameters, "Parameters of the run")
    if data.code:
        body += (
            '<h3>Do it again in Python</h3><div class="code"><button type="button" id="copy">Copy</button>'
            f'<pre tabindex="0"><code id="code">{escape(data.code)}</code></pre></div>'
        )
    return section("run", "The run", body)


def _candidates(data: ReportData) -> str:
    chosen = data.partition.n_clusters
    rows = "".join(
        f'<tr{" class=kept" if c == chosen else ""}><th scope="row">{c}</th>'
        f"<td>{'merged or empty' if value is None else as_number(value)}</td></tr>"
        for c, value in data.candidates.items()
    )
    head = '<tr><th scope="col">Groups</th><th scope="col">Value</th></tr>'
    told = table(rows, head, "Numbers of groups that were tried")
    note = f'<p class="note">{escape(data.candidates_note)}.</p>' if data.candidates_note else ""
    figure = f'<div class="figure">{candidates_figure(data.candidates, chosen)}</div>'
    return f"{figure}{note}<details><summary>As a table</summary>{told}</details>"


RUN_COLUMNS = {
    "run": "Run",
    "objective": "Objective",
    "n_iter": "Rounds",
    "converged": "Converged",
    "separation": "Separation",
    "collapsed": "Merged",
    "best": "Kept",
}


def _runs(runs: Mapping[str, Sequence[object]]) -> str:
    keys = [key for key in RUN_COLUMNS if key in runs]
    head = "".join(f'<th scope="col">{term(RUN_COLUMNS[key], RUN_COLUMNS[key].lower())}</th>' for key in keys)
    values = np.asarray(runs.get("objective", ()), dtype=np.float64)
    order = np.argsort(values, kind="stable")[:MOST_RUNS].tolist()
    rows = "".join(f"<tr{_kept(runs, i)}>{''.join(_cell(key, runs[key][i]) for key in keys)}</tr>" for i in order)
    return table(rows, f"<tr>{head}</tr>", "Restarts, the lowest objective first")


def _in_other_terms(data: ReportData) -> str:
    """Why the objective of the run that was kept is not where the curve ends, where it is not."""
    values = [
        as_float(value) for value, best in zip(data.runs["objective"], data.runs.get("best", ()), strict=False) if best
    ]
    if not values or not len(data.history) or abs(values[0] - data.history[-1]) <= 1e-6 * abs(values[0]):
        return ""
    return (
        '<p class="note">Starts are compared by the groups alone. The best is then given sets and a wider reach for '
        f"outliers, with which its objective is {data.history[-1]:.6g}, as in the curve: another price of the same run.</p>"
    )


def _kept(runs: Mapping[str, Sequence[object]], i: int) -> str:
    return ' class="kept"' if "best" in runs and bool(runs["best"][i]) else ""


def _cell(key: str, value: object) -> str:
    if key in ("converged", "collapsed", "best"):
        return f"<td>{'yes' if value else 'no'}</td>"
    return f"<td>{int(as_float(value)) + 1}</td>" if key == "run" else f"<td>{_precise(key, value)}</td>"


def _precise(key: str, value: object) -> str:
    """Objectives of runs differ late: they have six digits."""
    return f"{as_float(value):.6g}" if key == "objective" else as_number(value)
