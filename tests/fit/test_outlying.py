"""From where an object belongs nowhere: five deviations, and in tables no nearer than one category that differs."""

import math

import numpy as np
import pandas as pd
import pytest

from softecm import SoftECM
from softecm.datasets import make_blobs
from softecm.distances import Hamming, Mixed


def groups(n: int = 60, differ: int = 15) -> pd.DataFrame:
    """Three tight groups; the first rows have one category of another group."""
    rng, group = np.random.default_rng(7), np.arange(n) % 3
    words = {f"word {j}": np.array(["a", "b", "c"])[group] for j in range(3)}
    for i in range(differ):
        words[f"word {i % 3}"][i] = np.array(["a", "b", "c"])[(group[i] + 1) % 3]
    return pd.DataFrame({"x": 8.0 * group + rng.normal(size=n), **words})


@pytest.mark.parametrize("metric", ["auto", Mixed(weights={"word 0": 3.0}), Mixed(scaling="range")], ids=str)
def test_one_other_category_makes_no_outlier(metric: object) -> None:
    table = groups()
    model = SoftECM(3, metric=metric, random_state=0).fit(table)
    assert "nowhere" not in model.partition_.decisions().words


def test_outliers_in_numbers_and_categories_are_found() -> None:
    table = groups()
    strange = pd.DataFrame({"x": [80.0, -60.0], "word 0": "d", "word 1": "e", "word 2": "f"})
    model = SoftECM(3, random_state=0).fit(pd.concat([table, strange], ignore_index=True))
    words = np.array(model.partition_.decisions().words)
    assert np.flatnonzero(words == "nowhere").tolist() == [60, 61]


def test_only_categories_have_a_step() -> None:
    X = make_blobs(90, n_clusters=3, distance=8, random_state=0).data
    numbers = SoftECM(3, metric="mixed", random_state=0).fit(X)
    assert numbers.model_.space.step == 0.0
    table = groups()
    weighted = SoftECM(3, metric=Mixed(weights={"word 0": 3.0}), random_state=0).fit(table)
    assert weighted.model_.space.step == 3.0
    assert SoftECM(3, metric=Hamming(), random_state=0).fit(table.drop(columns="x")).model_.space.step == 1.0


def test_delta_stays_when_a_batch_of_the_same_follows() -> None:
    table = groups(120, 30)
    model = SoftECM(3, metric="mixed", random_state=0).fit(table)
    assert model.delta_ > math.sqrt(model.model_.space.step)
    before = model.delta_
    model.partial_fit(table)
    assert model.delta_ == pytest.approx(before, rel=0.1)
