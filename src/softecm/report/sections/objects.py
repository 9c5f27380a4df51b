"""The section on objects: uncertain, typical and extreme ones, with explanations."""

from __future__ import annotations

import math

from softecm.belief.assignments import Decisions
from softecm.report.inputs import FittedModel, noteworthy
from softecm.report.reasons import Explanation, Part
from softecm.report.sections.base import Json, Section, finite, packed
from softecm.report.words import named_nearest, sentence

COARSE = 4  # resolution of a pull


class ObjectsSection(Section):
    """A table of objects, with reasons."""

    key, link = "objects", "Objects"

    @property
    def in_doubt(self) -> bool:
        """Whether objects can be in doubt between groups."""
        return self.data.partition.n_clusters > 1

    @property
    def lists(self) -> list[tuple[int, str]]:
        """The lists to choose from, by their numbers in the script."""
        names = ["Most in doubt", "Most typical", "Farthest out", "All"]
        return list(enumerate(names))[0 if self.in_doubt else 1 :]

    def payload(self) -> Json:
        """Return lists of objects by their indices among the drawn ones, and explanations."""
        data = self.data
        place = {int(row): i for i, row in enumerate(data.rows)}
        decisions = data.partition.decisions(data.clear)
        explained = {place[i]: self._explained(i, decisions, e) for i, e in data.explanations.items() if i in place}
        return {
            "distance": None if data.distances is None else packed(data.distances, "<f4"),
            "lists": [chosen.tolist() for chosen in noteworthy(data.partition[data.rows], data.distances)],
            "explained": explained,
        }

    def _explained(self, i: int, decisions: Decisions, e: Explanation) -> Json:
        data = self.data
        near = named_nearest([(str(data.ids[j]), distance) for j, distance in e.nearest])
        return {
            "say": sentence(str(data.ids[i]), decisions[i], e, data.partition.focal_sets, data.noun) + near,
            "a": e.first,
            "b": e.second,
            "da": finite(e.distance_first),
            "db": finite(e.distance_second),
            "parts": [[p.name, p.value, p.at_first, p.at_second, round(float(p.pull), 9)] for p in e.parts],
            "ds": None if e.distance_set is None else finite(e.distance_set),
            "to": list(e.to_set),
            "kind": e.kind,
        }

    def without_values(self, model: FittedModel) -> Json:
        """Return which columns pull, in coarse steps."""
        return {"explanations": {i: _coarse(e) for i, e in self.data.explanations.items()}}


def _coarse(e: Explanation) -> Explanation:
    most = max((abs(part.pull) for part in e.parts), default=0.0)
    most = max(most, e.negligible) or 1.0
    parts = tuple(Part(p.name, "", "", "", round(COARSE * p.pull / most) / COARSE) for p in e.parts)
    far = tuple((name, round(share, 1)) for name, share in e.far)
    return Explanation(e.first, e.second, math.nan, math.nan, parts, far=far, otherwise=e.otherwise)
