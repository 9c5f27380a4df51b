"""The report in a real browser: skipped where Chromium, its driver or selenium is not installed."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from problems import UNSANITIZED
from softecm import CredalPartition, FocalSets, SoftECM
from softecm.calibration import Calibration
from softecm.report import Attribute, Explanation, Part, ReportData, build, noteworthy, three_sentences

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
DRIVER = shutil.which("chromedriver")
NASTY = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "=cmd|' /C calc'!A0", "🦉", "שלום"]

if CHROMIUM is None or DRIVER is None:
    pytest.skip(
        "Chromium and chromedriver are not installed (apt-get install chromium chromium-driver)",
        allow_module_level=True,
    )
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (pip install selenium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1400,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env=UNSANITIZED))
    yield driver
    driver.quit()


def some_data(n: int = 400, c: int = 3, columns: int = 4, **more: Any) -> ReportData:
    rng = np.random.default_rng(0)
    focal = FocalSets.up_to(c, 2)
    partition = CredalPartition(rng.dirichlet(np.full(len(focal) + 1, 0.15), n), focal)
    explained = np.unique(np.concatenate(noteworthy(partition)))
    parts = tuple(Part(NASTY[k], NASTY[(k + 1) % 5], "1", "2", 0.5 - k / 4) for k in range(5))
    fields: dict[str, Any] = {
        "ids": [f"{NASTY[i % 5]} {i}" for i in range(n)],
        "rows": np.arange(n),
        "points": rng.normal(size=(n, 2)),
        "distances": rng.random(n),
        "attributes": [Attribute(f"{NASTY[k % 5]}{k}", "number", rng.normal(size=n)) for k in range(columns)],
        "prototypes": rng.normal(size=(len(focal), columns)).tolist(),
        "prototype_points": rng.normal(size=(len(focal), 2)),
        "explanations": {int(i): Explanation(1, 2, 0.5, 0.6, parts, far=((NASTY[0], 0.7),)) for i in explained},
        "history": [5.0, 3.0, 2.9],
        "runs": {"run": [0, 1], "objective": [2.9, 3.1], "best": [True, False]},
        "parameters": {"metric": "mixed"},
        "warnings": [NASTY[0]],
        "code": "model = ...",
    }
    return ReportData(title=NASTY[1], partition=partition, **{**fields, **more})


def opened(browser: Any, path: Path, data: ReportData, *, width: int = 1400) -> None:
    data.write(path / "report.html")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    calm = [{"name": "prefers-reduced-motion", "value": "reduce"}, {"name": "prefers-color-scheme", "value": "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": calm})
    browser.get((path / "report.html").as_uri())


def quiet(browser: Any) -> None:
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_every_section_is_there_and_the_console_is_silent(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data())
    found = browser.execute_script("return [...document.querySelectorAll('main section')].map(s => s.id)")
    assert found == ["findings", "map", "masses", "sets", "objects", "run", "words"]
    assert browser.execute_script("return document.documentElement.dataset.drawn !== undefined")
    assert browser.execute_script("return document.images.length + document.querySelectorAll('script').length") == 2
    for canvas in ("map-canvas", "mass-canvas"):
        assert painted(browser, canvas) > 1000
    quiet(browser)


def painted(browser: Any, canvas: str) -> int:
    """The number of non-empty pixels of a figure."""
    script = """
        const c = document.getElementById(arguments[0]), copy = document.createElement("canvas");
        copy.width = c.width; copy.height = c.height;
        const g = copy.getContext("2d", {willReadFrequently: true}); g.drawImage(c, 0, 0);
        const d = g.getImageData(0, 0, c.width, c.height).data;
        let k = 0; for (let i = 3; i < d.length; i += 4) k += d[i] > 0;
        return k;"""
    return int(browser.execute_script(script, canvas))


def shown(browser: Any, identifier: str) -> Any:
    """An element, scrolled into view."""
    element = browser.find_element("id", identifier)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    browser.execute_async_script("setTimeout(arguments[0], 150)")
    return element


def test_hovering_names_the_object_as_text(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data(n=5))
    browser.execute_script("document.getElementById('order-file').click()")
    move = """
        const r = arguments[0].getBoundingClientRect(), at = {clientX: r.left + r.width / 10, clientY: r.top + 40};
        arguments[0].dispatchEvent(new PointerEvent("pointermove", {...at, bubbles: true}));"""
    browser.execute_script(move, shown(browser, "mass-canvas"))
    tip = browser.find_element("id", "tip")
    assert tip.is_displayed()
    assert tip.text.startswith("<script>alert(1)</script> 0")
    quiet(browser)


def test_arrow_keys_walk_through_the_map(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, tmp_path, some_data(n=5))
    canvas = shown(browser, "map-canvas")
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert browser.find_element("id", "tip").text.startswith(f"{NASTY[0]} 0")
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert browser.find_element("id", "tip").text.startswith(f"{NASTY[1]} 1")
    canvas.send_keys(Keys.ESCAPE)
    assert not browser.find_element("id", "tip").is_displayed()
    quiet(browser)


def names(browser: Any) -> list[str]:
    return list(
        browser.execute_script("return [...document.querySelectorAll('#object-table .who')].map(e => e.textContent)")
    )


def test_headings_sort_and_the_search_finds(browser: Any, tmp_path: Path) -> None:
    data = some_data()
    opened(browser, tmp_path, data)
    shown(browser, "object-table")
    browser.find_element("css selector", "[data-list='3']").click()
    heading = browser.find_element("css selector", "#object-table thead th:nth-child(7) button")
    heading.click()
    most = int(data.partition.masses[:, 0].argmax())
    assert names(browser)[0] == data.ids[most]
    assert browser.find_element("css selector", "[aria-sort=descending]").text.startswith("No group")
    heading.click()
    assert names(browser)[0] != data.ids[most]
    assert browser.find_element("css selector", "[aria-sort=ascending]").text.startswith("No group")
    search = browser.find_element("id", "search")
    search.send_keys("שלום 14")
    browser.execute_async_script("setTimeout(arguments[0], 200)")
    assert set(names(browser)) == {i for i in data.ids if "שלום 14" in i}
    search.clear()
    search.send_keys("no such thing")
    browser.execute_async_script("setTimeout(arguments[0], 200)")
    assert "Nothing matches." in browser.find_element("css selector", "#object-table tbody").text
    quiet(browser)


def test_a_name_opens_its_explanation(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data())
    shown(browser, "object-table")
    closed = browser.find_element("css selector", "#object-table .who button[aria-expanded=false]")
    closed.click()
    details = browser.find_elements("css selector", ".detail")
    assert len(details) == 2  # the first is open initially
    assert "What pulls it to group 1, what to group 2" in details[1].text
    assert NASTY[1] in details[1].text
    quiet(browser)


def test_the_theme_switch_changes_the_page_and_the_figures(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data())
    look = "return [getComputedStyle(document.body).backgroundColor]"
    before = browser.execute_script(look)
    browser.find_element("id", "theme").click()
    after = browser.execute_script(look)
    assert before[0] != after[0]
    browser.find_element("id", "theme").click()
    assert browser.execute_script(look)[0] == before[0]
    quiet(browser)


def test_sets_can_be_hidden_from_the_map(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data())
    before = painted(browser, "map-canvas")
    browser.find_element("css selector", "#map-legend button[data-set='1']").click()
    assert painted(browser, "map-canvas") < before
    quiet(browser)


@pytest.mark.parametrize("width", [1400, 390])
def test_how_sure_the_groups_are_fits_any_screen(browser: Any, tmp_path: Path, width: int) -> None:
    rng = np.random.default_rng(0)
    data = some_data(60)
    before = data.partition.rename(NASTY[:3])
    found = np.sort(rng.dirichlet(np.ones(3), (20, 60)), 0)
    sure = Calibration(
        before, before, found, 0.9, found[0], found[-1], 0.0, "round Gaussians", before.masses, before.masses
    )
    opened(browser, tmp_path, replace(data, partition=before, calibration=sure), width=width)
    drawn = browser.execute_script("""
        const s = document.querySelector("#sure svg"), r = s.getBoundingClientRect();
        const texts = [...s.querySelectorAll("text")].map(t => t.getBoundingClientRect());
        const side = texts.pop(), below = texts.pop();
        const apart = texts.every(t => t.left >= side.right - 1 && t.bottom < below.top);
        return [s.querySelectorAll(".span").length, r.width, apart, document.documentElement.scrollWidth];""")
    assert drawn[0] == sum(len(one) == 1 for one in before.sets())  # objects in a group
    assert drawn[1] > 0.7 * min(width, 860)
    assert drawn[2]  # labels don't overlap
    assert drawn[3] <= width
    quiet(browser)


def test_a_phone_needs_no_sideways_scrolling(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data(columns=30), width=400)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    quiet(browser)


def test_a_long_legend_scrolls_and_hides_neither_the_chart_nor_its_end(browser: Any, tmp_path: Path) -> None:
    names = [f"members with a rather long name {k}" for k in range(12)]
    partition = CredalPartition.from_hard(np.arange(120) % 12).rename(names)
    page = ReportData("twelve", partition, [str(i) for i in range(120)], np.arange(120), np.zeros((120, 2)))
    opened(browser, tmp_path, page, width=390)
    for name in ("map-legend", "mass-legend"):
        shown, whole, clipped = browser.execute_script(f"""
            const e = document.getElementById("{name}"), edge = e.getBoundingClientRect().bottom;
            return [e.clientHeight, e.scrollHeight, e.lastChild.getBoundingClientRect().bottom > edge];""")
        assert shown <= 180 < whole
        assert clipped
        assert browser.execute_script(f"""
            const e = document.getElementById("{name}"); e.scrollTop = e.scrollHeight;
            const end = e.lastChild.getBoundingClientRect().bottom;
            return getComputedStyle(e).overflowY === "auto" && end <= e.getBoundingClientRect().bottom;""")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    opened(browser, tmp_path, some_data(), width=1400)
    assert browser.execute_script(
        "const e = document.getElementById('map-legend'); return e.scrollHeight <= e.clientHeight"
    )
    quiet(browser)


def test_series_have_cards_and_channels(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(int(length), 3)) for length in rng.integers(5, 40, 60)]
    drawn = {"series": series, "prototype_series": series[:6], "channels": ["x", "y", "z"], "noun": "series"}
    opened(browser, tmp_path, some_data(n=60, attributes=(), prototypes=(), **drawn))
    cards = browser.find_elements("css selector", "#series-cards svg")
    assert len(cards) >= 3
    before = cards[0].get_attribute("innerHTML")
    browser.execute_script(
        "const s = document.getElementById('channel'); s.value = '2'; s.dispatchEvent(new Event('change'));"
    )
    assert browser.find_element("css selector", "#series-cards svg").get_attribute("innerHTML") != before
    quiet(browser)


def test_series_panels_share_their_scale(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(20, 1)) * (1 + 9 * (i % 2)) for i in range(60)]
    opened(browser, tmp_path, some_data(n=60, attributes=(), prototypes=(), series=series, prototype_series=series[:6]))
    read = "return [...document.querySelectorAll('#series-cards svg')].map(s => s.textContent)"
    assert len(set(browser.execute_script(read))) == 1
    quiet(browser)


def test_words_say_what_they_mean_on_focus_and_on_hovering(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data())
    tip = browser.find_element("id", "tip")
    for place in (".decisions .term", "#object-table thead th:nth-child(5) button", "#map-legend .term"):
        browser.execute_script("document.querySelector(arguments[0]).focus({preventScroll: true})", place)
        assert tip.is_displayed()
        assert len(tip.text) > 30
        browser.execute_script("document.activeElement.blur()")
        assert not tip.is_displayed()
    browser.execute_script(
        "document.querySelector('.decisions .term').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert "belongs to this group" in tip.text
    quiet(browser)


def test_maps_name_every_set_at_any_size(browser: Any, tmp_path: Path) -> None:
    data = some_data(n=300, c=9, prototypes=(), prototype_points=None)
    for width in (400, 1400):
        opened(browser, tmp_path, data, width=width)
        legend = browser.execute_script("return document.querySelectorAll('#map-legend button').length")
        assert legend == len(np.unique(data.partition.masses.argmax(1)))
        assert painted(browser, "map-canvas") > 500
    quiet(browser)


@pytest.mark.parametrize("count", [20, 2000])
def test_the_mass_plot_opens_by_set(browser: Any, tmp_path: Path, count: int) -> None:
    opened(browser, tmp_path, some_data(n=count))
    assert browser.find_element("id", "order-set").get_attribute("aria-pressed") == "true"
    height = browser.execute_script("return document.getElementById('mass-canvas').clientHeight")
    width = browser.execute_script("return document.getElementById('mass-canvas').clientWidth")
    assert painted(browser, "mass-canvas") > 0.4 * height * width  # bars, not lines
    quiet(browser)


def test_twenty_thousand_objects_are_drawn(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data(n=20_000, c=4, columns=10))
    assert (tmp_path / "report.html").stat().st_size < 10e6
    assert browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") > 0
    quiet(browser)


def test_paper_is_white_whatever_the_theme(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data())
    browser.find_element("id", "theme").click()
    dark = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    colors = browser.execute_script("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.find_element("id", "theme").click()
    assert colors == ["rgb(255, 255, 255)", "rgb(17, 17, 17)"]
    quiet(browser)


def test_paper_is_wide_enough_for_the_prototypes(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data(columns=30), width=760)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    width = browser.execute_script("return document.documentElement.scrollWidth")
    noted = browser.execute_script("return getComputedStyle(document.querySelector('.on-paper')).display")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert width <= 760
    assert noted == "block"


def test_focus_order_reaches_every_control(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, some_data())
    unnamed = browser.execute_script(
        "return [...document.querySelectorAll('button, input, select, a, canvas')].filter(e => !(e.textContent.trim() "
        "|| e.getAttribute('aria-label') || e.labels && e.labels.length)).map(e => e.outerHTML)"
    )
    assert unnamed == []


REAL = {
    "numbers": ("numerical/abalone.data", ["-c", "3", "--n-init", "1"]),
    "a mixed table with gaps": ("mixed/crx.data", ["-c", "2", "--n-init", "2"]),
    "series of unequal length": (
        "timeseries/JapaneseVowels/JapaneseVowels_TRAIN.ts",
        ["-c", "3", "--n-init", "1", "--max-iter", "8"],
    ),
}


@pytest.mark.parametrize("kind", list(REAL))
def test_the_report_of_a_real_file_opens_without_a_word(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    from softecm.cli import main

    name, options = REAL[kind]
    file = Path(__file__).resolve().parents[3] / "shared" / "data" / name
    if not file.exists():
        pytest.skip(f"data not found: ../shared/data/{name}")
    folder = tmp_path / "result"
    arguments = ["cluster", str(file), *options, "-o", str(folder), "--quiet", "--seed", "0"]
    monkeypatch.setattr("sys.argv", ["softecm", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    browser.get((folder / "report.html").as_uri())
    titles = [h.text for h in browser.find_elements("css selector", "h2")]
    assert titles[:4] == ["Findings", "What if", "Map", "Mass plot"]
    assert len(titles) >= 6
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


# ------------------------------------------------------------------ sliders


@pytest.fixture(scope="module")
def points() -> NDArray[np.float64]:
    rng = np.random.default_rng(3)
    middles = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])
    return np.vstack([rng.normal(m, 0.9, (60, 2)) for m in middles] + [rng.uniform(-9, 15, (12, 2)), [middles[0]]])


@pytest.fixture(scope="module")
def model(points: NDArray[np.float64]) -> SoftECM:
    return SoftECM(3, metric="sqeuclidean", n_init=2, random_state=0).fit(points)


def listening(browser: Any) -> None:
    """Record what the page computes: values, and masses with one row per object."""
    keep = "document.addEventListener('softecm:masses', e => window.now = {...e.detail, masses: [...e.detail.masses]})"
    browser.execute_script(keep)


def slide(browser: Any, name: str, presses: int) -> dict[str, Any]:
    """Move a slider by keys; return the resulting page content."""
    from selenium.webdriver.common.keys import Keys

    slider = shown(browser, f"slide-{name}")
    slider.send_keys(*[Keys.ARROW_RIGHT if presses > 0 else Keys.ARROW_LEFT] * abs(presses))
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    return dict(browser.execute_script("return window.now"))


@pytest.mark.parametrize("width", [1400, 390])
def test_sliders_show_what_python_computes(
    browser: Any, tmp_path: Path, model: SoftECM, points: NDArray[np.float64], width: int
) -> None:
    names = [f"p{i}" for i in range(len(points))]
    opened(browser, tmp_path, build(model, points, names=names, values=True), width=width)
    listening(browser)
    before = painted(browser, "map-canvas")
    found = browser.find_elements("css selector", "[data-finding]")
    as_fitted = [p.text for p in found]
    for name, presses in (("alpha", 45), ("beta", 20), ("delta", -20), ("clear", 30)):
        now = slide(browser, name, presses)
        prices = {key: now[key] for key in ("alpha", "beta", "delta")}
        expected = model.repartition(points, **prices)
        shown_masses = np.reshape(now["masses"], expected.masses.shape)
        assert np.abs(shown_masses - expected.masses).max() < 1e-6
        counts = expected.decisions(now["clear"]).counts()
        cells = browser.find_elements("css selector", "[data-decision]")
        assert {cell.get_attribute("data-decision"): int(cell.text) for cell in cells} == counts
        assert tuple(p.text for p in found) == three_sentences(expected, names, clear=now["clear"])
    assert len({*prices.values()} - {model.alpha, model.beta, model.delta_}) == 3
    assert painted(browser, "map-canvas") != before
    legend = browser.execute_script(
        "return [...document.querySelectorAll('#map-legend button')].map(b => [+b.dataset.set, +b.lastChild.textContent])"
    )
    sizes = np.bincount(expected.masses.argmax(1), minlength=expected.masses.shape[1])
    assert dict(legend) == {j: n for j, n in enumerate(sizes.tolist()) if n}
    tables = browser.execute_script(
        "return [...document.querySelectorAll('#sets td[data-count]')]"
        ".map(c => [+c.dataset.count, +c.textContent, c.closest('tr').hidden])"
    )
    assert tables == [[j, n, n == 0 and j > 3] for j, n in enumerate(sizes.tolist()) if j]
    line = browser.execute_script("return document.getElementById('line-same').textContent")
    said = eval(line, {"model": model, "X": points})  # the line of code shown by the page
    assert said.counts() == counts
    line = browser.execute_script("return document.getElementById('line-refit').textContent")
    again = eval(line.removeprefix("model = "), {"SoftECM": SoftECM, "X": points})
    assert (again.alpha, again.beta, again.delta) == tuple(prices.values())
    shown(browser, "tally")
    browser.find_element("css selector", ".tally .back").click()
    assert [p.text for p in found] == as_fitted
    assert painted(browser, "map-canvas") == before
    assert browser.execute_script("return document.getElementById('away').hidden")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    quiet(browser)


def test_the_page_of_an_object_follows_the_sliders(
    browser: Any, tmp_path: Path, model: SoftECM, points: NDArray[np.float64]
) -> None:
    opened(browser, tmp_path, build(model, points))
    listening(browser)
    far = int(model.partition_.masses[:, 0].argmax())
    browser.find_element("css selector", "[data-list='2']").click()
    shown(browser, "object-table")
    first = browser.find_element("css selector", "#object-table .who button")
    assert first.text == str(far + 1)
    first.click()
    detail = "return document.querySelector('.detail').textContent"
    assert f"Object {far + 1} belongs to no group" in browser.execute_script(detail)
    now = slide(browser, "delta", 100)
    prices = {key: now[key] for key in ("alpha", "beta", "delta")}
    expected = model.repartition(points, **prices).decisions()[far]
    told = browser.execute_script(
        "return [...document.querySelectorAll('.detail')].map(e => e.textContent).find(t => t.includes(arguments[0]))",
        f"Object {far + 1} ",
    )
    assert expected.word != "nowhere"
    assert f"{expected.confidence:.2f}" in told.split("In the fit")[0]
    quiet(browser)


def some_kind(kind: str, points: NDArray[np.float64]) -> tuple[SoftECM, Any]:
    """A model and its objects: a table with gaps, series, a matrix, sparse rows, one group."""
    from scipy.sparse import csr_array

    some = points[::3]
    few: dict[str, Any] = {"n_init": 1, "max_iter": 20, "random_state": 0}
    if kind == "a table with gaps":
        rows = np.empty((len(some), 3), dtype=object)
        rows[:, :2], rows[:, 2] = np.round(some, 2), [["app", "web"][i % 2] for i in range(len(some))]
        rows[::7, 0] = None
        return SoftECM(3, metric="mixed", **few).fit(rows), rows
    if kind == "series":
        series = np.sin(some[:, :1] + np.arange(8.0) * some[:, 1:] / 5)[..., None]
        return SoftECM(2, metric="softdtw", **few).fit(series), series
    if kind == "a matrix":
        D = np.sqrt(np.square(some[:, None] - some).sum(-1))
        return SoftECM(3, metric="precomputed", **few).fit(D), D
    if kind == "sparse rows":
        words = csr_array(np.abs(np.hstack([some, some[:, ::-1] ** 2])) + 0.1)
        return SoftECM(2, metric="cosine", **few).fit(words), words
    return SoftECM(1 if kind == "one group" else 3, metric="euclidean", delta=None, **few).fit(some), some


@pytest.mark.parametrize("kind", ["a table with gaps", "series", "a matrix", "sparse rows", "one group", "no outliers"])
def test_sliders_are_right_for_any_kind_of_data(
    browser: Any, tmp_path: Path, points: NDArray[np.float64], kind: str
) -> None:
    fitted, X = some_kind(kind, points)
    page = build(fitted, X)
    opened(browser, tmp_path, page)
    move = """
        const [to, done] = arguments;
        document.addEventListener("softecm:masses", e => done({...e.detail, masses: [...e.detail.masses]}), {once: true});
        const sliders = [...document.querySelectorAll("[data-price]")];
        for (const s of sliders) { s.value = to[s.dataset.price]; s.dispatchEvent(new Event("input")); }"""
    softer = {"alpha": 60, "beta": 100, "delta": -40, "clear": 30}
    for to in (softer, {name: -value for name, value in softer.items()}):
        now = browser.execute_async_script(move, to)
        expected = fitted.repartition(X, **{key: now[key] for key in ("alpha", "beta", "delta")})
        assert np.abs(np.reshape(now["masses"], expected.masses.shape) - expected.masses).max() < 1e-6
        said = tuple(p.text for p in browser.find_elements("css selector", "[data-finding]"))
        assert said == three_sentences(expected, page.ids, noun=page.noun, clear=now["clear"])
    quiet(browser)


def test_arrow_keys_end_where_every_set_is_hidden(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, tmp_path, some_data(n=20))
    browser.execute_script("document.querySelectorAll('#map-legend button').forEach(b => b.click())")
    shown(browser, "map-canvas").send_keys(Keys.ARROW_RIGHT)
    assert not browser.find_element("id", "tip").is_displayed()
    quiet(browser)


def test_one_group_has_no_list_of_doubt(browser: Any, tmp_path: Path) -> None:
    one = CredalPartition(np.column_stack([np.linspace(0, 0.2, 9), np.linspace(1, 0.8, 9)]), FocalSets.full(1))
    data = replace(some_data(n=9), partition=one, explanations={}, prototypes=(), prototype_points=None)
    opened(browser, tmp_path, data)
    assert [b.text for b in browser.find_elements("css selector", "[data-list]")] == [
        "Most typical",
        "Farthest out",
        "All",
    ]
    assert browser.find_element("css selector", "[data-list][aria-pressed=true]").text == "Most typical"
    assert len(names(browser)) == 9
    quiet(browser)


def test_distances_of_an_object_have_the_decimals_of_the_table(browser: Any, tmp_path: Path) -> None:
    lying = Explanation(1, 2, 0.50001, 0.6, (Part("x", "1", "2", "3", 0.1),), distance_set=3e-11)
    opened(browser, tmp_path, some_data(explanations=dict.fromkeys(range(400), lying)))
    assert "Its distance is 0.500 to group 1, 0.600 to group 2 and 0.000 to the prototype of" in (
        browser.find_element("css selector", ".detail").text
    )
    quiet(browser)


def test_the_curves_of_an_object_are_named(browser: Any, tmp_path: Path) -> None:
    series = [np.sin(np.arange(12.0) + i)[:, None] for i in range(60)]
    drawn = {"series": series, "prototype_series": series[:6], "channels": ["x"], "noun": "series"}
    opened(browser, tmp_path, some_data(n=60, attributes=(), prototypes=(), **drawn))
    keys = browser.find_element("css selector", ".detail .keys").text
    assert keys.split("\n")[:2] == ["group 1", "group 2"] or keys.startswith("group 1group 2")
    quiet(browser)
