"""The same table through the command line, pandas, polars and NumPy: the same metric, the same labels, the same reason."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM, load_model
from softecm.datasets import make_mixed_blobs
from softecm.distances.auto import ALIKE, CATEGORIES, GAPS, UNITS
from softecm.fit.group_shapes import REASONS

GIVEN = {"n_init": 3, "random_state": 0, "max_iter": 100}


def table_of(name):
    """A data frame, the number of groups, and the reason there is."""
    if name in ("wine", "breast_cancer"):
        data = {"wine": load_wine, "breast_cancer": load_breast_cancer}[name](as_frame=True)
        return data.data, len(data.target_names), UNITS if name == "wine" else REASONS["axes"]
    if name == "plain":
        rng = np.random.default_rng(3)
        rows = np.concatenate([rng.normal(m, 1, (40, 3)) for m in (0, 6, 12)])
        return pd.DataFrame(rows, columns=["a", "b", "c"]).assign(number=np.arange(1, 121)), 3, ALIKE
    mixed = make_mixed_blobs(200, n_clusters=3, missing=0.1, random_state=4).data
    if name == "gaps":
        return mixed.select_dtypes("number"), 3, GAPS
    return mixed.assign(who=[f"person {i}" for i in range(200)]), 3, CATEGORIES


@pytest.mark.parametrize("name", ["wine", "breast_cancer", "mixed", "gaps", "plain"])
def test_one_answer_four_ways(run, tmp_path, name):
    table, c, reason = table_of(name)
    table.to_csv(tmp_path / "table.csv", index=False)
    code, out, err = run("cluster", "table.csv", "-c", c, "-o", "out", "--n-init", 3, "--max-iter", 100)
    assert code == 0, err
    by_hand = table.drop(columns=[n for n in ("number", "who") if n in table])  # an array has no names to leave out by
    models = [SoftECM(c, **GIVEN).fit(X) for X in (table, pl.from_pandas(table), by_hand.to_numpy())]
    labels = pd.read_csv(tmp_path / "out" / "partition.csv")["label"].to_numpy()
    for model in models:
        np.testing.assert_array_equal([f"ω{k + 1}" for k in model.labels_], labels)
        assert model.metric_reason_.startswith(reason)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["parameters"]["metric"] == models[0].metric_.name
    assert summary["parameters"]["metric_reason"] == models[0].metric_reason_
    assert f"({reason})" in " ".join(out.split())
    assert reason in (tmp_path / "out" / "report.html").read_text()


def test_wine_from_a_file(run, tmp_path):
    wine = load_wine(as_frame=True)
    wine.frame.to_csv(tmp_path / "wine.csv", index=False)
    code, _, err = run("cluster", "wine.csv", "-c", 3, "-o", "out", "--label-column", "target")
    assert code == 0, err
    labels = pd.read_csv(tmp_path / "out" / "partition.csv")["label"]
    assert adjusted_rand_score(wine.target, labels) == pytest.approx(0.915, abs=0.02)


def test_a_named_metric_is_as_asked(run, tmp_path):
    load_wine(as_frame=True).data.to_csv(tmp_path / "wine.csv", index=False)
    code, out, err = run("cluster", "wine.csv", "-c", 3, "-o", "out", "--metric", "sqeuclidean", "--n-init", 1)
    assert code == 0, err
    assert "metric: sqeuclidean (as specified)" in out


def test_series_in_aeons_layout_are_asked_about(run, tmp_path):
    np.save(tmp_path / "series.npy", np.random.default_rng(0).normal(size=(6, 1, 30)))
    code, _, err = run("cluster", "series.npy", "-c", 2, "-o", "out")
    assert code == 2
    assert "looks like aeon's" in " ".join(err.split())


def test_columns_get_the_weights_that_are_typed(run) -> None:
    """The folder's model has them, the others keep their default, and what is no weight of a column is refused."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    columns = {
        "size": 9 * group + rng.normal(size=40),
        "luck": 1e3 * rng.normal(size=40),
        "kind": np.array(["a", "b"])[group],
    }
    pd.DataFrame(columns).to_csv("table.csv", index=False)
    code, out, err = run(
        "cluster", "table.csv", "-c", 2, "-o", "result", "--n-init", 1, "--weights", "size=3, luck=0.25"
    )
    assert code == 0, err
    assert "columns have the weights that were given (--weights size=3, luck=0.25)" in " ".join(out.split())
    metric = load_model("result/model.safetensors").metric_
    assert metric.weights == {"size": 3.0, "luck": 0.25}
    for weights, problem in (
        ("siz=3", "Did you mean size?"),
        ("size=0", "--drop size"),
        ("size=x", "a number"),
        ("alike", "auto"),
    ):
        code, _, err = run("cluster", "table.csv", "-c", 2, "-o", "other", "--weights", weights)
        assert code == 2
        assert problem in " ".join(err.split())
