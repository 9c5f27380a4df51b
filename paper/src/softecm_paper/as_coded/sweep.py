"""The grid of a row, ten betas by ten lambdas by ten runs, one run of all settings after another, in a journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.files.journal import Journal
from softecm.selection.grid import digest
from softecm_paper.as_coded.choice import choose, nonspecificity
from softecm_paper.as_coded.distances import Distance, RawSoftDTWOfLongSeries, SumOfSquares
from softecm_paper.as_coded.labels import Labels, scored, single_labels
from softecm_paper.as_coded.optimiser import Outcome, Sets, Settings, optimise, starts
from softecm_paper.as_coded.preparing import Prepared, as_objects, distance_to
from softecm_paper.protocols import Grid
from softecm_paper.rows import Row

COLUMNS = ("rand", "accuracy", "plain", "pignistic", "n_star", "n_printed", "rounds", "lost")


@dataclass(frozen=True)
class Variant:
    """The changes to the coded settings; none by default."""

    key: str = "as-coded"
    settings: Settings = field(default_factory=Settings)
    replacement: bool = True  # starts may repeat
    codes: bool = True  # the sigmoid of codes for categories; False: the share of differing columns, relaxed
    swapped: bool = field(default=True, repr=False)  # channels and steps of series; part of the key in journals


@dataclass(frozen=True, eq=False)
class Table:
    """All runs of a row: one value per run in each column."""

    beta: NDArray[np.float64]
    lam: NDArray[np.float64]
    columns: dict[str, NDArray[np.float64]]

    def chosen(self, column: str = "n_star") -> tuple[float, float, float] | None:
        """Return the setting selected by the rule, and its value."""
        return choose(self.beta, self.lam, self.columns[column])

    def at(self, beta: float, lam: float, column: str) -> NDArray[np.float64]:
        """Return the runs of one setting."""
        values: NDArray[np.float64] = self.columns[column][(self.beta == beta) & (self.lam == lam)]
        return values


def run_row(
    row: Row,
    data: Prepared,
    grid: Grid,
    seeds: Sequence[int],
    journal: Path,
    variant: Variant,
    done: Callable[[int], object] = lambda n: None,
    only: tuple[float, float] | None = None,
) -> Table:
    """Return all runs of a row, from the journal if available.

    Parameters
    ----------
    done : called with the number of runs as they finish
    only : a single (beta, lam) of the grid to run, from its starts in the whole grid
    """
    settings = [(b, k) for b in grid["beta"] for k in grid["lam"]]
    chosen = list(range(len(settings))) if only is None else [settings.index(only)]
    beta, lam = (np.array(values) for values in zip(*(settings[i] for i in chosen), strict=True))
    work = {"data": digest(data.numbers, data.y), "grid": repr((beta.tolist(), lam.tolist(), row.metric, variant))}
    items = {seed: f"run {seed}" for seed in seeds}
    with Journal(journal, work) as book:
        for seed, item in items.items():
            if item not in book.done:
                drawn = draw(len(data.y), len(settings), row.n_clusters, seed, replacement=variant.replacement)[chosen]
                outcome, sets = _solve(row, data, beta, lam, drawn, variant)
                book.write([item], [_judge(outcome, sets, data.y)])
            done(len(beta))
        rows = [book.done[item] for item in items.values()]
    columns = {name: np.concatenate([np.array(r[name], dtype=np.float64) for r in rows]) for name in COLUMNS}
    return Table(np.tile(beta, len(seeds)), np.tile(lam, len(seeds)), columns)


def _solve(
    row: Row,
    data: Prepared,
    beta: NDArray[np.float64],
    lam: NDArray[np.float64],
    drawn: NDArray[np.intp],
    variant: Variant,
) -> tuple[Outcome, Sets]:
    """Run every setting once, each from its own start."""
    distance, sets = _distance(row, data, variant), Sets(row.n_clusters)
    v = starts(distance.x, sets, drawn)
    return optimise(distance, sets, v, torch.as_tensor(beta), torch.as_tensor(lam), variant.settings), sets


def draw(n: int, runs: int, c: int, seed: int, *, replacement: bool) -> NDArray[np.intp]:
    """Return the initial objects of runs; the experiments had no seed, ours is the number of the run."""
    rng = np.random.RandomState(seed)
    if replacement:
        return rng.randint(n, size=(runs, c)).astype(np.intp)
    return np.stack([rng.permutation(n)[:c] for _ in range(runs)])


def _distance(row: Row, data: Prepared, variant: Variant) -> Distance:
    if row.kind == "categorical" and not variant.codes:
        columns = [column[:, None] == np.unique(column) for column in data.X.T]
        return SumOfSquares(as_objects(np.hstack(columns) / np.sqrt(2.0)))
    if row.metric == "softdtw" and not variant.swapped:
        return RawSoftDTWOfLongSeries(as_objects(data.numbers))
    return distance_to(row, data)


def _judge(outcome: Outcome, sets: Sets, y: Labels) -> dict[str, list[float | None]]:
    """Return the columns of a journal's line; None for NaN."""
    masses = outcome.masses.numpy()
    shares = sets.members / sets.sizes[:, None]
    columns: dict[str, list[float | None]] = {name: [] for name in COLUMNS}
    stars = {"n_star": nonspecificity(masses, sets), "n_printed": nonspecificity(masses, sets, with_empty=False)}
    for name, values in stars.items():
        columns[name] = [None if np.isnan(value) else round(float(value), 6) for value in values]
    for own, every in zip(masses[:, :, 1 + sets.singles], masses[:, :, 1:] @ shares, strict=True):
        for name, value in scored(y, single_labels(own)).items():
            columns[name].append(value)
        columns["pignistic"].append(scored(y, single_labels(every))["rand"])
        columns["lost"].append(round(float(np.isnan(own).any(1).mean()), 3))
    columns["rounds"] = [int(value) for value in outcome.rounds]
    return columns


VARIANTS = {
    variant.key: variant
    for variant in (
        Variant(),
        Variant("clipped", settings=Settings(clipped=True)),
        Variant("no-repeats", replacement=False),
        Variant("hamming", codes=False),
        Variant("stands-still", settings=Settings(clipped=True, steps=100, step_tol=1e-4)),
        Variant("right-axes", swapped=False),
    )
}
AS_CODED = VARIANTS["as-coded"]
