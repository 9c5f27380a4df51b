"""The package from outside: names, imports, wheel."""

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softecm
from softecm import ECM, SoftECM

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_exists():
    for name in softecm.__all__:
        assert getattr(softecm, name) is not None
    assert set(dir(softecm)) >= set(softecm.__all__)
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = softecm.nothing_here


def test_importing_loads_no_more_than_is_needed():
    program = (
        "import sys\n"
        "def loaded(*names): print([name for name in names if name in sys.modules])\n"
        "import softecm; loaded('torch', 'sklearn', 'numba', 'scipy', 'pandas')\n"
        "import softecm.distances; loaded('sklearn', 'pandas', 'softecm.readers')\n"
        "import softecm.kernels.soft_dtw; loaded('softecm.kernels.elastic.engine')\n"
        "softecm.SoftECM; loaded('dask', 'distributed', 'matplotlib')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"] * 4


def test_a_warning_names_the_line_that_called_the_library():
    X = np.random.default_rng(0).normal(size=(30, 2))
    search = GridSearchCV(ECM(3), {"max_iter": [1]}, cv=2)
    for model in (SoftECM(2, max_iter=1), make_pipeline(StandardScaler(), ECM(3, max_iter=1)), search):
        with pytest.warns(ConvergenceWarning) as said:
            model.fit(X)
        assert {warning.filename for warning in said} == {__file__}


def test_the_wheel_is_built_and_imported(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert runpy.run_path(str(ROOT / "tools" / "check_packages.py"))["faults_of_wheel"](wheel) == []
    program = (
        f"import sys; sys.path.insert(0, {str(wheel)!r}); import softecm; assert {wheel.name!r} in softecm.__file__, "
        "softecm.__file__; print(softecm.FocalSets.full(2))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "FocalSets" in done.stdout


def test_what_the_docs_make_is_no_part_of_the_sdist():
    made = [line.strip("/") for line in (ROOT / "docs" / ".gitignore").read_text().splitlines() if line]
    away = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]["exclude"]
    assert away == [f"/docs/{name}" for name in made]
