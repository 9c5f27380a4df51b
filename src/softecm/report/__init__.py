"""One HTML file that shows a credal partition: offline, for screen, phone, printer and screen reader."""

from softecm.report.build import build as build
from softecm.report.columns import Attribute as Attribute
from softecm.report.comparison import Comparison as Comparison
from softecm.report.comparison import compare as compare
from softecm.report.group_changes import GroupChange as GroupChange
from softecm.report.group_changes import GroupChanges as GroupChanges
from softecm.report.inputs import choose_rows as choose_rows
from softecm.report.inputs import noteworthy as noteworthy
from softecm.report.page import ReportData as ReportData
from softecm.report.projection import landmark_mds as landmark_mds
from softecm.report.reasons import Explanation as Explanation
from softecm.report.reasons import Part as Part
from softecm.report.words import three_sentences as three_sentences
