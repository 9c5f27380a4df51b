"""A progress bar with the remaining time on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Counter:
    """Progress without a display."""

    def advance(self, more: int) -> None:
        """Advance by ``more``."""

    def describe(self, text: str) -> None:
        """Set the description."""


@contextmanager
def counted(what: str, total: int, done: int) -> Iterator[Counter]:
    """Show Rich's bar on stderr: description, bar, count, elapsed time, remaining time."""
    from rich import progress
    from rich.console import Console

    texts = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    times = (progress.TimeElapsedColumn(), progress.TimeRemainingColumn())
    with progress.Progress(*texts, *times, console=Console(stderr=True)) as bar:
        number = bar.add_task(what, total=total, completed=done)

        class Shown(Counter):
            def advance(self, more: int) -> None:
                bar.advance(number, more)

            def describe(self, text: str) -> None:
                bar.update(number, description=text)

        yield Shown()
