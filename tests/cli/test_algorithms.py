"""``softecm cluster --algorithm``: every estimator, and what is refused."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from softecm.cli.algorithms import ALGORITHMS, OF_DISSIMILARITIES
from softecm.datasets import make_blobs
from softecm.testing import all_estimators

X = make_blobs(40, n_clusters=2, distance=9.0, random_state=0).data


@pytest.fixture
def files(tmp_path):
    """The same objects as numbers, dissimilarities and words."""
    words = np.where(np.median(X, 0) < X, "high", "low")
    tables = {"numbers": X.astype(str), "apart": squareform(pdist(X)).astype(str), "words": words}
    for name, table in tables.items():
        rows = [",".join(f"c{j}" for j in range(table.shape[1])), *map(",".join, table)]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def test_every_estimator_is_listed(run):
    assert set(ALGORITHMS) == {name for name, _ in all_estimators()}
    code, out, _ = run("algorithms")
    assert code == 0
    assert all(name in out and line[:20] in out for name, line in ALGORITHMS.items())
    assert json.loads(run("algorithms", "--json")[1])["algorithms"] == ALGORITHMS


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "SoftECM"])
def test_every_estimator_writes_a_folder_and_predicts(run, files, name):
    kind = "apart" if name in OF_DISSIMILARITIES else "words" if name == "CatECM" else "numbers"
    clusters = [] if name == "EKNNClus" else ["-c", 2]
    code, out, err = run("cluster", f"{kind}.csv", *clusters, "--algorithm", name.lower(), "-o", "result", "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["algorithm"] == name
    assert summary["n_objects"] == 40
    assert sum(summary["objects_by_set"].values()) == 40
    assert (files / "result" / "report.html").exists()
    code, _, err = run("predict", "result", f"{kind}.csv", "-o", "new.csv")
    assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-c", 2, "--algorithm", "kmeans"], "--algorithm kmeans is unknown: use SoftECM, ECM"),
        (["-c", 2, "--algorithm", "EVCLUS", "--beta", 2], "--beta is no setting of EVCLUS: leave it out"),
        (["-c", 3, "--algorithm", "EKNNClus"], "EKNNClus finds the number of groups itself: leave -c 3 out"),
        (["-c", "2-5", "--algorithm", "ECM"], "--clusters must be a whole number of at least 1 for ECM; got 2-5"),
        (["-c", 2, "--algorithm", "RECM"], "X must be a square matrix of dissimilarities"),
        (["-c", 2, "--algorithm", "ECM", "--checkpoint", "c"], "--checkpoint and --resume are for SoftECM"),
    ],
)
def test_what_does_not_go_together_is_refused(run, files, arguments, sentence):
    code, _, err = run("cluster", "numbers.csv", *arguments)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_words_are_refused_where_numbers_are_due(run, files):
    code, _, err = run("cluster", "words.csv", "-c", 2, "--algorithm", "ECM")
    assert code == 2
    assert "--algorithm ECM takes numbers, and some columns hold words" in " ".join(err.split())
