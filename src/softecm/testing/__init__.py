"""Checks for user-defined semi-metrics, and the lists used by the contract tests."""

from softecm.testing.lists import all_estimators, all_metrics
from softecm.testing.semimetric import Check, SemiMetricReport, check_semimetric

__all__ = ["Check", "SemiMetricReport", "all_estimators", "all_metrics", "check_semimetric"]
