"""Cosine distance between real vectors."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from softecm._text import place
from softecm.distances.base import ClosedForm, SemiMetric

TINY = 1e-12  # length below which a vector has no direction


def unit(x: Tensor) -> Tensor:
    """Vectors of length 1 in the same directions."""
    length: Tensor = x.norm(dim=-1, keepdim=True)
    return x / length.clamp_min(TINY)


@dataclass(frozen=True)
class MeanDirections(ClosedForm):
    """Barycentres of directions."""

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor:
        """The direction of the weighted sum of directions."""
        return unit(weights @ unit(x))


@dataclass(frozen=True)
class Cosine(SemiMetric):
    r"""Half the squared distance between directions, :math:`d(x, y) = 1 - \cos(x, y)`.

    Looks at the mix, not at the size: texts of different length, spectra of different intensity. A row of zeros has no
    direction and is refused.

    Examples
    --------
    >>> import torch
    >>> Cosine().pairwise(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 3.0], [-1.0, 0.0]]))
    tensor([[0., 1., 2.]])
    """

    name = "cosine"

    @property
    def closed_form(self) -> MeanDirections:
        """Barycentres are mean directions."""
        return MeanDirections()

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """From differences of directions: exact where two directions meet."""
        self._check(x)
        return 0.5 * (unit(x)[:, None] - unit(v)).square().sum(-1)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Distances of matching rows."""
        return 0.5 * (unit(a) - unit(b)).square().sum(-1)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """What each column adds."""
        return 0.5 * (unit(x)[:, None] - unit(v)).square()

    @staticmethod
    def _check(x: Tensor) -> None:
        empty = x.detach().norm(dim=-1) < TINY
        if bool(empty.any()):
            raise ValueError(
                "metric 'cosine' needs rows that are not zero; got zeros in "
                f"{place('row', int(empty.nonzero()[0, 0]))}. Leave "
                "such rows out, or use 'sqeuclidean'."
            )
