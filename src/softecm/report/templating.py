"""Pages from templates: data are escaped, and nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from softecm._precision import criterion
from softecm._text import grouped, number_of, visible
from softecm._version import __version__


@cache
def asset(name: str) -> str:
    """Return a file of the page's styles or scripts; empty if it does not exist."""
    file = files("softecm.report") / "assets" / name
    return file.read_text(encoding="utf-8") if file.is_file() else ""


@cache
def _environment() -> Environment:
    environment = Environment(loader=PackageLoader("softecm.report"), autoescape=True, trim_blocks=True)
    environment.filters["term"] = term
    shown = {"term": term, "grouped": grouped, "number_of": number_of, "as_number": as_number, "criterion": criterion}
    environment.globals.update(shown, percent=lambda share: f"{share:.0%}")
    return environment


def render_page(template: str, script: str = "", **values: object) -> str:
    """Render a template as one self-contained page that runs only this script, whatever the data contain."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    allowed = f"script-src 'sha256-{digest}'; " if script else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; {allowed}base-uri 'none'; form-action 'none'"
    )
    page = {"made_by": f"softecm {__version__}", "policy": policy, "style": asset("report.css"), "script": script}
    return render(template, **{**page, **values})


def render(template: str, **values: object) -> str:
    """Render a template; invisible characters are written out."""
    return visible(_environment().get_template(template).render(**values), lines=True)


def as_float(value: object) -> float:
    """Return a number, or NaN for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def as_number(value: object) -> str:
    """Return the text of a number without a column: four digits, or all digits of large integers."""
    number = as_float(value)
    if not math.isfinite(number):
        return str(value)
    return grouped(round(number)) if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"


# ------------------------------------------------------------------ glossary

TERMS: dict[str, str] = {
    "mass": "How much of the evidence about an object points to exactly this set. The masses of an object add up to 1.",
    "set": "One group, or several groups of which the object is in one and the data can’t tell which.",
    "no group": "Mass on no group: the larger, the less the object resembles any of them.",
    "belief": "The evidence for this group alone: its probability is at least this. Column bel(…) of the partition.",
    "plausibility": "All evidence not against this group: its probability is at most this. Column pl(…) of the partition.",
    "typical": "The largest mass on a single group: near 1, the object is a good example of it.",
    "clearly": "The object belongs to this group: nearly all evidence points to it alone.",
    "rather": "The object belongs to this group rather than to another, but not clearly.",
    "undecided": "Two groups are about equally likely for this object.",
    "between": "The object lies between groups: its largest mass is on several of them together.",
    "nowhere": "The object resembles no group: its largest mass is on none of them.",
    "decision": "The decision about the object in one word: clearly, rather, between, undecided or nowhere.",
    "confidence": "The belief in the group or set it is assigned to; for nowhere the mass on no group.",
    "doubt": "How likely the label is wrong: one minus the largest probability of a group. At 0 the label is certain.",
    "distance": "The distance, by the metric, to the prototype of the closest group.",
    "prototype": "What represents a set: the centre of a group, or a point between the centres of several.",
    "medoid": "The object that represents a set.",
    "mean mass": "The average mass of all objects on this set, from 0 to 1.",
    "distinguishes": "Columns in which this group’s objects differ from all others by more than chance (Cliff’s delta: "
    "how much more often a member lies above a non-member than below). The groups were found in these columns, so some "
    "must differ.",
    "rules": "A small decision tree: each rule holds for the objects counted beside it. The agreement is how much "
    "of the information in the masses the rules reproduce: 1 is all of it.",
    "metric": "How two objects are compared: the smaller its distance, the more alike they are.",
    "adjusted Rand index": "How well the groups match the known classes: 1 is perfect, 0 no better than chance.",
    "Rand index": "The share of pairs of objects that groups and known classes treat alike.",
    "accuracy": "The share of objects in the group of their class, with groups and classes matched optimally.",
    "purity": "The share of objects whose class is the most frequent in their group.",
    "objective": "What the fit minimizes: masses times distances, summed over all objects.",
    "separation": "The distance between the two closest groups’ prototypes, relative to the spread of all objects. Near 0: "
    "they have merged.",
    "converged": "Whether the masses stopped changing before the maximum number of iterations.",
    "merged": "Whether prototypes of different groups coincide: such groups can’t be told apart.",
    "iterations": "How often masses and prototypes were updated in turn.",
    "run": "The fit is repeated from different initializations; each is a run.",
    "best": "The run whose result is shown: the one with the lowest objective.",
    "n_clusters": "The number of groups.",
    "alpha": "Larger values put less mass on sets of many groups.",
    "beta": "Above 1; larger values spread an object’s mass over more sets.",
    "delta": "The distance beyond which objects are outliers; where the metric does not square distances, its square is "
    "compared with them.",
    "lam": "How strongly a set’s prototype is tied to the prototypes of its groups.",
    "relaxation": "How the prototypes of sets are tied to the prototypes of their groups.",
    "focal_sets": "Which sets of groups may hold mass; auto: each group, and pairs of neighbouring ones.",
    "max_cardinality": "The largest number of groups in a set.",
    "init": "How the fit is initialized.",
    "n_init": "The number of initializations; the best run is kept.",
    "max_iter": "The maximum number of iterations.",
    "tol": "The fit stops when no mass changes by more than this.",
    "random_state": "The random seed: the same seed gives the same result.",
    "solver": "How prototypes are optimized.",
    "device": "Where it was computed: cpu, or cuda for a GPU.",
    "dtype": "The floating-point precision.",
    "metric_reason": "Why this metric was chosen.",
}


def term(word: str, key: str | None = None) -> Markup:
    """Return a word with its definition if it has one, shown on hover, focus and tap."""
    meaning = TERMS.get(key or word)
    if meaning is None:
        return escape(word)
    return Markup('<span class="term" tabindex="0" data-tip="{}">{}</span>').format(meaning, word)
