"""Hamming and Mixed: exact values, missing cells, descent, known tables."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from problems import largest_rise
from pure import soft_ecm
from softecm import SoftECM, datasets, scores
from softecm.belief import FocalSets
from softecm.datasets import make_mixed_blobs
from softecm.distances import Hamming, Mixed
from softecm.distances.base import check_distances
from softecm.testing import check_semimetric

TV = Hamming(kind="total-variation")


def encoded(metric, X):
    space = metric.make_space()
    raw = space.check(SoftECM(), X, reset=True)
    space = space.fit(raw, dtype=torch.float64)
    x = space.encode(raw)
    return space, x, metric.fitted(x, None)


def blobs(missing: float, seed: int = 0, n: int = 60) -> pd.DataFrame:
    data = make_mixed_blobs(n, missing=missing, random_state=seed).data
    return data[data.notna().any(axis=1)]


@pytest.mark.parametrize("metric", [Hamming(), TV, Mixed()], ids=["squared", "total variation", "mixed"])
def test_the_contract_holds(metric):
    check_semimetric(metric).raise_for_failures()


@pytest.mark.parametrize("metric", [Hamming(), TV], ids=["squared", "total variation"])
def test_between_objects_hamming_counts_unequal_attributes_exactly(metric, rng):
    rows = rng.integers(0, 4, (30, 7))
    space, x, metric = encoded(metric, rows)
    starts = space.starts(x, torch.arange(30))
    expected = (rows[:, None] != rows).sum(-1)
    assert torch.equal(metric.pairwise(x, starts), torch.from_numpy(expected).double())
    leaf = starts.clone().requires_grad_()
    assert torch.equal(metric.pairwise(x, leaf).detach(), torch.from_numpy(expected).double())
    assert torch.equal(metric.terms(x, starts), torch.from_numpy(rows[:, None] != rows).double())
    np.testing.assert_allclose(metric.pairwise(starts, starts), expected, rtol=1e-14)


def test_total_variation_is_the_expected_number_of_mismatches():
    rows = np.array([["a", "x"], ["b", "x"], ["c", "y"]])
    _, x, metric = encoded(Hamming(kind="total-variation", epsilon=1e-9), rows)
    v = torch.tensor([[0.5, 0.3, 0.2, 0.25, 0.75]], dtype=torch.float64)
    np.testing.assert_allclose(metric.pairwise(x, v)[:, 0], [0.5 + 0.75, 0.7 + 0.75, 0.8 + 0.25], atol=1e-7)
    other = torch.tensor([[0.1, 0.7, 0.2, 0.25, 0.75]], dtype=torch.float64)
    np.testing.assert_allclose(metric.pairwise(v, other), 0.4, atol=1e-7)


def test_total_variation_keeps_prototypes_distributions():
    frame = blobs(0.1).filter(like="category")
    frame = frame[frame.notna().any(axis=1)]
    model = SoftECM(3, metric=TV, random_state=0, n_init=3).fit(frame)
    rows = model.model_.prototypes
    for start, size in zip(model.model_.space.layout.starts, model.model_.space.layout.levels, strict=True):
        np.testing.assert_allclose(rows[:, start : start + size].sum(1), 1.0, atol=1e-9)
    assert rows.min() > -0.02
    assert model.converged_
    modes = {name: max(shares, key=lambda k: shares[k][0]) for name, shares in model.prototype_distributions_.items()}
    assert modes == model.prototypes_.iloc[0].to_dict()
    model.rename(["low", "middle", "high"])
    assert model.prototypes_.index.tolist() == list(model.focal_sets_.labels()[1:])
    assert model.cluster_centers_.index.tolist() == ["low", "middle", "high"]


def test_numbers_alone_are_squared_euclidean_on_scaled_columns(rng):
    X = rng.normal(size=(80, 4)) * [1, 10, 0.1, 5] + rng.integers(0, 3, (80, 1)) * [4, 40, 0.4, 20]
    frame = pd.DataFrame(X, columns=list("abcd"))
    Z = (X - X.mean(0)) / X.std(0)
    alike = Mixed(weights=None)
    ours = SoftECM(3, metric=alike, init=frame.iloc[:3]).fit(frame)
    plain = SoftECM(3, init=Z[:3]).fit(Z)
    np.testing.assert_allclose(ours.partition_.masses, plain.partition_.masses, atol=1e-8)
    np.testing.assert_allclose((ours.prototypes_ - X.mean(0)) / X.std(0), plain.prototypes_, atol=1e-6)
    seeded = SoftECM(3, metric=alike, random_state=0).fit(frame), SoftECM(3, random_state=0).fit(Z)
    assert adjusted_rand_score(*(m.labels_ for m in seeded)) == 1.0


def test_gaps_follow_the_rule():
    frame = pd.DataFrame(
        {"a": [0.0, 4.0, np.nan], "b": ["x", "y", "x"], "c": [1.0, np.nan, 3.0], "d": ["u", "u", None]}
    )
    metric = Mixed(weights={"a": 2.0, "b": 3.0, "c": 1.0, "d": 4.0}, scaling="range")
    space, x, _ = encoded(metric, frame)
    v = space.starts(x, torch.tensor([0]))
    d = metric.pairwise(x, v)[:, 0]
    whole = 2.0 + 3.0 + 1.0 + 4.0
    # Ranges are 4 and 2: the second row differs by 1 range in a and in b; the third by 1 range in c.
    np.testing.assert_allclose(d, [0.0, (2.0 + 3.0) * whole / (whole - 1.0), 1.0 * whole / (whole - 6.0)], atol=1e-12)
    terms = metric.terms(x, v)[:, 0]
    np.testing.assert_allclose(terms.sum(-1), d, atol=1e-12)
    assert terms[1, 2] == 0
    assert terms[2, 0] == 0


@pytest.mark.parametrize("metric", [Mixed(), Hamming(), TV], ids=["mixed", "squared", "total variation"])
def test_gradient_and_sums_agree_with_differences_where_there_are_gaps(metric, rng):
    frame = blobs(0.2, n=30)
    frame = frame if isinstance(metric, Mixed) else frame.filter(like="category").dropna(how="all")
    space, x, metric = encoded(metric, frame)
    w = torch.from_numpy(rng.random((len(x), 3)))
    v = torch.stack([space.starts(x, torch.arange(k * 5, k * 5 + 5)).mean(0) for k in range(3)])

    def cost(u):
        return (metric.pairwise(x, u) * w).sum()

    leaf = v.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(cost(leaf), leaf)
    for _ in range(5):
        direction = torch.from_numpy(rng.normal(size=v.shape))
        h = 1e-6
        numeric = (cost(v + h * direction) - cost(v - h * direction)) / (2 * h)
        torch.testing.assert_close((gradient * direction).sum(), numeric, rtol=1e-5, atol=1e-5)
    sums = metric.closed_form.sums(x, v, w)
    if metric.closed_form.quadratic:
        torch.testing.assert_close(2 * (sums.curvature * v - sums.moment), gradient)
        u = v + 0.1 * torch.from_numpy(rng.normal(size=v.shape))
        rise = ((sums.curvature * u - 2 * sums.moment) * u - (sums.curvature * v - 2 * sums.moment) * v).sum()
        torch.testing.assert_close(cost(u) - cost(v), rise)
    check_distances(metric, metric.pairwise(x, v), len(x), 3)


@pytest.mark.parametrize("relaxation", ["penalty", "gap", "exact"])
@pytest.mark.parametrize("kind", ["mixed", "squared", "total variation"])
def test_the_objective_never_rises(relaxation, kind, many):
    for seed in range(many if kind != "total variation" else max(2, many // 10)):
        rng = np.random.default_rng(seed)
        frame = blobs(float(rng.choice([0.0, 0.1, 0.4])), seed, int(rng.integers(12, 50)))
        if kind != "mixed":
            frame = frame.filter(like="category").dropna(how="all")
        space, x, metric = encoded({"mixed": Mixed(), "squared": Hamming(), "total variation": TV}[kind], frame)
        focal = FocalSets.up_to(int(rng.integers(2, 4)), int(rng.integers(1, 4)))
        start = space.starts(x, torch.arange(focal.n_clusters))
        run = soft_ecm(
            x, metric, focal, start[None], relaxation=relaxation, max_iter=10 if metric.closed_form.quadratic else 5,
            alpha=float(rng.uniform(0, 2)), beta=float(rng.choice([1.1, 1.5, 2.0])),
            delta=float(rng.uniform(0.5, 3)), lam=float(rng.choice([0.1, 1.0, 5.0])),
        )  # fmt: skip
        if relaxation == "exact" and not metric.closed_form.quadratic:
            continue  # lambda is raised in between
        assert largest_rise(run.history[0]) <= (1e-9 if metric.closed_form.quadratic else 1e-6), f"seed {seed}"


@pytest.mark.parametrize(("missing", "loss"), [(0.1, 0.05), (0.3, 0.15)])
def test_deleted_cells_cost_little(missing, loss):
    for seed in range(3):
        whole = make_mixed_blobs(300, random_state=seed)
        holes = make_mixed_blobs(300, random_state=seed).data.mask(
            np.random.default_rng(seed).random(whole.data.shape) < missing
        )
        kept = holes.notna().any(axis=1).to_numpy()
        complete = SoftECM(3, random_state=0).fit(whole.data).labels_
        labels = SoftECM(3, random_state=0).fit(holes[kept]).labels_
        reference = adjusted_rand_score(whole.target, complete)
        assert adjusted_rand_score(whole.target[kept], labels) >= reference - loss


def test_a_doubled_row_is_a_weight_of_two():
    frame = blobs(0.1, n=40)
    weights = np.arange(len(frame)) % 3
    doubled = frame.loc[np.repeat(frame.index, weights)]
    a = SoftECM(3, random_state=0, n_init=3).fit(frame, sample_weight=weights)
    b = SoftECM(3, random_state=0, n_init=3).fit(doubled)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-6)
    assert adjusted_rand_score(np.repeat(a.labels_, weights), b.labels_) == 1.0


def test_row_order_does_not_matter():
    frame = blobs(0.2)
    order = np.random.default_rng(1).permutation(len(frame))
    a = SoftECM(3, random_state=0, n_init=2).fit(frame)
    b = SoftECM(3, random_state=0, n_init=2).fit(frame.iloc[order])
    assert adjusted_rand_score(a.labels_[order], b.labels_) == 1.0
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)


def test_float32_finds_the_same_groups():
    frame = blobs(0.1)
    a = SoftECM(3, random_state=0, n_init=2).fit(frame)
    b = SoftECM(3, random_state=0, n_init=2, dtype="float32").fit(frame)
    assert adjusted_rand_score(a.labels_, b.labels_) == 1.0


def test_explain_adds_up_to_transform_for_every_metric():
    frame = blobs(0.2)
    for metric in ("mixed", "hamming", TV):
        data = frame if metric == "mixed" else frame.filter(like="category").dropna(how="all")
        model = SoftECM(2, metric=metric, random_state=0, n_init=1, max_iter=300).fit(data)
        np.testing.assert_allclose(model.explain(data).sum(-1), model.transform(data), atol=1e-9)
        assert (model.explain(data) >= 0).all()


# Adjusted Rand indices of kmodes 0.12.2's KPrototypes on the complete rows (benchmarks/tables.py quality).
PROTOTYPES = {"cleveland": 0.291, "heart": 0.314, "credit": 0.098, "hepatitis": 0.250, "cmc": 0.026}


@pytest.fixture
def folder(monkeypatch):
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    place = Path(os.environ.get("SOFTECM_DATA", beside))
    if not place.is_dir():
        pytest.skip("needs the data folder: set SOFTECM_DATA")
    monkeypatch.setenv("SOFTECM_DATA", str(place))


def test_the_papers_categorical_tables_at_default_parameters(folder):
    soybean, lung = datasets.load_soybean(), datasets.load_lung()
    for metric in ("hamming", "auto"):
        labels = SoftECM(4, metric=metric, random_state=0).fit(soybean.data).labels_
        assert scores.adjusted_rand_index(soybean.target, labels) >= 0.95
        labels = SoftECM(3, metric=metric, random_state=0).fit(lung.data).labels_
        assert scores.rand_index(lung.target, labels) >= 0.65


@pytest.mark.filterwarnings("ignore:row 3:softecm.ReadingWarning")  # an extreme value in crx
def test_mixed_tables_against_k_prototypes(folder):
    above = 0
    for name, reference in PROTOTYPES.items():
        bunch = getattr(datasets, f"load_{name}")()
        whole = bunch.data.notna().all(axis=1).to_numpy()
        classes = len(bunch.target_names)
        model = SoftECM(classes, random_state=0).fit(bunch.data[whole])
        index = scores.adjusted_rand_index(bunch.target[whole], model.labels_)
        assert index >= reference - 0.05, name
        above += index > reference
        if not whole.all():
            assert len(SoftECM(classes, random_state=0, n_init=2).fit(bunch.data).labels_) == len(whole)
    assert above >= 2
