"""One HTML file that shows a credal partition: offline, for screen, phone, printer and screen reader."""

from softecm.report.build import build
from softecm.report.columns import Attribute
from softecm.report.comparison import Comparison, compare
from softecm.report.group_changes import GroupChange, GroupChanges
from softecm.report.inputs import choose_rows, noteworthy
from softecm.report.page import ReportData, render, write
from softecm.report.projection import landmark_mds
from softecm.report.reasons import Explanation, Part
from softecm.report.words import three_sentences

__all__ = [
    "Attribute",
    "Comparison",
    "Explanation",
    "GroupChange",
    "GroupChanges",
    "Part",
    "ReportData",
    "build",
    "choose_rows",
    "compare",
    "landmark_mds",
    "noteworthy",
    "render",
    "three_sentences",
    "write",
]
