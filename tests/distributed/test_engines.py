import threading

import numpy as np
import pytest
import torch

from softecm.distributed.cluster import _merge, packed
from softecm.distributed.engines import FAN_IN, Tree, ahead
from softecm.distributed.scratch import Scratch
from softecm.spaces.scattered import Block
from softecm.spaces.series import SeriesBatch


def bracketed(a: str, b: str) -> str:
    return f"({a} {b})"


def test_the_cluster_merges_the_pairs_that_streaming_merges():
    for n in range(1, 150):
        values = [str(i) for i in range(n)]
        tree = Tree(bracketed)
        for value in values:
            tree.add(value)
        payload, parts = packed(bracketed), list(values)
        while len(parts) > 1:
            parts = [_merge(payload, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        assert parts[0] == tree.result()


def test_reading_ahead_keeps_the_order():
    assert list(ahead(iter(range(100)))) == list(range(100))


def test_reading_ahead_hands_on_the_readers_error():
    def broken():
        yield 1
        raise OSError("disk gone")

    items = ahead(broken())
    assert next(items) == 1
    with pytest.raises(OSError, match="disk gone"):
        next(items)


def test_the_reader_ends_when_nobody_listens():
    items = ahead(iter(range(1000)))
    next(items)
    items.close()
    assert not any(t.name == "softecm-reader" for t in threading.enumerate())


def test_blocks_come_back_from_the_scratch_file_as_they_were(rng):
    series = SeriesBatch(
        torch.from_numpy(rng.normal(size=(4, 5, 2))),
        torch.tensor([5, 3, 4, 5]),
        None,
        {("key", 1): torch.arange(4.0)},
    )
    blocks = [
        Block("block 0", 0, torch.from_numpy(rng.normal(size=(3, 2))), None),
        Block("block 1", 3, series, torch.tensor([1.0, 2.0, 0.5, 1.0])),
    ]
    scratch = Scratch()
    for block in blocks:
        scratch.add(block)
    for _ in range(2):
        plain, ragged = scratch.read()
        np.testing.assert_array_equal(plain.objects, blocks[0].objects)
        assert plain.weights is None
        assert (ragged.name, ragged.first) == ("block 1", 3)
        np.testing.assert_array_equal(ragged.objects.values, series.values)
        np.testing.assert_array_equal(ragged.objects.lengths, series.lengths)
        np.testing.assert_array_equal(ragged.objects.known["key", 1], series.known["key", 1])
        assert ragged.objects.observed is None
        np.testing.assert_array_equal(ragged.weights, blocks[1].weights)
    scratch.close()
