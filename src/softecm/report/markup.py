"""Pieces of the page that several sections are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from importlib.resources import files

from softecm.report.terms import term


def bare_page(title: str, head: str, body: str, made_by: str) -> str:
    """A page without a script, in the report's style; nothing is fetched from anywhere."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    style = (files("softecm.report") / "assets" / "report.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{escape(made_by)}">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header><div class="top"><div>{head}</div></div></header>
<main>{body}</main>
<footer><p>{escape(made_by)} · works offline, sends nothing anywhere</p></footer>
</body>
</html>
"""


def section(key: str, title: str, body: str, lead: str = "") -> str:
    """A section with its heading and a first sentence."""
    opening = f'<p class="lead">{lead}</p>' if lead else ""
    return f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{title}</h2>{opening}{body}</section>'


def table(rows: str, head: str = "", caption: str = "", kind: str = "") -> str:
    """A table for people: it scrolls inside its frame, and says what it is to those who can't see it."""
    top = f"<thead>{head}</thead>" if head else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="plain {kind}">'
        f'<caption class="sr">{escape(caption)}</caption>{top}<tbody>{rows}</tbody></table></div>'
    )


def pairs(values: Mapping[str, str], caption: str) -> str:
    """Names and values, a line each."""
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{term(str(k))}</th><td dir="auto">{escape(str(v))}</td></tr>'
        for k, v in values.items()
    )
    return table(rows, caption=caption, kind="pairs")


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
        return escape(str(value))
    return f"{number:,.0f}".replace(",", "\u202f") if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"
