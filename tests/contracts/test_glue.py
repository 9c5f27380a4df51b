"""The last lines between a parameter and what is done: mistakes there that no other test noticed (tools/mutations.py)."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import pairwise_distances

from softecm import MECMdd, SoftECM
from softecm.belief import CredalPartition, FocalSets
from softecm.explain import ExplanationTree
from softecm.files import journal as journals
from softecm.files import lock as locks
from softecm.fit.stages import neighbouring
from softecm.readers.numbers import _whole
from softecm.selection import stability, sweep

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)) + np.repeat([[0.0], [7.0]], 20, 0)


def test_neighbours_are_told_by_squares_whatever_the_degree_of_a_metric():
    """Between two clusters lies a third, off the straight line: by squares it is in the way, by lengths it is not."""
    apart = pairwise_distances([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]])
    by_length, _ = neighbouring(apart, 1.0, np.ones((3, 3)))
    by_square, _ = neighbouring(apart**2, 2.0, np.ones((3, 3)))
    assert by_length == by_square
    assert (0, 1) not in by_length.sets


def test_a_line_of_a_journal_is_on_the_disk_before_the_next(tmp_path, monkeypatch):
    sizes, real = [], os.fsync

    def watched(handle):
        sizes.append(os.fstat(handle).st_size)
        real(handle)

    with journals.Journal(tmp_path / "journal", {"work": 1}) as journal:
        monkeypatch.setattr(journals.os, "fsync", watched)
        journal.write(["a"], [{"x": 1}])
        assert sizes == [(tmp_path / "journal").stat().st_size]


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_none(tmp_path, monkeypatch):
    asked = []

    def lock(handle):
        asked.append(handle)
        if len(asked) == 1:  # whoever held it goes, and takes the file along
            next(tmp_path.glob(".softecm-*.lock")).unlink()

    monkeypatch.setattr(locks, "_lock", lock)
    with locks.locked(tmp_path / "journal"):
        assert len(asked) == 2
        assert list(tmp_path.glob(".softecm-*.lock"))


@pytest.mark.parametrize("warm_start", [False, True], ids=["one batch", "fit by fit"])
def test_every_resample_is_another_one_with_another_seed(warm_start, monkeypatch):
    drawn = []
    name = "_refit_alone" if warm_start else "_refit_together"
    real = getattr(stability, name)

    def watched(cells, data, rows, compared, number, report):
        drawn.append((tuple(rows), number))
        return real(cells, data, rows, compared, number, report)

    monkeypatch.setattr(stability, name, watched)
    given = {"metric": "sqeuclidean", "init": "k-means++", "n_init": 1, "random_state": 0, "delta": 5.0}
    sweep(X, {"alpha": [1.0]}, estimator=SoftECM(2, warm_start=warm_start, max_cardinality=2, **given), resamples=3)
    assert len({rows for rows, _ in drawn}) == len({number for _, number in drawn}) == 3


def test_an_honest_tree_has_not_seen_what_it_judges():
    """Groups that have nothing to do with the table: a tree that knows the objects explains them, an honest one can't."""
    masses = np.zeros((120, 4))
    masses[np.arange(120), RNG.integers(1, 4, 120)] = 1.0
    partition = CredalPartition(np.c_[np.zeros(120), masses[:, 1:]], FocalSets.up_to(3, 1))
    tree = ExplanationTree(lam=0.0, leaves="best", min_gain=0.0, cv=4)
    tree.fit(partition, pd.DataFrame(RNG.normal(size=(120, 12)), columns=[f"c{k}" for k in range(12)]))
    assert tree.representativeness_[0.0] - tree.honest_[0.0] > 0.08


def test_whole_numbers_that_floats_can_not_hold_stay_floats():
    assert _whole(pd.Series([1.0, 2.0**53 - 1])).dtype.kind == "i"
    assert _whole(pd.Series([1.0, 2.0**53])).dtype.kind == "f"


def test_weights_of_matrices_count_like_copies():
    counts = RNG.integers(1, 4, len(X))
    rows, views = np.repeat(np.arange(len(X)), counts), [pairwise_distances(X), pairwise_distances(X[:, :1])]
    given = {"init": [3, 30], "delta": 4.0, "max_cardinality": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighed = MECMdd(2, **given).fit(views, sample_weight=counts.astype(float))
        first = [int(np.flatnonzero(rows == k)[0]) for k in (3, 30)]
        copied = MECMdd(2, **given | {"init": first}).fit([d[rows][:, rows] for d in views])
    assert copied.objective_ == pytest.approx(weighed.objective_, rel=1e-6)
