"""``softecm calibrate``: how sure the groups of a result folder are."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from softecm.calibration import refitting as module
from softecm.calibration.refitting import Refitting

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def found(run: Run, two_groups: Path) -> Path:
    assert run("cluster", two_groups, "-c", 2, "-o", "found", "--n-init", 1, "-q")[0] == 0
    return Path("found")


def test_a_folder_is_calibrated(run: Run, found: Path) -> None:
    code, out, err = run("calibrate", found, "--refits", 20, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["refits"] == 20
    assert all({"name", "group", "low", "high"} == set(one) for one in told["least_sure"])
    assert sum(sum(row.values()) for row in told["words"].values()) == len(pd.read_csv("groups.csv"))
    assert set(told["coverage"]) == {"before", "after", "intervals"}
    table = pd.read_csv("found-calibrated/partition.csv")
    assert table["id"].tolist()[0] == "n0"
    assert {"stability", "low", "high", "low(ω1)", "high(ω2)", "m(∅)", "decision"} <= set(table.columns)
    assert ((table["low(ω1)"] <= table["high(ω1)"] + 1e-9) & table["stability"].between(0, 1)).all()
    page = Path("found-calibrated/report.html").read_text(encoding="utf-8")
    assert '<a href="#sure">Certainty</a>' in page
    assert "probability of its group" in page
    assert json.loads(Path("found-calibrated/calibration.json").read_text(encoding="utf-8"))["level"] == 0.9
    assert "found-calibrated exists" in " ".join(run("calibrate", found)[2].split())
    code, out, _ = run("calibrate", found, "--refits", 19, "--force")
    assert code == 0
    assert "The model was refitted to 19 resamples of its objects." in " ".join(out.split())


def test_refits_that_were_stopped_are_gone_on_with(run: Run, found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, done = module.run_batch, []

    def stopped(asked, numbers):  # type: ignore[no-untyped-def]
        if len(done) == 4:
            done.append(-1)
            raise KeyboardInterrupt
        done.extend(numbers)
        return whole(asked, numbers)

    monkeypatch.setattr(module, "run_batch", stopped)
    monkeypatch.setattr(Refitting, "at_once", 4)
    code, _, err = run("calibrate", found, "--refits", 20)
    assert code == 130
    assert "interrupted with 4 of 20 refits done; with journal" in " ".join(err.split())
    assert run("calibrate", found, "--refits", 20, "-q")[0] == 0
    assert len(done) == 21


def test_what_can_be_mended_is_said(run: Run, found: Path, two_groups: Path) -> None:
    Path("other").mkdir()
    Path("other/journal.jsonl").write_text("my diary", encoding="utf-8")
    for arguments, message in (
        ((found, "--refits", 5), "--refits must be a whole number of at least 19; got 5."),
        ((found, "--level", 1), "--level must be greater than 0 and at most 0.999"),
        ((found, "--resample", "twice"), "--resample must be one of auto, bootstrap, half; got twice."),
        ((found, "-o", found), "-o must not be found itself"),
        ((found, "-o", "other", "--force"), "journal.jsonl"),
        (("nothing",), "nothing is not a folder"),
    ):
        code, _, err = run("calibrate", *arguments)
        assert (code, message in " ".join(err.split())) == (2, True), err
    two_groups.unlink()
    code, _, err = run("calibrate", found, "-o", "again")
    assert code == 2
    assert "refits need its objects: restore it" in " ".join(err.split())


def test_every_option_of_the_refits_arrives(run: Run, found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: dict[str, object] = {}

    def asked(model: object, X: object, refits: int, **options: object) -> None:
        heard.update(options, refits=refits)
        raise ValueError("enough.")

    monkeypatch.setattr("softecm.cli.calibrate.calibrate", asked)
    assert run("calibrate", found, "--refits", 30, "--level", 0.8, "--resample", "half", "--anew", "--seed", 7)[0] == 2
    wanted = {"refits": 30, "level": 0.8, "resample": "half", "warm": False, "random_state": 7}
    assert {name: heard[name] for name in wanted} == wanted
