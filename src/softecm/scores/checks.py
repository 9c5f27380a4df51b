"""Validation of scores' arguments: labels of any kind, credal partitions, of the same objects."""

from __future__ import annotations

from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._checks import plain_array
from softecm.belief import CredalPartition

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
Labels: TypeAlias = ArrayLike | CredalPartition


def two_labels(labels_true: Labels, labels_pred: Labels, at_least: int = 2) -> tuple[IntArray, IntArray]:
    """Return two labellings of the same objects, as numbers from 0."""
    truth = label_array("labels_true", labels_true, at_least)
    answer = label_array("labels_pred", labels_pred, at_least)
    same_length("labels_true", len(truth), "labels_pred", len(answer))
    return truth, answer


def label_array(name: str, labels: Labels, at_least: int = 2) -> IntArray:
    """Return labels as consecutive numbers from 0."""
    values = labels.labels() if isinstance(labels, CredalPartition) else plain_array(labels, name)
    if values.ndim != 1:
        raise ValueError(f"{name} must be a flat list, one label for each object; got shape {values.shape}.")
    _enough(name, len(values), at_least)
    try:
        distinct, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"{name} must hold labels of one kind, all numbers or all text; got a mixture. "
            f"Turn them into text with [str(label) for label in {name}]."
        ) from None
    if any(value != value for value in distinct[-1:]):  # NaN sorts last
        raise ValueError(f"{name} must not hold NaN; got some. Drop those objects or give them a label.")
    return cast(IntArray, numbers.astype(np.intp))


def as_credal(name: str, labels: Labels) -> CredalPartition:
    """Return a partition, or labels as a partition without uncertainty."""
    if isinstance(labels, CredalPartition):
        return as_partition(name, labels)
    return CredalPartition.from_hard(label_array(name, labels))


def as_partition(name: str, partition: object, at_least: int = 2) -> CredalPartition:
    """Return a credal partition with enough objects, or raise an error."""
    if not isinstance(partition, CredalPartition):
        raise TypeError(
            f"{name} must be a CredalPartition; got {type(partition).__name__}. "
            f"Estimators have one in partition_; CredalPartition.from_hard makes one of labels."
        )
    _enough(name, len(partition), at_least)
    return partition


def _enough(name: str, n: int, at_least: int) -> None:
    if n < at_least:
        why = "There is nothing to score." if n == 0 else "Scores compare pairs, and one object makes none."
        raise ValueError(f"{name} must have at least {_objects(at_least)}; got {n}. {why}")


def same_length(name: str, n: int, other: str, m: int) -> None:
    """Raise an error for different numbers of objects."""
    if n != m:
        raise ValueError(f"{name} and {other} must describe the same objects; got {n} and {m} of them.")


def _objects(n: int) -> str:
    return "one object" if n == 1 else "two objects"
