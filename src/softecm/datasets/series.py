"""Time series: Cylinder-Bell-Funnel, the Bell+Funnel mixture, and public sets read with aeon."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from softecm.readers.series import as_data, from_aeon

SHAPES = ("cylinder", "bell", "funnel")


def _shape(kind: str, length: int, rng: np.random.RandomState, scale: float = 1.0) -> NDArray[np.float64]:
    """Return one event of Saito's recipe: random start, length and height."""
    start = rng.randint(length // 8, length // 4 + 1)
    end = start + rng.randint(length // 4, 3 * length // 4 + 1)
    t = np.arange(length)
    inside = (t >= start) & (t <= end)
    ramp = (t - start) / (end - start)
    form = {"cylinder": np.ones(length), "bell": ramp, "funnel": 1.0 - ramp}[kind]
    return scale * (6.0 + rng.standard_normal()) * inside * form


def make_cbf(
    n_per_class: int = 50,
    *,
    length: int = 128,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate Cylinder, Bell and Funnel: three shapes with random start, length and height, plus noise.

    Parameters
    ----------
    n_per_class : int, default=50
    length : int, default=128
    noise : float, default=1.0
        Standard deviation of the noise of every step.
    random_state : int, RandomState or None

    Returns
    -------
    bunch : Bunch
        ``data`` (n, length, 1), sorted by class; ``target``; ``target_names``; ``DESCR``.

    Examples
    --------
    >>> make_cbf(2, random_state=0).data.shape
    (6, 128, 1)

    References
    ----------
    N. Saito, "Local feature extraction and its applications using a library of bases", Yale University, 1994.
    """
    rng = check_random_state(random_state)
    rows = [
        _shape(kind, length, rng) + noise * rng.standard_normal(length) for kind in SHAPES for _ in range(n_per_class)
    ]
    target = np.repeat(np.arange(3), n_per_class)
    description = f"Cylinder-Bell-Funnel: {n_per_class} series per class, of {length} steps, noise {noise:g}."
    return Bunch(data=np.stack(rows)[..., None], target=target, target_names=list(SHAPES), DESCR=description)


def make_bell_funnel_mixture(
    n_per_class: int = 50,
    *,
    length: int = 128,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate bells, funnels, and series with both: a bell in the first half and a funnel in the second (M-shaped).

    Parameters are those of :func:`make_cbf`.

    Returns
    -------
    bunch : Bunch
        ``data`` (n, length, 1); ``target``: 0 bell, 1 funnel, 2 both; ``target_names``; ``DESCR``.

    Examples
    --------
    >>> make_bell_funnel_mixture(2, random_state=0).target.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    rng = check_random_state(random_state)
    half = length // 2
    rows = [_shape(kind, length, rng) for kind in ("bell", "funnel") for _ in range(n_per_class)]
    for _ in range(n_per_class):
        rows.append(np.concatenate([_shape("bell", half, rng), _shape("funnel", length - half, rng)]))
    data = np.stack(rows) + noise * rng.standard_normal((3 * n_per_class, length))
    target = np.repeat(np.arange(3), n_per_class)
    description = f"{n_per_class} bells, {n_per_class} funnels and {n_per_class} series with a bell, then a funnel."
    return Bunch(data=data[..., None], target=target, target_names=["bell", "funnel", "both"], DESCR=description)


def load_series(name: str, *, split: str | None = "train") -> Bunch:
    """Load a set of the UEA/UCR archives, through aeon, or from the folder ``SOFTECM_DATA`` if set.

    Parameters
    ----------
    name : str
        Spelled as in the archives, for example "ERing".
    split : {"train", "test"} or None, default="train"
        None: both.

    Returns
    -------
    bunch : Bunch
        ``data``: (n, steps, channels), or a list of (steps, channels) if lengths differ; ``target`` (int);
        ``target_names``; ``DESCR``.
    """
    try:
        from aeon.datasets import load_classification
    except ImportError as error:
        raise ImportError("reading .ts files needs aeon: pip install 'softecm[series]'.") from error
    folder = os.environ.get("SOFTECM_DATA")
    place = None if folder is None else str(Path(folder) / "timeseries")
    try:
        X, y = load_classification(name, split=split, extract_path=place)
    except Exception as error:
        raise ValueError(
            f"the data set {name!r} could not be read ({type(error).__name__}: {error}). aeon downloads it where there is a "
            "network; or set SOFTECM_DATA to a folder with timeseries/NAME/NAME_TRAIN.ts."
        ) from error
    names, target = np.unique(np.asarray(y), return_inverse=True)
    return Bunch(
        data=as_data(from_aeon(X)),
        target=target,
        target_names=names.tolist(),
        DESCR=f"{name} ({split or 'train and test'}), UEA/UCR archive, read with aeon.",
    )


def load_ering(split: str | None = "train") -> Bunch:
    """Load ERing: six finger gestures, 4 channels of 65 steps; the paper uses the training part (30 series)."""
    return load_series("ERing", split=split)


def load_basic_motions(split: str | None = "train") -> Bunch:
    """Load BasicMotions: standing, walking, running, badminton; 6 channels, 100 steps; the paper uses the training part."""
    return load_series("BasicMotions", split=split)


def load_atrial_fibrillation(split: str | None = "train") -> Bunch:
    """Load AtrialFibrillation: three heart rhythms, 2 channels of 640 steps; the paper uses the training part."""
    return load_series("AtrialFibrillation", split=split)
