"""How the files beside this one were made, with softecm 0.1.0. It is run by hand, never by the tests."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
COLOURS = ["red"] * 5 + ["blue"] * 2 + [None] + ["blue"] * 2


def objects() -> dict[str, list]:
    """Two groups as points, in a table with gaps, and as series."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 0.5, (5, 2)), rng.normal(5, 0.5, (5, 2))]).round(3)
    dissimilarities = np.linalg.norm(points[:, None] - points, axis=-1).round(3)
    sizes = [None if i == 2 else float(x) for i, x in enumerate(points[:, 0])]
    waves = [wave(np.arange(6)) + rng.normal(0, 0.1, 6) for wave in (np.sin, np.cos) for _ in range(4)]
    return {
        "vectors": points.tolist(),
        "table": {"size": sizes, "level": points[:, 1].tolist(), "colour": COLOURS},
        "categories": {"colour": COLOURS, "shape": ["a", "b"] * 5},
        "dissimilarities": dissimilarities.tolist(),
        "series": [[[round(float(v), 3)] for v in wave] for wave in waves],
    }


def main() -> None:
    from softecm import BPEC, CCM, CECM, ECM, EVCLUS, FCM, RECM, CatECM, ECMdd, ECMPlus, SoftECM

    data = objects()
    points, rows = np.array(data["vectors"]), np.array(data["dissimilarities"])
    series = np.array(data["series"])
    same = {"random_state": 0, "n_init": 1}
    models = {
        "vectors": ("vectors", SoftECM(2, **same).fit(points)),
        "table": ("table", SoftECM(2, **same).fit(pd.DataFrame(data["table"]))),
        "series": ("series", SoftECM(2, **same).fit(series)),
        "series-of-unequal-length": ("series", SoftECM(2, **same).fit([s[: 6 - i % 2] for i, s in enumerate(series)])),
        "precomputed": ("dissimilarities", SoftECM(2, metric="precomputed", **same).fit(rows)),
        "recm": ("dissimilarities", RECM(2, **same).fit(rows)),
        "ecmdd": ("dissimilarities", ECMdd(2, **same).fit(rows)),
        "evclus": ("dissimilarities", EVCLUS(2, **same).fit(rows)),
        "catecm": ("categories", CatECM(2, **same).fit(pd.DataFrame(data["categories"]))),
        "ccm": ("vectors", CCM(2, **same).fit(points)),
        "ecm": ("vectors", ECM(2, **same).fit(points)),
        "fcm": ("vectors", FCM(2, **same).fit(points)),
        "ecmplus": ("vectors", ECMPlus(2, **same).fit(points)),
        "cecm": ("vectors", CECM(2, **same).fit(points)),
        "bpec": ("vectors", BPEC(n_neighbors=3).fit(points)),
    }
    answers = {}
    for name, (given, model) in models.items():
        model.save(HERE / f"{name}.safetensors")
        answers[name] = {"class": type(model).__name__, "given": given, "masses": model.partition_.masses.tolist()}
        if hasattr(model, "predict_partition"):
            new = points if given == "vectors" else rows if given == "dissimilarities" else series
            new = pd.DataFrame(data[given]) if isinstance(data[given], dict) else new
            answers[name]["predicted"] = model.predict_partition(new[:3]).masses.tolist()
    (HERE / "answers.json").write_text(json.dumps({"data": data, "models": answers}) + "\n")


if __name__ == "__main__":
    main()
