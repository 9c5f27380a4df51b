"""Models of an earlier version load: the same masses, the same predictions for new objects."""

import json
from pathlib import Path

import numpy as np
import pytest

from softecm import load_model

FOLDER = Path(__file__).resolve().parent / "models_0_2"
KEPT = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))


def new_objects(name):
    data = KEPT["data"][name]
    if name in ("table", "categories"):
        return pytest.importorskip("pandas").DataFrame(data)[-5:]
    if name.endswith("views"):
        return {view: np.array(values)[-5:] for view, values in data.items()}
    return data[-5:] if name in ("states", "ragged") else np.array(data)[-5:]


@pytest.mark.parametrize("name", KEPT["models"])
def test_an_old_model_is_read_used_and_saved_again(name, tmp_path):
    about = KEPT["models"][name]
    model = load_model(FOLDER / f"{name}.safetensors")
    assert type(model).__name__ == about["class"]
    np.testing.assert_array_equal(model.partition_.masses, about["masses"])
    predicted = model.predict_partition(new_objects(about["given"])).masses
    np.testing.assert_allclose(predicted, about["predicted"], rtol=1e-6, atol=1e-9)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors").predict_partition(new_objects(about["given"]))
    np.testing.assert_array_equal(again.masses, predicted)
