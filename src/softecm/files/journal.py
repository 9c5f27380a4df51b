"""A journal of finished work, so that a sweep killed at any moment goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softecm.files.atomic import write_bytes
from softecm.files.points import reached

VERSION = 1


class Journal:
    """One line of JSON for each finished task, on the disk before the next one starts.

    The first line says what the work is. A line cut short by a kill is dropped and its task done again.
    """

    def __init__(self, path: str | os.PathLike[str], work: Mapping[str, object]) -> None:
        self.path = Path(path)
        self.done: dict[int, list[dict[str, Any]]] = {}
        head = {"softecm_sweep": VERSION, **work}
        if self.path.exists() and self.path.stat().st_size:
            self._read(head)
        else:
            self._begin(head)

    def _read(self, head: Mapping[str, object]) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
        except ValueError as error:
            raise ValueError(
                f"journal must be a file that a sweep wrote; {self.path} is something else or damaged. Give another name."
            ) from error
        if lines and not (isinstance(lines[0], dict) and "softecm_sweep" in lines[0]):
            raise ValueError(f"journal must be a file that a sweep wrote; {self.path} is not one. Give another name.")
        if lines:
            differing = [name for name in head if lines[0].get(name) != head[name]]
            if differing:
                raise ValueError(
                    f"journal {self.path} belongs to another sweep: its {' and '.join(differing)} differ from this one's. "
                    "Give another name, or delete the file to start afresh."
                )
        self.done = {line["task"]: line["rows"] for line in lines[1:]}
        if len(whole) < len(content):
            reached("journal: before truncate")
            os.truncate(self.path, len(whole))
        if not lines:
            self._begin(head)

    def _begin(self, head: Mapping[str, object]) -> None:
        """A journal without tasks; it appears with its first line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(self.path, json.dumps(head).encode() + b"\n")

    def write(self, task: int, rows: Sequence[Mapping[str, object]]) -> None:
        """Note a finished task; once this returns no kill can lose it."""
        self.done[task] = [dict(row) for row in rows]
        self._append({"task": task, "rows": rows})

    def _append(self, line: Mapping[str, object]) -> None:
        data = json.dumps(line).encode() + b"\n"
        reached("journal: before line")
        with self.path.open("ab") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            reached("journal: line half written")
            file.write(data[len(data) // 2 :])
            file.flush()
            os.fsync(file.fileno())
        reached("journal: line written")
