"""The Diamond as it was coded: 20 iterations of Adam from two random objects, and the results for objects 6 and 7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from softecm_paper.as_coded.distances import SumOfSquares
from softecm_paper.as_coded.optimiser import Sets, Settings, optimise, starts
from softecm_paper.as_coded.preparing import as_objects
from softecm_paper.as_coded.sweep import draw
from softecm_paper.page import Page
from softecm_paper.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STARTS = 1000
LAMS = (1.5, 3.5)
SETTINGS = Settings(alpha=1 / 6, delta=11.0)
PLACES = ("∅", "one cluster", "Ω")


def run(runs: Runs, command: str) -> Page:
    """Return the page of this protocol alone."""
    page = Page("The Diamond, as coded", command)
    _add(page)
    return page


def with_others(run_others: Callable[[Runs, str], Page]) -> Callable[[Runs, str], Page]:
    """Return the usual page, then the results of the coded optimiser."""

    def run_all(runs: Runs, command: str) -> Page:
        page = run_others(runs, command)
        _add(page)
        return page

    return run_all


def masses(lam: float, n_starts: int = STARTS) -> NDArray[np.float32]:
    """Return the masses of the twelve objects from every start: (starts, objects, sets), in the order ∅, ω2, ω1, Ω."""
    from softecm.datasets import load_diamond

    x, sets = as_objects(np.asarray(load_diamond().data)), Sets(2)
    v = starts(x, sets, draw(len(x), n_starts, 2, 0, replacement=True))
    beta = torch.full((n_starts,), 2.0, dtype=torch.float64)
    solution = optimise(SumOfSquares(x), sets, v, beta, torch.full_like(beta, lam), SETTINGS)
    values: NDArray[np.float32] = solution.masses.numpy()
    return values


def shares(runs: NDArray[np.float32], number: int) -> dict[str, float]:
    """Return the shares of starts with an object's largest mass on the empty set, on one cluster, on both."""
    places = Counter(PLACES[(0, 1, 1, 2)[k]] for k in runs[:, number - 1].argmax(1))
    return {place: places[place] / len(runs) for place in PLACES}


def _add(page: Page) -> None:
    page.heading("As coded")
    page.text(
        "The authors' public code has the settings that the paper leaves open: Adam with a rate of 0.1, restarted in "
        "each of at most 20 rounds and stopped when the cost changes by less than a tenth; two objects drawn with "
        f"replacement as initial prototypes. From {STARTS} such draws, objects 6 and 7 have their largest mass on:"
    )
    masses_by_lambda = {lam: masses(lam) for lam in LAMS}
    lines = []
    for lam, values in masses_by_lambda.items():
        for number in (6, 7):
            where = shares(values, number)
            lines.append([f"λ = {lam:g}", f"object {number}", *(f"{where[place]:.0%}" for place in PLACES)])
            page.facts[f"object {number} on one cluster at {lam:g}"] = round(where["one cluster"], 3)
    page.table(["", "", *PLACES], lines)
    page.text(
        "So the panels of the paper are what some starts show and others don't: a larger λ makes it likelier that object 6 "
        "is on one cluster, and the draw decides."
    )
    caption = "As coded: masses of the twelve objects from three starts, λ = 1.5 above and 3.5 below."
    page.figure("diamond_coded", _figure(masses_by_lambda), caption)


def _figure(masses_by_lambda: dict[float, NDArray[np.float32]]) -> Figure:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        len(masses_by_lambda), 3, figsize=(14, 6), layout="constrained", sharex=True, sharey=True
    )
    numbers = np.arange(1, 13)
    for row, (lam, values) in zip(axes, masses_by_lambda.items(), strict=True):
        for start, ax in enumerate(row):
            for column, (name, marker) in enumerate((("∅", "^"), ("ω2", "s"), ("ω1", "o"), ("Ω", "d"))):
                ax.plot(numbers, values[start, :, column], marker=marker, label=name)
            ax.set(title=f"λ = {lam:g}, start {start + 1}", xlabel="object", ylabel="mass", xticks=numbers)
    axes[0, 0].legend(fontsize=8)
    return figure
