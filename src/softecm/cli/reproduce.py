"""``softecm reproduce``: the paper's tables and figures, regenerated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from softecm.cli.problems import Problem, mendable
from softecm.cli.screen import consoles, print_json
from softecm.cli.sweep import interruptible
from softecm.experiments import EXPERIMENTS, PROTOCOLS, Experiment
from softecm.files import check_folder, check_replaced, to_folder

ROOT = Path("out") / "reproduce"
GRIDS = ("auto", "full", "small")


def run(
    name: str,
    output: Path | None,
    *,
    rows: tuple[str, ...],
    grid: str,
    seeds: int,
    device: str,
    journals: Path | None,
    protocol: str,
    quiet: bool,
    machine: bool,
) -> None:
    """Run one experiment, or all, and write a page for each."""
    out, err = consoles(quiet=quiet, machine=machine)
    chosen = _chosen(name)
    if grid not in GRIDS:
        raise Problem(f"--grid must be {', '.join(GRIDS)}; got {grid}.")
    if seeds < 1:
        raise Problem(f"--seeds must be at least 1; got {seeds}. The paper has 10.")
    makers = _makers(chosen, protocol)
    progress = err.is_terminal and not (quiet or machine)
    runs = _runs(output, rows, grid, seeds, device, journals, protocol, progress=progress)
    command = _command(name, rows, grid, seeds, device, protocol)
    written: dict[str, Any] = {}
    said: set[str] = set()
    folders = {experiment.name: _folder(output, experiment, several=len(chosen) > 1) for experiment in chosen}
    for key, folder in folders.items():
        check_folder(folder)
        check_replaced([folder / f"{key}.md", folder / f"{key}.html"])
    for experiment in chosen:
        folder = folders[experiment.name]
        out.print(Text.assemble((experiment.name, "bold"), f"  {experiment.text}"))
        page = _page(makers[experiment.name], runs, command)
        for title in runs.unavailable.keys() - said:
            err.print(Text(f"  {title} is left out: {runs.unavailable[title]}"))
        said |= runs.unavailable.keys()
        files = to_folder(folder, partial(_write, page, experiment.name, folder), force=True)
        written[experiment.name] = {"files": files, **page.facts}
        out.print(Text.assemble("  Open ", (str(folder / f"{experiment.name}.html"), "bold")))
    if machine:
        print_json(written)


def _chosen(name: str) -> list[Experiment]:
    if name == "all":
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise Problem(f"{name} is no experiment: give {', '.join(EXPERIMENTS)} or all.")
    return [EXPERIMENTS[name]]


def _makers(chosen: list[Experiment], protocol: str) -> dict[str, Callable[[Any, str], Any]]:
    """What makes the page of each experiment by the protocol asked for."""
    if protocol not in PROTOCOLS:
        raise Problem(f"--protocol must be {', '.join(PROTOCOLS)}; got {protocol}.")
    with mendable(ValueError):
        return {experiment.name: experiment.load(protocol) for experiment in chosen}


def _folder(output: Path | None, experiment: Experiment, *, several: bool) -> Path:
    if output is None:
        return ROOT / experiment.name
    return output / experiment.name if several else output


def _runs(
    output: Path | None,
    rows: tuple[str, ...],
    grid: str,
    seeds: int,
    device: str,
    journals: Path | None,
    protocol: str,
    *,
    progress: bool,
) -> Any:
    from softecm._engine import choose_device
    from softecm.experiments.rows import choose_rows
    from softecm.experiments.runs import Options, Runs

    place = journals or (ROOT if output is None else output) / "journals"
    check_folder(place)
    with mendable(ValueError):
        choose_device(device, 0.0)
        return Runs(Options(choose_rows(rows), place, grid, seeds, device, progress, protocol))


def _page(make: Callable[[Any, str], Any], runs: Any, command: str) -> Any:
    """The experiment's page; data or packages that are missing are the user's to get."""
    try:
        import matplotlib
    except ImportError as error:
        raise Problem("figures need matplotlib: pip install 'softecm[report]'.") from error
    matplotlib.use("Agg")
    with interruptible(), mendable(ValueError, ImportError, OSError):
        return make(runs, command)


def _write(page: Any, name: str, folder: Path, work: Path) -> list[str]:
    """The files of a page into a folder; where they will lie in the end."""
    return [str(folder / path.name) for path in page.write(work, name)]


def _command(name: str, rows: tuple[str, ...], grid: str, seeds: int, device: str, protocol: str) -> str:
    """What to type to get the same page."""
    parts = [f"softecm reproduce {name}"]
    parts += [f"--rows {','.join(rows)}"] if rows else []
    parts += [f"--grid {grid}"] if grid != "auto" else []
    parts += [f"--seeds {seeds}"] if seeds != 10 else []
    parts += [f"--device {device}"] if device != "auto" else []
    parts += [f"--protocol {protocol}"] if protocol != "all" else []
    return " ".join(parts)
