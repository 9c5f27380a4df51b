"""``--symmetrize``: matrices of dissimilarities that differ by direction."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import SoftECM, read_table
from softecm.readers import ReadError

POSITIONS = np.array([0.0, 1.0, 2.0, 20.0, 21.0, 22.0])
NAMES = [f"town {i}" for i in range(6)]
THERE = np.abs(POSITIONS[:, None] - POSITIONS)
THERE[np.triu_indices(6, 1)] += 0.5  # one direction takes longer
COMBINED = {"mean": (THERE + THERE.T) / 2, "max": np.maximum(THERE, THERE.T)}


@pytest.fixture
def files(tmp_path):
    frame = pd.DataFrame(THERE, index=NAMES, columns=NAMES)
    frame.to_csv(tmp_path / "towns.csv")
    frame.iloc[::-1].to_csv(tmp_path / "upside_down.csv")
    np.save(tmp_path / "towns.npy", THERE)
    pd.DataFrame(np.random.default_rng(0).normal(size=(8, 2)), columns=["a", "b"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    np.save(tmp_path / "series.npy", np.zeros((6, 6, 1)))
    return tmp_path


@pytest.mark.parametrize("way", COMBINED)
@pytest.mark.parametrize("file", ["towns.csv", "towns.npy"])
def test_both_directions_are_combined(run, files, file, way):
    loaded = read_table(files / file, symmetrize=way)
    np.testing.assert_array_equal(loaded.data.to_numpy(), COMBINED[way])
    metric = [] if file == "towns.csv" else ["--metric", "precomputed"]  # a matrix with names needs none
    code, out, err = run("cluster", file, "-c", 2, "--symmetrize", way, *metric, "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["reading"] == {"symmetrize": way}
    assert summary["understood"]["both directions"] == f"their {way}"
    assert f"symmetrize=&#39;{way}&#39;).data" in Path("towns-softecm/report.html").read_text(encoding="utf-8")
    masses = pd.read_csv("towns-softecm/partition.csv").filter(regex=r"^m\(").to_numpy()
    same = SoftECM(2, metric="precomputed", random_state=0).fit(COMBINED[way])
    np.testing.assert_allclose(masses, same.partition_.masses, atol=1e-5)


def test_every_command_reads_the_matrix_alike(run, files):
    assert run("cluster", "towns.csv", "-c", 2, "--symmetrize", "mean")[0] == 0
    code, out, err = run("explain", "towns-softecm", "--object", "town 1", "--json")
    assert (code, "town 0 (1.25)" in out) == (0, True), err
    code, _, err = run("calibrate", "towns-softecm", "--refits", 19)
    assert code == 0, err
    assert run("sweep", "towns.csv", "-c", 2, "--seeds", 1)[0] == 2
    code, _, err = run("sweep", "towns.csv", "-c", 2, "--seeds", 1, "--symmetrize", "max")
    assert code == 0, err
    code, out, err = run("predict", "towns-softecm", "towns.csv", "--json")  # rows of distances: as they are
    assert code == 0, err
    assert "--symmetrize" in run("predict", "towns-softecm", "towns.csv", "--symmetrize", "mean")[2]


def test_several_matrices_are_symmetrized_each(run, files):
    np.save("other.npy", THERE.T)
    options = ("--matrix", "other.npy", "--algorithm", "MECMdd")
    code, _, err = run("cluster", "towns.npy", "-c", 2, *options)
    assert (code, "from object 1 to 2 and 1 back. Add --symmetrize mean" in " ".join(err.split())) == (2, True)
    code, _, err = run("cluster", "towns.npy", "-c", 2, *options, "--symmetrize", "max")
    assert code == 0, err


@pytest.mark.parametrize(
    ("file", "way", "sentence"),
    [
        ("towns.csv", "min", r"symmetrize must be mean or max; got 'min'"),
        (
            "t.csv",
            "mean",
            r"symmetrize is for a square matrix of numbers; .* has 8 objects with 2 columns to cluster by",
        ),
        ("series.npy", "mean", r"symmetrize is for a square matrix of numbers; .* has 6 series to cluster by: leave"),
    ],
)
def test_what_is_no_matrix_is_refused(files, file, way, sentence):
    with pytest.raises(ReadError, match=sentence):
        read_table(files / file, symmetrize=way)


@pytest.mark.parametrize("way", COMBINED)
def test_columns_are_ordered_like_rows(files, way):
    loaded = read_table(files / "upside_down.csv", symmetrize=way)
    assert loaded.names == list(loaded.data.columns) == NAMES[::-1]
    np.testing.assert_array_equal(loaded.data.to_numpy(), COMBINED[way][::-1, ::-1])


def test_one_direction_is_enough(run, files):
    gaps = pd.DataFrame(THERE.copy(), index=NAMES, columns=NAMES)
    gaps.iloc[1, 4] = gaps.iloc[5, 0] = None
    gaps.to_csv("gaps.csv")
    filled = COMBINED["mean"].copy()
    filled[1, 4] = filled[4, 1] = THERE[4, 1]
    filled[0, 5] = filled[5, 0] = THERE[0, 5]
    np.testing.assert_array_equal(read_table("gaps.csv", symmetrize="mean").data.to_numpy(), filled)
    code, _, err = run("cluster", "gaps.csv", "-c", 2)
    told = "2 empty cells, the first from town 1 to town 4: --symmetrize mean takes the other direction for these."
    assert (code, told in " ".join(err.split())) == (2, True)
    code, out, err = run("cluster", "gaps.csv", "-c", 2, "--symmetrize", "mean", "--json")
    assert (code, json.loads(out)["understood"]["both directions"]) == (0, "their mean"), err
    gaps.iloc[4, 1] = None
    gaps.to_csv("gaps.csv")
    code, _, err = run("cluster", "gaps.csv", "-c", 2, "--symmetrize", "max", "-f")
    told = "2 empty cells, the first from town 1 to town 4: fill in estimates."
    assert (code, told in " ".join(err.split())) == (2, True)


def test_frames_are_symmetrized(files):
    frame = pd.DataFrame(THERE, columns=NAMES)
    np.testing.assert_array_equal(read_table(frame, symmetrize="mean").data.to_numpy(), COMBINED["mean"])


def test_the_error_in_python_names_the_objects_of_a_frame():
    frame = pd.DataFrame(THERE, index=NAMES, columns=NAMES)
    with pytest.raises(
        ValueError, match=r"got 1.5 from town 0 to town 1 \(X\[0, 1\]\) and 1 back\. Use \(X \+ X\.T\) / 2"
    ):
        SoftECM(2, metric="precomputed").fit(frame)
    with pytest.raises(ValueError, match=r"got 1.5 from object 1 to 2 \(X\[0, 1\]\)"):
        SoftECM(2, metric="precomputed").fit(THERE)
