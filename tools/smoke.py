"""Check that an installed softecm works with nothing but its own requirements.

``python -I tools/smoke.py``, from anywhere: fits, predicts, saves, loads, writes a report, and checks the command's
output.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import softecm
from softecm import ECM, SoftECM, load_model
from softecm.datasets import make_blobs, make_cbf


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this interpreter."""
    return subprocess.run([sys.executable, "-I", "-m", "softecm", *words], capture_output=True, text=True)


def check_library(folder: Path) -> None:
    """Fit, predict, save, load, report."""
    X = make_blobs(300, between=5, outliers=3, random_state=0).data
    model = SoftECM(3, random_state=0).fit(X)
    assert np.allclose(model.partition_.masses.sum(1), 1)
    model.save(folder / "model.safetensors")
    assert np.array_equal(load_model(folder / "model.safetensors").predict(X), model.predict(X))
    assert (ECM(3, random_state=0).fit_predict(X) >= 0).all()
    series = make_cbf(5, random_state=0).data
    assert len(SoftECM(3, metric="softdtw", n_init=2, random_state=0).fit(series).labels_) == len(series)
    model.report(X, folder / "report.html")
    assert (folder / "report.html").stat().st_size > 1000


def check_command(folder: Path) -> None:
    """Check the version, and cluster a table from its file."""
    assert softecm.__version__ in command("--version").stdout
    table = folder / "table.csv"
    table.write_text("a,b\n" + "\n".join(f"{i % 3 * 10 + i / 50},{i % 3 * 5 - i / 70}" for i in range(60)))
    done = command("cluster", str(table), "-c", "3", "-o", str(folder / "result"))
    assert done.returncode == 0, done.stderr
    assert (folder / "result" / "report.html").stat().st_size > 1000


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        check_library(Path(name))
        check_command(Path(name))
    print(f"softecm {softecm.__version__} works: {Path(softecm.__file__).parent}")
