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
    assert "notes: x0 = " in out
    assert "weight of view vitals" in (files / "out" / "report.html").read_text()
    code, _, err = run("predict", "out", "patients.csv")
    assert code == 2
    assert "several views (patients, vitals, notes)" in err


def test_new_objects_of_several_files(files, run):
    assert run(*ASKED, "--time", "hour", "--value", "pulse", "-o", "out")[0] == 0
    fitted = pd.read_csv("out/partition.csv")
    pd.read_csv("patients.csv").to_csv("people.csv", index=False)
    pd.read_csv("vitals.csv")[["patient", "pulse", "hour"]].to_csv("pulses.csv", index=False)
    np.save("words.npy", np.load("notes.npy"))
    asked = [
        "predict",
        "out",
        "people.csv",
        "--series",
        "pulses.csv",
    ]  # the columns of ids, times and values as in the fit
    code, _, err = run(*asked, "--embedding", "words.npy", "-o", "new.csv")
    assert code == 0, err
    again = pd.read_csv("new.csv")
    pd.testing.assert_frame_equal(again.drop(columns="id"), fitted.drop(columns="id"), atol=1e-9)
    code, out, err = run(*asked, "-o", "without.csv", "--json")
    assert code == 0, err
    assert "no file was given for notes" in json.dumps(json.loads(out)["warnings"])
    assert (pd.read_csv("without.csv")["label"] == fitted["label"]).all()
    code, _, err = run(*asked, "--embedding", "words.npy", "--embedding", "notes.npy", "-o", "more.csv")
    assert (code, "is not a view of the model" in err) == (2, True)
    assert run("report", "out")[0] == 0
    assert run("explain", "out")[0] == 0
    code, _, err = run("cluster", "patients.csv", "-c", "2", "-o", "alone")
    assert code == 0, err
    code, _, err = run("predict", "alone", "patients.csv", "--embedding", "notes.npy", "-o", "no.csv")
    assert (code, "fitted with one file" in err) == (2, True)
    code, _, err = run(
        "cluster", "patients.csv", "--embedding", "notes.npy", "-c", "2", "--metric", "softdtw", "-o", "no"
    )
    assert (code, "--metric is for one file" in err) == (2, True)


def test_several_matrices(tmp_path, run):
    rng = np.random.default_rng(0)
    for name, points in (
        ("shape", rng.normal(size=(N, 2)) + 6 * GROUPS[:, None]),
        ("noise", 5 * rng.normal(size=(N, 2))),
    ):
        np.save(f"{name}.npy", np.linalg.norm(points[:, None] - points, axis=-1))
    asked = ["cluster", "shape.npy", "--matrix", "noise.npy", "-c", "2"]
    code, _, err = run(*asked, "--algorithm", "mecmdd", "-o", "out", "--json")
    assert code == 0, err
    model = load_model("out")
    assert model.view_weights_["shape"] > model.view_weights_["noise"]
    assert len(set(zip(model.labels_, GROUPS, strict=True))) == 2
    assert "weight of view shape" in (tmp_path / "out" / "report.html").read_text()
    code, _, err = run("predict", "out", "shape.npy", "--matrix", "noise.npy", "-o", "new.csv")
    assert code == 0, err
    pd.testing.assert_frame_equal(pd.read_csv("new.csv"), pd.read_csv("out/partition.csv"), atol=1e-9)
    assert run("report", "out")[0] == 0
    assert "--algorithm MECMdd" in run(*asked, "-o", "other")[2]
    assert "takes one file" in run(*asked, "--algorithm", "ECMdd", "-o", "other")[2]
    np.save("small.npy", rng.normal(size=(3, 3)))
    code, _, err = run(
        "cluster", "shape.npy", "--matrix", "small.npy", "-c", "2", "--algorithm", "mecmdd", "-o", "other"
    )
    assert (code, "has 24 x 24 cells and small.npy 3 x 3" in err) == (2, True)


@pytest.mark.parametrize("shape", ["wide", "long"])
def test_sequences_of_states(tmp_path, run, shape):
    rng = np.random.default_rng(0)
    paths = [["home", "ward", "ward", "home"] if g else ["home", "icu", "icu", "icu"] for g in GROUPS]
    rows = [[*path[:-1], path[-1] if rng.random() < 0.7 else "home"] for path in paths]
    wide = pd.DataFrame(rows, columns=["d1", "d2", "d3", "d4"])
    if shape == "wide":
        wide.insert(0, "patient", IDS)
        wide["kind"] = np.where(np.arange(len(wide)) % 2, "a", "b")
        wide.to_csv("paths.csv", index=False)
        how = ["--drop", "kind"]
    else:
        long = [(who, day, state) for who, row in zip(IDS, rows, strict=True) for day, state in enumerate(row)]
        pd.DataFrame(long, columns=["patient", "day", "state"]).to_csv("paths.csv", index=False)
        how = ["--id", "patient", "--time", "day", "--value", "state"]
    code, out, err = run("cluster", "paths.csv", *how, "--metric", "states", "-c", "2", "-o", "out", "--json")
    assert code == 0, err
    assert "24 sequences of up to 4 steps: home, icu, ward" in json.dumps(json.loads(out))
    partition = pd.read_csv("out/partition.csv")
    assert partition["id"].tolist() == IDS
    assert len(set(zip(partition["label"], GROUPS, strict=True))) == 2
    assert load_model("out").metric_.name == "states"
    lines = (tmp_path / "paths.csv").read_text().splitlines(keepends=True)
    (tmp_path / "one.csv").write_text("".join(lines[: 2 if shape == "wide" else 5]))
    for file in ("one", "paths"):
        code, _, err = run("predict", "out", f"{file}.csv", "-o", f"new-{file}.csv")  # columns as in the fit
        assert code == 0, err
        new = pd.read_csv(f"new-{file}.csv")
        pd.testing.assert_frame_equal(new, partition[: len(new)], atol=1e-9, check_dtype=False)
    assert run("report", "out")[0] == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda: pd.read_csv("vitals.csv").replace("p3", "q3").to_csv("vitals.csv", index=False),
            "has q3, which patients.csv",
        ),
        (
            lambda: pd.read_csv("patients.csv").replace("p3", "p4").to_csv("patients.csv", index=False),
            "repeats p4 (rows",
        ),
        (lambda: np.save("notes.npy", np.random.default_rng(1).normal(size=(5, 2))), "has 5 rows and patients.csv 24"),
        (lambda: np.save("notes.npy", np.zeros((N, 2, 2))), "one row of numbers per object"),
        (
            lambda: pd.DataFrame({"patient": IDS, "hour": np.arange(N) ** 2}).to_csv("vitals.csv", index=False),
            "a time column",
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
    code, out, err = run("cluster", "patients.csv", "--series", "vitals.csv", "--dry-run")
    assert code == 0, err
    assert "vitals.csv is matched with patients.csv by patient" in " ".join(out.split())
    pd.read_csv("patients.csv").drop(columns="patient").to_csv("nameless.csv", index=False)
    code, _, err = run("cluster", "nameless.csv", "--series", "vitals.csv", "-c", "2")
    assert code == 2
    assert "name the column that both have with --id" in " ".join(err.split())
    code, _, err = run(*ASKED, "--metric", "mixed")
    assert code == 2
    assert "each view gets its own metric" in " ".join(err.split())


def test_a_far_value_of_the_table_is_named_beside_series_and_scaled_as_asked(files, run):
    table = pd.read_csv("patients.csv")
    table.loc[5, "age"] = 9000
    table.to_csv("patients.csv", index=False)
    code, out, err = run(*ASKED, "--dry-run")
    assert code == 0, err
    said = " ".join(out.split())
    assert "Object p5 has 9000 in column 'age' of 'patients'" in said
    assert "--scale robust keeps it from setting the scale" in said
    code, out, err = run(*ASKED, "--scale", "robust", "-o", "out", "--json")
    assert code == 0, err
    assert "'patients' by mixed (numbers are scaled by their quartiles (--scale robust)); 'vitals' by softdtw" in out
    assert not json.loads(out)["warnings"]
    assert load_model("out").metric_.metrics["patients"].scaling == "robust"
    assert len(set(zip(pd.read_csv("out/partition.csv")["label"], GROUPS, strict=True))) == 2
    code, out, err = run("explain", "out", "--object", "p5")
    assert code == 0, err
    assert "mostly in age (100%)" in " ".join(out.split())
    assert "at: the group's value" in " ".join(out.split())
    assert "9000" in next(line for line in out.splitlines() if line.startswith("age"))
    code, out, err = run(*ASKED, "--scale", "none", "--dry-run", "--json")
    assert "'patients' by mixed (numbers are not scaled (--scale none))" in json.loads(out)["metric_reason"]
    assert not any("times as far out" in note for note in json.loads(out)["understood"]["notes"])
    assert "Did you mean robust?" in run(*ASKED, "--scale", "robusst")[2]


def test_an_embedding_with_ids_is_matched_by_them(files, run):
    frame = pd.DataFrame(np.load("notes.npy"), columns=["a", "b", "c"]).assign(patient=IDS)
    frame.iloc[::-1].iloc[:-1].to_csv("codes.csv", index=False)
    code, out, err = run("cluster", "patients.csv", "--id", "patient", "--embedding", "codes.csv", "-c", "2", "--json")
    assert code == 0, err
    assert "codes.csv lacks p0" in json.dumps(json.loads(out))


def test_channels_of_the_fit_are_those_of_a_prediction(files, run):
    vitals = pd.read_csv("vitals.csv")
    both = [
        vitals.assign(sign=name, pulse=vitals["pulse"] * factor) for name, factor in (("pulse", 1), ("pressure", 2))
    ]
    pd.concat(both).to_csv("signs.csv", index=False)
    long = ["--series", "signs.csv", "--id", "patient", "--time", "hour", "--value", "pulse", "--channel", "sign"]
    code, _, err = run("cluster", "patients.csv", *long, "-c", 2, "--n-init", 1, "-o", "out", "-q")
    assert code == 0, err
    code, _, err = run("predict", "out", "patients.csv", "--series", "signs.csv", "--id", "patient", "-o", "again.csv")
    assert code == 0, err
    assert pd.read_csv("again.csv")["set"].tolist() == pd.read_csv("out/partition.csv")["set"].tolist()
