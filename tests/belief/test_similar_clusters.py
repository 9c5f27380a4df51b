"""Pairs of clusters for a second fit, against R."""

import numpy as np
import pytest

from golden import load, partition
from softecm.belief import cluster_similarity, similar_pairs

CASES = {case["id"]: case for case in load("create_pairs")["create_pairs"]}
# R assumes that a cluster's own similarity is its largest, and fails for an object with all mass on the empty set.
OF_R = ("c3_k_is_c", "c3_own_similarity_not_the_largest", "c3_object_with_all_mass_on_the_empty_set")


def of(name):
    case = CASES[name]
    return case, partition(case["input"]["F"], case["input"]["mass"])


@pytest.mark.parametrize("name", [name for name in CASES if name not in OF_R])
def test_pairs_meet_r(name):
    case, given = of(name)
    np.testing.assert_allclose(cluster_similarity(given), case["output"]["S"], atol=1e-12)
    expected = sorted(tuple(int(k) - 1 for k in pair) for pair in case["output"]["pairs_1based"])
    assert similar_pairs(given, case["k"]) == expected


@pytest.mark.parametrize("name", OF_R)
def test_where_r_errs_a_pair_is_found(name):
    case, given = of(name)
    found = similar_pairs(given, case["k"])
    assert found
    if case["k"] >= given.n_clusters:
        assert found == [(0, 1), (0, 2), (1, 2)]


def test_bad_k():
    with pytest.raises(ValueError, match=r"k must be a whole number of at least 1; got 0"):
        similar_pairs(of("c4_simple_k1")[1], 0)
