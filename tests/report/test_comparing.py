"""Two partitions side by side."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from softecm import CredalPartition, FocalSets
from softecm.report import compare

Run = Callable[..., tuple[int, str, str]]
THREE = np.repeat([0, 1, 2], 20)


def test_the_same_under_other_numbers_is_the_same():
    found = compare(CredalPartition.from_hard(THREE), CredalPartition.from_hard((THREE + 1) % 3))
    assert len(found.moved) == 0
    assert found.sentences() == [
        "Of 60 objects, 0 (0 %) are in another set in B.",
        "No group is split, and none are merged.",
    ]
    assert all(score == pytest.approx((1.0, 1.0, 1.0)) for score in found.scores.values())
    assert "Nobody" in found.html


def test_splits_merges_and_who_moved():
    two = np.where(THREE == 2, 1, THREE)
    found = compare(CredalPartition.from_hard(THREE), CredalPartition.from_hard(two), names=("old", "new"))
    assert found.merges == {"ω2": ["ω2", "ω3"]}
    assert found.splits == {}
    back = compare(CredalPartition.from_hard(two), CredalPartition.from_hard(THREE))
    assert list(back.splits) == ["ω2"]
    assert len(back.splits["ω2"]) == 2
    assert len(back.moved) == 20
    value, low, high = back.scores["same set"]
    assert value == pytest.approx(2 / 3)
    assert low < value < high


def test_those_who_moved_farthest_come_first():
    focal = FocalSets.full(2)
    before = CredalPartition([[0, 1, 0, 0], [0, 0.6, 0.4, 0], [0, 0, 1, 0], [0, 1, 0, 0]], focal)
    after = CredalPartition([[0, 0, 1, 0], [0, 0.4, 0.6, 0], [0, 0, 1, 0], [0, 1, 0, 0]], focal)
    found = compare(before, after, ids=["a", "b", "<i>", "d"])
    assert found.moved.tolist() == [0, 1]
    frame = found.to_frame("pandas")
    assert frame["moved"].tolist() == [True, True, False, False]
    assert frame["distance"].tolist() == pytest.approx([1.0, 0.2, 0.0, 0.0])
    assert "<i>" not in found.html
    assert json.loads(json.dumps(found.facts))["moved"] == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([0, 1], CredalPartition.from_hard([0, 1]), {}, "first must be a CredalPartition; got list"),
        (
            CredalPartition.from_hard([0, 1]),
            CredalPartition.from_hard([0, 1, 1]),
            {},
            "about the same objects, in the same order; got 2 and 3 objects",
        ),
        (CredalPartition.from_hard([0]), CredalPartition.from_hard([0]), {}, "at least two objects"),
        (
            CredalPartition.from_hard([0, 1]),
            CredalPartition.from_hard([0, 1]),
            {"ids": ["a"]},
            "ids must have one entry for each of the 2 objects; got 1",
        ),
    ],
)
def test_what_can_not_be_compared_is_refused(first, second, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(first, second, **options)
