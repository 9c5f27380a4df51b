"""The command line. Thin: what a command needs is imported when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

import sys

from softecm.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; exit 2 with one sentence for what the user can mend."""
    from softecm.cli.problems import Problem, Stopped

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without ω shows ? instead of failing
            stream.reconfigure(errors="replace")
    try:
        app()
    except Problem as problem:
        print(f"softecm: {problem}", file=sys.stderr)
        raise SystemExit(2) from None
    except Stopped as stop:
        print(f"softecm: {stop}", file=sys.stderr)
        raise SystemExit(130) from None
    except KeyboardInterrupt:
        print("softecm: stopped.", file=sys.stderr)
        raise SystemExit(130) from None
