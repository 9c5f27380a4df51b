"""Learning block by block gives the same as learning from all rows at once."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from softecm.distances import Mixed
from softecm.distances.base import Moments
from softecm.spaces.columns import CategoryColumn
from softecm.spaces.raw import read_table
from softecm.spaces.series import Lengths
from softecm.spaces.tables import Table, TableOptions


def in_blocks(space, frame, n_blocks, weights=None):
    cuts = np.array_split(np.arange(len(frame)), n_blocks)
    parts = [
        space.weighted(None if weights is None else weights[rows]).describe(read_table(frame.iloc[rows]))
        for rows in cuts
    ]
    whole = functools.reduce(lambda a, b: a.merge(b), parts)
    return space.fit_described(whole, dtype=torch.float64)


def frame(rng, n):
    table = pd.DataFrame(
        {
            "number": 1e6 + rng.normal(size=n),
            "whole": rng.integers(0, 5, n),
            "word": rng.choice(["b", "a", "c"], n),
            "kind": pd.Categorical(rng.choice(["z", "y"], n), ["z", "y", "unused"]),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "mid", "high"], ordered=True),
            "flag": rng.random(n) < 0.5,
            "day": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D"),
        }
    )
    table.loc[rng.random(n) < 0.1, "number"] = np.nan
    table.loc[rng.random(n) < 0.1, "word"] = None
    return table


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from(["std", "range"]), st.booleans())
def test_blocks_of_a_table_teach_what_the_whole_teaches(seed, n_blocks, scaling, weighted):
    rng = np.random.default_rng(seed)
    table = frame(rng, 60)
    weights = rng.integers(1, 4, 60).astype(float) if weighted else None
    metric = Mixed(scaling=scaling, ordinal_features=["whole"], categorical_features=["flag"])
    space = metric.make_space()
    whole = space.weighted(weights).fit(read_table(table), dtype=torch.float64)
    parts = in_blocks(space, table, n_blocks, weights)
    assert [type(c) for c in parts.columns] == [type(c) for c in whole.columns]
    for here, there in zip(parts.columns, whole.columns, strict=True):
        assert (here.name, here.kind, here.levels, here.style, here.weight) == (
            there.name,
            there.kind,
            there.levels,
            there.style,
            there.weight,
        )
        if isinstance(here, CategoryColumn):
            assert here.frequencies == pytest.approx(there.frequencies)
        else:
            assert (here.center, here.scale) == pytest.approx((there.center, there.scale), rel=1e-9)


def test_a_block_without_a_value_in_a_column_has_no_say():
    table = pd.DataFrame({"x": [1.0, 2.0, np.nan, np.nan], "w": ["a", "b", None, None]})
    whole = Table().fit(read_table(table), dtype=torch.float64)
    assert in_blocks(Table(), table, 2).columns == whole.columns


def test_a_column_without_any_value_is_refused():
    table = pd.DataFrame({"x": [np.nan, np.nan], "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match="column 'x' must hold at least one value; got 2 missing cells"):
        in_blocks(Table(), table, 2)


def test_too_many_categories_over_all_blocks_are_refused():
    table = pd.DataFrame({"x": [f"v{i}" for i in range(10)]})
    with pytest.raises(ValueError, match="column 'x' must have at most 7 categories; got 10"):
        in_blocks(Table(TableOptions(max_levels=7)), table, 2)


def test_ordered_levels_must_agree_and_new_categories_are_appended():
    def block(values, levels, ordered):
        return read_table(pd.DataFrame({"x": pd.Categorical(values, levels, ordered=ordered)}))

    first, second = block(["a"], ["a", "b"], True), block(["c"], ["c", "a"], True)
    with pytest.raises(ValueError, match="column 'x' must have the same ordered levels in all blocks"):
        Table().describe(first).merge(Table().describe(second))
    first, second = block(["b", "a"], ["b", "a"], False), block(["c"], ["c", "a"], False)
    merged = Table().describe(first).merge(Table().describe(second))
    (column,) = Table().fit_described(merged, dtype=torch.float64).columns
    assert column.levels == ("b", "a", "c")


def test_robust_scales_are_refused_in_blocks(rng):
    with pytest.raises(ValueError, match="scaling must be 'std' or 'range' for data in blocks; got 'robust'"):
        in_blocks(Mixed(scaling="robust").make_space(), pd.DataFrame({"x": rng.normal(size=9)}), 3)


@given(st.lists(st.integers(2, 30), min_size=1, max_size=40), st.integers(1, 5))
def test_the_median_length_is_that_of_all_series(lengths, n_blocks):
    parts = [
        Lengths(dict(zip(*np.unique(part, return_counts=True), strict=True)), 1)
        for part in np.array_split(lengths, n_blocks)
        if len(part)
    ]
    assert functools.reduce(lambda a, b: a.merge(b), parts).median() == int(np.median(lengths))


@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
def test_moments_of_blocks_add_up(seed, n_blocks, weighted):
    rng = np.random.default_rng(seed)
    rows, weights = 1e3 + rng.normal(size=(30, 3)), rng.random(30) if weighted else None
    cuts = np.array_split(np.arange(30), n_blocks)
    parts = [Moments.of(rows[c], None if weights is None else weights[c]) for c in cuts]
    found = functools.reduce(lambda a, b: a.merge(b), parts)
    np.testing.assert_allclose(
        found.scatter / found.weight, np.cov(rows, rowvar=False, aweights=weights, ddof=0), rtol=1e-6, atol=1e-9
    )
