"""TECM in its three published forms: reference iterations, an objective that never rises, and the effect of a source."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import golden
import problems
from softecm import ECM, TECM, FocalSets, load_model
from softecm.algorithms.tecm import Transfer, TransferProblem, source_sets
from softecm.distances.estimator_metrics import twice
from softecm.objective.equations import mass_cost, share

REFERENCE = golden.load("tecm")
FORM = {"jiao": "sets", "zhou_tecm": "matched", "zhou_etecm": "clusters"}


def focal_of(indicators):
    return FocalSets.of(len(indicators[0]), [tuple(np.flatnonzero(row).tolist()) for row in indicators])


def means(focal):
    return torch.from_numpy(focal.membership / focal.cardinalities[:, None])


def problem_of(case):
    """A reference case."""
    x = torch.tensor(REFERENCE["datasets"][case["data"]], dtype=torch.float64)
    focal, source = focal_of(case["F"]), torch.tensor(case["source_centers"], dtype=torch.float64)
    form, beside = FORM[case["variant"]], case.get("beta1", 0.0)
    points = means(focal_of(case["F_source"])) @ source if form == "sets" else source
    weight = case[{"sets": "lam", "matched": "beta2", "clusters": "beta3"}[form]]
    pull = Transfer(points, form, weight, case.get("eta", 2.0))
    delta = np.sqrt(case["delta2"] + beside * case.get("delta2_source", 0.0))
    start = torch.tensor(case["centers_before"], dtype=torch.float64)[None]
    cost = mass_cost(focal, case["alpha"], case["beta"], delta, like=start)
    if not beside:
        return TransferProblem(x, cost, means(focal), 1e-12, pull), start
    anchors = means(focal) @ source
    return TransferProblem(twice(x, x, beside), cost, means(focal), 1e-12, pull, anchors, beside), start


def masses_at(problem, state):
    d = (problem.x[:, None] - state.prototypes[0]).square().sum(-1)
    return share(d, problem.cost.factors[0], problem.cost.beta[0], problem.cost.delta2[0]).masses.numpy()


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["id"])
def test_rounds_are_those_of_the_reference(case):
    problem, start = problem_of(case)
    state, output = problem.begin(start), case["output"]
    np.testing.assert_allclose(masses_at(problem, state), output["round1"]["masses"], atol=1e-10)
    assert float(state.objective) == pytest.approx(output["round1"]["J_after_masses"], rel=1e-10)
    if output["round1"]["shares"] is not None:
        shares = problem.transfer.pulls(problem.mean @ state.free, problem.cost, problem.mean.shape[1])[1][0]
        np.testing.assert_allclose(shares, output["round1"]["shares"], atol=1e-10)
    rounds = [float(state.objective)]
    state = problem.step(state)
    np.testing.assert_allclose(state.free[0], output["round1"]["centers"], atol=1e-10)
    for _ in range(output["rounds"] - 1):
        rounds.append(float(state.objective))
        state = problem.step(state)
    np.testing.assert_allclose(state.free[0], output["centers_last"], atol=1e-7)
    np.testing.assert_allclose(masses_at(problem, state), output["masses_last"], atol=1e-7)
    np.testing.assert_allclose(rounds[:6], output["J_first"][::2], rtol=1e-10)
    assert float(state.objective) == pytest.approx(output["J_last"], rel=1e-10)
    assert problems.largest_rise(np.array(rounds)) <= 1e-12


def data(seed=0, n=40, c=3, spread=1.0):
    """Groups with known centres, and their labels."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(c, 2)) * 4.0
    group = np.arange(n) % c
    return centers[group] + spread * rng.normal(size=(n, 2)), group, centers


@pytest.mark.filterwarnings("ignore::softecm._warnings.CollapseWarning")  # sources may pull clusters into one
@pytest.mark.parametrize("form", ["sets", "clusters", "matched"])
def test_the_objective_never_rises(form):
    for seed in range(30 if problems.DEEP else 2):
        rng = np.random.default_rng(seed)
        x, _, source = data(seed, c=int(rng.integers(2, 5)))
        c = len(source) if form == "matched" else int(rng.integers(1, 5))
        source = source + rng.normal(size=source.shape)
        model = TECM(
            c,
            source=source,
            form=form,
            transfer=float(10.0 ** rng.uniform(-2, 1)),
            beta=float(rng.choice([1.2, 2.0])),
            eta=float(rng.choice([1.5, 2.0])),
            focal_sets=["auto", "full"][seed % 2],
            n_init=2,
            max_iter=500,
            random_state=seed,
        ).fit(x)
        assert problems.largest_rise(model.history_) <= 1e-10
        np.testing.assert_allclose(model.predict_partition(x).masses, model.partition_.masses, atol=1e-10)
        np.testing.assert_allclose(model.shares_.sum(1), 1.0)
        np.testing.assert_allclose(model.explain(x).sum(-1), model.transform(x), rtol=1e-10)


def test_without_a_source_it_is_ecm():
    x, _, source = data()
    how = {"focal_sets": "full", "init": source, "delta": 6.0, "random_state": 0}
    for model in TECM(3, **how), TECM(3, source=source, transfer=0.0, **how):
        np.testing.assert_allclose(model.fit(x).partition_.masses, ECM(3, **how).fit(x).partition_.masses, atol=1e-8)
    with pytest.raises(AttributeError, match="shares_ is for a fit with a source"):
        _ = TECM(3, **how).fit(x).shares_


def test_matched_clusters_without_their_distances_are_the_prior_of_ecm():
    x, _, source = data()
    old = ECM(3, init=source, delta=6.0, focal_sets="full").fit(source.repeat(9, 0) + 0.3 * x[:27])
    how = {"delta": 6.0, "focal_sets": "full", "tol": 1e-9, "max_iter": 2000}
    ours = TECM(3, source=old.cluster_centers_, form="matched", beside=0.0, transfer=0.5, **how).fit(x)
    theirs = ECM(3, **how).fit(x, prior=old, prior_weight=0.5)
    np.testing.assert_allclose(ours.partition_.masses, theirs.partition_.masses, atol=1e-6)


@pytest.mark.parametrize("form", ["sets", "clusters", "matched"])
def test_few_noisy_objects_lean_on_the_source(form):
    for seed in range(2):
        x, _, centers = data(seed, n=15, spread=2.5)
        how = {"init": centers, "delta": 8.0, "max_cardinality": 2, "max_iter": 1000}
        alone, led = ECM(3, **how).fit(x), TECM(3, source=centers, form=form, **how).fit(x)
        off = [np.abs(model.cluster_centers_ - centers).mean() for model in (alone, led)]
        assert off[1] < 0.8 * off[0]


def test_a_source_may_have_more_or_fewer_clusters():
    x, group, centers = data(1)
    for source in (centers[:2], np.r_[centers, [[30.0, 30.0]]]):
        model = TECM(3, source=source, delta=6.0, random_state=0).fit(x)
        assert adjusted_rand_score(group, model.labels_) > 0.7
    assert model.shares_[:, 3].max() < 0.2  # no cluster follows the missing one
    assert source_sets(FocalSets.full(2), 3) == FocalSets.full(3)
    assert len(source_sets(FocalSets.up_to(3, 2), 2)) == 3


@pytest.mark.parametrize("form", ["sets", "matched"])
def test_a_model_is_saved_with_its_source(form, tmp_path):
    x, _, centers = data()
    model = TECM(3, source=centers, form=form, random_state=0).fit(x)
    model.save(tmp_path / "tecm.safetensors")
    again = load_model(tmp_path / "tecm.safetensors")
    np.testing.assert_array_equal(again.predict_partition(x).masses, model.partition_.masses)
    np.testing.assert_array_equal(again.shares_, model.shares_)
    np.testing.assert_array_equal(clone(model).fit(x).partition_.masses, model.partition_.masses)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"source": "old"}, r"source must hold finite numbers.*got str.*cluster_centers_ of a fitted model"),
        ({"source": ECM()}, r"got ECM. Pass the cluster_centers_"),
        ({"source": [[0.0, np.nan]]}, r"source must hold finite numbers"),
        ({"source": [[0.0]] * 3}, r"source must have the columns of X, 2; got 1"),
        ({"source": [[0.0, 0.0]] * 2, "form": "matched"}, r"a centre for each of n_clusters=3.*got 2. Use form='sets'"),
        ({"form": "objects"}, r"form must be"),
        ({"transfer": -1}, r"transfer must be"),
        ({"beside": -1}, r"beside must be"),
        ({"eta": 1.0}, r"eta must be"),
    ],
)
def test_bad_options_are_refused_in_words(options, match):
    with pytest.raises(ValueError, match=match):
        TECM(3, **options).fit(data()[0])
