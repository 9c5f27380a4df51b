"""Numbers that stand for missing cells."""

import numpy as np
import pandas as pd
import pytest

from softecm import ReadingWarning, read_table
from softecm.distances.auto import choose_for, far_values

RNG = np.random.default_rng(0)


def coded(code: float = -9999.0, units: float = 1.0) -> pd.DataFrame:
    """Three columns with about one code per twenty cells."""
    table = RNG.normal(size=(120, 3)) * [1.0, 1.0, units]
    table[RNG.random(table.shape) < 0.05] = code
    return pd.DataFrame(table, columns=["a", "b", "c"])


@pytest.mark.parametrize("code", [-9999.0, -999.0, 9999.0, 99999.0, 88.0])
@pytest.mark.parametrize("metric", ["mixed", "sqeuclidean"])
def test_a_code_in_several_columns_is_asked_about(code: float, metric: str) -> None:
    frame = coded(code)
    n = int((frame == code).sum().sum())
    (told,) = far_values(metric, frame, str)
    assert told.startswith(f"{code:.0f} appears in {n} cells of 3 columns, far from all other numbers")
    assert far_values(metric, frame.to_numpy(), str) == (told,)
    with pytest.warns(ReadingWarning, match=rf"missing='{code:.0f}'"):
        choose_for("auto", frame, None)
    assert read_table(frame, missing=f"{code:.0f}").data.isna().sum().sum() == n


def test_a_negative_code_among_positive_numbers_is_asked_about_whatever_their_range() -> None:
    income = np.append(RNG.uniform(11_000, 66_000, 110), [900_000.0, *[-999.0] * 8])
    frame = pd.DataFrame({"income": income, "age": RNG.integers(18, 77, len(income))})
    assert any(
        told.startswith("-999 appears in 8 cells of column 'income'") for told in far_values("mixed", frame, str)
    )
    profit = frame.assign(income=np.where(income == 900_000.0, -40_000.0, income))  # negative numbers are usual
    assert far_values("mixed", profit, str) == ()


def test_codes_and_other_far_values_are_told_apart() -> None:
    frame = coded(units=1000.0)
    frame.loc[5, "c"] = 7e6
    codes, other = far_values("mixed", frame, "row {}".format)
    assert codes.startswith("-9999 appears in")
    assert other.startswith("row 5 has 7\u202f000\u202f000 in column 'c', ")


@pytest.mark.parametrize(
    "column",
    [
        np.arange(120),  # 77, 88 and 99 among others
        np.repeat([1.0, 99.0, 2.0, 3.0], 30) * np.linspace(1, 40, 120),
        np.array([*range(20, 80), 99]),  # once
        np.repeat([0.0, -99.0], 60),
        np.array([5.0, 5.0, -99.0] * 40),
    ],
)
def test_usual_numbers_are_left_in_peace(column: np.ndarray) -> None:
    assert far_values("sqeuclidean", pd.DataFrame({"a": column}), str) == ()
