"""Untrusted text made safe for display; numbers and lists in sentences."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import partial

#: Control characters of terminals (C0 and C1), and those that reverse the direction of text.
COMMANDS = "\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
HIDDEN = re.compile(f"[{COMMANDS}]")
HIDDEN_IN_LINES = re.compile(f"(?![\t\n])[{COMMANDS}]")
ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")  # of Latin letters: in other scripts they make other letters
BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s_./'’\-‐‑–]+(?=[^\W\d_])")
SHORT_CODE = 3  # letters; A-B and AB may differ


def visible(text: str, *, lines: bool = False) -> str:
    r"""Replace control characters in text; ``lines`` keeps line ends and tabs.

    Examples
    --------
    >>> visible("red: \x1b[31m")
    'red: �[31m'
    """
    return (HIDDEN_IN_LINES if lines else HIDDEN).sub("�", text)


def escaped(text: str) -> str:
    """Escape one line of JSON so that a terminal shows its strings safely."""
    return HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def is_writable(text: str) -> bool:
    """Whether text can be encoded as UTF-8, without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def place(word: str, number: int, of: str = "X") -> str:
    """Return a position for a message: counted from 1, and as a Python index.

    Examples
    --------
    >>> place("row", 5)
    'row 6 (X[5])'
    """
    return f"{word} {number + 1} ({of}[{number}])"


def column_label(name: str | int) -> str:
    """Return a column for a message: its name, or else counted from 1 and as a Python index.

    Examples
    --------
    >>> column_label("age"), column_label(3)
    ("column 'age'", 'column 4 (X[:, 3])')
    """
    return f"column {name + 1} (X[:, {name}])" if isinstance(name, int) else f"column {name!r}"


def some_of(names: Sequence[object], most: int = 8) -> str:
    """Return the first few names for a sentence.

    Examples
    --------
    >>> some_of(["a", "b", "c"]), some_of(range(9), 2)
    ('a, b, c', '0, 1 …')
    """
    return ", ".join(map(str, names[:most])) + (" …" if len(names) > most else "")


def meant(word: object, known: Iterable[str]) -> str:
    """Return a question to end a message, if a word is close to a known one; else "".

    Examples
    --------
    >>> meant("Soft-DTW", ["softdtw", "dtw"])
    ' Did you mean softdtw?'
    >>> meant("blue", ["softdtw", "dtw"])
    ''
    """
    candidate = closest(word, known)
    return f" Did you mean {candidate}?" if candidate else ""


def closest(word: object, known: Iterable[str]) -> str:
    """Return the most similarly spelled known word; "" if none is close."""
    plain = {_letters(name): name for name in known}
    matches = get_close_matches(_letters(str(word)), plain, n=1, cutoff=0.6)
    return plain[matches[0]] if matches else ""


def slip(written: str, known: str) -> tuple[str, str] | None:
    """Return the words in which two texts differ, in lower case, if they differ by one slip in one word; else None.

    A slip is a letter missing, added or different, or two swapped; words of two letters differ by more than a slip.

    Examples
    --------
    >>> slip("Basc", "Basic"), slip("Lotus Ntoes", "Lotus Notes"), slip("north", "south"), slip("A1", "A2")
    (('basc', 'basic'), ('ntoes', 'notes'), None, None)
    """
    a, b = written.split(), known.split()
    different = [(one.lower(), other.lower()) for one, other in zip(a, b, strict=False) if one != other]
    if len(a) != len(b) or len(different) != 1:
        return None
    one, other = different[0]
    return (one, other) if one.isalpha() and other.isalpha() and len(other) > 2 and _one_slip(one, other) else None


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter is missing, added or different, two are swapped, or only case differs."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else b[1:] == a


def _letters(word: str) -> str:
    """Return the letters of a word, without case and separators."""
    return re.sub(r"[\s_.-]+", "", word.lower())


def spelling_key(word: object) -> str:
    """Return a word without what its spellings differ in: case, accents, final punctuation, hyphens, spaces.

    Examples
    --------
    >>> {spelling_key(word) for word in ("Off-Peak", "off peak", "Offpeak.")}, spelling_key("Café")
    ({'offpeak'}, 'cafe')
    >>> spelling_key("A-"), spelling_key("A B"), spelling_key("1-2")
    ('a-', 'a b', '1-2')
    """
    plain = unicodedata.normalize("NFD", " ".join(str(word).casefold().split()))
    plain = unicodedata.normalize("NFC", ACCENTS.sub("", plain))
    if sum(map(str.isalpha, plain)) > SHORT_CODE:
        plain = BETWEEN_LETTERS.sub("", plain)
    return plain.rstrip(" .,;:!") or plain


def shown_size(size: float) -> str:
    """Return a readable size.

    Examples
    --------
    >>> shown_size(2.5e9), shown_size(3e6)
    ('2.5 GB', '3 MB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1e3:.3g} kB"


def to_json(value: object, *, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Return valid JSON, with null for NaN and infinity.

    Examples
    --------
    >>> to_json({"ratio": float("inf"), "size": 2})
    '{"ratio": null, "size": 2}'
    """
    layout = partial(json.dumps, ensure_ascii=False, indent=indent, separators=separators)
    try:
        return layout(value, allow_nan=False)
    except ValueError:
        return layout(json.loads(layout(value), parse_constant=lambda _: None))


def listed(items: Sequence[str], word: str) -> str:
    """Return items for a sentence, with a word such as "and" before the last."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def grouped(number: int) -> str:
    """Return an integer with its digits grouped by three."""
    return f"{int(number):,}".replace(",", "\u202f")  # a narrow no-break space between thousands


def number_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> number_of(1, "object"), number_of(3, "object"), number_of(3, "series")
    ('1 object', '3 objects', '3 series')
    """
    return counted(number, noun, plural(noun))


def counted(number: int, one: str, several: str) -> str:
    """Return a number with its singular or plural phrase.

    Examples
    --------
    >>> counted(1, "row is", "rows are"), counted(2, "row is", "rows are")
    ('1 row is', '2 rows are')
    """
    return f"{grouped(number)} {one if number == 1 else several}"


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return noun if noun.endswith("s") else f"{noun}s"


def opening(words: str) -> str:
    """Return the name of a group or set at the start of a sentence; names given by users are unchanged.

    Examples
    --------
    >>> opening("group 1 or 2"), opening("no group"), opening("iPhone users")
    ('Group 1 or 2', 'No group', 'iPhone users')
    """
    return words[0].upper() + words[1:] if words.partition(" ")[0] in ("group", "no", "any") else words


def capitalized(text: str) -> str:
    """Return a warning of the library as a sentence of its own."""
    return text[:1].upper() + text[1:]


def share_of(part: int, whole: int) -> str:
    """Return a share in percent."""
    percent = 100 * part / max(whole, 1)
    return f"{percent:.0f}%" if percent in (0, 100) or 1 <= percent <= 99 else f"{percent:.1f}%"
