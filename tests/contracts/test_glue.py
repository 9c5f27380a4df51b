"""The last lines between a parameter and its effect: bugs there that no other test detects (tools/mutations.py)."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

from softecm import MECMdd, SoftECM
from softecm.belief import CredalPartition, FocalSets
from softecm.cli.result_folder import partition_table
from softecm.distances import Combined, SquaredEuclidean, weighted_parts
from softecm.distances.squared_euclidean import CombinedSquares
from softecm.distances.view_statistics import agreement
from softecm.explain import ExplanationTree
from softecm.files import journal as journals
from softecm.files import lock as locks
from softecm.fit import stages
from softecm.fit.algorithm import mass_cost, soft_ecm_problem
from softecm.fit.prepare import InMemory
from softecm.fit.stages import gabriel
from softecm.objective.problem import RELAXATIONS, SOLVERS
from softecm.objective.pull import PrototypePull
from softecm.readers.numbers import whole_numbers
from softecm.selection import stability, sweep
from softecm.spaces.sparse import SparseRows, WholeRows
from softecm.spaces.views import EncodedViews

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)) + np.repeat([[0.0], [7.0]], 20, 0)


def test_neighbours_are_told_by_squares_whatever_the_degree_of_a_metric():
    """A third cluster is between two, off the straight line: by squares it is in the way, by lengths it is not."""
    apart = pairwise_distances([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]])
    by_length, by_square = gabriel(apart, 1.0), gabriel(apart**2, 2.0)
    np.testing.assert_array_equal(by_length, by_square)
    assert not by_length[0, 1]


def test_an_object_that_does_not_count_makes_no_neighbours():
    """Between the first and the third cluster there is only such an object."""
    middles = np.array([[0.0, 0.0], [4.0, 0.0], [2.2, 10.0]])
    near = np.repeat(middles, 20, 0) + np.random.default_rng(0).normal(scale=0.05, size=(60, 2))
    given = {"metric": "sqeuclidean", "init": middles}
    rows, weights = np.r_[near, [[0.9, 5.0]]], np.r_[np.ones(60), 0.0]
    assert (0, 2) in SoftECM(3, **given).fit(rows).focal_sets_.sets
    assert (0, 2) not in SoftECM(3, **given).fit(rows, sample_weight=weights).focal_sets_.sets


def test_an_absurd_object_is_no_measure_of_how_far_clusters_are_apart():
    model = SoftECM(2, metric="sqeuclidean", random_state=0)
    apart = clone(model).fit(X).separation_
    assert model.fit(np.r_[X, [[1e6, 0.0]]]).separation_ == pytest.approx(apart, rel=0.2)


def test_a_score_is_the_objective_per_weight():
    counts = RNG.integers(1, 4, len(X)).astype(float)
    model = SoftECM(2, metric="sqeuclidean", delta=9.0, relaxation="penalty", lam=3.0, tol=1e-9, random_state=0)
    model.fit(X, sample_weight=counts)
    assert model.model_.tie > 0
    assert -model.score(X, sample_weight=counts) == pytest.approx(model.objective_ / counts.sum(), rel=1e-6)


def test_clusters_are_found_with_the_beta_of_their_masses():
    rows = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0.0, 0.0], [3.0, 0.0]], 100, 0)
    model = SoftECM(2, metric="sqeuclidean", beta=2.0, random_state=0).fit(rows)
    clusters = model.cluster_centers_
    given = {"beta": 2.0, "max_cardinality": 1, "delta": model.model_.close, "init": clusters, "tol": 1e-8}
    alone = SoftECM(2, metric="sqeuclidean", **given).fit(rows)
    np.testing.assert_allclose(alone.cluster_centers_, clusters, atol=1e-3)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_a_group_off_the_straight_line_parts_two_others_in_a_fit_by_lengths_too(metric, monkeypatch):
    """The same three groups with objects between all of them."""
    monkeypatch.setattr(InMemory, "second_nearest", lambda objects, model: np.ones((3, 3)))
    middles = np.array([[0.0, 0.0], [20.0, 0.0], [10.0, 5.0]])
    X = np.repeat(middles, 20, 0) + np.random.default_rng(0).normal(size=(60, 2))
    model = SoftECM(3, metric=metric, n_init=2, random_state=0).fit(X)
    assert len(model.focal_sets_) == 5
    assert tuple(sorted(model.predict(middles)[:2].tolist())) not in model.focal_sets_.sets


def test_a_line_of_a_journal_is_on_the_disk_before_the_next(tmp_path, monkeypatch):
    sizes, real = [], os.fsync

    def watched(handle):
        sizes.append(os.fstat(handle).st_size)
        real(handle)

    with journals.Journal(tmp_path / "journal", {"work": 1}) as journal:
        monkeypatch.setattr(journals.os, "fsync", watched)
        journal.write(["a"], [{"x": 1}])
        assert sizes == [(tmp_path / "journal").stat().st_size]


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_none(tmp_path, monkeypatch):
    asked = []

    def lock(handle):
        asked.append(handle)
        if len(asked) == 1:  # the holder ends, and removes the file
            next(tmp_path.glob(".softecm-*.lock")).unlink()

    monkeypatch.setattr(locks, "_lock", lock)
    with locks.locked(tmp_path / "journal"):
        assert len(asked) == 2
        assert list(tmp_path.glob(".softecm-*.lock"))


@pytest.mark.parametrize("warm_start", [False, True], ids=["one batch", "fit by fit"])
def test_every_resample_is_another_one_with_another_seed(warm_start, monkeypatch):
    drawn = []
    name = "_refit_alone" if warm_start else "_refit_together"
    real = getattr(stability, name)

    def watched(cells, data, rows, compared, number, report):
        drawn.append((tuple(rows), number))
        return real(cells, data, rows, compared, number, report)

    monkeypatch.setattr(stability, name, watched)
    given = {"metric": "sqeuclidean", "init": "k-means++", "n_init": 1, "random_state": 0, "delta": 5.0}
    sweep(X, {"alpha": [1.0]}, estimator=SoftECM(2, warm_start=warm_start, max_cardinality=2, **given), resamples=3)
    assert len({rows for rows, _ in drawn}) == len({number for _, number in drawn}) == 3


def test_an_honest_tree_has_not_seen_what_it_judges():
    """Groups independent of the table: a tree that knows the objects explains them, an honest one can't."""
    masses = np.zeros((120, 4))
    masses[np.arange(120), RNG.integers(1, 4, 120)] = 1.0
    partition = CredalPartition(np.c_[np.zeros(120), masses[:, 1:]], FocalSets.up_to(3, 1))
    tree = ExplanationTree(lam=0.0, leaves="best", min_gain=0.0, cv=4)
    tree.fit(partition, pd.DataFrame(RNG.normal(size=(120, 12)), columns=[f"c{k}" for k in range(12)]))
    assert tree.representativeness_[0.0] - tree.honest_[0.0] > 0.08


def test_whole_numbers_that_floats_can_not_hold_stay_floats():
    assert whole_numbers(pd.Series([1.0, 2.0**53 - 1])).dtype.kind == "i"
    assert whole_numbers(pd.Series([1.0, 2.0**53])).dtype.kind == "f"


def test_weights_of_matrices_count_like_copies():
    counts = RNG.integers(1, 4, len(X))
    rows, views = np.repeat(np.arange(len(X)), counts), [pairwise_distances(X), pairwise_distances(X[:, :1])]
    given = {"init": [3, 30], "delta": 4.0, "max_cardinality": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighed = MECMdd(2, **given).fit(views, sample_weight=counts.astype(float))
        first = [int(np.flatnonzero(rows == k)[0]) for k in (3, 30)]
        copied = MECMdd(2, **given | {"init": first}).fit([d[rows][:, rows] for d in views])
    assert copied.objective_ == pytest.approx(weighed.objective_, rel=1e-6)


def test_starts_are_drawn_by_the_delta_found_last(monkeypatch):
    """While delta shrinks, so does the influence of outliers."""
    caps, shrunk, draw, measure = [], [], stages.Draw, stages.robust_delta

    def drawn(kind, n, cap, greedy):
        caps.append(cap)
        return draw(kind, n, cap, greedy)

    def measured(*given):
        shrunk.append(measure(*given))
        return shrunk[-1]

    monkeypatch.setattr(stages, "Draw", drawn)
    monkeypatch.setattr(stages, "robust_delta", measured)
    SoftECM(2, metric="sqeuclidean", random_state=0).fit(np.r_[X, X + 300.0, [[5000.0, 0.0]]])
    assert len(caps) >= 2
    assert caps[1] < 0.1 * caps[0]
    assert caps[1:] == [one**2 for one in shrunk[: len(caps) - 1]]


def test_rounding_below_zero_in_a_view_is_zero(monkeypatch):
    """If the parts' own distances are slightly negative."""
    given = {"init": "k-means++", "n_init": 1, "max_iter": 1, "delta": 4.0, "random_state": 0}
    metric = Combined({"a": "manhattan", "b": "sqeuclidean"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftECM(2, metric=metric, **given).fit({"a": X, "b": X[:, :1]}).model_
    less = torch.tensor([[-1e-9, 1.0]], dtype=torch.float64)
    monkeypatch.setattr(weighted_parts, "measured", lambda *_: (less, lambda weights: None))
    one = EncodedViews((torch.zeros(1, 2), torch.zeros(1, 1)), None, (), model.space)
    assert model.metric.part_distances(one, model.prototypes[:2], 0).each.min() == 0.0


def test_a_sparse_row_is_at_no_distance_from_itself():
    rows = SparseRows.of_dense(torch.from_numpy(RNG.normal(size=(9, 50)) * 1e3))
    d = CombinedSquares(rows).pairwise(WholeRows(rows), torch.eye(9, dtype=torch.float64))
    assert d.diagonal().tolist() == [0.0] * 9
    assert (d >= 0).all()


def test_views_have_in_common_what_they_have_in_common_both_ways():
    present = np.ones((40, 3), dtype=bool)
    present[:5, 2] = False
    tables = [pairwise_distances(part) for part in (X, X[:, :1], X[:, 1:])]
    common = agreement(tables, present, np.ones(40))
    assert (common == common.T).all()
    assert (common[~np.eye(3, dtype=bool)] > 0).all()


def test_no_header_of_a_table_is_a_formula():
    partition = CredalPartition.from_hard([0, 1]).rename(["=1+1", "@b"])
    table = partition_table(partition, ["=x", "y"], beside=pd.DataFrame({"+c": [1, 2]}))
    assert not [name for name in table.columns if name[0] in "=+-@"]
    assert "'+c" in table.columns
    assert table["id"][0] == "'=x"


def test_what_was_known_before_counts_once_in_the_prototype_step():
    """At the result of the exact step, the gradient of the descent's cost vanishes."""
    x, focal = torch.from_numpy(X), FocalSets.full(2)
    pull = PrototypePull(x[[3, 30]] + 2.0, torch.tensor([20.0, 5.0]).double())
    cost = mass_cost(focal, 1.0, 1.5, 4.0, like=x, runs=1, weights=None)
    how = {"lam": 1.0, "relaxation": RELAXATIONS["penalty"], "solver": SOLVERS["auto"], "links": None, "tol": 1e-4}
    problem = soft_ecm_problem(x, SquaredEuclidean(), focal, cost, pull=pull, **how)
    state = problem.begin(torch.cat([x[[3, 30]], x[[3, 30]].mean(0, keepdim=True)])[None])
    _, slope = problem.fixed(state)(problem.solve(state))
    assert slope.abs().max() < 1e-6
