"""A page of an experiment: headings, sentences, tables and figures, as Markdown and as one self-contained HTML file."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from softecm.files import write_bytes, write_text
from softecm.files.places import SIGNED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as DrawnFigure

MET, UNMET = "✓", "✗"  # at the beginning of a table's cell

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; } .wide { overflow-x: auto; } img { max-width: 100%; }
.met { background: #d8f0dc; } .unmet { background: #f8dcd8; }
figcaption { color: #555; font-size: 0.9rem; } code { background: #f3f3f3; padding: 0 0.2rem; }
@media (prefers-color-scheme: dark) {
  body { background: #181818; color: #ddd; } th, td { border-color: #444; } code { background: #2a2a2a; }
  .met { background: #1e4426; } .unmet { background: #552420; } figcaption { color: #aaa; } img { background: #fff; }
}
"""


@dataclass(frozen=True)
class Heading:
    """The start of a section."""

    words: str

    def markdown(self) -> str:
        """As Markdown."""
        return f"## {self.words}"

    def html(self) -> str:
        """As HTML."""
        return f"<h2>{escape(self.words)}</h2>"


@dataclass(frozen=True)
class Text:
    """A paragraph; ``**bold**``, ``*italic*`` and `` `code` `` are the only markup."""

    words: str

    def markdown(self) -> str:
        """As Markdown."""
        return self.words

    def html(self) -> str:
        """As HTML."""
        return f"<p>{_marked(self.words)}</p>"


@dataclass(frozen=True)
class Table:
    """Columns and rows of text, with the markup of paragraphs; cells that begin with a tick or a cross are coloured."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """As Markdown."""
        lines = [self.head, ["---"] * len(self.head), *([_toned(cell) for cell in row] for row in self.rows)]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def html(self) -> str:
        """As HTML."""
        head = "".join(f'<th scope="col">{_marked(cell)}</th>' for cell in self.head)
        rows = "".join("<tr>" + "".join(map(_data_cell, row)) + "</tr>\n" for row in self.rows)
        return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'


@dataclass(frozen=True)
class Figure:
    """A picture as PNG bytes."""

    name: str
    caption: str
    png: bytes

    def markdown(self) -> str:
        """Return Markdown, with the picture in a file next to the page."""
        return f"![{self.caption}]({self.name}.png)\n\n*{self.caption}*"

    def html(self) -> str:
        """Return HTML, with the picture inside."""
        data = base64.b64encode(self.png).decode("ascii")
        caption = escape(self.caption)
        return f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'


@dataclass
class Page:
    """The content of an experiment's page, in order."""

    title: str
    command: str
    blocks: list[Heading | Text | Table | Figure] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)  # the same as data

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.blocks.append(Heading(text))

    def text(self, *sentences: str) -> None:
        """Add a paragraph."""
        self.blocks.append(Text(" ".join(sentences)))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table."""
        self.blocks.append(Table(head, rows))

    def figure(self, name: str, figure: DrawnFigure, caption: str) -> None:
        """Add a Matplotlib figure and close it."""
        from matplotlib import pyplot as plt

        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=110, metadata=SIGNED)
        plt.close(figure)
        self.blocks.append(Figure(name, caption, buffer.getvalue()))

    @property
    def figures(self) -> list[Figure]:
        """All pictures of the page."""
        return [block for block in self.blocks if isinstance(block, Figure)]

    def markdown(self) -> str:
        """Return the page as Markdown, with separate pictures."""
        parts = [f"# {self.title}", *(block.markdown() for block in self.blocks)]
        return "\n\n".join([*parts, f"Made by `{self.command}`."]) + "\n"

    def html(self) -> str:
        """Return the page as one self-contained file."""
        body = "\n".join(block.html() for block in self.blocks)
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(self.title)}</title>'
            f"<style>{STYLE}</style></head>\n<body>\n<h1>{escape(self.title)}</h1>\n{body}\n"
            f"<footer><p>Made by <code>{escape(self.command)}</code>.</p></footer>\n</body>\n</html>\n"
        )

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write ``name.md``, ``name.html`` and the pictures; return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / f"{name}.md", folder / f"{name}.html"]
        write_text(files[0], self.markdown())
        write_text(files[1], self.html())
        for figure in self.figures:
            files.append(folder / f"{figure.name}.png")
            write_bytes(files[-1], figure.png)
        return files


def _tone(cell: str) -> str:
    """Return whether a cell is met or not; "" for most cells."""
    return {MET: "met", UNMET: "unmet"}.get(cell[:1], "")


def _toned(cell: str) -> str:
    return f'<span class="{_tone(cell)}">{cell}</span>' if _tone(cell) else cell


def _data_cell(cell: str) -> str:
    tone = _tone(cell)
    return f'<td class="{tone}">{_marked(cell)}</td>' if tone else f"<td>{_marked(cell)}</td>"


def _marked(text: str) -> str:
    """Return escaped text with its markup, except the star of N*."""
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text))
    safe = re.sub(r"(?<![\w*])\*(?!\s)([^*]+?)\*(?![\w*])", r"<em>\1</em>", safe)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
