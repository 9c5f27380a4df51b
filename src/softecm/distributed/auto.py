"""``metric="auto"`` for objects in blocks: the same choice as in memory, from one pass over them."""

from __future__ import annotations

from softecm.distances.auto import ASKED, SERIES_AUTO, Look, MetricChoice, auto_of, kind_of
from softecm.distances.series_auto import choose_series
from softecm.distributed.partition import engine_for
from softecm.distributed.sources import Raw, Source


def choose_for_blocks(metric: object, source: Source, n_clusters: int | None) -> MetricChoice:
    """The choice where ``metric`` is "auto", told in the log; else what was asked for.

    Types alone tell series and categories; gaps and units of numbers take a pass, which naming the metric saves. Columns
    are taken as they are: that one is an id shows only when all rows are together. How the views of series count is judged
    by the first block.
    """
    asked = auto_of(metric)
    if not asked:
        return MetricChoice(metric, ASKED)
    kind = kind_of(source.look)
    if (kind == "series" or asked == SERIES_AUTO) and len(source):
        found = choose_series(next(source.read()), n_clusters, " of the first block")
        return MetricChoice(found.metric, found.reason, asked=asked, tried=found.tried).tell()
    if kind != "numbers" or not len(source):
        return Look(kind).choice().tell()
    engine = engine_for(source)
    try:
        return engine.over_raw(_look, Look.merge, None).choice().tell()
    finally:
        engine.close()


def _look(raw: Raw) -> Look:
    return Look.of(raw.data)
