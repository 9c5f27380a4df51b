"""The section on groups: what each is, its prototype, its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from softecm.explain.profiles import in_time
from softecm.figures.colours import set_colors
from softecm.report.chosen import IntArray
from softecm.report.markup import as_float, as_number, section, table
from softecm.report.telling import ordered
from softecm.report.terms import term
from softecm.report.words import FEW, _group, _listed, in_words, number_of

if TYPE_CHECKING:
    from softecm.belief import FocalSets
    from softecm.explain import Trait
    from softecm.report.data import Attribute, ReportData

MOST_SETS = 40
MOST_TRAITS = 5
MOST_RULES = 12  # beyond, nobody reads them
FAR = 1.5  # widths of its middle half from there: a value further out does not stretch a column's rule
ON_PAPER = 10  # columns that a printed page has room for, as in report.css


def groups(data: ReportData) -> str:
    """The whole section."""
    focal = data.partition.focal_sets
    first = ", ".join(focal.cluster_names[:2]) + (" …" if focal.n_clusters > 2 else "")
    lead = f"{escape(first)} are the groups."
    if len(focal) > focal.n_clusters:
        lead += f" A union such as {union(focal)} collects what could be in either; Ω is all of them."
    counts = np.bincount(data.partition.masses.argmax(1), minlength=len(focal) + 1)
    mean = data.partition.masses.mean(0)
    shown = [j for j in range(1, len(focal) + 1) if j <= focal.n_clusters or counts[j] or mean[j] > 0.005][:MOST_SETS]
    body = _profiles(data, counts) + _rules(data)
    if data.prototype_series is not None:
        body += """<p class="controls" id="channel-row" hidden>
<label for="channel">Shown</label> <select id="channel"></select></p>
<div class="cards" id="series-cards"></div>"""
        body += f"<details><summary>Size of every set</summary>{_sizes(data, shown, counts)}</details>"
    elif not len(data.prototypes) and not data.medoids:
        body += _sizes(data, shown, counts)
    else:
        body += _prototypes(data, shown, counts)
    rest = len(focal) - len(shown)
    if rest:
        some = "1 set" if rest == 1 else f"{rest} sets"
        body += f'<p class="note">{some} to which no object belongs {"is" if rest == 1 else "are"} left out.</p>'
    return section("sets", "Groups and what lies between", body, lead)


def union(focal: FocalSets) -> str:
    """The first two groups together."""
    return escape("∪".join((*focal.cluster_names[:2], "ω2")[:2]))


def set_head(data: ReportData, column: int) -> str:
    """The cell that names a set in a table's row."""
    return f'<th scope="row">{_set_name(data, column)}</th>'


def _set_name(data: ReportData, column: int) -> str:
    focal = data.partition.focal_sets
    label, words = focal.labels()[column], in_words(focal, column)
    if column == 0:
        return '<span class="cross" aria-hidden="true"></span>∅ none'
    shape = "dot" if len(focal.sets[column - 1]) == 1 else "gem"
    more = "" if label == words else f'<span class="sr"> ({escape(words)})</span>'
    return f'<span class="{shape}" style="background:{set_colors(focal)[column]}"></span>{escape(label)}{more}'


# ------------------------------------------------------------------ what each group is


def _profiles(data: ReportData, counts: IntArray) -> str:
    """A sentence a group, on what tells its objects from all others."""
    if data.profiles is None:
        return ""
    labels = data.partition.focal_sets.labels()
    columns = {attribute.name: attribute for attribute in data.attributes}
    lines = []
    for j in [*range(1, len(labels)), 0]:
        if labels[j] not in data.profiles.sizes:
            continue
        traits = data.profiles.of(labels[j])
        told = "; ".join(told_trait(trait, columns.get(trait.column)) for trait in traits[:MOST_TRAITS])
        more = len(traits) - MOST_TRAITS
        if more > 0:
            told += f"; and {more} more"
        if not told:
            told = f'<span class="soft">{data.profiles.untold(labels[j])}</span>'
        head = f"<b>{_set_name(data, j)}</b><small>{number_of(int(counts[j]), data.noun)}</small>"
        lines.append(f"<li><div>{head}</div><div>{told}</div></li>")
    if not lines:
        return ""
    lead = f"What {term('distinguishes')} its objects from all others, the strongest first."
    return f'<h3>What each group is</h3><p class="lead">{lead}</p><ul class="profiles">{"".join(lines)}</ul>'


def _rules(data: ReportData) -> str:
    """Which columns lead to which set, a line a rule."""
    tree = data.rules
    if tree is None or not 1 < len(tree.leaves_) <= MOST_RULES:
        return ""
    lines = []
    for leaf, rule in tree.rules_by_leaf():
        head = f"<b>{_set_name(data, leaf.said)}</b><small>{number_of(leaf.objects, data.noun)}</small>"
        lines.append(f'<li><div>{head}</div><div dir="auto">{escape(rule)}</div></li>')
    lead = f"The same in {term('rules')} that a person can check. {escape(tree.summary())}"
    return f'<h3>Rules</h3><p class="lead">{lead}</p><ul class="profiles">{"".join(lines)}</ul>'


def told_trait(trait: Trait, attribute: Attribute | None) -> str:
    """What distinguishes a group in one column, in the column's own precision and unit."""
    name = f'<em dir="auto">{escape(trait.column)}</em>'
    how = in_time(trait.how) if attribute is not None and attribute.kind == "date" else trait.how
    if math.isnan(trait.here):
        return f"{name} {how}"
    if trait.category is not None:
        shares = f"{trait.here:.0%}, elsewhere {trait.elsewhere:.0%}"
        return f'{name} {trait.how} <b dir="auto">{escape(str(trait.category))}</b> ({shares})'
    here, elsewhere = (escape(_shown(value, attribute)) for value in (trait.here, trait.elsewhere))
    if trait.how == "around":
        return f"{name} around <b>{here}</b>"
    if trait.how == "far from":
        return f"{name} far from <b>{elsewhere}</b>"
    return f"{name} {how}" + (f" (<b>{here}</b>, elsewhere {elsewhere})" if here != elsewhere else "")


def _shown(value: float, attribute: Attribute | None) -> str:
    return f"{value:.3g}" if attribute is None else attribute.at(value)


# ------------------------------------------------------------------ prototypes and sizes


def _sizes(data: ReportData, shown: Sequence[int], counts: IntArray) -> str:
    mean = data.partition.masses.mean(0)
    rows = "".join(f"<tr>{set_head(data, j)}<td>{_group(counts[j])}</td><td>{mean[j]:.3f}</td></tr>" for j in shown)
    head = f'<th scope="col">{term("Set", "set")}</th><th scope="col">Objects</th>'
    return table(rows, f'<tr>{head}<th scope="col">{term("Mean mass", "mean mass")}</th></tr>', "Size of the sets")


def _prototypes(data: ReportData, shown: Sequence[int], counts: IntArray) -> str:
    names = [a.name for a in data.attributes]
    chosen = ordered(data)
    head = "".join(f'<th scope="col" dir="auto">{escape(names[j])}</th>' for j in chosen)
    head += f'<th scope="col">{term("Medoid", "medoid")}</th>' if data.medoids else ""
    ends = {j: _ends(data, j) for j in chosen}
    rows = []
    for s in shown:
        cells = "".join(
            _prototype_cell(data.prototypes[s - 1][j], data.attributes[j], ends[j])
            for j in (chosen if len(data.prototypes) else ())
        )
        cells += f'<td class="word" dir="auto">{escape(data.medoids[s - 1])}</td>' if data.medoids else ""
        rows.append(f"<tr>{set_head(data, s)}<td>{_group(counts[s])}</td>{cells}</tr>")
    left = len(names) - len(chosen)
    note = f"Shown are the {len(chosen)} columns in which the groups differ most; {left} more are left out."
    first = f'<th scope="col">{term("Set", "set")}</th><th scope="col">Objects</th>'
    shown_table = table("".join(rows), f"<tr>{first}{head}</tr>", "Prototypes of the sets", "prototypes")
    lead = f'<h3>Prototypes</h3><p class="lead">{_prototypes_lead(data)}</p>'
    paper = f'<p class="note on-paper">On paper: the first {ON_PAPER} columns.</p>' if len(chosen) > ON_PAPER else ""
    return f"{lead}{shown_table}{paper}" + (f'<p class="note">{note}</p>' if left > 0 else "")


def _prototypes_lead(data: ReportData) -> str:
    if data.medoids:
        return f"The {term('medoid')} of each set: the object that stands for it."
    lead = f"The {term('prototype')} of each set: what its members are like."
    if data.profiles is not None and len(data.attributes) > 1:
        lead += " The columns that distinguish the groups most come first."
    if any(a.kind != "category" and a.known for a in data.attributes):
        names = {j: escape(data.attributes[j].name) for j in ordered(data)}
        far = [name for j, name in names.items() if _ends(data, j) != _all(data.attributes[j])]
        named = _listed(far, "and") if 0 < len(far) <= FEW else "some columns"
        beyond = f"; far values of {named} lie beyond its ends" if far else ""
        lead += f" The mark shows where a value lies between the least and the most of all objects{beyond}."
    return lead


def _all(attribute: Attribute) -> tuple[float, float] | None:
    """The least and the most of a column; None for words, and where all cells are gone."""
    own = attribute.coordinates()
    return None if own is None or not attribute.known else (float(np.nanmin(own)), float(np.nanmax(own)))


def _ends(data: ReportData, j: int) -> tuple[float, float] | None:
    """The same of the bulk of a column and of its prototypes: the whiskers of a box plot, which far values don't stretch."""
    whole, own = _all(data.attributes[j]), data.attributes[j].coordinates()
    if whole is None or own is None:
        return whole
    first, third = np.nanquantile(own, (0.25, 0.75))
    reach = FAR * (third - first)
    if reach <= 0:
        return whole
    near = own[(own >= first - reach) & (own <= third + reach)].tolist()
    places = [data.attributes[j].coordinate(row[j]) for row in data.prototypes]
    both = [at for at in (*near, *places) if math.isfinite(at)]
    return max(whole[0], min(both)), min(whole[1], max(both))


def _prototype_cell(value: object, attribute: Attribute, ends: tuple[float, float] | None) -> str:
    at = attribute.coordinate(value) if attribute.kind != "category" else math.nan
    if not math.isfinite(at):
        return f'<td class="word" dir="auto">{escape(str(value))}</td>'
    shown = as_number(as_float(value)) if attribute.precision is None else escape(attribute.shown(value, between=True))
    if ends is None:
        return f'<td><span class="num">{shown}</span></td>'
    low, high = ends
    place = 50.0 if high <= low else min(max(100 * (at - low) / (high - low), 0.0), 100.0)
    mark = f'<span class="rule" aria-hidden="true"><i style="left:{place:.0f}%"></i></span>'
    return f'<td><span class="num">{shown}</span>{mark}</td>'
