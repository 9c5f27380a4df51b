from pathlib import Path

import pytest

from softecm_paper import diamond
from softecm_paper.runs import Runs
from toy_rows import options


def test_the_diamond_is_as_the_paper_reads_it_and_its_last_panel_is_no_minimum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diamond, "LAMS", (0.5, 3.5))
    models = diamond.panels()
    ecm, soft, descent, converged, gap = models.values()

    def on(model: object, number: int) -> int:
        return int(model.partition_.masses[number - 1].argmax())  # type: ignore[attr-defined]

    assert (on(ecm, 6), on(ecm, 7), on(ecm, 12)) == (3, 3, 0)
    assert (on(soft, 6), on(soft, 7), on(soft, 12)) == (3, 2, 0)
    assert on(descent, 6) == 1
    assert converged.collapsed_
    assert converged.objective_ < descent.objective_
    assert not gap.collapsed_
    page = diamond.run(Runs(options(tmp_path)), "softecm reproduce diamond")
    assert "**The panel λ = 3.5 is not a minimum.**" in page.markdown()
    assert page.facts == {"merged_at_3.5": True}
    assert len(page.figures) == 2
