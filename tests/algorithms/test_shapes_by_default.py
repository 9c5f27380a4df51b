"""By default numbers get units of their groups if the evidence supports it; a named metric is used as given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM, load_model

Floats = NDArray[np.float64]


def elongated(seed: int = 0, n: int = 600) -> tuple[Floats, NDArray[np.int64]]:
    """Three groups, each elongated in its own direction."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    angles = np.array([0.0, 1.1, 2.2])
    turn = np.stack([np.stack([np.cos(angles), np.sin(angles)], 1), np.stack([-np.sin(angles), np.cos(angles)], 1)], 1)
    noise = np.einsum("np,npq->nq", rng.normal(size=(n, 2)) * [2.4, 0.35], turn[y])
    return np.array([[0.0, 0.0], [4.0, 3.0], [-1.5, 5.5]])[y] + noise, y


def noisy(seed: int = 0, n: int = 400) -> tuple[Floats, NDArray[np.int64]]:
    """Three groups in two columns, plus four wide columns of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[y] + rng.normal(size=(n, 2)) * 0.6
    return np.column_stack([X, rng.normal(size=(n, 4)) * 3.0]), y


@pytest.mark.parametrize("problem", [elongated, noisy])
def test_groups_that_are_no_spheres_are_found(problem: object) -> None:
    X, y = problem()  # type: ignore[operator]
    by_default = SoftECM(3, random_state=0).fit(X)
    spheres = SoftECM(3, metric="sqeuclidean", random_state=0).fit(X)
    assert adjusted_rand_score(y, by_default.labels_) > 0.9 > 0.05 + adjusted_rand_score(y, spheres.labels_)
    assert "in units of" in by_default.metric_reason_


@pytest.mark.parametrize("problem", [elongated, noisy])
def test_what_is_fitted_predicts_explains_and_is_saved(problem: object, tmp_path: Path) -> None:
    X, _ = problem()  # type: ignore[operator]
    model = SoftECM(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.predict_partition(X).masses, model.partition_.masses)
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), rtol=1e-6, atol=1e-9)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load_model(tmp_path / "model.safetensors").predict_proba(X), model.predict_proba(X))
    assert model.score(X) == pytest.approx(-model.objective_ / len(X))


def test_a_data_frame_and_another_random_state_give_the_same_answer() -> None:
    X, _ = elongated(1)
    one = SoftECM(3, random_state=0).fit(X)
    other = SoftECM(3, random_state=7).fit(pd.DataFrame(X, columns=["a", "b"]))
    np.testing.assert_allclose(one.partition_.masses, other.partition_.masses, atol=1e-3)


def test_groups_do_not_depend_on_the_units_of_the_columns() -> None:
    X, _ = elongated(2)
    one = SoftECM(3, random_state=0).fit(X)
    for units in ([100.0, 0.1], [0.37, 2.7]):
        assert adjusted_rand_score(one.labels_, SoftECM(3, random_state=0).fit(X * units).labels_) > 0.97


@pytest.mark.parametrize(
    "asked",
    [{"metric": "sqeuclidean"}, {"delta": 3.0}, {"relaxation": "penalty"}, {"init": "k-means++"}],
    ids=str,
)
def test_what_is_asked_for_is_done(asked: dict[str, object]) -> None:
    X, _ = elongated()
    model = SoftECM(3, random_state=0, **asked).fit(X)  # type: ignore[arg-type]
    assert model.metric_.name == "sqeuclidean"


def test_an_object_between_two_long_groups_is_between_and_a_far_one_is_nowhere() -> None:
    X, y = elongated(3)
    centers = np.array([X[y == k].mean(0) for k in range(3)])
    far = np.array([[30.0, -30.0]])
    model = SoftECM(3, random_state=0).fit(np.concatenate([X, far]))
    assert model.partition_.sets()[-1] == ()
    nearest = model.transform(centers)[:, :3].argmin(1)
    assert sorted(nearest) == [0, 1, 2]
    middle = (model.prototypes_[3:] if len(model.prototypes_) > 3 else np.empty((0, 2)))[:1]
    for found in model.predict_partition(middle).sets() if len(middle) else []:
        assert len(found) == 2
