import sys
import types

import numpy as np
import pytest

from softecm import baselines
from softecm.baselines import hard_partition
from softecm.datasets import make_blobs


def test_kmeans_is_a_hard_credal_partition(rng):
    data = make_blobs(60, n_clusters=3, random_state=0)
    partition = hard_partition("kmeans", data.data, 3, random_state=0)
    assert set(np.unique(partition.masses)) == {0.0, 1.0}
    assert partition.nonspecificity() == 0.0
    assert partition.n_clusters == 3


def test_a_method_without_its_library_says_what_to_install(monkeypatch):
    monkeypatch.setattr(baselines, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"'kmodes' needs kmodes, which is not installed: pip install kmodes"):
        hard_partition("kmodes", [["a"]], 1)
    with pytest.raises(ImportError, match="pip install tslearn"):
        hard_partition("timeseries-kmeans", np.zeros((2, 3, 1)), 1)


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match="method must be one of 'kmeans'"):
        hard_partition("kmedoids", [[0.0]], 1)


def test_kprototypes_finds_the_categorical_columns_of_a_frame(monkeypatch):
    pd = pytest.importorskip("pandas")
    seen = {}

    class KPrototypes:
        def __init__(self, n_clusters, random_state=None, **options):
            seen.update(options, n_clusters=n_clusters)

        def fit_predict(self, X, categorical):
            seen["categorical"] = categorical
            return np.arange(len(X)) % 2

    module = types.ModuleType("kmodes.kprototypes")
    module.KPrototypes = KPrototypes
    monkeypatch.setitem(sys.modules, "kmodes.kprototypes", module)
    monkeypatch.setattr(baselines, "find_spec", lambda name: object())
    frame = pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1.0, 2.0, 3.0], "kind": ["a", "b", "b"]})
    partition = hard_partition("kprototypes", frame, 2, gamma=0.5)
    assert seen == {"gamma": 0.5, "n_clusters": 2, "categorical": [0, 2]}
    assert partition.labels().tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="categorical must name the columns"):
        hard_partition("kprototypes", frame.to_numpy(), 2)


@pytest.mark.filterwarnings("ignore")
def test_kmodes_and_series_where_their_libraries_are_installed():
    if baselines.find_spec("kmodes"):
        X = np.array([["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"]])
        labels = hard_partition("kmodes", X, 2, random_state=0).labels()
        assert labels[0] == labels[1] != labels[2] == labels[3]
    if baselines.find_spec("tslearn"):
        series = [np.zeros((5, 1)), np.zeros((6, 1)), np.full((5, 1), 9.0)]
        labels = hard_partition("timeseries-kmeans", series, 2, metric="dtw", random_state=0).labels()
        assert labels[0] == labels[1] != labels[2]
