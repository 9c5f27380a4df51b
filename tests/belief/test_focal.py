import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import golden
from softecm.belief import FocalSets


def made(c, kind, pairs, omega):
    if kind == "pairs":
        return FocalSets.pairs(c, pairs, omega)
    if kind == "simple":
        return FocalSets.up_to(c, 1, omega)
    return FocalSets.full(c)


@pytest.mark.parametrize("case", golden.load("makef")["cases"], ids=lambda case: str(case)[:50])
def test_sets_are_those_of_r_evclust(case):
    pairs = case["pairs_1based"] and [[k - 1 for k in pair] for pair in case["pairs_1based"]]
    focal = made(case["c"], case["type"], pairs, case["Omega"])
    order = golden.columns(case["F"], focal)
    assert sorted(order) == list(range(len(focal) + 1))
    np.testing.assert_array_equal(focal.with_empty[order], case["F"])


@st.composite
def focal_sets(draw):
    c = draw(st.integers(1, 6))
    extra = draw(st.lists(st.lists(st.integers(0, c - 1), max_size=c), max_size=8))
    return FocalSets.of(c, [(k,) for k in range(c)] + extra)


@settings(deadline=None)
@given(focal_sets(), st.randoms())
def test_order_is_by_cardinality_then_lexicographic_however_given(focal, random):
    shuffled = [random.sample(members, len(members)) for members in focal]
    random.shuffle(shuffled)
    assert FocalSets.of(focal.n_clusters, [*shuffled, ()]) == focal
    assert hash(FocalSets.of(focal.n_clusters, shuffled)) == hash(focal)
    assert list(focal) == sorted(focal, key=lambda members: (len(members), members))
    assert focal.sets[: focal.n_clusters] == tuple((k,) for k in range(focal.n_clusters))


@settings(deadline=None)
@given(focal_sets())
def test_arrays_describe_the_sets(focal):
    assert focal.n_sets == len(focal) == len(list(focal))
    for column, members in enumerate(((), *focal)):
        assert focal.index(members) == column
        assert np.flatnonzero(focal.with_empty[column]).tolist() == list(members)
        for other, others in enumerate(((), *focal)):
            assert focal.intersects[column, other] == bool(set(members) & set(others))
    np.testing.assert_array_equal(focal.membership, focal.with_empty[1:])
    np.testing.assert_array_equal(focal.cardinalities, focal.membership.sum(1))
    assert [focal.sets[column - 1] for column in focal.singletons] == [(k,) for k in range(focal.n_clusters)]
    whole = tuple(range(focal.n_clusters))
    assert focal.omega == (focal.index(whole) if whole in focal else None)


def test_arrays_are_read_only_also_after_pickling():
    focal = FocalSets.full(3)
    assert focal.membership.sum() == 12
    again = pickle.loads(pickle.dumps(focal))
    assert again == focal
    for sets in (focal, again):
        for name in ("cardinalities", "membership", "with_empty", "intersects", "singletons"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(sets, name)[0] = 0
    with pytest.raises(AttributeError):
        focal.n_clusters = 4


def test_one_cluster_works():
    for focal in (FocalSets.full(1), FocalSets.up_to(1), FocalSets.simple(1), FocalSets.pairs(1)):
        assert focal.sets == ((0,),)
        assert focal.labels() == ("∅", "ω1")
        assert focal.omega == 1


def test_sizes():
    assert len(FocalSets.up_to(8)) == 36
    assert len(FocalSets.full(16)) == 2**16 - 1
    assert len(FocalSets.up_to(5, 99)) == 31
    assert len(FocalSets.up_to(300)) == 300 + 300 * 299 // 2
    assert FocalSets.up_to(3, 2, omega=True) == FocalSets.full(3)
    assert FocalSets.up_to(np.int64(2), np.int32(2)) == FocalSets.full(2)


def test_make_resolves_the_parameters_of_an_estimator():
    assert FocalSets.make(4) == FocalSets.up_to(4, 2)
    assert FocalSets.make(4, None) == FocalSets.full(4)
    assert FocalSets.make(4, 3, "simple") == FocalSets.simple(4)
    assert FocalSets.make(4, 3, "full") == FocalSets.full(4)
    assert FocalSets.make(4, 3, "pairs") == FocalSets.pairs(4)
    assert FocalSets.make(2, 1, [[0], [1], np.array([1, 0])]) == FocalSets.full(2)
    own = FocalSets.pairs(4, [(0, 3)])
    assert FocalSets.make(4, 1, own) is own


def test_sets_in_words():
    focal = FocalSets.full(3)
    assert focal.in_words()[0::4] == ("no group", "group 1 or 2")
    assert focal.in_words()[-1] == "group 1, 2 or 3"
    assert [focal.between(column) for column in (5, 7)] == ["groups 1 and 3", "groups 1, 2 and 3"]
    assert (FocalSets.full(4).in_words()[-1], FocalSets.full(4).between(15)) == ("any group", "all groups")
    named = focal.renamed(["calm", "group of twelve", "group two"])
    assert named.in_words()[5:7] == ("calm or group two", "group of twelve or two")
    assert named.between(4) == "calm and group of twelve"


def test_labels():
    assert FocalSets.full(3).labels() == ("∅", "ω1", "ω2", "ω3", "ω1∪ω2", "ω1∪ω3", "ω2∪ω3", "Ω")
    assert FocalSets.full(3).labels(ascii=True)[-2:] == ("w2+w3", "Omega")
    assert all(label.isascii() for label in FocalSets.full(4).labels(ascii=True))
    assert FocalSets.up_to(3).labels(["a", "b", "c"])[4:] == ("a∪b", "a∪c", "b∪c")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: FocalSets.full(0), ValueError, ["n_clusters must be at least 1", "got 0"]),
        (lambda: FocalSets.full(2.0), TypeError, ["n_clusters must be an integer", "got 2.0"]),
        (lambda: FocalSets.full(True), TypeError, ["n_clusters must be an integer", "got True"]),
        (lambda: FocalSets.full(17), ValueError, ["max_cardinality", "131071 sets", "max_cardinality=2"]),
        (lambda: FocalSets.up_to(60, 6), ValueError, ["up to 6 clusters", "max_cardinality=2"]),
        (lambda: FocalSets.up_to(3, 0), ValueError, ["max_cardinality must be at least 1", "got 0", "2 is"]),
        (lambda: FocalSets.up_to(3, "2"), TypeError, ["max_cardinality must be an integer", "got '2'"]),
        (
            lambda: FocalSets.of(3, [(0,), (2,)]),
            ValueError,
            ["every single cluster", "(1,) is missing", "Add"],
        ),
        (lambda: FocalSets.of(2, [(0,), (1,), (0, 2)]), ValueError, ["from 0 to 1", "got 2 in (0, 2)"]),
        (lambda: FocalSets.of(2, [(0,), (1,), (-1,)]), ValueError, ["from 0 to 1", "got -1", "from 0"]),
        (lambda: FocalSets.of(2, [0, 1]), TypeError, ["tuple of cluster numbers", "got 0", "(0,)"]),
        (lambda: FocalSets.of(2, [(0.5,), (1,)]), TypeError, ["tuple of cluster numbers", "got (0.5,)"]),
        (lambda: FocalSets.of(2, 7), TypeError, ["list of tuples", "got 7", "[(0,), (1,), (0, 1)]"]),
        (lambda: FocalSets.pairs(3, [(0, 0)]), ValueError, ["two different clusters", "got (0,)"]),
        (lambda: FocalSets.make(3, 2, "singles"), ValueError, ["'simple', 'full', 'pairs'", "got 'singles'"]),
        (lambda: FocalSets.make(3, 2, FocalSets.full(2)), ValueError, ["n_clusters=3", "2 clusters"]),
        (lambda: FocalSets.simple(3).index((0, 1)), ValueError, ["one of the focal sets", "got (0, 1)"]),
        (lambda: FocalSets.simple(3).labels(["a"]), ValueError, ["names", "3 clusters", "got 1"]),
    ],
)
def test_errors_name_the_rule_the_value_and_a_remedy(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
