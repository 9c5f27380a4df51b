import numpy as np

from softecm import CredalPartition, FocalSets
from softecm.report import three_sentences


def test_few_objects_are_named() -> None:
    p = CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    assert three_sentences(p, ["a", "b", "c"]) == (
        "Of 3 objects, 1 (33 %) clearly belongs to one of 2 groups: 1 to ω1 and 0 to ω2.",
        "1 lies between groups: b (ω1 or ω2).",
        "1 belongs to no group: c.",
    )


def test_many_objects_are_counted() -> None:
    sets = np.repeat(np.arange(7), [5, 2000, 3000, 10, 20, 9, 0])
    p = CredalPartition(np.eye(7)[sets], FocalSets.up_to(3, 2))
    groups, between, out = three_sentences(p, [str(i) for i in range(len(p))], noun="series")
    assert groups.startswith("Of 5\u202f044 series, 5\u202f010 (99.3 %) clearly belong")
    assert between == "29 lie between groups, most often between ω1 and ω2 (20)."
    assert out == "5 belong to no group; farthest out: 0, 1 and 2."


def test_nobody_between_and_nobody_out_is_said() -> None:
    p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0]], FocalSets.full(2))
    assert three_sentences(p, ["a", "b"])[1:] == (
        "None lies between groups: each is clearly in one, or in none.",
        "None belongs to no group: there are no outliers.",
    )
    assert "not considered" in three_sentences(CredalPartition.from_hard([0, 1]), ["a", "b"])[1]


def test_merged_groups_come_first() -> None:
    assert "Fewer than 2" in three_sentences(CredalPartition.from_hard([0, 1]), ["a", "b"], merged=True)[0]


def test_one_cluster_and_many_clusters_read_well() -> None:
    assert "the one group" in three_sentences(CredalPartition.from_hard([0, 0]), ["a", "b"])[0]
    assert "to the other 5" in three_sentences(CredalPartition.from_hard(range(10)), list("abcdefghij"))[0]
