"""Elastic distances as semi-metrics: properties, clustering, options, errors."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from problems import largest_rise
from references import elastic as reference
from softecm import SoftECM, load_model
from softecm.barycenters import barycenter
from softecm.distances import ADTW, DTW, ERP, MSM, TWE, WDTW, SoftMSM, SoftTWE, SquaredEuclidean
from softecm.spaces.series import SeriesBatch
from softecm.testing import check_semimetric

aeon = pytest.importorskip("aeon.distances", reason="needs aeon: pip install 'softecm[series]'")

SOFT = [SoftMSM(0.3), SoftTWE(0.01, 0.3), ADTW(0.3, gamma=0.1), WDTW(0.1, gamma=0.1), ERP(0.2, gamma=0.1)]
HARD = [MSM(0.3), TWE(0.01, 0.3), ADTW(0.3), WDTW(0.1), ERP(0.2)]
OPTIONS = [{}, {"derivative": True}, {"znormalise": True}, {"derivative": True, "znormalise": True}]


def waves(n=8, length=30, channels=1, seed=0):
    """Two kinds of wave, with small shifts."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, length)
    kinds = np.arange(n) % 2
    rows = [
        [
            np.sin(2 * np.pi * (1 + k) * (t - 0.05 * rng.random())) + 0.05 * rng.normal(size=length)
            for _ in range(channels)
        ]
        for k in kinds
    ]
    return np.array(rows).transpose(0, 2, 1), kinds


@pytest.mark.parametrize("options", OPTIONS[1:], ids=str)
@pytest.mark.parametrize("kind", [SoftMSM, SoftTWE, ADTW, ERP], ids=lambda k: k.__name__)
def test_slopes_and_z_normalised_series_keep_the_contract(kind, options):
    check_semimetric(kind(**options), n=5).raise_for_failures()


@pytest.mark.parametrize("metric", SOFT, ids=lambda m: m.name)
def test_soft_variants_keep_the_contract(metric):
    check_semimetric(metric, n=5).raise_for_failures()
    unequal = SeriesBatch(torch.randn(5, 12, 2, dtype=torch.float64).cumsum(1), torch.tensor([12, 7, 9, 12, 3]))
    check_semimetric(metric, unequal, prototypes=torch.randn(5, 10, 2, dtype=torch.float64)).raise_for_failures()


@pytest.mark.parametrize("metric", [*SOFT, *HARD[2:4]], ids=lambda m: f"{m.name}-{m.gamma}")
def test_raw_values_lie_below_the_quadratic_that_touches_them(metric):
    raw = replace(metric, divergence=False)
    (bound,) = [c for c in check_semimetric(raw, n=5).checks if c.name == "sums is a bound"]
    assert bound.holds, bound.detail
    assert not bound.skipped
    x = torch.randn(3, 9, 2, dtype=torch.float64)
    assert (
        raw.closed_form.sums(x, x[:2] + 0.1, torch.ones(3, 2, dtype=torch.float64)).gradient is None
    )  # it is tried as a bound


def test_the_divergence_takes_half_of_each_self_term_off():
    x = torch.from_numpy(waves(3, 8, 2)[0])
    metric = SoftMSM(0.3, gamma=0.5)
    found = metric.pairwise(x, x[:2])
    for i in range(3):
        for j in range(2):
            s = [float(reference.msm(a, b, 0.3, 0.5)) for a, b in ((x[i], x[j]), (x[i], x[i]), (x[j], x[j]))]
            assert float(found[i, j]) == pytest.approx(max(s[0] - (s[1] + s[2]) / 2, 0), abs=1e-9)
    raw = SoftMSM(0.3, gamma=0.5, divergence=False).pairwise(x, x)
    assert float(raw.diagonal().max()) < 0


@pytest.mark.parametrize(("soft", "hard"), list(zip(SOFT, HARD)), ids=lambda m: m.name)
def test_small_gamma_is_the_hard_distance(soft, hard):
    x = torch.from_numpy(waves(4, channels=2)[0])
    near = soft.with_gamma(1e-6).pairwise(x, x[:2])
    torch.testing.assert_close(near, hard.pairwise(x, x[:2]), rtol=1e-3, atol=1e-3)


def test_amerced_warping_lies_between_warping_and_step_by_step():
    x = torch.from_numpy(waves(5, channels=2)[0])
    torch.testing.assert_close(ADTW(0.0).pairwise(x, x[:2]), DTW().pairwise(x, x[:2]))
    steps = SquaredEuclidean().pairwise(x.flatten(1), x[:2].flatten(1))
    torch.testing.assert_close(ADTW(1e9).pairwise(x, x[:2]), steps)
    torch.testing.assert_close(WDTW(0.0).pairwise(x, x[:2]), DTW().pairwise(x, x[:2]) / 2)


def test_slopes_are_aeons_derivative():
    X = np.ascontiguousarray(waves(4, channels=2)[0])
    x = torch.from_numpy(X)
    moved = np.ascontiguousarray(X.transpose(0, 2, 1))
    wanted = [[aeon.ddtw_distance(a, b) for b in moved] for a in moved]
    np.testing.assert_allclose(ADTW(0.0, derivative=True).pairwise(x, x), wanted, atol=1e-10)


def test_z_normalised_series_do_not_depend_on_level_and_scale():
    X, _ = waves(4, channels=2)
    x = torch.from_numpy(X)
    for metric in (SoftMSM(znormalise=True), ERP(znormalise=True)):
        moved = metric.pairwise(3.0 * x + torch.tensor([5.0, -2.0]), x[:2])
        torch.testing.assert_close(moved, metric.pairwise(x, x[:2]))
    constant = torch.cat([x[:1], torch.ones_like(x[:1])])
    leaf = constant.clone().requires_grad_()
    d = SoftMSM(znormalise=True).pairwise(x, leaf)
    d.sum().backward()
    assert torch.isfinite(d).all()
    assert torch.isfinite(leaf.grad).all()


@pytest.mark.parametrize("metric", [*SOFT, *HARD], ids=lambda m: f"{m.name}-{getattr(m, 'gamma', 0)}")
def test_waves_are_told_apart_and_the_objective_never_rises(metric, tmp_path):
    X, kinds = waves(10, channels=2)
    ragged = [row[: 30 - i] for i, row in enumerate(X)]
    ragged[3] = ragged[3].copy()
    ragged[3][5] = np.nan
    model = SoftECM(2, metric=metric, n_init=2, random_state=0, tol=1e-2).fit(ragged)
    assert adjusted_rand_score(kinds, model.labels_) == 1
    assert largest_rise(model.history_) <= 1e-6
    assert model.prototypes_.shape[1:] == (int(np.median([len(r) for r in ragged])), 2)
    np.testing.assert_allclose(model.explain(ragged).sum(-1), model.transform(ragged), rtol=1e-6, atol=1e-8)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.model_.metric == metric
    assert np.array_equal(again.predict_partition(ragged).masses, model.partition_.masses)


@pytest.mark.parametrize("options", OPTIONS[1:], ids=str)
def test_fits_compare_slopes_and_z_normalised_series(options):
    X, kinds = waves(8)
    model = SoftECM(2, metric=SoftMSM(0.1, **options), n_init=2, random_state=0, tol=1e-2).fit(X)
    assert adjusted_rand_score(kinds, model.labels_) == 1
    assert model.prototypes_.shape == (len(model.prototypes_), 30, 1)
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-6, atol=1e-8)


def test_gamma_is_chosen_from_the_data():
    X, _ = waves(6)
    model = SoftECM(2, metric=SoftMSM(gamma="auto"), n_init=1, random_state=0, tol=1e-2).fit(X)
    spread = np.sqrt(2 * X.var())
    assert model.model_.metric.gamma == pytest.approx(0.1 * spread, rel=1e-6)
    model = SoftECM(2, metric=ADTW(gamma="auto"), n_init=1, random_state=0, tol=1e-2).fit(X)
    assert model.model_.metric.gamma == pytest.approx((0.1 * spread) ** 2, rel=1e-6)
    with pytest.raises(ValueError, match=r"SoftMSM\(gamma='auto'\) needs data before use"):
        SoftMSM(gamma="auto").pairwise(torch.zeros(1, 4, 1), torch.zeros(1, 4, 1))


@pytest.mark.parametrize("metric", [*SOFT, *HARD], ids=lambda m: f"{m.name}-{getattr(m, 'gamma', 0)}")
def test_barycentres_beat_the_mean(metric):
    X, kinds = waves(8, channels=2)
    rows = [row[: 30 - i] for i, row in enumerate(X[kinds == 0])]
    found = barycenter(rows, metric, weights=[1, 2, 1, 1])
    w = torch.tensor([1.0, 2.0, 1.0, 1.0], dtype=torch.float64) / 5
    space = metric.make_space().fit(rows, dtype=torch.float64)
    batch = space.encode(rows)

    def value(u):
        return float(metric.pairwise(batch, u)[:, 0] @ w)

    assert found.objective == pytest.approx(value(torch.from_numpy(found.series)[None]), rel=1e-6)
    mean = (space.starts(batch, torch.arange(4)) * w[:, None, None]).sum(0)
    assert found.objective < value(mean[None])


def test_barycentres_ask_for_a_metric_between_series():
    with pytest.raises(ValueError, match="metric must be one between series; got SquaredEuclidean"):
        barycenter(np.zeros((3, 5, 1)), SquaredEuclidean())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MSM(-1), "cost must be at least 0; got -1"),
        (lambda: SoftMSM(cost="1"), "cost must be a number at least 0; got '1'"),
        (lambda: SoftMSM(gamma=0), "gamma must be greater than 0; got 0"),
        (lambda: SoftMSM(divergence="no"), "divergence must be True or False; got 'no'"),
        (lambda: ADTW(1.0, gamma=1.0, divergence=None), "divergence must be True or False; got None"),
        (lambda: SoftTWE(gamma=float("nan")), "gamma must be a number greater than 0; got nan"),
        (lambda: ADTW(gamma=-0.1), "gamma must be at least 0; got -0.1"),
        (lambda: TWE(stiffness=-1), "stiffness must be at least 0; got -1"),
        (lambda: TWE(penalty=float("inf")), "penalty must be a finite number at least 0; got inf"),
        (lambda: ADTW(penalty=-1), "penalty must be at least 0; got -1"),
        (lambda: WDTW(steepness=-0.5), "steepness must be at least 0; got -0.5"),
        (lambda: ERP(reference=float("nan")), "reference must be a finite number; got nan"),
        (lambda: MSM(band=-1), "band must be a whole number of steps from 0"),
        (lambda: MSM(band=1.5), "band must be a whole number of steps from 0"),
        (lambda: MSM(derivative=1), "derivative must be True or False; got 1"),
        (lambda: MSM(znormalise="yes"), "znormalise must be True or False; got 'yes'"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_series_that_do_not_fit_are_refused():
    X, _ = waves(4)
    with pytest.raises(ValueError, match="band must be at least 1 for series of different lengths; got 0"):
        SoftECM(2, metric=MSM(band=0), random_state=0).fit([X[0], X[1], X[2][:20], X[3]])
    with pytest.raises(ValueError, match="derivative=True must have series of at least 3 steps; got one of 2"):
        SoftECM(2, metric=MSM(derivative=True), random_state=0).fit([X[0], X[1], X[2][:2], X[3]])
    with pytest.raises(ValueError, match="must hold series with values; got only NaN in series 2"):
        SoftECM(2, metric=MSM(), random_state=0).fit([X[0], X[1] * np.nan])
    with pytest.raises(ValueError, match="metric softmsm must never be negative"):
        SoftECM(2, metric=SoftMSM(0.0, gamma=2.0, divergence=False), random_state=0).fit(X)


def test_numbers_of_numpy_are_taken(tmp_path):
    X, _ = waves(6)
    metric = ADTW(np.float32(0.5), gamma=np.float64(0.25), band=np.int64(8), derivative=np.True_)
    model = SoftECM(2, metric=metric, n_init=1, random_state=0, tol=1e-2).fit(X)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").model_.metric == ADTW(0.5, gamma=0.25, band=8, derivative=True)
