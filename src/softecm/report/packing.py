"""Values for the page's script: numbers packed as base64, words as they are."""

from __future__ import annotations

import base64
import json
import math

import numpy as np
from numpy.typing import ArrayLike

LARGEST = float(np.finfo(np.float32).max)


def packed(values: ArrayLike, kind: str) -> str:
    """Numbers of this kind as base64."""
    if kind == "<f4":  # what is beyond its range is as far as can be
        values = np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode("ascii")


def finite(value: float) -> float | None:
    """A number for JSON; None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def to_script(value: object) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
