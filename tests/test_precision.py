"""Numbers are shown with the digits of their column."""

import numpy as np
import pytest

from softecm._precision import Precision, moment, span_of


@pytest.mark.parametrize(
    ("column", "cell", "shown", "mean", "between"),
    [
        ([22680, 41590, 18100], 22680, "22680", 30123.456, "30123"),
        ([1, 2, 5], 2, "2", 2.3333, "2.33"),
        ([1273.5, 2001.25], 1273.5, "1273.50", 1500.12345, "1500"),
        ([0.1 + 0.2, 0.7], 0.1 + 0.2, "0.3", 0.51234, "0.512"),
        ([5e-12, 7e-12], 5e-12, "5e-12", 6.5e-12, "6.5e-12"),
        ([1e18, 2e18], 1e18, "1e+18", 1.5e18, "1.5e+18"),
        ([3.0, 3.0], 3.0, "3", 3.0, "3.00"),
        ([np.nan, np.nan], 1.0, "1.00", 1.0, "1.00"),
        ([-0.4, 0.4], -0.0, "0.0", -0.0001, "0.000"),
    ],
)  # fmt: skip
def test_a_column_shows_its_own_digits(column, cell, shown, mean, between) -> None:
    precision = Precision.of(np.array(column))
    assert precision.cell(cell) == shown
    assert precision.mean(mean) == between


def test_a_few_cells_with_more_decimals_do_not_lengthen_all_others() -> None:
    column = np.append(np.arange(100) / 10, [9.899999])
    assert Precision.of(column).cell(3.4) == "3.4"
    assert Precision.of(column[-10:]).cell(9.899999) == "9.899999"


@pytest.mark.parametrize(
    ("moments", "shown"),
    [(["2024-01-05", "2024-03-01"], "2024-02-01"), (["2024-01-05T08:30", "2024-03-01"], "2024-02-01 13:22")],
)
def test_dates_are_shown_as_dates(moments, shown) -> None:
    assert Precision.of(np.array(moments, dtype="M8[s]")).mean(np.datetime64("2024-02-01T13:22:11")) == shown


def test_moments_lose_their_zone_and_spans_keep_their_digits() -> None:
    import datetime as dt

    assert moment(dt.datetime(2024, 1, 5, tzinfo=dt.UTC)) == np.datetime64("2024-01-05")
    assert span_of(np.array([22680.0, np.nan, 41590.5])) == "22\u202f680 to 41\u202f590.5"


def test_a_far_cell_makes_no_number_coarser_and_computed_digits_are_not_shown() -> None:
    pressures = [5.0 + k / 100 for k in range(40)]
    assert Precision.of([*pressures, 300.0]).mean(5.487) == Precision.of(pressures).mean(5.487) == "5.487"
    computed = Precision.of(np.sin(np.arange(50.0)))
    assert (computed.cell(-0.14286161234), computed.mean(-0.14286161234)) == ("-0.143", "-0.14")
