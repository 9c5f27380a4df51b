"""All classes with a contract, listed once."""

from __future__ import annotations

from softecm.distances import SEMI_METRICS, SemiMetric


def all_metrics() -> list[tuple[str, type[SemiMetric]]]:
    """Return names and classes of the registered semi-metrics.

    Examples
    --------
    >>> from softecm.testing import all_metrics
    >>> [name for name, _ in all_metrics()][:3]
    ['sqeuclidean', 'euclidean', 'manhattan']
    """
    return list(SEMI_METRICS.items())


def all_estimators() -> list[tuple[str, type]]:
    """Return names and classes of softecm's public estimators, by name.

    Examples
    --------
    >>> from softecm.testing import all_estimators
    >>> "SoftECM" in dict(all_estimators())
    True
    """
    from softecm import algorithms

    return [(name, getattr(algorithms, name)) for name in algorithms.__all__]
