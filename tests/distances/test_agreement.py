"""Agreement of views, and weights derived from it."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from softecm import SoftECM, ViewWarning
from softecm.distances import Combined, SquaredEuclidean
from softecm.distances.view_statistics import agreement, correlations, sampled, weights_by
from softecm.spaces.real import RealVectors
from softecm.spaces.views import EncodedViews, Views


def tables(*views):
    return [cdist(view, view) for view in views]


def correlation(first, second, counts):
    return float(correlations([first, second], counts)[0, 1])


def three(seed=0, n=150):
    """Two views with the groups, and random binary columns."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 3
    first = rng.normal(size=(n, 2)) + 8.0 * (groups == 0)[:, None] * [1, 0]
    second = rng.normal(size=(n, 2)) + 8.0 * (groups == 2)[:, None] * [1, 0]
    return {"first": first, "second": second, "coin": rng.integers(0, 2, (n, 1)).astype(float)}, groups


def test_a_view_agrees_with_itself_whatever_its_unit_and_not_with_noise():
    x, noise = np.random.default_rng(0).normal(size=(2, 80, 3))
    d, e = tables(x, 7 * x + 3)
    assert correlation(d, e, np.ones(80)) == pytest.approx(1)
    assert abs(correlation(d, tables(noise)[0], np.ones(80))) < 0.05


def test_correlation_is_not_biased():
    rng = np.random.default_rng(1)
    found = [correlation(*tables(*rng.normal(size=(2, 20, 5))), np.ones(20)) for _ in range(200)]
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(len(found))


def test_counting_twice_is_being_there_twice():
    x, y = np.random.default_rng(2).normal(size=(2, 15, 2))
    y = x + y
    counts = np.r_[np.full(5, 2.0), np.ones(10)]
    rows = np.repeat(np.arange(15), counts.astype(int))
    twice = correlation(*tables(x[rows], y[rows]), np.ones(len(rows)))
    assert correlation(*tables(x, y), counts) == pytest.approx(twice, rel=1e-12)


def test_only_objects_with_both_views_are_asked():
    x, y = np.random.default_rng(3).normal(size=(2, 60, 2))
    y = x + 0.1 * y
    present = np.ones((60, 2), dtype=bool)
    present[30:, 0] = False
    spoilt = y.copy()
    spoilt[30:] = 1e6
    common = agreement(tables(x, spoilt), present, np.ones(60))
    assert common[0, 1] == pytest.approx(correlation(*tables(x[:30], y[:30]), np.ones(30)))
    present[5:, 0] = False
    assert not agreement(tables(x, spoilt), present, np.ones(60)).any()  # too few objects


def test_a_view_counts_for_what_it_shares_with_views_that_count():
    data, _ = three()
    common = agreement(tables(*data.values()), np.ones((150, 3), dtype=bool), np.ones(150))
    weights = weights_by(common)
    assert weights[:2] == pytest.approx(0.5, abs=0.05)
    assert weights[2] < 0.05
    assert weights_by(np.zeros((4, 4))) == pytest.approx(0.25)


def fitted(data, weights):
    metric = Combined(dict.fromkeys(data, "sqeuclidean"), weights=weights)
    return SoftECM(3, metric=metric, random_state=0, n_jobs=1, n_init=4).fit(data)


def test_coin_tosses_take_over_and_that_is_said_unless_agreement_decides():
    from sklearn.metrics import adjusted_rand_score

    data, groups = three()
    with pytest.warns(ViewWarning, match="follow 'coin', which hardly agrees"):
        equal = fitted(data, "equal")
    assert adjusted_rand_score(groups, equal.labels_) < 0.6
    with pytest.warns(ViewWarning, match="get little weight: 'coin'"):
        agreed = fitted(data, "agreement")
    assert adjusted_rand_score(groups, agreed.labels_) == 1
    del data["coin"]
    assert adjusted_rand_score(groups, fitted(data, "agreement").labels_) == 1  # and no warning


def test_views_without_anything_in_common_count_alike_and_that_is_said():
    data, _ = three()
    with pytest.warns(ViewWarning) as said:
        model = fitted({"first": data["first"], "coin": data["coin"]}, "agreement")
    assert "don't agree with each other" in str(said[0].message)
    assert model.view_weights_ == {"first": 0.5, "coin": 0.5}


def test_few_objects_of_many_are_no_more_sure_than_few():
    rng = np.random.default_rng(4)
    x = EncodedViews(
        tuple(torch.from_numpy(rng.normal(size=(3000, 2))) for _ in range(2)),
        None,
        (),
        Views(("a", "b"), (RealVectors(2), RealVectors(2))),
    )
    sample = sampled([SquaredEuclidean(), SquaredEuclidean()], x, None)
    assert sample.counts.sum() == pytest.approx(512)
    assert sample.common[0, 1] == 0  # noise: agreement by chance
