"""Warning classes, which can be caught or silenced individually."""

from __future__ import annotations

import sys
import warnings

BETWEEN = ("softecm", "abc", "contextlib", "sklearn", "joblib")  # modules of frames between us and the user


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line that called the library, however deep the call or in a pipeline."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


class BetaWarning(UserWarning):
    """Beta is so large that it pulls the clusters together; a smaller one gives more decisive masses."""


class CheckpointWarning(UserWarning):
    """A checkpoint can't be written; the fit continues without it."""


class CollapseWarning(UserWarning):
    """Prototypes of different clusters have merged: the partition can't tell them apart."""


class DriftWarning(UserWarning):
    """Clusters have moved far since the first batch of ``partial_fit``."""


class EmptyClusterWarning(UserWarning):
    """A cluster has lost all its mass: fewer clusters were found than ``n_clusters``."""


class NoGroupsWarning(UserWarning):
    """No groups are separated: the clusters are parts of a single group."""


class NumberOfGroupsWarning(UserWarning):
    """``n_clusters`` looks wrong: two clusters are not separated, or one contains two groups."""


class NowhereWarning(UserWarning):
    """Most objects are outliers: delta is too small, or new objects differ from those of the fit."""


class ReadingWarning(UserWarning):
    """Cells or columns of a table were converted, or should be; the message names them and the option."""


class SearchEdgeWarning(UserWarning):
    """The selected number of clusters is the last one tried: a larger or smaller one may be better."""


class TwinsWarning(UserWarning):
    """One column alone splits every group in two: without it there are fewer groups."""


class UnseenCategoryWarning(UserWarning):
    """New objects have a category that was not in the fit: it counts as different from all known ones."""


class ViewWarning(UserWarning):
    """A view is constant, dominates, or disagrees with the others: the groups may be those of a single view."""
