"""What a section of the page is, and how it gives values to its script."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from softecm.plots.style import set_colors
from softecm.report.words import plain

if TYPE_CHECKING:
    from softecm.belief import CredalPartition
    from softecm.report.inputs import FittedModel
    from softecm.report.page import ReportData

Json: TypeAlias = dict[str, Any]
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class SetName:
    """A focal set, or the empty set, as the page shows it."""

    number: int  # its column of the mass matrix
    label: str  # as tables of the partition have it
    words: str
    shape: str  # of its mark
    color: str
    count: int  # objects with their largest mass on it
    mean: float  # mass of it, over all objects


def set_names(partition: CredalPartition) -> list[SetName]:
    """All sets, the empty set first."""
    focal, labels = partition.focal_sets, partition.focal_sets.labels()
    counts = np.bincount(partition.masses.argmax(1), minlength=len(labels)).tolist()
    shapes = ["cross", *("dot" if len(members) == 1 else "gem" for members in focal.sets)]
    colors = ["var(--ink)", *set_colors(focal)[1:]]
    words = [plain(focal, j) for j in range(len(labels))]
    rows = zip(
        range(len(labels)), labels, words, shapes, colors, counts, partition.masses.mean(0).tolist(), strict=True
    )
    return [SetName(*row) for row in rows]


class Section:
    """A part of the page about some fields of the report; its template and its script are called as its module.

    ``templates/sections/NAME.html`` is drawn with the section as ``own``, and ``assets/NAME.js``, where there is one, with
    what ``payload`` says. A section is on the page when it is listed in :data:`softecm.report.sections.SECTIONS`.
    """

    key: ClassVar[str]  # its anchor
    link: ClassVar[str]  # what the navigation calls it

    def __init__(self, data: ReportData) -> None:
        self.data = data

    @cached_property
    def sets(self) -> list[SetName]:
        """All sets, the empty set first."""
        return set_names(self.data.partition)

    @property
    def template(self) -> str:
        """Where its HTML is."""
        return f"sections/{type(self).__module__.rpartition('.')[2]}.html"

    @property
    def is_shown(self) -> bool:
        """Whether there is something to show."""
        return True

    def payload(self) -> Json:
        """What its script draws."""
        return {}

    def facts(self) -> Json:
        """What it says, for machines: numbers as numbers, None where there are none."""
        return {}

    def without_values(self, model: FittedModel) -> Json:
        """Its fields of a report that shows no cell, no name and no prototype; a field that nobody names stays empty."""
        return {}


# ------------------------------------------------------------------ values for scripts: numbers packed as base64


def packed(values: ArrayLike, kind: str) -> str:
    """Numbers of this kind as base64."""
    if kind == "<f4":  # what is beyond its range is as far as can be
        values = np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode("ascii")


def finite(value: float) -> float | None:
    """A number for JSON; None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def to_script(value: object) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
