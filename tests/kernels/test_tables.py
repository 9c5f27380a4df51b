"""The compiled iteration on tables against the plain one."""

import numpy as np
import pytest
import torch

from softecm.belief import FocalSets
from softecm.distances import Mixed
from softecm.distances._tables import fused_table, table_pairwise
from softecm.native.library import set_threads
from softecm.objective.equations import Previous, evaluate, evaluate_in_blocks, mass_cost, masses_of, share
from softecm.spaces.encoded import EncodedTable, Layout


def random_table(seed: int, n: int, p: int, levels: tuple[int, ...], gaps: float) -> tuple[EncodedTable, torch.Tensor]:
    rng = np.random.default_rng(seed)
    weights = tuple(rng.uniform(0.5, 2, len(levels)))
    layout = Layout((1.0,) * p, weights, levels, tuple(np.sqrt(np.array(weights) / 2)), tuple(range(p + len(levels))))
    numbers = rng.normal(size=(n, p))
    codes = np.stack([rng.integers(0, k, n) for k in levels], 1) if levels else np.empty((n, 0), dtype=np.int64)
    observed = scale = None
    if gaps:
        there = rng.random((n, p)) >= gaps
        numbers = np.where(there, numbers, 0.0)
        empty = rng.random(codes.shape) < gaps
        codes = np.where(empty, np.array(levels, dtype=np.int64) + 1, codes)
        observed = torch.from_numpy(there)
        scale = torch.from_numpy(rng.uniform(1, 2, n))
    kind = np.uint8 if max(levels, default=0) < 250 else np.int32
    x = EncodedTable(torch.from_numpy(numbers), torch.from_numpy(codes.astype(kind)), observed, scale, layout)
    shares = [np.sqrt(w / 2) * rng.dirichlet(np.ones(k), 6) for w, k in zip(weights, levels, strict=True)]
    v = np.concatenate([rng.normal(size=(6, p)), *shares], 1)
    return x, torch.from_numpy(v)


CASES = [
    (3, (3, 2, 4, 5, 2), 0.0),
    (3, (3, 2, 4, 5, 2), 0.3),
    (0, (2, 300), 0.2),
    (5, (), 0.3),
    (5, (), 0.0),
    (1, (2,), 0.0),
]


@pytest.mark.parametrize(("p", "levels", "gaps"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_round_agrees_with_the_plain_one(p, levels, gaps, weighted):
    x, v = random_table(0, 1500, p, levels, gaps)
    focal = FocalSets.full(2)
    v = v.reshape(2, 3, -1)
    w = torch.linspace(0.5, 2, len(x), dtype=torch.float64) if weighted else None
    cost = mass_cost(focal, 1.0, [1.2, 2.0], 2.0, like=v, runs=2, weights=w)
    previous = Previous(v + 0.05, None)
    fast = evaluate(Mixed(), x, v, cost, previous=previous, tol=2.0)
    plain = evaluate_in_blocks(Mixed(), x, v, cost, previous, np.inf)
    for name in ("cost", "gradient", "change"):
        torch.testing.assert_close(getattr(fast, name), getattr(plain, name), rtol=1e-10, atol=1e-9)
    torch.testing.assert_close(*torch.broadcast_tensors(fast.curvature, plain.curvature), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize(("p", "levels", "gaps"), CASES)
def test_compiled_masses_and_distances_agree_with_the_plain_ones(p, levels, gaps):
    x, v = random_table(1, 300, p, levels, gaps)
    d = table_pairwise(x, v.clone().requires_grad_()).detach()
    torch.testing.assert_close(table_pairwise(x, v), d)
    cost = mass_cost(FocalSets.up_to(3, 2), 1.0, 1.3, 2.0, like=v)
    plain = share(d, cost.factors[0], cost.beta[0], cost.delta2[0]).masses
    torch.testing.assert_close(masses_of(Mixed(), x, v, cost), plain)


def test_the_same_bits_on_any_number_of_threads():
    x, v = random_table(2, 60_000, 2, (3, 4), 0.1)
    cost = mass_cost(FocalSets.up_to(3, 2), 1.0, 1.2, 2.0, like=v)
    prices = {"factors": cost.factors, "beta": cost.beta, "delta2": cost.delta2, "weights": None, "tol": 1e-4}
    before = set_threads(1)
    try:
        alone = fused_table(x, v[None], None, **prices)
        set_threads(3)
        together = fused_table(x, v[None], None, **prices)
    finally:
        set_threads(before)
    for a, b in zip(alone, together, strict=True):
        assert torch.equal(a, b)


def test_single_precision_is_near_double():
    x, v = random_table(3, 400, 3, (3, 2), 0.2)
    small = EncodedTable(x.numbers.float(), x.codes, x.observed, x.scale.float(), x.layout)
    near = table_pairwise(small, v.float())
    assert near.dtype == torch.float32
    torch.testing.assert_close(near.double(), table_pairwise(x, v), rtol=1e-5, atol=1e-5)
