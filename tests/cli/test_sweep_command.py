import csv
import json
import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from softecm import SoftECM
from softecm.cli.commands import SweepOptions
from softecm.cli.options import Reading, SweepSettings
from softecm.cli.sweep import RuleChoice, _command, sentence
from softecm.datasets import make_blobs

Run = Callable[..., tuple[int, str, str]]
sweeping = import_module("softecm.selection.sweeping")
GRID = ("-c", "2-4", "--beta", "1.1,1.5", "--lam", "1", "--seeds", 2, "--n-init", 2)


@pytest.fixture
def blobs(tmp_path: Path) -> Path:
    """Three groups far apart, with their numbers in the last column."""
    made = make_blobs(45, n_clusters=3, distance=9, random_state=0)
    lines = [f"{x:.4f},{y:.4f},{kind}" for (x, y), kind in zip(made.data, made.target, strict=True)]
    path = tmp_path / "blobs.csv"
    path.write_text("x,y,kind\n" + "\n".join(lines) + "\n")
    return path


def test_sweep_writes_every_run_and_says_what_each_rule_chooses(run: Run, blobs: Path) -> None:
    code, out, err = run("sweep", blobs, *GRID, "--labels", "kind")
    assert code == 0, err
    folder = Path("blobs-sweep")
    assert {p.name for p in folder.iterdir()} == {"sweep.csv", "best.json", "heatmap.png", "journal.jsonl"}
    with (folder / "sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 * 2
    best = json.loads((folder / "best.json").read_text())
    assert best["best"]["params"]["n_clusters"] == 3
    assert best["best"]["adjusted_rand_index"] == 1.0
    beta = str(best["best"]["params"]["beta"])
    chosen = [float(r["valleys"]) for r in rows if r["n_clusters"] == "3" and r["beta"] == beta]
    assert best["best"]["value"] == pytest.approx(sum(chosen) / len(chosen))
    for rule in ("nonspecificity", "paper", "silhouette", "valleys"):
        assert rule in out
    plain = " ".join(out.split())
    assert f"3 groups with beta {beta} are separated most clearly (rule valleys; 2 of 2 runs converged" in plain
    assert "All runs: blobs-sweep/sweep.csv; best.json and heatmap.png beside it" in plain
    assert best["command"] in out  # in one line, to be copied


def test_the_command_after_a_sweep_fits_what_was_chosen(run: Run, blobs: Path) -> None:
    found = json.loads(run("sweep", blobs, *GRID, "--labels", "kind", "--json")[1])
    program, *words = shlex.split(found["command"])
    assert program == "softecm"
    assert not {"--seeds", "--json"} & set(words)
    code, out, err = run(*words, "--json")
    assert code == 0, err
    fitted, chosen = json.loads(out), found["best"]
    assert fitted["n_clusters"] == 3
    with (Path("blobs-sweep") / "sweep.csv").open() as file:
        objectives = [float(row["objective"]) for row in csv.DictReader(file)]
    assert any(fitted["objective"] == pytest.approx(one, rel=1e-9) for one in objectives)
    assert fitted["parameters"]["beta"] == str(chosen["params"]["beta"])
    assert fitted["parameters"]["max_iter"] == "500"


def test_the_sentence_of_a_sweep_names_rules_that_disagree():
    three, five = (RuleChoice({"n_clusters": c, "alpha": 1, "beta": 1.2, "lam": "auto"}, 0.7, 2, 3) for c in (3, 5))
    one_number = {"n_clusters": [3], "alpha": [1], "beta": [1.2], "lam": ["auto"]}
    grid = one_number | {"n_clusters": [3, 5], "beta": [1.1, 1.2]}
    best = "3 groups are best (rule paper; 2 of 3 runs converged to separate groups)."
    with_beta = best.replace("groups are", "groups with beta 1.2 are")
    for values, others, expected in (
        (one_number, {}, best),
        (grid, {"valleys": three, "mixture": RuleChoice(problem="none")}, f"{with_beta} All rules agree."),
        (grid, {"valleys": five}, f"{with_beta} Valleys prefers other values."),
        (grid, {"valleys": five, "silhouette": five}, f"{with_beta} Valleys and silhouette prefer other values."),
    ):
        assert sentence(values, "paper", {"paper": three, **others}) == expected
    assert sentence(grid, "paper", {"paper": RuleChoice(problem="none")}) == "Rule paper trusts none of these fits."


def test_the_same_command_again_runs_nothing(run: Run, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = json.loads(run("sweep", blobs, *GRID, "--json")[1])

    def refuse(*_: object) -> None:
        raise AssertionError("ran again")

    monkeypatch.setattr(sweeping, "run_task", refuse)
    assert json.loads(run("sweep", blobs, *GRID, "--json")[1]) == first


def test_a_stopped_sweep_says_what_is_kept_and_goes_on(run: Run, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = json.loads(run("sweep", blobs, *GRID, "--json", "-o", "whole")[1])
    original, done = sweeping.run_task, []

    def stop_after_one(*arguments: object) -> object:
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(sweeping, "run_task", stop_after_one)
        code, _, err = run("sweep", blobs, *GRID, "-o", "part")
    assert code == 130
    assert "1 of 3 batches done" in err
    assert "the same call resumes" in err
    again = json.loads(run("sweep", blobs, *GRID, "--json", "-o", "part")[1])
    assert again["best"] == whole["best"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-c", "3", "--beta", "0.9"), "beta must be greater than 1; got 0.9"),
        (("-c", "3", "--lam", "-1"), "lam"),
        (("-c", "0"), "n_clusters"),
        (("-c", "two"), "--clusters must hold numbers, such as 2,3,4 or 2-6; got two"),
        (("-c", "3", "--beta", "1.1;1.2"), "--beta must hold numbers"),
        (("-c", "3", "--beta", ","), "--beta must hold at least one number"),
        (("-c", "3", "--rule", "best"), "--rule must be one of auto, nonspecificity"),
        (("-c", "3", "--rule", "stability"), "--resamples 10"),
        (("-c", "3", "--labels", "sort"), "sort"),
        (("-c", "3", "--metric", "far"), "--metric must be one of auto, "),
        (("-c", "1-99999999"), "--clusters must hold at most 100000 numbers; got the 99999999 of 1-99999999"),
        (("-c", "3", "--seeds", "9" * 4001), "--seeds holds a number of more than 4000 digits"),
    ],
)
def test_what_the_user_can_mend_is_refused_before_anything_runs(
    run: Run, blobs: Path, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "run_task", lambda *_: pytest.fail("ran"))
    code, _, err = run("sweep", blobs, *arguments, "-o", "out")
    assert code == 2
    assert said in err
    assert not Path("out").exists()


def test_a_journal_of_another_grid_is_refused(run: Run, blobs: Path) -> None:
    assert run("sweep", blobs, "-c", 3, "--beta", "1.2", "--lam", 1, "--seeds", 1, "--n-init", 1)[0] == 0
    code, _, err = run("sweep", blobs, "-c", 3, "--beta", "1.3", "--lam", 1, "--seeds", 1, "--n-init", 1)
    assert code == 2
    assert "belongs to another sweep" in err


def test_force_starts_afresh(run: Run, blobs: Path) -> None:
    assert run("sweep", blobs, *GRID)[0] == 0
    code, _, err = run("sweep", blobs, "-c", "2", "--beta", "1.2", "--lam", "1", "--seeds", 1, "--force")
    assert code == 0, err
    assert len(Path("blobs-sweep/sweep.csv").read_text().splitlines()) == 2


def test_a_folder_with_something_else_is_left_alone(run: Run, blobs: Path) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years")
    code, _, err = run("sweep", blobs, "-c", 3, "-o", "mine")
    assert code == 2
    assert "--force" in err
    assert [p.name for p in Path("mine").iterdir()] == ["thesis.txt"]


def test_where_every_cell_merges_the_rule_says_so(run: Run, blobs: Path) -> None:
    strong = ("-c", 3, "--beta", "2", "--lam", "1000", "--seeds", 1, "--n-init", 1)
    code, out, _ = run("sweep", blobs, *strong)
    assert code == 0
    assert "no valid run" in out
    assert "--relaxation gap" in out
    best = json.loads(Path("blobs-sweep/best.json").read_text())
    assert best["best"] is None
    assert best["merged_runs"] == best["runs"] == 1


def test_every_setting_of_the_fits_arrives(run: Run, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def asked(X: object, grid: object, *, estimator: SoftECM, **options: object) -> None:
        heard.append((grid, estimator.get_params(), options))
        raise ValueError("enough.")

    monkeypatch.setattr("softecm.selection.sweep", asked)
    settings = ("--n-init", 4, "--max-iter", 7, "--tol", 0.01, "--delta", "none", "--dtype", "float32")
    assert run("sweep", blobs, "-c", "2,3", *settings, "--seeds", 5, "--resamples", 6)[0] == 2
    ((grid, params, options),) = heard
    assert grid == {"n_clusters": [2, 3], "beta": [1.2], "lam": ["auto"], "alpha": [1.0]}
    assert {"n_init": 4, "max_iter": 7, "tol": 0.01, "delta": None, "dtype": "float32"}.items() <= params.items()
    assert (options["seeds"], options["resamples"]) == (5, 6)


def test_the_next_command_has_the_seed_of_the_best_run() -> None:
    options = SweepOptions(file=Path("a.csv"), clusters="2-4", settings=SweepSettings(), reading=Reading())
    best = {"n_clusters": 3, "alpha": 1.0, "beta": 1.5, "lam": "auto"}
    command = _command(options, RuleChoice(best, 0.7, 2, 3, random_state=2))
    assert command == "softecm --beta 1.5 --seed 2 --max-iter 500 -o a-best"
