"""Elastic distances: the kernel against the articles' recursions, aeon, and autograd."""

import numpy as np
import pytest
import torch

from references import elastic as reference
from softecm.kernels import elastic as el
from softecm.kernels.elastic import engine
from softecm.kernels.elastic.steps import step_costs

aeon = pytest.importorskip("aeon.distances", reason="needs aeon: pip install 'softecm[series]'")


def front(x):
    """Put a step of zeros first."""
    return torch.cat([x.new_zeros(len(x), 1, x.shape[2]), x], 1)


def kernel(name, x, y, gamma, band=None, lengths=None):
    """The named distance of all pairs, from the kernel; lengths are those of x."""
    if name == "msm":
        rule = el.msm(0.7, gamma)
        return sum(
            el.elastic(x[..., c : c + 1], y[..., c : c + 1], rule, band=band, x_lengths=lengths)
            for c in range(x.shape[2])
        )
    if name == "erp":
        lengths = None if lengths is None else lengths + 1
        return el.elastic(front(x - 0.3), front(y - 0.3), el.erp(gamma), band=band, x_lengths=lengths)
    rule = {"adtw": el.adtw(0.7, gamma), "wdtw": el.wdtw(0.2, gamma), "twe": el.twe(0.02, 0.7, gamma)}[name]
    return el.elastic(x, y, rule, band=band, x_lengths=lengths)


def plain(name, x, y, gamma, band=None):
    """The same of one pair, from the plain recursion."""
    if name == "twe":
        return reference.twe(x, y, 0.02, 0.7, gamma, band)
    parameter = {"msm": 0.7, "erp": 0.3, "adtw": 0.7, "wdtw": 0.2}[name]
    return getattr(reference, name)(x, y, parameter, gamma, band)


NAMES = ("adtw", "wdtw", "erp", "twe", "msm")


@pytest.mark.parametrize("gamma", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_those_of_the_plain_recursion(name, gamma, rng):
    for n, m, d, band in [(6, 6, 1, None), (5, 7, 3, None), (6, 5, 2, 2), (2, 4, 1, None)]:
        lengths = torch.tensor([n, max(2, n - 3)])
        padded = torch.tensor(rng.normal(size=(2, n, d))).cumsum(1)
        x = padded.clone()
        for row, end in zip(x, lengths):
            row[end:] = torch.nan
        y = torch.tensor(rng.normal(size=(2, m, d))).cumsum(1).requires_grad_()
        x.requires_grad_(), padded.requires_grad_()
        weights = torch.tensor(rng.normal(size=(2, 2)))
        found = kernel(name, x, y, gamma, band, lengths)
        rows = [torch.stack([plain(name, a[:e], b, gamma, band) for b in y]) for a, e in zip(padded, lengths)]
        wanted = torch.stack(rows)
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)
        slopes = torch.autograd.grad((found * weights).sum(), (x, y))
        plain_slopes = torch.autograd.grad((wanted * weights).sum(), (padded, y))
        torch.testing.assert_close(slopes[1], plain_slopes[1], rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(slopes[0], plain_slopes[0], rtol=1e-9, atol=1e-10)


def aeons(name, X, Y, **options):
    """The matrix of aeon's distances; X, Y (n, steps, channels)."""
    distance = getattr(aeon, f"{name}_distance")
    X, Y = (np.ascontiguousarray(Z.transpose(0, 2, 1)) for Z in (X, Y))
    return np.array([[distance(a, b, **options) for b in Y] for a in X])


@pytest.mark.parametrize("channels", [1, 3])
def test_hard_values_are_aeons(channels, rng):
    X, Y = rng.normal(size=(6, 17, channels)), rng.normal(size=(4, 23, channels))
    options = {"msm": {"c": 0.7}, "twe": {"nu": 0.02, "lmbda": 0.7}, "adtw": {"warp_penalty": 0.7}, "wdtw": {"g": 0.2}}
    for name, given in options.items():
        found = kernel(name, torch.tensor(X), torch.tensor(Y), 0.0)
        np.testing.assert_allclose(found, aeons(name, X, Y, **given), rtol=0, atol=1e-10, err_msg=name)


def test_erp_differs_from_aeons_in_its_border_alone(rng):
    """A gap before the first match costs the skipped steps; in aeon always the whole series."""

    def table(x, y, border):
        gaps = [np.linalg.norm(s - 0.3, axis=1) for s in (x, y)]
        r = np.zeros((len(x) + 1, len(y) + 1))
        r[1:, 0], r[0, 1:] = (border(gap) for gap in gaps)
        for i in range(1, len(x) + 1):
            for j in range(1, len(y) + 1):
                match = r[i - 1, j - 1] + np.linalg.norm(x[i - 1] - y[j - 1])
                r[i, j] = min(match, r[i - 1, j] + gaps[0][i - 1], r[i, j - 1] + gaps[1][j - 1])
        return r[-1, -1]

    X, Y = rng.normal(size=(5, 12, 2)), rng.normal(size=(4, 15, 2))
    whole = [[table(x, y, lambda gap: np.full(len(gap), gap.sum())) for y in Y] for x in X]
    np.testing.assert_allclose(aeons("erp", X, Y, g=0.3), whole, atol=1e-10)
    left_out = [[table(x, y, np.cumsum) for y in Y] for x in X]
    np.testing.assert_allclose(kernel("erp", torch.tensor(X), torch.tensor(Y), 0.0), left_out, atol=1e-10)


def test_msm_is_half_of_twe_without_stiffness_and_the_last_difference(rng):
    """Splits and merges telescope: an assumption of the kernel, tested on aeon's own values."""
    X, Y = rng.normal(size=(4, 11, 1)), rng.normal(size=(3, 14, 1))
    twice = aeons("twe", X, Y, nu=0.0, lmbda=1.4) + np.abs(X[:, None, -1, 0] - Y[:, -1, 0])
    np.testing.assert_allclose(aeons("msm", X, Y, c=0.7), twice / 2, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_torch_agrees_with_the_gradient(name, rng):
    x = torch.tensor(rng.normal(size=(1, 5, 2)), requires_grad=True)
    y = torch.tensor(rng.normal(size=(2, 4, 2)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: kernel(name, a, b, 0.3), (x, y), atol=1e-6)


@pytest.mark.parametrize("name", ["adtw", "twe"])
def test_tables_in_parts_threads_and_little_memory_do_not_show(name, monkeypatch, rng):
    x, y = torch.tensor(rng.normal(size=(9, 410, 1))).cumsum(1), torch.tensor(rng.normal(size=(2, 380, 1))).cumsum(1)
    rule = {"adtw": el.adtw(0.5, 0.2), "twe": el.twe(0.01, 0.5, 0.2)}[name]
    lengths = torch.tensor([410, 33, 61, 390, 300, 12, 70, 71, 2])
    weights = torch.tensor(rng.normal(size=(9, 2)))

    def found():
        return el.elastic_sums(x, y, weights, rule, x_lengths=lengths)

    whole = found()
    monkeypatch.setattr(engine, "MAX_BYTES", 1)  # tables of more than a megabyte are split
    assert all(torch.equal(a, b) for a, b in zip(whole, found()))
    monkeypatch.setattr(engine, "MAX_BYTES", 2**26)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert all(torch.equal(a, b) for a, b in zip(whole, found()))


def test_sums_are_finite_for_shapes_of_all_kinds(rng):
    """And, if the kernels check accesses, nothing outside a buffer is read or written."""
    for n, m, d in [(1, 1, 1), (1, 90, 3), (90, 1, 8), (33, 33, 1), (64, 17, 2), (17, 64, 8)]:
        x, y = torch.tensor(rng.normal(size=(19, n, d))), torch.tensor(rng.normal(size=(3, m, d)))
        for rule in (el.twe(0.1, 1.0, 0.5), el.wdtw(0.1, 0.5), el.msm(1.0, 0.0), el.wdtw(0.1, 0.0)):
            for band in (None, 2):
                found = el.elastic_sums(x, y, torch.ones(19, 3), rule, band=band)
                assert all(torch.isfinite(t).all() for t in found)


def test_float32_is_near(rng):
    x, y = torch.tensor(rng.normal(size=(5, 40, 1))), torch.tensor(rng.normal(size=(3, 35, 1)))
    for name in NAMES:
        for gamma in (0.0, 0.5):
            wanted = kernel(name, x, y, gamma)
            torch.testing.assert_close(kernel(name, x.float(), y.float(), gamma).double(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["adtw", "wdtw", "erp", "twe", "msm"])
@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 50.0])
def test_any_smoothing_and_any_size_of_values_stay_finite(name, gamma, rng):
    x, y = torch.tensor(rng.normal(size=(3, 20, 1))), torch.tensor(rng.normal(size=(2, 25, 1)))
    for size in (1e-6, 1.0, 1e6):
        leaf = (size * y).requires_grad_()
        values = kernel(name, size * x, leaf, gamma)
        values.sum().backward()
        assert torch.isfinite(values).all()
        assert torch.isfinite(leaf.grad).all()


def test_what_a_step_costs_adds_up(rng):
    """Hard costs of steps sum to the distance; soft ones exceed it by the effect of smoothing."""
    x, y = rng.normal(size=(4, 12, 2)), rng.normal(size=(3, 9, 2))
    lengths = np.array([12, 7, 12, 5])
    for rule in (el.adtw(0.7, 0.0), el.wdtw(0.2, 0.0), el.twe(0.02, 0.7, 0.0), el.twe(0.02, 0.7, 0.3)):
        values = el.elastic(torch.tensor(x), torch.tensor(y), rule, x_lengths=torch.tensor(lengths)).numpy()
        total = step_costs(x, lengths, y, rule, None).sum(-1)
        if rule.gamma == 0:
            np.testing.assert_allclose(total, values, atol=1e-10)
        else:
            assert (total > values).all()
    x, y = x[..., :1].copy(), y[..., :1].copy()
    values = el.elastic(torch.tensor(x), torch.tensor(y), el.msm(0.7, 0.0), band=4).numpy()
    np.testing.assert_allclose(step_costs(x, np.full(4, 12), y, el.msm(0.7, 0.0), 4).sum(-1), values, atol=1e-10)
