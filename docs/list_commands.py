"""Generate the page of all commands and options from the command line: python docs/list_commands.py."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer

from softecm.cli import application

PAGE = Path(__file__).resolve().parent / "commands.md"
HEAD = """# Every command and option

<!-- made by docs/list_commands.py from the command line: change the words there -->

`softecm COMMAND --help` shows the same. Anything you don't specify about a file is inferred and reported.
`--json` is for programs, tables are for people. Exit codes: 0 for success; 2 for an error that you can
fix, explained in one sentence; 130 after Ctrl-C.
"""
REST = "Other options"
MOST = "cluster"  # the command with most options: others refer to it


def page() -> str:
    """Return the whole page as Markdown."""
    commands: dict[str, Any] = typer.main.get_command(application()).commands  # type: ignore[attr-defined]
    listed = " · ".join(f"[{name}](#softecm-{name})" for name in commands)
    described = {row(p) for p in commands[MOST].params if p.param_type_name == "option"}
    parts = [section(name, one, set() if name == MOST else described) for name, one in commands.items()]
    return "\n".join([HEAD, listed, *parts])


def section(name: str, command: Any, described: set[str]) -> str:
    """Return one command: description, arguments, options; of options described elsewhere only the names."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden and p.name != "help"]
    usage = " ".join(["softecm", name, *(shown_name(a) for a in arguments), "[OPTIONS]"])
    parts = ["", f"## softecm {name}", "", f"`{usage}`", "", inspect.cleandoc(command.help or "")]
    if arguments:
        parts += ["", *(f"- `{shown_name(a)}`: {a.help}" for a in arguments)]
    panels = dict.fromkeys(getattr(p, "rich_help_panel", None) or REST for p in options)
    for panel in panels:
        own = [p for p in options if (getattr(p, "rich_help_panel", None) or REST) == panel]
        new = [p for p in own if row(p) not in described]
        parts += ["", *([f"**{panel}**", ""] if len(panels) > 1 else []), *(table(new) if new else [])]
        if same := ", ".join(f"`{p.opts[0]}`" for p in own if p not in new):
            parts += [*([""] if new else []), f"As for [`softecm {MOST}`](#softecm-{MOST}): {same}."]
    return "\n".join(parts)


def table(options: list[Any]) -> list[str]:
    """Return options with their descriptions, one row each."""
    return ["| option | meaning | default |", "|---|---|---|", *map(row, options)]


def row(option: Any) -> str:
    """Return one option."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    default = option.default
    plain = (
        default is None or default is False or default == () or callable(default) or str(default) == "Sentinel.UNSET"
    )
    return f"| {names} | {(option.help or '').replace('|', chr(92) + '|')} | {'' if plain else f'`{default}`'} |"


def shown_name(argument: Any) -> str:
    """Return an argument as in the usage line."""
    return str(argument.metavar or argument.name.upper())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE}")
