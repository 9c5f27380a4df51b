import numpy as np

from softecm import CredalPartition, FocalSets
from softecm.belief.assignments import Decision
from softecm.belief.totals import PartitionTotals
from softecm.report import three_sentences
from softecm.report.reasons import Explanation, Part
from softecm.report.words import counted_sentences, sentence


def test_few_objects_are_named() -> None:
    p = CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    assert three_sentences(p, ["a", "b", "c"]) == (
        "Of 3 objects, 1 (33%) clearly belongs to one of 2 groups: 1 to group 1 and 0 to group 2.",
        "1 lies between groups: b (group 1 or 2).",
        "1 belongs to no group: c.",
    )


def test_many_objects_are_counted() -> None:
    sets = np.repeat(np.arange(7), [5, 2000, 3000, 10, 20, 9, 0])
    p = CredalPartition(np.eye(7)[sets], FocalSets.up_to(3, 2))
    groups, between, out = three_sentences(p, [str(i) for i in range(len(p))], noun="series")
    assert groups.startswith("Of 5\u202f044 series, 5\u202f010 (99.3%) clearly belong")
    assert between == "29 lie between groups, most often between groups 1 and 2 (20)."
    assert out == "5 belong to no group; farthest out: series 0, 1 and 2."


def test_nobody_between_and_nobody_out_is_said() -> None:
    p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0]], FocalSets.full(2))
    assert three_sentences(p, ["a", "b"])[1:] == (
        "None lies between groups.",
        "There are no outliers.",
    )
    assert "not looked for" in three_sentences(CredalPartition.from_hard([0, 1]), ["a", "b"])[1]


def test_those_who_nearly_lie_between_are_counted() -> None:
    p = CredalPartition([[0, 0.6, 0.1, 0.3], [0, 0.61, 0.1, 0.29], [0.4, 0.4, 0, 0.2]], FocalSets.full(2))
    assert three_sentences(p, list("abc"))[1] == "None lies between groups; 2 nearly do."
    assert three_sentences(p[:2], list("ab"))[1] == "None lies between groups; 1 nearly does."
    blocks = PartitionTotals.of(p[:1]).merge(PartitionTotals.of(p[1:]))
    assert (
        counted_sentences(p, blocks.decided, near=blocks.nearly_between)[1] == "None lies between groups; 2 nearly do."
    )


def test_merged_groups_come_first() -> None:
    assert "Fewer than 2" in three_sentences(CredalPartition.from_hard([0, 1]), ["a", "b"], merged=True)[0]


def test_one_cluster_and_many_clusters_read_well() -> None:
    one = three_sentences(CredalPartition.from_hard([0, 0]), ["a", "b"])[0]
    assert one == "There is one group. All 2 objects clearly belong to it."
    assert " and 5 to the other 5." in three_sentences(CredalPartition.from_hard(range(10)), list("abcdefghij"))[0]


def test_clearly_is_not_said_of_the_undecided() -> None:
    masses = [[0, 0.9, 0.1, 0], [0, 0.6, 0.4, 0], [0, 0.4996, 0.4973, 0.0031], [0, 0.5, 0.49, 0.01]]
    first = three_sentences(CredalPartition(masses, FocalSets.full(2)), list("abcd"))[0]
    assert first == (
        "Of 4 objects, 1 (25%) clearly belongs to one of 2 groups: 1 to group 1 and 0 to group 2. "
        "1 rather belongs to one and 2 are undecided."
    )
    strict = three_sentences(CredalPartition(masses, FocalSets.full(2)), list("abcd"), clear=0.95)[0]
    assert strict.startswith("Of 4 objects, 0 (0%) clearly belong to one of 2 groups")


def test_a_view_is_quoted_only_where_it_says_something_else() -> None:
    parts = (
        Part("texture", "closest to group 1", "", "", 2.0),
        Part("slope", "closest to group 3", "", "", 1.0),
        Part("shape", "closest to group 2", "", "", -1.0),
    )
    told = sentence("a", Decision("rather", "ω1", 0.7), Explanation(1, 2, 1.0, 3.0, parts), FocalSets.full(3), "series")
    assert told == (
        "a rather belongs to group 1 (belief 0.70): texture and slope (closest to group 3) pull it to group 1, "
        "shape pulls it to group 2."
    )


def test_a_pull_that_is_nothing_beside_the_distance_is_no_reason() -> None:
    midway = Explanation(1, 2, 9.472, 9.473, (Part("x", "0.00", "-3.1", "3.1", 1e-3),), distance_set=0.0)
    focal = FocalSets.full(2)
    said = sentence("a", Decision("between", focal.labels()[-1], 1.0), midway, focal)
    assert said.endswith("it is closest to the prototype between groups 1 and 2.")
