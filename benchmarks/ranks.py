"""Comparison of methods over many sets: mean ranks, significant differences, and their diagram.

Two methods are compared by Wilcoxon's signed-rank test on their scores per set, with Holm's correction over all pairs
(A. Benavoli, G. Corani and F. Mangili, "Should we really use post-hoc tests based on mean-ranks?", JMLR 17, 2016);
Friedman's test checks whether any differ at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

ALPHA = 0.05


@dataclass(frozen=True)
class Ranking:
    """Methods from best to worst.

    Attributes
    ----------
    names : the methods
    ranks : mean rank of each (1 is best)
    scores : mean score of each
    alike : index ranges (first, last) of methods without a significant difference, maximal ones only
    friedman : p-value of no difference; NaN for fewer than three methods
    n_sets : number of sets
    """

    names: list[str]
    ranks: np.ndarray
    scores: np.ndarray
    alike: list[tuple[int, int]]
    friedman: float
    n_sets: int


def ranked(names: list[str], scores: np.ndarray) -> Ranking:
    """Rank by scores (sets, methods), larger is better."""
    ranks = rankdata(-scores, axis=1).mean(0)
    order = np.argsort(ranks, kind="stable")
    scores = scores[:, order]
    told = told_apart(scores)
    ends = [max(j for j in range(i, len(order)) if not told[i : j + 1, i : j + 1].any()) for i in range(len(order))]
    alike = [(i, j) for i, j in enumerate(ends) if j > i and (i == 0 or ends[i - 1] < j)]
    varied = len(order) > 2 and np.ptp(scores, axis=1).any()
    friedman = float(friedmanchisquare(*scores.T).pvalue) if varied else float("nan")
    return Ranking([names[i] for i in order], ranks[order], scores.mean(0), alike, friedman, len(scores))


def told_apart(scores: np.ndarray) -> np.ndarray:
    """Return which pairs of columns differ (methods, methods), by Wilcoxon's test with Holm's correction."""
    pairs = list(combinations(range(scores.shape[1]), 2))
    p = np.array([_p_value(scores[:, i] - scores[:, j]) for i, j in pairs])
    out = np.zeros((scores.shape[1],) * 2, dtype=bool)
    for step, at in enumerate(np.argsort(p, kind="stable")):
        if p[at] > ALPHA / (len(pairs) - step):
            break
        i, j = pairs[at]
        out[i, j] = out[j, i] = True
    return out


def _p_value(difference: np.ndarray) -> float:
    return float(wilcoxon(difference).pvalue) if difference.any() else 1.0


def draw(ranking: Ranking, path: Path, *, what: str) -> None:
    """Draw mean ranks on an axis, best to the left; bars join methods without a significant difference."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    k = len(ranking.names)
    left = (k + 1) // 2
    figure, ax = plt.subplots(figsize=(8, 1.6 + 0.28 * (left + len(ranking.alike))), layout="constrained")
    bars = 0.35 * np.arange(1, len(ranking.alike) + 1)
    under = (bars[-1] if len(bars) else 0.0) + 0.5
    for (i, j), y in zip(ranking.alike, bars, strict=True):
        ax.plot([ranking.ranks[i] - 0.03, ranking.ranks[j] + 0.03], [y, y], lw=4, color="0.2", solid_capstyle="round")
    for i, (name, rank, score) in enumerate(zip(ranking.names, ranking.ranks, ranking.scores, strict=True)):
        first = i < left
        y = under + 0.45 * (i if first else k - 1 - i)
        side = 0.6 if first else k + 0.4
        ax.plot([rank, rank, side], [0, y, y], lw=0.8, color="0.4")
        ax.text(
            side, y, f" {name} ({rank:.2f}; {score:.3f}) ", ha="right" if first else "left", va="center", fontsize=9
        )
    ax.set(
        xlim=(0.6, k + 0.4),
        ylim=(under + 0.45 * left, 0),
        xlabel=f"mean rank over {ranking.n_sets} sets (1 is best)",
    )
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("top")
    ax.set_xticks(range(1, k + 1))
    ax.set_yticks([])
    for side_name in ("left", "right", "bottom"):
        ax.spines[side_name].set_visible(False)
    figure.suptitle(
        f"{what} (mean rank; mean). Bars: not told apart, Wilcoxon signed rank, Holm, {ALPHA:g}. "
        f"Friedman p = {ranking.friedman:.2g}",
        fontsize=9,
    )
    with plt.rc_context({"svg.fonttype": "none"}):  # keep text as text
        figure.savefig(path, bbox_inches="tight")
    plt.close(figure)
