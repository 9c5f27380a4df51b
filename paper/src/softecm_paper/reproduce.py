"""``softecm reproduce``: the paper's tables and figures, regenerated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from softecm.cli.problems import Problem, mendable
from softecm.cli.screen import consoles, print_json
from softecm.files import check_folder, check_replaced, to_folder
from softecm_paper import EXPERIMENTS, PROTOCOLS, Experiment

if TYPE_CHECKING:
    from softecm_paper.page import Page
    from softecm_paper.runs import Runs

ROOT = Path("out") / "reproduce"
GRIDS = ("auto", "full", "small")


@dataclass(frozen=True)
class Choices:
    """The runs of the experiments, by the options."""

    rows: tuple[str, ...]
    grid: str
    seeds: int
    device: str
    protocol: str

    def check(self) -> None:
        """Raise an error for unknown choices."""
        if self.grid not in GRIDS:
            raise Problem(f"--grid must be {', '.join(GRIDS)}; got {self.grid}.")
        if self.seeds < 1:
            raise Problem(f"--seeds must be at least 1; got {self.seeds}. The paper has 10.")
        if self.protocol not in PROTOCOLS:
            raise Problem(f"--protocol must be {', '.join(PROTOCOLS)}; got {self.protocol}.")

    def runs(self, place: Path, *, progress: bool) -> Runs:
        """Return the runs shared by the experiments, with journals in a folder."""
        from softecm._engine import choose_device
        from softecm_paper.rows import choose_rows
        from softecm_paper.runs import Options, Runs

        check_folder(place)
        with mendable(ValueError):
            choose_device(self.device, 0.0)
            rows = choose_rows(self.rows)
            return Runs(Options(rows, place, self.grid, self.seeds, self.device, progress, self.protocol))

    def command(self, name: str) -> str:
        """Return the command for the same page."""
        parts = [f"softecm reproduce {name}"]
        parts += [f"--rows {','.join(self.rows)}"] if self.rows else []
        parts += [f"--grid {self.grid}"] if self.grid != "auto" else []
        parts += [f"--seeds {self.seeds}"] if self.seeds != 10 else []
        parts += [f"--device {self.device}"] if self.device != "auto" else []
        parts += [f"--protocol {self.protocol}"] if self.protocol != "all" else []
        return " ".join(parts)


def run(name: str, output: Path | None, choices: Choices, journals: Path | None) -> None:
    """Run one experiment, or all, and write a page for each."""
    out, err = consoles()
    chosen = _chosen(name)
    choices.check()
    with mendable(ValueError):
        makers = {experiment.name: experiment.load(choices.protocol) for experiment in chosen}
    place = journals or (ROOT if output is None else output) / "journals"
    runs = choices.runs(place, progress=err.is_terminal and not err.quiet)
    command = choices.command(name)
    written: dict[str, Any] = {}
    reported: set[str] = set()
    folders = {experiment.name: _folder(output, experiment, several=len(chosen) > 1) for experiment in chosen}
    for key, folder in folders.items():
        check_folder(folder)
        check_replaced([folder / f"{key}.md", folder / f"{key}.html"])
    for experiment in chosen:
        folder = folders[experiment.name]
        out.print(Text.assemble((experiment.name, "bold"), f"  {experiment.text}"))
        page = _page(makers[experiment.name], runs, command)
        for title in runs.unavailable.keys() - reported:
            err.print(Text(f"  {title} is left out: {runs.unavailable[title]}"))
        reported |= runs.unavailable.keys()
        files = to_folder(folder, partial(_write, page, experiment.name, folder), force=True)
        written[experiment.name] = {"files": files, **page.facts}
        out.print(Text.assemble("  Open ", (str(folder / f"{experiment.name}.html"), "bold")))
    print_json(written)


def _chosen(name: str) -> list[Experiment]:
    if name == "all":
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise Problem(f"{name} is no experiment: give {', '.join(EXPERIMENTS)} or all.")
    return [EXPERIMENTS[name]]


def _folder(output: Path | None, experiment: Experiment, *, several: bool) -> Path:
    if output is None:
        return ROOT / experiment.name
    return output / experiment.name if several else output


def _page(make: Callable[[Runs, str], Page], runs: Runs, command: str) -> Page:
    """Return the experiment's page; missing data or packages are a user error."""
    import matplotlib

    matplotlib.use("Agg")
    with mendable(ValueError, ImportError, OSError):
        return make(runs, command)


def _write(page: Page, name: str, folder: Path, work: Path) -> list[str]:
    """Write the files of a page into a folder; return their final paths."""
    return [str(folder / path.name) for path in page.write(work, name)]
