import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import pairwise_distances

from golden import load
from softecm.constraints import (
    Constraints,
    check_constraints,
    close_constraints,
    component_loss,
    groups_of,
    kept,
    learn_components,
    links_of_labels,
    sample_constraints,
    spread_constraints,
)
from softecm.datasets import make_bananas, make_blobs
from softecm.datasets.toy import arcs


def test_pairs_are_sorted_and_counted_once():
    found = check_constraints([(3, 1), (1, 3), (2, 2)], np.array([[0, 1]]), 4)
    assert found.must_link.tolist() == [[1, 3]]
    assert found.cannot_link.tolist() == [[0, 1]]
    assert check_constraints(None, [], 4).cannot_link.shape == (0, 2)


def test_a_contradiction_names_the_chain():
    with pytest.raises(ValueError, match=r"the pair \(0, 4\), and must_link joins 0 - 2 - 3 - 4") as error:
        check_constraints([(2, 0), (3, 2), (3, 4), (5, 6)], [(4, 0)], 7)
    assert "(0, 2), (2, 3), (3, 4)" in str(error.value)
    with pytest.raises(ValueError, match=r"got \(1, 1\): an object can't be apart from itself"):
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


def test_a_pair_that_contradicts_the_labels_is_named():
    labels = np.array([0, 0, 1, -1])
    for must, cannot, pair in (
        ([(0, 1), (0, 2)], None, r"must_link.*\(0, 2\)"),
        (None, [(2, 0), (0, 1)], r"cannot_link.*\(0, 1\)"),
    ):
        with pytest.raises(ValueError, match=f"{pair}, which has .* in y"):
            links_of_labels(labels, must, cannot)
    assert len(links_of_labels(labels, [(0, 1), (2, 3)], [(0, 2)])[0]) == 2


def test_objects_without_a_label_are_not_drawn():
    sampled = sample_constraints([0, -1, 0, 1], 3, random_state=0)
    assert 1 not in np.concatenate(sampled)
    with pytest.raises(ValueError, match="n_pairs must be at most 3"):
        sample_constraints([0, -1, 0, 1], 4)
    assert sample_constraints(["a", "b", "a"], 3).must_link.tolist() == [[0, 2]]
    with pytest.raises(ValueError, match="one entry per object"):
        sample_constraints([[0, 1]], 1)


HELPERS = load("helpers")


def _links(case):
    return Constraints(*(np.array(case[f"{kind}_link_1based"]) - 1 for kind in ("must", "cannot")))


@pytest.mark.parametrize("case", HELPERS["expandlink"], ids=lambda case: case["id"])
def test_links_are_handed_on_as_in_r(case):
    """R keeps pairs of an object with itself, duplicates and contradictions; ours takes the next pair, or none."""
    x = np.array(HELPERS["datasets"][case["data"]])
    found = spread_constraints(*_links(case), pairwise_distances(x), case["k"])
    group = groups_of(found.must_link, len(x))
    for ours, theirs, together in zip(found, _links(case["output"]), (True, False), strict=True):
        possible = [(i, j) for i, j in theirs.tolist() if i != j and (together or group[i] != group[j])]
        expected = {(min(pair), max(pair)) for pair in possible}
        assert expected <= {tuple(pair) for pair in ours.tolist()}
        assert len(ours) <= len(theirs)


@given(st.integers(0, 10_000))
def test_links_that_are_handed_on_never_contradict(seed):
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=(14, 1)), rng.integers(3, size=14)  # links without a reason in the distances
    given_links = sample_constraints(labels, 8, random_state=seed)
    found = spread_constraints(*given_links, pairwise_distances(x), int(rng.integers(1, 5)))
    check_constraints(*found, 14)
    for before, after in zip(given_links, found, strict=True):
        assert {tuple(pair) for pair in before.tolist()} <= {tuple(pair) for pair in after.tolist()}


@pytest.mark.parametrize(
    ("d", "k", "message"),
    [
        (np.ones((3, 2)), 1, r"dissimilarities must be a square matrix of finite numbers; got shape \(3, 2\)"),
        (np.full((3, 3), np.nan), 1, r"dissimilarities must be a square matrix of finite numbers"),
        (np.ones((3, 3)), 3, r"n_neighbors must be less than the number of objects; got 3 for 3"),
    ],
)
def test_what_links_can_not_be_handed_on_by(d, k, message):
    with pytest.raises(ValueError, match=message):
        spread_constraints([(0, 1)], None, d, k)


def test_components_are_those_of_r():
    (case,) = HELPERS["pcca"]
    x, at = np.array(HELPERS["datasets"][case["data"]]), case["at"]
    value, slope = component_loss(np.array(at["L"]), x, _links(case), case["beta"])
    assert value == pytest.approx(at["loss"], rel=1e-12)
    np.testing.assert_allclose(slope.reshape(2, 4), at["gradient"], atol=1e-12)
    ours = learn_components(x, *_links(case), case["d1"], beta=case["beta"], random_state=0)
    theirs = np.array(case["output"]["L"])
    assert component_loss(ours, x, _links(case), 1.0)[0] <= component_loss(theirs, x, _links(case), 1.0)[0] + 1e-6


def test_the_kernel_version_is_the_same_on_a_kernel_matrix():
    (case,) = HELPERS["kpcca"]
    x = np.array(HELPERS["datasets"][case["data"]])
    kernel = np.exp(-case["sigma"] * np.square(pairwise_distances(x)))
    theirs = np.array(case["output"]["A"])
    np.testing.assert_allclose(kernel @ theirs.T, case["output"]["z"], atol=1e-10)
    ours = learn_components(kernel, *_links(case), case["d1"], beta=case["beta"], random_state=0)
    assert component_loss(ours, kernel, _links(case), 1.0)[0] <= component_loss(theirs, kernel, _links(case), 1.0)[0]


def test_components_need_links_and_columns():
    x = make_blobs(20, random_state=0).data
    with pytest.raises(ValueError, match=r"must_link or cannot_link must hold at least one pair; got none"):
        learn_components(x, None, [])
    with pytest.raises(ValueError, match=r"n_components must be at most the 2 columns of X; got 3"):
        learn_components(x, [(0, 1)], None, 3)


def test_bananas_are_those_of_r():
    (case,) = [HELPERS["bananas"]] if isinstance(HELPERS["bananas"], dict) else HELPERS["bananas"]
    target = np.array(case["y_1based"]) - 1
    noise = np.concatenate([np.reshape(part, (2, -1)).T for part in np.split(np.array(case["normals"]), 2)])
    found = arcs(np.array(case["uniforms"]), target, case["r"]) + case["s"] * noise
    np.testing.assert_allclose(found, case["x"], atol=1e-5)  # R writes pi with seven digits
    made = make_bananas(51, noise=0.0, random_state=0)
    assert np.bincount(made.target).tolist() == [25, 26]
    np.testing.assert_allclose(np.linalg.norm(made.data + 3.75 * made.target[:, None], axis=1), 5.0)
