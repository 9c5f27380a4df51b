"""The README's picture of a report: `softecm demo customers` in headless Chromium.

python docs/report_picture.py
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from smaller import FIGURES, smaller

NAMES = "young,affluent,middle,senior"
WIDTH, HEIGHT = 760, 2600  # of the browser window: large enough for all parts
PLAIN = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")


def report(folder: str) -> str:
    """Return the address of a report with named groups."""
    command = [sys.executable, "-m", "softecm"]
    subprocess.run([*command, "demo", "customers"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    result = Path(folder, "softecm-demo-customers", "result")
    subprocess.run([*command, "rename", result, NAMES], check=True, stdout=subprocess.DEVNULL)
    return (result / "report.html").as_uri()


def screenshots(address: str, *parts: str) -> list[Image.Image]:
    """Return screenshots of a page's parts, by their ids."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in ("--headless=new", *PLAIN, f"--window-size={WIDTH},{HEIGHT}"):
        options.add_argument(option)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(address)
        return [Image.open(io.BytesIO(driver.find_element("id", part).screenshot_as_png)) for part in parts]
    finally:
        driver.quit()


def main() -> None:
    """Write docs/figures/report.png: the result in words and the sliders on the left, the map on the right."""
    with tempfile.TemporaryDirectory() as folder:
        words, sliders, chart = screenshots(report(folder), "findings", "try", "map")
    picture = Image.new("RGB", (words.width + chart.width + 60, chart.height + 20), "#fcfcfa")
    picture.paste(words, (15, 10))
    picture.paste(sliders, (15, words.height + 50))
    picture.paste(chart, (words.width + 45, 10))
    picture.save(FIGURES / "report.png")
    smaller(FIGURES / "report.png")


if __name__ == "__main__":
    main()
