import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import golden
from softecm.belief import (
    FocalSets,
    belief,
    commonality,
    decisions,
    normalise,
    pignistic,
    plausibility,
    plausibility_transform,
    set_decisions,
)

WAYS = ("dempster", "yager", None)


@st.composite
def mass_functions(draw):
    """Random masses, some zero, some rows entirely on one set (including the empty one)."""
    c = draw(st.integers(1, 5))
    focal = draw(st.sampled_from([FocalSets.full(c), FocalSets.up_to(c), FocalSets.up_to(c, 1), FocalSets.simple(c)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    masses = rng.exponential(size=(6, len(focal) + 1)) ** draw(st.sampled_from([1, 5, 40]))
    masses[rng.random(masses.shape) < 0.3] = 0
    masses[:, rng.integers(masses.shape[1])] += 1e-30
    masses[0] = np.eye(masses.shape[1])[rng.integers(masses.shape[1])]
    masses[1] = np.eye(masses.shape[1])[0]
    return masses / masses.sum(1, keepdims=True), focal


def cases():
    return golden.load("extract_mass")["cases"]


def values(table):
    """A golden table; null, for evclust's NaN, stays NaN."""
    return np.array(table, dtype=float)


def close(ours, theirs):
    theirs = values(theirs)
    known = ~np.isnan(theirs)
    assert np.isfinite(ours).all()
    np.testing.assert_allclose(ours[known], theirs[known], rtol=0, atol=1e-10)


def test_quantities_agree_with_r_evclust():
    for case in cases():
        out = case["output"]
        p = golden.partition(out["F"], out["mass"])
        m, focal = p.masses, p.focal_sets
        close(m[:, 0], out["conf"])
        for ours, raw, scaled in (
            (belief, "bel", "bel_n"),
            (plausibility, "pl", "pl_n"),
            (pignistic, "betp", "betp_n"),
        ):
            close(ours(m, focal, None), out[raw])
            close(ours(m, focal), out[scaled])
        close(plausibility_transform(m, focal), out["p"])


def test_normalised_masses_agree_with_r_evclust():
    for case in cases():
        out = case["output"]
        p = golden.partition(out["F"], out["mass"])
        m, focal = normalise(p.masses, p.focal_sets)
        close(m[:, golden.columns(out["F"], focal)[1:]], out["mass_n"])
    for case in golden.load("extract_mass")["normalize"]:
        p = golden.partition(case["input"]["F"], case["input"]["mass"])
        for how in ("dempster", "yager"):
            m, focal = normalise(p.masses, p.focal_sets, how)
            assert len(focal) + 1 == len(case[how]["F"])
            close(m[:, golden.columns(case[how]["F"], focal)], case[how]["mass"])


def test_decisions_agree_with_r_evclust():
    for case in cases():
        out = case["output"]
        p = golden.partition(out["F"], out["mass"])
        ties = {name: np.array(rows, int) - 1 for name, rows in out["near_ties_1based"].items()}
        for rule, key, tie in (
            ("pignistic", "y_betp", "betp"),
            ("plausibility", "y_pl", "pl"),
            ("mass", "y_bel", "bel"),
        ):
            ours = decisions(p.masses, p.focal_sets, rule)
            keep = np.setdiff1d(np.arange(len(p)), ties[tie])
            np.testing.assert_array_equal(ours[keep], np.array(out[f"{key}_1based"])[keep] - 1)
        keep = np.setdiff1d(np.arange(len(p)), ties["mass"])
        ours = set_decisions(p.masses, p.focal_sets)
        np.testing.assert_array_equal(ours[keep], np.array(out["Y"], bool)[keep])
        ours = set_decisions(p.masses, p.focal_sets, "interval")
        np.testing.assert_array_equal(ours, np.array(out["Ynd"], bool))


@settings(deadline=None)
@given(mass_functions())
def test_belief_is_at_most_probability_is_at_most_plausibility(given_masses):
    m, focal = given_masses
    for how in WAYS:
        bel, betp, pl = (function(m, focal, how) for function in (belief, pignistic, plausibility))
        assert (bel >= 0).all()
        assert (bel <= betp + 1e-12).all()
        assert (betp <= pl + 1e-12).all()
        assert (pl <= 1 + 1e-12).all()
        total = 1 - m[:, 0] if how is None else np.ones(len(m))
        np.testing.assert_allclose(betp.sum(1), total, atol=1e-12)
    np.testing.assert_allclose(plausibility_transform(m, focal).sum(1), 1, atol=1e-12)


@settings(deadline=None)
@given(mass_functions())
def test_normalising_first_or_later_is_the_same(given_masses):
    m, focal = given_masses
    for how in WAYS:
        normal, sets = normalise(m, focal, how)
        np.testing.assert_allclose(normal.sum(1), 1, atol=1e-12)
        assert how is None or (normal[:, 0] == 0).all()
        for function in (belief, plausibility, pignistic):
            np.testing.assert_allclose(function(normal, sets, None), function(m, focal, how), atol=1e-12)
        both = commonality(normal, sets, None)[:, : len(focal) + 1]
        np.testing.assert_allclose(both, commonality(m, focal, how), atol=1e-12)


@settings(deadline=None)
@given(mass_functions())
def test_commonality_of_single_clusters_is_their_plausibility(given_masses):
    m, focal = given_masses
    for how in WAYS:
        common = commonality(m, focal, how)
        np.testing.assert_allclose(common[:, focal.singletons], plausibility(m, focal, how), atol=1e-12)
        np.testing.assert_allclose(common[:, 0], 1, atol=1e-12)


def test_commonality_in_blocks_is_the_same(monkeypatch):
    focal = FocalSets.full(4)
    m = np.random.default_rng(0).dirichlet(np.ones(16), size=5)
    whole = commonality(m, focal)
    monkeypatch.setattr("softecm.belief.transforms.BLOCK_ENTRIES", 50)
    np.testing.assert_allclose(commonality(m, focal), whole, atol=1e-15)


def test_an_object_that_belongs_nowhere_is_vacuous():
    focal = FocalSets.up_to(4, 1)
    m = np.eye(5)[[0]]
    np.testing.assert_array_equal(belief(m, focal), np.zeros((1, 4)))
    np.testing.assert_array_equal(plausibility(m, focal), np.ones((1, 4)))
    np.testing.assert_array_equal(pignistic(m, focal), np.full((1, 4), 0.25))
    np.testing.assert_array_equal(plausibility_transform(m, focal), np.full((1, 4), 0.25))
    normal, sets = normalise(m, focal)
    assert sets == FocalSets.simple(4)
    np.testing.assert_array_equal(normal, [[0, 0, 0, 0, 0, 1]])
    assert decisions(m, focal).tolist() == [0]


def test_little_mass_outside_the_empty_set_is_still_divided_exactly():
    m = [[1 - 1e-14, 0.75e-14, 0.25e-14, 0.0]]
    np.testing.assert_allclose(pignistic(m, FocalSets.full(2)), [[0.75, 0.25]], rtol=1e-12)


def test_normalising_does_not_touch_its_input():
    m = np.array([[0.5, 0.5, 0.0, 0.0]])
    for how in WAYS:
        out, _ = normalise(m, FocalSets.full(2), how)
        out[:] = 9
        belief(m, FocalSets.full(2), how)[:] = 9
    np.testing.assert_array_equal(m, [[0.5, 0.5, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, f: belief(m, f, "smets"), ["normalise must be one of", "'dempster'", "got 'smets'"]),
        (lambda m, f: pignistic(m, f, ["yager"]), ["normalise must be one of", "got ['yager']"]),
        (lambda m, f: decisions(m, f, "best"), ["rule must be one of", "'plausibility'", "got 'best'"]),
        (lambda m, f: decisions(m, f, None), ["rule must be one of", "got None"]),
        (lambda m, f: set_decisions(m, f, "weak"), ["rule must be one of", "'interval'", "got 'weak'"]),
        (
            lambda m, f: plausibility(m[:, 1:], f),
            ["4 columns", "3 focal sets", "got shape (1, 3)", "column 0"],
        ),
        (lambda m, f: plausibility(m[0], f), ["one row per object", "got shape (4,)"]),
    ],
)
def test_errors_name_the_rule_and_the_value(call, words):
    with pytest.raises(ValueError) as caught:
        call(np.array([[0.0, 0.5, 0.5, 0.0]]), FocalSets.full(2))
    for word in words:
        assert word in str(caught.value)
