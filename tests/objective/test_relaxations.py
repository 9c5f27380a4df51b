"""The cost of the constraint: the metric's own derivatives and automatic ones."""

from __future__ import annotations

import pytest
import torch

from softecm import FocalSets
from softecm.distances import SoftDTW
from softecm.distances.auto import resolve_metric
from softecm.distances.base import NO_COMPILED_PASSES
from softecm.objective.problem import Penalty, set_barycenters


@pytest.mark.parametrize("divergence", [True, False])
@pytest.mark.parametrize("band", [None, 3])
def test_the_direct_derivative_of_the_penalty_is_the_derivative(rng, divergence, band, monkeypatch):
    metric = SoftDTW(gamma=0.8, divergence=divergence, band=band)
    focal = FocalSets.up_to(3, 2)
    prototypes = torch.from_numpy(rng.normal(size=(2, len(focal), 7, 2)))
    penalty = Penalty(metric, focal, torch.tensor([0.5, 3.0], dtype=torch.float64))
    direct = penalty.constraint(prototypes)
    monkeypatch.setattr(SoftDTW, "compiled", NO_COMPILED_PASSES)
    plain = penalty.constraint(prototypes)
    torch.testing.assert_close(direct.cost, plain.cost, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(direct.gradient, plain.gradient, rtol=1e-9, atol=1e-10)


def test_equal_prototypes_cost_nothing_and_are_not_pulled():
    focal = FocalSets.up_to(3, 2)
    prototypes = torch.zeros(1, len(focal), 5, 1, dtype=torch.float64)
    constraint = Penalty(SoftDTW(), focal, torch.ones(1, dtype=torch.float64)).constraint(prototypes)
    assert constraint.cost.abs().max() < 1e-12
    assert constraint.gradient.abs().max() < 1e-12


@pytest.mark.parametrize("unit", [1.0, 180 / torch.pi])
def test_a_barycentre_by_descent_does_not_depend_on_the_unit(unit):
    """The midpoint of New York and Paris, in radians and in degrees, with a fit's tolerance."""

    def haversine(x, v):
        x, v = x[:, None] / unit, v / unit
        north, east = ((x - v) / 2).sin().square().unbind(-1)
        return north + x[..., 0].cos() * v[..., 0].cos() * east

    ends = torch.tensor([[[41.0, -75.0], [48.0, 5.0]]], dtype=torch.float64).deg2rad() * unit
    (middle,) = set_barycenters(resolve_metric(haversine, None), FocalSets.full(2), ends, None, tol=1e-3)[0] / unit
    torch.testing.assert_close(middle.rad2deg(), torch.tensor([52.0, -38.4], dtype=torch.float64), atol=2.0, rtol=0)
