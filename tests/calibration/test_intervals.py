"""Intervals and masses fitted to them, against Bootclus."""

import numpy as np
import pytest
from scipy.spatial.distance import squareform

import golden
from softecm import CredalPartition, FocalSets
from softecm.calibration.intervals import (
    ComparedPairs,
    believed,
    bounds,
    compared_bounds,
    misfit,
    object_masses,
    pair_masses,
)
from softecm.scores import pairwise_masses

R, ARTICLE = golden.load("bootclus"), golden.load("bootclus_article")


def memberships(case: dict) -> np.ndarray:
    """(B, n, c); NaN for objects left out."""
    if case["memberships"] is not None:
        return np.asarray(case["memberships"], dtype=float)
    labels = np.asarray(case["labels_1based"], dtype=float)
    found = (labels[..., None] == np.arange(1, np.nanmax(labels) + 1)).astype(float)
    found[np.isnan(labels)] = np.nan
    return found


def upper_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n, 1)


@pytest.mark.parametrize("case", R["bounds"], ids=lambda case: case["id"])
def test_bounds_are_those_of_r(case):
    found = memberships(case)
    low, high = bounds(found, *upper_pairs(found.shape[1]), case["conf"], method="linear")
    np.testing.assert_allclose(low, np.asarray(case["output"]["lower"], dtype=float), atol=1e-12)
    np.testing.assert_allclose(high, np.asarray(case["output"]["upper"], dtype=float), atol=1e-12)


def solved(
    case: dict, low: np.ndarray, high: np.ndarray, still: float, most: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Misfit, masses found and expected, from the case's own start."""
    rows = [tuple(np.flatnonzero(row).tolist()) for row in np.asarray(case["output"]["F"])]
    focal = FocalSets.of(case["c"], [row for row in rows if row])
    order = [focal.index(row) - 1 for row in rows if row]
    start = np.zeros((len(case["m0"]), len(focal)))
    start[:, order] = np.asarray(case["m0"], dtype=float)
    compared = ComparedPairs.all_of(len(start))
    lows, highs = (squareform(one)[compared.owners, compared.others] for one in (low, high))
    found = pair_masses(start, focal, compared, lows, highs, still=still, most=most)
    wanted = np.asarray(case["output"]["mass"], dtype=float)[:, [bool(row) for row in rows]]
    return misfit(found, focal, *upper_pairs(len(start)), low, high), found[:, order], wanted


@pytest.mark.parametrize("case", ARTICLE["cases"], ids=lambda case: case["id"])
def test_masses_are_those_of_the_article(case):
    low, high = np.asarray(case["lower"], dtype=float), np.asarray(case["upper"], dtype=float)
    loss, found, wanted = solved(case, low, high, 1e-12, 1000)
    assert loss == pytest.approx(case["output"]["loss"], abs=1e-8)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("case", R["masses_from_bounds"], ids=lambda case: case["id"])
def test_masses_are_those_of_r_or_better(case):
    (given,) = [one["output"] for one in R["bounds"] if one["id"] == case["bounds_from"]]
    low, high = (np.asarray(given[end], dtype=float) for end in ("lower", "upper"))
    how = (0.0, 1) if case["mode"] == "one_sweep" else (1e-12, 1000)
    loss, found, wanted = solved(case, low, high, *how)
    assert loss <= case["output"]["sum_of_squares_i_less_j"] + 1e-6
    if case["mode"] in ("one_sweep", "converged"):
        np.testing.assert_allclose(found, wanted, atol=1e-7)


def test_the_misfit_never_rises(rng):
    found = rng.dirichlet(np.ones(3), (30, 12))
    focal, compared = FocalSets.up_to(3, 2), ComparedPairs.all_of(12)
    low, high = bounds(found, compared.owners, compared.others, 0.8)
    masses, last = np.full((12, 6), 1 / 6), np.inf
    for _ in range(15):
        masses = pair_masses(masses, focal, compared, low, high, most=1)
        now = misfit(masses, focal, compared.owners, compared.others, low, high)
        assert now <= last + 1e-6
        last = now


def test_belief_of_pairs_is_that_of_the_scores(rng):
    masses = rng.dirichlet(np.ones(6), 9)
    said = pairwise_masses(CredalPartition(np.column_stack([np.zeros(9), masses]), FocalSets.up_to(3, 2)))
    belief, plausibility = believed(masses, FocalSets.up_to(3, 2), *upper_pairs(9))
    np.testing.assert_allclose(belief, said.same, atol=1e-12)
    np.testing.assert_allclose(plausibility, 1 - said.different, atol=1e-12)


def test_partners_are_symmetric_and_never_oneself():
    some = ComparedPairs.some_of(200, 5, np.random.default_rng(0))
    pairs = set(zip(some.owners.tolist(), some.others.tolist(), strict=True))
    assert all((j, i) in pairs and i != j for i, j in pairs)
    assert np.diff(some.starts).min() >= 5


@pytest.mark.parametrize("compared", [ComparedPairs.all_of(9), ComparedPairs.some_of(9, 3, np.random.default_rng(0))])
def test_a_pair_and_its_mirror_image_have_one_interval(rng, compared):
    found = rng.dirichlet(np.ones(3), (25, 9))
    for one, other in zip(
        compared_bounds(found, compared, 0.8), bounds(found, compared.owners, compared.others, 0.8), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_intervals_of_an_object_that_masses_can_state_are_stated(rng):
    focal = FocalSets.up_to(3, 2)
    partition = CredalPartition(np.column_stack([np.zeros(20), rng.dirichlet(np.ones(6), 20)]), focal)
    masses = object_masses(partition.belief(), partition.plausibility(), focal)
    again = CredalPartition(np.column_stack([np.zeros(20), masses]), focal)
    np.testing.assert_allclose(again.belief(), partition.belief(), atol=1e-6)
    np.testing.assert_allclose(again.plausibility(), partition.plausibility(), atol=1e-6)
