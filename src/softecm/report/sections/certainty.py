"""The section on how sure all this is: what refits to other samples say, as a figure that needs no script, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from softecm.belief.assignments import WORDS
from softecm.figures.colours import set_colors
from softecm.report.inputs import FittedModel, FloatArray, every
from softecm.report.sections.base import Json, Section
from softecm.report.words import grouped, number_of, plural

if TYPE_CHECKING:
    from softecm.calibration import Calibration

LEFT, WIDE = 92, 612  # of the lines in the figure of certainty.html
MOST_LINES = 160  # beyond, lines run together
QUITE = 0.5  # from where to where: beyond, resamples say quite different things
NAMED, FEW = 3, 10  # such objects that are named in a sentence, and in a table
STABLE, LOOSE = 0.75, 0.5  # Jaccard indices: from there on a group is found again; below, it comes apart


def sentences(calibration: Calibration, noun: str = "object", ids: Sequence[str] | None = None) -> tuple[str, ...]:
    """What the refits say, in plain words; ``ids`` are what the objects are called, their numbers from 1 by default."""
    names, many = calibration.before.focal_sets.cluster_names, plural(noun)
    stable = [name for name, value in zip(names, calibration.cluster_stability, strict=True) if value >= STABLE]
    dissolving = [name for name, value in zip(names, calibration.cluster_stability, strict=True) if value < LOOSE]
    wide = len(_disputed(calibration))
    again = f"{len(stable)} of {len(names)} groups {'is' if len(stable) == 1 else 'are'}"
    again = "All groups are" if len(stable) == len(names) else again
    parts = [
        f"The model was refitted to {len(calibration.memberships)} resamples of its {many}. {again} found again.",
        _covered(calibration, many),
    ]
    if dissolving:
        them = "it" if len(dissolving) == 1 else "them"
        parts.append(f"In other samples {', '.join(dissolving)} would dissolve: don't rely on {them}.")
    if wide:
        far = widest(calibration, ids)[:NAMED]
        first = [f"{one.name} ({one.group}: from {one.low:.2f} to {one.high:.2f})" for one in far]
        disagreement = f"The resamples disagree about {number_of(wide, noun)}"
        parts.append(
            f"{disagreement}: {', '.join(first)}."
            if wide <= NAMED
            else f"{disagreement}, most about {', '.join(first)}."
        )
    between = calibration.before.decisions().words == "between"
    if between.any():
        parts.append(_between(calibration, between, noun))
    return tuple(parts)


def _covered(calibration: Calibration, many: str) -> str:
    """How wide the intervals of the calibrated masses are, and how much they hold."""
    after = calibration.coverage()["after"]
    return (
        f"The calibrated masses give the probability that two {many} belong together to within {after['width']:.2f} on "
        f"average; {after['inside']:.0%} of the refits lie inside ({calibration.level:.0%} intended)."
    )


def _between(calibration: Calibration, between: NDArray[np.bool_], noun: str) -> str:
    """How many of the objects between groups stay there."""
    many, sure = int(between.sum()), int((calibration.said[0][between] > 0).sum())
    lies = f"{number_of(many, noun).capitalize()} {'lies' if many == 1 else 'lie'} between groups"
    stays = int((calibration.decisions().words[between] == "between").sum())
    if stays == sure == many:
        return f"{lies}, and the resamples confirm it."
    return f"{lies}: for {grouped(sure)} the interval excludes 0, and {grouped(stays)} stay there in the resamples."


class Wide(NamedTuple):
    """An object and from where to where refits put the probability of its group."""

    name: str
    group: str
    low: float
    high: float


def widest(calibration: Calibration, ids: Sequence[str] | None = None) -> list[Wide]:
    """The objects of which resamples say the most different things, at most a few; none where all agree about."""
    low, _, high = _own(calibration)
    labels, names = calibration.before.labels(), calibration.before.focal_sets.cluster_names
    rows = _disputed(calibration)[:FEW]
    called = [str(i + 1) if ids is None else str(ids[i]) for i in rows]
    return [Wide(name, names[labels[i]], float(low[i]), float(high[i])) for name, i in zip(called, rows, strict=True)]


def _disputed(calibration: Calibration) -> list[int]:
    """Objects of a group that resamples say quite different things of, the most different first; no outliers."""
    low, mean, high = _own(calibration)
    in_group = calibration.before.labels(outliers=-1) >= 0
    order = np.lexsort((mean, (low - high).round(2)))
    return [i for i in order.tolist() if in_group[i] and high[i] - low[i] > QUITE]


def facts_of(calibration: Calibration, ids: Sequence[str] | None = None) -> dict[str, object]:
    """The same for machines."""
    names = calibration.before.focal_sets.cluster_names
    return {
        "refits": len(calibration.memberships),
        "level": calibration.level,
        "groups_taken_for": calibration.form,
        "coverage": calibration.coverage(),
        "stability": calibration.stability,
        "cluster_stability": dict(zip(names, calibration.cluster_stability.tolist(), strict=True)),
        "words": words_table(calibration),
        "least_sure": [one._asdict() for one in widest(calibration, ids)],
    }


def words_table(calibration: Calibration) -> dict[str, dict[str, int]]:
    """For each word that the model says, of how many objects the calibrated masses say each of the five words."""
    before, after = calibration.before.decisions().codes, calibration.decisions().codes
    counts = np.zeros((len(WORDS), len(WORDS)), dtype=np.int64)
    np.add.at(counts, (before, after), 1)
    rows = zip(WORDS, counts.tolist(), strict=True)
    return {word: dict(zip(WORDS, row, strict=True)) for word, row in rows if any(row)}


def _own(calibration: Calibration) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each object's own cluster: lower end, mean, upper end."""
    labels = calibration.before.labels()
    rows = np.arange(len(labels))
    return (
        calibration.lower[rows, labels],
        calibration.memberships.mean(0)[rows, labels],
        calibration.upper[rows, labels],
    )


class Line(NamedTuple):
    """An object in the figure: the probability of its group over the refits."""

    x: float
    low: float
    mean: float
    high: float
    color: str


class Certainty(Section):
    """What refits to other samples say."""

    key, link = "sure", "Certainty"
    resampled = tuple(f"resamples: {word}" for word in WORDS)  # heads of a table

    @property
    def is_shown(self) -> bool:
        """Whether the model was calibrated."""
        return self.data.calibration is not None

    @property
    def refits(self) -> Calibration:
        """The calibration, where the section is shown."""
        return cast("Calibration", self.data.calibration)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What they say, in words."""
        return sentences(self.refits, self.data.noun, self.data.ids)

    @cached_property
    def lines(self) -> list[Line]:
        """Objects from the surest to the least sure, each with its interval; some of many."""
        low, mean, high = (np.clip(values, 0.0, 1.0) for values in _own(self.refits))
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
        """How many objects are in the figure."""
        whole = number_of(len(self.refits.before), self.data.noun)
        return whole if len(self.lines) == len(self.refits.before) else f"{len(self.lines)} of {whole}"

    @property
    def groups(self) -> list[tuple[str, str, tuple[int, str, str]]]:
        """Name and colour of each group, and how far it is found again."""
        focal, labels = self.refits.before.focal_sets, self.refits.before.labels(outliers=-1)
        counts = np.bincount(labels[labels >= 0], minlength=focal.n_clusters).tolist()
        rows = zip(focal.cluster_names, set_colors(focal)[1:], counts, self.refits.cluster_stability, strict=False)
        return [(name, color, (count, f"{value:.2f}", _word(value))) for name, color, count, value in rows]

    @property
    def words(self) -> dict[str, dict[str, int]]:
        """What the model says and what the resamples say."""
        return words_table(self.refits)

    @property
    def widest(self) -> list[Wide]:
        """The objects that the resamples disagree about most."""
        return widest(self.refits, self.data.ids)

    def facts(self) -> Json:
        """The same."""
        known = self.data.calibration
        return {"calibration": None if known is None else facts_of(known, self.data.ids)}

    def without_values(self, model: FittedModel) -> Json:
        """All of it: objects go by their numbers."""
        return {"calibration": self.data.calibration}


def _word(value: float) -> str:
    return "found again" if value >= STABLE else "dissolves" if value < LOOSE else "not always found again"
