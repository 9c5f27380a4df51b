"""Inference of a text table's dialect: encoding, delimiter, header, decimal sign, missing cells."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from softecm._text import number_of, some_of
from softecm._wording import option
from softecm.readers.base import ReadError, ReadOptions, own_names
from softecm.readers.numbers import are_codes, signs, spelled

SAMPLE = 1 << 18
SAMPLE_ROWS = 500
MOST_COLUMNS = 100_000
FEW_LINES = 32  # minimum number of lines examined
FEW_CELLS = 20_000  # maximum number of cells that determine the decimal sign
MOST_ABOVE = 40  # lines above a table
MOST_BELOW = 10  # and below
A_FEW = 4  # a line at the end with this part of the columns, or one cell, is a note
LONGEST_UNIT = 16
LONGEST = 1 << 27  # characters of a few lines: enough for a million columns
MISSING = ("", "?", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "<NA>", "#N/A", ".")
BLANKS = "blanks"
DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma", BLANKS: "blanks"}
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf|INF)")
COUNTED = 5  # numbers in a line of names, at least
YEAR = re.compile(r"(?:1[89]|20)\d\d")
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """The dialect of a text table."""

    encoding: str
    delimiter: str  # one character, BLANKS, or "" for one column
    header: bool
    decimal: str
    missing: tuple[str, ...]
    missing_seen: tuple[str, ...]
    names: tuple[str, ...]  # of the columns
    proved: bool = False  # whether the decimal sign was seen or given
    skipped: tuple[int, ...] = ()  # lines outside the table, counted from 0
    codes: tuple[str, ...] = ()  # columns of digits, some with leading zeros
    notes: tuple[str, ...] = ()

    @property
    def n_fields(self) -> int:
        """Number of cells per row."""
        return len(self.names)

    def words(self) -> dict[str, str]:
        """Return the dialect in words."""
        seen = ", ".join(marker or "empty" for marker in self.missing_seen)
        delimiter = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        skipped = f"line{'s' * (len(self.skipped) > 1)} {some_of([line + 1 for line in self.skipped], 5)}"
        return {
            "encoding": self.encoding,
            "delimiter": delimiter if self.delimiter else "none (one column)",
            "decimal sign": "comma" if self.decimal == "," else "point",
            "first line": "names of the columns" if self.header else "an object (no header)",
            **({"skipped": skipped} if self.skipped else {}),
            "missing cells": seen or "none seen",
        }


def sniff(path: Path, options: ReadOptions) -> Dialect:
    """Infer the dialect from the file, except what the options specify."""
    _check_signs(options.decimal, options.thousands)
    encoding = _encoding(path, options.encoding)
    lines = _sample(path, encoding)
    delimiter = _delimiter(lines) if options.delimiter is None else _named(options.delimiter)
    above = _lines_above(lines, delimiter)
    rows = split_rows(lines[len(above) :], delimiter)[:SAMPLE_ROWS]
    if not rows:
        raise ReadError(f"{path} is empty: there is nothing to cluster.")
    markers = tuple(dict.fromkeys([*MISSING, *(options.missing or ())]))
    header = options.header
    if header is None and options.expected is not None:
        header = _named_by(rows[0], options.expected.names)
    header = _header(rows, markers) if header is None else header
    fields = Counter(len(row) for row in rows).most_common(1)[0][0]
    if fields > MOST_COLUMNS:
        raise ReadError(
            f"{path} has {fields} columns, more than the {MOST_COLUMNS} that are read from text: check that it is a table, "
            "or save it as .npy."
        )
    if header and len(rows[0]) == fields - 1 > 0:
        rows[0].insert(0, "")  # R omits the name of the column of row names
    if header and len(rows[0]) != fields:
        raise ReadError(_ragged(path, len(above) + 1, len(rows[0]), fields, delimiter))
    units = header and _are_units(rows, markers)
    filled = [number for number in range(len(above), len(lines)) if lines[number].strip()]
    body = rows[header + units :]
    if not body:
        raise ReadError(f"{path} has a header but no rows: there is nothing to cluster.")
    names, notes = _names(path, rows[0] if header else None, fields, options.names)
    given = signs(options.decimal, options.thousands)[0]
    sign, unclear = (given, "") if given else _decimal(body)
    if unclear and delimiter == ";":
        remedy = f"if it separates thousands, give {option('thousands', '.')}"
        notes = (*notes, f"numbers such as {unclear} are read with a decimal point; {remedy}")
    seen = {cell.strip() for row in body for cell in row}
    return Dialect(
        encoding,
        delimiter,
        header,
        decimal=sign or ".",
        missing=markers,
        missing_seen=tuple(marker for marker in markers if marker in seen),
        names=names,
        proved=bool(sign),
        skipped=(*above, *(filled[1:2] if units else ())),
        codes=_codes(body, names),
        notes=notes,
    )


def _codes(rows: Sequence[Sequence[str]], names: Sequence[str]) -> tuple[str, ...]:
    """Return columns of digits with leading zeros, which a number would lose."""
    columns = zip(*(row for row in rows if len(row) == len(names)), strict=True)
    return tuple(name for name, cells in zip(names, columns, strict=False) if are_codes(cells))


def _check_signs(decimal: str | None, thousands: str | None) -> None:
    if decimal not in (None, ".", ","):
        raise ReadError(f"{option('decimal')} must be . or ,; got {decimal!r}.")
    allowed = (None, ".", ",", " ", "'", "comma", "point", "blank", "space", "apostrophe", "none")
    if thousands not in allowed:
        raise ReadError(f"{option('thousands')} must be , or . or blank, apostrophe or none; got {thousands!r}.")
    if decimal is not None and signs(None, thousands)[1] == decimal:
        raise ReadError(
            f"{option('decimal')} and {option('thousands')} can't both be {decimal}: one sign can't mean both."
        )


def _lines_above(lines: Sequence[str], delimiter: str) -> tuple[int, ...]:
    """Return the lines before the table, such as a title: with few cells, above lines with many."""
    if delimiter in ("", BLANKS):
        return ()
    counts = Counter(len(row) for row in split_rows(lines, delimiter))
    fields = counts.most_common(1)[0][0] if counts else 0
    if fields < 3:
        return ()
    sparse = False
    for number, line in enumerate(lines[: MOST_ABOVE + 1]):
        if line.count('"') % 2:
            return ()
        row = next(iter(split_rows([line], delimiter)), [])
        filled = [cell for cell in row if cell.strip()]
        if len(row) == fields and len(filled) > max(1, fields // 3):
            names = not any(_is_number(cell) for cell in filled)
            return tuple(range(number)) if names or not sparse else ()  # else they are objects with missing cells
        if len(row) not in (0, fields) and 2 * len(row) > fields:
            return ()  # a line of the table with missing cells: reported elsewhere
        sparse = sparse or len(row) == fields
    return ()


def _are_units(rows: Sequence[Sequence[str]], missing: Sequence[str]) -> bool:
    """Whether the line below the names has no number although all columns but a few words do, such as units."""
    if len(rows) < 5 or any(_is_number(cell) for cell in rows[1]):
        return False
    below = [row for row in rows[2:] if len(row) == len(rows[1])]
    numeric = [_mostly_numbers(column, missing) for column in zip(*below, strict=True)]
    above = [cell.strip() for cell, number in zip(rows[1], numeric, strict=False) if number]
    return len(above) > 1 and all(cell not in missing and len(cell) <= LONGEST_UNIT for cell in above)


def split_rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the cells of lines that are not blank."""
    filled = [line for line in lines if line.strip()]
    if delimiter == BLANKS:
        return [line.split() for line in filled]
    if not delimiter:
        return [[line] for line in filled]
    return [row for row in csv.reader(filled, delimiter=delimiter, skipinitialspace=True) if row]


def check_rows(path: Path, dialect: Dialect) -> list[int]:
    """Return the lines with a few cells at the very end, such as a source or a note, which are no rows (counted from 0).

    Raises a ``ReadError`` at the first line with too many or too few cells, or that can't be decoded.
    """
    line, below, few, is_first = -1, list[int](), 0, True
    wanted, skipped = dialect.n_fields, frozenset(dialect.skipped)
    try:
        for line, cells in _widths(path, dialect):
            if line in skipped:
                continue
            if cells <= max(1, wanted // A_FEW) and wanted > 2 and len(below) < MOST_BELOW:
                below.append(line)
                few = few or cells
                continue
            if below:
                raise ReadError(_ragged(path, below[0] + 1, few, wanted, dialect.delimiter))
            unnamed = is_first and dialect.header and cells == wanted - 1
            if cells != wanted and not unnamed:
                raise ReadError(_ragged(path, line + 1, cells, wanted, dialect.delimiter))
            is_first = False
    except UnicodeDecodeError as error:
        raise ReadError(
            f"{path} is not written in {dialect.encoding} (line {line + 2}): give {option('encoding')}, such as cp1252."
        ) from error
    except csv.Error as error:
        raise ReadError(
            f"{path} can't be read as a table (line {line + 2}: {error}): give {option('delimiter')}."
        ) from error
    return below


def repeated_names(path: Path, dialect: Dialect) -> list[list[int]]:
    """Return the lines that repeat the column names, as on every page, each after the page titles above it."""
    skipped, first, titles = frozenset(dialect.skipped), "", list[int]()
    again: list[list[int]] = []
    if not dialect.header or dialect.n_fields < 3 or not dialect.delimiter:
        return again
    with open(path, encoding=dialect.encoding, errors="replace") as file:
        for number, line in enumerate(map(str.strip, file)):
            if not line or number in skipped:
                continue
            if first and line == first:
                again.append([*titles, number])
            n_cells = len(line.split(None if dialect.delimiter == BLANKS else dialect.delimiter))
            is_title = bool(first) and line != first and n_cells <= max(1, dialect.n_fields // A_FEW)
            titles = [*titles, number] if is_title and len(titles) < MOST_BELOW else []
            first = first or line
    return again


def _widths(path: Path, dialect: Dialect) -> Iterator[tuple[int, int]]:
    """Yield the index of each non-blank line, counted from 0, and its number of cells."""
    delimiter, is_quoted = dialect.delimiter, _has_quotes(path, dialect.encoding)
    with open(path, encoding=dialect.encoding, newline="" if delimiter else None) as file:
        if is_quoted and delimiter not in ("", BLANKS):
            rows = csv.reader(file, delimiter=delimiter)
            yield from ((rows.line_num - 1, len(row)) for row in rows if row)
            return
        for number, line in enumerate(file):
            if line.strip():
                splits = len(line.split()) - 1 if delimiter == BLANKS else line.count(delimiter) if delimiter else 0
                yield number, splits + 1


def _ragged(path: Path, line: int, cells: int, wanted: int, delimiter: str) -> str:
    name = DELIMITERS.get(delimiter, repr(delimiter))
    return (
        f"line {line} of {path} has {number_of(cells, 'cell')} where the others have {wanted} (delimiter: {name}): fix that "
        f"line, or give {option('delimiter')}."
    )


def _has_quotes(path: Path, encoding: str) -> bool:
    """Whether a file has quotation marks; raise an error for zero bytes not explained by the encoding."""
    quotes = False
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 22), b""):
            if b"\0" in block and not encoding.startswith(("utf-16", "utf-32")):
                raise ReadError(
                    f"{path} is not a text table (it holds zero bytes): fix it, or give {option('encoding')}."
                )
            quotes = quotes or b'"' in block
    return quotes


# ------------------------------------------------------------------ encoding


def _encoding(path: Path, chosen: str | None) -> str:
    with open(path, "rb") as file:
        start = file.read(SAMPLE)
    if not start.strip():
        raise ReadError(f"{path} is empty: there is nothing to cluster.")
    if chosen is not None:
        try:
            codec = codecs.lookup(chosen)
            "".encode(chosen)  # fails unless it is an encoding of text
            return codec.name
        except (LookupError, ValueError):
            raise ReadError(
                f"{option('encoding', chosen)} is unknown: use a name such as utf-8, cp1252 or latin-1."
            ) from None
    for mark, name in BOMS:
        if start.startswith(mark):
            return name
    control = sum(byte < 32 and byte not in b"\t\n\r\f\v" for byte in start)
    if b"\0" in start or control > len(start) / 100:
        raise ReadError(
            f"{path} is not a text table (it holds binary data): give a CSV file, or {option('encoding')} if it is one."
        )
    for name in ("utf-8", "cp1252"):
        if _decodes(path, name):
            return name
    raise ReadError(f"{path} is neither UTF-8 nor Windows-1252 text: give its encoding with {option('encoding')}.")


def _decodes(path: Path, encoding: str) -> bool:
    try:
        with open(path, encoding=encoding) as file:
            while file.read(1 << 22):
                pass
    except UnicodeDecodeError:
        return False
    return True


def _sample(path: Path, encoding: str) -> list[str]:
    """Return the first lines as read: a quoted cell may span several."""
    lines: list[str] = []
    size = 0
    try:
        with open(path, encoding=encoding, newline="") as file:
            for line in iter(lambda: file.readline(LONGEST + 1), ""):
                lines.append(line)
                size += len(line)
                if size > LONGEST or (size > SAMPLE and len(lines) >= FEW_LINES):
                    break
    except (UnicodeDecodeError, UnicodeError) as error:
        raise ReadError(
            f"{path} is not written in {encoding}: give {option('encoding')}, such as cp1252 or latin-1."
        ) from error
    if size > LONGEST:
        raise ReadError(f"the first lines of {path} are too long for a table: check that it is one.")
    while lines and sum(line.count('"') for line in lines) % 2 and size > SAMPLE:
        lines.pop()  # truncated inside a quoted cell
    return lines


# ------------------------------------------------------------------ delimiter, header, decimal sign


def _named(delimiter: str) -> str:
    named = {name: sign for sign, name in DELIMITERS.items()} | {"\\t": "\t", "space": BLANKS, " ": BLANKS, "none": ""}
    chosen = named.get(delimiter, delimiter)
    if chosen not in ("", BLANKS) and (len(chosen) != 1 or not chosen.isascii() or chosen in '"\r\n\0'):
        raise ReadError(
            f"{option('delimiter', delimiter)} must be one plain character, or one of tab, semicolon, bar, comma, "
            "blanks, none."
        )
    return chosen


def _delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that splits most lines into the same number of cells, more than one."""
    best, share = "", 0.6
    for candidate in DELIMITERS:
        try:
            counts = Counter(len(row) for row in split_rows(lines, candidate))
        except csv.Error:
            continue
        if not counts:
            break
        fields, agreeing = counts.most_common(1)[0]
        part = agreeing / counts.total()
        if fields > 1 and part > share + (0.05 if best else 0.0):
            best, share = candidate, part
    return best


def _named_by(first: Sequence[str], names: Sequence[str] | None) -> bool | None:
    """Whether the first line has the wanted names; None if unknown."""
    if names is None:
        return None
    if set(names) <= {cell.strip() for cell in first}:
        return True
    return False if all(re.fullmatch(r"column \d+", name) for name in names) else None


def _names(
    path: Path, first: Sequence[str] | None, fields: int, chosen: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return unique names of the columns, given or from the first line, and remarks about them."""
    if chosen and len(chosen) != fields:
        raise ReadError(
            f"{option('names')} must name each of the {fields} columns of {path}; got {len(chosen)}: {some_of(chosen)}."
        )
    if not chosen and first is None:
        return tuple(f"column {j + 1}" for j in range(fields)), ()
    names = [cell.strip() or f"Unnamed: {j}" for j, cell in enumerate(chosen or first or ())]
    own, notes = own_names(names)
    return tuple(own), tuple(notes)


def _header(rows: Sequence[Sequence[str]], missing: Sequence[str]) -> bool:
    """Whether the first line holds names: no numbers above numbers, nothing repeated below."""
    if len(rows) < 2:
        return bool(rows) and not any(_is_number(cell) for cell in rows[0])
    first = [cell.strip() for cell in rows[0]]
    counts = _counts_across(first) and not any(map(_counts_across, rows[1:]))
    if counts or _years_across(rows) or _names_its_rows(rows):
        return True
    if any(_is_number(cell) or cell == "?" for cell in first):
        return False
    columns = list(zip(*(row for row in rows[1:] if len(row) == len(first)), strict=True))
    numeric = [_mostly_numbers(column, missing) for column in columns]
    repeated = len(set(first)) < len(first)
    if any(below and (name not in missing or not repeated) for name, below in zip(first, numeric, strict=False)):
        return True  # words above numbers
    return not repeated and not any(
        name in {cell.strip() for cell in column} for name, column in zip(first, columns, strict=False)
    )


def _names_its_rows(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line repeats the first column below it, as in a matrix whose objects have numbers as names."""
    first, below = [cell.strip() for cell in rows[0]], [row[0].strip() for row in rows[1:]]
    corner, names = (first[0], first[1:]) if len(first) == len(rows[1]) else ("", first)  # R omits the corner
    on_diagonal = _is_number(corner) or (corner in MISSING and rows[1][1:2] == rows[0][:1])  # no names at all
    return len(below) == len(set(below)) > 1 and not on_diagonal and set(below) <= set(names)


def _years_across(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line names columns by consecutive years, above numbers that are not years."""
    years = [(j, int(cell)) for j, cell in enumerate(rows[0]) if YEAR.fullmatch(cell.strip())]
    others = [cell.strip() for cell in rows[0] if not YEAR.fullmatch(cell.strip())]
    rising = all(b > a for (_, a), (_, b) in pairwise(years))
    if len(years) < 2 or not others or not rising or any(_is_number(cell) for cell in others):
        return False
    below = [row[j].strip() for row in rows[1:] for j, _ in years if j < len(row)]
    return sum(YEAR.fullmatch(cell) is not None for cell in below) < 0.5 * len(below)


def _counts_across(row: Sequence[str]) -> bool:
    """Whether a line counts 0, 1, 2, …, as in data frames without names, or by other equal steps beside words."""
    numbers = [float(cell.replace(",", ".")) for cell in map(str.strip, row) if NUMBER.fullmatch(cell)]
    steps = {round(b - a, 9) for a, b in pairwise(numbers)}
    from_zero = len(numbers) == len(row) and (numbers[0], *steps) == (0, 1)
    return len(numbers) >= COUNTED and len(steps) == 1 and min(steps) > 0 and (from_zero or len(numbers) < len(row))


def _mostly_numbers(column: Sequence[str], missing: Sequence[str]) -> bool:
    filled = [cell for cell in column if cell.strip() not in missing]
    return bool(filled) and sum(_is_number(cell) for cell in filled) > 0.8 * len(filled)


def _is_number(cell: str) -> bool:
    """Whether a cell holds a number, including money and percent; a unit in letters may be part of a name."""
    text = cell.strip()
    if NUMBER.fullmatch(text):
        return True
    number = spelled(text)
    return number is not None and not any(sign.isalpha() for sign in number.unit)


def _decimal(rows: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return the decimal sign proved by most cells; else "", and a cell whose point may separate thousands, if any."""
    cells = (cell.strip() for row in rows for cell in row if "," in cell or "." in cell)
    numbers = [one for cell, _ in zip(cells, range(FEW_CELLS), strict=False) if (one := spelled(cell)) is not None]
    counts = Counter(one.evidence for one in numbers)
    if not (counts[","] or counts["."]):
        return "", next((one.whole for one in numbers if one.evidence == "?."), "")
    return "," if counts[","] > counts["."] else ".", ""
