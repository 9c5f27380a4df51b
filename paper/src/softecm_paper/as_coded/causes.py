"""Effects of the habits: change one at a time, with all others as coded, and report the number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softecm_paper.as_coded.runs import CodedRuns
from softecm_paper.as_coded.sweep import VARIANTS
from softecm_paper.page import Page
from softecm_paper.paper import RAND_INDEX
from softecm_paper.rows import Row
from softecm_paper.runs import USED_BY

Measure = Callable[[CodedRuns, Row], "float | None"]


@dataclass(frozen=True)
class Cause:
    """A habit, its replacement, and the resulting mean Rand index of Soft-ECM."""

    short: str
    text: str
    measure: Measure
    since: str = "as-coded"  # the variant of which it changes one point


def tell_causes(page: Page, coded: CodedRuns) -> None:
    """Add a line for each cause with the row it affects most, then all of them on all rows, then those of other columns."""
    page.heading("Change only this")
    page.text(
        "Mean Rand index of Soft-ECM as the paper took it, over the ten runs of the setting that the rule takes. In each "
        "line one habit is changed and everything else left as coded; where that changes the runs, the choice of (β, λ) is "
        "made anew among them, but for *right axes* and *stands still*: these runs have the setting and the starts of the "
        "runs that they are compared with, which is *goes on* for *stands still* (before, most runs of tables have one "
        "round, whose masses no optimiser can change). L2 does not see which axis is which."
    )
    rows = coded.runs.rows
    before = {
        since: {row.key: _chosen(coded, row, since, "rand") for row in rows} for since in {c.since for c in CAUSES}
    }
    after = {cause.short: {row.key: cause.measure(coded, row) for row in rows} for cause in CAUSES}
    lines = []
    for cause in CAUSES:
        base = before[cause.since]
        moved = {k: abs(v - b) for k, v in after[cause.short].items() if v is not None and (b := base[k]) is not None}
        if moved:
            row = max(rows, key=lambda r: moved.get(r.key, -1.0))
            change = f"from {base[row.key]:.3f} to {after[cause.short][row.key]:.3f}"
            lines.append([cause.text, row.title, change, str(RAND_INDEX[row.key]["Soft-ECM"])])
    page.table(["change only this", "where it moves most", "and the number moves", "printed"], lines)
    shown = []
    for row in rows:
        values = [before["as-coded"][row.key], *(after[cause.short][row.key] for cause in CAUSES)]
        numbers = ["" if value is None else f"{value:.3f}" for value in values]
        shown.append([row.title, str(RAND_INDEX[row.key]["Soft-ECM"]), *numbers])
    page.table(["Soft-ECM on", "printed", "as coded", *(cause.short for cause in CAUSES)], shown)
    _tell_others(page, coded)


def _chosen(coded: CodedRuns, row: Row, variant: str, column: str, rule: str = "n_star") -> float | None:
    """Return the mean of a column over the runs selected by a rule."""
    table = coded.table(row, VARIANTS[variant])
    best = table.chosen(rule)
    return None if best is None else float(table.at(best[0], best[1], column).mean())


def _unchanged(coded: CodedRuns, row: Row, variant: str, since: str) -> float | None:
    """Return the mean Rand index with the setting selected before the change."""
    best = coded.table(row, VARIANTS[since]).chosen()
    if best is None:
        return None
    table = coded.table(row, VARIANTS[variant], only=(best[0], best[1]))
    return float(table.at(best[0], best[1], "rand").mean())


def _when(kind: str, variant: str) -> Measure:
    return lambda coded, row: _chosen(coded, row, variant, "rand") if row.kind == kind else None


CAUSES = (
    Cause(
        "not renamed",
        "the clusters are scored as they are",
        lambda coded, row: _chosen(coded, row, "as-coded", "plain"),
    ),
    Cause(
        "pignistic",
        "a pair's mass is shared by its clusters before the label is taken",
        lambda coded, row: _chosen(coded, row, "as-coded", "pignistic"),
    ),
    Cause(
        "∅ left out",
        "N* as printed, without the empty set, chooses",
        lambda coded, row: _chosen(coded, row, "as-coded", "rand", "n_printed"),
    ),
    Cause(
        "no repeats",
        "starts are drawn without replacement",
        lambda coded, row: _chosen(coded, row, "no-repeats", "rand"),
    ),
    Cause(
        "goes on",
        "what rounding leaves for ∅ is set to 0 where it is negative, and runs go on",
        lambda coded, row: _chosen(coded, row, "clipped", "rand"),
    ),
    Cause(
        "stands still",
        "and a round's steps go on until the cost stands still (by 1e-4; at most 100), where one step had been the rule",
        lambda coded, row: _unchanged(coded, row, "stands-still", "clipped"),
        since="clipped",
    ),
    Cause(
        "right axes",
        "steps are aligned, not channels",
        lambda coded, row: _unchanged(coded, row, "right-axes", "as-coded") if row.metric == "softdtw" else None,
    ),
    Cause(
        "Hamming", "columns that differ are counted, instead of the sigmoid of codes", _when("categorical", "hamming")
    ),
)


def _tell_others(page: Page, coded: CodedRuns) -> None:
    """Report renaming and axes in the other columns."""
    lines = []
    for row in coded.runs.rows:
        for method in USED_BY[row.kind]:
            cell = coded.cell(row, method)
            if method == "Soft-ECM" or cell.missing:
                continue
            axes = ""
            if row.metric == "softdtw" and method == "ECMdd" and (best := coded.table(row).chosen()) is not None:
                right = coded.evclust(row, method, best[0], swapped=False)
                axes = "" if right.missing else f"{np.mean(right.rand):.3f}"
            printed = str(RAND_INDEX[row.key][method])
            lines.append([row.title, method, printed, f"{cell.rand.mean():.3f}", f"{cell.plain.mean():.3f}", axes])
    page.text(
        "The other columns: Rand indices as coded, without the renaming, and with the axes of series as they are meant:"
    )
    page.table(["data", "method", "printed", "as coded", "not renamed", "right axes"], lines)
