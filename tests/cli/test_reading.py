"""The command line on files as people have them."""

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

Run = Callable[..., tuple[int, str, str]]
SALES = 60


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    """Orders with an id, dates, thousands, money and a slip: small ones and large ones."""
    rng = np.random.default_rng(0)
    rows = ["Order ID,Date,Units,Revenue,Label"]
    for i in range(SALES):
        size = (1_000 if i % 2 else 30_000) * rng.uniform(0.8, 1.2)
        day = pd.Timestamp("2024-01-10") + pd.Timedelta(days=5 * i)
        units = "lost" if i == 7 else f"{int(size / 3):,}"
        rows.append(f'{100_234 + 3 * i},{day:%m/%d/%Y},"{units}","${size:,.2f}",{"a" if i % 2 else "b"}')
    path = tmp_path / "sales.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_dry_run_shows_every_column_and_writes_nothing(run: Run, sales: Path) -> None:
    code, out, err = run("cluster", sales, "--dry-run")
    assert code == 0, err
    for part in (
        "an id by its name",
        "month/day/year",
        "comma between thousands",
        "in $",
        "lost (row 8)",
        "metric: mixed",
    ):
        assert part in out
    assert [path.name for path in Path().iterdir()] == ["sales.csv"]


@pytest.mark.parametrize("width", ["30", "60", "200"])
def test_every_column_is_shown_at_any_width(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    rows = [",".join(str((i * (j + 3)) % 17 + j) for j in range(25)) for i in range(20)]
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{j:02d}" for j in range(25)) + "\n" + "\n".join(rows) + "\n")
    code, out, _ = run("cluster", wide, "--dry-run")
    assert code == 0
    assert all(f"c{j:02d}" in out for j in range(25))


def test_very_many_columns_of_one_kind_are_one_line(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(12, 200)))
    code, out, _ = run("cluster", "x.npy", "--dry-run")
    assert code == 0
    assert "column 1 … column 200 (200 columns)" in out


def test_a_dry_run_for_machines(run: Run, sales: Path) -> None:
    code, out, _ = run("cluster", sales, "--dry-run", "--json", "--scale", "robust")
    found = json.loads(out)
    assert (code, found["n_objects"], found["metric"]) == (0, SALES, "mixed")
    assert {c["name"]: c["kind"] for c in found["understood"]["columns"]}["Date"] == "date"
    assert "quartiles" in found["metric_reason"]


def test_the_number_of_groups_is_asked_for(run: Run, sales: Path) -> None:
    code, _, err = run("cluster", sales)
    assert (code, "-c 3, -c 2-12 or -c auto" in err) == (2, True)


def test_names_and_columns_go_through_every_file(run: Run, sales: Path) -> None:
    names = ("--names-of-clusters", "small,large", "--with-columns", "all")
    code, out, err = run("cluster", sales, "-c", 2, "-o", "found", "--n-init", 2, *names)
    assert code == 0, err
    assert "to small and" in out
    assert "to large" in out
    table = pd.read_csv("found/partition.csv")
    assert list(table.columns[:6]) == ["id", "Date", "Units", "Revenue", "Label", "label"]
    assert table["Revenue"].str.startswith("$").all()
    assert set(table["label"]) == {"small", "large"}
    summary = json.loads(Path("found/summary.json").read_text())
    assert summary["cluster_names"] == ["small", "large"]
    assert set(summary["objects_by_set"]) >= {"small", "large"}
    page = Path("found/report.html").read_text()
    assert "to large" in page
    assert "2024-" in page
    assert "ω1" not in page
    code, _, err = run("predict", "found", sales, "-o", "new.csv", "--with-columns", "Units")
    assert code == 0, err
    again = pd.read_csv("new.csv")
    assert again["label"].tolist() == table["label"].tolist()
    assert list(again.columns[:3]) == ["id", "Units", "label"]
    code, out, _ = run("report", "found", "--json")
    assert (code, json.loads(out)["source_read"]) == (0, True)
    assert "to large" in Path("found/report.html").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--names-of-clusters", "small"), "--names-of-clusters: names must have one entry for each of the 2 clusters"),
        (("--with-columns", "nope"), "--with-columns nope is not a column of the file"),
        (("--scale", "big"), "--scale must be one of auto, standard, robust, none; got big"),
        (("--scale", "none", "--metric", "euclidean"), "--scale none goes with --metric auto or mixed"),
        (("--metric", "softdtw"), "must have a column for every step of the series, such as t1, t2, t3, or a row"),
        (("--names", "a,b"), "--names must name each of the 5 columns"),
        (("--dates", "nope"), "--dates must name a column"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_sentence_before_any_fit(
    run: Run, sales: Path, options: tuple[str, ...], said: str
) -> None:
    code, _, err = run("cluster", sales, "-c", 2, "-o", "found", *options)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert not Path("found").exists()


def test_columns_beside_and_table_metrics_are_refused_for_series(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", np.random.default_rng(0).normal(size=(6, 5, 1)))
    for options, said in (
        (("--with-columns", "all"), "is for tables"),
        (("--scale", "robust"), "is for tables"),
        (("--metric", "mixed"), "the file holds series"),
    ):
        code, _, err = run("cluster", "s.npy", "-c", 2, *options)
        assert (code, said in err) == (2, True), err


def test_scaling_is_as_asked(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30) * 100})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = {}
    for scale in ("auto", "standard", "none", "robust"):
        code, out, err = run("cluster", "t.csv", "--dry-run", "--json", "--scale", scale)
        assert code == 0, err
        found[scale] = json.loads(out)["metric"]
    assert found == {"auto": "mixed", "standard": "mixed", "none": "sqeuclidean", "robust": "mixed"}


def test_json_on_the_screen_is_json(run: Run, sales: Path) -> None:
    run("cluster", sales, "-c", 2, "-o", "found", "--n-init", 2, "-q")
    code, out, _ = run("predict", "found", sales, "-o", "-", "--json")
    found = json.loads(out)
    assert (code, len(found["objects"]), found["file"]) == (0, SALES, None)
    assert {"id", "label", "m(∅)"} <= set(found["objects"][0])


def test_both_commands_call_the_column_of_classes_alike(run: Run, sales: Path) -> None:
    for name in ("--label-column", "--labels"):
        code, out, err = run("cluster", sales, "--dry-run", "--json", name, "Label")
        assert code == 0, err
        assert {c["name"]: c["kind"] for c in json.loads(out)["understood"]["columns"]}["Label"] == "label"
    for command in ("cluster", "sweep"):
        assert "--label-column" in run(command, "--help")[1]


def test_the_top_of_an_automatic_search_is_said(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [20, 0], [0, 20], [20, 20]])
    rows = np.concatenate([centre + rng.normal(size=(4, 2)) * 0.1 for centre in centres])
    pd.DataFrame(rows, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run("cluster", "t.csv", "-c", "auto", "--n-init", 2, "--json")
    assert code == 0, err
    assert "-c auto tries at most 4 for this many objects" in json.loads(out)["warnings"][0]


def test_constant_columns_are_named_where_none_is_left(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,when\n" + "1,x,2024-01-05\n" * 12)
    code, _, err = run("cluster", "t.csv", "-c", 2)
    assert code == 2
    assert "a (always 1), b (always x), when (always 2024-01-05" in err


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_ctrl_c_while_reading_is_answered(tmp_path: Path) -> None:
    program = (
        "import sys, signal, os\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background is born deaf
        "from softecm.cli import main\n"
        "def read(*given):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    while True: pass\n"
        "from softecm.cli import source\n"
        "source.read = read\n"
        "sys.argv = ['softecm', 'cluster', 't.csv', '-c', '2']\n"
        "main()\n"
    )
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n3,4\n" * 10)
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 128 + signal.SIGINT
    assert ended.stderr.strip().endswith("softecm: stopped.")


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes of this kind")
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path, sales: Path, run: Run) -> None:
    run("cluster", sales, "-c", 2, "-o", "found", "--n-init", 2, "-q")
    lines = sales.read_text().splitlines()
    many = [lines[0], *(line.replace(line.split(",")[0], str(i), 1) for i, line in enumerate(lines[1:] * 60))]
    (tmp_path / "many.csv").write_text("\n".join(many) + "\n")
    command = [sys.executable, "-m", "softecm", "predict", "found", "many.csv", "-o", "-"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert "Error" not in process.stderr.read()


def test_a_far_value_is_named_with_what_to_do(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = [*rng.normal(0, 1, 20), *rng.normal(5, 1, 20), 700.0]
    path = tmp_path / "wild.csv"
    path.write_text("name,size,age\n" + "\n".join(f"n{i},{v:.2f},{i % 9}" for i, v in enumerate(sizes)) + "\n")
    code, out, _ = run("cluster", path, "--dry-run")
    assert code == 0
    assert "Object n40 has 700 in column 'size'" in " ".join(out.split())
    assert "--scale robust" in out
    assert run("cluster", path, "-c", "2", "--json")[0] == 0
    told = json.loads((tmp_path / "wild-softecm" / "summary.json").read_text())["warnings"]
    assert len([text for text in told if "--scale robust" in text]) == 1
    assert "Object n40 has 700" not in run("cluster", path, "--dry-run", "--scale", "robust")[1]


def test_a_code_for_missing_cells_is_asked_about(run: Run, tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(60, 3)).round(3)
    table[::9] = -9999
    pd.DataFrame(table, columns=["a", "b", "c"]).to_csv(tmp_path / "t.csv", index_label="id")
    _, out, _ = run("cluster", tmp_path / "t.csv", "--dry-run")
    told = " ".join(out.split())
    assert "-9999 appears in 21 cells of 3 columns, far from all other numbers: does it mean missing?" in told
    assert "If so, use --missing -9999." in told
    table[::9, 1:] = 0
    pd.DataFrame(table, columns=["a", "b", "c"]).to_csv(tmp_path / "t.csv", index_label="id")
    assert "does it mean missing" not in run("cluster", tmp_path / "t.csv", "--dry-run", "--missing", "-9999")[1]


def test_predict_names_a_column_whose_unit_changed_without_a_word(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    speed = np.repeat([4.0, 12.0], 40) * rng.lognormal(0, 0.1, 80)
    pumps = pd.DataFrame({"pump": [f"P{i}" for i in range(80)], "speed": speed, "heat": 50 + 2 * speed})
    pumps.to_csv(tmp_path / "may.csv", index=False)
    pumps.sample(40, random_state=0).to_csv(tmp_path / "june.csv", index=False)
    pumps.assign(speed=speed / 25.4).to_csv(tmp_path / "july.csv", index=False)
    assert run("cluster", tmp_path / "may.csv", "-c", "2", "-o", tmp_path / "out", "--no-values")[0] == 0
    assert "numbers of column" not in run("predict", tmp_path / "out", tmp_path / "june.csv")[1]
    code, out, _ = run("predict", tmp_path / "out", tmp_path / "july.csv", "--json")
    assert code == 0
    (warning,) = [text for text in json.loads(out)["warnings"] if "unit" in text and "belong to no group" not in text]
    assert warning.startswith("The numbers of column 'speed' are about 1/2")


@pytest.mark.parametrize("shape", ["series", "channels", "states"])
def test_the_command_for_a_long_table_works_as_it_stands(run: Run, tmp_path: Path, shape: str) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(12):
        for t in range(8):
            place = ("home", "ward", "rehab")[int(rng.integers(3)) if i % 2 else t // 3]
            rows += [
                (f"P {i}", t, c, f"{(t if i % 2 else 9) + rng.normal():.2f}", place) for c in ("heat, core", "load")
            ]
    frame = pd.DataFrame(rows, columns=["Patient no", "t (h)", "what", "value, net", "place"])
    columns = {"series": [0, 1, 3], "channels": [0, 1, 2, 3], "states": [0, 1, 4]}[shape]
    if shape != "channels":
        frame = frame[frame["what"] == "load"]
    frame.iloc[:, columns].sample(frac=1, random_state=0).to_csv(tmp_path / "long.csv", index=False)
    code, out, err = run("cluster", tmp_path / "long.csv", "-c", "2", "--seed", "1")
    assert code == 0, err
    (command,) = [line.strip() for line in out.splitlines() if line.strip().startswith("softecm cluster")]
    code, out, err = run(*shlex.split(command)[1:])
    assert code == 0, err
    assert f"12 {'sequences' if shape == 'states' else 'series'}" in out
    code, out, err = run("predict", "long-softecm", tmp_path / "long.csv")
    assert code == 0, err
    assert "Warning" not in out


def test_a_matrix_with_names_in_rows_and_columns_is_compared_as_one(run: Run) -> None:
    x = np.random.default_rng(0).normal(size=(14, 1)) + np.repeat([[0.0], [9.0]], 7, axis=0)
    names = [f"machine {i}" for i in range(14)]
    table = pd.DataFrame(np.abs(x - x.T).round(3), index=names, columns=names)
    table.to_csv("swaps.csv")
    code, out, err = run("cluster", "swaps.csv", "-c", 2)
    assert code == 0, err
    assert "14 columns: the dissimilarities to each object" in out
    assert "metric: precomputed (the same names in rows and columns, and zeros on the diagonal" in " ".join(out.split())
    assert "machine 3" not in out.split("metric:")[0]
    own = table.copy()
    for factor in (1.001, 1.5):
        table.iloc[0, 9] = factor * own.iloc[0, 9]
        table.to_csv("askew.csv")
        for options in ((), ("--algorithm", "ECMdd")):
            code, _, err = run("cluster", "askew.csv", "-c", 2, *options)
            assert code == 2
            shown = f"got {table.iloc[0, 9]:g} from machine 0 to machine 9 and {table.iloc[9, 0]:g} back."
            remedy = "Add --symmetrize mean, or max for the larger of the two."
            assert f"the file must be symmetric; {shown} {remedy}" in " ".join(err.split())
    table.iloc[0, 9] = table.iloc[9, 0]
    table.to_csv("bare.csv", index=False)
    code, out, err = run("cluster", "bare.csv", "-c", 2)
    assert (code, out.strip(), "--metric precomputed" in err) == (2, "", True)


def test_prices_compared_by_logarithms_are_judged_by_these(run: Run) -> None:
    rng, group = np.random.default_rng(0), np.arange(120) % 3
    price = np.array([0.5, 2.0, 1500.0])[group] * rng.lognormal(0, 0.35, 120)
    days, shelf = np.array([20.0, 30.0, 40.0])[group] + rng.normal(0, 1, 120), np.array(["open", "back", "back"])[group]
    price[5] = 60_000.0
    days[7] = 4000.0
    frame = pd.DataFrame({"price": price, "days": days, "shelf": shelf})
    frame.to_csv("articles.csv", index=False)
    code, out, err = run("cluster", "articles.csv", "-c", 3, "--n-init", 2, "-o", "found", "--json")
    assert code == 0, err
    assert "'price' is compared by logarithms" in out
    (said,) = [one for one in json.loads(out)["warnings"] if "as far out" in one]
    assert re.fullmatch(
        r"Row 8 has 4000 in column 'days', \d+ times as far out as usual\. If this is a typo, fix it\.", said
    )


def test_far_values_are_pointed_out_although_the_fit_takes_another_metric(run: Run) -> None:
    rng, group = np.random.default_rng(0), np.arange(200) % 2
    x = rng.normal(0, 5, 200)
    y = 10 * rng.normal(size=200) + 30 * x + 400 * group
    y[5] = 30_000.0
    pd.DataFrame({"x": x, "y": y}).to_csv("ridges.csv", index=False)
    code, out, err = run("cluster", "ridges.csv", "-c", 2, "-o", "found", "--json")
    assert code == 0, err
    assert "units of the spread within the groups" in out
    (said,) = [one for one in json.loads(out)["warnings"] if "as far out" in one]
    assert re.match(r"Row 6 has 30.000 in column 'y', ", said)
