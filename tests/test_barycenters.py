"""Barycentres of series."""

import numpy as np
import pytest

from references import soft_dtw as reference
from softecm.barycenters import dba, soft_dtw_barycenter
from softecm.datasets import make_cbf

X = make_cbf(4, length=40, random_state=0).data[:4]


def test_a_single_series_is_its_own_dtw_average():
    assert dba(X[:1]).objective == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(dba(X[:1]).series, X[0])


@pytest.mark.parametrize("average", [dba, soft_dtw_barycenter])
def test_averages_beat_the_mean(average):
    found = average(X)
    value = (
        (lambda u: np.mean([reference.dtw(x, u)[0] for x in X]))
        if average is dba
        else (lambda u: np.mean([reference.soft_dtw(x, u, 1.0) for x in X]))
    )
    assert found.objective == pytest.approx(value(found.series), rel=1e-6)
    assert found.objective < value(X.mean(0))


def test_weights_count_like_copies():
    twice = soft_dtw_barycenter(np.concatenate([X[:2], X[:1]]), max_iter=300, tol=1e-12)
    weighted = soft_dtw_barycenter(X[:2], weights=[2, 1], max_iter=300, tol=1e-12)
    assert twice.objective == pytest.approx(weighted.objective, rel=1e-4)


def test_unequal_lengths_and_a_chosen_length():
    rows = [X[0], X[1, :30], X[2, :20]]
    assert soft_dtw_barycenter(rows).series.shape == (30, 1)
    assert dba(rows, length=25).series.shape == (25, 1)
    assert dba(rows, init=X[3, :12]).series.shape == (12, 1)


def test_bad_arguments():
    with pytest.raises(ValueError, match="weights must be one number per series, 4"):
        dba(X, weights=[1, 2])
    with pytest.raises(ValueError, match=r"weights must be one number per series, 4, finite.*; got nan to nan"):
        dba(X, weights=[np.nan] * 4)
    with pytest.raises(ValueError, match="init must be a series of 1 channels, as X has; got 2"):
        soft_dtw_barycenter(X, init=np.ones((5, 2)))
    with pytest.raises(ValueError, match="tol must be at least 0; got -1"):
        dba(X, tol=-1)
    with pytest.raises(ValueError, match="band must be at least 1 for series of different lengths; got 0"):
        soft_dtw_barycenter([X[0], X[1, :30]], band=0)
    with pytest.raises(ValueError, match="gamma must be greater than 0; got 0"):
        soft_dtw_barycenter(X, gamma=0)
    with pytest.raises(ValueError, match="max_iter must be a whole number"):
        dba(X, max_iter=0)
