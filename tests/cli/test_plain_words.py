"""What people read has no symbols of set theory and no Greek names: screens, pages and figures of all kinds of data."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Run = Callable[..., tuple[int, str, str]]
SYMBOLS = re.compile("[∅∪∩⊆Ωω]")


def matrix() -> tuple[object, ...]:
    """Dissimilarities of three groups and an outlier."""
    rng = np.random.default_rng(8)
    points = np.r_[rng.normal(0, 0.6, (20, 2)), rng.normal(4, 0.6, (20, 2)), [[2.0, 2.0], [30.0, 0.0]]]
    far = np.linalg.norm(points[:, None] - points, axis=2)
    Path("far.csv").write_text("\n".join(",".join(f"{d:.3f}" for d in row) for row in far), encoding="utf-8")
    return "cluster", "far.csv", "-c", 2, "--metric", "precomputed", "--no-header"


def views() -> tuple[object, ...]:
    """A table and an embedding of the same objects."""
    rng, group = np.random.default_rng(9), np.arange(45) % 3
    Path("patients.csv").write_text("id,age\n" + "\n".join(f"p{i},{30 + 20 * g}" for i, g in enumerate(group)))
    np.save("notes.npy", np.eye(3)[group] + 0.2 * rng.normal(size=(45, 3)))
    return "cluster", "patients.csv", "--id", "id", "--embedding", "notes.npy", "-c", 3


KINDS: dict[str, Callable[[], tuple[object, ...]]] = {
    **{what: (lambda what=what: ("demo", what)) for what in ("points", "customers", "series", "texts", "states")},
    "matrix": matrix,
    "views": views,
}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_for_people_has_symbols(run: Run, kind: str) -> None:
    made = KINDS[kind]()
    folder = "out" if made[0] == "cluster" else "out/result"
    said = [run(*made, "-o", "out")]
    summary = json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))
    first = Path(folder, "partition.csv").read_text(encoding="utf-8").splitlines()[1].split(",")[0].strip('"')
    said += [run("explain", folder, "--object", first), run("compare", folder, folder, "-o", "compared.html")]
    if kind not in ("texts", "matrix"):  # rules need columns
        said.append(run("explain", folder, "-o", "rules.svg"))
    assert [code for code, _, _ in said] == [0] * len(said), said
    pages = [Path(name).read_text(encoding="utf-8") for name in (f"{folder}/report.html", "compared.html")]
    sentences = [*summary["sentences"], *summary["group_sentences"].values(), *summary["warnings"]]
    for text in (*(out + err for _, out, err in said), *pages, *sentences):
        assert SYMBOLS.search(text) is None, text[max(0, SYMBOLS.search(text).start() - 60) :][:120]
