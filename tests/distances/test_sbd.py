"""The shape-based distance."""

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM, load_model
from softecm.distances import SBD
from softecm.spaces.series import SeriesBatch
from softecm.testing import check_semimetric

aeon = pytest.importorskip("aeon.distances", reason="needs aeon: pip install 'softecm[series]'")


def test_values_are_aeons(rng):
    for channels in (1, 3):
        X, Y = rng.normal(size=(5, 20, channels)), rng.normal(size=(4, 13, channels))
        wanted = [[aeon.sbd_distance(a.T.copy(), b.T.copy()) for b in Y] for a in X]
        np.testing.assert_allclose(SBD().pairwise(torch.tensor(X), torch.tensor(Y)), wanted, atol=1e-10)


def test_padding_and_constant_channels(rng):
    x = torch.tensor(rng.normal(size=(3, 9, 2)))
    padded = torch.full((3, 14, 2), torch.nan, dtype=torch.float64)
    padded[:, :9] = x
    v = torch.tensor(rng.normal(size=(2, 11, 2)))
    batch = SeriesBatch(padded, torch.full((3,), 9))
    torch.testing.assert_close(SBD().pairwise(batch, v), SBD().pairwise(x, v))
    torch.testing.assert_close(SBD().terms(batch, v).sum(-1), SBD().pairwise(x, v))
    flat = torch.ones(1, 9, 2, dtype=torch.float64).requires_grad_()
    d = SBD().pairwise(torch.cat([x, 7 * flat.detach()]), flat)
    torch.testing.assert_close(d[:, 0].detach(), torch.tensor([1.0, 1, 1, 0], dtype=torch.float64))
    d.sum().backward()
    assert torch.isfinite(flat.grad).all()


def test_unequal_lengths_keep_the_contract():
    x = SeriesBatch(torch.randn(5, 12, 2, dtype=torch.float64).cumsum(1), torch.tensor([12, 7, 9, 12, 3]))
    check_semimetric(SBD(), x, prototypes=torch.randn(5, 10, 2, dtype=torch.float64)).raise_for_failures()


def test_shapes_are_told_apart_wherever_they_sit(rng, tmp_path):
    t = np.arange(40)
    kinds = np.arange(16) % 2
    rows = []
    for kind in kinds:
        place = rng.integers(10, 25)
        shape = np.exp(-(((t - place) / 3) ** 2)) - kind * np.exp(-(((t - place - 7) / 3) ** 2))
        rows.append(rng.uniform(1, 5) * shape + rng.uniform(-3, 3) + 0.02 * rng.normal(size=40))
    X = np.array(rows)[..., None]
    model = SoftECM(2, metric="sbd", n_init=3, random_state=0, tol=1e-2).fit(X)
    assert adjusted_rand_score(kinds, model.labels_) == 1
    np.testing.assert_allclose(model.explain(X).sum(-1), model.transform(X), atol=1e-8)
    model.save(tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").predict_partition(X).masses, model.partition_.masses)
