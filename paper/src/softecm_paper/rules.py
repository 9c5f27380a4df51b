"""Comparison of selection rules, judged by the classes but selecting without them."""

from __future__ import annotations

import numpy as np

from softecm.selection.result import Sweep
from softecm.selection.rules import RULES as ALL_RULES
from softecm.selection.sweeping import sweep
from softecm_paper.page import Page
from softecm_paper.protocols import RECOMMENDED
from softecm_paper.rows import Row
from softecm_paper.runs import Runs

RULES = {
    name: rule for name, rule in ALL_RULES.items() if name != "valleys"
}  # that one counts clusters: here c is given
GRID = {"beta": [1.1, 1.2, 1.3, 1.5, 2.0], "lam": [0.1, 1.0, 10.0]}
SLOW_GRID = {"beta": [1.1, 1.2, 1.3], "lam": [0.1, 1.0]}
SEEDS, RESAMPLES = 3, 10
SLOW_SEEDS, SLOW_RESAMPLES = 1, 4


def run(runs: Runs, command: str) -> Page:
    """Return one sweep per row, and the score of every rule's choice."""
    rows = [row for row in runs.rows if not row.is_slow or runs.options.grid == "full"]
    page = Page("Which rule finds the better partition?", command)
    page.text(
        "Data scaled as recommended, Soft-ECM with α = 1, no empty set and the paper's penalty, "
        f"β of {_list(GRID['beta'])} and λ of {_list(GRID['lam'])}, {SEEDS} seeds. Every rule chooses one (β, λ) without "
        "classes; the number is the mean adjusted Rand index of its runs (1: the classes themselves, 0: no better than "
        "chance). *Any*: the mean over the whole grid, which is what choosing blindly gives. *Best*: the largest there "
        "is, known only with the classes at hand. †: most runs of that choice have merged clusters, which all rules but "
        "the paper's refuse."
    )
    runs.say_unavailable(page)
    sweeps = {row.key: _sweep(runs, row) for row in rows}
    judged = {row.title: judge(sweeps[row.key]) for row in rows}
    if judged:
        names = [*RULES, "any", "best"]
        means = {name: float(np.mean([np.nan_to_num(numbers[name]) for numbers in judged.values()])) for name in names}
        merged = {row.title: _merged(sweeps[row.key]) for row in rows}
        lines = [[title, *(_shown(n, judged[title], n in merged[title]) for n in names)] for title in judged]
        page.table(["data", *names], [*lines, ["mean", *(f"{means[name]:.2f}" for name in names)]])
        page.text("A rule that trusts nothing counts as 0 in the mean.")
        page.facts["mean_adjusted_rand"] = means
    page.table(["rule", "what it wants"], [[f"`{name}`", rule.text] for name, rule in RULES.items()])
    return page


def judge(sweep: Sweep) -> dict[str, float]:
    """Return the adjusted Rand index of every rule's choice; NaN if a rule finds no sound run."""
    score = sweep["adjusted_rand_index"].astype(float)
    numbers: dict[str, float] = {}
    for name in RULES:
        try:
            numbers[name] = float(score[sweep.best(name).rows].mean())
        except ValueError:
            numbers[name] = float("nan")
    groups: dict[tuple[float, float], list[float]] = {}
    for beta, lam, value in zip(sweep["beta"], sweep["lam"], score, strict=True):
        groups.setdefault((beta, lam), []).append(value)
    return {**numbers, "any": float(score.mean()), "best": max(float(np.mean(group)) for group in groups.values())}


def _sweep(runs: Runs, row: Row) -> Sweep:
    data, options = runs.objects(row, RECOMMENDED), runs.options
    name = f"{row.title}, rules"
    return sweep(
        {name: data.X},
        SLOW_GRID if row.is_slow else GRID,
        estimator={name: RECOMMENDED.estimator(row, "Soft-ECM", options.device)},
        y={name: data.y},
        seeds=SLOW_SEEDS if row.is_slow else SEEDS,
        resamples=SLOW_RESAMPLES if row.is_slow else RESAMPLES,
        journal=options.journals / f"{row.key}-rules.jsonl",
        progress=options.progress,
    )


def _merged(sweep: Sweep) -> set[str]:
    """Return the rules whose choice has mostly merged clusters."""
    marked = set()
    for name, rule in RULES.items():
        if not rule.guarded and sweep["collapsed"][sweep.best(name).rows].astype(float).mean() > 0.5:
            marked.add(name)
    return marked


def _shown(name: str, numbers: dict[str, float], merged: bool) -> str:
    value = round(numbers[name], 2) + 0.0  # no negative zero
    if np.isnan(value):
        return "none to trust"
    top = max(numbers[rule] for rule in RULES if not np.isnan(numbers[rule]))
    shown = f"{value:.2f}" + (" †" if merged else "")
    return f"**{shown}**" if name in RULES and value >= round(top, 2) else shown


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
