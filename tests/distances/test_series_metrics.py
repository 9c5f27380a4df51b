"""Distances between series and clustering with them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from problems import largest_rise
from references import soft_dtw as reference
from softecm import SoftECM, load_model
from softecm.datasets import make_bell_funnel_mixture, make_cbf
from softecm.distances import DTW, SeriesEuclidean, SoftDTW, SquaredEuclidean
from softecm.kernels.soft_dtw import soft_dtw
from softecm.spaces.series import SeriesBatch


def waves(n=8, length=40, seed=0):
    """Two kinds of wave, with small shifts."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, length)
    kinds = np.arange(n) % 2
    rows = [np.sin(2 * np.pi * (1 + k) * (t - 0.05 * rng.random())) + 0.05 * rng.normal(size=length) for k in kinds]
    return np.stack(rows)[..., None], kinds


def test_the_divergence_is_what_its_formula_says():
    X, _ = waves(4)
    x = torch.from_numpy(X)
    d = SoftDTW(gamma=0.5).pairwise(x, x[:2])
    for i in range(4):
        for j in range(2):
            s = [reference.soft_dtw(a, b, 0.5) for a, b in ((X[i], X[j]), (X[i], X[i]), (X[j], X[j]))]
            assert float(d[i, j]) == pytest.approx(max(s[0] - (s[1] + s[2]) / 2, 0), abs=1e-9)


def test_small_gamma_is_dtw():
    x = torch.from_numpy(waves(4)[0])
    torch.testing.assert_close(SoftDTW(gamma=1e-5).pairwise(x, x[:2]), DTW().pairwise(x, x[:2]), rtol=1e-3, atol=1e-3)


def test_series_euclidean_is_squared_euclidean_distance_of_the_steps():
    x = torch.from_numpy(waves(5)[0])
    expected = SquaredEuclidean().pairwise(x.flatten(1), x[:2].flatten(1))
    torch.testing.assert_close(SeriesEuclidean().pairwise(x, x[:2]), expected)


def test_series_euclidean_leaves_gaps_out_and_scales_up():
    a = [np.zeros((4, 1)), np.array([[1.0], [np.nan], [1.0], [1.0]]), np.ones((2, 1))]
    metric = SeriesEuclidean()
    space = metric.make_space().fit(a, dtype=torch.float64)
    d = metric.pairwise(space.encode(a), torch.zeros(1, 4, 1, dtype=torch.float64))
    assert d[:, 0].tolist() == pytest.approx([0, 4, 4])


@pytest.mark.parametrize(
    "metric", [SoftDTW(gamma=0.1), SoftDTW(gamma="auto", band=8), DTW(), SeriesEuclidean()], ids=str
)
@pytest.mark.parametrize("relaxation", ["penalty", "gap"])
def test_waves_are_told_apart_and_the_objective_never_rises(metric, relaxation):
    X, kinds = waves(10)
    model = SoftECM(2, metric=metric, relaxation=relaxation, n_init=2, random_state=0, max_iter=100).fit(X)
    assert adjusted_rand_score(kinds, model.labels_) == 1
    assert largest_rise(model.history_) <= (1e-9 if metric.closed_form.quadratic else 1e-6)
    assert model.prototypes_.shape == (3, 40, 1)
    assert model.partition_ == model.predict_partition(X)
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_hard_constraint_is_approached_by_raising_lambda():
    X, kinds = waves(8)
    model = SoftECM(2, metric=DTW(), relaxation="exact", n_init=1, random_state=0, max_iter=40).fit(X)
    assert model.constraint_residual_ < 0.1
    assert adjusted_rand_score(kinds, model.labels_) == 1


def test_unequal_lengths_gaps_and_files(tmp_path):
    X, kinds = waves(10)
    ragged = [row[: 40 - i] for i, row in enumerate(X)]
    ragged[3] = ragged[3].copy()
    ragged[3][5] = np.nan
    model = SoftECM(2, metric=SoftDTW(gamma=0.1), n_init=2, random_state=0).fit(ragged)
    assert model.prototypes_.shape[1] == int(np.median([len(r) for r in ragged]))
    assert adjusted_rand_score(kinds, model.labels_) == 1
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert np.array_equal(again.predict_partition(ragged).masses, model.partition_.masses)
    with pytest.raises(ValueError, match="series of 2 channels, but SoftECM was fitted on 1"):
        model.predict([np.ones((5, 2))])


def test_aeons_layout_is_understood():
    X, _ = waves(6, length=40)
    ours = SoftECM(2, metric="softdtw", n_init=1, random_state=0, max_iter=60, tol=1e-2).fit(X)
    assert ours.model_.metric == SoftDTW()
    turned = SoftECM(2, metric=SoftDTW(layout="aeon"), n_init=1, random_state=0, max_iter=60, tol=1e-2)
    turned.fit(X.transpose(0, 2, 1))
    np.testing.assert_allclose(turned.partition_.masses, ours.partition_.masses)
    assert turned.prototypes_.shape == (3, 1, 40)


@pytest.mark.parametrize("metric", [SoftDTW(gamma=0.5), DTW()], ids=str)
@pytest.mark.parametrize(("length", "channels"), [(9, 5), (9, 4)])
def test_short_series_of_many_channels_are_evaluated_alike(length, channels, metric):
    rng = np.random.default_rng(0)
    x, v = (torch.from_numpy(rng.normal(size=(n, length, channels))) for n in (6, 3))
    weights = torch.from_numpy(rng.random((6, 3)))
    kept, sums = metric.closed_form.with_sums(x, v), metric.closed_form.sums(x, v, weights)
    assert (kept is None) == (length < 2 * channels)  # otherwise two passes are cheaper than storing every pair's sums
    leaf = v.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((metric.pairwise(x, leaf) * weights).sum(), leaf)
    if kept is not None:
        torch.testing.assert_close(kept[0], metric.pairwise(x, v))
    for found in [sums] if kept is None else [sums, kept[1](weights)]:
        slope = 2 * (found.curvature * v - found.moment) if found.gradient is None else found.gradient
        torch.testing.assert_close(slope, gradient)


def test_numbers_of_numpy_are_taken(tmp_path):
    X, _ = waves(6)
    metric = SoftDTW(gamma=np.float32(0.5), band=np.int64(8))
    model = SoftECM(2, metric=metric, n_init=1, random_state=0, tol=1e-2).fit(X)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").model_.metric == SoftDTW(gamma=0.5, band=8)


def test_the_paper_s_gradient_descent_works_on_series():
    from softecm import GradientDescent

    X, kinds = waves(8)
    model = SoftECM(
        2,
        metric=SoftDTW(gamma=0.1),
        n_init=2,
        random_state=0,
        solver=GradientDescent(inner_steps=5),
        tol=1e-2,
        max_iter=200,
    ).fit(X)
    assert adjusted_rand_score(kinds, model.labels_) == 1
    assert largest_rise(model.history_) <= 1e-6


def test_a_start_given_as_series_sets_the_prototypes_length():
    X, _ = waves(6)
    model = SoftECM(2, metric=SoftDTW(gamma=0.1), init=X[:2, ::2], tol=1e-2).fit(X)
    assert model.prototypes_.shape == (3, 20, 1)


def test_made_series_have_their_shapes():
    cbf = make_cbf(4, random_state=0)
    assert cbf.data.shape == (12, 128, 1)
    mixture = make_bell_funnel_mixture(3, noise=0.0, random_state=0)
    both = mixture.data[mixture.target == 2, :, 0]
    assert (both[:, :64].max(1) > 3).all()
    assert (both[:, 64:].max(1) > 3).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SoftDTW(gamma=0), r"gamma must be a number greater than 0 or 'auto'; got 0"),
        (lambda: SoftDTW(divergence="no"), r"divergence must be True or False; got 'no'"),
        (lambda: SoftDTW(gamma=-1.0), r"gamma must be a number greater than 0 or 'auto'; got -1\.0"),
        (lambda: SoftDTW(gamma=np.nan), r"gamma must be a number greater than 0 or 'auto'; got nan"),
        (lambda: SoftDTW(gamma=np.inf), r"gamma must be a number greater than 0 or 'auto'; got inf"),
        (lambda: SoftDTW(gamma=True), r"gamma must be a number greater than 0 or 'auto'; got True"),
        (lambda: SoftDTW(gamma="small"), r"gamma must be a number greater than 0 or 'auto'; got 'small'"),
        (lambda: SoftDTW(band=-1), r"band must be a whole number of steps from 0, or None; got -1"),
        (lambda: DTW(band=1.5), r"band must be a whole number of steps from 0, or None; got 1\.5"),
        (lambda: SoftECM(2, metric=SoftDTW(divergence=False)).fit(waves(6)[0] * 0.01), "must never be negative"),
        (
            lambda: SoftECM(2, metric=SoftDTW(band=0)).fit([row[: 40 - i] for i, row in enumerate(waves(6)[0])]),
            "band must be at least 1 for series of different lengths; got 0",
        ),
        (lambda: SoftECM(2, metric=SoftDTW(length=1)).fit(waves(6)[0]), "length must be a whole number of at least 2"),
        (
            lambda: SoftECM(2, metric=SoftDTW(layout="tsl")).fit(waves(6)[0]),
            "layout must be one of 'tslearn', 'aeon'; got 'tsl'",
        ),
        (
            lambda: SoftECM(2, metric="softdtw", init=np.ones((2, 5, 3))).fit(waves(6)[0]),
            "init must hold series of 1 channels",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_distances_to_recent_prototypes_are_not_measured_twice(monkeypatch):
    from softecm.distances import soft_dtw as module

    rng = torch.Generator().manual_seed(0)
    x, v = (torch.randn((n, 9, 2), generator=rng, dtype=torch.float64) for n in (5, 4))
    metric, batch = SoftDTW(gamma=0.5), SeriesBatch(x)
    first = metric.pairwise(batch, v[:3])
    assert torch.equal(first, metric.pairwise(x, v[:3]))
    measured = []
    monkeypatch.setattr(module, "soft_dtw", lambda x, y, **how: measured.append(len(y)) or soft_dtw(x, y, **how))
    again = metric.pairwise(batch[:5], v[[2, 3, 0]])
    assert measured == [1]  # the new one
    assert torch.equal(again[:, [2, 0]], first[:, [0, 2]])
    metric.pairwise(batch[:4], v)  # other series
    replace(metric, gamma=1.0).pairwise(batch, v)  # another distance
    assert measured == [1, 4, 4]


@pytest.mark.parametrize(
    ("metric", "share"),
    [(SoftDTW(gamma="auto"), 0.01), (SoftDTW(gamma="smooth"), 0.2), (SoftDTW(gamma="auto", of="slope"), 0.01)],
    ids=str,
)
def test_gamma_is_a_share_of_the_mean_squared_difference_of_steps(metric, share):
    X = np.random.default_rng(0).normal(3.0, 2.0, (8, 12, 1)).cumsum(1)
    steps = (np.diff(X, axis=1) if metric.of == "slope" else X).ravel()
    learned = metric.fitted(metric.make_space().fit(X, dtype=torch.float64).encode(X), None)
    assert learned.gamma == pytest.approx(share * ((steps[:, None] - steps) ** 2).mean(), rel=1e-9)
