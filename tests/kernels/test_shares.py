"""Masses of one compiled call equal those of the equations."""

import pytest
import torch

from softecm.kernels.shares import share_masses
from softecm.objective.equations import MassCost


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("n", [0, 1, 700])
def test_masses_weights_cost_and_change_are_those_of_the_equations(n: int, dtype: torch.dtype) -> None:
    rng = torch.Generator().manual_seed(n)
    distances = torch.rand((n, 12), generator=rng, dtype=torch.float64).to(dtype)
    distances[:1, :6] = torch.tensor([0, 0, 1, 0, 0, 0])  # on one, two and three prototypes
    factors = torch.tensor([[1, 1, 1, 2]] * 3, dtype=dtype)
    beta, delta2 = torch.tensor([1.2, 2.0, 1.5], dtype=dtype), torch.tensor([0.3, 1.0, torch.inf], dtype=dtype)
    counts, before = torch.rand(n, generator=rng).to(dtype), torch.rand((3, n, 5), generator=rng).to(dtype)
    found = share_masses(distances, factors, beta, delta2, counts, before)
    expected = MassCost(factors, beta, delta2, counts).counted(distances.reshape(n, 3, 4))
    masses = expected.masses.transpose(0, 1)
    near = {"rtol": 1e-12, "atol": 1e-14} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(found.masses, masses, **near)
    torch.testing.assert_close(found.weights, expected.weights.flatten(1), **near)
    torch.testing.assert_close(found.cost, expected.cost.sum(0), **near)
    assert found.change is not None
    torch.testing.assert_close(
        found.change, (masses - before).abs().flatten(1).amax(1) if n else torch.zeros(3).to(dtype)
    )


def test_distances_of_other_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="distances must be"):
        share_masses(torch.ones(3, 5), torch.ones(2, 2), torch.ones(2), torch.ones(2), None, None)
