"""Comparison of two partitions."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from softecm import EVCLUS, CredalPartition, FocalSets, SoftECM
from softecm.report import compare
from softecm.report.group_changes import GroupChange, GroupChanges, share_word
from softecm.scores import adjusted_rand_index

Run = Callable[..., tuple[int, str, str]]
THREE = np.repeat([0, 1, 2], 20)


def test_the_same_under_other_numbers_is_the_same():
    found = compare(CredalPartition.from_hard(THREE), CredalPartition.from_hard((THREE + 1) % 3))
    assert len(found.moved) == 0
    assert found.sentences() == [
        "Of 60 objects, 0 (0%) are in another set in B.",
        "Groups have other names in B: group 1 of A is group 2 of B, group 2 of A is group 3 of B and group 3 of A is "
        "group 1 of B.",
        "No group is split, merged, new or gone.",
    ]
    assert all(score == pytest.approx((1.0, 1.0, 1.0)) for score in found.scores.values())
    assert "Nobody" in found.html
    own, matched = (found.to_frame("pandas")[name].tolist() for name in ("after", "matched"))
    assert own == [f"group {k + 1}" for k in (THREE + 1) % 3]
    assert matched == [f"group {k + 1}" for k in THREE]


def test_a_new_group_is_named_and_outliers_are_in_no_group():
    """The second renames the groups, gathers a tenth of each in a fourth, and assigns an outlier to it."""
    later = np.where(np.arange(60) % 10 == 0, 0, 3 - THREE)
    masses = np.eye(5)[later + 1]
    masses[[5, 45]] = np.eye(5)[0]
    before = np.eye(4)[THREE + 1]
    before[[5, 50]] = np.eye(4)[0]
    found = compare(
        CredalPartition(before, FocalSets(3, ((0,), (1,), (2,)))),
        CredalPartition(masses, FocalSets(4, ((0,), (1,), (2,), (3,)))),
        names=("May", "June"),
    )
    assert found.sentences()[1:] == [
        "Groups have other names in June: group 1 of May is group 4 of June, group 2 of May is group 3 of June and "
        "group 3 of May is group 2 of June.",
        "Group 1 is new in June: of its 6 objects 2 are in group 1, 2 are in group 2, 1 is in group 3 and 1 is in no "
        "group in May.",
        "Outliers: 2 in May, 2 in June, 1 in both.",
    ]
    assert found.table.tolist() == [[17, 0, 0, 2, 0], [0, 18, 0, 2, 0], [0, 0, 17, 1, 1], [0, 0, 0, 1, 1]]
    assert found.facts["appeared"].keys() == {"group 1"}
    assert "group 3 (group 2 of May)" not in found.html  # objects that stayed are not listed
    frame = found.to_frame("pandas")
    assert set(frame.loc[frame["after"] == "group 1", "matched"]) == {"group 1 (new)"}  # May has another group 1
    assert '<td class="word">group 1 (new) ' in found.html
    gone = compare(found.second, found.first)
    assert [sentence for sentence in gone.sentences() if "gone" in sentence] == [
        "Group 1 of A is gone in B: of its 6 objects 2 are in group 1, 2 are in group 2, 1 is in group 3 and 1 is in "
        "no group there."
    ]


def test_a_group_of_new_objects_alone_is_new():
    before = CredalPartition(np.eye(4)[THREE + 1], FocalSets(3, ((0,), (1,), (2,))))
    after = CredalPartition(np.eye(5)[THREE + 1], FocalSets(4, ((0,), (1,), (2,), (3,))))
    assert "Group 4 is new in B: none of its objects are in A." in compare(before, after, alone=(0, 40)).sentences()
    assert (
        "Group 4 of A is gone in B: none of its objects are there." in compare(after, before, alone=(40, 0)).sentences()
    )
    assert "No group is split, merged, new or gone." in compare(before, after).sentences()


def named(partition, ids):
    """The partition with names for its objects, as a model fitted to a data frame has it."""
    return CredalPartition._trusted(partition.masses, partition.focal_sets, np.array(list(ids), dtype=object))


def test_a_group_most_of_whose_objects_are_absent_is_gone_and_not_together_with_another():
    """Of group 3, 17 of 20 are only in the first; the other three join group 1, and a fourth group is all new."""
    before = named(CredalPartition.from_hard(THREE), [f"p{i}" for i in range(60)])
    groups = np.r_[THREE[:40], [0, 0, 0], np.full(9, 2)]
    after = named(CredalPartition.from_hard(groups), [f"p{i}" for i in range(43)] + [f"q{i}" for i in range(9)])
    found = compare(before, after, names=("May", "June"))
    assert (found.alone, found.merges, found.splits) == ((17, 9), {}, {})
    assert found.sentences()[2:] == [
        "Group 3 is new in June: none of its objects are in May.",
        "Group 3 of May is gone in June: of its 20 objects 17 are absent and 3 are in group 1 there.",
    ]
    back = compare(after, before)
    assert back.appeared == {"group 3": "of its 20 objects 17 are absent and 3 are in group 1"}
    few = compare(before[:43], after[:43])  # the same objects without the absent ones
    assert few.merges == {"group 1": ["group 1", "group 3"]}


def test_outliers_are_counted_among_the_objects_in_both():
    masses = np.eye(4)[THREE + 1]
    masses[:2] = np.eye(4)[0]
    partition = named(CredalPartition(masses, FocalSets(3, ((0,), (1,), (2,)))), range(60))
    found = compare(partition[1:], partition[:59])
    assert found.sentences()[-1] == "Outliers among the 58 objects in both: 1 in A, 1 in B, 1 in both."


def test_a_move_is_shown_under_the_names_of_both():
    moved = (THREE + 1) % 3
    moved[0] = 2
    found = compare(CredalPartition.from_hard(THREE), CredalPartition.from_hard(moved))
    assert "group 3 (group 2 of A)" in found.html
    assert "<td>group 3 (group 2 of A)</td>" in found._repr_html_()


def test_splits_merges_and_who_moved():
    two = np.where(THREE == 2, 1, THREE)
    found = compare(CredalPartition.from_hard(THREE), CredalPartition.from_hard(two), names=("old", "new"))
    assert found.merges == {"group 2": ["group 2", "group 3"]}
    assert found.splits == {}
    back = compare(CredalPartition.from_hard(two), CredalPartition.from_hard(THREE))
    assert list(back.splits) == ["group 2"]
    assert len(back.splits["group 2"]) == 2
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


CENTERS = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0], [20.0, 5.0]])


def month(seed: int, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    y = np.repeat(np.arange(5), sizes)
    return CENTERS[y] + np.random.default_rng(seed).normal(size=(len(y), 2)), y


def test_groups_of_other_objects_are_matched_by_their_prototypes():
    """One group vanished, one is new, one has more objects and the same share, one has grown; one object is an outlier."""
    data = month(0, [100, 100, 100, 100, 0]), month(1, [130, 115, 0, 260, 100])
    stray = np.r_[data[1][0], [[90.0, 90.0]]]
    models = [SoftECM(4, random_state=0).fit(x) for x in (data[0][0], stray)]
    ids = [f"p{i}" for i in range(400)], [f"p{i}" for i in range(300, 906)]
    found = compare(*models, data=(data[0][0], stray), ids=ids, names=("May", "June"))
    names = [
        {g: f"group {np.bincount(m.labels_[: len(y)][y == g]).argmax() + 1}" for g in np.unique(y).tolist()}
        for m, (_, y) in zip(models, data, strict=True)
    ]
    assert (found.vanished, found.appeared) == ((names[0][2],), (names[1][4],))
    assert (found.grown, found.shrunk) == ((names[1][3],), ())
    assert all(one.distance < 0.5 for one in found.groups if one.first and one.second)
    assert {(one.before, one.after) for one in found.groups} == {(100, 130), (100, 115), (100, 260), (100, 0), (0, 100)}
    sentences = found.sentences()
    assert sentences[0] == "May has 400 objects and June 606; a group grew or shrank if its share of them did."
    assert any(line.endswith("grew from 25% to 43% (100 → 260 objects).") for line in sentences)
    assert any(line.endswith("kept about the same share (25% → 21%, 100 → 130 objects).") for line in sentences)
    assert any(line.endswith("may have changed by chance (25% → 19%, 100 → 115 objects).") for line in sentences)
    assert "90 more are in <code>moved</code>" in found.html
    assert f"{names[1][4].capitalize()} of June (17%, 100 objects) is new." in sentences
    assert sentences[-1] == "In no group: 0 (0%) in May, 1 (0.2%) in June."
    assert len(found.moved) == 100  # the ids of May's last hundred belong to others in June
    assert found.moved[0][1] == names[0][3]
    assert found.details()[0].startswith("100 objects of both are in another group: p300 (")
    assert found.details()[0].endswith(" and 95 more")
    assert "Who moved" in found.html
    assert "260 (43%)" in found.html
    grown = next(one for one in found.facts["groups"] if one["word"] == "grown")
    assert (grown["share_before"], grown["share_after"]) == (0.25, pytest.approx(260 / 606))
    assert found.to_frame("pandas")["share_after"].tolist() == [one["share_after"] for one in found.facts["groups"]]
    assert repr(found).startswith("GroupChanges(2 same, 1 grown")


def test_a_new_group_with_the_name_of_another_is_not_that_group():
    """Group 2 became group 1, and another group 2 is new: whoever is in it moved, whoever is in group 1 did not."""
    groups = (
        GroupChange("group 1", None, np.inf, 1, 0, "vanished"),
        GroupChange("group 2", "group 1", 0.1, 2, 1, "same"),
        GroupChange(None, "group 2", np.inf, 0, 1, "appeared"),
    )
    ids, labels = (["a", "b", "c"],) * 2, (np.array([1, 1, -1]), np.array([0, 1, -1]))
    found = GroupChanges(groups, ("May", "June"), ids, labels, (("group 1", "group 2"),) * 2)
    assert found.moved == [("b", "group 2", "group 2")]
    assert found.details() == ["1 object of both is in another group: b (group 2 → new group 2)"]


def test_shares_are_judged_by_both_samples():
    """A fifth is insignificant for few objects, and more objects are no growth if all groups have more."""
    assert share_word(50, 500, 100, 1000) == "same"
    assert share_word(50, 400, 100, 1000) == "same"  # a fifth less, but insignificant
    assert share_word(500, 400, 1000, 1000) == "same"  # exactly a fifth
    assert share_word(500, 390, 1000, 1000) == "shrunk"
    assert share_word(100, 130, 1000, 1000) == "same"  # three tenths more, 2.1 standard errors
    assert share_word(100, 145, 1000, 1000) == "grown"  # 3.07
    assert share_word(100, 90, 1000, 500) == "grown"  # fewer objects, a larger share
    assert share_word(5, 750, 5, 1000) == "same"  # all of five objects carry little information


def test_models_that_can_not_be_matched_are_refused_in_a_sentence():
    x, y = month(0, [30, 30, 0, 0, 0]), month(1, [30, 30, 0, 0, 0])
    one, other = SoftECM(2, random_state=0).fit(x[0]), SoftECM(2, random_state=0).fit(np.c_[y[0], y[0]])
    with pytest.raises(TypeError, match="data must be a pair"):
        compare(one, one)
    with pytest.raises(ValueError, match="with the same columns, to match their groups"):
        compare(one, other, data=(x[0], np.c_[y[0], y[0]]))
    with pytest.raises(TypeError, match="first must be a CredalPartition; got SoftECM"):
        compare(one, other.partition_)
    matrix = np.sqrt(np.square(x[0][:, None] - x[0]).sum(-1))
    relational = EVCLUS(2, random_state=0).fit(matrix)
    with pytest.raises(TypeError, match="first must have prototypes"):
        compare(relational, relational, data=(matrix, matrix))
    single = SoftECM(1, random_state=0).fit(x[0])
    assert compare(single, single, data=(x[0], x[0])).groups[0].word == "same"


def test_models_are_compared_and_predict_by_the_columns_that_both_have():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(8 * np.eye(3)[THREE] + rng.normal(size=(60, 3)), columns=list("abc"))
    X["kind"] = np.array(["x", "y", "z"])[THREE]
    before, after = (SoftECM(3, metric="mixed", random_state=0).fit(table) for table in (X, X[::-1].drop(columns="a")))
    with pytest.warns(UserWarning, match="every column of the fit: 'a' is missing"):
        changes = compare(before, after, data=(X, X[::-1].drop(columns="a")))
    assert {one.word for one in changes.groups} == {"same"}
    with pytest.warns(UserWarning, match="every column of the fit: 'a' is missing"):
        assert adjusted_rand_index(before.predict(X.drop(columns="a")), THREE) == 1
    with pytest.raises(
        ValueError, match="at least half of the 4 columns that count in the fit; 'a', 'b', 'c' are missing"
    ):
        before.predict(X[["kind"]])
