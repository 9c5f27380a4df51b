"""A bar for long work, and a sentence on what is kept when it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from softecm.selection.sweeping import SweepInterrupted


@contextmanager
def says_where_to_continue(path: Path) -> Iterator[None]:
    """Ctrl-C says what is kept."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise SweepInterrupted(f"interrupted; with journal {path} the same call resumes.", None) from error


@contextmanager
def bar(text: str, total: int, *, shown: bool) -> Iterator[Callable[[int], object]]:
    """A bar on the screen, told how much more is done."""
    if not shown:
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as shown_bar:
        task = shown_bar.add_task(text, total=total)
        yield lambda n: shown_bar.advance(task, n)
