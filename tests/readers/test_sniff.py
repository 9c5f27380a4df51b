from pathlib import Path

import pytest

from softecm._errors import ReadError
from softecm.readers import ReadOptions
from softecm.readers.sniff import BLANKS, check_rows, sniff

pytestmark = pytest.mark.usefixtures("as_typed")


def written(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "delimiter", "header", "decimal"),
    [
        ("a,b\n1,2\n3,4\n", ",", True, "."),
        ("1,2\n3,4\n", ",", False, "."),
        ("a;b\n1,5;2,25\n3,0;4,5\n", ";", True, ","),
        ("a\tb\n1\t2\n3\t4\n", "\t", True, "."),
        ("x|y\n1|2\n", "|", True, "."),
        ("1.0  2.5   a\n3.0 4.5  b\n", BLANKS, False, "."),
        ('"last, first",1\n"doe, jane",2\n', ",", False, "."),
        ("red,big\nblue,small\nred,small\nblue,big\n", ",", False, "."),
        ("colour,size\nred,big\nblue,small\nred,small\n", ",", True, "."),
        ("?,1\na,2\nb,3\n", ",", False, "."),
        # dissimilarities between objects with numbers as names, by the corner: empty, a word, none; the last have no names
        (",880649,880931,12\n880649,0,3,4\n880931,3,0,5\n12,4,5,0\n", ",", True, "."),
        ("case,880649,880931\n880649,0,3.25\n880931,3.25,0\n", ",", True, "."),
        ("case;880649;880931\n880931;3,25;0\n880649;0;3,25\n", ";", True, ","),
        ("880649,880931\n880649,0,3.5\n880931,3.5,0\n", ",", True, "."),
        ("0,3,4\n3,0,5\n4,5,0\n", ",", False, "."),
        (",3,4\n3,,5\n4,5,\n", ",", False, "."),
        ("nan,3,4\n3,nan,5\n4,5,nan\n", ",", False, "."),
    ],
)
def test_delimiter_header_and_decimal_sign_are_found(
    tmp_path: Path, text: str, delimiter: str, header: bool, decimal: str
) -> None:
    found = sniff(written(tmp_path, text), ReadOptions())
    assert (found.delimiter, found.header, found.decimal) == (delimiter, header, decimal)


def test_what_is_given_is_not_guessed(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,2\n")
    options = ReadOptions(delimiter="semicolon", header=False, decimal=",", missing=("-9",), encoding="latin-1")
    found = sniff(path, options)
    assert (found.delimiter, found.header, found.decimal, found.encoding) == (";", False, ",", "iso8859-1")
    assert found.missing[-1] == "-9"


@pytest.mark.parametrize(
    ("encoding", "found"), [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("cp1252", "cp1252")]
)
def test_encodings_are_found(tmp_path: Path, encoding: str, found: str) -> None:
    assert sniff(written(tmp_path, "größe,n\n1,2\n3,4\n", encoding), ReadOptions()).encoding == found


def test_missing_markers_that_occur_are_shown(tmp_path: Path) -> None:
    assert sniff(written(tmp_path, "a,b\n1,?\n,2\nNA,3\n"), ReadOptions()).missing_seen == ("", "?", "NA")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "binary"),
        (b"a,b\n", "no rows"),
        (b"a,b\n\x81\x8d\x8f,2\n3,4\n", "--encoding"),
    ],
)
def test_what_is_no_table_is_said_in_one_sentence(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ReadError, match=part):
        sniff(path, ReadOptions())


@pytest.mark.parametrize("text", ["a,b\n1,2\n3\n4,5\n", 'a,b\n"1",2\n3,4,5\n6,7\n', "1 2\n3 4\n5 6\n7 8 9\n10 11\n"])
def test_ragged_rows_are_named_by_line(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ReadError, match=r"line [34] .* cells? where the others have 2"):
        check_rows(path, sniff(path, ReadOptions()))


def test_a_note_at_the_end_may_hold_the_delimiter(tmp_path: Path) -> None:
    rows = "".join(";".join(str(i + j) for j in range(8)) + "\n" for i in range(6))
    path = written(tmp_path, rows + "Note: without tax; k.A. = not stated\n")
    assert check_rows(path, sniff(path, ReadOptions())) == [6]
    path = written(tmp_path, rows + "1;2;3\n")
    with pytest.raises(ReadError, match=r"line 7 .* 3 cells where the others have 8"):
        check_rows(path, sniff(path, ReadOptions()))


def test_quoted_line_breaks_and_blank_lines_do_not_make_a_table_ragged(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b\n"one\ntwo",2\n\n3,4\n')
    assert check_rows(path, sniff(path, ReadOptions())) == []


def test_the_wrong_encoding_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "größe,n\n1,2\n", "cp1252")
    with pytest.raises(ReadError, match="not written in utf-8"):
        sniff(path, ReadOptions(encoding="utf-8"))
