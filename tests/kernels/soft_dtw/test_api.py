"""Soft-DTW kernels against the plain recursion, closed forms and finite differences."""

import os

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from references import soft_dtw as reference
from softecm.kernels import soft_dtw as sdtw
from softecm.kernels.soft_dtw import soft_dtw_paired, soft_dtw_self

DEEP = bool(os.environ.get("SOFTECM_DEEP"))
LONGEST = 300 if DEEP else 50
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}


def problem(seed, dtype, longest=LONGEST, channels=8):
    """Ragged series on both sides with NaN padding, a band or none, gamma over six decades, value / gamma within 1e4."""
    rng = np.random.default_rng(seed)
    n, f, d = int(rng.integers(1, 5 if DEEP else 12)), int(rng.integers(1, 4)), int(rng.integers(1, channels + 1))
    gamma = float(10 ** rng.uniform(-3, 3))
    ragged = rng.random() < 0.7
    top = [int(rng.integers(1, longest + 1)) for _ in range(2)]
    lengths = [rng.integers(1, t + 1, k) if ragged else np.full(k, t) for t, k in zip(top, (n, f))]
    scale = np.sqrt(min(1.0, 1e4 * gamma / (4 * d * max(top))))  # costs are about 2 d scale²
    x, y = (
        scale * rng.normal(size=(k, t, d)).cumsum(1) / np.sqrt(np.arange(1, t + 1))[:, None]
        for k, t in zip((n, f), top)
    )
    for a, l in zip((x, y), lengths):
        for row, k in zip(a, l):
            row[k:] = np.nan
    band = None
    if rng.random() < 0.4:
        band = int(rng.integers(0, max(top) + 1))
        band = max(band, int(len(np.unique(np.concatenate(lengths))) > 1))
    weights = rng.normal(size=(n, f)) * (rng.random((n, f)) < 0.8)
    x, y, weights = (torch.tensor(a).to(dtype) for a in (x, y, weights))
    lengths = [torch.tensor(l) if ragged else None for l in lengths]
    return {"x": x, "y": y, "weights": weights, "lengths": lengths, "gamma": gamma, "band": band}


def expected(x, y, weights, lengths, gamma, band):
    """Values (n, f), W, Y and the gradient in y, pair by pair."""
    x, y, weights = (a.double().numpy() for a in (x, y, weights))
    lx, ly = (np.full(len(a), a.shape[1]) if l is None else l.numpy() for a, l in zip((x, y), lengths))
    values = np.zeros(weights.shape)
    w, s, g = np.zeros(y.shape[:2]), np.zeros(y.shape), np.zeros(y.shape)
    for i, j in np.ndindex(values.shape):
        a, b = x[i, : lx[i]], y[j, : ly[j]]
        values[i, j], e = reference.value_and_alignment(a, b, gamma, band)
        w[j, : ly[j]] += weights[i, j] * e.sum(0)
        s[j, : ly[j]] += weights[i, j] * e.T @ a
        g[j, : ly[j]] += weights[i, j] * 2 * np.einsum("st,std->td", e, b - a[:, None])
    return values, w, s, g


def assert_close(found, wanted, tolerance, scale=0.0):
    found = found.detach().double().numpy()
    size = max(np.abs(wanted).max(initial=0.0), scale)
    assert np.isfinite(found).all()
    assert np.abs(found - wanted).max(initial=0.0) <= tolerance * size


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@given(seed=st.integers(0, 2**32 - 1))
def test_values_and_sums_equal_the_plain_recursion(dtype, seed):
    p = problem(seed, dtype)
    values, w, s, _ = expected(**p)
    lengths = dict(zip(("x_lengths", "y_lengths"), p["lengths"]))
    found = sdtw.soft_dtw_sums(p["x"], p["y"], p["weights"], gamma=p["gamma"], band=p["band"], **lengths)
    alone = sdtw.soft_dtw(p["x"], p["y"], gamma=p["gamma"], band=p["band"], **lengths)
    tolerance = TOLERANCE[dtype]
    assert (np.abs(found[0].double().numpy() - values) <= tolerance * (np.abs(values) + p["gamma"])).all()
    assert torch.equal(found[0], alone)
    assert_close(found[1], w, tolerance, 1e-3)
    assert_close(found[2], s, tolerance, 1e-3 * p["x"].nan_to_num().abs().max().item())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@given(seed=st.integers(0, 2**32 - 1))
def test_gradients_in_both_arguments_equal_the_plain_recursion(dtype, seed):
    p = problem(seed, dtype, longest=LONGEST // 2)
    x, y = p["x"].requires_grad_(), p["y"].requires_grad_()
    lx, ly = p["lengths"]
    options = {"gamma": p["gamma"], "band": p["band"]}
    (sdtw.soft_dtw(x, y, x_lengths=lx, y_lengths=ly, **options) * p["weights"]).sum().backward()
    p = p | {"x": x.detach(), "y": y.detach()}
    back = p | {"x": p["y"], "y": p["x"], "weights": p["weights"].T, "lengths": [ly, lx]}
    assert_close(y.grad, expected(**p)[3], TOLERANCE[dtype], 1e-12)
    assert_close(x.grad, expected(**back)[3], TOLERANCE[dtype], 1e-12)


@pytest.mark.parametrize(("n", "m", "d"), [(300, 287, 1), (129, 300, 3), (1, 300, 2), (300, 1, 1), (257, 257, 8)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_long_series(dtype, n, m, d, rng):
    p = {
        "x": torch.tensor(rng.normal(size=(3, n, d))).to(dtype),
        "y": torch.tensor(rng.normal(size=(2, m, d))).to(dtype),
        "weights": torch.ones(3, 2, dtype=dtype),
        "lengths": [None, None],
        "gamma": 0.7,
        "band": None,
    }
    values, w, s, _ = expected(**p)
    found = sdtw.soft_dtw_sums(p["x"], p["y"], p["weights"], gamma=0.7)
    for a, b in zip(found, (values, w, s)):
        assert_close(a, b, TOLERANCE[dtype] / 10)


def test_chosen_pairs_equal_entries_of_the_whole(rng):
    p = problem(3, torch.float64)
    x, y, (lx, ly), options = p["x"], p["y"], p["lengths"], {"gamma": p["gamma"], "band": p["band"]}
    index = torch.tensor(rng.integers(0, len(x), 50)), torch.tensor(rng.integers(0, len(y), 50))
    weights = torch.tensor(rng.normal(size=50))
    values, w, s = sdtw.soft_dtw_sums(x, y, weights, pairs=index, x_lengths=lx, y_lengths=ly, **options)
    dense = torch.zeros(len(x), len(y), dtype=torch.float64).index_put(index, weights, accumulate=True)
    all_values, all_w, all_s = sdtw.soft_dtw_sums(x, y, dense, x_lengths=lx, y_lengths=ly, **options)
    torch.testing.assert_close(values, all_values[index], rtol=1e-13, atol=0)
    torch.testing.assert_close(w, all_w, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(s, all_s, rtol=1e-10, atol=1e-12)


def test_paired_rows_are_the_diagonal(rng):
    x, y = (torch.tensor(rng.normal(size=(5, k, 2)), requires_grad=True) for k in (11, 13))
    paired = sdtw.soft_dtw_paired(x, y, gamma=0.5)
    torch.testing.assert_close(paired, sdtw.soft_dtw(x, y, gamma=0.5).diagonal())
    grads = torch.autograd.grad(paired.sum(), (x, y))
    wanted = torch.autograd.grad(sdtw.soft_dtw(x, y, gamma=0.5).diagonal().sum(), (x, y))
    for a, b in zip(grads, wanted):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("band", [None, 2])
@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_gradcheck(gamma, band, rng):
    x = torch.tensor(rng.normal(size=(3, 6, 2)), requires_grad=True)
    y = torch.tensor(rng.normal(size=(2, 5, 2)), requires_grad=True)
    lengths = torch.tensor([6, 4, 5])
    assert torch.autograd.gradcheck(lambda a, b: sdtw.soft_dtw(a, b, gamma=gamma, band=band, x_lengths=lengths), (x, y))
    assert torch.autograd.gradcheck(lambda a, b: sdtw.soft_dtw_paired(a[:2], b, gamma=gamma, band=band), (x, y))


@given(seed=st.integers(0, 2**32 - 1))
def test_symmetric_with_and_without_band(seed):
    p = problem(seed, torch.float64, longest=40)
    lx, ly = p["lengths"]
    options = {"gamma": p["gamma"], "band": p["band"]}
    there = sdtw.soft_dtw(p["x"], p["y"], x_lengths=lx, y_lengths=ly, **options)
    back = sdtw.soft_dtw(p["y"], p["x"], x_lengths=ly, y_lengths=lx, **options)
    torch.testing.assert_close(there, back.T, rtol=1e-11, atol=1e-11 * p["gamma"])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("amplitude", [1e-8, 1e2, 1e4])
def test_finite_and_close_whatever_the_amplitude(dtype, gamma, amplitude, rng):
    x = torch.tensor(amplitude * rng.normal(size=(4, 150, 8))).to(dtype)
    y = torch.tensor(amplitude * rng.normal(size=(2, 140, 8))).to(dtype)
    values, w, s = sdtw.soft_dtw_sums(x, y, torch.ones(4, 2, dtype=dtype), gamma=gamma)
    assert all(torch.isfinite(a).all() for a in (values, w, s))
    assert (w > 1 - 1e-4).all()
    wanted = reference.soft_dtw(x[0].double().numpy(), y[0].double().numpy(), gamma)
    assert values[0, 0].item() == pytest.approx(wanted, rel=1e-10 if dtype == torch.float64 else 1e-4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_equal_and_constant_series(dtype):
    x = torch.zeros(2, 50, 1, dtype=dtype)
    n = 49  # alignments of two constant series: the central Delannoy number
    delannoy = [1, 3]
    for k in range(2, n + 1):
        delannoy.append(((6 * k - 3) * delannoy[-1] - (k - 1) * delannoy[-2]) // k)
    wanted = -2.0 * np.log(float(delannoy[n]))
    assert sdtw.soft_dtw(x, x, gamma=2.0)[0, 1].item() == pytest.approx(
        wanted, rel=1e-14 if dtype == torch.float64 else 1e-6
    )


def test_one_step_series_have_a_closed_form(rng):
    x, y = torch.tensor(rng.normal(size=(4, 1, 3))), torch.tensor(rng.normal(size=(2, 7, 3)))
    values, w, s = sdtw.soft_dtw_sums(x, y, torch.ones(4, 2))
    torch.testing.assert_close(values, (x[:, None, 0, None] - y).square().sum((2, 3)))
    torch.testing.assert_close(w, torch.full((2, 7), 4.0, dtype=torch.float64))
    torch.testing.assert_close(s, x.sum(0).expand(2, 7, 3))


def test_an_offset_does_not_eat_a_float32_gradient(rng):
    x, y = rng.normal(size=(4, 40, 1)), rng.normal(size=(2, 40, 1))
    grads = []
    for offset in (0.0, 512.0):
        x32 = torch.tensor(x + offset).float()
        y32 = torch.tensor(y + offset).float().requires_grad_()
        sdtw.soft_dtw(x32, y32).sum().backward()
        exact = expected(x32, y32.detach(), torch.ones(4, 2), [None, None], 1.0, None)[3]
        grads.append(np.abs(y32.grad.numpy() - exact).max() / np.abs(exact).max())
    assert max(grads) < 2e-6


def test_small_gamma_meets_dtw(rng):
    x, y = torch.tensor(rng.normal(size=(5, 30, 2))), torch.tensor(rng.normal(size=(3, 41, 2)))
    for band in (None, 4):
        torch.testing.assert_close(
            sdtw.soft_dtw(x, y, gamma=1e-6, band=band), sdtw.dtw(x, y, band=band), rtol=1e-6, atol=1e-6
        )
        soft = sdtw.soft_dtw_sums(x, y, torch.ones(5, 3), gamma=1e-6, band=band)
        hard = sdtw.dtw_sums(x, y, torch.ones(5, 3), band=band)
        for a, b in zip(soft, hard):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@given(seed=st.integers(0, 2**32 - 1))
def test_dtw_equals_the_plain_recursion(dtype, seed):
    p = problem(seed, dtype, longest=25)
    (lx, ly), band = p["lengths"], p["band"]
    values, w, s = sdtw.dtw_sums(p["x"], p["y"], p["weights"], band=band, x_lengths=lx, y_lengths=ly)
    assert torch.equal(values, sdtw.dtw(p["x"], p["y"], band=band, x_lengths=lx, y_lengths=ly))
    x, y = (a.double().numpy() for a in (p["x"], p["y"]))
    wanted_w, wanted_s = np.zeros(w.shape), np.zeros(s.shape)
    for i, j in np.ndindex(tuple(values.shape)):
        a = x[i] if lx is None else x[i, : lx[i]]
        b = y[j] if ly is None else y[j, : ly[j]]
        value, path = reference.dtw(a, b, band)
        assert values[i, j].item() == pytest.approx(value, rel=TOLERANCE[dtype] / 10, abs=1e-12)
        for u, t in path:
            wanted_w[j, t] += p["weights"][i, j].item()
            wanted_s[j, t] += p["weights"][i, j].item() * a[u]
    if dtype == torch.float64:  # in float32 near ties may fall either way
        assert_close(w, wanted_w, 1e-12, 1.0)
        assert_close(s, wanted_s, 1e-12, 1.0)


def test_alignment_is_the_gradient_in_the_costs(rng):
    x, y = torch.tensor(rng.normal(size=(9, 2))), torch.tensor(rng.normal(size=(7, 2)))
    e = sdtw.alignment(x, y, gamma=0.3, band=3)
    _, w, s = sdtw.soft_dtw_sums(x[None], y[None], torch.ones(1, 1), gamma=0.3, band=3)
    torch.testing.assert_close(e.sum(0), w[0])
    torch.testing.assert_close(e.T @ x, s[0])
    assert e[0, 0] == pytest.approx(1.0)
    assert e[~torch.from_numpy(reference.band_mask(9, 7, 3))].abs().max() == 0


@given(n=st.integers(1, 40), m=st.integers(1, 40), band=st.integers(0, 3))
def test_a_band_is_refused_exactly_when_no_alignment_fits(n, m, band):
    inside = np.isfinite(reference.soft_dtw(np.zeros((n, 1)), np.zeros((m, 1)), 1.0, band))
    x, y = torch.zeros(1, n, 1), torch.zeros(1, m, 1)
    if inside:
        assert torch.isfinite(sdtw.soft_dtw(x, y, band=band)).all()
    else:
        with pytest.raises(ValueError, match="band must be at least 1"):
            sdtw.soft_dtw(x, y, band=band)


def test_no_series_give_empty_results():
    x, y = torch.zeros(0, 5, 1), torch.zeros(2, 4, 1, requires_grad=True)
    assert sdtw.soft_dtw(x, y).shape == (0, 2)
    values, w, s = sdtw.soft_dtw_sums(x, y.detach(), torch.zeros(0, 2))
    assert values.shape == (0, 2)
    assert w.abs().sum() == 0
    assert s.shape == (2, 4, 1)
    sdtw.soft_dtw(y, x).sum().backward()
    assert (y.grad == 0).all()


SERIES = torch.zeros(2, 5, 1)


@pytest.mark.parametrize(
    ("error", "message", "x", "y", "options"),
    [
        (ValueError, "gamma must", SERIES, SERIES, {"gamma": 0.0}),
        (ValueError, "gamma must", SERIES, SERIES, {"gamma": float("nan")}),
        (TypeError, "float32 or float64", SERIES.long(), SERIES, {}),
        (TypeError, "float32 or float64", SERIES.to(torch.complex64), SERIES, {}),
        (ValueError, "agree", SERIES.double(), SERIES, {}),
        (ValueError, "channels", SERIES, torch.zeros(2, 5, 3), {}),
        (ValueError, "shape", SERIES[0], SERIES, {}),
        (ValueError, "at least one step", torch.zeros(2, 0, 1), SERIES, {}),
        (ValueError, "x_lengths must lie", SERIES, SERIES, {"x_lengths": torch.tensor([0, 5])}),
        (ValueError, "y_lengths must lie", SERIES, SERIES, {"y_lengths": torch.tensor([6, 5])}),
        (ValueError, "x_lengths must be", SERIES, SERIES, {"x_lengths": torch.tensor([5])}),
        (ValueError, "band must be None", SERIES, SERIES, {"band": -1}),
        (ValueError, "band must be None", SERIES, SERIES, {"band": 1.5}),
        (ValueError, "at least 1 for series of different", torch.zeros(1, 21, 1), SERIES, {"band": 0}),
    ],
)
def test_bad_input_is_refused(error, message, x, y, options):
    with pytest.raises(error, match=message):
        sdtw.soft_dtw(x, y, **options)


def test_weights_and_pairs_are_checked():
    with pytest.raises(ValueError, match="weights must"):
        sdtw.soft_dtw_sums(SERIES, SERIES, torch.ones(2))
    with pytest.raises(ValueError, match="pairs must"):
        sdtw.soft_dtw_sums(SERIES, SERIES, torch.ones(1), pairs=(torch.tensor([0]), torch.tensor([2])))
    with pytest.raises(ValueError, match="one series for each"):
        sdtw.soft_dtw_paired(SERIES, SERIES[:1])


@pytest.mark.parametrize("band", [None, 2])
def test_a_series_with_itself_has_the_value_and_gradient_of_two_equal_series(rng, band):
    x = torch.from_numpy(rng.normal(size=(4, 9, 2)))
    lengths = torch.tensor([9, 5, 7, 1])
    once = x.clone().requires_grad_()
    twice = x.clone().requires_grad_()
    weights = torch.from_numpy(rng.normal(size=4))
    options = {"gamma": 0.7, "band": band}
    alone = soft_dtw_self(once, lengths=lengths, **options)
    pair = soft_dtw_paired(twice, twice, x_lengths=lengths, y_lengths=lengths, **options)
    (alone @ weights).backward()
    (pair @ weights).backward()
    torch.testing.assert_close(alone, pair, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(once.grad, twice.grad, rtol=1e-10, atol=1e-12)
