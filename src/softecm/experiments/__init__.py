"""The paper's tables and figures, each a file; ``softecm reproduce`` runs them.

An experiment is a module with ``run(runs, command) -> Page``: from the options and the shared runs to a page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softecm.experiments.page import Page
    from softecm.experiments.runs import Runs


@dataclass(frozen=True)
class Experiment:
    """A name on the command line, the module behind it, and what it shows."""

    name: str
    module: str
    text: str
    needs_data: bool = False

    def load(self) -> Callable[[Runs, str], Page]:
        """The module's ``run``, imported when it is wanted."""
        function: Callable[[Runs, str], Page] = import_module(f"softecm.experiments.{self.module}").run
        return function


_ALL = (
    Experiment("diamond", "diamond", "section 5.1: twelve points, ECM and Soft-ECM at two lambdas"),
    Experiment("cbf", "cbf", "section 5.3: Cylinder-Bell-Funnel with L2 and Soft-DTW"),
    Experiment("mixture", "mixture", "section 5.3: bells, funnels, and series that are both"),
    Experiment("table", "table", "Table 2: seven methods on nine data sets, two protocols", needs_data=True),
    Experiment("lambda", "lambdas", "the figure of N* over beta and lambda, merged cells marked", needs_data=True),
    Experiment("rules", "rules", "which rule finds the better partition", needs_data=True),
)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}

__all__ = ["EXPERIMENTS", "Experiment"]
