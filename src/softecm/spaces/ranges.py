"""Between which sizes numbers can be squared and added up without leaving the range of floats."""

from __future__ import annotations

import torch

LARGEST = 1e150  # squares of larger numbers, and sums of them, leave the range of float64
_LARGEST = {torch.float64: LARGEST, torch.float32: 1e18}
_SMALLEST = {
    torch.float64: 1e-140,
    torch.float32: 1e-15,
}  # squares of smaller differences lose their digits, then vanish


def refuse_range(low: float, high: float, dtype: torch.dtype = torch.float64, what: str = "X") -> None:
    """ValueError where numbers from ``low`` to ``high`` are too large to be squared, or differ too little."""
    refuse_large(max(-low, high), dtype, what)
    if 0.0 < high - low < _SMALLEST[dtype]:
        raise ValueError(
            f"{what} must hold numbers that differ by {_SMALLEST[dtype]:g} at least; the largest difference is "
            f"{high - low:g}. Squares of smaller ones vanish: multiply by a constant first{_wider(dtype)}."
        )


def refuse_large(largest: float, dtype: torch.dtype = torch.float64, what: str = "X") -> None:
    """ValueError where the square of the largest number overflows."""
    if largest > _LARGEST[dtype]:
        raise ValueError(
            f"{what} must hold numbers of at most {_LARGEST[dtype]:g} in size; got {largest:g}. "
            f"Squares of larger ones overflow: divide by a constant first{_wider(dtype)}."
        )


def _wider(dtype: torch.dtype) -> str:
    return "" if dtype == torch.float64 else ", or use dtype='float64'"
