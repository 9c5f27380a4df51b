"""Maps without groups in the same place."""

import numpy as np
import pytest

from softecm import SoftECM, report
from softecm.report.projection import separating_axes, separation, spread


def simplex(groups: int, each: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Equidistant groups, like topics of texts."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), each)
    return 6.0 * np.eye(groups, 12)[labels] + rng.normal(0, 0.6, (len(labels), 12)), labels


@pytest.mark.parametrize("groups", [4, 5, 7])
def test_groups_that_are_all_as_far_from_each_other_lie_apart(groups: int) -> None:
    X, labels = simplex(groups)
    places = (X - X.mean(0)) @ np.linalg.svd(X - X.mean(0), full_matrices=False)[2].T
    centers = np.array([places[labels == k].mean(0) for k in range(groups)])
    hidden = places[:, ::-1]  # the first two axes carry no information, as can happen
    axes, seen = separating_axes(hidden, centers[:, ::-1], labels)
    assert separation(hidden[:, :2], labels) < 0.6
    assert axes is not None
    assert seen == separation(hidden @ axes, labels) > 0.95
    assert separating_axes(places, centers, labels)[1] >= separation(places[:, :2], labels)


def test_equal_distances_become_a_regular_figure() -> None:
    corners = spread(1.0 - np.eye(4))
    apart = np.sqrt(((corners[:, None] - corners) ** 2).sum(-1))[np.triu_indices(4, 1)]
    assert apart.min() > 0.7 * apart.max()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_map_of_a_report_says_how_much_it_shows(sparse: bool) -> None:
    from scipy.sparse import csr_array

    X, _ = simplex(6, each=25)
    given = csr_array(X) if sparse else X
    model = SoftECM(6, metric="sqeuclidean", n_init=4, random_state=0).fit(given)
    page = report.build(model, given)
    own = model.labels_
    assert separation(page.points, own) > 0.9
    assert f"{separation(page.points, own):.0%} of those in a group" in page.map_note
    assert page.prototype_points is not None
    assert separation(np.vstack([page.prototype_points[:6]] * 2), np.tile(np.arange(6), 2)) == 1


def test_outliers_do_not_squash_the_map() -> None:
    from softecm.report.sections.map import MapSection

    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2)), [[300.0, 5.0], [-250.0, 400.0]]])
    model = SoftECM(2, metric="sqeuclidean", random_state=0).fit(X)
    page = report.build(model, X)
    drawn = MapSection(page)
    low, high = drawn.window
    assert set(drawn.beyond) == {80, 81}
    assert (high - low < 25).all()
