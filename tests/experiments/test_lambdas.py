from pathlib import Path

from experiments.toy import GLASS, options
from softecm.experiments import lambdas
from softecm.experiments.protocols import PAPER
from softecm.experiments.runs import Runs


def test_the_lambda_figure_marks_what_has_merged(tmp_path: Path) -> None:
    runs = Runs(options(tmp_path, GLASS))
    page = lambdas.run(runs, "softecm reproduce lambda")
    merged = runs.sweep(GLASS, "Soft-ECM", PAPER)["collapsed"].astype(float).mean()
    assert f"| Glass | 8 | {merged:.0%} |" in page.markdown()
    assert [figure.name for figure in page.figures] == ["lambda"]
