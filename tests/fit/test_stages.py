"""The first stage: clusters found robustly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM

BETWEEN, FAR = 4, 5


def customers(seed: int) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Four segments, the smallest a tenth of all; 20 customers between two of them; 10 outliers in one direction."""
    rng = np.random.default_rng(seed)
    segment = np.repeat([0, 1, 2, 3, BETWEEN, FAR], [125, 95, 35, 65, 20, 10])
    columns = {
        "age": ([26, 44, 68, 38, 35, 92], [3.5, 3.5, 3.5, 3.5, 1.2, 4]),
        "spend": ([320, 1450, 610, 3200, 680, 18000], [38, 174, 73, 384, 34, 2300]),
        "since": ([200, 1400, 3600, 800, 800, 800], [90, 90, 90, 90, 30, 90]),
        "shoe": ([41] * 6, [2] * 6),
    }
    table = {
        name: rng.normal(np.take(means, segment), np.take(spreads, segment))
        for name, (means, spreads) in columns.items()
    }
    plan = np.where(rng.random(350) < 0.12, rng.integers(0, 4, 350), segment)
    plan = np.where(segment >= BETWEEN, rng.integers(0, 2, 350), plan)
    return pd.DataFrame({**table, "plan": np.take(["Basic", "Family", "Senior", "Premium"], plan)}), segment


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_far_outliers_do_not_take_the_cluster_of_a_small_group(seed: int) -> None:
    table, segment = customers(seed)
    model = SoftECM(4, random_state=0).fit(table)
    members, words = segment < BETWEEN, model.partition_.decisions().words
    assert adjusted_rand_score(segment[members], model.labels_[members]) == 1.0
    assert (words[segment == FAR] == "nowhere").all()
    assert not (words[members] == "nowhere").any()


def test_a_tiny_group_that_is_as_tight_as_the_others_keeps_its_cluster() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [170, 170, 10])
    X = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 40.0]])[group] + rng.normal(size=(350, 2))
    assert adjusted_rand_score(group, SoftECM(3, random_state=0).fit(X).labels_) == 1.0
