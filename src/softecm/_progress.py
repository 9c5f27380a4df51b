"""A bar with the time left on the terminal, for work that is counted."""

from __future__ import annotations

from typing import Any


def bar() -> Any:
    """Rich's progress, on stderr: description, bar, count, time taken, time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    texts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*texts, TimeRemainingColumn(), console=Console(stderr=True))
