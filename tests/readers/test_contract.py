"""The contract of all readers: they read a small file of their format, and report other files in a sentence."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from softecm._errors import Mendable
from softecm.readers import DELIMITED, READERS, Format, Loaded, ReadError, ReadOptions, Sheet, format_of, read

N = 12
CASES = [pytest.param(one, ending, id=ending) for one in READERS for ending in one.endings if ending != ".xls"]


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=N).round(3), "b": rng.normal(size=N).round(3)})


def write_arff(path: Path) -> None:
    rows = "".join(f"{a},{b}\n" for a, b in frame().itertuples(index=False))
    path.write_text(f"@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n{rows}")


def write_workbook(path: Path) -> None:
    if path.suffix != ".ods":
        frame().to_excel(path, index=False, engine="openpyxl")
        return
    names = "".join(ods_cell(name) for name in "ab")
    rows = [names, *("".join(ods_cell(value) for value in row) for row in frame().itertuples(index=False))]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    known = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    sheet = f'<office:spreadsheet><table:table table:name="one">{table}</table:table></office:spreadsheet>'
    body = f"<office:body>{sheet}</office:body>"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", "<manifest/>")
        file.writestr("content.xml", f"<office:document-content{known}>{body}</office:document-content>")


def ods_cell(value: object) -> str:
    kind = "string" if isinstance(value, str) else f'float" office:value="{value}'
    return f'<table:table-cell office:value-type="{kind}"><text:p>{value}</text:p></table:table-cell>'


def write_ts(path: Path) -> None:
    head = "@problemName p\n@timeStamps false\n@missing false\n@univariate true\n@equalLength true\n@seriesLength 2\n"
    rows = "".join(f"{a},{b}:{i % 2}\n" for i, (a, b) in enumerate(frame().itertuples(index=False)))
    path.write_text(f"{head}@classLabel true 0 1\n@data\n{rows}")


#: Makers of a small file for each format; the tests report formats without one.
MAKERS: dict[str, Callable[[Path], object]] = {
    "CSV": lambda path: frame().to_csv(path, index=False),
    "Parquet": lambda path: frame().to_parquet(path),
    "Feather": lambda path: frame().to_feather(path),
    "JSON": lambda path: frame().to_json(path, orient="records"),
    "Excel, OpenDocument": write_workbook,
    "ARFF": write_arff,
    ".ts": write_ts,
    ".npy": lambda path: np.save(path, frame().to_numpy()),
    ".npz": lambda path: np.savez(path, X=frame().to_numpy()),
}


def made(folder: Path, format: Format, ending: str) -> Path:
    if format.name == ".ts":
        pytest.importorskip("aeon")
    path = folder / f"small{ending}"
    MAKERS[format.name](path)
    return path


@pytest.mark.parametrize(("format", "ending"), CASES)
def test_a_small_file_is_read(tmp_path: Path, format: Format, ending: str) -> None:
    path = made(tmp_path, format, ending)
    assert isinstance(format.reader(path, ReadOptions()), Sheet | Loaded)
    loaded = read(path, ReadOptions())
    assert len(loaded) == N == len(loaded.names)
    np.testing.assert_allclose(np.asarray(loaded.data, dtype=float).reshape(N, -1), frame().to_numpy())
    assert loaded.gaps == 0
    assert loaded.how["format"]


@pytest.mark.parametrize(("format", "ending"), CASES)
def test_the_code_it_shows_gives_the_same_objects(tmp_path: Path, format: Format, ending: str) -> None:
    path = made(tmp_path, format, ending)
    loaded, names = read(path, ReadOptions()), {}
    exec("\n".join(loaded.code), names)
    found = np.asarray(names["X"], dtype=float).reshape(N, -1)
    np.testing.assert_allclose(found, np.asarray(loaded.data, dtype=float).reshape(N, -1))


@pytest.mark.parametrize("part", [0, 1, 20, 0.5])
@pytest.mark.parametrize(("format", "ending"), CASES)
def test_a_file_cut_short_is_one_sentence(tmp_path: Path, format: Format, ending: str, part: float) -> None:
    path = made(tmp_path, format, ending)
    content = path.read_bytes()
    text = b"\0" not in content
    kept = content[: int(part * len(content)) if isinstance(part, float) else part]
    between_cells = b"," if b"," in kept else b" "
    path.write_bytes(kept[: kept.rfind(between_cells)] if text and part == 0.5 else kept)
    with pytest.raises(ReadError) as caught:
        read(path, ReadOptions())
    told = str(caught.value)
    assert isinstance(caught.value, Mendable)
    assert isinstance(caught.value, ValueError)
    assert told.endswith((".", ")."))
    assert "\n" not in told
    assert path.name in told or "no series" in told


def test_every_format_of_the_list_has_a_small_file() -> None:
    assert set(MAKERS) == {one.name for one in READERS}


def test_no_ending_belongs_to_two_formats_and_others_are_text() -> None:
    endings = [ending for one in READERS for ending in one.endings]
    assert len(endings) == len(set(endings))
    assert all(format_of(Path(f"X{ending.upper()}")).takes(Path(f"x{ending}")) for ending in endings)
    assert format_of(Path("numbers")) is format_of(Path("numbers.asc")) is DELIMITED


@pytest.mark.parametrize("command", ["cluster", "sweep"])
def test_the_command_line_names_the_formats_of_the_list(command: str) -> None:
    from softecm.cli import application

    shown = CliRunner().invoke(application(), [command, "--help"], env={"COLUMNS": "200"}).output
    named = re.search(r"(CSV, .*?) and others\.", " ".join(shown.split()))
    assert named is not None
    assert set(named[1].split(", ")) <= {name for one in READERS for name in one.name.split(", ")}
