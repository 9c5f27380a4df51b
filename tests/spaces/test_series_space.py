"""Series in all usual forms."""

import numpy as np
import pytest
import scipy.sparse
import torch

from softecm import SoftECM
from softecm.series import SeriesResampler, SeriesScaler, from_long
from softecm.spaces.series import SeriesBatch, TimeSeries, filled, in_blocks, resampled, to_list

RAGGED = [np.arange(6.0)[:, None], np.arange(4.0)[:, None] + 1, np.arange(9.0)[:, None]]


def test_layouts_lists_and_padding_agree():
    X = np.random.default_rng(0).normal(size=(3, 5, 2))
    rows = to_list(X)
    for other in (list(X), to_list(X.transpose(0, 2, 1), "aeon"), np.concatenate([X, np.full((3, 2, 2), np.nan)], 1)):
        assert all(np.array_equal(a, b) for a, b in zip(rows, to_list(list(other)), strict=True))
    assert to_list(X[:, :, 0])[0].shape == (5, 1)


def test_encoding_keeps_lengths_and_the_median_is_the_prototypes_length():
    space = TimeSeries().fit(RAGGED, dtype=torch.float64)
    batch = space.encode(RAGGED)
    assert batch.lengths.tolist() == [6, 4, 9]
    assert space.length == 6
    assert space.starts(batch, torch.tensor([0, 1, 2])).shape == (3, 6, 1)
    assert batch[1:].lengths.tolist() == [4, 9]


def test_gaps_are_filled_on_the_line_between_neighbours():
    row = np.array([[np.nan], [1.0], [np.nan], [3.0], [np.nan]])
    assert filled(row)[:, 0].tolist() == [1, 1, 2, 3, 3]
    batch = TimeSeries().fit([row[:4]], dtype=torch.float64).encode([row[:4]])
    assert batch.observed[0, :, 0].tolist() == [False, True, False, True]


def test_keys_tell_padding_from_values():
    space = TimeSeries()
    batch = space.encode([np.array([[1.0], [2.0], [0.0]]), np.array([[1.0], [2.0]])])
    keys = space.keys(batch)
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "X must hold at least one series; got none"),
        ([np.ones((1, 1))], "at least 2 steps; got 1 in series 1"),
        (np.ones((3, 1, 2)), "at least 2 steps; got 1 in series 1"),
        (
            [np.ones((3, 1)), np.ones((0, 1))],
            r"steps and channels; got shape \(0, 1\) in series 2 \(X\[1\]\). Leave it out",
        ),
        (np.ones((3, 4, 0)), r"steps and channels; got shape \(4, 0\) in series 1"),
        (None, "X must be an array .* or a list of series; got NoneType"),
        (3.0, "X must be an array .* or a list of series; got float"),
        (scipy.sparse.csr_matrix(np.eye(3)), "X must be an array .* or a list of series; got csr_matrix"),
        (np.array(3.0), "X must hold at least one series; got none"),
        (np.ones(4), r"shape \(steps, channels\); got 0 dimensions in series 1"),
        (np.ones((2, 3, 4, 5)), r"shape \(steps, channels\); got 3 dimensions in series 1"),
        ([[[1.0, 2.0], [3.0]]], "steps of unequal size in series 1 .*Mark missing values with NaN"),
        ([np.full((3, 1), 1e200)], r"series 1 \(X\[0\]\) must hold numbers of at most 1e\+150 in size; got 1e\+200"),
        ([np.array([[1.0], ["a"]], dtype=object)], "series of numbers; got object in series 1"),
        ([np.full((4, 1), np.nan)], "only NaN in series 1 .*Leave it out"),
        ([np.ones((4, 2)), np.ones((4, 3))], "same channels; got 2 in the first series and 3 in series 2"),
        ([np.array([[1.0], [np.inf]])], "infinity at step 2, channel 1 of series 1"),
        ([np.array([["a"], ["b"]])], "series of numbers; got"),
        ([np.ones((3, 1)) + 1j], "series of numbers; got complex128"),
        ([np.array([[np.nan, 1.0], [np.nan, 2.0]])], "only NaN in channel 1 of series 1"),
    ],
)
def test_bad_series_are_refused_by_number(X, message):
    with pytest.raises(ValueError, match=message):
        to_list(X)


def test_scaler_and_resampler():
    X = np.random.default_rng(0).normal(3.0, 5.0, size=(4, 20, 2))
    scaled = SeriesScaler().fit_transform(X)
    np.testing.assert_allclose(scaled.mean(1), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(1), 1)
    together = SeriesScaler(per="series").fit_transform(X)
    np.testing.assert_allclose(together.reshape(4, -1).std(1), 1)
    turned = SeriesScaler(layout="aeon").fit_transform(X.transpose(0, 2, 1))
    np.testing.assert_allclose(turned.transpose(0, 2, 1), scaled)
    assert SeriesResampler(7).fit_transform(RAGGED).shape == (3, 7, 1)
    assert SeriesResampler().fit(RAGGED).length_ == 6
    assert np.array_equal(resampled(RAGGED[0], 6), RAGGED[0])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_long_tables_become_series(library):
    frame = pytest.importorskip(library).DataFrame(
        {"who": ["b", "a", "b", "a", "b"], "t": [2, 1, 0, 0, 1], "u": [3.0, 2, 1, 1, 2], "v": [0.0, 1, 2, 3, 4]}
    )
    series, ids = from_long(frame, id="who", time="t", values=["u", "v"])
    assert ids == ["b", "a"]
    assert series[0].tolist() == [[1, 2], [2, 4], [3, 0]]
    with pytest.raises(ValueError, match="column 'w' is not in the table; it has 'who', 't', 'u', 'v'"):
        from_long(frame, id="who", time="t", values="w")


@pytest.mark.parametrize("length", [0, 1, -3, 2.5, None, True, "mean"])
def test_a_length_that_is_none_is_refused(length):
    with pytest.raises(ValueError, match="length must be"):
        TimeSeries(length).fit(RAGGED, dtype=torch.float64)
    with pytest.raises(ValueError, match="length must be a whole number of at least 2"):
        SeriesResampler(length).fit(RAGGED)


def test_long_tables_of_text_or_nothing_are_refused():
    pd = pytest.importorskip("pandas")
    text = pd.DataFrame({"who": [1, 1], "t": [0, 1], "v": ["x", "y"]})
    with pytest.raises(ValueError, match="column 'v' must hold numbers; got"):
        from_long(text, id="who", time="t", values="v")
    with pytest.raises(ValueError, match="frame must hold at least one row; got none"):
        from_long(text[:0], id="who", time="t", values="v")


def test_shorter_series_are_means_over_blocks():
    batch = SeriesBatch(torch.arange(10.0, dtype=torch.float64).reshape(1, 5, 2), None)
    short = in_blocks(batch, 2)
    np.testing.assert_allclose(short.values[0], [[1.0, 2.0], [5.0, 6.0], [8.0, 9.0]])  # the last block is one step
    ragged = SeriesBatch(
        torch.tensor([[[1.0], [3.0], [5.0], [0.0]], [[2.0], [4.0], [6.0], [8.0]]]), torch.tensor([3, 4])
    )
    short = in_blocks(ragged, 2)
    assert short.lengths.tolist() == [2, 2]
    np.testing.assert_allclose(short.values[..., 0], [[2.0, 5.0], [3.0, 7.0]])


@pytest.mark.parametrize(("period", "length"), [(200, 25), (20, 40), (4, None)])
def test_series_are_shortened_as_far_as_their_detail_allows(period, length):
    steps = np.arange(200)
    rows = [np.sin(2 * np.pi * (steps + shift) / period)[:, None] for shift in range(4)]
    space = TimeSeries().fit(rows, dtype=torch.float64)
    found = space.coarser(space.encode(rows))
    assert (None if found is None else found[0].length) == length
    if found is not None:
        assert found[1].values.shape == (4, length, 1)
        back = space.finer(found[1].values[None], found[0])
        assert back.shape == (1, 4, 200, 1)
        assert float((back[0] - space.encode(rows).values).abs().mean()) < 0.2


def test_short_series_stay_as_they_are():
    rows = [np.linspace(0.0, 1.0, 20)[:, None] for _ in range(3)]
    space = TimeSeries().fit(rows, dtype=torch.float64)
    assert space.coarser(space.encode(rows)) is None


def test_a_table_is_no_set_of_series(rng):
    with pytest.raises(ValueError, match=r"got a table of shape \(50, 2\): its rows would be series of 2 steps"):
        SoftECM(2, metric="softdtw").fit(rng.normal(size=(50, 2)))
    model = SoftECM(2, metric="series-euclidean", n_init=1, random_state=0).fit(rng.normal(size=(8, 12, 1)))
    with pytest.raises(ValueError, match="those of the fit have about 12"):
        model.predict(rng.normal(size=(5, 7)))
    assert len(model.predict(rng.normal(size=(5, 12)))) == 5
    assert len(model.predict(rng.normal(size=(5, 7, 1)))) == 5
