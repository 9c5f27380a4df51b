"""Hooks into the search for a number of clusters."""

from typing import Any

import numpy as np
import pytest

from softecm import SoftECM
from softecm.datasets import make_blobs
from softecm.selection import choose_n_clusters

X = make_blobs(90, n_clusters=3, distance=9, random_state=0).data
BASE = SoftECM(metric="sqeuclidean", n_init=2, random_state=0)


def test_the_callback_sees_every_candidate_and_its_value() -> None:
    seen: list[tuple[int, float]] = []

    def note(count: int, model: Any, value: float) -> None:
        assert model.partition_.n_clusters == count
        seen.append((count, value))

    choice = choose_n_clusters(X, estimator=BASE, candidates=[2, 3, 4], callback=note)
    assert dict(seen) == choice.values
    assert choice.n_clusters == 3


def test_a_true_answer_ends_the_search_with_the_best_so_far() -> None:
    choice = choose_n_clusters(X, estimator=BASE, candidates=[2, 3, 4, 5], callback=lambda c, model, value: c == 4)
    assert list(choice.values) == [2, 3, 4]
    assert choice.n_clusters == 3


def test_candidates_are_fitted_by_the_callers_own_function() -> None:
    fitted: list[Any] = []

    def own(model: Any, data: Any) -> Any:
        fitted.append(model.fit(data))
        return model

    choice = choose_n_clusters(X, estimator=BASE, candidates=[2, 3, 4], fit=own)
    assert [model.n_clusters for model in fitted] == [2, 3, 4]
    assert choice.model is fitted[1]
    plain = choose_n_clusters(X, estimator=BASE, candidates=[2, 3, 4])
    np.testing.assert_array_equal(plain.model.partition_.masses, choice.model.partition_.masses)


def test_a_fit_that_was_cut_short_does_not_count() -> None:
    def cut(model: Any, data: Any) -> Any:
        return None if model.n_clusters == 3 else model.fit(data)

    choice = choose_n_clusters(X, estimator=BASE, candidates=[2, 3, 4], fit=cut)
    assert list(choice.values) == [2]
    with pytest.raises(ValueError, match="the first fit was interrupted"):
        choose_n_clusters(X, estimator=BASE, candidates=[3, 4], fit=cut)
