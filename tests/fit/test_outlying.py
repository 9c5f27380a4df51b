"""The limit of outliers: five deviations, at least one category, and the warning if that fails."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import pairwise_distances

from softecm import ECM, ECMdd, MECMdd, NowhereWarning, SoftECM
from softecm.algorithms.base import EvidentialClusterer
from softecm.datasets import make_blobs
from softecm.distances import Cosine, Hamming, Mixed, Precomputed, SquaredEuclidean
from softecm.fit.stages import outlying


def groups(n: int = 60, differ: int = 15) -> pd.DataFrame:
    """Three tight groups; the first rows have one category of another group."""
    rng, group = np.random.default_rng(7), np.arange(n) % 3
    words = {f"word {j}": np.array(["a", "b", "c"])[group] for j in range(3)}
    for i in range(differ):
        words[f"word {i % 3}"][i] = np.array(["a", "b", "c"])[(group[i] + 1) % 3]
    return pd.DataFrame({"x": 8.0 * group + rng.normal(size=n), **words})


@pytest.mark.parametrize("metric", ["auto", Mixed(weights={"word 0": 3.0}), Mixed(scaling="range")], ids=str)
def test_one_other_category_makes_no_outlier(metric: object) -> None:
    table = groups()
    model = SoftECM(3, metric=metric, random_state=0).fit(table)
    assert "nowhere" not in model.partition_.decisions().words


def test_outliers_in_numbers_and_categories_are_found() -> None:
    table = groups()
    strange = pd.DataFrame({"x": [80.0, -60.0], "word 0": "d", "word 1": "e", "word 2": "f"})
    model = SoftECM(3, random_state=0).fit(pd.concat([table, strange], ignore_index=True))
    words = np.array(model.partition_.decisions().words)
    assert np.flatnonzero(words == "nowhere").tolist() == [60, 61]


def test_only_categories_have_a_step() -> None:
    X = make_blobs(90, n_clusters=3, distance=8, random_state=0).data
    numbers = SoftECM(3, metric="mixed", random_state=0).fit(X)
    assert numbers.model_.space.step == 0.0
    table = groups()
    weighted = SoftECM(3, metric=Mixed(weights={"word 0": 3.0}), random_state=0).fit(table)
    assert weighted.model_.space.step == 3.0
    assert SoftECM(3, metric=Hamming(), random_state=0).fit(table.drop(columns="x")).model_.space.step == 1.0


def test_delta_stays_when_a_batch_of_the_same_follows() -> None:
    table = groups(120, 30)
    model = SoftECM(3, metric="mixed", random_state=0).fit(table)
    assert model.delta_ > math.sqrt(model.metric_.step(model.model_.space))
    before = model.delta_
    model.partial_fit(table)
    assert model.delta_ == pytest.approx(before, rel=0.1)


def counted_words(lonely: int) -> np.ndarray:
    """Texts on three topics of twenty words, then some that share only a common word or two with any other."""
    rng = np.random.default_rng(3)
    own = rng.poisson(1.5, (150, 20))
    rows = np.zeros((150 + lonely, 100))
    for i, counts in enumerate(own):
        rows[i, 20 * (i % 3) : 20 * (i % 3) + 20] = counts
    rows[150:, 60:90] = rng.poisson(1.0, (lonely, 30))
    rows[:, 90:] = rng.poisson(0.3, (150 + lonely, 10))
    return rows


def test_texts_that_share_nothing_with_a_topic_belong_nowhere() -> None:
    model = SoftECM(3, metric="cosine", random_state=0).fit(counted_words(6))
    words = np.array(model.partition_.decisions().words)
    assert np.flatnonzero(words == "nowhere").tolist() == [*range(150, 156)]
    assert model.delta_ < 1.0  # the root of the maximum distance


def test_delta_lies_midway_between_the_end_of_the_clusters_and_nothing_in_common() -> None:
    space = SoftECM(2, random_state=0).fit(make_blobs(20, n_clusters=2, random_state=0).data).model_.space
    objects = SimpleNamespace(space=space, x=None)
    wide, narrow, beyond_all = (outlying(median, 0.1, Cosine(), objects) for median in (0.5, 0.1, 0.9))
    assert wide == pytest.approx(math.sqrt(((0.5 + 2 * 0.14826) ** 2 + 1) / 2))
    assert narrow == pytest.approx(math.sqrt(((0.1 + 2 * 0.14826) ** 2 + 1) / 2))
    assert outlying(0.1, 0.01, Cosine(), objects) == pytest.approx(0.1 + 5 * 0.014826)
    assert beyond_all == pytest.approx(0.9 + 5 * 0.14826)
    assert outlying(0.5, 0.1, SquaredEuclidean(), objects) == pytest.approx(0.5 + 5 * 0.14826)


def test_objects_as_far_from_all_as_can_be_belong_nowhere() -> None:
    """A matrix of shares in common: 1 is the largest dissimilarity, and most pairs have it."""
    rng = np.random.default_rng(0)
    tags = np.zeros((64, 70), dtype=bool)
    for i in range(60):
        tags[i, 20 * (i % 3) : 20 * (i % 3) + 20] = rng.random(20) < 0.5
    for i in range(60, 64):
        tags[i, 2 * i - 60 : 2 * i - 58] = True  # nothing in common with any other
    d = pairwise_distances(tags, metric="jaccard")
    assert (d.max(), (d[60:] == 1).mean(1).tolist()) == (1.0, [63 / 64] * 4)
    model = SoftECM(3, metric="precomputed", random_state=0).fit(d)
    assert np.flatnonzero(model.decisions().words == "nowhere").tolist() == [60, 61, 62, 63]
    assert Precomputed().unrelated(torch.from_numpy(d)) == 1.0
    line = torch.arange(30.0).double()
    assert Precomputed().unrelated((line[:, None] - line).abs()) == math.inf  # one pair is farthest apart


def letters(words: list[str]) -> np.ndarray:
    """Number of differing letters of words of equal length."""
    return np.array([[sum(a != b for a, b in zip(v, w, strict=True)) for w in words] for v in words], dtype=float)


WORDS = [
    "banana",
    "panana",
    "banena",
    "banata",
    "kitten",
    "mitten",
    "kittan",
    "kirten",
    "zebras",
    "vebras",
    "zegras",
    "zebrap",
    "qwxyuv",
]


@pytest.mark.parametrize("model", [SoftECM(3, metric="precomputed", random_state=0), ECMdd(3, random_state=0)], ids=str)
@pytest.mark.parametrize("unit", [1.0, 1.0 / 6.0, 1e-6], ids=str)
def test_words_that_differ_in_a_letter_belong_to_their_group(model: EvidentialClusterer, unit: float) -> None:
    words = np.array(model.fit(unit * letters(WORDS)).partition_.decisions().words)
    assert np.flatnonzero(words == "nowhere").tolist() == [12]


def test_corners_of_squares_are_no_outliers() -> None:
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = SoftECM(2, random_state=0).fit(np.vstack([square, square + 9.0]))
    assert set(model.partition_.decisions().words) == {"clearly"}


ALONE = 10.0 * (1.0 - np.eye(9))  # all far from each other


@pytest.mark.parametrize("model", [ECMdd(2, random_state=0), MECMdd(2, random_state=0)], ids=str)
def test_most_objects_nowhere_is_said_with_what_to_change(
    model: EvidentialClusterer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("softecm.fit.stages.outlying", lambda *_: 1.0)
    monkeypatch.setattr("softecm.algorithms.mecmdd.FAR", 0.1)
    with pytest.warns(NowhereWarning, match=r"most objects belong nowhere \(\d+%\)") as caught:
        model.fit(ALONE)
    found = re.search(r"square of delta (\S+), .* such as (\S+), or delta=None", str(caught[0].message))
    assert found is not None
    assert float(found[2]) == pytest.approx(2.0 * float(found[1]))


def test_most_objects_nowhere_is_said_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("softecm.fit.stages.outlying", lambda *_: 1e-3)
    X = make_blobs(60, n_clusters=2, distance=8, random_state=0).data
    with pytest.warns(NowhereWarning, match=r"most objects belong nowhere \(\d+%\)"):
        ECM(2, random_state=0).fit(da.from_array(X, chunks=(30, 2)))


def test_a_delta_that_was_given_is_not_remarked_on() -> None:
    assert len(ECMdd(2, delta=1.0, random_state=0).fit(ALONE).partition_.outliers()) == 7
