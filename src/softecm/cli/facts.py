"""From a fitted estimator and the file's objects to what the report shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._version import __version__
from softecm.belief import CredalPartition
from softecm.readers import Loaded
from softecm.report import Attribute, Explanation, Part, ReportData, choose_rows, landmark_mds, noteworthy

LANDMARKS = 150
FEWEST_LANDMARKS = 12
MAP_WORK = 2e9
MOST_PARTS = 8
SEGMENTS = 8
OUTLYING = 0.2  # mass on no group from which an object's distance is worth explaining


def report_data(model: Any, loaded: Loaded, partition: CredalPartition, **shown: Any) -> ReportData:
    """Everything for the report; ``shown`` are the plain fields (title, warnings, code, ...)."""
    lists = noteworthy(partition)
    most = 20_000 if loaded.shape == "table" else 3_000
    rows = choose_rows(partition, np.concatenate(lists), most)
    some = take(loaded.data, rows)
    distances = np.asarray(model.transform(some), dtype=np.float64)[:, : partition.n_clusters].min(1)
    drawn = partition[rows]
    explained = rows[np.unique(np.concatenate(noteworthy(drawn, distances)))]
    points, stars, axes, note = places(model, loaded, some)
    fields = _series_fields(model, some) if loaded.shape == "series" else _table_fields(model, some)
    return ReportData(
        partition=partition,
        ids=loaded.names,
        rows=rows,
        points=points,
        prototype_points=stars,
        axis_names=axes,
        map_note=note,
        distances=distances,
        explanations=explanations(model, loaded, partition, explained),
        merged=bool(model.collapsed_),
        noun="series" if loaded.shape == "series" else "object",
        history=[float(v) for v in model.history_],
        runs={name: list(values) for name, values in model._runs.items()},
        made_by=f"softecm {__version__}",
        **fields,
        **shown,
    )


def take(data: Any, rows: Any) -> Any:
    """Some objects of a frame, an array or a list."""
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    return [data[int(i)] for i in rows] if isinstance(data, list) else data[rows]


# ------------------------------------------------------------------ the map


def places(model: Any, loaded: Loaded, some: Any) -> tuple[Any, Any, tuple[str, str], str]:
    """Places of the objects and the prototypes on the map, names of its axes, a remark."""
    numbers = loaded.shape == "table" and some.shape[1] == 2 and not loaded.categories and not loaded.gaps
    if numbers:
        points = some.to_numpy(dtype=np.float64)
        stars = np.asarray(model.prototypes_, dtype=np.float64).reshape(-1, 2)
        return points, stars, (str(some.columns[0]), str(some.columns[1])), ""
    to, between, at = _landmarks(model, some)
    both = landmark_mds(between, np.vstack([to, at]))
    return (
        both[: len(to)],
        both[len(to) :],
        ("", ""),
        "The two axes keep distances as well as a plane can; they have no unit.",
    )


def _landmarks(model: Any, some: Any) -> tuple[Any, Any, Any]:
    """Distances of objects, landmarks and prototypes to the landmarks: the clusters' prototypes and some objects."""
    import torch

    fitted = model.model_
    x = model._encode(some)
    c, n = fitted.focal.n_clusters, len(x)
    count = _landmark_count(n, fitted.prototypes[0].shape)
    with torch.no_grad():
        chosen = torch.from_numpy(np.unique(np.linspace(0, n - 1, count).round().astype(np.int64)))
        marks = torch.cat([fitted.prototypes[:c], fitted.space.starts(x, chosen).to(fitted.prototypes.dtype)])
        step = max(1, 2_000_000 // max(len(marks) * max(marks[0].numel(), 1), 1))
        to = torch.cat([fitted.metric.pairwise(x[i : i + step], marks) for i in range(0, n, step)])
        between = fitted.metric.pairwise(marks, marks)
        at = fitted.metric.pairwise(fitted.prototypes, marks)
    return tuple(t.double().clamp_min(0).cpu().numpy() for t in (to, between, at))  # type: ignore[return-value]


def _landmark_count(n: int, shape: Sequence[int]) -> int:
    """As many landmarks as the map is worth: comparing long series costs the square of their length."""
    work = float(n) * math.prod(shape) * (shape[0] if len(shape) > 1 else 1)
    return min(n, int(min(max(MAP_WORK / max(work, 1.0), FEWEST_LANDMARKS), LANDMARKS)))


# ------------------------------------------------------------------ prototypes and values


def _table_fields(model: Any, some: Any) -> dict[str, Any]:
    names = [str(name) for name in some.columns]
    attributes = [_attribute(name, some.iloc[:, j]) for j, name in enumerate(names)]
    return {"attributes": attributes, "prototypes": prototype_rows(model, names)}


def prototype_rows(model: Any, names: Sequence[str]) -> list[list[Any]]:
    """Cells of the sets' prototypes, in the order of the columns."""
    prototypes = model.prototypes_
    if not hasattr(prototypes, "columns"):
        rows: list[list[Any]] = np.asarray(prototypes, dtype=np.float64).tolist()
        return rows
    columns = {str(name): list(prototypes[name]) for name in prototypes.columns}
    return [[columns[name][i] if name in columns else "" for name in names] for i in range(len(prototypes))]


def _attribute(name: str, column: Any) -> Attribute:
    if column.dtype.kind in "iuf":
        return Attribute(name, "number", column.to_numpy(dtype=np.float64))
    if column.dtype.kind == "b":
        return Attribute(name, "category", [str(v) for v in column])
    missing = column.isna().to_numpy()
    return Attribute(name, "category", [None if gone else str(v) for v, gone in zip(column, missing, strict=True)])


def _series_fields(model: Any, some: Any) -> dict[str, Any]:
    own = [np.asarray(one, dtype=np.float64) for one in some]
    prototypes = [np.asarray(one, dtype=np.float64) for one in model.prototypes_]
    return {"series": [_two(one) for one in own], "prototype_series": [_two(one) for one in prototypes]}


def _two(one: NDArray[np.float64]) -> NDArray[np.float64]:
    return one[:, None] if one.ndim == 1 else one


# ------------------------------------------------------------------ explanations


def explanations(
    model: Any, loaded: Loaded, partition: CredalPartition, rows: NDArray[np.intp]
) -> Mapping[int, Explanation]:
    """What pulls each of these objects to the likeliest cluster, and what to the next."""
    some = take(loaded.data, rows)
    distances = np.asarray(model.transform(some), dtype=np.float64)
    try:
        parts = np.asarray(model.explain(some), dtype=np.float64)
    except ValueError:  # the metric does not add up over attributes
        parts = None
    ends = _ends(partition[rows])
    best = partition.masses[rows].argmax(1)
    outlying = (best == 0) | (partition.masses[rows, 0] > OUTLYING)
    names = [str(name) for name in model.model_.space.attributes]
    describe, far = (_stretches, _far_stretches) if loaded.shape == "series" else _attributes(model, some, names)

    def speaks_for(i: int, own: int, other: int, terms: NDArray[np.float64]) -> list[str]:
        told = [part for part in describe(i, own, other, terms) if part.pull > 0]
        told = sorted(told, key=lambda part: -part.pull)[:3]
        return [f"{part.name}: {part.value}" if part.value else f"steps {part.name}" for part in told]

    found = {}
    for i, row in enumerate(rows.tolist()):
        a, b = ends[i]
        told = () if parts is None or a == b else describe(i, a, b, parts[i])
        away = () if parts is None or not outlying[i] else far(parts[i, a])
        near = _own_set(int(best[i]), partition.n_clusters, distances[i])
        for_set = () if parts is None or near is None else speaks_for(i, int(best[i]) - 1, a, parts[i])
        found[row] = Explanation(
            a + 1, b + 1, float(distances[i, a]), float(distances[i, b]), tuple(told), near, tuple(for_set), tuple(away)
        )
    return found


def _own_set(column: int, n_clusters: int, distances: NDArray[np.float64]) -> float | None:
    """Distance to the prototype of an object's set of several clusters, where that is the nearest of all."""
    if column <= n_clusters or distances[column - 1] > distances[:n_clusters].min():
        return None
    return float(distances[column - 1])


def _ends(some: CredalPartition) -> list[tuple[int, int]]:
    """The two clusters to explain each object by: the likeliest of its set first, then of the others."""
    inside = some.set_indicators()
    order = np.argsort(-(some.pignistic() + inside), axis=1, kind="stable")
    return [(int(row[0]), int(row[min(1, len(row) - 1)])) for row in order]


def _attributes(model: Any, some: Any, names: Sequence[str]) -> tuple[Any, Any]:
    cells = prototype_rows(model, names)
    columns = {str(name): some.iloc[:, j] for j, name in enumerate(some.columns)}

    def value(name: str, i: int) -> str:
        return _cell(columns[name].iloc[i]) if name in columns else ""

    def describe(i: int, a: int, b: int, parts: NDArray[np.float64]) -> list[Part]:
        pull = parts[b] - parts[a]  # nearer to a where b is farther
        order = np.argsort(-np.abs(pull), kind="stable")[:MOST_PARTS].tolist()
        return [
            Part(names[j], value(names[j], i), _cell(cells[a][j]), _cell(cells[b][j]), float(pull[j])) for j in order
        ]

    def far(parts: NDArray[np.float64]) -> list[tuple[str, float]]:
        order = np.argsort(-parts, kind="stable")[:3].tolist()
        return [(names[j], float(parts[j] / parts.sum())) for j in order if parts[j] > 0.1 * parts.sum() > 0]

    return describe, far


def _stretches(i: int, a: int, b: int, parts: NDArray[np.float64]) -> list[Part]:
    pull = np.nan_to_num(parts[b] - parts[a])
    return [
        Part(name, "", "", "", float(pull[s:e].sum())) for name, s, e in _spans(np.abs(parts[a]) + np.abs(parts[b]))
    ]


def _far_stretches(parts: NDArray[np.float64]) -> list[tuple[str, float]]:
    sums = [(name, float(np.nansum(parts[s:e]))) for name, s, e in _spans(np.abs(parts))]
    total = sum(max(v, 0.0) for _, v in sums)
    largest = sorted(sums, key=lambda pair: -pair[1])[:2]
    return [(name, v / total) for name, v in largest if v > 0.1 * total > 0]


def _spans(size: NDArray[np.float64]) -> list[tuple[str, int, int]]:
    """A few stretches of equal length over the steps there are, with their names."""
    filled = np.flatnonzero(np.nan_to_num(size) > 0)
    length = int(filled[-1]) + 1 if len(filled) else len(size)
    edges = np.unique(np.linspace(0, length, min(SEGMENTS, length) + 1).round().astype(int)).tolist()
    return [(f"{s + 1}–{e}" if e > s + 1 else str(e), s, e) for s, e in pairwise(edges)]


def _cell(value: Any) -> str:
    if value is None or value != value or str(value) == "<NA>":
        return "missing"
    return (
        f"{float(value):.4g}"
        if isinstance(value, int | float | np.number) and not isinstance(value, bool)
        else str(value)
    )
