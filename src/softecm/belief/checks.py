"""What a credal partition may be made of: numbers that are masses, labels that are clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._text import place
from softecm.belief.transforms import FloatArray

IntArray = NDArray[np.intp]

SUM_TOLERANCE = 1e-6  # what float32 masses keep to
NEGATIVE_TOLERANCE = 1e-12


def float_array(name: str, values: ArrayLike) -> FloatArray:
    """An array of floats, or an error that names the parameter."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a table of numbers with rows of equal length; got {type(values).__name__} that is not one."
        ) from None


def sound(masses: FloatArray) -> FloatArray:
    """The masses of a fit, unless something left the range of floats on the way: the last thing that is looked at."""
    try:
        return valid(masses)
    except ValueError as error:
        raise ValueError(
            f"No masses can be given for these data: {error} Numbers left the range of floats on the way: bring columns to "
            "a similar scale, and alpha, beta, delta and lam to usual values."
        ) from error


def valid(masses: FloatArray, name: str = "masses") -> FloatArray:
    """Masses as they are, or without rounding below zero; an error where they are no mass functions."""
    with np.errstate(all="ignore"):
        sums = masses @ np.ones(masses.shape[1])
        wrong = ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)  # catches NaN, too
    lowest = masses.min(initial=0.0)
    if not wrong.any() and lowest >= -NEGATIVE_TOLERANCE:
        return np.maximum(masses, 0.0) if lowest < 0 else masses
    if not np.isfinite(masses).all():
        row, column = np.argwhere(~np.isfinite(masses))[0]
        raise ValueError(
            f"{name} must be finite; got {masses[row, column]} in {place('row', int(row), name)}, column {column + 1}. "
            f"Look for missing or infinite values in the data they come from."
        )
    if lowest < -NEGATIVE_TOLERANCE:
        row, column = np.unravel_index(masses.argmin(), masses.shape)
        raise ValueError(
            f"{name} must not be negative; got {lowest} in {place('row', int(row), name)}, column {column + 1}. "
            f"Clip rounding errors to 0 and divide rows by their sums."
        )
    row = int(wrong.argmax())
    raise ValueError(
        f"{name} must add up to 1 in every row; got {sums[row]:.9g} in {place('row', row, name)}. Divide each row by its "
        f"sum, or add what is missing to the empty set."
    )


def frozen(masses: FloatArray) -> FloatArray:
    """A read-only array nobody else can write to; copied unless it is one already."""
    owner: object = masses
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        if owner.base is None:
            return masses
        owner = owner.base
    own = np.array(masses, order="C")
    own.flags.writeable = False
    return own


def hard_labels(labels: ArrayLike) -> IntArray:
    """Labels as integers of at least -1, or an error."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"labels must be a flat list, one for each object; got shape {values.shape}.")
    remedy = "Turn names into numbers with np.unique(labels, return_inverse=True)[1]."
    if values.size and values.dtype.kind not in "biuf":
        raise ValueError(f"labels must be integers; got {values.dtype} values such as {values[0]!r}. {remedy}")
    odd = ~(np.isfinite(values) & (values == np.round(values))) if values.dtype.kind == "f" else values < -1
    if odd.any():
        raise ValueError(f"labels must be integers of at least -1; got {values[odd][0]}. {remedy}")
    whole = values.astype(np.intp)
    if whole.min(initial=0) < -1:
        raise ValueError(f"labels must be at least -1, which marks outliers; got {whole.min()}. {remedy}")
    return whole
