"""Pages from the templates beside this module: whatever the data hold is escaped, and nothing is fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from softecm._text import visible
from softecm.report.words import grouped, number_of

SCRIPTS = (
    "base",
    "found",
    "map",
    "masses",
    "series",
    "objects",
    "live",
    "run",
)  # in this order: a section may use those before it


@cache
def asset(name: str) -> str:
    """A file of the page's own style or script."""
    return (files("softecm.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """The page's script: what its sections share, then the sections, none of which others can reach."""
    return '(() => {\n"use strict";\n' + "\n".join(asset(f"{name}.js") for name in SCRIPTS) + "})();\n"


@cache
def _environment() -> Environment:
    environment = Environment(loader=PackageLoader("softecm.report"), autoescape=True, trim_blocks=True)
    environment.filters["term"] = term
    environment.globals.update(
        term=term, grouped=grouped, number_of=number_of, as_number=as_number, percent=lambda share: f"{share:.0%}"
    )
    return environment


def render_page(template: str, script: str = "", **values: object) -> str:
    """A template with its values as one self-contained page; only this script runs, whatever the data hold."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    allowed = f"script-src 'sha256-{digest}'; " if script else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; {allowed}base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template(template)
    return visible(page.render(policy=policy, style=asset("report.css"), script=script, **values), lines=True)


def as_float(value: object) -> float:
    """A number, nan for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def as_number(value: object) -> str:
    """A number that has no column of its own, in four digits, the whole ones of large numbers all."""
    number = as_float(value)
    if not math.isfinite(number):
        return str(value)
    return grouped(round(number)) if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"


# ------------------------------------------------------------------ what the words of a report mean

TERMS: dict[str, str] = {
    "mass": "How much of the evidence about an object points to exactly this set. The masses of an object add up to 1.",
    "set": "One group, or several groups of which the object is in one and the data can’t tell which.",
    "no group": "Mass on no group: the larger, the less the object is like any of them.",
    "belief": "What points to a group alone: at least this much. In tables of the partition as bel(…).",
    "plausibility": "What does not speak against a group: at most this much. In tables of the partition as pl(…).",
    "typical": "The largest mass on a single group: near 1, the object is a good example of it.",
    "clearly": "The object belongs to this group: nearly all that is known points to it alone.",
    "rather": "The object belongs to this group rather than to another, and is no clear case.",
    "undecided": "Two groups are about as likely for this object.",
    "between": "The object lies between groups: its largest mass is on several of them together.",
    "nowhere": "The object is unlike all groups: its largest mass is on none of them.",
    "said": "What is said of the object in one word: clearly, rather, between, undecided or nowhere.",
    "confidence": "The belief in the group, or in the set, that is said; for nowhere the mass on no group.",
    "doubt": "One minus the largest probability of a group: how likely the label is wrong. 0: sure; 0.5: as likely another.",
    "distance": "How far the object is from the prototype of the group nearest to it, as the metric measures.",
    "prototype": "What stands for a set: for one group its centre, for several what lies between theirs.",
    "medoid": "The object that stands for a set.",
    "mean mass": "How much of all objects’ mass lies on this set, from 0 to 1.",
    "distinguishes": "Columns in which this group’s objects differ from all others by more than chance, by Cliff’s delta: "
    "how much more often a member lies above a non-member than below. Groups were found in these columns, so some had to "
    "differ.",
    "rules": "A small decision tree: each rule holds for the objects counted beside it. R is how much of what the masses "
    "say the rules say, too: 1 all of it.",
    "metric": "How two objects are compared: the smaller its distance, the more alike they are.",
    "adjusted Rand index": "How well the groups meet the known classes: 1 all, 0 no better than chance.",
    "Rand index": "Pairs of objects that groups and known classes treat alike, as a part of all pairs.",
    "accuracy": "Objects in the group that stands for their class, as a part of all, with groups and classes matched best.",
    "purity": "Objects of the class that is most frequent in their group, as a part of all.",
    "objective": "What the fit makes as small as it can: masses times distances, all objects together.",
    "separation": "How far apart the two nearest groups’ prototypes are, compared with the spread of all objects. Near 0: "
    "they have merged.",
    "converged": "Whether the masses stood still before the rounds were used up.",
    "merged": "Whether prototypes of different groups came to the same place: then these groups are not told apart.",
    "rounds": "How often masses and prototypes were improved in turn.",
    "run": "The fit is begun several times from other places; each is a run.",
    "kept": "The run whose result is shown: the one with the lowest objective.",
    "n_clusters": "How many groups were looked for.",
    "alpha": "Larger keeps mass off sets of many groups.",
    "beta": "Above 1: larger spreads an object’s mass over more sets.",
    "delta": "Its square is the distance at which an object may as well belong nowhere; where the metric squares distances, "
    "it is that distance itself.",
    "lam": "How strongly a set’s prototype is tied to those of its groups.",
    "relaxation": "How the prototypes of sets are tied to those of their groups.",
    "focal_sets": "Which sets of groups may hold mass; auto: each group, and pairs of neighbouring ones.",
    "max_cardinality": "The most groups that a set may have.",
    "init": "Where the fit begins.",
    "n_init": "How many times the fit is begun; the best one is kept.",
    "max_iter": "The most rounds.",
    "tol": "The fit is done when no mass moves by more than this.",
    "random_state": "The same number gives the same starts, hence the same result.",
    "solver": "How prototypes are moved.",
    "device": "What computes: cpu, or cuda for a graphics card.",
    "dtype": "How many digits numbers are computed with.",
    "metric_reason": "Why this metric was taken.",
}


def term(word: str, key: str | None = None) -> Markup:
    """A word of the page, with what it means where that is known: shown on hovering, on focus and on a tap."""
    meaning = TERMS.get(key or word)
    if meaning is None:
        return escape(word)
    return Markup('<span class="term" tabindex="0" data-tip="{}">{}</span>').format(meaning, word)
