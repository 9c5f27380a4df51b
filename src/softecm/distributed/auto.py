"""``metric="auto"`` for objects in blocks: the same choice as in memory, from one pass over them."""

from __future__ import annotations

from softecm.distances.auto import ASKED, AUTO, SERIES_AUTO, Choice, Look, is_series_auto, kind_of
from softecm.distributed.partition import engine_for
from softecm.distributed.sources import Raw, Source


def choose_for_blocks(metric: object, source: Source) -> Choice:
    """The choice where ``metric`` is "auto", told in the log; else what was asked for.

    Types alone tell series and categories; gaps and units of numbers take a pass, which naming the metric saves. Columns
    are taken as they are: that one is an id shows only when all rows are together.
    """
    if is_series_auto(metric):
        raise ValueError(
            f"metric='{SERIES_AUTO}' must have all series in memory; got blocks. Fit some of them with it, and name the "
            "metric it takes (metric_) for the rest."
        )
    if not (isinstance(metric, str) and metric == AUTO):
        return Choice(metric, ASKED)
    kind = kind_of(source.look)
    if kind != "numbers" or not len(source):
        return Look(kind).choice().tell()
    engine = engine_for(source)
    try:
        return engine.over_raw(_look, Look.merge, None).choice().tell()
    finally:
        engine.close()


def _look(raw: Raw) -> Look:
    return Look.of(raw.data)
