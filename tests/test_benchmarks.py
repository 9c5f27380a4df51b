"""Results of the archive benchmark: ranks, significant differences, exclusions."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def modules(monkeypatch):
    """``ranks`` and ``archive``, imported as scripts of one folder."""
    monkeypatch.syspath_prepend(str(ROOT))
    import archive
    import ranks

    yield ranks, archive
    for name in ("ranks", "archive"):
        sys.modules.pop(name, None)


def test_ranks_and_who_is_told_apart(modules, rng, tmp_path):
    ranks, _ = modules
    base = rng.random(20)
    scores = np.column_stack([base + 0.001 * rng.normal(size=20), base + 1.0, base + 0.001 * rng.normal(size=20)])
    found = ranks.ranked(["one", "best", "other"], scores)
    assert found.names[0] == "best"
    assert found.ranks[0] == 1.0
    assert found.ranks.sum() == pytest.approx(6.0)
    assert found.alike == [(1, 2)]
    assert found.friedman < 1e-4
    ranks.draw(found, tmp_path / "figure.svg", what="score")
    drawn = (tmp_path / "figure.svg").read_text()
    assert all(
        text in drawn for text in ("mean rank over 20 sets (1 is best)", "best (1.00;", "Wilcoxon signed rank, Holm")
    )


def test_equal_methods_share_a_rank_and_a_bar(modules):
    ranks, _ = modules
    found = ranks.ranked(["a", "b", "c"], np.ones((6, 3)))
    np.testing.assert_array_equal(found.ranks, 2.0)
    assert found.alike == [(0, 2)]
    assert np.isnan(found.friedman)


def test_wins_on_all_of_eight_sets_are_told_and_a_mixed_record_is_not(modules):
    ranks, _ = modules
    scores = np.column_stack([np.zeros(8), np.arange(1.0, 9.0), np.tile([0.5, -0.5], 4)])  # p = 2/256 twice, and 1
    told = ranks.told_apart(scores)
    assert told[0, 1]
    assert told[1, 2]
    assert not told[0, 2]


def row(name, method, seed, **rest):
    return {"set": name, "method": method, "seed": seed, **rest}


def test_rows_without_a_score_say_why_and_loaded_times_do_not_count(modules, tmp_path):
    _, archive = modules
    rows = [
        row("A", "kasba", 0, ari=0.2, seconds=1.0),
        row("A", "ours", 0, ari=0.4, seconds=3.0),
        row("A", "ours", 1, ari=0.6, seconds=99.0, loaded=True),
        row("B", "kasba", 0, refused="ValueError: unequal lengths"),
        row("B", "ours", 0, ari=0.9, seconds=2.0),
        row("A", "dba", 0, refused="not installed: No module named 'tslearn'"),
    ]
    cells = archive.Cells(rows, ["ours", "kasba", "dba"])
    sets, methods, scores = cells.scores()
    assert (sets, methods) == (["A"], ["ours", "kasba"])
    np.testing.assert_allclose(scores, [[0.5, 0.2]])
    text = archive.table(cells)
    assert "| A | 0.500 (3.00 s) | 0.200 (1.00 s) | – |" in text
    assert "3.00 (3.0)" in text
    assert "- kasba: ValueError: unequal lengths (B)" in text
    assert "- dba: not installed: No module named 'tslearn' (A)" in text
    assert "times of runs during which something else was running are left out" in text


def test_the_last_row_of_a_run_counts(modules, tmp_path):
    _, archive = modules
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"set": "A", "method": "dba", "seed": 0, "refused": "not installed: x"}\n'
        '{"set": "A", "method": "dba", "seed": 0, "ari": 0.5}\n'
    )
    assert archive.read(path) == [row("A", "dba", 0, ari=0.5)]
    assert archive.read(tmp_path / "none.jsonl") == []


def test_training_files_are_found_in_either_layout(modules, tmp_path):
    _, archive = modules
    (tmp_path / "B").mkdir()
    for name in ("A_TRAIN.ts", "A_TEST.ts", "B/B_TRAIN.ts"):
        (tmp_path / name).write_text("")
    assert list(archive.files(tmp_path)) == ["A", "B"]
    with pytest.raises(SystemExit, match=r"has no C_TRAIN\.ts\. It has A, B"):
        archive.file_of("C", tmp_path)


@pytest.fixture
def scoreboard(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    import scoreboard

    yield scoreboard
    for name in ("scoreboard", "rows"):
        sys.modules.pop(name, None)


def test_the_scoreboard_marks_what_got_worse_beyond_its_noise(scoreboard, tmp_path):
    rows, aim = tmp_path / "rows.jsonl", scoreboard.Aim
    before = {"tables, ARI": aim(0.9, 0.01, items={"a": 0.8, "b": 1.0}), "speed, fit": aim(2.0, 0.15, False, True)}
    scoreboard.record(rows, before, busy=False)
    last = scoreboard.recorded(rows)
    now = {"tables, ARI": aim(0.895, 0.01, items={"a": 0.7, "b": 1.0}), "speed, fit": aim(2.4, 0.15, False, True)}
    lines, worse = scoreboard.table(now, last, busy=False)
    assert worse == ["speed, fit"]
    assert any(line.startswith("| – a | 0.700 | 0.800") for line in lines)
    assert scoreboard.table(now, last, busy=True)[1] == []
    scoreboard.record(rows, {"speed, fit": aim(9.0, 0.15, False, True)}, busy=True)
    assert scoreboard.table(now, scoreboard.recorded(rows), busy=False)[1] == []
    scoreboard.record(rows, {"tables, 2: ARI": aim(0.8, 0.01), "tables, 2: found": aim(0.7, 0.01)}, busy=False)
    shown = scoreboard.page(rows).splitlines()[2:5]  # no time of a busy machine
    assert shown == ["| tables | ARI 0.900 |", "| tables, 2 | ARI 0.800; found 0.700 |", ""]


def test_a_section_of_the_scoreboard_that_fails_or_is_interrupted_keeps_the_others(scoreboard, monkeypatch):
    def fail():
        raise ValueError("no")

    def interrupt():
        raise KeyboardInterrupt

    done = {"x": scoreboard.Aim(1.0, 0.1)}
    sections = {"one": lambda: done, "two": fail, "three": interrupt, "four": lambda: done}
    monkeypatch.setattr(scoreboard, "SECTIONS", sections)
    aims, missing = scoreboard.run(list(sections))
    assert aims == {"one, x": done["x"]}
    assert missing == ["two", "three", "four"]
