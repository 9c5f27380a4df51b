"""k-CEVCLUS against R, and the effect of links."""

import logging

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from golden import case_ids, load, partition
from problems import largest_rise
from softecm import CEVCLUS, EVCLUS, FocalSets
from softecm.algorithms.cevclus import VARIANTS
from softecm.algorithms.conflicts import (
    ConflictPairs,
    ConflictProblem,
    Linked,
    degree_of_conflict,
    link_cost_of,
    solved,
)
from softecm.constraints import Constraints, check_constraints, kept, sample_constraints
from softecm.datasets import load_diamond, make_blobs
from softecm.scores import pairwise_masses

D = pairwise_distances(load_diamond().data)


def _case(case_id):
    """R's case as a problem with its start, and the case."""
    file = load("kcevclus")
    case = next(c for c in file["cases"] if c["id"] == case_id)
    rows = np.array(file["datasets"][case["dissimilarity"].split("_")[0]])
    n, pairs = len(rows), None
    if case["J_1based"] is not None:
        others = np.array(case["J_1based"]) - 1
        pairs = ConflictPairs(others.ravel(), np.arange(n + 1) * others.shape[1])
    phi = degree_of_conflict(cdist(rows, rows), case["d0"])
    start = partition(case["output"]["F"], case["m0"])
    ends = (np.array(case[f"{kind}_link_1based"], dtype=np.int64).reshape(-1, 2) - 1 for kind in ("must", "cannot"))
    links, xi = check_constraints(*ends, n), case["xi"]
    problem = ConflictProblem(phi, start.focal_sets, pairs)
    if case["norm"] == 2:  # the norm of the misfits instead of squares
        xi *= n * (n - 1) / problem.size
    count = sum(map(len, links))
    linked = Linked(links, VARIANTS["evclust"] * xi / count, firm=True) if count else None
    return case, ConflictProblem(phi, start.focal_sets, pairs, linked, tol=0.0), start


@pytest.mark.parametrize("case_id", [name for _, name in case_ids("kcevclus")])
def test_meets_r(case_id):
    case, problem, start = _case(case_id)
    scale = problem.size / (len(problem.phi) * (len(problem.phi) - 1)) if case["norm"] == 2 else 1.0
    assert problem.stress(start.masses) * scale == pytest.approx(case["at_m0"]["loss"], rel=1e-10)
    (found,) = solved(problem, start.masses[None], max_iter=case["sweeps"])
    expected = partition(case["output"]["F"], case["output"]["mass"])
    np.testing.assert_allclose(found.masses, expected.masses, atol=1e-6)


def test_the_articles_price_is_a_quarter_of_evclusts():
    told = {"must_link": [(2, 5)], "cannot_link": [(5, 8)]}
    ours = CEVCLUS(2, xi=2.0, random_state=0).fit(D, **told)
    theirs = CEVCLUS(2, xi=0.5, variant="evclust", random_state=0).fit(D, **told)
    np.testing.assert_allclose(ours.partition_.masses, theirs.partition_.masses, atol=1e-3)  # ridges differ


def test_a_link_costs_what_its_plausibilities_say(rng):
    focal = FocalSets.up_to(3, 3)
    masses = rng.dirichlet(np.ones(len(focal) + 1), size=2)
    model = partition(np.r_[np.zeros((1, 3)), focal.membership], masses)
    together = pairwise_masses(model)
    expected = 1.0 - float(together.same[0] + together.unknown[0]) + float(together.different[0] + together.unknown[0])
    assert masses[0] @ link_cost_of(focal) @ masses[1] == pytest.approx(expected)


def test_the_objective_never_rises_and_is_what_it_says(many):
    for seed in range(many):
        rng = np.random.default_rng(seed)
        n, focal = 20, FocalSets.up_to(3, int(rng.integers(1, 4)))
        phi = degree_of_conflict(cdist(*[rng.normal(size=(n, 2))] * 2), rng.uniform(0.5, 4))
        start = rng.dirichlet(np.ones(len(focal) + 1), size=(1, n))
        linked = Linked(sample_constraints(rng.integers(3, size=n), 12, random_state=seed), rng.uniform(0, 0.2))
        for pairs in (None, ConflictPairs.random(n, 6, np.random.RandomState(seed))):
            problem = ConflictProblem(phi, focal, pairs, linked)
            (found,) = solved(problem, start, max_iter=30)
            assert largest_rise(found.history) <= 1e-12
            assert found.history[-1] == pytest.approx(problem.stress(found.masses), rel=1e-6)


def test_without_links_it_is_evclus():
    assert CEVCLUS(2, random_state=0).fit(D).partition_ == EVCLUS(2, random_state=0).fit(D).partition_
    none = CEVCLUS(2, random_state=0).fit(D, must_link=[], cannot_link=np.empty((0, 2)))
    assert none.partition_ == EVCLUS(2, random_state=0).fit(D).partition_


def test_links_are_obeyed_and_those_that_are_not_are_named(caplog):
    blobs = make_blobs(90, distance=3.0, random_state=0)
    d, links = pairwise_distances(blobs.data), sample_constraints(blobs.target, 60, random_state=0)
    plain, told = (CEVCLUS(3, xi=xi, n_init=2, random_state=0).fit(d, **links._asdict()) for xi in (0.0, 2.0))
    assert kept(plain.labels_, *links) < 0.95 < kept(told.labels_, *links)
    with caplog.at_level(logging.WARNING, "softecm"):
        CEVCLUS(2, xi=0.0, random_state=0).fit(D, must_link=[(2, 8)])
    assert (
        "1 of 1 pairs of must_link are violated: object 3 (X[2]) and object 9 (X[8]). Check them for mistakes; a larger xi"
        in caplog.text
    )


def test_links_count_where_their_objects_are_not_compared():
    blobs = make_blobs(120, distance=3.0, random_state=1)
    d, links = pairwise_distances(blobs.data), sample_constraints(blobs.target, 60, random_state=0)
    few = CEVCLUS(3, xi=2.0, n_neighbors=10, n_init=2, random_state=0).fit(d, **links._asdict())
    assert kept(few.labels_, *links) > 0.9


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ({"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}, r"cannot_link must not contradict must_link"),
        ({"must_link": [(0, 12)]}, r"must_link must name objects from 0 to 11; got the pair \(0, 12\)"),
        ({"cannot_link": [(3, 3)]}, r"cannot_link must join two different objects; got \(3, 3\)"),
        ({"cannot_link": [(0.5, 3)]}, r"cannot_link must hold whole numbers"),
    ],
)
def test_bad_links(links, message):
    with pytest.raises(ValueError, match=message):
        CEVCLUS(2).fit(D, **links)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"xi": -1.0}, r"xi must be at least 0; got -1"),
        ({"xi": np.nan}, r"xi must be"),
        ({"variant": "R"}, r"variant must be one of 'article', 'evclust'; got 'R'"),
        ({"callback": 3}, r"callback must be a function of one argument or None; got 3"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        CEVCLUS(2, **parameters).fit(D)


class Stopped(BaseException):
    """Like Ctrl-C, without a signal."""


def test_an_interrupted_fit_goes_on_to_the_same_answer(tmp_path):
    path, told = tmp_path / "fit.checkpoint", []
    links = {"must_link": [(2, 5)], "cannot_link": [(5, 8)]}

    def stop(progress):
        told.append(progress)
        if len(told) == 3:
            raise Stopped

    whole = CEVCLUS(2, random_state=0).fit(D, **links)
    with pytest.raises(Stopped):
        CEVCLUS(2, callback=stop, random_state=0).fit(D, **links, checkpoint=path)
    assert [p.iteration for p in told] == [1, 2, 3]
    assert [len(p.objective) for p in told] == [5, 5, 5]
    again = CEVCLUS(2, random_state=0).fit(D, **links, resume=path)
    assert again.partition_ == whole.partition_
    np.testing.assert_array_equal(again.history_, whole.history_)
    with pytest.raises(ValueError, match=r"is a checkpoint of another fit: links was"):
        CEVCLUS(2, random_state=0).fit(D, must_link=[(2, 5)], resume=path)
    with pytest.raises(ValueError, match=r"random_state must be a number to resume a fit with n_neighbors"):
        CEVCLUS(2, n_neighbors=4).fit(D, checkpoint=tmp_path / "other.checkpoint")


@pytest.mark.filterwarnings("ignore:CEVCLUS has not converged")
def test_a_callback_ends_a_fit_with_what_there_is():
    model = CEVCLUS(2, callback=lambda progress: progress.iteration == 4, random_state=0).fit(D)
    assert model.n_iter_ == 4
    assert not model.converged_
    np.testing.assert_allclose(model.partition_.masses.sum(1), 1.0)


def test_links_in_any_order_are_the_same_links():
    one = CEVCLUS(2, random_state=0).fit(D, must_link=[(2, 5), (1, 2)], cannot_link=[(5, 8)])
    other = CEVCLUS(2, random_state=0).fit(D, must_link=[(2, 1), (5, 2), (1, 2)], cannot_link=[(8, 5)])
    assert one.partition_ == other.partition_
    assert Constraints(*check_constraints([(5, 2)], None, 12)).must_link.tolist() == [[2, 5]]
