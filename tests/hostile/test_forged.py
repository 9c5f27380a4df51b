"""Untrusted models: forged with valid checksums, they raise an error, or are as harmless as real ones."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

import softecm
from hostile.forge import Parts, forged
from hostile.outcomes import assert_sound
from problems import DEEP
from softecm import load_model
from softecm._errors import ReadError
from softecm.distances import Hamming

RNG = np.random.default_rng(0)
POINTS = np.concatenate([RNG.normal(size=(9, 2)), RNG.normal(size=(9, 2)) + 6.0, [[3.0, 3.0], [20.0, -9.0]]])
DISTANCES = pairwise_distances(POINTS)
WORDS = np.array(["low", "middle", "high"], dtype=object)[np.digitize(np.c_[POINTS, POINTS.sum(1)], [0.0, 4.0])]
SERIES = (POINTS[:, :1] + np.sin(np.arange(6.0)) * POINTS[:, 1:])[..., None]


def table() -> Any:
    """Numbers with a missing cell, words, an ordered and a boolean column, dates."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": POINTS[:, 0], "kind": WORDS[:, 1], "large": POINTS[:, 1] > 3})
    frame.loc[3, "size"] = None
    frame["grade"] = pd.Categorical(WORDS[:, 0], ["low", "middle", "high"], ordered=True)
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(POINTS)), "D")
    return frame


ONCE = {"n_init": 1, "random_state": 0}
MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "vectors": (lambda: softecm.SoftECM(2, **ONCE), POINTS),
    "euclidean, float32": (lambda: softecm.SoftECM(2, metric="euclidean", dtype="float32", **ONCE), POINTS),
    "manhattan": (lambda: softecm.SoftECM(2, metric="manhattan", max_iter=20, **ONCE), POINTS),
    "cosine": (lambda: softecm.SoftECM(2, metric="cosine", max_iter=20, **ONCE), POINTS),
    "mahalanobis": (lambda: softecm.SoftECM(2, metric="mahalanobis", **ONCE), POINTS),
    "hamming": (lambda: softecm.SoftECM(2, metric="hamming", **ONCE), WORDS),
    "variation": (lambda: softecm.SoftECM(2, metric=Hamming("total-variation"), max_iter=20, **ONCE), WORDS),
    "mixed": (lambda: softecm.SoftECM(2, metric="mixed", **ONCE), table),
    "softdtw": (lambda: softecm.SoftECM(2, metric="softdtw", max_iter=10, **ONCE), SERIES),
    "softmsm": (lambda: softecm.SoftECM(2, metric="softmsm", max_iter=10, **ONCE), SERIES),
    "dtw": (lambda: softecm.SoftECM(2, metric="dtw", max_iter=10, **ONCE), SERIES),
    "series": (lambda: softecm.SoftECM(2, metric="series-euclidean", **ONCE), SERIES),
    "texture": (lambda: softecm.SoftECM(2, metric="texture", **ONCE), SERIES),
    "precomputed": (lambda: softecm.SoftECM(2, metric="precomputed", **ONCE), DISTANCES),
    "ECM": (lambda: softecm.ECM(2, **ONCE), POINTS),
    "FCM": (lambda: softecm.FCM(2, **ONCE), POINTS),
    "CCM": (lambda: softecm.CCM(2, **ONCE), POINTS),
    "BCM": (lambda: softecm.BCM(2, **ONCE), POINTS),
    "CECM": (lambda: softecm.CECM(2, metric="adaptive", **ONCE), POINTS),
    "TECM": (lambda: softecm.TECM(2, source=[[0.0, 0.0], [1.0, 1.0]], form="matched", **ONCE), POINTS),
    "WMVEC": (lambda: softecm.WMVEC(2, features=True, **ONCE), POINTS),
    "ECMPlus": (lambda: softecm.ECMPlus(2, **ONCE), POINTS),
    "BPEC": (lambda: softecm.BPEC(2), POINTS),
    "BPEC, adaptive": (lambda: softecm.BPEC(2, metric="adaptive"), POINTS),
    "CatECM": (lambda: softecm.CatECM(2, **ONCE), WORDS),
    "RECM": (lambda: softecm.RECM(2, **ONCE), DISTANCES),
    "ECMdd": (lambda: softecm.ECMdd(2, **ONCE), DISTANCES),
    "ECMdd, objects": (lambda: softecm.ECMdd(2, metric="sqeuclidean", **ONCE), POINTS),
    "EVCLUS": (lambda: softecm.EVCLUS(2, **ONCE), DISTANCES),
    "CEVCLUS": (lambda: softecm.CEVCLUS(2, **ONCE), DISTANCES),
    "MECMdd": (lambda: softecm.MECMdd(2, **ONCE), DISTANCES),
    "EKNNClus": (lambda: softecm.EKNNClus(**ONCE), POINTS),
    "EKNNClus, dissimilarities": (lambda: softecm.EKNNClus(metric="precomputed", **ONCE), DISTANCES),
    "EGMM": (lambda: softecm.EGMM(2, **ONCE), POINTS),
    "NNEVCLUS": (lambda: softecm.NNEVCLUS(2, hidden=4, novelty=True, max_iter=20, **ONCE), POINTS),
}


def objects(name: str) -> Any:
    """Input for the model of this name."""
    data = MODELS[name][1]
    return data() if callable(data) else data


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parts]:
    """The parts of a real file of each kind of model."""
    folder, found = tmp_path_factory.mktemp("honest"), {}
    for i, (name, (make, _)) in enumerate(MODELS.items()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make().fit(objects(name)).save(folder / f"{i}")
        found[name] = Parts.of(folder / f"{i}", "softecm.model", 1, "model")
    return found


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or its error: one of ours, a sentence (numpy's and torch's have no full stop)."""
    try:
        return call()
    except ValueError as error:
        answer = error
    assert str(answer).endswith("."), answer
    assert len(str(answer)) < 1000
    assert str(answer).isprintable(), answer
    return answer


def attempt(path: Path, X: Any) -> str:
    """Load a forged model and use it; return the outcome."""
    model = outcome(lambda: load_model(path))
    if isinstance(model, Exception):
        assert isinstance(model, ReadError)
        assert str(path) in str(model)
        return "refused"
    partition = outcome(lambda: model.predict_partition(X))
    if isinstance(partition, Exception):
        return "refused later"
    assert_sound(partition.masses)
    if hasattr(model, "partition_"):
        assert_sound(model.partition_.masses)
    if hasattr(model, "model_"):
        _ = model.prototypes_
        assert np.isfinite(model.transform(X)).all()
    return "harmless"


@pytest.mark.parametrize("name", MODELS)
def test_a_forged_model_is_refused_in_a_sentence_or_harmless(
    name: str, saved: dict[str, Parts], tmp_path: Path, hostile_case: Callable[[], None]
) -> None:
    path, X = tmp_path / "model.safetensors", objects(name)
    saved[name].seal(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a forged delta may overflow on the way to a sound result
        assert attempt(path, X) == "harmless"
        for seed in range(120 if DEEP else 4):
            case = forged(saved[name], np.random.default_rng([seed, *name.encode()]))
            case.seal(path)
            hostile_case()
            try:
                attempt(path, X)
            except Exception as error:
                raise AssertionError(f"{name}, {seed}: {case.done}") from error


def test_a_checkpoint_that_lost_a_step_of_its_memory_is_refused(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = interrupted("cosine", "k-means++", 3, tmp_path / "fit.checkpoint")
    assert parts is not None
    del parts.tensors["state.memory.steps.2"]
    parts.seal(tmp_path / "fit.checkpoint")
    with pytest.raises(ReadError, match="should hold a change for every step"):
        MODELS["cosine"][0]().set_params(n_init=2, init="k-means++").fit(POINTS, resume=tmp_path / "fit.checkpoint")


class Stopped(BaseException):
    """Like Ctrl-C, without a signal."""


RESUMED = [name for name in MODELS if not name.startswith(("BPEC", "MECMdd", "EKNNClus", "EGMM", "NNEVCLUS"))]
STOPS = (
    {"auto": (1, 6), "k-means++": (3,)} if DEEP else {"k-means++": (2,)}
)  # how the runs start, and after which rounds they are stopped


def started(name: str, init: str, **more: Any) -> Any:
    """The model of this name with two runs; EVCLUS has only random starts."""
    return MODELS[name][0]().set_params(n_init=2, init="random" if "EVCLUS" in name else init, **more)


def interrupted(name: str, init: str, calls: int, path: Path) -> Parts | None:
    """The parts of a checkpoint of a fit stopped after this many iterations; None if it ended before."""
    told = []

    def stop(progress: Any) -> None:
        told.append(progress)
        if len(told) == calls:
            raise Stopped

    try:
        started(name, init, callback=stop).fit(objects(name), checkpoint=path)
    except Stopped:
        return Parts.of(path, "softecm.checkpoint", 2, "checkpoint")
    return None


@pytest.mark.parametrize("name", RESUMED if DEEP else ["vectors", "cosine", "RECM", "ECMdd", "EVCLUS"])
def test_a_forged_checkpoint_is_refused_in_a_sentence_or_harmless(
    name: str, tmp_path: Path, hostile_case: Callable[[], None]
) -> None:
    path, X = tmp_path / "fit.checkpoint", objects(name)

    def resumed(init: str) -> Any:
        return outcome(lambda: started(name, init).fit(X, resume=path))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for init, calls in [(init, calls) for init, stops in STOPS.items() for calls in stops]:
            parts = interrupted(name, init, calls, path)
            if parts is None:
                continue
            assert_sound(resumed(init).partition_.masses)
            for seed in range(25 if DEEP else 8):
                case = forged(parts, np.random.default_rng([seed, calls, *name.encode()]))
                case.seal(path)
                hostile_case()
                try:
                    answer = resumed(init)
                    if not isinstance(answer, ValueError):  # of the reader, or of the step after: a sentence
                        assert_sound(answer.partition_.masses)
                except Exception as error:
                    raise AssertionError(f"{name}, {init}, {calls}, {seed}: {case.done}") from error
