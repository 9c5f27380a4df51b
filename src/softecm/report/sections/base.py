"""What a section of the page is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from softecm.report.data import ReportData
    from softecm.report.inputs import FittedModel

Json: TypeAlias = dict[str, Any]


class Section:
    """A part of the page about some fields of the report; its template and its script are called as its module.

    ``templates/sections/NAME.html`` is drawn with the section as ``own``, and ``assets/NAME.js``, where there is one, with
    what ``payload`` says. A section is on the page when it is listed in :data:`softecm.report.sections.SECTIONS`.
    """

    key: ClassVar[str]  # its anchor
    link: ClassVar[str]  # what the navigation calls it

    def __init__(self, data: ReportData) -> None:
        self.data = data

    @property
    def template(self) -> str:
        """Where its HTML is."""
        return f"sections/{type(self).__module__.rpartition('.')[2]}.html"

    @property
    def is_shown(self) -> bool:
        """Whether there is something to show."""
        return True

    def payload(self) -> Json:
        """What its script draws."""
        return {}

    def facts(self) -> Json:
        """What it says, for machines: numbers as numbers, None where there are none."""
        return {}

    def without_values(self, model: FittedModel) -> Json:
        """Its fields of a report that shows no cell, no name and no prototype; a field that nobody names stays empty."""
        return {}
