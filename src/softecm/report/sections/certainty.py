"""The section on certainty: results of refits to other samples, as a figure without a script, and in words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from softecm._text import grouped, listed, number_of, plural
from softecm.belief.assignments import WORDS
from softecm.plots.style import set_colors
from softecm.report.inputs import FittedModel, FloatArray, every
from softecm.report.sections.base import Json, Section

if TYPE_CHECKING:
    from softecm.calibration import Calibration

LEFT, WIDE = 92, 612  # of the lines in the figure of certainty.html
MOST_LINES = 160  # above, lines overlap
QUITE = 0.5  # width of an interval above which resamples disagree
NAMED, FEW = 3, 10  # such objects, named in a sentence, and in a table
STABLE, LOOSE = 0.75, 0.5  # Jaccard indices: above the first a group is stable; below the second, it falls apart


class Wide(NamedTuple):
    """An object and the interval over refits of the probability of its group."""

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
        stability = dict(zip(names, self.refits.cluster_stability, strict=True))
        stable = [name for name, value in stability.items() if value >= STABLE]
        dissolving = [name for name, value in stability.items() if value < LOOSE]
        again = f"{len(stable)} of {len(names)} groups {'is' if len(stable) == 1 else 'are'}"
        again = "All groups are" if len(stable) == len(names) else again
        after = self.refits.coverage()["after"]
        parts = [
            f"The model was refitted to {len(self.refits.memberships)} resamples of its {many}. {again} found again.",
            f"The calibrated masses give the probability that two {many} belong together to within {after['width']:.2f} "
            f"on average; {after['inside']:.0%} of the refits lie inside ({self.refits.level:.0%} intended).",
        ]
        if dissolving:
            them = "it" if len(dissolving) == 1 else "them"
            parts.append(f"In other samples {listed(dissolving, 'and')} would dissolve: don't rely on {them}.")
        if disputed := len(self._disputed):
            first = [f"{one.name} ({one.group}: from {one.low:.2f} to {one.high:.2f})" for one in self.widest[:NAMED]]
            most = ":" if disputed <= NAMED else ", most about"
            number = number_of(disputed, self.data.noun)
            parts.append(f"The resamples disagree about {number}{most} {', '.join(first)}.")
        between = self.refits.before.decisions().words == "between"
        return [*parts, self._between(between)] if between.any() else parts

    def _between(self, between: NDArray[np.bool_]) -> str:
        """Return how many of the objects between groups remain there."""
        many, sure = int(between.sum()), int((self.refits.said[0][between] > 0).sum())
        lies = f"{number_of(many, self.data.noun)} {'lies' if many == 1 else 'lie'} between groups"
        stays = int((self.refits.decisions().words[between] == "between").sum())
        if stays == sure == many:
            return f"{lies}, and the resamples confirm it."
        return f"{lies}: for {grouped(sure)} the interval excludes 0, and {grouped(stays)} stay there in the resamples."

    @cached_property
    def _own(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lower end, mean and upper end for each object's own cluster."""
        labels = self.refits.before.labels()
        own = (np.arange(len(labels)), labels)
        return self.refits.lower[own], self.refits.memberships.mean(0)[own], self.refits.upper[own]

    @cached_property
    def _disputed(self) -> list[int]:
        """Objects with a group about which the resamples disagree, in decreasing order; no outliers."""
        low, mean, high = self._own
        in_group = self.refits.before.labels(outliers=-1) >= 0
        order = np.lexsort((mean, (low - high).round(2)))
        return [i for i in order.tolist() if in_group[i] and high[i] - low[i] > QUITE]

    @property
    def widest(self) -> list[Wide]:
        """The objects about which the resamples disagree most."""
        (low, _, high), labels = self._own, self.refits.before.labels()
        names, ids = self.refits.before.focal_sets.group_names, self.data.ids
        rows = self._disputed[:FEW]
        return [Wide(str(ids[i]), names[labels[i]], float(low[i]), float(high[i])) for i in rows]

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
        """Objects in decreasing certainty, each with its interval; a sample of many."""
        low, mean, high = (np.clip(values, 0.0, 1.0) for values in self._own)
        order = np.lexsort((low, -mean))
        order = order[every(len(order), MOST_LINES)]
        labels, colors = self.refits.before.labels(), set_colors(self.refits.before.focal_sets)
        step = WIDE / max(len(order), 1)
        return [
            Line(LEFT + (place + 0.5) * step, low[i], mean[i], high[i], colors[labels[i] + 1])
            for place, i in enumerate(order.tolist())
        ]

    @property
    def shown(self) -> str:
        """The number of objects in the figure, as text."""
        whole = number_of(len(self.refits.before), self.data.noun)
        return whole if len(self.lines) == len(self.refits.before) else f"{len(self.lines)} of {whole}"

    @property
    def groups(self) -> list[tuple[str, str, tuple[int, str, str]]]:
        """Name and colour of each group, and its stability."""
        focal, labels = self.refits.before.focal_sets, self.refits.before.labels(outliers=-1)
        counts = np.bincount(labels[labels >= 0], minlength=focal.n_clusters).tolist()
        rows = zip(focal.group_names, set_colors(focal)[1:], counts, self.refits.cluster_stability, strict=False)
        return [(name, color, (count, f"{value:.2f}", _word(value))) for name, color, count, value in rows]

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


def _word(value: float) -> str:
    return "found again" if value >= STABLE else "dissolves" if value < LOOSE else "not always found again"
