"""Targets of results: checked before the work, never replacing foreign files, and results are never lost."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from problems import DEEP
from softecm import ECM, CredalPartition, SoftECM, _atomic, report
from softecm._errors import WriteError
from softecm._warnings import CheckpointWarning
from softecm.cli import cluster, main, predict, result_folder
from softecm.cli.result_folder import ResultFolder
from softecm.datasets import load_diamond
from softecm.files import folders, journal, places, write_bytes
from softecm.selection import sweep, sweeping
from softecm_paper import reproduce

resource = pytest.importorskip("resource")
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
X = load_diamond().data


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    """Run ``softecm`` with these arguments, in a folder with data.csv; return exit code and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in X.tolist()))

    def call(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["softecm", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, " ".join(capsys.readouterr().err.split())

    return call


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop all commands before their work; all are imported above, so that none keeps a replacement made here."""

    def worked(*a: Any, **k: Any) -> None:
        pytest.fail("the work was done first")

    for module, name in (
        (cluster, "_fit"), (sweeping, "run_task"), (reproduce, "_page"), (predict, "load"),
        (ResultFolder, "_table"), (ResultFolder, "model"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, property(worked) if module is ResultFolder else worked)


@pytest.fixture
def spare(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder, without a temporary one."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(home / "absent"))
    return home


def odd_places() -> list[str]:
    """Places in the working folder where neither a file nor a folder can be written."""
    Path("plain").write_text("mine")
    Path("loose").symlink_to("nowhere")
    Path("loop").symlink_to("loop")
    Path("to-plain").symlink_to("plain")
    os.mkfifo("pipe")
    found = ["loose", "loop", "pipe", "/dev/null", "plain/below", "/dev/null/below", "n" * 300, "loop/below"]
    return [*found, "to-plain/below", "/proc/softecm" if os.path.isdir("/proc/self") else "pipe"]


FOLDERS = {
    "cluster": ("cluster", "data.csv", "-c", 2, "-o"),
    "sweep": ("sweep", "data.csv", "-c", 2, "-o"),
    "demo": ("demo", "-o"),
    "reproduce": ("reproduce", "diamond", "-o"),
    "journals": ("reproduce", "diamond", "--journals"),
}
FILES = {
    "predict": ("predict", "model.safetensors", "data.csv", "-o"),
    "report": ("report", "found", "-o"),
    "checkpoint": ("cluster", "data.csv", "-c", 2, "--checkpoint"),
    "journal": ("sweep", "data.csv", "-c", 2, "--journal"),
}


def prepare() -> None:
    """Create the input of predict and report."""
    Path("found").mkdir()
    Path("found/summary.json").write_text(json.dumps({"focal_sets": [], "file": str(Path("data.csv").absolute())}))


def snapshot() -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in Path().rglob("*") if p.is_file()}


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("name", [*FOLDERS, *FILES])
@pytest.mark.parametrize("force", [(), ("--force",)] if DEEP else [()])
def test_a_place_that_will_not_do_is_refused_before_the_work(
    run: Callable[..., Any], name: str, force: tuple[str, ...], hostile_case: Callable[[], None]
) -> None:
    command = FOLDERS.get(name) or FILES[name]
    if force and command[0] in ("report", "reproduce"):
        pytest.skip("has no --force")
    prepare()
    wanted = [*odd_places(), *(("plain", "to-plain") if name in FOLDERS else ("found", "absent/below"))]
    if name == "journal":
        wanted.remove("absent/below")  # its folder is created
    before = snapshot()
    for place in wanted:
        code, err = run(*command, place, *force)
        assert (code, err.startswith("softecm: ")) == (2, True), (place, err)
        assert ".softecm-" not in err, err
        assert err.count(". ") <= 1, err
        assert snapshot() == before, place
        hostile_case()
    assert Path("loose").is_symlink()
    assert not Path("nowhere").exists()


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("name", [*FOLDERS, *FILES])
@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT] if DEEP else [errno.EROFS])
def test_a_disk_that_takes_nothing_is_found_out_before_the_work(
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    number: int,
    hostile_case: Callable[[], None],
) -> None:
    def refusing(path: Path, mode: str) -> None:
        raise OSError(number, os.strerror(number), str(path))

    prepare()
    monkeypatch.setattr(places, "open", refusing, raising=False)
    code, err = run(*(FOLDERS.get(name) or FILES[name]), "out")
    assert (code, os.strerror(number).lower() in err) == (2, True), err
    assert not Path("out").exists()
    hostile_case()


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["itself", "symlink", "hard link", "foreign", "of another kind"])
def test_force_replaces_neither_the_input_nor_foreign_files(
    run: Callable[..., Any], name: str, how: str, hostile_case: Callable[[], None]
) -> None:
    prepare()
    place = Path("data.csv" if how == "itself" else "place.html")
    if how == "symlink":
        place.symlink_to("data.csv")
    elif how == "hard link":
        place.hardlink_to("data.csv")
    elif how == "foreign":
        place.write_text("my diary")
    elif how == "of another kind":
        CredalPartition.from_hard([0, 1]).save(place)
    before = snapshot()
    code, err = run(*FILES[name], place, *(("--force",) if name != "report" else ()))
    assert code == 2
    assert "never replaced" in err, err
    assert snapshot() == before
    hostile_case()


WRITTEN = {
    "cluster": ("partition.csv", "summary.json", "model.safetensors", "report.html"),
    "sweep": ("sweep.csv", "best.json", "heatmap.png", "journal.jsonl"),
    "reproduce": ("diamond.md", "diamond.html"),
}


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("command", WRITTEN)
def test_foreign_files_in_the_folder_of_results_stay(
    run: Callable[..., Any], command: str, hostile_case: Callable[[], None]
) -> None:
    Path("out").mkdir()
    force = ("--force",) if command != "reproduce" else ()
    for name in WRITTEN[command]:
        file = Path("out", name)
        file.write_text("mine")
        code, err = run(*FOLDERS[command], "out", *force)
        assert (code, "is never replaced" in err) == (2, True), (name, err)
        assert file.read_text() == "mine"
        file.unlink()
        hostile_case()
    if command in ("cluster", "sweep"):
        Path("out", WRITTEN[command][0]).hardlink_to("data.csv")
        assert "never replaced" in run(*FOLDERS[command], "out", *force)[1]


def test_through_a_link_results_go_where_it_leads(
    run: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    far = tmp_path_factory.mktemp("far")
    Path("out").symlink_to(far)
    assert run("cluster", "data.csv", "-c", 2, "--n-init", 1, "-q", "-o", "out") == (0, "")
    assert Path("out").is_symlink()
    written = {p.name for p in far.iterdir()}
    assert written == {"partition.csv", "summary.json", "model.safetensors", "report.html"}
    (far / "old.csv").write_bytes((far / "partition.csv").read_bytes())
    Path("new.csv").symlink_to(far / "old.csv")
    (far / "old.csv").write_text("")  # no content to lose
    assert run("predict", "out", "data.csv", "-q", "-o", "new.csv", "--force") == (0, "")
    assert Path("new.csv").is_symlink()
    assert (far / "old.csv").read_bytes() == (far / "partition.csv").read_bytes()
    Path("page.html").symlink_to(far / "report.html")
    (far / "report.html").write_text("")
    assert run("report", "out", "-q", "-o", "page.html") == (0, "")
    assert Path("page.html").is_symlink()
    assert (far / "report.html").stat().st_size > 10_000


def no_space(*a: Any, **k: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_results_that_can_no_longer_be_written_are_elsewhere(
    run: Callable[..., Any], spare: Path, monkeypatch: pytest.MonkeyPatch, hostile_case: Callable[[], None]
) -> None:
    fit = ("cluster", "data.csv", "-c", 2, "--n-init", 1, "-q", "-o")
    assert run(*fit, "out") == (0, "")
    before = snapshot()
    with monkeypatch.context() as full:
        full.setattr(folders, "file_to_disk", no_space)
        code, err = run(*fit, "out", "--force")
        assert (code, "no space left on device. Nothing was left half-written." in err) == (2, True), err
        (folder,) = spare.iterdir()
        assert f"The results are in {folder} instead." in err
        assert {p.name for p in folder.iterdir()} == {p.name for p in Path("out").iterdir()}
        assert (folder / "partition.csv").read_bytes() == Path("out/partition.csv").read_bytes()
        assert snapshot() == before
        hostile_case()
    shutil.rmtree(folder)
    for command, name in (
        (("predict", "out", "data.csv", "-q"), "data-partition.csv"),
        (("report", "out"), "report.html"),
    ):
        with monkeypatch.context() as full:
            full.setattr(_atomic, "file_to_disk", no_space)
            code, err = run(*command)
        assert code == 2
        (folder,) = spare.iterdir()
        assert str(folder) in err
        assert [p.name for p in folder.iterdir()] == [name]
        assert snapshot() == before
        shutil.rmtree(folder)
        hostile_case()


def test_a_fault_of_ours_while_writing_keeps_what_is_finished(
    run: Callable[..., Any], spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*a: Any, **k: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(result_folder, "build", broken)
    code, told = run("cluster", "data.csv", "-c", 2, "--n-init", 1, "-q", "-o", "out")
    (folder,) = spare.iterdir()
    assert code == 1
    assert str(folder) in told.replace(" ", "")
    assert {p.name for p in folder.iterdir()} == {"partition.csv", "summary.json", "model.safetensors"}
    assert not Path("out").exists()


@pytest.fixture
def small_files() -> Iterator[None]:
    """Limit files to 4 kB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
def test_a_file_that_does_not_fit_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, hostile_case: Callable[[], None]
) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    model = ECM(2, delta=5.0, random_state=0).fit(np.repeat(X, 40, 0))
    for write in (
        lambda: write_bytes(path, bytes(5000)),
        lambda: model.save(path),
        lambda: model.partition_.save(path),
    ):
        with pytest.raises(OSError, match="too large"):
            write()
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["file"]
        hostile_case()


def test_errors_name_the_wanted_path(tmp_path: Path, hostile_case: Callable[[], None]) -> None:
    model = ECM(2, delta=5.0, random_state=0).fit(X)
    for write in (model.save, model.partition_.save, lambda path: model.report(X, path)):
        for place in ("absent/file", "n" * 300, "."):
            with pytest.raises((OSError, ValueError)) as caught:
                write(tmp_path / place)
            assert str(tmp_path / place) in str(caught.value)
            assert ".softecm-" not in str(caught.value)
            hostile_case()
        with pytest.raises(WriteError, match="is a device"):
            write("/dev/null")
    assert not os.listdir(tmp_path)


def test_a_report_on_fewer_objects_is_asked_for_and_a_partition_of_others_is_refused(tmp_path: Path) -> None:
    model = ECM(2, delta=5.0, random_state=0).fit(X)
    with pytest.raises(
        ValueError, match=r"X has 5 objects and the fit had 12\. Pass the objects of the fit, or for other"
    ):
        report.build(model, X[:5])
    page = report.build(model, X[:5], partition=model.predict_partition(X[:5]))
    assert len(page.partition) == 5
    assert "The fit had 12 objects and these are 5: the model predicts where they belong." in page.warnings
    with pytest.raises(ValueError, match="for each of the 5 objects of X; got 12"):
        model.report(X[:5], tmp_path / "report.html", partition=model.partition_)
    assert not os.listdir(tmp_path)


def test_a_fit_survives_a_checkpoint_that_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SoftECM(2, n_init=1, random_state=0).fit(X)
    file = tmp_path / "fit.checkpoint"
    with monkeypatch.context() as full:
        full.setattr(_atomic, "file_to_disk", no_space)
        with pytest.warns(CheckpointWarning, match=r"no space left on device\. The fit continues"):
            model = SoftECM(2, n_init=1, random_state=0).fit(X, checkpoint=file, checkpoint_every=1)
    np.testing.assert_array_equal(model.partition_.masses, plain.partition_.masses)
    assert not os.listdir(tmp_path)
    file.write_text("my diary")
    with pytest.raises(WriteError, match="is not a checkpoint written by softecm"):
        model.fit(X, checkpoint=file)
    assert file.read_text() == "my diary"


def test_a_sweep_survives_a_journal_that_can_not_be_written(
    tmp_path: Path, spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, options = {"n_clusters": [2, 3]}, {"estimator": SoftECM(n_init=1), "journal": tmp_path / "journal"}
    write, written = journal.Journal.write, []

    def once_full(self: journal.Journal, items: Any, rows: Any) -> None:
        written.append(items)
        if len(written) == 2:
            self.done.update(zip(items, rows, strict=True))
            no_space()
        write(self, items, rows)

    monkeypatch.setattr(journal.Journal, "write", once_full)
    with pytest.warns(UserWarning, match="can't be written: no space left on device. The sweep continues"):
        found = sweep(X, grid, **options)
    (folder,) = spare.iterdir()
    monkeypatch.setattr(sweeping, "run_task", lambda *_: pytest.fail("ran again"))
    again = sweep(X, grid, **options | {"journal": folder / "journal"})
    assert again["objective"].tolist() == found["objective"].tolist()


def test_what_a_killed_program_left_is_removed_after_a_day(tmp_path: Path) -> None:
    left, young, others = (
        tmp_path / name for name in (".softecm-0123456789ab.csv", ".softecm-ba9876543210", ".softecm-x")
    )
    for path in (left, others):
        path.write_text("half")
    (young / "deep").mkdir(parents=True)
    os.utime(left, (0, 0))
    os.utime(others, (0, 0))
    _atomic.tidied.cache_clear()
    write_bytes(tmp_path / "file", b"content")
    assert {p.name for p in tmp_path.iterdir()} == {"file", young.name, others.name}
    os.utime(young, (0, 0))
    os.utime(young / "deep", (0, 0))
    _atomic.tidied.cache_clear()
    write_bytes(tmp_path / "file", b"content")
    assert {p.name for p in tmp_path.iterdir()} == {"file", others.name}


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A mount point with 40 kB of space."""
    place = tmp_path / "mount"
    place.mkdir()
    if (
        not ROOT
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", place], capture_output=True).returncode
    ):
        pytest.skip("mounting is not permitted")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(not DEEP, reason="in make test-deep")
def test_a_mount_point_will_do_until_it_is_full_or_read_only(
    run: Callable[..., Any], tiny_disk: Path, spare: Path, hostile_case: Callable[[], None]
) -> None:
    assert run("predict", "absent", "data.csv", "-o", tiny_disk / "p.csv")[0] == 2
    fit = ("cluster", "data.csv", "-c", 2, "--n-init", 1, "-q", "-o")
    code, err = run(*fit, tiny_disk)
    assert code == 2
    (folder,) = spare.iterdir()
    assert f"no space left on device. Nothing was left half-written. The results are in {folder} instead." in err
    assert not os.listdir(tiny_disk)
    subprocess.run(["mount", "-o", "remount,size=4m", tiny_disk], check=True)
    assert run(*fit, tiny_disk) == (0, "")
    assert (tiny_disk / "report.html").exists()
    subprocess.run(["mount", "-o", "remount,ro", tiny_disk], check=True)
    code, err = run(*fit, tiny_disk, "--force")
    assert (code, "read-only file system" in err) == (2, True)
    for _ in range(3):
        hostile_case()
