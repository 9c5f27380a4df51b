"""The paper's tables and figures, one file each; ``softecm reproduce`` runs them.

An experiment is a module with ``run(runs, command) -> Page``: from the options and the shared runs to a page. The
package ``as_coded`` imitates the authors' code if it differs from their text: it adds to the pages of some experiments
and is optional; nothing else depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softecm_paper.page import Page
    from softecm_paper.runs import Runs

ALL, AS_CODED = "all", "as-coded"
PROTOCOLS = (ALL, AS_CODED, "as-written", "recommended")


@dataclass(frozen=True)
class Experiment:
    """The name of an experiment on the command line, its module, and its content."""

    name: str
    module: str
    text: str
    needs_data: bool = False

    def load(self, protocol: str = ALL) -> Callable[[Runs, str], Page]:
        """Return the module's ``run``, imported on demand, with the additions of ``as_coded``."""
        run: Callable[[Runs, str], Page] = import_module(f"softecm_paper.{self.module}").run
        added = _added(self.name)
        if protocol not in (ALL, AS_CODED):
            if self.name != "table":
                raise ValueError(f"only table has the protocol {protocol}; got {self.name}. Leave --protocol out.")
            return run
        if protocol == AS_CODED:
            if added is None:
                names = ", ".join(name for name in EXPERIMENTS if _added(name) is not None)
                raise ValueError(f"{self.name} has no protocol {AS_CODED}; those that have: {names or 'none here'}.")
            run = added.run
        elif added is not None:
            run = added.with_others(run)
        return run


def _added(name: str) -> Any:
    """Return the module of ``as_coded`` for an experiment, or None."""
    package = "softecm_paper.as_coded"
    if find_spec(package) is None or name not in import_module(package).ADDED:
        return None
    return import_module(f"{package}.{name}")


_ALL = (
    Experiment("diamond", "diamond", "section 5.1: twelve points, ECM and Soft-ECM at two lambdas"),
    Experiment("cbf", "cbf", "section 5.3: Cylinder-Bell-Funnel with L2 and Soft-DTW"),
    Experiment("mixture", "mixture", "section 5.3: bells, funnels, and series that are both"),
    Experiment("table", "table", "Table 2: seven methods on nine data sets, several protocols", needs_data=True),
    Experiment("lambda", "lambdas", "the figure of N* over beta and lambda, merged cells marked", needs_data=True),
    Experiment("rules", "rules", "which rule finds the better partition", needs_data=True),
)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}

__all__ = ["EXPERIMENTS", "PROTOCOLS", "Experiment"]
