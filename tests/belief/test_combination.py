"""Combining, discounting, merging and matching partitions."""

from itertools import product

import numpy as np
import pytest

from softecm import CredalPartition, FocalSets, SoftECM, consensus
from softecm.belief import combination
from softecm.belief.combination import RULES
from softecm.datasets import load_diamond
from softecm.scores import adjusted_rand_index


def random_partition(rng, n, c, *, every=True, empty=True):
    """Masses on all sets (or some), including Ω."""
    focal = FocalSets.full(c) if every else FocalSets.up_to(c, 2, omega=True)
    masses = rng.dirichlet(np.full(len(focal) + 1, 0.5), n) + 1e-3
    if not empty:
        masses[:, 0] = 0.0
    return CredalPartition(masses / masses.sum(1, keepdims=True), focal)


def by_set(partition):
    """Masses by set, so that partitions on different focal sets can be compared."""
    return {(): partition.masses[:, 0], **dict(zip(partition.focal_sets.sets, partition.masses.T[1:], strict=True))}


def same(one, other, tolerance=1e-9):
    a, b = by_set(one), by_set(other)
    nothing = np.zeros(len(one))
    return all(np.allclose(a.get(s, nothing), b.get(s, nothing), rtol=0, atol=tolerance) for s in {*a, *b})


def vacuous(n, c):
    return CredalPartition.from_hard(np.zeros(n, int), c).discount(0.0)


@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_two_sources_does_not_matter(rule, rng):
    for c in (2, 3, 4):
        a, b = (random_partition(rng, 170, c) for _ in range(2))  # 510 mass functions each
        assert same(a.combine(b, rule=rule), b.combine(a, rule=rule))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "average"])
def test_sources_may_be_combined_in_any_order(rule, rng):
    for c in (2, 3, 4):
        a, b, d = (random_partition(rng, 170, c, every=every) for every in (True, True, c != 4))
        one = a.combine(b, rule=rule).combine(d, rule=rule)
        assert same(one, a.combine(b.combine(d, rule=rule), rule=rule), 1e-8)
        assert same(one, a.combine(b, d, rule=rule), 1e-8)


def test_what_says_nothing_changes_nothing(rng):
    for c in (2, 3):
        p = random_partition(rng, 250, c)
        assert same(p.combine(vacuous(250, c), rule="conjunctive"), p)
        assert same(p.combine(vacuous(250, c), rule="dempster"), p.normalise())
        nowhere = CredalPartition.from_hard(np.full(250, -1), c)
        assert same(p.combine(nowhere, rule="disjunctive"), p)


def test_repeating_a_source_changes_nothing_for_the_cautious_rule_and_the_mean(rng):
    p = random_partition(rng, 80, 3)
    assert same(p.combine(p, rule="cautious"), p)
    assert same(p.combine(p, p, rule="average"), p)
    assert not same(p.combine(p, rule="conjunctive"), p)


@pytest.mark.parametrize(("operation", "rule"), [(np.logical_and, "conjunctive"), (np.logical_or, "disjunctive")])
def test_products_lie_on_intersections_and_unions(operation, rule, rng):
    c = 3
    a, b = (random_partition(rng, 5, c, every=False) for _ in range(2))
    wanted = dict.fromkeys([(), *FocalSets.full(c).sets], 0.0)
    for (s, m), (t, k) in product(by_set(a).items(), by_set(b).items()):
        inside = operation(*(np.isin(np.arange(c), u) for u in (s, t)))
        wanted[tuple(np.flatnonzero(inside).tolist())] = wanted[tuple(np.flatnonzero(inside).tolist())] + m * k
    found = by_set(a.combine(b, rule=rule))
    for s, m in wanted.items():
        assert np.allclose(found.get(s, 0.0), m, atol=1e-14), s


def test_commonalities_multiply(rng):
    a, b = (random_partition(rng, 50, 4) for _ in range(2))
    both = a.combine(b, rule="conjunctive").commonality(normalise=None)
    assert np.allclose(both, a.commonality(normalise=None) * b.commonality(normalise=None))


def test_dempsters_rule_on_zadehs_example():
    frame = FocalSets.up_to(3, 1)
    one, other = CredalPartition([[0, 0.99, 0.01, 0]], frame), CredalPartition([[0, 0, 0.01, 0.99]], frame)
    assert np.allclose(one.combine(other).belief(), [[0, 1, 0]])
    assert np.isclose(one.combine(other, rule="conjunctive").masses[0, 0], 0.9999)


def test_total_conflict_names_the_object():
    one, other = CredalPartition.from_hard([0, 0, 1]), CredalPartition.from_hard([0, 1, 1])
    with pytest.raises(ValueError, match=r"completely; those of object 2 \(masses\[1\]\) do"):
        one.combine(other)
    assert one.combine(other, rule="conjunctive").outliers().tolist() == [1]
    assert same(one.discount(0.9).combine(other.discount(0.9))[[0]], CredalPartition(
        [[0, 0.99, 0, 0.01]], FocalSets.full(2)))  # fmt: skip


def test_the_cautious_rule_needs_doubt_and_few_clusters():
    sure = CredalPartition.from_hard([0, 1])
    with pytest.raises(ValueError, match=r"object 1 .* has none: .* Discount the sources first: p\.discount"):
        sure.combine(sure, rule="cautious")
    other = CredalPartition.from_hard([1, 0])
    with pytest.raises(ValueError, match="has none"):
        sure.discount(0.99).combine(other, rule="cautious")
    both = sure.discount(0.99).combine(other.discount(0.99), rule="cautious")  # as the message says
    assert both.outliers().tolist() == [0, 1]
    many = CredalPartition.from_hard(np.arange(13)).discount(0.5)
    with pytest.raises(ValueError, match="at most 12 clusters"):
        many.combine(many, rule="cautious")


def test_partitions_of_other_objects_clusters_and_rules_are_refused():
    p = CredalPartition.from_hard([0, 1])
    with pytest.raises(ValueError, match="got 2 and 3 objects"):
        p.combine(CredalPartition.from_hard([0, 1, 1]))
    with pytest.raises(ValueError, match=r"got 2 and 3\. Renumber one of them with match"):
        p.combine(CredalPartition.from_hard([0, 2]))
    with pytest.raises(ValueError, match="rule must be one of 'conjunctive'"):
        p.combine(p, rule="both")
    with pytest.raises(TypeError, match="the other must be a CredalPartition; got list"):
        p.combine([0, 1])
    with pytest.raises(ValueError, match="same objects to be matched"):
        p.match(CredalPartition.from_hard([0]))
    with pytest.raises(ValueError, match="at least one partition"):
        consensus([])
    with pytest.raises(ValueError, match="same objects; got 2 and 3"):
        consensus([p, CredalPartition.from_hard([0, 1, 1])])


def test_discounting_moves_mass_to_omega(rng):
    p = random_partition(rng, 30, 3)
    assert same(p.discount(1.0), p)
    assert same(p.discount(0.0), vacuous(30, 3))
    assert same(p.discount(0.6).discount(0.5), p.discount(0.3))
    each = rng.uniform(size=30)
    assert np.allclose(p.discount(each).belief(None), p.belief(None) * each[:, None])
    for bad in (1.1, -0.1, [0.5, 0.5], np.nan):
        with pytest.raises(ValueError, match="reliability must be a number from 0 to 1, or one for each of the 30"):
            p.discount(bad)


def test_merged_clusters_keep_their_beliefs(rng):
    p = random_partition(rng, 40, 4)
    merged = p.coarsen([(1, 3), (0,), (2,)])
    for k, group in enumerate([(1, 3), (0,), (2,)]):
        assert np.allclose(merged.belief()[:, k], p.belief_of(group))
        assert np.allclose(merged.plausibility()[:, k], p.plausibility_of(group))
    assert np.allclose(merged.masses[:, 0], p.masses[:, 0])
    with pytest.raises(ValueError, match="each of the clusters 0 to 3 once"):
        p.coarsen([(0, 1), (1, 2, 3)])
    with pytest.raises(TypeError, match="groups must be lists of clusters"):
        p.coarsen([0, 1, 2, 3])


def test_a_renumbered_partition_is_matched_back(rng):
    p = random_partition(rng, 200, 5)
    order = rng.permutation(5)
    masses, focal = combination.renumbered((p.masses, p.focal_sets), order.tolist(), 5)
    assert same(CredalPartition(masses, focal).match(p), p)


def test_matching_with_more_and_with_fewer_clusters():
    few, many = CredalPartition.from_hard([0, 0, 1, 1]), CredalPartition.from_hard([2, 2, 0, 1])
    assert many.match(few).labels().tolist() == [0, 0, 1, 2] or many.match(few).labels().tolist() == [0, 0, 2, 1]
    matched = few.match(many)
    assert matched.n_clusters == 3
    assert matched.labels()[:2].tolist() == [2, 2]
    assert matched.combine(many, rule="average").n_clusters == 3


def test_clusters_that_nothing_tells_apart_can_not_be_matched():
    sure, silent = CredalPartition.from_hard([0, 0, 1, 1]), vacuous(4, 2)
    for one, other in ((silent, sure), (sure, silent), (CredalPartition.from_hard([0, 1, 0, 1]), sure)):
        with pytest.raises(ValueError, match="clusters must differ to be matched; every numbering"):
            one.match(other)
    assert sure.match(CredalPartition.from_hard([0, 0, 0, 0])).n_clusters == 2
    assert consensus([sure, sure, silent]).labels().tolist() == [0, 0, 1, 1]


def test_the_consensus_of_many_noisy_labellings_is_better_than_they_are(rng):
    truth = rng.integers(0, 4, 400)
    runs = []
    for _ in range(15):
        labels = np.where(rng.uniform(size=400) < 0.35, rng.integers(0, 4, 400), truth)
        runs.append(CredalPartition.from_hard(rng.permutation(4)[labels], 4))
    single = max(adjusted_rand_index(truth, run.labels()) for run in runs)
    for rule in ("average", "dempster"):
        agreed = consensus([run.discount(0.7) for run in runs], rule)
        assert adjusted_rand_index(truth, agreed.labels()) > 0.97 > single


def test_consensus_of_fits_from_several_starts():
    X = load_diamond().data
    runs = [SoftECM(2, init="random", n_init=1, random_state=seed).fit(X).partition_ for seed in range(5)]
    agreed = consensus(runs)
    assert isinstance(agreed, CredalPartition)
    assert agreed.n_clusters == 2
    assert np.allclose(agreed.masses.sum(1), 1)
