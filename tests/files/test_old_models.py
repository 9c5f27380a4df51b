"""Models that softecm 0.1 wrote are read by every later version: the same masses, the same answers for new objects."""

import json
from pathlib import Path

import numpy as np
import pytest

from softecm import load_model

FOLDER = Path(__file__).resolve().parent / "models_0_1"
KEPT = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))


def objects(name):
    data = KEPT["data"][name]
    if isinstance(data, dict):
        return pytest.importorskip("pandas").DataFrame(data)
    return np.array(data)


@pytest.mark.parametrize("name", KEPT["models"])
def test_a_model_of_0_1_is_read_and_used(name):
    about = KEPT["models"][name]
    model = load_model(FOLDER / f"{name}.safetensors")
    assert type(model).__name__ == about["class"]
    np.testing.assert_array_equal(model.partition_.masses, about["masses"])
    if "predicted" in about:
        predicted = model.predict_partition(objects(about["given"])[:3]).masses
        np.testing.assert_allclose(predicted, about["predicted"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["vectors", "table", "series", "precomputed", "recm", "ecmdd", "ccm"])
def test_it_can_be_saved_again(name, tmp_path):
    model = load_model(FOLDER / f"{name}.safetensors")
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert again.partition_ == model.partition_
