"""Tests of every property the algorithms rely on, on a few objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import make_frame
from softecm.distances.auto import resolve_metric
from softecm.distances.base import SemiMetric
from softecm.spaces.base import Encoded
from softecm.testing.capabilities import CAPABILITIES, same_in_blocks
from softecm.testing.properties import PROPERTIES, same_on_gpu
from softecm.testing.trial import NotTriedError, Trial


@dataclass(frozen=True)
class Check:
    """One property of a semi-metric: whether it holds, a counterexample, or why it was not tested."""

    name: str
    holds: bool
    detail: str = ""
    skipped: bool = False

    @property
    def word(self) -> str:
        """The word in the table."""
        return "skipped" if self.skipped else "holds" if self.holds else "FAILS"


@dataclass(frozen=True)
class SemiMetricReport:
    """Which properties of a semi-metric hold; true if all do."""

    metric: str
    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The properties that don't hold."""
        return tuple(c for c in self.checks if not c.holds)

    def raise_for_failures(self) -> None:
        """Raise an AssertionError that names all failures, if any."""
        if self.failures:
            listed = "\n".join(f"  {c.name}: {c.detail}" for c in self.failures)
            raise AssertionError(f"{self.metric} is not a semi-metric that softecm can use:\n{listed}")

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a data frame."""
        return make_frame(
            {
                "property": [c.name for c in self.checks],
                "holds": [c.holds for c in self.checks],
                "detail": [c.detail for c in self.checks],
            },
            backend,
        )

    def __str__(self) -> str:
        width = max(len(c.name) for c in self.checks)
        lines = [f"{c.name:<{width}}  {c.word:<7}  {c.detail}".rstrip() for c in self.checks]
        return "\n".join([self.metric, *lines])


def check_semimetric(
    metric: object,
    x: Encoded | NDArray[np.number] | None = None,
    *,
    prototypes: Tensor | None = None,
    n: int = 8,
    seed: int = 0,
    tol: float = 1e-6,
) -> SemiMetricReport:
    """Test every property the algorithms rely on, on a few objects.

    First the requirements of ``pairwise``; then each capability the metric claims (closed form, compiled passes,
    learner), compared with ``pairwise``; then the same on a GPU, if there is one.

    Parameters
    ----------
    metric : SemiMetric, registered name or torch function
    x : tensor or array (n, *shape), optional
        Objects to test with, also used as prototypes. By default the metric's space generates some.
    prototypes : tensor (n, *shape), optional
        The objects as prototypes, if their encoding differs and only a fitted space can convert them: ``space.starts(x,
        torch.arange(len(x)))``.
    n : int, default=8
        Number of objects to generate.
    seed : int, default=0
    tol : float, default=1e-6
        Tolerance relative to the largest distance.

    Returns
    -------
    report : SemiMetricReport
        Prints as a table; false if a property fails.

    Examples
    --------
    >>> from softecm.testing import check_semimetric
    >>> bool(check_semimetric("manhattan"))
    True
    >>> report = check_semimetric(lambda x, v: (x[:, None] - v).sum(-1))
    >>> [check.name for check in report.failures]
    ['symmetric', 'never negative']
    """
    chosen = resolve_metric(metric, None)
    name = chosen.name if chosen.name not in ("", "function") else getattr(metric, "__name__", type(metric).__name__)
    if isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.dtype.kind not in "biufc"):
        raise TypeError(
            f"x must be a tensor or an array of numbers, which prototypes can move among; got {type(x).__name__} of "
            f"{type(x[0]).__name__ if len(x) else 'nothing'}. Words and other things without means are compared by a "
            "matrix of their distances: SoftECM(metric='precomputed').fit(D)."
        )
    objects = torch.as_tensor(x) if isinstance(x, np.ndarray) else x
    return SemiMetricReport(name, tuple(_checks(_trial(chosen, objects, prototypes, n, seed, tol))))


def _trial(metric: SemiMetric, x: Encoded | None, prototypes: Tensor | None, n: int, seed: int, tol: float) -> Trial:
    objects = metric.samples(torch.Generator().manual_seed(seed), n) if x is None else x
    if isinstance(objects, Tensor) and objects.is_floating_point():
        objects = objects.double()
    fitted = metric.fitted(objects, None)
    if prototypes is not None:
        points = prototypes
    elif isinstance(objects, Tensor) and not metric.discrete:
        points = objects
    else:
        points = metric.make_space().starts(objects, torch.arange(len(objects)))
    return Trial(metric, fitted, objects, points, tol)


def _checks(trial: Trial) -> Iterator[Check]:
    for title, check in PROPERTIES.items():
        checks = _run_check(title, check, trial)
        yield from checks
        if title in ("shape", "finite") and not all(c.holds for c in checks):
            return  # nothing else can be tested
    for title, check in CAPABILITIES.items():
        yield from _run_check(title, check, trial)
    yield from _run_check("learned alike from blocks", same_in_blocks, trial)
    yield from _on_gpu(trial)


def _run_check(title: str, check: Callable[[Trial], str], trial: Trial) -> list[Check]:
    try:
        detail = check(trial)
    except NotTriedError as reason:
        return [Check(title, True, str(reason), skipped=True)] if str(reason) else []
    except Exception as error:  # errors of user code are part of the result
        detail = f"raised {type(error).__name__}: {error}"
    return [Check(title, not detail, detail)]


def _on_gpu(trial: Trial) -> Iterator[Check]:
    """Repeat the capabilities that have other code on a GPU."""
    if not trial.metric.gpu or not torch.cuda.is_available():
        reason = "there is no GPU here" if trial.metric.gpu else "the metric says it has code for the CPU only"
        yield Check("same on a GPU", True, reason, skipped=True)
        return
    yield from _run_check("same on a GPU", same_on_gpu, trial)
    for title, check in CAPABILITIES.items():
        yield from _run_check(f"{title} (GPU)", check, trial.to("cuda"))
