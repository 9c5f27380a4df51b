"""Readers and files are below the command line, and cost nothing before they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import softecm

ROOT = Path(softecm.__file__).parent


def imported(path: Path) -> set[str]:
    """Modules that a file imports, anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("room", ["readers", "files"])
def test_no_reader_or_writer_knows_the_command_line(room: str) -> None:
    for path in (ROOT / room).glob("*.py"):
        assert not [name for name in imported(path) if name.startswith("softecm.cli")], path.name


def test_the_safe_writer_knows_nothing_of_ours_but_its_errors() -> None:
    for name in ("_atomic", "_errors", "files/folders"):
        ours = {one for one in imported(ROOT / f"{name}.py") if one.startswith("softecm")}
        assert ours <= {"softecm._atomic", "softecm._errors", "softecm.files.lock", "softecm.files.places"}


def test_importing_the_readers_loads_no_data_frame_library_and_no_torch() -> None:
    names = "('torch', 'pandas', 'pyarrow', 'sklearn', 'narwhals', 'aeon', 'scipy')"
    program = f"import sys, softecm.readers, softecm.files; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
