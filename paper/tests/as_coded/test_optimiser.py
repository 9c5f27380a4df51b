import numpy as np
import pytest
import torch

from plain_optimiser import one_run, raw_soft_dtw, sigmoid_of_codes, sum_of_squares
from softecm_paper.as_coded.distances import (
    Distance,
    RawSoftDTW,
    RawSoftDTWOfLongSeries,
    SigmoidOfCodes,
    SumOfSquares,
)
from softecm_paper.as_coded.optimiser import Sets, Settings, masses_of, optimise, starts

KINDS = {
    "squares": (SumOfSquares, sum_of_squares),
    "codes": (SigmoidOfCodes, sigmoid_of_codes),
    "dtw": (RawSoftDTW, raw_soft_dtw),
    "long dtw": (RawSoftDTWOfLongSeries, raw_soft_dtw),
}


def objects(kind: str, rng: np.random.Generator) -> torch.Tensor:
    if kind == "codes":
        return torch.tensor(rng.integers(0, 4, (7, 3, 1)), dtype=torch.float64)
    shape = (7, 3, 2) if kind.endswith("dtw") else (7, 3, 1)
    return torch.tensor(rng.normal(0, 1.5, shape), dtype=torch.float64)


@pytest.mark.parametrize("kind", ["squares", "codes", "dtw"])
def test_many_runs_at_once_are_the_plain_loop(kind: str, rng: np.random.Generator) -> None:
    made, between = KINDS[kind]
    x, sets = objects(kind, rng), Sets(3)
    settings = Settings(alpha=2.0, delta=1.5, rounds=3, steps=4)
    beta, lam = np.array([1.1, 1.5, 2.0, 2.0]), np.array([1.0, 4.0, 2.0, 9.0])
    drawn = np.array([[0, 1, 2], [3, 3, 4], [5, 6, 0], [2, 4, 6]])  # the second starts two clusters in one point
    v = starts(x, sets, drawn)
    found = optimise(made(x), sets, v, torch.tensor(beta), torch.tensor(lam), settings)
    looks = kind != "dtw"
    for r in range(4):
        masses, ends, rounds = one_run(x, sets, v[r], beta[r], lam[r], settings, between, looks=looks)
        np.testing.assert_allclose(found.masses[r], masses, rtol=1e-10, atol=1e-10)
        assert found.rounds[r] == rounds
        if not masses.isnan().any():
            np.testing.assert_allclose(found.prototypes[r], ends, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_the_automatic_ones(kind: str, rng: np.random.Generator) -> None:
    made, between = KINDS[kind]
    x = objects(kind, rng)
    v = torch.tensor(rng.normal(size=(1, 2, *x.shape[1:])), requires_grad=True)
    weights = torch.tensor(rng.random((1, len(x), 2)))
    sum(weights[0, i, a] * between(x[i], v[0, a]) for i in range(len(x)) for a in range(2)).backward()
    distance: Distance = made(x)
    at = v.detach()
    np.testing.assert_allclose(distance.gradient(at, weights), v.grad, rtol=1e-9)
    values, of_a, of_b = distance.paired(at[:, :1], at[:, 1:])
    pair = v.detach().clone().requires_grad_()
    value = between(pair[0, 0], pair[0, 1])
    value.backward()
    np.testing.assert_allclose(values.item(), value.item(), rtol=1e-12)
    np.testing.assert_allclose(torch.stack([of_a[0, 0], of_b[0, 0]]), pair.grad[0], rtol=1e-9)


def test_in_single_precision_the_first_round_is_often_the_last(rng: np.random.Generator) -> None:
    x, sets = torch.tensor(rng.normal(size=(200, 4, 1)), dtype=torch.float32), Sets(3)
    v = starts(x, sets, rng.integers(0, 200, (6, 3)))
    beta, lam = torch.tensor([1.1, 1.15, 1.2, 2.0, 2.0, 2.0], dtype=torch.float64), torch.ones(6, dtype=torch.float64)
    found = optimise(SumOfSquares(x), sets, v, beta, lam, Settings())
    assert found.rounds[:3].tolist() == [1, 1, 1]
    assert (found.rounds[3:] > 1).all()
    left = masses_of(SumOfSquares(x).values(v), sets, beta, Settings())[:3, :, 0]
    assert -1e-6 < left.min() < 0  # the rounded rest for the empty set
    on = optimise(SumOfSquares(x), sets, v, beta, lam, Settings(clipped=True, rounds=4))
    assert on.rounds.tolist() == [4] * 6


def test_objects_on_several_prototypes_share_their_mass_among_them() -> None:
    x, sets = torch.tensor([[[0.0]], [[1.0]]]), Sets(2)
    d = SumOfSquares(x).values(starts(x, sets, np.array([[0, 0]])))
    masses = masses_of(d, sets, torch.tensor([2.0], dtype=torch.float64), Settings(delta=10.0))
    np.testing.assert_allclose(masses[0, 0], [0.01 / 3.01, *[1 / 3.01] * 3], rtol=1e-5)


def test_a_negative_distance_leaves_no_number_but_for_whole_powers() -> None:
    d, sets = torch.tensor([[[-0.1, 1.0, 1.0]]]).expand(3, 1, 3), Sets(2)
    beta = torch.tensor([1.1, 1.5, 2.0], dtype=torch.float64)
    masses = masses_of(d, sets, beta, Settings())
    assert masses[0].isnan().all()
    assert masses[1, 0, 1] > 0.9
    assert masses[2, 0, 1] > 1 or masses[2, 0, 1] < 0


def test_sets_are_counted_as_binary_numbers() -> None:
    sets = Sets(3)
    assert sets.members.astype(int).tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]]
    assert sets.singles.tolist() == [3, 1, 0]
