"""The section with the map: the visible part of the plane, and objects outside."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from softecm._text import counted, grouped, plural
from softecm.report.inputs import FittedModel, FloatArray
from softecm.report.map import guessed_map, window
from softecm.report.sections.base import Json, Section, packed

HIDDEN = (
    "This report hides cells, names and prototypes: positions are estimated from the masses, and objects go by their row "
    "number."
)


class MapSection(Section):
    """Objects in the plane."""

    key, link = "map", "Map"

    @cached_property
    def window(self) -> tuple[FloatArray, FloatArray]:
        """The corners of the visible part of the plane."""
        return window(self.data.points, self.data.partition.masses[self.data.rows].argmax(1) == 0)

    @cached_property
    def beyond(self) -> list[int]:
        """The drawn objects outside the visible part."""
        (low, high), points = self.window, self.data.points
        rows: list[int] = np.flatnonzero(((points < low - 1e-12) | (points > high + 1e-12)).any(1)).tolist()
        return rows

    @property
    def notes(self) -> list[str]:
        """Notes on the map."""
        data = self.data
        many, article = plural(data.noun), "an" if data.noun[0] in "aeiou" else "a"
        note = [
            f"Close together means similar. Colours mix the groups {article} {data.noun} may belong to; larger dots are "
            "more certain."
        ]
        if len(data.rows) < len(data.partition):
            note.append(f"Drawn: a sample of {grouped(len(data.rows))} of {grouped(len(data.partition))} {many}.")
        if self.beyond:
            drawn = counted(len(self.beyond), f"{data.noun} lies", f"{many} lie")
            note.append(f"{drawn} beyond the edge, marked by {'an arrow' if len(self.beyond) == 1 else 'arrows'}.")
        if len(np.unique(data.points, axis=0)) < len(data.points):
            note.append(f"Identical {many} overlap.")
        return [*note, *([data.map_note] if data.map_note else [])]

    def _placed(self, points: FloatArray) -> FloatArray:
        """Return positions as integers from 0 to 65535; those outside the visible part are moved to its edge."""
        low, high = self.window
        span = np.where(high > low, high - low, 1.0)
        unit = np.where(high > low, (np.nan_to_num(points) - low) / span, 0.5)
        clipped: FloatArray = np.rint(np.clip(unit, 0.0, 1.0) * 65535)
        return clipped

    def payload(self) -> Json:
        """Return positions of objects and prototypes."""
        data, stars = self.data, self.data.prototype_points
        return {
            "xy": packed(self._placed(data.points), "<u2"),
            "stars": None if stars is None else self._placed(stars).astype(int).tolist(),
            "axes": list(data.axis_names),
            "units": list(data.axis_units),
            "beyond": self.beyond,
            "window": [corner.tolist() for corner in self.window],
        }

    def without_values(self, model: FittedModel) -> Json:
        """Return positions estimated from the masses."""
        return {"points": guessed_map(model, self.data.partition[self.data.rows]).points, "map_note": HIDDEN}
