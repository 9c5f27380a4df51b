"""Reduce pictures to 256 colours, which halves their size without a visible difference.

python docs/smaller.py [FILE ...]    # all in docs/figures, or these
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

FIGURES = Path(__file__).resolve().parent / "figures"


def smaller(path: Path) -> None:
    """Rewrite a picture with 256 colours, if it has more."""
    with Image.open(path) as picture:
        if picture.mode == "P":
            return
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or map(str, sorted(FIGURES.glob("*.png")))):
        smaller(file)
