import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from softecm.cli import fitting, source
from softecm.files import places

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("arguments", "told"), [(["--help"], "cluster"), (["cluster", "ω.csv", "-c", "2"], "does not exist")]
)
def test_help_and_slips_are_answered_before_anything_heavy_is_loaded(arguments: list[str], told: str) -> None:
    code = (
        f"import sys; sys.argv = {['softecm', *arguments]!r}\n"
        "from softecm.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print('ended', end.code)\n"
        "heavy = {'torch', 'sklearn', 'numpy', 'pandas', 'scipy', 'numba', 'matplotlib'} & set(sys.modules)\n"
        "print('heavy', sorted(heavy))"
    )
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}  # a terminal without Greek letters is served, too
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=plain)
    assert "heavy []" in answer.stdout
    assert f"ended {0 if arguments == ['--help'] else 2}" in answer.stdout
    assert told in answer.stdout + answer.stderr


def test_version_and_module(run: Run) -> None:
    from softecm import __version__

    assert run("--version")[1].strip() == f"softecm {__version__}"
    answer = subprocess.run([sys.executable, "-m", "softecm", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in answer.stdout


@pytest.mark.parametrize(
    ("name", "file"), [("customers", "customers.csv"), ("states", "visits.csv"), ("texts", "texts.npz")]
)
def test_demo_writes_a_file_its_command_and_its_report(run: Run, name: str, file: str) -> None:
    folder = Path(f"softecm-demo-{name}")
    code, out, err = run("demo", name)
    assert code == 0, err
    command = (folder / "command.txt").read_text(encoding="utf-8").strip()
    assert command.startswith(f"softecm cluster {folder / file} -c ")
    assert command in " ".join(out.split())
    assert (folder / "result" / "report.html").is_file()
    assert run("demo", name, "-q")[:2] == (0, "")  # a second time replaces the first
    code, _, err = run("demo", "nothing")
    assert (code, "must be one of points, customers" in err) == (2, True)


def test_demo_says_who_is_between_and_who_is_out(run: Run) -> None:
    code, out, _ = run("demo")
    assert code == 0
    assert "1 lies between groups: object 6 (group 1 or 2)." in out
    assert "1 belongs to no group: object 12." in out
    assert {p.name for p in Path("softecm-demo").iterdir()} == {"command.txt", "points.csv", "result"}
    assert run("demo", "-q")[:2] == (0, "")  # a second time replaces the first


def test_cluster_writes_a_folder_and_shows_what_it_understood(run: Run, two_groups: Path) -> None:
    code, out, err = run("cluster", two_groups, "-c", 2, "-o", "found", "--parquet")
    assert code == 0, err
    for part in ("semicolon", "comma", "names of the columns", "category", "mixed", "2 groups", "found/report.html"):
        assert part in out
    assert {p.name for p in Path("found").iterdir()} == {
        "partition.csv", "partition.parquet", "summary.json", "model.safetensors", "report.html",
    }  # fmt: skip
    table = pd.read_csv("found/partition.csv").set_index("id")
    assert table.loc["far", "set"] == "∅"
    np.testing.assert_allclose(table.filter(like="m(").sum(axis=1), 1.0, atol=1e-5)
    summary = json.loads(Path("found/summary.json").read_text())
    assert summary["n_objects"] == 42
    assert summary["converged"]
    assert sum(summary["objects_by_set"].values()) == 42
    assert not [p for p in Path().iterdir() if p.name.startswith(".softecm")]


def test_labels_only_score(run: Run, two_groups: Path) -> None:
    code, out, _ = run("cluster", two_groups, "-c", 2, "--label-column", "colour", "--json")
    assert code == 0
    summary = json.loads(out)
    assert summary["scores"]["accuracy"] > 0.9
    assert [c["kind"] for c in summary["understood"]["columns"]] == ["id", "number", "number", "label"]


def test_the_report_is_the_same_each_time(run: Run, two_groups: Path) -> None:
    run("cluster", two_groups, "-c", 2, "-o", "found", "-q")
    pages = []
    for _ in range(2):
        run("report", "found", "-q")
        pages.append(Path("found/report.html").read_bytes())
    assert pages[0] == pages[1]


def test_quiet_prints_nothing(run: Run, two_groups: Path) -> None:
    assert run("cluster", two_groups, "-c", 2, "--quiet") == (0, "", "")


def test_the_same_seed_gives_the_same_file(run: Run, two_groups: Path) -> None:
    for name in ("one", "two"):
        run("cluster", two_groups, "-c", 2, "-o", name, "-q", "--seed", 5)
    assert Path("one/partition.csv").read_bytes() == Path("two/partition.csv").read_bytes()


def test_the_number_of_clusters_is_found(run: Run, two_groups: Path) -> None:
    code, out, err = run("cluster", two_groups, "-c", "auto", "--json", "--n-init", 2)
    assert code == 0, err
    summary = json.loads(out)
    assert summary["n_clusters"] == 2
    assert summary["rule"] == "mixture"
    assert list(summary["candidates"]) == ["1", "2", "3", "4", "5", "6"]  # the root of 42 objects
    assert summary["candidates"]["2"] == min(summary["candidates"].values())


def test_a_code_for_missing_cells_is_asked_about_before_the_result_with_the_group_it_makes(
    run: Run, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [9, 9]], 45, axis=0)
    rows[rng.choice(90, 15, replace=False), 0] = -99.0
    path = tmp_path / "codes.csv"
    path.write_text("a,b\n" + "\n".join(f"{x:.3f},{y:.3f}" for x, y in rows), encoding="utf-8")
    code, out, err = run("cluster", path, "-c", "3", "-o", "found", "--metric", "sqeuclidean")
    assert code == 0, err
    text = " ".join(out.split())
    assert "Warning: -99 appears in 15 cells of column 'a'" in text
    tied = text.index("Warning: Group 1: 10 of its 10 objects have -99 (15 rows have it).")
    assert text.index("Warning: -99 ") < tied < text.index("Of 90 objects")


def test_a_wrong_number_of_groups_is_doubted_and_the_right_one_is_not(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(240, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 80, axis=0)
    path = tmp_path / "three.csv"
    path.write_text("a,b\n" + "\n".join(f"{x:.3f},{y:.3f}" for x, y in rows), encoding="utf-8")
    said = {}
    for c in (2, 3, 4):
        assert run("cluster", path, "-c", c, "-o", f"found{c}")[0] == 0
        said[c] = " ".join(json.loads(Path(f"found{c}/summary.json").read_text())["warnings"])
    assert re.search(r"With --clusters 2, group \d falls into two parts: perhaps 3 groups\.", said[2])
    assert said[3] == ""
    assert "do not stand apart: perhaps 3 groups." in said[4]


def test_a_search_warns_of_a_group_between_two_others_and_not_of_another_number(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    places = np.repeat([[0, 0], [16, 0], [8, 20], [8, 0]], [60, 60, 60, 12], axis=0)
    rows = places + 0.8 * rng.normal(size=places.shape)
    path = tmp_path / "midway.csv"
    path.write_text("a,b\n" + "\n".join(f"{x:.3f},{y:.3f}" for x, y in rows), encoding="utf-8")
    code, out, err = run("cluster", path, "-c", "2-5", "-o", "found", "--metric", "sqeuclidean")
    assert code == 0, err
    (told,) = json.loads(Path("found/summary.json").read_text())["warnings"]
    assert re.fullmatch(r"Group \d is small \(12 of 192 objects\) and lies midway between .* Try 3 groups\.", told)
    assert told in " ".join(out.split())


def test_without_groups_one_group_is_written_and_said_first(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "heap.csv"
    path.write_text("a,b\n" + "\n".join(f"{x:.4f},{y:.4f}" for x, y in rng.normal(size=(120, 2))), encoding="utf-8")
    code, out, err = run("cluster", path, "-c", "auto", "--n-init", 2, "-o", "found")
    assert code == 0, err
    summary = json.loads(Path("found/summary.json").read_text())
    assert summary["n_clusters"] == 1
    assert out.index("Warning: No groups stand apart") < out.index("All 120 objects")
    assert "softecm calibrate" not in out  # one group has no other to be confused with


def test_numbers_of_groups_too_close_to_call_are_both_named(run: Run, tmp_path: Path) -> None:
    """Two groups that could be one, and a third far away."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(at, 1, (60, 2)) for at in ((0, 0), (5, 0), (10, 9))])
    path = tmp_path / "close.csv"
    path.write_text("a,b\n" + "\n".join(f"{x:.4f},{y:.4f}" for x, y in rows), encoding="utf-8")
    code, out, err = run("cluster", path, "-c", "2-4", "--metric", "sqeuclidean", "--n-init", 2, "-o", "found")
    assert code == 0, err
    summary = json.loads(Path("found/summary.json").read_text())
    assert (summary["n_clusters"], summary["tied"]) == (3, [2])
    two, three = (f"{summary['candidates'][c]:.3f}" for c in "23")
    told = (
        f"Tried 2 to 4 groups: 2 and 3 are too close to call (rule valleys: {two} and {three}), 3 are shown; the rule "
        "silhouette prefers 2. To decide, run again with -c 2 and compare the maps and what is said of the groups."
    )
    assert told in " ".join(out.split())
    assert told in Path("found/report.html").read_text(encoding="utf-8")
    assert out.endswith("Check how much another sample would change: softecm calibrate found\n")


@pytest.mark.parametrize("asked", ["2-4", "2..4"])
def test_a_range_of_numbers_is_tried_and_every_value_shown(run: Run, two_groups: Path, asked: str) -> None:
    code, out, err = run("cluster", two_groups, "-c", asked, "--n-init", 2, "-o", "found")
    assert code == 0, err
    summary = json.loads(Path("found/summary.json").read_text())
    assert list(summary["candidates"]) == ["2", "3", "4"]
    for value in summary["candidates"].values():
        assert value is None or f"{value:.1f}" in out  # of a mixture
    assert "Tried 2 to 4 groups: 2" in out
    assert "Numbers of groups that were tried" in Path("found/report.html").read_text()


def test_the_edge_of_a_range_is_said_aloud(run: Run, two_groups: Path) -> None:
    code, out, err = run("cluster", two_groups, "-c", "3-4", "--n-init", 2, "-o", "found", "--json")
    assert code == 0, err
    summary = json.loads(out)
    side = "smallest" if summary["n_clusters"] == 3 else "largest"
    assert any(f"is the {side} number of clusters tried" in said for said in summary["warnings"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [("0-4", "a range from 1 or more"), ("4-2", "a range such as 2-12"), ("2-99", "too few for --clusters 2-99")],
)
def test_ranges_that_can_t_be_tried_are_refused(run: Run, two_groups: Path, asked: str, said: str) -> None:
    code, _, err = run("cluster", two_groups, "-c", asked, "-o", "found")
    assert code == 2
    assert said in err


def test_predict_gives_the_training_objects_their_masses(run: Run, two_groups: Path) -> None:
    run("cluster", two_groups, "-c", 2, "-o", "found", "-q")
    code, out, err = run("predict", "found", two_groups, "-o", "new.csv")
    assert code == 0, err
    assert "Written to new.csv" in out
    assert Path("new.csv").read_text() == Path("found/partition.csv").read_text()
    code, _, err = run("predict", "found", two_groups, "-o", "new.csv")
    assert (code, "exists" in err) == (2, True)
    other = Path("other.csv")
    other.write_text("size;weight\n1,5;2,5\n3,5;1,5\n")
    code, out, err = run("predict", "found", other)
    assert code == 0, err
    assert "not in the file: colour; rows are compared in the other columns" in " ".join(out.lower().split())
    other.write_text("weight\n2,5\n1,5\n")
    code, _, err = run("predict", "found", other, "--force")
    assert code == 2
    assert "size, colour not found" in err


def test_the_report_is_drawn_again_with_and_without_the_file(run: Run, two_groups: Path) -> None:
    run("cluster", two_groups, "-c", 2, "-o", "found", "-q")
    Path("found/report.html").unlink()
    code, out, _ = run("report", "found", "--json")
    assert (code, json.loads(out)["source_read"]) == (0, True)
    first = Path("found/report.html").read_text()
    assert "What pulls" in first
    two_groups.unlink()
    code, out, _ = run("report", "found", "--json")
    assert (code, json.loads(out)["source_read"]) == (0, False)
    assert "The original file is missing" in Path("found/report.html").read_text()


def test_an_existing_folder_is_never_overwritten_unasked(run: Run, two_groups: Path) -> None:
    Path("found").mkdir()
    Path("found/mine.txt").write_text("keep me")
    code, _, err = run("cluster", two_groups, "-c", 2, "-o", "found")
    assert code == 2
    assert "--force" in err
    assert [p.name for p in Path("found").iterdir()] == ["mine.txt"]
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--force", "-q")[0] == 0
    assert Path("found/mine.txt").read_text() == "keep me"
    assert Path("found/report.html").exists()


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("absent.csv", None, "does not exist"),
        ("empty.csv", b"", "empty"),
        ("header.csv", b"a,b\n", "no rows"),
        ("ragged.csv", b"a,b\n1,2\n3,4,5\n", "line 3"),
        ("binary.csv", bytes(range(256)) * 4, "binary"),
        ("one.csv", b"a\n1\n2\n3\n", "only one column"),
        ("few.csv", b"a,b\n1,2\n", "too few"),
        ("twice.csv", b"id,a,b\nx,1,2\nx,2,3\ny,3,4\n", "unique"),
        ("text.csv", b"a,b\n" + b"".join(b"q%d,r%d\n" % (i, i) for i in range(40)), "no column left"),
    ],
)
def test_bad_files_are_one_sentence_and_exit_2(run: Run, name: str, content: bytes | None, part: str) -> None:
    path = Path(name)
    if content is not None:
        path.write_bytes(content)
    extra = ["--id-column", "id"] if name == "twice.csv" else []
    code, out, err = run("cluster", path, "-c", 2, *extra)
    assert code == 2
    assert part in err
    assert err.startswith("softecm: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err + out
    assert {p.name for p in Path().iterdir()} <= {name}


def test_a_folder_for_a_file_is_said(run: Run, tmp_path: Path) -> None:
    code, _, err = run("cluster", tmp_path, "-c", 2)
    assert (code, "is a folder" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["-c", "zero"], "--clusters must be"),
        (["-c", 2, "--beta", 1], "beta must be greater than 1"),
        (["-c", 2, "--metric", "wrong"], "--metric must be one of auto, "),
        (["-c", 2, "--delta", "much"], "--delta must be"),
        (["-c", 2, "--encoding", "nope"], "--encoding nope is unknown"),
        (["-c", 2, "--id-column", "nope"], "no column nope"),
        (["-c", 5000], "groups.csv has 42 objects, too few for 5000 clusters"),
    ],
)
def test_bad_options_are_one_sentence_and_exit_2(run: Run, two_groups: Path, arguments: list[Any], part: str) -> None:
    code, out, err = run("cluster", two_groups, *arguments)
    assert (code, out) == (2, "")  # before the reading is shown
    assert part in err
    assert not Path("groups-softecm").exists()


def test_a_table_for_a_model_is_said_in_plain_words(run: Run, two_groups: Path) -> None:
    code, _, err = run("predict", two_groups, two_groups)
    assert code == 2
    said = "groups.csv is not a model file, or is cut short. An estimator's save(path) writes one, softecm cluster a folder"
    assert said in " ".join(err.split())


def test_one_name_for_the_column_of_ids(run: Run, two_groups: Path) -> None:
    code, out, err = run("cluster", two_groups, "--id", "name", "--dry-run", "--json")
    assert code == 0, err
    assert json.loads(out)["understood"]["columns"][0]["kind"] == "id"
    Path("long.csv").write_text("who,day,pulse\n" + "".join(f"p{i // 3},{i % 3},{i}.5\n" for i in range(12)))
    code, out, err = run("cluster", "long.csv", "--id-column", "who", "--time", "day", "--value", "pulse", "--dry-run")
    assert code == 0, err
    assert "4 series" in out
    code, _, err = run("cluster", "long.csv", "--id", "who", "-c", 2)
    assert code == 2
    assert "if each row is one time of a series, add --time and --value" in " ".join(err.split())


def test_unknown_options_point_to_help(run: Run, two_groups: Path) -> None:
    code, _, err = run("cluster", two_groups, "--nope")
    assert code == 2
    assert "--help" in err


def test_a_place_that_cannot_be_written_is_said(run: Run, two_groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    code, _, err = run("cluster", two_groups, "-c", 2, "-o", "file/below")
    assert (code, "can't be written" in err) == (2, True)

    def refusing(*a: Any, **k: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(places, "open", refusing, raising=False)
    monkeypatch.setattr(fitting, "fit", lambda *a, **k: pytest.fail("fitted"))
    code, _, err = run("cluster", two_groups, "-c", 2, "-o", "out")
    assert (code, "out can't be written: permission denied" in err) == (2, True)


def test_a_full_disk_leaves_nothing_behind(
    run: Run, two_groups: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def full(*a: Any, **k: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(source, "write_csv", full)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(home / "absent"))
    before = set(Path().iterdir())
    code, _, err = run("cluster", two_groups, "-c", 2, "-o", "out")
    assert code == 2
    assert "no space left on device. Nothing was left half-written. The results that could be written" in err
    assert set(Path().iterdir()) == before
    (spare,) = home.iterdir()
    assert str(spare) in err
    assert [p.name for p in spare.iterdir()] == ["model.safetensors"]


def test_ctrl_c_keeps_the_best_so_far(run: Run, two_groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    inner = fitting._Watch.__call__

    def press(self: Any, progress: Any) -> bool:
        rounds.append(progress.iteration)
        if progress.iteration == 2:
            signal.raise_signal(signal.SIGINT)
        return inner(self, progress)

    monkeypatch.setattr(fitting._Watch, "__call__", press)
    code, out, _ = run("cluster", two_groups, "-c", 3, "--tol", 0, "-o", "found", "--json")
    assert code == 0
    summary = json.loads(out)
    assert summary["interrupted"]
    assert rounds == [1, 2]
    assert any("Ctrl-C" in text for text in summary["warnings"])  # after what is to be asked about the cells
    assert Path("found/report.html").exists()


def test_ctrl_c_ends_the_search_for_a_number_with_the_best_so_far(
    run: Run, two_groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, seen = fitting._Watch.__call__, []

    def press(self: Any, progress: Any) -> bool:
        seen.append(self.bar.tasks[0].description)
        if seen.count("trying 3 groups") == 1:  # later stages of the same fit ask again
            signal.raise_signal(signal.SIGINT)
        return inner(self, progress)

    monkeypatch.setattr(fitting._Watch, "__call__", press)
    code, out, err = run(
        "cluster", two_groups, "--drop", "colour", "-c", "auto", "--n-init", 2, "-o", "found", "--json"
    )
    assert code == 0, err
    summary = json.loads(out)
    assert list(dict.fromkeys(seen)) == ["trying 2 groups", "trying 3 groups"]
    assert summary["n_clusters"] == 2  # a fit that was cut short does not win
    assert not summary["interrupted"]  # the fit with 2 was whole
    assert list(summary["candidates"]) == ["2"]
    assert "Ctrl-C stopped the search at 3 groups" in summary["warnings"][0]


def test_a_second_ctrl_c_gives_up(run: Run, two_groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(self: Any, progress: Any) -> bool:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return False

    monkeypatch.setattr(fitting._Watch, "__call__", press)
    assert run("cluster", two_groups, "-c", 2, "-o", "found")[0] == 130
    assert not Path("found").exists()


def test_interrupts_outside_the_main_thread_are_left_alone() -> None:
    from rich.console import Console

    seen: list[bool] = []

    def work() -> None:
        with fitting._interrupts(Console(quiet=True)) as stopped:
            seen.append(stopped())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_merged_groups_are_said_aloud(run: Run) -> None:
    Path("same.csv").write_text("a,b\n" + "1,2\n2,1\n" * 3)
    code, out, err = run("cluster", "same.csv", "-c", 2, "--lam", 1000, "--beta", 2, "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["collapsed"]
    assert "Fewer than 2 separate groups" in summary["sentences"][0]
    assert summary["warnings"]


def test_names_that_would_harm_are_text_everywhere(run: Run) -> None:
    nasty = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "=cmd|' /C calc'!A0", "🦉", "שלום"]
    rows = [
        {"id": f"{nasty[i % 5]}{i}", nasty[0]: i % 2 + i / 100, nasty[1]: nasty[i % 3], "c": i % 7} for i in range(30)
    ]
    pd.DataFrame(rows).to_csv("nasty.csv", index=False)
    code, _, err = run("cluster", "nasty.csv", "-c", 2, "--id-column", "id", "-o", "found")
    assert code == 0, err
    page = Path("found/report.html").read_text()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "\n=cmd" not in Path("found/partition.csv").read_text().replace('"', "")


def test_series_go_through_the_same_commands(run: Run, rng: np.random.Generator) -> None:
    from softecm.distances import SEMI_METRICS

    if "softdtw" not in SEMI_METRICS:
        pytest.skip("this version has no metric for series")
    wave = np.sin(np.linspace(0, 6, 12))
    series = np.stack([(wave if i % 2 else -wave) + 0.1 * rng.normal(size=12) for i in range(14)])[:, :, None]
    np.save("waves.npy", series)
    code, out, err = run("cluster", "waves.npy", "-c", 2, "-o", "found", "--n-init", 2)
    assert code == 0, err
    assert "14 series of 12 steps" in out
    assert "combined (series are compared by shape" in out
    page = Path("found/report.html").read_text()
    assert "series-cards" in page
    assert run("predict", "found", "waves.npy", "-o", "new.csv", "-q")[0] == 0
    first, second = (pd.read_csv(name)["label"].tolist() for name in ("found/partition.csv", "new.csv"))
    assert first == second
    assert len(set(first[::2])) == len(set(first[1::2])) == 1
    code, out, err = run("cluster", "waves.npy", "-c", 2, "-o", "amerced", "--n-init", 2, "--metric", "adtw")
    assert code == 0, err
    assert "metric: adtw" in out
    assert run("predict", "amerced", "waves.npy", "-o", "amerced.csv", "-q")[0] == 0
    Path("waves.npy").unlink()
    assert run("report", "found", "-q")[0] == 0


def test_a_long_fit_says_where_it_stands_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    from rich.console import Console

    monkeypatch.setattr(fitting, "EVERY", 0.0)
    asked, out = threading.Semaphore(0), StringIO()

    def line() -> str:
        asked.release()
        return "fitting: looking for starts"

    with fitting.heartbeat(Console(file=out, force_terminal=False), line):
        assert all(asked.acquire(timeout=60) for _ in range(4))
    assert out.getvalue() == "fitting: looking for starts\n"  # once, whatever a log keeps
    with fitting.heartbeat(Console(file=StringIO(), quiet=True), lambda: pytest.fail("asked to be quiet")):
        pass


def test_one_object_is_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    code, out, err = run("cluster", "one.csv", "-c", 2)
    assert (code, "has 1 object, too few" in err, out) == (2, True, "")
