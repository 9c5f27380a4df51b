"""The section on findings: three sentences, and the number of objects of each kind."""

from __future__ import annotations

from softecm.report.fit import own_warnings
from softecm.report.inputs import FittedModel
from softecm.report.sections.base import Json, Section
from softecm.report.words import three_sentences


class Findings(Section):
    """The findings, in words and counts."""

    key, link = "findings", "Findings"

    @property
    def sentences(self) -> tuple[str, str, str]:
        """Sentences about the groups, the objects between them, and the outliers."""
        data = self.data
        return three_sentences(data.partition, data.ids, merged=data.merged, noun=data.noun, clear=data.clear)

    @property
    def decisions(self) -> dict[str, int]:
        """The number of objects with each word."""
        return self.data.partition.decisions(self.data.clear).counts()

    def payload(self) -> Json:
        """Return the number of objects and the mass of each set."""
        return {
            "merged": self.data.merged,
            "counts": [one.count for one in self.sets],
            "decisions": self.decisions,
            "means": [one.mean for one in self.sets],
            "clear": self.data.clear,
        }

    def facts(self) -> Json:
        """The same."""
        partition = self.data.partition
        return {
            "sentences": list(self.sentences),
            "n_objects": len(partition),
            "n_clusters": partition.n_clusters,
            "cluster_names": list(partition.focal_sets.cluster_names),
            "objects_by_set": {one.label: one.count for one in self.sets},
            "decisions": self.decisions,
            "clear": self.data.clear,
            "scores": dict(self.data.scores),
            "warnings": list(self.data.warnings),
        }

    def without_values(self, model: FittedModel) -> Json:
        """Return only the model's own warnings: others may quote a cell."""
        warnings = own_warnings(model, self.data.warnings)
        return {"merged": self.data.merged, "scores": self.data.scores, "warnings": warnings}
