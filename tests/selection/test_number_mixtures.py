"""What the mixtures that count groups of numbers count as a group."""

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from softecm import SoftECM, choose_n_clusters
from softecm.selection import sweep

Floats = NDArray[np.float64]


def heap(rng: np.random.Generator, n: int, at: tuple[float, float], wide: tuple[float, float] = (1.0, 1.0)) -> Floats:
    return np.array(at) + wide * rng.normal(size=(n, 2))


def test_a_small_group_beside_a_large_one_counts() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([heap(rng, 400, (0, 0)), heap(rng, 20, (7, 0), (0.6, 0.6))])
    choice = choose_n_clusters(X, random_state=0)
    assert (choice.n_clusters, choice.rule) == (2, "mixture")
    assert "2 groups over all columns is better than one group" in choice.evidence


def test_elongated_groups_with_heavy_tails_are_counted_and_a_sweep_agrees() -> None:
    rng = np.random.default_rng(1)
    tails = np.sqrt(rng.chisquare(4, size=(240, 1)) / 4)
    long = [heap(rng, 80, (0, 0), (4, 0.5)), heap(rng, 80, (0, 5), (0.5, 1)), heap(rng, 80, (12, 6), (3, 0.5))]
    middles = np.repeat([(0, 0), (0, 5), (12, 6)], 80, axis=0)
    X = middles + (np.concatenate(long) - middles) / tails
    assert choose_n_clusters(X, random_state=0).n_clusters == 3
    swept = sweep(X, {"n_clusters": [2, 3, 4, 5]}, estimator=SoftECM(n_init=2))
    assert (swept.usual_rule, swept.best().params) == ("mixture", {"n_clusters": 3})


@pytest.mark.parametrize("away", [0.0, 4.0])
def test_a_few_objects_midway_between_two_groups_are_no_group_and_elsewhere_they_are(away: float) -> None:
    rng = np.random.default_rng(2)
    X = np.concatenate([heap(rng, 100, (0, 0)), heap(rng, 100, (10, 0)), heap(rng, 15, (5, 2 * away), (0.3, 0.3))])
    assert choose_n_clusters(X, random_state=0).n_clusters == (3 if away else 2)


def test_rows_with_a_code_for_missing_cells_are_no_group() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(np.concatenate([heap(rng, 80, (20, 20)), heap(rng, 80, (30, 30))]), columns=["age", "pay"])
    table.loc[rng.choice(160, 15, replace=False), "age"] = -999.0
    with pytest.warns(UserWarning, match="-999"):
        assert choose_n_clusters(table, random_state=0).n_clusters == 2


def test_few_objects_and_counts_are_left_to_valleys() -> None:
    rng = np.random.default_rng(4)
    few = np.concatenate([heap(rng, 20, (0, 0)), heap(rng, 20, (9, 0))])
    with pytest.raises(ValueError, match=r"rule 'mixture' needs .* 50 rows of numbers"):
        choose_n_clusters(few, rule="mixture")
    counts = np.repeat([0.0, 20.0], 40)[:, None] + rng.poisson(0.2, size=(80, 2))
    for X in (few, counts):
        choice = choose_n_clusters(X, candidates=[2, 3], estimator=SoftECM(n_init=2, random_state=0))
        assert (choice.n_clusters, choice.rule) == (2, "valleys")
