import os
import re
from pathlib import Path

import pytest

from softecm_paper.rows import choose_rows
from softecm_paper.runs import Options, Runs
from softecm_paper.table import run
from toy_rows import ERING, GLASS, LUNG, options

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def test_the_table_has_ours_beside_the_paper_s_in_both_protocols(tmp_path: Path) -> None:
    page = run(Runs(options(tmp_path, GLASS, LUNG, ERING)), "softecm reproduce table")
    text = page.markdown()
    for title in ("As written", "Recommended", "The paper's summary, computed"):
        assert f"## {title}" in text
    glass = [line for line in text.splitlines() if line.startswith("| Glass |")]
    assert "[0.66 (0.005)]" in glass[0]  # the paper's Soft-ECM
    assert re.search(r"1\.00 \(0\.00\)\*\* \[0\.66", glass[2]), "blobs far apart are found by the recommended settings"
    assert page.facts["recommended"] == {"glass": True, "lung": True, "ering_l2": True}


@pytest.mark.skipif(
    not (os.environ.get("SOFTECM_DATA") or DATA.is_dir()), reason="SOFTECM_DATA names no folder with the data sets"
)
def test_glass_reaches_the_paper_s_rand_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTECM_DATA", os.environ.get("SOFTECM_DATA", str(DATA)))
    rows = choose_rows(["glass"])
    page = run(Runs(Options(rows, tmp_path, grid="small", seeds=3)), "softecm reproduce table")
    assert page.facts == {"reached": {"glass": True}, "recommended": {"glass": True}}
