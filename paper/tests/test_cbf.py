from pathlib import Path

import pytest

from softecm_paper import cbf
from softecm_paper.runs import Runs
from toy_rows import options


def test_soft_dtw_tells_the_three_shapes_apart_and_l2_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cbf, "EACH", 6)
    monkeypatch.setattr(cbf, "LENGTH", 32)
    page = cbf.run(Runs(options(tmp_path)), "softecm reproduce cbf")
    found = page.facts
    assert len(found) == 6
    assert max(v for k, v in found.items() if k.startswith("Soft-DTW")) > max(
        v for k, v in found.items() if k.startswith("L2")
    )
    assert len(page.figures) == 3
