"""Loaders of public tables: from a folder, and their errors without one."""

import os
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

from softecm import datasets
from softecm.datasets.tables import SOURCES

SHAPES = {
    "abalone": (4177, 8, 3, 0),
    "ecoli": (336, 7, 8, 0),
    "glass": (214, 9, 6, 0),
    "breast_cancer": (286, 9, 2, 9),
    "lung": (32, 56, 3, 5),
    "soybean": (47, 35, 4, 0),
    "cleveland": (303, 13, 2, 6),
    "heart": (270, 13, 2, 0),
    "credit": (690, 15, 2, 67),
    "hepatitis": (155, 19, 2, 167),
    "cmc": (1473, 9, 3, 0),
}


@pytest.mark.parametrize("name", list(SHAPES))
def test_tables_have_the_papers_attributes_and_gaps(name, monkeypatch):
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    place = Path(os.environ.get("SOFTECM_DATA", beside))
    if not place.is_dir():
        pytest.skip("needs the data folder: set SOFTECM_DATA")
    monkeypatch.setenv("SOFTECM_DATA", str(place))
    bunch = getattr(datasets, f"load_{name}")()
    rows, columns, classes, gaps = SHAPES[name]
    assert bunch.data.shape == (rows, columns)
    assert len(bunch.target) == rows
    assert len(bunch.target_names) == classes
    assert set(bunch.target) == set(range(classes))
    assert int(bunch.data.isna().to_numpy().sum()) == gaps
    assert bunch.feature_names == list(bunch.data.columns)
    assert SOURCES[name].title in bunch.DESCR
    assert [c for c in bunch.data if bunch.data[c].dtype == float] == list(SOURCES[name].numeric)
    ordered = [c for c in bunch.data if getattr(bunch.data[c].dtype, "ordered", False)]
    assert ordered == list(SOURCES[name].ordinal)


def test_a_missing_file_names_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTECM_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"load_glass found no .*SOFTECM_DATA must name a folder that holds num"
    ):
        datasets.load_glass()


def test_without_a_folder_the_loader_downloads(monkeypatch):
    monkeypatch.delenv("SOFTECM_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "ucimlrepo", None)
    with pytest.raises(
        ImportError, match=r"load_lung needs ucimlrepo: pip install 'softecm\[data\]'. Or set SOFTECM_DATA"
    ):
        datasets.load_lung()
    fake = types.ModuleType("ucimlrepo")

    def fetch_ucirepo(id):
        frame = pd.DataFrame([[1, "?", 2.0, "+"], [2, "b", None, "-"]])
        whole = pd.concat([frame.iloc[:, 1:2], frame[[2]]] + [frame[[0]]] * 13 + [frame[[3]]], axis=1)
        return types.SimpleNamespace(data=types.SimpleNamespace(original=whole if id == 27 else frame))

    fake.fetch_ucirepo = fetch_ucirepo
    monkeypatch.setitem(sys.modules, "ucimlrepo", fake)
    bunch = datasets.load_credit()
    assert bunch.data.shape == (2, 15)
    assert bunch.data["A1"].isna().tolist() == [True, False]
    assert bunch.data["A2"].isna().tolist() == [False, True]
    assert bunch.target.tolist() == [0, 1]
    with pytest.raises(OSError, match="load_cmc got 4 columns from UCI, not 10"):
        datasets.load_cmc()

    def offline(id):
        raise ConnectionError("no route")

    fake.fetch_ucirepo = offline
    with pytest.raises(OSError, match=r"load_heart could not download UCI 145 .* no route. Or set SOFTECM_DATA"):
        datasets.load_heart()
