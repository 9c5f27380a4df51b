"""Self-alignments of series, and contributions of pairs: against the plain recursion and the weighted sums."""

import pytest
import torch

from softecm.kernels.soft_dtw import alignment, soft_dtw_each, soft_dtw_sums
from softecm.kernels.soft_dtw.self_alignments import self_alignments


@pytest.mark.parametrize(("gamma", "band", "size"), [(1.0, None, 0.5), (0.1, 3, 0.5), (1.0, None, 40.0), (5.0, 0, 1.0)])
def test_a_series_is_aligned_with_itself_as_with_another_like_it(gamma, band, size):
    v = torch.randn((2, 30, 2), dtype=torch.float64, generator=torch.manual_seed(0)).cumsum(1) * size
    found = torch.from_numpy(self_alignments(v.numpy(), gamma, band))
    for table, one in zip(found, v, strict=True):
        torch.testing.assert_close(table, alignment(one, one, gamma, band), rtol=1e-9, atol=1e-12)


def test_long_flat_series_stay_within_the_range_of_floats():
    found = torch.from_numpy(self_alignments(torch.zeros((1, 600, 1), dtype=torch.float64).numpy(), 1.0, None))[0]
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found, found.T)
    assert float(found.sum(1).min()) >= 1.0 - 1e-9  # every step is aligned with something


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("ragged", [False, True])
def test_what_each_pair_adds_sums_up_to_the_sums(dtype, ragged):
    generator = torch.manual_seed(1)
    x, y = (torch.randn((n, 9, 2), dtype=dtype, generator=generator) for n in (5, 3))
    lengths = torch.tensor([9, 4, 9, 6, 2]) if ragged else None
    weights = torch.rand((5, 3), dtype=dtype, generator=generator)
    pairs = torch.arange(5).repeat_interleave(3), torch.arange(3).repeat(5)
    values, w, moved = soft_dtw_sums(x, y, weights, gamma=0.7, x_lengths=lengths)
    each, sums = soft_dtw_each(x, y, pairs, gamma=0.7, x_lengths=lengths)
    torch.testing.assert_close(each.reshape(5, 3), values)
    total = torch.einsum("nk,nkld->kld", weights, sums.reshape(5, 3, 9, 3))
    torch.testing.assert_close(total, torch.cat([w[..., None], moved], -1))
