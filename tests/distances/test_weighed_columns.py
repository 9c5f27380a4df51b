"""Columns of a table that are weighed by a rule: the same answer as with a view a column, noise that stops mattering."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

import problems
from softecm import SoftECM, ViewWarning, load_model, report
from softecm.distances import Combined, Mixed
from softecm.selection import sweep
from softecm.testing import check_semimetric

N = 90
GROUPS = np.repeat([0, 1, 2], N // 3)


def table(seed=0, gaps=False):
    """Two numbers and a category that know the groups, a number and a category that know nothing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "first": 8.0 * (GROUPS == 0) + rng.normal(size=N),
            "colour": np.where(rng.random(N) < 0.8, np.array(["red", "blue", "green"])[GROUPS], "red"),
            "noise": rng.normal(100.0, 20.0, N),
            "second": 800.0 * (GROUPS == 2) + 100.0 * rng.normal(size=N),
            "sign": rng.choice(list("abcdef"), N),
        }
    )
    if gaps:
        frame = frame.mask(rng.random(frame.shape) < 0.1)
        frame.loc[frame.isna().all(axis=1), "first"] = 0.0
    return frame


def fitted(X, **options):
    own = {key: options.pop(key) for key in ("weights", "weights_of") if key in options}
    return SoftECM(3, metric=Mixed(**own), random_state=0, n_jobs=1, n_init=3, **options).fit(X)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_a_column_is_weighed_as_a_view_of_its_own(gaps, monkeypatch):
    monkeypatch.setattr(Mixed, "regular", Combined.regular)
    X = table(gaps=gaps)
    model = fitted(X, weights="product", tol=1e-7)
    views = {name: X[[name]] for name in X}
    metric = Combined(dict.fromkeys(views, "mixed"), weights="product")
    each = SoftECM(3, metric=metric, random_state=0, n_jobs=1, n_init=3, tol=1e-7).fit(views)
    assert list(model.feature_weights_) == list(X)
    for name in X:
        assert model.feature_weights_[name] == pytest.approx(each.view_weights_[name], abs=1e-5)
    np.testing.assert_allclose(model.partition_.masses, each.partition_.masses, atol=1e-4)


@pytest.mark.parametrize("weights_of", ["all", "cluster", "set"])
@pytest.mark.parametrize("relaxation", ["auto", "penalty", "gap", "exact"])
def test_learned_weights_in_every_relaxation(relaxation, weights_of, tmp_path):
    X = table(gaps=weights_of == "cluster")
    sets = {} if relaxation == "auto" else {"max_cardinality": 2, "n_init": 2, "tol": 0.01}
    model = SoftECM(
        3,
        metric=Mixed(weights="learned", weights_of=weights_of),
        random_state=0,
        n_jobs=1,
        relaxation=relaxation,
        **sets,
    ).fit(X)
    assert adjusted_rand_score(GROUPS, model.labels_) > 0.8
    assert problems.largest_rise(model.history_) <= 1e-10
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-9, atol=1e-12)
    known = np.max([model.feature_weights_[name] for name in ("noise", "sign")])
    assert known < np.max([model.feature_weights_[name] for name in ("first", "second")])
    np.testing.assert_allclose(sum(np.asarray(w) for w in model.feature_weights_.values()), 1.0, rtol=1e-6)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_partition(X).masses, model.partition_.masses)
    assert list(again.feature_weights_) == list(X)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_agreement_lets_noise_count_for_nothing(gaps, tmp_path):
    X = table(gaps=gaps)
    with pytest.warns(ViewWarning, match="columns that have next to nothing in common.*'noise'.*feature_weights_"):
        model = fitted(X, weights="agreement")
    assert max(model.feature_weights_[name] for name in ("noise", "sign")) < 0.02
    assert adjusted_rand_score(GROUPS, model.labels_) > 0.85
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-9, atol=1e-12)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_partition(X).masses, model.partition_.masses)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_a_weighed_table_keeps_the_contract(gaps):
    X = table(gaps=gaps)
    metric = Mixed(weights="product")
    space = metric.make_space()
    raw = space.check(SoftECM(), X, reset=True)
    space = space.fit(raw, dtype=torch.float64)
    x = space.encode(raw)
    fit = metric.learner.fitted(x, None)
    shares = torch.tensor([[0.1, 0.3, 0.05, 0.5, 0.05]], dtype=torch.float64).expand(3, -1)
    fit = fit.reweighed(shares, "all", 3)
    some = torch.arange(12)
    report = check_semimetric(fit, x[some], prototypes=space.starts(x[some], some))
    left = {"symmetric", "zero at equality", "paired agrees"} if gaps else set()  # an object with a gap is no prototype
    assert {check.name for check in report.failures} <= left, str(report)


def test_a_column_that_is_always_the_same_is_not_weighed():
    X = table()
    with pytest.warns(ViewWarning, match="the same in 'always': such a column"):
        model = fitted(X.assign(always=1.0), weights="learned")
    without = fitted(X, weights="learned")
    assert model.feature_weights_["always"] < 1e-8
    assert model.feature_weights_["first"] == pytest.approx(without.feature_weights_["first"], rel=1e-4)
    np.testing.assert_allclose(model.partition_.masses, without.partition_.masses, atol=1e-3)


def test_one_column_has_all_the_weight():
    X = table()[["first"]]
    model, plain = fitted(X, weights="learned"), fitted(X)
    assert model.feature_weights_ == {"first": 1.0}
    np.testing.assert_allclose(model.partition_.masses, plain.partition_.masses, atol=1e-9)


def test_weights_need_a_rule():
    model = fitted(table(), weights=None)
    with pytest.raises(AttributeError, match="weighed by a rule"):
        _ = model.feature_weights_
    with pytest.raises(ValueError, match="weights must be one of 'auto', 'equal', 'agreement'"):
        Mixed(weights="best")
    with pytest.raises(ValueError, match="weights_of must be one of 'all'"):
        Mixed(weights="learned", weights_of="column")


def test_columns_that_have_nothing_in_common_count_alike():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 4)), columns=list("abcd"))
    with pytest.warns(ViewWarning, match="columns have nothing in common"):
        model = fitted(X, weights="agreement")
    assert set(model.feature_weights_.values()) == {0.25}


def test_copies_of_a_column_do_not_outvote_the_others():
    rng = np.random.default_rng(1)
    X = table(1)[["first", "second", "colour"]]
    nuisance = rng.normal(size=N)
    for j in range(4):
        X[f"copy{j}"] = nuisance + 0.1 * rng.normal(size=N)
    model = fitted(X, weights="agreement")
    assert model.feature_weights_["first"] > 0.5 * model.feature_weights_["copy0"]


def test_columns_take_turns_in_sweeps_and_batches():
    X = table()
    model = SoftECM(3, metric=Mixed(weights="learned"), random_state=0, n_jobs=1, n_init=3)
    swept = sweep(X, {"beta": [1.2, 1.3]}, estimator=model)
    alone = fitted(X, weights="learned")
    assert swept.to_frame()["objective"][0] == pytest.approx(alone.objective_, rel=1e-9)
    with pytest.warns(ViewWarning):
        model = SoftECM(3, metric=Mixed(weights="agreement"), random_state=0, n_jobs=1).partial_fit(X)
    first = model.feature_weights_
    model.partial_fit(table(1))
    assert model.feature_weights_ == first
    with pytest.raises(ValueError, match="must be known before"):
        SoftECM(3, metric=Mixed(weights="learned")).fit(X, must_link=[(0, 1)])


def test_a_report_lists_the_weights():
    model = fitted(table(), weights="learned", weights_of="cluster")
    page = report.build(model, table())
    assert page.parameters["weight of column first"].endswith("by set")
    assert {part.name for told in page.explanations.values() for part in told.parts} <= set(table())
