"""Journals and checkpoints whose writer dies at a named point: nothing is lost, and resuming gives the same bits."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hostile.kill_server import Server, served
from internals import POINTS
from problems import DEEP
from softecm import SoftECM, _atomic
from softecm._atomic import KILLED
from softecm.files import journal
from softecm.selection import batch, sweep

X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 5.0]
GRID = {"beta": [1.2, 1.4, 1.6, 1.8]}
JOURNAL = [point for point in POINTS if point.startswith(("journal: before line", "journal: line", "atomic"))]
CHECKPOINT = [point for point in POINTS if point.startswith("atomic")]


class Dead(BaseException):
    """Stands for what a killed process never executes."""


def dying(point: str, count: int) -> Callable[[str], None]:
    """A replacement of ``reached``: this process continues, but everything it writes after that point fails."""
    left = [count]

    def reached(name: str) -> None:
        left[0] -= name == point
        if left[0] <= 0:
            raise Dead(name)

    return reached


def swept(path: Path | None) -> Any:
    return sweep(X, GRID, estimator=SoftECM(2, n_init=1), journal=path)


def fitted(**options: Any) -> SoftECM:
    return SoftECM(2, n_init=2, random_state=0, tol=1e-6).fit(X, checkpoint_every=1, **options)


def same_sweep(path: Path, whole: Any) -> None:
    """Resuming gives the same table, and every cell was recorded once."""
    found = swept(path)
    for name in found.columns:
        if name != "seconds":
            np.testing.assert_array_equal(found[name], whole[name], err_msg=name)
    items = [item for line in path.read_bytes().splitlines()[1:] for item in json.loads(line)["items"]]
    assert sorted(items) == sorted(f"cell {k}" for k in range(len(whole)))


def same_fit(path: Path, whole: SoftECM) -> None:
    found = fitted(resume=path) if path.exists() else fitted(checkpoint=path)
    np.testing.assert_array_equal(found.partition_.masses, whole.partition_.masses)
    np.testing.assert_array_equal(found.prototypes_, whole.prototypes_)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("point", JOURNAL)
def test_a_journal_is_gone_on_with_wherever_its_writer_stopped(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile_case: Callable[[], None]
) -> None:
    monkeypatch.setattr(batch, "CPU_WORK", 1.0)  # one cell per line
    whole = swept(None)
    for count in (1,) if point.startswith("atomic") else (1, 3) if DEEP else (2,):
        path = tmp_path / f"{count}.jsonl"
        hostile_case()
        with monkeypatch.context() as patch:
            for module in (_atomic, journal):
                patch.setattr(module, "reached", dying(point, count))
            with pytest.raises(Dead):
                swept(path)
        same_sweep(path, whole)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("point", CHECKPOINT)
def test_a_checkpoint_is_gone_on_from_wherever_its_writer_stopped(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile_case: Callable[[], None]
) -> None:
    whole = fitted()
    for count in (1, 2, 5) if DEEP else (2,):
        path = tmp_path / f"{count}.checkpoint"
        hostile_case()
        with monkeypatch.context() as patch:
            patch.setattr(_atomic, "reached", dying(point, count))
            with pytest.raises(Dead):
                fitted(checkpoint=path)
        same_fit(path, whole)


KILLS = [("sweep", p) for p in JOURNAL] + [("fit", p) for p in CHECKPOINT]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("kills")) as made:
        yield made


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.skipif(not DEEP or not hasattr(os, "fork"), reason="in make test-deep, in forked processes")
@pytest.mark.parametrize(("program", "point"), KILLS)
def test_a_killed_process_loses_nothing_it_had_written(
    server: Server, program: str, point: str, monkeypatch: pytest.MonkeyPatch, hostile_case: Callable[[], None]
) -> None:
    monkeypatch.setattr(batch, "CPU_WORK", 1.0)
    whole = swept(None) if program == "sweep" else fitted()
    path = server.folder / "kept"
    for count in range(1, 11):
        path.unlink(missing_ok=True)
        hostile_case()
        assert server((program, "kept"), f"{point}#{count}") in (0, KILLED)
        if program == "sweep":
            same_sweep(path, whole)
        else:
            same_fit(path, whole)
