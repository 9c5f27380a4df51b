"""The price of the constraint: derivatives by the metric's own hand and by differentiation."""

from __future__ import annotations

import pytest
import torch

from softecm import FocalSets
from softecm.distances import SoftDTW
from softecm.objective.relaxations import Penalty


@pytest.mark.parametrize("divergence", [True, False])
@pytest.mark.parametrize("band", [None, 3])
def test_the_direct_derivative_of_the_penalty_is_the_derivative(rng, divergence, band, monkeypatch):
    metric = SoftDTW(gamma=0.8, divergence=divergence, band=band)
    focal = FocalSets.up_to(3, 2)
    prototypes = torch.from_numpy(rng.normal(size=(2, len(focal), 7, 2)))
    penalty = Penalty(metric, focal, torch.tensor([0.5, 3.0], dtype=torch.float64))
    direct = penalty.constraint(prototypes)
    monkeypatch.setattr(SoftDTW, "compiled", None)
    plain = penalty.constraint(prototypes)
    torch.testing.assert_close(direct.cost, plain.cost, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(direct.gradient, plain.gradient, rtol=1e-9, atol=1e-10)


def test_equal_prototypes_cost_nothing_and_are_not_pulled():
    focal = FocalSets.up_to(3, 2)
    prototypes = torch.zeros(1, len(focal), 5, 1, dtype=torch.float64)
    constraint = Penalty(SoftDTW(), focal, torch.ones(1, dtype=torch.float64)).constraint(prototypes)
    assert constraint.cost.abs().max() < 1e-12
    assert constraint.gradient.abs().max() < 1e-12
