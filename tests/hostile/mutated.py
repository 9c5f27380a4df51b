"""Small files of every format, and damaged versions of them."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

ROWS = 12
TOKENS = (
    b"\0", b"\xff\xfe", b'"', b"'", b"\x1b[2J", "\u202e".encode(), b"\x9b", b"inf", b"-inf", b"1e999", b"nan", b"NA", b"?",
    b",,,", b";", b"\t", b"\r", b"\r\n", b"\n\n", b"{", b"}", b"%", b"@data\n", b"@attribute z numeric\n", b":", b"[red]",
    b"=cmd()", b"9" * 400, b"-", b"\xef\xbb\xbf", b"PK\x03\x04", b"PAR1", b"\x93NUMPY", b"x" * 5000, b"2020-01-01",
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp037", "utf-7")
TEXT = (".csv", ".tsv", ".arff", ".ts", ".json")


def frame() -> pd.DataFrame:
    """Two groups: numbers, a category, a missing cell."""
    rng = np.random.default_rng(0)
    place = np.arange(ROWS) % 2 * 5.0
    table = pd.DataFrame({"a": place + rng.normal(size=ROWS), "b": rng.normal(size=ROWS)}).round(3)
    table["kind"] = np.where(np.arange(ROWS) % 3 == 0, "new, odd", "old")
    table.loc[4, "b"] = np.nan
    return table


def good_files() -> dict[str, bytes]:
    """One small file for each suffix."""
    table, numbers = frame(), frame()[["a", "b"]].fillna(0.0)
    rows = [",".join(map(str, row)) for row in numbers.itertuples(index=False)]
    arff = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute k {x,y}\n@data\n"
    ts = "@problemName p\n@timeStamps false\n@missing false\n@univariate true\n@equalLength true\n@seriesLength 2\n"
    return {
        ".csv": table.to_csv(index=False).encode(),
        ".tsv": table.to_csv(index=False, sep="\t", decimal=",", quoting=1).encode(),
        ".arff": (arff + "".join(f"{row},{'xy'[i % 2]}\n" for i, row in enumerate(rows))).encode(),
        ".ts": (ts + "@classLabel true 0 1\n@data\n" + "".join(f"{r}:{i % 2}\n" for i, r in enumerate(rows))).encode(),
        ".parquet": _written(lambda file: table.to_parquet(file)),
        ".feather": _written(lambda file: table.to_feather(file)),
        ".json": table.to_json(orient="records").encode(),
        ".xlsx": _written(lambda file: table.to_excel(file, index=False, engine="openpyxl")),
        ".npy": _written(lambda file: np.save(file, numbers.to_numpy())),
        ".npz": _written(lambda file: np.savez_compressed(file, X=numbers.to_numpy(), y=np.arange(ROWS) % 2)),
    }


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def mutated(content: bytes, ending: str, rng: np.random.Generator) -> bytes:
    """A file with one to three mutations."""
    for _ in range(int(rng.integers(1, 4))):
        mishaps = MISHAPS + TEXT_MISHAPS if ending in TEXT else MISHAPS
        content = mishaps[int(rng.integers(len(mishaps)))](content, rng)
    return content


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9)) if content else 0):
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(len(content) + 1))]


def _without_part(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:start] + content[end:]


def _token(content: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(content) + 1))
    return content[:at] + TOKENS[int(rng.integers(len(TOKENS)))] + content[at:]


def _noise(content: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(content) + 1))
    return content[:at] + rng.bytes(int(rng.integers(1, 40))) + content[at:]


def _doubled(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:end] + content[start:end] + content[end:]


def _swapped_lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _cell(content: bytes, rng: np.random.Generator) -> bytes:
    """Change the value of one cell."""
    parts = content.split(b",")
    parts[int(rng.integers(len(parts)))] = TOKENS[int(rng.integers(len(TOKENS)))]
    return b",".join(parts)


def _encoded(content: bytes, rng: np.random.Generator) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(ENCODINGS[int(rng.integers(len(ENCODINGS)))], "replace")


def _line_ends(content: bytes, rng: np.random.Generator) -> bytes:
    ends = (b"\r", b"\r\n", b"\n\n")
    return content.replace(b"\n", ends[int(rng.integers(3))], int(rng.integers(1, 20)))


MISHAPS = (_flip, _cut, _without_part, _token, _noise, _doubled)
TEXT_MISHAPS = (_swapped_lines, _cell, _cell, _encoded, _line_ends, _token)


def write_mutated(folder: Path, ending: str, content: bytes, seed: int) -> Path:
    """Write a mutated file, deterministic for a seed."""
    path = folder / f"case{ending}"
    path.write_bytes(mutated(content, ending, np.random.default_rng(seed)))
    return path
