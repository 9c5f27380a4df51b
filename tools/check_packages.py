"""Check the content of the wheel and the sdist for missing and extra files: ``python tools/check_packages.py dist``."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

NEEDED_IN_WHEEL = {
    "softecm/py.typed",
    "softecm/__init__.py",
    "softecm/report/assets/base.js",
    "softecm/report/templates/report.html",
    "softecm/kernels/cuda/soft_dtw.cu",
    "softecm/native/lib/fingerprint",
}
NEEDED_IN_SDIST = {
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "docs/api.md",
    "tests/conftest.py",
    "conda-forge/recipe.yaml",
    "paper/joss/paper.md",
    "hatch_build.py",
    "src/softecm/native/common.h",
}
KINDS_IN_WHEEL = {".py", ".html", ".typed", ".css", ".js", ".cu", ".cuh", ".so", ".dll", ""}
STRAY = {"__pycache__", ".venv", ".git", ".github", ".ci", ".mypy_cache", ".ruff_cache", ".hypothesis"}
STRAY |= {"lib-checked"}  # kernels that check every index
STRAY |= {"_site", "_examples", "_included", "gallery"}  # written by the docs' build
LARGEST = 8_000_000


def faults_of_wheel(path: Path) -> list[str]:
    """Return what is missing from the wheel or must not be there."""
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    ours = {name for name in names if ".dist-info/" not in name}
    strange = [
        name for name in ours if PurePosixPath(name).suffix not in KINDS_IN_WHEEL or not name.startswith("softecm/")
    ]
    if not any(PurePosixPath(name).stem == "kernels" for name in ours):
        return [f"{path.name}: the compiled kernels are missing"]
    return faults(path, names, NEEDED_IN_WHEEL) + [f"{path.name}: {name} has no place in a wheel" for name in strange]


def faults_of_sdist(path: Path) -> list[str]:
    """Return what is missing from the sdist or must not be there."""
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    return faults(path, names, NEEDED_IN_SDIST)


def faults(path: Path, names: set[str], needed: set[str]) -> list[str]:
    """Return the common errors of both."""
    found = [f"{path.name}: {name} is missing" for name in sorted(needed - names)]
    found += [f"{path.name}: {name} is a leftover" for name in sorted(names) if STRAY & set(PurePosixPath(name).parts)]
    if path.stat().st_size > LARGEST:
        found.append(f"{path.name} has {path.stat().st_size} bytes, more than {LARGEST}")
    return found


def main(folder: Path) -> int:
    """Print all errors; return 1 if there are any."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    found = [f"{folder} should hold wheels and one sdist"] if not wheels or len(sdists) != 1 else []
    found += [fault for path in wheels for fault in faults_of_wheel(path)]
    found += [fault for path in sdists for fault in faults_of_sdist(path)]
    print("\n".join(found) or f"{folder}: {len(wheels)} wheels and one sdist, as they should be")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
