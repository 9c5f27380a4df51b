"""Models as files: the same bits in a new process, and an error for anything else."""

import json
import subprocess
import sys

import numpy as np
import pytest

from problems import DEEP
from softecm import ECM, SoftECM, load_model
from softecm.datasets import make_blobs
from softecm.distances import Mahalanobis

X = make_blobs(40, between=2, outliers=1, random_state=0).data


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    SoftECM(3, random_state=0, n_init=2).fit(X).save(path)
    return path


@pytest.mark.parametrize(
    "estimator",
    [
        SoftECM(3, random_state=0, n_init=2),
        SoftECM(3, metric="euclidean", relaxation="gap", random_state=0, n_init=2),
        SoftECM(3, metric=Mahalanobis(np.eye(2) * 2.0), random_state=0, n_init=2, delta=None),
        SoftECM(3, random_state=np.random.RandomState(0), callback=lambda p: False, n_init=2),
        ECM(3, random_state=0, n_init=2, focal_sets="simple"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_saved_model_comes_back_whole(estimator, tmp_path):
    estimator.fit(X)
    estimator.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert type(again) is type(estimator)
    assert again.partition_ == estimator.partition_
    assert np.array_equal(again.predict_partition(X + 0.1).masses, estimator.predict_partition(X + 0.1).masses)
    assert np.array_equal(again.prototypes_, estimator.prototypes_)
    assert again.objective_ == estimator.objective_
    assert again.runs_.equals(estimator.runs_)
    assert again.score(X) == estimator.score(X)


def test_a_new_process_predicts_the_same_bits(file, tmp_path):
    program = (
        "import sys, numpy as np; from softecm import load_model; "
        "np.save(sys.argv[2], load_model(sys.argv[1]).predict_partition(np.load(sys.argv[3])).masses)"
    )
    np.save(tmp_path / "x.npy", X)
    command = [sys.executable, "-c", program, str(file), str(tmp_path / "m.npy"), str(tmp_path / "x.npy")]
    subprocess.run(command, check=True)
    assert np.array_equal(np.load(tmp_path / "m.npy"), load_model(file).predict_partition(X).masses)


def test_column_names_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["width", "height"])
    SoftECM(3, random_state=0, n_init=1).fit(frame).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert list(again.feature_names_in_) == ["width", "height"]
    assert list(again.model_.space.attributes) == ["width", "height"]


def test_a_users_own_metric_must_be_given_again(tmp_path):
    def distance(x, v):
        return (x[:, None] - v).abs().square().sum(-1)

    model = SoftECM(3, metric=distance, random_state=0, n_init=1).fit(X)
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match=r"a custom metric.*load_model\(path, metric=\.\.\.\)"):
        load_model(tmp_path / "m")
    again = load_model(tmp_path / "m", metric=distance)
    assert np.array_equal(again.predict_partition(X).masses, model.partition_.masses)


def test_a_file_of_another_format_version_says_so(file, tmp_path):
    from safetensors.numpy import load_file, save_file

    description = {"format": "softecm.model", "format_version": 99, "softecm_version": "9.9"}
    save_file(load_file(file), tmp_path / "m", metadata={"softecm": json.dumps(description)})
    with pytest.raises(
        ValueError, match=r"model format 99, and this version of softecm .* reads 1.*written by softecm '9\.9'"
    ):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04cposix\nsystem\n", b"\xff" * 64, b"{}" * 30])
def test_files_of_other_programs_are_refused(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ValueError, match="model file"):
        load_model(tmp_path / "m")


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"nowhere does not exist: check its name .* An estimator's save\(path\) writes one"
    ):
        load_model(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"is a folder without a model\.safetensors: give a model file"):
        load_model(tmp_path)
    with pytest.raises(TypeError, match="path must name a file; got None"):
        load_model(None)


def test_random_corruption_is_an_error_never_a_crash(file, tmp_path):
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    target = tmp_path / "m"
    intact = load_model(file).predict_partition(X).masses
    refused, attempts = 0, 10_000 if DEEP else 300
    for _ in range(attempts):
        data = bytearray(whole)
        kind = rng.integers(3)
        if kind == 0:
            data = data[: rng.integers(len(data))]
        else:
            limit = len(data) if kind == 1 else min(len(data), 4000)  # the description comes first
            for place in rng.integers(limit, size=rng.integers(1, 9)):
                data[place] = rng.integers(256)
        target.write_bytes(bytes(data))
        try:
            model = load_model(target)
        except ValueError:
            refused += 1
        else:
            # Only a change without effect (a byte replaced by itself, white space in the header) may pass.
            assert np.array_equal(model.predict_partition(X).masses, intact)
    assert refused > 0.95 * attempts


def test_saving_before_fitting_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        SoftECM().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_folder_of_results_is_as_good_as_its_model(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = ECM(2, random_state=0).fit(X)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load_model(tmp_path).predict(X), model.labels_)


def test_a_model_of_no_runs_is_refused(tmp_path):
    model = SoftECM(3, random_state=0, n_init=2).fit(X)
    model._runs = {name: values[:0] for name, values in model._runs.items()}
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="should have one entry per run, of one run at least"):
        load_model(tmp_path / "model.safetensors")
