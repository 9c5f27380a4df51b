"""A report without values contains none of the raw data."""

import base64
import datetime as dt
import json
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from softecm import ECM, ECMdd, SoftECM, report

RNG = np.random.default_rng(5)
N = 40
GROUP = np.arange(N) % 2
TABLE = pd.DataFrame(
    {
        "income": (31000.0 + 17000 * GROUP + RNG.normal(0, 900, N)).round(3),
        "hired": [dt.date(2011 + 7 * int(g), 1 + i % 12, 1 + i % 27) for i, g in enumerate(GROUP)],
        "town": [["Quixadá", "Zwolle"][g] for g in GROUP],
    },
    index=[f"person-{i:03d}" for i in range(N)],
)
LABELS = [["croesus", "pauper"][g] for g in GROUP]


def raw_strings() -> set[str]:
    """Every cell and name in all notations."""
    texts = {str(cell) for name in TABLE for cell in TABLE[name]} | set(TABLE.index) | set(LABELS)
    return texts | {f"{value:.{digits}f}" for value in TABLE["income"] for digits in (0, 1, 2)}


def stands_in(cell: str, text: str) -> bool:
    """Whether a cell occurs in the text, except as digits within a longer number."""
    return re.search(rf"(?<![\d.]){re.escape(cell)}(?!\d)", text) is not None


def unpacked(page: str) -> list[np.ndarray]:
    """The numbers in the page, however packed."""
    facts = json.loads(page.split('id="data">')[1].split("</script>")[0])
    kinds = ("<f4", "<f8")
    packed = [v for v in facts.values() if isinstance(v, str) and len(v) > 20]
    return [
        np.frombuffer(base64.b64decode(v), kind) for v in packed for kind in kinds if len(base64.b64decode(v)) % 8 == 0
    ]


@pytest.fixture(scope="module")
def model() -> Any:
    return SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(TABLE)


def test_no_cell_and_no_name_is_in_the_page_or_its_facts(model: Any) -> None:
    told = {"warnings": ["row 3 of town is Quixadá"], "reading": {"missing cells": "Zwolle"}, "code": "X = 'Zwolle'"}
    open_page = report.build(model, TABLE, labels=LABELS, title="staff", **told)
    assert any(text in open_page.html for text in raw_strings())
    page = report.build(model, TABLE, labels=LABELS, title="staff", values=False, **told)
    for text in (page.html, json.dumps(page.facts, ensure_ascii=False)):
        assert [cell for cell in raw_strings() if stands_in(cell, text)] == []
    for numbers in unpacked(page.html):
        assert not np.isin(TABLE["income"].to_numpy().astype(numbers.dtype), numbers).any()


def test_what_the_groups_are_is_still_said(model: Any) -> None:
    page = report.build(model, TABLE, values=False)
    assert re.search(r"Group \d has \d+ objects \(\d+%\): [^<]*income higher", page.html)
    assert "1 warning is hidden" in report.build(model, TABLE, values=False, warnings=["x"]).html
    facts = page.facts
    assert {trait["column"] for trait in facts["profiles"]["ω1"]} >= {"income", "hired"}  # type: ignore[index]
    assert facts["prototypes"] == {}
    said = [report.build(model, TABLE, values=values).facts["group_sentences"] for values in (True, False)]
    assert any("; hired 2018-" in text for text in said[0].values())  # type: ignore[attr-defined]
    assert any("; hired later" in text for text in said[1].values())  # type: ignore[attr-defined]


def test_places_come_from_masses_alone() -> None:
    X = TABLE[["income"]].assign(age=RNG.normal(40, 9, N)).to_numpy()
    fitted = ECM(2, random_state=0).fit(X)
    page = report.build(fitted, X, values=False)
    turned = report.build(fitted, X, partition=fitted.partition_, values=True)
    assert turned.axis_names == ("x0", "x1")
    assert page.axis_names == ("", "")
    assert len(np.unique(page.points.round(9), axis=0)) <= len(np.unique(fitted.partition_.masses.round(12), axis=0))


@pytest.mark.parametrize("kind", ["series", "medoids", "given starts"])
def test_series_medoids_and_starts_stay_at_home(kind: str) -> None:
    rng = np.random.default_rng(0)
    waves = [np.round(rng.normal(size=(9, 1)) + 3 * (i % 2), 6) for i in range(12)]
    points = np.array([one[:2, 0] for one in waves])
    apart = np.abs(points[:, :1] - points[:, 0])
    names = [f"person-{i:03d}" for i in range(12)]
    fitted, X = {
        "series": (SoftECM(2, n_init=1, max_iter=10, tol=1.0, random_state=0), waves),
        "medoids": (ECMdd(2, random_state=0), apart),
        "given starts": (ECM(2, init=points[:2], random_state=0), points),
    }[kind]
    page = report.build(fitted.fit(X), X, names=names, values=False)  # type: ignore[attr-defined]
    cells = {f"{value:.6f}".rstrip("0") for one in waves for value in one[:, 0]} | set(names)
    assert [cell for cell in cells if cell in page.html] == []


def test_sparse_rows_stay_at_home() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((40, 60)) < 0.2, rng.random((40, 60)).round(6), 0.0)
    dense[:20, :5] += 3.125077
    X = sparse.csr_array(dense)
    fitted = SoftECM(2, metric="sqeuclidean", n_init=1, max_iter=50, random_state=0).fit(X)
    page = report.build(fitted, X, names=[f"text-{i:03d}" for i in range(40)], values=False)
    assert [text for text in {"text-0", *(f"{v:.6f}" for v in dense[dense > 0])} if text in page.html] == []
    assert "What each group is" in page.html


def test_the_file_beside_it_is_written_by_its_ending(model: Any, tmp_path: Path) -> None:
    model.report(TABLE, tmp_path / "report.json")
    facts = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert facts["n_objects"] == N
    assert facts["prototypes"]["ω1"]["town"] in ("Quixadá", "Zwolle")
    assert facts["sentences"][0].startswith("All 40 objects clearly belong")


def test_a_field_that_no_section_keeps_is_empty_without_values() -> None:
    kept = "title partition ids rows points noun clear made_by values merged scores warnings map_note profiles explanations"
    kept += " calibration columns candidates candidates_note history runs parameters"
    page = report.build(ECM(2, random_state=0).fit(TABLE[["income"]]), TABLE[["income"]], values=False)
    for field in fields(page):
        if field.name not in kept.split():
            empty = field.default if field.default_factory is MISSING else field.default_factory()
            assert getattr(page, field.name) == empty, field.name


def test_no_medians_are_announced_where_none_is_shown(model: Any) -> None:
    assert "numbers are medians" in report.build(model, TABLE).html
    assert "numbers are medians" not in report.build(model, TABLE, values=False).html
