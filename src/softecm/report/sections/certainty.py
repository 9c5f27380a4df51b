"""The section on certainty: results of refits to other samples, as a figure without a script, and in words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from softecm._text import grouped, listed, number_of, opening, plural
from softecm._wording import worded
from softecm.belief.assignments import WORDS
from softecm.plots.style import set_colors
from softecm.report.inputs import FittedModel, every
from softecm.report.sections.base import Json, Section

if TYPE_CHECKING:
    from softecm.calibration import Calibration

LEFT, WIDE = 92, 612  # of the lines in the figure of certainty.html
MOST_LINES = 160  # above, lines overlap
QUITE = 0.5  # width of an interval above which resamples disagree
NAMED, FEW = 3, 10  # such objects, named in a sentence, and in a table
STABLE, LOOSE = 0.75, 0.5  # Jaccard indices: above the first a group is stable; below the second, it falls apart
STAY = 0.5  # of the objects of a stable group that must stay in it after calibration
AGAIN, IN_PART, DISSOLVES = "found again", "found again in part", "dissolves"
NEAR = 0.05  # differences from the intended share of refits, or from an interval's end, that don't matter


class Wide(NamedTuple):
    """An object and the interval over refits of the probability of its group, or of its mass between groups."""

    name: str
    group: str
    low: float
    high: float


class Line(NamedTuple):
    """An object in the figure: the probability of its group over the refits."""

    x: float
    low: float
    mean: float
    high: float
    color: str


class Certainty(Section):
    """The results of refits to other samples."""

    key, link = "sure", "Certainty"
    resampled = tuple(f"resamples: {word}" for word in WORDS)  # headers of a table

    @property
    def is_shown(self) -> bool:
        """Whether the model was calibrated."""
        return self.data.calibration is not None

    @property
    def refits(self) -> Calibration:
        """The calibration, if the section is shown."""
        return cast("Calibration", self.data.calibration)

    @property
    def sentences(self) -> list[str]:
        """The results of the refits in plain words."""
        names, many = self.refits.before.focal_sets.group_names, plural(self.data.noun)
        groups: dict[str, list[str]] = {word: [] for word in (AGAIN, IN_PART, DISSOLVES)}
        for name, word in zip(names, self._again, strict=True):
            groups[word].append(name)
        stable, partial, dissolving = groups.values()
        again = f"{len(stable)} of {len(names)} groups {'is' if len(stable) == 1 else 'are'} fully"
        again = "All groups are" if len(stable) == len(names) else again if stable else "No group is fully"
        parts = [
            f"The model was refitted to {len(self.refits.memberships)} resamples of its {many}. {again} found again.",
            self._coverage,
        ]
        if dissolving:
            them = "it" if len(dissolving) == 1 else "them"
            parts.append(f"In other samples {listed(dissolving, 'and')} would dissolve: don't rely on {them}.")
        if partial:
            is_, it = ("is", "it") if len(partial) == 1 else ("are", "them")
            rely = f"rely only on the {many} that are clearly in {it} after calibration"
            parts.append(f"{opening(listed(partial, 'and'))} {is_} {IN_PART}: {rely}.")
        if not stable:
            search = worded("choose_n_clusters", "-c auto")
            parts.append(f"The groups may be an accident of this sample: check whether {search} finds any.")
        if disputed := len(self._disputed):
            first = [f"{one.name} ({one.group}: from {one.low:.2f} to {one.high:.2f})" for one in self.widest[:NAMED]]
            most = ":" if disputed <= NAMED else ", most about"
            number = number_of(disputed, self.data.noun)
            parts.append(f"The resamples disagree about {number}{most} {', '.join(first)}.")
        return parts + self._between()

    @property
    def _coverage(self) -> str:
        """How precise the calibrated masses are, and what follows if they cover fewer or more refits than intended."""
        inside, width = (self.refits.coverage()["after"][name] for name in ("inside", "width"))
        start = (
            f"The calibrated masses give the probability that two {plural(self.data.noun)} belong together to within "
            f"{width:.2f} on average; {inside:.0%} of the refits lie inside"
        )
        if inside > self.refits.level + NEAR:
            return f"{start}, more than the {self.refits.level:.0%} intended: they are cautious."
        if inside >= self.refits.level - NEAR:
            return f"{start}, as intended ({self.refits.level:.0%})."
        if self.refits.misfit <= NEAR:
            return (
                f"{start}, fewer than the {self.refits.level:.0%} intended, but the masses are off by only "
                f"{self.refits.misfit:.1g}: this makes no difference."
            )
        return (
            f"{start}, fewer than the {self.refits.level:.0%} intended: the masses are too certain, so use the intervals "
            "(columns low and high) instead."
        )

    @cached_property
    def _again(self) -> list[str]:
        """Whether each group is found again: in part, too, if calibration leaves less than half of its objects in it."""
        before, after = (one.decisions().clusters for one in (self.refits.before, self.refits))
        stay = [
            float((after[before == k] == k).mean()) if (before == k).any() else 1.0
            for k in range(self.refits.before.n_clusters)
        ]
        stable = self.refits.cluster_stability
        return [
            DISSOLVES if value < LOOSE else AGAIN if value >= STABLE and part >= STAY else IN_PART
            for value, part in zip(stable, stay, strict=True)
        ]

    def _between(self) -> list[str]:
        """Return how many objects lie between groups, how many of these the resamples confirm, and how many they add."""
        before, after = (one.decisions().words == "between" for one in (self.refits.before, self.refits))
        confirmed = before & after
        confirmed[self._disputed] = False
        many, sure, more = int(before.sum()), int(confirmed.sum()), int((after & ~before).sum())
        parts = []
        if many:
            lies = f"{number_of(many, self.data.noun)} {'lies' if many == 1 else 'lie'} between groups"
            rest = "" if sure == many else f" for {grouped(sure)} of them" if sure else " for none of them"
            parts.append(f"{lies}, and the resamples confirm it{rest}.")
        if more:
            total, lie = number_of(int(after.sum()), self.data.noun), "lies" if after.sum() == 1 else "lie"
            them = "it" if after.sum() == 1 else "them" if more == after.sum() else f"{grouped(more)} of them"
            parts.append(
                f"After calibration, {total} {lie} between groups: the resamples assign {them} to different groups."
            )
        return parts

    @cached_property
    def _disputed(self) -> list[int]:
        """Objects in a group, or between groups, about which the resamples disagree, in decreasing order; no outliers."""
        low, high = self.refits.said
        inside = self.refits.before.masses.argmax(1) > 0
        order = np.lexsort((self.refits.object_stability, (low - high).round(2)))
        return [i for i in order.tolist() if inside[i] and high[i] - low[i] > QUITE]

    @property
    def widest(self) -> list[Wide]:
        """The objects about which the resamples disagree most, each with the group or groups where the model has it."""
        (low, high), sets = self.refits.said, self.refits.before.masses.argmax(1)
        names, ids = self.refits.before.focal_sets.in_words(), self.data.ids
        rows = self._disputed[:FEW]
        return [Wide(str(ids[i]), names[sets[i]], float(low[i]), float(high[i])) for i in rows]

    @property
    def words(self) -> dict[str, dict[str, int]]:
        """The number of objects by the model's decision and the calibrated one."""
        before, after = self.refits.before.decisions().codes, self.refits.decisions().codes
        counts = np.zeros((len(WORDS), len(WORDS)), dtype=np.int64)
        np.add.at(counts, (before, after), 1)
        rows = zip(WORDS, counts.tolist(), strict=True)
        return {word: dict(zip(WORDS, row, strict=True)) for word, row in rows if any(row)}

    @cached_property
    def lines(self) -> list[Line]:
        """Objects with a group in decreasing certainty, each with its interval; a sample of many."""
        labels, (low, high) = self.refits.before.labels(), self.refits.said
        mean = np.clip(self.refits.object_stability, 0.0, 1.0)
        order = np.lexsort((low, -mean))
        order = order[self._has_group[order]]
        order = order[every(len(order), MOST_LINES)]
        colors = set_colors(self.refits.before.focal_sets)
        step = WIDE / max(len(order), 1)
        return [
            Line(LEFT + (place + 0.5) * step, low[i], mean[i], high[i], colors[labels[i] + 1])
            for place, i in enumerate(order.tolist())
        ]

    @property
    def _has_group(self) -> NDArray[np.bool_]:
        """Whether the model assigns each object to a single group."""
        columns = self.refits.before.masses.argmax(1)
        single: NDArray[np.bool_] = (columns > 0) & (columns <= self.refits.before.n_clusters)
        return single

    @property
    def shown(self) -> str:
        """The number of objects in the figure, as text."""
        count = int(self._has_group.sum())
        whole = number_of(count, self.data.noun) + ("" if count == len(self._has_group) else " in a group")
        return whole if len(self.lines) == count else f"{len(self.lines)} of {whole}"

    @property
    def groups(self) -> list[tuple[str, str, tuple[int, str, str]]]:
        """Name and colour of each group, and its stability."""
        focal = self.refits.before.focal_sets
        counts = np.bincount(self.refits.before.masses.argmax(1), minlength=focal.n_clusters + 1)[1:].tolist()
        stable = zip(self.refits.cluster_stability, self._again, strict=True)
        rows = zip(focal.group_names, set_colors(focal)[1:], counts, stable, strict=False)
        return [(name, color, (count, f"{value:.2f}", word)) for name, color, count, (value, word) in rows]

    def facts(self) -> Json:
        """Return the content as data."""
        known = self.data.calibration
        if known is None:
            return {"calibration": None}
        names = known.before.focal_sets.cluster_names
        facts = {
            "refits": len(known.memberships),
            "level": known.level,
            "groups_taken_for": known.form,
            "coverage": known.coverage(),
            "stability": known.stability,
            "cluster_stability": dict(zip(names, known.cluster_stability.tolist(), strict=True)),
            "words": self.words,
            "least_sure": [one._asdict() for one in self.widest],
        }
        return {"calibration": facts}

    def without_values(self, model: FittedModel) -> Json:
        """Return everything: objects have numbers instead of names."""
        return {"calibration": self.data.calibration}
