import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from softecm import CredalPartition, FocalSets
from softecm.report import (
    Attribute,
    Explanation,
    Part,
    ReportData,
    choose_rows,
    landmark_mds,
    noteworthy,
)
from softecm.report.sections.base import to_script

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "🦉",
    "שלום",
    "</script>",
    "\u2028",
]
SECTIONS = ["findings", "map", "masses", "sets", "objects", "run"]


def data(n: int = 30, c: int = 3, seed: int = 0, **more: object) -> ReportData:
    rng = np.random.default_rng(seed)
    focal = FocalSets.up_to(c, 2)
    partition = CredalPartition(rng.dirichlet(np.full(len(focal) + 1, 0.3), n), focal)
    fields: dict[str, object] = {
        "title": "table.csv",
        "partition": partition,
        "ids": [NASTY[i % len(NASTY)] + str(i) for i in range(n)],
        "rows": np.arange(n),
        "points": rng.normal(size=(n, 2)),
        "distances": rng.random(n),
        "attributes": [
            Attribute(NASTY[0], "number", rng.normal(size=n)),
            Attribute(NASTY[1], "category", [NASTY[i % 5] if i % 7 else None for i in range(n)]),
        ],
        "prototypes": [[float(j), NASTY[j % 5]] for j in range(len(focal))],
        "explanations": {
            i: Explanation(1, min(2, c), 0.5, 0.7, (Part(NASTY[0], NASTY[1], "0", "1", 0.2),)) for i in range(3)
        },
        "history": [3.0, 2.0, 1.5],
        "runs": {"run": [0, 1], "objective": [2.0, 1.5], "best": [False, True]},
        "parameters": {"metric": "mixed", NASTY[0]: NASTY[1]},
        "warnings": [NASTY[0]],
        "code": f"model.fit({NASTY[5]!r})",
    }
    return ReportData(**{**fields, **more})  # type: ignore[arg-type]


class Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def outline(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Outline()
    parser.feed(page)
    return parser.tags


def test_sections_come_in_their_order() -> None:
    found = [at.get("id") for tag, at in outline(data().html) if tag == "section"]
    assert found == [*SECTIONS, "words"]


def test_nothing_the_user_named_becomes_markup() -> None:
    tags = outline(data(title=NASTY[1]).html)
    assert "img" not in [tag for tag, _ in tags]
    assert len([tag for tag, _ in tags if tag == "script"]) == 2
    assert not [at for _, at in tags for name in at if name.startswith("on")]


def test_nothing_is_fetched_and_only_the_pages_script_may_run() -> None:
    page = data().html
    tags = outline(page)
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    assert not [
        at for tag, at in tags if tag != "a" and (at.get("src") or (at.get("href") or "data:").startswith("http"))
    ]
    policy = next(at["content"] for _, at in tags if at.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in (policy or "")


def test_every_table_has_a_caption_and_every_figure_a_label() -> None:
    page = data().html
    assert page.count("<table") == page.count("<caption")
    for tag, at in outline(page):
        if tag == "canvas":
            assert at["role"] == "img"
            assert at["aria-label"]


def test_the_data_inside_the_page_are_the_data() -> None:
    d = data()
    page = d.html
    text = page.split('id="data">')[1].split("</script>")[0]
    value = json.loads(text)
    assert value["ids"] == list(d.ids)
    masses = np.frombuffer(base64.b64decode(value["masses"]), dtype="<u2").reshape(30, -1) / 65535
    np.testing.assert_allclose(masses, d.partition.masses, atol=1e-5)


def test_json_cannot_end_its_element() -> None:
    assert to_script({"a": "</script><!--"}) == '{"a":"\\u003c/script\\u003e\\u003c!--"}'


@pytest.mark.parametrize(("n", "c"), [(1, 1), (2, 2), (5, 1), (40, 12)])
def test_small_and_odd_partitions_are_drawn(n: int, c: int) -> None:
    assert '<h2 id="findings-h">Findings</h2>' in data(n, c).html


def test_a_page_without_extras_is_drawn() -> None:
    bare = ReportData("x", CredalPartition.from_hard([0, 1]), ["a", "b"], np.arange(2), np.zeros((2, 2)))
    assert '<h2 id="findings-h">Findings</h2>' in bare.html


def test_series_are_drawn_instead_of_a_table(rng: np.random.Generator) -> None:
    p = CredalPartition.from_hard([0, 0, 1])
    series = [rng.normal(size=(length, 2)) for length in (4, 500, 7)]
    series[2][3, 0] = np.nan
    page = ReportData(
        "s",
        p,
        ["a", "b", "c"],
        np.arange(3),
        np.zeros((3, 2)),
        series=series,
        prototype_series=series[:2],
        noun="series",
    ).html
    assert "series-cards" in page
    assert "3 series · 2 groups" in page


def test_many_objects_are_sampled_and_said_to_be(rng: np.random.Generator) -> None:
    focal = FocalSets.full(2)
    p = CredalPartition(rng.dirichlet(np.ones(4), 1000), focal)
    rows = choose_rows(p, np.concatenate(noteworthy(p)), most=200)
    assert len(rows) == 200
    assert set(np.concatenate(noteworthy(p))) <= set(rows)
    page = ReportData("x", p, [str(i) for i in range(1000)], rows, rng.normal(size=(200, 2))).html
    assert "a sample of 200 of 1\u202f000 objects" in page


def test_many_columns_are_cut_to_the_telling_ones(rng: np.random.Generator) -> None:
    n, p = 20, 90
    columns = [Attribute(f"col{j}", "number", rng.normal(size=n)) for j in range(p)]
    rows = [[float(i * (j == 77)) for j in range(p)] for i in range(6)]
    page = data(n, 3, attributes=columns, prototypes=rows).html
    assert "30 more are left out" in page
    assert '<th scope="col" dir="auto">col77</th>' in page


def test_the_size_stays_small_for_many_objects(rng: np.random.Generator) -> None:
    n = 20_000
    columns = [Attribute(f"col{j}", "number", rng.normal(size=n)) for j in range(10)]
    page = data(n, 4, attributes=columns, prototypes=[[0.0] * 10] * 10).html
    assert len(page.encode()) < 10e6


def test_the_map_keeps_distances_that_fit_into_a_plane(rng: np.random.Generator) -> None:
    x = rng.normal(size=(60, 2))
    marks = x[:10]

    def squared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ((a[:, None] - b) ** 2).sum(-1)

    y = landmark_mds(squared(marks, marks), squared(x, marks))
    np.testing.assert_allclose(squared(y, y), squared(x, x), atol=1e-9)


@pytest.mark.parametrize("count", [1, 2])
def test_a_map_of_few_or_equal_objects_has_finite_places(count: int) -> None:
    assert np.isfinite(landmark_mds(np.zeros((count, count)), np.zeros((5, count)))).all()


def test_writing_replaces_in_one_step(tmp_path) -> None:
    data().write(tmp_path / "report.html")
    data().write(tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_far_values_do_not_squeeze_the_marks_of_prototypes() -> None:
    """One object a hundred times as far as the rest: the prototypes' marks are still apart, with a note."""
    sizes = np.repeat([1.0, 9.0], 15) + np.linspace(-0.5, 0.5, 30)
    sizes[0] = 900.0
    attributes = [Attribute("size", "number", sizes), Attribute("age", "number", np.linspace(0, 1, 30))]
    page = data(c=2, attributes=attributes, prototypes=[[1.0, 0.5], [9.0, 0.5], [5.0, 0.5]]).html
    assert "of all objects; far values of size lie beyond its ends." in page
    marks = [int(found) for found in re.findall(r'class="rule" aria-hidden="true"><i style="left:(\d+)%', page)]
    assert min(marks) < 10
    assert max(marks) > 75


def test_the_objective_of_the_kept_start_is_told_from_that_of_the_end() -> None:
    assert "on the single groups" in data(history=[3.0, 1.7]).html
    assert "on the single groups" not in data().html


def test_warnings_stand_above_the_result() -> None:
    page = data(warnings=[f"doubt {i}" for i in range(4)]).html
    result = page.index('data-finding="0"')
    assert page.index("doubt 0") < page.index("doubt 2") < page.index("All 4 warnings") < result < page.index("doubt 3")


def test_the_figure_of_numbers_of_groups_says_which_end_is_best() -> None:
    lowest = data(candidates={2: 5600.24, 3: 5456.21, 4: 10253.5}).html
    assert ">value (lowest is best)</text>" in lowest
    assert "5456.2, chosen" in lowest
    assert "10\u202f253.5" in lowest
    assert ">value (highest is best)</text>" in data(candidates={2: 0.2, 3: 0.9}).html
    assert ">value</text>" in data(candidates={2: 0.2, 3: 0.4, 4: 0.9}).html
