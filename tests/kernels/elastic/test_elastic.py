"""Elastic distances: the kernel against the articles' recursions, aeon, and autograd."""

import aeon.distances as aeon
import numpy as np
import pytest
import torch

from softecm.kernels import elastic as el
from softecm.kernels.elastic import reference


def front(x):
    """A step of zeros in front."""
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
    for n, m, d, band in [(9, 9, 1, None), (7, 12, 3, None), (10, 8, 2, 3), (2, 5, 1, None)]:
        lengths = torch.tensor([n, max(2, n - 3), n - 1])
        padded = torch.tensor(rng.normal(size=(3, n, d))).cumsum(1)
        x = padded.clone()
        for row, end in zip(x, lengths):
            row[end:] = torch.nan
        y = torch.tensor(rng.normal(size=(2, m, d))).cumsum(1).requires_grad_()
        x.requires_grad_(), padded.requires_grad_()
        weights = torch.tensor(rng.normal(size=(3, 2)))
        found = kernel(name, x, y, gamma, band, lengths)
        rows = [torch.stack([plain(name, a[:e], b, gamma, band) for b in y]) for a, e in zip(padded, lengths)]
        wanted = torch.stack(rows)
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)
        slopes = torch.autograd.grad((found * weights).sum(), (x, y))
        plain_slopes = torch.autograd.grad((wanted * weights).sum(), (padded, y))
        torch.testing.assert_close(slopes[1], plain_slopes[1], rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(slopes[0], plain_slopes[0], rtol=1e-9, atol=1e-10)
