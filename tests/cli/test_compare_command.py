"""``softecm compare``: two result folders side by side."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

Run = Callable[..., tuple[int, str, str]]


def test_two_folders_are_compared(run: Run, two_groups: Path) -> None:
    lines = two_groups.read_text(encoding="utf-8").splitlines()
    other = Path("turned.csv")
    other.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n", encoding="utf-8")
    Path("fewer.csv").write_text("\n".join(lines[:-4]) + "\n", encoding="utf-8")
    Path("few.csv").write_text("\n".join([lines[0], *(f"m{line}" for line in lines[9:])]) + "\n", encoding="utf-8")
    Path("rows.csv").write_text("\n".join(line.partition(";")[2] for line in lines[:-4]) + "\n", encoding="utf-8")
    files = {"a": two_groups, "b": other, "c": "fewer.csv", "few": "few.csv", "rows": "rows.csv"}
    for folder, file in files.items():
        assert run("cluster", file, "-c", 2, "-o", folder, "--n-init", 1, "-q")[0] == 0
    code, out, err = run("compare", "a", "b")
    assert code == 0, err
    assert "Of 42 objects, 0 (0%) are in another set in b." in out  # whatever the order of the rows
    assert "<h1" in Path("compare.html").read_text(encoding="utf-8")
    code, out, _ = run("compare", "a", "b", "-o", "again.html", "--json")
    assert (code, json.loads(out)["scores"]["same set"]["value"]) == (0, 1.0)
    assert "--groups" not in run("compare", "c", "a", "-o", "most.html")[1]  # 38 of 42 objects are enough
    code, out, err = run("compare", "c", "a", "-o", "later.html", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["n_objects"], facts["n_gone"], facts["n_new"]) == (38, 0, 4)
    assert facts["sentences"][0].startswith("Of 38 objects in both, ")
    assert facts["sentences"][1] == "0 are only in c and 4 are new in a: they are not compared."
    Path("old").mkdir()
    Path("a").rename("old/b")
    code, out, err = run("compare", "old/b", "b", "-o", "paths.html")
    assert (code, "are in another set in b." in out) == (0, True), err
    Path("new").mkdir()
    Path("b").rename("new/b")
    code, out, err = run("compare", "old/b", "new/b", "-o", "named.html")
    assert (code, "are in another set in new/b." in out) == (0, True), err  # both are called b
    Path("old/b").rename("a")
    Path("new/b").rename("b")
    for arguments, message in (
        (("a", "b"), "compare.html already exists"),
        (("a", "nothing", "-o", "new.html"), "nothing is not a folder"),
    ):
        code, _, err = run("compare", *arguments)
        assert code == 2
        assert message in " ".join(err.split())
    for folder in ("few", "rows"):  # other ids, and none: groups are matched by prototypes
        code, out, err = run("compare", "a", folder, "-o", f"{folder}.html", "--json")
        assert code == 0, err
        facts = json.loads(out)
        assert {one["word"] for one in facts["groups"]} <= {"same", "shrunk"}
        assert all(one["distance"] < 1 for one in facts["groups"])
        assert "matched by their prototypes" in Path(f"{folder}.html").read_text(encoding="utf-8")
    Path("half.csv").write_text("\n".join(lines[:32]) + "\n", encoding="utf-8")
    assert run("cluster", "half.csv", "-c", 2, "-o", "half", "--n-init", 1, "-q")[0] == 0
    code, out, err = run("compare", "a", "half", "-o", "half.html")
    assert code == 0, err
    hint = "share only 74% of their objects; compare the groups themselves: softecm compare a half --groups"
    assert hint in " ".join(out.split())
    assert json.loads(run("compare", "a", "b", "-o", "g.html", "--groups", "--json")[1])["moved"] == 0
    Path("few.csv").unlink()
    code, _, err = run("compare", "a", "few", "-o", "x.html")
    assert code == 2
    assert "groups of different objects are matched by their spread" in " ".join(err.split())


def test_a_group_that_vanishes_has_no_distance_in_json(run: Run) -> None:
    rng, kind = np.random.default_rng(0), np.arange(90) % 3
    frame = pd.DataFrame({"age": 20.0 * kind + rng.normal(0, 1, 90), "fee": 30.0 * (kind == 2) + rng.normal(0, 1, 90)})
    frame.to_csv("all.csv", index=False)
    frame[kind < 2].to_csv("two.csv", index=False)
    for file, c in (("all", 3), ("two", 2)):
        assert run("cluster", f"{file}.csv", "-c", c, "-o", file, "--n-init", 1, "-q")[0] == 0
    for one, other, word in (("all", "two", "vanished"), ("two", "all", "appeared")):
        code, out, err = run("compare", one, other, "--groups", "--json", "-o", f"{word}.html")
        assert code == 0, err
        words = {group["word"]: group["distance"] for group in json.loads(out, parse_constant=pytest.fail)["groups"]}
        assert words[word] is None
        assert words["same"] < 1
