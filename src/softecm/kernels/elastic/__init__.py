"""Elastic distances between series: one recursion over alignments, many rules for the cost of its steps."""

from softecm.kernels.elastic.api import AlignmentSums, elastic, elastic_sums
from softecm.kernels.elastic.rules import Rule, adtw, erp, matching, msm, twe, wdtw

__all__ = ["AlignmentSums", "Rule", "adtw", "elastic", "elastic_sums", "erp", "matching", "msm", "twe", "wdtw"]
