"""Sweeps: rows equal single fits, cells are validated first, kills lose nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from problems import DEEP
from softecm import BPEC, ECM, EVCLUS, FCM, RECM, ECMdd, SoftECM
from softecm.datasets import make_blobs, make_cbf, make_mixed_blobs
from softecm.distances import SoftDTW
from softecm.fit.loop import Progress
from softecm.selection import Sweep, SweepInterrupted, batch, sweep, sweeping

BLOBS = make_blobs(60, n_clusters=3, distance=8, random_state=0)
GRID = {"beta": [1.2, 1.6], "lam": [0.5, 2.0]}
PLAIN, HEAVY = SoftECM(2, n_init=1), np.arange(len(BLOBS.data)) + 1.0


def assert_same_cells(one: Sweep, other: Sweep) -> None:
    assert list(one.columns) == list(other.columns)
    for name, column in one.columns.items():
        if "seconds" not in name:
            np.testing.assert_array_equal(column, other.columns[name], err_msg=name)


@pytest.mark.filterwarnings("ignore:prototypes of different")
@pytest.mark.parametrize(
    ("estimator", "X", "grid"),
    [
        (SoftECM(3, n_init=3), BLOBS.data, {"beta": [1.2, 2.0], "lam": [0.5, 50.0], "alpha": [0.0, 1.0]}),
        (
            SoftECM(3, n_init=2, metric="euclidean", max_iter=60),
            BLOBS.data,
            {"beta": [1.3], "delta": ["auto", None, 4.0]},
        ),
        (ECM(n_init=2), BLOBS.data, {"n_clusters": [2, 3], "beta": [1.5, 2.0]}),
        (FCM(n_init=2), BLOBS.data, {"n_clusters": [2, 3]}),
        (SoftECM(2, n_init=2, relaxation="gap"), make_mixed_blobs(40, random_state=0).data, {"lam": [1.0, 5.0]}),
    ],
)
@pytest.mark.filterwarnings("ignore:SoftECM has not converged")
def test_every_row_equals_a_fit_with_its_values(estimator, X, grid):
    found = sweep(X, grid, estimator=estimator, seeds=2)
    for row in range(0, len(found), 3):
        names = [name for name in found.parameters if name != "random_state"]
        values = {name: found[name][row] for name in names}
        model = type(estimator)(**{**estimator.get_params(), **values, "random_state": int(found["random_state"][row])})
        model.fit(X)
        assert found["objective"][row] == pytest.approx(model.objective_, rel=1e-9)
        assert found["separation"][row] == pytest.approx(model.separation_, rel=1e-6)
        assert found["nonspecificity"][row] == pytest.approx(model.partition_.nonspecificity(), abs=1e-7)
        assert found["empty"][row] == pytest.approx(model.outlier_scores_.mean(), abs=1e-7)
        assert found["sizes"][row] == np.bincount(model.labels_, minlength=model.n_clusters).tolist()


@pytest.mark.filterwarnings("ignore:.*has not converged")
def test_series_and_the_parameters_of_their_metric_are_swept():
    """After two iterations: where a descent converges depends on rounding, and so on the number of runs in a batch."""
    X = make_cbf(3, length=24, random_state=0).data
    given = {"init": "k-means++", "max_cardinality": 2, "n_init": 2, "delta": None, "max_iter": 2}
    grid = {"metric": ["softdtw"], "metric__gamma": [0.5, 2.0], "beta": [1.1, 1.3]}
    found = sweep(X, grid, estimator=SoftECM(3, **given))
    assert found["metric__gamma"].tolist() == [0.5, 0.5, 2.0, 2.0]
    for row, (gamma, beta) in enumerate([(0.5, 1.1), (0.5, 1.3), (2.0, 1.1), (2.0, 1.3)]):
        model = SoftECM(3, metric=SoftDTW(gamma=gamma), beta=beta, random_state=0, **given).fit(X)
        assert found["objective"][row] == pytest.approx(model.objective_, rel=1e-9)


def test_an_estimator_with_its_own_way_of_fitting_is_swept_too():
    found = sweep(BLOBS.data, {"n_clusters": [2, 3]}, estimator=BPEC())
    alone = BPEC(n_clusters=3).fit(BLOBS.data)
    assert found["sizes"][1] == np.bincount(alone.labels_, minlength=3).tolist()


@pytest.mark.parametrize(
    "estimator",
    [SoftECM(3, metric="precomputed", n_init=2), RECM(3, n_init=2), ECMdd(3, n_init=2), EVCLUS(3)],
    ids=lambda e: type(e).__name__,
)
def test_dissimilarities_are_swept_and_resampled(estimator):
    matrix = np.sqrt(np.square(BLOBS.data[:, None] - BLOBS.data).sum(-1))
    found = sweep(matrix, {"max_iter": [50]}, estimator=estimator, resamples=2, y=BLOBS.target)
    assert found["rand_index"][0] > 0.9
    assert found["stability"][0] > 0.3


def test_weights_count_like_repeated_objects():
    weights = np.ones(60)
    weights[:5] = 2.0
    repeated = np.concatenate([BLOBS.data, BLOBS.data[:5]])
    one = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=1), sample_weight=weights)
    two = sweep(repeated, GRID, estimator=SoftECM(3, n_init=1))
    np.testing.assert_allclose(one["objective"], two["objective"], rtol=1e-9)
    np.testing.assert_allclose(one["silhouette"], two["silhouette"], rtol=1e-6)


def test_labels_only_add_columns():
    with_labels = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=2), y=BLOBS.target)
    without = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=2))
    extra = set(with_labels.columns) - set(without.columns)
    assert extra == {"rand_index", "adjusted_rand_index", "accuracy", "purity"}
    assert with_labels["rand_index"].max() > 0.95
    np.testing.assert_array_equal(with_labels["objective"], without["objective"])


def test_several_data_sets_have_a_column_of_their_own():
    other = make_blobs(40, n_clusters=2, distance=9, random_state=1)
    found = sweep(
        {"three": BLOBS.data, "two": other.data},
        {"beta": [1.2, 1.5]},
        estimator={"three": SoftECM(3, n_init=2), "two": SoftECM(2, n_init=2)},
        y={"three": BLOBS.target, "two": other.target},
    )
    assert found["data"].tolist() == ["three", "three", "two", "two"]
    assert found.where(data="two").best("silhouette").estimator.n_clusters == 2
    assert [len(sizes) for sizes in found["sizes"]] == [3, 3, 2, 2]


def test_processes_give_the_same_rows():
    estimator = SoftECM(n_init=2)
    grid = {"n_clusters": [2, 3], "beta": [1.2, 1.5]}
    assert_same_cells(
        sweep(BLOBS.data, grid, estimator=estimator), sweep(BLOBS.data, grid, estimator=estimator, n_jobs=2)
    )


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ({"beta": [1.2, 0.9]}, r"beta=0\.9.*beta must be greater than 1"),
        ({"lam": [-1.0]}, r"lam=-1\.0.*lam must"),
        ({"n_clusters": [0]}, "n_clusters=0"),
        ({"colour": ["red"]}, "colour"),
        ({"beta": []}, "at least one value"),
        ({"metric__gamma": [1.0]}, "metric"),
        ([], "at least one combination"),
        ([3], "must map names"),
        (3, "must map names"),
    ],
)
def test_a_grid_that_cannot_be_run_is_refused_before_anything_runs(grid, told):
    rounds: list[Progress] = []
    with pytest.raises(ValueError, match=told):
        sweep(BLOBS.data, grid, estimator=SoftECM(3, callback=rounds.append))
    assert rounds == []


def test_given_starts_are_held_to_what_a_fit_asks_of_them():
    start = BLOBS.data[[0, 25, 50]]
    found = sweep(BLOBS.data, {"beta": [1.2]}, estimator=SoftECM(3, init=start))
    assert found["objective"][0] == pytest.approx(SoftECM(3, init=start).fit(BLOBS.data).objective_, rel=1e-12)
    with pytest.raises(ValueError, match="init must have one row per cluster, 2; got 3"):
        sweep(BLOBS.data, {"n_clusters": [2]}, estimator=SoftECM(init=start))


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="one label per object"):
        sweep(BLOBS.data, GRID, y=[0, 1])
    with pytest.raises(ValueError, match="one label per object"):
        sweep(BLOBS.data, GRID, y=3)


def test_a_journal_is_gone_on_with_and_a_cut_line_is_done_again(tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "CPU_WORK", 1.0)  # one cell per batch
    path = tmp_path / "run.jsonl"
    whole = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=2), seeds=2, journal=path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + len(whole)
    path.write_bytes(b"".join(lines[:4]) + lines[4][: len(lines[4]) // 2])
    again = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=2), seeds=2, journal=path)
    assert_same_cells(whole, again)
    after = path.read_bytes().splitlines(keepends=True)
    assert after[:4] == lines[:4]
    assert len(after) == len(lines)
    np.testing.assert_array_equal(again["seconds"][:3], whole["seconds"][:3])  # read, not computed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: sweep(BLOBS.data[:50], GRID, journal=path), "data"),
        (lambda path: sweep(BLOBS.data, {"beta": [1.2]}, journal=path), "grid"),
        (lambda path: sweep(BLOBS.data, GRID, estimator=SoftECM(2, alpha=2), journal=path), "grid"),
        (lambda path: sweep(BLOBS.data, GRID, estimator=PLAIN, resamples=2, journal=path), "grid"),
        (lambda path: sweep(BLOBS.data, GRID, estimator=PLAIN, sample_weight=HEAVY, journal=path), "data"),
    ],
)
def test_a_journal_of_another_sweep_is_refused(tmp_path, change, told):
    path = tmp_path / "run.jsonl"
    sweep(BLOBS.data, GRID, estimator=PLAIN, journal=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"another sweep.*{told}"):
        change(path)
    assert path.read_bytes() == before


def test_what_changes_no_number_keeps_the_journal(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    whole = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=2, verbose=0), seeds=2, resamples=2, journal=path)
    lines = path.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(sweeping, "run_task", None)  # nothing is left to run
    monkeypatch.setattr(batch, "CPU_WORK", 1.0)  # and batches have another size
    other = SoftECM(3, n_init=2, n_jobs=1, device="cpu", callback=lambda progress: False)
    again = sweep(BLOBS.data, GRID, estimator=other, seeds=2, resamples=2, journal=path, n_jobs=2)
    assert_same_cells(whole, again)
    np.testing.assert_array_equal(again["stability"], whole["stability"])
    assert path.read_bytes().splitlines(keepends=True) == lines


def powered(q):
    return lambda x, v: (x[:, None] - v).abs().pow(q).sum(-1)


def test_metrics_of_one_name_and_different_code_are_different(tmp_path):
    path, grid = tmp_path / "run.jsonl", {"metric": [powered(1.5), powered(2.0)]}
    plain = SoftECM(2, n_init=1, init="k-means++", max_iter=3, relaxation="penalty", lam=1.0)
    found = sweep(BLOBS.data[:20], grid, estimator=plain, journal=path)
    assert found["objective"][0] != found["objective"][1]  # both have the name powered.<locals>.<lambda>
    with pytest.raises(ValueError, match=r"another sweep.*grid"):
        sweep(BLOBS.data[:20], {"metric": [powered(1.5), powered(3.0)]}, estimator=plain, journal=path)


def test_a_metric_without_code_goes_by_its_name_and_that_is_said(tmp_path):
    plain = SoftECM(
        2, metric=torch._euclidean_dist, n_init=1, init="k-means++", max_iter=2, relaxation="penalty", lam=1.0
    )
    with pytest.warns(
        UserWarning, match=r"can't be distinguished from another of the same name in journal .*run\.jsonl"
    ):
        sweep(BLOBS.data[:20], {"beta": [1.2]}, estimator=plain, journal=tmp_path / "run.jsonl")


def test_a_damaged_line_is_run_again_and_the_others_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "CPU_WORK", 1.0)
    path = tmp_path / "run.jsonl"
    whole = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=2), journal=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b'"objective": ', b'"objective": "much'), *lines[3:]]))
    with pytest.warns(UserWarning, match="damaged in line 3"):
        again = sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=2), journal=path)
    assert_same_cells(whole, again)
    assert sorted(path.read_bytes().splitlines()[i][:30] for i in range(5)) == sorted(line[:30] for line in lines)
    np.testing.assert_array_equal(np.delete(again["seconds"], 1), np.delete(whole["seconds"], 1))


def test_a_file_that_is_no_journal_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(ValueError, match="that a sweep wrote"):
        sweep(BLOBS.data, GRID, journal=path)
    assert path.read_text() == "my notes\n"


def test_control_c_keeps_what_is_done(monkeypatch):
    monkeypatch.setattr(batch, "CPU_WORK", 1.0)
    real = sweeping.run_task

    def stopped(task, *rest):
        if task.number == 2:
            raise KeyboardInterrupt
        return real(task, *rest)

    monkeypatch.setattr(sweeping, "run_task", stopped)
    with pytest.raises(SweepInterrupted, match="2 of 4 batches done") as caught:
        sweep(BLOBS.data, GRID, estimator=SoftECM(3, n_init=1))
    assert len(caught.value.partial) == 2


KILLED = """
import sys
from softecm import SoftECM
from softecm.datasets import make_blobs
from softecm.selection import batch, sweep
batch.CPU_WORK = 1.0
print("ready", flush=True)
X = make_blobs(60, n_clusters=3, distance=8, random_state=0).data
grid = {"beta": [1.2, 1.4, 1.6], "lam": [0.5, 2.0]}
sweep(X, grid, estimator=SoftECM(3, n_init=2), seeds=4, journal=sys.argv[1])
print("done", flush=True)
"""


def test_a_sweep_killed_again_and_again_ends_like_an_undisturbed_one(tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "CPU_WORK", 1.0)
    grid = {"beta": [1.2, 1.4, 1.6], "lam": [0.5, 2.0]}
    path = tmp_path / "run.jsonl"
    rng = np.random.default_rng(0)
    killed = 0
    for _ in range(10 if DEEP else 1):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.05, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed
    resumed = sweep(BLOBS.data, grid, estimator=SoftECM(3, n_init=2), seeds=4, journal=path)
    undisturbed = sweep(BLOBS.data, grid, estimator=SoftECM(3, n_init=2), seeds=4)
    assert_same_cells(resumed, undisturbed)
    items = [item for line in path.read_text().splitlines()[1:] for item in json.loads(line)["items"]]
    assert sorted(items) == sorted(f"cell {k}" for k in range(24))  # nothing was done twice


def test_progress_shows_cells_and_time_left(capsys):
    sweep(BLOBS.data, {"beta": [1.2, 1.5]}, estimator=SoftECM(3, n_init=1), progress=True)
    shown = capsys.readouterr().err
    assert "2/2" in shown
