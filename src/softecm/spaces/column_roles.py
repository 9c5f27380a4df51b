"""Columns that name objects or carry no information, links between named objects, and columns stretched by few values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from softecm._checks import check_list, frame_of, plain_array
from softecm._precision import spaced
from softecm._text import column_label, meant, some_of
from softecm._wording import option, worded
from softecm.spaces.columns import TEMPORAL, Cell, Cells, SeriesCells, kind_of
from softecm.spaces.raw import raw_data, read_table, without

PAGE = "https://softecm.github.io/softecm, Texts and embeddings"
FREE, DIFFERENT = "free text", "an id: it is different in every row"
COUNTS, BY_NAME = "counts the rows", "an id by its name, different in every row"
BY_LOOK = "an id by its look: whole numbers without order, all different, hardly a gap between them"
#: Names of id columns: id, customer_id, CustomerID, order no., pandas' nameless index.
NAMED_ID = re.compile(
    r"(?:.*[\s_./-])?(?:[iI][dD]|(?i:uid|uuid|guid|key|nr|no|num|number|nummer)\.?)|.*[a-z](?:ID|Id)|"
    r"(?i:unnamed: 0|index|row_?names?|)"
)
#: Names of objects: integers there are ids if they are all different and another sign agrees.
OBJECT = re.compile(
    r"respondent|participant|subject|patient|case|customer|client|user|member|employee|person|student|pupil|order|invoice|"
    r"ticket|sample|specimen|record|contract|kunde|teilnehmer(?:in)?|proband|befragter?|fall|mitglied|mitarbeiter|nutzer|"
    r"auftrag|rechnung|beleg|vertrag|probe|schüler",
    re.IGNORECASE,
)
SURE_ROWS = 20  # this many measured numbers are distinct by chance only if their range is much larger
FEW_ROWS = 9  # this few distinct words may be groups, this few counts a coincidence
FEW_LEVELS = 30  # a usual number of categories
SENTENCE, SAMPLE = 4, 200  # words of a cell that is a text instead of a name, on average; cells looked at
FREE_TEXT = 0.5  # text with more distinct values than this share of the rows names objects instead of groups


def counts_rows(values: NDArray[Any]) -> bool:
    """Whether integers are 0, 1, 2, … or 1, 2, 3, … from the first row to the last."""
    if values.dtype.kind not in "iu" or len(values) <= FEW_ROWS or values[0] not in (0, 1):
        return False
    return bool(int(values[-1]) - int(values[0]) == len(values) - 1 and (np.diff(values) == 1).all())


def number_names_rows(name: str, values: NDArray[Any], *, first: bool = False) -> str:
    """Return why numbers are ids instead of measurements, or "". ``first``: the first column of all.

    Examples
    --------
    >>> number_names_rows("customer_id", np.arange(10) * 7), number_names_rows("price", np.arange(10) * 7)
    ('an id by its name, different in every row', '')
    """
    if counts_rows(values):
        return COUNTS
    if values.dtype.kind not in "iu" or len(values) <= FEW_ROWS:
        return ""
    if is_id_name(name, first=first) and _all_different(values):
        return BY_NAME
    if not is_dense(values):
        return ""
    if OBJECT.fullmatch(name.strip()):
        return BY_NAME
    steps = np.diff(values.astype(np.float64))  # differences of unsigned numbers would wrap
    by_look = first and values.min() > 1 and not ((steps > 0).all() or (steps < 0).all())
    return BY_LOOK if by_look else ""  # from 1 on they may be ranks or ordered times


def is_id_name(name: str, *, first: bool = False) -> bool:
    """Whether a column has the name of an id; the first column may also have that of the objects."""
    word = name.strip()
    return bool(NAMED_ID.fullmatch(word) or (first and OBJECT.fullmatch(word)))


def is_dense(values: NDArray[Any]) -> bool:
    """Whether distinct integers leave hardly any gaps, unlike measurements; years may."""
    if values.dtype.kind not in "iu" or len(values) < SURE_ROWS:
        return False
    low, high = int(values.min()), int(values.max())
    years = 1800 <= low < high <= 2100
    return len(values) <= high - low + 1 < 2 * len(values) and not years and _all_different(values)


def _all_different(values: NDArray[Any]) -> bool:
    return len(np.unique(values)) == len(values)


def names_rows(distinct: int, n: int) -> bool:
    """Whether text is distinct in every row."""
    return distinct == n > FEW_ROWS


def is_free_text(distinct: int, n: int) -> bool:
    """Whether text has too many distinct values for categories."""
    return distinct > max(FEW_LEVELS, FREE_TEXT * n)


def are_texts(cells: Iterable[object]) -> bool:
    """Whether cells hold sentences instead of names; looks at the first ones."""
    lengths = [len(cell.split()) for cell in islice(cells, SAMPLE) if isinstance(cell, str)]
    return bool(lengths) and sum(lengths) >= SENTENCE * len(lengths)


def only_texts(texts: Sequence[str], others: Mapping[str, bool]) -> str:
    """Return what to do about columns of texts, if there is hardly anything else to cluster by; else "".

    Parameters
    ----------
    texts : names of the columns of texts
    others : names of the columns to cluster by, each with whether it holds dates

    Examples
    --------
    >>> only_texts(["comment"], {"age": False, "visits": False})
    ''
    """
    if not texts or (len(others) > 1 and not all(others.values())):
        return ""
    hold = f"column {texts[0]} holds texts" if len(texts) == 1 else f"columns {', '.join(texts)} hold texts"
    remain = (
        f", and only {some_of(list(others), 3)} remain{'s' if len(others) == 1 else ''} to cluster by" if others else ""
    )
    numbers = worded(
        "turn the texts into numbers (TF-IDF or embeddings) and pass these to fit",
        "turn the texts into numbers (TF-IDF or embeddings), save them as texts.npz or texts.npy, and run softecm cluster "
        "texts.npz",
    )
    drop = option("drop", ",".join(texts))
    alone = worded(f"leave out {texts[0]} (in read_table: {drop})", f"add {drop}") if others else ""
    instead = f" To cluster by {some_of(list(others), 3)} alone, {alone}." if others else ""
    return f"{hold}, which are not compared{remain}: {numbers} ({PAGE}).{instead}"


def left_out(X: object, reasons: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the columns of a data frame that can't group its rows, with reasons; ``reasons`` for all, if known.

    An id counts the rows, has an id's name or form, or is distinct text in every row; the first such column is the id.
    Free text and empty columns are skipped, too, as is a constant column with missing cells, because these would count.
    All columns are kept if no other would remain.

    Examples
    --------
    >>> import pandas as pd
    >>> left_out(pd.DataFrame({"number": range(1, 11), "size": [1.0, 5.0] * 5}))
    {'number': 'an id: it counts the rows'}
    """
    reasons = reasons_against(X) if reasons is None else reasons
    useless = {name: reason for name, reason in reasons.items() if reason}
    return useless if len(useless) < len(reasons) else {}


def reasons_against(X: object) -> dict[str, str]:
    """Return why each column of a data frame can't group its rows, or "" if it can; nothing for arrays."""
    frame = frame_of(X)
    if frame is None or not len(frame):
        return {}
    reasons: dict[str, str] = {}
    gaps = any(_missing(column).any() for column in frame.iter_columns())
    for j, column in enumerate(frame.iter_columns()):
        may_be_id = not any(reason.startswith("an id") for reason in reasons.values())
        reason = _reason(column, may_be_id=may_be_id, gaps=gaps, first=j == 0)
        reasons[column.name] = reason
    return reasons


def emptied(X: object, names: Collection[str]) -> NDArray[np.int64]:
    """Return the rows of a data frame without any value after some columns are skipped."""
    frame = nw.from_native(without(X, names), eager_only=True, pass_through=True)
    empty = np.ones(len(frame), dtype=bool)
    for column in frame.iter_columns():
        empty &= _missing(column)
        if not empty.any():
            break
    return np.flatnonzero(empty)


def _reason(column: Any, *, may_be_id: bool, gaps: bool, first: bool) -> str:
    n = len(column)
    empty = int(_missing(column).sum())
    if empty == n:
        return "empty"
    if column.dtype.is_numeric():
        whole = not empty and column.dtype.is_integer()
        named = whole and number_names_rows(str(column.name), column.to_numpy(), first=first)
        if named and (may_be_id or named == BY_NAME):
            return "an id: it counts the rows" if named == COUNTS else named
        distinct = column.n_unique() if gaps and not empty and n > 1 else n
        return "always the same" if distinct == 1 else ""
    if SeriesCells(column.name, column).kind not in ("text", "ordered", "boolean"):
        return ""  # dates
    distinct = len(set(column.drop_nulls().to_list()))  # n_unique of pandas reads freed memory at a lone surrogate
    if may_be_id and names_rows(distinct, n):
        return DIFFERENT
    if is_free_text(distinct, n):
        return f"{FREE}: {distinct} different values in {n} rows"
    return "always the same" if gaps and distinct == 1 and not empty and n > 1 else ""


def _missing(column: Any) -> NDArray[np.bool_]:
    """Return which cells are missing, by any marker of the library."""
    if column.dtype.is_float():
        return np.isnan(np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64))
    return np.asarray(column.is_null().to_numpy(), dtype=bool)


def by_row(X: object, must_link: object, cannot_link: object) -> tuple[Any, Any]:
    """Replace names of objects in links, from the index or the id column of a data frame, by row numbers.

    Numbers are row numbers, counted from 0, and don't change.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"size": [1.0, 2.0, 3.0]}, index=["anna", "ben", "carl"])
    >>> by_row(people, [("carl", "anna")], [(0, 1)])
    ([[2, 0]], [(0, 1)])
    """
    return _rows("must_link", must_link, X), _rows("cannot_link", cannot_link, X)


def _rows(parameter: str, pairs: Any, X: object) -> Any:
    is_array = hasattr(pairs, "ndim") or hasattr(pairs, "__array__")
    listed = pairs if pairs is None or is_array else check_list(parameter, pairs, "pairs of objects")
    table = plain_array(listed, parameter)
    if table.ndim != 2 or "text" not in map(kind_of, table.ravel()[:2]):
        return listed
    names = names_of(X)
    if names is None:
        raise ValueError(
            f"{parameter} must hold numbers of objects, counted from 0; got {str(table[0, 0])!r}, and the objects "
            "of X have no names. Pass a data frame whose index names them."
        )
    rows: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        rows.setdefault(name, []).append(i)
    return [[_row(parameter, str(cell), rows) for cell in pair] for pair in table]


def _row(parameter: str, name: str, rows: Mapping[str, list[int]]) -> int:
    at = rows.get(name, [])
    if not at:
        raise ValueError(f"{parameter} must name objects of X; got {name!r}, which is not one.{meant(name, rows)}")
    if len(at) > 1:
        raise ValueError(
            f"{parameter} must name one object each; got {name!r}, the name of {len(at)}. Pass its number, counted from 0."
        )
    return at[0]


def names_of(X: object) -> NDArray[np.object_] | None:
    """Return the names of objects; of several views, those of the first view that has names."""
    raw = raw_data(X)
    parts = [raw] if raw.views is None else list(raw.views.values())
    names_by_view = (part.ids(left_out(part.value)) for part in parts)
    return next((names for names in names_by_view if names is not None), None)


LEAST = 10  # minimum number of cells in a stretched column
FEW = 100  # one cell in this many counts as few
MOST = 0.75  # share of a column's variance in few cells: without them its standard deviation would be half as large
SCALED = ("number", *TEMPORAL)

ROBUST = "Mixed(scaling='robust')"


@dataclass(frozen=True)
class Stretched:
    """The value furthest from the median in a column stretched by few values."""

    column: str | int
    row: int
    value: Cell
    times: float  # its distance from the middle of the quartiles, which are at 1
    view: str = ""  # the column's view, if objects have several
    sets_scale: bool = True  # whether it is in the unit of the column


def stretched(X: object, logs: Collection[int] = ()) -> list[Stretched]:
    """Return the columns of a table stretched by few values, the most stretched first; ``logs`` are compared by logarithms.

    Few means one cell in a hundred, at least one. They stretch a column if they make up more than three quarters of its
    variance and its quartiles differ, so that scaling by them would help.

    Examples
    --------
    >>> found = stretched([[float(i % 7), float(i % 5)] for i in range(40)] + [[700.0, 3.0]])
    >>> [(one.column, one.row, one.value) for one in found]
    [(0, 40, 700.0)]
    """
    found = (_furthest(cells, log=j in logs) for j, cells in enumerate(read_table(X).columns))
    columns = [one for one in found if one is not None]
    return sorted(columns, key=lambda one: -one.times)


def stretched_message(columns: list[Stretched], who: Callable[[int], str]) -> str:
    """Return a warning about such columns, with a remedy; ``who`` returns the name of a row."""
    first = columns[0]
    value = spaced(f"{first.value:.10g}") if kind_of(first.value) == "number" else str(first.value)
    others = len(columns) - 1
    more = f" (and {others} more such column{'s' if others > 1 else ''})" if others else ""
    where = column_label(first.column) + (f" of {first.view!r}" if first.view else "")
    remedy = worded(f"{ROBUST} for that view" if first.view else f"metric={ROBUST}", option("scale", "robust"))
    keeps = f"; {remedy} keeps it from setting the scale of the column" if first.sets_scale else ""
    return (
        f"{who(first.row)} has {value} in {where}{more}, {first.times:.0f} times as far out as usual. If this is a typo, "
        f"fix it{keeps}."
    )


def _furthest(cells: Cells, *, log: bool) -> Stretched | None:
    if cells.kind not in SCALED:
        return None
    numbers = cells.numbers(cells.kind)
    rows = np.flatnonzero(~np.isnan(numbers))
    if len(rows) < LEAST:
        return None
    values = np.log(np.maximum(numbers[rows], np.finfo(np.float64).tiny)) if log else numbers[rows]
    places = [len(values) // 4, len(values) // 2, 3 * len(values) // 4]
    low, middle, high = np.partition(values, places)[places].tolist()
    off = np.abs(values - middle)
    few = max(1, len(off) // FEW)
    largest = float(off.max())
    if high <= low:
        return None
    share = np.square(off / largest)
    if np.partition(share, len(share) - few)[-few:].sum() <= MOST * share.sum():
        return None
    row = int(rows[off.argmax()])
    value = cells.cell(row)
    return Stretched(cells.name, row, float(value) if cells.kind == "number" else value, 2.0 * largest / (high - low))
