"""The section on how sure all this is: what refits to other samples say, as a figure that needs no script, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softecm.belief import CredalPartition
from softecm.figures.colours import set_colors
from softecm.report.markup import section, table
from softecm.report.terms import term
from softecm.report.words import number_of

if TYPE_CHECKING:
    from softecm.report.data import ReportData

FloatArray = NDArray[np.float64]
WIDE, HIGH = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 92, 16, 16, 46
MOST_LINES = 160  # beyond, lines run together
QUITE = 0.5  # from where to where: beyond, resamples say quite different things
NAMED, FEW = 3, 10  # such objects that are named in a sentence, and in a table
STABLE, LOOSE = 0.75, 0.5  # Jaccard indices: from there on a group is found again; below, it comes apart


class Calibrated(Protocol):
    """What :func:`softecm.calibrate` finds."""

    @property
    def partition(self) -> CredalPartition:
        """Masses that state the intervals."""

    @property
    def before(self) -> CredalPartition:
        """What the model said."""

    @property
    def memberships(self) -> FloatArray:
        """Probabilities (refits, n, c)."""

    @property
    def level(self) -> float:
        """Part of the refits inside an interval."""

    @property
    def lower(self) -> FloatArray:
        """Of intervals for "this object belongs to this cluster", (n, c)."""

    @property
    def upper(self) -> FloatArray:
        """Of the same."""

    @property
    def form(self) -> str:
        """What refits took the groups for."""

    @property
    def cluster_stability(self) -> FloatArray:
        """How far each cluster is found again, (c,)."""

    @property
    def stability(self) -> float:
        """One number for all."""

    def coverage(self) -> dict[str, dict[str, float]]:
        """How often refits lie where masses say."""


def sentences(found: Calibrated, noun: str = "object", ids: Sequence[str] | None = None) -> tuple[str, ...]:
    """What the refits say, in plain words; ``ids`` are what the objects are called, their numbers from 1 by default."""
    names, many = found.before.focal_sets.cluster_names, _plural(noun)
    kept = [name for name, value in zip(names, found.cluster_stability, strict=True) if value >= STABLE]
    apart = [name for name, value in zip(names, found.cluster_stability, strict=True) if value < LOOSE]
    own = _own(found)
    wide = int((own[2] - own[0] > QUITE).sum())
    again = f"{len(kept)} of {len(names)} groups {'is' if len(kept) == 1 else 'are'}"
    again = "All groups are" if len(kept) == len(names) else again
    parts = [
        f"The model was fitted again to {len(found.memberships)} resamples of its {many}. {again} found again.",
        _covered(found, many),
    ]
    if apart:
        parts.append(
            f"In other samples {', '.join(apart)} would come apart: don't build on {'it' if len(apart) == 1 else 'them'}."
        )
    if wide:
        far = widest(found, ids)[:NAMED]
        first = [f"{one.name} ({one.group}: from {one.low:.2f} to {one.high:.2f})" for one in far]
        told = f"Of {number_of(wide, noun)} the resamples say quite different things"
        parts.append(f"{told}: {', '.join(first)}." if wide <= NAMED else f"{told}; most of {', '.join(first)}.")
    settled = int((np.array(found.before.decisions().words) == "between").sum())
    settled -= int((np.array(found.partition.decisions().words) == "between").sum())
    if settled > 0:
        parts.append(
            f"{number_of(settled, noun).capitalize()} that the model puts between groups {'is' if settled == 1 else 'are'} "
            "in one of them here: refits know groups only, no place between them, so keep to the model's word on that."
        )
    return tuple(parts)


def _covered(found: Calibrated, many: str) -> str:
    """How much of what refits say the masses hold, and what it means where the model's own hold little."""
    told = found.coverage()
    before, after = told["before"], told["after"]
    holds = f"hold {after['inside']:.0%} of what refits say, {found.level:.0%} being meant"
    if before["inside"] >= found.level or before["width"] >= after["width"]:
        return (
            f"Of two {many} belonging together, the model's own masses hold {before['inside']:.0%} of what refits say; the "
            f"calibrated ones {holds}."
        )
    return (
        f"How likely two {many} belong together, the model's own masses say for these {many} alone, to within "
        f"{before['width']:.2f} on average; refits, which saw other samples, rarely say just that ({before['inside']:.0%} "
        f"lie within). The calibrated masses leave room for other samples, {after['width']:.2f} on average: they {holds}."
    )


class Wide(NamedTuple):
    """An object and from where to where refits put the probability of its group."""

    name: str
    group: str
    low: float
    high: float


def widest(found: Calibrated, ids: Sequence[str] | None = None) -> list[Wide]:
    """The objects of which resamples say the most different things, at most a few; none where all agree about."""
    low, mean, high = _own(found)
    labels, names = found.before.labels(), found.before.focal_sets.cluster_names
    rows = [i for i in np.lexsort((mean, (low - high).round(2)))[:FEW].tolist() if high[i] - low[i] > QUITE]
    called = [str(i + 1) if ids is None else str(ids[i]) for i in rows]
    return [Wide(name, names[labels[i]], float(low[i]), float(high[i])) for name, i in zip(called, rows, strict=True)]


def facts_of(found: Calibrated, ids: Sequence[str] | None = None) -> dict[str, object]:
    """The same for machines."""
    names = found.before.focal_sets.cluster_names
    return {
        "refits": len(found.memberships),
        "level": found.level,
        "groups_taken_for": found.form,
        "coverage": found.coverage(),
        "stability": found.stability,
        "cluster_stability": dict(zip(names, found.cluster_stability.tolist(), strict=True)),
        "least_sure": [one._asdict() for one in widest(found, ids)],
    }


def sure(data: ReportData) -> str:
    """The whole section; empty where nothing was calibrated."""
    found = data.calibration
    if found is None:
        return ""
    level, refits = f"{found.level:.0%}", len(found.memberships)
    lead = " ".join(sentences(found, data.noun, data.ids))
    read = (
        f"A line is one {escape(data.noun)}. It goes from the least to the most that {level} of the {refits} resamples say, "
        "as the probability of the group it is in; the dot is their mean. A short line at the top: any sample of this kind "
        "would put it there. A long line: another sample could well have said something else. A line that reaches below one "
        "half: the group is not settled."
    )
    mind = (
        f"The refits took the groups for {escape(found.form)}. Where groups are of quite another shape, or where their "
        "number is wrong, intervals are too short: they say what other samples would change, not what another method would."
    )
    body = f'<div class="figure">{_legend(found)}{lines_figure(found, data.noun)}</div><p class="note">{read}</p>'
    body += f"<h3>Which groups are found again</h3>{_groups(found)}{_least_sure(found, data.ids, data.noun)}"
    body += f"<h3>What the masses hold</h3>{_held(found)}"
    return section("sure", "How sure", f'{body}<p class="note">{mind}</p>', escape(lead))


def _legend(found: Calibrated) -> str:
    """Which colour is which group's."""
    focal = found.before.focal_sets
    colors = set_colors(focal)
    names = [
        f'<span class="key" dir="auto"><span class="dot" style="background:{colors[k + 1]}"></span>{escape(name)}</span>'
        for k, name in enumerate(focal.cluster_names)
    ]
    return f'<div class="keys">{" ".join(names)}</div>'


def lines_figure(found: Calibrated, noun: str = "object") -> str:
    """Objects from the surest to the least sure, each with its interval."""
    low, mean, high = _own(found)
    order = np.lexsort((low, -mean))
    if len(order) > MOST_LINES:
        order = order[np.linspace(0, len(order) - 1, MOST_LINES).round().astype(int)]
    labels, colors = found.before.labels(), set_colors(found.before.focal_sets)
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
    parts.append(f'<text x="{middle:.0f}" y="{HIGH - 10}" text-anchor="middle">{shown}, the surest first</text>')
    across = f"translate(22 {(TOP + HIGH - BOTTOM) / 2:.0f}) rotate(-90)"
    parts.append(f'<text transform="{across}" text-anchor="middle">probability of its group</text>')
    name = f"For each of {shown}, from where to where {found.level:.0%} of the refits put the probability of its group"
    return f'<svg viewBox="0 0 {WIDE} {HIGH}" class="tried sure" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _plural(noun: str) -> str:
    return noun if noun.endswith("s") else f"{noun}s"


def _own(found: Calibrated) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each object's own cluster: lower end, mean, upper end."""
    labels = found.before.labels()
    rows = np.arange(len(labels))
    return found.lower[rows, labels], found.memberships.mean(0)[rows, labels], found.upper[rows, labels]


def _y(share: float) -> float:
    return HIGH - BOTTOM - float(np.clip(share, 0.0, 1.0)) * (HIGH - BOTTOM - TOP)


def _tick(value: float) -> str:
    y = _y(value)
    line = f'<line x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="axis"/>'
    return f'{line}<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'


def _held(found: Calibrated) -> str:
    """How often refits lie between belief and plausibility of "these two belong together"."""
    told = found.coverage()
    called = {
        "before": "the model’s own masses",
        "after": "the calibrated masses",
        "intervals": "half of the refits, of the rest",
    }
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{told[key]["inside"]:.0%}</td><td>{told[key]["width"]:.3f}</td></tr>'
        for key, name in called.items()
    )
    head = (
        f'<tr><th scope="col">Between {term("belief")} and {term("plausibility")} lie</th>'
        f'<th scope="col">of the refits ({found.level:.0%} is meant)</th><th scope="col">mean width</th></tr>'
    )
    return table(rows, head, "How much of what refits say of two objects belonging together masses hold")


def _least_sure(found: Calibrated, ids: Sequence[str], noun: str) -> str:
    """The objects with the longest lines; nothing where all lines are short."""
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(one.name)}</th><td dir="auto">{escape(one.group)}</td>'
        f"<td>{one.low:.2f}</td><td>{one.high:.2f}</td></tr>"
        for one in widest(found, ids)
    )
    head = (
        f'<tr><th scope="col">{escape(noun.capitalize())}</th><th scope="col">Group</th>'
        '<th scope="col">its probability, from</th><th scope="col">to</th></tr>'
    )
    caption = f"The {escape(_plural(noun))} of which other samples say the most different things"
    return f"<h3>Which {escape(_plural(noun))} are least sure</h3>{table(rows, head, caption)}" if rows else ""


def _groups(found: Calibrated) -> str:
    names, labels = found.before.focal_sets.cluster_names, found.before.labels()
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(name)}</th><td>{int((labels == k).sum())}</td><td>{value:.2f}</td>'
        f"<td>{_word(value)}</td></tr>"
        for k, (name, value) in enumerate(zip(names, found.cluster_stability, strict=True))
    )
    head = '<tr><th scope="col">Group</th><th scope="col">Objects</th><th scope="col">Jaccard index</th><th></th></tr>'
    return table(rows, head, "How far each group is found again in other samples")


def _word(value: float) -> str:
    return "found again" if value >= STABLE else "comes apart" if value < LOOSE else "not always found again"
