"""User-defined metrics: invalid ones raise an error, suspicious ones are named, and X is never changed."""

import warnings

import numpy as np
import pytest
import torch

from softecm import ECM, NNEVCLUS, CredalPartition, FocalSets, SoftECM
from softecm.calibration import calibrate
from softecm.distances import SemiMetric
from softecm.scores import pairwise_masses
from softecm.selection import sweep

X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [8.0]], 20, 0)
FITTED = ECM(2, random_state=0).fit(X)


def squares(x, v):
    return (x[:, None] - v).square().sum(-1)


def constant(x, v):
    return 3.0 + 0.0 * squares(x, v)


def rounded(x, v):
    return squares(x, v).floor()


def random(x, v):
    return squares(x, v) * torch.rand(len(x), len(v))


def one_sided(x, v):
    return (x[:, None] - v).relu().sum(-1)


def offset(x, v):
    return squares(x, v) + 5.0


def below(x, v):
    return squares(x, v) - 1.0


def either_or(x, v):
    return squares(x, v) > 1.0


def in_place(x, v):
    x -= 1.0
    return squares(x, v)


def half(x, v):
    return squares(x, v).half()


def scattered(x, v):
    return squares(x, v).to_sparse()


def detached(x, v):
    return squares(x, v.detach())


class Own(SemiMetric):
    """A function as a user-defined class."""

    def __init__(self, function):
        self.function = function

    def pairwise(self, x, v):
        return self.function(x, v)


@pytest.mark.parametrize("kind", [lambda f: f, Own], ids=["function", "class"])
class TestOwnMetric:
    @pytest.mark.parametrize(
        ("function", "said"),
        [
            (constant, "returns 3 for every pair"),
            (rounded, "is flat: its gradient is zero"),
            (random, "returns different distances for the same arguments"),
            (offset, "returns 5 between an object and itself"),
            (one_sided, r"is not symmetric: .* from object \d+ .* back"),
        ],
    )
    def test_an_odd_one_is_named(self, kind, function, said):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            SoftECM(2, metric=kind(function), random_state=0, max_iter=3, n_init=1).fit(X)
        (first, *_) = [str(one.message) for one in heard if "metric" in str(one.message)]
        assert first.startswith(f"metric {function.__name__} ")
        with pytest.warns(UserWarning, match=said):
            warnings.warn(first, UserWarning, stacklevel=1)

    @pytest.mark.parametrize(
        ("function", "said"),
        [
            (below, "must never be negative"),
            (either_or, "must return distances as floating-point numbers; got torch.bool"),
            (half, r"must return a dense tensor of float32 or float64; got torch\.float16"),
            (scattered, r"must return a dense tensor of float32 or float64; got .*sparse_coo"),
            (in_place, "must not change its arguments"),
            (detached, "must be differentiable in its second argument"),
        ],
    )
    @pytest.mark.parametrize("solver", ["auto", "gradient"])
    def test_an_impossible_one_is_refused_and_changes_nothing(self, kind, function, said, solver):
        before = X.copy()
        with pytest.raises(ValueError, match=said):
            SoftECM(2, metric=kind(function), solver=solver, random_state=0).fit(X)
        np.testing.assert_array_equal(X, before)

    def test_a_sound_one_is_not_doubted(self, kind):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SoftECM(2, metric=kind(squares), random_state=0).fit(X)


def test_a_function_of_another_number_of_arguments_is_refused():
    for function, said in ((lambda x: x, r"got <lambda>\(x\)"), (lambda x, v, w: x, r"got <lambda>\(x, v, w\)")):
        with pytest.raises(ValueError, match=said):
            SoftECM(2, metric=function).fit(X)
    SoftECM(2, metric=lambda x, v, power=2.0: squares(x, v) ** (power / 2), n_init=1, max_iter=2, random_state=0).fit(X)


def test_what_needs_all_pairs_asks_for_memory_first(monkeypatch):
    monkeypatch.setattr("softecm._engine.free_memory", lambda: 1e4)
    partition = CredalPartition(np.tile([0.0, 1.0, 0.0, 0.0], (100, 1)), FocalSets.full(2))
    with pytest.raises(
        ValueError, match=r"pairs of 100 objects would take about 160 kB, and 10 kB are free\. credal_rand"
    ):
        pairwise_masses(partition)
    with pytest.raises(ValueError, match=r"a network of \d+ weights, 5 times, would take about .*hidden=\(20,\)"):
        NNEVCLUS(2, hidden=10**6).fit(X)
    monkeypatch.setattr("softecm._engine.free_memory", lambda: 7e4)
    model = ECM(2, init="k-means++", random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"pairs='all' for 40 objects would take about 76\.8 kB.*pairs='some'"):
        calibrate(model, X, pairs="all", n_boot=20)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: ECM(2, n_init=10**30).fit(X),
            r"n_init must be a whole number of at most 1000000; got 10{30}\.",
        ),
        (
            lambda: ECM(2, n_init=10**5000).fit(X),
            r"n_init must be a whole number of at most 1000000; got a number of about 5000 digits",
        ),
        (lambda: ECM(2, alpha=10**30).fit(X), r"alpha must be at least 0 and at most 100"),
        (
            lambda: ECM(2).fit(X, sample_weight=np.full(40, 1e308)),
            r"sample_weight must hold numbers of at most 1e\+150",
        ),
        (lambda: ECM(2).fit(X, checkpoint=""), r"checkpoint must be the path of a file; got ''"),
        (lambda: ECM(2).fit(X, checkpoint="/tmp/\ud800"), r"holds a character that no file name may hold"),
        (lambda: calibrate(FITTED, X, n_boot=10**9), r"what 1000000000 refits say of 40 objects would take about"),
        (lambda: sweep(X, {"alpha": [1.0]}, seeds=10**9), r"seeds must be a whole number of at most 1000000"),
        (lambda: sweep(X, {"alpha": [1.0]}, resamples=10**9), r"resamples must be a whole number of at most 1000000"),
    ],
    ids=["n_init", "n_init beyond text", "alpha", "weights", "checkpoint", "name", "refits", "seeds", "resamples"],
)
def test_numbers_beyond_all_bounds_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_more_threads_than_any_machine_has_are_those_it_has():
    assert ECM(2, n_jobs=10**12, random_state=0).fit(X).labels_.tolist() == FITTED.labels_.tolist()
