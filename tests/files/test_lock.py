"""One writer at a time, in this process or another; a killed one blocks no other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from softecm._errors import WriteError
from softecm.files import lock

HOLDS = """
import sys
from softecm.files.lock import locked
with locked(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_another_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "fit.checkpoint"
    command = [sys.executable, "-c", HOLDS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(WriteError, match=r"fit\.checkpoint is being written by another"), lock.locked(path):
            pytest.fail("entered")
        process.kill()
    assert os.listdir(tmp_path)  # the leftover is no lock
    with lock.locked(path):
        pass
    assert not os.listdir(tmp_path)


def test_a_lock_goes_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), lock.locked(tmp_path / "a"):
        raise KeyboardInterrupt
    with lock.locked(tmp_path / "a"), lock.locked(tmp_path / "b"):
        pass
    assert not os.listdir(tmp_path)


def test_a_disk_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(lock, "_lock", refuse)
    with pytest.warns(UserWarning, match="can't be locked here .*No locks available"), lock.locked(tmp_path / "a"):
        pass
