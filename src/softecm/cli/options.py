"""Options of the command line that several commands share, each said once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from softecm._errors import check_there

Command = Callable[..., None]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines, nothing else.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace results that are there already.")]

FILE, FIT, OUT = "How the file is read", "How groups are looked for", "What is written"

Delimiter = Annotated[
    str | None, typer.Option(help="Between cells: a character, tab, blanks, or none.", rich_help_panel=FILE)
]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, . or ,", rich_help_panel=FILE)]
Thousands = Annotated[
    str | None, typer.Option(help="Between thousands: , or . or blank, apostrophe, none.", rich_help_panel=FILE)
]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of dates, a format (dmy, mdy, ymd, %d.%m.%Y), or both as column=format; none to leave dates as text.",
        rich_help_panel=FILE,
    ),
]
ColumnNames = Annotated[
    list[str] | None,
    typer.Option(
        "--names", help="Names for all columns, comma between, where the file has none.", rich_help_panel=FILE
    ),
]
Encoding = Annotated[str | None, typer.Option(help="Such as utf-8 or cp1252.", rich_help_panel=FILE)]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns.", rich_help_panel=FILE),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="What else marks a missing cell, beside empty, ?, NA, unknown, k.A. …; repeatable.", rich_help_panel=FILE
    ),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file.", rich_help_panel=FILE)]
Array = Annotated[str | None, typer.Option(help="Array of an .npz file.", rich_help_panel=FILE)]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out, comma between.", rich_help_panel=FILE)]
DropRows = Annotated[
    list[str] | None,
    typer.Option(help="Rows to leave out, by number: 352, 1-3, -1 for the last; comma between.", rich_help_panel=FILE),
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Columns to take as categories, or all.", rich_help_panel=FILE)
]
Numeric = Annotated[list[str] | None, typer.Option(help="Columns that must be numbers, or all.", rich_help_panel=FILE)]
Ordinal = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of answers in an order, as size=small<middle<large; all for those of a known scale; repeatable.",
        rich_help_panel=FILE,
    ),
]
MetricName = Annotated[
    str,
    typer.Option(
        help="auto, series-auto (tries a few distances between series), or a metric's name.", rich_help_panel=FIT
    ),
]
ScaleName = Annotated[
    str,
    typer.Option(
        "--scale",
        help="How columns of numbers are scaled: auto, standard (to unit spread), robust (by quartiles) or none.",
        rich_help_panel=FIT,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label-column", "--labels", help="Column with known classes: only to score.", rich_help_panel=FILE),
]
WithColumns = Annotated[
    list[str] | None,
    typer.Option("--with-columns", help="Columns of FILE to write beside, comma between, or all.", rich_help_panel=OUT),
]
Delta = Annotated[
    str, typer.Option(help="Distance to no group: auto, a number, or none for no outliers.", rich_help_panel=FIT)
]
RelaxationName = Annotated[str, typer.Option(help="auto, penalty, gap or exact.", rich_help_panel=FIT)]
Tol = Annotated[float, typer.Option(help="Done when no mass moves by more.", rich_help_panel=FIT)]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.", rich_help_panel=FIT)]
Dtype = Annotated[str, typer.Option(help="float64 or float32.", rich_help_panel=FIT)]
Clear = Annotated[
    float, typer.Option(help='Belief from which an object is said to belong "clearly".', rich_help_panel=OUT)
]
NamesOfClusters = Annotated[
    str | None, typer.Option(help="Names for the groups, in their order, comma between.", rich_help_panel=OUT)
]
NoValues = Annotated[
    bool,
    typer.Option(
        "--no-values",
        help="Report and summary.json to pass on: no cell, name or prototype in them (the model has prototypes).",
        rich_help_panel=OUT,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        "--id-column",
        help="Column that names the objects; in a long table, the series that a row is of.",
        rich_help_panel=FILE,
    ),
]
Time = Annotated[
    str | None, typer.Option(help="Long table of series: the column that orders a series.", rich_help_panel=FILE)
]
Value = Annotated[
    str | None, typer.Option(help="Long table of series: the value columns, comma between.", rich_help_panel=FILE)
]

SeriesFile = Annotated[
    Path | None,
    typer.Option("--series", help="Long table of series of the same objects, matched by --id.", rich_help_panel=FILE),
]
EmbeddingFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--embedding", help="Rows of numbers of the same objects (.npy, CSV …); repeatable.", rich_help_panel=FILE
    ),
]
MatrixFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--matrix",
        help="Other dissimilarities of the same objects, for --algorithm MECMdd; repeatable.",
        rich_help_panel=FILE,
    ),
]


def there(path: Path) -> Path:
    """The same path, if there is a file to read: a slip of the hand is answered at once."""
    check_there(path)
    return path


InputFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="CSV, Parquet, Feather, Excel, ARFF, .ts, .npy or .npz.", callback=there),
]

#: How a file is read, in the order of ``--help``; all of these are None unless given.
READING: dict[str, Any] = {
    "id_column": IdColumn,
    "drop": Drop,
    "drop_rows": DropRows,
    "categorical": Categorical,
    "numeric": Numeric,
    "ordinal": Ordinal,
    "dates": Dates,
    "delimiter": Delimiter,
    "decimal": Decimal,
    "thousands": Thousands,
    "encoding": Encoding,
    "header": Header,
    "names": ColumnNames,
    "missing": Missing,
    "sheet": Sheet,
    "array": Array,
    "time": Time,
    "value": Value,
}


def reads_a_file(*without: str) -> Callable[[Command], Command]:
    """Give a command the options on how its file is read; it gets what was said as one value, ``options``.

    They stand in ``--help`` where ``options`` stands among the command's parameters.
    """
    added = {name: kind for name, kind in READING.items() if name not in without}

    def decorate(command: Command) -> Command:
        @wraps(command)
        def reading(**given: Any) -> None:
            said = {name: given.pop(name) for name in added}
            command(**given, options=read_options(said))

        hints = get_type_hints(command, localns={"ReadOptions": object}, include_extras=True)
        own = inspect.signature(command).parameters.values()
        expanded = [one for p in own for one in (_parameters(added) if p.name == "options" else [_typed(p, hints)])]
        reading.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
        reading.__annotations__ = {p.name: p.annotation for p in expanded}
        return reading

    return decorate


def said_of(context: typer.Context, names: Collection[str]) -> frozenset[str]:
    """Which of these options of the command that runs were given, not left at their defaults."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return frozenset(name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE")


def _parameters(kinds: dict[str, Any]) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in kinds.items()]


def _typed(parameter: inspect.Parameter, hints: dict[str, Any]) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])


def read_options(said: dict[str, Any]) -> Any:
    """What was said about a file, as ``ReadOptions``."""
    from softecm.readers import ReadOptions

    listed = [name for name in ("drop", "drop_rows", "categorical", "numeric", "names") if name in said]
    lists: dict[str, Any] = {name: several(said[name]) for name in listed}
    lists["dates"] = tuple(
        one for entry in said["dates"] or () for one in ([entry] if "%" in entry else several([entry]))
    )
    lists["ordinal"] = tuple(said.get("ordinal") or ())
    lists["value"] = several([said["value"]] if said["value"] else None)
    return ReadOptions(**said | lists | {"missing": tuple(said["missing"] or ()) or None})


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


def sets_asked(max_cardinality: str, focal_sets: str) -> dict[str, object]:
    """The two parameters that say which sets are considered: the first where it is given, else the second.

    Examples
    --------
    >>> sets_asked("auto", "auto"), sets_asked("3", "auto")
    ({'max_cardinality': None, 'focal_sets': 'auto'}, {'max_cardinality': 3, 'focal_sets': None})
    >>> sets_asked("none", "auto")
    {'max_cardinality': None, 'focal_sets': 'full'}
    """
    largest = number_or("--max-cardinality", max_cardinality, "auto", whole=True)
    if largest is None:
        return {"max_cardinality": None, "focal_sets": "full"}
    given = largest != "auto"
    both = given and focal_sets != "auto"  # the estimator says what is wrong with that
    return {
        "max_cardinality": largest if given else None,
        "focal_sets": None if given and not both else focal_sets,
    }
