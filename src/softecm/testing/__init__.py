"""Checks for people who write a semi-metric of their own, and the lists that the contract tests walk through."""

from softecm.testing.lists import all_estimators, all_metrics
from softecm.testing.semimetric import Check, SemiMetricReport, check_semimetric

__all__ = ["Check", "SemiMetricReport", "all_estimators", "all_metrics", "check_semimetric"]
