"""The section with the masses of all objects over all sets; its script draws what all sections share."""

from __future__ import annotations

from softecm.report.sections.base import Section


class MassPlot(Section):
    """Masses of all objects."""

    key, link = "masses", "Masses"
