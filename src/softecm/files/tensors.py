"""Tensors with a description in one safetensors file with a checksum: the format of models and checkpoints."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._atomic import write_bytes
from softecm._errors import NotThere, ReadError, shown
from softecm._version import __version__
from softecm.files.expected import matches

Tensors = Mapping[str, NDArray[np.generic]]  # of any type supported by safetensors
WRITERS = {
    "model": "An estimator's save(path) writes one, softecm cluster a folder with one.",
    "checkpoint": "A fit with checkpoint= writes one.",
}


def tensor_file(path: str | os.PathLike[str], text: str, tensors: Tensors) -> None:
    """Write tensors with a description and a checksum of both, atomically."""
    from safetensors.numpy import save

    write_bytes(path, save(dict(tensors), metadata={"softecm": text, "sha256": _digest(text, tensors)}))


def read_description(
    path: str | os.PathLike[str], kind: str, reads: int, what: str
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """Return description and tensors of a file of this kind and version, verified by its checksum.

    Parameters
    ----------
    path : str or path
    kind : str
        Required "format" in its description.
    reads : int
        The supported version of that format.
    what : {"model", "checkpoint"}
        For the error messages.
    """
    metadata, tensors = _parts(path, what)
    try:
        description = json.loads(metadata["softecm"])
    except (KeyError, ValueError, RecursionError) as error:
        raise ReadError(
            f"{path} was not written by softecm: it has no description. Use the file save() wrote."
        ) from error
    if not matches(description, dict) or description.get("format") != kind:
        raise ReadError(f"{path} is not a softecm {what}. {WRITERS[what]}")
    version = description.get("format_version")
    if version == reads and metadata.get("sha256") != _digest(metadata["softecm"], tensors):
        raise ReadError(f"{path} is damaged: its content does not match its checksum. Copy or save the {what} again.")
    if version != reads:
        raise ReadError(
            f"{path} has {what} format {shown(version)}, and this version of softecm ({__version__}) reads {reads}. "
            f"It was written by softecm {shown(description.get('softecm_version'))}: use that version, or fit again."
        )
    return description, tensors


def _parts(path: str | os.PathLike[str], what: str) -> tuple[dict[str, str], dict[str, NDArray[np.generic]]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="np") as file:
            metadata = file.metadata() or {}
            return metadata, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise NotThere(f"{path} does not exist: check its name and the folder you are in. {WRITERS[what]}") from error
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise ReadError(f"{path} is not a {what} file, or is cut short{why}. {WRITERS[what]}") from error


def _digest(text: str, tensors: Tensors) -> str:
    """Return a digest of the whole content, so that any changed bit is detected."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        value = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {value.dtype} {value.shape}".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
