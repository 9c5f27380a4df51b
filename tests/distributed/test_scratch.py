"""Arrays in the scratch file are read back unchanged, in any order."""

import numpy as np
import pytest

from softecm.distributed.scratch import Place, ScratchFile


def test_arrays_come_back(rng: np.random.Generator) -> None:
    arrays = [rng.normal(size=(3, 4)), np.arange(5, dtype=np.int32), np.empty((0, 2)), np.array(True)]
    arrays.append(np.asfortranarray(rng.normal(size=(4, 3)).astype(np.float32)))
    file = ScratchFile()
    places = [file.put(array) for array in arrays]
    for place, array in reversed(list(zip(places, arrays, strict=True))):
        found = file.get(place)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
    with pytest.raises(OSError, match="is incomplete"):
        file.get(Place(10**6, "<f8", (3,)))
    file.close()
