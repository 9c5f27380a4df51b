"""Fits of series iterate mostly in single precision: when this is valid, and that it changes no result."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from softecm import FocalSets, SoftECM
from softecm.algorithms.soft_ecm import SoftECMAlgorithm
from softecm.distances import SoftDTW
from softecm.distances.base import SemiMetric
from softecm.fit.algorithm import soft_ecm_problem
from softecm.fit.prepare import in_memory
from softecm.native.library import available, get_threads, set_threads
from softecm.objective.equations import evaluate, mass_cost
from softecm.objective.problem import Exact, SoftECMProblem
from softecm.optim import Descent
from softecm.spaces.raw import raw_data
from softecm.spaces.series import SeriesBatch, TimeSeries


@dataclass(frozen=True)
class Unrounded(SemiMetric):
    """A user-defined metric, which may hold numbers of another dtype."""

    space = TimeSeries

    def pairwise(self, x, v):
        return (x.values[:, None] - v).square().sum((2, 3))


def bumps(n: int, length: int = 40) -> np.ndarray:
    """Series with an early or late bump, small shifts, and noise."""
    rng = np.random.default_rng(0)
    places = np.where(np.arange(n) % 2, 0.7, 0.3) + rng.normal(scale=0.04, size=n)
    steps = np.linspace(0.0, 1.0, length)
    return (np.exp(-((steps - places[:, None]) ** 2) / 0.01) + 0.1 * rng.normal(size=(n, length)))[..., None]


@pytest.mark.parametrize(
    ("level", "size", "fits"), [(0.0, 1.0, True), (1e6, 1.0, False), (0.0, 1e-30, False), (0.0, 1e20, False)]
)
def test_series_are_rounded_only_where_that_tells_them_apart(level, size, fits):
    rows = list(level + size * bumps(6))
    space = TimeSeries().fit(rows, dtype=torch.float64)
    found = space.single(space.encode(rows))
    assert (found is not None) == fits
    if found is not None:
        assert found[1].values.dtype == found[0].dtype == torch.float32
        assert found[0].single(found[1]) is None  # already in single precision


def test_draws_do_not_follow_the_last_digits_of_single_precision():
    values = torch.from_numpy(bumps(30))
    space = replace(TimeSeries().fit(list(values.numpy()), dtype=torch.float64), dtype=torch.float32)
    nudged = values.float() * (1.0 + 1e-7)
    same = space.keys(SeriesBatch(values.float())) == space.keys(SeriesBatch(nudged))
    assert same.mean() > 0.9
    assert len(np.unique(space.keys(SeriesBatch(values.float())))) == 30


def in_memory_objects(X: np.ndarray, **options):
    estimator = SoftECM(2, metric="softdtw", **options)
    return in_memory(SoftECMAlgorithm(), estimator._settings(), SoftDTW(), estimator, raw_data(X), None, runs=1)


def test_coarser_and_rounded_series_know_their_own_terms():
    objects = in_memory_objects(bumps(20, 80))
    for version in (objects.coarsened(SoftECMAlgorithm()), objects.rounded()):
        assert version is not None and version.objects.x.values.dtype == torch.float32  # noqa: PT018
        (own,) = version.objects.x.known.values()  # otherwise every iteration would align each series with itself again
        assert own.shape == (20,)
    assert replace(objects, metric=Unrounded()).rounded() is None
    assert in_memory_objects(bumps(20, 80), dtype="float32").rounded() is None


@pytest.mark.parametrize("length", [40, 24])  # shortened first, or not
def test_single_and_double_precision_agree(length):
    X = bumps(30, length)
    double, single = (SoftECM(2, metric="softdtw", random_state=3, dtype=d).fit(X) for d in ("float64", "float32"))
    np.testing.assert_array_equal(double.labels_, single.labels_)
    assert single.objective_ == pytest.approx(double.objective_, rel=0.01)
    assert double.prototypes_.dtype == np.float64


def test_threads_change_nothing():
    X = bumps(60, 90)
    one, two = (SoftECM(2, metric="softdtw", random_state=0, n_jobs=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.partition_.masses, two.partition_.masses)
    assert one.objective_ == two.objective_


def test_torch_gets_few_threads_for_series_and_has_its_own_again_afterwards():
    seen = []
    before = torch.get_num_threads(), set_threads(None)
    torch.set_num_threads(8)
    try:
        look = lambda _: seen.append((torch.get_num_threads(), get_threads()))  # noqa: E731
        SoftECM(2, metric="softdtw", random_state=0, callback=look).fit(bumps(20, 30))
        assert set(seen) == {(min(4, available()), min(8, available()))}
        assert torch.get_num_threads() == 8
        assert get_threads() == available()
    finally:
        torch.set_num_threads(before[0])
        set_threads(before[1])


def problem(solver: Descent) -> SoftECMProblem:
    x = SeriesBatch(torch.from_numpy(bumps(20, 30)))
    like = x.values[:1]
    focal = FocalSets.up_to(2, 1)
    cost = mass_cost(focal, 1.0, 1.2, 4.0, like=like)
    made = soft_ecm_problem(x, SoftDTW(), focal, cost, lam=0.0, relaxation=Exact, solver=solver)
    assert isinstance(made, SoftECMProblem)
    return made


def followed(solver: Descent, rounds: int) -> list[float]:
    task = problem(solver)
    state = task.begin(torch.from_numpy(bumps(20, 30))[None, [0, 1]])
    objective = [float(state.objective)]
    for _ in range(rounds):
        state = task.step(state)
        objective.append(float(state.objective))
    return objective


def test_curvature_saves_rounds_and_no_objective_rises():
    plain, stiff = followed(Descent(), 40), followed(Descent(stiff=True), 40)
    assert all(b <= a for a, b in itertools.pairwise(stiff))
    assert stiff[-1] <= plain[-1] * 1.002
    assert stiff[6] < plain[6]


def test_steps_that_promise_too_little_are_not_taken():
    stays = followed(Descent(stiff=True, least=10.0), 2)
    assert stays[0] == stays[1] == stays[2]
    goes = followed(Descent(stiff=True, least=1e-3), 20)
    assert goes[-1] == goes[-2] < goes[0]
    assert goes[-1] == pytest.approx(followed(Descent(stiff=True), 40)[-1], rel=0.02)


def test_costs_from_distances_alone_are_the_costs():
    x = torch.from_numpy(bumps(12, 20))
    v, cost = x[None, :3], mass_cost(FocalSets.up_to(3, 1), 1.0, 1.2, 3.0, like=x)
    whole, alone = (evaluate(SoftDTW(), x, v, cost, sums=sums) for sums in (True, False))
    torch.testing.assert_close(alone.cost, whole.cost)
    assert alone.curvature is None
    assert not alone.gradient.numel()


def test_a_fit_stopped_while_starts_are_compared_goes_on_to_the_same_answer(tmp_path):
    X, rounds = bumps(16), itertools.count(1)
    whole = SoftECM(2, metric="softdtw", n_init=4, random_state=0).fit(X)
    stops = SoftECM(2, metric="softdtw", n_init=4, random_state=0, callback=lambda _: next(rounds) >= 3)
    with pytest.warns(ConvergenceWarning):
        stops.fit(X, checkpoint=tmp_path / "starts")
    again = SoftECM(2, metric="softdtw", n_init=4, random_state=0).fit(X, resume=tmp_path / "starts")
    np.testing.assert_array_equal(again.partition_.masses, whole.partition_.masses)
