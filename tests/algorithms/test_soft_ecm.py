"""Soft-ECM: known answers, limits, descent, and the estimator's behaviour."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from golden import load
from problems import largest_rise, random_problem
from pure import soft_ecm
from softecm import ECM, CollapseWarning, FocalSets, GradientDescent, NowhereWarning, ReadingWarning, SoftECM
from softecm.datasets import load_diamond, make_blobs
from softecm.distances import SemiMetric, SquaredEuclidean

DIAMOND = load_diamond().data
PAPER = {"alpha": 1 / 6, "beta": 2.0, "delta": 11.0}


class Withheld(SemiMetric):
    """Squared Euclidean distance without capabilities."""

    def pairwise(self, x, v):
        return (x[:, None] - v).square().sum(-1)


def golden_run(case, **options):
    return SoftECM(
        case["n_clusters"], metric="sqeuclidean", alpha=case["alpha"], beta=case["beta"], delta=case["delta"],
        lam=case["lam"], relaxation=case["relaxation"], max_cardinality=case["max_cardinality"],
        init=case["init_centers"], tol=1e-13, max_iter=3000,
    ).set_params(**options).fit(case["X"])  # fmt: skip


@pytest.mark.filterwarnings("ignore::softecm.CollapseWarning")
def test_the_exact_reference_solutions_are_met():
    for case in load("soft_ecm"):
        model = golden_run(case)
        name = case["name"]
        np.testing.assert_allclose(model.partition_.masses, case["masses"], atol=1e-8, err_msg=name)
        np.testing.assert_allclose(model.prototypes_, case["prototypes"], atol=1e-8, err_msg=name)
        assert model.objective_ == pytest.approx(case["objective"], rel=1e-10)
        np.testing.assert_allclose(model.history_[:6], case["first_objectives"], rtol=1e-8, err_msg=name)


@pytest.mark.filterwarnings("ignore::softecm.CollapseWarning")
def test_the_generic_solver_reaches_the_same_optima():
    for case in load("soft_ecm"):
        model = golden_run(case, metric=Withheld(), tol=1e-10)
        np.testing.assert_allclose(model.partition_.masses, case["masses"], atol=1e-6, err_msg=case["name"])
        assert model.objective_ == pytest.approx(case["objective"], rel=1e-6)


def test_gap_with_a_large_lambda_is_ecm():
    ecm = ECM(2, **PAPER, init=[[-3, 0], [3, 0]], tol=1e-12, max_iter=3000).fit(DIAMOND)
    gap = SoftECM(2, **PAPER, lam=1e6, relaxation="gap", init=[[-3, 0], [3, 0]], tol=1e-12, max_iter=3000).fit(DIAMOND)
    np.testing.assert_allclose(gap.partition_.masses, ecm.partition_.masses, atol=1e-5)
    np.testing.assert_allclose(gap.prototypes_, ecm.prototypes_, atol=1e-5)


def test_exact_is_ecm():
    X = make_blobs(90, between=3, random_state=1).data
    ecm = ECM(3, beta=1.5, random_state=3, tol=1e-10, max_iter=2000).fit(X)
    exact = SoftECM(3, beta=1.5, relaxation="exact", random_state=3, tol=1e-10, max_iter=2000).fit(X)
    np.testing.assert_allclose(exact.partition_.masses, ecm.partition_.masses, atol=1e-9)


@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
def test_the_objective_never_rises(relaxation, many):
    for seed in range(many):
        problem = random_problem(seed)
        x, focal, init = problem.pop("x"), problem.pop("focal"), problem.pop("init")
        run = soft_ecm(x, SquaredEuclidean(), focal, init, relaxation=relaxation, max_iter=50, **problem)
        assert largest_rise(run.history[0]) <= 1e-9, f"seed {seed}"
        assert np.isfinite(run.prototypes.numpy()).all(), f"seed {seed}"


def test_the_paper_reads_the_diamond_so():
    model = SoftECM(2, **PAPER, lam=1.5, random_state=0).fit(DIAMOND)
    left, right = model.labels_[2], model.labels_[8]
    sets = model.partition_.sets().tolist()
    assert sets[:5] == [(left,)] * 5
    assert sets[5] == (0, 1)
    assert sets[6:11] == [(right,)] * 5
    assert sets[11] == ()


def test_a_large_lambda_merges_and_says_so():
    with pytest.warns(CollapseWarning, match=r"relaxation='gap', which never does, or a lam of 0\.875"):
        model = SoftECM(2, **PAPER, lam=3.5, random_state=0).fit(DIAMOND)
    assert model.collapsed_
    assert model.separation_ < 1e-4
    assert not SoftECM(2, **PAPER, lam=3.5, relaxation="gap", random_state=0).fit(DIAMOND).collapsed_


@pytest.mark.filterwarnings("ignore::softecm.CollapseWarning")
@pytest.mark.parametrize("steps", [1, 100])
def test_the_papers_descent_stops_on_its_way_with_object_6_on_the_left(steps):
    model = SoftECM(
        2, **PAPER, lam=3.5, init=[[-3, 0], [3, 0]], tol=1e-3, max_iter=5000, solver=GradientDescent(inner_steps=steps)
    ).fit(DIAMOND)
    assert model.partition_.masses[5, 1:].argmax() == 0
    assert 0.35 < model.partition_.masses[5, 1] < 0.55
    assert largest_rise(model.history_) <= 1e-9


def test_gradient_descent_reaches_the_exact_optimum_given_time():
    exact = SoftECM(2, **PAPER, lam=1.5, init=[[-3, 0], [3, 0]], tol=1e-9).fit(DIAMOND)
    slow = SoftECM(2, **PAPER, lam=1.5, init=[[-3, 0], [3, 0]], tol=1e-8, max_iter=5000, solver="gradient").fit(DIAMOND)
    np.testing.assert_allclose(slow.partition_.masses, exact.partition_.masses, atol=1e-4)


def test_a_step_too_long_is_shortened():
    model = SoftECM(
        2, **PAPER, init=[[-3, 0], [3, 0]], solver=GradientDescent(learning_rate=10.0, inner_steps=20), max_iter=500
    ).fit(DIAMOND)
    assert largest_rise(model.history_) <= 1e-9


def test_the_training_partition_is_what_predict_gives():
    X = make_blobs(80, between=4, outliers=2, random_state=0).data
    model = SoftECM(3, random_state=0).fit(X)
    assert np.array_equal(model.partition_.masses, model.predict_partition(X).masses)
    assert np.array_equal(model.labels_, model.predict(X))
    assert model.score(X) == pytest.approx(-model.objective_ / len(X))
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)
    assert np.array_equal(model.outlier_scores_, model.partition_.masses[:, 0])
    assert model.prototypes_.shape == (6, 2)
    assert model.cluster_centers_.shape == (3, 2)
    assert model.history_[-1] == pytest.approx(model.objective_)


def test_a_doubled_row_equals_a_weight_of_two():
    X = make_blobs(60, between=3, random_state=2).data
    weights = np.ones(len(X))
    weights[:20] = 2
    weighted = SoftECM(3, random_state=5).fit(X, sample_weight=weights)
    order = np.random.default_rng(0).permutation(len(X) + 20)
    doubled = SoftECM(3, random_state=5).fit(np.concatenate([X, X[:20]])[order])
    np.testing.assert_allclose(doubled.prototypes_, weighted.prototypes_, atol=1e-8)
    assert doubled.delta_ == pytest.approx(weighted.delta_)
    assert doubled.objective_ == pytest.approx(weighted.objective_)


def test_delta_auto_lies_five_deviations_beyond_the_median_of_nearest_distances():
    X = make_blobs(200, random_state=0).data
    model = SoftECM(3, random_state=0).fit(X)
    near = np.sqrt(((X[:, None] - model.cluster_centers_) ** 2).sum(-1).min(1))
    median = np.quantile(near, 0.5, method="inverted_cdf")
    mad = np.quantile(np.abs(near - median), 0.5, method="inverted_cdf")
    assert model.delta_ == pytest.approx(median + 5 * 1.4826 * mad, rel=1e-12)


def test_without_delta_there_are_no_outliers():
    model = SoftECM(2, delta=None, random_state=0).fit(DIAMOND)
    assert (model.partition_.masses[:, 0] == 0).all()
    assert model.delta_ is None


def test_restarts_are_one_batch_and_the_lowest_objective_wins():
    X = make_blobs(90, n_clusters=4, random_state=0).data
    all_at_once = {"init": "k-means++", "max_cardinality": 2, "delta": 4.0, "lam": 1.0}
    model = SoftECM(4, n_init=6, random_state=0, **all_at_once).fit(X)
    runs = model.runs_
    assert len(runs) == 6
    assert model.objective_ == runs["objective"].min()
    one_by_one = [
        SoftECM(4, **{**all_at_once, "init": start}, n_init=1).fit(X).objective_
        for start in (SoftECM(4, n_init=1, random_state=s, **all_at_once).fit(X).cluster_centers_ for s in range(3))
    ]
    assert model.objective_ <= min(one_by_one) * (1 + 1e-3)


def test_a_run_alone_is_the_same_as_in_a_batch():
    problem = random_problem(3)
    x, focal = problem.pop("x"), FocalSets.up_to(2, 2)
    problem.pop("init"), problem.pop("focal")
    starts = torch.stack([x[:2], x[2:4], x[1:3]])
    together = soft_ecm(x, SquaredEuclidean(), focal, starts, **problem)
    for i in range(3):
        alone = soft_ecm(x, SquaredEuclidean(), focal, starts[i : i + 1], **problem)
        torch.testing.assert_close(alone.prototypes[0], together.prototypes[i], rtol=1e-9, atol=1e-9)
        assert alone.n_iter[0] == together.n_iter[i]


def test_parameters_may_differ_from_run_to_run_in_a_batch():
    x = torch.from_numpy(DIAMOND)
    starts = torch.from_numpy(DIAMOND[[2, 8]]).expand(3, 2, 2) + 0.1
    grid = {"beta": [1.2, 1.5, 2.0], "lam": [0.5, 1.0, 1.5], "alpha": 1.0, "delta": 5.0}
    together = soft_ecm(x, SquaredEuclidean(), FocalSets.full(2), starts, **grid)
    alone = soft_ecm(x, SquaredEuclidean(), FocalSets.full(2), starts[:1], beta=1.5, lam=1.0, alpha=1.0, delta=5.0)
    assert together.objective[1] == pytest.approx(alone.objective[0], rel=1e-12)


def test_warm_start_goes_on_from_the_last_fit():
    X = make_blobs(90, random_state=0).data
    model = SoftECM(3, random_state=0, warm_start=True).fit(X)
    first = model.objective_
    model.fit(X)
    assert model.n_iter_ <= 2
    assert model.objective_ == pytest.approx(first)


def test_a_callback_sees_every_round_and_can_end_the_fit():
    seen = []

    def stop_after_three(progress):
        seen.append(progress)
        return progress.iteration == 3

    options = {"init": "k-means++", "max_cardinality": 2, "lam": 1.0, "tol": 1e-12, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="has not converged after 3 iterations"):
        SoftECM(2, **{**PAPER, **options}, callback=stop_after_three).fit(DIAMOND)
    assert [p.iteration for p in seen] == [1, 2, 3]
    assert seen[0].objective.shape == (10,)
    assert (seen[2].objective <= seen[0].objective).all()


def test_too_few_rounds_are_said_aloud():
    with pytest.warns(ConvergenceWarning, match=r"Raise max_iter"):
        model = SoftECM(2, **PAPER, max_iter=1, random_state=0).fit(DIAMOND)
    assert not model.converged_
    assert model.n_iter_ == 1


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_seeding_does_not_depend_on_the_order_of_rows(init):
    X = make_blobs(60, random_state=0).data
    order = np.random.default_rng(1).permutation(60)
    a = SoftECM(3, init=init, random_state=0, n_init=2).fit(X)
    b = SoftECM(3, init=init, random_state=0, n_init=2).fit(X[order])
    np.testing.assert_allclose(a.prototypes_, b.prototypes_, atol=1e-7)


def test_one_cluster_is_the_mean_with_an_outlier_class():
    model = SoftECM(1, random_state=0).fit(DIAMOND)
    assert model.partition_.masses.shape == (12, 2)
    assert not model.collapsed_
    assert (model.labels_ == 0).all()


def test_constant_columns_and_equal_rows_do_no_harm():
    X = np.column_stack([make_blobs(60, random_state=0).data, np.ones(60)])
    model = SoftECM(3, random_state=0).fit(X)
    assert np.isfinite(model.partition_.masses).all()
    with pytest.warns(CollapseWarning, match="All objects are equal: ask for at most n_clusters=1; got 2"):
        same = SoftECM(2, random_state=0).fit(np.ones((8, 2)))
    np.testing.assert_allclose(same.partition_.masses.sum(1), 1)


@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_the_unit_of_the_data_does_not_matter(scale):
    X = make_blobs(60, random_state=0).data
    np.testing.assert_allclose(
        SoftECM(3, random_state=0).fit(X * scale).partition_.masses,
        SoftECM(3, random_state=0).fit(X).partition_.masses,
        atol=1e-3,
    )
    ordinary = SoftECM(3, init=X[[0, 25, 50]]).fit(X)
    scaled = SoftECM(3, init=X[[0, 25, 50]] * scale).fit(X * scale)
    np.testing.assert_allclose(scaled.partition_.masses, ordinary.partition_.masses, atol=1e-3)


def test_float32_gives_the_same_partition_to_its_own_precision():
    X = make_blobs(80, random_state=0).data
    double = SoftECM(3, random_state=0, init=X[:3]).fit(X)
    single = SoftECM(3, random_state=0, init=X[:3], dtype="float32").fit(X)
    assert single.prototypes_.dtype == np.float32
    np.testing.assert_allclose(single.partition_.masses, double.partition_.masses, atol=2e-3)


def test_verbose_logs_every_round(caplog):
    with caplog.at_level("INFO", logger="softecm"):
        SoftECM(2, **PAPER, random_state=0, verbose=1).fit(DIAMOND)
    assert "iteration 1 of at most 200" in caplog.text


def test_a_number_of_clusters_that_is_a_word_points_to_the_search():
    with pytest.raises(ValueError, match=r"n_clusters must be a whole number .* got 'auto'\. .*choose_n_clusters\(X\)"):
        SoftECM(n_clusters="auto").fit(np.eye(4))


def test_an_infinite_cell_is_named_with_its_place():
    table = pytest.importorskip("pandas").DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, -np.inf, 2.0]})
    with pytest.raises(
        ValueError, match=r"contains infinity: -inf in row 2 \(X\[1\]\), column 'b'\. Leave such rows out"
    ):
        SoftECM(2, metric="sqeuclidean").fit(table)


def test_a_column_in_another_unit_is_blamed_where_most_new_objects_belong_nowhere() -> None:
    X = make_blobs(90, n_features=3, distance=10, random_state=0).data
    frame = pd.DataFrame(X - X.min(), columns=["age", "spend", "visits"])
    model = SoftECM(3, random_state=0).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)
    sizes = pytest.warns(ReadingWarning, match=r"the numbers of column 'spend' are about \d+ times those of the fit")
    with sizes, pytest.warns(NowhereWarning, match=r"of 90 objects belong to no group, mostly because of 'spend'"):
        model.predict_partition(frame.assign(spend=400.0 * frame["spend"] + 4000.0))
    sizes = pytest.warns(ReadingWarning, match=r"; of column 'visits' are about")
    with sizes, pytest.warns(NowhereWarning, match=r"90 of 90 objects belong to no group: they differ from"):
        model.predict_partition(frame + 1e4)
