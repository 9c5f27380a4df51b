import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softecm.constraints import check_constraints, close_constraints, kept, sample_constraints


def test_pairs_are_sorted_and_counted_once():
    found = check_constraints([(3, 1), (1, 3), (2, 2)], np.array([[0, 1]]), 4)
    assert found.must_link.tolist() == [[1, 3]]
    assert found.cannot_link.tolist() == [[0, 1]]
    assert check_constraints(None, [], 4).cannot_link.shape == (0, 2)


def test_a_contradiction_names_the_chain():
    with pytest.raises(ValueError, match=r"the pair \(0, 4\), and must_link joins 0 - 2 - 3 - 4") as error:
        check_constraints([(2, 0), (3, 2), (3, 4), (5, 6)], [(4, 0)], 7)
    assert "(0, 2), (2, 3), (3, 4)" in str(error.value)
    with pytest.raises(ValueError, match=r"got \(1, 1\): no object is apart from itself"):
        check_constraints(None, [(1, 1)], 3)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 3)], r"from 0 to 2; got the pair \(0, 3\)"),
        ([(-1, 1)], "from 0 to 2"),
        ([(0, 1, 2)], r"list of pairs of objects; got shape \(1, 3\)"),
        ([0, 1], "list of pairs"),
        ([(0.5, 1)], "whole numbers"),
        ([("a", "b")], "whole numbers"),
        ([(0, 1), (2,)], "list of pairs"),
    ],
)
def test_bad_pairs_are_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        check_constraints(pairs, None, 3)
    with pytest.raises(ValueError, match="cannot_link"):
        check_constraints(None, pairs, 3)


def test_the_closure_joins_groups_and_keeps_groups_apart():
    closed = close_constraints([(0, 1), (1, 2), (4, 5)], [(2, 4)], 6)
    assert closed.must_link.tolist() == [[0, 1], [0, 2], [1, 2], [4, 5]]
    assert closed.cannot_link.tolist() == [[0, 4], [0, 5], [1, 4], [1, 5], [2, 4], [2, 5]]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(0, 1000))
def test_sampled_constraints_agree_with_the_labels_and_so_does_their_closure(labels, seed):
    n = len(labels)
    count = seed % (n * (n - 1) // 2 + 1)
    sampled = sample_constraints(labels, count, random_state=seed)
    assert len(sampled.must_link) + len(sampled.cannot_link) == count
    assert kept(labels, *sampled) == 1.0
    closed = close_constraints(*sampled, n)
    assert kept(labels, *closed) == 1.0
    again = close_constraints(*closed, n)
    assert all(np.array_equal(a, b) for a, b in zip(closed, again, strict=True))


def test_objects_without_a_label_are_not_drawn():
    sampled = sample_constraints([0, -1, 0, 1], 3, random_state=0)
    assert 1 not in np.concatenate(sampled)
    with pytest.raises(ValueError, match="n_pairs must be at most 3"):
        sample_constraints([0, -1, 0, 1], 4)
    assert sample_constraints(["a", "b", "a"], 3).must_link.tolist() == [[0, 2]]
    with pytest.raises(ValueError, match="one entry an object"):
        sample_constraints([[0, 1]], 1)
