"""The commands: what each takes, and the one call it makes."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softecm.cli.options import (
    FILE,
    FIT,
    OUT,
    Clear,
    Delta,
    Device,
    Dtype,
    EmbeddingFiles,
    Force,
    InputFile,
    Json,
    LabelColumn,
    MatrixFiles,
    MetricName,
    NamesOfClusters,
    NoValues,
    Quiet,
    RelaxationName,
    ScaleName,
    SeriesFile,
    Tol,
    WithColumns,
    number_or,
    reads_a_file,
    said_of,
    sets_asked,
    several,
)

if TYPE_CHECKING:
    from softecm.readers import ReadOptions

app = typer.Typer(
    name="softecm",
    help="Which groups are there, who clearly belongs to one, who lies between which, and who to none?",
    epilog="Start with:  softecm demo   or   softecm cluster FILE -c 3 (softecm algorithms: what else there is)",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(asked: bool) -> None:
    if asked:
        from softecm._version import __version__

        typer.echo(f"softecm {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool | None,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is."),
    ] = None,
) -> None:
    pass


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the figure and the report.")] = Path(
        "softecm-demo"
    ),
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Twelve points of the paper, clustered with ECM and Soft-ECM, explained on one screen."""
    from softecm.cli.demo import run

    run(output, force=force, quiet=quiet, machine=machine)


@app.command()
@reads_a_file()
def cluster(
    context: typer.Context,
    file: InputFile,
    *,
    clusters: Annotated[
        str | None,
        typer.Option("--clusters", "-c", metavar="K|2-12|auto", help="How many groups.", rich_help_panel=FIT),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write; FILE-softecm by default.", rich_help_panel=OUT),
    ] = None,
    label_column: LabelColumn = None,
    series: SeriesFile = None,
    embedding: EmbeddingFiles = None,
    matrix: MatrixFiles = None,
    options: ReadOptions,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show how the file is read, fit and write nothing.", rich_help_panel=FILE),
    ] = False,
    algorithm: Annotated[
        str, typer.Option(help="Another estimator than SoftECM: softecm algorithms lists them.", rich_help_panel=FIT)
    ] = "SoftECM",
    links: Annotated[
        Path | None,
        typer.Option(help="CSV of pairs: object,object,together or apart; ids, or rows from 1.", rich_help_panel=FIT),
    ] = None,
    link_weight: Annotated[
        float | None, typer.Option(help="How much a link counts; larger obeys more.", rich_help_panel=FIT)
    ] = None,
    metric: MetricName = "auto",
    scale: ScaleName = "auto",
    seed: Annotated[int, typer.Option(help="Same seed, same result.", rich_help_panel=FIT)] = 0,
    alpha: Annotated[float, typer.Option(help="Larger keeps mass off large sets.", rich_help_panel=FIT)] = 1.0,
    beta: Annotated[
        float, typer.Option(help="Above 1; larger spreads mass over more sets.", rich_help_panel=FIT)
    ] = 1.2,
    delta: Delta = "auto",
    lam: Annotated[
        str, typer.Option(help="How strongly sets are tied to their groups: auto, or a number.", rich_help_panel=FIT)
    ] = "auto",
    relaxation: RelaxationName = "auto",
    max_cardinality: Annotated[
        str,
        typer.Option(help="Largest set considered, none for all, or auto: as --focal-sets says.", rich_help_panel=FIT),
    ] = "auto",
    focal_sets: Annotated[
        str, typer.Option(help="auto (groups and neighbouring pairs), simple, full or pairs.", rich_help_panel=FIT)
    ] = "auto",
    init: Annotated[
        str, typer.Option(help="auto (single groups first), k-means++ or random.", rich_help_panel=FIT)
    ] = "auto",
    n_init: Annotated[int, typer.Option(help="Number of starts.", rich_help_panel=FIT)] = 10,
    max_iter: Annotated[int, typer.Option(help="Most rounds.", rich_help_panel=FIT)] = 200,
    tol: Tol = 1e-4,
    solver: Annotated[str, typer.Option(help="auto, descent or gradient.", rich_help_panel=FIT)] = "auto",
    device: Device = "auto",
    dtype: Dtype = "float64",
    n_jobs: Annotated[int | None, typer.Option(help="Threads.", rich_help_panel=FIT)] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Such as 2GB: a larger Parquet file is read block by block.", rich_help_panel=FIT),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File that keeps where the fit stands.", rich_help_panel=FIT)
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Checkpoint to go on from.", rich_help_panel=FIT)] = None,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write partition.parquet, too.", rich_help_panel=OUT)
    ] = False,
    with_columns: WithColumns = None,
    names_of_clusters: NamesOfClusters = None,
    no_values: NoValues = False,
    clear: Clear = 0.75,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Find groups in a file; write the partition, a model and a report into a folder.

    What is not said about the file is found out and shown: --dry-run shows only that. Rows are counted from 1, below the
    names. The folder gets partition.csv (the id of each object; its label, the name of its likeliest group: ω1, ω2, … or
    --names-of-clusters; its set, what is said of it (clearly, rather, undecided, between, nowhere) with confidence and
    doubt, belief and plausibility of each group, mass of each set; text that a spreadsheet would run as a formula gets an
    apostrophe in front), summary.json, model.safetensors and report.html. A Parquet file that does not fit in memory is
    read block by block; then the masses are in partition.parquet and the report shows a sample.

    With --series and --embedding the objects have several views, which count alike: patients.csv --id patient --series
    vitals.csv --embedding notes.npy. Objects that lack a view are compared in the others.
    """
    from softecm.cli.cluster import Request, run
    from softecm.readers import Beside

    given = {
        "metric": metric,
        "random_state": seed,
        "alpha": alpha,
        "beta": beta,
        "delta": number_or("--delta", delta, "auto"),
        "lam": number_or("--lam", lam, "auto"),
        "relaxation": relaxation,
        **sets_asked(max_cardinality, focal_sets),
        "init": init,
        "n_init": n_init,
        "max_iter": max_iter,
        "tol": tol,
        "solver": solver,
        "device": device,
        "dtype": dtype,
        "n_jobs": n_jobs,
    }
    views = Beside(series, tuple(embedding or ()), tuple(matrix or ()))
    options = replace(options, states=True if metric == "states" else None)
    if dry_run:
        from softecm.cli.cluster import show_reading

        options = replace(options, label_column=label_column)
        show_reading(file, options, metric, scale, memory, quiet=quiet, machine=machine, views=views)
        return
    from softecm.cli.algorithms import DEFAULT, chosen

    algorithm = chosen(algorithm)
    if clusters is None and algorithm == DEFAULT:
        from softecm.cli.problems import Problem

        raise Problem("say how many groups to look for: -c 3, -c 2-12 or -c auto (--dry-run shows the reading alone).")
    asked = Request(
        file,
        clusters if clusters is not None else "auto",
        output or Path(f"{file.stem}-softecm"),
        replace(options, label_column=label_column),
        given,
        parquet=parquet,
        force=force,
        memory=memory,
        checkpoint=checkpoint,
        resume=resume,
        clear=clear,
        scale=scale,
        beside=several(with_columns),
        names=several([names_of_clusters]) if names_of_clusters is not None else None,
        values=not no_values,
        views=views,
        links=links,
        link_weight=link_weight,
        algorithm=algorithm,
        said=said_of(context, [*given, "scale"]),
    )
    run(asked, quiet=quiet, machine=machine)


@app.command()
def algorithms(machine: Json = False) -> None:
    """Every algorithm in a line: names for cluster --algorithm."""
    from softecm.cli.algorithms import show

    show(machine=machine)


@app.command()
@reads_a_file("drop", "categorical", "numeric", "ordinal")
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, or a folder softecm cluster wrote.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New objects, with the columns of the first ones.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV to write; FILE-partition.csv by default, - for the screen."),
    ] = None,
    series: SeriesFile = None,
    embedding: EmbeddingFiles = None,
    matrix: MatrixFiles = None,
    options: ReadOptions,
    with_columns: WithColumns = None,
    clear: Clear = 0.75,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Say where new objects belong, by a model that is already there.

    With -o - the table goes to the screen; with --json as well it is part of the one JSON object. A model of several files
    is given several: the table, --series, then every --embedding or --matrix in the order of the fit.
    """
    from softecm.cli.predict import run
    from softecm.readers import Beside

    beside = several(with_columns)
    views = Beside(series, tuple(embedding or ()), tuple(matrix or ()))
    run(model, file, output, options, views, beside=beside, clear=clear, force=force, quiet=quiet, machine=machine)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder softecm cluster wrote.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write; DIR/report.html by default. As .json: the facts alone."),
    ] = None,
    names_of_clusters: NamesOfClusters = None,
    no_values: NoValues = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Draw the report of a result folder again, without fitting.

    With --names-of-clusters and without --output the groups are named in all files of the folder: softecm rename.
    """
    from softecm.cli import redraw, rename

    names = several([names_of_clusters]) if names_of_clusters is not None else None
    if names is not None and output is None:
        rename.run(folder, names, values=not no_values, quiet=quiet, machine=machine)
        return
    redraw.run(folder, output, names=names, values=not no_values, quiet=quiet, machine=machine)


@app.command()
def rename(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder softecm cluster wrote.")],
    names: Annotated[
        str,
        typer.Argument(metavar="NAMES", help="For all groups, in their order, comma between; or for some: 'ω2=calm'."),
    ],
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Name the groups of a result folder, once one knows what they are: in its table, summary, model and report.

    predict, explain, report, compare and calibrate use the names from then on.
    """
    from softecm.cli.rename import run

    run(folder, several([names]), quiet=quiet, machine=machine)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A folder softecm cluster wrote.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one, about the same objects, or most of them.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write; compare.html by default.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Say what differs between two results: who moved, which groups split or merged, how alike they are.

    Objects are matched by their ids; those that only one of the results has (gone, new) are counted.
    """
    from softecm.cli.compare import run

    run(first, second, output or Path("compare.html"), force=force, quiet=quiet, machine=machine)


@app.command()
def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder softecm cluster wrote.")],
    table: Annotated[
        Path | None,
        typer.Argument(metavar="[TABLE]", help="Another table of the same objects; by default what was clustered."),
    ] = None,
    lam: Annotated[
        float, typer.Option(help="From -inf (bold: names groups) over 0 to inf (cautious: names sets).")
    ] = 1.0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the rules: .txt, .json, or a figure (.png, .svg, .pdf)."),
    ] = None,
    one: Annotated[
        str | None,
        typer.Option(
            "--object", metavar="NAME", help="Say why this one is where it is: its id, or its row from 1 ('row 17')."
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Say what the groups are in a few rules that a person can check, and how far to trust them.

    Rules are a small decision tree on the columns of the file that was clustered, or on those of another table with a row
    for each object, in their order: series can be explained by the patients' table.
    """
    from softecm.cli.explain import run, run_object

    if one is not None:
        run_object(folder, one, quiet=quiet, machine=machine)
        return
    run(folder, table, output, lam=lam, force=force, quiet=quiet, machine=machine)


@app.command()
def calibrate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder softecm cluster wrote.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; DIR-calibrated by default.")
    ] = None,
    refits: Annotated[int, typer.Option(help="How often the model is fitted again, to resamples.")] = 100,
    level: Annotated[float, typer.Option(help="How much of the refits an interval holds.")] = 0.9,
    resample: Annotated[str, typer.Option(help="auto, bootstrap or half.")] = "auto",
    anew: Annotated[
        bool, typer.Option("--anew", help="Look for the groups anew in every resample: as long as that many fits.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same resamples.")] = 0,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Say how sure the groups are: what other samples of the same kind would have said.

    The folder gets partition.csv, whose beliefs and plausibilities state what refits to resamples say, with each object's
    stability and interval for each group beside; calibration.json; report.html with a section on how sure the groups are;
    and a journal: the same command goes on where it was stopped.
    """
    from softecm.cli.calibrate import Asked, run

    run(Asked(folder, output, refits, level, resample, anew, seed, force), quiet=quiet, machine=machine)


@app.command()
@reads_a_file()
def sweep(
    file: InputFile,
    *,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters", "-c", metavar="K", help="How many groups: 3, 2,3,4 or 2-6 (2..6).", rich_help_panel=FIT
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; FILE-sweep by default.", rich_help_panel=OUT)
    ] = None,
    beta: Annotated[str, typer.Option(help="Values of beta, comma between.", rich_help_panel=FIT)] = "1.2",
    lam: Annotated[str, typer.Option(help="Values of lambda, or auto, comma between.", rich_help_panel=FIT)] = "auto",
    alpha: Annotated[str, typer.Option(help="Values of alpha, comma between.", rich_help_panel=FIT)] = "1",
    seeds: Annotated[int, typer.Option(help="Runs of each combination.", rich_help_panel=FIT)] = 3,
    rule: Annotated[
        str,
        typer.Option(help="valleys, silhouette, xie_beni, nonspecificity, stability or paper.", rich_help_panel=FIT),
    ] = "valleys",
    resamples: Annotated[
        int, typer.Option(help="Refits on parts of the objects, for the rule stability.", rich_help_panel=FIT)
    ] = 0,
    metric: MetricName = "auto",
    scale: ScaleName = "auto",
    delta: Delta = "auto",
    relaxation: RelaxationName = "auto",
    n_init: Annotated[int, typer.Option(help="Starts of a run.", rich_help_panel=FIT)] = 10,
    max_iter: Annotated[int, typer.Option(help="Most rounds.", rich_help_panel=FIT)] = 500,
    tol: Tol = 1e-4,
    device: Device = "auto",
    dtype: Dtype = "float64",
    label_column: LabelColumn = None,
    options: ReadOptions,
    journal: Annotated[
        Path | None, typer.Option(help="File of finished runs; in the folder by default.", rich_help_panel=OUT)
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Try a grid of parameters on a file; say what each rule chooses without labels.

    By default only the number of groups varies: nonspecificity falls with beta whatever the data, so a rule that compares it
    over several values of beta walks to the smallest.

    The folder gets sweep.csv (a row a run), best.json, heatmap.png and a journal: the same command goes on where it was
    stopped.
    """
    from softecm.cli.sweep import run

    given = {
        "metric": metric,
        "delta": number_or("--delta", delta, "auto"),
        "relaxation": relaxation,
        "n_init": n_init,
        "max_iter": max_iter,
        "tol": tol,
        "device": device,
        "dtype": dtype,
    }
    grid = {"n_clusters": clusters, "alpha": alpha, "beta": beta, "lam": lam}
    run(
        file,
        grid,
        output,
        replace(options, label_column=label_column),
        given,
        scale=scale,
        rule=rule,
        seeds=seeds,
        resamples=resamples,
        journal=journal,
        force=force,
        quiet=quiet,
        machine=machine,
    )


def reproduce() -> None:
    """The paper's tables and figures, computed anew; a package of its own: pip install ./paper in a clone of softecm."""
    from softecm.cli.problems import Problem

    raise Problem("softecm reproduce is a package of its own: run pip install ./paper in a clone of softecm.")


@cache
def application() -> typer.Typer:
    """All commands, those of other packages too: functions that are entry points of the group ``softecm.commands``."""
    attached = {entry.name: entry.load() for entry in entry_points(group="softecm.commands")}
    for name, function in attached.items():
        app.command(name)(function)
    if "reproduce" not in attached:
        app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(reproduce)
    for command in app.registered_commands:  # a paragraph is as wide as the terminal, not as the source
        paragraphs = inspect.cleandoc(command.callback.__doc__ or "").split("\n\n")
        command.help = "\n\n".join(" ".join(part.split()) for part in paragraphs)
    return app
