r"""The mass step of linked objects: must-links and cannot-links penalized as in CECM.

With :math:`\mathrm{pl}_{ij}(s)` the plausibility that objects i and j share a cluster, the objective gains

.. math:: \kappa \Big[\sum_{ML} \mathrm{pl}_{ij}(\lnot s) + \sum_{CL} \mathrm{pl}_{ij}(s)\Big], \quad
   \mathrm{pl}_{ij}(s) = \sum_{A \cap B \ne \emptyset} m_i(A) m_j(B), \quad
   \mathrm{pl}_{ij}(\lnot s) = (1 - m_i(\emptyset))(1 - m_j(\emptyset)) - \sum_k m_i(\omega_k) m_j(\omega_k).

With all other masses fixed, one object's masses solve :math:`\min \sum_A a_A m_A^\beta + b_A m_A` on the simplex:
strictly convex, solved exactly. Cycling through the objects never raises the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.constraints import Constraints, groups_of

JOINT = 20  # joint steps of all linked objects
SWEEPS = 100  # maximum number of passes over the linked objects per iteration


@dataclass(frozen=True)
class Links:
    """Linked objects, their partners, and the cost of violated links.

    ``empty`` is None if the empty set counts as in the formula above, where mass on it never violates a must-link.
    Otherwise it always does, at this additional cost: 0 in Soft-ECM, more in evclust's variant.
    """

    rows: Tensor  # (m,), the linked objects
    must: Tensor  # (pairs, 2), positions in rows
    cannot: Tensor  # (pairs, 2)
    must_price: float
    cannot_price: float
    empty: float | None
    follow: bool  # keep to the stationary point of the first iteration, like evclust
    groups: Tensor  # (m,): equal for objects joined by links, directly or through others
    n_clusters: int
    meets: Tensor  # (f + 1, f + 1): 1 if two sets share a cluster

    @classmethod
    def make(
        cls,
        constraints: Constraints,
        focal: FocalSets,
        must_price: float,
        cannot_price: float,
        empty: float | None = None,
        follow: bool = False,
        *,
        dtype: torch.dtype = torch.float64,
    ) -> Links | None:
        """Return the links of some pairs of objects, or None without pairs."""
        must, cannot = constraints
        rows = np.unique(np.concatenate([must.ravel(), cannot.ravel()]))
        if len(rows) == 0:
            return None
        must, cannot = np.searchsorted(rows, must), np.searchsorted(rows, cannot)
        return cls(
            torch.from_numpy(rows),
            torch.from_numpy(must),
            torch.from_numpy(cannot),
            must_price,
            cannot_price,
            empty,
            follow,
            torch.from_numpy(groups_of(np.concatenate([must, cannot]), len(rows))),
            focal.n_clusters,
            torch.as_tensor(focal.intersects.copy(), dtype=dtype),
        )

    def to(self, device: torch.device) -> Links:
        """Return a copy on another device."""
        names = "rows", "must", "cannot", "groups", "meets"
        return replace(self, **{name: getattr(self, name).to(device) for name in names})

    def pairs(self) -> Constraints:
        """Return the pairs as they were given."""
        rows = self.rows.cpu().numpy()
        return Constraints(*(rows[ends.cpu().numpy()].reshape(-1, 2) for ends in (self.must, self.cannot)))

    def prices(self, masses: Tensor) -> Tensor:
        """Return the cost of each link, (pairs, runs), must-links first, for masses (m, runs, f + 1)."""
        first, second = masses[self.must[:, 0]], masses[self.must[:, 1]]
        single = slice(1, self.n_clusters + 1)
        must = self.must_price * (1.0 - (first[..., single] * second[..., single]).sum(-1))
        nothing = first[..., 0] + second[..., 0]
        if self.empty is None:
            must = must - self.must_price * (nothing - first[..., 0] * second[..., 0])
        else:
            must = must + self.empty * nothing
        first, second = masses[self.cannot[:, 0]], masses[self.cannot[:, 1]]
        return torch.cat([must, self.cannot_price * (first @ self.meets * second).sum(-1)])

    def cost(self, masses: Tensor) -> Tensor:
        """Return the cost of all links (runs,) for masses (m, runs, f + 1)."""
        return self.prices(masses).sum(0)

    def descend(self, a: Tensor, beta: Tensor, closed: Tensor, last: Tensor | None, tol: float) -> Tensor:
        """Return masses (m, runs, f + 1) at which no object alone can lower the objective; never above those of ``last``.

        The stationary point depends on the start: of two objects that can't be together, either may yield. So each
        group of objects joined by links takes the better of two descents: from the masses without links, and from its
        last masses (in the first iteration, from equal ones). Unless they start from their last masses, all objects
        first move together, so that the order of rows doesn't matter.

        Parameters
        ----------
        a : coefficients of the powers of the masses (m, runs, f + 1), the empty set's first
        closed : masses without links
        last : previous masses, if any
        """
        if self.follow:
            start = (closed, JOINT) if last is None else (last, 0)
            return self._descend(a, beta, *start, tol)
        equal = (closed > 0).to(closed)  # 0 without an empty set
        other = (last, 0) if last is not None else (equal / equal.sum(-1, keepdim=True), JOINT)
        ways = [other, (closed, JOINT)]
        candidates = [self._descend(a, beta, start, joint, tol) for start, joint in ways]
        best = candidates[0]
        least = self._by_group(a, beta, best)
        for masses in candidates[1:]:
            cost = self._by_group(a, beta, masses)
            better = cost < least - 1e-10 * least.abs()
            best = torch.where(better[self.groups][..., None], masses, best)
            least = torch.where(better, cost, least)
        return best

    def _by_group(self, a: Tensor, beta: Tensor, masses: Tensor) -> Tensor:
        """Return the linked objects' part of the objective per group: (groups, runs)."""
        own = torch.where(masses > 0, a * masses ** beta[:, None], 0.0).sum(-1)  # inf * 0 without an empty set
        total = own.new_zeros(int(self.groups.max()) + 1, own.shape[1]).index_add_(0, self.groups, own)
        firsts = torch.cat([self.must[:, 0], self.cannot[:, 0]])
        return total.index_add_(0, self.groups[firsts], self.prices(masses))

    def _descend(self, a: Tensor, beta: Tensor, start: Tensor, joint: int, tol: float) -> Tensor:
        from softecm.kernels.linked import descend

        masses = _array(start.transpose(0, 1)).copy()
        starts, partners, together = self._partners()
        prices = (self.must_price, self.cannot_price, float("nan") if self.empty is None else self.empty)
        descend(
            _array(a.transpose(0, 1)), _array(beta), masses, prices, starts, partners, together, self.n_clusters,
            _array(self.meets) > 0, tol, SWEEPS, joint,
        )  # fmt: skip
        return torch.from_numpy(masses).transpose(0, 1).to(start)

    def _partners(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return every object's links in a row: their offsets, the other objects, whether they are must-links."""
        pairs = np.concatenate([self.must.cpu().numpy(), self.cannot.cpu().numpy()])
        ends = np.concatenate([pairs, pairs[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        together = np.tile(np.arange(len(pairs)) < len(self.must), 2)
        starts = np.searchsorted(ends[order, 0], np.arange(len(self.rows) + 1))
        return starts, np.ascontiguousarray(ends[order, 1]), together[order]


def _array(values: Tensor) -> NDArray[np.float64]:
    return np.ascontiguousarray(values.detach().double().cpu().numpy())
