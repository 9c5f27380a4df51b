"""``softecm explain``: rules of a result folder."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from softecm import load_model

Run = Callable[..., tuple[int, str, str]]


def test_a_folder_is_explained(run: Run, two_groups: Path) -> None:
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "-q")[0] == 0
    assert "<h3>Rules</h3>" in Path("found/report.html").read_text(encoding="utf-8")
    code, out, err = run("explain", "found", "-o", "rules.json")
    assert code == 0, err
    assert "group 1: " in out
    assert "agreement with the groups" in " ".join(out.split())
    assert json.loads(Path("rules.json").read_text(encoding="utf-8"))["tree"]
    code, out, _ = run("explain", "found", two_groups, "--lam", "0", "--json", "-o", "rules.png")
    assert code == 0
    assert json.loads(out)["lam"] == "0.0"
    assert Path("rules.png").read_bytes().startswith(b"\x89PNG")


def test_rules_of_sequences_count_their_steps_from_1(run: Run) -> None:
    rng = np.random.default_rng(0)
    paths = [["home", *["blog" if i % 2 else "shop"] * 3, rng.choice(["home", "help"])] for i in range(40)]
    frame = pd.DataFrame(paths, columns=[f"at {k}" for k in range(5)])
    frame.to_csv("paths.csv", index_label="visit")
    made = run("cluster", "paths.csv", "--metric", "states", "-c", 2, "-o", "paths", "-q", "--n-init", 1)
    assert made[0] == 0, made[2]
    code, out, err = run("explain", "paths")
    assert code == 0, err
    assert re.search(r"group \d: step [234] is (blog|shop)", out)


def test_what_can_be_mended_is_said(run: Run, two_groups: Path) -> None:
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "-q", "--no-values")[0] == 0
    assert "<h3>Rules</h3>" not in Path("found/report.html").read_text(encoding="utf-8")
    Path("short.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    Path("rules.txt").touch()
    for arguments, message in (
        (("found",), "rules quote cells"),
        (("found", "-o", "rules.doc"), "--output must end in .txt"),
        (("found", "-o", "rules.txt"), "rules.txt already exists"),
        (("found", "short.csv"), "table must hold the partition's 42 objects"),
        (("found", two_groups, "--lam", "nan"), "lam must be a number"),
        (("nothing",), "nothing is not a folder"),
    ):
        code, _, err = run("explain", *arguments)
        assert code == 2
        assert message in " ".join(err.split())


def test_a_file_that_is_gone_is_asked_for(run: Run, two_groups: Path) -> None:
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "-q")[0] == 0
    two_groups.unlink()
    code, _, err = run("explain", "found")
    assert code == 2
    assert "give a table of the same objects" in " ".join(err.split())


def test_an_object_that_a_link_has_moved_is_explained_where_it_is(run: Run, two_groups: Path) -> None:
    Path("links.csv").write_text("far,n0,together\n", encoding="utf-8")
    made = run("cluster", two_groups, "-c", 2, "-o", "found", "-q", "--links", "links.csv", "--link-weight", 1000)
    assert made[0] == 0, made[2]
    (row,) = re.findall('"far".*', Path("found/partition.csv").read_text(encoding="utf-8"))
    assert '"clearly"' in row
    assert "far clearly belongs to" in run("explain", "found", "--object", "far")[1]


def test_one_object_is_explained(run: Run, two_groups: Path) -> None:
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "-q")[0] == 0
    code, out, err = run("explain", "found", "--object", "far")
    assert code == 0, err
    assert "far" in out.splitlines()[0]
    assert "weight" in out
    assert len(re.findall(r"to group [12], not group [12]", out)) == 1  # the pull to the other is its negative
    code, out, _ = run("explain", "found", "--object", "far", "--json")
    told = json.loads(out)
    assert (code, told["object"]) == (0, "far")
    assert "weight" in [row["column"] for row in told["columns"]]
    code, _, err = run("explain", "found", "--object", "farr")
    assert code == 2
    said = " ".join(err.split())
    assert "--object farr matches none of the 42 objects of found: give its id, such as n0 or n1, or its row" in said
    assert said.endswith("Did you mean far?")
    for row in ("42", "row 42", "Row42"):  # an object with an id is found by its row, too
        assert json.loads(run("explain", "found", "--object", row, "--json")[1])["object"] == "far"
    assert run("explain", "found", "--object", "row 43")[0] == 2
    two_groups.unlink()
    code, _, err = run("explain", "found", "--object", "far")
    assert code == 2
    assert "reasons need its objects" in " ".join(err.split())


def test_a_row_is_that_of_the_file_and_an_id_comes_first(run: Run, tmp_path: Path) -> None:
    """Of these ids, 7 is in row 1; row 3 has no value and is left out."""
    ids = [7, 9, "none", *range(100, 112)]
    lines = [f"{name},{'' if name == 'none' else 5.0 * (i % 2) + 0.1 * i}" for i, name in enumerate(ids)]
    Path("t.csv").write_text("\n".join(["code,size", *lines]) + "\n", encoding="utf-8")
    assert run("cluster", "t.csv", "-c", 2, "-o", "found", "--n-init", 1, "-q", "--id-column", "code")[0] == 0
    told = {name: run("explain", "found", "--object", name, "--json")[1] for name in ("7", "row 7", "4")}
    assert {name: json.loads(out)["object"] for name, out in told.items()} == {"7": "7", "row 7": "103", "4": "100"}
    assert run("explain", "found", "--object", "row 3")[0] == 2


def test_a_matrix_of_words_that_repeat_keeps_its_words(run: Run, rng: np.random.Generator) -> None:
    words = ["saw", "saws", "saw", "drill", *(f"drill{i}" for i in range(9)), *(f"saw{i}" for i in range(9))]
    places = np.array([[9.0 * word.startswith("saw"), 0.0] for word in words]) + rng.random((len(words), 2))
    apart = np.sqrt(((places[:, None] - places) ** 2).sum(-1))
    rows = [",".join([word, *(f"{d:.6f}" for d in row)]) for word, row in zip(words, apart, strict=True)]
    Path("words.csv").write_text("\n".join([",".join(["", *words]), *rows]) + "\n", encoding="utf-8")
    options = ("-c", 2, "-o", "found", "--n-init", 1, "--metric", "precomputed", "--json")
    code, out, err = run("cluster", "words.csv", *options)
    assert code == 0, err
    assert "feature names" not in err
    assert json.loads(out)["understood"]["columns"][0]["kind"] == "id"
    code, out, err = run("explain", "found", "--object", "saw (2)")
    assert code == 0, err
    assert out.startswith("saw (2) ")


def test_stretches_of_a_series_have_no_empty_column(run: Run, rng: np.random.Generator) -> None:
    series = np.sin(np.linspace(0, 6, 20) + 2.0 * (np.arange(12) % 2)[:, None]) + 0.1 * rng.normal(size=(12, 20))
    np.save("s.npy", series[..., None])
    assert run("cluster", "s.npy", "-c", 2, "-o", "found", "--n-init", 1, "-q", "--metric", "series-euclidean")[0] == 0
    code, out, err = run("explain", "found", "--object", "3")
    assert code == 0, err
    assert out.startswith("Series 3 ")
    assert "X[2]" not in out  # that is how Python finds it
    assert "steps" in out
    assert "value" not in out
    assert "how much closer the stretch puts it" in " ".join(out.split())


def test_neither_rules_nor_sentences_tell_groups_by_a_column_that_was_set_aside(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 40)
    table = pd.DataFrame({"size": 9.0 * kind + rng.normal(size=120), "age": 5.0 * (kind == 1) + rng.normal(size=120)})
    table["shape"] = np.array(["round", "square", "long"])[kind]
    table["luck"] = rng.normal(size=120) + 0.4 * (kind == 2)
    table.to_csv(tmp_path / "things.csv", index=False)
    told = json.loads(run("cluster", tmp_path / "things.csv", "-c", 3, "-o", "found", "--json", "-q")[1])
    assert load_model("found/model.safetensors").model_.metric.feature_weights["luck"] == 0
    assert told["set_aside"] == ["luck"]
    assert all("luck" not in sentence for sentence in told["group_sentences"].values())
    assert "luck" not in run("explain", "found")[1]
