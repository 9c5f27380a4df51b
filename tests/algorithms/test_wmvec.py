"""WMVEC, WMVEC-FP and MVECM-VFL: reference iterations, an objective that never rises, views and their weights."""

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

import golden
import problems
from softecm import ECM, WMVEC, FocalSets, SoftECM, ViewWarning, load_model
from softecm.algorithms.wmvec import WeighedProblem
from softecm.distances import Combined
from softecm.objective.equations import mass_cost

REFERENCE = golden.load("wmvec")
RULE = {"wmvec": "entropy", "wmvec_fp": "entropy", "mvecm_vfl": "product"}


def problem_of(case):
    """A reference case, and its start."""
    parts = [torch.tensor(REFERENCE["datasets"][view], dtype=torch.float64) for view in case["views"]]
    focal = FocalSets.of(len(case["F"][0]), [tuple(np.flatnonzero(row).tolist()) for row in case["F"]])
    start = torch.cat([torch.tensor(part, dtype=torch.float64) for part in case["centers_before"]], 1)[None]
    (delta2,) = set(case["delta2_views"])
    cost = mass_cost(focal, case["alpha"], case["beta"], np.sqrt(delta2), like=start)
    mean = torch.from_numpy(focal.membership / focal.cardinalities[:, None])
    widths = tuple(part.shape[1] for part in parts)
    features = case["variant"] != "wmvec"
    heat, column_heat = case["lambda"] or 1.0, (case["gamma"] or 1.0) if features else None
    x = torch.cat(parts, 1)
    problem = WeighedProblem(
        x, widths, torch.ones(x.shape[1]).double(), cost, mean, RULE[case["variant"]], 1e-12, heat, column_heat
    )
    columns = torch.ones(1, x.shape[1]).double()
    if features:
        columns = torch.cat([torch.tensor(part, dtype=torch.float64) for part in case["feature_weights_before"]])[None]
    return problem, problem.at(start, torch.tensor([case["view_weights_before"]], dtype=torch.float64), columns, None)


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["id"])
def test_rounds_are_those_of_the_reference(case):
    problem, state = problem_of(case)
    first, output = case["output"]["round1"], case["output"]
    np.testing.assert_allclose(state.masses[0], first["masses"], atol=1e-10)
    dispersion = problem.by_view(state.columns * state.scatter) + problem.cost.delta2 * state.empty
    np.testing.assert_allclose(dispersion[0], first["dispersion"], rtol=1e-10)
    assert float(state.objective) == pytest.approx(first["J_after_each_step"][0], rel=1e-10)
    rounds = [float(state.objective)]
    state = problem.step(state)
    np.testing.assert_allclose(state.views[0], first["view_weights"], rtol=1e-10)
    np.testing.assert_allclose(state.free[0], np.concatenate(first["centers"], 1), atol=1e-10)
    if problem.column_heat is not None:
        np.testing.assert_allclose(state.columns[0], np.concatenate(first["feature_weights"]), rtol=1e-10)
    for _ in range(output["rounds"] - 1):
        rounds.append(float(state.objective))
        state = problem.step(state)
    np.testing.assert_allclose(state.free[0], np.concatenate(output["centers_last"], 1), atol=1e-7)
    np.testing.assert_allclose(state.masses[0], output["masses_last"], atol=1e-7)
    np.testing.assert_allclose(state.views[0], output["view_weights_last"], atol=1e-7)
    if problem.column_heat is not None:
        np.testing.assert_allclose(state.columns[0], np.concatenate(output["feature_weights_last"]), atol=1e-7)
    assert float(state.objective) == pytest.approx(output["J_last"], rel=1e-8)
    assert problems.largest_rise(np.array(rounds)) <= 1e-12


def views_of(seed=0, n=60, coin=False):
    """Three groups in two views with different units, and a third view of noise."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    third = rng.choice([0.0, 1.0], (n, 1)) if coin else rng.normal(size=(n, 2))
    first = rng.normal(size=(n, 2)) + 6 * np.c_[group == 1, group == 2]
    return {"first": first, "second": 100 * (rng.normal(size=(n, 3)) + 3 * group[:, None]), "third": third}, group


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("rule", ["entropy", "product"])
def test_views_are_weighed_and_the_objective_never_rises(rule, features, tmp_path):
    X, group = views_of()
    model = WMVEC(3, rule=rule, features=features, n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(group, model.labels_) > 0.9
    assert problems.largest_rise(model.history_) <= 1e-10
    weights = model.view_weights_
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights["third"] < min(weights["first"], weights["second"])
    np.testing.assert_allclose(model.predict_partition(X).masses, model.partition_.masses, atol=1e-10)
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-10)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_partition(X).masses, model.partition_.masses)
    if features:
        for name, part in model.feature_weights_.items():
            assert part.sum() == pytest.approx(1.0)
            np.testing.assert_array_equal(part, again.feature_weights_[name])
    else:
        with pytest.raises(AttributeError, match="features=True"):
            _ = model.feature_weights_


@pytest.mark.filterwarnings("ignore:prototypes of different clusters", "ignore:'\\w+' takes", "ignore:cluster")
@pytest.mark.parametrize("rule", ["entropy", "product"])
def test_rounds_lower_the_objective_from_any_start(rule):
    for seed in range(30 if problems.DEEP else 2):
        rng = np.random.default_rng(seed)
        X, _ = views_of(seed, n=24)
        model = WMVEC(
            int(rng.integers(1, 5)),
            rule=rule,
            features=bool(seed % 2),
            temperature=float(10.0 ** rng.uniform(-2, 1)),
            feature_temperature=float(10.0 ** rng.uniform(-2, 1)),
            beta=float(rng.choice([1.2, 2.0])),
            delta=None if seed == 1 else float(rng.uniform(5, 30)),
            max_cardinality=2,
            init="random",
            n_init=2,
            max_iter=3000,
            random_state=seed,
        )
        model.fit(X)
        assert problems.largest_rise(model.history_) <= 1e-10


def test_of_one_view_without_weights_of_columns_it_is_ecm():
    x = views_of()[0]["first"]
    how = {"beta": 1.2, "delta": 4.0, "focal_sets": "full", "init": x[:3], "tol": 1e-8, "max_iter": 1000}
    theirs = ECM(3, **how).fit(x).partition_
    for X in (x, {"only": x}):
        start = how["init"] if X is x else {"only": how["init"]}
        ours = WMVEC(3, **{**how, "init": start}).fit(X)
        np.testing.assert_allclose(ours.partition_.masses, theirs.masses, atol=1e-6)
    assert ours.view_weights_ == {"only": 1.0}


@pytest.mark.parametrize("rule", ["entropy", "product"])
def test_weights_of_views_are_those_of_combined_views(rule):
    X, _ = views_of()
    how = {"delta": 20.0, "max_cardinality": 2, "tol": 1e-8, "max_iter": 1000}
    how |= {"init": {name: part[:3] for name, part in X.items()}}
    theirs = SoftECM(3, metric=Combined(dict.fromkeys(X, "sqeuclidean"), weights=rule), relaxation="exact", **how).fit(
        X
    )
    ours = WMVEC(3, rule=rule, temperature=0.1, beta=1.2, **how).fit(X)
    np.testing.assert_allclose(ours.partition_.masses, theirs.partition_.masses, atol=1e-5)
    assert ours.view_weights_ == pytest.approx(theirs.view_weights_, rel=1e-5)


def test_a_column_that_tells_groups_apart_counts_more():
    rng = np.random.default_rng(0)
    group = np.arange(90) % 3
    x = np.c_[rng.normal(size=90) + 6 * group, rng.normal(size=(90, 3)), np.full(90, 7.0)]
    model = WMVEC(3, features=True, feature_temperature=0.1, random_state=0).fit(x)
    assert adjusted_rand_score(group, model.labels_) == 1
    assert model.feature_weights_[0] > 0.5
    assert model.feature_weights_[4] == 0  # constant


def test_a_view_that_takes_over_is_said():
    X, _ = views_of(coin=True)
    with pytest.warns(ViewWarning) as said:
        model = WMVEC(2, temperature=0.1, random_state=0).fit(X)
    assert any("'third' takes" in str(one.message) for one in said)
    assert model.view_weights_["third"] > 0.9


def test_a_constant_view_has_no_weight():
    X, group = views_of()
    with pytest.warns(ViewWarning, match="third"):
        model = WMVEC(3, random_state=0).fit({**X, "third": np.ones((60, 2))})
    assert model.view_weights_["third"] == 0
    assert adjusted_rand_score(group, model.labels_) > 0.9


def test_missing_views_are_refused_in_words():
    X, _ = views_of()
    X["first"][3] = np.nan
    with pytest.raises(ValueError, match=r"every view of every object for WMVEC.*SoftECM"):
        WMVEC(3).fit(X)


@pytest.mark.parametrize(
    "options", [{"rule": "sum"}, {"temperature": 0}, {"feature_temperature": -1}, {"scaling": "range"}], ids=str
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        WMVEC(3, **options).fit(views_of()[0])


def test_a_fit_goes_on_from_a_checkpoint(tmp_path):
    X, path = views_of()[0], tmp_path / "fit.checkpoint"
    options = {
        "features": True,
        "max_cardinality": 2,
        "init": "k-means++",
        "delta": 20.0,
        "n_init": 2,
        "random_state": 0,
    }
    whole = WMVEC(3, **options).fit(X)
    short = WMVEC(3, callback=lambda progress: progress.iteration >= 2, **options)
    with pytest.warns(UserWarning, match="not converged"):
        short.fit(X, checkpoint=path)
    again = WMVEC(3, **options).fit(X, resume=path)
    np.testing.assert_allclose(again.partition_.masses, whole.partition_.masses, atol=1e-12)
