"""Readable values: dates, units, precision, order, meanings."""

import base64
import datetime as dt
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from softecm import ECM, CredalPartition, FocalSets, SoftECM, report
from softecm.distances import Mixed, SoftDTW
from softecm.explain import Trait
from softecm.readers import Column, Written
from softecm.report import Attribute, ReportData
from softecm.report.page import _column
from softecm.report.sections.groups import trait_text
from softecm.report.templating import TERMS, term

RNG = np.random.default_rng(1)
GROUP = np.repeat([0, 1], 20)
TABLE = pd.DataFrame(
    {
        "noise": RNG.normal(size=40).round(2),
        "bought": [dt.date(2020 + 3 * int(g), 1 + i % 12, 1 + i % 28) for i, g in enumerate(GROUP)],
        "price": (100 + 80 * GROUP + RNG.normal(0, 5, 40)).round(1),
        "kind": [["plain", "fancy"][g] for g in GROUP],
    }
)


@pytest.fixture(scope="module")
def page() -> ReportData:
    columns = [
        Column("price", "number", "80.0 to 190.0", 0, "in €", Written(unit="€")),
        Column("note", "left out", "free text"),
    ]
    model = SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(TABLE)
    return report.build(model, TABLE, columns=columns)


def headings(html: str) -> list[str]:
    table = html.split('<caption class="sr">Prototypes of the sets')[1].split("</thead>")[0]
    return re.findall(r'<th scope="col" dir="auto">(.*?)</th>', table)[2:]  # after the set and its size


def test_dates_are_dates_everywhere(page: ReportData) -> None:
    bought = next(a for a in page.attributes if a.name == "bought")
    assert bought.kind == "date"
    assert re.search(r'<span class="num">202\d-\d\d-\d\d</span><span class="rule"', page.html)
    assert re.search(r"[:;] bought 20\d\d-\d\d-\d\d \(others 20\d\d-\d\d-\d\d\)", page.html)
    facts = json.loads(page.html.split('id="data">')[1].split("</script>")[0])
    levels = next(c["levels"] for c in facts["columns"] if c["name"] == "bought")
    assert levels == sorted({str(day) for day in TABLE["bought"]})


def test_numbers_have_their_unit(page: ReportData) -> None:
    assert re.search(r'<span class="num">\d+\.\d+ €</span>', page.html)
    parts = [part for e in page.explanations.values() for part in e.parts if part.name == "price"]
    assert parts
    assert all(re.fullmatch(r"\d+\.\d €", part.value) for part in parts)


def test_columns_that_distinguish_come_first() -> None:
    alike = SoftECM(2, metric=Mixed(weights=None), n_init=1, random_state=0).fit(TABLE)
    shown = headings(report.build(alike, TABLE).html)
    assert shown[-1] == "noise"
    assert set(shown) == set(TABLE)


def test_prototypes_lack_columns_that_were_set_aside(page: ReportData) -> None:
    assert set(headings(page.html)) == set(TABLE) - {"noise"}
    assert "those that do not distinguish them are left out" in page.html


def test_a_column_without_weight_is_said_to_have_none() -> None:
    model = SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(TABLE)
    read = {column.name: column.why for column in report.build(model, TABLE).columns}
    assert [name for name, why in read.items() if "no weight" in why] == ["noise"]
    assert "counts as 1" in read["price"]


def test_what_each_group_is_is_said(page: ReportData) -> None:
    told = page.html.split("What each group is")[1].split("</ul>")[0]
    assert "; kind plain 100% (others 0%)" in told
    assert "noise" not in told


def test_columns_are_listed_with_what_they_were_taken_as(page: ReportData) -> None:
    told = page.html.split('<section id="taken"')[1].split("</section>")[0]
    assert "in €; a difference of" in told
    assert "free text" in told
    own = report.build(SoftECM(2, metric="mixed", n_init=1, random_state=0).fit(TABLE), TABLE)
    assert [(c.name, c.kind) for c in own.columns] == [
        ("noise", "number"), ("bought", "date"), ("price", "number"), ("kind", "category"),
    ]  # fmt: skip
    assert own.columns[3].detail in ("plain, fancy", "fancy, plain")
    assert own.columns[1].detail == f"{min(TABLE['bought'])} to {max(TABLE['bought'])}"


@pytest.mark.parametrize(("values", "key"), [([20231231.0, 20240101.0], "wide"), ([1.25, 3.5], "numbers")])
def test_no_digit_of_a_cell_is_lost_on_the_way_to_the_page(values: list[float], key: str) -> None:
    from softecm._precision import Precision

    packed = _column(Attribute("x", "number", np.array(values), Precision.of(values)))
    found = np.frombuffer(base64.b64decode(str(packed[key])), "<f8" if key == "wide" else "<f4")
    assert [f"{v:.{packed['decimals']}f}" for v in found] == [f"{v:.{packed['decimals']}f}" for v in values]


def test_a_plane_has_the_scale_of_its_metric() -> None:
    X = np.column_stack([RNG.normal(0, 1, 40) + 9 * GROUP, RNG.normal(0, 3, 40)])
    assert report.build(ECM(2, random_state=0).fit(X), X).axis_units == (1.0, 1.0)
    slim = X * [1000.0, 1.0]
    assert report.build(ECM(2, random_state=0).fit(slim), slim).axis_units == (0.0, 0.0)
    mixed = SoftECM(2, metric="mixed", n_init=1, random_state=0).fit(slim)
    ux, uy = report.build(mixed, slim).axis_units
    np.testing.assert_allclose(ux * slim[:, 0].std(), uy * slim[:, 1].std(), rtol=0.1)


def test_candidates_are_a_figure() -> None:
    three = CredalPartition.from_hard([0, 1, 2])
    page = ReportData("three", three, ["a", "b", "c"], np.arange(3), np.zeros((3, 2)))
    figure = replace(page, candidates={2: 0.1, 3: 0.5, 4: None, 5: 0.2}).html
    assert figure.count("<circle") == 3
    assert "0.500, chosen" in figure
    assert "4 groups: merged or empty" in figure
    for few in ({2: None, 3: None}, {3: 1.0}):
        assert replace(page, candidates=few).html.count("<circle") == sum(v is not None for v in few.values())


def test_every_heading_of_the_tables_has_a_meaning(page: ReportData) -> None:
    for word in ("clearly", "rather", "undecided", "between", "nowhere", "belief", "mass", "set", "doubt", "prototype"):
        assert f'data-tip="{TERMS[word]}">' in page.html.replace("&#x27;", "'")
    assert term("<x>") == "&lt;x&gt;"
    for parameter in SoftECM().get_params():
        assert parameter in TERMS or parameter in ("callback", "verbose", "warm_start", "n_jobs")


def test_prototypes_of_objects_that_are_gone_keep_their_dates() -> None:
    model = SoftECM(2, metric="mixed", n_init=1, random_state=0).fit(TABLE)
    gone = report.build(model, None, partition=model.partition_)
    assert gone.profiles is None
    assert re.search(r'<span class="num">202\d-\d\d-\d\d</span></td>', gone.html)


def test_without_pairs_no_union_is_spoken_of() -> None:
    X: Any = RNG.normal(size=(12, 2))
    model = SoftECM(2, focal_sets=FocalSets.up_to(2, 1), n_init=1, random_state=0).fit(X)
    assert "A union such as" not in report.build(model, X).html


def test_rules_and_descriptions_write_units_after_numbers() -> None:
    group = np.repeat([0, 1], 20)
    X = pd.DataFrame({"weight (kg)": 60.0 + 30 * group + np.arange(40) % 5, "spent": 10 + 90 * group})
    columns = [Column("spent", "number", "", 0, "in €", Written(unit="€"))]
    model = SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(X)
    html = report.build(model, X, columns=columns).html
    assert re.search(r"(weight ≤ \d+ kg|spent ≤ \d+ €)", html)
    assert not re.search(r"(weight \(kg\)|spent) ≤ \d+[ <.]*<", html)
    assert trait_text(Trait("ω1", "weight (kg)", "lower", 1.0, 1.0, 1.0, 62.0, 92.0)).striptags() == (
        "weight lower (62.00 kg, others 92.00 kg)"
    )


def test_sets_with_too_few_objects_share_one_line() -> None:
    model = SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(TABLE)
    far = TABLE.copy()
    far.loc[0, "price"] = 5e4
    html = report.build(model, far, partition=model.predict_partition(far)).html
    assert "Too few objects to describe: no group (1)." in html


def test_descriptions_from_a_sample_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from softecm.report.sections import groups

    monkeypatch.setattr(groups, "MOST_COMPARED", 30)
    monkeypatch.setattr(groups, "FEWEST_COMPARED", 30)
    html = report.build(SoftECM(2, metric="mixed", n_init=1, random_state=0).fit(TABLE), TABLE).html
    assert html.count("sample of 30 objects") == 2


def test_equal_prototypes_have_equal_marks() -> None:
    column = Attribute("y", "number", np.repeat([-1.67, 0.0, 1.67, 10.0], [2, 7, 2, 1]))
    data = ReportData(
        title="", partition=CredalPartition.from_hard([0, 1] * 6), ids=[str(i) for i in range(12)], rows=np.arange(12),
        points=np.zeros((12, 2)), attributes=[column], prototypes=[[1e-14], [-1e-14]],
    )  # fmt: skip
    marks = [int(found) for found in re.findall(r'<i style="left:(\d+)%', data.html)]
    assert len(marks) == 2
    assert marks[0] == marks[1]
    assert 20 < marks[0] < 80


def test_scaled_series_have_no_unit() -> None:
    rng, group = np.random.default_rng(0), np.arange(20) % 2
    series = np.stack([np.sin(np.arange(24) / (2 + g)) for g in group])[..., None] + 0.1 * rng.normal(size=(20, 24, 2))
    model = SoftECM(2, metric=SoftDTW(znormalise=True), n_init=1, max_iter=5, random_state=0).fit(series)
    html = report.build(model, series, feature_names=["heat (°C)", "load (kg)"]).html
    assert "heat in steps " in html
    assert "Each series is scaled to mean 0" in html
