"""From a grid of values to validated cells, and from cells to tasks that are one computation each."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.base import clone

from softecm._checks import is_several
from softecm._fingerprint import Fingerprint, code_of
from softecm._wording import option
from softecm.distances.base import SemiMetric
from softecm.spaces.columns import plain_value

if TYPE_CHECKING:
    from hashlib import _Hash

    from softecm.algorithms.base import EvidentialClusterer

#: Names of parameters and the values to try; a sequence of grids means their union.
Grid: TypeAlias = Mapping[str, object] | Sequence[Mapping[str, object]]
FREE = ("alpha", "beta", "delta", "lam", "random_state")  # may differ between the runs of one batch
WITHOUT_EFFECT = ("callback", "device", "n_jobs", "verbose")  # on the numbers
METRIC = "metric__"


@dataclass(frozen=True)
class Cell:
    """One row of a sweep: a data set, grid values, and the resulting estimator."""

    index: int
    combination: int  # the same for all seeds of the same values
    data: str
    params: Mapping[str, object]
    model: EvidentialClusterer  # not fitted
    key: str  # equal for cells of one batch


MOST_CELLS = 100_000  # of a grid


@dataclass(frozen=True)
class Task:
    """Cells that are solved together, completed or not as a whole."""

    number: int
    kind: str  # "cells", or "stability" (one cell per combination, refitted on resamples)
    cells: tuple[Cell, ...]

    @property
    def data(self) -> str:
        """The data set of all its cells."""
        return self.cells[0].data


def combinations(grid: Grid) -> list[dict[str, object]]:
    """Return every combination of the grid's values, the last name varying fastest; a list of grids means their union."""
    every: list[dict[str, object]] = []
    for part in _listed(grid):
        if not isinstance(part, Mapping):
            raise ValueError(f"grid must map names of parameters to values, or be a list of such; got {part!r}.")
        odd = next((name for name in part if not isinstance(name, str)), None)
        if odd is not None:
            raise ValueError(
                f"grid must map names of parameters to values; got {odd!r}. {{'beta': [1.1, 1.2]}} is one."
            )
        count = math.prod(map(_count, part.values()))
        if count > MOST_CELLS:
            raise ValueError(
                f"grid must hold at most {MOST_CELLS} combinations of values; got {count}. Try fewer of each."
            )
        values = [_values(name, several) for name, several in part.items()]
        every += [dict(zip(part, chosen, strict=True)) for chosen in product(*values)]
    if not every:
        raise ValueError("grid must hold at least one combination of values; got none. {'beta': [1.1, 1.2]} is one.")
    return every


def _listed(several: object) -> list[object]:
    """Return several values as a list; a single value, including a string or mapping, as a list of one."""
    return list(several) if is_several(several) else [several]


def _count(values: object) -> int:
    """Return the number of values of a parameter, without making a list of them."""
    return len(values) if is_several(values) and isinstance(values, Sized) else 1


def _values(name: str, value_or_values: object) -> list[object]:
    values = _listed(value_or_values)
    if not values:
        raise ValueError(f"grid must give every parameter at least one value; got none for {name!r}.")
    return [plain_value(value) for value in values]


def make_cells(estimators: Mapping[str, EvidentialClusterer], grid: Grid, seeds: Sequence[int]) -> list[Cell]:
    """Return all cells, validated before anything runs; an error names its cell."""
    chosen = combinations(grid)
    cells: list[Cell] = []
    for at, (data, estimator) in enumerate(estimators.items()):
        own = clone(estimator).get_params(deep=False)
        for number, values in enumerate(chosen):
            for params in _seeded(values, seeds):
                options = _options(own, params)
                model = _model(type(estimator), options, params)
                cells.append(Cell(len(cells), at * len(chosen) + number, data, params, model, batch_key(options)))
    return cells


def _seeded(values: dict[str, object], seeds: Sequence[int]) -> Iterator[dict[str, object]]:
    if "random_state" in values:
        yield values
        return
    for seed in seeds:
        yield {**values, "random_state": int(seed)}


def _options(own: Mapping[str, object], params: Mapping[str, object]) -> dict[str, object]:
    """Return an estimator's parameters with a cell's values."""
    options = dict(own)
    of_metric = {}
    for name, value in params.items():
        if name.startswith(METRIC):
            of_metric[name[len(METRIC) :]] = value
        elif name in own:
            options[name] = value
        elif name != "random_state":  # a deterministic estimator has none
            raise ValueError(
                f"grid cell ({_shown(params)}) can't be run: the estimator has no parameter {name!r}. "
                f"It has {', '.join(own)}."
            )
    if of_metric:
        with _naming(params):
            options["metric"] = _with(options.get("metric"), of_metric)
    return options


def _model(
    kind: type[EvidentialClusterer], options: Mapping[str, object], params: Mapping[str, object]
) -> EvidentialClusterer:
    """Return an estimator with a cell's values, validated by itself."""
    model = kind(**options)
    settings = getattr(model, "_settings", None)
    if settings is not None:
        with _naming(params):
            settings()
    return model


@contextmanager
def _naming(params: Mapping[str, object]) -> Iterator[None]:
    """Name the cell in errors raised inside."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"grid cell ({_shown(params)}) can't be run: {error}") from error


def _shown(params: Mapping[str, object]) -> str:
    return ", ".join(option(name, value) for name, value in params.items())


def _with(metric: object, options: Mapping[str, object]) -> SemiMetric:
    """Return a metric with some of its own parameters changed."""
    from softecm.distances import SEMI_METRICS

    if isinstance(metric, str):
        if metric not in SEMI_METRICS:
            raise ValueError(
                f"metric must be named or given for the grid to vary its parameters; got {metric!r}. Use metric='softdtw', "
                "or SoftDTW(...)."
            )
        metric = SEMI_METRICS[metric]()
    if not dataclasses.is_dataclass(metric) or isinstance(metric, type):
        raise ValueError(f"metric must be one of softecm's or a dataclass for the grid to vary it; got {metric!r}.")
    known = [field.name for field in dataclasses.fields(metric)]
    for name in options:
        if name not in known:
            raise ValueError(f"metric {type(metric).__name__} has no parameter {name!r}; it has {', '.join(known)}.")
    changed: SemiMetric = dataclasses.replace(metric, **options)  # type: ignore[assignment]
    return changed


def batch_key(options: Mapping[str, object]) -> str:
    """Return what cells of one batch share: everything but the parameters that runs may vary."""
    return repr(sorted((name, describe(value)) for name, value in options.items() if name not in FREE))


def make_tasks(cells: Sequence[Cell], size_of: Callable[[Cell], int], kind: str, first: int = 0) -> list[Task]:
    """Split cells into tasks of at most ``size_of`` cells, deterministically."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.key), []).append(cell)
    tasks: list[Task] = []
    for members in groups.values():
        size = max(1, size_of(members[0]))
        for start in range(0, len(members), size):
            tasks.append(Task(first + len(tasks), kind, tuple(members[start : start + size])))
    return tasks


def describe(value: object) -> str:
    """Return a parameter's value as stable text: no addresses, arrays by content."""
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, SemiMetric):
        options = ", ".join(f"{name}={describe(v)}" for name, v in value.parameters().items())
        code = code_of(value)
        return f"{type(value).__name__}({options})" + ("" if code is None else f" {code.text}")
    if callable(value):
        owner = value if hasattr(value, "__qualname__") else type(value)
        return f"{owner.__module__}.{owner.__qualname__} {Fingerprint(value).text}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(describe, value))}]"
    return repr(value)


def described(params: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the parameters that affect the numbers, as text, by name."""
    return sorted((name, describe(value)) for name, value in params.items() if name not in WITHOUT_EFFECT)


def short_hash(value: object) -> str:
    """Return a short hash of a plain value."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def digest(*values: object) -> str:
    """Return a short hash of data."""
    total = hashlib.sha256()
    for value in values:
        _feed(total, value)
    return total.hexdigest()[:16]


def _feed(total: _Hash, value: object) -> None:
    if isinstance(value, Mapping):
        value = [part for pair in value.items() for part in pair]
    if isinstance(value, list | tuple):
        total.update(f"[{len(value)}]".encode())
        for part in value:
            _feed(total, part)
        return
    array = np.asarray(value)
    total.update(f"{array.dtype} {array.shape}".encode())
    total.update(repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes())
    total.update(repr(list(getattr(value, "columns", []))).encode())
