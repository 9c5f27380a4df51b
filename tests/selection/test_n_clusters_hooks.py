"""Hooks into the search for a number of clusters."""

from typing import Any

import numpy as np
import pytest

from softecm import SoftECM
from softecm.datasets import make_blobs
from softecm.selection import choose_n_clusters, n_clusters

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


def test_a_search_on_a_sample_has_no_more_initializations_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(n_clusters, "LARGE", 60)
    monkeypatch.setattr(n_clusters, "SAMPLE", 50)
    for asked, tried in ((1, 1), (9, 3)):
        seen: list[tuple[int, int]] = []

        def own(model: Any, data: Any, seen: list[tuple[int, int]] = seen) -> Any:
            seen.append((len(data), model.n_init))
            return model.fit(data)

        estimator = SoftECM(metric="sqeuclidean", n_init=asked, random_state=0)
        choose_n_clusters(X, estimator=estimator, candidates=[2, 3, 4], rule="valleys", fit=own)
        assert seen == [(50, tried)] * 3 + [(90, asked)]


@pytest.mark.parametrize(("rule", "power"), [("valleys", 0.5), ("silhouette", 1.0)])
def test_ties_are_judged_by_the_distances_of_the_rule(rule: str, power: float) -> None:
    search = n_clusters._Search[SoftECM](X, rule)
    model = SoftECM(2, metric="sqeuclidean", n_init=1, random_state=0, delta=None, max_cardinality=1).fit(X)
    search.add(2, model, [])
    nearest, next_nearest = np.sort(model.transform(X)[:, :2] ** power, axis=1).T
    np.testing.assert_allclose(search.terms[2], 1.0 - nearest / next_nearest, atol=0.03)
