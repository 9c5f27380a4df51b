"""MECMdd: iterations as published, an objective that never rises, views and their names."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from golden import load
from softecm import FocalSets, MECMdd, load_model
from softecm.algorithms.view_medoids import ViewMedoids
from softecm.datasets import make_blobs
from softecm.distances.weighted_parts import ALL, SET, Weighing
from softecm.scores import adjusted_rand_index

GOLDEN = load("mecmdd")
WAYS = [(weights, rule) for weights in ("global", "local") for rule in ("sum", "product")]


def of_points(*columns):
    return np.stack([cdist(x, x) for x in columns])


def two_views(seed=0, n=45):
    """Three groups in the first view, noise in the second."""
    blobs = make_blobs(n, n_clusters=3, distance=8.0, random_state=seed)
    noise = np.random.default_rng(seed).normal(scale=3.0, size=(len(blobs.data), 2))
    return of_points(blobs.data, noise), blobs.target


def random_views(seed, n=20, count=3):
    """Views without geometry."""
    d = np.random.default_rng(seed).integers(1, 9, size=(count, n, n)).astype(float)
    d = np.triu(d, 1)
    return d + d.transpose(0, 2, 1)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_a_round_is_the_published_one(case):
    views = np.array([GOLDEN["datasets"][name] for name in case["dissimilarities"]])
    sets = [tuple(np.flatnonzero(row).tolist()) for row in case["F"]]
    focal = FocalSets.of(len(case["F"][0]), sets)
    assert list(focal.sets) == sets
    rule = {"sum": "sum", "prod": "product"}[case["rule"]]
    weighing = Weighing(rule, {"global": ALL, "set": SET}[case["weights_of"]], case["s"])
    delta2 = np.full(len(views), case["delta2"] / len(views))
    how = {key: case[key] for key in ("alpha", "beta", "gamma", "eta")}
    problem = ViewMedoids(views, focal, weighing, delta2=delta2, form="published", **how)
    output, clusters = case["output"], np.array(case["medoids"])
    np.testing.assert_array_equal(problem.begin(clusters).medoids, output["set_medoids"])
    before = torch.tensor(case["weights_before"], dtype=torch.float64)
    state = problem.at(np.array(output["set_medoids"]), torch.atleast_2d(before))
    np.testing.assert_allclose(state.masses, output["masses"], atol=1e-14)
    assert state.objective == pytest.approx(output["J_after_masses"], rel=1e-13)
    weights = problem.weighed(state)
    np.testing.assert_allclose(weights.squeeze(0), output["weights"], rtol=1e-13)
    assert problem.objective(state, weights) == pytest.approx(output["J_after_weights"], rel=1e-13)
    next_ones = problem.moved(state, weights)[: len(clusters)]
    np.testing.assert_array_equal(next_ones, output["next_medoids_singleton_rule"])


@pytest.mark.parametrize(("weights", "rule"), WAYS)
def test_the_monotone_form_never_rises(weights, rule, many):
    for seed in range(many // 4):
        model = MECMdd(3, weights=weights, constraint=rule, beta=1.8, n_init=1, tol=1e-10, random_state=seed)
        model.fit(random_views(seed))
        assert model.n_rises_ == 0
        assert (np.diff(model.history_) <= 1e-12 * model.history_[1:]).all()
        assert model.objective_ == model.history_[-1]


@pytest.mark.parametrize(("weights", "rule"), WAYS)
def test_free_medoids_never_rise_and_each_is_the_best_for_the_others(weights, rule, many):
    for seed in range(many // 8):
        views = random_views(seed)
        how = {"form": "free", "weights": weights, "constraint": rule, "lam": float(seed % 3)}
        model = MECMdd(3, beta=1.8, n_init=1, tol=1e-10, random_state=seed, **how).fit(views)
        assert model.n_rises_ == 0
        assert (np.diff(model.history_) <= 1e-12 * model.history_[1:]).all()
        np.testing.assert_allclose(model.predict_partition(views).masses, model.partition_.masses, atol=1e-14)
        assert len(set(model.medoids_[:3])) == 3
        problem = model._problem(views, model.focal_sets_, None)
        state = problem.at(model.medoids_, torch.from_numpy(model._weights))
        assert state.objective == pytest.approx(model.objective_, rel=1e-12)
        for z in range(20):  # with fixed masses, no other medoid of a set costs less
            pair = model.focal_sets_.sets[-1]
            u = problem.shares(state.weights)[-1].numpy()
            tied = how["lam"] * sum(views[:, z, k] for k in model.medoids_[list(pair)])
            held = state.held[:, -1].numpy() @ views[:, :, z].T
            now = float(u @ state.dispersions[-1].numpy())
            assert now <= float(u @ (held + tied)) * (1.0 + 1e-9)


def test_a_weight_of_two_is_an_object_twice():
    views, _ = two_views(n=24)
    counts = 1.0 + (np.arange(24) % 3 == 0)
    rows = np.repeat(np.arange(24), counts.astype(int))
    for form in ("monotone", "free", "published"):
        how = {"form": form, "init": [0, 8, 16], "delta": "auto"}
        weighed = MECMdd(3, **how).fit(views, sample_weight=counts)
        places = [int(np.flatnonzero(rows == k)[0]) for k in (0, 8, 16)]
        twice = MECMdd(3, **{**how, "init": places}).fit(views[:, rows][:, :, rows])
        np.testing.assert_allclose(weighed.partition_.masses[rows], twice.partition_.masses, atol=1e-8)
        assert weighed.objective_ == pytest.approx(twice.objective_, rel=1e-9)


def definition(problem, state, weights, clusters):
    """The objective for a state's masses, other weights and the clusters' medoids, by definition."""
    medoids = problem._with_sets(np.asarray(clusters))
    u, m = problem.shares(weights).numpy(), state.masses.numpy() ** problem.beta
    total = 0.0
    for a, members in enumerate(problem.focal.sets):
        tau = np.tensordot(u[a], problem.views, 1)
        to_set = tau[:, medoids[a]]
        if len(members) > 1:
            to_set = (to_set + 0.5 * tau[:, medoids[list(members)]].mean(1)) / 1.5
        total += len(members) * (m[:, 1 + a] @ to_set)
    mean = problem.weighing.effective(weights).mean(0).numpy()
    return total + mean @ (problem.delta2 * m[:, 0].sum() + problem.regular.numpy())


@pytest.mark.parametrize(("weights", "rule"), WAYS)
def test_each_step_of_the_monotone_form_is_the_best_for_the_others(weights, rule):
    rng = np.random.default_rng(1)
    views, n = two_views(n=21)[0], 21
    weighing = Weighing(rule, SET if weights == "local" else ALL)
    problem = ViewMedoids(views, FocalSets.full(3), weighing, 1.0, 1.5, np.array([400.0, 500.0]))
    moves = 0
    for _ in range(5):
        state = problem.begin(rng.choice(n, 3, replace=False))
        new = problem.weighed(state)
        for _ in range(20):
            other = new * torch.as_tensor(np.exp(0.1 * rng.normal(size=new.shape)))
            other = other / (other.sum(1, keepdim=True) if rule == "sum" else other.log().mean(1, keepdim=True).exp())
            assert problem.objective(state, new) <= problem.objective(state, other) * (1.0 + 1e-12)
        before, moved = state.medoids[:3], problem.moved(state, new)[:3]
        assert definition(problem, state, new, before) == pytest.approx(problem.objective(state, new), rel=1e-12)
        lowest = definition(problem, state, new, moved)
        costs = [definition(problem, state, new, [*moved[:2], z]) for z in range(n) if z not in moved[:2]]
        assert lowest == pytest.approx(min(costs), rel=1e-12)  # the third was placed last
        assert len(set(moved)) == 3
        moves += lowest < definition(problem, state, new, before)
    assert moves > 0


def test_the_published_form_keeps_its_best_round_and_says_that_it_rose():
    views = np.array(list(GOLDEN["datasets"].values()))
    how = {"max_cardinality": None, "gamma": 0.0, "init": [1, 4, 17]}
    model = MECMdd(3, form="published", **how).fit(views)
    assert model.n_rises_ == 2
    assert model.objective_ == model.history_.min() < model.history_[-1]
    assert model.runs_["objective"][0] == model.objective_
    np.testing.assert_allclose(model.predict_partition(views).masses, model.partition_.masses, atol=1e-14)
    assert MECMdd(3, **how).fit(views).n_rises_ == 0


@pytest.mark.parametrize("form", ["monotone", "free", "published"])
@pytest.mark.parametrize(("weights", "rule"), WAYS)
def test_the_view_with_groups_counts_more(form, weights, rule):
    views, target = two_views()
    model = MECMdd(3, form=form, weights=weights, constraint=rule, n_init=3, random_state=0).fit(views)
    assert adjusted_rand_index(target, model.labels_) > 0.9
    good, poor = (np.atleast_1d(w)[:3] for w in model.view_weights_.values())
    assert (good > poor).all()
    whole = np.stack([np.broadcast_to(w, len(model.focal_sets_)) for w in model.view_weights_.values()])
    np.testing.assert_allclose(whole.sum(0) if rule == "sum" else whole.prod(0), 1.0)


def test_one_view_has_all_the_weight():
    views, target = two_views()
    model = MECMdd(3, n_init=3, random_state=0).fit(views[0])
    assert model.view_weights_ == {"view 1": 1.0}
    assert adjusted_rand_index(target, model.labels_) > 0.9
    again = MECMdd(3, n_init=3, random_state=0).fit(views[:1])
    assert again.partition_ == model.partition_


def test_arrays_lists_and_dicts_are_the_same():
    views, _ = two_views()
    array = MECMdd(3, n_init=3, random_state=0).fit(views)
    listed = MECMdd(3, n_init=3, random_state=0).fit(list(views))
    named = MECMdd(3, n_init=3, random_state=0).fit({"a": views[0], "b": views[1]})
    assert array.partition_ == listed.partition_ == named.partition_
    assert list(named.view_weights_) == ["a", "b"]
    assert list(array.view_weights_) == ["view 1", "view 2"]
    some = views[:, :5]
    expected = named.predict_partition(some)
    assert named.predict_partition({"b": some[1], "a": some[0]}) == expected
    np.testing.assert_allclose(expected.masses, named.partition_.masses[:5], atol=1e-14)


def test_another_order_of_the_objects_gives_the_same_masses():
    views, _ = two_views(3)
    order = np.random.default_rng(0).permutation(views.shape[1])
    first = MECMdd(3, n_init=3, random_state=0).fit(views).partition_
    second = MECMdd(3, n_init=3, random_state=0).fit(views[:, order][:, :, order]).partition_
    np.testing.assert_allclose(second.masses, first.masses[order], atol=1e-10)


def test_the_unit_of_a_view_does_not_matter_with_product():
    views, _ = two_views(1)
    one = MECMdd(3, constraint="product", n_init=3, random_state=0).fit(views)
    other = MECMdd(3, constraint="product", n_init=3, random_state=0).fit(
        views * np.array([1.0, 1024.0])[:, None, None]
    )
    np.testing.assert_allclose(other.partition_.masses, one.partition_.masses, atol=1e-6)


def test_no_outliers_without_delta():
    views, _ = two_views()
    model = MECMdd(3, delta=None, random_state=0).fit(views)
    assert model.delta_ is None
    assert not model.outlier_scores_.any()
    np.testing.assert_allclose(model.predict_partition(views).masses, model.partition_.masses, atol=1e-14)


@pytest.mark.parametrize("form", ["monotone", "free", "published"])
def test_a_model_is_saved_and_changed_settings_do_not_matter(form, tmp_path):
    views, _ = two_views()
    model = MECMdd(3, form=form, weights="local", random_state=0).fit({"a": views[0], "b": views[1]})
    model.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict_partition(views).masses, model.predict_partition(views).masses)
    np.testing.assert_array_equal(again.view_weights_["a"], model.view_weights_["a"])
    np.testing.assert_array_equal(again.medoids_, model.medoids_)
    model.set_params(beta=3.0, gamma=7.0, constraint="product")
    np.testing.assert_array_equal(again.predict_partition(views).masses, model.predict_partition(views).masses)


VIEWS = two_views(n=12)[0]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([VIEWS[0], VIEWS[1][:8, :8]], r"same objects in all views; got \(\d+, \d+\) in view 1 and \(8, 8\) in view 2"),
        ([VIEWS[0], VIEWS[1][:, :8]], r"view 2: X must be a square matrix"),
        ({"a": VIEWS[0], "b": -VIEWS[1]}, r"b: X must not hold a negative dissimilarity"),
        ({"a": VIEWS[0], "b": np.triu(VIEWS[1])}, r"b: X must be symmetric"),
        ({"a": VIEWS[0], "b": VIEWS[1] * np.nan}, r"b: Input X contains NaN"),
        (
            {"a": VIEWS[0], "b": 1.0 - np.eye(len(VIEWS[0]))},
            r"b: X must not have a view in which all objects are equally far apart",
        ),
        ({1: VIEWS[0]}, r"X must have a name for each view; got \[1\]"),
        ({}, r"X must have a name for each view; got \[\]"),
        (np.empty((0, 5, 5)), r"X must have at least one view"),
    ],
)
def test_bad_views(X, message):
    with pytest.raises(ValueError, match=message):
        MECMdd(2).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": "both"}, r"weights must be one of 'global', 'local'; got 'both'"),
        ({"constraint": "entropy"}, r"constraint must be one of 'sum', 'product'"),
        ({"form": "as published"}, r"form must be one of 'monotone', 'free', 'published'"),
        ({"lam": -1}, r"lam must be at least 0"),
        ({"s": 1}, r"s must be .*above 1|s must be .*greater than 1|s must be .*more than 1"),
        ({"beta": 1}, r"beta must be"),
        ({"delta": "far"}, r"delta must be one of 'auto'"),
        ({"delta": 0}, r"delta must be"),
        ({"gamma": -1}, r"gamma must be at least 0; got -1"),
        ({"init": [1, 99]}, r"init must hold different numbers of objects"),
        ({"n_clusters": 99}, r"n_clusters must be at most the number of objects"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MECMdd(**parameters).fit(VIEWS)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (VIEWS[0], r"X must have the views of the fit, a, b; got view 1"),
        ({"a": VIEWS[0], "c": VIEWS[1]}, r"X must have the views of the fit, a, b; got a, c"),
        (VIEWS[:, :, :5], r"view 1: X has 5 features, but MECMdd is expecting"),
        ([VIEWS[0], VIEWS[1][:3]], r"same objects in all views"),
    ],
)
def test_bad_new_objects(X, message):
    model = MECMdd(2, random_state=0).fit({"a": VIEWS[0], "b": VIEWS[1]})
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_says_when_it_has_not_converged():
    with pytest.warns(UserWarning, match=r"MECMdd has not converged after 1 iterations"):
        MECMdd(3, max_iter=1, n_init=1, random_state=0).fit(random_views(0))


def test_a_report_of_several_matrices_is_drawn(tmp_path):
    views, _ = two_views()
    MECMdd(3, n_init=2, random_state=0).fit(views).report(views, tmp_path / "report.html")
    assert "group 3" in (tmp_path / "report.html").read_text(encoding="utf-8")
