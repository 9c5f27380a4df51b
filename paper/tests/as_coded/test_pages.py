import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import softecm_paper
from softecm.selection import SweepInterrupted
from softecm_paper import EXPERIMENTS, rows
from softecm_paper.as_coded import baselines, cbf, diamond, sweep
from softecm_paper.as_coded.distances import RawSoftDTW
from softecm_paper.as_coded.runs import CodedRuns
from softecm_paper.as_coded.sweep import VARIANTS
from softecm_paper.as_coded.table import run as table_page
from softecm_paper.protocols import PAPER
from softecm_paper.runs import Runs
from toy_rows import ERING, GLASS, LUNG, STRETCHED, options

Run = Callable[..., tuple[int, str, str]]
SRC = Path(softecm_paper.__file__).parent


@pytest.fixture
def evclust(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A stand-in for the package that finds two halves, and records its calls."""
    calls: list[dict[str, Any]] = []

    def found(**given: Any) -> dict[str, Any]:
        calls.append(given)
        n, c = len(given.get("x", given.get("X"))), given["c"]
        np.random.rand()  # noqa: NPY002
        return {"betp": np.eye(c)[np.arange(n) * 2 // n]}

    for name in baselines.EVCLUST.values():
        module = ModuleType(f"evclust.{name}")
        setattr(module, name, found)
        monkeypatch.setitem(sys.modules, f"evclust.{name}", module)
    monkeypatch.setitem(sys.modules, "evclust", ModuleType("evclust"))
    monkeypatch.setattr("softecm_paper.as_coded.runs.find_spec", lambda name: True)
    return calls


def test_the_other_evidential_methods_get_soft_ecm_s_beta(tmp_path: Path, evclust: list[dict[str, Any]]) -> None:
    coded = CodedRuns(Runs(options(tmp_path, GLASS)))
    best = coded.table(GLASS).chosen()
    assert best is not None
    state = np.random.get_state()[1].tolist()  # type: ignore[union-attr]  # noqa: NPY002
    cell = coded.cell(GLASS, "ECM")
    assert len(cell.rand) == 2
    assert [call["beta"] for call in evclust] == [best[0]] * 2
    assert all(call["type"] == "pairs" and call["alpha"] == 2.0 and call["delta"] == 10.0 for call in evclust)
    assert np.random.get_state()[1].tolist() == state  # type: ignore[union-attr]  # noqa: NPY002


def test_ecmdd_gets_plain_distances_of_numbers_and_squared_ones_of_series(tmp_path: Path) -> None:
    coded = CodedRuns(Runs(options(tmp_path, GLASS, ERING, LUNG)))
    for row, power in ((GLASS, 1), (ERING, 2)):
        x = coded.data(row).numbers.reshape(len(coded.data(row).y), -1)
        found = baselines.matrix(row, coded.data(row))
        np.testing.assert_allclose(found[0, 1], np.linalg.norm(x[0] - x[1]) ** power)
    assert 0 < baselines.matrix(LUNG, coded.data(LUNG)).max() <= 1


def test_axes_are_swapped_and_gaps_are_a_category(tmp_path: Path) -> None:
    coded = CodedRuns(Runs(options(tmp_path, ERING, LUNG)))
    assert coded.data(ERING).numbers.shape == (12, 1, 12)
    assert coded.data(ERING, swapped=False).numbers.shape == (12, 12, 1)
    assert coded.data(LUNG).X[0, 0] == "?"


def test_a_missing_package_leaves_its_column_empty_with_a_footnote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("softecm_paper.as_coded.runs.find_spec", lambda name: None if name == "evclust" else True)
    page = table_page(Runs(options(tmp_path, GLASS)), "softecm reproduce table --protocol as-coded")
    text = page.markdown()
    glass = next(line for line in text.splitlines() if line.startswith("| Glass |"))
    assert glass.startswith("| Glass |  |  | - | <span class=")
    assert "Empty: ECM: needs evclust: pip install evclust; ECMdd: needs evclust: pip install evclust." in text
    assert page.facts["as_coded"]["of"] == 4  # type: ignore[index]


def test_runs_are_taken_from_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = CodedRuns(Runs(options(tmp_path, LUNG))).table(LUNG)
    monkeypatch.setattr("softecm_paper.as_coded.sweep._solve", lambda *_: pytest.fail("ran again"))
    again = CodedRuns(Runs(options(tmp_path, LUNG))).table(LUNG)
    np.testing.assert_array_equal(first.columns["rand"], again.columns["rand"])


def test_one_setting_alone_has_its_starts_of_the_whole_grid(tmp_path: Path) -> None:
    coded = CodedRuns(Runs(options(tmp_path, GLASS)))
    whole = coded.table(GLASS)
    beta, lam = whole.beta[-1], whole.lam[-1]
    alone = coded.table(GLASS, only=(beta, lam))
    for name in ("rand", "n_star", "rounds"):
        np.testing.assert_array_equal(alone.columns[name], whole.at(beta, lam, name))


def test_right_axes_align_steps(tmp_path: Path) -> None:
    warped = replace(ERING, metric="softdtw")
    coded = CodedRuns(Runs(options(tmp_path, warped)))
    distances = [sweep._distance(warped, coded.data(warped, swapped=v.swapped), v) for v in VARIANTS.values()]
    assert [d.x.shape[1:] for d in distances] == [(12, 1) if key == "right-axes" else (1, 12) for key in VARIANTS]
    v = distances[0].x[None, :2].transpose(2, 3)
    long, short = distances[-1], RawSoftDTW(distances[-1].x)
    v = torch.cat([v, v + torch.tensor([0.0, torch.nan])[None, :, None, None]])
    weights = torch.ones(2, 12, 2)
    for one, other in (
        (long.values(v), short.values(v)),
        (long.gradient(v, weights), short.gradient(v, weights)),
        *zip(long.paired(v, v.flip(0)), short.paired(v, v.flip(0)), strict=True),
    ):
        torch.testing.assert_close(one, other, equal_nan=True, atol=1e-4, rtol=1e-4)


def test_a_stopped_row_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CodedRuns(Runs(options(tmp_path / "whole", STRETCHED, seeds=2))).table(STRETCHED)
    real, done = sweep._solve, []

    def stop(*given: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "_solve", stop)
        with pytest.raises(SweepInterrupted, match="the same call resumes"):
            CodedRuns(Runs(options(tmp_path, STRETCHED, seeds=2))).table(STRETCHED)
    again = CodedRuns(Runs(options(tmp_path, STRETCHED, seeds=2))).table(STRETCHED)
    np.testing.assert_array_equal(whole.columns["n_star"], again.columns["n_star"])


def test_other_protocols_are_scored_again_with_the_same_plain_rand_index(tmp_path: Path) -> None:
    runs = Runs(options(tmp_path, GLASS))
    found = CodedRuns(runs).beside(GLASS, "Soft-ECM", PAPER)
    np.testing.assert_allclose(found.plain, runs.result(GLASS, "Soft-ECM", PAPER).rand_index, atol=5e-4)
    assert (found.accuracy >= 0.33).all()


def test_the_diamond_s_object_6_is_where_the_draw_puts_it() -> None:
    low, high = (diamond.shares(diamond.masses(lam, 200), 6) for lam in (1.5, 3.5))
    assert 0.35 < low["Ω"] < 0.65
    assert high["one cluster"] > low["one cluster"]


def test_cbf_has_three_shapes_of_forty_steps_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = cbf.series(0)
    assert data.shape == (150, 40)
    assert abs(data[:, :4]).max() < 1.2
    assert (data.reshape(3, 50, 40).max(2).mean(1) > 9).all()
    monkeypatch.setattr(cbf, "PANELS", {"L2": cbf.PANELS["L2"]})
    drawn = np.array([[0, 50, 100]])
    first = cbf.solve_all(data, "L2", drawn, options(tmp_path))
    assert first[0]["way"][0] < 0.2
    monkeypatch.setattr(cbf, "solve", lambda *_: pytest.fail("ran again"))
    assert cbf.solve_all(data, "L2", drawn, options(tmp_path)) == first


def test_nothing_else_knows_of_this_package() -> None:
    naming = [path for path in SRC.rglob("*.py") if "as_coded" in path.read_text(encoding="utf-8")]
    outside = [path for path in naming if path.parent.name != "as_coded"]
    assert outside == [SRC / "__init__.py"]


def test_without_the_package_the_other_protocols_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softecm_paper, "find_spec", lambda name: None)
    from softecm_paper import table

    assert EXPERIMENTS["table"].load() is table.run
    with pytest.raises(ValueError, match="table has no protocol as-coded; those that have: none here"):
        EXPERIMENTS["table"].load("as-coded")


def test_the_command_writes_the_protocol_s_page(
    run: Run, monkeypatch: pytest.MonkeyPatch, evclust: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(rows, "ROWS", (GLASS,))
    code, _, err = run("reproduce", "table", "--protocol", "as-coded", "--grid", "small", "--seeds", 2, "-o", "t")
    assert code == 0, err
    text = Path("t/table.md").read_text()
    assert "Made by `softecm reproduce table --grid small --seeds 2 --protocol as-coded`." in text
    assert "## As written" not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("mixture", "--protocol", "as-coded"),
            "mixture has no protocol as-coded; those that have: diamond, cbf, table",
        ),
        (("diamond", "--protocol", "as-written"), "only table has the protocol as-written"),
        (("table", "--protocol", "best"), "--protocol must be all, as-coded, as-written, recommended; got best"),
    ],
)
def test_protocols_that_are_not_there_are_refused(run: Run, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = run("reproduce", *arguments)
    assert code == 2
    assert said in err
