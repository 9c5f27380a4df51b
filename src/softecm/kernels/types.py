"""Array types of the kernels, by content."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Real: TypeAlias = np.float32 | np.float64
Reals: TypeAlias = NDArray[np.float32 | np.float64]
"""Floats of either size; kernels receive the size."""
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.integer]
"""Integers of any size."""
Bools: TypeAlias = NDArray[np.bool_]
