"""Files that are damaged, unusual, enormous or no files: an answer or one sentence, exit code 0 or 2."""

import gzip
import os
import re
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hostile.commands import check_end, hidden, softecm
from hostile.mutated import frame, good_files, write_mutated
from problems import DEEP

Count = Callable[[], None]
QUICK = ("-c", 2, "--n-init", 1, "--max-iter", 2, "--force")
GOOD = good_files()
CASES = 250 if DEEP else 10  # per format


def cluster(path: Path, *options: object):
    """A tiny fit of a file."""
    return softecm("cluster", path, *QUICK, "-o", path.parent / "found", *options)


@pytest.mark.parametrize("ending", GOOD)
def test_whatever_happened_to_a_file_ends_well(tmp_path: Path, ending: str, hostile_case: Count) -> None:
    if ending == ".ts":
        pytest.importorskip("aeon")
    for seed in range(CASES):
        ended = cluster(write_mutated(tmp_path, ending, GOOD[ending], seed))
        check_end(ended)
        if ended.code == 0:
            masses = pd.read_csv(tmp_path / "found" / "partition.csv").filter(like="m(").to_numpy()
            np.testing.assert_allclose(masses.sum(1), 1.0, atol=1e-4)
        hostile_case()


def numbers(n: int = 12) -> str:
    return "".join(f"{i % 2 * 5 + i / 10},{i * i % 7}\n" for i in range(n))


def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00v\x00" + header.ljust(117) + b"\n"


ARFF = "@relation r\n@attribute a numeric\n@attribute k {x,y}\n@data\n" + "1.5,x\n2.5,y\n" * 6

#: Content and a part of its error message.
ODD: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "is empty"),
    "mark.csv": (b"\xef\xbb\xbf", "is empty"),
    "mark16.csv": (b"\xff\xfe", "is empty"),
    "mark_and_lines.csv": (b"\xef\xbb\xbf\n\n", "is empty"),
    "blank.csv": (b"\n \n\t\n", "is empty"),
    "header.csv": (b"a,b\n", "but no rows"),
    "zero.csv": (f"a,b\n{numbers()}".encode() + b"1,\0\n", "binary"),
    "late_zero.csv": (f"a,b\n{numbers() * 4000}".encode() + b"1,\0\n", "zero bytes"),
    "one_line.csv": (b"1," * 150_000, "columns, more than"),
    "quote.csv": (f'a,b\n{numbers()}"3,4\n1,2\n'.encode(), "has 1 cell"),
    "ragged.csv": (f"a,b\n{numbers()}1,2,3\n".encode(), "line 14"),
    "short.csv": (f"a,b\n{numbers()}1\n".encode(), "line 14"),
    "names.csv": (f"a,b,c\n{numbers()}".encode(), "line 1"),
    "infinite.csv": (f"a,b\n{numbers()}inf,3\n".encode(), "holds inf in row 13"),
    "constant.csv": (b"a,b\n" + b"1,2\n" * 12, "a (always 1), b (always 2)"),
    "packed.csv.gz": (gzip.compress(numbers().encode()), "compressed"),
    "packed_and_cut.csv.gz": (gzip.compress(numbers().encode())[:30], "compressed"),
    "packed.csv": (gzip.compress(numbers().encode()), "compressed"),
    "no_attributes.arff": (b"@relation r\n@data\n1,2\n", "no line @attribute"),
    "no_data.arff": (b"@relation r\n@attribute a numeric\n", "no line @data"),
    "open_list.arff": (ARFF.replace("{x,y}", "{x,y").encode(), "nominal"),
    "empty_list.arff": (ARFF.replace("{x,y}", "{}").encode(), "nominal"),
    "other_list.arff": (ARFF.replace("{x,y}", "{x,z}").encode(), "y value not in"),
    "sparse.arff": (ARFF.split("@data")[0].encode() + b"@data\n{0 1.5, 1 x}\n", "can't be read"),
    "text.arff": (ARFF.replace("{x,y}", "string").encode(), "save it as CSV"),
    "short.arff": (ARFF.encode() + b"1.5\n", "fewer cells"),
    "twice.arff": (ARFF.replace("@attribute k", "@attribute a").encode(), "more than once"),
    "no_series.ts": (b"@problemName p\n@data\n", "no series"),
    "no_header.ts": (b"1,2,3:0\n", "no series"),
    "lies.npy": (npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 10000000), }"), "can't be read"),
    "code.npy": (npy(b"__import__('os').abort()"), "can't be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path: Path, name: str, hostile_case: Count) -> None:
    if name.endswith(".ts"):
        pytest.importorskip("aeon")
    content, said = ODD[name]
    (tmp_path / name).write_bytes(content)
    ended = cluster(tmp_path / name)
    check_end(ended)
    assert (ended.code, said in ended.err) == (2, True), ended.err
    hostile_case()


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--encoding", "nope", "is unknown"),
        ("--encoding", "base64", "is unknown"),
        ("--encoding", "rot13", "is unknown"),
        ("--encoding", "zlib", "is unknown"),
        ("--encoding", "a\0b", "is unknown"),
        ("--encoding", "", "is unknown"),
        ("--encoding", "undefined", "is unknown"),
        ("--encoding", "utf-16", "is not written in"),
        ("--encoding", "utf-32", "is not written in"),
        ("--delimiter", '"', "one plain character"),
        ("--delimiter", "\n", "one plain character"),
        ("--delimiter", "§", "one plain character"),
        ("--decimal", "x", "must be . or ,"),
        ("--decimal", "", "must be . or ,"),
        ("--drop", "\x1b[31mred", "no column �[31mred"),
        ("--metric", "\x1b[31mred", "must be one of auto, "),
        ("--metric", "sqeuclidean", "--metric sqeuclidean takes no missing values, and 1 cell is missing (column b)"),
    ],
)
def test_options_that_do_not_fit_the_file(
    tmp_path: Path, option: str, value: str, said: str, hostile_case: Count
) -> None:
    path = tmp_path / "gap.csv"
    path.write_text(f"a,b\n{numbers()}3,\n")
    ended = cluster(path, option, value)
    check_end(ended)
    assert (ended.code, said in ended.err) == (2, True), ended.err
    hostile_case()


def test_what_is_no_file_is_said_at_once(tmp_path: Path, hostile_case: Count) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipe.parquet")
    os.symlink(tmp_path / "round.csv", tmp_path / "round.csv")
    os.symlink(tmp_path / "nowhere.csv", tmp_path / "dangling.csv")
    (tmp_path / "file.csv").write_text("a,b\n" + numbers())
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(tmp_path)  # names of sockets are short
        listening.bind("socket.csv")
    names = ["pipe.csv", "pipe.parquet", "round.csv", "dangling.csv", "socket.csv", ".", "gone.csv", "file.csv/x"]
    for name in [*names, "x" * 300 + ".csv", "x" * 300 + ".parquet", "/dev/zero", "/dev/null", "\x1b[2J\n\u202e.csv"]:
        ended = cluster(tmp_path / name)
        check_end(ended)
        assert ended.code == 2
        hostile_case()
    for model in ("pipe.csv", "socket.csv", "gone", "/dev/zero"):
        ended = softecm("predict", tmp_path / model, tmp_path / "file.csv")
        check_end(ended)
        assert ended.code == 2
        hostile_case()


def test_an_archive_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path, hostile_case: Count) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", b"\0" * 1000)
        archive.infolist()[0].file_size = 2**31 - 1  # as in its directory
    ended = cluster(path)
    check_end(ended)
    assert (ended.code, "unpacks to 2.15 GB" in ended.err) == (2, True), ended.err
    hostile_case()


def test_python_objects_are_never_loaded(tmp_path: Path, hostile_case: Count) -> None:
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{"a": 1}, "b"], dtype=object), allow_pickle=True)
    ended = cluster(path)
    check_end(ended)
    assert (ended.code, "never loaded" in ended.err) == (2, True), ended.err
    hostile_case()


def broken_text(path: Path) -> None:
    """A Parquet file with invalid text."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    starts = pa.py_buffer(np.arange(13, dtype=np.int32).tobytes())
    words = pa.Array.from_buffers(pa.string(), 12, [None, starts, pa.py_buffer(b"ab\xffababab\x1bab\xfe")])
    parquet.write_table(pa.table({"a": np.arange(12.0), "b": np.arange(12.0)[::-1] ** 2, "words": words}), path)


@pytest.mark.parametrize("memory", [(), ("--memory", "1kB")])
def test_text_that_is_none_in_a_parquet_file(tmp_path: Path, memory: tuple[str, ...], hostile_case: Count) -> None:
    broken_text(tmp_path / "words.parquet")
    ended = cluster(tmp_path / "words.parquet", "--quiet", *memory)
    check_end(ended)
    assert (ended.code, "UTF" in ended.err.upper()) == (2, True), ended.err
    hostile_case()


@pytest.mark.parametrize("memory", [(), ("--memory", "1kB")])
def test_columns_of_one_name_in_a_parquet_file(tmp_path: Path, memory: tuple[str, ...], hostile_case: Count) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table([np.arange(12.0), np.arange(12.0)], names=["a", "a"]), tmp_path / "twice.parquet")
    ended = cluster(tmp_path / "twice.parquet", "--quiet", *memory)
    check_end(ended)
    assert (ended.code, "called a" in ended.err) == (2, True), ended.err
    hostile_case()


def test_columns_of_every_type_that_a_parquet_file_knows(tmp_path: Path, hostile_case: Count) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "list": [[1, 2]] * 12, "struct": [{"a": 1}] * 12, "bytes": [b"\xff"] * 12, "nothing": pa.nulls(12),
        "decimal": pa.array([1, 2] * 6, pa.decimal128(5, 2)), "time": pa.array([1, 2] * 6, pa.time64("us")),
        "date": pa.array(list(range(12)), pa.date32()), "zone": pa.array(list(range(12)), pa.timestamp("ns", "UTC")),
        "flag": [True, False] * 6, "huge": [1e300, 2.0] * 6, "number": np.arange(12.0) ** 2,
    }  # fmt: skip
    parquet.write_table(pa.table(columns), tmp_path / "types.parquet")
    drop = ("--drop", "huge")
    more = (
        (),
        drop,
        ("--categorical", "all"),
        ("--numeric", "all"),
        ("--numeric", "zone", *drop),
        ("--numeric", "date"),
    )
    codes = [cluster(tmp_path / "types.parquet", *options) for options in more]
    for ended in codes:
        check_end(ended)
        hostile_case()
    assert [ended.code for ended in codes] == [2, 0, 0, 2, 2, 2]
    assert "binary data" in codes[1].out
    assert re.search(r"date +date +1970", codes[1].out)


def test_names_of_megabytes_are_a_wide_table(tmp_path: Path, hostile_case: Count) -> None:
    from softecm.readers import ReadOptions, read

    wide, long = (20_000, 50) if DEEP else (600, 500)
    names = ",".join(f"gene {j} ".ljust(long, "x") for j in range(wide))
    rows = "".join(",".join("12345"[(i + j) % 5] for j in range(wide)) + "\n" for i in range(12))
    path = tmp_path / "genes.csv"
    path.write_text(f"{names}\n{rows}")
    loaded = read(path, ReadOptions())
    assert loaded.data.shape == (12, wide)
    assert all(c.kind == "number" for c in loaded.columns)
    hostile_case()


def test_signs_that_command_a_terminal_stay_in_the_file(tmp_path: Path, hostile_case: Count) -> None:
    table = frame().rename(columns={"a": "a\x1b[31m", "kind": "[bold]k\u202eind"})
    table.insert(0, "who", [f"n{i}\x1b]0;title\x07\x9b" for i in range(len(table))])
    table["[bold]k\u202eind"] = table["[bold]k\u202eind"].map(lambda v: v + "\x1b[2J[/red]</script><b>")
    path = tmp_path / "signs\x1b[0m.parquet"
    table.to_parquet(path)
    for options in ((), ("--json",)):
        ended = cluster(path, *options)
        check_end(ended)
        assert ended.code == 0
        hostile_case()
    page = (tmp_path / "found" / "report.html").read_text(encoding="utf-8")
    assert "</script><b>" not in page
    assert not hidden(page) - {"\t", "\r"}
    assert "[bold]k" in cluster(path).out  # markup is text
    assert softecm("predict", tmp_path / "found", path, "-o", tmp_path / "new.csv").code == 0


def test_numbers_beyond_single_precision_are_reported_as_they_are(tmp_path: Path, hostile_case: Count) -> None:
    (tmp_path / "large.csv").write_text(f"a,b\n{numbers()}1.25e120,3\n")
    ended = cluster(tmp_path / "large.csv", "--metric", "mixed")
    check_end(ended)
    assert ended.code == 0, ended.err
    assert "1.25e+120" in (tmp_path / "found" / "report.html").read_text(encoding="utf-8")
    hostile_case()


def test_a_defect_of_ours_is_called_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("\x1b[2J")

    monkeypatch.setattr("softecm.cli.source.read", broken)
    (tmp_path / "file.csv").write_text("a,b\n" + numbers())
    ended = cluster(tmp_path / "file.csv")
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert "bug in softecm. Please report it" in ended.err
    assert not hidden(ended.err)
