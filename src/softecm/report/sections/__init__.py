"""The sections of the page, in order: each has a file with a class, a template of the same name, and a line here."""

from softecm.report.sections.base import Section
from softecm.report.sections.certainty import Certainty
from softecm.report.sections.columns import ColumnsRead
from softecm.report.sections.findings import Findings
from softecm.report.sections.fit import FitSection
from softecm.report.sections.groups import GroupsSection
from softecm.report.sections.map import MapSection
from softecm.report.sections.masses import MassPlot
from softecm.report.sections.objects import ObjectsSection
from softecm.report.sections.what_if import WhatIf

SECTIONS: tuple[type[Section], ...] = (
    Findings,
    WhatIf,
    MapSection,
    MassPlot,
    GroupsSection,
    ObjectsSection,
    Certainty,
    ColumnsRead,
    FitSection,
)
