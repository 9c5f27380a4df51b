"""Conversion of pages for the site: links to files of the repository become links within the site."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
REPOSITORY = "https://github.com/softecm/softecm/blob/main"
RESULT = r"\[([^\]]+)\]\(\.\./(benchmarks/results/\w+\.md)\)"


def contents(text: str) -> str:
    """Return tables of contents for the index: its headings with their linked pages, then the gallery and the rest."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    groups = {
        title: re.findall(r"\]\((\w+)\.md\)", links) for title, links in zip(parts[::2], parts[1::2], strict=True)
    }
    named = {page for pages in groups.values() for page in pages} | {"index"}
    last = list(groups)[-1]
    groups[last] += [*sorted(path.stem for path in HERE.glob("*.md") if path.stem not in named), "gallery/index"]
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"
        for title, pages in groups.items()
    )


def benchmark(match: re.Match[str]) -> str:
    """Return a table of benchmarks instead of the link to it, headings one level down."""
    text = (ROOT / match[2]).read_text(encoding="utf-8").strip()
    lower = re.sub(r"^#", "##", text, flags=re.MULTILINE)
    return lower if lower.startswith("#") else f"## {match[1]}\n\n{lower}"


def on_site(page: str, text: str) -> str:
    """Link examples to the gallery, include linked benchmarks, and add tables of contents to the index."""
    text = re.sub(r"\.\./examples/(plot_\w+)\.py", r"gallery/\1", text)
    text = re.sub(rf"^- {RESULT}$", benchmark, text, flags=re.MULTILINE)
    text = re.sub(RESULT, rf"[\1]({REPOSITORY}/\2)", text)
    text = re.sub(r"\]\((measured/\w+\.md)\)", rf"]({REPOSITORY}/docs/\1)", text)
    return text + (contents(text) if page == "index" else "")
