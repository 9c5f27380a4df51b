"""Options of the command line: dataclasses of those that belong together, which a command takes as one parameter.

:func:`command_function` spreads such a parameter out on the command line, in the order of its fields, and gathers what was
given into one value again.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer

from softecm._errors import check_there
from softecm._wording import WORDING

if TYPE_CHECKING:
    from softecm.readers import Beside, ReadOptions

Command: TypeAlias = Callable[..., None]
#: Parameters of an estimator by name, as the options gave them.
Params: TypeAlias = Mapping[str, Any]


def _panel(name: str) -> Callable[..., Any]:
    """What makes the options of one panel of ``--help``, from their help and, where they differ, their names."""
    return lambda help, *names, **more: typer.Option(*names, help=help, rich_help_panel=name, **more)


_file, _fit, _out = map(_panel, ("Reading the file", "Clustering", "Output"))

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace existing results.")]
ResultDir = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that softecm cluster wrote.")]
MetricName = Annotated[str, _fit("auto, or a metric's name (auto for series: shape, slope and texture combined).")]
ScaleName = Annotated[
    str,
    _fit(
        "How columns of numbers are scaled: auto, standard (to unit spread), robust (by quartiles) or none.", "--scale"
    ),
]
WeightsRule = Annotated[
    str, _fit("Column weights of a table: auto (uninformative columns get none) or equal.", "--weights")
]
LabelColumn = Annotated[str | None, _file("Column with known classes, for scoring only.", "--label-column", "--labels")]
WithColumns = Annotated[
    list[str] | None, _out("Columns of FILE to add to the table, comma-separated, or all.", "--with-columns")
]
Delta = Annotated[str, _fit("Distance beyond which objects are outliers: auto, a number, or none for no outliers.")]
RelaxationName = Annotated[str, _fit("auto, penalty, gap or exact.")]
Tol = Annotated[float, _fit("Tolerance: the fit stops when no mass changes by more.")]
Device = Annotated[str, _fit("auto, cpu or cuda.")]
Dtype = Annotated[str, _fit("float64 or float32.")]
Clear = Annotated[float, _out('Belief from which an object belongs "clearly" to a group.')]
NamesOfClusters = Annotated[str | None, _out("Names for the groups in their order, comma-separated.")]
NoValues = Annotated[
    bool,
    _out(
        "Output to pass on: no cell, name or prototype in report, summary.json or on the screen (the model has some).",
        "--no-values",
    ),
]


def there(path: Path) -> Path:
    """The same path, if there is a file to read: a slip of the hand is answered at once."""
    check_there(path)
    return path


InputFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="CSV, Parquet, Feather, Excel, ARFF, .ts, .npy and others.", callback=there),
]


@dataclass(frozen=True)
class Reading:
    """How a file is read; what is not given is inferred."""

    id_column: Annotated[
        str | None,
        _file("Column that names the objects; in a long table, the series of each row.", "--id", "--id-column"),
    ] = None
    drop: Annotated[list[str] | None, _file("Columns to leave out, comma-separated.")] = None
    drop_rows: Annotated[
        list[str] | None, _file("Rows to leave out, by number: 352, 1-3, -1 for the last; comma-separated.")
    ] = None
    categorical: Annotated[list[str] | None, _file("Columns to read as categories, or all.")] = None
    numeric: Annotated[list[str] | None, _file("Columns that must be numbers, or all.")] = None
    ordinal: Annotated[
        list[str] | None,
        _file("Columns of ordered answers, as size=small<middle<large; all for those on a known scale; repeatable."),
    ] = None
    dates: Annotated[
        list[str] | None,
        _file(
            "Date columns, a format (dmy, mdy, ymd, %d.%m.%Y), or both as column=format; none to keep dates as text."
        ),
    ] = None
    delimiter: Annotated[str | None, _file("Delimiter: a character, tab, blanks, or none.")] = None
    decimal: Annotated[str | None, _file("Decimal separator, . or ,")] = None
    thousands: Annotated[str | None, _file("Thousands separator: , or . or blank, apostrophe, none.")] = None
    encoding: Annotated[str | None, _file("Encoding, such as utf-8 or cp1252.")] = None
    header: Annotated[bool | None, _file("Whether the first line names the columns.", "--header/--no-header")] = None
    names: Annotated[
        list[str] | None, _file("Names for all columns, comma-separated, if the file has none.", "--names")
    ] = None
    missing: Annotated[
        list[str] | None, _file("Additional marks of missing cells, besides empty, ?, NA, unknown, k.A. …; repeatable.")
    ] = None
    sheet: Annotated[str | None, _file("Sheet of an Excel file.")] = None
    array: Annotated[str | None, _file("Array of an .npz file.")] = None
    time: Annotated[str | None, _file("Long table of series: the column that orders a series.")] = None
    value: Annotated[str | None, _file("Long table of series: the value columns, comma-separated.")] = None

    def options(self, **more: object) -> ReadOptions:
        """The same for the readers."""
        from softecm.readers import ReadOptions

        dates = (one for entry in self.dates or () for one in ([entry] if "%" in entry else several([entry])))
        lists = {
            name: several(getattr(self, name)) for name in ("drop", "drop_rows", "categorical", "numeric", "names")
        }
        lists |= {"dates": tuple(dates), "ordinal": tuple(self.ordinal or ()), "value": several_or(self.value) or ()}
        return ReadOptions(**{**vars(self), **lists, "missing": tuple(self.missing or ()) or None, **more})


@dataclass(frozen=True)
class OtherFiles:
    """Files with other views of the objects."""

    series: Annotated[Path | None, _file("Long table of series of the same objects, matched by --id.", "--series")] = (
        None
    )
    embedding: Annotated[
        list[Path] | None, _file("Rows of numbers of the same objects (.npy, CSV …); repeatable.", "--embedding")
    ] = None
    matrix: Annotated[
        list[Path] | None,
        _file("Other dissimilarities of the same objects, for --algorithm MECMdd; repeatable.", "--matrix"),
    ] = None

    def views(self) -> Beside:
        """The same for the readers."""
        from softecm.readers import Beside

        return Beside(self.series, tuple(self.embedding or ()), tuple(self.matrix or ()))


@dataclass(frozen=True)
class FitSettings:
    """Settings of one fit: parameters of the estimator, and how columns are scaled."""

    metric: MetricName = "auto"
    scale: ScaleName = "auto"
    weights: WeightsRule = "auto"
    seed: Annotated[int, _fit("Random seed.")] = 0
    alpha: Annotated[float, _fit("Larger values put less mass on large sets.")] = 1.0
    beta: Annotated[float, _fit("Above 1; larger values spread mass over more sets.")] = 1.2
    delta: Delta = "auto"
    lam: Annotated[str, _fit("How strongly sets are tied to their groups: auto, or a number.")] = "auto"
    relaxation: RelaxationName = "auto"
    max_cardinality: Annotated[str, _fit("Largest set size, none for all, or auto (as --focal-sets says).")] = "auto"
    focal_sets: Annotated[str, _fit("auto (groups and neighbouring pairs), simple, full or pairs.")] = "auto"
    init: Annotated[str, _fit("auto (single groups first), k-means++ or random.")] = "auto"
    n_init: Annotated[int, _fit("Number of initializations.")] = 10
    max_iter: Annotated[int, _fit("Maximum number of iterations.")] = 200
    tol: Tol = 1e-4
    solver: Annotated[str, _fit("auto, descent or gradient.")] = "auto"
    device: Device = "auto"
    dtype: Dtype = "float64"
    n_jobs: Annotated[int | None, _fit("Number of threads.")] = None

    def params(self) -> Params:
        """Parameters of the estimator; ``scale`` is none of them."""
        values = {**vars(self), "random_state": self.seed, "delta": number_or("--delta", self.delta, "auto")}
        values |= {"lam": number_or("--lam", self.lam, "auto"), **focal_params(self.max_cardinality, self.focal_sets)}
        return {name: value for name, value in values.items() if name not in ("scale", "weights", "seed")}


@dataclass(frozen=True)
class ClusterOptions:
    """All that ``softecm cluster`` is told about a file."""

    clusters: Annotated[str | None, _fit("Number of groups.", "--clusters", "-c", metavar="K|2-12|auto")] = None
    output: Annotated[Path | None, _out("Folder to write; FILE-softecm by default.", "--output", "-o")] = None
    label_column: LabelColumn = None
    other_files: OtherFiles = field(default_factory=OtherFiles)
    reading: Reading = field(default_factory=Reading)
    dry_run: Annotated[bool, _file("Only show how the file is read; fit and write nothing.", "--dry-run")] = False
    algorithm: Annotated[str, _fit("Algorithm; softecm algorithms lists them.")] = "SoftECM"
    links: Annotated[Path | None, _fit("CSV of pairs: object,object,together or apart; ids, or rows from 1.")] = None
    link_weight: Annotated[float | None, _fit("Weight of links; larger values satisfy more of them.")] = None
    settings: FitSettings = field(default_factory=FitSettings)
    memory: Annotated[str | None, _fit("Memory limit such as 2GB: larger Parquet files are read block by block.")] = (
        None
    )
    checkpoint: Annotated[Path | None, _fit("File that stores the state of the fit.")] = None
    resume: Annotated[Path | None, _fit("Checkpoint to continue from.")] = None
    parquet: Annotated[bool, _out("Also write partition.parquet.", "--parquet")] = False
    with_columns: WithColumns = None
    names_of_clusters: NamesOfClusters = None
    no_values: NoValues = False
    clear: Clear = 0.75
    force: Force = False


@dataclass(frozen=True)
class CalibrateOptions:
    """How often and how a result is fitted again."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; DIR-calibrated by default.")
    ] = None
    refits: Annotated[int, typer.Option(help="Number of refits to resamples.")] = 100
    level: Annotated[float, typer.Option(help="Share of the refits inside an interval.")] = 0.9
    resample: Annotated[str, typer.Option(help="auto, bootstrap or half.")] = "auto"
    anew: Annotated[
        bool, typer.Option("--anew", help="Refit from scratch in every resample: as slow as that many fits.")
    ] = False
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0
    force: Force = False


@dataclass(frozen=True)
class SweepOptions:
    """A grid of parameters, and what is the same in all of it."""

    clusters: Annotated[str, _fit("Numbers of groups: 3, 2,3,4 or 2-6 (2..6).", "--clusters", "-c", metavar="K")]
    output: Annotated[Path | None, _out("Folder to write; FILE-sweep by default.", "--output", "-o")] = None
    beta: Annotated[str, _fit("Values of beta, comma-separated.")] = "1.2"
    lam: Annotated[str, _fit("Values of lambda, or auto, comma-separated.")] = "auto"
    alpha: Annotated[str, _fit("Values of alpha, comma-separated.")] = "1"
    seeds: Annotated[int, _fit("Runs per combination.")] = 3
    rule: Annotated[str, _fit("auto, mixture, valleys, silhouette, xie_beni, nonspecificity, stability or paper.")] = (
        "auto"
    )
    resamples: Annotated[int, _fit("Refits to parts of the objects, for the rule stability.")] = 0
    metric: MetricName = "auto"
    scale: ScaleName = "auto"
    weights: WeightsRule = "auto"
    delta: Delta = "auto"
    relaxation: RelaxationName = "auto"
    n_init: Annotated[int, _fit("Initializations per run.")] = 10
    max_iter: Annotated[int, _fit("Maximum number of iterations.")] = 500
    tol: Tol = 1e-4
    device: Device = "auto"
    dtype: Dtype = "float64"
    label_column: LabelColumn = None
    reading: Reading = field(default_factory=Reading)
    journal: Annotated[Path | None, _out("Journal of finished runs; inside the folder by default.")] = None
    force: Force = False

    def grid(self) -> dict[str, str]:
        """What varies, as it was written."""
        return {"n_clusters": self.clusters, "alpha": self.alpha, "beta": self.beta, "lam": self.lam}

    def params(self) -> Params:
        """Parameters of the estimator that are the same in all runs, but for the metric."""
        names = ("relaxation", "n_init", "max_iter", "tol", "device", "dtype")
        return {name: getattr(self, name) for name in names} | {"delta": number_or("--delta", self.delta, "auto")}


# ------------------------------------------------------------------ from dataclasses to the command line and back


@dataclass(frozen=True)
class Invocation:
    """How the command that runs was called."""

    quiet: bool = False
    machine: bool = False  # whether one JSON object is printed, and nothing else
    specified: frozenset[str] = frozenset()  # parameters that were given, not left at their defaults
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()  # each of them as it is written, after the command's name

    def line(self, without: Collection[str] = (), **instead: str) -> str:
        """The same command to type, without some of its parameters, or with other values for them."""
        known = [(name, (*text[:-1], instead.get(name, text[-1]))) for name, text in self.words if name not in without]
        return shlex.join(["softecm", *(word for _, text in known for word in text)])


#: Of the command that runs.
INVOCATION: ContextVar[Invocation] = ContextVar("invocation", default=Invocation())  # noqa: B039  (frozen)


def command_function(function: Command, *, quiet: bool = True, without: Collection[str] = ()) -> Command:
    """A function as Typer takes it: dataclasses of options spread out but for some, ``--quiet`` and ``--json`` added."""
    hints = get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    spread = {name: [p for p in _spread(hints[name], own[name]) if p.name not in without] for name in own}
    always = {"context": typer.Context, **({"quiet": Quiet} if quiet else {}), "machine": Json}

    @wraps(function)
    def called(context: typer.Context, *, quiet: bool = False, machine: bool = False, **values: object) -> None:
        sources = {name: context.get_parameter_source(name) for name in values}
        typed = frozenset(name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE")
        from softecm.cli.problems import AS_TYPED, Stopped

        token = INVOCATION.set(Invocation(quiet, machine, typed, _written(context, typed)))
        wording = WORDING.set(AS_TYPED)
        try:
            function(**{name: _gathered(hints[name], values, name) for name in own})
        except KeyboardInterrupt as stop:
            if str(stop):  # says what is kept, and how to go on
                raise Stopped(str(stop)) from None
            raise
        finally:
            INVOCATION.reset(token)
            WORDING.reset(wording)

    expanded = [p for parameters in spread.values() for p in parameters]
    expanded += [_keyword(name, kind, False) for name, kind in always.items()]
    vars(called)["__signature__"] = inspect.Signature(expanded)
    called.__annotations__ = {p.name: p.annotation for p in expanded}
    return called


def _written(context: typer.Context, typed: Collection[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A command's name, and each parameter that was given, as they are typed."""
    words: list[tuple[str, tuple[str, ...]]] = [("command", (str(context.info_name),))]
    for one in context.command.params:
        value = context.params.get(str(one.name))
        if one.name not in typed or value is None:
            continue
        option = one.opts[-1] if one.opts[0].startswith("-") and not one.opts[-1].startswith("--") else one.opts[0]
        if isinstance(value, bool):
            words.append((one.name, (option if value else (one.secondary_opts or [option])[0],)))
        elif one.param_type_name == "argument":
            words.append((one.name, (str(value),)))
        else:
            several = value if isinstance(value, list | tuple) else [value]
            words += [(one.name, (option, str(each))) for each in several]
    return tuple(words)


def _keyword(name: str, kind: object, default: object) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING or kind is typer.Context else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _spread(kind: object, parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """A parameter, or one for each field of its dataclass and of those inside."""
    if not is_dataclass(kind):
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind)
        return
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        yield from _spread(hints[one.name], _keyword(one.name, hints[one.name], one.default))


def _gathered(kind: Any, values: Mapping[str, object], name: str) -> object:
    """What was given for a parameter, as one value."""
    build: Callable[..., object] = kind
    if not is_dataclass(kind):
        return values[name]
    hints = get_type_hints(kind, include_extras=True)
    names = [one.name for one in fields(kind) if is_dataclass(hints[one.name]) or one.name in values]
    return build(**{one: _gathered(hints[one], values, one) for one in names})


# ------------------------------------------------------------------ what is written in one option


def several(names: list[str] | None) -> tuple[str, ...]:
    """Names given once each, or in one go with commas between.

    Examples
    --------
    >>> several(["a, b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(part.strip() for name in names or [] for part in name.split(",") if part.strip())


def several_or(names: str | None) -> tuple[str, ...] | None:
    """Names with commas between; None where the option was not given."""
    return None if names is None else several([names])


def number_or(name: str, text: str, *words: str, whole: bool = False) -> float | int | str | None:
    """A number, one of the words, or None for "none"."""
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


def focal_params(max_cardinality: str, focal_sets: str) -> dict[str, object]:
    """The two parameters that say which sets are considered: the first where it is given, else the second.

    Examples
    --------
    >>> focal_params("auto", "auto"), focal_params("3", "auto")
    ({'max_cardinality': None, 'focal_sets': 'auto'}, {'max_cardinality': 3, 'focal_sets': None})
    >>> focal_params("none", "auto")
    {'max_cardinality': None, 'focal_sets': 'full'}
    """
    largest = number_or("--max-cardinality", max_cardinality, "auto", whole=True)
    if largest is None:
        return {"max_cardinality": None, "focal_sets": "full"}
    has_size = largest != "auto"
    both = has_size and focal_sets != "auto"  # the estimator says what is wrong with that
    return {
        "max_cardinality": largest if has_size else None,
        "focal_sets": None if has_size and not both else focal_sets,
    }
