"""Data sets that are unusual as a whole: the message says how."""

import numpy as np
import pytest
import torch

from softecm import ECM, CollapseWarning, SoftECM
from softecm.datasets import make_blobs

X = make_blobs(120, n_clusters=2, distance=8, random_state=0)


@pytest.mark.parametrize("far", [1e2, 5e3, 1e9, 1e12])
@pytest.mark.parametrize("kind", [SoftECM, ECM])
def test_one_huge_outlier_takes_no_cluster(kind, far):
    data = np.concatenate([X.data, [[far, far]]])
    model = kind(2, random_state=0).fit(data)
    assert model.partition_.outliers().tolist() == [120]
    together = model.labels_[:120][:, None] == model.labels_[:120]
    assert (together == (X.target[:, None] == X.target)).mean() > 0.98
    assert not model.collapsed_


def test_equal_rows_and_too_few_different_ones_are_named():
    with pytest.warns(CollapseWarning, match="All objects are equal: ask for at most n_clusters=1; got 2"):
        SoftECM(2, random_state=0).fit(np.ones((8, 2)))
    rows = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 20, axis=0)
    with pytest.warns(CollapseWarning, match="only 3 different objects: ask for at most n_clusters=3; got 4"):
        SoftECM(4, random_state=0).fit(rows)


def test_a_gradient_that_is_no_number_is_an_error_that_says_where():
    def arc(x, v):
        return torch.asin(torch.sqrt((x[:, None] - v).square().sum(-1) / 1e4))

    with pytest.raises(
        ValueError, match="metric function must have a finite gradient; got one that is not at prototype"
    ):
        SoftECM(2, metric=arc, random_state=0).fit(X.data)


def test_links_that_were_not_kept_are_said(caplog):
    first, second = int(np.flatnonzero(X.target == 0)[0]), int(np.flatnonzero(X.target == 1)[0])
    SoftECM(2, random_state=0).fit(X.data, must_link=[(first, second)], constraint_weight=1e-6)
    assert f"1 of 1 pairs of must_link are violated: object {first + 1} (X[{first}]) and" in caplog.text
    assert "a larger constraint_weight enforces more" in caplog.text
    caplog.clear()
    SoftECM(2, random_state=0).fit(X.data, cannot_link=[(first, second)])
    assert not caplog.text
