"""Every registered metric keeps the contract; broken ones are caught."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from problems import largest_rise
from pure import soft_ecm
from softecm import SoftECM
from softecm.belief import FocalSets
from softecm.datasets import make_blobs
from softecm.distances import SEMI_METRICS, ClosedForm, Mahalanobis, SemiMetric, Sums
from softecm.optim import GradientDescent
from softecm.testing import check_semimetric

VECTORS = [name for name, metric in SEMI_METRICS.items() if metric.space.__name__ == "RealVectors"]


def n_columns(metric):
    """The number of columns that a metric requires; otherwise three."""
    return len(SEMI_METRICS[metric].column_names) or 3 if metric in VECTORS else 3


@pytest.mark.parametrize("name", list(SEMI_METRICS))
@pytest.mark.parametrize("seed", [0, 1])
def test_registered_metrics_keep_the_contract(name, seed):
    report = check_semimetric(name, seed=seed)
    report.raise_for_failures()
    assert report


#: Numbers and flags without an effect on distances between a few objects, with reasons.
IDLE = {
    ("hamming", "epsilon"): "rounds off another kind than the default",
    ("hamming", "max_levels"): "a limit",
    ("mixed", "max_levels"): "a limit",
    ("mixed", "exponent"): "of weights that are found with the clusters",
    ("mixed", "temperature"): "of weights that are found with the clusters",
    ("softdtw", "znormalise"): "the space's, which encodes before the metric sees anything",
    ("dtw", "znormalise"): "the space's",
    ("texture", "znormalise"): "the space's",
    ("texture", "n_components"): "the space's",
    **dict.fromkeys(((name, "divergence") for name in ("adtw", "wdtw", "erp")), "of a soft minimum: gamma is 0"),
}
FIELDS = [
    (name, field.name)
    for name, metric in SEMI_METRICS.items()
    for field in fields(metric)
    if field.init and isinstance(field.default, bool | int | float)
]


def among_samples(metric, n=8):
    """Distances between generated objects, and to points between them if possible."""
    x = metric.samples(torch.Generator().manual_seed(0), n)
    x = x.double() if isinstance(x, torch.Tensor) else x
    points = (
        x if isinstance(x, torch.Tensor) and not metric.discrete else metric.make_space().starts(x, torch.arange(n))
    )
    points = points if metric.discrete else torch.cat([points, (points + points.roll(1, 0)) / 2])
    return metric.fitted(x, None).pairwise(x, points)


@pytest.mark.parametrize(("name", "field"), FIELDS, ids=[f"{name}-{field}" for name, field in FIELDS])
def test_another_value_of_a_field_changes_a_distance_or_is_refused(name, field):
    metric = SEMI_METRICS[name]()
    value = getattr(metric, field)
    try:
        other = replace(metric, **{field: not value if isinstance(value, bool) else type(value)(2 * value or 0.5)})
    except ValueError:
        return
    same = torch.equal(among_samples(other), among_samples(metric))
    assert same == ((name, field) in IDLE), "a field that changes nothing; where that is meant, say why in IDLE"


@pytest.mark.parametrize("name", [name for name, metric in SEMI_METRICS.items() if metric().degree == 1])
def test_no_detour_is_shorter_than_a_plain_distance(name):
    """Up to the effect of a soft minimum; a square with degree 1 fails, because a stop midway halves it."""
    d = among_samples(SEMI_METRICS[name]())
    detour = (d[:, None] + d[None]).amin(2)
    assert float((d[:, : len(d)] - detour).max()) <= 0.01 * float(d.max())


def rbf(x, v):
    return 1 - torch.exp(-(x[:, None] - v).square().sum(-1) / 20)


BROKEN = {
    "shape": lambda x, v: (x[:, None] - v).square(),
    "finite": lambda x, v: (x[:, None] - v).square().sum(-1).log().sqrt(),
    "symmetric": lambda x, v: (x[:, None] - 2 * v).square().sum(-1),
    "never negative": lambda x, v: (x[:, None] - v).square().sum(-1) - 5,
    "zero at equality": lambda x, v: (x[:, None] - v).square().sum(-1) + 1,
    "gradient": lambda x, v: (x[:, None] - v.detach()).square().sum(-1),
    "gradient at equality": lambda x, v: (x[:, None] - v).square().sum(-1).sqrt(),
}


@pytest.mark.parametrize("broken", list(BROKEN))
def test_a_metric_that_breaks_a_property_is_caught(broken):
    report = check_semimetric(BROKEN[broken])
    assert not report
    assert broken in [c.name for c in report.failures]
    assert "FAILS" in str(report)
    with pytest.raises(AssertionError, match=broken):
        report.raise_for_failures()
    assert report.to_frame()["property"].iloc[0] == "shape"


def test_a_wrong_bound_and_wrong_terms_are_caught():
    class WrongBound(ClosedForm):
        def sums(self, x, v, weights):
            return Sums(0.1 * weights.sum(0)[:, None], 0.1 * weights.T @ x)

    class Wrong(SemiMetric):
        def pairwise(self, x, v):
            return (x[:, None] - v).square().sum(-1)

        @property
        def closed_form(self):
            return WrongBound()

        def terms(self, x, v):
            return (x[:, None] - v).abs()

        def paired(self, a, b):
            return (a - b).abs().sum(-1)

    wrong = {c.name.removesuffix(" (GPU)") for c in check_semimetric(Wrong()).failures}
    assert wrong == {"paired agrees", "sums is a bound", "terms add up"}


class SquaredLike(SemiMetric):
    def pairwise(self, x, v):
        return (x[:, None] - v).square().sum(-1)


def test_pairwise_alone_is_enough():
    X = make_blobs(40, random_state=0).data
    options = {"delta": 3.0, "relaxation": "gap", "random_state": 0, "tol": 1e-8}
    ours = SoftECM(3, metric=SquaredLike(), **options).fit(X)
    np.testing.assert_allclose(ours.objective_, SoftECM(3, **options).fit(X).objective_, rtol=1e-5)
    assert not SquaredLike().closed_form.quadratic


@pytest.mark.parametrize("metric", [*VECTORS, rbf], ids=[*VECTORS, "rbf"])
@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
def test_clear_groups_are_found_with_any_metric(metric, relaxation):
    blobs = make_blobs(60, n_features=n_columns(metric), distance=9, random_state=0)
    model = SoftECM(3, metric=metric, relaxation=relaxation, random_state=0, n_init=3).fit(blobs.data + 3)
    assert adjusted_rand_score(blobs.target, model.labels_) > {
        "mahalanobis": 0.6,
        "euclidean": 0.85,
        "manhattan": 0.85,
    }.get(metric, 0.95)
    assert model.partition_ == model.predict_partition(blobs.data + 3)


@pytest.mark.parametrize("solver", ["auto", "gradient", "descent"])
@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
@pytest.mark.parametrize("name", VECTORS)
def test_the_objective_never_rises(name, relaxation, solver, many):
    for seed in range(many):
        rng = np.random.default_rng(seed)
        p = n_columns(name)
        x = torch.from_numpy(rng.normal(size=(int(rng.integers(8, 30)), p)) + rng.integers(1, 4, (1, p)))
        metric = SEMI_METRICS[name]().fitted(x, None)
        focal = FocalSets.up_to(int(rng.integers(2, 4)), int(rng.integers(1, 4)))
        run = soft_ecm(
            x, metric, focal, x[None, : focal.n_clusters].clone(), relaxation=relaxation, max_iter=8,
            solver=GradientDescent(inner_steps=3) if solver == "gradient" else solver,
            alpha=float(rng.uniform(0, 2)), beta=float(rng.choice([1.1, 1.5, 2.0])),
            delta=float(rng.uniform(0.5, 3)), lam=float(rng.choice([0.1, 1.0, 5.0])),
        )  # fmt: skip
        limit = 1e-9 if metric.closed_form.quadratic and solver == "auto" else 1e-6
        assert largest_rise(run.history[0]) <= limit, f"seed {seed}"


def test_exact_reports_how_well_the_constraint_holds_where_there_is_no_closed_form():
    blobs = make_blobs(45, distance=9, random_state=0)
    model = SoftECM(3, metric=rbf, relaxation="exact", init="k-means++", random_state=0, n_init=1).fit(blobs.data)
    assert model.constraint_residual_ <= 1e-3
    assert "constraint_residual" in model.runs_.columns


def test_what_a_function_returns_is_checked_when_it_is_used():
    X = make_blobs(20, random_state=0).data
    cases = {
        "must return distances of shape": lambda x, v: x[:, None] - v,
        "must return finite distances": lambda x, v: (x[:, None] - v).square().sum(-1) * float("nan"),
        "must never be negative": lambda x, v: -(x[:, None] - v).square().sum(-1),
    }
    for message, function in cases.items():
        with pytest.raises(ValueError, match=message):
            SoftECM(2, metric=function, random_state=0).fit(X)
    with pytest.raises(TypeError, match="must return a torch tensor"):
        SoftECM(2, metric=lambda x, v: None, random_state=0).fit(X)
    with pytest.raises(TypeError, match="must be a torch function"):
        SoftECM(2, metric=lambda x, v: np.ones((len(x), len(v))), random_state=0).fit(X)
    with pytest.raises((RuntimeError, ValueError), match="must be differentiable"):
        SoftECM(2, metric=lambda x, v: (x[:, None] - v.detach()).square().sum(-1), random_state=0).fit(X)


def test_mahalanobis_is_euclidean_in_whitened_columns():
    blobs = make_blobs(60, n_features=3, random_state=0)
    mix = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.1]])
    X = blobs.data @ mix
    white = np.linalg.cholesky(np.linalg.inv(np.cov(X, rowvar=False, ddof=0)))
    options = {"max_cardinality": 2, "delta": 2.0, "tol": 1e-8, "max_iter": 2000}
    ours = SoftECM(3, metric="mahalanobis", init=X[:3], **options).fit(X)
    plain = SoftECM(3, metric="sqeuclidean", init=X[:3] @ white, **options).fit(X @ white)
    np.testing.assert_allclose(ours.partition_.masses, plain.partition_.masses, atol=1e-6)
    np.testing.assert_allclose(ours.prototypes_ @ white, plain.prototypes_, atol=1e-5)


def test_mahalanobis_refuses_what_is_no_covariance():
    with pytest.raises(ValueError, match="symmetric"):
        Mahalanobis([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="positive definite; got the eigenvalue"):
        Mahalanobis([[1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(ValueError, match="one row per column of X, 2; got 3"):
        SoftECM(2, metric=Mahalanobis(np.eye(3))).fit(np.random.default_rng(0).normal(size=(9, 2)))


def test_cosine_refuses_rows_of_zeros():
    X = make_blobs(20, random_state=0).data
    X[4] = 0
    with pytest.raises(ValueError, match=r"got zeros in row 5 \(X\[4\]\)"):
        SoftECM(2, metric="cosine", random_state=0).fit(X)


@dataclass(frozen=True)
class Places(SemiMetric):
    name = "places"
    column_names = ("latitude", "longitude")

    def pairwise(self, x, v):
        return (x[:, None] - v).square().sum(-1)


def test_columns_of_certain_names_are_asked_for_in_their_order():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["Latitude", "Longitude"])
    model = SoftECM(2, metric=Places(), random_state=0)
    assert len(model.fit(frame).labels_) == 20
    with pytest.raises(ValueError, match=r"latitude and longitude in this order; .* X\[\['Latitude', 'Longitude'\]\]"):
        model.fit(frame[["Longitude", "Latitude"]])
    with pytest.raises(ValueError, match="must have 2 columns for this metric, latitude and longitude; got 1"):
        model.fit(frame[["Latitude"]])
