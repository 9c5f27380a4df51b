"""The page itself: what needs no script is written here, the rest is drawn by ``assets/report.js``."""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from softecm._text import visible
from softecm.files.atomic import write_text
from softecm.plots import set_colors
from softecm.report.chosen import IntArray
from softecm.report.payload import beyond, payload, to_script
from softecm.report.words import _group, in_words, three_sentences

if TYPE_CHECKING:
    from softecm.belief import FocalSets
    from softecm.report.data import ReportData

MOST_ATTRIBUTES = 60
MOST_SETS = 40
MOST_RUNS = 20


def write(data: ReportData, path: str | os.PathLike[str]) -> None:
    """Write the report; the file appears whole or not at all.

    Parameters
    ----------
    data : ReportData
    path : str or path
        Where to write; an existing file is replaced.
    """
    write_text(path, render(data))


def render(data: ReportData) -> str:
    """The report as one self-contained page.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import CredalPartition
    >>> from softecm.report import ReportData
    >>> p = CredalPartition.from_hard([0, 1, -1])
    >>> page = render(ReportData("three", p, ["a", "<b>", "c"], np.arange(3), np.zeros((3, 2))))
    >>> "<b>" in page
    False
    """
    style, script = _asset("report.css"), _asset("report.js")
    # Only this script runs, whatever the data hold; nothing is fetched from anywhere.
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{escape(data.made_by or "softecm")}">
<title>{escape(data.title)} – softecm report</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<a class="skip" href="#found">Skip to the findings</a>
{_header(data)}
<main>
{_found(data)}
{_map(data)}
{_profile(data)}
{_sets(data)}
{_objects(data)}
{_run(data)}
{_glossary(data)}
</main>
<footer><p>{escape(data.made_by or "softecm")} · works offline, sends nothing anywhere</p></footer>
<div id="tip" role="status" aria-live="polite" hidden></div>
<script type="application/json" id="data">{to_script(payload(data))}</script>
<script>{script}</script>
</body>
</html>
"""
    return visible(page, lines=True)


@cache
def _asset(name: str) -> str:
    return (files("softecm.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


# ------------------------------------------------------------------ sections

SECTIONS = (
    ("found", "Found"),
    ("map", "Map"),
    ("masses", "Masses"),
    ("sets", "Groups"),
    ("objects", "Objects"),
    ("run", "The run"),
)


def _header(data: ReportData) -> str:
    links = "".join(f'<li><a href="#{key}">{name}</a></li>' for key, name in SECTIONS)
    n, c = len(data.partition), data.partition.n_clusters
    plural = data.noun if data.noun.endswith("s") else data.noun + "s"
    metric = data.parameters.get("metric", "")
    compared = "given dissimilarities" if metric == "precomputed" else f"{metric} distance"
    line = f"{_group(n)} {plural} · {c} groups" + (f" · {compared}" if metric else "")
    return f"""<header>
<div class="top"><div><h1 dir="auto">{escape(data.title)}</h1><p class="sub">{escape(line)}</p></div>
<button type="button" id="theme" aria-label="Switch between light and dark">◐</button></div>
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>"""


def _section(key: str, title: str, body: str, lead: str = "") -> str:
    opening = f'<p class="lead">{lead}</p>' if lead else ""
    return f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{title}</h2>{opening}{body}</section>'


def _found(data: ReportData) -> str:
    sentences = three_sentences(data.partition, data.ids, merged=data.merged, noun=data.noun, clear=data.clear)
    body = "".join(f'<p class="finding" dir="auto">{escape(sentence)}</p>' for sentence in sentences)
    counts = np.bincount(data.partition.masses.argmax(1), minlength=len(data.partition.focal_sets) + 1)
    labels, colors = data.partition.focal_sets.labels(), set_colors(data.partition.focal_sets)
    pieces = [
        f'<span style="flex:{int(counts[j])};background:{"var(--ink)" if j == 0 else colors[j]}"></span>'
        for j in [*range(1, len(labels)), 0]
        if counts[j]
    ]
    body += f'<div class="share" role="img" aria-label="{escape(_shares(labels, counts))}">{"".join(pieces)}</div>'
    body += _said(data)
    if data.warnings:
        first = escape(data.warnings[0])
        body += f'<p class="notice"><strong>Mind:</strong> {first} <a href="#warnings">All warnings</a></p>'
    if data.scores:
        listed = " · ".join(f"{escape(name)} <strong>{value:.3f}</strong>" for name, value in data.scores.items())
        body += f'<p class="scores">Against the given labels: {listed}</p>'
    return _section("found", "What was found", body)


def _said(data: ReportData) -> str:
    """How many objects each of the five words is said of."""
    counts = data.partition.decisions(data.clear).counts()
    head = "".join(f'<th scope="col">{word}</th>' for word in counts)
    cells = "".join(f"<td>{_group(count)}</td>" for count in counts.values())
    note = f"Clearly: a belief of at least {data.clear:g}. Rather: it leads the next by 0.1."
    table = _table(f"<tr>{cells}</tr>", f"<tr>{head}</tr>", "Objects by what is said of them")
    return f'{table}<p class="note">{note}</p>'


def _shares(labels: Sequence[str], counts: IntArray) -> str:
    return "Objects by set: " + ", ".join(
        f"{label} {count}" for label, count in zip(labels, counts.tolist(), strict=True) if count
    )


def _map(data: ReportData) -> str:
    plural = data.noun if data.noun.endswith("s") else data.noun + "s"
    note = [f"Near each other means alike. Colour mixes the groups an {data.noun} may belong to; larger means surer."]
    if data.noun[0] not in "aeiou":
        note[0] = note[0].replace(" an ", " a ")
    if len(data.rows) < len(data.partition):
        note.append(f"Drawn: a sample of {_group(len(data.rows))} of {_group(len(data.partition))} {plural}.")
    outside = beyond(data)
    if outside:
        drawn = f"{data.noun} is" if outside == 1 else f"{plural} are"
        note.append(f"{_group(outside)} far-off {drawn} drawn at the edge.")
    if data.map_note:
        note.append(data.map_note)
    body = """<div class="figure">
<div class="legend" id="map-legend" role="group" aria-label="Show or hide sets"></div>
<canvas id="map-canvas" class="tall" tabindex="0" role="img" aria-label="Map of the objects; arrow keys go from object to
object. The same facts are in the table of objects."></canvas></div>"""
    return _section("map", "Map", body, escape(" ".join(note)))


def _profile(data: ReportData) -> str:
    lead = (
        "How much of each object’s mass lies on each set. One colour filling the height: sure. Several: in doubt. Hover, or "
        "use the arrow keys, to see which object."
    )
    body = """<div class="figure"><div class="row"><div class="legend" id="mass-legend"></div>
<div class="switch" role="group" aria-label="Order of the objects">
<button type="button" id="order-set" aria-pressed="true">by set</button>
<button type="button" id="order-file" aria-pressed="false">as given</button></div></div>
<canvas id="mass-canvas" tabindex="0" role="img" aria-label="Mass of every set over the objects"></canvas></div>"""
    return _section("masses", "Mass plot", body, lead)


def _sets(data: ReportData) -> str:
    focal = data.partition.focal_sets
    first = ", ".join(focal.cluster_names[:2]) + (" …" if focal.n_clusters > 2 else "")
    lead = (
        f"{escape(first)} are the groups. A union such as {_union(focal)} collects what could be in either; Ω is all of "
        "them."
    )
    counts = np.bincount(data.partition.masses.argmax(1), minlength=len(focal) + 1)
    mean = data.partition.masses.mean(0)
    shown = [j for j in range(1, len(focal) + 1) if j <= focal.n_clusters or counts[j] or mean[j] > 0.005][:MOST_SETS]
    rest = len(focal) - len(shown)
    if data.prototype_series is not None:
        picker = """<p class="controls" id="channel-row" hidden>
<label for="channel">Channel</label> <select id="channel"></select></p>
<div class="cards" id="series-cards"></div>"""
        body = picker + _sizes(data, shown, counts)
    elif not len(data.prototypes) and not data.medoids:
        body = _table(*_size_rows(data, shown, counts), "Size of the sets")
    else:
        body = _prototypes(data, shown, counts)
    if rest:
        body += f'<p class="note">{rest} sets to which no object belongs are left out.</p>'
    return _section("sets", "Groups and what lies between", body, lead)


def _sizes(data: ReportData, shown: Sequence[int], counts: IntArray) -> str:
    table = _table(*_size_rows(data, shown, counts), "Size of the sets")
    return f"<details><summary>Size of every set</summary>{table}</details>"


def _size_rows(data: ReportData, shown: Sequence[int], counts: IntArray) -> tuple[str, str]:
    mean = data.partition.masses.mean(0)
    rows = "".join(f"<tr>{_set_head(data, j)}<td>{_group(counts[j])}</td><td>{mean[j]:.3f}</td></tr>" for j in shown)
    return rows, '<tr><th scope="col">Set</th><th scope="col">Objects</th><th scope="col">Mean mass</th></tr>'


def _table(rows: str, head: str = "", caption: str = "", kind: str = "") -> str:
    """A table for people: it scrolls inside its frame, and says what it is to those who can't see it."""
    top = f"<thead>{head}</thead>" if head else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="plain {kind}">'
        f'<caption class="sr">{escape(caption)}</caption>{top}<tbody>{rows}</tbody></table></div>'
    )


def _prototypes(data: ReportData, shown: Sequence[int], counts: IntArray) -> str:
    names = [a.name for a in data.attributes]
    chosen = _telling(data)[:MOST_ATTRIBUTES]
    head = "".join(f'<th scope="col" dir="auto">{escape(names[j])}</th>' for j in chosen)
    head += '<th scope="col">Medoid</th>' if data.medoids else ""
    rows = []
    for s in shown:
        cells = "".join(_prototype_cell(data, s - 1, j) for j in chosen) if len(data.prototypes) else ""
        cells += f'<td class="word" dir="auto">{escape(data.medoids[s - 1])}</td>' if data.medoids else ""
        rows.append(f"<tr>{_set_head(data, s)}<td>{_group(counts[s])}</td>{cells}</tr>")
    left = len(names) - len(chosen)
    note = f"Shown are the {len(chosen)} columns in which the groups differ most; {left} more are left out."
    lead = _prototypes_lead(data)
    table = _table(
        "".join(rows),
        f'<tr><th scope="col">Set</th><th scope="col">Objects</th>{head}</tr>',
        "Prototypes of the sets",
        "prototypes",
    )
    return f'<p class="lead">{lead}</p>{table}' + (f'<p class="note">{note}</p>' if left > 0 else "")


def _prototypes_lead(data: ReportData) -> str:
    if data.medoids:
        return "The medoid of each set: the object that stands for it."
    numbers = any(
        a.kind == "number" and np.isfinite(np.asarray(a.values, dtype=np.float64)).any() for a in data.attributes
    )
    mark = " The mark shows where a number lies between the least and the most of all objects."
    return "The prototype of each set: what its members are like." + (mark if numbers else "")


def _set_head(data: ReportData, column: int) -> str:
    focal = data.partition.focal_sets
    label, color = focal.labels()[column], set_colors(focal)[column]
    words = in_words(focal, column)
    shape = "dot" if len(focal.sets[column - 1]) == 1 else "gem"
    more = "" if label == words else f'<span class="sr"> ({escape(words)})</span>'
    return f'<th scope="row"><span class="{shape}" style="background:{color}"></span>{escape(label)}{more}</th>'


def _telling(data: ReportData) -> list[int]:
    """Columns in their order; where there are too many, those in which the clusters' prototypes differ most."""
    count = len(data.attributes)
    if count <= MOST_ATTRIBUTES or not len(data.prototypes):
        return list(range(count))
    clusters = data.prototypes[: data.partition.n_clusters]
    spread = []
    for j, attribute in enumerate(data.attributes):
        values = [row[j] for row in clusters]
        if attribute.kind == "number":
            own = np.nanstd(np.asarray(attribute.values, dtype=np.float64))
            spread.append(float(np.ptp([_float(v) for v in values])) / max(float(own), 1e-12))
        else:
            spread.append(float(len({str(v) for v in values}) - 1))
    return sorted(np.argsort(-np.nan_to_num(np.array(spread)), kind="stable")[:MOST_ATTRIBUTES].tolist())


def _prototype_cell(data: ReportData, row: int, column: int) -> str:
    value, attribute = data.prototypes[row][column], data.attributes[column]
    if attribute.kind != "number" or not math.isfinite(_float(value)):
        return f'<td class="word" dir="auto">{escape(str(value))}</td>'
    own = np.asarray(attribute.values, dtype=np.float64)
    own = own[np.isfinite(own)]
    low, high = (float(own.min()), float(own.max())) if len(own) else (0.0, 0.0)
    place = 50.0 if high <= low else min(max(100 * (_float(value) - low) / (high - low), 0.0), 100.0)
    mark = f'<span class="rule" aria-hidden="true"><i style="left:{place:.0f}%"></i></span>'
    shown = _number(value) if attribute.precision is None else attribute.precision.mean(value)
    return f'<td><span class="num">{shown}</span>{mark}</td>'


def _objects(data: ReportData) -> str:
    plural = data.noun if data.noun.endswith("s") else data.noun + "s"
    lead = f"The {plural} worth a look." + (" Open one to see what pulls it where." if data.explanations else "")
    lists = ("Most in doubt", "Most typical", "Farthest out", "All")
    buttons = "".join(
        f'<button type="button" data-list="{i}" aria-pressed="{str(i == 0).lower()}">{name}</button>'
        for i, name in enumerate(lists)
    )
    body = f"""<div class="controls"><div class="switch" role="group" aria-label="Which objects">{buttons}</div>
<label class="search"><span class="sr">Search</span>
<input id="search" type="search" placeholder="Search all {plural}" autocomplete="off"></label></div>
<div class="scroll"><table id="object-table"><caption class="sr">Objects with their sets and masses; the headings sort,
a name opens its explanation.</caption><thead></thead><tbody></tbody></table></div>
<div class="pager"><button type="button" id="previous">Previous</button><span id="page" aria-live="polite"></span>
<button type="button" id="next">Next</button></div>
<noscript><p class="notice">The figures and this table need JavaScript. All numbers are in the table
of the partition: partition.csv, or <code>to_frame()</code> in Python.</p></noscript>"""
    return _section("objects", f"{plural.capitalize()} in doubt, typical, far out", body, lead)


def _run(data: ReportData) -> str:
    body = ""
    if len(data.history) > 1:
        body += '<h3>Objective after each round</h3><div id="trace" class="figure"></div>'
    if data.runs:
        body += "<h3>Restarts</h3>" + _runs(data.runs)
    if data.candidates:
        body += "<h3>Numbers of groups that were tried</h3>" + _candidates(data)
    warned = "".join(f"<li>{escape(w)}</li>" for w in data.warnings) or "<li>None.</li>"
    body += f'<h3 id="warnings">Warnings</h3><ul>{warned}</ul>'
    if data.parameters:
        body += "<h3>Parameters</h3>" + _pairs(data.parameters, "Parameters of the run")
    if data.reading:
        body += "<h3>How the file was read</h3>" + _pairs(data.reading, "How the file was read")
    if data.code:
        body += (
            '<h3>Do it again in Python</h3><div class="code"><button type="button" id="copy">Copy</button>'
            f'<pre tabindex="0"><code id="code">{escape(data.code)}</code></pre></div>'
        )
    return _section("run", "The run", body)


def _candidates(data: ReportData) -> str:
    chosen = data.partition.n_clusters
    rows = "".join(
        f'<tr{" class=kept" if c == chosen else ""}><th scope="row">{c}</th>'
        f"<td>{'merged or empty' if value is None else _number(value)}</td></tr>"
        for c, value in data.candidates.items()
    )
    head = '<tr><th scope="col">Groups</th><th scope="col">Value</th></tr>'
    note = f'<p class="note">{escape(data.candidates_note)}</p>' if data.candidates_note else ""
    return _table(rows, head, "Numbers of groups that were tried") + note


def _pairs(values: Mapping[str, str], caption: str) -> str:
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(str(k))}</th><td dir="auto">{escape(str(v))}</td></tr>'
        for k, v in values.items()
    )
    return _table(rows, caption=caption, kind="pairs")


RUN_COLUMNS = {
    "run": "Run",
    "objective": "Objective",
    "n_iter": "Rounds",
    "converged": "Converged",
    "separation": "Separation",
    "collapsed": "Merged",
    "best": "Kept",
}


def _runs(runs: Mapping[str, Sequence[object]]) -> str:
    keys = [key for key in RUN_COLUMNS if key in runs]
    head = "".join(f'<th scope="col">{RUN_COLUMNS[key]}</th>' for key in keys)
    values = np.asarray(runs.get("objective", ()), dtype=np.float64)
    order = np.argsort(values, kind="stable")[:MOST_RUNS].tolist()
    rows = "".join(f"<tr{_kept(runs, i)}>{''.join(_cell(key, runs[key][i]) for key in keys)}</tr>" for i in order)
    return _table(rows, f"<tr>{head}</tr>", "Restarts, the lowest objective first")


def _kept(runs: Mapping[str, Sequence[object]], i: int) -> str:
    return ' class="kept"' if "best" in runs and bool(runs["best"][i]) else ""


def _cell(key: str, value: object) -> str:
    if key in ("converged", "collapsed", "best"):
        return f"<td>{'yes' if value else 'no'}</td>"
    return f"<td>{int(_float(value)) + 1}</td>" if key == "run" else f"<td>{_number(value)}</td>"


def _union(focal: FocalSets) -> str:
    """The first two groups together."""
    return escape("∪".join((*focal.cluster_names[:2], "ω2")[:2]))


def _glossary(data: ReportData) -> str:
    terms: Iterable[tuple[str, str]] = (
        (
            "Mass",
            "How much of the evidence about an object points to exactly this set. The masses of an object add up to 1.",
        ),
        (
            f"A set such as {_union(data.partition.focal_sets)}",
            "The object is in one of these groups, and the data can’t tell which.",
        ),
        ("∅", "Mass on no group: the object is unlike all of them."),
        ("Belief", "What points to a group alone; at least this much. In tables of the partition as bel(…)."),
        (
            "Plausibility",
            "What does not speak against a group; at most this much. In tables of the partition as pl(…).",
        ),
        ("Typical", "The largest mass on a single group."),
        (
            "Clearly, rather, undecided, between, nowhere",
            "Nowhere: the largest mass is on ∅. Between: it is on a set of several groups. Otherwise the belief in the "
            f"group decides: clearly from {data.clear:g} on, rather where it leads the next by 0.1, else undecided.",
        ),
        ("Confidence", "The belief in the group, or in the set, that is said; for nowhere the mass on ∅."),
        ("Doubt", "One minus the largest probability of a group. 0: sure; 0.5: as likely another."),
    )
    listed = "".join(f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>" for term, meaning in terms)
    return (
        '<section id="words" aria-labelledby="words-h"><details><summary><h2 id="words-h">What the words mean</h2></summary>'
        f"<dl>{listed}</dl></details></section>"
    )


def _float(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _number(value: object) -> str:
    number = _float(value)
    if not math.isfinite(number):
        return escape(str(value))
    return (
        f"{number:,.0f}".replace(",", " ") if number == round(number) and 1e4 <= abs(number) < 1e15 else f"{number:.4g}"
    )
