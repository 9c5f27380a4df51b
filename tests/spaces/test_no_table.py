"""Input that is no table raises an error with a remedy, in one sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softecm import ECM, EVCLUS, SoftECM
from softecm.spaces.raw import raw_data

COLUMNS = {"a": [1.0, 2.0, 8.0], "b": [2.0, 1.0, 9.0]}


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (COLUMNS, r"got a dict.*\. pandas\.DataFrame\(X\)"),
        ([{"a": 1.0}, {"a": 2.0}], r"got a list of dicts\. pandas\.DataFrame\(X\)"),
        ("data.csv", r"got the text 'data\.csv'\. softecm\.read_table"),
        (Path("data.csv"), r"got the text 'data\.csv'\. softecm\.read_table"),
        ({1, 2, 3}, r"got a set\. Pass list\(X\)"),
        ((row for row in [[1.0], [2.0]]), r"got a generator\. Pass list\(X\)"),
        (None, "got None"),
        ([object()] * 10, r"got a list of object, such as <object .*\. Pass a list of rows"),
        (
            ["a", "b", "c"],
            r"got words, such as 'a'\. .*metric='precomputed'.*distance\(a, b\) for b in X.* a list of rows",
        ),
        (np.array(["a", "b", "c"]), r"got words, such as 'a'.*metric='precomputed'"),
        (pd.Series(["a", "b", "c"]), r"got words, such as 'a'.*metric='precomputed'"),
    ],
    ids=["dict", "dicts", "text", "path", "set", "generator", "none", "objects", "words", "array", "series"],
)
def test_no_table(X: object, said: str) -> None:
    for model in (SoftECM(2), SoftECM(2, metric="mixed"), ECM(2), EVCLUS(2)):
        with pytest.raises(TypeError, match=rf"^X must be an array, a data frame or a list of rows; {said}"):
            model.fit(X)


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame(index=range(5)), pl.DataFrame()], ids=str)
def test_frames_without_columns(frame: object) -> None:
    for metric in ("auto", "mixed", "sqeuclidean"):
        with pytest.raises(
            ValueError, match=r"X must have at least one column; got a data frame of [05] rows without any"
        ):
            SoftECM(2, metric=metric).fit(frame)


def test_tables_pass() -> None:
    for X in (COLUMNS["a"], [[1.0], [2.0]], np.ones((2, 2)), pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)):
        raw_data(X).refuse_no_table()


def test_rows_whose_only_values_were_left_out_say_so() -> None:
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7, "note": [f"word {i}" for i in range(40)]})
    X.loc[[4, 9], ["a", "b"]] = np.nan
    for frame in (X, pl.DataFrame(X)):
        with pytest.raises(ValueError, match=r"got none in row 5 \(X\[4\]\).*'note' \(an id.*metric='mixed'"):
            SoftECM(2).fit(frame)


SERIES = [np.arange(8.0 + i)[:, None] for i in range(6)]


@pytest.mark.parametrize(
    "X",
    [
        (SERIES, list("abcdef")),
        (SERIES, np.arange(6)),
        [np.ones((6, 9, 1)), list("abcdef")],
        (np.eye(6), list("abcdef")),
    ],
)
def test_objects_with_their_names_in_a_pair(X: object) -> None:
    with pytest.raises(
        TypeError,
        match=r"^X must be the objects alone; got a pair of 6 objects and 6 names or labels\. .* fit\(X\[0\]\)\.$",
    ):
        SoftECM(2).fit(X)
