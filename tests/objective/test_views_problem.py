"""View weights learned with the clusters: reference numbers, minimum costs, and an objective that never rises."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.metrics import adjusted_rand_score

import golden
import problems
from softecm import ECMdd, SoftECM, ViewWarning, load_model
from softecm.belief import FocalSets
from softecm.distances import Combined
from softecm.distances.weighted_parts import Weighing
from softecm.fit.loop import iterate
from softecm.objective.equations import mass_cost
from softecm.objective.problem import RELAXATIONS
from softecm.objective.views import ViewsProblem
from softecm.spaces.real import RealVectors
from softecm.spaces.views import EncodedViews, Views

REFERENCE = golden.load("view_weights")
FITS = [case for case in REFERENCE["cases"] if case["kind"] == "fit"]
STEPS = [case for case in REFERENCE["cases"] if case["kind"] == "weights"]
RULE = {"sum": "sum", "prod": "product", "entropy": "entropy"}
SCOPE = {"global": "all", "cluster": "cluster", "set": "set"}


@pytest.mark.parametrize("case", STEPS, ids=lambda case: case["id"])
def test_weight_steps_are_those_of_the_reference(case):
    dispersions = torch.tensor(case["S"], dtype=torch.float64)
    weighing = Weighing(RULE[case["rule"]], exponent=case.get("s", 1.0))
    found = weighing.best(dispersions, case.get("T", 0.0))
    np.testing.assert_allclose(found, case["output"]["weights"], rtol=1e-10, atol=1e-300)
    if "least_cost" in case["output"]:
        temperature = case.get("T", 0.0)
        cost = (weighing.effective(found) * dispersions).sum(-1) + weighing.price(found[:, None], temperature)
        np.testing.assert_allclose(cost, case["output"]["least_cost"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rule", ["sum", "product", "entropy"])
def test_weight_steps_are_what_a_numerical_minimiser_finds(rule):
    rng = np.random.default_rng(0)
    for _ in range(40 if problems.DEEP else 8):
        dispersions, weighing = rng.uniform(0.5, 5.0, 3), Weighing(rule, exponent=float(rng.uniform(1.5, 3.0)))

        def weights(free, rule=rule):
            logs = np.r_[free, 0.0]
            return np.exp(logs - logs.mean()) if rule == "product" else np.exp(logs) / np.exp(logs).sum()

        def cost(free, weighing=weighing, weights=weights, dispersions=dispersions):
            w = torch.from_numpy(weights(free))
            return float((weighing.effective(w) * torch.from_numpy(dispersions)).sum() + weighing.price(w[None], 1.0))

        least = minimize(cost, np.zeros(2), method="BFGS", options={"gtol": 1e-11})
        ours = weighing.best(torch.from_numpy(dispersions), 1.0)
        value = (weighing.effective(ours) * torch.from_numpy(dispersions)).sum() + weighing.price(ours[None], 1.0)
        assert float(value) == pytest.approx(least.fun, rel=1e-8)
        np.testing.assert_allclose(ours, weights(least.x), atol=1e-4)  # flat at the minimum


def encoded(parts, present=None):
    names = tuple(f"view{j}" for j in range(len(parts)))
    space = Views(names, tuple(RealVectors(part.shape[1]) for part in parts))
    middles = () if present is None else tuple(part.mean(0)[None] for part in parts)
    return EncodedViews(tuple(parts), present, middles, space)


def metric_for(parts, spreads, weights="product"):
    names = [f"view{j}" for j in range(len(parts))]
    shapes = tuple((part.shape[1],) for part in parts)
    equal = (1.0 / len(parts),) * len(parts)
    metrics = dict.fromkeys(names, "sqeuclidean")
    return Combined(
        metrics, weights, "none", shares=equal, spreads=tuple(spreads), bends=equal, common=equal, shapes=shapes
    )


def shrunk(by, parts):
    """Reference numbers, with each view divided so that distances are in the reference's units."""
    return [s * torch.tensor(part, dtype=torch.float64) for s, part in zip(by, parts, strict=True)]


def problem_of(case):
    """A reference case."""
    halves = [0.5 if kind.startswith("half") else 1.0 for kind in case["view_distance"]]
    shrink = [np.sqrt(half / scale) for half, scale in zip(halves, case["view_scale"], strict=True)]
    parts = shrunk(shrink, [REFERENCE["datasets"][view] for view in case["views"]])
    start = torch.cat(shrunk(shrink, case["prototypes_before"]), 1)
    spreads = [float((part - part.mean(0)).square().sum(1).mean()) for part in parts]
    focal = FocalSets.of(len(case["F"][0]), [tuple(np.flatnonzero(row).tolist()) for row in case["F"]])
    outside = case["delta2_views"] is None
    deltas = None if outside else torch.tensor(np.divide(case["delta2_views"], case["view_scale"]))
    delta = np.sqrt(case["delta2"]) if outside else 1.0
    cost = mass_cost(focal, case["alpha"], case["beta"], delta, like=start)
    total = np.mean(spreads) * len(parts[0])
    temperature = 1.0 if case["T"] is None else case["T"] / total
    weighing = Weighing(RULE[case["rule"]], SCOPE[case["weights_of"]], case["s"], temperature, case["kappa"])
    relaxation = RELAXATIONS[case["relaxation"]](
        metric_for(parts, spreads), focal, torch.tensor([case["lam"]]).double()
    )
    problem = ViewsProblem(relaxation.metric, weighing, encoded(parts), cost, relaxation, 1e-12, deltas)
    return problem, start[None], torch.tensor(case["weights_before"], dtype=torch.float64)[None], shrink


@pytest.mark.parametrize("case", FITS, ids=lambda case: case["id"])
def test_fits_are_those_of_the_reference(case):
    problem, start, weights, shrink = problem_of(case)
    state, first = problem.at(start, weights, None), case["output"]["round1"]
    np.testing.assert_allclose(state.masses[0], first["masses"], atol=1e-10)
    values = [float(state.objective), float(problem.at_weights(state, problem.weighed(state)))]
    np.testing.assert_allclose(values, first["J_after_masses_weights_prototypes"][:2], rtol=1e-10)
    state = problem.step(state)
    np.testing.assert_allclose(state.weights[0], first["weights"], rtol=1e-10)
    after = torch.cat(shrunk(shrink, first["prototypes"]), 1)
    np.testing.assert_allclose(state.prototypes[0], after, atol=1e-10)
    rounds = [values[0], float(state.objective)]
    for _ in range(case["rounds"] - 1):
        state = problem.step(state)
        rounds.append(float(state.objective))
    np.testing.assert_allclose(rounds[:5], case["output"]["J_first"][:15:3], rtol=1e-10)
    np.testing.assert_allclose(state.weights[0], case["output"]["weights_last"], atol=1e-7)
    np.testing.assert_allclose(state.masses[0], case["output"]["masses_last"], atol=1e-7)
    assert problems.largest_rise(np.array(rounds)) <= 1e-12


def random_problem(seed):
    """Random views, some missing, sets, costs and a rule."""
    rng = np.random.default_rng(seed)
    n, c, views = int(rng.integers(8, 40)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    groups = rng.integers(0, 3, n)
    sizes = rng.integers(1, 4, views)
    apart = [rng.normal(size=(3, p))[groups] * rng.uniform(0, 5) for p in sizes]
    parts = [torch.from_numpy(10.0 ** rng.uniform(-2, 2) * (rng.normal(size=a.shape) + a)) for a in apart]
    present = None
    if rng.random() < 0.5:
        present = torch.from_numpy(rng.random((n, views)) > 0.3)
        present[~present.any(1), 0] = True
    focal = FocalSets.up_to(c, int(rng.integers(1, c + 1)))
    start = torch.cat([part[torch.from_numpy(rng.choice(n, c, replace=False))] for part in parts], 1)[None]
    spreads = [float((part - part.mean(0)).square().sum(1).mean()) for part in parts]
    metric = metric_for(parts, spreads)
    metric = Combined(**{**metric.parameters(), "scaling": "spread"})
    delta = None if rng.random() < 0.2 else float(10.0 ** rng.uniform(-1, 1) * np.prod(spreads) ** (0.5 / views))
    cost = mass_cost(focal, float(rng.uniform(0, 2)), float(rng.choice([1.1, 1.5, 2.0])), delta, like=start)
    lam = torch.tensor([float(rng.choice([0.0, 1.0, 10.0]))]).double()
    relaxation = RELAXATIONS[str(rng.choice(["penalty", "gap", "exact"]))](metric, focal, lam)
    rule, scope = str(rng.choice(list(RULE.values()))), str(rng.choice(list(SCOPE.values())))
    weighing = Weighing(rule, scope, float(rng.uniform(1.2, 4)), float(10.0 ** rng.uniform(-2, 1)))
    deltas = torch.ones(views, dtype=torch.float64)
    return ViewsProblem(metric, weighing, encoded(parts, present), cost, relaxation, 1e-4, deltas), start


@pytest.mark.parametrize("part", range(10))
def test_the_objective_never_rises(part):
    each = 50 if problems.DEEP else 4
    for seed in range(part * each, (part + 1) * each):
        problem, start = random_problem(seed)
        state = problem.begin(start)
        values = [float(state.objective)]
        for _ in range(12):
            weights = problem.weighed(state)
            values.append(float(problem.at_weights(state, weights)))
            state = problem.step(state)
            values.append(float(state.objective))
        assert problems.largest_rise(np.array(values)) <= 1e-10, seed
        assert torch.isfinite(state.masses).all(), seed
        torch.testing.assert_close(state.masses.sum(-1), torch.ones_like(state.masses[..., 0]))


def test_runs_of_a_batch_are_what_they_are_alone():
    problem, start = random_problem(3)
    other = start.flip(1) + 0.01
    pair = problem.select(torch.tensor([0, 0]))
    together = iterate(pair, torch.cat([start, other]), 30)
    for run, begin in enumerate((start, other)):
        alone = iterate(problem, begin, 30)
        np.testing.assert_allclose(together.objective[run], alone.objective[0], rtol=1e-12)
        torch.testing.assert_close(together.extras["view_weights"][run], alone.extras["view_weights"][0])


# ---------------------------------------------------------------------------------------------------- estimators

GROUPS = np.arange(90) % 3


def data(seed=0, noise="normal"):
    rng = np.random.default_rng(seed)
    third = rng.normal(size=(90, 3)) if noise == "normal" else rng.integers(0, 2, (90, 1)).astype(float)
    return {
        "series": rng.normal(size=(90, 5, 1)) + 5.0 * (GROUPS == 0)[:, None, None],
        "table": rng.normal(size=(90, 2)) + 7.0 * (GROUPS == 2)[:, None],
        "third": third,
    }


METRICS = {"series": "series-euclidean", "table": "mixed", "third": "sqeuclidean"}
SOFT = {"series": "softdtw", "table": "manhattan", "third": "cosine"}


def fitted(X, metrics=METRICS, **options):
    own = {key: options.pop(key) for key in ("weights", "weights_of") if key in options}
    return SoftECM(3, metric=Combined(metrics, **own), random_state=0, n_jobs=1, n_init=3, **options).fit(X)


@pytest.mark.parametrize("relaxation", ["auto", "penalty", "gap", "exact"])
@pytest.mark.parametrize("weights_of", ["all", "cluster"])
def test_learned_weights_in_every_relaxation(relaxation, weights_of, tmp_path):
    X = data()
    model = fitted(X, weights="learned", weights_of=weights_of, relaxation=relaxation)
    assert adjusted_rand_score(GROUPS, model.labels_) == 1
    assert problems.largest_rise(model.history_) <= 1e-10
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-10)
    assert np.max(model.view_weights_["third"]) < 0.34
    total = sum(np.asarray(part) for part in model.view_weights_.values())
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_partition(X).masses, model.partition_.masses)


def test_learned_weights_where_no_step_is_exact():
    X = {name: part[:45] for name, part in data().items()}
    X["third"] += 4.0
    model = fitted(X, SOFT, weights="product", relaxation="penalty", lam=1.0, max_cardinality=2, tol=0.01)
    assert problems.largest_rise(model.history_) <= 1e-10
    assert adjusted_rand_score(GROUPS[:45], model.labels_) > 0.9


def test_learned_weights_with_gaps_leave_masses_as_predicted():
    X = data()
    X["series"] = [None if i % 9 == 0 else row for i, row in enumerate(X["series"])]
    model = fitted(X, weights="product", relaxation="exact", max_cardinality=2)
    np.testing.assert_allclose(model.predict_partition(X).masses, model.partition_.masses, atol=1e-12)
    assert problems.largest_rise(model.history_) <= 1e-10


def test_a_view_that_takes_over_is_said():
    with pytest.warns(ViewWarning) as said:
        model = fitted(data(noise="coin"), weights="sum")
    assert any("'third' takes" in str(one.message) for one in said)
    assert model.view_weights_["third"] > 0.9


def test_units_do_not_matter_to_learned_weights():
    X = data()
    first, second = fitted(X, weights="product"), fitted({**X, "third": 100.0 * X["third"]}, weights="product")
    np.testing.assert_allclose(first.partition_.masses, second.partition_.masses, atol=1e-6)


def test_learned_weights_are_refused_where_nothing_learns_them():
    X = data()
    with pytest.raises(ValueError, match="Use SoftECM"):
        ECMdd(3, metric=Combined(METRICS, weights="product")).fit(X)
    model = SoftECM(3, metric=Combined(METRICS, weights="product"), random_state=0, n_jobs=1, n_init=2)
    with pytest.raises(ValueError, match="must be fixed with links"):
        model.fit(X, must_link=[(0, 3)])


@pytest.mark.parametrize("option", [{"exponent": 1.0}, {"temperature": 0}, {"weights_of": "view"}], ids=str)
def test_options_out_of_range_are_refused(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        Combined(METRICS, weights="sum", **option)


def test_a_fit_goes_on_from_a_checkpoint(tmp_path):
    X, path = data(), tmp_path / "fit.checkpoint"
    metric = Combined(METRICS, weights="product")
    options = {"metric": metric, "random_state": 0, "n_jobs": 1, "n_init": 2, "max_cardinality": 2}
    options |= {"relaxation": "penalty", "init": "k-means++", "delta": 5.0}
    whole = SoftECM(3, **options).fit(X)
    short = SoftECM(3, callback=lambda progress: progress.iteration >= 2, **options)
    with pytest.warns(UserWarning, match="not converged"):
        short.fit(X, checkpoint=path)
    again = SoftECM(3, **options).fit(X, resume=path)
    np.testing.assert_allclose(again.partition_.masses, whole.partition_.masses, atol=1e-12)
