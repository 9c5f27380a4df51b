"""Texture: which patterns occur anywhere in a series."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from softecm import CollapseWarning, SoftECM, load_model
from softecm.barycenters import barycenter
from softecm.distances import Combined, ConvolutionFeatures, series_distances
from softecm.files.expected import Misfit
from softecm.kernels.convolutions import KERNELS, dilations_for, heavy_taps, pooled, thresholds_of, z_normalized
from softecm.spaces.texture import N_FREQUENCIES, SeriesSample, Texture, amplitudes, principal_axes


def waves(rng, n=24, steps=50, channels=1, unequal=False):
    """Slow and fast oscillations of any phase, amplitude and level."""
    y, X = np.arange(n) % 2, []
    for kind in y:
        length = int(steps * rng.uniform(0.7, 1.0)) if unequal else steps
        phase = rng.uniform(0, 2 * np.pi, channels)
        x = np.sin(np.arange(length)[:, None] * (0.35, 0.8)[kind] + phase)
        X.append(rng.uniform(1, 5) * (x + 0.1 * rng.normal(size=x.shape)) + rng.uniform(-9, 9))
    return X, y


def test_features_are_those_of_plain_sums_over_taps(rng):
    x, lengths, dilations = rng.normal(size=(2, 20, 2)), np.array([20, 13]), (1, 2)
    limits = thresholds_of(torch.from_numpy(x), torch.from_numpy(lengths), dilations)
    found = pooled(torch.from_numpy(x), torch.from_numpy(lengths), dilations, limits).reshape(2, 2, 2, KERNELS, 5)
    weights = np.full((KERNELS, 9), -1.0)
    np.put_along_axis(weights, heavy_taps(KERNELS), 2.0, 1)
    assert (weights.sum(0) == 0).all()  # every tap is heavy equally often
    for series, channel, i in np.ndindex(2, 2, 2):
        row, margin = x[series, : lengths[series], channel], 4 * dilations[i]
        padded = np.pad(row, margin, mode="edge")
        taps = np.stack([padded[j * dilations[i] :][: len(row)] for j in range(9)])
        values = weights @ taps  # (kernels, steps)
        above = (values[:, None] > limits[i, channel].numpy()[..., None]).mean(-1)
        np.testing.assert_allclose(found[series, channel, i, :, :4], above)
        np.testing.assert_allclose(found[series, channel, i, :, 4], values.max(1))


def test_features_pool_over_the_steps_that_exist(rng):
    short, padding = torch.from_numpy(rng.normal(size=(4, 30, 2))), torch.full((4, 9, 2), 1e3, dtype=torch.float64)
    ends, dilations = torch.full((4,), 30), dilations_for(30)
    limits = thresholds_of(short, ends, dilations)
    plain = pooled(short, ends, dilations, limits)
    torch.testing.assert_close(pooled(torch.cat([short, padding], 1), ends, dilations, limits), plain)
    torch.testing.assert_close(pooled(short + 50.0, ends, dilations, limits), plain)
    shares = plain.reshape(4, -1, 5)[..., :4]
    assert 0 <= shares.min() <= shares.max() <= 1
    assert 0.3 < shares.mean() < 0.7  # thresholds are quantiles


def test_normalizing_leaves_out_padding_and_constant_channels(rng):
    x = torch.from_numpy(rng.normal(3, 2, size=(2, 12, 2)))
    x[1, :, 1] = 7.0
    z = z_normalized(torch.cat([x, torch.full((2, 5, 2), 99.0)], 1), torch.tensor([12, 8]))
    torch.testing.assert_close(z[0, :12].std(0, correction=0), torch.ones(2, dtype=torch.float64))
    assert z[1, :8, 0].mean().abs() < 1e-12
    assert (z[1, 8:] == 0).all()
    assert (z[1, :, 1] == 0).all()


@pytest.mark.parametrize(("channels", "unequal"), [(1, False), (1, True), (3, True)])
def test_phase_amplitude_and_level_do_not_count(rng, tmp_path, channels, unequal):
    X, y = waves(rng, channels=channels, unequal=unequal)
    X[3][5:8] = np.nan
    model = SoftECM(2, metric="texture", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    median = int(np.median([len(x) for x in X]))
    assert model.cluster_centers_.shape == (2, median, channels)
    assert model.prototypes_.shape[0] == len(model.focal_sets_)
    assert "steps" not in str(model.explain_object(X, 0))
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert np.array_equal(loaded.predict_partition(X).masses, model.partition_.masses)
    np.testing.assert_array_equal(loaded.prototypes_, model.prototypes_)
    new, target = waves(np.random.default_rng(7), n=10, channels=channels, unequal=unequal)
    assert adjusted_rand_score(target, model.predict(new)) == 1


def test_a_prototype_is_shown_as_the_nearest_series(rng):
    X, y = waves(rng)
    model = SoftECM(2, metric="texture", random_state=0).fit(X)
    d = model.transform(X)
    for k, center in enumerate(model.cluster_centers_):
        np.testing.assert_array_equal(center, X[int(d[:, k].argmin())])
    again = SoftECM(2, metric="texture", init=model.cluster_centers_).fit(X)
    assert adjusted_rand_score(y, again.labels_) == 1


def test_amplitude_counts_where_it_should(rng):
    t = np.arange(40)
    y = np.arange(20) % 2
    X = np.array([(1 + 4 * k) * np.sin(0.5 * t + rng.uniform(0, 6)) + 0.2 * rng.normal(size=40) for k in y])[..., None]
    model = SoftECM(2, metric=ConvolutionFeatures(znormalise=False), random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_blocks_learn_the_same_features(rng):
    X, _ = waves(rng, unequal=True)
    space = Texture()
    whole = space.fit(X, dtype=torch.float64)
    merged = space.describe(X[15:]).merge(space.describe([*X[:15], *X[:3]]))  # copies don't count twice
    assert list(merged.rows) == list(space.describe(X).rows)
    torch.testing.assert_close(space.fit_described(merged, dtype=torch.float64).encode(X), whole.encode(X))


def test_a_sample_is_bounded(monkeypatch, rng):
    monkeypatch.setattr("softecm.spaces.texture.MOST_CELLS", 130)
    X = [rng.normal(size=(50, 1)) for _ in range(6)]
    assert len(SeriesSample.of(X, Texture().describe(X).lengths).rows) == 2


def test_equal_very_short_and_very_long_series(rng):
    flat = SoftECM(2, metric="texture", random_state=0)
    with pytest.warns(CollapseWarning):
        flat.fit([np.ones((5, 1))] * 6)
    assert np.isfinite(flat.partition_.masses).all()
    X = [rng.normal(size=(n, 1)) for n in (2, 3, 3, 40, 700, 3000)]
    masses = SoftECM(2, metric="texture", random_state=0).fit(X).partition_.masses
    assert np.isfinite(masses).all()


def test_one_view_of_several_and_distances(rng, tmp_path):
    X, y = waves(rng, n=16, steps=30)
    metric = Combined({"texture": "texture", "more": "sqeuclidean"})
    model = SoftECM(2, metric=metric, random_state=0, n_init=2).fit(
        {"texture": X, "more": rng.normal(size=(16, 2)) + 3 * y[:, None]}
    )
    assert model.prototypes_["texture"].shape[1:] == (30, 1)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").partition_ == model.partition_
    d = series_distances(X, metric="texture")
    np.testing.assert_allclose(d, d.T, atol=1e-9 * d.max())
    assert d[y[:, None] == y].mean() < d[y[:, None] != y].mean()


def test_what_needs_series_as_prototypes_is_refused(rng):
    X, _ = waves(rng, n=4)
    with pytest.raises(ValueError, match="metric must be one between series"):
        barycenter(X, ConvolutionFeatures())
    with pytest.raises(TypeError, match="series_distances"):
        ConvolutionFeatures().pairwise(torch.zeros(2, 9, 1), torch.zeros(2, 9, 1))
    with pytest.raises(ValueError, match="n_components must be a whole number"):
        ConvolutionFeatures(n_components=0)
    with pytest.raises(ValueError, match="of 1 channels, as X does; got 2"):
        SoftECM(2, metric="texture", init=np.zeros((2, 9, 2))).fit(X)


def test_amplitudes_are_those_of_a_plain_transform_whatever_the_phase(rng):
    x = rng.normal(size=(2, 12, 2))
    x[1] = np.roll(x[0], 5, axis=0)
    found = amplitudes(torch.from_numpy(x), torch.tensor([12, 12])).reshape(2, N_FREQUENCIES, 2)
    t = np.arange(12)
    for k in range(1, 7):
        plain = np.abs(np.exp(-2j * np.pi * k * t / 12) @ x[0]) / np.sqrt(12)
        np.testing.assert_allclose(found[0, k - 1], plain, atol=1e-12)
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)
    assert not found[:, 6:].any()
    shorter = amplitudes(torch.from_numpy(x[:1]), torch.tensor([7]))
    np.testing.assert_allclose(shorter, amplitudes(torch.from_numpy(x[:1, :7]), torch.tensor([7])))


def test_amplitudes_vary_as_much_as_convolutions_and_older_models_do_without(rng):
    features = torch.from_numpy(rng.normal(size=(30, 104)) * np.geomspace(1e-3, 1e3, 104))
    _, axes = principal_axes(features, 40, 29)
    z = (features - features.mean(0))[:, :, None] * axes  # contribution of each feature to each component
    parts = [z[:, part].sum(1).square().sum() for part in (slice(40), slice(40, None))]
    assert float(parts[0] / parts[1]) == pytest.approx(1.0, rel=0.3)
    X, _ = waves(rng, n=12, steps=30)
    space = ConvolutionFeatures().make_space().fit(list(X), dtype=torch.float64)
    older = replace(space, center=space.center[:-N_FREQUENCIES], axes=space.axes[:-N_FREQUENCIES])
    older.check_kind(space)
    assert older.encode(list(X)).shape == space.encode(list(X)).shape


@pytest.mark.parametrize("of", ["short patterns", "frequencies"])
def test_patterns_and_frequencies_alone(of, rng, tmp_path):
    X, _ = waves(rng, n=24, steps=40, channels=2)
    model = SoftECM(2, metric=ConvolutionFeatures(of=of), random_state=0).fit(X)
    space, both = model.model_.space, ConvolutionFeatures().make_space().fit(list(X), dtype=torch.float64)
    convolutions = len(both.center) - 2 * N_FREQUENCIES
    part = slice(convolutions) if of == "short patterns" else slice(convolutions, None)
    torch.testing.assert_close(space._features(list(X)), both._features(list(X))[:, part])
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.metric == model.metric
    np.testing.assert_array_equal(again.predict_partition(X).masses, model.predict_partition(X).masses)
    other = "frequencies" if of == "short patterns" else "short patterns"
    with pytest.raises(Misfit, match="a unit for every feature"):
        replace(space, of=other).check_kind(space)
    with pytest.raises(ValueError, match="of must be one of 'both', 'short patterns', 'frequencies'; got 'freq'"):
        ConvolutionFeatures(of="freq")
