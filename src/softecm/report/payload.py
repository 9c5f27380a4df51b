"""From ``ReportData`` to the JSON that the page's script draws: numbers packed as base64, words as they are."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from softecm.belief.assignments import Decisions
from softecm.figures.colours import set_colors
from softecm.report.inputs import FloatArray, noteworthy
from softecm.report.map import window
from softecm.report.templating import TERMS
from softecm.report.words import named_nearest, plain, sentence

if TYPE_CHECKING:
    from softecm.report.columns import Attribute
    from softecm.report.data import ReportData
    from softecm.report.live import Live
    from softecm.report.reasons import Explanation

Json: TypeAlias = dict[str, object]
LARGEST_SHOWN = float(np.finfo(np.float32).max)
MOST_CELLS = 600_000  # values sent along for hovering; beyond, columns are left out
HEADINGS = ("set", "said", "mass", "doubt", "typical", "no group", "distance", "prototype")  # that the script writes
MOST_STEPS = 160
MOST_MEMBERS = 24


def payload(data: ReportData) -> Json:
    """Everything the script needs."""
    partition, rows = data.partition, data.rows
    drawn = partition[rows]
    focal = partition.focal_sets
    place = {int(row): i for i, row in enumerate(rows)}
    part = shown_part(data)
    decisions, drawn_decisions = partition.decisions(data.clear), drawn.decisions(data.clear)
    lists = noteworthy(drawn, data.distances)
    return {
        "n": len(partition),
        "c": partition.n_clusters,
        "noun": data.noun,
        "merged": data.merged,
        "labels": [plain(focal, j) for j in range(len(focal) + 1)],
        "terms": {word: TERMS[word] for word in HEADINGS},
        "sets": [[], *focal.sets],
        "colors": set_colors(focal),
        "counts": decisions.table().sum(0).tolist(),
        "decisions": decisions.counts(),
        "means": partition.masses.mean(0).tolist(),
        "clear": data.clear,
        "said": _packed(drawn_decisions.codes, "u1"),
        "confidence": _packed(drawn_decisions.confidence, "<f4"),
        "ids": [str(data.ids[int(row)]) for row in rows],
        "numbers": None if len(rows) == len(partition) else _packed(rows + 1, "<u4"),
        "xy": _packed(_placed(data.points, part), "<u2"),
        "stars": None if data.prototype_points is None else _stars(data),
        "axes": list(data.axis_names),
        "units": list(data.axis_units),
        "beyond": beyond(data),
        "window": [v.tolist() for v in part],
        "masses": _packed(np.rint(drawn.masses * 65535), "<u2"),
        "doubt": _packed(drawn.doubt(), "<f4"),
        "distance": None if data.distances is None else _packed(data.distances, "<f4"),
        "lists": [chosen.tolist() for chosen in lists],
        "columns": _columns(data.attributes, len(rows)),
        "explained": {place[i]: _explained(data, i, decisions, e) for i, e in data.explanations.items() if i in place},
        "series": None if data.prototype_series is None else _series(data, drawn.masses),
        "history": [float(v) for v in data.history],
        "live": None if data.live is None else _live(data.live),
    }


def to_script(value: object) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, code in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(sign, code)
    return text


def _packed(values: ArrayLike, kind: str) -> str:
    if kind == "<f4":  # what is beyond its range is as far as can be
        values = np.clip(np.asarray(values, dtype=np.float64), -LARGEST_SHOWN, LARGEST_SHOWN)
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode("ascii")


# ------------------------------------------------------------------ the map


def shown_part(data: ReportData) -> tuple[FloatArray, FloatArray]:
    """The part of the plane that the map shows."""
    return window(data.points, data.partition.masses[data.rows].argmax(1) == 0)


def _placed(points: FloatArray, shown: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Places as whole numbers from 0 to 65535; what lies beyond the part that is shown is put on its edge."""
    low, high = shown
    span = np.where(high > low, high - low, 1.0)
    unit = np.where(high > low, (np.nan_to_num(points) - low) / span, 0.5)
    clipped: FloatArray = np.rint(np.clip(unit, 0.0, 1.0) * 65535)
    return clipped


def _stars(data: ReportData) -> list[list[int]]:
    assert data.prototype_points is not None
    places: list[list[int]] = _placed(data.prototype_points, shown_part(data)).astype(int).tolist()
    return places


def beyond(data: ReportData) -> list[int]:
    """The drawn objects that lie beyond the map's edge."""
    low, high = shown_part(data)
    rows: list[int] = np.flatnonzero(((data.points < low - 1e-12) | (data.points > high + 1e-12)).any(1)).tolist()
    return rows


# ------------------------------------------------------------------ values and explanations


def _columns(attributes: Sequence[Attribute], count: int) -> list[Json]:
    most = max(1, MOST_CELLS // max(count, 1))
    return [_column(a) for a in list(attributes)[:most]]


def _column(attribute: Attribute) -> Json:
    if attribute.kind == "number":
        numbers = np.asarray(attribute.values, dtype=np.float64)
        decimals = 6 if attribute.precision is None else attribute.precision.decimals
        packed = {"name": attribute.name, "decimals": decimals, "unit": attribute.unit}
        if _fits(numbers, decimals):
            return {**packed, "numbers": _packed(numbers, "<f4")}
        return {**packed, "wide": _packed(numbers, "<f8")}
    words = attribute.words()
    levels = sorted({word for word in words if word is not None})
    code = {level: i for i, level in enumerate(levels)}
    codes = [65535 if word is None else min(code[word], 65534) for word in words]
    return {"name": attribute.name, "levels": levels[:65535], "codes": _packed(codes, "<u2")}


def _fits(numbers: FloatArray, decimals: int) -> bool:
    """Whether half the digits are enough: then a number read back and rounded is the cell."""
    if np.nanmax(np.abs(numbers), initial=0.0) > LARGEST_SHOWN:
        return False
    lost = np.abs(numbers.astype(np.float32) - numbers)
    return bool(np.nanmax(lost, initial=0.0) * 10.0**decimals < 0.4)


def _explained(data: ReportData, i: int, decisions: Decisions, e: Explanation) -> Json:
    parts = [[p.name, p.value, p.at_first, p.at_second, round(float(p.pull), 9)] for p in e.parts]
    near = named_nearest([(str(data.ids[j]), distance) for j, distance in e.nearest])
    return {
        "say": sentence(str(data.ids[i]), decisions[i], e, data.partition.focal_sets, data.noun) + near,
        "a": e.first,
        "b": e.second,
        "da": _plain(e.distance_first),
        "db": _plain(e.distance_second),
        "parts": parts,
        "ds": None if e.distance_set is None else _plain(e.distance_set),
        "to": list(e.to_set),
        "far": [[name, round(share, 4)] for name, share in e.far],
        "kind": e.kind,
    }


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _live(live: Live) -> Json:
    """Distances in units of their median: then half the digits are enough for masses to 1e-6."""
    known = live.distances[np.isfinite(live.distances) & (live.distances > 0)]
    unit = float(np.median(known)) if len(known) else 1.0
    return {
        "distances": _packed(np.nan_to_num(live.distances / unit, nan=LARGEST_SHOWN), "<f4"),
        "unit": unit,
        "alpha": live.alpha,
        "beta": live.beta,
        "delta": live.delta,
        "estimator": live.estimator,
        "arguments": live.arguments,
        "command": live.command,
    }


# ------------------------------------------------------------------ series


def _series(data: ReportData, masses: FloatArray) -> Json:
    """Prototypes of the sets, and the surest members of each; the object's own series where it is explained."""
    assert data.prototype_series is not None
    best = masses.argmax(1)
    members: list[list[int]] = []
    for column in range(1, masses.shape[1]):
        rows = np.flatnonzero(best == column)
        members.append(rows[np.argsort(-masses[rows, column], kind="stable")][:MOST_MEMBERS].tolist())
    wanted = sorted({i for rows in members for i in rows} | set(_explained_rows(data)))
    own = {i: _thinned(data.series[i]) for i in wanted} if data.series is not None else {}
    return {
        "channels": list(data.channels),
        "prototypes": [_thinned(one) for one in data.prototype_series],
        "members": members,
        "own": own,
    }


def _explained_rows(data: ReportData) -> list[int]:
    place = {int(row): i for i, row in enumerate(data.rows)}
    return [place[i] for i in data.explanations if i in place]


def _thinned(series: ArrayLike) -> Json:
    """Length, and at most ``MOST_STEPS`` steps, one list a channel, in five digits."""
    values = np.asarray(series, dtype=np.float64)
    filled = np.flatnonzero(np.isfinite(values).any(1))
    values = values[: filled[-1] + 1] if len(filled) else values[:1]
    steps = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_STEPS)).round().astype(int))
    drawn = [[float(f"{v:.5g}") if np.isfinite(v) else None for v in channel] for channel in values[steps].T]
    return {"l": len(values), "v": drawn}
