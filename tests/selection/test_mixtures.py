"""What the mixture that counts a table's groups does not count as a group."""

import warnings

import numpy as np
import pandas as pd
import pytest

from softecm import NoGroupsWarning, NumberOfGroupsWarning, SoftECM, choose_n_clusters
from softecm.distances.auto import choose_for
from softecm.distances.column_relevance import in_order
from softecm.distances.group_mixture import TableMixture
from softecm.selection.evidence import _weighed_rows, mixture_evidence
from softecm.selection.table_mixtures import _are_groups, _lie_in_two_ranges


def table(rng: np.random.Generator, sizes: tuple[int, ...]) -> pd.DataFrame:
    kind = np.repeat(np.arange(len(sizes)), sizes)
    places = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [40.0, 40.0]])
    u, v = (places[kind] + rng.normal(size=(len(kind), 2))).T
    usual = np.array(["web", "shop", "phone", "web"])[kind]
    by = np.where(rng.random(len(kind)) < 0.8, usual, rng.choice(["web", "shop", "phone"], len(kind)))
    return pd.DataFrame({"u": u, "v": v, "by": by, "at": np.array(["n", "s", "e", "n"])[kind]})


@pytest.mark.parametrize("few", [0, 5])
def test_a_category_alone_or_a_few_rows_make_no_group(few: int) -> None:
    X = table(np.random.default_rng(0), (80, 60, 60, few))
    assert choose_n_clusters(X, random_state=0).n_clusters == 3


@pytest.mark.parametrize("sizes", [(80, 60, 60, 20), (240, 100, 40, 15)])
def test_a_small_group_counts(sizes: tuple[int, ...]) -> None:
    X = table(np.random.default_rng(0), sizes)
    assert choose_n_clusters(X, random_state=0).n_clusters == 4


@pytest.mark.parametrize(("distance", "best"), [(1.2, 1), (2.4, 2)])
def test_groups_that_overlap_count_for_less(distance: float, best: int) -> None:
    """The likelihood alone would find two groups in both: ICL adds the entropy of the shares."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    u, v = (rng.normal(size=300) + distance * group for _ in range(2))
    X = pd.DataFrame({"u": u, "v": v, "noise": rng.normal(size=300)})
    X["word"] = np.where(rng.random(300) < 0.15 + 0.7 * group, "x", "y")
    found = mixture_evidence(SoftECM(), X, [1, 2, 3], 4)
    assert found is not None
    assert min(found.values, key=lambda c: found.values[c]) == best


def test_two_groups_differ_in_a_number_or_in_two_categories() -> None:
    rng = np.random.default_rng(0)
    half = np.arange(200) % 2
    word = np.array(["x", "y"])
    data = {"u": rng.normal(size=200), "v": rng.normal(size=200), "a": word[half], "b": word[rng.permutation(half)]}
    for column, values in (("b", None), ("b", word[half]), ("v", rng.normal(size=200) + 5 * half)):
        X = pd.DataFrame(data if values is None else {**data, column: values})
        sample = _weighed_rows(SoftECM(), choose_for("auto", X, None), X)
        assert sample is not None
        mixture = TableMixture.of(sample, in_order(sample, sample.varies))
        by_a = mixture.features[:, 3 * mixture.n_numbers]  # 1 for the first level of a
        assert _are_groups(mixture, np.stack([by_a, 1.0 - by_a])[None]) == (values is not None)


def test_codes_for_missing_cells_make_no_group_of_numbers() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 3)) + 9.0 * (np.arange(240)[:, None] % 2), columns=["u", "v", "w"])
    X.loc[:19, "v"] = -999.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the code is asked about
        assert choose_n_clusters(X, random_state=0).n_clusters == 2


def test_categories_that_follow_a_number_make_no_groups() -> None:
    """Two bands of the age agree with it and with each other; three categories that agree beside the age make groups."""
    rng = np.random.default_rng(0)
    age = 45.0 + 15.0 * rng.normal(size=400)
    X = pd.DataFrame({"age": age, "income": 900.0 * age + 9000.0 * rng.normal(size=400)})
    bands = X.assign(
        band=pd.cut(age, [-np.inf, 35, 55, np.inf], labels=False).astype(str), senior=np.where(age > 60, "y", "n")
    )
    with pytest.warns(NoGroupsWarning):
        assert choose_n_clusters(bands, random_state=0).n_clusters == 1
    kind = rng.integers(3, size=400)
    usual = {name: np.where(rng.random(400) < 0.9, kind, rng.integers(3, size=400)).astype(str) for name in "abc"}
    assert choose_n_clusters(X.assign(**usual), random_state=0).n_clusters == 3


def test_a_number_in_two_ranges_that_is_set_aside_is_named() -> None:
    """Rounded numbers, which have empty places, and skewed ones are in one range."""
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(3), 100)
    X = pd.DataFrame(6.0 * np.array([[0, 0], [1, 0], [0, 1]])[kind] + rng.normal(size=(300, 2)), columns=["u", "v"])
    X = X.assign(age=rng.poisson(30, 300), cost=rng.lognormal(size=300), shape=np.array(list("xyz"))[kind])
    sugar = np.where(rng.random(300) < 0.3, rng.normal(8, 0.4, 300), rng.normal(5, 0.4, 300)).round(1)
    with pytest.warns(
        NumberOfGroupsWarning, match="the numbers of sugar lie in two ranges, but no other column agrees"
    ):
        assert choose_n_clusters(X.assign(sugar=sugar), random_state=0).n_clusters == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumberOfGroupsWarning)
        choose_n_clusters(X, random_state=0)


def test_rounded_numbers_are_in_one_range_though_places_between_them_are_empty() -> None:
    rng, once = np.random.default_rng(0), np.ones(300)
    for _ in range(20):
        assert not _lie_in_two_ranges(rng.poisson(30, 300).astype(float), once)
    halves = np.concatenate([rng.poisson(30, 200), rng.poisson(80, 100)]).astype(float)
    assert _lie_in_two_ranges(halves, once)
