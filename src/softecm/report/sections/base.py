"""The base class of the page's sections, and conversion of values for scripts."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from softecm._text import to_json
from softecm.plots.style import set_colors

if TYPE_CHECKING:
    from softecm.belief import CredalPartition
    from softecm.report.inputs import FittedModel
    from softecm.report.page import ReportData

Json: TypeAlias = dict[str, Any]
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class SetName:
    """A focal set, or the empty set, as the page shows it."""

    number: int  # its mass column
    label: str  # as in tables of the partition
    words: str
    shape: str  # of its mark
    color: str
    count: int  # objects with their largest mass on it
    mean: float  # mean mass over all objects


def set_names(partition: CredalPartition) -> list[SetName]:
    """All sets, the empty set first."""
    focal, labels = partition.focal_sets, partition.focal_sets.labels()
    counts = np.bincount(partition.masses.argmax(1), minlength=len(labels)).tolist()
    shapes = ["cross", *("dot" if len(members) == 1 else "gem" for members in focal.sets)]
    colors = ["var(--ink)", *set_colors(focal)[1:]]
    words, means = focal.in_words(), partition.masses.mean(0).tolist()
    rows = zip(range(len(labels)), labels, words, shapes, colors, counts, means, strict=True)
    return [SetName(*row) for row in rows]


class Section:
    """A part of the page about some fields of the report; its template and script have the name of its module.

    ``templates/sections/NAME.html`` is rendered with the section as ``own``, and ``assets/NAME.js``, if it exists,
    receives ``payload``. A section is on the page if it is listed in :data:`softecm.report.sections.SECTIONS`.
    """

    key: ClassVar[str]  # its anchor
    link: ClassVar[str]  # its text in the navigation

    def __init__(self, data: ReportData) -> None:
        self.data = data

    @cached_property
    def sets(self) -> list[SetName]:
        """All sets, the empty set first."""
        return set_names(self.data.partition)

    @property
    def template(self) -> str:
        """Path of its HTML template."""
        return f"sections/{type(self).__module__.rpartition('.')[2]}.html"

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to show."""
        return True

    def payload(self) -> Json:
        """Return the data for its script."""
        return {}

    def facts(self) -> Json:
        """Return its content as data: numbers as numbers, None if undefined."""
        return {}

    def without_values(self, model: FittedModel) -> Json:
        """Return its fields for a report without cells, names and prototypes; all other fields are empty."""
        return {}


# ------------------------------------------------------------------ values for scripts


def packed(values: ArrayLike, kind: str) -> str:
    """Return numbers of this kind as base64."""
    if kind == "<f4":  # clip to its range
        values = np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode("ascii")


def finite(value: float) -> float | None:
    """Return a number for JSON; None if it is not finite."""
    return float(value) if math.isfinite(value) else None


def to_script(value: object) -> str:
    """Return JSON that is safe inside a script element: nothing can end the element."""
    text = to_json(value, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
