"""A bar with the time left on the terminal, for work that is counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Counter:
    """Where progress is shown: nowhere."""

    def advance(self, more: int) -> None:
        """So many more are done."""

    def describe(self, text: str) -> None:
        """What is being done."""


@contextmanager
def counted(what: str, total: int, done: int) -> Iterator[Counter]:
    """Rich's bar, on stderr: description, bar, count, time taken, time left."""
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
