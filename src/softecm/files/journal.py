"""A journal of completed work, so that a killed sweep can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from softecm._atomic import as_path, reached, real_place, write_bytes
from softecm._errors import ReadError
from softecm._warnings import warn
from softecm.files.expected import matches
from softecm.files.lock import locked

VERSION = 2
FORMAT = "softecm_sweep"
Row = Mapping[str, Any]  # plain values by column name


class Journal:
    """One line of JSON for each batch of completed items, flushed to disk before the next; locked while open.

    The first line describes the work. A line holds some items, by name, and a row for each. A line truncated by a kill
    is dropped and its items are repeated; so is a damaged one, with a warning that names it.

    Parameters
    ----------
    path : of the journal, created if it does not exist
    work : identifies the work
    sound : whether an item can have such a row; anything by default
    maker : the owner of the journal, for messages
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        work: Mapping[str, object],
        sound: Callable[[str, Row], bool] = lambda item, row: True,
        maker: str = "sweep",
    ) -> None:
        self.path, self._sound, self._maker = as_path(path, "journal"), sound, maker
        self._head = {FORMAT: VERSION, **work}
        self.done: dict[str, Row] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        real_place(self.path)
        with ExitStack() as stack:
            stack.enter_context(locked(self.path))
            if self.path.exists() and self.path.stat().st_size:
                self._read()
            else:
                self._write_whole(self.path, [])
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, items: Sequence[str], rows: Sequence[Row]) -> None:
        """Record completed items; after this returns no kill can lose them."""
        self.done.update(zip(items, rows, strict=True))
        data = json.dumps({"items": list(items), "rows": [dict(row) for row in rows]}).encode() + b"\n"
        reached("journal: before line")
        with self.path.open("ab") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            reached("journal: line half written")
            file.write(data[len(data) // 2 :])
            file.flush()
            os.fsync(file.fileno())
        reached("journal: line written")

    def move_to(self, path: Path) -> None:
        """Continue in another file, with everything recorded; the old path stays locked."""
        noted = [json.dumps({"items": [item], "rows": [dict(row)]}).encode() for item, row in self.done.items()]
        self._write_whole(path, noted)
        self.path = path

    def _write_whole(self, path: Path, lines: Sequence[bytes]) -> None:
        """Write a journal with these lines after the first, atomically."""
        write_bytes(path, b"".join(line + b"\n" for line in (json.dumps(self._head).encode(), *lines)))

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        first, *lines = whole.split(b"\n")[:-1] or [b""]
        if whole:
            self._check_head(first)
        sound, damaged = [], []
        for number, line in enumerate(lines, 2):
            items = self._items(line)
            self.done.update(items or {})
            (damaged.append(number) if items is None else sound.append(line))
        if damaged:
            warn(
                f"journal {self.path} is damaged in line{'s' if len(damaged) > 1 else ''} "
                f"{', '.join(map(str, damaged[:20]))}{', ...' if len(damaged) > 20 else ''}: these runs are repeated."
            )
        if damaged or not whole or self.path.stat().st_nlink > 1:  # other hard links must not change
            self._write_whole(self.path, sound)
        elif len(whole) < len(content):
            reached("journal: before truncate")
            os.truncate(self.path, len(whole))

    def _check_head(self, line: bytes) -> None:
        """Check that the first line is a journal's, and this one's."""
        try:
            head = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReadError(
                f"journal must be a file that a {self._maker} wrote; {self.path} is something else or damaged. Use "
                "another name."
            ) from error
        if not (matches(head, dict) and FORMAT in head):
            raise ReadError(
                f"journal must be a file that a {self._maker} wrote; {self.path} is not one. Use another name."
            )
        differing = [name if name != FORMAT else "format" for name in self._head if head.get(name) != self._head[name]]
        if differing:
            raise ReadError(
                f"journal {self.path} belongs to another {self._maker}: its {' and '.join(differing)} differ from this "
                "one's. Use another name, or delete the file to start afresh."
            )

    def _items(self, line: bytes) -> dict[str, Row] | None:
        """Return the items of a line; None if it is damaged."""
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not matches(content, dict):
            return None
        items, rows = content.get("items"), content.get("rows")
        if not matches(items, list[str]) or not matches(rows, list[dict[str, object]]) or len(items) != len(rows):
            return None
        return dict(zip(items, rows, strict=True)) if all(map(self._sound, items, rows)) else None
