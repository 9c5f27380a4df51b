import json
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from softecm import BCM, CCM, CECM, ECM, FCM, RECM, CatECM, ECMdd, ECMPlus, SoftECM
from softecm.datasets import make_blobs
from softecm.distances import SoftDTW
from softecm.files.tensors import read_description, tensor_file
from softecm.fit.settings import CheckpointRequest

X = make_blobs(300, between=10, outliers=5, random_state=0).data


def no_closed_form(x, v):
    return (x[:, None] - v).abs().pow(1.5).sum(-1)


AT_ONCE = {"init": "k-means++", "max_cardinality": 2, "delta": 4.0, "lam": 1.0}


class Stopped(BaseException):
    """Like Ctrl-C, without a signal."""


def stop_at(iteration):
    def callback(progress):
        if progress.iteration == iteration:
            raise Stopped

    return callback


def fit(model, data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, **options)


def interrupted(make, data, file, iteration, **options):
    with pytest.raises(Stopped):
        fit(make(callback=stop_at(iteration)), data, checkpoint=file, **options)
    return fit(make(), data, resume=file, **options)


def same(model, other):
    np.testing.assert_array_equal(model.prototypes_, other.prototypes_)
    np.testing.assert_allclose(model.history_, other.history_, rtol=1e-14)
    np.testing.assert_array_equal(model.partition_.masses, other.partition_.masses)
    assert model.n_iter_ == other.n_iter_
    assert model.runs_["n_iter"].equals(other.runs_["n_iter"])


@pytest.mark.parametrize("iteration", [1, 4, 12])
@pytest.mark.parametrize(
    "options", [{}, {"relaxation": "gap"}, {"metric": "euclidean", "max_iter": 20}, {"must": True}]
)
def test_a_resumed_fit_has_the_bits_of_an_undisturbed_one(tmp_path, iteration, options):
    options = dict(options)
    links = {"must_link": [[0, 1], [2, 40]]} if options.pop("must", False) else {}

    def make(**more):
        return SoftECM(3, n_init=3, random_state=0, tol=1e-6, **{**AT_ONCE, **options}, **more)

    same(fit(make(), X, **links), interrupted(make, X, tmp_path / "fit.checkpoint", iteration, **links))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("options", [{}, {"beta": 1.5}, {"relaxation": "gap"}, {"metric": "euclidean", "max_iter": 20}])
def test_a_staged_fit_is_resumed_in_whatever_phase_it_was(tmp_path, share, options):
    def make(**more):
        return SoftECM(3, n_init=3, random_state=0, tol=1e-6, **options, **more)

    calls = []
    whole = fit(make(callback=calls.append), X)
    last = max(1, round(share * len(calls)))
    calls.clear()

    def stop(progress):
        calls.append(progress)
        if len(calls) == last:
            raise Stopped

    file = tmp_path / "fit.checkpoint"
    with pytest.raises(Stopped):
        fit(make(callback=stop), X, checkpoint=file)
    same(whole, fit(make(), X, resume=file))


RELATIVES = {
    "ECM": (ECM, X),
    "FCM": (FCM, X),
    "CCM": (CCM, X),
    "BCM": (BCM, X),
    "ECMPlus": (ECMPlus, X),
    "CECM": (CECM, X),
    "RECM": (RECM, pairwise_distances(X)),
    "ECMdd": (ECMdd, pairwise_distances(X)),
    "CatECM": (CatECM, np.round(X).astype(int).astype(str)),
    "precomputed": (partial(SoftECM, metric="precomputed", relaxation="gap"), pairwise_distances(X) ** 2),
}


@pytest.mark.parametrize("name", RELATIVES)
def test_every_prototype_algorithm_is_resumed(tmp_path, name):
    kind, data = RELATIVES[name]

    def make(**more):
        return kind(3, n_init=2, init="k-means++", random_state=0, **more)

    same(fit(make(), data), interrupted(make, data, tmp_path / "fit.checkpoint", 1))


def test_weights_and_float32_are_resumed_alike(tmp_path, rng):
    weights = rng.integers(1, 4, len(X)).astype(float)

    def make(**more):
        return SoftECM(3, n_init=2, random_state=0, dtype="float32", **more)

    whole = fit(make(), X, sample_weight=weights)
    same(whole, interrupted(make, X, tmp_path / "fit.checkpoint", 3, sample_weight=weights))


def test_series_are_resumed_alike(tmp_path, rng):
    series = rng.normal(size=(20, 8, 1)).cumsum(1)

    def make(**more):
        return SoftECM(2, metric=SoftDTW(), init=series[:2], max_iter=8, **more)

    whole = fit(make(), series)
    again = interrupted(make, series, tmp_path / "fit.checkpoint", 4)
    np.testing.assert_allclose(again.prototypes_, whole.prototypes_, rtol=0, atol=1e-12)
    assert again.n_iter_ == whole.n_iter_


def test_a_checkpoint_is_written_every_few_rounds_and_at_the_end(tmp_path):
    file = tmp_path / "fit.checkpoint"
    seen = []

    def look(progress):
        if file.exists():
            seen.append(read_description(file, "softecm.checkpoint", 2, "checkpoint")[0]["iteration"])

    once = {"random_state": 0, "n_init": 1, **AT_ONCE}
    model = fit(SoftECM(3, **once, callback=look), X, checkpoint=file, checkpoint_every=3)
    assert seen[:4] == [3, 3, 3, 6]
    assert read_description(file, "softecm.checkpoint", 2, "checkpoint")[0]["iteration"] == model.n_iter_
    same(model, fit(SoftECM(3, **once), X, resume=file))


def test_max_iter_may_be_raised_when_going_on(tmp_path):
    file = tmp_path / "fit.checkpoint"
    once = {"random_state": 0, "n_init": 1, **AT_ONCE}
    fit(SoftECM(3, **once, max_iter=2), X, checkpoint=file, checkpoint_every=1)
    same(fit(SoftECM(3, **once), X), fit(SoftECM(3, **once), X, resume=file))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"beta": 1.5}, r"beta was 1.2 there and is 1.5 here"),
        ({"n_clusters": 4}, r"n_clusters was 3 there and is 4 here"),
        ({"metric": "manhattan"}, r"metric was sqeuclidean .*manhattan"),
        ({"random_state": 1}, r"random_state was 0 there"),
    ],
)
def test_a_checkpoint_of_another_fit_is_named_and_refused(tmp_path, change, told):
    file = tmp_path / "fit.checkpoint"
    fit(SoftECM(3, random_state=0, n_init=1, max_iter=2), X, checkpoint=file)
    fit(SoftECM(3, random_state=0, n_init=1, max_iter=20), X, checkpoint=file)
    with pytest.raises(ValueError, match=rf"fit\.checkpoint is a checkpoint of another fit: {told}"):
        SoftECM(**{"n_clusters": 3, "random_state": 0, "n_init": 1, **change}).fit(X, resume=file)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    file = tmp_path / "fit.checkpoint"
    fit(SoftECM(3, random_state=0, n_init=1), X, checkpoint=file)
    with pytest.raises(ValueError, match="data was"):
        SoftECM(3, random_state=0, n_init=1).fit(X + 1.0, resume=file)
    with pytest.raises(ValueError, match=f"n_objects was {len(X)} there and is {len(X) - 1} here"):
        SoftECM(3, random_state=0, n_init=1).fit(X[1:], resume=file)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    file = tmp_path / "fit.checkpoint"
    fit(SoftECM(3, random_state=0, n_init=1), X, checkpoint=file)
    data = bytearray(file.read_bytes())
    data[-9] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="does not match its checksum"):
        SoftECM(3, random_state=0, n_init=1).fit(X, resume=file)
    file.write_bytes(bytes(data[:50]))
    with pytest.raises(ValueError, match="not a checkpoint file, or is cut short"):
        SoftECM(3, random_state=0, n_init=1).fit(X, resume=file)
    fit(SoftECM(3, random_state=0, n_init=1), X).save(file)
    with pytest.raises(ValueError, match="is not a softecm checkpoint"):
        SoftECM(3, random_state=0, n_init=1).fit(X, resume=file)
    tensor_file(file, json.dumps({"format": "softecm.checkpoint", "format_version": 9}), {"runs": np.ones(1)})
    with pytest.raises(ValueError, match="checkpoint format 9"):
        SoftECM(3, random_state=0, n_init=1).fit(X, resume=file)


def test_a_checkpoint_needs_a_place_and_a_fit_that_can_write_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"resume must be an existing checkpoint; got .*none"):
        SoftECM(3).fit(X, resume=tmp_path / "none")
    with pytest.raises(ValueError, match="checkpoint must lie in an existing folder"):
        SoftECM(3).fit(X, checkpoint=tmp_path / "no" / "file")
    with pytest.raises(ValueError, match="checkpoint must be the path of a file; got 3"):
        SoftECM(3).fit(X, checkpoint=3)
    with pytest.raises(ValueError, match="checkpoint_every must be a whole number of at least 1; got 0"):
        SoftECM(3).fit(X, checkpoint=tmp_path / "a", checkpoint_every=0)
    with pytest.raises(ValueError, match="checkpoint can't be used with relaxation='exact'"):
        SoftECM(3, metric=no_closed_form, relaxation="exact", **AT_ONCE).fit(X, checkpoint=tmp_path / "a")
    assert CheckpointRequest.of(None, 10, None) is None
    assert not list(tmp_path.iterdir())
