"""Objects in memory as a stand-in for distributed ones."""

from itertools import pairwise

import numpy as np
import torch

from softecm.distributed.engines import Placement, StreamedObjects
from softecm.spaces.scattered import Block


def scattered(x, n_blocks, weights=None, device="cpu"):
    ends = np.linspace(0, len(x), n_blocks + 1).astype(int)
    blocks = [
        Block(
            f"block {i}",
            a,
            torch.from_numpy(x[a:b].copy()),
            None if weights is None else torch.from_numpy(weights[a:b].copy()),
        )
        for i, (a, b) in enumerate(pairwise(ends.tolist()))
    ]
    total = float(len(x) if weights is None else weights.sum())
    return StreamedObjects(len(x), total, Placement(device, 1.0, None), lambda: iter(blocks))
