"""How the files here were made, by softecm 0.2 before its release. Run by hand, never by the tests."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
N = 8  # objects of a group


def objects() -> dict[str, object]:
    """Two groups as points, in a table with missing values, as series, as views of both, as states, as a matrix."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(1, 0.6, (N, 3)), rng.normal(5, 0.6, (N, 3))]).round(3)
    numbers = points.tolist()
    numbers[2][0] = numbers[11][1] = None
    colours = rng.choice(["red", "green", "blue"], 2 * N).tolist()
    colours[5] = None
    waves = [wave(np.arange(7)) + rng.normal(0, 0.1, 7) for wave in (np.sin, np.cos) for _ in range(N)]
    series = [[[round(float(v), 3)] for v in wave] for wave in waves]
    paths = [
        ["home"] * int(a) + ["ward"] * int(b)
        for a, b in [*rng.integers([4, 1], [7, 3], (N, 2)), *rng.integers([1, 4], [3, 7], (N, 2))]
    ]
    other = (points[:, :2] + rng.normal(0, 0.3, (2 * N, 2))).round(3)
    matrices = [np.linalg.norm(p[:, None] - p, axis=-1).round(3).tolist() for p in (points, other)]
    return {
        "vectors": points.tolist(),
        "table": {
            "size": [row[0] for row in numbers],
            "level": [row[1] for row in numbers],
            "colour": colours,
            "kind": ["a"] * N + ["b"] * N,
        },
        "categories": {"colour": [colour or "red" for colour in colours], "kind": ["a"] * N + ["b"] * N},
        "series": series,
        "ragged": [s[: 7 - i % 3] for i, s in enumerate(series)],
        "views": {"curve": series, "place": points.tolist()},
        "states": paths,
        "matrix": matrices[0],
        "vector views": {"first": points.tolist(), "second": other.tolist()},
        "matrix views": dict(zip(("first", "second"), matrices, strict=True)),
    }


def as_given(name: str, data: object) -> object:
    """The objects in the form an estimator takes."""
    if name in ("table", "categories"):
        return pd.DataFrame(data)
    if name.endswith("views"):
        return {view: np.array(values) for view, values in data.items()}
    return data if name in ("states", "ragged") else np.array(data)


def last(name: str, X: object, n: int = 5) -> object:
    """Some of the objects, as if new."""
    return {view: values[-n:] for view, values in X.items()} if name.endswith("views") else X[-n:]


def main() -> None:
    from softecm import (
        BCM,
        BPEC,
        CCM,
        CECM,
        CEVCLUS,
        ECM,
        EGMM,
        EVCLUS,
        FCM,
        NNEVCLUS,
        RECM,
        WMVEC,
        CatECM,
        ECMdd,
        ECMPlus,
        EKNNClus,
        MECMdd,
        SoftECM,
    )
    from softecm.distances import ADTW, Combined, Mixed

    data = objects()
    common = {"random_state": 0, "n_init": 2}
    models = {
        "sqeuclidean": ("vectors", SoftECM(2, metric="sqeuclidean", **common)),
        "table": ("table", SoftECM(2, **common)),
        "mixed-agreement": ("table", SoftECM(2, metric=Mixed(weights="agreement"), **common)),
        "mixed-learned": ("table", SoftECM(2, metric=Mixed(weights="learned"), **common)),
        "manhattan": ("vectors", SoftECM(2, metric="manhattan", **common)),
        "mahalanobis": ("vectors", SoftECM(2, metric="mahalanobis", **common)),
        "cosine": ("vectors", SoftECM(2, metric="cosine", **common)),
        "softdtw": ("ragged", SoftECM(2, metric="softdtw", **common)),
        "adtw": ("series", SoftECM(2, metric=ADTW(penalty=0.5), **common)),
        "combined": ("views", SoftECM(2, metric=Combined({"curve": "softdtw", "place": "sqeuclidean"}), **common)),
        "states": ("states", SoftECM(2, metric="states", **common)),
        "precomputed": ("matrix", SoftECM(2, metric="precomputed", **common)),
        "ecm": ("vectors", ECM(2, **common)),
        "ccm": ("vectors", CCM(2, **common)),
        "catecm": ("categories", CatECM(2, **common)),
        "ecmdd": ("matrix", ECMdd(2, **common)),
        "recm": ("matrix", RECM(2, **common)),
        "fcm": ("vectors", FCM(2, **common)),
        "bcm": ("vectors", BCM(2, **common)),
        "cecm": ("vectors", CECM(2, **common)),
        "ecmplus": ("vectors", ECMPlus(2, **common)),
        "bpec": ("vectors", BPEC(n_neighbors=5)),
        "egmm": ("vectors", EGMM(2, **common)),
        "eknnclus": ("vectors", EKNNClus(n_neighbors=5, random_state=0)),
        "nnevclus": ("vectors", NNEVCLUS(2, hidden=5, **common)),
        "evclus": ("matrix", EVCLUS(2, **common)),
        "cevclus": ("matrix", CEVCLUS(2, **common)),
        "wmvec": ("vector views", WMVEC(2, **common)),
        "mecmdd": ("matrix views", MECMdd(2, **common)),
    }
    answers = {}
    for name, (given, estimator) in models.items():
        X = as_given(given, data[given])
        model = estimator.fit(X)
        model.save(HERE / f"{name}.safetensors")
        answers[name] = {
            "class": type(model).__name__,
            "given": given,
            "masses": model.partition_.masses.tolist(),
        }
        if hasattr(model, "predict_partition"):
            answers[name]["predicted"] = model.predict_partition(last(given, X)).masses.tolist()
    (HERE / "answers.json").write_text(json.dumps({"data": data, "models": answers}) + "\n")


if __name__ == "__main__":
    main()
