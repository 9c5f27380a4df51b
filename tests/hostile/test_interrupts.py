"""Ctrl-C: how much work continues after it, and that it is never lost."""

import os
import signal
import time

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from softecm import ECM, EVCLUS, ECMdd
from softecm.algorithms import conflicts as module
from softecm.algorithms import ecmdd
from softecm.kernels.simplex_qp import fit_rows, sweep_all

X = np.random.default_rng(0).normal(size=(60, 2))
FEW = {"n_clusters": 3, "delta": 3.0, "max_cardinality": 2, "init": X[:3], "tol": 0.0, "max_iter": 30}


@pytest.fixture(autouse=True)
def plain_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a fit restores the handler
    signal.signal(signal.SIGINT, before)


def test_evclus_ends_in_the_sweep_in_which_it_is_asked_to(monkeypatch, hostile_case):
    """Runs are in threads: none of them begins another sweep."""
    hostile_case()
    sweeps, after = [], []
    real = module.sweep_all

    def watched(phi, conflict, masses, stop, *rest):
        sweeps.append(1)
        if len(sweeps) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            until = time.monotonic() + 30
            while not stop[0] and time.monotonic() < until:
                time.sleep(0.001)
            assert stop[0]
        elif stop[0]:
            after.append(1)
        return real(phi, conflict, masses, stop, *rest)

    monkeypatch.setattr(module, "sweep_all", watched)
    monkeypatch.setattr("softecm._engine.get_threads", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        EVCLUS(2, max_iter=10**6, tol=0.0, random_state=0).fit(cdist(X, X))
    assert len(sweeps) == 3
    assert not after


def test_a_sweep_looks_at_the_flag_before_every_object_and_every_step(hostile_case, rng):
    hostile_case()
    masses = rng.dirichlet(np.ones(4), 30)
    phi, conflict = cdist(X[:30], X[:30]), (~np.eye(4, dtype=bool)).astype(float)
    before = masses.copy()
    assert sweep_all(phi, conflict, masses, np.ones(1, dtype=np.bool_)) == 0.0
    np.testing.assert_array_equal(masses, before)
    (m,) = fit_rows(np.eye(4), rng.normal(size=(1, 4)), before[:1], np.ones(1, dtype=np.bool_))
    np.testing.assert_array_equal(m, before[0])


class Clumsy:
    """Raises an error in its clean-up, where Python prints and ignores errors, like a compiler's objects."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_gets_lost_ends_the_fit_after_the_round(hostile_case):
    hostile_case()
    rounds = []

    def lose(progress):
        rounds.append(progress.iteration)
        if progress.iteration == 3:
            Clumsy()

    with pytest.raises(KeyboardInterrupt):
        ECM(**FEW, callback=lose).fit(X)
    assert rounds == [1, 2, 3]
    assert ECM(**FEW | {"tol": 1e-2}).fit(X).converged_  # and the next fit is not affected


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_an_interrupted_compiler_says_is_not_passed_on(hostile_case):
    hostile_case()

    def broken(progress):
        Clumsy()
        raise RuntimeError("no compiled object yet for <Library '_round'>")

    with pytest.raises(KeyboardInterrupt):
        ECM(**FEW, callback=broken).fit(X)


def test_somebody_else_s_handler_stays_theirs(hostile_case):
    hostile_case()
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    ECM(**FEW | {"max_iter": 3, "tol": 1.0}, callback=lambda progress: signal.raise_signal(signal.SIGINT)).fit(X)
    assert heard
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_round_of_medoids_is_cut_into_pieces_of_the_same_prices(monkeypatch, hostile_case):
    hostile_case()
    d = cdist(X, X)
    whole = ECMdd(3, random_state=0).fit(d)
    monkeypatch.setattr(ecmdd, "AT_ONCE", 2 * len(X) ** 2)  # two rows at a time
    pieces = ECMdd(3, random_state=0).fit(d)
    np.testing.assert_array_equal(pieces.medoids_, whole.medoids_)
    np.testing.assert_allclose(pieces.partition_.masses, whole.partition_.masses, rtol=0, atol=1e-12)
