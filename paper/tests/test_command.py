import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from softecm_paper import EXPERIMENTS, diamond, rows
from toy_rows import GLASS, row

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def toy_glass(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row with generated data."""
    monkeypatch.setattr(rows, "ROWS", (GLASS,))


@pytest.fixture
def quick_diamond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diamond, "LAMS", (0.5, 3.5))


@pytest.mark.usefixtures("quick_diamond")
def test_an_experiment_writes_its_pages_into_the_usual_place(run: Run) -> None:
    code, out, err = run("reproduce", "diamond")
    assert code == 0, err
    folder = Path("out/reproduce/diamond")
    assert {p.name for p in folder.iterdir()} >= {
        "diamond.md", "diamond.html", "diamond.png", "diamond_lambda.png",
    }  # fmt: skip
    assert "diamond.html" in out
    assert "Made by `softecm reproduce diamond`." in (folder / "diamond.md").read_text()


@pytest.mark.usefixtures("toy_glass", "quick_diamond")
def test_all_writes_a_folder_for_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: EXPERIMENTS[name] for name in ("diamond", "lambda")}
    monkeypatch.setattr("softecm_paper.reproduce.EXPERIMENTS", few)
    code, _, err = run("reproduce", "all", "-o", "pages", "--grid", "small", "--seeds", 1)
    assert code == 0, err
    assert {p.name for p in Path("pages").iterdir()} == {"diamond", "lambda", "journals"}
    assert Path("pages/lambda/lambda.html").is_file()
    assert "Made by `softecm reproduce all" in Path("pages/lambda/lambda.md").read_text()


@pytest.mark.usefixtures("toy_glass")
def test_table_and_lambda_share_their_runs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--rows", "numerical", "--grid", "small", "--seeds", 2, "--json", "--journals", "runs")
    code, out, err = run("reproduce", "table", *arguments, "-o", "t")
    assert code == 0, err
    told = json.loads(out)["table"]
    assert told["recommended"] == {"glass": True}
    assert set(told["files"]) == {"t/table.md", "t/table.html"}
    monkeypatch.setattr("softecm.selection.sweeping.run_task", lambda *_: pytest.fail("ran again"))
    assert run("reproduce", "lambda", *arguments, "-o", "l")[0] == 0
    command = "softecm reproduce lambda --rows numerical --grid small --seeds 2"
    assert f"Made by `{command}`." in Path("l/lambda.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tables",), "tables is no experiment: give diamond, cbf, mixture, table, lambda, rules or all"),
        (("table", "--rows", "iris"), "got 'iris'"),
        (("table", "--grid", "huge"), "--grid must be auto, full, small; got huge"),
        (("table", "--seeds", "0"), "--seeds must be at least 1; got 0"),
    ],
)
def test_what_the_user_can_mend_exits_with_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = run("reproduce", *arguments)
    assert code == 2
    assert said in err
    assert not Path("out").exists()


def test_a_missing_data_set_names_its_loader_and_the_variable(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOFTECM_DATA", str(tmp_path / "nowhere"))
    code, _, err = run("reproduce", "table", "--rows", "glass")
    assert code == 2
    assert "load_glass" in err
    assert "SOFTECM_DATA" in err


def test_a_row_without_data_is_left_out_and_the_others_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> object:
        raise OSError("load_lung could not download; set SOFTECM_DATA")

    monkeypatch.setattr(rows, "ROWS", (GLASS, row("lung", "categorical", "hamming", 2, gone)))
    code, _, err = run("reproduce", "lambda", "--grid", "small", "--seeds", 1, "-o", "l")
    assert code == 0, err
    assert "Lung is left out: load_lung could not download" in err
    assert "**Lung is left out:** load_lung could not download" in Path("l/lambda.md").read_text()


@pytest.mark.usefixtures("toy_glass")
def test_ctrl_c_says_what_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("softecm.selection.sweeping.run_task", stop)
    code, _, err = run("reproduce", "lambda", "--grid", "small", "--seeds", 1)
    assert code == 130
    assert "the same call resumes" in err


def test_a_device_that_is_not_there_is_refused_by_every_experiment(run: Run) -> None:
    code, _, err = run("reproduce", "diamond", "--device", "banana")
    assert code == 2
    assert "--device must be auto, cpu" in err


def test_without_the_package_the_command_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from softecm.cli import commands

    commands.application.cache_clear()
    monkeypatch.setattr(commands, "app", typer.Typer(callback=lambda: None))
    monkeypatch.setattr(commands, "entry_points", lambda group: ())
    code, _, err = run("reproduce", "table", "--rows", "glass")
    commands.application.cache_clear()
    assert code == 2
    assert "pip install ./paper in a clone" in " ".join(err.split())
