"""Soft-DTW on the GPU, against the plain recursion in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from references import soft_dtw as reference
from softecm.kernels import cuda_compile, cuda_pairs
from softecm.kernels.soft_dtw import cuda as soft_dtw_cuda
from softecm.kernels.soft_dtw import soft_dtw_sums

WHY_NOT = soft_dtw_cuda.available()
gpu = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=f"no GPU to test on: {WHY_NOT}")]


def forget() -> None:
    for cached in (cuda_compile.kernel, soft_dtw_cuda._prepare):
        cached.cache_clear()


@pytest.fixture
def fresh():
    """No kernel loaded before, none left behind."""
    forget()
    yield
    forget()


def cuda(a: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(a).cuda()


class Problem:
    """Ragged series with NaN as padding, weights of both signs, and the reference's results."""

    def __init__(self, rng, n, f, x_steps, y_steps, d, gamma, band=None, dtype="float64", pairs=0, factor=1.0):
        self.gamma, self.band = gamma, band
        lx = rng.integers(max(1, x_steps // 2), x_steps + 1, n)
        ly = rng.integers(max(1, y_steps // 2), y_steps + 1, f)
        x, y = (factor * rng.standard_normal((k, s, d)).cumsum(1) for k, s in ((n, x_steps), (f, y_steps)))
        for series, lengths in ((x, lx), (y, ly)):
            for one, length in zip(series, lengths, strict=True):
                one[length:] = np.nan
        x, y = x.astype(dtype), y.astype(dtype)
        ix, iy = rng.integers(0, (n, f), (pairs, 2)).T if pairs else np.indices((n, f)).reshape(2, -1)
        w = rng.standard_normal(len(ix))
        self.values, self.mass, self.moment = np.zeros(len(ix)), np.zeros((f, y_steps)), np.zeros((f, y_steps, d))
        for k, (i, j) in enumerate(zip(ix, iy, strict=True)):
            one, other = x[i, : lx[i]].astype(float), y[j, : ly[j]].astype(float)
            self.values[k] = reference.soft_dtw(one, other, gamma, band)
            if np.isfinite(self.values[k]):
                mass, moment = reference.sums(one, other, gamma, band)
                self.mass[j, : ly[j]] += w[k] * mass
                self.moment[j, : ly[j]] += w[k] * moment
        self.args = (cuda(x), cuda(lx), cuda(y), cuda(ly), (cuda(ix), cuda(iy)) if pairs else None)
        self.weights = cuda(w if pairs else w.reshape(n, f))

    def solve(self):
        return soft_dtw_cuda.forward_backward(*self.args, self.weights, self.gamma, self.band)

    def check(self, tolerance):
        values, mass, moment = self.solve()
        alone = soft_dtw_cuda.forward(*self.args, self.gamma, self.band)
        for found, expected in (
            (values, self.values),
            (alone, self.values),
            (mass, self.mass),
            (moment, self.moment),
        ):
            got = found.double().cpu().numpy().reshape(expected.shape)
            finite = np.isfinite(expected)
            np.testing.assert_array_equal(np.isfinite(got), finite)
            if finite.any():
                size = np.abs(expected[finite]).max()
                np.testing.assert_allclose(got[finite], expected[finite], rtol=0, atol=tolerance * max(size, 1e-12))


def narrow(rows, pairs, channels, wide, gradient, card, height=1, spread=False):
    """Two warps per block, several blocks per pair."""
    groups = -(-rows // (32 * height))
    return soft_dtw_cuda._Plan(height, 2, -(-groups // 2), 0 if wide else 2, spread)


SHAPES = [
    (3, 2, 20, 17, 1, 1.0, None),
    (2, 2, 1, 1, 1, 1.0, None),
    (2, 2, 1, 9, 2, 1.0, None),
    (2, 2, 70, 150, 1, 0.1, None),
    (2, 2, 150, 270, 3, 1.0, None),
    (2, 2, 90, 170, 20, 5.0, None),
    (2, 2, 61, 61, 1, 1.0, 3),
    (2, 3, 120, 297, 2, 0.5, 10),
    (2, 2, 90, 170, 11, 5.0, 15),
    (3, 3, 12, 9, 1, 1.0, 0),
    (2, 2, 100, 140, 1, 1e-3, None),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pairs", [0, 11])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-5)])
class TestAgainstTheReference:
    pytestmark = gpu

    def test_values_and_sums(self, rng, shape, pairs, dtype, tolerance):
        Problem(rng, *shape, dtype=dtype, pairs=pairs).check(tolerance)

    def test_prototypes_in_several_strips(self, rng, shape, pairs, dtype, tolerance, monkeypatch, fresh):
        monkeypatch.setattr(soft_dtw_cuda, "_plan", narrow)
        Problem(rng, *shape, dtype=dtype, pairs=pairs).check(tolerance)

    @pytest.mark.parametrize("height", [1, 2])
    def test_all_strips_at_once(self, rng, shape, pairs, dtype, tolerance, height, monkeypatch, fresh):
        monkeypatch.setattr(soft_dtw_cuda, "_plan", lambda *args: narrow(*args, height, True))
        Problem(rng, *shape, dtype=dtype, pairs=pairs).check(tolerance)


class TestFloat32:
    pytestmark = gpu

    @pytest.mark.parametrize(
        ("steps", "d", "factor"), [(100, 6, 3.0), (640, 1, 1.0), (640, 2, 2.0), (5000, 1, 1.0), (300, 64, 0.5)]
    )
    def test_the_gradient_is_within_1e_4_of_float64(self, steps, d, factor):
        g = torch.Generator(device="cuda").manual_seed(0)
        x, y = (factor * torch.randn(k, steps, d, device="cuda", generator=g) for k in (6, 3))
        weights = torch.rand(6, 3, device="cuda", generator=g)
        gradients = []
        for dtype in (torch.float32, torch.float64):
            a, b, w = (t.to(dtype) for t in (x, y, weights))
            _, mass, moment = soft_dtw_cuda.forward_backward(a, None, b, None, None, w, 1.0, None)
            gradients.append(2 * (mass.double()[..., None] * y.double() - moment.double()))
        error = (gradients[0] - gradients[1]).norm() / gradients[1].norm()
        assert error < 1e-4


class TestRuns:
    pytestmark = gpu

    @pytest.fixture
    def problem(self, rng):
        return Problem(rng, 40, 3, 90, 150, 2, 1.0, dtype="float32")

    def test_results_are_equal_from_run_to_run(self, problem):
        for a, b in zip(problem.solve(), problem.solve(), strict=True):
            assert torch.equal(a, b)

    def test_chunks_give_the_same(self, problem, monkeypatch):
        whole = problem.solve()
        monkeypatch.setattr(cuda_pairs, "_PARTIAL_BYTES", 50_000)
        for a, b in zip(whole, problem.solve(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-3)

    def test_many_pairs_are_added_up_in_two_rounds(self, rng):
        x, y = cuda(rng.standard_normal((9000, 5, 1))), cuda(rng.standard_normal((2, 4, 1)))
        weights = torch.ones(9000, 2, dtype=torch.float64, device="cuda")
        _, mass, moment = soft_dtw_cuda.forward_backward(x, None, y, None, None, weights, 1.0, None)
        parts = [
            soft_dtw_cuda.forward_backward(a, None, y, None, None, weights[:1000], 1.0, None) for a in x.split(1000)
        ]
        torch.testing.assert_close(mass, sum(p[1] for p in parts))
        torch.testing.assert_close(moment, sum(p[2] for p in parts))

    def test_work_goes_to_the_current_stream(self, problem):
        expected = problem.solve()
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            found = problem.solve()
            torch.cuda.current_stream().synchronize()
        for a, b in zip(expected, found, strict=True):
            assert torch.equal(a, b)

    def test_no_pairs_at_all(self):
        x, y = torch.zeros(0, 5, 2, device="cuda"), torch.zeros(3, 4, 2, device="cuda")
        values, mass, moment = soft_dtw_cuda.forward_backward(x, None, y, None, None, x.new_zeros(0, 3), 1.0, None)
        assert values.shape == (0, 3)
        assert not mass.any()
        assert moment.shape == (3, 4, 2)

    def test_a_pair_too_large_for_the_card_says_what_to_do(self):
        x = torch.zeros(1, 600_000, 1, device="cuda")
        with pytest.raises(MemoryError, match="Shorten the series"):
            soft_dtw_cuda.forward_backward(x, None, x, None, None, x.new_ones(1, 1), 1.0, None)

    def test_compiled_code_is_kept(self, problem, monkeypatch, tmp_path, fresh):
        monkeypatch.setenv("SOFTECM_CACHE", str(tmp_path))
        first = problem.solve()
        assert len(list(tmp_path.rglob("*.cubin"))) == 2
        forget()
        monkeypatch.setattr(cuda_compile, "_compiled_now", None)  # a second compilation would fail
        for a, b in zip(first, problem.solve(), strict=True):
            assert torch.equal(a, b)

    def test_the_cpu_agrees(self, problem):
        x, x_lengths, y, y_lengths, pairs = (None if a is None else a.cpu() for a in problem.args)
        lengths = {"x_lengths": x_lengths, "y_lengths": y_lengths}
        weights = problem.weights.float().cpu()
        found = soft_dtw_sums(x, y, weights, gamma=problem.gamma, band=problem.band, pairs=pairs, **lengths)
        for a, b in zip(problem.solve(), found, strict=True):
            torch.testing.assert_close(a.cpu(), b, rtol=1e-4, atol=1e-3 * float(b.abs().max()))


class TestWithoutAGPU:
    def test_plans_cover_the_prototype_and_fit_the_card(self):
        card = cuda_compile.Card(132, 100 * 1024, "sm_90")
        for rows in (1, 31, 64, 100, 129, 640, 1024, 5000, 70_000):
            for pairs in (1, 768, 100_000):
                for wide in (False, True):
                    plan = soft_dtw_cuda._plan(rows, pairs, 1, wide, pairs == 768, card)
                    assert plan.rows * 32 * plan.warps * plan.strips >= rows
                    assert plan.rows * 32 * plan.warps * (plan.strips - 1) < rows
                    assert plan.shared(wide, True) <= card.shared
                    assert plan.warps <= 16
