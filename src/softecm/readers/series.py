"""Series and sequences of states: files of the UEA and UCR archives (``.ts``), long tables, a series per column or row."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._text import counted, some_of
from softecm._wording import option
from softecm.readers.answers import stripped
from softecm.readers.base import (
    Column,
    Expected,
    Kind,
    Loaded,
    Names,
    ReadError,
    ReadOptions,
    Sheet,
    as_names,
    existing,
    own_names,
    readable,
    short,
    with_classes,
)
from softecm.readers.columns import (
    FileContext,
    as_numbers,
    holds_numbers,
    is_text,
    known_groups,
    repetitions,
    words,
)
from softecm.readers.wide import MANY, steps_of

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import pandas as pd
    from narwhals.typing import IntoDataFrame, IntoSeries

Series = NDArray[np.float64]  # (steps, channels)
DIGITS = re.compile(r"(\d+)")
REGULAR = 0.8  # share of equal steps of times that are equally spaced
PIVOT = "pivot the table so that each channel is a column of its own, and list these columns in values"


def as_data(series: Sequence[Series]) -> Series | list[Series]:
    """Return one array (n, steps, channels) if all series have one length, else a list."""
    return np.stack(series) if len({one.shape for one in series}) == 1 else list(series)


def loaded_series(
    series: Sequence[Series],
    ids: Names | None,
    labels: Names | None,
    how: dict[str, str],
    channels: Sequence[str] = (),
) -> Loaded:
    """Return series as objects, with their number, lengths and missing values; a column for each named channel."""
    if not len(series):
        raise ReadError("the file has no series: there is nothing to cluster.")
    lengths = sorted({len(one) for one in series})
    gaps = np.sum([np.isnan(one).sum(0) for one in series], axis=0)  # (channels,)
    span = " to ".join(str(length) for length in dict.fromkeys((lengths[0], lengths[-1])))
    if not channels:
        channels = ["channel 1" if len(gaps) == 1 else f"{len(gaps)} channels"]
        gaps = gaps.sum(keepdims=True)
    detail = f"{len(series)} series of {span} steps"
    columns = tuple(Column(name, "number", detail, int(count)) for name, count in zip(channels, gaps, strict=True))
    return Loaded(as_data(series), "series", ids, labels, columns, how)


def read_ts(path: Path, options: ReadOptions) -> Loaded:
    """Return the series of a ``.ts`` file and their classes, read with aeon."""
    try:
        with warnings.catch_warnings(action="ignore"):
            from aeon.datasets import load_from_ts_file
    except ImportError as error:
        raise ReadError("reading .ts files needs aeon: pip install 'softecm[series]'.") from error
    with readable(path, "a .ts file"):
        x, y = load_from_ts_file(str(path))[:2]
    series = from_aeon(x)
    if not series:
        raise ReadError(f"{path} has no series below a line @data: there is nothing to cluster.")
    labels = as_names(y) if y is not None and len(y) == len(series) else None
    return loaded_series(series, None, labels, {"format": "ts (UEA/UCR)"})


def from_aeon(series: Iterable[ArrayLike]) -> list[Series]:
    """Return series of shape (steps, channels) from aeon's (channels, steps)."""
    return [np.ascontiguousarray(np.asarray(one, dtype=np.float64).T) for one in series]


def from_long(
    frame: IntoDataFrame, *, id: str, time: str, values: str | list[str]
) -> tuple[list[Series], list[Hashable]]:
    """Return series from a long table with one row per series and time.

    Parameters
    ----------
    frame : data frame (pandas, polars, pyarrow)
    id, time : str
        Columns that identify series and time.
    values : str or list of str
        The channels' columns.

    Returns
    -------
    series : list of (steps, channels) arrays, in the order in which ids first appear
    ids : list

    Raises
    ------
    ValueError
        If a column is missing or invalid, or a series has two rows at one time.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"who": ["a", "b", "a", "b"], "t": [1, 0, 0, 1], "v": [2.0, 3.0, 1.0, 4.0]})
    >>> series, ids = from_long(frame, id="who", time="t", values="v")
    >>> ids, series[0][:, 0].tolist()
    (['a', 'b'], [1.0, 2.0])
    """
    import narwhals.stable.v1 as nw

    table = nw.from_native(frame, eager_only=True)
    channels = [values] if isinstance(values, str) else list(values)
    for name in (id, time, *channels):
        if name not in table.columns:
            raise ValueError(f"column {name!r} is not in the table; it has {', '.join(map(repr, table.columns))}.")
    if len(table) == 0:
        raise ValueError("frame must hold at least one row; got none. Give one row for each series and time.")
    if table[id].is_null().any():
        raise ValueError(
            f"column {id!r} must name a series in every row; some cells are missing. Leave those rows out."
        )
    _check_once("the table", table, [id, time], channels, PIVOT)
    numbers = np.column_stack([_channel(table[c], c) for c in channels])
    return cut(table[id].to_list(), time_order(table[time]), numbers)


def _channel(column: nw.Series[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} must hold numbers; got {column.dtype}. Turn it into floats, or leave it out of values."
        ) from error


def _check_once(where: object, table: nw.DataFrame[Any], key: list[str], channels: Sequence[str], remedy: str) -> None:
    """Raise an error for two rows of a series at one time; suggest another column that may name channels."""
    repeated = table.filter(table.select(key).is_duplicated())
    if not len(repeated):
        return
    series, time, *of_channel = (short(repeated[name][0]) for name in key)
    others = [c for c in table.columns if c not in (*key, *channels) and 2 * table[c].n_unique() <= len(table)]
    channel = next((c for c in others if not repeated.select([*key, c]).is_duplicated().any()), None)
    in_channel = f" in channel {of_channel[0]}" if of_channel else ""
    remedy = remedy.format(option("channel", channel))
    hint = f" If {channel} says which channel a row is of, {remedy}." if channel and not of_channel else ""
    raise ReadError(
        f"{where} has two values for series {series} at time {time}{in_channel}: keep one row for each series and time."
        f"{hint}"
    )


def time_order(times: IntoSeries) -> NDArray[np.intp]:
    """Return the rows in the order of time; rows without a time come last."""
    import narwhals.stable.v1 as nw

    frame = nw.from_native(times, series_only=True).alias("time").to_frame().with_row_index("row")
    return np.asarray(frame.sort("time", nulls_last=True)["row"].to_numpy(), dtype=np.intp)


def cut(
    names: Sequence[Hashable], order: NDArray[np.intp], cells: NDArray[Any]
) -> tuple[list[NDArray[Any]], list[Hashable]]:
    """Sort rows (n, channels), and split them by name into series in order of first appearance.

    Examples
    --------
    >>> series, ids = cut(["b", "a", "b"], np.array([2, 1, 0]), np.array([[1.0], [2.0], [3.0]]))
    >>> ids, [one[:, 0].tolist() for one in series]
    (['b', 'a'], [[3.0, 1.0], [2.0]])
    """
    number: dict[Hashable, int] = {}
    which = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.intp)
    rows = order[np.argsort(which[order], kind="stable")]
    ends = np.cumsum(np.bincount(which, minlength=len(number)))
    return np.split(cells[rows], ends[:-1]), list(number)


def read_long(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """Return the series, or sequences of states, of a table with one row per time step."""
    options = _checked(path, sheet.frame, options)
    if options.channel:
        sheet, options = _by_channel(path, sheet, options, options.channel)
    frame, context = sheet.frame, FileContext.of(path, sheet, options)
    times, remarks = times_of(context, frame[options.time])
    order = time_order(times)
    if options.states:
        cells = stripped(frame[options.value[0]]).to_numpy(dtype=object)[:, None]
    else:
        numbers = [as_numbers(context, name, frame[name]) for name in options.value]
        cells, notes = np.column_stack([one for one, _ in numbers]), [note for _, notes in numbers for note in notes]
    series, names = cut(frame[options.series_id].tolist(), order, cells)
    ids, labels, known = as_names(names), None, None
    if options.label_column:
        labels = words(frame.groupby(options.series_id, sort=False)[options.label_column].first())
    if options.known:
        groups, _, of_groups = known_groups(frame[options.known], context)
        known, remarks = words(_one_each(path, groups, frame[options.series_id])), (*remarks, *of_groups)
    sheet = replace(sheet, notes=(*sheet.notes, *remarks))
    if options.states:
        return replace(_loaded_states([one[:, 0].tolist() for one in series], ids, labels, sheet), known=known)
    how = sheet.how | {"time": _span(frame[options.time].iloc[order])}
    notes += _missing_steps(frame[options.series_id], times)
    loaded = loaded_series(series, ids, labels, how, options.value)
    return replace(loaded, notes=(*sheet.notes, *notes), known=known)


def _one_each(path: Path, groups: pd.Series, names: pd.Series) -> pd.Series:
    """Return the known group of each series; raise an error for a series with two."""
    cells = groups.groupby(names, sort=False)
    several = cells.nunique()
    if (several > 1).any():
        raise ReadError(
            f"{path}: {option('known')} must give each series one group; got {several.max()} for {short(several.idxmax())}."
        )
    return cells.first()


def read_columns(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """Return the series of a table with a column for each, and one for the time."""
    import pandas as pd

    frame, columns = sheet.frame, list(sheet.frame.columns)
    name = existing(path, columns, str(options.time))
    dropped = {name, *(existing(path, columns, one) for one in options.drop)}
    times, remarks = times_of(context := FileContext.of(path, sheet, options), frame[name])
    long = f"If each row is one time of one series, add {option('id_column')} and {option('value')}."
    if options.classes:
        given = "label_column" if options.label_column else "known"
        raise ReadError(f"{option(given)} needs series in rows, and {path} has them in columns: leave it out.")
    if len(again := frame[name][times.duplicated() & times.notna()]):
        raise ReadError(
            f"column {short(name)} of {path} repeats {short(again.iloc[0])} in row {int(again.index[0]) + 1}, so its other "
            f"columns can't be series: keep one row for each time. {long}"
        )
    order = time_order(times)
    others = [one for one in columns if one not in dropped and not holds_numbers(context, one, frame[one])]
    numbers, notes = _numbers(context, frame[[one for one in columns if one not in (*dropped, *others)]])
    series = {one: _filled(cells[order]) for one, cells in numbers.items()}
    few = [one for one, cells in series.items() if len(cells) < 2]
    kept = [one for one in series if one not in few]
    if len(kept) < (2 if options.expected is None else 1):
        raise ReadError(
            f"{path} must have a column of numbers for each series besides the time {short(name)}; got {len(kept)}. {long}"
        )
    notes += [*_left_out(few, "fewer than two numbers"), *_left_out(others, "not numbers")]
    notes += _missing_steps(pd.Series(name, times.index), times)
    how = sheet.how | {"time": _span(frame[name].iloc[order])}
    loaded = loaded_series([series[one][:, None] for one in kept], as_names(kept), None, how)
    return replace(loaded, notes=(*sheet.notes, *remarks, *notes))


def _span(times: pd.Series) -> str:
    """Return the column of sorted times and its range."""
    known = times.dropna()
    return f"{times.name}, {f'{short(known.iloc[0])} to {short(known.iloc[-1])}' if len(known) else 'unknown'}"


def _filled(cells: Series) -> Series:
    """Return a series without missing values at its ends."""
    known = np.flatnonzero(~np.isnan(cells))
    return cells[known[0] : known[-1] + 1] if len(known) else cells[:0]


def _numbers(context: FileContext, frame: pd.DataFrame) -> tuple[dict[str, Series], list[str]]:
    """Return columns of numbers by name, and remarks."""
    columns = {str(name): as_numbers(context, str(name), column) for name, column in frame.items()}
    notes = [remark for _, remarks in columns.values() for remark in remarks]
    return {name: values.to_numpy() for name, (values, _) in columns.items()}, notes


def _left_out(names: Sequence[str], why: str) -> list[str]:
    """Return a remark about columns that are left out."""
    count = counted(len(names), "column is", "columns are")
    return [f"{count} left out ({why}): {some_of([short(name) for name in names], 5)}."] if names else []


def _missing_steps(names: pd.Series, times: pd.Series) -> list[str]:
    """Return a remark on rows that are missing within series whose times are otherwise equally spaced."""
    order = times.dropna().sort_values(kind="stable").index
    steps = times[order].groupby(names[order], sort=False).diff().dropna()
    usual = steps.median() if len(steps) else None
    long = steps > 1.5 * usual if usual else steps.astype(bool)
    if not usual or not long.any() or (abs(steps - usual) < 0.05 * usual).mean() < REGULAR:
        return []
    where = f"in {names[steps.index][long].nunique()} series " if names.nunique() > 1 else ""
    return [
        f"{where}rows seem to be missing ({counted(int(long.sum()), 'longer step', 'longer steps')}): steps "
        "count as equally long, so add these rows with empty cells."
    ]


def _by_channel(path: Path, sheet: Sheet, options: ReadOptions, channel: str) -> tuple[Sheet, ReadOptions]:
    """Return the table with one row per time and a column per channel, in the order of their names or of the fit."""
    frame, (value, *_) = sheet.frame, options.value
    key = [str(options.series_id), str(options.time)]
    words = stripped(frame[channel])
    levels = sorted(words.dropna().unique())
    names = options.expected.names if options.expected and options.expected.names else levels
    absent, unused = [name for name in names if name not in levels], [name for name in levels if name not in names]
    if absent:
        raise ReadError(f"{path} must have the channels of the fit in {short(channel)}; {some_of(absent)} not found.")
    groups = frame.groupby(key, sort=False, dropna=False)
    rows = frame.loc[~frame.duplicated(key), [*key, *options.classes]]
    places, own = groups.ngroup().to_numpy(), own_names([*rows.columns, *names])[0][rows.shape[1] :]
    for name, column in zip(names, own, strict=True):
        cells = frame[value][words == name].set_axis(places[words == name])
        rows[column] = cells.reindex(np.arange(len(rows))).to_numpy()
    note = (f"not used, since the fit did not have them: channels {some_of(unused)}.",) if unused else ()
    sheet = replace(sheet, frame=rows.reset_index(drop=True), notes=(*sheet.notes, *note))
    return sheet, replace(options, value=tuple(own))


def times_of(context: FileContext, column: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """Return times that can be ordered, and remarks: text as dates or numbers, or by the numbers in it ("week 9")."""
    if not is_text(column):
        return column, ()
    name = str(column.name)
    for parsed in (context.dates_of(name, column), context.numbers_of(name, column) if context.text else None):
        if parsed is not None and not len(parsed.odd):
            return parsed.values, ()
    try:
        ordered = sorted(column.dropna().unique(), key=_by_numbers)
    except TypeError:
        raise ReadError(f"column {name} of {context.path} must hold times of one type, to be ordered.") from None
    are_alike = len({DIGITS.sub("", word) for word in ordered}) < 2
    remark = (
        f"column {short(name)} is in alphabetical order ({some_of(ordered, 3)}); if that is wrong, number its times."
    )
    return column.map({word: i for i, word in enumerate(ordered)}), () if are_alike else (remark,)


def _by_numbers(word: str) -> list[str | int]:
    """Return a key for sorting: numbers in text count by their size."""
    return [int(part) if i % 2 else part for i, part in enumerate(DIGITS.split(word))]


def _checked(path: Path, frame: pd.DataFrame, options: ReadOptions) -> ReadOptions:
    """Return the options with columns by name; raise an error for series without a name and two values at one time."""
    import narwhals.stable.v1 as nw

    own = options.series_id or options.id_column
    if not (own and options.time and options.value):
        raise ReadError(
            f"a long table of series needs all of {option('id_column')}, {option('time')} and {option('value')}."
        )
    columns = list(frame.columns)
    options = replace(
        with_classes(path, columns, options),
        series_id=existing(path, columns, own),
        time=existing(path, columns, options.time),
        value=tuple(existing(path, columns, name) for name in options.value),
        channel=existing(path, columns, options.channel) if options.channel else None,
    )
    if options.channel and (options.states or len(options.value) != 1 or frame[options.channel].isna().any()):
        raise ReadError(
            f"{option('channel')} needs a channel in every row of {path}, numbers, and one column in {option('value')}."
        )
    if frame[options.series_id].isna().any():
        raise ReadError(
            f"column {options.series_id} of {path} must name a series in every row; some cells are missing."
        )
    key = [str(options.series_id), str(options.time), *([options.channel] if options.channel else [])]
    _check_once(path, nw.from_native(frame, eager_only=True), key, options.value, "add {}")
    if options.states and len(options.value) != 1:
        raise ReadError(f"a sequence has one state per step: give {option('value')} one column of {path}.")
    return options


def read_rows(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """Return series or sequences of states, one per row, with a column for each step."""
    frame, columns = sheet.frame, list(sheet.frame.columns)
    first, context = options.expected or Expected(()), FileContext.of(path, sheet, options)
    chosen = first.id_column if first.id_column in columns else None
    chosen = existing(path, columns, options.id_column) if options.id_column else chosen
    key = chosen or _name_column(context, frame)
    options = with_classes(path, columns, options)
    aside = {key, *options.classes, *first.known, *(existing(path, columns, name) for name in options.drop)}
    steps, notes, fewest = [name for name in columns if name not in aside], list[str](), 2
    if not options.states:
        numbers = [name for name in steps if holds_numbers(context, name, frame[name])]
        numbered = steps_of(numbers).names
        notes += _left_out([name for name in steps if name not in numbers], "not numbers")
        steps, fewest = numbered or numbers, 2 if numbered or options.expected else MANY
        notes += _left_out([name for name in numbers if name not in steps], "not numbered as the others")
    objects = "sequences" if options.states else "series"
    if len(steps) < fewest:
        such_as = "" if options.states else ", such as t1, t2, t3"
        raise ReadError(
            f"{path} must have a column for every step of the {objects}{such_as}, or a row for every step: then add "
            f"{option('id_column')}, {option('time')} and {option('value')}."
        )
    if key and options.series and frame[key].duplicated().any():
        raise ReadError(
            f"ids must be unique: column {short(key)} of {path} repeats {repetitions(frame[key])}. If each row is one time "
            f"of a series, add {option('time')} and {option('value')}."
        )
    ids = None if key is None else words(frame[key])
    labels = words(frame[options.label_column]) if options.label_column else sheet.labels
    if options.states:
        states = np.column_stack([stripped(frame[name]).to_numpy(dtype=object) for name in steps])
        loaded = _loaded_states(states.tolist(), ids, labels, sheet)
    else:
        cells, remarks = _numbers(context, frame[steps])
        series, notes = [_filled(row)[:, None] for row in np.column_stack(list(cells.values()))], [*notes, *remarks]
        loaded = loaded_series(series, ids, labels, sheet.how | {"steps": f"{steps[0]} to {steps[-1]}"})
    kinds: dict[str | None, Kind] = {**dict.fromkeys(options.classes, "label"), key: "id"}
    left = [Column(c, kinds.get(c, "left out"), "not a step") for c in columns if c in aside or c not in steps]
    if key != chosen:
        notes.append(f"{key} names the {objects}; {option('id_column')} changes this.")
    if options.known:
        groups, _, of_groups = known_groups(frame[options.known], context)
        loaded, notes = replace(loaded, known=words(groups)), [*notes, *of_groups]
    return replace(loaded, columns=(*loaded.columns, *left), notes=(*sheet.notes, *notes))


def _name_column(context: FileContext, frame: pd.DataFrame) -> str | None:
    """Return the name of the first column, if it holds distinct names: of series not numbers, unless these are ids."""
    from softecm.spaces.column_roles import is_id_name, number_names_rows

    column, name = frame[context.first], context.first
    if len(column) < 2 or column.isna().any() or not column.is_unique:
        return None
    if context.options.states or not holds_numbers(context, name, column) or is_id_name(name, first=True):
        return name
    return name if number_names_rows(name, column.to_numpy(), first=True) else None


def _loaded_states(rows: list[list[Any]], ids: Names | None, labels: Names | None, sheet: Sheet) -> Loaded:
    states = sorted({state for row in rows for state in row if state is not None})
    gaps = sum(state is None for row in rows for state in row)
    detail = f"{len(rows)} sequences of up to {max(map(len, rows))} steps: {some_of(states)}"
    column = Column("states", "category", detail, gaps)
    return Loaded(rows, "series", ids, labels, (column,), sheet.how, sheet.notes)
