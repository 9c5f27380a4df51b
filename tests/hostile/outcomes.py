"""Valid outcomes of a hostile case: sound masses, or a sentence of ours."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def assert_sound(masses: Any) -> None:
    masses = np.asarray(masses)
    assert np.isfinite(masses).all()
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(1), 1.0, atol=1e-5)


def assert_sentence(error: Exception) -> None:
    """Exactly ValueError or TypeError: those of numerical libraries are subclasses or others."""
    assert type(error) in (ValueError, TypeError), repr(error)
    text = str(error)
    assert len(text) > 20, text
    assert text[-1] in ".!?)" or "\n" in text, text  # scikit-learn's messages may end with a list


def ends_well(case: Callable[[], Any]) -> Any:
    """The case's sound partition, or None after a sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            partition = case()
        except (ValueError, TypeError) as error:
            assert_sentence(error)
            return None
    assert_sound(partition.masses)
    return partition
