"""The command line. Thin: what a command needs is imported when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from softecm.cli.commands import application

__all__ = ["application", "main"]


def main() -> None:
    """Run the command line; exit with 2 and one sentence for what the user can fix, with 1 for a bug."""
    from softecm.cli.problems import Problem, Stopped, defect

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without ω shows ? instead of failing
            stream.reconfigure(errors="replace")
    try:
        application()()
    except Problem as problem:
        _end(2, str(problem))
    except Stopped as stop:
        _end(130, str(stop))
    except KeyboardInterrupt:
        _end(130, "stopped.")
    except SystemExit as end:
        if end.code == 130:  # Typer has heard Ctrl-C and says nothing
            _end(130, "stopped.")
        raise
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except MemoryError:
        _end(2, "not enough memory: use fewer rows or columns, or fewer clusters or sets.")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _end(2, f"{where}{(error.strerror or str(error)).lower()}.")
    except Exception as error:
        if os.environ.get("SOFTECM_TRACEBACK"):
            raise
        _end(1, defect(error))


def _end(code: int, sentence: str) -> NoReturn:
    """Say why, and leave."""
    from softecm._text import visible

    print(f"softecm: {visible(sentence)}", file=sys.stderr)
    raise SystemExit(code) from None
