"""The shape of groups: found if planted, equal spheres if nothing else is supported."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from softecm.fit.group_shapes import GroupShape, equal_spheres_suffice, find_shape
from softecm.fit.shape_mixture import FULL

Floats = NDArray[np.float64]
CENTERS = np.array([[0.0, 0.0, 0.0], [3.6, 0.0, 0.0], [0.0, 3.6, 0.0]])


def turned(rng: np.random.Generator, lengths: Floats) -> Floats:
    """A random rotation of axes of these lengths."""
    return np.asarray(np.linalg.qr(rng.normal(size=(3, 3)))[0] * lengths)


def drawn(kind: str, seed: int = 0, n: int = 900) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    noise = rng.normal(size=(n, 3))
    if kind == "heavy":
        noise = rng.standard_t(3, size=(n, 3)) / np.sqrt(3)
    one = turned(rng, np.array([1.8, 0.7, 0.3]))
    for k in range(3):
        if kind == "sizes":
            noise[y == k] *= (0.4, 0.8, 1.4)[k]
        if kind == "ellipse":
            noise[y == k] @= one.T
        if kind == "ellipses":
            noise[y == k] @= turned(rng, np.array([1.8, 0.7, 0.3])).T
    if kind == "columns":
        noise *= (0.3, 0.5, 3.0)
    return CENTERS[y] + noise, y


def found(x: Floats, counts: Floats | None = None, c: int = 3) -> GroupShape:
    scaled = (x - x.mean(0)) / x.std(0)
    starts = [KMeans(c, n_init=5, random_state=0).fit_predict(part).astype(np.int64) for part in (x, scaled)]
    return find_shape(x, starts, c, scaled=False, counts=counts)


@pytest.mark.parametrize("kind", ["sizes", "columns", "ellipse", "ellipses"])
@pytest.mark.parametrize("seed", [1, 2])
def test_planted_shapes_are_found(kind: str, seed: int) -> None:
    assert found(drawn(kind, seed)[0]).shape == kind


@pytest.mark.parametrize("kind", ["round", "heavy"])
def test_equal_spheres_stay_where_they_are_true_or_tails_are_heavy(kind: str) -> None:
    for seed in range(3):
        assert found(drawn(kind, seed)[0]).shape == "raw"


def test_centers_and_covariances_are_in_the_units_of_the_data() -> None:
    units = np.array([100.0, 0.01, 1.0])
    x, y = drawn("ellipses", 3, n=6000)
    shape = found(x * units)
    assert shape.shape == "ellipses"
    for k in range(3):
        true = np.cov((x * units)[y == k].T)
        nearest = int(((shape.centers - (x * units)[y == k].mean(0)) ** 2 / np.diag(true)).sum(1).argmin())
        np.testing.assert_allclose(shape.covariances[nearest] / np.sqrt(np.outer(*[np.diag(true)] * 2)), true / np.sqrt(
            np.outer(*[np.diag(true)] * 2)
        ), atol=0.12)  # fmt: skip


def test_a_doubled_object_equals_a_weight_of_two() -> None:
    x, _ = drawn("ellipse", 4, n=400)
    twice = np.concatenate([x, x[:100]])
    counts = np.where(np.arange(400) < 100, 2.0, 1.0)
    labels = KMeans(3, n_init=5, random_state=0).fit_predict(x).astype(np.int64)
    again = np.concatenate([labels, labels[:100]])
    one = find_shape(twice, [again], 3, scaled=False)
    other = find_shape(x, [labels], 3, scaled=False, counts=counts)
    assert one.shape == other.shape == "ellipse"
    np.testing.assert_allclose(one.covariances, other.covariances, rtol=0.05)


def test_columns_of_few_values_are_no_evidence_of_a_shape() -> None:
    x, _ = drawn("ellipse", 5)
    x[:, 0] = x[:, 0] > 1.0
    assert found(x).shape in ("raw", "scaled")


def test_few_objects_support_no_ellipses() -> None:
    assert found(drawn("ellipses", 6, n=18)[0]).shape not in FULL


def test_round_groups_need_no_iteration_and_others_do() -> None:
    for kind, enough in (("round", True), ("ellipse", False), ("sizes", False)):
        x, y = drawn(kind, 7)
        assert equal_spheres_suffice(x, y.astype(np.int64), 3, np.ones(len(x)), scaled=False) is enough


@pytest.mark.parametrize("seed", range(3))
def test_a_shape_that_groups_do_not_have_is_not_taken(seed: int) -> None:
    """By BIC, ellipses describe moons better than spheres, although neither describes them."""
    rng = np.random.default_rng(seed)
    y = np.arange(300) % 2
    turn = rng.random(300) * np.pi
    moons = np.stack([np.cos(turn) + y, np.sin(turn) * np.where(y, -1, 1) + 0.4 * y], 1)
    x = 4 * moons + 0.4 * rng.normal(size=(300, 2))
    assert find_shape(x, [y.astype(np.int64)], 2, scaled=True, counts=np.ones(300)).shape == "scaled"
