"""Edited result folders: every command works, or says in a sentence what is inconsistent."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from hostile.commands import check_end, softecm
from problems import DEEP

ODD = [
    None,
    7,
    -1.5,
    "odd",
    [],
    {},
    [None],
    [["odd"]],
    {"odd": "odd"},
    {"odd": {"odd": [1]}},
    [[0], [7]],
    True,
    "ω" * 300,
]
COMMANDS = {
    "report": lambda folder: ("report", folder, "-o", folder / "again.html"),
    "rename": lambda folder: ("rename", folder, "ω1=first"),
    "explain": lambda folder: ("explain", folder),
    "compare": lambda folder: ("compare", folder, folder, "-o", folder / "compared.html"),
    "predict": lambda folder: ("predict", folder, folder.parent / "table.csv", "-o", folder / "predicted.csv"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("edited")
    rng = np.random.default_rng(0)
    table = {"id": [f"n{k}" for k in range(30)], "a": np.repeat([0.0, 9.0], 15) + rng.normal(size=30)}
    pd.DataFrame(table | {"b": rng.normal(size=30), "c": ["red", "blue"] * 15}).to_csv(top / "table.csv", index=False)
    assert softecm("cluster", top / "table.csv", "-c", 2, "-o", top / "out", "--seed", 0, "--quiet").code == 0
    return top / "out"


def check_all(folder, commands, hostile_case, files):
    """Run each command with these files instead of the folder's own."""
    for name in commands:
        copy = folder.parent / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        for file, content in files.items():
            (copy / file).write_text(content, encoding="utf-8")
        hostile_case()
        check_end(softecm(*COMMANDS[name](copy)))


def test_any_entry_of_the_summary_may_be_odd(folder, hostile_case):
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    cases = [(key, value) for key in summary for value in ODD]
    rng = np.random.default_rng(0)
    for k in range(len(cases)) if DEEP else rng.choice(len(cases), 40, replace=False):
        key, value = cases[k]
        commands = COMMANDS if DEEP else [list(COMMANDS)[k % len(COMMANDS)]]
        check_all(folder, commands, hostile_case, {"summary.json": json.dumps(summary | {key: value})})


def test_entries_of_entries_may_be_odd(folder, hostile_case):
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    inner = [(key, one) for key, value in summary.items() if isinstance(value, dict) for one in value]
    for k, (key, one) in enumerate(inner):
        for value in ODD if DEEP else [ODD[k % len(ODD)]]:
            changed = summary | {key: summary[key] | {one: value}}
            check_all(folder, COMMANDS if DEEP else ["report"], hostile_case, {"summary.json": json.dumps(changed)})


@pytest.mark.parametrize(
    "files",
    [
        {"summary.json": "[" * 100_000},
        {"summary.json": "{" + '"a": {' * 50_000},
        {"summary.json": '{"focal_sets": 1e999}'},
        {"summary.json": ""},
        {"partition.csv": ""},
        {"partition.csv": "id,m(∅),m(ω1),m(ω2),m(Ω)\n"},
        {"partition.csv": "id,m(∅),m(ω1),m(ω2),m(Ω)\nn0,0,0,0,0\n"},
        {"partition.csv": "id,m(∅),m(ω1),m(ω2),m(Ω)\nn0,-1,2,0,0\n"},
        {"partition.csv": "id,m(∅),m(ω1),m(ω2),m(Ω)\nn0,,,,\n"},
        {"partition.csv": "id,m(∅),m(ω1),m(ω2),m(Ω)\nn0,inf,0,0,0\n"},
        {"partition.csv": "\x00\x01"},
    ],
    ids=range(11),
)
def test_files_that_are_empty_deep_or_cut(folder, hostile_case, files):
    check_all(folder, COMMANDS, hostile_case, files)


def test_a_table_of_fewer_objects_is_another_table(folder):
    lines = (folder / "partition.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    summary = (folder / "summary.json").read_text(encoding="utf-8")
    assert '"n_objects": 30' in summary
    for files, said in (
        ({"partition.csv": "".join(lines[:9])}, "partition.csv does not match the summary.json"),
        ({"summary.json": summary.replace('"n_objects": 30', '"n_objects": "many"')}, "its entry 'n_objects' has"),
        ({"summary.json": summary.replace('"n_objects": 30', '"n_objects": NaN')}, "summary.json is damaged"),
        ({"summary.json": summary.replace('"n_objects": 30', '"n_objects": 1e999')}, "summary.json is damaged"),
    ):
        copy = folder.parent / "fewer"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        for file, content in files.items():
            (copy / file).write_text(content, encoding="utf-8")
        for name in ("report", "rename"):
            ended = softecm(*COMMANDS[name](copy))
            assert ended.code == 2
            assert said in " ".join(ended.err.split())
