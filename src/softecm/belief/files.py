"""Credal partitions in files: safetensors with a JSON description; reading a file runs no code."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._atomic import write_bytes
from softecm._errors import ReadError, shown
from softecm.belief.focal import MOST_SETS, FocalSets

if TYPE_CHECKING:
    from softecm.belief.partition import CredalPartition

FORMAT = "softecm.credal-partition"
FORMAT_VERSION = 1


def write(partition: CredalPartition, path: str | os.PathLike[str]) -> None:
    """Write masses and focal sets atomically."""
    from safetensors.numpy import save

    about = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "n_clusters": partition.n_clusters,
        "sets": partition.focal_sets.sets,
        **({"names": partition.focal_sets.names} if partition.focal_sets.names else {}),
    }
    masses = np.ascontiguousarray(partition.masses)
    write_bytes(path, save({"masses": masses}, metadata={"softecm": json.dumps(about)}))


def read(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], FocalSets]:
    """Return masses and focal sets of a file; the caller validates the mass functions."""
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    with open(name, "rb"):  # the usual errors for a missing or unreadable file, or a folder
        pass
    try:
        with safe_open(name, framework="numpy") as file:
            about = (file.metadata() or {}).get("softecm")
            masses = file.get_tensor("masses") if "masses" in file.keys() else None  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise unreadable(name, f"it is truncated, damaged or of another kind ({shown(str(error))})") from None
    if about is None or masses is None:
        raise unreadable(name, "it holds something else")
    focal = _saved_focal_sets(name, about, masses)
    return np.asarray(masses, dtype=np.float64), focal


def _saved_focal_sets(name: str, about: str, masses: NDArray[np.floating]) -> FocalSets:
    """Return the focal sets of a file, validated and consistent with its masses."""
    try:
        description = json.loads(about)
        form, version, count, listed = (description[key] for key in ("format", "version", "n_clusters", "sets"))
        names = description.get("names", [])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise unreadable(name, "its description is damaged") from None
    if form != FORMAT:
        raise unreadable(name, f"it claims to hold {shown(form)}")
    if version != FORMAT_VERSION:
        raise unreadable(name, f"it has version {shown(version)} and this release reads {FORMAT_VERSION}")
    # Every cluster is a focal set, so the table bounds the count before anything of that size is allocated.
    fits = masses.ndim == 2 and isinstance(listed, list) and masses.shape[1] == len(listed) + 1 <= MOST_SETS + 1
    if not (fits and masses.dtype.kind == "f" and isinstance(count, int) and 1 <= count <= len(listed)):
        raise unreadable(name, "its masses and its focal sets don't fit together")
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise unreadable(name, "the names of its clusters are not text")
    try:
        focal = FocalSets.of(count, listed).renamed(names)
    except (ValueError, TypeError) as error:
        raise unreadable(name, f"its focal sets are not sets of clusters ({shown(str(error), 200)})") from None
    if [list(members) for members in focal.sets] != listed:
        raise unreadable(name, "its focal sets repeat or are out of order")
    return focal


def unreadable(name: str, reason: str) -> ReadError:
    """Return the error for a file without a partition."""
    return ReadError(
        f"{name} must be a credal partition saved by softecm; {reason}. Write it again with CredalPartition.save."
    )
