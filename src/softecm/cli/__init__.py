"""The command line. Thin: what a command needs is imported when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="softecm",
    help="Which groups are there, who clearly belongs to one, who lies between which, and who to none?",
    epilog="Start with:  softecm demo   or   softecm cluster FILE -c 3",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines, nothing else.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the results in an existing folder.")]


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


# ------------------------------------------------------------------ options that several commands share

FILE, FIT, OUT = "How the file is read", "How groups are looked for", "What is written"

Delimiter = Annotated[
    str | None, typer.Option(help="Between cells: a character, tab, blanks, or none.", rich_help_panel=FILE)
]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, . or ,", rich_help_panel=FILE)]
Encoding = Annotated[str | None, typer.Option(help="Such as utf-8 or cp1252.", rich_help_panel=FILE)]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns.", rich_help_panel=FILE),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="What marks a missing cell, instead of ?, NA, empty …; repeatable.", rich_help_panel=FILE),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file.", rich_help_panel=FILE)]
Array = Annotated[str | None, typer.Option(help="Array of an .npz file.", rich_help_panel=FILE)]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out, comma between.", rich_help_panel=FILE)]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Columns to take as categories, or all.", rich_help_panel=FILE)
]
Numeric = Annotated[list[str] | None, typer.Option(help="Columns that must be numbers, or all.", rich_help_panel=FILE)]
MetricName = Annotated[str, typer.Option(help="auto, or a metric's name.", rich_help_panel=FIT)]
Delta = Annotated[
    str, typer.Option(help="Distance to no group: auto, a number, or none for no outliers.", rich_help_panel=FIT)
]
RelaxationName = Annotated[str, typer.Option(help="penalty, gap or exact.", rich_help_panel=FIT)]
Tol = Annotated[float, typer.Option(help="Done when no mass moves by more.", rich_help_panel=FIT)]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.", rich_help_panel=FIT)]
Dtype = Annotated[str, typer.Option(help="float64 or float32.", rich_help_panel=FIT)]
IdColumn = Annotated[str | None, typer.Option(help="Column that names the objects.", rich_help_panel=FILE)]
SeriesId = Annotated[
    str | None, typer.Option("--id", help="Long table of series: which series a row is of.", rich_help_panel=FILE)
]
Time = Annotated[
    str | None, typer.Option(help="Long table of series: the column that orders a series.", rich_help_panel=FILE)
]
Value = Annotated[
    str | None, typer.Option(help="Long table of series: the value columns, comma between.", rich_help_panel=FILE)
]


def _several(names: list[str] | None) -> tuple[str, ...]:
    """Names given once each, or in one go with commas between."""
    return tuple(part.strip() for name in names or [] for part in name.split(",") if part.strip())


@app.command()
def cluster(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, Parquet, Feather, Excel, ARFF, .ts, .npy or .npz.")
    ],
    clusters: Annotated[
        str, typer.Option("--clusters", "-c", metavar="K|auto", help="How many groups.", rich_help_panel=FIT)
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write; FILE-softecm by default.", rich_help_panel=OUT),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column with known classes: only to score.", rich_help_panel=FILE)
    ] = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    missing: Missing = None,
    sheet: Sheet = None,
    array: Array = None,
    series_id: SeriesId = None,
    time: Time = None,
    value: Value = None,
    metric: MetricName = "auto",
    seed: Annotated[int, typer.Option(help="Same seed, same result.", rich_help_panel=FIT)] = 0,
    alpha: Annotated[float, typer.Option(help="Larger keeps mass off large sets.", rich_help_panel=FIT)] = 1.0,
    beta: Annotated[
        float, typer.Option(help="Above 1; larger spreads mass over more sets.", rich_help_panel=FIT)
    ] = 1.2,
    delta: Delta = "auto",
    lam: Annotated[float, typer.Option(help="How strongly sets are tied to their groups.", rich_help_panel=FIT)] = 1.0,
    relaxation: RelaxationName = "penalty",
    max_cardinality: Annotated[
        str, typer.Option(help="Largest set considered, or none for all.", rich_help_panel=FIT)
    ] = "2",
    focal_sets: Annotated[str | None, typer.Option(help="simple, full or pairs.", rich_help_panel=FIT)] = None,
    init: Annotated[str, typer.Option(help="k-means++ or random.", rich_help_panel=FIT)] = "k-means++",
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
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Find groups in a file; write the partition, a model and a report into a folder.

    What is not said about the file is found out and shown. The folder gets partition.csv (the id of each object, its label
    counted from 0, its set, belief and plausibility of each group, mass of each set; text that a spreadsheet would run as a
    formula gets an apostrophe in front), summary.json, model.safetensors and report.html. A Parquet file that does not fit
    in memory is read block by block; then the masses are in partition.parquet and the report shows a sample.
    """
    from softecm.cli.cluster import run
    from softecm.readers import ReadOptions

    options = ReadOptions(
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing) if missing else None,
        sheet=sheet,
        array=array,
        id_column=id_column,
        label_column=label_column,
        drop=_several(drop),
        categorical=_several(categorical),
        numeric=_several(numeric),
        series_id=series_id,
        time=time,
        value=_several([value] if value else None),
    )
    given = {
        "metric": metric,
        "random_state": seed,
        "alpha": alpha,
        "beta": beta,
        "delta": _number_or("--delta", delta, "auto"),
        "lam": lam,
        "relaxation": relaxation,
        "max_cardinality": _number_or("--max-cardinality", max_cardinality, whole=True),
        "focal_sets": focal_sets,
        "init": init,
        "n_init": n_init,
        "max_iter": max_iter,
        "tol": tol,
        "solver": solver,
        "device": device,
        "dtype": dtype,
        "n_jobs": n_jobs,
    }
    run(
        file,
        clusters,
        output,
        options,
        given,
        parquet=parquet,
        force=force,
        quiet=quiet,
        machine=machine,
        memory=memory,
        checkpoint=checkpoint,
        resume=resume,
    )


def _number_or(name: str, text: str, *words: str, whole: bool = False) -> float | int | str | None:
    from softecm.cli.problems import Problem

    if text in words:
        return text
    if text.lower() in ("none", "off"):
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError:
        choices = "".join(f"{word}, " for word in words)
        raise Problem(f"{name} must be {choices}none or a number; got {text}.") from None


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, or a folder softecm cluster wrote.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New objects, with the columns of the first ones.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV to write; FILE-partition.csv by default, - for the screen."),
    ] = None,
    id_column: IdColumn = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    missing: Missing = None,
    sheet: Sheet = None,
    array: Array = None,
    series_id: SeriesId = None,
    time: Time = None,
    value: Value = None,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Say where new objects belong, by a model that is already there."""
    from softecm.cli.predict import run
    from softecm.readers import ReadOptions

    options = ReadOptions(
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing) if missing else None,
        sheet=sheet,
        array=array,
        id_column=id_column,
        series_id=series_id,
        time=time,
        value=_several([value] if value else None),
    )
    run(model, file, output, options, force=force, quiet=quiet, machine=machine)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder softecm cluster wrote.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; DIR/report.html by default.")
    ] = None,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Draw the report of a result folder again, without fitting."""
    from softecm.cli.redraw import run

    run(folder, output, quiet=quiet, machine=machine)


@app.command()
def sweep(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, Parquet, Feather, Excel, ARFF, .ts, .npy or .npz.")
    ],
    clusters: Annotated[
        str,
        typer.Option("--clusters", "-c", metavar="K", help="How many groups: 3, 2,3,4 or 2-6.", rich_help_panel=FIT),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; FILE-sweep by default.", rich_help_panel=OUT)
    ] = None,
    beta: Annotated[str, typer.Option(help="Values of beta, comma between.", rich_help_panel=FIT)] = "1.1,1.2,1.3,1.5",
    lam: Annotated[str, typer.Option(help="Values of lambda, comma between.", rich_help_panel=FIT)] = "0.1,1,10",
    alpha: Annotated[str, typer.Option(help="Values of alpha, comma between.", rich_help_panel=FIT)] = "1",
    seeds: Annotated[int, typer.Option(help="Runs of each combination.", rich_help_panel=FIT)] = 3,
    rule: Annotated[
        str,
        typer.Option(help="nonspecificity, xie_beni, silhouette, stability or paper.", rich_help_panel=FIT),
    ] = "nonspecificity",
    resamples: Annotated[
        int, typer.Option(help="Refits on parts of the objects, for the rule stability.", rich_help_panel=FIT)
    ] = 0,
    metric: MetricName = "auto",
    delta: Delta = "auto",
    relaxation: RelaxationName = "penalty",
    n_init: Annotated[int, typer.Option(help="Starts of a run.", rich_help_panel=FIT)] = 10,
    max_iter: Annotated[int, typer.Option(help="Most rounds.", rich_help_panel=FIT)] = 500,
    tol: Tol = 1e-4,
    device: Device = "auto",
    dtype: Dtype = "float64",
    labels: Annotated[
        str | None, typer.Option(help="Column with known classes: only to judge.", rich_help_panel=FILE)
    ] = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    missing: Missing = None,
    sheet: Sheet = None,
    array: Array = None,
    series_id: SeriesId = None,
    time: Time = None,
    value: Value = None,
    journal: Annotated[
        Path | None, typer.Option(help="File of finished runs; in the folder by default.", rich_help_panel=OUT)
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """Try a grid of parameters on a file; say what each rule chooses without labels.

    The folder gets sweep.csv (a row a run), best.json, heatmap.png and a journal: the same command goes on where it was
    stopped.
    """
    from softecm.cli.sweep import run
    from softecm.readers import ReadOptions

    options = ReadOptions(
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing) if missing else None,
        sheet=sheet,
        array=array,
        id_column=id_column,
        label_column=labels,
        drop=_several(drop),
        categorical=_several(categorical),
        numeric=_several(numeric),
        series_id=series_id,
        time=time,
        value=_several([value] if value else None),
    )
    given = {
        "metric": metric,
        "delta": _number_or("--delta", delta, "auto"),
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
        options,
        given,
        rule=rule,
        seeds=seeds,
        resamples=resamples,
        journal=journal,
        force=force,
        quiet=quiet,
        machine=machine,
    )


@app.command()
def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="diamond, cbf, mixture, table, lambda, rules, or all of them.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; out/reproduce/NAME by default.")
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(help="Rows of the table: numerical, categorical, series, or names; comma between."),
    ] = None,
    grid: Annotated[
        str, typer.Option(help="full (1000 runs a row), small, or auto: small for Soft-DTW alone.")
    ] = "auto",
    seeds: Annotated[int, typer.Option(help="Runs of each combination; 5 at most for Soft-DTW unless full.")] = 10,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    journals: Annotated[
        Path | None, typer.Option(help="Folder of finished runs, shared by experiments; beside the output by default.")
    ] = None,
    quiet: Quiet = False,
    machine: Json = False,
) -> None:
    """The paper's tables and figures, computed anew and laid beside its numbers.

    Writes NAME.md, NAME.html and the figures. What is finished is kept in journals: the same command goes on where
    it was stopped. The data sets are downloaded, or read from the folder that SOFTECM_DATA names.
    """
    from softecm.cli.reproduce import run

    run(
        name,
        output,
        rows=_several(rows),
        grid=grid,
        seeds=seeds,
        device=device,
        journals=journals,
        quiet=quiet,
        machine=machine,
    )


def main() -> None:
    """Run the command line; exit 2 with one sentence for what the user can mend."""
    from softecm.cli.problems import Problem, Stopped

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without ω shows ? instead of failing
            stream.reconfigure(errors="replace")
    try:
        app()
    except Problem as problem:
        print(f"softecm: {problem}", file=sys.stderr)
        raise SystemExit(2) from None
    except Stopped as stop:
        print(f"softecm: {stop}", file=sys.stderr)
        raise SystemExit(130) from None
    except KeyboardInterrupt:
        print("softecm: stopped.", file=sys.stderr)
        raise SystemExit(130) from None
