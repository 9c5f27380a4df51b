"""``softecm rename``: names that stay in a result folder."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
FILES = ("partition.csv", "summary.json", "report.html")


def texts(folder: str) -> dict[str, str]:
    return {name: Path(folder, name).read_text(encoding="utf-8") for name in FILES}


def test_groups_are_named_afterwards_and_everywhere(run: Run, two_groups: Path) -> None:
    """As if they had been named in the fit."""
    pd = pytest.importorskip("pandas")
    found = ("cluster", two_groups, "-c", 2, "--n-init", 1, "-q", "--with-columns", "all", "--parquet")
    names = '=calm, the "busy" one'
    assert run(*found, "-o", "found")[0] == 0
    assert run(*found, "-o", "named", "--names-of-clusters", names)[0] == 0
    assert run("rename", "found", "first, another", "-q")[0] == 0
    assert "bel(another)" in texts("found")["partition.csv"]
    code, out, err = run("rename", "found", names)
    assert code == 0, err
    assert "=calm" in out
    after, wanted = texts("found"), texts("named")
    assert after["partition.csv"] == wanted["partition.csv"]
    facts = [json.loads(one["summary.json"]) for one in (after, wanted)]
    assert [one.pop("seconds") for one in facts]
    assert facts[0] == facts[1]
    assert not re.search(r"ω|(?<!no )group \d|Group \d", after["report.html"])
    tables = [pd.read_parquet(f"{folder}/partition.parquet") for folder in ("found", "named")]
    pd.testing.assert_frame_equal(*tables)
    assert run("predict", "found", two_groups, "-o", "new.csv", "-q")[0] == 0
    assert set(pd.read_csv("new.csv").label) == {"'=calm", 'the "busy" one'}
    assert "=calm" in run("explain", "found", "--object", "n1")[1]


def test_the_sentence_of_each_group_is_on_the_screen_and_on_the_page_and_takes_new_names(
    run: Run, two_groups: Path
) -> None:
    code, out, _ = run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "--seed", 0)
    told = json.loads(texts("found")["summary.json"])["group_sentences"]
    assert code == 0
    for group in ("ω1", "ω2"):
        assert told[group].startswith(f"{group.replace('ω', 'Group ')} has 20 objects (48%): ")
        assert told[group].split("(others")[0] in " ".join(out.split())
        assert f'<p dir="auto">{told[group]}</p>' in texts("found")["report.html"]
    two_groups.unlink()  # new names need no file
    assert run("rename", "found", "ω2,ω1", "-q")[0] == 0
    after = json.loads(texts("found")["summary.json"])["group_sentences"]
    assert after["ω2"] == told["ω1"].replace("Group 1", "ω2", 1)
    assert after["ω1"] == told["ω2"].replace("Group 2", "ω1", 1)


def test_outliers_keep_their_order(run: Run, two_groups: Path) -> None:
    """Far ones all have 1.000000 on the empty set in partition.csv."""
    with two_groups.open("a", encoding="utf-8") as file:
        places = ((-50, 0), (0, 60), (70, 0), (0, -80), (-90, 0))
        file.writelines(f"out{k};{x},0;{y},0;blue\n" for k, (x, y) in enumerate(places))
    found = ("cluster", two_groups, "-c", 2, "-q", "--metric", "sqeuclidean", "--drop", "colour")
    assert run(*found, "--delta", 5, "--seed", 0, "-o", "found")[0] == 0
    told = json.loads(texts("found")["summary.json"])["sentences"][2]
    assert "farthest out: out4, out3 and " in told
    assert run("report", "found", "-q")[0] == 0
    assert told in texts("found")["report.html"]
    assert run("rename", "found", "a,b", "-q")[0] == 0
    assert told in texts("found")["report.html"]
    assert json.loads(texts("found")["summary.json"])["sentences"][2] == told


def test_one_of_them_is_named_and_the_names_change_again(run: Run, two_groups: Path) -> None:
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "-q")[0] == 0
    before = texts("found")
    assert run("rename", "found", "ω2=busy", "-q")[:2] == (0, "")
    assert json.loads(texts("found")["summary.json"])["cluster_names"] == ["ω1", "busy"]
    assert "bel(busy)" in texts("found")["partition.csv"]
    assert run("rename", "found", "1=calm,busy=loud", "-q")[:2] == (0, "")
    assert json.loads(texts("found")["summary.json"])["cluster_names"] == ["calm", "loud"]
    code, out, _ = run("rename", "found", "ω1,ω2", "--json")
    assert (code, json.loads(out)["cluster_names"]) == (0, ["ω1", "ω2"])
    assert texts("found")["partition.csv"] == before["partition.csv"]
    for names, message in (("a", "2"), ("a,a", "a"), ("ω3=c", "They are called ω1, ω2."), ("3=c", "got '3'")):
        code, _, err = run("rename", "found", names)
        assert code == 2
        assert message in err
    assert texts("found")["partition.csv"] == before["partition.csv"]


def test_names_do_not_bring_values_back(run: Run, two_groups: Path) -> None:
    """A folder without cells stays without; where the file is gone the rest is named."""
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "-q", "--no-values")[0] == 0
    assert run("rename", "found", "calm,busy", "-q")[0] == 0
    assert "between" not in texts("found")["partition.csv"].splitlines()[-2].split(",")[0]
    assert not any("n12" in text for text in texts("found").values())
    two_groups.unlink()
    code, out, _ = run("rename", "found", "a,b")
    assert code == 0
    assert "The original file is missing" in " ".join(out.split())
    assert json.loads(texts("found")["summary.json"])["objects_by_set"].keys() >= {"a", "b"}
