"""Table 2 as it was coded: every cell beside the printed one, the three protocols side by side, and the causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softecm_paper.as_coded.causes import tell_causes
from softecm_paper.as_coded.runs import Cell, CodedRuns
from softecm_paper.as_coded.sweep import Table
from softecm_paper.page import MET, UNMET, Page
from softecm_paper.paper import ACCURACY, METHODS, RAND_INDEX, Printed
from softecm_paper.protocols import PROTOCOLS
from softecm_paper.rows import Row
from softecm_paper.runs import USED_BY, Runs
from softecm_paper.table import footnotes

HALVES = (("Rand index", "rand", RAND_INDEX), ("Accuracy", "accuracy", ACCURACY))
NEAR, DEVIATIONS = 0.03, 2.0
REPLAYS = 4  # of a row with a cell that does not agree
ALIKE = 0.015  # of a mean or a deviation, for columns that seem swapped
Cells = dict[tuple[str, str], Cell]  # (row, method)


class Unmet(NamedTuple):
    """A printed number that is not reproduced."""

    row: Row
    method: str
    half: str
    values: NDArray[np.float64]
    printed: Printed


def run(runs: Runs, command: str) -> Page:
    """Return the page of this protocol alone."""
    page = Page("Table 2, as coded", command)
    coded = CodedRuns(runs)
    _as_coded(page, coded)
    runs.say_unavailable(page)
    return page


def with_others(run_others: Callable[[Runs, str], Page]) -> Callable[[Runs, str], Page]:
    """Return the table of the other protocols, then this one, then all side by side and the causes of differences."""

    def run_all(runs: Runs, command: str) -> Page:
        page = run_others(runs, command)
        coded = CodedRuns(runs)
        cells = _as_coded(page, coded)
        _side_by_side(page, coded, cells)
        tell_causes(page, coded)
        return page

    return run_all


def _as_coded(page: Page, coded: CodedRuns) -> Cells:
    """Add both halves of the table, the number of cells reproduced, and the others."""
    rows = coded.runs.rows
    page.heading("As coded")
    page.text(
        "What the authors' public experiment code does, imitated step by step: raw data, categories as the numbers of "
        "their sorted values, series with channels and steps swapped; c objects drawn with replacement as starts; masses "
        "and Adam in single precision, with that code's way of stopping; the label of most mass on a single cluster; "
        "clusters renamed to the majority class of their members before any score is taken; (β, λ) of least mean N*, the "
        "empty set counted; the other evidential methods by evclust for Python at the β that Soft-ECM's choice took; ten "
        f"runs each. {MET}: our mean is within max({NEAR}, {DEVIATIONS:g} printed deviations) of the printed one, which "
        "stands in brackets."
    )
    cells = {(row.key, method): coded.cell(row, method) for row in rows for method in USED_BY[row.kind]}
    met, unmet = {method: [0, 0] for method in METHODS}, []
    for title, name, printed in HALVES:
        lines = []
        for row in rows:
            line = [row.title]
            for method in METHODS:
                cell = cells.get((row.key, method))
                if cell is None or cell.missing:
                    line.append("-" if cell is None else "")
                    continue
                values, number = getattr(cell, name), printed[row.key][method]
                line.append(f"{_agreed(values, number)} [{number}]")
                met[method][0] += agrees(values, number)
                met[method][1] += 1
                if not agrees(values, number):
                    unmet.append(Unmet(row, method, title, values, number))
            lines.append(line)
        page.table([title, *METHODS], lines)
    footnotes(page, {m: c.missing for (_, m), c in cells.items() if c.missing})
    total = np.array(list(met.values())).sum(0)
    by_method = ", ".join(f"{method} {a} of {b}" for method, (a, b) in met.items() if b)
    page.text(f"Met: **{total[0]} of {total[1]}** printed cells ({total[0] / max(total[1], 1):.0%}): {by_method}.")
    page.facts["as_coded"] = {"met": int(total[0]), "of": int(total[1]), "soft_ecm": met["Soft-ECM"][0]}
    _tell_unmet(page, coded, cells, unmet)
    _tell_choices(page, coded)
    return cells


def agrees(values: NDArray[np.float64], printed: Printed) -> bool:
    """Whether a mean is close enough to the printed one."""
    return bool(abs(values.mean() - printed.mean) <= max(NEAR, DEVIATIONS * printed.deviation) + 1e-9)


def _agreed(values: NDArray[np.float64], printed: Printed) -> str:
    return f"{MET if agrees(values, printed) else UNMET} {_shown(values)}"


def _shown(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.2f} ({_deviation(values):.2f})"


def _deviation(values: NDArray[np.float64]) -> float:
    """Return the deviation as computed by R; 0 for a single run."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _tell_unmet(page: Page, coded: CodedRuns, cells: Cells, unmet: list[Unmet]) -> None:
    if not unmet:
        return
    page.heading("Printed cells that are not met")
    lines = [
        [cell.row.title, cell.method, cell.half, str(cell.printed), _shown(cell.values), _reason(coded, cells, cell)]
        for cell in unmet
    ]
    page.table(["data", "method", "score", "printed", "as coded", "what we know"], lines)


def _reason(coded: CodedRuns, cells: Cells, cell: Unmet) -> str:
    """Return a measured reason, or that the cell is unexplained."""
    other = exchanged(cells, cell.row, cell.method)
    if other:
        ours = cells[cell.row.key, other]
        return (
            f"the columns {cell.method} and {other} seem to have changed places in this row: ours of {other} is "
            f"{_shown(ours.rand)} and {_shown(ours.accuracy)}, and what is printed for {other} is ours of {cell.method}"
        )
    accuracy, rand = ACCURACY[cell.row.key][cell.method], RAND_INDEX[cell.row.key][cell.method]
    if accuracy.mean == 1.0 and accuracy.deviation == 0.0 and rand.mean < 1.0:
        return "the printed pair can't be: an accuracy of 1.00 (0.00) leaves no other Rand index than 1"
    if cell.method != "Soft-ECM":
        return "open"
    table = coded.table(cell.row)
    most = attainable(table.columns["accuracy"], table.columns["rand"], accuracy.mean)
    if cell.half == "Rand index" and most < rand.mean - NEAR:
        return (
            f"the printed pair is out of reach: no ten of our {len(table.beta)} runs with a mean accuracy of "
            f"{accuracy.mean:.2f} could have a mean Rand index above {most:.2f}"
        )
    column = "rand" if cell.half == "Rand index" else "accuracy"
    candidates = []
    for replay in range(1, 1 + REPLAYS):
        again = coded.table(cell.row, replay=replay)
        best = again.chosen()
        candidates.append(np.empty(0) if best is None else again.at(best[0], best[1], column))
    near = sum(agrees(values, cell.printed) for values in candidates if len(values))
    means = ", ".join(f"{values.mean():.3f}" for values in candidates if len(values))
    spread = _spreads(table, column).min()
    alike = f"; the runs of no setting are more alike than {spread:.3f}" if spread > cell.printed.deviation else ""
    return f"{'chance' if near else 'open'}: the whole experiment from other starts gives {means}{alike}"


def exchanged(cells: Cells, row: Row, method: str) -> str:
    """Return the method whose printed numbers are ours of this one, and vice versa; "" if there is none."""
    for other in USED_BY[row.kind]:
        pairs = ((method, other), (other, method)) if other != method else ()
        agreements = [
            _close(getattr(cells[row.key, ours], name), printed[row.key][theirs])
            for theirs, ours in pairs
            for _, name, printed in HALVES
            if not cells[row.key, ours].missing
        ]
        if len(agreements) == 4 and all(agreements):
            return other
    return ""


def _close(values: NDArray[np.float64], printed: Printed) -> bool:
    """Whether mean and deviation are the printed ones up to the last digit."""
    return bool(abs(values.mean() - printed.mean) <= ALIKE and abs(_deviation(values) - printed.deviation) <= ALIKE)


def attainable(x: NDArray[np.float64], y: NDArray[np.float64], at: float) -> float:
    """Return the largest mean of ``y`` in any mixture of these points whose ``x`` has the mean ``at``."""
    points = np.unique(np.column_stack([x, y]), axis=0)
    low, high = points[points[:, 0] <= at], points[points[:, 0] >= at]
    if not len(low) or not len(high):
        return float("nan")
    gap = high[None, :, 0] - low[:, None, 0]
    share = np.divide(at - low[:, None, 0], gap, out=np.zeros_like(gap), where=gap > 0)
    return float(((1 - share) * low[:, None, 1] + share * high[None, :, 1]).max())


def _spreads(table: Table, column: str) -> NDArray[np.float64]:
    """Return the deviation of every setting's runs."""
    settings = sorted(set(zip(table.beta.tolist(), table.lam.tolist(), strict=True)))
    return np.array([_deviation(table.at(beta, lam, column)) for beta, lam in settings])


def _tell_choices(page: Page, coded: CodedRuns) -> None:
    """Report the selected setting, its number of iterations, and our own estimators' results at that beta."""
    page.heading("What was chosen, and how long the runs were")
    lines = []
    for row in coded.runs.rows:
        table, best = coded.table(row), coded.table(row).chosen()
        if best is None:
            lines.append([row.title, "-", "-", "-", "-", "-"])
            continue
        at = [table.at(best[0], best[1], name) for name in ("rounds", "lost")]
        first = float((table.columns["rounds"][table.beta < 2] == 1).mean())
        lost = f"{at[1].mean():.0%}; in {(table.columns['lost'] > 0).mean():.0%} of all runs some"
        lines.append(
            [row.title, f"β {best[0]:g}, λ {best[1]:g}", f"{best[2]:.3f}", f"{at[0].mean():.1f}", f"{first:.0%}", lost]
        )
    head = ["data", "chosen", "N*", "rounds of the chosen runs", "runs with β < 2 that end after one round"]
    page.table([*head, "objects without a number"], lines)
    page.text(
        "One round means that the masses are those of the initialization: the prototypes have not moved yet. Rounds end so "
        "early because the mass left for the empty set, one minus the rounded sum of the others, is often −6·10⁻⁸ in single "
        "precision; raised to a non-integer β it is NaN, and a comparison with NaN reports no change. With β = 2 this does "
        "not happen."
    )
    lines = []
    for row in coded.runs.rows:
        best = coded.table(row).chosen()
        for method in (m for m in USED_BY[row.kind] if m in ("ECM", "ECMdd", "CatECM")):
            if best is None:
                continue
            theirs, ours = coded.cell(row, method), coded.ours(row, method, best[0])
            shown = ["" if cell.missing else _shown(cell.rand) for cell in (theirs, ours)]
            plain = ["" if cell.missing else _shown(cell.plain) for cell in (theirs, ours)]
            lines.append([row.title, f"{method}, β {best[0]:g}", *shown, *plain])
    page.table(["data", "method", "evclust, renamed", "ours, renamed", "evclust, plain", "ours, plain"], lines)


def _side_by_side(page: Page, coded: CodedRuns, cells: Cells) -> None:
    """Add three protocols, renamed and plain Rand index and accuracy of each, one line per printed cell."""
    page.heading("Three protocols side by side")
    page.text(
        "Rand index after clusters are renamed to their majority class, as the paper's was taken, then of the clusters as "
        f"they are, then accuracy. {MET} and {UNMET}: whether a mean agrees with the printed one, as above. A protocol that "
        "finds better clusters than the paper's runs is marked as not agreeing, too."
    )
    names = ["as coded", *(protocol.title for protocol in PROTOCOLS)]
    lines, met = [], np.zeros((2, len(names)), dtype=int)
    for row in coded.runs.rows:
        for method in USED_BY[row.kind]:
            row_cells = [cells[row.key, method], *(coded.beside(row, method, protocol) for protocol in PROTOCOLS)]
            rand, accuracy = RAND_INDEX[row.key][method], ACCURACY[row.key][method]
            lines.append(
                [
                    row.title,
                    method,
                    str(rand),
                    *("" if c.missing else _agreed(c.rand, rand) for c in row_cells),
                    *("" if c.missing else _shown(c.plain) for c in row_cells),
                    str(accuracy),
                    *("" if c.missing else _agreed(c.accuracy, accuracy) for c in row_cells),
                ]
            )
            for k, cell in enumerate(row_cells):
                if not cell.missing:
                    met[:, k] += agrees(cell.rand, rand), agrees(cell.accuracy, accuracy)
    head = [
        "data",
        "method",
        "Rand, printed",
        *names,
        *(f"{name}, plain" for name in names),
        "accuracy, printed",
        *names,
    ]
    page.table(head, lines)
    by_protocol = "; ".join(
        f"{name} {met[0, k]} Rand indices and {met[1, k]} accuracies" for k, name in enumerate(names)
    )
    page.text(f"Of {len(lines)} printed cells in each half agree: {by_protocol}.")
