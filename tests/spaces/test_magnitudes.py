"""New objects with numbers in another unit than in the fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import ReadingWarning, SoftECM, load_model
from softecm.spaces.magnitudes import FEWEST, Magnitude, SizeChange, ratios

Draw = Callable[[np.random.Generator, int], pd.DataFrame]


def machines(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Three groups; numbers of different scales, tails and signs."""
    group = rng.integers(3, size=n)
    return pd.DataFrame(
        {
            "speed": np.array([2.0, 5.0, 9.0])[group] * rng.lognormal(0, 0.15, n),
            "cost": np.array([100.0, 400.0, 900.0])[group] * (1 + rng.pareto(2.0, n)),
            "offset": np.array([-3.0, 0.0, 3.0])[group] + rng.normal(0, 0.5, n),
            "faults": rng.poisson(np.array([1, 4, 9])[group]).astype(float),
        }
    )


def said(model: SoftECM, new: object) -> str:
    """The warning about magnitudes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict_partition(new)
    return " ".join(str(one.message) for one in caught if issubclass(one.category, ReadingWarning))


def test_a_column_in_another_unit_is_named_with_its_ratio(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for metric in ("mixed", "sqeuclidean"):
        model = SoftECM(3, metric=metric, max_cardinality=1, random_state=0).fit(machines(rng, 300))
        model.save(tmp_path / "model.safetensors")
        model = load_model(tmp_path / "model.safetensors")
        new = machines(rng, 60)
        assert not said(model, new)
        text = said(model, new.assign(speed=new["speed"] / 25.4))
        assert text.startswith("the numbers of column 'speed' are about 1/2")
        assert text.count("column") == 1
        assert "column 'cost' are about " in said(model, new.assign(cost=100 * new["cost"]))
        assert "column 'offset' are about" in said(model, new.assign(offset=-1000 * new["offset"]))
        assert "'speed'" in said(model, new.assign(speed=new["speed"] * 2.54))
        assert all(name in said(model, 1000 * new) for name in ("'speed'", "'cost'"))


def test_seasons_other_shares_of_groups_and_zeros_are_no_other_unit() -> None:
    rng = np.random.default_rng(1)
    first = machines(rng, 600)
    model = SoftECM(3, metric="mixed", max_cardinality=1, random_state=0).fit(first)
    for _ in range(20):
        new = machines(rng, int(rng.integers(30, 200)))
        assert not said(model, 1.5 * new)
        assert not said(model, new / 1.5)
        large = new["speed"] > 4
        assert not said(model, pd.concat([new[large], new[~large].head(8)]))
        assert not said(model, new.assign(faults=new["faults"] * (rng.random(len(new)) < 0.3)))


def test_more_of_a_much_larger_group_is_no_other_unit() -> None:
    rng = np.random.default_rng(4)
    small, large = rng.lognormal(0, 0.2, 600), 1000 * rng.lognormal(0, 0.2, 600)
    before = Magnitude.of(np.concatenate([small[:300], large[:300]]))
    new = np.concatenate([small[300:360], large[300:]])
    change = SizeChange.of(before, new)
    assert change is not None
    assert change.mean > 0.5, "three times as large on average"
    assert not ratios({"a": change})
    assert ratios({"a": SizeChange.of(before, np.concatenate([small[300:], large[300:]]) * 12)})


def test_what_most_columns_do_is_not_held_against_one_but_a_unit_of_all_is_seen() -> None:
    rng = np.random.default_rng(2)
    column = rng.lognormal(0, 0.3, 4000)
    before = Magnitude.of(column)

    def times(factor: float) -> SizeChange | None:
        return SizeChange.of(before, factor * column)

    assert set(ratios({"a": times(2.2), "b": times(1.0), "c": times(1.1)})) == {"a"}
    assert not ratios({"a": times(2.2), "b": times(1.6), "c": times(1.7)})
    assert not ratios({"a": times(1.4), "b": times(1 / 1.7), "c": times(1 / 1.7)})
    assert set(ratios({"a": times(25.4), "b": times(25.4), "c": times(25.4)})) == {"a", "b", "c"}
    assert set(ratios({"a": times(2.2), "b": times(1.6)})) == {"a"}, "two columns don't tell what is usual"


def test_a_few_numbers_say_little_and_no_cell_is_kept() -> None:
    rng = np.random.default_rng(3)
    column = rng.lognormal(3, 1, 300)
    before = Magnitude.of(column)
    assert before is not None
    assert SizeChange.of(before, np.full(FEWEST - 1, 1e9)) is None
    assert Magnitude.of(np.zeros(50)) is None
    assert Magnitude.of(np.full(50, np.nan)) is None
    assert all(logarithm == round(logarithm, 2) for logarithm in before.logarithms)
    alarms = sum(bool(ratios({"a": SizeChange.of(before, rng.lognormal(3, 1, 12))})) for _ in range(300))
    assert alarms <= 6


@pytest.mark.parametrize("numbers", [np.arange(1.0, 30.0), np.float32([1e-30] * 20), np.array([1e150] * 20)])
def test_any_size_can_be_compared(numbers: np.ndarray) -> None:
    for other in (np.full(20, 1e-300), np.full(20, 1e150)):
        assert np.isfinite(list(ratios({"a": SizeChange.of(Magnitude.of(other), numbers)}).values())).all()
