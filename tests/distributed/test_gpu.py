"""Blocks are computed on the requested device."""

from functools import partial

import numpy as np
import pytest
import torch

from distributed_problems import scattered
from pure import soft_ecm
from softecm.belief import FocalSets
from softecm.distances import SquaredEuclidean
from softecm.distributed.engines import Placement
from softecm.distributed.passes import distances_of_block, mean_distance, quantile
from softecm.spaces.scattered import Block


def test_a_block_is_moved_to_the_device_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    seen = []

    class Elsewhere:
        def __len__(self):
            return 3

        def to(self, device):
            seen.append(device)
            return self

    Placement("cuda", 1.0, None).moved(Block("block 0", 0, Elsewhere(), None))
    assert [d.type for d in seen] == ["cuda"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_blocks_on_a_gpu_give_what_the_whole_gives_there(rng):
    x = rng.normal(size=(5000, 4)) + 5 * rng.integers(0, 3, size=(5000, 1))
    weights = rng.integers(1, 4, 5000).astype(float)
    focal, start = FocalSets.make(3, 2, None), torch.from_numpy(x[[0, 1, 2]])[None]
    options = {"delta": 10.0, "max_iter": 20, "tol": 1e-6}
    on = torch.device("cuda:0")
    whole = soft_ecm(
        torch.from_numpy(x).to(on),
        SquaredEuclidean(),
        focal,
        start.to(on),
        weights=torch.from_numpy(weights).to(on),
        **options,
    )
    blocks = scattered(x, 8, weights, device="cuda:0")
    parts = soft_ecm(blocks, SquaredEuclidean(), focal, start, **options)
    assert not parts.prototypes.is_cuda
    np.testing.assert_allclose(parts.prototypes.numpy(), whole.prototypes.cpu().numpy(), atol=1e-8)
    np.testing.assert_allclose(parts.objective, whole.objective, rtol=1e-10)
    d = (x**2).sum(1)
    point = torch.zeros(1, 4, dtype=torch.float64)
    assert mean_distance(blocks, SquaredEuclidean(), point) == pytest.approx(np.average(d, weights=weights), rel=1e-12)
    assert quantile(blocks, partial(distances_of_block, metric=SquaredEuclidean(), point=point), 0.5) == pytest.approx(
        np.median(np.repeat(d, weights.astype(int))), rel=1e-3
    )
