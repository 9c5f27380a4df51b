"""Rules: degenerate runs never win, ambiguity is not rewarded, known answers."""

from __future__ import annotations

import numpy as np
import pytest

from softecm import ECM, CredalPartition, FocalSets, SoftECM
from softecm.datasets import make_blobs
from softecm.distances import SoftDTW, SquaredEuclidean
from softecm.scores.valleys import Geometry, groups_apart, silhouette, valleys
from softecm.selection import RULES, sweep
from softecm.selection.batch import geometry_of
from softecm.selection.stability import agreement

BLOBS = make_blobs(90, n_clusters=3, distance=8, random_state=0)


@pytest.fixture(scope="module")
def found():
    """A sweep with a merged corner: with lam = 1e5 the penalty pulls all prototypes together."""
    grid = {"beta": [1.2, 1.5], "lam": [1.0, 1e5]}
    return sweep(BLOBS.data, grid, estimator=SoftECM(3, n_init=2), seeds=3, resamples=3, y=BLOBS.target)


def test_merged_clusters_win_no_guarded_rule(found):
    merged = found["collapsed"].astype(bool)
    assert merged.any()
    for rule in RULES:
        if rule not in ("paper", "mixture"):
            assert not merged[found.best(rule).row], rule


def test_every_rule_answers_with_parameters_rows_and_an_estimator(found):
    for rule in set(RULES) - {"mixture"}:
        best = found.best(rule)
        assert set(best.params) == {"beta", "lam"}
        assert len(best.rows) == 3
        assert best.row in best.rows
        assert best.estimator.get_params()["beta"] == best.params["beta"]
        assert best.estimator.get_params()["random_state"] == found["random_state"][best.row]


def test_the_choice_is_fitted_again_to_the_same_objective(found):
    best = found.best()
    model = best.estimator.fit(BLOBS.data)
    assert model.objective_ == pytest.approx(found["objective"][best.row], rel=1e-9)


def test_the_number_of_clusters_is_found_by_the_geometric_rules_and_stability():
    grid = {"n_clusters": [2, 3, 4, 5]}
    swept = sweep(BLOBS.data, grid, estimator=ECM(n_init=5, beta=1.5), seeds=1, resamples=5)
    assert [swept.best(rule).params["n_clusters"] for rule in ("silhouette", "stability", "valleys")] == [3] * 3


def test_runs_that_have_not_converged_never_win():
    swept = sweep(BLOBS.data, {"beta": [1.2, 1.5]}, estimator=SoftECM(3, n_init=1, max_iter=1))
    with pytest.raises(ValueError, match="2 have not converged"):
        swept.best()
    assert swept.best("paper").params


def test_mass_on_the_empty_set_is_not_rewarded():
    swept = sweep(BLOBS.data, {"delta": [0.05, 50.0]}, estimator=SoftECM(3, n_init=2))
    assert swept["empty"][0] > 0.5
    assert swept["nonspecificity"][0] < swept["nonspecificity"][1] or swept["guarded_nonspecificity"][0] > 0.5
    assert swept.best().params["delta"] == 50.0


def test_stability_needs_resamples_and_rules_have_names(found):
    plain = sweep(BLOBS.data, {"beta": [1.2]}, estimator=SoftECM(3, n_init=1))
    with pytest.raises(ValueError, match="resamples=10"):
        plain.best("stability")
    with pytest.raises(ValueError, match="'silhouette'"):
        plain.best("beauty")
    with pytest.raises(ValueError, match="at least one row"):
        found.where(beta=7.0).best()


def test_silhouette_compares_own_and_next_prototype():
    geometry = Geometry(np.array([[1.0, 4.0, 8.0], [2.0, 2.0, 9.0], [0.0, 0.0, 0.0]]), np.ones((3, 3)))
    assert silhouette(np.array([0, 1, 2]), geometry) == pytest.approx((0.75 + 0.0 + 0.0) / 3)
    assert silhouette(np.array([1, 1, 2]), geometry) == pytest.approx((-0.75 + 0.0 + 0.0) / 3)


def on_a_line(x, prototypes):
    v = np.array(prototypes)
    far = (np.asarray(x)[:, None] - v) ** 2
    return far.argmin(1), Geometry(far, (v[:, None] - v) ** 2)


def test_a_group_that_was_cut_has_no_valley_and_two_groups_have_one(rng):
    x = np.concatenate([rng.normal(0, 1, 200), rng.normal(8, 1, 200)])
    once = np.ones(len(x))
    assert groups_apart(*on_a_line(x, [0, 8]), once) == 2
    assert groups_apart(*on_a_line(x, [-0.8, 0.8, 8]), once) == 2
    assert valleys(*on_a_line(x, [0, 8]), once) > valleys(*on_a_line(x, [-0.8, 0.8, 8]), once)


def test_a_few_outliers_near_each_other_are_no_group(rng):
    x = np.concatenate([rng.normal(0, 1, 200), rng.normal(8, 1, 200), [40.0, 40.1, 40.2]])
    assert groups_apart(*on_a_line(x, [0, 8, 40]), np.ones(len(x))) == 2
    few = np.repeat([0.0, 8.0, 40.0], 3)
    assert groups_apart(*on_a_line(few, [0, 8, 40]), np.ones(len(few))) == 3


def test_a_mean_is_that_of_the_others(rng):
    x, labels = rng.normal(size=(30, 4)), np.repeat([0, 1], [10, 20])
    means = np.stack([x[labels == k].mean(0) for k in (0, 1)])
    far = np.square(x[:, None] - means).sum(-1)
    found = Geometry(far, np.zeros((2, 2)), degree=2.0).without_itself(labels, np.ones(30)).to_clusters
    for i in range(30):
        others = np.delete(np.arange(30), i)
        own = x[others][labels[others] == labels[i]].mean(0)
        assert found[i, labels[i]] == pytest.approx(np.square(x[i] - own).sum())
        assert found[i, 1 - labels[i]] == far[i, 1 - labels[i]]
    true_metric = Geometry(np.sqrt(far), np.zeros((2, 2)), degree=1.0).without_itself(labels, np.ones(30)).to_clusters
    np.testing.assert_allclose(true_metric, np.sqrt(found))
    medoids = Geometry(far, np.zeros((2, 2)))
    assert medoids.without_itself(labels, np.ones(30)) is medoids


def test_prototypes_that_are_no_means_need_a_deeper_valley(rng):
    x = np.concatenate([rng.normal(0, 1, 200), rng.normal(3.6, 1, 200)])
    labels, means = on_a_line(x, [0, 3.6])
    apart = []
    for metric in (SquaredEuclidean(), SoftDTW()):
        quadratic = metric.closed_form.quadratic
        geometry = Geometry.of_prototypes(means.to_clusters, means.between, metric.degree, are_means=quadratic)
        apart.append(groups_apart(labels, geometry, np.ones(400)))
    assert apart == [2, 1]


def test_medoids_need_a_deeper_valley_than_means():
    X = BLOBS.data
    D = np.sqrt(np.square(X[:, None] - X).sum(-1))
    medoids = SoftECM(3, metric="precomputed", n_init=2, random_state=0).fit(D)
    means = SoftECM(3, metric="sqeuclidean", n_init=2, random_state=0).fit(X)
    assert geometry_of(medoids, D).deep < geometry_of(means, X).deep


def test_a_weight_of_two_is_a_doubled_row_in_a_valley(rng):
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(5, 1, 50)])
    once, twice = on_a_line(x, [0, 5]), on_a_line(np.repeat(x, 2), [0, 5])
    weighted = valleys(*once, np.ones(100), np.full(100, 2.0))
    assert weighted == pytest.approx(valleys(*twice, np.ones(200)))


def test_one_cluster_and_an_empty_one_have_no_valley():
    x = np.zeros(5)
    assert np.isnan(valleys(*on_a_line(x, [0.0]), np.ones(5)))
    assert groups_apart(*on_a_line(x, [0.0, 9.0]), np.ones(5)) == 1


def test_agreement_is_one_for_equal_hard_partitions_and_nothing_for_ignorance():
    rng = np.random.RandomState(0)
    hard = CredalPartition.from_hard(np.repeat([0, 1, 2], 20))
    renamed = CredalPartition.from_hard(np.repeat([2, 0, 1], 20))
    assert agreement(hard, renamed, rng) == pytest.approx(1.0)
    nothing = CredalPartition(np.tile([0.0, 0.0, 0.0, 1.0], (60, 1)), FocalSets.full(2))
    assert agreement(nothing, nothing, rng) == 0.0
    mixed = CredalPartition.from_hard(rng.permutation(np.repeat([0, 1, 2], 20)))
    assert abs(agreement(hard, mixed, rng)) < 0.2


def test_the_heatmap_is_labelled_and_hatches_merged_cells(found):
    ax = found.heatmap(x="beta", y="lam")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("beta", "lam")
    assert len(ax.patches) >= 2
    assert ax.get_legend().get_texts()[0].get_text() == "merged, empty or not converged"
    with pytest.raises(ValueError, match="column must be one of"):
        found.heatmap(value="beauty")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_table_is_a_frame_of_any_library(found, backend):
    frame = found.to_frame(backend)
    assert len(frame) == len(found) == 12
    assert "objective" in (frame.column_names if backend == "pyarrow" else list(frame.columns))
    assert "Sweep of 12 cells over beta, lam" in repr(found)


def test_a_combination_half_of_whose_runs_are_merged_is_not_trusted():
    columns = {"found": np.full(4, 2), "converged": np.ones(4, dtype=bool)}
    columns |= {"collapsed": np.array([True, False, True, False]), "guarded_nonspecificity": np.arange(4.0)}
    columns["sizes"] = np.fromiter(([3, 3] for _ in range(4)), dtype=object)
    rule = RULES["nonspecificity"]
    assert rule.value(columns, np.arange(4)) == np.inf
    assert rule.value(columns, np.arange(1, 4)) == 2.0
