"""The named points of writing: each is in the code once, and a process dies there when asked to."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import softecm
from softecm._atomic import KILLED, POINTS


def test_the_list_names_what_is_in_the_code() -> None:
    texts = [p.read_text(encoding="utf-8") for p in Path(softecm.__file__).parent.rglob("*.py")]
    named = [name for text in texts for name in re.findall(r'reached\("([^"]*)"\)', text)]
    assert sorted(named) == sorted(POINTS)


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
