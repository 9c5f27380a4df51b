"""The runs behind the table: each once, saved in a journal, shared by all experiments."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm.files.journal import Journal
from softecm.selection.grid import digest
from softecm.selection.result import Best, Sweep
from softecm.selection.sweeping import sweep
from softecm_paper.page import Page
from softecm_paper.protocols import PAPER, PLAIN, Protocol
from softecm_paper.rows import Objects, Row

HARD = {"K-Means": "kmeans", "K-Modes": "kmodes", "TSKmeans": "timeseries-kmeans"}
USED_BY = {
    "numerical": ("ECM", "ECMdd", "Soft-ECM", "K-Means"),
    "categorical": ("ECMdd", "CatECM", "Soft-ECM", "K-Modes"),
    "series": ("ECMdd", "Soft-ECM", "TSKmeans"),
}
FEWER_SEEDS = 5  # of a Soft-DTW row in the small grid


@dataclass(frozen=True)
class Options:
    """The user's options."""

    rows: tuple[Row, ...]
    journals: Path
    grid: str = "auto"
    seeds: int = 10
    device: str = "auto"
    progress: bool = False
    protocol: str = "all"

    def seeds_of(self, row: Row) -> int:
        """Return ten, or as requested; at most five if a run takes seconds and the grid is small."""
        return min(self.seeds, FEWER_SEEDS) if row.is_slow and self.grid != "full" else self.seeds


@dataclass(frozen=True, eq=False)
class Result:
    """The results of a method on a row: one number per seed, and the sweep they were selected from."""

    rand_index: NDArray[np.float64]
    accuracy: NDArray[np.float64]  # purity, as printed by the paper
    matched: NDArray[np.float64]  # accuracy by the best one-to-one matching
    sweep: Sweep | None = None
    best: Best | None = None
    missing: str = ""  # reason for a missing number

    @cached_property
    def merged(self) -> bool:
        """Whether most of the selected runs have merged clusters."""
        if self.sweep is None or self.best is None:
            return False
        return bool(self.sweep["collapsed"][self.best.rows].astype(float).mean() > 0.5)


def absent(why: str) -> Result:
    """Return a result without a number, with the reason."""
    none = np.empty(0)
    return Result(none, none, none, missing=why)


class Runs:
    """All runs for some options; each is computed once."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._objects: dict[tuple[str, str], Objects] = {}
        self._sweeps: dict[tuple[str, str, str, float | None], Sweep] = {}
        self.unavailable: dict[str, str] = {}  # a row's title, and how to get its data

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The requested rows with available data; if there are none, raises the first one's error."""
        had, error = [], None
        for row in self.options.rows:
            try:
                self.objects(row, PAPER)
                had.append(row)
            except (ImportError, OSError, ValueError) as problem:
                error = error or problem
                self.unavailable[row.title] = str(problem)
        if error is not None and not had:
            raise error
        return tuple(had)

    def say_unavailable(self, page: Page) -> None:
        """Report rows skipped because of unavailable data, and how to get these."""
        for title, why in self.unavailable.items():
            page.text(f"**{title} is left out:** {why}")

    def objects(self, row: Row, protocol: Protocol) -> Objects:
        """Return a row's data for a protocol; the error for a missing data set says how to get it."""
        key = (row.loader.__name__, protocol.key)
        if key not in self._objects:
            self._objects[key] = protocol.load(row)
        return self._objects[key]

    def result(self, row: Row, method: str, protocol: Protocol) -> Result:
        """Return the results of a method on a row."""
        if method in HARD:
            return self._hard(row, method, protocol)
        for beta in (None, *([protocol.instead] if protocol.instead is not None else [])):
            result = self.sweep(row, method, protocol, beta)
            try:
                best = result.best(protocol.rule)
                break
            except ValueError:
                continue
        else:
            return absent("all merged")
        rows = best.rows
        return Result(result["rand_index"][rows], result["purity"][rows], result["accuracy"][rows], result, best)

    def sweep(self, row: Row, method: str, protocol: Protocol, beta: float | None = None) -> Sweep:
        """Return all runs of an evidential method on a row; with ``beta`` instead of the protocol's."""
        key = (row.key, method, protocol.key, beta)
        if key not in self._sweeps:
            data, options = self.objects(row, protocol), self.options
            grid = dict(protocol.small if method == PLAIN else protocol.grid(row, options.grid))
            if beta is not None:
                grid["beta"] = [beta]
            if method not in ("Soft-ECM", PLAIN):
                grid.pop("lam")
            X = data.X.reshape(len(data.X), -1) if method == PLAIN and row.kind == "series" else data.X
            name = f"{row.title}, {method}, {protocol.title}"
            result = sweep(
                {name: X},
                grid,
                estimator={name: protocol.estimator(row, method, options.device)},
                y={name: data.y},
                seeds=options.seeds_of(row),
                journal=self._journal(row, method, protocol, beta),
                progress=options.progress,
            )
            self._sweeps[key] = result
        return self._sweeps[key]

    def _journal(self, row: Row, method: str, protocol: Protocol, beta: float | None = None) -> Path:
        """Return a separate file for every combination of choices."""
        options = self.options
        cells = "x".join(str(len(values)) for values in protocol.grid(row, options.grid).values())
        cells = cells if beta is None else f"beta{beta:g}-{cells}"
        device = "" if options.device == "auto" else "-" + options.device.replace(":", "")
        method = method.replace(", ", "-").replace(" ", "-")
        return options.journals / f"{row.key}-{method}-{protocol.key}-{cells}x{options.seeds_of(row)}{device}.jsonl"

    def _hard(self, row: Row, method: str, protocol: Protocol) -> Result:
        """Return the results of a hard baseline: one run per seed, none if its package is not installed."""
        from softecm.baselines import BASELINES

        data, seeds = self.objects(row, protocol), self.options.seeds_of(row)
        work = {"data": digest(data.X, data.y), "method": f"{method} {row.metric} {sorted(protocol.hard.items())}"}
        items = [f"seed {seed}" for seed in range(seeds)]
        with Journal(self._journal(row, method, protocol), work) as journal:
            try:
                for seed, item in enumerate(items):
                    if item not in journal.done:
                        journal.write([item], [_judge(data, hard_labels(row, method, protocol, data, seed))])
            except ImportError:
                package = BASELINES[HARD[method]][0]
                return absent(f"needs {package}: pip install {package}")
            rows = [journal.done[item] for item in items]
        rand_index, purity, matched = np.array([[r[n] for n in ("rand_index", "purity", "accuracy")] for r in rows]).T
        return Result(rand_index, purity, matched)


def hard_labels(row: Row, method: str, protocol: Protocol, data: Objects, seed: int) -> NDArray[np.intp]:
    """Return the labels of a hard baseline for one seed."""
    from softecm.baselines import hard_partition

    options: dict[str, Any] = dict(protocol.hard)
    X = data.X
    if method == "TSKmeans":
        # Its Soft-DTW averages are slow; 20 steps of each in 10 iterations suffice for the labels.
        slow = {"metric": "softdtw", "max_iter": 10, "max_iter_barycenter": 20}
        options = slow if row.is_slow else {"metric": "euclidean"}
    elif method == "K-Modes":
        options = {"n_init": 10}
        X = X.astype(object).where(X.notna(), "missing").to_numpy(dtype=str)  # kmodes does not support missing values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other libraries' internal warnings
        return hard_partition(HARD[method], X, row.n_clusters, random_state=seed, **options).labels()


def _judge(data: Objects, labels: NDArray[np.intp]) -> dict[str, float]:
    from softecm import scores

    return {
        "rand_index": scores.rand_index(data.y, labels),
        "purity": scores.purity(data.y, labels),
        "accuracy": scores.accuracy(data.y, labels),
    }
