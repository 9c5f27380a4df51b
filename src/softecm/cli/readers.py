"""From a file to objects: tables and series in every format people have them in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softecm.cli.problems import Problem
from softecm.cli.sniff import BLANKS, Dialect, check_rows, sniff

Kind = Literal["number", "category", "id", "label", "left out"]
FREE_TEXT = (
    0.5  # a text column with more distinct values than this part of the rows names objects, it does not group them
)
FEW_LEVELS = 30


@dataclass(frozen=True)
class ReadOptions:
    """What the user said about the file; None is found out."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] | None = None
    sheet: str | None = None
    array: str | None = None
    id_column: str | None = None
    label_column: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    series_id: str | None = None
    time: str | None = None
    value: tuple[str, ...] = ()

    @property
    def long(self) -> bool:
        """Whether the table holds one time step of one series a row."""
        return bool(self.series_id or self.time or self.value)


@dataclass(frozen=True)
class Column:
    """One column as it was understood."""

    name: str
    kind: Kind
    detail: str
    gaps: int = 0


@dataclass(frozen=True)
class Loaded:
    """Objects, their names, and how they were read."""

    data: Any  # data frame; or (n, L, d) array, or list of (L, d) arrays
    shape: Literal["table", "series"]
    ids: NDArray[np.object_] | None
    labels: NDArray[np.object_] | None
    columns: tuple[Column, ...] = ()
    how: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()  # how to read it in Python, giving X

    def __len__(self) -> int:
        return len(self.data)

    @property
    def names(self) -> list[str]:
        """What the objects are called: their ids, or their numbers from 1."""
        return [str(i + 1) for i in range(len(self))] if self.ids is None else [str(v) for v in self.ids]

    @property
    def gaps(self) -> int:
        """Missing cells among the attributes."""
        return sum(c.gaps for c in self.columns if c.kind in ("number", "category"))

    @property
    def categories(self) -> bool:
        """Whether some attribute is not a number."""
        return any(c.kind == "category" for c in self.columns)


def read(path: Path, options: ReadOptions, *, only: Sequence[str] | None = None) -> Loaded:
    """The objects of a file.

    Parameters
    ----------
    path : Path
    options : ReadOptions
    only : sequence of str, optional
        The attributes a fitted model wants, in its order; everything else is left aside.
    """
    _check_file(path)
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        return _arrays(path, options)
    if ending == ".ts":
        return _ts(path)
    frame, how, code = _frame(path, ending, options)
    if not len(frame):
        raise Problem(f"{path} has names of columns and no rows below them: there is nothing to cluster.")
    if options.long:
        return replace(_long(path, frame, options), how=how, code=(*code, *_long_code(options)))
    loaded = _table(path, frame, how, options, only)
    return replace(loaded, code=(*code, *_table_code(loaded)))


def understood_sample(path: Path, frame: Any, how: dict[str, str], options: ReadOptions) -> Loaded:
    """Some rows of a file that is too large to be read at once, understood as the whole would be."""
    return _table(path, frame, how, options, None)


def words_of(column: Any) -> Any:
    """A column of categories as ``read`` gives it: text without blanks around it, gaps as they are."""
    return _stripped(column)


def check_file(path: Path) -> None:
    """Refuse what can't be opened or is empty."""
    _check_file(path)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise Problem(f"{path} is a folder: give the file in it.")
    if not path.exists():
        raise Problem(f"{path} does not exist: check its name and the folder you are in.")
    try:
        with open(path, "rb") as file:
            start = file.read(1)
    except OSError as error:
        raise Problem(f"{path} can't be read: {(error.strerror or str(error)).lower()}.") from error
    if not start:
        raise Problem(f"{path} is empty: there is nothing to cluster.")


# ------------------------------------------------------------------ tables


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise Problem("reading tables needs pandas: pip install 'softecm[report]'.") from error
    return pandas


def _frame(path: Path, ending: str, options: ReadOptions) -> tuple[Any, dict[str, str], tuple[str, ...]]:
    pd = _pandas()
    readers: dict[str, Callable[[], Any]] = {
        ".parquet": lambda: pd.read_parquet(path),
        ".pq": lambda: pd.read_parquet(path),
        ".feather": lambda: pd.read_feather(path),
        ".arrow": lambda: pd.read_feather(path),
        ".xlsx": lambda: _excel(pd, path, options),
        ".xlsm": lambda: _excel(pd, path, options),
        ".xls": lambda: _excel(pd, path, options),
        ".arff": lambda: _arff(pd, path),
    }
    if ending not in readers:
        return _text(pd, path, options)
    kind = ending[1:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = readers[ending]()
    except ImportError as error:
        need = {"xlsx": "openpyxl", "xlsm": "openpyxl", "xls": "xlrd"}.get(kind, "pyarrow")
        raise Problem(f"reading .{kind} files needs {need}: pip install {need}.") from error
    except Problem:
        raise
    except Exception as error:  # whatever the format's library raises on a damaged file
        raise Problem(f"{path} can't be read as .{kind}: {_brief(error)}.") from error
    frame.columns = [str(name) for name in frame.columns]
    frame = frame.replace(dict.fromkeys(options.missing)) if options.missing else frame
    reader = {"parquet": "parquet", "pq": "parquet", "feather": "feather", "arrow": "feather"}.get(kind, "excel")
    line = (
        f"table = pd.read_{reader}({str(path)!r})"
        if kind != "arff"
        else f"table = pd.DataFrame(loadarff({str(path)!r})[0])"
    )
    first = ("from scipy.io.arff import loadarff",) if kind == "arff" else ()
    return frame, {"format": kind}, ("import pandas as pd", *first, line)


def _text(pd: Any, path: Path, options: ReadOptions) -> tuple[Any, dict[str, str], tuple[str, ...]]:
    dialect = sniff(
        path,
        encoding=options.encoding,
        delimiter=options.delimiter,
        header=options.header,
        decimal=options.decimal,
        missing=options.missing,
    )
    check_rows(path, dialect)
    if dialect.n_fields == 1 and options.delimiter is None:
        raise Problem(
            f"{path} seems to have only one column: say how its cells are divided with --delimiter (--delimiter none if one "
            "column is all there is)."
        )
    try:
        frame = pd.read_csv(path, **_csv_arguments(dialect))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, ValueError) as error:
        raise Problem(f"{path} can't be read as a table: {_brief(error)}. Give --delimiter or --encoding.") from error
    if not dialect.header:
        frame.columns = [f"column {j + 1}" for j in range(frame.shape[1])]
    frame.columns = [str(name).strip() for name in frame.columns]
    return frame, {"format": "text", **dialect.words()}, _text_code(path, dialect)


def _text_code(path: Path, dialect: Dialect) -> tuple[str, ...]:
    given = {
        k: v for k, v in _csv_arguments(dialect).items() if k not in ("low_memory", "index_col", "keep_default_na")
    }
    usual = {"sep": ",", "encoding": "utf-8", "header": 0, "decimal": "."}
    given["na_values"] = [m for m in dialect.missing_seen if m]
    told = {k: v for k, v in given.items() if usual.get(k, ...) != v and v != []}
    arguments = "".join(f", {k}={v!r}" for k, v in told.items())
    named = () if dialect.header else ('table.columns = [f"column {j + 1}" for j in range(table.shape[1])]',)
    return ("import pandas as pd", f"table = pd.read_csv({str(path)!r}{arguments})", *named)


def _table_code(loaded: Loaded) -> tuple[str, ...]:
    away = [c.name for c in loaded.columns if c.kind not in ("number", "category")]
    return (f"X = table.drop(columns={away!r})" if away else "X = table",)


def _long_code(options: ReadOptions) -> tuple[str, ...]:
    values = f"part.sort_values({options.time!r})[{list(options.value)!r}].to_numpy(float)"
    return (f"X = [{values} for _, part in table.groupby({options.series_id!r}, sort=False)]",)


def _csv_arguments(dialect: Dialect) -> dict[str, Any]:
    divided = {"sep": r"\s+"} if dialect.delimiter == BLANKS else {"sep": dialect.delimiter or "\x1f"}
    return {
        **divided,
        "encoding": dialect.encoding,
        "header": 0 if dialect.header else None,
        "decimal": dialect.decimal,
        "na_values": [m for m in dialect.missing if m],
        "keep_default_na": dialect.missing_seen == () or "" in dialect.missing,
        "skipinitialspace": True,
        "low_memory": False,
        "index_col": False,
    }


def _excel(pd: Any, path: Path, options: ReadOptions) -> Any:
    sheet: Any = 0 if options.sheet is None else options.sheet
    header = None if options.header is False else 0
    try:
        return pd.read_excel(path, sheet_name=sheet, header=header, na_values=["?"])
    except ValueError as error:
        if "Worksheet" not in str(error):
            raise
        raise Problem(f"{path} has no sheet {sheet!r}: give another with --sheet.") from error


def _arff(pd: Any, path: Path) -> Any:
    from scipy.io import arff

    try:
        data, _ = arff.loadarff(path)
    except NotImplementedError as error:
        raise Problem(f"{path} has attributes that can't be read ({_brief(error)}): save it as CSV.") from error
    frame = pd.DataFrame(data)
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = frame[name].str.decode("utf-8").replace("?", None)
    return frame


def _table(path: Path, frame: Any, how: dict[str, str], options: ReadOptions, only: Sequence[str] | None) -> Loaded:
    options = _named_columns(path, frame, options)
    columns: list[Column] = []
    kept: dict[str, Any] = {}
    found: dict[str, Any] = {}
    notes: list[str] = []
    given = {options.id_column: "id", options.label_column: "label"}
    for name in frame.columns:
        column = frame[name]
        if name in given:
            kind = given[name]
            found[kind] = column
            columns.append(Column(name, kind, _shown(column), int(column.isna().sum())))  # type: ignore[arg-type]
            continue
        may_be_id = only is None and options.id_column is None and "id" not in found
        forced = only is not None and name in only
        values, described, remark = _understood(path, name, column, options, may_be_id, forced)
        columns.append(described)
        notes += [remark] if remark else []
        if described.kind == "id":
            found["id"] = column
        elif values is not None:
            kept[name] = values
    if only is not None:
        kept = {name: kept[name] for name in _wanted(path, kept, only)}
    if not kept:
        raise Problem(f"{path} has no column left to cluster by: see --drop, --id-column and --label-column.")
    ids = _ids(path, found["id"], options.id_column) if "id" in found else None
    labels = _words(found["label"]) if "label" in found else None
    return Loaded(type(frame)(kept), "table", ids, labels, tuple(columns), how, tuple(notes))


def _understood(
    path: Path, name: str, column: Any, options: ReadOptions, may_be_id: bool, forced: bool
) -> tuple[Any, Column, str]:
    """Values to cluster by (None: left out), the column in words, a remark."""
    from pandas.api import types

    gaps, n = int(column.isna().sum()), len(column)
    if name in options.drop:
        return None, Column(name, "left out", "as asked", gaps), ""
    if name in options.numeric or "all" in options.numeric:
        return _as_numbers(path, name, column), Column(name, "number", _shown(column), gaps), ""
    if types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype):
        return None, Column(name, "left out", "dates", gaps), ""
    if gaps == n:
        return None, Column(name, "left out", "empty", gaps), ""
    as_number = types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
    if name in options.categorical or "all" in options.categorical or not as_number:
        return _category(name, column, options, may_be_id, forced)
    if types.is_complex_dtype(column.dtype):
        return None, Column(name, "left out", "complex numbers", gaps), ""
    if not forced and n > 1 and column.nunique() == 1 and gaps == 0:
        return None, Column(name, "left out", f"always {_short(column.iloc[0])}", gaps), ""
    if may_be_id and n > 9 and _counts_rows(column):
        return None, Column(name, "id", "counts the rows"), ""
    return column, Column(name, "number", _shown(column), gaps), ""


def _category(name: str, column: Any, options: ReadOptions, may_be_id: bool, forced: bool) -> tuple[Any, Column, str]:
    words = _stripped(column)
    gaps, distinct, n = int(words.isna().sum()), int(words.nunique()), len(words)
    asked = name in options.categorical or forced
    if not asked and distinct == n and n > 9 and may_be_id:
        return None, Column(name, "id", "different in every row", gaps), ""
    if not asked and distinct > max(FEW_LEVELS, FREE_TEXT * n):
        return None, Column(name, "left out", f"free text: {distinct} different values", gaps), ""
    if not asked and n > 1 and distinct <= 1 and gaps == 0:
        return None, Column(name, "left out", f"always {_short(words.iloc[0])}", gaps), ""
    return words, Column(name, "category", _shown(words), gaps), _nearly_numbers(name, words)


def _stripped(column: Any) -> Any:
    """Text without blanks around it; numbers and truth values as text; gaps stay gaps."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if pd.api.types.is_float_dtype(column.dtype) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")  # codes read as 1.0 because some are missing
    words = column.astype("str").str.strip().astype(object)
    return words.where(column.notna() & (words != ""), None)


def _nearly_numbers(name: str, words: Any) -> str:
    """A remark where a few words keep a column from being numbers."""
    import pandas as pd

    filled = words.dropna()
    odd = filled[pd.to_numeric(filled, errors="coerce").isna()]
    if len(filled) >= 10 and 0 < len(odd) < 0.1 * len(filled):
        return (
            f"column {name} is taken as categories because of {_short(odd.iloc[0])} (row {int(odd.index[0]) + 1}); if that "
            f"means missing, give --missing {_short(odd.iloc[0])}."
        )
    return ""


def _as_numbers(path: Path, name: str, column: Any) -> Any:
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    odd = column[numbers.isna() & column.notna()]
    if len(odd):
        raise Problem(
            f"column {name} of {path} must hold numbers; got {_short(odd.iloc[0])} in row {int(odd.index[0]) + 1}: mend it, "
            "or name it with --missing."
        )
    return numbers.astype("float64")


def _counts_rows(column: Any) -> bool:
    values = column.to_numpy()
    return values.dtype.kind in "iu" and bool((np.diff(values) == 1).all()) and values[0] in (0, 1)


def _wanted(path: Path, kept: dict[str, Any], only: Sequence[str]) -> Sequence[str]:
    absent = [name for name in only if name not in kept]
    if absent:
        listed = ", ".join(absent[:5]) + (" …" if len(absent) > 5 else "")
        raise Problem(f"{path} must have the columns the model was fitted with; {listed} not found among its columns.")
    return only


def _named_columns(path: Path, frame: Any, options: ReadOptions) -> ReadOptions:
    """The options with every column by its name; a number that is no name counts columns from 1."""

    def one(name: str | None) -> str | None:
        return None if name is None else _existing(path, frame, name)

    def several(names: Sequence[str]) -> tuple[str, ...]:
        return tuple("all" if name == "all" else _existing(path, frame, name) for name in names)

    return replace(
        options,
        id_column=one(options.id_column),
        label_column=one(options.label_column),
        drop=several(options.drop),
        categorical=several(options.categorical),
        numeric=several(options.numeric),
    )


def _existing(path: Path, frame: Any, name: str) -> str:
    if name not in frame.columns and name.isdecimal() and 1 <= int(name) <= len(frame.columns):
        return str(frame.columns[int(name) - 1])
    if name not in frame.columns:
        some = ", ".join(map(str, frame.columns[:12])) + (" …" if len(frame.columns) > 12 else "")
        raise Problem(f"{path} has no column {name}: its columns are {some}.")
    return name


def _ids(path: Path, column: Any, asked: str | None) -> NDArray[np.object_]:
    if column.isna().any():
        if asked is None:
            return np.array([str(i + 1) for i in range(len(column))], dtype=object)
        row = int(np.flatnonzero(column.isna())[0]) + 1
        raise Problem(f"column {asked} of {path} names no object in row {row}: ids must not be missing.")
    ids = _words(column)
    repeated = column[column.duplicated()]
    if len(repeated):
        raise Problem(
            f"ids must be unique: {_short(repeated.iloc[0])} comes more than once in column {asked} of {path}. Give another "
            "--id-column, or leave it out to count rows."
        )
    return ids


def _words(column: Any) -> NDArray[np.object_]:
    values = column.astype(object).where(column.notna(), None)
    return np.array([None if v is None else str(v) for v in values], dtype=object)


def _shown(column: Any) -> str:
    """Range of numbers, or the most frequent categories."""
    filled = column.dropna()
    if not len(filled):
        return "empty"
    if filled.dtype.kind in "iuf":
        return f"{filled.min():.6g} to {filled.max():.6g}"
    counts = filled.value_counts()
    shown = ", ".join(_short(v) for v in counts.index[:4])
    return shown + (f" … ({len(counts)} values)" if len(counts) > 4 else "")


def _short(value: Any, most: int = 24) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _brief(error: Exception) -> str:
    return _short(str(error).splitlines()[0] if str(error) else type(error).__name__, 120).rstrip(". ")


# ------------------------------------------------------------------ arrays and series


def _arrays(path: Path, options: ReadOptions) -> Loaded:
    pd = _pandas()
    try:
        with np.errstate(all="ignore"):
            content = np.load(path, allow_pickle=False)
            labels, name = None, ""
            if isinstance(content, np.lib.npyio.NpzFile):
                name = _chosen_array(path, list(content.files), options)
                labels = content["y"] if "y" in content.files and name != "y" else None
                values = content[name]
            else:
                values = content
    except Problem:
        raise
    except Exception as error:  # damaged, or pickled objects
        raise Problem(f"{path} can't be read as NumPy arrays of numbers: {_brief(error)}.") from error
    if values.dtype.kind not in "iufb" or values.ndim not in (2, 3):
        raise Problem(
            f"{path} must hold numbers of shape (objects, columns) or (series, steps, channels); got {values.dtype} "
            f"of shape {values.shape}."
        )
    if not values.size:
        raise Problem(f"{path} holds an array without objects: there is nothing to cluster.")
    words = None if labels is None or len(labels) != len(values) else np.array([str(v) for v in labels], dtype=object)
    how = {"format": f"NumPy array of shape {values.shape}"}
    code: tuple[str, ...] = ("import numpy as np", f"X = np.load({str(path)!r}){f'[{name!r}]' if name else ''}")
    if values.ndim == 3:
        return replace(_series(list(values.astype(np.float64)), None, words, how), code=code)
    frame = pd.DataFrame(values, columns=[f"column {j + 1}" for j in range(values.shape[1])])
    return replace(_table(path, frame, how, options, None), labels=words, code=code)


def _chosen_array(path: Path, names: list[str], options: ReadOptions) -> str:
    wanted = [options.array] if options.array else [*(n for n in ("X", "x", "data", "arr_0") if n in names), *names]
    if not wanted or wanted[0] not in names:
        raise Problem(
            f"{path} has no array {options.array or ''}: it holds {', '.join(names) or 'none'}. Give --array."
        )
    return wanted[0]


def _ts(path: Path) -> Loaded:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from aeon.datasets import load_from_ts_file
    except ImportError as error:
        raise Problem("reading .ts files needs aeon: pip install 'softecm[series]'.") from error
    try:
        x, y = load_from_ts_file(str(path))[:2]
    except Exception as error:  # aeon raises many kinds
        raise Problem(f"{path} can't be read as a .ts file: {_brief(error)}.") from error
    series = [np.ascontiguousarray(np.asarray(one, dtype=np.float64).T) for one in x]  # (channels, L) -> (L, channels)
    labels = np.array([str(v) for v in y], dtype=object) if y is not None and len(y) == len(series) else None
    code = (
        "from aeon.datasets import load_from_ts_file",
        f"X = [series.T for series in load_from_ts_file({str(path)!r})[0]]  # (steps, channels) each",
    )
    return replace(_series(series, None, labels, {"format": "ts (UEA/UCR)"}), code=code)


def _long(path: Path, frame: Any, options: ReadOptions) -> Loaded:
    if not (options.series_id and options.time and options.value):
        raise Problem("a long table of series needs all of --id, --time and --value.")
    options = replace(
        options,
        series_id=_existing(path, frame, options.series_id),
        time=_existing(path, frame, options.time),
        value=tuple(_existing(path, frame, name) for name in options.value),
    )
    if frame[options.series_id].isna().any():
        raise Problem(f"column {options.series_id} of {path} must name a series in every row; some cells are missing.")
    twice = frame.duplicated([options.series_id, options.time])
    if twice.any():
        row = frame[twice].iloc[0]
        raise Problem(
            f"{path} has two values for series {_short(row[options.series_id])} at time {_short(row[options.time])}: keep "
            "one."
        )
    numbers = [_as_numbers(path, name, frame[name]) for name in options.value]
    values = np.column_stack(numbers)
    order = frame.sort_values(options.time, kind="stable").groupby(options.series_id, sort=False).indices
    ordered = frame.reset_index(drop=True).sort_values(options.time, kind="stable")
    first = list(dict.fromkeys(frame[options.series_id].tolist()))
    rows = {key: ordered.index.to_numpy()[places] for key, places in order.items()}
    series = [values[rows[key]] for key in first]
    labels = None
    if options.label_column:
        _existing(path, frame, options.label_column)
        labels = _words(frame.groupby(options.series_id, sort=False)[options.label_column].first())
    return _series(series, np.array([str(k) for k in first], dtype=object), labels, {})


def _series(
    series: list[NDArray[np.float64]],
    ids: NDArray[np.object_] | None,
    labels: NDArray[np.object_] | None,
    how: dict[str, str],
) -> Loaded:
    if not series:
        raise Problem("the file holds no series: there is nothing to cluster.")
    lengths = np.array([len(one) for one in series])
    channels = series[0].shape[1]
    gaps = int(sum(np.isnan(one).sum() for one in series))
    span = f"{lengths.min()}" if lengths.min() == lengths.max() else f"{lengths.min()} to {lengths.max()}"
    detail = f"{len(series)} series of {span} steps"
    columns = (Column(f"{channels} channel{'' if channels == 1 else 's'}", "number", detail, gaps),)
    data: Any = np.stack(series) if lengths.min() == lengths.max() else series
    return Loaded(data, "series", ids, labels, columns, how)
