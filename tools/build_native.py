"""Compile the kernels in place if their sources have changed: ``python tools/build_native.py [--force] [--sanitize]``."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    builder = Path(__file__).resolve().parents[1] / "src" / "softecm" / "native" / "build.py"
    sys.exit(runpy.run_path(str(builder))["main"](sys.argv[1:]))
