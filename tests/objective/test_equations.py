"""Eq. 7: masses, at usual and extreme distances."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from softecm.belief import FocalSets
from softecm.distances import Manhattan
from softecm.objective.equations import Previous, evaluate, mass_cost, share, update_masses
from softecm.spaces.scattered import OnDevice

FOCAL = FocalSets.full(2)


def plain_masses(d, alpha, beta, delta):
    """Eq. 7 as written, for distances without overflow."""
    priced = d * FOCAL.cardinalities**alpha
    power = priced ** (-1 / (beta - 1))
    empty = 0.0 if delta is None else delta ** (-2 / (beta - 1))
    return np.column_stack([np.full(len(d), empty), power]) / (power.sum(1, keepdims=True) + empty)


@given(
    arrays(np.float64, (4, 3), elements=st.floats(0.01, 100)),
    st.floats(0, 3),
    st.floats(1.3, 3),
    st.one_of(st.none(), st.floats(0.1, 10)),
)
def test_masses_follow_the_formula(d, alpha, beta, delta):
    ours = update_masses(torch.from_numpy(d), FOCAL, alpha, beta, delta).numpy()
    np.testing.assert_allclose(ours, plain_masses(d, alpha, beta, delta), rtol=1e-9, atol=1e-15)


@given(arrays(np.float64, (5, 3), elements=st.floats(0, 1e6)), st.floats(1.01, 3), st.floats(0.1, 10))
def test_rows_add_up_to_one_and_are_never_negative(d, beta, delta):
    masses = update_masses(torch.from_numpy(d), FOCAL, 1.0, beta, delta)
    assert (masses >= 0).all()
    torch.testing.assert_close(masses.sum(1), torch.ones(5, dtype=torch.float64), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("beta", [1.01, 1.2, 2.0])
def test_the_unit_of_distance_does_not_matter(scale, beta):
    d = torch.tensor([[1.0, 2.0, 3.0], [5.0, 0.5, 2.0]], dtype=torch.float64)
    reference = update_masses(d, FOCAL, 1.0, beta, 1.5)
    scaled = update_masses(d * scale, FOCAL, 1.0, beta, 1.5 * np.sqrt(scale))
    torch.testing.assert_close(scaled, reference, rtol=1e-9, atol=1e-14)


def test_beta_of_1_01_is_all_but_a_choice_of_the_nearest():
    masses = update_masses(torch.tensor([[1.0, 2.0, 0.6]], dtype=torch.float64), FOCAL, 1.0, 1.01, None)
    assert masses[0].tolist() == pytest.approx([0, 1, 0, 0], abs=1e-7)


def test_several_prototypes_on_one_object_share_its_mass_by_size():
    d = torch.tensor([[0.0, 0.0, 0.0]], dtype=torch.float64)
    masses = update_masses(d, FOCAL, alpha=1.0, beta=2.0, delta=3.0)
    assert masses[0].tolist() == pytest.approx([0.0, 0.4, 0.4, 0.2])


def test_without_delta_the_empty_set_gets_exactly_nothing():
    masses = update_masses(torch.rand(10, 3, dtype=torch.float64), FOCAL, 1.0, 1.5, None)
    assert (masses[:, 0] == 0).all()


@given(arrays(np.float64, (3, 3), elements=st.floats(0.01, 100)), st.floats(1.05, 3))
def test_weights_and_cost_belong_to_the_masses(d, beta):
    cost = mass_cost(FOCAL, 1.3, beta, 2.0, like=torch.from_numpy(d))
    shares = share(torch.from_numpy(d), cost.factors[0], cost.beta[0], cost.delta2[0])
    m, factors = shares.masses.numpy(), FOCAL.cardinalities**1.3
    np.testing.assert_allclose(shares.weights, factors * m[:, 1:] ** beta, rtol=1e-8, atol=1e-300)
    total = (factors * m[:, 1:] ** beta * d).sum(1) + 4.0 * m[:, 0] ** beta
    np.testing.assert_allclose(shares.cost, total, rtol=1e-8)


@given(arrays(np.float64, (1, 3), elements=st.floats(0.1, 10)), arrays(np.float64, 4, elements=st.floats(0.01, 1)))
def test_no_other_masses_are_cheaper(d, other):
    cost = mass_cost(FOCAL, 1.0, 1.7, 1.0, like=torch.from_numpy(d))
    best = float(share(torch.from_numpy(d), cost.factors[0], cost.beta[0], cost.delta2[0]).cost[0])
    m = other / other.sum()
    assert best <= (FOCAL.cardinalities * m[1:] ** 1.7 * d[0]).sum() + m[0] ** 1.7 + 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_objects_on_a_device_are_evaluated_as_those_in_memory(weighted):
    """Prototypes stay in main memory; the last masses, if kept, stay with the objects."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 3, generator=generator, dtype=torch.float64)
    first, second = torch.randn(2, 2, 3, 3, generator=generator, dtype=torch.float64)  # 2 runs of 3 prototypes
    weights = torch.rand(30, generator=generator, dtype=torch.float64) if weighted else None
    cost = mass_cost(FOCAL, 1.0, 1.5, 2.0, like=x, runs=2, weights=weights)
    elsewhere = OnDevice.of(x, weights, torch.device("cpu"))
    for kept in (True, False):
        ends = []
        for objects in (x, elsewhere):
            before = evaluate(Manhattan(), objects, first, cost)
            previous = Previous(first, before.masses if kept else None)
            ends.append(evaluate(Manhattan(), objects, second, cost, previous=previous))
        for here, there in zip(*(vars(end).values() for end in ends), strict=True):
            assert torch.equal(here, there) if here is not None else there is None
    assert elsewhere.weight == pytest.approx(30 if weights is None else float(weights.sum()))
