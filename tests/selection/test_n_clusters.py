"""Selection of the number of clusters."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs as sklearn_blobs

from softecm import ECM, EVCLUS, EKNNClus, NumberOfGroupsWarning, SoftECM
from softecm.datasets import make_blobs
from softecm.distances import Mixed
from softecm.selection import (
    NoGroupsWarning,
    SearchEdgeWarning,
    TwinsWarning,
    choose_n_clusters,
    default_candidates,
    guarded_nonspecificity,
)
from softecm.selection.doubtful_groups import small_between, twins
from softecm.selection.mixtures import MixtureEvidence
from softecm.selection.n_clusters import most_clusters


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_clear_groups_are_counted(groups):
    X = make_blobs(40 * groups, n_clusters=groups, n_features=4, distance=10, random_state=1).data
    choice = choose_n_clusters(X, estimator=SoftECM(n_init=5, random_state=0), candidates=range(2, 6))
    assert choice.n_clusters == groups
    assert choice.model.n_clusters == groups
    assert list(choice.to_frame()["n_clusters"]) == [2, 3, 4, 5]
    ax = choice.plot()
    assert ax.get_xlabel() == "number of clusters"
    assert ax.get_ylabel()


def test_dissimilarities_need_an_estimator_that_takes_them(rng):
    D = np.abs(rng.normal(size=(12, 1)) - rng.normal(size=12))
    D = D + D.T - np.diag(2 * np.diag(D))
    remedy = re.escape("estimator=SoftECM(metric='precomputed')")
    with pytest.raises(TypeError, match=remedy):
        choose_n_clusters(D, metric="precomputed")
    with pytest.raises(ValueError, match=remedy):
        choose_n_clusters(D)
    with pytest.raises(ValueError, match=remedy):
        choose_n_clusters(pd.DataFrame(D))
    with pytest.raises(TypeError, match=r"argument 'candidate'\.$"):
        choose_n_clusters(D, candidate=3)


@pytest.mark.filterwarnings("ignore::softecm.CollapseWarning")
def test_a_merged_partition_never_wins():
    X = make_blobs(30, random_state=0).data
    merged = SoftECM(3, beta=2.0, lam=100.0, random_state=0).fit(X)
    assert merged.collapsed_
    assert math.isinf(guarded_nonspecificity(merged))
    with pytest.raises(ValueError, match=r"no number of clusters among .* gave groups that stand apart"):
        choose_n_clusters(X, estimator=SoftECM(beta=2.0, lam=100.0, n_init=2, random_state=0), candidates=[2, 3])


def test_calling_everything_an_outlier_gains_nothing():
    X = make_blobs(60, random_state=0).data
    plain = guarded_nonspecificity(ECM(3, random_state=0).fit(X))
    with np.errstate(all="ignore"):
        strict = guarded_nonspecificity(ECM(3, delta=0.3, random_state=0).fit(X))
    assert strict > plain


def test_candidates():
    assert list(default_candidates(5)) == [2]
    assert list(default_candidates(1000))[-1] == 8
    assert (most_clusters(100), most_clusters(10**6)) == (10, 30)
    with pytest.raises(ValueError, match="candidates must hold at least one"):
        choose_n_clusters(np.ones((5, 2)), candidates=[])
    with pytest.raises(ValueError, match="candidates must be a whole number of at least 1; got 0"):
        choose_n_clusters(np.ones((5, 2)), candidates=[0])
    with pytest.raises(ValueError, match=r"candidates must be a whole number of at most 5; got 6\. .* of 5 objects"):
        choose_n_clusters(np.ones((5, 2)), candidates=[2, 6])
    with pytest.raises(ValueError, match="candidates must hold at least one number of clusters; got 3"):
        choose_n_clusters(np.ones((5, 2)), candidates=3)


@pytest.mark.parametrize("rule", ["auto", "valleys", "silhouette"])
def test_one_cluster_may_be_all_that_is_asked_for(rule):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoGroupsWarning)
        assert choose_n_clusters(make_blobs(60, random_state=0).data, candidates=[1], rule=rule).n_clusters == 1


def test_what_is_no_estimator_or_no_data_is_refused():
    X = make_blobs(60, random_state=0).data
    for estimator in (SoftECM, KMeans(), EKNNClus(), 5):
        with pytest.raises(TypeError, match="estimator must be one of softecm's that takes n_clusters"):
            choose_n_clusters(X, estimator=estimator)
    with pytest.raises(TypeError, match="fit must return the fitted estimator"):
        choose_n_clusters(X, candidates=[2], fit=lambda estimator, X: 5)
    with pytest.raises(TypeError, match="X must be an array, a data frame or a list of rows; got None"):
        choose_n_clusters(None)
    with pytest.raises(ValueError, match="X must hold at least one object"):
        choose_n_clusters(np.empty((0, 3)))


def test_heaps_without_groups_are_one_group_and_blobs_never():
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(150, 2)), rng.uniform(size=(150, 3)), np.ones((20, 2))):
        with pytest.warns(NoGroupsWarning, match=r"no groups stand apart \(.+\): all objects are in one group"):
            choice = choose_n_clusters(X, random_state=0)
        assert (choice.n_clusters, choice.no_groups, choice.edge) == (1, True, "")
        assert choice.model.partition_.n_clusters == 1
    with pytest.warns(NoGroupsWarning, match="3 are the best of those tried"):
        assert choose_n_clusters(rng.normal(size=(150, 2)), candidates=[3], random_state=0).n_clusters == 3


def test_a_table_is_asked_for_the_groups_that_its_columns_support():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=240)
    columns = {f"x{j}": 5.0 * rng.permutation(3)[y] + rng.normal(size=240) for j in range(3)}
    noise = {"coin": rng.choice(["heads", "tails"], 240), "number": rng.normal(size=240)}
    table = pd.DataFrame(columns).assign(kind=np.array(list("abc"))[y], **noise)
    choice = choose_n_clusters(table, random_state=0)
    assert (choice.n_clusters, choice.rule, choice.no_groups) == (3, "mixture", False)
    assert "coin" not in choice.evidence
    assert "x0" in choice.evidence
    shuffled = table.apply(lambda column: rng.permutation(column.to_numpy()))
    with pytest.warns(NoGroupsWarning):
        assert choose_n_clusters(shuffled, random_state=0).n_clusters == 1


def test_correlated_columns_are_no_groups():
    rng = np.random.default_rng(2)
    line = rng.normal(size=(250, 1)) + 0.3 * rng.normal(size=(250, 3))
    table = pd.DataFrame(line, columns=list("abc")).assign(letter=rng.choice(list("xyz"), 250))
    with pytest.warns(NoGroupsWarning, match="there is no valley between the parts"):
        assert choose_n_clusters(table, random_state=0).n_clusters == 1


def test_of_many_objects_a_sample_is_searched_and_all_are_fitted():
    X = make_blobs(6000, n_clusters=3, distance=12, random_state=0).data
    seen = []

    def fit(model, X):
        seen.append(len(X))
        return model.fit(X)

    base = SoftECM(metric="sqeuclidean", n_init=2)
    choice = choose_n_clusters(X, estimator=base, candidates=[2, 3, 4], random_state=0, fit=fit)
    assert (choice.n_clusters, len(choice.model.labels_), seen) == (3, 6000, [1000] * 3 + [6000])


@pytest.mark.parametrize("rule", ["silhouette", "stability"])
def test_other_rules_count_clear_groups_too(rule):
    X = make_blobs(90, n_clusters=3, n_features=4, distance=10, random_state=1).data
    choice = choose_n_clusters(X, estimator=ECM(n_init=4, random_state=0), candidates=range(2, 5), rule=rule)
    assert choice.n_clusters == 3
    assert rule in choice.plot().get_ylabel()
    assert rule in choice.to_frame().columns


def test_a_rule_has_a_name():
    with pytest.raises(ValueError, match="rule must be one of"):
        choose_n_clusters(np.ones((5, 2)), rule="beauty")


def test_the_search_goes_on_where_the_best_is_at_the_edge():
    X = make_blobs(300, n_clusters=11, n_features=8, distance=12, random_state=4).data
    choice = choose_n_clusters(X, estimator=SoftECM(metric="sqeuclidean", n_init=4, random_state=0))
    assert choice.n_clusters == 11
    assert list(choice.values) == list(range(2, 18))
    assert (choice.rule, choice.edge) == ("valleys", "")


def test_the_edge_of_the_range_is_said_aloud():
    X = make_blobs(160, n_clusters=4, n_features=4, distance=10, random_state=1).data
    base = ECM(n_init=4, random_state=0)
    with pytest.warns(SearchEdgeWarning, match="4 is the largest number of clusters tried: more may be better"):
        assert choose_n_clusters(X, estimator=base, candidates=[2, 3, 4]).edge == "largest"
    with pytest.warns(SearchEdgeWarning, match="fewer may be better"):
        assert choose_n_clusters(X, estimator=base, candidates=[4, 5]).edge == "smallest"
    assert choose_n_clusters(X, estimator=base, candidates=[4]).edge == ""


def test_estimators_without_prototypes_go_by_what_is_left_open():
    X = make_blobs(40, n_clusters=2, distance=9, random_state=0).data
    base = EVCLUS(n_init=1, random_state=0)
    D = np.linalg.norm(X[:, None] - X, axis=-1)
    found = choose_n_clusters(D, estimator=base, candidates=[2, 3, 4])
    assert found.rule == "nonspecificity"
    with pytest.raises(ValueError, match="'valleys' needs prototypes"):
        choose_n_clusters(D, estimator=base, candidates=[2], rule="valleys")


@pytest.mark.parametrize("tossed", [["heads", "tails"] * 45, [0.0, 1.0] * 45], ids=["words", "numbers"])
def test_a_column_that_makes_twins_of_all_groups_is_named(tossed):
    X = make_blobs(90, n_clusters=3, distance=14, random_state=0).data
    table = pd.DataFrame(X, columns=["length", "width"]).assign(coin=tossed)
    model = SoftECM(metric=Mixed(weights=None), n_init=3, random_state=0)
    with pytest.warns(TwinsWarning, match="a twin that differs from it only in coin"):
        choice = choose_n_clusters(table, estimator=model, candidates=range(2, 8))
    assert choice.n_clusters == 6
    assert twins(SoftECM(3, random_state=0).fit(table), table) is None
    corners = np.repeat([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]], 20, 0)
    grid = corners + np.random.default_rng(0).normal(size=(80, 2))
    assert twins(SoftECM(4, random_state=0).fit(grid), grid) is None


def midway(seed: int, n: int, part: int) -> np.ndarray:
    """Three groups, and a few objects close together: midway between the first two, or separate."""
    rng = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [16.0, 0.0], [8.0, 20.0], [8.0, 0.0 if part else -20.0]])
    return places[np.r_[np.repeat([0, 1, 2], n), np.full(12, 3)]] + 0.8 * rng.normal(size=(3 * n + 12, 2))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_group_midway_between_two_others_is_called_so(seed):
    estimator = SoftECM(metric="sqeuclidean", random_state=0)
    with pytest.warns(NumberOfGroupsWarning, match=r"is small \(12 of 192 .* midway between .* Try 3 groups"):
        assert choose_n_clusters(midway(seed, 60, 1), estimator=estimator).n_clusters == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumberOfGroupsWarning)
        assert choose_n_clusters(midway(seed, 60, 0), estimator=estimator).n_clusters == 4


def test_the_size_of_a_small_group_is_that_of_the_table():
    """Of the objects between groups, labels put some into the small one; the table of sets counts them apart."""
    X = np.concatenate([midway(0, 60, 1), [[4.0, 0.0]] * 4 + [[12.0, 0.0]] * 4 + [[4.2, 0.0]] * 3])
    with pytest.warns(NumberOfGroupsWarning, match="do not stand apart"):
        model = SoftECM(4, metric="sqeuclidean", random_state=0).fit(X)
    assert np.bincount(model.labels_).min() == 19
    assert np.bincount(model.partition_.masses.argmax(1))[1:5].min() == 12
    assert "is small (12 of 203 objects)" in (small_between(model, X) or "")


def test_objects_between_that_lie_close_together_are_no_part_of_a_group():
    X = midway(0, 60, 1)
    X[180:] = [7.2, 0.0] + 0.3 * np.random.default_rng(0).normal(size=(12, 2))  # a little nearer to the first
    with pytest.warns(
        NumberOfGroupsWarning,
        match=r"^with n_clusters=3, the objects between groups 1 and 3 lie close together: .* \(4 groups\)\.$",
    ):
        SoftECM(3, metric="sqeuclidean", random_state=0).fit(X)


@pytest.mark.parametrize("n", [900, 5000])
def test_the_right_number_is_not_doubted_and_a_group_too_few_is(n):
    X = sklearn_blobs(n, 10, centers=8, cluster_std=2.0, random_state=2)[0]
    estimator = SoftECM(8, metric="sqeuclidean", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumberOfGroupsWarning)
        estimator.fit(X)
    with pytest.warns(
        NumberOfGroupsWarning, match=r"^with n_clusters=7, group \d falls into two parts: perhaps 8 groups\.$"
    ):
        estimator.set_params(n_clusters=7).fit(X)


@pytest.mark.parametrize(("copies", "weight"), [(2, 1.0), (4, 1.0), (1, 0.01), (1, 100.0)])
def test_neither_copies_nor_weights_make_parts_of_a_group(copies, weight):
    X = np.random.default_rng(3).normal(size=(200, 10)) + np.repeat([[0.0], [5.0]], 100, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumberOfGroupsWarning)
        X = np.repeat(X, copies, 0)
        SoftECM(2, metric="sqeuclidean", random_state=0).fit(X, sample_weight=np.full(len(X), weight))


def test_a_group_all_of_whose_objects_are_outliers_is_missed():
    X = sklearn_blobs(900, 20, centers=8, cluster_std=2.0, random_state=4)[0]
    with pytest.warns(
        NumberOfGroupsWarning,
        match=r"^with n_clusters=7, the outliers nearest to group \d lie close together: .* \(8 groups\)\.$",
    ):
        SoftECM(7, metric="sqeuclidean", random_state=0).fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_missing_cells_are_no_groups_of_their_own(seed):
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], 80)
    numbers = np.array([[20.0, 900.0, 5.0], [45.0, 300.0, 9.0], [70.0, 600.0, 1.0]])[kind]
    table = pd.DataFrame(numbers + rng.normal(size=numbers.shape) * [4.0, 50.0, 0.7], columns=["a", "b", "c"])
    table["word"] = np.array(["x", "y", "z"])[kind]
    table = table.mask(np.arange(4) == rng.integers(8, size=(240, 1)))  # half of the rows lack one cell
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumberOfGroupsWarning)
        assert SoftECM(3, random_state=0).fit(table).partition_.n_clusters == 3


def test_the_seed_is_that_of_fits_and_of_the_sample(monkeypatch):
    X, drawn = make_blobs(60, n_clusters=2, distance=9, random_state=0).data, []
    monkeypatch.setattr("softecm.selection.n_clusters.LARGE", 50)
    monkeypatch.setattr("softecm.selection.n_clusters.SAMPLE", 30)
    monkeypatch.setattr("softecm.selection.n_clusters.part_of", lambda X, rows, _: drawn.append(rows) or X[rows])
    for seed in (3, 4):
        choice = choose_n_clusters(X, candidates=[2], rule="silhouette", random_state=seed)
        assert choice.model.random_state == seed
    assert drawn[0].tolist() != drawn[1].tolist()


def test_columns_of_an_own_metric_may_wrap_around_and_say_nothing_about_parts() -> None:
    rng = np.random.default_rng(3)
    angles = np.concatenate([rng.normal(a, 0.15, 60) for a in (0.0, 2.1, 4.2)]) % (
        2 * np.pi
    )  # the first lie at both ends
    X = np.column_stack([angles, rng.normal(0, 0.1, 180)])

    def on_a_circle(x, v):
        difference = x[:, None] - v
        return 2 - 2 * difference[..., 0].cos() + difference[..., 1] ** 2

    with warnings.catch_warnings():
        warnings.simplefilter("error", NumberOfGroupsWarning)
        model = SoftECM(3, metric=on_a_circle, random_state=0).fit(X)
    assert sorted(np.bincount(model.labels_)) == [60, 60, 60]


def test_a_small_group_near_two_that_stand_apart_does_not_hide_them() -> None:
    rng = np.random.default_rng(5)

    def group(n: int, place: float, height: float, spread: float) -> np.ndarray:
        return np.column_stack([rng.normal(place, spread, (n, 2)), rng.normal(height, min(spread, 1.5), n)])

    X = np.concatenate([group(90, 0.0, 0.0, 1.0), group(60, 5.0, 0.0, 1.0), group(27, 2.5, -2.0, 1.6)])
    table = pd.DataFrame(X, columns=["bmi", "glucose", "rate"])
    table["treated"] = ["n"] * 90 + ["y"] * 60 + list(rng.choice(["n", "y"], 27))
    assert choose_n_clusters(table, random_state=0).n_clusters == 3


def three_groups(gap, n):
    """Two groups at a distance, and a distant third."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(at, 1, (n, 2)) for at in ((0, 0), (gap, 0), (10, 9))])


def test_numbers_too_close_to_call_are_tied():
    """Two groups so close that they could be one; with more distance, they could not."""
    for gap, tied in ((5, (2,)), (8, ())):
        choice = choose_n_clusters(three_groups(gap, 60), rule="valleys", candidates=range(2, 5), random_state=0)
        assert (choice.n_clusters, choice.tied) == (3, tied)
        assert choice.close == [*tied, 3]
        assert ("Too close to call: 2 and 3." in choice._repr_html_()) == bool(tied)
    assert choose_n_clusters(three_groups(8, 60), candidates=range(1, 5), random_state=0).tied == ()


def test_mixtures_within_noise_of_the_best_are_tied(monkeypatch):
    values = {1: 300.0, 2: 104.0, 3: 100.0, 4: 107.0}
    monkeypatch.setattr("softecm.selection.n_clusters.mixture_evidence", lambda *_: MixtureEvidence(values, False))
    choice = choose_n_clusters(three_groups(8, 20), candidates=range(1, 5), random_state=0)
    assert (choice.rule, choice.n_clusters, choice.tied, choice.others) == ("mixture", 3, (2,), {})
