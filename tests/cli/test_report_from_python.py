"""The page of a model's own ``report`` is the page the command writes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import SoftECM, load_model, read_table
from softecm.report import build

Run = Callable[..., tuple[int, str, str]]
OF_THE_FILE = re.compile(
    r'<section id="taken".*?</section>\n?|<li><a href="#taken">.*?</li>|<h3>Reproduce it in Python</h3>.*?(?=</section>)'
    r'|<div class="code"><button type="button" data-copy="line-command">.*?</div>|"command":".*?"',
    re.S,
)


@pytest.mark.parametrize("kind", ["table", "series"])
def test_python_and_the_command_write_the_same_page(run: Run, two_groups: Path, tmp_path: Path, kind: str) -> None:
    if kind == "table":  # without the far object: only the command says what to do about it
        lines = two_groups.read_text(encoding="utf-8").splitlines()
        two_groups.write_text("\n".join(line for line in lines if "far" not in line), encoding="utf-8")
        file, names = two_groups, pd.read_csv(two_groups, sep=";")["name"].tolist()
        X = pd.read_csv(two_groups, sep=";", decimal=",").drop(columns="name")
    else:
        wave = np.sin(np.linspace(0, 6, 12))
        X = np.stack([(wave if i % 2 else -wave) + 0.1 * np.cos(i) for i in range(14)])[:, :, None]
        file, names = tmp_path / "waves.npy", None
        np.save(file, X)
    code, _, err = run("cluster", file, "-c", 2, "-o", "found", "--n-init", 2, "-q")
    assert code == 0, err
    model = load_model("found/model.safetensors")
    model.report(X, "own.html", names=names, title=file.name)
    pages = [Path(name).read_text(encoding="utf-8") for name in ("found/report.html", "own.html")]
    assert OF_THE_FILE.search(pages[0])
    assert "How the file was read" not in pages[1]
    first, second = (re.sub(r"\n+", "\n", OF_THE_FILE.sub("", page)) for page in pages)
    assert first == second


def test_a_report_from_python_has_the_units_of_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    fee, rest = np.repeat([20.0, 90.0], 20) + rng.normal(0, 3, 40), np.repeat([5.0, 30.0], 20) + rng.normal(0, 1, 40)
    frame = pd.DataFrame({"fee": [f"£{v:.2f}" for v in fee], "rest": [f"{v:.1f} min" for v in rest]})
    data = read_table(frame).data
    assert data.attrs == {"units": {"fee": "£", "rest": "min"}}
    model = SoftECM(2, n_init=1, random_state=0).fit(data)
    model.report(data, tmp_path / "own.html")
    assert all(unit in (tmp_path / "own.html").read_text(encoding="utf-8") for unit in (" £", " min ("))
    assert "£" not in build(model, pd.DataFrame(dict(data))).html


def test_the_summary_of_a_streamed_file_has_the_keys_of_a_whole_one(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(0, 1, (700, 2)), rng.normal(9, 1, (700, 2))])
    file = tmp_path / "points.parquet"
    pd.DataFrame(points, columns=["u", "v"]).to_parquet(file, row_group_size=400)
    whole = json.loads(run("cluster", file, "-c", 2, "-o", "whole", "--json", "--n-init", 1)[1])
    parts = json.loads(run("cluster", file, "-c", 2, "-o", "parts", "--json", "--n-init", 1, "--memory", "100kB")[1])
    assert [key for key in parts if key in whole] == list(whole)
    assert set(parts) - set(whole) == {"seconds_a_round", "streamed", "sampled"}
    assert whole["objects_by_set"].keys() == parts["objects_by_set"].keys()


def test_a_folder_of_a_search_is_read_again(run: Run, two_groups: Path) -> None:
    assert run("cluster", two_groups, "-c", "auto", "-o", "found", "--n-init", 2, "-q")[0] == 0
    assert json.loads(Path("found/summary.json").read_text(encoding="utf-8"))["candidates"]
    code, _, err = run("report", "found")
    assert code == 0, err
