from pathlib import Path

import pytest

from softecm_paper import rules
from softecm_paper.runs import Runs
from toy_rows import GLASS, LUNG, STRETCHED, options


def test_rules_are_judged_by_classes_they_did_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "GRID", {"beta": [1.2, 2.0], "lam": [1.0, 1000.0]})
    monkeypatch.setattr(rules, "RESAMPLES", 3)
    page = rules.run(Runs(options(tmp_path, GLASS, LUNG, STRETCHED)), "softecm reproduce rules")
    means = page.facts["mean_adjusted_rand"]
    assert set(means) == {*rules.RULES, "any", "best"}
    assert all(means[rule] <= means["best"] for rule in rules.RULES)
    assert means["stability"] > means["any"]
    assert "Ering" not in page.markdown()  # Soft-DTW only in the full grid
