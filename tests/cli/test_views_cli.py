"""Several files about the same objects on the command line; ids that don't match are named."""

import json

import numpy as np
import pandas as pd
import pytest

from softecm import load_model

N = 24
GROUPS = np.arange(N) % 2
IDS = [f"p{i}" for i in range(N)]


@pytest.fixture
def files(tmp_path, run):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"patient": IDS, "age": 40 + 30 * GROUPS + rng.normal(size=N), "sex": np.where(GROUPS, "f", "m")}
    )
    table.to_csv("patients.csv", index=False)
    steps = [(i, t, v + 5 * GROUPS[IDS.index(i)]) for i in IDS[1:] for t, v in enumerate(rng.normal(size=4))]
    pd.DataFrame(steps, columns=["patient", "hour", "pulse"]).to_csv("vitals.csv", index=False)
    np.save("notes.npy", rng.normal(size=(N, 3)) + 4 * GROUPS[:, None])
    return tmp_path


ASKED = ["cluster", "patients.csv", "--series", "vitals.csv", "--id", "patient", "--embedding", "notes.npy", "-c", "2"]


def test_a_table_series_and_an_embedding(files, run):
    code, out, err = run(*ASKED, "--json", "-o", "out")
    assert code == 0, err
    summary = json.loads(out)
    assert "vitals.csv lacks p0" in json.dumps(summary)
    partition = pd.read_csv("out/partition.csv")
    assert partition["id"].tolist() == IDS
    assert len(set(zip(partition["label"], GROUPS, strict=True))) == 2
    model = load_model("out")
    assert list(model.view_weights_) == ["patients", "vitals", "notes"]
    assert "weight of view vitals" in (files / "out" / "report.html").read_text()
    code, _, err = run("predict", "out", "patients.csv")
    assert code == 2
    assert "several views" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda: pd.read_csv("vitals.csv").replace("p3", "q3").to_csv("vitals.csv", index=False),
            "has q3, which patients.csv",
        ),
        (
            lambda: pd.read_csv("patients.csv").replace("p3", "p4").to_csv("patients.csv", index=False),
            "p4 comes more than once",
        ),
        (lambda: np.save("notes.npy", np.random.default_rng(1).normal(size=(5, 2))), "has 5 rows and patients.csv 24"),
        (lambda: np.save("notes.npy", np.zeros((N, 2, 2))), "one row of numbers an object"),
        (
            lambda: pd.DataFrame({"patient": IDS, "hour": np.arange(N) ** 2}).to_csv("vitals.csv", index=False),
            "one of time",
        ),
    ],
    ids=["strange id", "id twice", "rows", "series", "columns"],
)
def test_files_that_do_not_match_are_refused(files, run, change, said):
    change()
    code, _, err = run(*ASKED)
    assert code == 2
    assert said in " ".join(err.split())


def test_series_need_ids_and_views_their_own_metrics(files, run):
    code, _, err = run("cluster", "patients.csv", "--series", "vitals.csv", "-c", "2")
    assert code == 2
    code, _, err = run(*ASKED, "--metric", "mixed")
    assert code == 2
    assert "each view gets what suits it" in " ".join(err.split())


def test_an_embedding_with_ids_is_matched_by_them(files, run):
    frame = pd.DataFrame(np.load("notes.npy"), columns=["a", "b", "c"]).assign(patient=IDS)
    frame.iloc[::-1].iloc[:-1].to_csv("codes.csv", index=False)
    code, out, err = run("cluster", "patients.csv", "--id", "patient", "--embedding", "codes.csv", "-c", "2", "--json")
    assert code == 0, err
    assert "codes.csv lacks p0" in json.dumps(json.loads(out))
