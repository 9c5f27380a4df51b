"""The page itself: what needs no script is written here, the rest is drawn by ``assets/report.js``."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from softecm._atomic import write_text
from softecm._text import visible
from softecm.plots import set_colors
from softecm.report.chosen import IntArray
from softecm.report.groups import groups, union
from softecm.report.markup import section, table
from softecm.report.payload import beyond, payload, to_script
from softecm.report.runs import run
from softecm.report.sure import sure
from softecm.report.taken import section_taken
from softecm.report.terms import TERMS, term
from softecm.report.words import _group, three_sentences

if TYPE_CHECKING:
    from softecm.report.data import ReportData


def write(data: ReportData, path: str | os.PathLike[str]) -> None:
    """Write the report, or with a name that ends in ``.json`` its facts; the file appears whole or not at all.

    Parameters
    ----------
    data : ReportData
    path : str or path
        Where to write; an existing file is replaced.
    """
    write_text(path, text_for(data, path))


def text_for(data: ReportData, path: str | os.PathLike[str]) -> str:
    """What a file of this name holds: the page, or its facts as JSON."""
    if os.fspath(path).lower().endswith(".json"):
        return json.dumps(data.facts, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    return render(data)


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
{groups(data)}
{_objects(data)}
{sure(data)}
{section_taken(data)}
{run(data)}
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

GLOSSARY = ("belief", "plausibility", "typical", "confidence", "doubt", "prototype", "distance", "metric")

SECTIONS = (
    ("found", "Found"),
    ("map", "Map"),
    ("masses", "Masses"),
    ("sets", "Groups"),
    ("objects", "Objects"),
    ("sure", "How sure"),
    ("taken", "Columns"),
    ("run", "The run"),
)


def _header(data: ReportData) -> str:
    left_out = {"taken": not section_taken(data), "sure": data.calibration is None}
    there = [(key, name) for key, name in SECTIONS if not left_out.get(key)]
    links = "".join(f'<li><a href="#{key}">{name}</a></li>' for key, name in there)
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
        listed = " · ".join(f"{term(name)} <strong>{value:.3f}</strong>" for name, value in data.scores.items())
        body += f'<p class="scores">Against the given labels: {listed}</p>'
    return section("found", "What was found", body)


def _said(data: ReportData) -> str:
    """How many objects each of the five words is said of."""
    counts = data.partition.decisions(data.clear).counts()
    head = "".join(f'<th scope="col">{term(word)}</th>' for word in counts)
    cells = "".join(f"<td>{_group(count)}</td>" for count in counts.values())
    note = f"Clearly: a {term('belief')} of at least {data.clear:g}. Rather: it leads the next by 0.1."
    counted = table(f"<tr>{cells}</tr>", f"<tr>{head}</tr>", "Objects by what is said of them", "said")
    return f'{counted}<p class="note">{note}</p>'


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
    outside = len(beyond(data))
    if outside:
        drawn = f"{data.noun} lies" if outside == 1 else f"{plural} lie"
        note.append(f"{_group(outside)} {drawn} beyond the edge, where an arrow points.")
    if len(np.unique(data.points, axis=0)) < len(data.points):
        note.append(f"Where {plural} are alike, one lies on the other.")
    if data.map_note:
        note.append(data.map_note)
    body = """<div class="figure">
<div class="legend" id="map-legend" role="group" aria-label="Show or hide sets"></div>
<canvas id="map-canvas" class="tall" tabindex="0" role="img" aria-label="Map of the objects; arrow keys go from object to
object. The same facts are in the table of objects."></canvas></div>"""
    return section("map", "Map", body, escape(" ".join(note)))


def _profile(data: ReportData) -> str:
    lead = (
        f"How much of each object’s {term('mass')} lies on each {term('set')}. One colour filling the height: sure. "
        f"Several: in {term('doubt')}. Hover, or use the arrow keys, to see which object."
    )
    body = """<div class="figure"><div class="row"><div class="legend" id="mass-legend"></div>
<div class="switch" role="group" aria-label="Order of the objects">
<button type="button" id="order-set" aria-pressed="true">by set</button>
<button type="button" id="order-file" aria-pressed="false">as given</button></div></div>
<canvas id="mass-canvas" tabindex="0" role="img" aria-label="Mass of every set over the objects"></canvas></div>"""
    return section("masses", "Mass plot", body, lead)


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
    return section("objects", f"{plural.capitalize()} in doubt, typical, far out", body, lead)


def _glossary(data: ReportData) -> str:
    decided = (
        "Nowhere: the largest mass is on ∅. Between: it is on a set of several groups. Otherwise the belief in the group "
        f"decides: clearly from {data.clear:g} on, rather where it leads the next by 0.1, else undecided."
    )
    terms = {
        "Mass": TERMS["mass"],
        f"A set such as {union(data.partition.focal_sets)}": TERMS["set"],
        "∅": TERMS["∅"],
        "Clearly, rather, undecided, between, nowhere": decided,
        **{word.capitalize(): TERMS[word] for word in GLOSSARY},
    }
    listed = "".join(f"<dt>{word}</dt><dd>{escape(meaning)}</dd>" for word, meaning in terms.items())
    return (
        '<section id="words" aria-labelledby="words-h"><details><summary><h2 id="words-h">What the words mean</h2></summary>'
        f"<dl>{listed}</dl></details></section>"
    )
