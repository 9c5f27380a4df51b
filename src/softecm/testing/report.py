"""What ``check_semimetric`` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softecm._checks import make_frame


@dataclass(frozen=True)
class Check:
    """One property of a semi-metric: whether it holds, and where it does not; or why it was not tried."""

    name: str
    holds: bool
    detail: str = ""
    skipped: bool = False

    @property
    def word(self) -> str:
        """What the table says."""
        return "skipped" if self.skipped else "holds" if self.holds else "FAILS"


@dataclass(frozen=True)
class SemiMetricReport:
    """Which properties of a semi-metric hold; true when all do."""

    metric: str
    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The properties that don't hold."""
        return tuple(c for c in self.checks if not c.holds)

    def raise_for_failures(self) -> None:
        """Raise an AssertionError that names what fails, where anything does."""
        if self.failures:
            listed = "\n".join(f"  {c.name}: {c.detail}" for c in self.failures)
            raise AssertionError(f"{self.metric} is not a semi-metric that softecm can use:\n{listed}")

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a data frame."""
        return make_frame(
            {
                "property": [c.name for c in self.checks],
                "holds": [c.holds for c in self.checks],
                "detail": [c.detail for c in self.checks],
            },
            backend,
        )

    def __str__(self) -> str:
        width = max(len(c.name) for c in self.checks)
        lines = [f"{c.name:<{width}}  {c.word:<7}  {c.detail}".rstrip() for c in self.checks]
        return "\n".join([self.metric, *lines])
