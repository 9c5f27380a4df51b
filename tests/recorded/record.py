"""Write ``fits.json``: ``PYTHONPATH=src:tests python -m recorded.record``, with code whose numbers are to be kept."""

import json
import math
import platform
import sys
from pathlib import Path
from typing import Any

import numpy
import torch

import softecm
from recorded.cases import CASES, Case, outcome

FITS = Path(__file__).with_name("fits.json")


def short(value: Any) -> Any:
    """Numbers to 15 significant digits; infinite ones and NaN, which JSON lacks, as words."""
    if isinstance(value, dict):
        return {key: short(part) for key, part in value.items()}
    if isinstance(value, list):
        return [short(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.15g}") if math.isfinite(value) else str(value)
    return value


def recorded(case: Case) -> dict[str, Any]:
    """Return a case's outcome."""
    return short(outcome(case.fitted()))


def machine() -> str:
    """What determines the order of sums: torch's version and its instruction set."""
    return f"torch {torch.__version__}, {platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def about(note: str) -> dict[str, str]:
    """The origin of the numbers."""
    versions = {"Python": platform.python_version(), "torch": torch.__version__}
    versions |= {"NumPy": numpy.__version__}
    return {
        "what": "outcomes of the fits in tests/recorded/cases.py, by softecm itself: a change of structure must keep them",
        "made_by": f"softecm {softecm.__version__} {note}".strip(),
        "with": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "machine": machine(),
        "again": "PYTHONPATH=src:tests python -m recorded.record [note on the version]",
    }


def record(note: str = "", path: Path = FITS) -> None:
    """Fit every case and write the outcomes."""
    torch.set_num_threads(1)
    lines = [f"{json.dumps(name)}: {json.dumps(recorded(case), separators=(',', ':'))}" for name, case in CASES.items()]
    header = json.dumps(about(note), indent=1)
    path.write_text(f'{{"about": {header},\n"fits": {{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    record(*sys.argv[1:2])
