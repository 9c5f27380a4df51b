"""How much memory is free, and sizes for people."""

from __future__ import annotations

import os
from pathlib import Path


def free() -> float:
    """Bytes that are free, or all there are where that is not known."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4e9


def shown(size: float) -> str:
    """A size for people.

    Examples
    --------
    >>> shown(2.5e9), shown(3e6)
    ('2.5 GB', '3 MB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1e3:.3g} kB"
