"""The result of a sweep: a tidy table with selection and plots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softecm._checks import is_number, make_frame
from softecm._warnings import NoGroupsWarning, warn
from softecm._wording import option
from softecm.selection.rules import RULES, Columns, cheapest, finds_no_groups, is_sound, pick_rule, usual_rule
from softecm.spaces.columns import plain_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softecm.algorithms.base import EvidentialClusterer


@dataclass(frozen=True, eq=False)
class Best:
    """The choice of a rule.

    Attributes
    ----------
    params : dict, the grid's values without the seed
    value : float, the rule's mean over the sound runs with these values
    rows : ndarray, the rows of the sweep with these values, one per seed
    row : int, the sound row of lowest objective among them
    estimator : unfitted, with these values and that row's seed
    """

    params: Mapping[str, Any]
    value: float
    rows: NDArray[np.int64]
    row: int
    estimator: EvidentialClusterer


@dataclass(frozen=True, eq=False)
class Sweep:
    """One row per cell of a grid: its parameters, its result, and measures of quality.

    Attributes
    ----------
    columns : dict of arrays, one entry per cell
    parameters : tuple of str, the columns varied by the grid
    """

    columns: Columns
    parameters: tuple[str, ...]
    _models: tuple[EvidentialClusterer, ...]
    _combination: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self._combination)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    @property
    def frame(self) -> Any:
        """The table as a data frame of the first installed library."""
        return self.to_frame()

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a data frame: pandas, polars or pyarrow.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            By default the first installed.
        """
        return make_frame({name: values.tolist() for name, values in self.columns.items()}, backend)

    def where(self, **values: object) -> Sweep:
        """Return the rows with the given values.

        Parameters
        ----------
        **values : column names and values, such as ``data="glass"``
        """
        keep = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            self._check_column(name)
            keep &= np.array([entry == value for entry in self.columns[name]], dtype=bool)
        columns = {name: column[keep] for name, column in self.columns.items()}
        models = tuple(m for m, is_kept in zip(self._models, keep, strict=True) if is_kept)
        return Sweep(columns, self.parameters, models, self._combination[keep])

    def best(self, rule: str = "auto") -> Best:
        """Return the best combination of parameters by a rule; warn (``NoGroupsWarning``) if its groups overlap.

        Parameters
        ----------
        rule : {"auto", "valleys", "mixture", "nonspecificity", "silhouette", "stability", "paper"}
            "auto" is the rule of :func:`softecm.choose_n_clusters`. All but "paper" are guarded: runs that have merged
            or empty clusters or did not converge never win, and a combination counts only if more than half of its runs
            are sound. "stability" needs a sweep with ``resamples``, "mixture" one of tables or numbers over
            ``n_clusters``.

        Returns
        -------
        best : Best
        """
        if not len(self):
            raise ValueError("best needs at least one row; this sweep has none. Use values of the grid in where(...).")
        rule = self.usual_rule if rule == "auto" else rule
        chosen = pick_rule(rule)
        if chosen.column not in self.columns:
            missing = "refits on resamples; got a sweep without. Call sweep(resamples=10)"
            if rule == "mixture":
                missing = "tables or numbers, metric='auto' and a grid of n_clusters; got another sweep. Use 'valleys'"
            raise ValueError(f"rule {rule!r} needs {missing}.")
        combination, cost = cheapest(self.columns, chosen, self._combination)
        if math.isinf(cost):
            raise ValueError(
                f"rule {rule!r} found no combination to trust: {self._why_none()}. Try {option('relaxation', 'gap')}, "
                f"smaller lam, beta nearer to 1, a larger {option('max_iter')} or fewer clusters."
            )
        rows = np.flatnonzero(self._combination == combination)
        sound = rows[is_sound(self.columns)[rows]] if chosen.guarded else rows
        row = int(sound[np.argmin(self.columns["objective"][sound])])
        if finds_no_groups(self.columns, chosen, sound):
            warn(
                f"no groups stand apart by the rule {rule!r}: the best run only splits one group.",
                NoGroupsWarning,
            )
        params = {name: plain_value(self.columns[name][row]) for name in self.parameters if name != "random_state"}
        return Best(params, cost if chosen.smaller else -cost, rows, row, clone(self._models[row]))

    @property
    def usual_rule(self) -> str:
        """The rule of :func:`softecm.choose_n_clusters` for these data, used by "auto"."""
        return usual_rule(self.columns)

    def _why_none(self) -> str:
        merged = int(self.columns["collapsed"].sum())
        unfinished = int((~self.columns["converged"].astype(bool)).sum())
        return (
            f"of {len(self)} runs {merged} have merged clusters and {unfinished} have not converged, others empty ones"
        )

    def heatmap(
        self, x: str = "beta", y: str = "lam", value: str = "guarded_nonspecificity", ax: Axes | None = None
    ) -> Axes:
        """Draw a column's mean over two parameters; cells in which at least half of the runs are unsound are hatched.

        Parameters
        ----------
        x, y : str, grid parameters
        value : str, a numeric column
        ax : Matplotlib axes, optional

        Returns
        -------
        ax : Matplotlib axes
        """
        from softecm.plots import grid_heatmap

        for name in (x, y, value):
            self._check_column(name)
        sound = is_sound(self.columns)
        across, up = _levels(self.columns[x]), _levels(self.columns[y])
        means = np.full((len(up), len(across)), np.nan)
        unsound = np.zeros(means.shape, dtype=bool)
        for j, a in enumerate(across):
            for i, b in enumerate(up):
                rows = np.array([p == a and q == b for p, q in zip(self.columns[x], self.columns[y], strict=True)])
                if rows.any():
                    means[i, j] = np.nanmean(self.columns[value][rows].astype(np.float64))
                    unsound[i, j] = 2 * sound[rows].sum() <= rows.sum()
        return grid_heatmap(means, across, up, marked=unsound, x_name=x, y_name=y, value_name=value, ax=ax)

    def _check_column(self, name: str) -> None:
        if name not in self.columns:
            raise ValueError(f"column must be one of {', '.join(self.columns)}; got {name!r}.")

    def _repr_html_(self) -> str:
        html = getattr(self.to_frame(), "_repr_html_", None)
        return str(html()) if html is not None else repr(self)

    def __repr__(self) -> str:
        """Summarize the sweep in one line."""
        return f"Sweep of {len(self)} cells over {', '.join(self.parameters)}; rules: {', '.join(RULES)}"


def _levels(values: NDArray[np.generic]) -> list[object]:
    """Return the distinct values in the order of the grid, numbers sorted."""
    seen = list(dict.fromkeys(values.tolist()))
    return sorted(seen) if all(map(is_number, seen)) else seen
