"""Clustering algorithms, imported on first access; the package lists their names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from softecm import _WHERE

__all__ = sorted(name for name, where in _WHERE.items() if where.startswith(f"{__name__}."))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
