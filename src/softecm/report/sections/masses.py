"""The section with the masses of all objects on all sets; its script uses the common data."""

from __future__ import annotations

from softecm.report.sections.base import Section


class MassPlot(Section):
    """Masses of all objects."""

    key, link = "masses", "Masses"
