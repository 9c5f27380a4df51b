from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softecm_paper import runs as module
from softecm_paper.page import Page
from softecm_paper.protocols import PAPER, PLAIN, PROTOCOLS, RECOMMENDED
from softecm_paper.runs import Options, Runs
from toy_rows import ERING, GLASS, LUNG, STRETCHED, options, row


def test_a_baseline_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softecm.baselines.find_spec", lambda name: None)
    found = Runs(options(tmp_path, LUNG)).result(LUNG, "K-Modes", PAPER)
    assert found.missing == "needs kmodes: pip install kmodes"
    assert len(found.rand_index) == 0


def test_k_means_is_scored_once_a_seed_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Runs(options(tmp_path, GLASS, seeds=3)).result(GLASS, "K-Means", RECOMMENDED)
    np.testing.assert_array_equal(first.rand_index, [1.0, 1.0, 1.0])
    monkeypatch.setattr(module, "hard_labels", lambda *_: pytest.fail("ran again"))
    again = Runs(options(tmp_path, GLASS, seeds=3)).result(GLASS, "K-Means", RECOMMENDED)
    np.testing.assert_array_equal(again.rand_index, first.rand_index)


def test_runs_are_taken_from_the_journal_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Runs(options(tmp_path, GLASS)).result(GLASS, "Soft-ECM", PAPER)
    monkeypatch.setattr("softecm.selection.sweeping.run_task", lambda *_: pytest.fail("ran again"))
    again = Runs(options(tmp_path, GLASS)).result(GLASS, "Soft-ECM", PAPER)
    np.testing.assert_array_equal(again.rand_index, first.rand_index)


def test_the_paper_s_rule_takes_the_least_n_star_whatever_has_merged(tmp_path: Path) -> None:
    found = Runs(options(tmp_path, GLASS)).result(GLASS, "Soft-ECM", PAPER)
    assert found.sweep is not None
    assert found.best is not None
    assert found.best.value == pytest.approx(found.sweep["nonspecificity"][found.best.rows].mean())
    assert len(found.sweep) == 2 * 2 * 2  # betas, lambdas, seeds


def test_where_the_default_beta_merges_a_smaller_one_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    real = Runs.sweep

    def spy(self: Runs, row: Any, method: str, protocol: Any, beta: Any = None) -> Any:
        asked.append(beta)
        found = real(self, row, method, protocol, beta)
        if beta is None:
            found.columns["collapsed"][:] = True
        return found

    monkeypatch.setattr(Runs, "sweep", spy)
    found = Runs(options(tmp_path, GLASS)).result(GLASS, "Soft-ECM", RECOMMENDED)
    assert asked == [None, 1.1]
    assert found.best is not None
    assert found.best.params["beta"] == 1.1


def test_soft_dtw_rows_have_a_small_grid_and_few_seeds_unless_asked() -> None:
    for protocol in PROTOCOLS:
        assert protocol.grid(STRETCHED, "auto") == protocol.grid(STRETCHED, "small") == protocol.small
        assert protocol.grid(STRETCHED, "full") == protocol.grid(GLASS, "auto") == protocol.full
    assert Options((), Path()).seeds_of(STRETCHED) == 5
    assert Options((), Path(), grid="full").seeds_of(STRETCHED) == 10
    assert Options((), Path()).seeds_of(GLASS) == 10


def test_the_paper_s_grid_is_a_thousand_runs() -> None:
    assert len(PAPER.full["beta"]) * len(PAPER.full["lam"]) * Options((), Path()).seeds == 1000


def test_soft_dtw_runs_through_the_table(tmp_path: Path) -> None:
    found = Runs(options(tmp_path, STRETCHED, seeds=1)).result(STRETCHED, "Soft-ECM", RECOMMENDED)
    np.testing.assert_array_equal(found.rand_index, [1.0])


def test_the_other_reading_of_the_distance_is_not_squared(tmp_path: Path) -> None:
    runs = Runs(options(tmp_path, ERING))
    assert PAPER.estimator(ERING, PLAIN, "auto").metric == "euclidean"
    assert PAPER.estimator(LUNG, PLAIN, "auto").metric.kind == "total-variation"
    assert len(runs.result(ERING, PLAIN, PAPER).rand_index) == 2


def test_rows_without_data_are_left_out_and_say_how_to_get_them(tmp_path: Path) -> None:
    def gone() -> Any:
        raise FileNotFoundError("load_lung found no file; set SOFTECM_DATA")

    lost = row("lung", "categorical", "hamming", 2, gone)
    runs = Runs(options(tmp_path, GLASS, lost))
    assert runs.rows == (GLASS,)
    page = Page("P", "c")
    runs.say_unavailable(page)
    assert page.markdown().count("**Lung is left out:** load_lung found no file; set SOFTECM_DATA") == 1
    with pytest.raises(FileNotFoundError, match="load_lung"):
        _ = Runs(options(tmp_path, lost)).rows
