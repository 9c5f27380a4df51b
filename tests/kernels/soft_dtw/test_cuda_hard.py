"""DTW on the GPU, against the plain recursion in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from references import soft_dtw as reference
from softecm.kernels import cuda_compile, cuda_pairs
from softecm.kernels.soft_dtw import cuda_hard, dtw

WHY_NOT = cuda_compile.available()
gpu = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=f"no GPU to test on: {WHY_NOT}")]

SHAPES = [
    (3, 2, 20, 17, 1, None),
    (2, 2, 1, 1, 1, None),
    (2, 2, 1, 9, 2, None),
    (2, 2, 9, 1, 1, None),
    (9, 5, 33, 40, 1, None),
    (5, 3, 70, 150, 3, None),
    (2, 2, 150, 270, 1, None),
    (2, 2, 90, 170, 20, None),
    (3, 3, 61, 61, 1, 3),
    (2, 3, 120, 297, 2, 10),
    (2, 2, 90, 170, 11, 15),
    (3, 3, 12, 9, 1, 0),
]


class Problem:
    """Ragged series with NaN as padding, and the reference's results."""

    def __init__(self, rng, n, f, x_steps, y_steps, d, band=None, dtype="float64", pairs=0):
        self.band = band
        lx = rng.integers(max(1, x_steps // 2), x_steps + 1, n)
        ly = rng.integers(max(1, y_steps // 2), y_steps + 1, f)
        x, y = (rng.standard_normal((k, s, d)).cumsum(1).astype(dtype) for k, s in ((n, x_steps), (f, y_steps)))
        for series, lengths in ((x, lx), (y, ly)):
            for one, length in zip(series, lengths, strict=True):
                one[length:] = np.nan
        ix, iy = rng.integers(0, (n, f), (pairs, 2)).T if pairs else np.indices((n, f)).reshape(2, -1)
        found = [
            reference.dtw(x[i, : lx[i]].astype(float), y[j, : ly[j]].astype(float), band)[0]
            if self.possible(lx[i], ly[j])
            else np.inf
            for i, j in zip(ix, iy, strict=True)
        ]
        self.values = np.array(found).reshape((pairs,) if pairs else (n, f))
        self.args = [torch.as_tensor(a).cuda() for a in (x, lx, y, ly)]
        self.args.append(tuple(torch.as_tensor(a).cuda() for a in (ix, iy)) if pairs else None)

    def possible(self, n, m):
        return self.band != 0 or n == m or min(n, m) == 1

    def solve(self):
        return cuda_hard.forward(*self.args, self.band)

    def check(self, tolerance):
        np.testing.assert_allclose(self.solve().double().cpu().numpy(), self.values, rtol=tolerance)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pairs", [0, 11])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
class TestAgainstTheReference:
    pytestmark = gpu

    def test_values(self, rng, shape, pairs, dtype, tolerance):
        Problem(rng, *shape, dtype=dtype, pairs=pairs).check(tolerance)

    @pytest.mark.parametrize("lanes", [4, 8, 16, 32])
    def test_every_number_of_lanes(self, rng, shape, pairs, dtype, tolerance, lanes, monkeypatch):
        def chosen(rows, columns, pairs, channels, *rest):
            if channels > 8:
                return cuda_hard._HardPlan(32, 2, -(-rows // 64))
            for height in (1, 2, 4):
                if lanes * height >= rows:
                    return cuda_hard._HardPlan(lanes, height, 1)
            return cuda_hard._HardPlan(32, 2, -(-rows // 64))

        monkeypatch.setattr(cuda_hard, "_plan", chosen)
        monkeypatch.setattr(cuda_hard, "_prepare", cuda_hard._prepare.__wrapped__)
        Problem(rng, *shape, dtype=dtype, pairs=pairs).check(tolerance)


class TestRuns:
    pytestmark = gpu

    def test_results_are_equal_from_run_to_run(self, rng):
        problem = Problem(rng, 40, 3, 90, 150, 2, dtype="float32")
        assert torch.equal(problem.solve(), problem.solve())

    def test_equal_series_are_at_distance_zero(self):
        for d in (1, 3, 20):
            x = torch.randn(5, 100, d, device="cuda")
            assert not dtw(x, x).diagonal().any()

    def test_tables_in_chunks_give_the_same(self, rng, monkeypatch):
        problem = Problem(rng, 5, 3, 60, 80, 12)
        whole = problem.solve()
        monkeypatch.setattr(cuda_hard, "TABLE_BYTES", 1)
        assert torch.equal(whole, problem.solve())

    def test_long_prototypes(self):
        g = torch.Generator(device="cuda").manual_seed(0)
        x, y = (torch.randn(k, 3000, 1, device="cuda", generator=g, dtype=torch.float64) for k in (3, 2))
        found = dtw(x.float(), y.float()).double()
        torch.testing.assert_close(found, dtw(x, y), rtol=1e-5, atol=0)
        torch.testing.assert_close(dtw(x, y), dtw(x.cpu(), y.cpu()).cuda(), rtol=1e-12, atol=0)

    def test_work_goes_to_the_current_stream(self, rng):
        problem = Problem(rng, 8, 3, 90, 150, 1)
        expected = problem.solve()
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            found = problem.solve()
            torch.cuda.current_stream().synchronize()
        assert torch.equal(expected, found)

    def test_no_pairs_at_all(self):
        x, y = torch.zeros(0, 5, 2, device="cuda"), torch.zeros(3, 4, 2, device="cuda")
        assert dtw(x, y).shape == (0, 3)


class TestWithoutAGPU:
    @pytest.mark.parametrize("channels", [1, 2, 8, 64])
    def test_plans_cover_the_prototype(self, channels):
        card = cuda_compile.Card(132, 100 * 1024, "sm_90")
        for rows in (1, 31, 64, 100, 129, 640, 1024, 5000, 70_000):
            for pairs in (1, 768, 100_000):
                for wide in (False, True):
                    for band in (False, True):
                        plan = cuda_hard._plan(rows, rows, pairs, channels, wide, band, card)
                        assert plan.lanes * plan.rows * plan.strips >= rows
                        assert plan.lanes * plan.rows * (plan.strips - 1) < rows
                        assert plan.strips == 1 or plan.lanes == 32

    def test_a_table_holds_a_skewed_warp(self):
        assert cuda_pairs.table_bytes(2, 4, 100, False) == 2 * 131 * 4 * 32 * 4
