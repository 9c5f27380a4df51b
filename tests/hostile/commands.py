"""The command line in this process, and checks of its result."""

import contextlib
import io
import os
import sys
from typing import NamedTuple
from unittest import mock

from softecm.cli import main

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # characters that reverse the direction of text


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Printed(io.TextIOWrapper):
    """Captured output, with a buffer like a real stream."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("utf-8", "replace")


def softecm(*arguments: object) -> Ended:
    """Call ``softecm`` with these arguments."""
    out, err, code = Printed(), Printed(), 0
    with (
        mock.patch.dict(os.environ, COLUMNS="120"),
        mock.patch.object(sys, "argv", ["softecm", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Ended(code, out.text(), err.text())


def hidden(text: str) -> set[str]:
    """Control characters of a terminal."""
    return {c for c in text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c in TURNING}


def check_end(ended: Ended) -> None:
    """Check for an answer or one sentence, without control characters."""
    assert ended.code in (0, 2), ended.err
    assert "Traceback" not in ended.err + ended.out
    assert "bug in softecm" not in ended.err, ended.err
    assert not hidden(ended.out + ended.err), ended
    if ended.code == 2:
        assert ended.err.startswith("softecm: "), ended.err
        assert ended.err.count("\n") == 1, ended.err
