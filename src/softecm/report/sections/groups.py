"""The section on groups: descriptions, prototypes, sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from softecm._checks import is_number
from softecm._precision import moment
from softecm._text import listed
from softecm.explain import ExplanationTree, Profiles, profile
from softecm.explain.columns import split_unit
from softecm.explain.profiles import IN_SENTENCE, in_time, in_unit
from softecm.report.columns import DAY, missing
from softecm.report.inputs import FittedModel, FloatArray, IntArray, every
from softecm.report.map import bulk
from softecm.report.sections.base import Json, Section, SetName, finite
from softecm.report.templating import as_float, as_number
from softecm.report.words import FEW

if TYPE_CHECKING:
    from softecm.belief import CredalPartition
    from softecm.explain import Trait
    from softecm.explain.nodes import Leaf
    from softecm.report.columns import Attribute
    from softecm.report.page import ReportData

MOST_SETS = 40
MOST_TRAITS = 5
MOST_RULES = 12  # above, too many to read
MOST_ATTRIBUTES = 60
MOST_COMPARED, FEWEST_COMPARED = 4_000, 500  # objects for comparing groups
WORK = 6e5  # objects times columns times groups
DEVIATIONS = "SD"  # the unit of series that are scaled to standard deviation 1
MOST_STEPS, MOST_MEMBERS = 160, 24  # of drawn series


class PrototypeCell(NamedTuple):
    """A cell of a set's prototype."""

    text: str
    is_word: bool = True
    place: float | None = None  # between the ends of its column, in percent


class Prototypes(NamedTuple):
    """The table of prototypes."""

    lead: str
    names: list[str]  # of the columns shown
    left_out: int  # number of columns
    rows: list[list[PrototypeCell]]


class GroupsSection(Section):
    """Descriptions of groups: sentences, rules, prototypes, sizes."""

    key, link = "sets", "Groups"
    on_paper = 10  # columns that fit on a printed page, as in report.css

    @property
    def _several(self) -> list[SetName]:
        """Sets of several groups, the largest first."""
        several = self.sets[self.data.partition.n_clusters + 1 :]
        return sorted(several, key=lambda one: (-one.count, -one.mean))

    @property
    def between(self) -> str:
        """The set of several groups with most objects, in words; empty if there is none."""
        return self._several[0].words if self._several and self._several[0].count else ""

    @cached_property
    def shown(self) -> list[SetName]:
        """The groups, and the largest sets of several; the page hides empty ones."""
        c = self.data.partition.n_clusters
        more = sorted(self._several[: max(MOST_SETS - c, 0)], key=lambda one: one.number)
        return [*self.sets[1 : c + 1], *more]

    @property
    def _profiled(self) -> list[SetName]:
        """The sets that are described, the empty set last."""
        profiles = self.data.profiles
        if profiles is None or len(profiles.sizes) == 1:
            return []
        return [one for one in [*self.sets[1:], self.sets[0]] if one.label in profiles.sizes]

    @property
    def too_few(self) -> list[SetName]:
        """Sets of several groups, and outliers, with too few objects to describe."""
        compared, c = {trait.group for trait in self.data.profiles or ()}, self.data.partition.n_clusters
        return [one for one in self._profiled if one.label not in compared and not 1 <= one.number <= c]

    @cached_property
    def traits(self) -> list[tuple[SetName, str, Markup | str]]:
        """What distinguishes the objects of each set; for groups with a sentence first."""
        data, profiles = self.data, self.data.profiles
        if profiles is None:
            return []
        lines: list[tuple[SetName, str, Markup | str]] = []
        for one in (one for one in self._profiled if one not in self.too_few):
            traits = profiles.of(one.label)
            is_group = 1 <= one.number <= data.partition.n_clusters
            text = Markup("; ").join(map(trait_text, traits[IN_SENTENCE if is_group else 0 : MOST_TRAITS]))
            if len(traits) > MOST_TRAITS:
                text += f"; and {len(traits) - MOST_TRAITS} more"
            if text and is_group:
                text = Markup("Also {}").format(text)
            if not text and not is_group:
                text = Markup('<span class="soft">{}</span>').format(profiles.untold(one.label))
            lines.append((one, profiles.sentence(one.label, data.noun) if is_group else "", text))
        return lines

    @property
    def is_standardized(self) -> bool:
        """Whether each series has mean 0 and deviation 1, and so no unit."""
        return is_standardized(self.data)

    @property
    def has_numbers(self) -> bool:
        """Whether descriptions of groups show numbers."""
        return any(math.isfinite(trait.here) for trait in self.data.profiles or ())

    @property
    def sample(self) -> int:
        """The number of objects that descriptions and rules are from; 0 if they are from all."""
        count = len(_compared(self.data)[1])
        return 0 if self.data.series is not None or count == len(self.data.partition) else count

    @cached_property
    def rules(self) -> list[tuple[Leaf, str]]:
        """The columns that lead to each set, one line per rule."""
        tree = self.data.rules
        return [] if tree is None or not 1 < len(tree.leaves_) <= MOST_RULES else list(tree.rules_by_leaf())

    @cached_property
    def prototypes(self) -> Prototypes:
        """The table of prototypes of the sets shown."""
        data, chosen = self.data, ordered(self.data)
        counting = [j for j in chosen if data.attributes[j].name not in data.set_aside]
        aside = len(chosen) - len(counting) if counting else 0
        chosen = counting or chosen
        ends = {j: _ends(data, j) for j in chosen}
        cells = data.prototypes if len(data.prototypes) else ()
        rows = [
            [_prototype_cell(cells[one.number - 1][j], data.attributes[j], ends[j]) for j in (chosen if cells else ())]
            + ([PrototypeCell(data.medoids[one.number - 1])] if data.medoids else [])
            for one in self.shown
        ]
        names = [data.attributes[j].name for j in chosen]
        return Prototypes(_lead(data, chosen, aside), names, len(data.attributes) - len(chosen) - aside, rows)

    def payload(self) -> Json:
        """Return, for series: prototypes of the sets, the most certain members of each, and explained ones."""
        data = self.data
        if data.prototype_series is None:
            return {"series": None}
        place = {int(row): i for i, row in enumerate(data.rows)}
        masses = data.partition.masses[data.rows]
        members = [_surest(masses, j) for j in range(1, masses.shape[1])]
        drawn = sorted({i for rows in members for i in rows} | {place[i] for i in data.explanations if i in place})
        own = {i: _thinned(data.series[i]) for i in drawn} if data.series is not None else {}
        prototypes = [_thinned(one) for one in data.prototype_series]
        return {"series": {"channels": list(data.channels), "prototypes": prototypes, "members": members, "own": own}}

    def facts(self) -> Json:
        """Return descriptions of groups, and prototypes; dates and words as text."""
        data, profiles, names = self.data, self.data.profiles, [a.name for a in self.data.attributes]
        rows = zip((one.label for one in self.sets[1:]), data.prototypes, strict=True) if len(data.prototypes) else ()
        return {
            "profiles": {} if profiles is None else profile_facts(profiles),
            "group_sentences": {} if profiles is None else profiles.sentences(data.noun),
            "rules": [] if data.rules is None else data.rules.rules(),
            "prototypes": {label: dict(zip(names, map(_json, row), strict=True)) for label, row in rows},
        }

    def without_values(self, model: FittedModel) -> Json:
        """Return which columns distinguish each group, without values."""
        dates = {attribute.name for attribute in self.data.attributes if attribute.kind == "date"}
        profiles = self.data.profiles
        if profiles is None:
            return {}
        return {"profiles": replace(profiles, traits=tuple(_direction(trait, dates) for trait in profiles.traits))}


def _direction(trait: Trait, dates: set[str]) -> Trait:
    if trait.category is not None or trait.how in ("around", "far from"):
        how = "differs"
    else:
        how = in_time(trait.how) if trait.column in dates else trait.how
    return replace(trait, here=math.nan, elsewhere=math.nan, category=None, how=how)


def profile_facts(profiles: Profiles) -> dict[str, list[Json]]:
    """Return what distinguishes each group, the strongest first."""
    return {group: [_trait_facts(trait) for trait in profiles.of(group)] for group in profiles.sizes}


def _trait_facts(trait: Trait) -> Json:
    unit = DAY if trait.precision.moment else 1  # dates are days here
    entry: Json = {
        "column": trait.column,
        "how": trait.how,
        "effect": round(trait.effect, 4),
        "interval": [round(trait.low, 4), round(trait.high, 4)],
        "here": finite(trait.here / unit),
        "elsewhere": finite(trait.elsewhere / unit),
    }
    return entry if trait.category is None else {**entry, "category": str(trait.category)}


def _json(cell: object) -> object:
    return finite(float(cell)) if is_number(cell) else str(cell)


def _surest(masses: FloatArray, column: int) -> list[int]:
    """Return some objects with their largest mass on a set, the largest first."""
    rows = np.flatnonzero(masses.argmax(1) == column)
    return [int(i) for i in rows[np.argsort(-masses[rows, column], kind="stable")][:MOST_MEMBERS]]


def _thinned(series: ArrayLike) -> Json:
    """Return the length and at most ``MOST_STEPS`` steps, one list per channel, in five digits."""
    values = np.asarray(series, dtype=np.float64)
    filled = np.flatnonzero(np.isfinite(values).any(1))
    values = values[: filled[-1] + 1] if len(filled) else values[:1]
    channels = values[every(len(values), MOST_STEPS)].T
    return {"l": len(values), "v": [[finite(float(f"{v:.5g}")) for v in channel] for channel in channels]}


# ------------------------------------------------------------------ descriptions of groups


def trait_text(trait: Trait) -> Markup:
    """Return what distinguishes a group in one column, in the column's own precision and unit."""
    column, unit = split_unit(trait.column)
    name = Markup('<em dir="auto">{}</em>').format(column)
    how = in_time(trait.how) if trait.precision.moment else trait.how
    if math.isnan(trait.here):
        return Markup("{} {}").format(name, how)
    if trait.category is not None:
        shares = f"{trait.here:.0%}, others {trait.elsewhere:.0%}"
        return Markup('{} {} <b dir="auto">{}</b> ({})').format(name, trait.how, str(trait.category), shares)
    here, elsewhere = (in_unit(value, trait, unit) for value in (trait.here, trait.elsewhere))
    if trait.how in ("around", "far from"):
        return Markup("{} {} <b>{}</b>").format(name, trait.how, here if trait.how == "around" else elsewhere)
    compared = Markup(" (<b>{}</b>, others {})").format(here, elsewhere) if here != elsewhere else ""
    return Markup("{} {}{}").format(name, how, compared)


# ------------------------------------------------------------------ prototypes


def _lead(data: ReportData, shown: Sequence[int], aside: int) -> str:
    """Return notes on the prototypes in the columns shown, with the number of columns without weight."""
    lead = ""
    if data.profiles is not None and len(data.attributes) > 1 < data.partition.n_clusters:
        lead += " Columns that distinguish the groups most come first"
        lead += "; those that do not distinguish them are left out." if aside else "."
    if any(a.kind != "category" and a.known for a in data.attributes):
        far = [data.attributes[j].name for j in shown if _ends(data, j) != _all(data.attributes[j])]
        named = listed(far, "and") if 0 < len(far) <= FEW else "some columns"
        beyond = f"; far values of {named} lie beyond its ends" if far else ""
        lead += f" The mark shows where a value lies between the minimum and the maximum of all objects{beyond}."
    return lead


def _all(attribute: Attribute) -> tuple[float, float] | None:
    """Return the range of a column; None for words, and without any cells."""
    own = attribute.coordinates()
    return None if own is None or not attribute.known else (float(np.nanmin(own)), float(np.nanmax(own)))


def _ends(data: ReportData, j: int) -> tuple[float, float] | None:
    """Return the range of a column, without far values as on the map, and of its prototypes."""
    whole, own = _all(data.attributes[j]), data.attributes[j].coordinates()
    if whole is None or own is None:
        return whole
    low, high = bulk(own[np.isfinite(own), None])
    places = [data.attributes[j].coordinate(row[j]) for row in data.prototypes]
    both = [float(low[0]), float(high[0]), *filter(math.isfinite, places)]
    return max(whole[0], min(both)), min(whole[1], max(both))


def _prototype_cell(value: object, attribute: Attribute, ends: tuple[float, float] | None) -> PrototypeCell:
    at = attribute.coordinate(value) if attribute.kind != "category" else math.nan
    if not math.isfinite(at):
        return PrototypeCell(str(value))
    shown = as_number(as_float(value)) if attribute.precision is None else attribute.shown(value, between=True)
    if ends is None:
        return PrototypeCell(shown, is_word=False)
    low, high = ends
    place = 50.0 if high <= low else min(max(100 * (at - low) / (high - low), 0.0), 100.0)
    return PrototypeCell(shown, False, place)


# ------------------------------------------------------------------ selection of columns


def distinguishing(
    attributes: Sequence[Attribute], prototypes: Sequence[Sequence[object]], n_clusters: int
) -> list[int]:
    """Return columns in order; if there are too many, those in which the clusters' prototypes differ most."""
    if len(attributes) <= MOST_ATTRIBUTES or not len(prototypes):
        return list(range(len(attributes)))
    clusters = prototypes[:n_clusters]
    spread = [_spread(attribute, [row[j] for row in clusters]) for j, attribute in enumerate(attributes)]
    return sorted(np.argsort(-np.nan_to_num(np.array(spread)), kind="stable")[:MOST_ATTRIBUTES].tolist())


def _spread(attribute: Attribute, values: Sequence[object]) -> float:
    """Return the spread of prototypes in one column, relative to its cells."""
    cells = attribute.coordinates()
    if cells is None:
        return float(len({str(value) for value in values}) - 1)
    own = float(np.nanstd(cells)) if np.isfinite(cells).any() else 0.0
    return float(np.ptp([attribute.coordinate(value) for value in values])) / max(own, 1e-12)


def ordered(data: ReportData) -> list[int]:
    """Return the columns to show, starting with the most distinguishing ones for most groups."""
    chosen = distinguishing(data.attributes, data.prototypes, data.partition.n_clusters)
    if data.profiles is None:
        return chosen
    groups = set(data.partition.focal_sets.labels()[1 : data.partition.n_clusters + 1])
    weight: dict[str, float] = {}
    for trait in data.profiles:
        if trait.group in groups and trait.distinguishes:
            weight[trait.column] = weight.get(trait.column, 0.0) + trait.effect
    return sorted(chosen, key=lambda j: -weight.get(data.attributes[j].name, 0.0))


# ------------------------------------------------------------------ profiles of groups, and rules


def profiled(data: ReportData) -> Profiles | None:
    """Profile the groups of the drawn objects, or of an even sample of them; None without usable columns."""
    drawn = data.partition[data.rows]
    if data.series is not None and len(data.series):
        rows = every(len(drawn), MOST_COMPARED)
        scale, unit = (100.0, "%") if data.noun == "sequence" else (1.0, "")  # shares of states are in percent
        scaled = is_standardized(data)
        unit = DEVIATIONS if scaled else unit
        channels = [split_unit(name)[0] for name in data.channels] if scaled else data.channels
        profiles = _of_series(drawn[rows], [scale * data.series[i] for i in rows], channels)
        if profiles is None:
            return None
        in_units = replace(profiles, traits=tuple(replace(trait, unit=unit) for trait in profiles))
        return _of_all(in_units, data.partition)
    known, rows = _compared(data)
    if not known:
        return None
    profiles = profile(drawn[rows], _cells(known, rows), columns=[attribute.name for attribute in known])
    units = {attribute.name: attribute.unit for attribute in known}
    return _of_all(replace(profiles, traits=tuple(replace(t, unit=units[t.column]) for t in profiles)), data.partition)


def is_standardized(data: ReportData) -> bool:
    """Whether the objects are series with mean 0 and deviation 1 each."""
    series = () if data.series is None else data.series
    means, deviations = ([f(one, axis=0) for one in series] for f in (np.nanmean, np.nanstd))
    return len(series) > 0 and np.allclose(np.concatenate(means), 0) and np.allclose(np.concatenate(deviations), 1)


def _of_all(profiles: Profiles, partition: CredalPartition) -> Profiles:
    """Return a sample's profiles, with the sizes of groups among all objects."""
    counts = np.bincount(partition.masses.argmax(1), minlength=partition.masses.shape[1]).tolist()
    sizes = dict(zip(partition.focal_sets.labels(), counts, strict=True))
    return replace(profiles, sizes={group: sizes[group] for group in profiles.sizes})


def ruled(data: ReportData) -> ExplanationTree | None:
    """Return rules for the groups of the same objects; None without columns, or for one group."""
    known, rows = _compared(data)
    some = data.partition[data.rows][rows]
    if not known or len(np.unique(some.masses.argmax(1))) < 2:
        return None
    names = [f"{one.name} ({one.unit})" if one.unit else one.name for one in known]
    return ExplanationTree().fit(some, _cells(known, rows), columns=names)


def _compared(data: ReportData) -> tuple[list[Attribute], IntArray]:
    """Return the columns with a weight, and an even sample of the drawn objects, for comparing groups."""
    chosen = distinguishing(data.attributes, data.prototypes, data.partition.n_clusters)
    some = [data.attributes[j] for j in chosen if data.attributes[j].known]
    known = [attribute for attribute in some if attribute.name not in data.set_aside] or some
    groups = len(np.unique(data.partition.masses[data.rows].argmax(1)))
    most = int(np.clip(WORK / (max(len(known), 1) * groups), FEWEST_COMPARED, MOST_COMPARED))
    return known, every(len(data.rows), most)


def _cells(known: Sequence[Attribute], rows: IntArray) -> NDArray[np.object_]:
    cells = np.empty((len(rows), len(known)), dtype=object)
    for j, attribute in enumerate(known):
        cells[:, j] = [_cell(attribute, attribute.values[i]) for i in rows]
    return cells


def _of_series(partition: CredalPartition, series: list[FloatArray], channels: Sequence[str]) -> Profiles | None:
    named = channels if len(channels) > 1 else None
    return profile(partition, series, columns=named) if len({one.shape[1] for one in series}) == 1 else None


def _cell(attribute: Attribute, value: object) -> object:
    """Return a cell as a number, a date or a word; None if missing."""
    if missing(value):
        return None
    if attribute.kind != "number":
        return str(value) if attribute.kind == "category" else moment(value).item()
    number = attribute.coordinate(value)
    return None if np.isnan(number) else number
