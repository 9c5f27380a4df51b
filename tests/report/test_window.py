"""The visible part of the map: not mostly empty because of one outlier."""

import numpy as np
import pytest

from softecm.report.map import window

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [12, 60, 200, 500])
def test_one_far_object_is_left_beyond_the_edge(n: int) -> None:
    points = RNG.normal(size=(n, 2))
    points[3] = (900.0, 0.0)
    low, high = window(points)
    assert high[0] < 12.0
    assert low[0] >= points[:, 0].min() - 1e-12
    assert (points[np.arange(n) != 3] <= high + 1e-12).mean() > 0.9


@pytest.mark.parametrize("n", [5, 12, 60, 200])
def test_otherwise_everything_is_shown(n: int) -> None:
    for points in (
        RNG.normal(size=(n, 2)),
        RNG.normal(size=(n, 2)) + np.repeat([[0, 0], [30, 0]], [n // 2, n - n // 2], axis=0),
    ):
        low, high = window(points)
        assert low.tolist() == points.min(0).tolist()
        assert high.tolist() == points.max(0).tolist()


def test_objects_in_one_place_and_no_places_at_all() -> None:
    _, high = window(np.array([[1.0, 1.0]] * 30 + [[50.0, 1.0]]))
    assert high.tolist() == [50.0, 1.0]
    assert window(np.full((3, 2), np.nan))[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n", [150, 300, 5000])
def test_the_outermost_of_one_round_group_are_not_beyond_the_edge(n: int) -> None:
    points = np.random.default_rng(1).normal(size=(n, 2))
    low, high = window(points)
    assert low.tolist() == points.min(0).tolist()
    assert high.tolist() == points.max(0).tolist()
