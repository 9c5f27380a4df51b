"""Pages from the templates beside this module: whatever the data hold is escaped, and nothing is fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader

from softecm._text import visible
from softecm.report.terms import term
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
