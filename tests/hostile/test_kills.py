"""Killed at a named point of writing: earlier files are intact, and the next run has the bits of an undisturbed one."""

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from hostile.kill_server import Server, served
from problems import DEEP
from softecm import _atomic
from softecm._atomic import KILLED, is_unfinished
from softecm.cli import main
from softecm.files import completed

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, to load the libraries once")

FIT = ("-q", "--n-init", "2", "--tol", "1e-3")
CLUSTER = ("cluster", "a.csv", "-c", "3", *FIT)
#: Each command, and what the user runs after a kill to get the same output.
COMMANDS = {
    "cluster": ((*CLUSTER, "-o", "out", "--force"),) * 2,
    "cluster with a checkpoint": (
        (*CLUSTER, "--tol", "0", "--max-iter", "25", "-o", "new", "--checkpoint", "fit.checkpoint"),
        (*CLUSTER, "--tol", "0", "--max-iter", "25", "-o", "new", "--resume", "fit.checkpoint", "--force"),
    ),
    "predict": (("predict", "out", "a.csv", "-o", "p.csv", "--force", "-q"),) * 2,
    "report": (("report", "out", "-q"),) * 2,
    "sweep": (("sweep", "a.csv", "-c", "2-3", "--seeds", "1", *FIT, "-o", "sweep"),) * 2,
}
QUICK = [("cluster", "folder: file replaced", 2), ("sweep", "journal: line half written", 2)]


class Died(BaseException):
    """Replaces the end of the process."""


@dataclass
class Here(Server):
    """The same in this process, with the libraries loaded: an uncaught exception stands for a kill."""

    patch: pytest.MonkeyPatch

    def __call__(self, arguments: tuple[str, ...], at: str = "nowhere") -> int:
        self.patch.chdir(self.folder)
        self.patch.setattr(sys, "argv", ["softecm", *arguments])
        self.patch.setenv("SOFTECM_KILL_AT", at)
        _atomic._seen.clear()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        except Died:
            code = KILLED
        (self.folder / ".seen").write_text(json.dumps(_atomic._seen))
        return code


@contextmanager
def here(root: Path) -> Iterator[Server]:
    def die(status: int) -> None:
        raise Died

    (root / "work").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "_exit", die)
        yield Here(root / "work", None, patch)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A folder with data and earlier results."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(middle, 0.9, (12, 2)) for middle in (0.0, 4.0, 8.0)])
    with (served if DEEP else here)(tmp_path_factory.mktemp("kills")) as made:
        lines = [f"o{i},{x:.3f},{y:.3f}" for i, (x, y) in enumerate(rows)]
        (made.folder / "a.csv").write_text("name,x,y\n" + "\n".join(lines) + "\n")
        assert made(("cluster", "a.csv", "-c", "2", *FIT, "-o", "out")) == 0
        shutil.copy(made.folder / "out" / "partition.csv", made.folder / "p.csv")
        made.keep()
        yield made


def content(folder: Path) -> dict[str, bytes]:
    """All files but temporary ones, journals and checkpoints, without times."""
    files = [p for p in folder.rglob("*") if p.is_file() and not any(is_unfinished(q) for q in (p, *p.parents))]
    shown = [p for p in files if not p.name.startswith(".") and p.suffix not in (".jsonl", ".checkpoint")]
    return {str(p.relative_to(folder)): timeless(p) for p in shown}


def timeless(path: Path) -> bytes:
    if path.name == "summary.json":
        return json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "seconds"}).encode()
    if path.name == "sweep.csv":
        rows = csv.DictReader(io.StringIO(path.read_text()))
        return repr([{k: v for k, v in row.items() if k != "seconds"} for row in rows]).encode()
    if path.suffix == ".safetensors":  # which may have its parts in any order
        return repr(file_parts(path)).encode()
    return path.read_bytes()


def file_parts(path: Path) -> tuple[list[tuple[str, str]], list[tuple[str, bytes]]]:
    with safe_open(path, framework="np") as file:
        parts = [(name, file.get_tensor(name).tobytes()) for name in sorted(file.keys())]
        return sorted(file.metadata().items()), parts


def tried(server: Server, name: str, point: str, k: int, wanted: dict[str, bytes]) -> None:
    """Kill a command once; ``wanted`` is its output without a kill."""
    command, again = COMMANDS[name]
    server.reset()
    before = content(server.folder)
    assert server(command, f"{point}#{k}") == KILLED
    for path, there in content(server.folder).items():
        if "/.softecm-whole-" not in path:
            assert there in (before.get(path), wanted.get(path)), path
    for folder in ("out", "new", "sweep"):
        completed(server.folder / folder)
    now = content(server.folder)
    assert now in (before, wanted)
    resumes = "--resume" not in again or (server.folder / "fit.checkpoint").exists()
    assert server(again if resumes else (*command, "--force")) == 0
    assert content(server.folder) == wanted


@pytest.mark.parametrize("name", COMMANDS)
def test_earlier_results_are_intact_and_the_next_run_has_the_same_bits(
    server: Server, name: str, hostile_case: Callable[[], None]
) -> None:
    if not DEEP and name not in [case[0] for case in QUICK]:
        pytest.skip("in make test-deep")
    server.reset()
    assert server(COMMANDS[name][0]) == 0
    wanted, seen = content(server.folder), server.seen
    cases = [(point, k) for point, count in seen.items() for k in sorted({1, 2, (1 + count) // 2, count}) if k <= count]
    for point, k in cases if DEEP else [case[1:] for case in QUICK if case[0] == name]:
        tried(server, name, point, k, wanted)
        hostile_case()


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The writers alone, without other libraries."""
    with served(tmp_path_factory.mktemp("light"), "light") as made:
        yield made


OLD = {"a": "old", "b": "old", "c": "old", "mine": "my own"}


def emptied(server: Server, kind: str) -> dict[str, str]:
    """Empty the folder except for a target of this kind; return its content."""
    folder, target = server.folder, server.folder / "out"
    shutil.rmtree(folder)
    folder.mkdir()
    if kind == "new":
        return {}
    place = folder / "elsewhere" if kind == "link" else target
    place.mkdir()
    for name, text in OLD.items() if kind != "empty" else ():
        (place / name).write_text(text)
    if kind == "link":
        target.symlink_to(place, target_is_directory=True)
    return states(target)


def states(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in folder.iterdir() if p.is_file()} if folder.is_dir() else {}


@pytest.mark.parametrize("kind", ["new", "old", "link", "empty"])
def test_a_folder_is_all_old_or_all_new_whenever_its_writer_is_killed(
    light: Server, kind: str, hostile_case: Callable[[], None]
) -> None:
    old = emptied(light, kind)
    mine = {name: text for name, text in old.items() if name == "mine"}
    new, target = {**mine, "a": "new", "b": "new"}, light.folder / "out"
    assert light(("files", "out")) == 0
    assert states(target) == new
    for point, k in [(point, k + 1) for point, count in light.seen.items() for k in range(count)]:
        emptied(light, kind)
        assert light(("files", "out"), f"{point}#{k}") == KILLED
        completed(target)
        assert states(target) in (old, new), (point, k)
        assert light(("files", "out")) == 0
        assert states(target) == new, (point, k)
        assert target.is_symlink() == (kind == "link")
        hostile_case()
