"""The compiled iteration against its plain-torch reference."""

import numpy as np
import pytest
import torch

from internals import vector_round
from softecm.belief import FocalSets
from softecm.distances import SquaredEuclidean
from softecm.native.library import set_threads
from softecm.objective.equations import Previous, evaluate, evaluate_in_blocks, mass_cost, masses_of, share


def batch(rng, n=300, p=5, runs=3, beta=(2.0, 1.5, 1.2), delta=1.5):
    focal = FocalSets.up_to(3, 2)
    x = torch.from_numpy(rng.normal(size=(n, p)))
    v = torch.from_numpy(rng.normal(size=(runs, len(focal), p)))
    weights = torch.from_numpy(rng.uniform(0, 2, n))
    return focal, x, v, mass_cost(focal, [0.5, 1.0, 2.0], list(beta), delta, like=x, runs=runs, weights=weights)


@pytest.mark.parametrize("delta", [None, 1.5])
@pytest.mark.parametrize("beta", [(2.0, 1.5, 1.2), (1.01, 3.0, 1.9)])
def test_the_compiled_round_equals_the_reference(rng, beta, delta):
    _, x, v, cost = batch(rng, beta=beta, delta=delta)
    previous = Previous(v + 0.01 * torch.from_numpy(rng.normal(size=v.shape)), None)
    ours = evaluate(SquaredEuclidean(), x, v, cost, previous=previous, tol=np.inf)
    plain = evaluate_in_blocks(SquaredEuclidean(), x, v, cost, previous, np.inf)
    for name in ("cost", "gradient", "curvature", "moment", "change"):
        torch.testing.assert_close(getattr(ours, name), getattr(plain, name), rtol=1e-11, atol=1e-12)


def test_an_object_on_several_prototypes_shares_its_mass_among_them(rng):
    _, x, v, cost = batch(rng)
    v[:, 0] = x[7]
    v[:, 3] = x[7]
    ours = evaluate(SquaredEuclidean(), x, v, cost)
    plain = evaluate_in_blocks(SquaredEuclidean(), x, v, cost, None, np.inf)
    torch.testing.assert_close(ours.gradient, plain.gradient, rtol=1e-11, atol=1e-12)
    masses = masses_of(SquaredEuclidean(), x, v[1], cost.select(torch.tensor([1])))
    held = masses[7, 1:]
    assert set(held.nonzero()[:, 0].tolist()) == {0, 3}
    assert held[0] / held[3] == pytest.approx(2.0 ** (1.0 / 0.5))  # |A|^(-alpha/(beta-1)), alpha 1, beta 1.5
    assert masses[7].sum() == pytest.approx(1.0)


def test_masses_equal_the_reference(rng):
    _, x, v, cost = batch(rng)
    one = cost.select(torch.tensor([2]))
    d = SquaredEuclidean().pairwise(x, v[2])
    expected = share(d, one.factors[0], one.beta[0], one.delta2[0]).masses
    torch.testing.assert_close(masses_of(SquaredEuclidean(), x, v[2], one), expected, rtol=1e-12, atol=1e-14)


def test_the_sums_do_not_depend_on_the_number_of_threads(rng):
    _, x, v, cost = batch(rng, n=20000)
    results = []
    before = set_threads(1)
    for wanted in (1, 3):
        set_threads(wanted)
        results.append(evaluate(SquaredEuclidean(), x, v, cost))
    set_threads(before)
    assert torch.equal(results[0].cost, results[1].cost)
    assert torch.equal(results[0].moment, results[1].moment)


def test_change_is_a_lower_bound_above_the_tolerance_and_exact_below(rng):
    _, x, v, cost = batch(rng, n=5000)
    nudged = v + 1e-7 * torch.from_numpy(rng.normal(size=v.shape))
    exact = evaluate_in_blocks(SquaredEuclidean(), x, v, cost, Previous(nudged, None), np.inf).change
    below = evaluate(SquaredEuclidean(), x, v, cost, previous=Previous(nudged, None), tol=1.0).change
    torch.testing.assert_close(below, exact, rtol=1e-6, atol=1e-13)
    above = evaluate(SquaredEuclidean(), x, v, cost, previous=Previous(nudged, None), tol=1e-12).change
    assert ((above <= exact * (1 + 1e-6)) & (above > 1e-12)).all()


def test_float32_objects_are_summed_in_float64(rng):
    x = rng.normal(size=(2000, 3)).astype(np.float32)
    v = rng.normal(size=(1, 3, 3))
    args = (None, v, None, np.ones((1, 3)), np.array([2.0]), np.array([4.0]), 0.0)
    single, double = vector_round(x, *args), vector_round(x.astype(np.float64), *args)
    np.testing.assert_allclose(single[2], double[2], rtol=1e-13)


def test_single_and_double_precision_take_turns(rng):
    """A kernel is told the array types with every call."""
    v, ones = rng.normal(size=(2, 3, 2)), np.ones(2)
    for n in range(1, 41):
        x = rng.normal(size=(n, 2)).astype(np.float32)
        costs = [
            vector_round(kind, None, v, None, np.ones((2, 3)), 2 * ones, ones, 0.0)[0]
            for kind in (x, x.astype(np.float64))
        ]
        np.testing.assert_allclose(*costs, rtol=1e-6)
