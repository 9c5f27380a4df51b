"""Runs as they were coded, and the runs of the other protocols scored alike: each once, saved in journals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from softecm.files.journal import Journal
from softecm.selection.grid import digest
from softecm_paper.as_coded.baselines import EVCLUST, PACKAGE, evidential_labels, hard_labels
from softecm_paper.as_coded.labels import Labels, by_appearance, scored
from softecm_paper.as_coded.preparing import Prepared, prepare
from softecm_paper.as_coded.progress import bar, says_where_to_continue
from softecm_paper.as_coded.sweep import AS_CODED, Table, Variant, run_row
from softecm_paper.protocols import PAPER, Protocol
from softecm_paper.rows import Row
from softecm_paper.runs import HARD, Runs
from softecm_paper.runs import hard_labels as hard_labels_of

SCORES = ("rand", "accuracy", "plain")


@dataclass(frozen=True, eq=False)
class Cell:
    """A method on a row: one value per run."""

    rand: NDArray[np.float64]  # after renaming clusters to their majority class
    accuracy: NDArray[np.float64]
    plain: NDArray[np.float64]  # Rand index of the original clusters
    missing: str = ""  # reason for a missing number


NOTHING = np.empty(0)


def absent(why: str) -> Cell:
    """Return a cell without a number, with the reason."""
    return Cell(NOTHING, NOTHING, NOTHING, why)


class CodedRuns:
    """All results for the pages of this protocol; each is computed once."""

    def __init__(self, runs: Runs) -> None:
        self.runs, self.options = runs, runs.options
        self._data: dict[tuple[str, bool], Prepared] = {}
        self._tables: dict[tuple[object, ...], Table] = {}

    def data(self, row: Row, *, swapped: bool = True) -> Prepared:
        """Return a row's data as read by the experiments."""
        key = (row.key, swapped)
        if key not in self._data:
            self._data[key] = prepare(row, swapped=swapped)
        return self._data[key]

    def table(
        self, row: Row, variant: Variant = AS_CODED, replay: int = 0, only: tuple[float, float] | None = None
    ) -> Table:
        """Return the whole grid of Soft-ECM on a row, or one setting of it; other replays have other starts."""
        key = (row.key, variant.key, replay, only)
        if key not in self._tables:
            grid = PAPER.small if self.options.grid == "small" else PAPER.full
            cells = "x".join(str(len(values)) for values in grid.values())
            if only is not None:
                cells = f"beta{only[0]:g}-lam{only[1]:g}"
            seeds, again = self.options.seeds, f"-replay{replay}" if replay else ""
            path = self.options.journals / f"{row.key}-Soft-ECM-{variant.key}-{cells}x{seeds}{again}.jsonl"
            total = seeds * (len(grid["beta"]) * len(grid["lam"]) if only is None else 1)
            numbers = range(replay * seeds, (replay + 1) * seeds)
            text = f"{row.title}, Soft-ECM, {variant.key}"
            with says_where_to_continue(path), bar(text, total, shown=self.options.progress) as done:
                data = self.data(row, swapped=variant.swapped)
                self._tables[key] = run_row(row, data, grid, numbers, path, variant, done, only)
        return self._tables[key]

    def cell(self, row: Row, method: str) -> Cell:
        """Return a method's results on a row, as coded."""
        if method == "Soft-ECM":
            return self._chosen(row)
        if find_spec("sklearn" if method == "K-Means" else PACKAGE[method]) is None:
            return absent(f"needs {PACKAGE[method]}: pip install {PACKAGE[method]}")
        data = self.data(row)
        if method not in EVCLUST:
            return self._each(row, method, "as-coded", data.y, lambda seed: hard_labels(row, method, data, seed))
        best = self.table(row).chosen()
        if best is None:
            return absent("no beta was chosen")
        return self.evclust(row, method, best[0])

    def evclust(self, row: Row, method: str, beta: float, *, swapped: bool = True) -> Cell:
        """Return results of an evidential method of evclust for Python on a row."""
        data, name = self.data(row, swapped=swapped), f"as-coded-beta{beta:g}" + ("" if swapped else "-right-axes")
        return self._each(row, method, name, data.y, lambda seed: evidential_labels(row, method, data, beta, seed))

    def ours(self, row: Row, method: str, beta: float) -> Cell:
        """Return results of our own estimator with the same settings as evclust's."""
        data = self.runs.objects(row, PAPER)
        model = PAPER.estimator(row, method, self.options.device).set_params(beta=beta)
        name = f"ours-beta{beta:g}"
        return self._each(
            row,
            method,
            name,
            data.y,
            lambda seed: _fitted(model.set_params(random_state=seed), data.X),
            seeds=self.options.seeds,
        )

    def beside(self, row: Row, method: str, protocol: Protocol) -> Cell:
        """Return results selected by another protocol, scored in both ways."""
        result = self.runs.result(row, method, protocol)
        if result.missing:
            return absent(result.missing)
        data, seeds = self.runs.objects(row, protocol), self.options.seeds_of(row)
        if method in HARD:
            return self._each(
                row,
                method,
                protocol.key,
                data.y,
                lambda seed: hard_labels_of(row, method, protocol, data, seed),
                seeds=seeds,
            )
        assert result.best is not None
        params = {name: value for name, value in result.best.params.items() if name in ("beta", "lam")}
        model = protocol.estimator(row, method, self.options.device).set_params(**params)
        name = f"{protocol.key}-" + "-".join(f"{k}{v:g}" for k, v in params.items())
        return self._each(
            row, method, name, data.y, lambda seed: _fitted(model.set_params(random_state=seed), data.X), seeds=seeds
        )

    def _chosen(self, row: Row) -> Cell:
        table = self.table(row)
        best = table.chosen()
        if best is None:
            return absent("no run has a number")
        return _cell({name: table.at(best[0], best[1], name) for name in SCORES})

    def _each(
        self,
        row: Row,
        method: str,
        name: str,
        classes: NDArray[np.generic],
        labels: Callable[[int], Labels | None],
        seeds: int | None = None,
    ) -> Cell:
        """Return the scores of every run, from the journal if available; runs without labels are skipped."""
        y, seeds = by_appearance(np.asarray(classes)), seeds or self.options.seeds
        path = self.options.journals / f"{row.key}-{method}-{name}-scores-{seeds}.jsonl"
        items = [f"seed {seed}" for seed in range(seeds)]
        with says_where_to_continue(path), Journal(path, {"data": digest(y), "method": f"{method} {name}"}) as book:
            with bar(f"{row.title}, {method}, {name}", seeds, shown=self.options.progress) as done:
                for seed, item in enumerate(items):
                    if item not in book.done:
                        own_labels = labels(seed)
                        book.write(
                            [item], [{} if own_labels is None else scored(y, np.asarray(own_labels, dtype=np.intp))]
                        )
                    done(1)
            rows = [book.done[item] for item in items if book.done[item]]
        if not rows:
            return absent("every run failed")
        return _cell({score: np.array([r[score] for r in rows]) for score in SCORES})


def _cell(scores: Mapping[str, NDArray[np.float64]]) -> Cell:
    return Cell(**{name: scores[name] for name in SCORES}, missing="")


def _fitted(model: object, X: object) -> Labels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # merged clusters are reported on the page
        labels: Labels = model.fit(X).labels_  # type: ignore[attr-defined]
    return labels
