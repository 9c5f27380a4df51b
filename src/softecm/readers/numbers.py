"""Numbers in usual notations: thousands separators, money, percent, units, detection limits, missing-value words."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from softecm._text import counted
from softecm._wording import option
from softecm.readers.base import Written, short
from softecm.readers.units import (
    ATTACHED,
    PERCENT,
    SAME,
    Conversion,
    UnitChoice,
    conversion,
    known_unit,
    unit_in_name,
)

if TYPE_CHECKING:
    import pandas as pd

BLANKS_WITHIN = " \u00a0\u202f'’"  # thousands separators that are never a decimal sign
MONEY = (
    r"(?:US\$|A\$|C\$|R\$|[$€£¥₹₽₩₺₴₪฿]|Fr\.|kr\.?|zł|Kč|Rs\.?|"
    r"(?:USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|NZD|BRL|ZAR|MXN|TRY)\b)"
)
SHAPE = re.compile(
    rf"(?P<limit>[<>≤≥~≈]=?\s*)?(?P<open>\()?\s*(?P<sign>[+\-−–])?\s*(?P<before>{MONEY})?\s*(?P<sign2>[+\-−–])?"
    rf"(?P<digits>(?:\d[\d.,{BLANKS_WITHIN}]*\d|\d)[.,]?|[.,]\d+)(?P<power>[eE][+-]?\d+)?"
    rf"(?P<after>\s*(?:%|‰|°[CF]?|{MONEY}|{ATTACHED})|\s+[^\W\d_][^\d\s,;]{{0,11}}[²³\d]?)?\s*(?P<sign3>[-−])?(?P<close>\))?"
)
#: Five feet eleven: 5'11", 5 ft 11 in.
FEET = re.compile(
    r"(\d{1,2})\s*(?:['’′]\s*(?:(\d{1,2})\s*(?:\"|''|[”″])?)?|(?:ft\.?|feet)\s*(\d{1,2})\s*(?:in\.?|inch(?:es)?|[\"”″])?)",
    re.IGNORECASE,
)
#: Two thousands separators, or one before a decimal sign: unambiguous.
GROUPED = re.compile(r"[1-9]\d{0,2}(?:(?:,\d{3}){2,}(?:\.\d*)?|,\d{3}\.\d*|(?:\.\d{3}){2,}(?:,\d*)?|\.\d{3},\d*)")
CODE = r"0\d+"  # a postal code, say: its leading zero matters
MEASURED, MOST_UNITS = 10, 3  # distinct cells of measurements, and their units; otherwise they are names
INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
FEW, PART = 2, 0.1  # limits of exceptions in a column, such as invalid cells that count as missing: number, share
ONE_WORD = 0.5  # their share if all are one word
ZERO_WORDS = ("", "-", "--", "–", "—")  # in a numeric column a dash is an empty cell, however many there are


@dataclass(frozen=True)
class Spelled:
    """A parsed cell."""

    whole: str  # digits with separators
    negative: bool
    power: str
    unit: str
    limit: bool  # "<0.5": below the detection limit

    @property
    def evidence(self) -> str:
        """The decimal sign proved by this cell; "?." or "?," if its only sign is ambiguous; "" without any."""
        digits = self.whole
        if any(sign in digits for sign in BLANKS_WITHIN):
            return next((sign for sign in (".", ",") if sign in digits), "")
        if GROUPED.fullmatch(digits):
            return "." if "," in digits.partition(".")[0] else ","
        if digits.count(".") + digits.count(",") != 1:
            return ""
        sign = "." if "." in digits else ","
        left, right = digits.split(sign)
        either = len(right) == 3 and not self.power and re.fullmatch(r"[1-9]\d{0,2}", left)
        return f"?{sign}" if either else sign

    def number(self, decimal: str) -> float:
        """Return its value; NaN if the separators are inconsistent."""
        if self.unit == "inf":
            return -np.inf if self.negative else np.inf
        between = "," if decimal == "." else "."
        before, _, after = self.whole.partition(decimal)
        if not re.fullmatch(rf"\d*|[1-9]\d{{0,2}}([{between}{BLANKS_WITHIN}])\d{{3}}(?:\1\d{{3}})*", before):
            return np.nan
        if not (after == "" or after.isdecimal()):
            return np.nan
        digits = re.sub(rf"[{between}{BLANKS_WITHIN}]", "", before)
        value = float(f"{digits or 0}.{after or 0}{self.power}")
        if not np.isfinite(value):  # beyond all floats
            return np.nan
        return -value if self.negative else value

    @property
    def between(self) -> str:
        """The first separator that is neither comma nor point."""
        return next((sign for sign in self.whole if sign in BLANKS_WITHIN), "")


def spelled(text: str) -> Spelled | None:
    """Parse a cell; None if it is no number.

    Examples
    --------
    >>> spelled("$1,273.50").number("."), spelled("1.273,50 €").number(","), spelled("(12)").number(".")
    (1273.5, 1273.5, -12.0)
    >>> spelled("12 %").unit, spelled("<0.5").limit, spelled("2024-01-05"), spelled("1,273").evidence
    ('%', True, None, '?,')
    """
    infinite = INFINITE.fullmatch(text)
    if infinite:
        return Spelled("0", infinite[1] == "-", "", "inf", False)
    feet = FEET.fullmatch(text)
    if feet:
        return Spelled(str(12 * int(feet[1]) + int(feet[2] or feet[3] or 0)), False, "", "inch", False)
    match = SHAPE.fullmatch(text)
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    signs = [match[name] for name in ("sign", "sign2", "sign3") if match[name]]
    if len(signs) > 1 or (signs and match["open"]):
        return None
    before, after = (match["before"] or "").strip(), (match["after"] or "").strip()
    unit = f"{before} {after}" if before and after and conversion(before, after) is None else before or after
    negative = bool(match["open"]) or (bool(signs) and signs[0] != "+")
    return Spelled(match["digits"], negative, match["power"] or "", unit, match["limit"] is not None)


@dataclass(frozen=True)
class ParsedNumbers:
    """A text column as numbers."""

    values: pd.Series  # NaN if missing
    written: Written
    odd: pd.Series  # invalid cells
    limits: pd.Series  # cells that are the end of a range, such as <0.5
    decimals: bool = True  # whether a cell has a decimal sign
    foreign: Mapping[str, pd.Series] = field(default_factory=dict)  # cells in other units, which are missing
    converted: Mapping[str, int] = field(default_factory=dict)  # number of cells converted from another unit

    def remarks(self, name: str) -> list[str]:
        """Return remarks about the column."""
        remarks, unit = [], self.written.unit
        for other, count in self.converted.items():
            are = counted(count, f"cell in {other} is", f"cells in {other} are")
            example = "" if (own := conversion(other, unit)) is None else own.example(other, unit)
            remarks.append(f"column {short(name)}: {are} converted to {unit}{example}.")
        for other, cells in self.foreign.items():
            differs = f"in {other}{f', not {unit},' if unit else ''}"
            remark = cells_remark(name, cells, f"is {differs} and counts", f"are {differs} and count")
            remedy = f" {option('unit', f'{name}={unit}=N {other}')} converts, where N {other} are 1 {unit}."
            remarks.append(remark + (remedy if unit else ""))
        if len(self.odd):
            remarks.append(cells_remark(name, self.odd, "is not a number and counts", "are not numbers and count"))
        if len(self.limits):
            are = "are limits and are read as the number, not"
            remarks.append(cells_remark(name, self.limits, "is a limit and is read as the number, not", are))
        return remarks


def cells_remark(name: str, cells: pd.Series, one: str, several: str) -> str:
    """Return what was done with some cells of a column, and their positions."""
    count = counted(len(cells), f"cell {one}", f"cells {several}")
    places = [f"{short(value)} (row {int(row) + 1})" for row, value in cells.iloc[:3].items()]
    more = f" and {len(cells) - 3} more" if len(cells) > 3 else ""
    return f"column {short(name)}: {count} as missing: {', '.join(places)}{more}."


class Ambiguous(Exception):
    """Cells with two possible readings, listed in the message."""


class MixedUnits(Exception):
    """A column in several units without fixed factors; ``counts`` is the number of cells in each."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        super().__init__(", ".join(counts))
        self.counts = counts


def are_few(odd: Iterable[Hashable], filled: int) -> bool:
    """Whether invalid cells are few enough for errors, which count as missing."""
    listed = list(odd)
    if not listed:
        return True
    good = filled - len(listed)
    few = are_few_of(len(listed), filled) and good >= 3 * len(listed)
    one_word = len(set(listed)) == 1 and not any(sign.isdigit() for sign in str(listed[0]))
    return few or (one_word and good > 3 and len(listed) <= ONE_WORD * filled)


def are_few_of(count: int, total: int) -> bool:
    """Whether cells of a column are few enough for exceptions."""
    return count <= max(FEW, PART * total)


def as_text(column: pd.Series) -> pd.Series:
    """Return non-empty cells as stripped text; a dash is empty."""
    words = column.dropna().astype("str").str.strip()
    return words[~words.isin(ZERO_WORDS)]


def values_among(column: pd.Series, kinds: type | tuple[type, ...]) -> pd.Series:
    """Return the cells of a text column that are already numbers, or dates, as in Excel."""
    import pandas as pd

    if column.dtype != object or pd.api.types.infer_dtype(column, skipna=True) == "string":
        return column[:0]
    filled = column.dropna()
    return filled[[isinstance(cell, kinds) and cell is not True and cell is not False for cell in filled]]


def are_codes(cells: Iterable[str]) -> bool:
    """Whether digits with leading zeros are codes: all equally long, or all with a zero; 0, 01, …, 12 are counts."""
    digits = {cell.strip() for cell in cells}
    digits = {cell for cell in digits if cell.isascii() and cell.isdigit()}
    zeros = {cell for cell in digits if re.fullmatch(CODE, cell)}
    return bool(zeros) and (zeros == digits or len({len(cell) for cell in digits}) == 1)


def read_numbers(
    column: pd.Series, hint: str, known: Written | None = None, choice: UnitChoice | None = None
) -> ParsedNumbers | None:
    """Return a text column as numbers; None if too few of its cells are.

    Parameters
    ----------
    column : pandas Series
    hint : "." or "," if the rest of the file or the user determines the decimal sign, else empty
    known : Written, optional
        The column's notation in the fit.
    choice : UnitChoice, optional
        The user's unit; cells in another unit without a factor are missing.

    Raises
    ------
    Ambiguous
        If 1,273 may be one thousand or one and a bit.
    MixedUnits
        If many cells are in one unit, and many in another.
    """
    import pandas as pd

    if are_codes(as_text(column)):
        return None
    cells = values_among(column, Real)
    huge = [isinstance(cell, Integral) and abs(int(cell)) > sys.float_info.max for cell in cells]  # these are text
    own = cells[np.logical_not(huge)].astype("float64")
    filled = as_text(column.drop(own.index))
    n = len(own) + len(filled)
    spellings = {text: one for text in filled.unique() if (one := spelled(text)) is not None}
    units = filled.map({text: one.unit for text, one in spellings.items()})
    counts = Counter({"": len(own)}) + Counter(units.dropna())
    unit, ways = _units(str(column.name), counts, own, "" if known is None else known.unit, choice)
    parts = {text: one for text, one in spellings.items() if one.unit in ways}
    if choice is None and not are_few(filled[~units.isin(ways.keys())], n):
        if are_few(filled[units.isna()], n) and len(spellings) > MEASURED:
            _refuse_mixture(counts, n)
        return None
    decimal = known.decimal if known is not None else _decimal(filled, parts.values(), hint)
    numbers = {text: ways[one.unit](one.number(decimal)) for text, one in parts.items()}
    values = filled.map(numbers).astype("float64")
    others = units.notna() & ~units.isin(ways.keys())
    odd = filled[values.isna() & ~others]
    if not are_few(odd, n):
        return None
    thousands = _thousands(parts.values(), decimal)
    limits = filled[filled.isin([text for text, one in parts.items() if one.limit])]
    whole = pd.Series(np.nan, column.index)
    whole[own.index], whole[values.index] = own, values
    decimals = any(decimal in one.whole for one in parts.values())
    foreign = {str(name): cells for name, cells in filled[others].groupby(units[others], sort=False)}
    converted = {name: counts[name] for name, way in ways.items() if way != SAME and counts[name]}
    written = Written(decimal, thousands, unit)
    return ParsedNumbers(whole_numbers(whole), written, odd, limits, decimals, foreign, converted)


def whole_numbers(values: pd.Series) -> pd.Series:
    """Return integers as such, if no cells are missing."""
    numbers = values.to_numpy()
    if numbers.dtype.kind != "f" or not len(numbers) or not (np.abs(numbers) < 2.0**53).all():
        return values
    return values.astype("int64") if (numbers % 1 == 0).all() else values


def _units(
    name: str, counts: Counter[str], own: pd.Series, known: str, choice: UnitChoice | None
) -> tuple[str, dict[str, Conversion]]:
    """Return the unit of a column, "" if no cell has one, and conversions from each unit of its cells.

    It is the first of the user's choice, that of the fit, the one in the column's name, and the most frequent, which
    fits most cells. If most cells have none, a few may have the unit in the column's name, or one currency sign.
    Numeric cells have no unit; up to 1 they may mean percent, and then 12 % among them is ambiguous.
    """
    most = max(counts, key=counts.__getitem__, default="")
    most = "" if most == "inf" else most
    fits = (one for one in (known, unit_in_name(name)) if one and (not most or conversion(most, one) is not None))
    wanted = choice or UnitChoice(next(fits, most))
    ways = {unit: way for unit in counts if unit and (way := wanted.conversion(unit)) is not None}
    if not wanted.unit:
        called = [
            unit for unit in counts if unit and re.search(rf"(?<!\w){re.escape(unit)}(?!\w)", name)
        ]  # Umsatz (T€)
        money = [unit for unit in counts if re.fullmatch(MONEY, unit)]
        ways = dict.fromkeys(called or (money if len(money) == 1 else []), SAME)
    if len(own) and own.abs().max() <= 1:
        ways = {unit: way for unit, way in ways.items() if unit not in PERCENT}
    return wanted.unit if ways else "", {**ways, "": SAME, "inf": SAME}


def _refuse_mixture(counts: Counter[str], n: int) -> None:
    """Raise an error for two or three units with many cells each; more, or single letters, belong to names (12 A, 14 B)."""
    merged: Counter[str] = Counter()
    for unit, count in counts.most_common():
        merged[next((one for one in merged if one and conversion(unit, one) is not None), unit)] += count
    frequent = {unit: count for unit, count in merged.items() if count > max(FEW, PART * n)}
    letters = [unit for unit in frequent if len(unit) == 1 and unit.isalpha() and known_unit(unit) is None]
    if 2 <= len(frequent) <= MOST_UNITS and not letters:
        raise MixedUnits(frequent)


def _decimal(filled: pd.Series, parts: Iterable[Spelled], hint: str) -> str:
    """Return the decimal sign of a column."""
    if hint:
        return hint
    evidence = {one.evidence for one in parts} - {""}
    proved = evidence & {".", ","}
    if len(proved) == 1:
        return proved.pop()
    if not proved and "?," in evidence:
        example = next(text for text in filled if (one := spelled(text)) is not None and one.evidence == "?,")
        raise Ambiguous(example)
    return "."


def _thousands(parts: Iterable[Spelled], decimal: str) -> str:
    """Return the thousands separator found."""
    other = "," if decimal == "." else "."
    for one in parts:
        if one.between or other in one.whole:
            return one.between or other
    return ""


def how_written(numbers: ParsedNumbers) -> str:
    """Return why a text column is numeric, in words."""
    written = numbers.written
    if written.dates:
        return "times of day, in hours after midnight"
    parts = [f"in {written.unit}"] if written.unit else []
    parts += [f"{_called(written.thousands)} between thousands"] if written.thousands else []
    parts += ["decimal comma"] if written.decimal == "," and numbers.decimals else []
    return ", ".join(parts) or "numbers"


def _called(sign: str) -> str:
    return {",": "comma", ".": "point", "'": "apostrophe", "’": "apostrophe"}.get(sign, "blank")


def signs(decimal: str | None, thousands: str | None) -> tuple[str, str]:
    """Return the user's decimal sign and thousands separator, or ""."""
    named = {"comma": ",", "point": ".", "blank": " ", "space": " ", "apostrophe": "'", "none": ""}
    between = "" if thousands is None else named.get(thousands, thousands)
    if decimal is None and between in (",", "."):
        return "." if between == "," else ",", between
    return decimal or ("." if thousands is not None else ""), between
