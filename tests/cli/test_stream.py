"""``softecm cluster`` on Parquet files that are made out to be too large."""

import json
import os
import signal
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from softecm.cli import fitting, source
from softecm.cli.problems import Problem
from softecm.datasets import make_blobs

POINTS = make_blobs(3000, between=30, outliers=10, random_state=0).data


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def softecm(run):
    return lambda *arguments: Done(*run(*arguments))


@pytest.fixture
def points(tmp_path):
    file = tmp_path / "points.parquet"
    pd.DataFrame(POINTS, columns=["u", "v"]).to_parquet(file, row_group_size=800)
    return file


def test_a_large_file_is_streamed_to_the_answer_of_a_small_one(softecm, points, tmp_path):
    whole = softecm("cluster", points, "-c", "3", "-o", tmp_path / "whole", "--json", "--parquet")
    parts = softecm("cluster", points, "-c", "3", "-o", tmp_path / "parts", "--json", "--memory", "200kB")
    assert (whole.code, parts.code) == (0, 0)
    one, other = json.loads(whole.out), json.loads(parts.out)
    assert other["streamed"]
    assert other["objective"] == pytest.approx(one["objective"], rel=1e-4)
    assert other["n_objects"] == len(POINTS)
    assert sorted(other["objects_by_set"].values()) == pytest.approx(sorted(one["objects_by_set"].values()), abs=3)
    frame = pd.read_parquet(tmp_path / "parts" / "partition.parquet")
    masses = frame.filter(like="m(").to_numpy()
    assert masses.shape == (len(POINTS), 7)
    np.testing.assert_allclose(masses.sum(1), 1.0, atol=1e-5)
    assert sorted(p.name for p in (tmp_path / "parts").iterdir()) == [
        "model.safetensors",
        "partition.parquet",
        "report.html",
        "summary.json",
    ]
    assert "sample" in (tmp_path / "parts" / "report.html").read_text(encoding="utf-8")


def test_a_streamed_model_predicts_and_its_report_is_not_redrawn(softecm, points, tmp_path):
    assert softecm("cluster", points, "-c", "3", "-o", tmp_path / "out", "--memory", "200kB").code == 0
    found = softecm("predict", tmp_path / "out", points, "-o", tmp_path / "new.csv")
    assert found.code == 0, found.err
    labels = pd.read_parquet(tmp_path / "out" / "partition.parquet")["label"]
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "new.csv")["label"], labels)
    again = softecm("report", tmp_path / "out")
    assert again.code == 2
    assert "block by block" in again.err


def test_categories_gaps_and_ids_are_streamed_as_they_are_read(softecm, tmp_path, rng):
    n = 2500
    frame = pd.DataFrame(
        {
            "name": [f"object {i}" for i in range(n)],
            "size": rng.normal(size=n) + 6 * (np.arange(n) % 2),
            "colour": np.where(np.arange(n) % 2, " red", "blue "),
            "same": 1,
        }
    )
    frame.loc[2400, "size"] = np.nan
    file = tmp_path / "mixed.parquet"
    frame.to_parquet(file, row_group_size=600)
    options = ("-c", "2", "--json", "--id-column", "name", "--max-cardinality", "1", "--n-init", "2")
    whole = json.loads(softecm("cluster", file, "-o", tmp_path / "whole", *options).out)
    done = softecm("cluster", file, "-o", tmp_path / "parts", *options, "--memory", "300kB")
    assert done.code == 0, done.err
    parts = json.loads(done.out)
    assert parts["parameters"]["metric"] == whole["parameters"]["metric"] == "mixed"
    assert parts["objective"] == pytest.approx(whole["objective"], rel=1e-6)
    kinds = {c["name"]: (c["kind"], c["gaps"]) for c in parts["understood"]["columns"]}
    assert kinds == {"name": ("id", 0), "size": ("number", 1), "colour": ("category", 0), "same": ("left out", 0)}
    assert pd.read_parquet(tmp_path / "parts" / "partition.parquet")["id"].tolist() == frame["name"].tolist()


def test_a_column_that_varies_only_outside_the_sample_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "SAMPLE", 10)
    values = np.zeros(1000)
    values[333] = 1.0
    pd.DataFrame({"x": values, "row": np.arange(1, 1001)}).to_parquet(tmp_path / "a.parquet")
    scan = source.scanned(tmp_path / "a.parquet")
    loaded = source._understood(tmp_path / "a.parquet", scan, source.ReadOptions())
    assert [(c.name, c.kind) for c in loaded.columns] == [("x", "number"), ("row", "id")]


@pytest.mark.parametrize("allowed", ["200kB", "1GB"])
def test_ctrl_c_leaves_a_checkpoint_that_is_gone_on_from(softecm, points, tmp_path, monkeypatch, allowed):
    options = ("cluster", points, "-c", "3", "--memory", allowed, "--n-init", "1", "--json")
    undisturbed = json.loads(softecm(*options, "-o", tmp_path / "a").out)
    file = tmp_path / "fit.checkpoint"

    class Impatient(fitting._Watch):
        def __call__(self, progress):
            if progress.iteration == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return super().__call__(progress)

    monkeypatch.setattr(fitting, "_Watch", Impatient)
    stopped = softecm(*options, "-o", tmp_path / "b", "--checkpoint", file)
    monkeypatch.undo()
    assert stopped.code == 130
    assert f"--resume {file}" in stopped.err
    assert not (tmp_path / "b").exists()
    resumed = softecm(*options, "-o", tmp_path / "b", "--resume", file)
    assert resumed.code == 0, resumed.err
    again = json.loads(resumed.out)
    assert again["objective"] == undisturbed["objective"]
    assert again["n_iter"] == undisturbed["n_iter"]


def test_a_checkpoint_that_is_there_is_not_replaced_unless_forced(softecm, points, tmp_path):
    file = tmp_path / "fit.checkpoint"
    assert softecm("cluster", points, "-c", "2", "-o", tmp_path / "earlier", "--checkpoint", file).code == 0
    earlier = file.read_bytes()
    options = ("cluster", points, "-c", "3", "-o", tmp_path / "a", "--checkpoint", file)
    refused = softecm(*options)
    assert refused.code == 2
    assert "already exists" in refused.err
    assert file.read_bytes() == earlier
    assert softecm(*options, "--force").code == 0
    assert file.read_bytes() != earlier
    file.write_bytes(b"my diary")
    refused = softecm("cluster", points, "-c", "3", "-o", tmp_path / "b", "--checkpoint", file, "--force")
    assert (refused.code, file.read_bytes()) == (2, b"my diary")
    assert "is not a checkpoint written by softecm" in refused.err


def test_a_checkpoint_of_another_fit_is_a_problem_with_its_name(softecm, points, tmp_path):
    file = tmp_path / "fit.checkpoint"
    assert softecm("cluster", points, "-c", "3", "-o", tmp_path / "a", "--checkpoint", file).code == 0
    done = softecm("cluster", points, "-c", "2", "-o", tmp_path / "b", "--resume", file)
    assert done.code == 2
    assert "fit.checkpoint is a checkpoint of another fit: n_clusters was 3" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-c", "auto", "--memory", "200kB"), "the number of clusters can't be chosen"),
        (("-c", "3", "--memory", "lots"), "--memory must be a size such as 2GB"),
        (("-c", "3", "--memory", "20kB"), "row group 0 of"),
        (("-c", "3", "--memory", "9" * 400 + "GB"), "--memory must be at most"),
        (("-c", "3", "--drop-rows", "9" * 5000), "--drop-rows holds a number of more than 4000 digits"),
        (("-c", ""), "--clusters must be a whole number of at least 1, a range such as 2-12, or auto; got ."),
        (("-c", "3", "--memory", "200kB", "--label-column", "u"), "--label-column"),
        (("-c", "3", "--resume", "nowhere"), "resume must be an existing checkpoint"),
    ],
)
def test_what_can_be_mended_is_said(softecm, points, tmp_path, arguments, told):
    done = softecm("cluster", points, "-o", tmp_path / "out", *arguments)
    assert done.code == 2
    assert told in done.err
    assert not (tmp_path / "out").exists()


def test_a_text_file_beyond_the_memory_is_refused_with_a_way_out(tmp_path):
    file = tmp_path / "points.csv"
    pd.DataFrame(POINTS).to_csv(file)
    with pytest.raises(Problem, match="save it as Parquet"):
        source.must_stream(file, "100kB", 7)
    assert not source.must_stream(file, None, 7)


def test_a_damaged_parquet_file_is_named(tmp_path):
    file = tmp_path / "broken.parquet"
    file.write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(Problem, match=r"broken\.parquet can't be read"):
        source.scanned(file)


def test_a_sample_knows_its_rows(tmp_path, monkeypatch):
    file = tmp_path / "rows.parquet"
    pd.DataFrame({"row": np.arange(1000.0)}).to_parquet(file)
    monkeypatch.setattr(source, "BATCH", 300)
    monkeypatch.setattr(source, "SAMPLE", 70)
    scan = source.scanned(file)
    assert len(scan.places) > 50
    np.testing.assert_array_equal(scan.sample["row"], scan.places)
