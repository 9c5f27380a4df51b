"""Named points of writing, where a test may have the process die.

The environment variable ``SOFTECM_KILL_AT`` names a point, with ``#k`` for the k-th time it is reached; the process ends
there at once, as if killed from outside: nothing is flushed, no ``finally`` runs. Without the variable nothing happens.
"""

from __future__ import annotations

import os
from collections import Counter

POINTS = (
    "atomic: temporary made",
    "atomic: content written",
    "atomic: before replace",
    "atomic: after replace",
    "folder: temporary made",
    "folder: content written",
    "folder: before replace",
    "folder: file replaced",
    "folder: after replace",
    "journal: before line",
    "journal: line half written",
    "journal: line written",
    "journal: before truncate",
)

KILLED = 137  # the exit status of a process ended by SIGKILL, as a shell tells it
_seen: Counter[str] = Counter()


def reached(point: str) -> None:
    """Die here if ``SOFTECM_KILL_AT`` asks for it."""
    asked = os.environ.get("SOFTECM_KILL_AT")
    if asked is None:
        return
    name, _, count = asked.partition("#")
    _seen[point] += 1
    if point == name and _seen[point] == int(count or 1):
        os._exit(KILLED)
