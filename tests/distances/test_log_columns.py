"""Numbers whose spread grows with their size are compared by their logarithms."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import softecm
from softecm import SoftECM, choose_n_clusters
from softecm.distances import Mixed


def articles(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Three groups: a price whose spread is a third of its size, a number of equal spread, and a category."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    return pd.DataFrame(
        {
            "price": np.array([0.5, 20.0, 1500.0])[group] * rng.lognormal(0, 0.35, n),
            "days": np.array([20.0, 30.0, 40.0])[group] + rng.normal(0, 1, n),
            "shelf": np.array(["open", "closed", "closed"])[group],
        }
    )


def test_prices_are_compared_by_logarithms() -> None:
    frame = articles()
    model = SoftECM(3, random_state=0).fit(frame)
    assert model.metric_.log_features == ["price"]
    assert "'price' is compared by logarithms" in model.metric_reason_
    assert model.decisions().counts()["clearly"] == 120
    by_group = frame.groupby(model.labels_).price.apply(lambda one: np.exp(np.log(one).mean()))
    np.testing.assert_allclose(np.sort(model.prototypes_.price[:3]), np.sort(by_group), rtol=0.05)
    plain = SoftECM(3, metric=Mixed(log_features=None), random_state=0).fit(frame)
    assert plain.metric_.log_features is None
    between = [one.prototypes_.price.iloc[-1] / one.prototypes_.price.iloc[2] for one in (model, plain)]
    assert between[0] < 0.2 < 0.4 < between[1]  # the middle between 20 and 1500: 173 by ratios, 760 by differences


def test_it_is_the_same_fit_as_to_logarithms() -> None:
    frame = articles()
    by_hand = SoftECM(3, random_state=0).fit(frame.assign(price=np.log(frame.price)))
    assert by_hand.metric_.log_features == "auto"
    given = SoftECM(3, metric=Mixed(log_features=["price"]), random_state=0).fit(frame)
    for model in (SoftECM(3, random_state=0).fit(frame), given):
        np.testing.assert_allclose(model.partition_.masses, by_hand.partition_.masses, atol=1e-9)
        np.testing.assert_allclose(np.log(model.prototypes_.price), by_hand.prototypes_.price, atol=1e-9)


@pytest.mark.parametrize("choice", ["price", ("price",), [0], np.array([True, False, False])], ids=str)
def test_columns_are_given_in_every_form(choice: object) -> None:
    frame = articles()
    model = SoftECM(3, metric=Mixed(log_features=choice), random_state=0).fit(frame)
    assert model.metric_reason_.endswith("; 'price' is compared by logarithms")
    same = SoftECM(3, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.partition_.masses, same.partition_.masses)


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        (["shelf"], ValueError, "log_features must be columns of positive numbers; got column 'shelf'"),
        (["cost"], ValueError, "log_features must list columns of the table; got 'cost'"),
        (5, TypeError, "log_features must be a list of columns; got 5"),
    ],
)
def test_other_columns_are_refused(choice: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SoftECM(3, metric=Mixed(log_features=choice)).fit(articles())


@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_equal_spread_is_not(spread: float) -> None:
    frame = articles()
    rng = np.random.default_rng(1)
    frame["price"] = np.array([9.0, 60.0, 200.0])[np.arange(120) % 3] + rng.uniform(-spread, spread, 120)
    assert SoftECM(3, random_state=0).fit(frame).metric_.log_features == "auto"


@pytest.mark.filterwarnings("ignore::softecm.ReadingWarning")
def test_a_few_extreme_numbers_are_no_reason() -> None:
    frame = articles()
    rng = np.random.default_rng(1)
    frame["price"] = np.array([9.0, 60.0, 200.0])[np.arange(120) % 3] + rng.uniform(-2, 2, 120)
    frame.loc[[5, 7], "price"] = 4000.0
    assert SoftECM(3, random_state=0).fit(frame).metric_.log_features == "auto"


def test_zeros_keep_a_column_as_it_is() -> None:
    frame = articles()
    frame.loc[4, "price"] = 0.0
    assert SoftECM(3, random_state=0).fit(frame).metric_.log_features == "auto"
    with pytest.raises(ValueError, match="log_features must be columns of positive numbers; got column 'price'"):
        SoftECM(3, metric=Mixed(log_features=["price"])).fit(frame)


def test_new_objects_and_saved_models(tmp_path: Path) -> None:
    model = SoftECM(3, random_state=0).fit(articles())
    model.save(tmp_path / "model.safetensors")
    again = softecm.load_model(tmp_path / "model.safetensors")
    new = articles(seed=5)
    new.loc[0, "price"], new.loc[1, "price"], new.loc[2, "price"] = 0.0, -3.0, np.nan
    found = model.predict_partition(new)
    np.testing.assert_array_equal(again.predict_partition(new).masses, found.masses)
    assert found.decisions().words[:2].tolist() == ["nowhere"] * 2
    assert found.decisions().words[2] == "clearly"
    pd.testing.assert_frame_equal(again.prototypes_, model.prototypes_)


def test_weights_count() -> None:
    frame = articles()
    weights = np.ones(120)
    weights[::2] = 3.0
    copies = frame.loc[np.repeat(np.arange(120), weights.astype(int))].reset_index(drop=True)
    weighted = SoftECM(3, random_state=0).fit(frame, sample_weight=weights)
    copied = SoftECM(3, random_state=0).fit(copies)
    np.testing.assert_allclose(weighted.prototypes_.price, copied.prototypes_.price, rtol=1e-3)


def test_blocks_are_like_one_table() -> None:
    dask = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'softecm[dask]'")
    frame = articles(240)
    whole = SoftECM(3, delta=3.0, random_state=0).fit(frame)
    parts = SoftECM(3, delta=3.0, random_state=0).fit(dask.from_pandas(frame, npartitions=5))
    assert parts.metric_.log_features == whole.metric_.log_features == ["price"]
    np.testing.assert_allclose(np.sort(parts.prototypes_.price), np.sort(whole.prototypes_.price), rtol=1e-6)


@pytest.fixture
def sizes() -> tuple[np.ndarray, np.ndarray]:
    """Numbers in four groups, each spread in proportion to its size, and the groups."""
    rng, group = np.random.default_rng(0), np.arange(200) % 4
    centers = np.array([[1.0, 300.0], [8.0, 2.0], [60.0, 2000.0], [400.0, 20.0]])
    return centers[group] * rng.lognormal(0, 0.5, (200, 2)), group


@pytest.mark.parametrize("as_frame", [False, True])
def test_numbers_are_compared_by_logarithms(sizes: tuple[np.ndarray, np.ndarray], as_frame: bool) -> None:
    X, group = sizes
    data = pd.DataFrame(X, columns=["a", "b"]) if as_frame else X
    model = SoftECM(4, random_state=0).fit(data)
    assert model.metric_reason_.startswith("the spread of the groups grows with their numbers; ")
    assert model.metric_.log_features == (["a", "b"] if as_frame else [0, 1])
    assert model.metric_reason_.endswith(
        ("'a' and 'b' are" if as_frame else "'x0' and 'x1' are") + " compared by logarithms"
    )
    assert adjusted_rand_score(group, model.labels_) == 1.0
    same = SoftECM(4, metric=Mixed(log_features=[0, 1]), random_state=0).fit(data)
    np.testing.assert_array_equal(model.partition_.masses, same.partition_.masses)
    assert choose_n_clusters(data, random_state=0).n_clusters == 4


def test_numbers_of_equal_spread_are_not(sizes: tuple[np.ndarray, np.ndarray]) -> None:
    X, group = sizes
    rng = np.random.default_rng(5)
    centers = np.array([[20.0, 900.0], [400.0, 300.0], [700.0, 20.0], [300.0, 600.0]])
    even = centers[group] + rng.uniform(-9, 9, X.shape)
    assert "logarithms" not in SoftECM(4, random_state=0).fit(even).metric_reason_


def test_a_chosen_delta_keeps_its_unit(sizes: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = sizes
    assert "logarithms" not in SoftECM(4, delta=5.0, random_state=0).fit(X).metric_reason_


def test_later_fits_compare_the_same_columns(sizes: tuple[np.ndarray, np.ndarray]) -> None:
    X, group = sizes
    first = SoftECM(4, random_state=0).fit(X[:100])
    later = {
        "prior": SoftECM(4, random_state=0).fit(X[100:], prior=first),
        "warm start": SoftECM(4, warm_start=True, random_state=0).fit(X[:100]).fit(X[100:]),
        "second batch": SoftECM(4, random_state=0).partial_fit(X[:100]).partial_fit(X[100:]),
    }
    for name, model in later.items():
        assert model.metric_.log_features == [0, 1], name
        assert adjusted_rand_score(group[100:], model.labels_) == 1.0, name
