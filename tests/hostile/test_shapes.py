"""Compiled code never receives arrays of another shape, dtype or layout than it indexes."""

import numpy as np
import pytest
import torch

from internals import vector_round
from problems import DEEP
from softecm.kernels import linked, medoids, rounds, simplex_qp
from softecm.kernels.elastic import steps
from softecm.kernels.soft_dtw import dtw, dtw_sums, soft_dtw, soft_dtw_paired, soft_dtw_sums

ROUNDS = 40 if DEEP else 2


def calls(rng: np.random.Generator) -> dict[str, tuple]:
    """For each compiled function: the function, valid arguments, and which of them are arrays to spoil."""
    n, p, f, runs, c = (int(k) for k in rng.integers(2, 6, 5))
    c = min(c, f)
    x, v = rng.normal(size=(n, p)), rng.normal(size=(runs, f, p))
    ones, two = np.ones((runs, f)), np.full(runs, 2.0)
    q, levels = 2, 3
    slots = np.arange(q) * (levels + 2)
    data = (x, rng.integers(0, levels + 2, (n, q)).astype(np.uint8), rng.random((n, p)) < 0.8, np.ones(n), slots)
    size = q * (levels + 2)
    table = rng.random((runs, size, f))
    masses = rng.dirichlet(np.ones(f + 1), (runs, n))
    ring = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    ends = np.concatenate([ring, ring[:, ::-1]])
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    starts = np.searchsorted(ends[:, 0], np.arange(n + 1))
    d = np.abs(rng.normal(size=(n, n)))
    some = np.arange(n)
    square = np.eye(f + 1)

    def table_round(numbers, codes, observed, scale, slots, weights, v, t, factors, beta, delta2):
        rounds.table_round(
            rounds.TableData(numbers, codes, observed, scale, slots, size),
            v, t, None, None, rounds.RoundPrices(weights, factors, beta, delta2, 0.1),
        )  # fmt: skip

    def table_masses(numbers, codes, observed, scale, slots, v, t, factors):
        rounds.table_masses(rounds.TableData(numbers, codes, observed, scale, slots, size), v, t, factors, 2.0, 1.0)

    def vector_masses(x, v, factors):
        rounds.masses_of_objects(rounds.vectors(x, v.shape[-1]), v, None, factors, 2.0, 1.0)

    def descend(a, beta, masses, starts, partners, together, meets):
        prices = (1.0, 1.0, 1.0)
        linked.descend(a, beta, masses, prices, starts, partners, together, min(c, f), meets, 1e-3, 3)

    return {
        "round": (lambda *a: vector_round(*a, 0.1), [x, np.ones(n), v, v, ones, two, two]),
        "masses": (vector_masses, [x, v[0], ones[0]]),
        "nearest": (rounds.nearest, [x, v[0]]),
        "table round": (table_round, [*data, np.ones(n), v, table, ones, two, two]),
        "table masses": (table_masses, [*data, v[0], table[0], ones[0]]),
        "linked": (
            descend,
            [np.ones_like(masses), two, masses.copy(), starts, ends[:, 1].copy(), np.ones(len(ends), bool), square > 0],
        ),
        "gap choice": (
            lambda d, i, b, base, inertia: medoids.gap_choice(d, i, b, base, 1.0, inertia, 9.0),
            [d, some, np.zeros(n), np.ones(n), d[:1].copy()],
        ),
        "exact choice": (
            lambda d, i, b, own, prices, inertia, sq: medoids.exact_choice(d, i, b, own, 0.0, prices, inertia, sq, 9.0),
            [d, some, np.zeros(n), np.ones(n), d[:1].copy(), d[:1].copy(), d[:1].copy()],
        ),
        "barycenters": (lambda d, m: medoids.barycenters(d, [(0, 1)], m), [d, some[None, :2].copy()]),
        "sweep": (simplex_qp.sweep_all, [d, square, masses[0].copy(), np.zeros(1, bool)]),
        "some": (
            simplex_qp.sweep_some,
            [np.ones(len(ends)), ends[:, 1].copy(), starts, square, masses[0].copy(), np.zeros(1, bool)],
        ),
        "pulled": (
            lambda phi, m, starts, others, weights, matrix: simplex_qp.sweep_all(
                phi, square, m, np.zeros(1, bool), simplex_qp.Pull(starts, others, weights, matrix)
            ),
            [d, masses[0].copy(), starts, ends[:, 1].copy(), np.ones(len(ends)), square],
        ),
        "rows": (simplex_qp.fit_rows, [square, masses[0].copy()]),
        "steps": (
            lambda x, l, y, between: steps.shares_of_steps(x, l, y, 1.0, None, between),
            [rng.normal(size=(n, 4, p)), np.full(n, 4), rng.normal(size=(f, 3, p)), np.ones((n, f))],
        ),
    }


def spoilt(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An array of another shape, dtype or range."""
    axis = int(rng.integers(array.ndim))
    ways = {
        "one less": lambda: np.delete(array, 0, axis),
        "one more": lambda: np.concatenate([array, array.take([0], axis)], axis),
        "another axis": lambda: array[None],
        "objects": lambda: array.astype(object),
        "complex": lambda: array.astype(complex),
        "halves": lambda: array.astype(np.float16),
    }
    if array.ndim > 1:
        ways["an axis less"] = lambda: array[0]
    if array.dtype == np.int64:
        ways["far index"] = lambda: array + 1_000_000
        ways["negative index"] = lambda: array - 1_000_000
    return ways[str(rng.choice(list(ways)))]()


@pytest.mark.parametrize("name", list(calls(np.random.default_rng(0))))
def test_a_kernel_refuses_what_does_not_fit(name, hostile_case):
    """Or accepts it as another problem; with SOFTECM_BOUNDS an access outside an array ends the process."""
    refused = 0
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        function, arguments = calls(rng)[name]
        function(*(a.copy() for a in arguments))  # unspoilt, they are valid
        for position in range(len(arguments)):
            for _ in range(3):
                given = [a.copy() for a in arguments]
                given[position] = spoilt(given[position], rng)
                hostile_case()
                try:
                    function(*given)
                except (ValueError, TypeError):
                    refused += 1
    assert refused > 0


@pytest.mark.parametrize(
    ("name", "position", "change"),
    [
        ("round", 2, lambda a: a[..., 1:]),  # prototypes narrower than the objects
        ("round", 0, lambda a: a[:, 1:]),  # and wider
        ("round", 1, lambda a: a[1:]),
        ("round", 3, lambda a: a[:, 1:]),
        ("round", 4, lambda a: a[:, 1:]),
        ("round", 5, lambda a: a[1:]),
        ("masses", 1, lambda a: a[:, 1:]),
        ("masses", 2, lambda a: a[1:]),
        ("nearest", 1, lambda a: a[:, 1:]),
        ("nearest", 1, lambda a: a[:0]),
        ("table round", 1, lambda a: a[1:]),
        ("table round", 2, lambda a: a[1:]),
        ("table round", 3, lambda a: a[1:]),
        ("table round", 7, lambda a: a[:, 1:]),
        ("table masses", 6, lambda a: a[1:]),
        ("linked", 4, lambda a: a + 100),
        ("linked", 3, lambda a: a + 1),
        ("linked", 6, lambda a: a[1:, 1:]),
        ("gap choice", 1, lambda a: a - 100),
        ("gap choice", 4, lambda a: a[:, 1:]),
        ("exact choice", 4, lambda a: a[:, 1:]),
        ("barycenters", 1, lambda a: a + 100),
        ("sweep", 0, lambda a: a[1:, 1:]),
        ("some", 1, lambda a: a + 100),
        ("some", 2, lambda a: a[::-1]),
        ("rows", 0, lambda a: a[1:]),
        ("steps", 1, lambda a: a + 1),
        ("steps", 2, lambda a: a[..., 1:]),
    ],
)
def test_a_kernel_names_what_does_not_fit(name, position, change, hostile_case):
    hostile_case()
    function, arguments = calls(np.random.default_rng(1))[name]
    arguments[position] = np.ascontiguousarray(change(arguments[position]))
    with pytest.raises(ValueError, match="must"):
        function(*arguments)


def test_strided_arrays_give_the_same(hostile_case):
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(30, 6)), rng.normal(size=(1, 2, 3))
    prices = np.ones((1, 2)), np.full(1, 2.0), np.full(1, 9.0)
    hostile_case()
    strided = vector_round(x[:, ::2], None, v, None, *prices, 0.1)
    whole = vector_round(np.ascontiguousarray(x[:, ::2]), None, v, None, *prices, 0.1)
    for a, b in zip(strided, whole, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("call", [soft_dtw, dtw, soft_dtw_paired, soft_dtw_sums, dtw_sums])
def test_alignments_refuse_what_does_not_fit(call, hostile_case):
    x, y = torch.randn(3, 5, 2, dtype=torch.float64), torch.randn(3, 4, 2, dtype=torch.float64)
    more = (torch.ones(3, 3, dtype=torch.float64),) if call in (soft_dtw_sums, dtw_sums) else ()
    assert call(x, y, *more) is not None
    bad = [
        ((x[..., :1], y), {}),
        ((x.float(), y), {}),
        ((x.long(), y.long()), {}),
        ((x[0], y), {}),
        ((x[:, :0], y), {}),
        ((x, y), {"x_lengths": torch.tensor([6, 5, 5])}),
        ((x, y), {"x_lengths": torch.tensor([0, 5, 5])}),
        ((x, y), {"y_lengths": torch.tensor([4, 4])}),
        ((x, y), {"y_lengths": torch.tensor([4.0, 4.0, 4.0])}),
        ((x, y), {"band": -1}),
        ((x, y), {"band": 0}),
    ]
    for args, kwargs in bad:
        hostile_case()
        with pytest.raises((ValueError, TypeError), match="must"):
            call(*args, *more, **kwargs)
    if call in (soft_dtw_sums, dtw_sums):
        for pairs in ((torch.tensor([3]), torch.tensor([0])), (torch.tensor([0]), torch.tensor([-1]))):
            hostile_case()
            with pytest.raises(ValueError, match="pairs must index"):
                call(x, y, torch.ones(1, dtype=torch.float64), pairs=pairs)
        hostile_case()
        with pytest.raises(ValueError, match="weights must have one number per pair"):
            call(x, y, torch.ones(3, 2, dtype=torch.float64))


def test_a_table_with_stray_codes_is_refused(hostile_case):
    from softecm.distances import Mixed
    from softecm.spaces.raw import read_table
    from softecm.spaces.tables import Table

    raw = read_table(np.array([["a", 1.0], ["b", 2.0], ["a", 3.0]], dtype=object))
    space = Table().fit(raw, dtype=torch.float64)
    x = space.encode(raw)
    v = space.starts(x, torch.arange(2))
    assert Mixed().pairwise(x, v).shape == (3, 2)
    for code in (7, 200):
        hostile_case()
        stray = space.encode(raw)
        stray.codes[1, 0] = code
        with pytest.raises(ValueError, match="codes must belong to categories"):
            Mixed().pairwise(stray, v)
