"""Inconsistent views and invalid weights: every case raises an error with a remedy."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from softecm import SoftECM
from softecm.distances import Combined, Mixed

N = 12
RNG = np.random.default_rng(0)
SERIES, TABLE = RNG.normal(size=(N, 5, 1)), RNG.normal(size=(N, 2))
FRAME = pd.DataFrame({"a": TABLE[:, 0], "s": list(SERIES[:, :, 0])})
NOBODY = np.full((N, 2), np.nan)
NEITHER = np.where(np.arange(N)[:, None] == 3, np.nan, TABLE)

DATA = {
    "a view is missing": ({"s": SERIES}, "'t' is missing"),
    "a name that is no view": ({"s": SERIES, "t": TABLE, "u": TABLE}, "'u', which is none of them"),
    "another number of objects": ({"s": SERIES[:-1], "t": TABLE}, "'s' has 11, 't' has 12"),
    "a view nobody has": ({"s": SERIES, "t": NOBODY}, "'t' is missing for all"),
    "an object without any": (
        {"s": [None if i == 3 else s for i, s in enumerate(SERIES)], "t": NEITHER},
        r"object 4 \(X\[3\]\)",
    ),
    "no dict": (TABLE, "must be a dict"),
    "nothing": ({"s": [], "t": TABLE[:0]}, "at least one|0 sample"),
    "text": ({"s": "series", "t": TABLE}, "an entry for each object"),
    "infinity": ({"s": SERIES, "t": np.where(TABLE > 1, np.inf, TABLE)}, "view 't': .*infinity"),
    "sparse": ({"s": SERIES, "t": sparse.csr_matrix(TABLE)}, "must not be sparse"),
    "two views that are no columns": (FRAME, "none of 'a', 's'"),
}


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_views_that_do_not_fit_together(name, hostile_case):
    data, said = DATA[name]
    metric = Combined({"t": "sqeuclidean", "u2": "mixed"} if data is FRAME else {"s": "softdtw", "t": "sqeuclidean"})
    with pytest.raises((ValueError, TypeError), match=said):
        SoftECM(2, metric=metric).fit(data)
    hostile_case()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"s": SERIES, "t": RNG.normal(size=(N, 3))}, "view 't': X has 3 features"),
        ({"s": SERIES[:, :, [0, 0]], "t": TABLE}, "view 's': .*2 channels"),
        ({"s": SERIES}, "'t' is missing"),
    ],
)
def test_new_objects_with_other_views(data, said, hostile_case):
    model = SoftECM(2, metric=Combined({"s": "softdtw", "t": "sqeuclidean"}), random_state=0)
    model.fit({"s": SERIES, "t": TABLE})
    with pytest.raises(ValueError, match=said):
        model.predict(data)
    hostile_case()


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1, -1], "negative"),
        ([0, 0], "all zero"),
        ([np.nan, 1], "negative nor all zero"),
        ([np.inf, 1], "negative nor all zero"),
        ([1], "one number per view, 2; got 1"),
        ({"s": 1}, "'t' is missing"),
        ({"s": 1, "t": 1, "u": 1}, "'u', which is no view"),
        ("best", "must be"),
        (3, "one number per view"),
    ],
)
def test_weights_that_are_none(weights, said, hostile_case):
    with pytest.raises(ValueError, match=said):
        Combined({"s": "softdtw", "t": "sqeuclidean"}, weights=weights)
    hostile_case()


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({}, "must be a dict"),
        (["softdtw"], "must be a dict"),
        ({1: "softdtw"}, "must be a dict"),
        ({"s": "soft"}, "registered name"),
        ({"s": lambda x, v: x}, "FunctionMetric"),
        ({"s": Combined({"t": "mixed"})}, "not Combined"),
        ({"s": "precomputed"}, "prototypes are objects"),
    ],
)
def test_metrics_that_are_none(metrics, said, hostile_case):
    with pytest.raises(ValueError, match=said):
        Combined(metrics)
    hostile_case()


def test_starts_that_are_no_views(hostile_case):
    metric = Combined({"s": "softdtw", "t": "sqeuclidean"})
    for init, said in [
        (TABLE[:2], "must be a dict"),
        ({"s": SERIES[:2]}, "'t' is missing"),
        ({"s": SERIES[:2], "t": TABLE[:3]}, "same rows"),
    ]:
        with pytest.raises(ValueError, match=said):
            SoftECM(2, metric=metric, init=init).fit({"s": SERIES, "t": TABLE})
        hostile_case()


def test_views_in_blocks_are_those_in_memory(rng):
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    waves = np.concatenate([np.sin(np.arange(16) * f + rng.uniform(0, 0.5, size=(12, 1))) for f in (0.4, 1.1)])[
        ..., None
    ]
    table = np.repeat([[0.0, 0.0], [4.0, 4.0]], 12, axis=0) + rng.normal(size=(24, 2))
    metric = Combined({"s": "softdtw", "t": "sqeuclidean"})
    whole = SoftECM(2, metric=metric, random_state=0).fit({"s": waves, "t": table})
    parts = [dask.delayed({"s": waves[i::2], "t": table[i::2]}) for i in range(2)]
    pieces = SoftECM(2, metric=metric, random_state=0).fit(parts)
    np.testing.assert_allclose(pieces.metric_.units, whole.metric_.units, rtol=1e-9)
    np.testing.assert_array_equal(pieces.predict({"s": waves, "t": table}), whole.labels_)
    alone, blocks = (SoftECM(2, random_state=0).fit(X) for X in (waves, da.from_array(waves, chunks=(18, 16, 1))))
    assert blocks.prototypes_.shape == alone.prototypes_.shape
    assert "of the first block" in blocks.metric_reason_
    np.testing.assert_array_equal(blocks.predict(waves), alone.labels_)


def test_views_and_rules_in_blocks(hostile_case):
    blocks = pytest.importorskip("dask.array").from_array(TABLE, chunks=6)
    frame = pytest.importorskip("dask.dataframe").from_pandas(FRAME.assign(b=1.0)[["a", "b"]], npartitions=2)
    for metric, data, said in [
        (
            Combined({"s": "sqeuclidean", "t": "sqeuclidean"}),
            {"s": blocks, "t": blocks},
            "views in blocks must come as one list of delayed dicts",
        ),
        (Mixed(weights="agreement"), frame, "'agreement', a rule that was removed"),
    ]:
        with pytest.raises((TypeError, ValueError), match=said):
            SoftECM(2, metric=metric).fit(data)
        hostile_case()
