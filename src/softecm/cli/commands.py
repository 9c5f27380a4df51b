"""The commands: what each takes, and the one call it makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from softecm.cli.options import (
    INVOCATION,
    CalibrateOptions,
    Clear,
    ClusterOptions,
    Command,
    Force,
    InputFile,
    NoValues,
    OtherFiles,
    Reading,
    ResultDir,
    SweepOptions,
    WithColumns,
    command_function,
    several,
)

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
        bool | None,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = None,
) -> None:
    pass


def command(**options: Any) -> Callable[[Command], Command]:
    """Add a function as a command; ``options`` are those of :func:`softecm.cli.options.command_function`."""
    return lambda function: app.command()(command_function(function, **options))


@command()
def demo(
    data: Annotated[
        str, typer.Argument(metavar="[WHAT]", help="points (from the paper), customers, series, texts or states.")
    ] = "points",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write; softecm-demo or softecm-demo-WHAT by default."),
    ] = None,
    force: Force = False,
) -> None:
    """Try it out: twelve points explained on one screen, or an example file with its command and report.

    With customers, series, texts or states the folder gets an example file, the command that clusters it, and the result.
    Replace the file by your own and run the command again.
    """
    from softecm.cli.demo import run, write_example

    if data == "points":
        run(output or Path("softecm-demo"), force=force)
        return
    called = INVOCATION.get()
    words = write_example(data, output or Path(f"softecm-demo-{data}"), force=force)
    flags = [*(["--quiet"] if called.quiet else []), *(["--json"] if called.machine else [])]
    application()([*words, "--force", *flags], standalone_mode=False)  # an earlier demo is replaced


@command()
def cluster(file: InputFile, options: ClusterOptions) -> None:
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
    from softecm.cli.cluster import run

    run(file, options)


@command(quiet=False)
def algorithms() -> None:
    """List the algorithms for cluster --algorithm."""
    from softecm.cli.algorithms import show

    show()


@command(without=("drop", "categorical", "numeric", "ordinal"))
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file, or a folder that softecm cluster wrote.")
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New objects, with the columns of the training file.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV to write; FILE-partition.csv by default, - for the screen."),
    ] = None,
    other_files: OtherFiles,
    reading: Reading,
    with_columns: WithColumns = None,
    clear: Clear = 0.75,
    force: Force = False,
) -> None:
    """Assign new objects to the groups of a fitted model.

    With -o - the table goes to the screen; with --json it becomes part of the JSON object. A model fitted to several files
    needs as many: the table, --series, then every --embedding or --matrix in the order of the fit.
    """
    from softecm.cli.predict import run

    run(model, file, output, reading.options(), other_files.views(), several(with_columns), clear=clear, force=force)


@command()
def report(
    folder: ResultDir,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write; DIR/report.html by default. As .json: the facts alone."),
    ] = None,
    no_values: NoValues = False,
) -> None:
    """Draw the report of a result folder again, without fitting."""
    from softecm.cli.redraw import redraw

    redraw(folder, output, values=not no_values)


@command()
def rename(
    folder: ResultDir,
    names: Annotated[
        str,
        typer.Argument(metavar="NAMES", help="For all groups in their order, comma-separated; or for some: 'ω2=calm'."),
    ],
) -> None:
    """Name the groups of a result folder, in its table, summary, model and report.

    predict, explain, report, compare and calibrate use the names from then on.
    """
    from softecm.cli import redraw

    redraw.rename(folder, several([names]))


@command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A folder that softecm cluster wrote.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another such folder, of the same objects or of others.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Page to write; compare.html by default.", show_default=False)
    ] = Path("compare.html"),
    groups: Annotated[
        bool, typer.Option("--groups", help="Match groups by their prototypes even if the objects are the same.")
    ] = False,
    force: Force = False,
) -> None:
    """Compare two results: which objects moved, which groups split or merged, how similar the results are.

    Objects are matched by their ids; those in only one of the results are counted. If the results share hardly any objects
    (two months, two shops), groups are matched by their prototypes: which grew, shrank, appeared or vanished.
    """
    from softecm.cli.compare import run

    run(first, second, output, groups=groups, force=force)


@command()
def explain(
    folder: ResultDir,
    table: Annotated[
        Path | None,
        typer.Argument(metavar="[TABLE]", help="Another table of the same objects; by default the clustered file."),
    ] = None,
    lam: Annotated[
        float, typer.Option(help="From -inf (bold: names single groups) to inf (cautious: names sets).")
    ] = 1.0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the rules: .txt, .json, or a figure (.png, .svg, .pdf)."),
    ] = None,
    one: Annotated[
        str | None,
        typer.Option(
            "--object", metavar="NAME", help="Explain one object instead: its id, or its row from 1 ('row 17')."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Describe the groups by a few rules, with how far to trust them, or explain one object.

    The rules are a small decision tree on the columns of the clustered file, or of another table with one row per object in
    the same order: series of patients can be explained by the patients' table.
    """
    from softecm.cli.explain import run, run_object

    if one is not None:
        run_object(folder, one)
        return
    run(folder, table, output, lam=lam, force=force)


@command()
def calibrate(folder: ResultDir, options: CalibrateOptions) -> None:
    """Estimate how certain the groups are, by refitting the model to resamples.

    The folder gets partition.csv, with calibrated beliefs and plausibilities and the stability and intervals of each object;
    calibration.json; report.html with a section on certainty; and a journal: run the same command again to continue after
    an interruption.
    """
    from softecm.cli.calibrate import run

    run(folder, options)


@command()
def sweep(file: InputFile, options: SweepOptions) -> None:
    """Fit a grid of parameters and show what each selection rule chooses, without labels.

    By default only the number of groups varies. Nonspecificity falls with beta whatever the data, so rules based on it
    always prefer the smallest beta.

    The folder gets sweep.csv (one row per run), best.json, heatmap.png and a journal: run the same command again to continue
    after an interruption.
    """
    from softecm.cli.sweep import run

    run(file, options)


def _unavailable(sentence: str) -> Command:
    """A command that only says why it is not there."""

    def command() -> None:
        from softecm.cli.problems import Problem

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
