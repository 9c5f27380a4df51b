"""Series on the command line: how their views count is shown, and the rest goes its usual way."""

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.cli.conftest import Run

from softecm import load_model


def waves(rng: np.random.Generator) -> None:
    """Sines of two speeds at any phase, in a file."""
    speeds = np.repeat([[1.5], [4.0]], 9, axis=0)
    X = np.sin(2 * np.pi * (speeds * np.arange(24) / 24 + rng.random((18, 1))))
    np.save("waves.npy", X[:, :, None] + 0.1 * rng.normal(size=(18, 24, 1)))


def test_how_views_count_is_shown(run: Run, rng: np.random.Generator) -> None:
    waves(rng)
    code, out, err = run("cluster", "waves.npy", "-c", 2, "-o", "found", "--n-init", 2)
    assert code == 0, err
    told = " ".join(out.split())
    assert re.search(r"metric: combined \(series are compared by shape.*, slope.* and texture of", told)
    said, shown = re.search(r"groups: ([\d.]+) of 1[,;]", told), re.search(r"\(used\) +([\d.]+)", out)
    assert said is not None
    assert shown is not None
    assert said[1] == shown[1]
    assert all(f"texture of {name}" in out for name in ("short patterns", "frequencies"))
    assert "level and amplitude" in json.dumps(json.loads(Path("found/summary.json").read_text()))
    assert run("predict", "found", "waves.npy", "-o", "new.csv", "-q")[0] == 0
    code, out, err = run("cluster", "waves.npy", "-c", "2-3", "-o", "some", "--n-init", 2, "--metric", "series-auto")
    assert code == 0, err
    assert "texture of frequencies" in out


def test_channels_and_times_keep_their_names(run: Run, rng: np.random.Generator) -> None:
    lines = [
        f"p{i},2024-01-{day:02d},{np.sin(day + 2 * (i % 2)) + 0.1 * rng.normal()},{i % 2 + 0.1 * rng.normal()}"
        for i in range(12)
        for day in range(1, 9)
    ]
    Path("long.csv").write_text("\n".join(["who,day,pulse,heat", *lines]))
    where = ("--id", "who", "--time", "day", "--value", "pulse,heat")
    code, _, err = run("cluster", "long.csv", *where, "-c", 2, "-o", "found", "--n-init", 2)
    assert code == 0, err
    page = Path("found/report.html").read_text()
    assert '"channels":["pulse","heat"]' in page
    assert "day, 2024-01-01 to 2024-01-08" in page
    assert "pulse at step 1 " in page
    assert "channel 1" not in page
    rules = run("explain", "found")[1]
    assert "channel" not in rules
    assert "heat at " in rules or "pulse at " in rules


def test_new_series_are_read_as_the_first_were(run: Run, rng: np.random.Generator) -> None:
    who, day = np.repeat([f"p{i}" for i in range(12)], 8), np.tile(np.arange(8), 12)
    group = np.repeat(np.arange(12) % 2, 8)
    pulse, heat = np.sin(day + 2 * group) + 0.1 * rng.normal(size=96), group + 0.1 * rng.normal(size=96)
    frame = pd.DataFrame({"who": who, "day": day, "pulse": pulse, "heat": heat})
    frame.to_csv("long.csv", index=False)
    where = ("--id", "who", "--time", "day", "--value")
    assert run("cluster", "long.csv", *where, "3,4", "-c", 2, "-o", "found", "--n-init", 2, "-q")[0] == 0
    frame[["who", "day", "heat", "pulse"]].to_csv("swapped.csv", index=False)
    frame.rename(columns={"who": "patient"}).to_csv("renamed.csv", index=False)
    for file, said in (("long", (*where, "pulse,heat")), ("swapped", ()), ("renamed", ("--id", "patient"))):
        code, _, err = run("predict", "found", f"{file}.csv", *said, "-o", f"{file}-new.csv", "-q")
        assert code == 0, err
        assert Path(f"{file}-new.csv").read_text() == Path("long-new.csv").read_text()
    code, _, err = run("predict", "found/model.safetensors", "long.csv", "-o", "no.csv")
    assert (code, "long.csv was read as a table: add --id, --time and --value" in " ".join(err.split())) == (2, True)


def test_the_code_in_the_report_runs_and_fits_the_same(run: Run, rng: np.random.Generator) -> None:
    waves(rng)
    code, _, err = run("cluster", "waves.npy", "-c", "2-3", "-o", "found", "--n-init", 2, "--seed", 0)
    assert code == 0, err
    page = Path("found/report.html").read_text()
    snippet = page.split("<h3>Reproduce it in Python</h3>")[1].split("<code")[1].split(">", 1)[1].split("</code>")[0]
    assert "..." not in html.unescape(snippet)
    names: dict[str, Any] = {}
    exec(html.unescape(snippet).split("# or, without fitting again")[0], names)
    np.testing.assert_allclose(names["model"].partition_.masses, load_model("found").partition_.masses, atol=1e-9)


def test_a_sweep_takes_it_too(run: Run, rng: np.random.Generator) -> None:
    waves(rng)
    code, out, err = run("sweep", "waves.npy", "-c", "2", "--beta", "1.2,1.5", "-o", "swept", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["metric"] == "combined"
    assert "series are compared by shape" in found["metric_reason"]


def test_a_table_is_refused(run: Run, two_groups: Path) -> None:
    code, _, err = run("cluster", two_groups, "-c", 2, "--metric", "series-auto")
    assert code == 2
    assert "must have a column for every step of the series" in " ".join(err.split())
    sparse.save_npz("sparse.npz", sparse.csr_array(np.eye(9)))
    code, _, err = run("cluster", "sparse.npz", "-c", 2, "--metric", "series-auto")
    assert code == 2
    assert "neither a sparse matrix nor a file read block by block is read as series" in " ".join(err.split())


def columns(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """A time and a column for each wave, of two speeds in turn."""
    minutes = np.arange(30)
    speeds = {f"pump {i}": (0.3, 0.9)[i % 2] for i in range(n)}
    waves = {name: np.sin(speed * minutes) + 0.1 * rng.normal(size=30) for name, speed in speeds.items()}
    return pd.DataFrame({"minute": minutes, **waves})


@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_the_command_for_a_wide_table_works_as_it_stands(run: Run, rng: np.random.Generator, layout: str) -> None:
    for file, n in (("wide", 12), ("new", 3)):
        frame = columns(rng, n)
        if layout == "rows":
            frame = frame.set_index("minute").T.add_prefix("t").rename_axis("pump", axis=0).reset_index()
        frame.to_csv(f"{file}.csv", index=False, float_format="%.4f")
    code, out, err = run("cluster", "wide.csv", "--dry-run")
    assert code == 0, err
    (command,) = [line.strip() for line in out.splitlines() if line.strip().startswith("softecm cluster")]
    assert ("--time minute" if layout == "columns" else "--metric series-auto") in command
    code, out, err = run(*shlex.split(command.replace("--dry-run", "-c 2 -o found --n-init 2"))[1:])
    assert code == 0, err
    assert "12 series of 30 steps" in out
    table = pd.read_csv("found/partition.csv")
    assert table["id"].tolist() == [f"pump {i}" for i in range(12)]
    groups = table["label"].to_numpy()
    assert len(set(groups[::2])) == len(set(groups[1::2])) == 1
    assert groups[0] != groups[1]
    assert "pump 11" in Path("found/report.html").read_text()
    code, out, err = run("predict", "found", "new.csv", "-o", "new-partition.csv")
    assert code == 0, err
    new = pd.read_csv("new-partition.csv")
    assert new["id"].tolist() == ["pump 0", "pump 1", "pump 2"]
    assert new["label"].tolist() == [groups[0], groups[1], groups[0]]


@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_no_values_hides_the_names_of_wide_series(run: Run, rng: np.random.Generator, layout: str) -> None:
    frame = columns(rng, 12).assign(**{"pump 99": "broken"})
    options: tuple[str, ...] = ("--time", "minute")
    if layout == "rows":
        options = ("--metric", "series-auto")
        frame = frame.drop(columns="pump 99").set_index("minute").T.add_prefix("t").rename_axis("who").reset_index()
    frame.to_csv("wide.csv", index=False)
    code, out, err = run("cluster", "wide.csv", "-c", 2, *options, "--n-init", 2, "--no-values")
    assert code == 0, err
    for text in (out, *(Path("wide-softecm", name).read_text() for name in ("report.html", "summary.json"))):
        assert "pump " not in text
    assert run("predict", "wide-softecm", "wide.csv", "-q")[0] == 0
    assert pd.read_csv("wide-partition.csv")["id"].tolist() == [f"pump {i}" for i in range(12)]
