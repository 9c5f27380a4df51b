"""Warnings with a type of their own, so that they can be caught or silenced one by one."""

from __future__ import annotations

import sys
import warnings

BETWEEN = ("softecm", "abc", "contextlib", "sklearn")  # frames of these are not the user's


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, however deep in it, or in a pipeline, we are."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


class BetaWarning(UserWarning):
    """Beta is so large that clusters of these objects are pulled together: masses leave open what a smaller one settles."""


class CheckpointWarning(UserWarning):
    """A checkpoint can't be written; the fit goes on without it."""


class CollapseWarning(UserWarning):
    """Prototypes of different clusters have merged: the partition says nothing about groups."""


class DriftWarning(UserWarning):
    """Clusters have gone far from where they were when learning began."""


class EmptyClusterWarning(UserWarning):
    """A cluster has lost all its mass: fewer clusters were found than asked for."""


class NoGroupsWarning(UserWarning):
    """No groups stand apart: clusters of these objects are parts of one heap."""


class NumberOfGroupsWarning(UserWarning):
    """The number of clusters that was asked for looks wrong: two of them do not stand apart, or one falls into two."""


class NowhereWarning(UserWarning):
    """Most objects belong to no cluster: the delta that was found is too small for them."""


class ReadingWarning(UserWarning):
    """Cells or columns of a table are not taken as they stand, or should not be; the text says which, and what to do."""


class SearchEdgeWarning(UserWarning):
    """The number of clusters chosen is the last that was tried: a larger or smaller one may be better."""


class TwinsWarning(UserWarning):
    """Clusters come in twins that one column alone tells apart: without that column there are fewer groups."""


class UnseenCategoryWarning(UserWarning):
    """New objects hold a category that the fit never saw: it counts as different from all that it saw."""


class ViewWarning(UserWarning):
    """A view of the objects says nothing, or says everything: the groups may be those of one view alone."""
