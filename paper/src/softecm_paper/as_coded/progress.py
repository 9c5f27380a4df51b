"""A progress bar, and a message about saved work after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from softecm.selection.sweeping import SweepInterrupted


@contextmanager
def says_where_to_continue(path: Path) -> Iterator[None]:
    """Report what is saved after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise SweepInterrupted(f"interrupted; with journal {path} the same call resumes.", None) from error


@contextmanager
def bar(text: str, total: int, *, shown: bool) -> Iterator[Callable[[int], object]]:
    """Show a progress bar that is advanced by the given function."""
    if not shown:
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as shown_bar:
        task = shown_bar.add_task(text, total=total)
        yield lambda n: shown_bar.advance(task, n)
