"""One extreme value that dominates a column's spread."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softecm import SoftECM
from softecm._warnings import ReadingWarning
from softecm.distances import Combined, Mixed
from softecm.distances.auto import far_values
from softecm.spaces.column_roles import stretched, stretched_message

RNG = np.random.default_rng(0)
GROUPS = np.concatenate([RNG.normal(0, 0.5, (30, 2)), RNG.normal([5, 0], 0.5, (30, 2))])


def wild(row=7, value=500.0):
    X = GROUPS.copy()
    X[row, 0] = value
    return X


@pytest.mark.parametrize(
    "make", [lambda X: X, lambda X: pd.DataFrame(X), lambda X: pl.DataFrame(X), lambda X: X.tolist()]
)
def test_a_far_value_is_found_in_any_table(make):
    (found,) = stretched(make(wild()))
    assert (found.row, found.value) == (7, 500.0)
    assert str(found.column) in ("0", "column_0")
    assert not stretched(make(GROUPS))


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform", "laplace"])
def test_usual_shapes_of_columns_are_left_in_peace(draw):
    assert not stretched(getattr(np.random.default_rng(1), draw)(size=(300, 20)))


def test_gaps_text_and_dates_are_seen_through():
    X = pd.DataFrame({"size": wild()[:, 0], "colour": ["red", "blue"] * 30})
    X.loc[3, "size"] = np.nan
    X["day"] = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(60)]
    X.loc[9, "day"] = dt.date(1900, 1, 1)
    found = {one.column: one for one in stretched(X)}
    assert set(found) == {"size", "day"}
    assert (found["day"].row, str(found["day"].value)) == (9, "1900-01-01")
    assert "1 more such column)" in stretched_message(list(found.values()), str)


def test_a_column_whose_quartiles_are_equal_is_no_case_for_them():
    assert not stretched(np.array([[0.0]] * 50 + [[1.0], [900.0]]))


def test_a_fit_that_scales_by_the_spread_says_so_once_and_the_remedy_helps():
    X = np.concatenate([wild(value=500.0), [[2.5, 0.0]]])
    with pytest.warns(
        ReadingWarning, match=r"row 8 \(X\[7\]\) has 500 in column 1 \(X\[:, 0\]\).*scaling='robust'"
    ) as caught:
        SoftECM(2, random_state=0).fit(X)
    assert len(caught) == 1
    plain = SoftECM(2, metric=Mixed(weights=None), random_state=0).fit(X)
    robust = SoftECM(2, metric=Mixed(scaling="robust"), random_state=0).fit(X)
    between = [model.decisions().counts()["between"] for model in (plain, robust)]
    assert between[1] < between[0]


def test_a_robust_scale_is_advised_only_where_the_far_value_sets_the_scale():
    who = "row {}".format
    table = pd.DataFrame({"size": wild()[:, 0], "colour": ["red", "blue"] * 30})
    (own,), (plain,) = (far_values(metric, table, who) for metric in ("mixed", Mixed(weights=None)))
    assert own.endswith("times as far out as usual. If this is a typo, fix it.")
    assert plain == own[:-1] + "; metric=Mixed(scaling='robust') keeps it from setting the scale of the column."
    views = {"a": table, "b": GROUPS}  # views have no automatic weights of columns
    (in_view,) = far_values(Combined({"a": "mixed", "b": "sqeuclidean"}), views, who)
    assert "Mixed(scaling='robust') for that view" in in_view


def test_columns_compared_by_logarithms_are_judged_by_these():
    price = np.exp(np.linspace(0.0, 6.0, 60))
    price[7] = 1e6
    table = pd.DataFrame({"name": ["a", "b"] * 30, "price": price})
    assert len(far_values("mixed", table, str)) == 1
    assert not far_values(Mixed(log_features=["price"]), table, str)
    assert not far_values(Mixed(log_features=[False, True]), table, str)
    (zero,) = far_values(Mixed(log_features=["price"]), table.assign(price=np.where(price == 1e6, 0.0, price)), str)
    assert zero.startswith("7 has 0 in column 'price'")
