"""Times of day are hours after midnight, as text and as cells of a workbook."""

import datetime as dt
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import ReadingWarning, SoftECM, read_table
from softecm.readers.clock import read_times

TIMES = [dt.time(6 + i % 12, 12 * (i % 5), 30 * (i % 2)) for i in range(30)]
HOURS = [6 + i % 12 + 12 * (i % 5) / 60 + 30 * (i % 2) / 3600 for i in range(30)]


@pytest.mark.parametrize("form", ["%H:%M:%S", "%I:%M:%S %p", "%H:%M:%S Uhr"])
def test_text_is_read_as_hours(form: str) -> None:
    found = read_table(pd.DataFrame({"at": [time.strftime(form) for time in TIMES], "size": np.arange(30) / 4}))
    np.testing.assert_allclose(found.data["at"], HOURS)
    (column,) = [c for c in found.columns if c.name == "at"]
    assert (column.kind, column.why) == ("number", "times of day, in hours after midnight")
    assert column.written is not None
    assert column.written.unit == "h"


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_files_with_times_are_read_alike(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"at": TIMES, "size": np.arange(30) / 4})
    frame.loc[3, "at"] = None
    path = tmp_path / f"t.{ending}"
    if ending == "xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    found = read_table(path)
    np.testing.assert_allclose(found.data["at"], [*HOURS[:3], np.nan, *HOURS[4:]])
    again = read_table(pd.DataFrame({"at": ["9:30"], "size": [1.0]}), like=found)  # one hour only
    assert again.data["at"].tolist() == [9.5]
    assert read_table(path, categorical="at").data["at"][0] == "06:00:00"


def test_a_few_other_words_are_missing() -> None:
    at = [time.strftime("%H:%M") for time in TIMES]
    at[4], at[9] = "open", "25:10"
    with pytest.warns(ReadingWarning, match=r"column at: 2 cells are not numbers .*: open \(row 5\), 25:10 \(row 10\)"):
        found = read_table(pd.DataFrame({"at": at, "size": np.arange(30) / 4}))
    assert np.flatnonzero(found.data["at"].isna()).tolist() == [4, 9]


@pytest.mark.parametrize(
    "cells", [["1:10", "1:20", "1:50"], ["16:9", "4:3", "21:9"], ["3:2", "1:0"], ["45:10", "50:20"]]
)
def test_ratios_and_scores_are_no_times(cells: list[str]) -> None:
    assert read_times(pd.Series(cells * 9)) is None


def test_missing_cells_do_not_count_as_times() -> None:
    cells = [f"{8 + i % 9}:30" for i in range(20)] + ["open", "shut", "never"]
    assert read_times(pd.Series(cells + [None] * 40)) is None
    assert read_times(pd.Series(cells + ["9:15"] * 40)) is not None


def test_fit_points_out_text_that_means_times() -> None:
    frame = pd.DataFrame({"at": [time.strftime("%H:%M") for time in TIMES], "size": np.arange(30) / 4})
    with warnings.catch_warnings(record=True, action="always") as caught:
        SoftECM(2, n_init=1, random_state=0).fit(frame)
    assert any("dates in 'at' (such as '06:00')" in str(one.message) for one in caught)
