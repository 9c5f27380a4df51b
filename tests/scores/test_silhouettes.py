"""Silhouettes of credal partitions: scikit-learn's for hard ones, intervals for uncertainty."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

from softecm import CredalPartition, FocalSets
from softecm.plots import silhouette_bars
from softecm.scores import credal_silhouette, silhouettes


@pytest.fixture
def some(rng):
    labels = rng.integers(0, 3, 40)
    labels[:1] = 3  # alone
    X = rng.normal(size=(40, 2)) + 3 * labels[:, None]
    return labels, np.sqrt(np.square(X[:, None] - X).sum(-1))


def test_hard_partitions_have_scikit_learn_s(some):
    labels, d = some
    found = silhouettes(CredalPartition.from_hard(labels), d)
    np.testing.assert_allclose(found.objects, silhouette_samples(d, labels, metric="precomputed"), atol=1e-12)
    np.testing.assert_allclose(found.lower, found.upper)
    assert found.mean == pytest.approx(found.objects.mean()) == credal_silhouette(CredalPartition.from_hard(labels), d)
    for k in range(4):
        assert found.clusters[k] == pytest.approx(found.objects[labels == k].mean())


def test_doubt_makes_an_interval(rng):
    partition = CredalPartition(rng.dirichlet(np.ones(7), 30), FocalSets.up_to(3, 2))
    found = silhouettes(partition, rng.random((30, 3)))
    assert (found.lower <= found.objects + 1e-12).all()
    assert (found.objects <= found.upper + 1e-12).all()
    assert (found.upper > found.lower).any()


def test_an_empty_cluster_and_objects_nowhere_do_no_harm(some):
    labels, d = some
    hard = CredalPartition.from_hard(np.where(np.arange(40) == 5, -1, labels), n_clusters=6)
    found = silhouettes(hard, d)
    assert np.isnan(found.objects[5])
    assert np.isfinite(np.delete(found.objects, 5)).all()
    kept = np.delete(np.arange(40), 5)
    wanted = silhouette_samples(d[np.ix_(kept, kept)], labels[kept], metric="precomputed")
    np.testing.assert_allclose(found.objects[kept], wanted, atol=1e-12)


def test_drawn(some):
    import matplotlib

    matplotlib.use("Agg")
    labels, d = some
    partition = CredalPartition.from_hard(labels)
    ax = silhouette_bars(partition, silhouettes(partition, d))
    assert (ax.get_xlabel(), len(ax.patches)) == ("silhouette", 40)
    assert any(text.get_text().startswith("group 1 ") for text in ax.texts)
    with pytest.raises(ValueError, match="widths must hold silhouettes of the partition's 3 objects; got 40"):
        silhouette_bars(partition[:3], silhouettes(partition, d))


@pytest.mark.parametrize(
    ("partition", "distances", "message"),
    [
        (CredalPartition.from_hard([0, 1, 1]), np.ones((3, 5)), r"distances must be .*between the 3 objects \(3, 3\)"),
        (CredalPartition.from_hard([0, 1, 1]), -np.ones((3, 2)), "numbers of at least 0"),
        (CredalPartition.from_hard([0, 0, 0]), np.ones((3, 1)), "at least two clusters"),
        ([0, 1], np.ones((2, 2)), "partition must be a CredalPartition"),
    ],
)
def test_what_has_no_silhouette_is_refused(partition, distances, message):
    with pytest.raises((ValueError, TypeError), match=message):
        silhouettes(partition, distances)
