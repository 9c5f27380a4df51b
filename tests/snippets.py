"""The fenced snippets of the documentation: positions, requirements, execution."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib.util
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Languages of fences: those that run, and those for display.
RUN, SHOWN = ("python", "sh"), ("text", "bibtex")

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"# needs (.+)")
_VALUE = re.compile(r"\s*# → (.+)")


def _gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _installed(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


#: Requirements that the first line of a snippet may declare, ``# needs BERTopic``, and whether they are met.
THERE: dict[str, Callable[[], bool]] = {
    "an NVIDIA GPU": _gpu,
    "BERTopic": _installed("bertopic"),
    "a Dask cluster": lambda: False,
}
#: Commands that a shell snippet may show without running them, with their requirements.
NOT_RUN = {
    "git": "the network",
    "make": "a clone of the repository",
    "pip": "the network",
    "python": "a clone of the repository, and time",
    "softecm reproduce": "the paper's data sets, and time",
}


@dataclass(frozen=True)
class Snippet:
    """A fenced block of a page."""

    page: Path
    line: int  # of its first line, counted from 1
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"

    @property
    def needs(self) -> str | None:
        """The requirement declared in its first line."""
        found = _NEEDS.match(self.code)
        return found[1] if found else None

    @property
    def runs_here(self) -> bool:
        """Whether its requirement is met."""
        return self.needs is None or THERE[self.needs]()


def snippets(page: Path) -> list[Snippet]:
    """All fenced blocks of a page in order, except directives."""
    text = page.read_text(encoding="utf-8")
    found = _FENCE.finditer(text)
    return [
        Snippet(page, text.count("\n", 0, match.start()) + 2, match[1], match[2])
        for match in found
        if not match[1].startswith("{")
    ]


def run_python(snippet: Snippet, names: dict[str, Any]) -> None:
    """Run a snippet in a namespace; values shown by a line (``# → value``) must be right."""
    code = "\n" * (snippet.line - 1) + snippet.code  # errors then have the page's line number
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        shown = _VALUE.fullmatch(lines[statement.end_lineno - 1][statement.end_col_offset :])
        if isinstance(statement, ast.Expr) and shown:
            value = eval(compile(ast.Expression(statement.value), str(snippet.page), "eval"), names)
            said, found = (" ".join(str(one).split()) for one in (shown[1], value))
            assert said == found, (
                f"{snippet.page.name}, line {statement.lineno}: the page says {said}, and it is {found}"
            )
        else:
            exec(compile(ast.Module([statement], []), str(snippet.page), "exec"), names)


def unknown_names(snippet: Snippet, names: dict[str, Any]) -> set[str]:
    """Names used by a snippet but not defined by it or those above, for snippets that can't run here."""
    nodes = list(ast.walk(ast.parse(snippet.code)))
    made = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    made |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - made - {*names, *dir(builtins)}


def commands(snippet: Snippet) -> Iterator[list[str]]:
    """The commands of a shell snippet, one per line, as lists of words."""
    for line in snippet.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def reason_not_to_run(words: list[str]) -> str | None:
    """A command's requirement that is not available in a test."""
    return NOT_RUN.get(" ".join(words[:2])) or NOT_RUN.get(words[0])


def run_shell(snippet: Snippet) -> None:
    """Run the ``softecm`` commands of a snippet in this process."""
    from softecm.cli import main

    for words in commands(snippet):
        if reason_not_to_run(words):
            continue
        assert words[0] == "softecm", f"{snippet}: {words[0]} can't be run in a test; see NOT_RUN in tests/snippets.py"
        with contextlib.ExitStack() as back:
            back.callback(setattr, sys, "argv", sys.argv)
            sys.argv = words
            code = 0
            try:
                main()
            except SystemExit as end:
                code = end.code
            assert not code, f"{snippet}: {shlex.join(words)} ended with {code}"
