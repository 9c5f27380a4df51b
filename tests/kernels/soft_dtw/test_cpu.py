"""Soft-DTW on the CPU: results don't depend on memory, threads and splitting of tables."""

import pytest
import torch

from softecm.kernels import soft_dtw as sdtw
from softecm.kernels.elastic.engine import solve
from softecm.kernels.elastic.rules import AlignmentTask
from softecm.kernels.elastic.rules import dtw as rule_of


def sums_of(x, y, weights, *, lengths=None, band=None, gamma=1.0, **options):
    """Values and sums, with the engine's options."""
    return solve(x, y, weights, AlignmentTask(rule_of(gamma), band, lengths), moments=True, **options)


def test_a_table_cut_into_parts_gives_the_same(rng):
    x, y = torch.tensor(rng.normal(size=(3, 410, 2))), torch.tensor(rng.normal(size=(2, 380, 2)))
    weights = torch.tensor(rng.normal(size=(3, 2)))
    lengths = torch.tensor([410, 33, 361])
    whole = sums_of(x, y, weights, lengths=lengths)
    parts = sums_of(x, y, weights, lengths=lengths, max_bytes=1)
    assert all(torch.equal(a, b) for a, b in zip(whole, parts))


def test_little_memory_and_any_number_of_threads_give_the_same(rng):
    x, y = torch.tensor(rng.normal(size=(40, 100, 1))), torch.tensor(rng.normal(size=(3, 90, 1)))
    weights = torch.tensor(rng.normal(size=(40, 3)))
    first = sums_of(x, y, weights, n_threads=1)
    for options in ({"n_threads": 2}, {"n_threads": 5}, {"max_bytes": 1}, {"max_bytes": 10**6, "n_threads": 3}):
        again = sums_of(x, y, weights, **options)
        assert all(torch.equal(a, b) for a, b in zip(first, again))


def test_padding_does_not_matter(rng):
    x = torch.tensor(rng.normal(size=(3, 20, 2)))
    y = torch.tensor(rng.normal(size=(2, 25, 2)))
    padded = torch.full((3, 64, 2), torch.nan, dtype=torch.float64)
    padded[:, :20] = x
    x_lengths = torch.full((3,), 20)
    wanted = sdtw.soft_dtw_sums(x, y, torch.ones(3, 2))
    found = sdtw.soft_dtw_sums(padded, y, torch.ones(3, 2), x_lengths=x_lengths)
    assert all(torch.equal(a, b) for a, b in zip(wanted, found))
    padded.requires_grad_()
    sdtw.soft_dtw(padded, y, x_lengths=x_lengths).sum().backward()
    assert (padded.grad[:, 20:] == 0).all()
    assert torch.isfinite(padded.grad).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_sums_are_finite_for_shapes_of_all_kinds(dtype, rng):
    """And, if the kernels check accesses, nothing outside a buffer is read or written."""
    for n, m, d in [(1, 1, 1), (1, 90, 3), (90, 1, 8), (33, 33, 1), (64, 17, 2), (17, 64, 8), (130, 140, 1)]:
        x, y = torch.tensor(rng.normal(size=(19, n, d))).to(dtype), torch.tensor(rng.normal(size=(3, m, d))).to(dtype)
        for band, hard, limit in [(None, False, 2**28), (2, False, 2**28), (None, True, 2**28), (None, False, 1)]:
            options = {"gamma": 0.0 if hard else 1.0, "band": band, "max_bytes": limit}
            values = sums_of(x, y, None, **options)[0]
            found = sums_of(x, y, torch.ones(19, 3), **options)
            assert torch.equal(found[0], values)
            assert all(torch.isfinite(t).all() for t in found)
