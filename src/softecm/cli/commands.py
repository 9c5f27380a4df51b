"""The commands: a class of what each takes, whose docstring is its help, and the function that does it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, dataclass_transform

import typer

from softecm.cli.options import (
    Clear,
    Command,
    FitSettings,
    Force,
    InputFile,
    LabelColumn,
    NoValues,
    OtherFiles,
    Reading,
    ResultDir,
    SweepSettings,
    T,
    WithColumns,
    command_function,
    fitting,
    option_group,
    out,
    plain,
    source,
)
from softecm.cli.problems import Problem

app = typer.Typer(
    name="softecm",
    help="Find groups in data: see what clearly belongs to one, what lies between several, and what belongs to none.",
    epilog="Start with:  softecm demo   or   softecm cluster FILE -c auto",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(value: bool) -> None:
    if value:
        from softecm._version import __version__

        typer.echo(f"softecm {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool | None, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = None,
) -> None:
    pass


@dataclass_transform(kw_only_default=True, frozen_default=True)
def command(
    name: str, place: str = "", *, quiet: bool = True, without: Collection[str] = ()
) -> Callable[[type[T]], type[T]]:
    """Add a class of options as a command; ``place`` is its function in this package, ``NAME:run`` by default."""

    def added(cls: type[T]) -> type[T]:
        options_class = option_group(cls)
        module, _, function = (place or f"{name}:run").partition(":")

        def run(options: T) -> None:
            getattr(import_module(f"softecm.cli.{module}"), function)(options)

        run.__doc__, run.__annotations__ = options_class.__doc__, {"options": options_class}
        app.command(name)(command_function(run, quiet=quiet, without=without))
        return options_class

    return added


@command("demo")
class DemoOptions:
    """Try it out: an example file, the command that clusters it, and its report.

    Replace the file by your own and run the command again.
    """

    data: Annotated[
        str, typer.Argument(metavar="[WHAT]", help="points (from the paper), customers, series, texts or states.")
    ] = "points"
    output: Path | None = plain("Folder to write; softecm-demo or softecm-demo-WHAT by default.", "--output", "-o")
    force: Force = False


@command("cluster")
class ClusterOptions:
    """Find groups in a file; write the partition, a model and a report into a folder.

    Anything you don't specify about the file is inferred and reported; --dry-run shows only that. Rows are counted from 1,
    below the header. The folder gets report.html, partition.csv, summary.json and model.safetensors.

    partition.csv has one row per object: id; label, the most likely group (ω1, ω2, … or --names-of-clusters), also for
    outliers; set, the group or groups it is assigned to, ∅ for outliers; decision (clearly, rather, between, undecided or
    nowhere) with confidence and doubt; belief and plausibility of each group; mass of each set. Text that a spreadsheet
    would run as a formula starts with an apostrophe.

    A Parquet file that does not fit in memory is read block by block: the masses are then in partition.parquet, and the
    report shows a sample.

    With --series and --embedding the objects have several views with equal weights: patients.csv --id patient --series
    vitals.csv --embedding notes.npy. Objects that lack a view are compared in the others.
    """

    file: InputFile
    clusters: str | None = fitting(
        "Number of groups, a range to choose from, or auto.", "--clusters", "-c", metavar="K|2-12|auto"
    )
    output: Path | None = out("Folder to write; FILE-softecm by default.", "--output", "-o")
    label_column: LabelColumn = None
    known: str | None = source(
        "Column with the groups of some objects, which guide the fit; other cells are empty or ?."
    )
    other_files: OtherFiles
    reading: Reading
    dry_run: bool = source("Only show how the file is read; fit and write nothing.", "--dry-run", default=False)
    algorithm: str = fitting("Algorithm; softecm algorithms lists them.", default="SoftECM")
    links: Path | None = fitting("CSV of pairs: object,object,together or apart; ids, or rows from 1.")
    link_weight: float | None = fitting("Weight of links and known groups; larger values satisfy more of them.")
    settings: FitSettings
    memory: str | None = fitting("Memory limit such as 2GB: larger Parquet files are read block by block.")
    checkpoint: Path | None = fitting("File that stores the state of the fit.")
    resume: Path | None = fitting("Checkpoint to continue from.")
    parquet: bool = out("Also write partition.parquet.", "--parquet", default=False)
    with_columns: WithColumns = None
    names_of_clusters: str | None = out("Names for the groups in their order, comma-separated.")
    no_values: NoValues = False
    clear: Clear = 0.75
    force: Force = False


@command("algorithms", "algorithms:show", quiet=False)
class AlgorithmsOptions:
    """List the algorithms for cluster --algorithm."""


@command("predict", without=("drop", "categorical", "numeric", "ordinal", "symmetrize"))
class PredictOptions:
    """Assign new objects to the groups of a fitted model.

    With -o - the table goes to the screen; with --json it becomes part of the JSON object. A model fitted to several files
    needs as many: the table, --series, then every --embedding or --matrix in the order of the fit.
    """

    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file, or a folder that softecm cluster wrote.")
    ]
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New objects, with the columns of the training file.")]
    output: Path | None = plain("CSV to write; FILE-partition.csv by default, - for the screen.", "--output", "-o")
    other_files: OtherFiles
    reading: Reading
    with_columns: WithColumns = None
    clear: Clear = 0.75
    force: Force = False


@command("report", "redraw:redraw")
class ReportOptions:
    """Draw the report of a result folder again, without fitting."""

    folder: ResultDir
    output: Path | None = plain(
        "Where to write; DIR/report.html by default. As .json: the facts alone.", "--output", "-o"
    )
    no_values: NoValues = False


@command("rename", "redraw:rename")
class RenameOptions:
    """Name the groups of a result folder, in its table, summary, model and report.

    predict, explain, report, compare and calibrate use the names from then on.
    """

    folder: ResultDir
    names: Annotated[
        str,
        typer.Argument(metavar="NAMES", help="For all groups in their order, comma-separated; or for some: '2=calm'."),
    ]


@command("compare")
class CompareOptions:
    """Compare two results: which objects moved, which groups split or merged, how similar the results are.

    Objects are matched by their ids; those in only one of the results are counted. If the results share hardly any objects
    (two months, two shops), groups are matched by their prototypes: which grew, shrank, appeared or vanished.
    """

    first: Annotated[Path, typer.Argument(metavar="A", help="A folder that softecm cluster wrote.")]
    second: Annotated[Path, typer.Argument(metavar="B", help="Another such folder, of the same objects or of others.")]
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Page to write; compare.html by default.", show_default=False)
    ] = Path("compare.html")
    groups: bool = plain(
        "Match groups by their prototypes even if the objects are the same.", "--groups", default=False
    )
    force: Force = False


@command("explain")
class ExplainOptions:
    """Describe the groups by a few rules, with how far to trust them, or explain one object.

    The rules are a small decision tree on the columns of the clustered file, or of another table with one row per object in
    the same order: series of patients can be explained by the patients' table.
    """

    folder: ResultDir
    table: Annotated[
        Path | None,
        typer.Argument(metavar="[TABLE]", help="Another table of the same objects; by default the clustered file."),
    ] = None
    lam: float = plain("From -inf (bold: names single groups) to inf (cautious: names sets).", default=1.0)
    output: Path | None = plain(
        "Where to write the rules: .txt, .json, or a figure (.png, .svg, .pdf).", "--output", "-o"
    )
    one: str | None = plain(
        "Explain one object instead: its id, or its row from 1 ('row 17').", "--object", metavar="NAME"
    )
    force: Force = False


@command("calibrate")
class CalibrateOptions:
    """Estimate how certain the groups are, by refitting the model to resamples.

    The folder gets partition.csv, with calibrated beliefs and plausibilities and the stability and intervals of each object;
    calibration.json; report.html with a section on certainty; and a journal: run the same command again to continue after
    an interruption.
    """

    folder: ResultDir
    output: Path | None = plain("Folder to write; DIR-calibrated by default.", "--output", "-o")
    refits: int = plain("Number of refits to resamples.", default=100)
    level: float = plain("Share of the refits inside an interval.", default=0.9)
    resample: str = plain("auto, bootstrap or half.", default="auto")
    anew: bool = plain("Refit from scratch in every resample: as slow as that many fits.", "--anew", default=False)
    seed: int = plain("Random seed.", default=0)
    force: Force = False


@command("sweep")
class SweepOptions:
    """Fit a grid of parameters and show what each selection rule chooses, without labels.

    By default only the number of groups varies. Nonspecificity falls with beta whatever the data, so rules based on it
    always prefer the smallest beta.

    The folder gets sweep.csv (one row per run), best.json, heatmap.png and a journal: run the same command again to continue
    after an interruption.
    """

    file: InputFile
    clusters: str = fitting(
        "Numbers of groups: 3, 2,3,4 or 2-6 (2..6).", "--clusters", "-c", metavar="K", default=MISSING
    )
    output: Path | None = out("Folder to write; FILE-sweep by default.", "--output", "-o")
    beta: str = fitting("Values of beta, comma-separated.", default="1.2")
    lam: str = fitting("Values of lambda, or auto, comma-separated.", default="auto")
    alpha: str = fitting("Values of alpha, comma-separated.", default="1")
    seeds: int = fitting("Runs per combination.", default=3)
    rule: str = fitting("auto, mixture, valleys, silhouette, nonspecificity, stability or paper.", default="auto")
    resamples: int = fitting("Refits to parts of the objects, for the rule stability.", default=0)
    settings: SweepSettings
    label_column: LabelColumn = None
    reading: Reading
    journal: Path | None = out("Journal of finished runs; inside the folder by default.")
    force: Force = False


def _unavailable(sentence: str) -> Command:
    """A command that only says why it is not there."""

    def command() -> None:
        raise Problem(sentence)

    command.__doc__ = f"Not installed: {sentence}"
    return command


@cache
def application() -> typer.Typer:
    """All commands, those of other packages too: functions that are entry points of the group ``softecm.commands``."""
    absent = {"reproduce": "the paper's tables and figures are a separate package: pip install ./paper in a clone."}
    for entry in entry_points(group="softecm.commands"):
        absent.pop(entry.name, None)
        try:
            app.command(entry.name)(command_function(entry.load()))
        except Exception as error:  # of another version, say: all other commands go on
            absent[entry.name] = f"softecm {entry.name} can't be loaded from {entry.value}: {error}."
    for name, sentence in absent.items():
        everything = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command(name, context_settings=everything)(_unavailable(sentence))
    for command in app.registered_commands:  # a paragraph is as wide as the terminal, not as the source
        paragraphs = inspect.cleandoc(command.callback.__doc__ or "").split("\n\n")
        command.help = "\n\n".join(" ".join(part.split()) for part in paragraphs)
    return app
