"""Arrays put aside in a temporary file and read back one by one."""

from __future__ import annotations

import tempfile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Place(NamedTuple):
    """Where an array lies in the file."""

    offset: int
    dtype: str
    shape: tuple[int, ...]


class ScratchFile:
    """A temporary file (in ``TMPDIR``) of arrays; it has no name, so that it is gone when the process is.

    Examples
    --------
    >>> file = ScratchFile()
    >>> place = file.put(np.array([1.0, 2.0]))
    >>> file.get(place).tolist()
    [1.0, 2.0]
    >>> file.close()
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="softecm-", buffering=0)  # noqa: SIM115 -- closed by close()

    def put(self, array: NDArray[np.generic]) -> Place:
        """Write an array at the end."""
        array = np.asarray(array, order="C")
        place = Place(self._file.seek(0, 2), array.dtype.str, array.shape)
        view, done = _bytes_of(array), 0
        while done < len(view):
            done += self._file.write(view[done:])
        return place

    def get(self, place: Place) -> NDArray[np.generic]:
        """Read one back, without a copy of anything else."""
        array: NDArray[np.generic] = np.empty(place.shape, dtype=place.dtype)
        view, done = _bytes_of(array), 0
        self._file.seek(place.offset)
        while done < len(view):
            count = self._file.readinto(view[done:])
            if not count:
                raise OSError("the scratch file ended early: was the temporary folder emptied?")
            done += count
        return array

    def close(self) -> None:
        """Give the room back."""
        self._file.close()


def _bytes_of(array: NDArray[np.generic]) -> memoryview:
    """The array's own memory."""
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
