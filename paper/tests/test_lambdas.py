from pathlib import Path

from softecm_paper import lambdas
from softecm_paper.protocols import PAPER
from softecm_paper.runs import Runs
from toy_rows import GLASS, options


def test_the_lambda_figure_marks_what_has_merged(tmp_path: Path) -> None:
    runs = Runs(options(tmp_path, GLASS))
    page = lambdas.run(runs, "softecm reproduce lambda")
    merged = runs.sweep(GLASS, "Soft-ECM", PAPER)["collapsed"].astype(float).mean()
    assert f"| Glass | 8 | {merged:.0%} |" in page.markdown()
    assert [figure.name for figure in page.figures] == ["lambda"]
