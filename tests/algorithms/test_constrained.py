"""Must-links and cannot-links in Soft-ECM, for any metric."""

import numpy as np
import pandas as pd
import pytest
import torch

from problems import largest_rise, random_problem
from pure import soft_ecm
from softecm import ECM, FCM, CredalPartition, FocalSets, SoftECM, load_model
from softecm.constraints import Constraints, kept, sample_constraints
from softecm.datasets import make_blobs, make_mixed_blobs
from softecm.distances import Euclidean, SquaredEuclidean
from softecm.native.library import Array, Float, Int, function
from softecm.objective.linked import WeightedPairs
from softecm.objective.links import Links


def simplex_quadratic(a, b):
    r"""Masses on the simplex (last axis) that minimize :math:`\sum_A a_A m_A^2 + b_A m_A`, by sorting."""
    b = b - b.amin(-1, keepdim=True)
    share = 0.5 / a
    order = b.argsort(-1)
    ordered, weight = b.gather(-1, order), share.gather(-1, order)
    level = (1.0 + (weight * ordered).cumsum(-1)) / weight.cumsum(-1)  # tau, if these were the sets with mass
    count = (level > ordered).sum(-1, keepdim=True).clamp_min(1)
    masses = (level.gather(-1, count - 1) - b).clamp_min(0.0) * share
    return masses / masses.sum(-1, keepdim=True)


def simplex_power(a, b, beta, steps=100):
    r"""Masses on the simplex that minimize :math:`\sum_A a_A m_A^\beta + b_A m_A`, by bisection of the level."""
    b = b - b.amin(-1, keepdim=True)
    slope, root = 1.0 / (beta * a), 1.0 / (beta - 1.0)
    low = (b + beta * a * a.shape[-1] ** (1.0 - beta)).amin(-1, keepdim=True)
    high = (b + beta * a).amin(-1, keepdim=True)
    for _ in range(steps):
        tau = 0.5 * (low + high)
        above = (((tau - b).clamp_min(0.0) * slope) ** root).sum(-1, keepdim=True) > 1.0
        high, low = torch.where(above, tau, high), torch.where(above, low, tau)
    masses = ((0.5 * (low + high) - b).clamp_min(0.0) * slope) ** root
    return masses / masses.sum(-1, keepdim=True)


@pytest.mark.parametrize("beta", [1.05, 1.2, 1.5, 2.0, 3.0, 5.0])
def test_the_compiled_simplex_step_is_the_reference_and_stationary(rng, beta):
    a = 10.0 ** rng.uniform(-3, 3, size=(200, 6))
    b = rng.normal(size=(200, 6)) * 10.0 ** rng.uniform(-3, 2, size=(200, 1))
    a[:50, 0] = np.inf  # no empty set
    found = np.empty_like(a)
    solve = function("linked_masses", Array, Array, Int, Float, Array, Array)
    for row in range(200):
        solve(a[row], b[row], 6, beta, np.empty(6, dtype=np.int64), found[row])
    np.testing.assert_allclose(found.sum(1), 1.0, rtol=1e-12)
    ta, tb = torch.as_tensor(a), torch.as_tensor(b)
    reference = simplex_power(ta, tb, beta).numpy()
    np.testing.assert_allclose(found, reference, atol=1e-6)
    if beta == 2.0:
        np.testing.assert_allclose(found, simplex_quadratic(ta, tb), atol=1e-12)
    marginal = b + np.where(np.isinf(a), 0.0, beta * np.where(np.isinf(a), 0.0, a) * found ** (beta - 1.0))
    level = np.where(found > 1e-9, marginal, -np.inf).max(1, keepdims=True)
    scale = np.abs(b).max(1, keepdims=True) + np.where(np.isinf(a), 0.0, a).min(1, keepdims=True)
    used = (found > 1e-3) & ~np.isinf(a)
    assert (np.abs(marginal - level) / scale)[used].max() < 1e-5
    assert ((level - marginal) / scale)[(found < 1e-12) & ~np.isinf(a)].max(initial=0.0) < 1e-8


def test_without_a_price_links_change_nothing():
    data = make_blobs(60, n_clusters=3, random_state=0)
    pairs = sample_constraints(data.target, 20, random_state=0)
    for model in (
        SoftECM(3, random_state=0, n_init=2),
        ECM(3, random_state=0, n_init=2),
        FCM(3, random_state=0, n_init=2),
    ):
        plain = model.fit(data.data).partition_.masses
        model.fit(data.data, **pairs._asdict(), constraint_weight=0.0)
        np.testing.assert_allclose(model.partition_.masses, plain, atol=1e-5)


def chebyshev(x, v):
    return (x[:, None] - v).abs().amax(-1)


@pytest.mark.parametrize(
    ("metric", "solver"),
    [
        ("sqeuclidean", "auto"),
        ("sqeuclidean", "gradient"),
        ("euclidean", "auto"),
        ("manhattan", "gradient"),
        (chebyshev, "auto"),
    ],
)
def test_links_are_heeded_whatever_the_metric_and_the_solver(metric, solver):
    data = make_blobs(60, n_clusters=2, spread=2.0, distance=4.0, random_state=3)
    pairs = sample_constraints(data.target, 40, random_state=0)
    model = SoftECM(2, metric=metric, solver=solver, relaxation="gap", n_init=2, max_iter=40, tol=1e-2, random_state=0)
    free = kept(model.fit(data.data).labels_, *pairs)
    model.fit(data.data, **pairs._asdict(), constraint_weight=2.0)
    assert kept(model.labels_, *pairs) > max(free, 0.9)
    assert largest_rise(model.history_) <= 1e-9
    linked_rows = np.unique(np.concatenate(pairs))
    others = np.setdiff1d(np.arange(60), linked_rows)
    predicted = model.predict_partition(data.data).masses
    np.testing.assert_array_equal(model.partition_.masses[others], predicted[others])


@pytest.mark.parametrize("metric", [SquaredEuclidean(), Euclidean()], ids=["exact step", "descent"])
@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
def test_the_objective_never_rises(many, metric, relaxation):
    for seed in range(many // 5):
        problem = random_problem(seed)
        if relaxation == "exact" and not metric.closed_form.quadratic:
            problem["focal"] = FocalSets.up_to(problem["focal"].n_clusters, 1)
        rng = np.random.default_rng(seed)
        pairs = sample_constraints(rng.integers(0, 3, len(problem["x"])), int(rng.integers(1, 10)), random_state=seed)
        price = float(10.0 ** rng.uniform(-3, 1) * problem["x"].var())
        links = Links.make(pairs, problem["focal"], price, price)
        x = problem.pop("x")
        solution = soft_ecm(x, metric, relaxation=relaxation, links=links, max_iter=12, **problem)
        assert largest_rise(solution.history[0]) <= 1e-9, seed
        masses = solution.extras["masses"][0, : len(links.rows)]
        np.testing.assert_allclose(masses.sum(-1), 1.0, rtol=1e-9)
        assert masses.min() >= 0


def test_the_objective_is_that_of_the_masses(rng):
    X = rng.normal(size=(25, 2))
    pairs = Constraints(np.array([[0, 1], [1, 2]]), np.array([[0, 7]]))
    model = SoftECM(2, beta=1.5, relaxation="exact", random_state=0).fit(X, **pairs._asdict(), constraint_weight=0.7)
    m, focal = model.partition_.masses, model.focal_sets_
    d = np.column_stack([np.full(25, model.delta_**2), focal.cardinalities * model.transform(X)])
    spread = ((X - X.mean(0)) ** 2).sum(1).mean()
    together = m[0] @ focal.intersects @ m[7]
    apart = sum(1 - m[i, 1:3] @ m[j, 1:3] for i, j in pairs.must_link)
    assert model.objective_ == pytest.approx((m**1.5 * d).sum() + 0.7 * spread * (together + apart), rel=1e-9)


def between_two_groups():
    """Two groups of 30, and an object halfway."""
    X = np.random.default_rng(0).normal(size=(61, 2))
    X[:30, 0] -= 6
    X[30:60, 0] += 6
    X[60] = 0
    return X


def test_an_object_between_two_groups_goes_to_its_partners_not_nowhere():
    X = between_two_groups()
    model = SoftECM(2, random_state=0)
    assert model.fit(X).decisions()[60].word == "between"
    model.fit(X, must_link=[(60, 0)], constraint_weight=2.0)
    assert model.decisions()[60].word == "clearly"
    assert model.labels_[60] == model.labels_[0]
    assert "clearly belongs" in str(model.explain_object(X, 60))  # uses partition_, not a prediction
    assert "lies between" in str(model.explain_object(X[30:], 30))  # other objects: predicted


LABELS = np.r_[np.repeat([1, -1], [3, 27]), np.repeat([0, -1], [3, 27]), -1]
WORDS = np.array(["b" if k == 1 else "a" if k == 0 else None for k in LABELS], dtype=object)


@pytest.mark.parametrize(
    "y",
    [
        np.where(LABELS < 0, np.nan, LABELS),
        pd.Series(LABELS, dtype="Int64").replace(-1, pd.NA),
        WORDS,
        WORDS.tolist(),
        [np.nan if word is None else word for word in WORDS],
        pd.Categorical(WORDS),
        np.where(LABELS < 0, "-1", WORDS.astype(str)),
        np.array([-1 if word is None else word for word in WORDS], dtype=object),
        LABELS[:, None],
    ],
)
def test_unknown_labels_may_be_written_in_many_ways(y):
    X = between_two_groups()
    wanted = SoftECM(2, random_state=0).fit(X, LABELS)
    assert wanted.labels_[[0, 30]].tolist() == [1, 0]
    np.testing.assert_array_equal(SoftECM(2, random_state=0).fit(X, y).partition_.masses, wanted.partition_.masses)


@pytest.mark.parametrize("y", [np.where(LABELS < 0, "c", WORDS.astype(str)), LABELS + 1.0])
def test_complete_labels_are_ignored(y):
    X = between_two_groups()
    free = SoftECM(2, random_state=0).fit(X).partition_.masses
    np.testing.assert_array_equal(SoftECM(2, random_state=0).fit(X, y).partition_.masses, free)


@pytest.mark.parametrize("y", [np.full(61, np.nan), np.column_stack([LABELS, LABELS])])
def test_labels_that_cannot_be_used_are_warned_of(y):
    with pytest.warns(UserWarning, match="y is ignored because it has"):
        SoftECM(2, random_state=0).fit(between_two_groups(), y)


def test_every_object_may_be_linked_and_weights_count():
    data = make_blobs(12, n_clusters=2, random_state=0)
    pairs = [(i, i + 2) for i in range(10)]
    weights = np.r_[np.ones(11), 0.0]
    for metric in "sqeuclidean", "manhattan":
        model = SoftECM(2, metric=metric, n_init=2, random_state=0).fit(
            data.data, sample_weight=weights, must_link=pairs
        )
        assert kept(model.labels_, must_link=pairs) == 1.0


def test_without_an_empty_set_no_mass_goes_there():
    data = make_blobs(30, n_clusters=2, random_state=0)
    model = SoftECM(2, delta=None, n_init=2, random_state=0)
    model.fit(data.data, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], constraint_weight=5.0)
    assert not model.partition_.masses[:, 0].any()


def test_bad_links_are_refused(rng):
    X = rng.normal(size=(8, 2))
    with pytest.raises(ValueError, match="must_link joins 0 - 1 - 2"):
        SoftECM(2, random_state=0).fit(X, must_link=[(0, 1), (1, 2)], cannot_link=[(2, 0)])
    with pytest.raises(ValueError, match="must_link must name objects from 0 to 7"):
        SoftECM(2, random_state=0).fit(X, must_link=[(0, 8)])
    with pytest.raises(ValueError, match="constraint_weight must be at least 0; got -1"):
        SoftECM(2, random_state=0).fit(X, must_link=[(0, 1)], constraint_weight=-1)


def test_a_model_with_links_is_saved_with_its_masses(tmp_path):
    data = make_blobs(30, n_clusters=2, random_state=0)
    model = SoftECM(2, n_init=2, random_state=0).fit(data.data, must_link=[(0, 1)])
    model.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    assert isinstance(again.partition_, CredalPartition)
    assert again.partition_ == model.partition_


def test_pairs_without_any_pair_are_no_links():
    pairs = WeightedPairs(None, [], 1.0)
    assert pairs.links(FocalSets.full(2), np.ones(3), 1.0, torch.float64) is None


def test_links_work_in_tables_with_gaps_and_in_series_of_unequal_length(rng):
    table = make_mixed_blobs(40, n_clusters=2, purity=0.5, missing=0.1, random_state=0)
    series = [
        np.sin(np.linspace(0, 6 + i % 2, 12 + i % 3))[:, None] + 0.1 * rng.normal(size=(12 + i % 3, 1))
        for i in range(12)
    ]
    for X, labels, metric in (table.data, table.target, "mixed"), (series, np.arange(8) % 2, "softdtw"):
        pairs = sample_constraints(labels, 10, random_state=0)
        model = SoftECM(2, metric=metric, n_init=2, relaxation="gap", max_iter=8, tol=0.1, random_state=0)
        model.fit(X, **pairs._asdict(), constraint_weight=3.0)
        assert kept(model.labels_, *pairs) == 1.0
        assert largest_rise(model.history_) <= 1e-9
