"""Cylinder, Bell and Funnel as it was coded: short series, raw Soft-DTW, and Adam at a rate that moves almost nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.files.journal import Journal
from softecm.selection.grid import digest
from softecm_paper.as_coded.distances import Distance, RawSoftDTWOfLongSeries, SumOfSquares
from softecm_paper.as_coded.optimiser import Sets, Settings, optimise, starts
from softecm_paper.as_coded.preparing import as_objects
from softecm_paper.as_coded.progress import bar, says_where_to_continue
from softecm_paper.as_coded.sweep import draw
from softecm_paper.page import Page
from softecm_paper.runs import Options, Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EACH, LENGTH, NOISE = 50, 40, 0.2
KINDS = ("bell", "funnel", "cylinder")
STARTS = 6


@dataclass(frozen=True)
class Panel:
    """A distance and the experiment's settings for it."""

    distance: type[Distance]
    lam: float
    settings: Settings


PANELS = {
    "L2": Panel(SumOfSquares, 1.5, Settings(1.0, 600.0, rate=1e-3, steps=40, step_tol=1e-3, rounds=100)),
    "Soft-DTW": Panel(RawSoftDTWOfLongSeries, 1.0, Settings(1.0, 300.0, rate=1e-3, steps=50, step_tol=1e-3, rounds=80)),
}


def run(runs: Runs, command: str) -> Page:
    """Return the page of this protocol alone."""
    page = Page("Cylinder, Bell, Funnel, as coded", command)
    _add(page, runs.options)
    return page


def with_others(run_others: Callable[[Runs, str], Page]) -> Callable[[Runs, str], Page]:
    """Return the usual page, then the results of the coded settings."""

    def run_all(runs: Runs, command: str) -> Page:
        page = run_others(runs, command)
        _add(page, runs.options)
        return page

    return run_all


def series(seed: int) -> NDArray[np.float64]:
    """Generate bells, funnels, cylinders of 40 steps: noise 0.2, and a shape of about 20 steps and height 10.

    The shape begins at step 4 to 9, and is truncated at the end.
    """
    rng = np.random.RandomState(seed)
    data = rng.normal(0, NOISE, (3 * EACH, LENGTH))
    for i, row in enumerate(data):
        first = 4 + rng.randint(0, 6)
        steps = max(1, int(np.ceil(rng.normal(20, 5))))
        t = np.arange(steps) / steps
        form = {"bell": t, "funnel": t[::-1], "cylinder": np.ones(steps)}[KINDS[i // EACH]]
        shape = rng.normal(0, NOISE, steps) + rng.normal(10, 0.4) * form
        room = min(steps, LENGTH - first)
        row[first : first + room] = shape[:room]
    return data


def solve(data: NDArray[np.float64], panel: Panel, drawn: NDArray[np.intp]) -> dict[str, list[Any]]:
    """Return the masses from one start (clusters,), and the largest change of a prototype's coordinate."""
    x, sets = as_objects(data), Sets(3)
    v = starts(x, sets, drawn[None])
    beta = torch.tensor([2.0], dtype=torch.float64)
    solution = optimise(panel.distance(x), sets, v, beta, torch.full_like(beta, panel.lam), panel.settings)
    way = float((solution.prototypes - v).abs().max())
    return {"masses": np.round(solution.masses[0].double().numpy(), 5).tolist(), "way": [way]}


def solve_all(data: NDArray[np.float64], name: str, drawn: NDArray[np.intp], options: Options) -> list[dict[str, Any]]:
    """Return the results of all starts, from the journal if available."""
    panel, items = PANELS[name], [f"start {k}" for k in range(len(drawn))]
    path = options.journals / f"cbf-as-coded-{name}-{len(drawn)}.jsonl"
    work = {"data": digest(data, drawn), "panel": repr(panel.settings)}
    text = f"Cylinder, Bell, Funnel, {name}, as coded"
    with (
        says_where_to_continue(path),
        Journal(path, work) as book,
        bar(text, len(drawn), shown=options.progress) as done,
    ):
        for item, start in zip(items, drawn, strict=True):
            if item not in book.done:
                book.write([item], [solve(data, panel, start)])
            done(1)
        return [dict(book.done[item]) for item in items]


def _add(page: Page, options: Options) -> None:
    from softecm.scores import adjusted_rand_index

    page.heading("As coded")
    page.text(
        f"The authors' public code has the settings of this figure: {EACH} series a kind of {LENGTH} steps, heights of "
        f"10 ± 0.4, shapes of 20 ± 5 steps that begin at step 4 to 9, noise of {NOISE:g}; α = 1, β = 2, pairs. Soft-DTW: "
        "λ = 1, δ = 300, γ = 0.1, Adam with a rate of 0.001, at most 50 steps in each of at most 80 rounds. L2: λ = 1.5, "
        f"δ = 600, 40 steps in 100 rounds. Ours are {STARTS} starts, by how many kinds the three drawn series are of."
    )
    data, kinds = series(0), np.repeat(np.arange(3), EACH)
    drawn = draw(len(data), STARTS, 3, 0, replacement=True)
    counts = np.array([len(set(row // EACH)) for row in drawn])
    lines, shown = [], {}
    for name in PANELS:
        runs_of_panel = solve_all(data, name, drawn, options)
        shown[name] = np.array([run["masses"] for run in runs_of_panel])
        labels = shown[name][:, :, 1 + Sets(3).singles].argmax(2)
        scores = np.array([adjusted_rand_index(kinds, row) for row in labels])
        for count in np.unique(counts):
            here = scores[counts == count]
            way = max(run["way"][0] for run, c in zip(runs_of_panel, counts, strict=True) if c == count)
            lines.append([name, str(count), str(len(here)), f"{here.mean():.2f}", f"{here.max():.2f}", f"{way:.2f}"])
        page.facts[f"as coded, {name}"] = round(float(scores.mean()), 4)
    head = ["distance", "kinds drawn", "starts", "adjusted Rand index, mean", "best", "largest move of a coordinate"]
    page.table(head, lines)
    page.text(
        "Three drawn series are of three kinds in two draws of nine. With L2 the prototypes hardly move at this rate, "
        "heights being 10, so that the masses are those of the drawn series. Masses above 1 and below 0 come from "
        "distances below 0."
    )
    at = int(counts.argmax())
    caption = "As coded: masses from the first start with most kinds."
    page.figure("cbf_coded", _figure({name: masses[at] for name, masses in shown.items()}), caption)


def _figure(shown: dict[str, NDArray[np.float64]]) -> Figure:
    from matplotlib import pyplot as plt

    members = Sets(3).members
    names = ["∅", *("".join(f"ω{k + 1}" for k in np.flatnonzero(row)) for row in members)]
    figure, axes = plt.subplots(len(shown), 1, figsize=(11, 3.4 * len(shown)), layout="constrained")
    for ax, (title, masses) in zip(axes, shown.items(), strict=True):
        for column, name in enumerate(names):
            ax.plot(np.arange(1, len(masses) + 1), masses[:, column], marker=".", label=name)
        for end in (EACH, 2 * EACH):
            ax.axvline(end + 0.5, color="0.6", linewidth=0.8)
        ax.set(title=title, xlabel="object: bells, funnels, cylinders", ylabel="mass")
    axes[0].legend(fontsize=8, ncols=4)
    return figure
