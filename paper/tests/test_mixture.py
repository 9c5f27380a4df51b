from pathlib import Path

import numpy as np
import pytest

from softecm_paper import mixture
from softecm_paper.runs import Runs
from toy_rows import options


def test_shares_on_the_pair_add_up_by_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "EACH", 5)
    monkeypatch.setattr(mixture, "LENGTH", 32)
    monkeypatch.setattr(mixture, "DATA_SETS", 1)
    _, model = mixture.cluster(0, 10.0, scaled=True)
    on_pair = model.partition_.masses.argmax(1) == 3
    assert np.mean(list(mixture.shares(model).values())) == pytest.approx(on_pair.mean())
    page = mixture.run(Runs(options(tmp_path)), "softecm reproduce mixture")
    assert len(page.figures) == 2
    assert "the mixed kind lies between in" in page.markdown()
