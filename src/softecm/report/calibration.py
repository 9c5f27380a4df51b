"""The section on how sure all this is: what refits to other samples say, as a figure that needs no script, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from softecm.belief.assignments import WORDS
from softecm.figures.colours import set_colors
from softecm.report.inputs import FloatArray
from softecm.report.words import grouped, number_of, plural

if TYPE_CHECKING:
    from softecm.calibration import Calibration

WIDE, HIGH = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 92, 16, 16, 46
MOST_LINES = 160  # beyond, lines run together
QUITE = 0.5  # from where to where: beyond, resamples say quite different things
NAMED, FEW = 3, 10  # such objects that are named in a sentence, and in a table
STABLE, LOOSE = 0.75, 0.5  # Jaccard indices: from there on a group is found again; below, it comes apart


def sentences(calibration: Calibration, noun: str = "object", ids: Sequence[str] | None = None) -> tuple[str, ...]:
    """What the refits say, in plain words; ``ids`` are what the objects are called, their numbers from 1 by default."""
    names, many = calibration.before.focal_sets.cluster_names, plural(noun)
    stable = [name for name, value in zip(names, calibration.cluster_stability, strict=True) if value >= STABLE]
    dissolving = [name for name, value in zip(names, calibration.cluster_stability, strict=True) if value < LOOSE]
    own = _own(calibration)
    wide = int((own[2] - own[0] > QUITE).sum())
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
    low, mean, high = _own(calibration)
    labels, names = calibration.before.labels(), calibration.before.focal_sets.cluster_names
    rows = [i for i in np.lexsort((mean, (low - high).round(2)))[:FEW].tolist() if high[i] - low[i] > QUITE]
    called = [str(i + 1) if ids is None else str(ids[i]) for i in rows]
    return [Wide(name, names[labels[i]], float(low[i]), float(high[i])) for name, i in zip(called, rows, strict=True)]


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
        "words": {row[0]: dict(zip(WORDS, row[1], strict=True)) for row in words_table(calibration)},
        "least_sure": [one._asdict() for one in widest(calibration, ids)],
    }


def words_table(calibration: Calibration) -> list[tuple[str, list[int]]]:
    """For each word that the model says, of how many objects the calibrated masses say each of the five words."""
    before, after = calibration.before.decisions().codes, calibration.decisions().codes
    counts = np.zeros((len(WORDS), len(WORDS)), dtype=np.int64)
    np.add.at(counts, (before, after), 1)
    return [(word, row.tolist()) for word, row in zip(WORDS, counts, strict=True) if row.any()]


def calibration_values(calibration: Calibration, noun: str, ids: Sequence[str]) -> dict[str, object]:
    """What the section's template shows."""
    focal, labels = calibration.before.focal_sets, calibration.before.labels()
    groups = zip(focal.cluster_names, calibration.cluster_stability.tolist(), strict=True)
    return {
        "sentences": sentences(calibration, noun, ids),
        "level": f"{calibration.level:.0%}",
        "legend": list(zip(focal.cluster_names, set_colors(focal)[1:], strict=False)),
        "figure": lines_figure(calibration, noun),
        "groups": [(g, (int((labels == k).sum()), f"{v:.2f}", _word(v))) for k, (g, v) in enumerate(groups)],
        "heads": [f"resamples: {word}" for word in WORDS],
        "words": [
            (word, [grouped(count) if count else "" for count in counts]) for word, counts in words_table(calibration)
        ],
        "widest": widest(calibration, ids),
    }


def lines_figure(calibration: Calibration, noun: str = "object") -> Markup:
    """Objects from the surest to the least sure, each with its interval."""
    low, mean, high = _own(calibration)
    order = np.lexsort((low, -mean))
    if len(order) > MOST_LINES:
        order = order[np.linspace(0, len(order) - 1, MOST_LINES).round().astype(int)]
    labels, colors = calibration.before.labels(), set_colors(calibration.before.focal_sets)
    step = (WIDE - LEFT - RIGHT) / max(len(order), 1)
    parts = [_tick(value) for value in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for place, i in enumerate(order.tolist()):
        x, color = LEFT + (place + 0.5) * step, colors[labels[i] + 1]
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(low[i]):.1f}" y2="{_y(high[i]):.1f}" class="span" '
            f'style="stroke:{color}"/>'
            f'<circle cx="{x:.1f}" cy="{_y(mean[i]):.1f}" r="{min(3.0, max(1.2, step / 2)):.1f}" style="fill:{color}"/>'
        )
    shown = number_of(len(labels), noun)
    if len(order) < len(labels):
        shown = f"{len(order)} of {shown}"
    middle = (LEFT + WIDE - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HIGH - 10}" text-anchor="middle">{shown}, the most certain first</text>')
    across = f"translate(22 {(TOP + HIGH - BOTTOM) / 2:.0f}) rotate(-90)"
    parts.append(f'<text transform="{across}" text-anchor="middle">probability of its group</text>')
    name = f"For each of {shown}, the interval that holds {calibration.level:.0%} of the refits' probabilities of its group"
    svg = f'<svg viewBox="0 0 {WIDE} {HIGH}" class="tried sure" role="img" aria-label="{name}">{"".join(parts)}</svg>'
    return Markup(svg)  # numbers and the noun alone


def _own(calibration: Calibration) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each object's own cluster: lower end, mean, upper end."""
    labels = calibration.before.labels()
    rows = np.arange(len(labels))
    return (
        calibration.lower[rows, labels],
        calibration.memberships.mean(0)[rows, labels],
        calibration.upper[rows, labels],
    )


def _y(share: float) -> float:
    return HIGH - BOTTOM - float(np.clip(share, 0.0, 1.0)) * (HIGH - BOTTOM - TOP)


def _tick(value: float) -> str:
    y = _y(value)
    line = f'<line x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="axis"/>'
    return f'{line}<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'


def _word(value: float) -> str:
    return "found again" if value >= STABLE else "dissolves" if value < LOOSE else "not always found again"
