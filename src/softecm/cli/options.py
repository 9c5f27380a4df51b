"""Options of the command line: dataclasses of those that belong together, which a command takes as one parameter.

:func:`command_function` spreads such a parameter out on the command line, in the order of its fields, and gathers what was
given into one value again.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, dataclass_transform, get_type_hints

import typer

from softecm._errors import check_there
from softecm._wording import WORDING
from softecm.cli.problems import AS_TYPED, Problem, Stopped

if TYPE_CHECKING:
    from softecm.readers import Beside, ReadOptions

T = TypeVar("T")
Command: TypeAlias = Callable[..., None]
#: Parameters of an estimator by name, as the options gave them.
Params: TypeAlias = Mapping[str, Any]


def _panel(panel: str | None) -> Callable[..., Any]:
    """What makes fields that are options of one panel of ``--help``, from their help and, where they differ, their names."""

    def option(help: str, *names: str, default: object = None, metavar: str | None = None) -> object:
        given = ... if default is MISSING else default
        shown = typer.Option(given, *names, help=help, rich_help_panel=panel, metavar=metavar)
        return field(default=default, metadata={"option": shown})

    return option


@dataclass_transform(kw_only_default=True, frozen_default=True)
def option_group(cls: type[T]) -> type[T]:
    """Turn the annotated attributes of a class into options that belong together."""
    return dataclass(frozen=True, kw_only=True)(cls)


READING, CLUSTERING, OUTPUT = "Reading the file", "Clustering", "Output"
source, fitting, out, plain = map(_panel, (READING, CLUSTERING, OUTPUT, None))

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace existing results.")]
ResultDir = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that softecm cluster wrote.")]
LABELS = "Column with known classes, for scoring only."
LabelColumn = Annotated[str | None, typer.Option("--label-column", "--labels", help=LABELS, rich_help_panel=READING)]
BESIDE = "Columns of FILE to add to the table, comma-separated, or all."
WithColumns = Annotated[list[str] | None, typer.Option(help=BESIDE, rich_help_panel=OUTPUT)]
CLEARLY = 'Belief from which an object belongs "clearly" to a group.'
Clear = Annotated[float, typer.Option(help=CLEARLY, rich_help_panel=OUTPUT)]
HIDDEN = "Show no cell, name or prototype in report, summary.json or on the screen (the model file has prototypes)."
NoValues = Annotated[bool, typer.Option("--no-values", help=HIDDEN, rich_help_panel=OUTPUT)]


def there(path: Path) -> Path:
    """The same path, if there is a file to read: a slip of the hand is answered at once."""
    check_there(path)
    return path


InputFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="CSV, Excel, OpenDocument, Parquet, ARFF, .ts, .npy and others.", callback=there
    ),
]


@option_group
class Reading:
    """How a file is read; what is not given is inferred."""

    id_column: str | None = source(
        "Column that names the objects; in a long table, the series of each row.", "--id", "--id-column"
    )
    drop: list[str] | None = source("Columns to leave out, comma-separated.")
    drop_rows: list[str] | None = source("Rows to leave out, by number: 352, 1-3, -1 for the last; comma-separated.")
    categorical: list[str] | None = source("Columns to read as categories, or all.")
    numeric: list[str] | None = source("Columns that must be numbers, or all.")
    ordinal: list[str] | None = source(
        "Columns of ordered answers, as size=small<middle<large; all for those on a known scale; repeatable."
    )
    unit: list[str] | None = source(
        "Unit of a column that has several: weight=kg, or with a factor: glucose=mmol/L=18 mg/dL; other cells are "
        "missing; repeatable."
    )
    dates: list[str] | None = source(
        "Date columns, a format (dmy, mdy, ymd, %d.%m.%Y), or both as column=format; none to keep dates as text."
    )
    delimiter: str | None = source("Delimiter: a character, tab, blanks, or none.")
    decimal: str | None = source("Decimal separator, . or ,")
    thousands: str | None = source("Thousands separator: , or . or blank, apostrophe, none.")
    encoding: str | None = source("Encoding, such as utf-8 or cp1252.")
    header: bool | None = source("Whether the first line names the columns.", "--header/--no-header")
    names: list[str] | None = source("Names for all columns, comma-separated, if the file has none.")
    missing: list[str] | None = source(
        "Additional marks of missing cells, besides empty, ?, NA, unknown, k.A. …; repeatable."
    )
    sheet: str | None = source("Sheet of a workbook (Excel, OpenDocument).")
    array: str | None = source("Array of an .npz file.")
    symmetrize: str | None = source(
        "Matrix of dissimilarities that differ by direction: take the mean or the max.", metavar="mean|max"
    )
    time: str | None = source(
        "Column that orders a series of a long table; without --id and --value, every other column is a series."
    )
    value: str | None = source("Long table of series: the value columns, comma-separated.")
    channel: str | None = source(
        "Long table with a row per series, time and channel: the column that names the channel."
    )

    def options(self, **more: object) -> ReadOptions:
        """The same for the readers."""
        from softecm.readers import ReadOptions

        dates = (one for entry in self.dates or () for one in ([entry] if "%" in entry else several([entry])))
        lists = {name: several(vars(self)[name]) for name in ("drop", "drop_rows", "categorical", "numeric", "names")}
        lists |= {name: tuple(vars(self)[name] or ()) for name in ("ordinal", "unit")}
        lists |= {"dates": tuple(dates), "value": several([self.value or ""])}
        return ReadOptions(**{**vars(self), **lists, "missing": tuple(self.missing or ()) or None, **more})


@option_group
class OtherFiles:
    """Files with other views of the objects."""

    series: Path | None = source("Long table of series of the same objects, matched by --id.")
    embedding: list[Path] | None = source("Rows of numbers of the same objects (.npy, CSV …); repeatable.")
    matrix: list[Path] | None = source("Other dissimilarities of the same objects, for --algorithm MECMdd; repeatable.")

    def views(self) -> Beside:
        """The same for the readers."""
        from softecm.readers import Beside

        return Beside(self.series, tuple(self.embedding or ()), tuple(self.matrix or ()))


@option_group
class CommonSettings:
    """Settings of every fit, one or a grid of them: parameters of the estimator, and how columns are scaled."""

    metric: str = fitting(
        "auto, or a name; one for series (series-auto: shape, slope and texture) reads each row of a table as a series.",
        default="auto",
    )
    scale: str = fitting(
        "Scaling of numeric columns: auto, standard (to unit spread), robust (by quartiles) or none.", default="auto"
    )
    weights: str = fitting(
        "Column weights of a table: auto (uninformative columns get none), equal, or age=3,income=0.5.", default="auto"
    )
    delta: str = fitting(
        "Distance beyond which objects are outliers: auto, a number, or none for no outliers.", default="auto"
    )
    relaxation: str = fitting("auto, penalty, gap or exact.", default="auto")
    n_init: int = fitting("Number of initializations.", default=10)
    max_iter: int = fitting("Maximum number of iterations.", default=200)
    tol: float = fitting("Tolerance: the fit stops when no mass changes by more.", default=1e-4)
    device: str = fitting("auto, cpu or cuda.", default="auto")
    dtype: str = fitting("float64 or float32.", default="float64")

    def params(self) -> Params:
        """Parameters of the estimator but for the metric."""
        names = ("relaxation", "n_init", "max_iter", "tol", "device", "dtype")
        return {name: getattr(self, name) for name in names} | {"delta": number_or("--delta", self.delta, "auto")}


@option_group
class SweepSettings(CommonSettings):
    """Settings that are the same in a whole grid."""

    max_iter: int = fitting("Maximum number of iterations.", default=500)


@option_group
class FitSettings(CommonSettings):
    """Settings of one fit."""

    seed: int = fitting("Random seed.", default=0)
    alpha: float = fitting("Larger values put less mass on large sets.", default=1.0)
    beta: float = fitting("Above 1; larger values spread mass over more sets.", default=1.2)
    lam: str = fitting("How strongly sets are tied to their groups: auto, or a number.", default="auto")
    max_cardinality: str = fitting("Largest set size, none for all, or auto (as --focal-sets says).", default="auto")
    focal_sets: str = fitting("auto (groups and neighbouring pairs), simple, full or pairs.", default="auto")
    init: str = fitting("auto (single groups first), k-means++ or random.", default="auto")
    solver: str = fitting("auto, descent or gradient.", default="auto")
    n_jobs: int | None = fitting("Number of threads.")

    def params(self) -> Params:
        """Parameters of the estimator."""
        names = ("metric", "alpha", "beta", "init", "solver", "n_jobs")
        own = {name: getattr(self, name) for name in names} | {"random_state": self.seed}
        sets = focal_params(self.max_cardinality, self.focal_sets)
        return {**super().params(), **own, "lam": number_or("--lam", self.lam, "auto"), **sets}


# ------------------------------------------------------------------ from dataclasses to the command line and back


DIGITS = 4000  # Python reads no whole number with more than 4300
TOO_LONG = re.compile(rf"\d{{{DIGITS + 1}}}")


@dataclass(frozen=True)
class Invocation:
    """How the command that runs was called."""

    quiet: bool = False
    machine: bool = False  # whether one JSON object is printed, and nothing else
    specified: frozenset[str] = frozenset()  # parameters that were given, not left at their defaults
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()  # each of them as it is written, after the command's name

    def again(self, options: Sequence[str]) -> str:
        """The same command with more options, on a line of its own to be copied; it replaces this one's results."""
        force = [] if "dry_run" in self.specified else ["--force"]
        same = self.line({"force", "metric", "scale", "weights"})
        return f"run\n{' '.join([same, *options, *force])}"

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
    always = {"context": typer.Context, **({"quiet": Quiet} if quiet else {}), "machine": Json}

    @wraps(function)
    def called(context: typer.Context, *, quiet: bool = False, machine: bool = False, **values: object) -> None:
        sources = {name: context.get_parameter_source(name) for name in values}
        typed = frozenset(name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE")
        words = _written(context, typed)
        for _, (option, *rest) in words:
            if any(TOO_LONG.search(text) for text in rest):
                raise Problem(f"{option} holds a number of more than {DIGITS} digits: give a shorter one.")
        token = INVOCATION.set(Invocation(quiet, machine, typed, words))
        wording = WORDING.set(AS_TYPED._replace(again=INVOCATION.get().again))
        try:
            function(**{name: _gathered(hints[name], values, name) for name in own})
        except KeyboardInterrupt as stop:
            if str(stop):  # says what is kept, and how to go on
                raise Stopped(str(stop)) from None
            raise
        finally:
            INVOCATION.reset(token)
            WORDING.reset(wording)

    expanded = [p for name in own for p in _spread(hints[name], own[name]) if p.name not in without]
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
        if value is True or value is False:
            words.append((one.name, (option if value else (one.secondary_opts or [option])[0],)))
        elif one.param_type_name == "argument":
            words.append((one.name, (str(value),)))
        else:
            words += [(one.name, (option, str(each))) for each in (value if one.multiple else [value])]
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
        default = one.metadata.get("option", one.default)
        yield from _spread(hints[one.name], _keyword(one.name, hints[one.name], default))


def _gathered(kind: Any, values: Mapping[str, object], name: str) -> object:
    """What was given for a parameter, as one value."""
    build: Callable[..., object] = kind
    if not is_dataclass(kind):
        return values[name]
    hints = get_type_hints(kind, include_extras=True)
    names = [one.name for one in fields(kind) if is_dataclass(hints[one.name]) or one.name in values]
    return build(**{one: _gathered(hints[one], values, one) for one in names})


def several(names: list[str] | None) -> tuple[str, ...]:
    """Names given once each, or in one go with commas between.

    Examples
    --------
    >>> several(["a, b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(part.strip() for name in names or [] for part in name.split(",") if part.strip())


def number_or(name: str, text: str, *words: str, whole: bool = False) -> float | int | str | None:
    """A number, one of the words, or None for "none"."""
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
    if largest == "auto":
        return {"max_cardinality": None, "focal_sets": focal_sets}
    # The estimator says what is wrong with both.
    return {"max_cardinality": largest, "focal_sets": None if focal_sets == "auto" else focal_sets}
