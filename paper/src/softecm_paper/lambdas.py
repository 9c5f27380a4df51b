"""The paper's figure of N* over beta and lambda, with markers for merged clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from softecm.selection.result import Sweep
from softecm_paper.page import Page
from softecm_paper.protocols import PAPER
from softecm_paper.runs import Runs

ACROSS = 3  # panels side by side


def run(runs: Runs, command: str) -> Page:
    """Show the runs of the table in another way."""
    from matplotlib import pyplot as plt

    rows = runs.rows
    page = Page("N* over β and λ", command)
    runs.say_unavailable(page)
    page.text(PAPER.words)
    page.text(
        "N* is the nonspecificity that the paper minimises: 0 when every object is on one cluster, the empty set not "
        "counted. Hatched cells are those in which half of the runs or more have merged or empty clusters, or have not "
        "converged: their N* means nothing, and it is often the least."
    )
    down = math.ceil(len(rows) / ACROSS)
    figure, axes = plt.subplots(down, ACROSS, figsize=(13, 3.6 * down), layout="constrained", squeeze=False)
    lines = []
    for ax, row in zip(axes.flat, rows, strict=False):
        result = runs.sweep(row, "Soft-ECM", PAPER)
        result.heatmap("beta", "lam", "nonspecificity", ax=ax)
        ax.set(title=row.title, xlabel="β", ylabel="λ")
        lines.append([row.title, *_line(result)])
    for ax in axes.flat[len(rows) :]:
        ax.set_visible(False)
    caption = "Mean N* of Soft-ECM over the runs of each (β, λ); hatched: merged, empty or not converged."
    page.figure("lambda", figure, caption)
    page.table(["data", "runs", "merged", "least N*", "there", "least among sound cells, ∅ counted"], lines)
    page.text(
        "The paper sees no evident trend. There is one: N* falls as β nears 1, and it falls where λ has pulled all "
        "prototypes into one point, because then a set of two clusters costs 2^α times what either of them does. Neither "
        "says anything about the data, which is why the guarded rule leaves merged cells out."
    )
    return page


def _line(result: Sweep) -> list[str]:
    """Return the number of merged runs, the minimum of N*, and that of the guarded one."""
    merged = result["collapsed"].astype(float)
    least = result.best("paper")
    there = "merged" if np.mean(merged[least.rows]) > 0.5 else "apart"
    shown = f"{least.value:.2g} at {_at(least.params)}"
    try:
        best = result.best("nonspecificity")
        guarded = f"{best.value:.2g} at {_at(best.params)}"
    except ValueError:
        guarded = "none"
    return [str(len(result)), f"{merged.mean():.0%}", shown, there, guarded]


def _at(params: Mapping[str, float]) -> str:
    return f"β {params['beta']:g}, λ {params['lam']:g}"
