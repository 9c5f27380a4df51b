"""Time of moving a slider in the report, in headless Chromium: masses, map, counts, words and tables.

    python benchmarks/report_sliders.py --objects 5000 --moves 60

Needs chromium, chromedriver and selenium. The page measures its own script, without painting.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from softecm import SoftECM

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
)
MOVE = """
    const done = arguments[1], slider = document.getElementById("slide-alpha");
    const answer = () => setTimeout(() => done(+document.documentElement.dataset.move));
    document.addEventListener("softecm:masses", answer, {once: true});
    slider.value = arguments[0]; slider.dispatchEvent(new Event("input"));"""


def page(objects: int, folder: Path) -> Path:
    """Return the report of four groups in six columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(objects, 6)) + 4.0 * rng.normal(size=(4, 6))[rng.integers(0, 4, objects)]
    SoftECM(4, metric="sqeuclidean", n_init=2, random_state=0).fit(X).report(X, folder / "report.html")
    return folder / "report.html"


def moves(file: Path, count: int) -> list[float]:
    """Return milliseconds of each move, alternating sides of the fit."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, "--window-size=1280,900"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(file.as_uri())
        return [float(driver.execute_async_script(MOVE, (-1) ** k * (k + 5))) for k in range(count)]
    finally:
        driver.quit()


def main() -> None:
    """Print the median and the slowest move."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--objects", type=int, default=5000)
    given.add_argument("--moves", type=int, default=60)
    asked = given.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        took = moves(page(asked.objects, Path(folder)), asked.moves)
    print(
        f"{asked.objects} objects, {asked.moves} moves: median {statistics.median(took):.0f} ms, slowest {max(took):.0f} ms"
    )


if __name__ == "__main__":
    main()
