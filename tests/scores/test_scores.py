import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import golden
from softecm import scores
from softecm.belief import CredalPartition, FocalSets

KINDS = ("consistency", "jousselme", "belief")

labellings = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)


def random_partition(seed=0, n=10, c=3, spread=0.4):
    focal = FocalSets.full(c)
    return CredalPartition(np.random.default_rng(seed).dirichlet(np.full(2**c, spread), size=n), focal)


def groups():
    for group in golden.load("relational")["groups"]:
        named = {case["name"]: case for case in group["partitions"]}
        yield group, named, {name: golden.partition(case["F"], case["mass"]) for name, case in named.items()}


# ---------------------------------------------------------------------- reference numbers


def test_pairwise_masses_and_nonspecificities_agree_with_r_evclust():
    for _, named, partitions in groups():
        for name, case in named.items():
            pairs = scores.pairwise_masses(partitions[name])
            for ours, theirs in (
                ("empty", "Me"),
                ("same", "M1"),
                ("different", "M0"),
                ("unknown", "M_theta"),
            ):
                np.testing.assert_allclose(getattr(pairs, ours), case[theirs], rtol=0, atol=1e-10)
            relational = scores.relational_nonspecificity(partitions[name])
            assert relational == pytest.approx(case["nonspecificity"], abs=1e-10)
            plain = scores.nonspecificity(partitions[name], empty=True)
            assert plain == pytest.approx(case["N"], abs=1e-10)


def test_credal_rand_indices_agree_with_r_evclust():
    for group, _, partitions in groups():
        table = group["credal_RI"]
        for kind, key in zip(KINDS, ("conflict_c", "jousselme_j", "belief_b"), strict=True):
            ours = [
                [scores.credal_rand_index(partitions[a], partitions[b], kind) for b in table["names"]]
                for a in table["names"]
            ]
            np.testing.assert_allclose(ours, table[key], rtol=0, atol=1e-10)


def test_distances_between_pairs_agree_with_r_evclust():
    for group, _, partitions in groups():
        for case in group["pairwise_distances"]:
            a, b = (scores.pairwise_masses(partitions[case[side]]) for side in "ab")
            jousselme, belief = case["jousselme_per_pair"], case["bel_dist_per_pair"]
            np.testing.assert_allclose(scores.jousselme_distance(a, b), jousselme, rtol=0, atol=1e-10)
            np.testing.assert_allclose(scores.belief_distance(a, b), belief, rtol=0, atol=1e-10)


def test_iris_species_against_the_converged_ecm_partition():
    content = golden.load("ecm_iris")
    x = np.array(content["datasets"]["iris"])
    case = next(case for case in content["cases"] if case["id"] == "c3_full_default")
    focal, centers = FocalSets.full(3), np.array(case["output"]["g"])
    size, member = focal.cardinalities, focal.membership
    for _ in range(400):  # ECM with alpha = 1, beta = 2, delta = 10
        distances = ((x[:, None] - (member / size[:, None]) @ centers) ** 2).sum(2)
        weights = np.column_stack([np.full(len(x), 1 / 100), 1 / (size * distances)])
        masses = weights / weights.sum(1, keepdims=True)
        squares = masses[:, 1:] ** 2
        gram = member.T @ (member * (squares.sum(0) / size)[:, None])
        centers = np.linalg.solve(gram, member.T @ (squares.T @ x))
    p = CredalPartition(masses, focal)
    species = np.repeat(["setosa", "versicolor", "virginica"], 50)
    ours = [scores.credal_rand_index(species, p, kind) for kind in KINDS]
    np.testing.assert_allclose(ours, [0.894948, 0.634895, 0.695849], rtol=0, atol=1e-6)
    assert scores.relational_nonspecificity(p) == pytest.approx(0.403386, abs=1e-6)


# ---------------------------------------------------------------------- hard labels


@settings(deadline=None)
@given(labellings)
def test_hard_scores_agree_with_scikit_learn(labels):
    truth, answer = labels
    assert scores.rand_index(truth, answer) == pytest.approx(metrics.rand_score(truth, answer), abs=1e-12)
    ours, theirs = scores.adjusted_rand_index(truth, answer), metrics.adjusted_rand_score(truth, answer)
    assert ours == pytest.approx(theirs, abs=1e-12)
    table = metrics.cluster.contingency_matrix(truth, answer)
    assert scores.purity(truth, answer) == table.max(0).sum() / len(truth)
    assert scores.accuracy(truth, answer) <= scores.purity(truth, answer)


@settings(deadline=None)
@given(labellings)
def test_three_credal_rand_indices_of_hard_partitions_are_the_rand_index(labels):
    truth, answer = labels
    expected = metrics.rand_score(truth, answer)
    for kind in KINDS:
        assert scores.credal_rand_index(truth, answer, kind) == pytest.approx(expected, abs=1e-12)
    hard = CredalPartition.from_hard(answer)
    assert scores.evidential_rand_index(truth, hard) == pytest.approx(expected, abs=1e-12)


def test_accuracy_matches_one_to_one_and_purity_many_to_one():
    truth, answer = ["a"] * 3 + ["b"] * 3, [0, 0, 1, 2, 2, 2]
    assert scores.accuracy(truth, answer) == 5 / 6
    assert scores.purity(truth, answer) == 1
    assert scores.purity(answer, truth) == 5 / 6
    assert scores.accuracy([1], [7]) == scores.purity([1], [7]) == 1


def test_a_credal_partition_counts_by_its_pignistic_labels():
    p = random_partition()
    truth = np.arange(10) % 3
    for score in (scores.rand_index, scores.adjusted_rand_index, scores.accuracy, scores.purity):
        assert score(truth, p) == score(truth, p.labels())


def test_pair_counts_do_not_overflow():
    labels = np.zeros(200_000, dtype=np.int8)
    labels[:100_000] = 1
    assert scores.adjusted_rand_index(labels, labels) == 1
    assert scores.rand_index(labels, labels) == 1


# ---------------------------------------------------------------------- credal partitions


def by_the_book(p, q, kind):
    """By definition, pair by pair."""
    a, b = scores.pairwise_masses(p), scores.pairwise_masses(q)
    if kind == "jousselme":
        return 1 - scores.jousselme_distance(a, b).mean()
    if kind == "belief":
        return 1 - scores.belief_distance(a, b).mean()
    conflict = a.empty + b.empty - a.empty * b.empty + a.same * b.different + a.different * b.same
    return 1 - conflict.mean()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 4), st.integers(1, 4))
def test_credal_rand_index_is_its_definition_and_symmetric(seed, n, c, d):
    p, q = random_partition(seed, n, c), random_partition(seed + 1, n, d)
    for kind in KINDS:
        value = scores.credal_rand_index(p, q, kind)
        assert value == pytest.approx(by_the_book(p, q, kind), abs=1e-12)
        assert value == pytest.approx(scores.credal_rand_index(q, p, kind), abs=1e-12)
        assert -1e-12 <= value <= 1 + 1e-12
    assert scores.credal_rand_index(p, p, "jousselme") == pytest.approx(1, abs=1e-12)
    assert scores.credal_rand_index(p, p, "belief") == pytest.approx(1, abs=1e-12)
    relational = scores.pairwise_masses(p)
    expected = (relational.empty + relational.unknown).mean()
    assert scores.relational_nonspecificity(p) == pytest.approx(expected, abs=1e-12)


def test_blocks_do_not_show(monkeypatch):
    p, q = random_partition(3, n=23), random_partition(4, n=23, c=2)
    whole = [scores.credal_rand_index(p, q, kind) for kind in KINDS]
    for size in (1, 5, 22, 23):
        monkeypatch.setattr(scores.credal, "BLOCK", size)
        blocks = [scores.credal_rand_index(p, q, kind) for kind in KINDS]
        np.testing.assert_allclose(blocks, whole, atol=1e-13)


def test_partitions_with_all_mass_on_one_set_are_counted_rightly():
    rng = np.random.default_rng(5)
    p = CredalPartition(np.eye(8)[rng.integers(0, 8, 60)], FocalSets.full(3))
    q = CredalPartition.from_hard(rng.integers(-1, 4, 60))
    for kind in KINDS:
        assert scores.credal_rand_index(p, q, kind) == pytest.approx(by_the_book(p, q, kind), abs=1e-12)


def test_pairs_come_in_the_order_of_pdist():
    pairs = scores.pairwise_masses(CredalPartition.from_hard([0, 1, 0, -1]))
    assert pairs.same.tolist() == [0, 1, 0, 0, 0, 0]
    assert pairs.different.tolist() == [1, 0, 0, 1, 0, 0]
    assert pairs.empty.tolist() == [0, 0, 1, 0, 1, 1]
    assert len(pairs) == 6


def test_jousselme_distance_between_partitions():
    p, q = random_partition(0), random_partition(1)
    distance = scores.jousselme_distance(p, q)
    assert ((distance > 0) & (distance <= 1)).all()
    np.testing.assert_allclose(scores.jousselme_distance(p, p), 0, atol=1e-12)
    hard, outlier = CredalPartition.from_hard([0], 3), CredalPartition.from_hard([-1], 3)
    vacuous = CredalPartition([[0, 0, 0, 0, 1]], FocalSets.simple(3))
    np.testing.assert_allclose(scores.jousselme_distance(hard, outlier), [1])
    np.testing.assert_allclose(scores.jousselme_distance(hard, vacuous), [math.sqrt(2 / 3)])
    # On the frame {same, different} it is the distance between pairs.
    a, b = (scores.pairwise_masses(partition) for partition in (p, q))
    framed = [
        CredalPartition(np.column_stack([m.empty, m.same, m.different, m.unknown]), FocalSets.full(2)) for m in (a, b)
    ]
    np.testing.assert_allclose(scores.jousselme_distance(*framed), scores.jousselme_distance(a, b), atol=1e-12)


# ---------------------------------------------------------------------- evidential precision and recall


def test_evidential_scores_count_only_pairs_in_one_single_cluster():
    sets = [(0,), (0,), (0,), (0, 1), (1,), (1,), ()]
    focal = FocalSets.full(2)
    p = CredalPartition(np.eye(4)[[focal.index(members) for members in sets]], focal)
    truth = list("aabbbbb")
    # Together: 3 + 1 pairs, right: 1 + 1; true pairs: 1 + 10.
    assert scores.evidential_precision(truth, p) == 2 / 4
    assert scores.evidential_recall(truth, p) == 2 / 11
    assert scores.evidential_rand_index(truth, p) == (2 + (21 - 4 - 11 + 2)) / 21


def test_undefined_precision_and_recall_are_nan_or_what_is_asked():
    apart = CredalPartition([[0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    assert math.isnan(scores.evidential_precision([0, 0], apart))
    assert scores.evidential_precision([0, 0], apart, undefined=1.0) == 1
    assert math.isnan(scores.evidential_recall([0, 1], apart))
    assert scores.evidential_recall([0, 1], apart, undefined=0.0) == 0
    assert scores.evidential_precision([0, 0], [3, 3]) == 1


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda p: scores.rand_index([0, 1], [0]),
            ValueError,
            ["labels_pred must have at least two objects; got 1"],
        ),
        (lambda p: scores.rand_index([0, 1, 1], [0, 1]), ValueError, ["same objects", "got 3 and 2"]),
        (
            lambda p: scores.rand_index([], []),
            ValueError,
            ["labels_true", "at least two objects; got 0", "nothing"],
        ),
        (lambda p: scores.adjusted_rand_index([1], [1]), ValueError, ["at least two", "got 1", "pairs"]),
        (lambda p: scores.accuracy([], []), ValueError, ["labels_true", "at least one object; got 0"]),
        (lambda p: scores.purity([[1]], [1]), ValueError, ["labels_true", "flat list", "got shape (1, 1)"]),
        (lambda p: scores.purity([1.0, np.nan], [1, 1]), ValueError, ["labels_true must not hold NaN"]),
        (
            lambda p: scores.purity(np.array([1, "a"], object), [1, 1]),
            ValueError,
            ["one kind", "mixture", "str("],
        ),
        (lambda p: scores.credal_rand_index(p, p, "rand"), ValueError, ["kind must be one of", "got 'rand'"]),
        (
            lambda p: scores.credal_rand_index(p, p[:4]),
            ValueError,
            ["p and q", "same objects", "got 10 and 4"],
        ),
        (
            lambda p: scores.credal_rand_index(p[:1], p[:1]),
            ValueError,
            ["p must have at least two objects; got 1"],
        ),
        (
            lambda p: scores.evidential_precision([0, 1], p),
            ValueError,
            ["labels_true and partition", "2 and 10"],
        ),
        (lambda p: scores.pairwise_masses([0, 1]), TypeError, ["CredalPartition", "got list", "from_hard"]),
        (lambda p: scores.pairwise_masses(p[:1]), ValueError, ["at least two objects; got 1"]),
        (lambda p: scores.nonspecificity(p[[]]), ValueError, ["at least one object; got 0"]),
        (
            lambda p: scores.nonspecificity([0.5]),
            TypeError,
            ["partition must be a CredalPartition", "got list"],
        ),
        (lambda p: scores.relational_nonspecificity(p[:1]), ValueError, ["at least two objects; got 1"]),
        (lambda p: scores.jousselme_distance(p, p[:3]), ValueError, ["same objects", "got 10 and 3"]),
        (
            lambda p: scores.jousselme_distance(p, random_partition(c=2)),
            ValueError,
            ["clusters", "got 3 and 2"],
        ),
        (lambda p: scores.belief_distance(p, p), TypeError, ["p must be PairwiseMasses", "pairwise_masses"]),
    ],
)
def test_errors_name_the_rule_the_value_and_a_remedy(call, error, words):
    with pytest.raises(error) as caught:
        call(random_partition())
    for word in words:
        assert word in str(caught.value)
