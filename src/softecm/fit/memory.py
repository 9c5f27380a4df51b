"""How much memory a fit asks for, found out before it begins, and what to change where that is too much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

from softecm import _memory
from softecm.fit.settings import Settings
from softecm.objective.relaxations import Gap, Penalty

MASSES = 2  # copies of the masses of all objects at the end of a fit
MATRICES = 6  # of all sets by all sets in a prototype step that pays for the constraint, a run
ARMS = 2  # copies of the differences that are paid for, by all sets
PAIRS = 2  # copies of all dissimilarities, where an algorithm needs them


@dataclass(frozen=True)
class Size:
    """What the memory of a fit depends on."""

    n: int  # objects in memory
    f: int  # sets
    members: int  # clusters of all larger sets, counted in each
    runs: int  # solved at once with all sets
    pays: bool  # for the constraint, by matrices of all sets by all sets
    compares: bool = False  # all objects with all others

    @staticmethod
    def of(chosen: Settings, n: int, *, quadratic: bool, compares: bool) -> Size:
        """Of a fit; ``quadratic``: its metric's prototype step is a linear system."""
        asked = chosen.relaxation in (Penalty, Gap)
        pays = quadratic and (asked or (chosen.relaxation is None and chosen.lam is not None))
        sizes = chosen.focal.cardinalities[chosen.n_clusters :]
        runs = 1 if chosen.init.staged else chosen.n_init
        return Size(n, chosen.n_sets, int(sizes.sum()), runs, pays, compares)

    def bytes(self) -> float:
        """About so many."""
        step = float(self.runs) * MATRICES * self.f**2 + ARMS * float(self.members) * self.f if self.pays else 0.0
        pairs = PAIRS * float(self.n) ** 2 if self.compares else 0.0
        return 8.0 * (step + pairs + MASSES * float(self.n) * (self.f + 1))

    def up_to(self, c: int, k: int) -> Size:
        """The same with all sets of up to k of the c clusters."""
        f = sum(comb(c, j) for j in range(1, k + 1))
        return replace(self, f=f, members=sum(j * comb(c, j) for j in range(2, k + 1)))


def check_size(chosen: Settings, n: int, *, quadratic: bool, compares: bool = False) -> None:
    """Refuse a fit that would ask for more memory than is free, with what would fit."""
    size, free = Size.of(chosen, n, quadratic=quadratic, compares=compares), _memory.free()
    if size.bytes() <= free:
        return
    c, largest = chosen.n_clusters, int(chosen.focal.cardinalities.max())
    asks = f"the fit would ask for about {_memory.shown(size.bytes())}, and {_memory.shown(free)} are free"
    remedies = _remedies(size, c, largest, free)
    if remedies:
        raise ValueError(
            f"n_clusters must leave a number of sets that fits in memory; got n_clusters={c}, which makes {size.f} sets of "
            f"up to {largest} clusters: {asks}. Use {' or '.join(remedies)}."
        )
    what = "dissimilarities" if compares else f"masses on {size.f} sets"
    blocks = "" if compares else " Or give them in blocks (softecm.distributed)."
    raise ValueError(
        f"X must have so few objects that their {what} fit in memory; got n_samples={n}: {asks}. Fit a sample of them, and "
        f"predict_partition the rest.{blocks}"
    )


def _remedies(size: Size, c: int, largest: int, free: float) -> list[str]:
    """Settings that fit, each by itself."""
    found = []
    if size.pays and replace(size, pays=False).bytes() <= free:
        found.append("relaxation='exact'")
    if size.runs > 1 and replace(size, runs=1).bytes() <= free:
        found.append("n_init=1")
    fewer = (k for k in range(largest - 1, 0, -1) if size.up_to(c, k).bytes() <= free)
    return found + [f"max_cardinality={k}" for k in fewer][:1]
