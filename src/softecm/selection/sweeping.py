"""A parameter grid as one computation: batched, resumable, with visible progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from softecm._checks import check_count, check_list, is_number
from softecm._errors import reason
from softecm._fingerprint import warn_unseen
from softecm._progress import Counter, counted
from softecm._version import __version__
from softecm._warnings import warn
from softecm._wording import literal
from softecm.distances.views import Combined
from softecm.files.folders import elsewhere
from softecm.files.journal import Journal
from softecm.fit.loop import Progress
from softecm.selection.batch import Data, batch_size, run_cells
from softecm.selection.evidence import mixture_column
from softecm.selection.grid import Cell, Grid, Task, describe, described, digest, make_cells, make_tasks, short_hash
from softecm.selection.measures import Measures, Value
from softecm.selection.result import Sweep
from softecm.selection.stability import run_stability
from softecm.spaces.raw import is_views
from softecm.spaces.views import n_objects

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer

Row = dict[str, Value]
#: Numeric columns of a row; the first is always there.
NUMBERS = (
    *("objective", "separation", "collapsed", "n_iter", "converged", "delta_found", "seconds"),
    *(name for name in Measures._fields if name not in ("sizes", "apart")),
)
MANY = 10**6  # of each combination
PLAIN = (bool, int, float, str, type(None))


class SweepInterrupted(KeyboardInterrupt):
    """A sweep was stopped by Ctrl-C; ``partial`` is the ``Sweep`` of the completed cells."""

    def __init__(self, message: str, partial: Sweep | None) -> None:
        super().__init__(message)
        self.partial = partial


def sweep(
    X: object,
    grid: Grid,
    *,
    estimator: object = None,
    y: object = None,
    sample_weight: object = None,
    seeds: int | Iterable[int] = 1,
    resamples: int = 0,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    client: object = None,
) -> Sweep:
    """Fit an estimator for every combination of the given values and every seed.

    Cells that differ only in alpha, beta, delta, lam or seed are solved together, as runs of one batch (on the
    estimator's ``device``); each row equals what the estimator finds when fitted alone with these values.

    Parameters
    ----------
    X : data for the estimator, or a dict of several data sets by name; for an estimator with metric Combined, of views
    grid : dict, or list of dicts
        Names of parameters and the values to try: any of the estimator's, and ``metric__gamma`` and the like for
        parameters of its metric. Values are validated before anything runs.
    estimator : default=SoftECM()
        Any estimator of the family, cloned for every cell; a dict by name if ``X`` is one.
    y : array-like of shape (n,), optional
        Known classes, for the columns ``rand_index``, ``adjusted_rand_index``, ``accuracy`` and ``purity``. They are
        never used to fit or select. A dict by name if ``X`` is one.
    sample_weight : array-like of shape (n,), optional
    seeds : int or iterable of int, default=1
        Number of values of ``random_state`` to try, from 0, or the values.
    resamples : int, default=0
        Number of resamples of the objects for refits of every combination, for the column ``stability``; 10 is usual.
    journal : path, optional
        A file that records completed cells. The same call with the same journal resumes an interrupted or killed sweep.
    progress : bool, default=False
        Show a progress bar with the remaining time on the terminal.
    n_jobs : int, optional
        Number of processes that share the batches, through joblib; by default one, which uses all cores itself.
    client : dask.distributed.Client, optional
        Send the batches to a Dask cluster instead; the data are scattered once.

    Returns
    -------
    sweep : Sweep
        A tidy table with ``best(rule)`` and ``heatmap(...)``.

    Examples
    --------
    >>> from softecm import SoftECM
    >>> from softecm.datasets import make_blobs
    >>> blobs = make_blobs(60, n_clusters=3, distance=9, random_state=0)
    >>> found = sweep(blobs.data, {"n_clusters": [2, 3, 4], "beta": [1.2, 1.5]}, estimator=SoftECM(n_init=2))
    >>> len(found), found.best("silhouette").params["n_clusters"]
    (6, 3)
    """
    check_count("resamples", resamples, least=0, most=MANY, hint="0 leaves stability out; 10 is usual.")
    datasets, estimators = _datasets(X, y, sample_weight, estimator)
    if isinstance(seeds, int):
        seeds = range(check_count("seeds", seeds, most=MANY, hint="10 is usual."))
    each = check_list("seeds", seeds, "seeds")
    numbers = [check_count("seeds", seed, least=0, hint="Each is a seed.") for seed in each]
    if not numbers:
        raise ValueError("seeds must hold at least one seed; got none. 10 is usual.")
    cells = make_cells(estimators, grid, numbers)
    for model in () if journal is None else (cell.model for cell in cells):
        warn_unseen(getattr(model, "metric", None), f"journal {journal}")
    opened = nullcontext() if journal is None else Journal(journal, _work(cells, datasets, resamples), _is_row)
    with opened as book:
        return _judged(_solved(cells, datasets, resamples, book, _Options(progress, n_jobs, client)), cells, datasets)


class _Options(NamedTuple):
    """Options of a sweep that don't change a number."""

    progress: bool
    n_jobs: int | None
    client: Any


def _solved(
    cells: Sequence[Cell], datasets: Mapping[str, Data], resamples: int, book: Journal | None, how: _Options
) -> Sweep:
    """Run what the journal does not have yet, batch by batch."""
    done: dict[str, Row] = {} if book is None else {item: dict(row) for item, row in book.done.items()}
    tasks = _tasks(cells, datasets, resamples, done)
    finished = 0
    before = len(cells) - sum(len(t.cells) for t in tasks if t.kind == "cells")
    total = before + sum(len(task.cells) for task in tasks)
    with counted("sweep", total, before) if how.progress else nullcontext(Counter()) as counter:
        try:
            for task, rows in _run(tasks, datasets, resamples, how, counter):
                items = [_item(task.kind, cell) for cell in task.cells]
                done.update(zip(items, rows, strict=True))
                if book is not None:
                    book = _noted(book, items, rows)
                finished += 1
                counter.advance(len(task.cells))
        except KeyboardInterrupt as error:
            remedy = f"with journal {book.path} the same call resumes" if book is not None else "see .partial"
            message = f"interrupted with {finished} of {len(tasks)} batches done; {remedy}."
            raise SweepInterrupted(message, _table(cells, done, partial=True)) from error
    result = _table(cells, done)
    assert result is not None
    return result


def _judged(result: Sweep, cells: Sequence[Cell], datasets: Mapping[str, Data]) -> Sweep:
    """Add the column "mixture" if the rows concern numbers of groups in tables."""
    if "n_clusters" not in result.parameters:
        return result
    values = mixture_column([(datasets[cell.data].X, cell.model) for cell in cells])
    return result if values is None else replace(result, columns={**result.columns, "mixture": values})


def _item(kind: str, cell: Cell) -> str:
    """Return a journal's key of a cell, or of the stability of its combination."""
    return f"cell {cell.index}" if kind == "cells" else f"stability {cell.combination}"


def _is_row(item: str, row: Mapping[str, object]) -> bool:
    """Whether a journal's row is valid for an item: plain values, numeric if required."""
    numbers = ("stability",) if item.startswith("stability") else NUMBERS
    if not all(isinstance(row.get(name, 0.0), bool | int | float) for name in numbers) or numbers[0] not in row:
        return False
    return all(
        isinstance(part, PLAIN) for value in row.values() for part in (value if isinstance(value, list) else [value])
    )


def _datasets(
    X: object, y: object, sample_weight: object, estimator: object
) -> tuple[dict[str, Data], dict[str, EvidentialClusterer]]:
    from softecm import SoftECM

    several = is_views(X) and not isinstance(getattr(estimator, "metric", None), Combined)
    parts = cast("Mapping[str, object]", X) if several else {"": X}
    if not parts:
        raise ValueError("X must hold at least one data set; got an empty dict.")

    def of(value: Any, name: str) -> Any:
        return value.get(name) if several and isinstance(value, Mapping) else value

    datasets, estimators = {}, {}
    for name, data in parts.items():
        labels, weights = of(y, name), of(sample_weight, name)
        own = of(estimator, name) or SoftECM()
        if not hasattr(own, "by_view"):
            raise TypeError(f"estimator must be one of softecm's; got {literal(own)}. SoftECM() is usual.")
        data = own.by_view(data)
        known = None if labels is None else np.atleast_1d(labels)
        if known is not None and len(known) != n_objects(data):
            raise ValueError(f"y must have one label per object; got {len(known)} for {n_objects(data)} objects.")
        estimators[name], datasets[name] = own, Data(data, known, weights, digest(data, labels, weights))
    return datasets, estimators


def _tasks(
    cells: Sequence[Cell], datasets: Mapping[str, Data], resamples: int, done: Mapping[str, object]
) -> list[Task]:
    """Return the remaining work in batches."""
    first = {cell.combination: cell for cell in reversed(cells)} if resamples else {}
    once = [first[combination] for combination in sorted(first)]
    todo = {kind: [c for c in of if _item(kind, c) not in done] for kind, of in (("cells", cells), ("stability", once))}
    tasks: list[Task] = []
    for kind, cells_of in todo.items():
        tasks += make_tasks(cells_of, lambda cell: batch_size(cell, datasets[cell.data]), kind, len(tasks))
    return tasks


def _work(cells: Sequence[Cell], datasets: Mapping[str, Data], resamples: int) -> dict[str, str]:
    """Return what a journal must agree on to be resumed: exactly what changes the numbers."""
    grid = [(c.data, type(c.model).__name__, described(c.params), described(c.model.get_params(False))) for c in cells]
    return {
        "data": digest([d.token for d in datasets.values()], list(datasets)),
        "grid": short_hash((grid, resamples)),
        "version of softecm": __version__,
    }


def _noted(book: Journal, items: Sequence[str], rows: list[Row]) -> Journal | None:
    """Add items to the journal; if it can't be written, continue in another, so that nothing is lost."""
    wanted = book.path
    try:
        book.write(items, rows)
        return book
    except OSError as error:
        where = elsewhere(lambda folder: book.move_to(folder / wanted.name))
        warn(f"journal {wanted} can't be written: {reason(error)}. The sweep continues. {where}")
        return book if book.path != wanted else None


def run_task(task: Task, data: Data, resamples: int, report: Callable[[Progress], object] | None = None) -> list[Row]:
    """Return the rows of a task's cells; a plain function, so that other processes can run it."""
    if task.kind == "stability":
        return [one._asdict() for one in run_stability(task.cells, data, resamples, report)]
    return run_cells(task.cells, data, report)


def _run(
    tasks: Sequence[Task], datasets: Mapping[str, Data], resamples: int, how: _Options, counter: Counter
) -> Iterator[tuple[Task, list[Row]]]:
    """Yield tasks and their rows as they complete: here, in other processes, or on a cluster."""
    if how.client is not None:
        from softecm.distributed.waiting import as_done

        shared = {name: how.client.scatter(datasets[name], broadcast=True) for name in {task.data for task in tasks}}
        yield from as_done(how.client, _numbered, [(task, shared[task.data], resamples) for task in tasks])
    elif how.n_jobs is None or how.n_jobs == 1 or len(tasks) < 2:
        for task in tasks:
            shown = partial(_describe, counter, task) if how.progress else None
            yield task, run_task(task, datasets[task.data], resamples, shown)
    else:
        from joblib import Parallel, delayed

        pool = Parallel(n_jobs=how.n_jobs, return_as="generator_unordered")
        yield from pool(delayed(_numbered)(task, datasets[task.data], resamples) for task in tasks)


def _numbered(task: Task, data: Data, resamples: int) -> tuple[Task, list[Row]]:
    return task, run_task(task, data, resamples)


def _describe(counter: Counter, task: Task, progress: Progress) -> None:
    moving = f"iteration {progress.iteration}, {progress.n_active} of {len(progress.objective)} runs moving"
    counter.describe(f"{task.data or 'sweep'}: {moving}")


def _table(cells: Sequence[Cell], done: Mapping[str, Row], partial: bool = False) -> Sweep | None:
    rows = {cell.index: done[item] for cell in cells if (item := _item("cells", cell)) in done}
    stable = {c.combination: done[item]["stability"] for c in cells if (item := _item("stability", c)) in done}
    finished = [cell for cell in cells if cell.index in rows]
    if not finished:
        return None
    several = len({cell.data for cell in cells}) > 1 or cells[0].data != ""
    parameters = tuple(dict.fromkeys(name for cell in cells for name in cell.params))
    columns: dict[str, list[Value]] = {"data": [cell.data for cell in finished]} if several else {}
    for name in parameters:
        columns[name] = [_shown(cell.params.get(name)) for cell in finished]
    for name in dict.fromkeys(name for cell in finished for name in rows[cell.index]):
        columns[name] = [rows[cell.index].get(name) for cell in finished]
    if stable and not partial:
        columns["stability"] = [stable[cell.combination] for cell in finished]
    models = tuple(cell.model for cell in finished)
    combination = np.array([cell.combination for cell in finished], dtype=np.int64)
    named = ("data", *parameters) if several else parameters
    return Sweep({name: _column(values) for name, values in columns.items()}, named, models, combination)


def _shown(value: object) -> Value:
    """Return a parameter as a table cell."""
    return value if isinstance(value, PLAIN) else describe(value)


def _column(values: list[Value]) -> NDArray[np.generic]:
    simple = all(isinstance(v, bool) for v in values) or all(map(is_number, values))
    if simple:
        return np.asarray(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
