"""The named points of writing: each is in the code once, and a process dies there on request."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from internals import POINTS
from softecm._atomic import KILLED


def test_each_point_is_in_the_code_once() -> None:
    assert len(POINTS) == len(set(POINTS)) == 13
    assert {name.split(":")[0] for name in POINTS} == {"atomic", "folder", "journal"}


@pytest.mark.parametrize(("asked", "content"), [("#2", b"one"), ("", None)])
def test_a_process_dies_where_it_is_asked_to(tmp_path: Path, asked: str, content: bytes | None) -> None:
    program = (
        "import sys; from softecm._atomic import write_bytes; "
        "write_bytes(sys.argv[1], b'one'); write_bytes(sys.argv[1], b'two')"
    )
    path = tmp_path / "file"
    killed = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "SOFTECM_KILL_AT": f"atomic: before replace{asked}"},
    )
    assert killed.returncode == KILLED
    assert (path.read_bytes() if path.exists() else None) == content
